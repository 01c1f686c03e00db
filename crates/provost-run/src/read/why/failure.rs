//! Which part of the system a failed step speaks against.
//!
//! Owns the judgment of each class: one match, no wildcard. What a tool says about itself is not
//! believed further than its class goes.

use std::collections::BTreeSet;

use provost_plan::expr::Root;
use provost_plan::plan::StepKind;
use provost_plan::plan::read::plan_from_value;

use super::Cause;
use super::story::Story;
use crate::call::Slot;
use crate::event::{Event, StepStatus};
use crate::outcome::Class;
use crate::read::words::{counted, listed};

/// Steps that make the same call before it counts as a loop.
pub(super) const LOOP_STEPS_MIN: usize = 3;

/// A judgment, with the numbers of the events that prove it.
#[derive(Debug)]
pub(super) struct JudgedFailure {
    pub(super) cause: Cause,
    pub(super) sentence: String,
    pub(super) seqs: Vec<u64>,
    pub(super) would_decide: Option<String>,
}

impl JudgedFailure {
    pub(super) fn new(cause: Cause, sentence: String, seqs: Vec<u64>) -> Self {
        Self {
            cause,
            sentence,
            seqs,
            would_decide: None,
        }
    }

    pub(super) fn decided_by(mut self, what: &str) -> Self {
        self.would_decide = Some(what.to_owned());
        self
    }

    pub(super) fn also(mut self, seq: u64) -> Self {
        self.seqs.push(seq);
        self
    }
}

/// Judges a step that failed or is in doubt, by its items if it runs over a list.
pub(super) fn of_step(story: &Story<'_>, id: &str, class: Option<Class>) -> JudgedFailure {
    let slots = story.failed_slots(id);
    if slots.is_empty() {
        return of_class(story, class);
    }
    let judged = slots.into_iter().map(|(seq, slot, status, class)| {
        let judged = match (status, class) {
            (StepStatus::InDoubt, _) => {
                let sentence = format!("step `{slot}` is in doubt");
                JudgedFailure::new(Cause::Execution, sentence, Vec::new())
            }
            (_, Some(class)) => of_slot(story, slot, class),
            (_, None) => of_class(story, None),
        };
        let attempt = story.attempt_of(slot);
        JudgedFailure {
            seqs: [judged.seqs, attempt, vec![seq]].concat(),
            ..judged
        }
    });
    joined(judged.collect())
}

/// Judges a class that no step has.
pub(super) fn of_class(story: &Story<'_>, class: Option<Class>) -> JudgedFailure {
    if class == Some(Class::BudgetExceeded) {
        return limit(story);
    }
    let word = class.map_or("no class", Class::word);
    let sentence = format!("the run ended with {word}, and no step explains it");
    JudgedFailure::new(Cause::Undecided, sentence, Vec::new())
        .decided_by("the log of the process that worked on the run")
}

/// Many judgments as one: theirs if they agree.
pub(super) fn joined(mut all: Vec<JudgedFailure>) -> JudgedFailure {
    let seqs: Vec<u64> = all.iter().flat_map(|judged| judged.seqs.clone()).collect();
    let cause: BTreeSet<Cause> = all.iter().map(|judged| judged.cause).collect();
    let first = (!all.is_empty()).then(|| all.remove(0));
    match first {
        Some(first) if cause.len() == 1 => JudgedFailure { seqs, ..first },
        _ => JudgedFailure::new(
            Cause::Undecided,
            "steps failed for different reasons".to_owned(),
            seqs,
        )
        .decided_by("a run in which only one of them fails"),
    }
}

