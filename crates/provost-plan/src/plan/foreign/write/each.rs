//! Sentences that begin with `for each`, and the list that they mean.
//!
//! Owns which list of an earlier step such a sentence goes over. INVARIANT: where more than one
//! list could be meant, none is taken, and the sentence is left open.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::ForeignStep;
use super::super::names::tool_of;
use super::{PlanWriter, decides};

impl PlanWriter<'_> {
    /// A step whose sentence begins with `for each`, over the one list of the nearest step before
    /// that has one; none if it is another.
    pub(super) fn each_of_sentence(&self, at: usize, step: &ForeignStep) -> Option<ForeignStep> {
        let rest = after_each(step.description.as_deref()?)?;
        if step.each.is_some() || decides(rest) {
            return None;
        }
        let tool = tool_of(step.tool.as_deref()?, self.catalog).ok()?;
        let before = self.names.ids.iter().take(at).rev();
        let (list, item) = before.filter_map(|id| self.list_of(id)).next()?;
        let input = self.catalog.get(tool)?.input.value();
        let wanted = input.get("required").and_then(Value::as_array);
        let wanted = wanted.into_iter().flatten().filter_map(Value::as_str);
        let mut step = step.clone();
        for name in wanted.filter(|name| item.contains(*name)) {
            let read = Value::String(format!("{{{{ item.{name} }}}}"));
            step.args.entry(name.to_owned()).or_insert(read);
        }
        step.each = Some(list);
        Some(step)
    }

    /// The one list in what a step comes to, as an expression, and the fields of its items.
    fn list_of(&self, id: &str) -> Option<(String, BTreeSet<String>)> {
        let called = self.calls.iter().find(|(step, _)| step == id);
        let output = self.catalog.get(&called?.1)?.output.as_ref()?.value();
        let items = |schema: &Value| -> Option<BTreeSet<String>> {
            (schema.get("type")? == "array").then_some(())?;
            let fields = schema.get("items")?.get("properties")?.as_object()?;
            Some(fields.keys().cloned().collect())
        };
        if let Some(fields) = items(output) {
            return Some((format!("steps.{id}.output"), fields));
        }
        let named = output.get("properties")?.as_object()?.iter();
        let mut lists = named.filter_map(|(name, schema)| Some((name, items(schema)?)));
        match (lists.next(), lists.next()) {
            (Some((name, fields)), None) => Some((format!("steps.{id}.output.{name}"), fields)),
            _ => None,
        }
    }
}

/// What a sentence says behind `for each THING`.
pub(super) fn after_each(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    let heads = ["for each ", "for every ", "for all "];
    let head = heads.iter().find(|head| lower.starts_with(**head))?;
    let rest = text.get(head.len()..)?;
    Some(rest.split_once(',').map_or(rest, |(_, rest)| rest))
}
