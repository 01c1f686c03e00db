//! Part of the pass `refs`: reads of what may be absent.
//!
//! Owns which reads need a guard; what a condition proves is [`crate::expr`]'s. INVARIANT: a read
//! without a finding never fails for want of its path, unless no schema says what is there.

use std::collections::BTreeSet;
use std::rc::Rc;

use super::Pass;
use super::graph::step_of;
use super::order::Order;
use super::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Fact, Read, Root, Segment, Taker, Template};
use crate::plan::subgoal::parent_of;
use crate::plan::{OnFailure, Plan, Step};
use crate::schema::path::PathFault;
use crate::schema::{Kinds, PathType, Places};
use crate::source::Span;

mod implied;

pub(crate) use implied::{Guards, Terms, terms_of};

/// How the hint begins that names the condition under which a read has a value.
const GUARD: &str = "guard it: `";

pub(crate) type GuardFacts = BTreeSet<Fact>;

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let from = found.len();
        of_step(pass, step, &mut found);
        for finding in found.iter_mut().skip(from) {
            let finding: &mut Diagnostic = finding;
            finding.step = Some(step.id.value.clone());
            finding
                .notes
                .extend(asserted_before_fresh(pass, step, finding.span));
        }
    }
    let nothing = GuardFacts::new();
    let proven = proven(pass);
    for proof in &pass.plan.success {
        template(pass, &Site::end(), &proof.check, &nothing, &mut found);
    }
    for claim in &pass.plan.answer {
        let mut given = pass.guards.implied(proven.clone(), Terms::new());
        if let Some(when) = &claim.when {
            template(pass, &Site::end(), when, &given, &mut found);
            given.extend(when.facts_if_true());
            given = pass.guards.implied(given, terms_of(when));
        }
        let printed = |given: &GuardFacts| claim.text.printed_reads(given);
        found.extend(look(pass, &Site::end(), &claim.text, &given, &printed));
    }
    for condition in &pass.open.conditions {
        template(pass, &Site::end(), condition, &nothing, &mut found);
    }
    pass.diagnostics.extend(found);
}

fn of_step(pass: &Pass<'_>, step: &Step, found: &mut Vec<Diagnostic>) {
    let before = Site::before(step);
    if let Some(when) = &step.when {
        template(pass, &before, when, &before_when(pass, step), found);
    }
    let given = given(pass, step);
    if let Some(each) = &step.for_each {
        let reads = |given: &GuardFacts| each.list.list_reads(given);
        found.extend(look(pass, &before, &each.list, &given, &reads));
    }
    let call = Site::call(pass, step);
    let calls = step.calls();
    let marked = calls.flat_map(|(_, _, args)| args.left_out_if_null());
    let marked: BTreeSet<Span> = marked.map(Template::span).collect();
    for inner in step.templates() {
        use crate::plan::{CallRole, Field};
        let before = found.len();
        match inner {
            (Field::Question | Field::Message, inner) => {
                let printed = |given: &GuardFacts| inner.printed_reads(given);
                found.extend(look(pass, &call, inner, &given, &printed));
            }
            (Field::Args(CallRole::Own) | Field::Result | Field::Assert, inner) => {
                template(pass, &call, inner, &given, found);
            }
            (Field::When | Field::ForEach, _) => {}
            (field, inner) => {
                let site = Site::of(pass, step, field);
                template(pass, &site, inner, &given, found);
            }
        }
        if marked.contains(&inner.1.span()) {
            let found = found.iter_mut().skip(before);
            found.for_each(|finding| absent_is_not_null(finding, inner.1));
        }
    }
}

/// Says of a read whose value would leave an entry out if it were null how it is null if absent.
fn absent_is_not_null(finding: &mut Diagnostic, template: &Template) {
    let guard = finding
        .hint
        .as_deref()
        .and_then(|hint| hint.strip_prefix(GUARD));
    let Some((condition, _)) = guard.and_then(|guard| guard.split_once('`')) else {
        return;
    };
    let mut reads = template.references().filter(|read| !read.tested);
    let value = match (reads.next(), template.whole()) {
        (Some(read), Some(whole)) if read.to_string() == whole.source() => whole.source(),
        _ => "…",
    };
    finding.hint = Some(format!("{GUARD}{condition} ? {value} : null`"));
}

/// What holds of the steps where the answer is given: only a run of which every proof holds gives
/// one.
pub(crate) fn proven(pass: &Pass<'_>) -> GuardFacts {
    let proofs = pass.plan.success.iter();
    let facts = proofs.flat_map(|proof| proof.check.facts_if_true());
    facts
        .filter(|fact| matches!(fact, Fact::Status { .. }))
        .collect()
}

