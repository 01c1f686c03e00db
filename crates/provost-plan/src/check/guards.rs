//! Part of the pass `refs`: reads of what may be absent.
//!
//! Owns which reads need a guard; what a condition proves is [`crate::expr`]'s. INVARIANT: a read
//! without a finding never fails for want of its path, unless no schema says what is there.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Pass;
use super::graph::step_of;
use super::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Fact, Read, Root, Segment, Template};
use crate::limits::{GUARD_FACTS_MAX, GUARDS_FOLLOWED_MAX};
use crate::plan::subgoal::parent_of;
use crate::plan::{OnFailure, Step};
use crate::schema::path::PathFault;
use crate::schema::{Kinds, PathType, Places};

pub(crate) type GuardFacts = BTreeSet<Fact>;

/// What the guard of each step says if it is true; read once, however many rest on it.
pub(crate) type Guards<'a> = BTreeMap<&'a str, GuardFacts>;

/// What the guards of all steps say.
pub(crate) fn of_plan<'a>(pass: &Pass<'a>) -> Guards<'a> {
    let steps = pass.plan.steps.iter();
    let guarded = steps.filter_map(|step| Some((step.id.value.as_str(), step.when.as_ref()?)));
    guarded
        .map(|(id, when)| (id, when.facts_if_true()))
        .collect()
}

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    let guards = of_plan(pass);
    for step in &pass.plan.steps {
        let from = found.len();
        of_step(pass, &guards, step, &mut found);
        for finding in found.iter_mut().skip(from) {
            let finding: &mut Diagnostic = finding;
            finding.step = Some(step.id.value.clone());
        }
    }
    let nothing = GuardFacts::new();
    for proof in &pass.plan.success {
        template(pass, &Site::end(), &proof.check, &nothing, &mut found);
    }
    for claim in &pass.plan.answer {
        let mut given = GuardFacts::new();
        if let Some(when) = &claim.when {
            template(pass, &Site::end(), when, &nothing, &mut found);
            given = implied(&guards, when.facts_if_true());
        }
        let printed = |given: &GuardFacts| claim.text.printed_reads(given);
        found.extend(look(pass, &Site::end(), &claim.text, &given, &printed));
    }
    for condition in &pass.open.conditions {
        template(pass, &Site::end(), condition, &nothing, &mut found);
    }
    pass.diagnostics.extend(found);
}

fn of_step(pass: &Pass<'_>, guards: &Guards<'_>, step: &Step, found: &mut Vec<Diagnostic>) {
    let before = Site::before(step);
    let parent = pass.plan.parent(&step.id.value);
    // Why its own too: what refines a subgoal runs only where that does.
    let of_parent = parent.map(|(parent, _)| parent.id.value.as_str());
    let known = |id: &str| guards.get(id).cloned().unwrap_or_default();
    let mut given = implied(guards, of_parent.map(known).unwrap_or_default());
    if let Some(when) = &step.when {
        template(pass, &before, when, &given, found);
        given.extend(known(&step.id.value));
        given = implied(guards, given);
    }
    if let Some(each) = &step.for_each {
        let reads = |given: &GuardFacts| each.list.list_reads(given);
        found.extend(look(pass, &before, &each.list, &given, &reads));
    }
    let call = Site::call(pass, step);
    for inner in step.templates() {
        use crate::plan::{CallRole, Field};
        match inner {
            (Field::Question, inner) => {
                let printed = |given: &GuardFacts| inner.printed_reads(given);
                found.extend(look(pass, &call, inner, &given, &printed));
            }
            (Field::Args(CallRole::Own) | Field::Result, inner) => {
                template(pass, &call, inner, &given, found);
            }
            (Field::When | Field::ForEach, _) => {}
            (field, inner) => {
                let site = Site::of(pass, step, field);
                template(pass, &site, inner, &given, found);
            }
        }
    }
}

/// The facts with all that follows from them: a step that succeeded was not skipped by its `when`.
pub(crate) fn implied(guards: &Guards<'_>, mut facts: GuardFacts) -> GuardFacts {
    // Each step's guard is added once, the nearest first; what is not followed only counts as not
    // guarded.
    let mut added: BTreeSet<String> = BTreeSet::new();
    let mut new: VecDeque<String> = succeeded(&facts).into();
    while let Some(id) = new.pop_front() {
        if added.len() >= GUARDS_FOLLOWED_MAX || facts.len() >= GUARD_FACTS_MAX {
            break;
        }
        let more = guards.get(id.as_str());
        if added.insert(id)
            && let Some(more) = more
        {
            new.extend(succeeded(more));
            facts.extend(more.iter().cloned());
        }
    }
    facts
}

