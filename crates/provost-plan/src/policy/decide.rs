//! The verdict on a call.
//!
//! Owns the two decisions and what is known of a call when it is decided. Never answers `permit`
//! when anything went wrong: an error, an unknown operation, an argument that does not fit its
//! schema all forbid. INVARIANT: arguments that are not known yet can only make it stricter.

use std::collections::BTreeSet;

use cedar_policy::{Decision as Answer, Entities, PolicySet, Request};

use super::combine::{Side, combine};
use super::entities::context;
use super::load::{PolicyEntry, words_of};
use super::mentions::Mention;
use super::partial::{self, Partial};
use super::ready::PreparedSide;
use super::values::DecisionInput;
use super::{AskTerms, CallFacts, Decision, OperationTerms, Policy, Verdict};
use crate::catalog::{Effect, Operation};

/// Named in verdicts where an opaque argument asks whatever the policy files say.
const OPAQUE_RULE: &str = "provost:opaque-arguments";

impl Policy {
    /// Decides a call.
    #[must_use]
    pub fn decide(&self, facts: &CallFacts<'_>) -> Verdict {
        self.try_decide(facts).unwrap_or_else(Verdict::refused)
    }

    fn try_decide(&self, facts: &CallFacts<'_>) -> Result<Verdict, Vec<String>> {
        let one = |error: String| vec![error];
        let terms = self.terms_of(facts.operation).map_err(one)?;
        let known = facts
            .args
            .iter()
            .filter(|(name, _)| !facts.unknown.contains(*name));
        let mut seen = DecisionInput::of(&terms.fields, facts.operation, known, facts.unknown)
            .map_err(|error| one(error.to_string()))?;
        let mut open = terms.open(facts.unknown);
        match facts.totals {
            Some(totals) => seen.add_totals(&self.inner.values, totals),
            None if self.inner.values.is_empty() => {}
            None => {
                open.insert(Mention::Totals);
            }
        }
        if facts.repeats.is_none() && terms.counts_repeats(self) {
            open.insert(Mention::Repeats);
        }
        let ready = terms.ready(self, facts)?;
        // Why: where no policy looks at an argument, every call that is known in full and holds
        // nothing opaque is decided alike.
        let alike = ready.is_blind && open.is_empty() && seen.opaque.is_empty();
        if let Some(verdict) = ready.blind.get().filter(|_| alike) {
            return Ok(verdict.clone());
        }
        let schema = open.is_empty().then_some(&*self.inner.schema);
        let request = Request::new(
            ready.principal.clone(),
            ready.action.clone(),
            ready.call.clone(),
            context(&seen).map_err(one)?,
            schema,
        )
        // Why: Cedar's own words would print every argument.
        .map_err(|_| one("the call does not have the form policy was typed by".to_owned()))?;
        let asked = Asked {
            policy: self,
            request: &request,
            seen: &seen,
            open: &open,
        };
        let unattended = asked.side(&ready.unattended)?;
        let attended = asked.side(&ready.attended)?;
        let verdict = combine(&unattended, &attended, &self.inner.entries);
        let verdict = enforce_opaque(verdict, facts.operation, &seen, &open);
        Ok(if alike {
            ready.blind.get_or_init(|| verdict).clone()
        } else {
            verdict
        })
    }

    fn terms_of(&self, operation: &Operation) -> Result<&OperationTerms, String> {
        let name = &operation.name;
        let terms = self
            .inner
            .operations
            .get(name)
            .ok_or_else(|| format!("the policy was loaded for a catalog without `{name}`"))?;
        let own = &terms.operation;
        let is_own = std::ptr::eq(own.input.value(), operation.input.value())
            || own.input == operation.input;
        if !is_own {
            return Err(format!(
                "the input schema of `{name}` is not the one policy was typed by"
            ));
        }
        Ok(terms)
    }