/// What holds where the `when` of a step is asked: what refines a subgoal runs only where that
/// does.
pub(crate) fn before_when(pass: &Pass<'_>, step: &Step) -> GuardFacts {
    let guards = &pass.guards;
    let parent = pass.plan.parent(&step.id.value);
    let of_parent = parent.and_then(|(parent, _)| guards.facts(&parent.id.value));
    let terms = parent.map(|(parent, _)| guards.terms(parent));
    let mut facts = of_parent.cloned().unwrap_or_default();
    facts.extend(asserted(pass.plan, &pass.order, step));
    guards.implied(facts, terms.unwrap_or_default())
}

/// That the assertions held which hold a step back: those that cannot be passed by.
fn asserted(plan: &Plan, order: &Order<'_>, step: &Step) -> Vec<Fact> {
    // Why none: its readings are taken again after these were looked at.
    let id = Some(&step.id.value).filter(|_| step.fresh.is_none());
    let before = id.into_iter().flat_map(|id| order.assertions(id));
    let held = before.filter(|asserted| {
        let id = &asserted.id.value;
        let parent = plan.parent(id);
        let is_skipped = asserted.when.is_some() || parent.is_some_and(|(p, _)| p.when.is_some());
        !is_skipped && !asserted.on_failure.may_go_on()
    });
    let facts = held.map(|asserted| Fact::Status {
        step: asserted.id.value.clone(),
        words: BTreeSet::from(["succeeded".to_owned()]),
    });
    facts.collect()
}

/// Why an assertion guards no read of a step with `fresh`, where one looks at the same output.
fn asserted_before_fresh(pass: &Pass<'_>, step: &Step, at: Span) -> Option<String> {
    step.fresh.as_ref()?;
    let templates = step.templates().into_iter();
    let mut reads = templates.flat_map(|(_, template)| template.references());
    let read = reads.find(|read| at.start <= read.span.start && read.span.end <= at.end)?;
    let of = step_of(read)?;
    let mut assertions = pass.order.assertions(&step.id.value);
    let asserted = assertions.find(|one| {
        let condition = one.assertion().map(|one| &one.condition);
        let mut looks = condition.into_iter().flat_map(Template::references);
        looks.any(|look| step_of(look) == Some(of))
    })?;
    Some(format!(
        "`{}` asserted it of what was read before: `fresh` may read `{of}` again, so say it in \
         `when` of `{}`",
        asserted.id.value, step.id.value
    ))
}

/// What holds where a step runs.
pub(crate) fn given(pass: &Pass<'_>, step: &Step) -> Rc<GuardFacts> {
    pass.guards.given(step, || {
        let guards = &pass.guards;
        let mut given = before_when(pass, step);
        if let Some(own) = guards.facts(&step.id.value) {
            given.extend(own.iter().cloned());
            given = guards.implied(given, guards.terms(step));
        }
        let list = step.for_each.as_ref().map(|each| each.list.item_facts());
        given.extend(list.unwrap_or_default());
        given
    })
}

/// What a template gives to an argument that does not take null, and may be null.
pub(crate) fn null_given(
    pass: &Pass<'_>,
    site: &Site<'_>,
    template: &Template,
    given: &GuardFacts,
) -> Vec<Diagnostic> {
    let accepted = accepted(pass, template);
    let reads = template.argument_reads(&given.union(&accepted).cloned().collect());
    let taken = reads
        .iter()
        .filter(|read| read.taken_by() == Some(Taker::Argument));
    taken
        .filter_map(|read| {
            let path = read.reference.path.as_slice();
            match &read.reference.root {
                Root::Step(id) => {
                    let (first, rest) = path.split_first()?;
                    let is_output = *first == Segment::Field("output".to_owned());
                    let step = pass.plan.step(id).filter(|_| is_output)?;
                    may_be_null(pass.outputs.of_step(step)?, read, rest)
                }
                Root::Item => may_be_null(&site.item_type()?, read, path),
                Root::Output => may_be_null(site.output(pass)?, read, path),
                Root::Read => may_be_null(site.read(pass)?, read, path),
                _ => None,
            }
        })
        .collect()
}