fn of_slot(story: &Story<'_>, slot: &Slot, class: Class) -> JudgedFailure {
    let word = class.word();
    let says = |cause, text: String| JudgedFailure::new(cause, text, Vec::new());
    match class {
        Class::Timeout
        | Class::Unavailable
        | Class::RateLimited
        | Class::OutputInvalid
        | Class::ToolBug => says(
            Cause::Execution,
            format!("step `{slot}` ended with {word}: the tool failed"),
        ),
        Class::InvalidArguments => says(
            Cause::Plan,
            format!("step `{slot}` has arguments that its tool refuses"),
        ),
        Class::Expression => says(
            Cause::Plan,
            format!("an expression of step `{slot}` could not be evaluated"),
        ),
        Class::WorkExceeded => says(
            Cause::Plan,
            format!("a value of step `{slot}` takes too much work to validate"),
        ),
        Class::Unmet => says(Cause::Plan, format!("step `{slot}` did not meet its goal")),
        Class::NotFound => not_found(story, slot),
        Class::PolicyDenied => denied(story, slot),
        Class::Rejected => says(Cause::Neither, format!("a person rejected step `{slot}`")),
        Class::Expired => says(
            Cause::Neither,
            format!("nobody answered about step `{slot}` in time"),
        ),
        Class::Cancelled => says(Cause::Neither, format!("step `{slot}` was cancelled")),
        Class::Drift => says(
            Cause::Neither,
            format!("the tool of step `{slot}` changed after the plan was checked"),
        ),
        Class::Conflict => conflict(story, slot),
        Class::BudgetExceeded => limit(story),
        Class::AcceptanceFailed if is_assertion(story, slot) => says(
            Cause::Neither,
            format!("what step `{slot}` asserts does not hold"),
        ),
        Class::AcceptanceFailed => says(
            Cause::Undecided,
            format!("the output of step `{slot}` does not meet its acceptance"),
        )
        .decided_by("the evidence of that attempt: whether the output or the acceptance is wrong"),
        Class::DeadlineExceeded => says(
            Cause::Undecided,
            format!("what step `{slot}` polls for did not come within its `at_most`"),
        )
        .decided_by("the evidence of the last poll: whether the job is slow or will never end"),
        Class::PermissionDenied => says(
            Cause::Undecided,
            format!("the tool denies the caller of step `{slot}`"),
        )
        .decided_by("the operator: whether this account should be allowed that call"),
        Class::Partial | Class::Stale | Class::BreakerOpen | Class::Ok => {
            says(Cause::Undecided, format!("step `{slot}` ended with {word}"))
                .decided_by("the evidence of that attempt, and the tool's own record of it")
        }
    }
}

/// The named object does not exist: the plan is the cause if the name is its own.
fn not_found(story: &Story<'_>, slot: &Slot) -> JudgedFailure {
    match feeding_steps(story, slot) {
        Some(from) if from.is_empty() => {
            let sentence = format!("step `{slot}` names a constant that does not exist");
            let plan = story.plans().next_back().map(|(seq, ..)| seq);
            JudgedFailure::new(Cause::Plan, sentence, plan.into_iter().collect())
        }
        from => {
            let names = listed(from.unwrap_or_default());
            let sentence = format!("step `{slot}` names, as it was read, what does not exist");
            let decides = format!("the evidence of {names}: whether it has that name");
            JudgedFailure::new(Cause::Undecided, sentence, Vec::new()).decided_by(&decides)
        }
    }
}

/// Whether a step asserts, and so was failed by what others came to.
fn is_assertion(story: &Story<'_>, slot: &Slot) -> bool {
    let known = story
        .plans()
        .rfind(|(_, _, record)| record.steps.contains_key(&slot.step));
    let plan =
        known.and_then(|(_, document, _)| plan_from_value(document, "the current plan").ok());
    plan.is_some_and(|plan| {
        plan.step(&slot.step)
            .is_some_and(|s| s.assertion().is_some())
    })
}

/// The steps whose output the arguments of a slot were made of; `None` if nobody can tell.
fn feeding_steps(story: &Story<'_>, slot: &Slot) -> Option<BTreeSet<String>> {
    let (_, document, _) = story
        .plans()
        .rfind(|(_, _, record)| record.steps.contains_key(&slot.step))?;
    let plan = plan_from_value(document, "the current plan").ok()?;
    let step = plan.step(&slot.step)?;
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    let templates = args.templates().into_iter();
    let lists = step.for_each.iter().map(|for_each| &for_each.list);
    let roots = templates
        .chain(lists)
        .flat_map(|template| template.references());
    let mut from = BTreeSet::new();
    for reference in roots {
        match &reference.root {
            Root::Step(id) => {
                from.insert(id.clone());
            }
            // Why: `item` and `index` rest on the list, which is looked at here too.
            Root::Params | Root::Item | Root::Index | Root::Run => {}
            Root::Output | Root::Read | Root::Args | Root::Key | Root::Unknown(_) => return None,
        }
    }
    Some(from)
}

