//! How large the schemas may be that a plan brings itself (`expect`, the `answer` of a question,
//! the `output` of a subgoal).
//!
//! Owns their bounds, looked at before any of them is compiled: a pattern of a few letters can take
//! a second. Never judges what a schema says.

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::{PLAN_PATTERNS_MAX, PLAN_SCHEMA_EXPANSION_MAX, PLAN_SCHEMA_VALUES_MAX};
use crate::node::{Kind, Node};
use crate::pattern;
use crate::schema::work::Work;

/// What all schemas of a plan come to.
#[derive(Default)]
struct SchemaSize {
    values: usize,
    patterns: usize,
    /// The subschemas, each reference written out.
    expansion: u64,
    /// Whether a pattern looks around or refers back.
    irregular: bool,
}

/// A finding at the schema with which those of the steps become too large.
pub(super) fn too_large(steps: &[Node]) -> Option<Diagnostic> {
    let mut size = SchemaSize::default();
    for step in steps {
        let answer = step.get("question").and_then(|q| q.get("answer"));
        let output = step.get("subgoal").and(step.get("output"));
        let own = step.get("expect").into_iter().chain(answer).chain(output);
        for schema in own {
            size.add(schema);
            let message = if size.values > PLAN_SCHEMA_VALUES_MAX {
                format!("the schemas of a plan may hold {PLAN_SCHEMA_VALUES_MAX} values in all")
            } else if size.patterns > PLAN_PATTERNS_MAX {
                "the patterns of the plan's schemas repeat too much to be compiled".to_owned()
            } else if size.irregular {
                "a pattern of a plan's schema looks around or refers back: nobody can say how long \
                 it takes"
                    .to_owned()
            } else if size.expand(schema) {
                continue;
            } else {
                format!(
                    "the schemas of a plan may come to {PLAN_SCHEMA_EXPANSION_MAX} subschemas in \
                     all, each `$ref` written out as often as it stands there"
                )
            };
            let finding = Diagnostic::new(Code::TooLarge, schema.span, message);
            return Some(finding.hint("say of an output only what the plan reads of it"));
        }
    }
    None
}

impl SchemaSize {
    fn add(&mut self, node: &Node) {
        self.values = self.values.saturating_add(1);
        match &node.kind {
            Kind::List(items) => items.iter().for_each(|item| self.add(item)),
            Kind::Map(entries) => {
                for (key, value) in entries {
                    match &value.kind {
                        Kind::Text(pattern) if key.value == "pattern" => self.pattern(pattern),
                        Kind::Map(patterns) if key.value == "patternProperties" => {
                            patterns
                                .iter()
                                .for_each(|(name, _)| self.pattern(&name.value));
                        }
                        _ => {}
                    }
                    self.add(value);
                }
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
        }
    }

    fn pattern(&mut self, pattern: &str) {
        let size = pattern::size(pattern);
        self.irregular |= size.is_none();
        let ranges = size.map_or(pattern.len(), |size| size.ranges);
        self.patterns = self.patterns.saturating_add(ranges);
    }

    /// Counts a schema with its references written out; whether there is room for it.
    fn expand(&mut self, schema: &Node) -> bool {
        let left = PLAN_SCHEMA_EXPANSION_MAX.saturating_sub(self.expansion);
        // Why not refused here what has no end: it does not compile, and that says more.
        let work = Work::of(&schema.to_value());
        let expansion = work.map_or(Some(1), |work| work.expansion(left));
        self.expansion = self.expansion.saturating_add(expansion.unwrap_or(left));
        expansion.is_some()
    }
}