/// The places of the reads of a template that are never null: `given`, what was accepted or the
/// template itself says so.
pub(crate) fn never_null(
    pass: &Pass<'_>,
    template: &Template,
    given: &GuardFacts,
) -> BTreeSet<Span> {
    let accepted = accepted(pass, template);
    let reads = template.reads(&given.union(&accepted).cloned().collect());
    let sure = reads.iter().filter(|read| read.is_never_null());
    sure.map(|read| read.reference.span).collect()
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
        let facts = step.conditions().flat_map(Template::facts_if_true);
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
                    let hint = format!("{GUARD}{root}.status == \"failed\"`");
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
        _ if read.is_of_computed() => of_computed(read),
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
    } else if step.on_failure.may_go_on() {
        let why = match step.on_failure {
            OnFailure::Escalate => {
                format!("`{id}` may fail, and a person may let the plan go on")
            }
            _ => format!("`{id}` may fail, and the plan goes on"),
        };
        (why, step.id.span, "may fail")
    } else {
        return None;
    };
    let guard = format!("{GUARD}{root}.status == \"succeeded\"` in `when`, or before `&&` or `?`");
    Some(finding(read, &why).related(span, label).hint(guard))
}

/// A finding for a read inside the output of a step that succeeded.
fn of_output(pass: &Pass<'_>, step: &Step, read: &Read, rest: &[Segment]) -> Option<Diagnostic> {
    if let Some(finding) = of_partial(step, read, rest) {
        return Some(finding);
    }
    let places = pass.outputs.of_step(step)?;
    if !pass.spends(pass.outputs.weight(step)) {
        return None;
    }
    may_be_missing(places, read, rest, 1)
}

/// A finding for an item of a list of which items may have failed: in their place stands null.
fn of_partial(step: &Step, read: &Read, rest: &[Segment]) -> Option<Diagnostic> {
    let each = step.for_each.as_ref()?;
    if !step.on_failure.may_go_on() || read.has_succeeded() || read.needs() < 2 {
        return None;
    }
    let (id, root) = (&step.id.value, &read.reference.root);
    // Why: `output`, the item and what is in it.
    let is_null = match rest {
        [Segment::Any | Segment::Index(_), _, ..] => !read.is_not_null(2),
        [Segment::Any | Segment::Index(_)] => read.taken_by().is_some() && !read.is_never_null(),
        _ => false,
    };
    is_null.then(|| {
        let message = format!(
            "`{}` may be null: the output of each item of `{id}` that failed is",
            read.reference
        );
        Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
            .related(each.list.span(), "an item of this list may fail")
            .hint(format!(
                "{GUARD}{root}.status == \"succeeded\"`, or `filter` what is `!= null`"
            ))
    })
}

/// A finding for an item of a list that an expression makes.
fn of_computed(read: &Read) -> Option<Diagnostic> {
    let Some(Segment::Index(at)) = read.reference.path.last() else {
        return None;
    };
    (!read.is_present(read.needs())).then(|| {
        let (message, guard) = match at {
            0 => (
                "this may be absent: the list that it is taken from may be empty".to_owned(),
                "`size(…) > 0` of that list, or `exists` with the condition of its `filter`"
                    .to_owned(),
            ),
            at => (
                format!("this may be absent: the list may have only {at} items"),
                format!("`size(…) > {at}` of that list"),
            ),
        };
        Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
            .hint(format!("guard it: {guard}"))
    })
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
    let shown = read.shown(read.reference.path.len());
    let message = format!("`{shown}` may be null, which {taker} does not take");
    Some(
        Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
            .hint(format!("{GUARD}{shown} != null`")),
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
    let here = read.shown(before + absence.depth);
    let holder = read.shown(before + absence.depth - 1);
    let last = path.get(absence.depth - 1);
    let (why, guard) = match (absence.why, last) {
        (PathFault::HolderNull, _) => (
            format!("`{holder}` may be null"),
            format!("{holder} != null"),
        ),
        (PathFault::Undeclared, _) => (
            "the schema does not name it".to_owned(),
            format!("has({here})"),
        ),
        (PathFault::Optional, Some(Segment::Index(0))) => (
            "the list may be empty".to_owned(),
            format!("size({holder}) > 0"),
        ),
        (PathFault::Optional, Some(Segment::Index(at))) => (
            format!("the list may have only {at} items"),
            format!("size({holder}) > {at}"),
        ),
        (PathFault::Optional, _) => (
            "the schema does not require it".to_owned(),
            format!("has({here})"),
        ),
    };
    Some(finding(read, &why).hint(format!("{GUARD}{guard}`")))
}

fn finding(read: &Read, why: &str) -> Diagnostic {
    let message = format!(
        "`{}` may be absent: {why}",
        read.shown(read.reference.path.len())
    );
    Diagnostic::new(Code::UnguardedRead, read.reference.span, message)
}
