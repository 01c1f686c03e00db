//! Match rules: a sentence with `{holes}` against the text of a goal.
//!
//! Owns the whole-text comparison (letter case and spacing do not count) and the types of holes.
//! INVARIANT: a value that comes out of a hole has its parameter's type and fits its pattern.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::plan::Params;
use regex::{Regex, RegexBuilder};

mod near;
mod param;
mod similar;

pub use near::Near;
pub use param::{ParamKind, ParamType};
pub use similar::Similar;
pub(crate) use similar::words_of;

/// Longest goal that is compared, in bytes.
pub const GOAL_BYTES_MAX: usize = 16 * 1024;
/// Largest compiled form of a pattern, in bytes.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A sentence with holes.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    holes: Vec<String>,
    regex: Regex,
    loose: near::Loose,
}

fn build(pattern: &str, any_case: bool) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .case_insensitive(any_case)
        .size_limit(REGEX_BYTES_MAX)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the pattern is too large".to_owned(),
            other => other
                .to_string()
                .lines()
                .last()
                .unwrap_or("the pattern cannot be read")
                .trim_start_matches("error: ")
                .to_owned(),
        })
}

/// A part of a sentence.
enum PatternPart<'a> {
    Words(&'a str),
    Hole(&'a str),
}

fn parts(text: &str) -> Result<Vec<PatternPart<'_>>, String> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((words, after)) = rest.split_once('{') {
        let (hole, after) = after
            .split_once('}')
            .ok_or_else(|| "a `{` without its `}`".to_owned())?;
        if words.trim().is_empty() && matches!(parts.last(), Some(PatternPart::Hole(_))) {
            return Err(format!(
                "no word between the hole `{{{hole}}}` and the one before it"
            ));
        }
        if !is_name(hole) {
            return Err(format!(
                "`{{{hole}}}` is no hole: a name is of `a-z`, `0-9` and `_`"
            ));
        }
        parts.extend([PatternPart::Words(words), PatternPart::Hole(hole)]);
        rest = after;
    }
    parts.push(PatternPart::Words(rest));
    let words = parts.iter().filter_map(|part| match part {
        PatternPart::Words(words) => Some(*words),
        PatternPart::Hole(_) => None,
    });
    let words: String = words.collect();
    if words.contains('}') {
        return Err("a `}` without its `{`".to_owned());
    }
    if !words.contains(char::is_alphanumeric) {
        return Err("no word beside its holes, so it would match every goal".to_owned());
    }
    Ok(parts)
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_lowercase())
        && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        && text.len() <= 40
}