    /// What Cedar says, as far as it was asked.
    pub(super) fn answer(
        &self,
        request: &Request,
        set: &PolicySet,
        entities: &Entities,
    ) -> Result<Side, Vec<String>> {
        let response = self.inner.authorizer.is_authorized(request, set, entities);
        let mut errors: Vec<String> = response
            .diagnostics()
            .errors()
            .map(|error| words_of(error))
            .collect();
        if !errors.is_empty() {
            errors.sort();
            return Err(errors);
        }
        let reasons = response
            .diagnostics()
            .reason()
            .map(|id| AsRef::<str>::as_ref(id).to_owned())
            .collect();
        Ok(match response.decision() {
            Answer::Allow => Side {
                permits: reasons,
                ..Side::default()
            },
            Answer::Deny => Side {
                forbids: reasons,
                ..Side::default()
            },
        })
    }
}

impl OperationTerms {
    /// The parts of the context that unknown arguments leave open.
    pub(super) fn open(&self, unknown: &BTreeSet<String>) -> BTreeSet<Mention> {
        let mut open = BTreeSet::new();
        for name in unknown {
            open.insert(Mention::Arg(name.clone()));
            if self.operation.is_sink(name) {
                open.extend([Mention::Sinks, Mention::Hosts]);
            }
            let field = self.fields.known.get(name);
            if !field.is_some_and(|field| field.shape.is_exact()) {
                open.insert(Mention::Opaque);
            }
        }
        if !open.is_empty() {
            open.insert(Mention::Whole);
        }
        open
    }
}

/// One call, as Cedar is asked about it.
struct Asked<'a> {
    policy: &'a Policy,
    request: &'a Request,
    seen: &'a DecisionInput,
    open: &'a BTreeSet<Mention>,
}

impl Asked<'_> {
    /// One of the two decisions: what stands for every call like this, and what the policies that
    /// look at its arguments add.
    fn side(&self, ready: &PreparedSide) -> Result<Side, Vec<String>> {
        let mut side = ready.standing.clone();
        if ready.looking.is_empty() {
            return Ok(side);
        }
        if self.open.is_empty() {
            side.join(
                self.policy
                    .answer(self.request, &ready.set, &ready.entities)?,
            );
            return Ok(side);
        }
        let entries = &self.policy.inner.entries;
        let looking = ready.looking.iter().filter_map(|place| entries.get(*place));
        let (open, decided): (Vec<&PolicyEntry>, Vec<&PolicyEntry>) =
            looking.partition(|entry| !entry.mentions.is_disjoint(self.open));
        if open.is_empty() {
            let answer = self
                .policy
                .answer(self.request, &ready.set, &ready.entities)?;
            side.join(answer);
            return Ok(side);
        }
        if !decided.is_empty() {
            let set = PolicySet::from_policies(decided.iter().map(|entry| entry.policy.clone()))
                .map_err(|error| vec![words_of(&error)])?;
            side.join(self.policy.answer(self.request, &set, &ready.entities)?);
        }
        let parts = partial::evaluate(&Partial {
            schema: self.policy.schema_for(self.open),
            request: self.request,
            entities: &ready.entities,
            seen: self.seen,
            open: self.open,
            entries: &open,
        });
        partial::add(&mut side, parts)?;
        Ok(side)
    }
}

/// What no policy can look at is looked at by a person, whatever the policy files say.
fn enforce_opaque(
    mut verdict: Verdict,
    operation: &Operation,
    seen: &DecisionInput,
    open: &BTreeSet<Mention>,
) -> Verdict {
    let may_be = open.contains(&Mention::Opaque);
    let silent = seen.opaque.is_empty() && !may_be;
    if verdict.decision != Decision::Permit || operation.effect == Effect::Read || silent {
        return verdict;
    }
    verdict.decision = Decision::Ask;
    verdict.policies = vec![OPAQUE_RULE.to_owned()];
    verdict.ask = Some(AskTerms::default());
    if seen.opaque.is_empty() {
        verdict.condition = Some(format!("asks if {}", partial::OPAQUE_WORDS));
    }
    verdict
}