/// The steps that have succeeded if these facts hold.
fn succeeded(facts: &GuardFacts) -> Vec<String> {
    let of = |fact: &Fact| match fact {
        Fact::Status { step, words } if words.iter().all(|word| word == "succeeded") => {
            Some(step.clone())
        }
        _ => None,
    };
    facts.iter().filter_map(of).collect()
}

fn template(
    pass: &Pass<'_>,
    site: &Site<'_>,
    template: &Template,
    given: &GuardFacts,
    found: &mut Vec<Diagnostic>,
) {
    let reads = |given: &GuardFacts| template.reads(given);
    found.extend(look(pass, site, template, given, &reads));
}

/// What the reads of a template may lack: neither `given` nor what was accepted proves it.
fn look(
    pass: &Pass<'_>,
    site: &Site<'_>,
    template: &Template,
    given: &GuardFacts,
    reads: &dyn Fn(&GuardFacts) -> Vec<Read>,
) -> Vec<Diagnostic> {
    let accepted = accepted(pass, template);
    let plain = reads(given);
    let sure = (!accepted.is_empty()).then(|| reads(&given.union(&accepted).cloned().collect()));
    // Why both: what was accepted of an output holds where there is one, and proves not that.
    let sure = sure.as_ref().unwrap_or(&plain);
    let own: Vec<Diagnostic> = plain
        .iter()
        .zip(sure)
        .filter_map(|(read, sure)| unguarded(pass, site, read, sure))
        .collect();
    // Why: `first(list).field` reads the item and the field of it; one finding says it all.
    let within = |inner: &Diagnostic| {
        own.iter().any(|outer| {
            outer.span != inner.span
                && outer.span.start <= inner.span.start
                && inner.span.end <= outer.span.end
        })
    };
    own.iter()
        .filter(|finding| !within(finding))
        .cloned()
        .collect()
}

/// What holds of the outputs that a template reads, because they were accepted.
fn accepted(pass: &Pass<'_>, template: &Template) -> GuardFacts {
    let read: BTreeSet<&str> = template.references().filter_map(step_of).collect();
    let steps = read.into_iter().filter_map(|id| pass.plan.step(id));
    // Why not of a list: each of its items was accepted by itself.
    let steps = steps.filter(|step| step.for_each.is_none());
    let of_step = |step: &Step| {
        let here = |root: Root, mut path: Vec<Segment>| {
            let is_own = root == Root::Output;
            path.insert(0, Segment::Field("output".to_owned()));
            is_own.then_some((Root::Step(step.id.value.clone()), path))
        };
        let facts = step.accept.iter().flat_map(Template::facts_if_true);
        let facts = facts.filter_map(|fact| match fact {
            Fact::Status { .. } => None,
            Fact::Present { root, path } => {
                here(root, path).map(|(root, path)| Fact::Present { root, path })
            }
            Fact::NotNull { root, path } => {
                here(root, path).map(|(root, path)| Fact::NotNull { root, path })
            }
        });
        facts.collect::<Vec<_>>()
    };
    steps.flat_map(of_step).collect()
}

/// `sure` is the same read with what was accepted of the output.
fn unguarded(pass: &Pass<'_>, site: &Site<'_>, read: &Read, sure: &Read) -> Option<Diagnostic> {
    let path = read.reference.path.as_slice();
    match &read.reference.root {
        Root::Step(id) => {
            let step = pass.plan.step(id)?;
            let (Segment::Field(field), rest) = path.split_first()? else {
                return None;
            };
            match field.as_str() {
                "output" => of_step_without_output(pass, site, step, read)
                    .or_else(|| of_output(pass, step, sure, rest)),
                "error" if read.needs() > 0 && !read.is_present(1) => {
                    let finding = finding(read, "it is there only if the step failed");
                    let root = &read.reference.root;
                    let hint = format!("guard it: `{root}.status == \"failed\"`");
                    Some(finding.hint(hint))
                }
                _ => None,
            }
        }
        Root::Item => {
            let ty = site.item_type()?;
            may_be_missing(&ty, read, path, 0)
        }
        Root::Output => may_be_missing(site.output(pass)?, read, path, 0),
        Root::Read => may_be_missing(site.read(pass)?, read, path, 0),
        _ => None,
    }
}