/// One spelling of the spaces in a text.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Pattern {
    /// Reads a sentence whose holes are among `params`.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn new(text: &str, params: &BTreeMap<String, ParamType>) -> Result<Self, String> {
        let text = spaced(text);
        let mut holes: Vec<String> = Vec::new();
        let mut regex = String::from("^");
        for part in parts(&text)? {
            match part {
                PatternPart::Words(words) => regex.push_str(&regex::escape(words)),
                PatternPart::Hole(name) => {
                    let param = params
                        .get(name)
                        .ok_or_else(|| format!("the hole `{{{name}}}` is not among `params`"))?;
                    if holes.iter().any(|hole| hole == name) {
                        return Err(format!("the hole `{{{name}}}` stands twice"));
                    }
                    regex.push_str(&format!("({})", param.regex()));
                    holes.push(name.to_owned());
                }
            }
        }
        regex.push('$');
        Ok(Self {
            regex: build(&regex, true)?,
            loose: near::Loose::of(&text)?,
            text,
            holes,
        })
    }

    /// The sentence.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The names of its holes, from left to right.
    #[must_use]
    pub fn holes(&self) -> &[String] {
        &self.holes
    }

    /// The values in the holes, if the whole of `goal` is this sentence.
    #[must_use]
    pub fn matches(&self, goal: &str, params: &BTreeMap<String, ParamType>) -> Option<Params> {
        if goal.len() > GOAL_BYTES_MAX {
            return None;
        }
        let goal = spaced(goal);
        // Why both: a mark may be part of the sentence or of a value, or only end the goal.
        let whole = self.values(&goal, params);
        whole.or_else(|| self.values(near::ended(&goal), params))
    }

    /// The values in the holes, if `goal` is this sentence to the last mark.
    fn values(&self, goal: &str, params: &BTreeMap<String, ParamType>) -> Option<Params> {
        let found = self.regex.captures(goal)?;
        self.holes
            .iter()
            .zip(found.iter().skip(1))
            .map(|(name, text)| {
                let (text, end) = text.map(|text| (text.as_str(), text.end()))?;
                // Why: in "is the API so slow", `so` is of the word behind the value.
                let last = text.rsplit(' ').next().filter(|_| end < goal.len());
                let is_cut = last.is_none_or(|last| !similar::is_adverb(last));
                // Why: "the latency spike" leaves the value out, it does not say `the`.
                let value = (is_cut && !text.split(' ').all(near::is_article))
                    .then(|| params.get(name)?.value(text))??;
                Some((name.clone(), value))
            })
            .collect()
    }

    /// What a goal that does not match says all the same, if it has the words of this sentence.
    #[must_use]
    pub fn near(&self, goal: &str, params: &BTreeMap<String, ParamType>) -> Option<Near> {
        self.loose.matches(goal, &self.holes, params)
    }

    /// This sentence with the values that a goal says, if it has most of the sentence's words;
    /// `known` are the words of all sentences of the playbook.
    #[must_use]
    pub fn similar(
        &self,
        goal: &str,
        params: &BTreeMap<String, ParamType>,
        known: &BTreeSet<String>,
    ) -> Option<Similar> {
        similar::similar(&self.text, goal, params, known)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use serde_json::{Value, json};

    use super::*;

    fn params() -> BTreeMap<String, ParamType> {
        let plain = |kind| ParamType {
            kind,
            ..ParamType::default()
        };
        BTreeMap::from([
            (
                "service".to_owned(),
                ParamType {
                    pattern: Some(ParamType::whole("[A-Za-z][A-Za-z0-9 -]{1,20}").unwrap()),
                    ..plain(ParamKind::Text)
                },
            ),
            ("text".to_owned(), plain(ParamKind::Text)),
            ("count".to_owned(), plain(ParamKind::Integer)),
            ("share".to_owned(), plain(ParamKind::Number)),
            ("dry".to_owned(), plain(ParamKind::Boolean)),
            (
                "env".to_owned(),
                ParamType {
                    words: vec!["Production".to_owned(), "staging (eu)".to_owned()],
                    ..plain(ParamKind::Text)
                },
            ),
        ])
    }

    fn matched(pattern: &str, goal: &str) -> Option<Value> {
        let pattern = Pattern::new(pattern, &params()).unwrap();
        pattern.matches(goal, &params()).map(|found| json!(found))
    }

    #[test]
    fn a_goal_matches_as_a_whole_without_regard_to_case_and_spacing() {
        let pattern = "Investigate the {service} latency spike";
        for goal in [
            "Investigate the payment API latency spike",
            "  investigate THE  payment API\tlatency\nspike ",
        ] {
            assert_eq!(
                matched(pattern, goal),
                Some(json!({ "service": "payment API" }))
            );
        }
        for goal in [
            "",
            "Investigate the latency spike",
            "Investigate the  latency spike",
            "Please investigate the payment API latency spike",
            "Investigate the payment API latency spike now",
            "Investigate the payment API really latency spike",
            "Investigate the payment; drop table latency spike",
            "Investigate the 9lives latency spike",
            "Investigate the a-service-with-a-very-long-name latency spike",
        ] {
            assert_eq!(matched(pattern, goal), None, "{goal}");
        }
        assert_eq!(
            matched("What is 1+1 (really)?", "what is 1+1 (really)?"),
            Some(json!({}))
        );
        assert_eq!(matched("What is 1+1 (really)?", "what is 11 really"), None);
    }

    #[test]
    fn holes_have_types() {
        for (pattern, goal, value) in [
            (
                "at least {count} of {text}",
                "at least 12 of all of them",
                json!({ "count": 12, "text": "all of them" }),
            ),
            (
                "at least {count} items",
                "at least +7 items",
                json!({ "count": 7 }),
            ),
            (
                "at least {share} percent",
                "at least 2.50 percent",
                json!({ "share": 2.5 }),
            ),
            (
                "at least {share} percent",
                "at least 2.0 percent",
                json!({ "share": 2 }),
            ),
            (
                "with dry = {dry}",
                "with dry = TRUE",
                json!({ "dry": true }),
            ),
            (
                "deploy to {env}",
                "Deploy to PRODUCTION",
                json!({ "env": "Production" }),
            ),
            (
                "deploy to {env}",
                "deploy to staging (EU)",
                json!({ "env": "staging (eu)" }),
            ),
        ] {
            assert_eq!(matched(pattern, goal), Some(value), "{goal}");
        }
        for (pattern, goal) in [
            ("at least {count} items", "at least 1.5 items"),
            ("at least {count} items", "at least 9007199254740993 items"),
            ("at least {share} percent", "at least 1e3 percent"),
            ("with dry = {dry}", "with dry = yes"),
            ("deploy to {env}", "deploy to productionx"),
            ("deploy to {env}", "deploy to staging"),
        ] {
            assert_eq!(matched(pattern, goal), None, "{goal}");
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_used_says_why() {
        for (pattern, message) in [
            ("look at {service", "a `{` without its `}`"),
            ("look at service}", "a `}` without its `{`"),
            (
                "look at {Service}",
                "`{Service}` is no hole: a name is of `a-z`, `0-9` and `_`",
            ),
            (
                "look at {other}",
                "the hole `{other}` is not among `params`",
            ),
            ("{text} and {text}", "the hole `{text}` stands twice"),
            (
                "look at {text} {count}",
                "no word between the hole `{count}` and the one before it",
            ),
            (
                "{text}!",
                "no word beside its holes, so it would match every goal",
            ),
            ("", "no word beside its holes, so it would match every goal"),
        ] {
            assert_eq!(
                Pattern::new(pattern, &params()).unwrap_err(),
                message,
                "{pattern}"
            );
        }
        assert_eq!(
            ParamType::whole("[a-").unwrap_err(),
            "unclosed character class"
        );
        assert!(ParamType::whole("a)|(b").is_err());
        let shown = |pattern| ParamType::whole(pattern).unwrap().as_str().to_owned();
        assert_eq!(shown("^[A-Z]+$"), "^[A-Z]+$");
        assert_eq!(shown("^a|b$"), "^(?:^a|b$)$");
        assert_eq!(shown("^(?m)a$"), "^(?:^(?m)a$)$");
        assert_eq!(shown(r"^a\$"), r"^(?:^a\$)$");
        assert_eq!(
            ParamType::whole("(a{1000}){1000}").unwrap_err(),
            "the pattern is too large"
        );
    }
}
