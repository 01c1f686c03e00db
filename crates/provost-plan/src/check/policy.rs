//! The pass `policy`: the verdict of every step, as far as its arguments are known.
//!
//! Owns how a step becomes a question to the policy, for the check and for the run. The judgment
//! is [`crate::policy`]'s. INVARIANT: a plan can ask for more caution than policy, never for less.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::guards::{self, GuardFacts};
use super::{FixedEntry, Pass};
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::expr::ArgTree;
use crate::label::{Integrity, Label};
use crate::plan::readings::reads_unaccepted;
use crate::plan::{CallRole, Step};
use crate::policy::{CallFacts, Decision, Verdict};
use crate::source::Spanned;

mod answers;
mod asked;
mod envelope;
mod quorum;
mod role;

/// The id that stands for `approval: required` among the policies of a verdict.
pub const ASKED_BY_PLAN: &str = "plan:approval-required";

/// A verdict with what the step itself asks for: `approval: required` makes a permit an ask.
#[must_use]
pub fn with_own_caution(step: &Step, verdict: Verdict) -> Verdict {
    match step.approval_required {
        true => verdict.asked_by(ASKED_BY_PLAN),
        false => verdict,
    }
}

/// The arguments that are known before the run, and the names of those that are not, or may not
/// be sent; what is left out for certain is neither.
fn known(pass: &Pass<'_>, args: &ArgTree) -> (Map<String, Value>, BTreeSet<String>) {
    let mut known = Map::new();
    let mut unknown = BTreeSet::new();
    for entry in args.entries() {
        match pass.fixed_entry(entry) {
            Some(FixedEntry::Sent(value)) => {
                known.insert(entry.0.to_string(), value);
            }
            Some(FixedEntry::LeftOut) => {}
            None => {
                unknown.insert(entry.0.to_string());
            }
        }
    }
    (known, unknown)
}

/// Whether every argument is trusted or stands in the goal, as far as that is known before the run;
/// of one that is left out, whether what decides that is trusted.
fn values_from_goal(
    pass: &Pass<'_>,
    args: &Map<String, Value>,
    labels: &BTreeMap<String, Label>,
) -> bool {
    let trusted = |name: &String| {
        let label = labels.get(name);
        label.is_some_and(|label| label.integrity == Integrity::Trusted)
    };
    let goal = &pass.terms.goal;
    args.iter()
        .all(|(name, value)| trusted(name) || goal.holds(value))
        && labels
            .keys()
            .all(|name| trusted(name) || args.contains_key(name))
}

/// Whether a call may be made with what nobody accepted: no call is made before its arguments
/// passed their schema, and before every step that it waits for has ended.
fn may_read_unaccepted(pass: &Pass<'_>, args: &ArgTree, given: &GuardFacts) -> bool {
    reads_unaccepted(args, given, &|id, is_error| {
        // Why only of a list: what else failed has no output, which R106 finds.
        let may_be_partial = |s: &Step| s.for_each.is_some() && s.on_failure.may_go_on();
        is_error || pass.plan.step(id).is_some_and(may_be_partial)
    })
}

/// What roles do not admit, and the verdicts of the steps that are otherwise without errors.
pub(crate) fn run(pass: &mut Pass<'_>) {
    let outside = role::outside(pass);
    pass.diagnostics.extend(outside);
    let nobody = asked::nobody(pass);
    pass.diagnostics.extend(nobody);
    let beyond = envelope::beyond(pass);
    pass.diagnostics.extend(beyond);
    let faulty: BTreeSet<&str> = pass
        .diagnostics
        .iter()
        .filter(|d| d.severity() == Severity::Error)
        .filter_map(|d| d.step.as_deref())
        .collect();
    let mut verdicts: BTreeMap<String, BTreeMap<CallRole, Verdict>> = BTreeMap::new();
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let id = step.id.value.as_str();
        let (Some(_), Some(labels)) = (pass.operation(step), pass.labels.get(id)) else {
            continue;
        };
        // Why: policy is typed by the same schemas; what does not fit them is an error of its own.
        if faulty.contains(id) {
            continue;
        }
        let given = guards::given(pass, step);
        let asked = AskedCall {
            pass,
            step,
            control: &labels.control,
            given: &given,
        };
        for (role, tool, args) in step.calls() {
            let Some(operation) = pass.called(step, role) else {
                continue;
            };
            let own = labels.of(role);
            let verdict = asked.decide(operation, (args, own), None);
            if role == CallRole::Own && verdict.decision != Decision::Forbid {
                let with =
                    |name: &str, value| asked.decide(operation, (args, own), Some((name, value)));
                found.extend(answers::all_forbidden(pass, step, args, &with));
            }
            let verdict = match role {
                CallRole::Confirm => verdict,
                CallRole::Own | CallRole::Undo => with_own_caution(step, verdict),
            };
            found.extend(finding(step, role, tool, &verdict));
            let of_step = verdicts.entry(id.to_owned()).or_default();
            of_step.insert(role, verdict);
        }
    }
    found.extend(quorum::too_few(pass, &verdicts));
    pass.diagnostics.extend(found);
    pass.verdicts = verdicts;
}

