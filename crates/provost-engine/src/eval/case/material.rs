//! What of a case may name somebody: its goal, its calls, what people said, and its rules.
//!
//! Owns where such values stand, and writing what stands for them into the files of the rules.
//! Decides no replacement. INVARIANT: whatever of a run is written into a case was looked at here.

use std::path::{Path, PathBuf};

use provost_plan::check::flow::is_closed_at;
use provost_plan::expr::Segment;
use provost_plan::node::parse_yaml;
use provost_plan::schema::Schema;
use provost_run::card::CardSubject;
use provost_run::event::Event;
use provost_tools::RecordedCall;
use serde_json::Value;

use super::anonymize::{Anonymizer, Material};
use super::{CaseError, put};
use crate::history::History;
use crate::workspace::{PEOPLE_FILE, Workspace};

/// What may name somebody in the run, and in the rules below `rules`.
pub(super) fn of_run(
    workspace: &Workspace,
    history: &History,
    calls: &[RecordedCall],
    rules: &Path,
) -> Result<Material, CaseError> {
    let mut found = Material::default();
    let named = Workspace::user_of(workspace.root());
    for id in workspace.people().names().chain(named.as_deref()) {
        found.person(id, true);
    }
    for path in files_below(rules)? {
        found.rules(&read(&path)?);
    }
    let goal = &history.state.goals.goal;
    found.text(&goal.text);
    goal.params
        .values()
        .for_each(|value| all(value, &mut found));
    for call in calls {
        let operation = workspace.catalog().get(&call.operation);
        let input = operation.map(|operation| &operation.input);
        let output = operation.and_then(|operation| operation.output.as_ref());
        typed(&call.args, input, &mut Vec::new(), &mut found);
        if let Some(value) = &call.reply.output {
            typed(value, output, &mut Vec::new(), &mut found);
        }
        match serde_json::from_slice::<Value>(&call.reply.evidence) {
            Ok(value) => all(&value, &mut found),
            Err(_) => found.text(&String::from_utf8_lossy(&call.reply.evidence)),
        }
        call.reply.message.iter().for_each(|said| found.text(said));
    }
    for (event, _) in &history.events {
        said(event, workspace, &mut found);
    }
    for value in goal.params.values() {
        if let Value::Number(number) = value {
            found.amount(number);
        }
    }
    Ok(found)
}

/// What a person was shown, or said.
fn said(event: &Event, workspace: &Workspace, found: &mut Material) {
    match event {
        Event::ApprovalRequested { card, .. } => {
            if let CardSubject::Step { ask, calls, .. } = &card.subject {
                let operation = workspace.catalog().get(&ask.operation);
                let input = operation.map(|operation| &operation.input);
                for call in calls {
                    typed(&call.args, input, &mut Vec::new(), found);
                }
            }
        }
        Event::ApprovalGiven { by, .. } => found.person(by, false),
        Event::ApprovalRejected { by, reason, .. } => {
            found.person(by, false);
            found.text(reason);
        }
        Event::QuestionAnswered { value, by, .. } => {
            found.person(by, false);
            all(value, found);
        }
        Event::DoubtSettled { by, reason, .. } => {
            if let provost_run::event::SettledBy::Person { id } = by {
                found.person(id, false);
            }
            reason.iter().for_each(|reason| found.text(reason));
        }
        _ => {}
    }
}

/// A value of which no schema says what it may be.
fn all(value: &Value, found: &mut Material) {
    typed(value, None, &mut Vec::new(), found);
}

/// A value under its schema: what that closes is no free text.
fn typed(value: &Value, schema: Option<&Schema>, path: &mut Vec<Segment>, found: &mut Material) {
    match value {
        Value::String(text) => match schema.is_some_and(|schema| is_closed_at(schema, path)) {
            true => found.closed(text),
            false => found.text(text),
        },
        Value::Number(number) => found.number(number),
        Value::Array(items) => {
            // Why any: the places of a list are all alike, and each one costs a look.
            path.push(Segment::Any);
            items
                .iter()
                .for_each(|item| typed(item, schema, path, found));
            path.pop();
        }
        Value::Object(map) => {
            for (key, value) in map {
                found.text(key);
                path.push(Segment::Field(key.clone()));
                typed(value, schema, path, found);
                path.pop();
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// Writes what stands for people, addresses and long numbers into the files below `rules`, and
/// takes the public keys of people out of them.
pub(super) fn rewrite(rules: &Path, shown: &Anonymizer) -> Result<(), CaseError> {
    let people = rules.join(PEOPLE_FILE);
    for path in files_below(rules)? {
        let text = read(&path)?;
        let text = match path == people {
            true => without_keys(&text),
            false => text,
        };
        put(&path, &shown.rules(&text))?;
    }
    Ok(())
}

/// Why: a public key names somebody as well as their id, and a replay needs none.
fn without_keys(text: &str) -> String {
    let Ok(node) = parse_yaml(text) else {
        return text.to_owned();
    };
    let mut value = node.to_value();
    let users = value.get_mut("users").and_then(Value::as_object_mut);
    for (_, user) in users.into_iter().flatten() {
        if let Some(user) = user.as_object_mut() {
            user.remove("key");
            user.remove("former_keys");
        }
    }
    format!("{value:#}\n")
}

/// The text of all files below `rules`, one behind the other.
pub(super) fn all_rules(rules: &Path) -> Result<String, CaseError> {
    let files = files_below(rules)?;
    files.iter().map(|path| read(path)).collect()
}

/// Every file below a folder.
pub(super) fn files_below(dir: &Path) -> Result<Vec<PathBuf>, CaseError> {
    let (mut found, mut folders) = (Vec::new(), vec![dir.to_owned()]);
    while let Some(folder) = folders.pop() {
        let failed = |error| CaseError::NotWritable(format!("{}: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            match path.is_dir() {
                true => folders.push(path),
                false => found.push(path),
            }
        }
    }
    Ok(found)
}

/// A file of the rules. Why an error where it is no text: what cannot be read cannot be replaced.
fn read(path: &Path) -> Result<String, CaseError> {
    let text = std::fs::read_to_string(path);
    text.map_err(|error| CaseError::NotWritable(format!("{}: {error}", path.display())))
}
