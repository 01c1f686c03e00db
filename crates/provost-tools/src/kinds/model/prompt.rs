//! What a model is told when it is a tool: the versioned text, the task and the material.
//!
//! Owns the order: what is always the same stands first. The task is the operator's; arguments
//! that it does not name are material, sent as one JSON object, so that no text in them ends it.
//! INVARIANT: a text of another version has another name; a test compares its digest.

use provost_plan::digest::canonical;
use provost_plan::expr::{Root, Scope, Segment, Template};
use provost_run::outcome::Class;
use serde_json::{Map, Value};

use super::task_kind::TaskKind;
use crate::fault::Fault;

/// The version of the text.
pub(crate) const PROMPT_VERSION: &str = "tool.v1";

/// The text that is always the same.
pub(super) const SYSTEM: &str = include_str!("../../../prompts/tool.v1.md");

/// What is asked of a call: the task with its arguments, and the rest of them as material.
pub(super) fn user(
    kind: TaskKind,
    task: &Template,
    args: &Map<String, Value>,
) -> Result<String, Fault> {
    let whole = Value::Object(args.clone());
    let scope = Scope::new().with("args", &whole);
    let task_text = task.eval(&scope).map_err(|error| {
        let message = format!("the request cannot be built: {error}");
        Fault::no_effect(Class::InvalidArguments, message)
    })?;
    let task_text = match &task_text {
        Value::String(text) => text.clone(),
        other => canonical(other),
    };
    let mut material = args.clone();
    for name in named(task) {
        material.remove(name);
    }
    let (task_heading, material_heading) = kind.headings();
    let material = canonical(&Value::Object(material));
    Ok(format!(
        "# {task_heading}\n{task_text}\n\n# {material_heading}\n{material}\n"
    ))
}

/// The arguments that the task names.
pub(super) fn named(task: &Template) -> impl Iterator<Item = &str> {
    task.references()
        .filter_map(|read| match (&read.root, read.path.first()) {
            (Root::Args, Some(Segment::Field(name))) => Some(name.as_str()),
            _ => None,
        })
}
