//! The three things a model can do as a tool, and how its answer is read.
//!
//! Owns the form of the answer of each. Believes nothing: what does not fit its form is no output.
//! INVARIANT: an output holds what the model wrote and nothing that this file made up.

use provost_plan::json;
use serde_json::{Value, json};

/// What a model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskKind {
    /// Brings the material into a form.
    Extract,
    /// Writes a text.
    Generate,
    /// Says whether a criterion holds.
    Judge,
}

impl TaskKind {
    /// The words of `provost.toml`.
    pub(super) const WORDS: [(&'static str, Self); 3] = [
        ("extract", Self::Extract),
        ("generate", Self::Generate),
        ("judge", Self::Judge),
    ];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Extract => "extract",
            Self::Generate => "generate",
            Self::Judge => "judge",
        }
    }

    /// The field with the operator's word.
    pub(super) fn task_field(self) -> &'static str {
        match self {
            Self::Extract | Self::Generate => "instructions",
            Self::Judge => "criterion",
        }
    }

    /// What that is called.
    pub(super) fn task_word(self) -> &'static str {
        match self {
            Self::Extract | Self::Generate => "task",
            Self::Judge => "criterion",
        }
    }

    /// What stands over the operator's word, and over the rest.
    pub(super) fn headings(self) -> (&'static str, &'static str) {
        match self {
            Self::Extract | Self::Generate => ("Task", "Material"),
            Self::Judge => ("Criterion", "Evidence"),
        }
    }

    /// The form of its answer, unless the operator gives one.
    pub(super) fn answer(self) -> Option<Value> {
        let properties = match self {
            Self::Extract => return None,
            Self::Generate => json!({ "text": { "type": "string" } }),
            // Why in this order: what is written first is what the rest rests on.
            Self::Judge => json!({
                "reason": { "type": "string" },
                "verdict": { "enum": ["holds", "fails", "unclear"] },
            }),
        };
        let names = properties.as_object().map(|map| map.keys().cloned());
        let required: Vec<String> = names.into_iter().flatten().collect();
        Some(json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }))
    }
}

/// The answer as JSON, bare or in one code fence.
pub(super) fn read(text: &str) -> Result<Value, String> {
    let text = text.trim();
    let inside = text.strip_prefix("```").and_then(|rest| {
        let rest = rest.strip_suffix("```")?;
        Some(rest.strip_prefix("json").unwrap_or(rest))
    });
    json::read(inside.unwrap_or(text))
        .map_err(|error| format!("what the model answered is not JSON: {error}"))
}