/// The guard that skips `step` where `site` would still look at it: its own, or that of the
/// subgoal that it refines, for all that are no part of that.
fn skipping<'p>(pass: &'p Pass<'_>, site: &Site<'_>, step: &'p Step) -> Option<&'p Template> {
    let own = step.when.as_ref();
    own.or_else(|| {
        let (parent, _) = pass.plan.parent(&step.id.value)?;
        let of = &parent.id.value;
        let is_part = site.step().is_some_and(|reader| {
            reader.id.value == *of || parent_of(&reader.id.value) == Some(of.as_str())
        });
        parent.when.as_ref().filter(|_| !is_part)
    })
}

/// A finding for a read of the output of a step that may end without one.
fn of_step_without_output(
    pass: &Pass<'_>,
    site: &Site<'_>,
    step: &Step,
    read: &Read,
) -> Option<Diagnostic> {
    if read.needs() == 0 || read.is_present(1) {
        return None;
    }
    let (id, root) = (&step.id.value, &read.reference.root);
    let (why, span, label) = if let Some(when) = skipping(pass, site, step) {
        let why = match &step.when {
            Some(_) => format!("`{id}` is skipped if its `when` is false"),
            None => format!("`{id}` is skipped if the `when` of its subgoal is false"),
        };
        (why, when.span(), "skips it")
    } else if step.on_failure == OnFailure::Continue {
        let why = format!("`{id}` may fail, and the plan goes on");
        (why, step.id.span, "may fail")
    } else {
        return None;
    };
    let guard =
        format!("guard it: `{root}.status == \"succeeded\"` in `when`, or before `&&` or `?`");
    Some(finding(read, &why).related(span, label).hint(guard))
}

/// A finding for a read inside the output of a step that succeeded.
fn of_output(pass: &Pass<'_>, step: &Step, read: &Read, rest: &[Segment]) -> Option<Diagnostic> {
    let places = pass.outputs.of_step(step)?;
    if !pass.spends(pass.outputs.weight(step)) {
        return None;
    }
    may_be_missing(places, read, rest, 1)
}

/// A finding for a read that may have no value, or null where null is not taken.
fn may_be_missing(
    places: &impl Places,
    read: &Read,
    path: &[Segment],
    before: usize,
) -> Option<Diagnostic> {
    may_be_absent(places, read, path, before).or_else(|| may_be_null(places, read, path))
}

fn may_be_null(places: &impl Places, read: &Read, path: &[Segment]) -> Option<Diagnostic> {
    let taker = read.taken_by().filter(|_| !read.is_never_null())?;
    let PathType::Known { ty, nullable, .. } = places.at(path) else {
        return None;
    };
    // What is always null is an operand of a wrong kind.
    if !nullable || ty.kinds().within(Kinds::NULL) {
        return None;
    }
    let shown = read.reference.to_string();
    let message = format!("`{shown}` may be null, which {taker} does not take");
    Some(
        Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
            .hint(format!("guard it: `{shown} != null`")),
    )
}

/// A finding for the first part of a path that may be absent and is not proven to be there.
fn may_be_absent(
    places: &impl Places,
    read: &Read,
    path: &[Segment],
    before: usize,
) -> Option<Diagnostic> {
    let absence = places.absences(path).into_iter().find(|absence| {
        let depth = before + absence.depth;
        let if_null = absence.why == PathFault::HolderNull;
        let proven = read.is_present(depth) || (if_null && read.is_not_null(depth - 1));
        depth <= read.needs() && !proven
    })?;
    let shown = |depth: usize| {
        let mut reference = read.reference.clone();
        reference.path.truncate(depth);
        reference.to_string()
    };
    let here = shown(before + absence.depth);
    let holder = shown(before + absence.depth - 1);
    let last = path.get(absence.depth - 1);
    let (why, guard) = match (absence.why, last) {
        (PathFault::HolderNull, _) => (
            format!("`{holder}` may be null"),
            format!("`{holder} != null`"),
        ),
        (PathFault::Undeclared, _) => (
            "the schema does not name it".to_owned(),
            format!("`has({here})`"),
        ),
        (PathFault::Optional, Some(Segment::Index(at))) => (
            format!("the list may have only {at} items"),
            format!("`size({holder}) > {at}`"),
        ),
        (PathFault::Optional, _) => (
            "the schema does not require it".to_owned(),
            format!("`has({here})`"),
        ),
    };
    Some(finding(read, &why).hint(format!("guard it: {guard}")))
}

fn finding(read: &Read, why: &str) -> Diagnostic {
    let message = format!("`{}` may be absent: {why}", read.reference);
    Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
}
