//! Part of the pass `shape`: proofs and the guard of a step that say opposite things.
//!
//! Owns S716. Looks at runs that go as they are planned: nothing fails that may not, nothing is
//! left out, so a guarded step succeeds where its guard holds and is skipped elsewhere. What
//! excludes what is [`super::solve`]'s. INVARIANT: behind each finding is such a run in which the
//! proof is false for a step that did as its guard says, or the proof that it holds in none.

use std::collections::{BTreeMap, BTreeSet};

use super::accepted::{AcceptedOutputs, asserted};
use super::solve::{Solver, meets};
use super::status::Statuses;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, DemandSubject, both};
use crate::expr::{Root, Segment, Template};
use crate::plan::{Proof, Step};

/// Most steps whose ends are told apart in one case.
const ENDS_MAX: usize = 12;
/// Most ways in which the steps of one case can end.
const WORLDS_MAX: usize = 512;
/// Most proofs that are held against each other.
const PROOFS_MAX: usize = 12;

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    let end = Site::end();
    // Why: where nothing fails, no assertion does.
    let held = asserted(accepted, pass.plan.steps.iter());
    let solver = Solver::knowing(pass, &end, Statuses::End, Some(&held));
    let proofs = &pass.plan.success;
    let mut own = proofs
        .iter()
        .filter_map(|proof| of_proof(&solver, proof))
        .peekable();
    if own.peek().is_some() {
        found.extend(own);
    } else {
        found.extend(apart(&solver, proofs));
    }
}

/// Two proofs of which one asks for a step that runs only where the other does not hold.
fn apart(solver: &Solver<'_, '_>, proofs: &[Proof]) -> Option<Diagnostic> {
    let named = proofs.iter().take(PROOFS_MAX);
    let all: Vec<(&Proof, Vec<Case>)> = named
        .filter_map(|proof| Some((proof, proof.check.whole()?.cases(true)?)))
        .collect();
    all.iter().enumerate().find_map(|(at, (one, of_one))| {
        let mut later = all.iter().skip(at + 1);
        later.find_map(|(other, of_other)| {
            let step = kept_apart(solver, &both(of_one, of_other)?)?;
            let id = &step.id.value;
            let message = format!(
                "`{id}`, which a proof asks for, runs only where those of `{}` and `{}` do not \
                 both hold",
                one.criterion.value, other.criterion.value
            );
            Some(finding(one, step, message).related(other.check.span(), "the other proof"))
        })
    })
}

/// The step that succeeded wherever all these conditions hold, and whose guard excludes them.
fn kept_apart<'p>(solver: &Solver<'p, '_>, holds: &[Case]) -> Option<&'p Step> {
    let planned = Planned {
        solver,
        guards: GuardUse::Ignored,
        fails: true,
        about: None,
    };
    // Why not one with `fresh`: what its guard reads again, the proofs do not.
    let mut guarded = asked(solver.pass, holds, &[]).into_iter().filter(|step| {
        let is_asked = |case| says_only(case, &step.id.value, "succeeded");
        step.fresh.is_none() && holds.iter().all(is_asked)
    });
    guarded.find(|step| {
        let guard = step.when.as_ref().and_then(Template::whole);
        let joined = guard
            .and_then(|guard| guard.cases(true))
            .and_then(|guard| both(holds, &guard));
        let comes_up = |cases: &[Case]| planned.possible(cases);
        joined.and_then(|joined| comes_up(&joined)) == Some(false) && comes_up(holds) == Some(true)
    })
}

fn of_proof(solver: &Solver<'_, '_>, proof: &Proof) -> Option<Diagnostic> {
    let whole = proof.check.whole()?;
    let (holds, fails) = (whole.cases(true)?, whole.cases(false)?);
    let pass = solver.pass;
    let asked = asked(pass, &holds, &fails);
    if asked.is_empty() || solver.never(&holds).is_some() || solver.never(&fails).is_some() {
        return None;
    }
    let name = &proof.criterion.value;
    let guarded = asked.iter().find(|step| step.when.is_some());
    let planned = |guards| Planned {
        solver,
        guards,
        fails: true,
        about: None,
    };
    if planned(GuardUse::Hold).possible(&holds) == Some(false) {
        let disagree = guarded
            .filter(|_| planned(GuardUse::Ignored).possible(&holds) == Some(true))
            .map(|step| (*step, "holds only where `{id}` and `when` disagree"));
        let not = |step: &&&Step| {
            !holds
                .iter()
                .any(|case| allows(case, &step.id.value, "succeeded"))
        };
        let fails = asked.iter().find(not).or(asked.first());
        let fails = fails.map(|step| (*step, "holds in no run that goes as planned"));
        let (step, why) = disagree.or(fails)?;
        let why = why.replace("{id}", &step.id.value);
        return Some(finding(proof, step, format!("the proof of `{name}` {why}")));
    }
    if let Some(step) = asked.iter().find(|step| in_vain(&planned, step, &holds)) {
        let id = &step.id.value;
        let message = format!("`{id}` never runs where the proof of `{name}` says that it does");
        return Some(finding(proof, step, message));
    }
    for step in asked {
        let odd = against(&planned(GuardUse::Hold), proof, step, (&holds, &fails))?;
        if odd.is_some() {
            return odd;
        }
    }
    None
}

