//! `diff`: what changed from one revision of a run's plan to another.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use provost_engine::engine::Record;
use provost_engine::run::event::Event;
use provost_plan::catalog::Catalog;
use serde_json::{Value, json};

use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::place::Place;
use crate::screen::page::{Look, Page};

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct Diff {
    /// the run
    #[arg(value_name = "RUN")]
    target: Target,
    /// from which revision to which; the last two unless given
    #[arg(value_name = "REV", num_args = 0..=2)]
    revisions: Vec<u32>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// What changed.
struct Change {
    added: BTreeMap<String, Value>,
    removed: BTreeMap<String, Value>,
    changed: BTreeMap<String, Vec<(String, Value, Value)>>,
    /// `success` and `answer`, where they differ.
    parts: Vec<(String, Value, Value)>,
}

/// Does it.
pub fn run(verb: &Diff, place: &Place) -> Result<Exit, Failure> {
    let engine = place.to_read()?;
    let record = verb.target.read(&engine)?;
    let plans = revisions(&record);
    let (from, to) = chosen(verb, &plans, &record)?;
    let plan = |revision: u32| {
        plans.get(&revision).ok_or_else(|| {
            let known: Vec<String> = plans.keys().map(u32::to_string).collect();
            Failure::usage(format!(
                "run `{}` has no revision {revision}",
                record.run.state().run
            ))
            .hint(format!("its revisions are {}", known.join(", ")))
        })
    };
    let (before, after) = (plan(from)?, plan(to)?);
    let change = compare(before, after);
    let catalog = engine.workspace().catalog();
    let grown = grown(before, after, catalog);
    if verb.json {
        output::json(&json!({
            "schema": "provost/diff/v1",
            "run": record.run.state().run,
            "from": from,
            "to": to,
            "added": change.added,
            "removed": change.removed,
            "changed": change.changed.iter().map(|(id, fields)| {
                (id.clone(), fields.iter().map(|(field, old, new)| {
                    (field.clone(), json!({ "from": old, "to": new }))
                }).collect::<serde_json::Map<_, _>>())
            }).collect::<BTreeMap<_, _>>(),
            "parts": change.parts.iter().map(|(field, old, new)| {
                (field.clone(), json!({ "from": old, "to": new }))
            }).collect::<serde_json::Map<_, _>>(),
            "new_tools": grown,
        }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    let because = because(&record, to);
    page.strong(&format!("revision {from} to {to}"));
    page.text(&because.map_or_else(String::new, |because| format!(": {because}")))
        .end();
    put(&mut page, &change);
    for (tool, effect) in &grown {
        page.put(Look::Warn, "new tool: ")
            .line(&format!("{tool} ({effect})"));
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn chosen(
    verb: &Diff,
    plans: &BTreeMap<u32, Value>,
    record: &Record,
) -> Result<(u32, u32), Failure> {
    let last = plans.keys().next_back().copied().unwrap_or(0);
    match verb.revisions.as_slice() {
        [from, to] => Ok((*from, *to)),
        [from] => Ok((*from, last)),
        _ if last > 1 => Ok((last - 1, last)),
        _ => {
            let run = &record.run.state().run;
            let message = match last {
                0 => format!("run `{run}` has no plan"),
                _ => format!("the plan of run `{run}` was not revised"),
            };
            Err(Failure::usage(message).hint(format!("`provost show {run}` shows it")))
        }
    }
}

/// The documents of all revisions.
fn revisions(record: &Record) -> BTreeMap<u32, Value> {
    let checked = record.events.iter().filter_map(|(event, _)| match event {
        Event::PlanChecked {
            document, record, ..
        } => Some((record.revision, document.clone())),
        _ => None,
    });
    checked.collect()
}

fn because(record: &Record, to: u32) -> Option<String> {
    record.events.iter().find_map(|(event, _)| match event {
        Event::PlanRevised {
            revision, because, ..
        } if *revision == to => because.clone(),
        _ => None,
    })
}

fn steps(plan: &Value) -> BTreeMap<String, Value> {
    let steps = plan.get("steps").and_then(Value::as_array);
    steps
        .into_iter()
        .flatten()
        .filter_map(|step| Some((step.get("id")?.as_str()?.to_owned(), step.clone())))
        .collect()
}

fn compare(before: &Value, after: &Value) -> Change {
    let (old, new) = (steps(before), steps(after));
    let only = |these: &BTreeMap<String, Value>, others: &BTreeMap<String, Value>| {
        let kept = these.iter().filter(|(id, _)| !others.contains_key(*id));
        kept.map(|(id, step)| (id.clone(), step.clone())).collect()
    };
    let changed = new
        .iter()
        .filter_map(|(id, step)| {
            let fields = fields(old.get(id)?, step, &[]);
            (!fields.is_empty()).then(|| (id.clone(), fields))
        })
        .collect();
    Change {
        added: only(&new, &old),
        removed: only(&old, &new),
        changed,
        parts: fields(before, after, &["steps", "schema"]),
    }
}

/// The fields in which two maps differ.
fn fields(old: &Value, new: &Value, without: &[&str]) -> Vec<(String, Value, Value)> {
    let keys = |value: &Value| -> BTreeSet<String> {
        value
            .as_object()
            .into_iter()
            .flat_map(|map| map.keys().cloned())
            .collect()
    };
    let of = |value: &Value, key: &str| value.get(key).cloned().unwrap_or(Value::Null);
    keys(old)
        .union(&keys(new))
        .filter(|key| !without.contains(&key.as_str()))
        .map(|key| (key.clone(), of(old, key), of(new, key)))
        .filter(|(_, old, new)| old != new)
        .collect()
}

/// Tools that the later plan calls and the earlier does not, with their effects.
fn grown(before: &Value, after: &Value, catalog: &Catalog) -> BTreeMap<String, String> {
    let tools = |plan: &Value| -> BTreeSet<String> {
        let tool = |step: Value| Some(step.get("tool")?.as_str()?.to_owned());
        steps(plan).into_values().filter_map(tool).collect()
    };
    let effect = |tool: &String| {
        let word = catalog
            .get(tool)
            .map_or("not in the catalog now", |op| op.effect.word());
        (tool.clone(), word.to_owned())
    };
    tools(after)
        .difference(&tools(before))
        .map(effect)
        .collect()
}

fn put(page: &mut Page, change: &Change) {
    let tool = |step: &Value| {
        step.get("tool")
            .and_then(Value::as_str)
            .unwrap_or("(question)")
            .to_owned()
    };
    for (id, step) in &change.removed {
        page.put(Look::Bad, &format!("- {id}"))
            .line(&format!("  {}", tool(step)));
    }
    for (id, step) in &change.added {
        page.put(Look::Good, &format!("+ {id}"))
            .line(&format!("  {}", tool(step)));
        for (field, _, value) in fields(&Value::Null, step, &["id", "tool"]) {
            page.line(&format!("    {field}: {value}"));
        }
    }
    for (id, fields) in &change.changed {
        page.put(Look::Warn, &format!("~ {id}")).end();
        put_fields(page, fields, "    ");
    }
    for part in &change.parts {
        page.put(Look::Warn, &format!("~ {}", part.0)).end();
        put_fields(page, std::slice::from_ref(part), "    ");
    }
}

fn put_fields(page: &mut Page, fields: &[(String, Value, Value)], indent: &str) {
    for (field, old, new) in fields {
        if let (Value::Array(old), Value::Array(new)) = (old, new) {
            put_items(page, old, new, &format!("{indent}{field} "));
            continue;
        }
        if !old.is_null() {
            page.text(indent)
                .put(Look::Bad, "- ")
                .line(&format!("{field}: {old}"));
        }
        if !new.is_null() {
            page.text(indent)
                .put(Look::Good, "+ ")
                .line(&format!("{field}: {new}"));
        }
    }
}

/// The items that only one of two lists has.
fn put_items(page: &mut Page, old: &[Value], new: &[Value], lead: &str) {
    for item in old.iter().filter(|item| !new.contains(item)) {
        page.text(lead).put(Look::Bad, "- ").line(&item.to_string());
    }
    for item in new.iter().filter(|item| !old.contains(item)) {
        page.text(lead)
            .put(Look::Good, "+ ")
            .line(&item.to_string());
    }
}
