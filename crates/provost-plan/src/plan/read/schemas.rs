//! How large the schemas may be that a plan brings itself (`expect`, the `answer` of a question,
//! the `output` of a subgoal).
//!
//! Owns their bounds, looked at before any of them is compiled: a pattern of a few letters can take
//! a second. Never judges what a schema says.

use regex_syntax::hir::{Class, Hir, HirKind};

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::{PLAN_PATTERNS_MAX, PLAN_SCHEMA_VALUES_MAX};
use crate::node::{Kind, Node};

/// What all schemas of a plan come to.
#[derive(Default)]
struct Size {
    values: usize,
    patterns: usize,
}

/// A finding at the schema with which those of the steps become too large.
pub(super) fn too_large(steps: &[Node]) -> Option<Diagnostic> {
    let mut size = Size::default();
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
            } else {
                continue;
            };
            let finding = Diagnostic::new(Code::TooLarge, schema.span, message);
            return Some(finding.hint("say of an output only what the plan reads of it"));
        }
    }
    None
}

impl Size {
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
        // Why: what this parser does not take (looking around) costs at least its letters.
        let weight = regex_syntax::parse(pattern).map_or(pattern.len(), |hir| weight(&hir));
        self.patterns = self.patterns.saturating_add(weight);
    }
}

/// How many ranges of characters a pattern has once its repetitions are written out.
fn weight(hir: &Hir) -> usize {
    let sum = |parts: &[Hir]| {
        let weights = parts.iter().map(weight);
        weights.fold(0, usize::saturating_add)
    };
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(Class::Unicode(class)) => class.ranges().len(),
        HirKind::Class(Class::Bytes(class)) => class.ranges().len(),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min.saturating_add(1));
            let times = usize::try_from(most.max(1)).unwrap_or(usize::MAX);
            weight(&repetition.sub).saturating_mul(times)
        }
        HirKind::Capture(capture) => weight(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}