/// The finding about a step that runs, or is skipped, where the proof says the opposite; nothing
/// if that is not decided.
fn against(
    planned: &Planned<'_, '_, '_>,
    proof: &Proof,
    step: &Step,
    (holds, fails): (&[Case], &[Case]),
) -> Option<Option<Diagnostic>> {
    let pass = planned.solver.pass;
    let (id, name) = (&step.id.value, &proof.criterion.value);
    // Why only what the proof asks for, where a step is skipped: a guard may be stricter, and then
    // the goal is not reached.
    let subjects: BTreeSet<&DemandSubject> = holds
        .iter()
        .chain(fails)
        .flatten()
        .map(|(subject, _)| subject)
        .collect();
    let does = [
        (
            "succeeded",
            "runs where the proof of",
            "says that it must not",
            None,
        ),
        (
            "skipped",
            "is skipped where the proof of",
            "says that it runs",
            Some(&subjects),
        ),
    ];
    for (word, does, says, about) in does {
        let against = |case: &&Case| says_only(case, id, word) && decides(pass, case, id);
        let against: Vec<Case> = fails.iter().filter(against).cloned().collect();
        let planned = Planned {
            about,
            fails: false,
            ..*planned
        };
        if !against.is_empty() && planned.possible(&against)? {
            let message = format!("`{id}` {does} `{name}` {says}");
            return Some(Some(finding(proof, step, message)));
        }
    }
    Some(None)
}

pub(super) fn finding(proof: &Proof, step: &Step, message: String) -> Diagnostic {
    let when = step.when.as_ref().map(|when| when.span());
    Diagnostic::new(Code::AgainstProof, when.unwrap_or(step.id.span), message)
        .related(proof.check.span(), "the proof")
        .hint("ask for the same in `when` and in the proof")
        .step(&step.id.value)
}

/// Whether the proof holds where a guarded step succeeded in no run that goes as planned, although
/// it asks for some: with another guard, there would be one.
fn in_vain<'s, 'a: 'p, 'p: 's>(
    planned: &impl Fn(GuardUse) -> Planned<'s, 'p, 'a>,
    step: &Step,
    holds: &[Case],
) -> bool {
    let runs = |case: &&Case| says_only(case, &step.id.value, "succeeded");
    let runs: Vec<Case> = holds.iter().filter(runs).cloned().collect();
    step.when.is_some()
        && !runs.is_empty()
        && planned(GuardUse::Hold).possible(&runs) == Some(false)
        && planned(GuardUse::Ignored).possible(&runs) == Some(true)
}

/// The calls, questions and assertions whose status the cases ask for, in the order of the plan.
fn asked<'p>(pass: &'p Pass<'_>, holds: &[Case], fails: &[Case]) -> Vec<&'p Step> {
    let subjects = || {
        holds
            .iter()
            .chain(fails)
            .flatten()
            .map(|(subject, _)| subject)
    };
    let steps = pass
        .plan
        .steps
        .iter()
        .filter(|step| step.subgoal().is_none());
    let is_asked = |step: &&Step| subjects().any(|s| status_of(s) == Some(&step.id.value));
    steps.filter(is_asked).collect()
}

/// The step whose status a subject is.
fn status_of(subject: &DemandSubject) -> Option<&String> {
    match (&subject.root, subject.path.as_slice()) {
        (Root::Step(id), [Segment::Field(field)]) if field == "status" => Some(id),
        _ => None,
    }
}

/// Whether a case asks for `word` as the status of a step and not for the other of the two ends
/// that a guard decides.
fn says_only(case: &Case, id: &str, word: &str) -> bool {
    let mut other = ["succeeded", "skipped"]
        .into_iter()
        .filter(|other| *other != word);
    allows(case, id, word) && other.all(|other| !allows(case, id, other))
}

/// Whether a case lets a step have ended so.
fn allows(case: &Case, id: &str, word: &str) -> bool {
    let mut demands = case
        .iter()
        .filter(|(s, _)| status_of(s).is_some_and(|of| of == id));
    demands.all(|(_, demand)| meets(&word.into(), demand))
}