/// Policy forbids a call that passed the check.
fn denied(story: &Story<'_>, slot: &Slot) -> JudgedFailure {
    let policies: Vec<_> = story
        .plans()
        .map(|(seq, _, record)| (seq, record.terms.policy))
        .collect();
    let digests: BTreeSet<_> = policies.iter().map(|(_, digest)| *digest).collect();
    if digests.len() > 1 {
        let sentence = format!("policy changed after the check, and forbids step `{slot}`");
        let seqs = policies.into_iter().map(|(seq, _)| seq).collect();
        return JudgedFailure::new(Cause::Neither, sentence, seqs);
    }
    let sentence = format!("policy forbids step `{slot}` with its actual values");
    JudgedFailure::new(Cause::Undecided, sentence, Vec::new())
        .decided_by("whether the plan or the steps it read chose those values")
}

/// The world, or a write in doubt, does not allow it.
fn conflict(story: &Story<'_>, slot: &Slot) -> JudgedFailure {
    let steps = story.steps();
    let doubt = steps
        .iter()
        .find(|(_, settled)| settled.status == StepStatus::InDoubt);
    if let Some((id, settled)) = doubt {
        let sentence = format!("step `{slot}` may not repeat step `{id}`, which is in doubt");
        let seqs = story.proof_of_step(id, settled.seq);
        return JudgedFailure::new(Cause::Execution, sentence, seqs);
    }
    let sentence = format!("the state of the world did not allow step `{slot}`");
    JudgedFailure::new(Cause::Undecided, sentence, Vec::new())
        .decided_by("what changed the target of the step, and when")
}

/// A limit of the run is reached: by a loop, by retries, or because it is too low.
fn limit(story: &Story<'_>) -> JudgedFailure {
    let seqs = story.seqs_of(|event| matches!(event, Event::AdmissionRefused { .. }));
    let sentence = "a limit of the run was reached".to_owned();
    JudgedFailure::new(Cause::Undecided, sentence, seqs)
        .decided_by("the same run under a higher limit: whether it ends")
}

/// Whether a planner ended without a plan by it.
pub(super) fn is_without_plan(event: &Event) -> bool {
    matches!(
        event,
        Event::PlanGivenUp { .. } | Event::PlanHandedOn { .. }
    )
}

/// A planner that repeats itself, or has nothing left to propose.
pub(super) fn exhausted(story: &Story<'_>) -> Option<JudgedFailure> {
    if let Some((steps, seqs)) = story.repeated_call() {
        let sentence = format!("the plan repeats the same call: {steps}");
        return Some(JudgedFailure::new(Cause::Plan, sentence, seqs));
    }
    let given_up = story.seqs_of(is_without_plan);
    let last = *given_up.last()?;
    let refused: Vec<u64> = story
        .numbered()
        .filter(|(seq, event)| *seq < last && matches!(event, Event::PlanRefused { .. }))
        .map(|(seq, _)| seq)
        .collect();
    let in_force = story.plans().next_back().map_or(0, |(seq, ..)| seq);
    let after: Vec<u64> = refused.into_iter().filter(|seq| *seq > in_force).collect();
    if !after.is_empty() {
        let sentence = "no proposed revision passed the check".to_owned();
        return Some(JudgedFailure::new(
            Cause::Plan,
            sentence,
            [after, vec![last]].concat(),
        ));
    }
    let revised = story.seqs_of(|event| matches!(event, Event::PlanRevised { .. }));
    let most = story.numbered().find_map(|(_, event)| match event {
        Event::RunCreated(created) => Some(created.limits.revisions),
        _ => None,
    })?;
    if most > 0 && revised.len() as u64 >= most {
        let sentence = format!(
            "{} of the plan did not help",
            counted(revised.len(), "revision")
        );
        return Some(JudgedFailure::new(
            Cause::Plan,
            sentence,
            [revised, vec![last]].concat(),
        ));
    }
    None
}
