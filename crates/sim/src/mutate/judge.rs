//! The word of the check on a plan, and whether that on another is stricter.
//!
//! Owns the comparison. Never says what a mutant is: that is the operator's and the run's.
//! INVARIANT: a stricter word is an error, another decision of greater weight, or an ask with one
//! reason more: a policy that did not ask before, or an argument shown as untrusted.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::{Checked, CheckedPlan, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::plan::Plan;
use provost_plan::plan::read::read_plan;
use provost_plan::policy::Decision;
use provost_plan::source::Source;

/// What plans are checked under.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The terms.
    pub terms: Terms,
    /// What the author of the plan had seen.
    pub origin: Origin,
    /// The plan before it.
    pub previous: Option<CheckedPlan>,
    /// The steps of that plan that ran.
    pub settled: BTreeSet<String>,
    /// Of these, the steps that have ended for good.
    pub over: BTreeSet<String>,
}

/// What the check said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgment {
    /// The codes of the errors.
    pub errors: BTreeSet<String>,
    /// How often each code of a warning was found.
    pub warnings: BTreeMap<String, usize>,
    /// The weight of each step's verdict: 0 permit, 1 ask, 2 forbid; and why it asks.
    pub verdicts: BTreeMap<String, (u8, BTreeSet<String>)>,
}

impl Setting {
    /// Reads and checks a text; the plan too, if it can be read.
    #[must_use]
    pub fn judge(&self, text: &str) -> (Judgment, Option<Plan>) {
        let plan = match read_plan(&Source::new("plan", text)) {
            Ok(plan) => plan,
            Err(diagnostics) => return (Judgment::of(&diagnostics, None), None),
        };
        let checked = self.check(plan.clone());
        let judgment = Judgment::of(&checked.diagnostics, checked.plan.as_ref());
        (judgment, Some(plan))
    }

    /// The check of a plan.
    #[must_use]
    pub fn check(&self, plan: Plan) -> Checked {
        let base = RevisionBase {
            revision: 1 + u32::from(self.previous.is_some()),
            previous: self.previous.as_ref(),
            settled: self.settled.clone(),
            over: self.over.clone(),
            ..RevisionBase::default()
        };
        let origin = self.origin.clone();
        check(
            Draft {
                plan: plan.into(),
                origin,
            },
            &self.terms,
            &base,
        )
    }
}

impl Judgment {
    /// From what was found, and the plan if there was no error.
    #[must_use]
    pub fn of(diagnostics: &[Diagnostic], plan: Option<&CheckedPlan>) -> Self {
        let mut judgment = Self::default();
        for one in diagnostics {
            let code = one.code.to_string();
            match one.severity() {
                Severity::Error => {
                    judgment.errors.insert(code);
                }
                Severity::Warning => *judgment.warnings.entry(code).or_default() += 1,
                Severity::Note => {}
            }
        }
        for (id, step) in plan.iter().flat_map(|plan| &plan.record().steps) {
            if let Some(verdict) = &step.verdict {
                let weight = match verdict.decision {
                    Decision::Permit => 0,
                    Decision::Ask => 1,
                    Decision::Forbid => 2,
                };
                let asks = verdict.decision == Decision::Ask;
                let policies = verdict.policies.iter().cloned();
                // Why: what a person is shown on a card is a part of what is asked.
                let untrusted = step.labels.iter().filter(|(_, label)| {
                    label.integrity != provost_plan::label::Integrity::Trusted
                });
                let shown = untrusted.map(|(name, _)| format!("untrusted `{name}`"));
                let asked = policies.chain(shown).filter(|_| asks).collect();
                judgment.verdicts.insert(id.clone(), (weight, asked));
            }
        }
        judgment
    }

    /// Whether there are more warnings of some code than in `original`.
    #[must_use]
    pub fn warns_more(&self, original: &Self) -> bool {
        let more = |(code, count): (&String, &usize)| {
            original
                .warnings
                .get(code)
                .is_none_or(|known| known < count)
        };
        self.warnings.iter().any(more)
    }

    /// Whether this word is stricter than `original`; `renamed` says which ids changed.
    #[must_use]
    pub fn is_stricter(&self, original: &Self, renamed: &BTreeMap<String, String>) -> bool {
        let permitted = (0, BTreeSet::new());
        let stricter = |(id, (weight, policies)): (&String, &(u8, BTreeSet<String>))| {
            let before = renamed.get(id).unwrap_or(id);
            let (was, known) = original.verdicts.get(before).unwrap_or(&permitted);
            weight > was || (weight == was && !policies.is_subset(known))
        };
        !self.errors.is_empty() || self.verdicts.iter().any(stricter)
    }
}
