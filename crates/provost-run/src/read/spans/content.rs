//! What a run was about, where a workspace has it sent: arguments, results, goal and answer.
//!
//! Owns which of them a setting lets through, by their labels. INVARIANT: what is labelled secret
//! leaves in no form and at no setting, not even as its size; a value whose label nobody knows
//! counts as secret.

use std::collections::BTreeMap;

use provost_plan::label::{Integrity, Label};
use serde_json::{Map, Value, json};

use super::{Attributes, SpanValue, text};
use crate::event::{AttemptStarted, RunCreated, RunEnded};
use crate::shown::{secret, started_args};

/// How much of what a run was about is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpanContent {
    /// Nothing.
    #[default]
    None,
    /// Sizes and labels.
    Labels,
    /// Values that are labelled trusted, too.
    Trusted,
    /// All values, texts that nobody vouches for, goal and answer.
    All,
}

impl SpanContent {
    /// The words of provost.toml.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("none", Self::None),
        ("labels", Self::Labels),
        ("trusted", Self::Trusted),
        ("all", Self::All),
    ];

    /// What is told of a journal. Why by its version: one that names none may come from a time in
    /// which outputs that are secret were not labelled so.
    pub(super) fn of(self, created: &RunCreated) -> Self {
        match created.provost {
            Some(_) => self,
            None => Self::None,
        }
    }

    fn shows(self, integrity: Integrity) -> bool {
        match self {
            Self::None | Self::Labels => false,
            Self::Trusted => integrity == Integrity::Trusted,
            Self::All => true,
        }
    }

    /// Of a call: its arguments, each by its label.
    pub(super) fn of_args(
        self,
        started: &AttemptStarted,
        labels: Option<&BTreeMap<String, Label>>,
    ) -> Attributes {
        if self == Self::None {
            return Vec::new();
        }
        let Value::Object(args) = started_args(started) else {
            return Vec::new();
        };
        let mut words: BTreeMap<&str, u64> = BTreeMap::new();
        let (mut bytes, mut shown) = (0, Map::new());
        for (name, value) in args {
            let label = labels.and_then(|labels| labels.get(&name));
            let label = label.filter(|label| !label.secret && !started.secret_args.contains(&name));
            let (word, value) = match label {
                None => ("secret", secret()),
                Some(label) => {
                    bytes += value.to_string().len();
                    let word = label.integrity.word();
                    match self.shows(label.integrity) {
                        true => (word, value),
                        false => (word, json!({ "withheld": word })),
                    }
                }
            };
            *words.entry(word).or_default() += 1;
            shown.insert(name, value);
        }
        let words = words.iter().map(|(word, count)| format!("{count} {word}"));
        let words: Vec<String> = words.collect();
        let mut told = vec![
            ("provost.args.labels", text(words.join(", "))),
            ("provost.args.bytes", size(bytes)),
        ];
        if self >= Self::Trusted {
            let value = SpanValue::Content(Value::Object(shown));
            told.push(("gen_ai.tool.call.arguments", value));
        }
        told
    }

    /// Of a call: its result.
    pub(super) fn of_result(self, result: Option<(&Label, Option<&Value>)>) -> Attributes {
        let Some((label, output)) = result.filter(|_| self != Self::None) else {
            return Vec::new();
        };
        let Some(output) = output else {
            return vec![("provost.result.label", text("secret"))];
        };
        let mut told = vec![
            ("provost.result.label", text(label.integrity.word())),
            ("provost.result.bytes", size(output.to_string().len())),
        ];
        if self.shows(label.integrity) {
            let value = SpanValue::Content(output.clone());
            told.push(("gen_ai.tool.call.result", value));
        }
        told
    }

    /// Of a run: what it was asked, and what it answered.
    pub(super) fn of_run(self, goal: &str, ended: &RunEnded) -> Attributes {
        if self < Self::All {
            return Vec::new();
        }
        let message = |role: &str, content: String| {
            let part = json!({ "type": "text", "content": content });
            SpanValue::Content(json!([{ "role": role, "parts": [part] }]))
        };
        let mut told = vec![("gen_ai.input.messages", message("user", goal.to_owned()))];
        let parts = ended.answer.iter().map(|part| {
            let spans = part.spans.iter().map(|span| span.text.as_str());
            spans.collect::<String>()
        });
        let answer: Vec<String> = parts.collect();
        if !answer.is_empty() {
            let value = message("assistant", answer.join("\n"));
            told.push(("gen_ai.output.messages", value));
        }
        told
    }
}

fn size(bytes: usize) -> SpanValue {
    SpanValue::Number(u64::try_from(bytes).unwrap_or(u64::MAX))
}
