//! One step of a run: what it was to do, what was sent and what came of it, and who approved.
//!
//! Owns the choice of events that are about a step. Their values come as the trace shows them.

use provost_engine::history::History;
use provost_engine::run::read::trace::{LineData, TraceLine};
use provost_engine::workspace::Workspace;
use serde_json::{Value, json};

use super::statements;
use crate::cli::trace::{all_lines, line_json};
use crate::failure::Failure;
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::plan::what;
use crate::screen::words::{moment, step_look, step_status};

/// Shows the step; an error if the run has none of that name.
pub fn run(
    history: &History,
    workspace: Option<&Workspace>,
    id: &str,
    json: bool,
) -> Result<(), Failure> {
    let state = &history.state;
    let Some(known) = state.steps.get(id) else {
        let steps: Vec<&str> = state.steps.keys().map(String::as_str).collect();
        return Err(Failure::usage(format!("the run has no step `{id}`"))
            .hint(format!("its steps: {}", steps.join(", "))));
    };
    let lines = about(history, workspace, id);
    if json {
        let events: Vec<Value> = lines
            .iter()
            .map(|(line, data)| line_json(line, data))
            .collect();
        output::json(&json!({
            "schema": "provost/step/v1",
            "run": state.head.run,
            "step": id,
            "status": known.status.word(),
            "class": known.class.map(provost_engine::run::outcome::Class::word),
            "message": known.message,
            "statements": said(history, id),
            "events": events,
        }));
        return Ok(());
    }
    let mut page = Page::new();
    page.strong(&format!("step {id}"))
        .text(&format!(" of run {}: ", state.head.run));
    page.put(step_look(known.status), step_status(known.status))
        .end();
    let plan = state.in_force.plan.as_ref();
    if let Some((step, _)) = plan.and_then(|plan| plan.checked().step(id)) {
        if let Some(text) = &step.description {
            page.field("purpose", &text.value);
        }
        page.field("does", what(step));
    }
    if let Some(message) = known.message.as_ref().filter(|text| !text.is_empty()) {
        page.field("message", message);
    }
    page.end();
    for (line, data) in &lines {
        page.put(TextStyle::Faint, &moment(line.at_ms)).text("  ");
        page.line(&line.text);
        for (name, value) in values(&data.data) {
            page.faint(&format!("    {name:<10} ")).line(&value);
        }
    }
    output::data(&page.finish());
    Ok(())
}

/// The statements about the step.
fn said(history: &History, id: &str) -> Vec<Value> {
    let all = statements::to_json(history);
    let all = all.as_array().cloned().unwrap_or_default();
    let about = all.into_iter().filter(|said| said["step"] == id);
    about.collect()
}

/// The events about the step, in their order.
fn about(history: &History, workspace: Option<&Workspace>, id: &str) -> Vec<(TraceLine, LineData)> {
    all_lines(history, workspace)
        .filter(|(line, data)| is_about(history, line, &data.data, id))
        .collect()
}

fn is_about(history: &History, line: &TraceLine, data: &Value, id: &str) -> bool {
    let of = |pointer: &str| data.pointer(pointer).and_then(Value::as_str);
    let named = [
        "/slot/step",
        "/step",
        "/card/subject/step",
        "/question/step",
    ];
    let card = match line.kind {
        "ApprovalGiven" | "ApprovalRejected" | "ApprovalExpired" => of("/card"),
        _ => None,
    };
    let card = card.and_then(|digest| digest.parse().ok());
    let known = card.and_then(|digest| history.state.card(&digest));
    let of_card = known.is_some_and(|known| known.card.step() == Some(id));
    of_card || named.iter().any(|pointer| of(pointer) == Some(id))
}

/// What of an event's data a person looks for: what was sent, what came, where it is kept.
fn values(data: &Value) -> Vec<(&'static str, String)> {
    let mut values = Vec::new();
    for name in ["args", "key", "output", "evidence"] {
        match data.get(name) {
            Some(Value::Object(map)) if name == "args" => {
                let each = map.iter().map(|(name, value)| format!("{name}: {value}"));
                values.extend(each.map(|text| ("argument", text)));
            }
            Some(Value::String(text)) => values.push((name, text.clone())),
            Some(Value::Null) | None => {}
            Some(other) => values.push((name, other.to_string())),
        }
    }
    values
}
