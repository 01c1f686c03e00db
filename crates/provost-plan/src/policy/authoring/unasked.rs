//! Whether the policies ask a person where untrusted values choose.
//!
//! Owns W813. Asks the policy about every call that is no plain read, as it is asked before a run,
//! in the case that asks the least: by every role, with nothing else to be careful about.
//! INVARIANT: a tool that is not named asks about each of its calls whose sinks hold untrusted
//! data, and about each that untrusted text decides on.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Map;

use crate::catalog::{Effect, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::label::{Integrity, Label};
use crate::policy::{CallFacts, Decision, Policy, Principal, Verdict};
use crate::source::{Source, Span};

impl Policy {
    /// The finding on the calls that run by themselves for `principal` although untrusted values
    /// choose what they do; none if a person is asked about all of them.
    #[must_use]
    pub fn unasked(&self, principal: &Principal) -> Option<(Source, Diagnostic)> {
        let who = [principal.clone(), principal.agent()];
        let (mut sinks, mut control) = (Vec::new(), Vec::new());
        for terms in self.inner.operations.values() {
            let operation = &*terms.operation;
            if operation.effect == Effect::Read {
                continue;
            }
            let names: BTreeSet<String> = terms.fields.known.keys().cloned().collect();
            let runs = |sink, text| {
                who.iter().any(|who| {
                    let call = UntrustedCall {
                        who,
                        operation,
                        names: &names,
                        sink,
                        control: text,
                    };
                    self.runs_unasked(&call)
                })
            };
            let is_sink = |name: &String| operation.is_sink(name);
            if names.iter().any(is_sink) && runs(Integrity::Data, Integrity::Trusted) {
                sinks.push(operation.name.as_str());
            }
            if runs(Integrity::Trusted, Integrity::Text) {
                control.push(operation.name.as_str());
            }
        }
        let parts = [
            (
                &sinks,
                "untrusted data decides whom it reaches",
                "untrusted-sink",
            ),
            (
                &control,
                "untrusted text decides that it runs",
                "untrusted-control",
            ),
        ];
        let missing = parts.iter().filter(|(tools, ..)| !tools.is_empty());
        let said: Vec<String> = missing.clone().map(|(t, what, _)| words(t, what)).collect();
        let rules: Vec<String> = missing.map(|(.., rule)| format!("`{rule}`")).collect();
        if said.is_empty() {
            return None;
        }
        let message = format!("policy asks nobody {}", said.join(", or "));
        let rules = rules.join(" and ");
        let finding = Diagnostic::new(Code::UntrustedUnasked, Span::default(), message).hint(
            format!("add {rules} of the default policy: the page of W813 shows them"),
        );
        let first = self.inner.sources.first().cloned();
        let source = first.unwrap_or_else(|| Source::new("policies", ""));
        Some((source, finding))
    }

    /// Whether a call may run without anybody being asked, in some role and with some arguments.
    fn runs_unasked(&self, call: &UntrustedCall<'_>) -> bool {
        let label = |name: &String| Label {
            integrity: match call.operation.is_sink(name) {
                true => call.sink,
                false => Integrity::Trusted,
            },
            ..Label::trusted()
        };
        let named = call.names.iter().map(|name| (name.clone(), label(name)));
        let labels: BTreeMap<String, Label> = named.collect();
        let control = Label {
            integrity: call.control,
            ..Label::trusted()
        };
        let declared = self.inner.known.roles.iter().map(String::as_str);
        let mut roles = std::iter::once("").chain(declared);
        roles.any(|role| {
            let verdict = self.decide(&CallFacts {
                principal: call.who,
                operation: call.operation,
                role,
                args: &Map::new(),
                unknown: call.names,
                labels: &labels,
                control: &control,
                inputs_validated: true,
                values_from_goal: call.sink == Integrity::Trusted,
                repeats: Some(0),
                totals: None,
            });
            may_run(&verdict)
        })
    }
}

/// A call with untrusted values in it.
struct UntrustedCall<'a> {
    who: &'a Principal,
    operation: &'a Operation,
    names: &'a BTreeSet<String>,
    /// What stands in its sinks.
    sink: Integrity,
    /// What decides that it runs.
    control: Integrity,
}

/// Whether a verdict leaves a case in which nobody is asked.
fn may_run(verdict: &Verdict) -> bool {
    match verdict.decision {
        Decision::Permit => true,
        Decision::Ask => verdict
            .condition
            .as_ref()
            .is_some_and(|c| !c.ends_with("asks otherwise")),
        Decision::Forbid => false,
    }
}

fn words(tools: &[&str], what: &str) -> String {
    let first = tools.first().copied().unwrap_or_default();
    match tools.len() {
        1 => format!("before `{first}` where {what}"),
        n => format!("before `{first}` and {} more where {what}", n - 1),
    }
}