/// A step whose calls policy is asked about.
struct AskedCall<'p, 'a> {
    pass: &'p Pass<'a>,
    step: &'p Step,
    control: &'p Label,
    given: &'p GuardFacts,
}

impl AskedCall<'_, '_> {
    /// What policy says of a call, as far as its arguments are known, or with a value for one that
    /// is not.
    fn decide(
        &self,
        operation: &Operation,
        (args, labels): (&ArgTree, &BTreeMap<String, Label>),
        with: Option<(&str, Value)>,
    ) -> Verdict {
        let (mut known, mut unknown) = known(self.pass, args);
        if let Some((name, value)) = with {
            unknown.remove(name);
            known.insert(name.to_owned(), value);
        }
        self.pass.terms.policy.decide(&CallFacts {
            principal: &self.pass.terms.principal,
            operation,
            role: self.step.role().unwrap_or_default(),
            args: &known,
            unknown: &unknown,
            labels,
            control: self.control,
            inputs_validated: !may_read_unaccepted(self.pass, args, self.given),
            values_from_goal: values_from_goal(self.pass, &known, labels),
            repeats: CallFacts::repeats_before_the_run(operation),
            totals: self.pass.totals.as_ref(),
        })
    }
}

/// The finding about a call that policy does not permit by itself.
///
/// A read that proves a write is made at once, by itself: whoever is asked could not tell why. What
/// is undone was done before: it is asked about like any call, and must not be forbidden.
fn finding(
    step: &Step,
    role: CallRole,
    tool: &Spanned<String>,
    verdict: &Verdict,
) -> Option<Diagnostic> {
    let (id, name) = (&step.id.value, &tool.value);
    let by = match verdict.policies.as_slice() {
        [] => "nothing permits it".to_owned(),
        ids => format!("decided by {}", ids.join(", ")),
    };
    let found = |code, message| {
        let finding = Diagnostic::new(code, tool.span, message).step(id);
        finding.note(by)
    };
    Some(match verdict.decision {
        Decision::Permit => return None,
        Decision::Forbid => {
            let message = match role {
                CallRole::Own => format!("policy forbids `{id}` to call `{name}`"),
                CallRole::Confirm => format!("policy forbids `{name}`, which confirms `{id}`"),
                CallRole::Undo => format!("policy forbids `{name}`, which undoes `{id}`"),
            };
            let errors = verdict.errors.iter();
            errors.fold(found(Code::Forbidden, message), |finding, error| {
                finding.note(error.clone())
            })
        }
        Decision::Ask if role == CallRole::Confirm => {
            let message = format!("a person would be asked before `{name}` confirms `{id}`");
            found(Code::BadConfirm, message)
                .hint("confirm with a read that policy permits by itself")
        }
        Decision::Ask => {
            let does = match role {
                CallRole::Undo => format!("`{name}` undoes `{id}`"),
                CallRole::Own | CallRole::Confirm => format!("`{id}` calls `{name}`"),
            };
            let finding = found(Code::Asks, format!("a person is asked before {does}"));
            match &verdict.condition {
                Some(condition) => finding.note(condition.clone()),
                None => finding,
            }
        }
    })
}