/// Whether a case asks for something that a guard of the step could have asked for too.
fn decides(pass: &Pass<'_>, case: &Case, id: &str) -> bool {
    let is_later = |other: &str| other == id || pass.order.is_before(id, other);
    let later = pass
        .plan
        .steps
        .iter()
        .filter(|step| is_later(&step.id.value));
    let later: Vec<Root> = later
        .map(|step| Root::Step(step.id.value.clone()))
        .collect();
    // Why not what is asked of null: that is care, and no choice.
    let chooses = case
        .iter()
        .filter(|(_, demand)| !matches!(demand, Demand::Compares(_, value) if value.is_null()));
    let is_skipped = |demand: &Demand| !meets(&"succeeded".into(), demand);
    let mut chooses = chooses;
    chooses.any(|(subject, demand)| match &subject.root {
        // Why of a status only that it did not succeed: that it did is asked for out of care.
        Root::Step(other) if status_of(subject).is_some() => is_skipped(demand) && !is_later(other),
        Root::Step(other) => !is_later(other),
        Root::Unknown(text) => !later.iter().any(|root| text.contains(&format!("({root}"))),
        Root::Params => true,
        _ => false,
    })
}

/// Whether steps run as their guards say.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GuardUse {
    Hold,
    Ignored,
}

/// The runs that are looked at.
#[derive(Clone, Copy)]
struct Planned<'s, 'p, 'a> {
    solver: &'s Solver<'p, 'a>,
    guards: GuardUse,
    /// Whether a step may fail that the plan goes on without.
    fails: bool,
    /// What alone decides, where that matters.
    about: Option<&'s BTreeSet<&'s DemandSubject>>,
}

impl Planned<'_, '_, '_> {
    /// Whether one of the cases comes up; nothing if that is not decided.
    fn possible(&self, cases: &[Case]) -> Option<bool> {
        let mut worlds: Vec<(Case, StepEnds)> = cases
            .iter()
            .cloned()
            .map(|case| (case, StepEnds::new()))
            .collect();
        let mut tried = 0;
        while let Some((case, ends)) = worlds.pop() {
            tried += 1;
            if tried > WORLDS_MAX {
                return None;
            }
            let open = case.iter().find_map(|(subject, _)| open(subject, &ends));
            match open.map(|id| self.solver.pass.plan.step(id)) {
                None if self.comes_up(&case, &ends) => return Some(true),
                None => {}
                Some(step) => worlds.extend(self.told(&case, &ends, step?)?),
            }
        }
        Some(false)
    }

    /// A case with each way in which one more step ends.
    fn told(&self, case: &Case, ends: &StepEnds, step: &Step) -> Option<Vec<(Case, StepEnds)>> {
        if ends.len() >= ENDS_MAX || !is_plain(self.solver.pass, step) {
            return None;
        }
        let mut all = Vec::new();
        for (word, runs) in ends_of(step) {
            if word == "failed" && !self.fails {
                continue;
            }
            let mut ends = ends.clone();
            ends.insert(step.id.value.clone(), word);
            let guard = step.when.as_ref().filter(|_| self.guards == GuardUse::Hold);
            let joined = match guard {
                Some(guard) => both(std::slice::from_ref(case), &guard.whole()?.cases(runs)?)?,
                None => vec![case.clone()],
            };
            // Why at once: what does not agree now never will, and each world is told further.
            let joined = joined.into_iter().filter(|case| agree(case, &ends));
            all.extend(joined.map(|case| (case, ends.clone())));
        }
        Some(all)
    }

    /// Whether a case comes up where the steps have ended so.
    fn comes_up(&self, case: &Case, ends: &StepEnds) -> bool {
        let own = case
            .iter()
            .filter(|(subject, _)| status_of(subject).is_none());
        let rest: Case = own.cloned().collect();
        let is_about = |subject| self.about.is_none_or(|about| about.contains(subject));
        agree(case, ends)
            && rest.iter().all(|(subject, _)| is_about(subject))
            && self.solver.excluded(&rest).is_none()
    }
}

/// Whether what a case asks of steps can be where they have ended so.
fn agree(case: &Case, ends: &StepEnds) -> bool {
    case.iter().all(|(subject, demand)| match &subject.root {
        Root::Step(id) => match (status_of(subject), ends.get(id)) {
            (Some(_), Some(word)) => meets(&(*word).into(), demand),
            (None, Some(word)) => *word == "succeeded",
            (_, None) => true,
        },
        _ => true,
    })
}

/// How steps ended.
type StepEnds = BTreeMap<String, &'static str>;

/// The step that a subject is of, if its end is not told yet; what failed has an error.
fn open<'s>(subject: &'s DemandSubject, ends: &StepEnds) -> Option<&'s str> {
    let Root::Step(id) = &subject.root else {
        return None;
    };
    let is_error = subject.path.first() == Some(&Segment::Field("error".to_owned()));
    (!ends.contains_key(id) && !is_error).then_some(id)
}

/// How a step can end in a run as planned, and whether its guard holds then.
fn ends_of(step: &Step) -> Vec<(&'static str, bool)> {
    let mut ends = vec![("succeeded", true)];
    if step.when.is_some() {
        ends.push(("skipped", false));
    }
    if step.on_failure.may_go_on() {
        ends.push(("failed", true));
    }
    ends
}

/// Whether a step runs by its own guard alone, now or never before.
fn is_plain(pass: &Pass<'_>, step: &Step) -> bool {
    let id = &step.id.value;
    pass.plan.parent(id).is_none() && !pass.base.settled.contains(id)
}
