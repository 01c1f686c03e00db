//! The goal: what the user wants.
//!
//! Owns its text, criteria and identity. INVARIANT: a revision never changes a goal.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digest::{Digest, Domain};

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Goal {
    /// In the user's words.
    pub text: String,
    /// What must be true at the end.
    #[serde(default)]
    pub success: Vec<Criterion>,
    /// Typed parameters found in the text, by the playbook that matched.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub params: serde_json::Map<String, Value>,
    /// Whether a planner wrote it, and no person: then none of its words is trusted for standing
    /// in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untrusted: bool,
}

/// One thing that must be true at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Criterion {
    /// Its id, which a proof names.
    pub id: String,
    /// The criterion in words, as the user reads it.
    pub text: String,
}

impl Goal {
    /// A goal of this text, with the one criterion `goal` that a goal without its own has.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        let criterion = Criterion {
            id: "goal".to_owned(),
            text: text.to_owned(),
        };
        Self {
            text: text.to_owned(),
            success: vec![criterion],
            params: serde_json::Map::new(),
            untrusted: false,
        }
    }

    /// Where a text or a number stands in a goal that a person typed: one of its parameters, or its
    /// text as whole words. What a planner wrote holds nothing.
    #[must_use]
    pub fn place_of(&self, value: &Value) -> Option<String> {
        if self.untrusted {
            return None;
        }
        let mut params = self.params.iter();
        if let Some((name, _)) = params.find(|(_, param)| *param == value) {
            return Some(format!("params.{name}"));
        }
        let in_text = match value {
            Value::String(text) => stands_in(&self.text, text),
            Value::Number(number) => stands_in(&self.text, &number.to_string()),
            _ => false,
        };
        in_text.then(|| "its text".to_owned())
    }

    /// Whether every text and number in a value stands in it, and nothing else is in the value.
    #[must_use]
    pub fn holds(&self, value: &Value) -> bool {
        match value {
            Value::Array(items) => !items.is_empty() && items.iter().all(|item| self.holds(item)),
            Value::Object(map) => !map.is_empty() && map.values().all(|item| self.holds(item)),
            leaf => self.place_of(leaf).is_some(),
        }
    }

    /// The digest of the goal as canonical JSON.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(Domain::Goal, self)
    }
}

/// Whether `part` stands in `text` as whole words.
fn stands_in(text: &str, part: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '.' | '/');
    let is_part = |c: Option<char>| c.is_some_and(is_word);
    !part.trim().is_empty()
        && text.match_indices(part).any(|(at, _)| {
            let before = text.get(..at).and_then(|before| before.chars().next_back());
            let mut after = text.get(at + part.len()..).unwrap_or_default().chars();
            let next = after.next();
            // Why: a sentence's full stop behind an address is not a part of it.
            let next = next.filter(|c| *c != '.' || is_part(after.next()));
            !is_part(before) && !is_part(next)
        })
}

#[cfg(test)]
mod tests {
    use super::stands_in;

    #[test]
    fn words_of_the_goal() {
        let goal = "Page ada@example.org about PAY-7, not bob@example.org.";
        for (part, expected) in [
            ("ada@example.org", true),
            ("bob@example.org", true),
            ("PAY-7", true),
            ("PAY", false),
            ("example.org", false),
            ("eve@example.org", false),
            ("", false),
            (" ", false),
        ] {
            assert_eq!(stands_in(goal, part), expected, "{part}");
        }
    }
}
