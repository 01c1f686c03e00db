//! Part of the pass `shape`: criteria that want something done, proven by looking alone.
//!
//! Owns the words that say that something is to be done, and where they count: at the beginning of
//! a clause, or after a form of `to be`. INVARIANT: a read that follows a call that is no plain
//! read proves what it may; what no listed word says is never found.

use std::collections::BTreeSet;

use crate::catalog::Effect;
use crate::check::Pass;
use crate::check::graph::{references, step_of};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::Expr;
use crate::expr::{Reference, Segment, references_of};
use crate::plan::readings::is_output;
use crate::plan::{Criterion, Proof, Step, StepKind};

/// What somebody is told to do.
const DO: &str = "
    send mail email page notify post publish reply answer save store draft write create
    update change delete remove add insert pay refund transfer charge deploy restart stop
    disable enable open close cancel book order merge archive rename move copy upload invite
    assign tag label note";

/// What was done.
const DONE: &str = "
    sent mailed emailed paged notified posted published answered saved stored drafted
    written created updated changed deleted removed added inserted paid refunded transferred
    charged deployed restarted stopped disabled enabled closed cancelled canceled booked
    ordered merged archived renamed moved copied uploaded invited assigned tagged noted";

/// Fewest letters of a name that is looked for in a text.
const STEM_CHARS_MIN: usize = 4;
/// Fewest words of a criterion that only a step has which it is about.
const WORDS_MIN: usize = 2;
/// Fewest letters of a verb that was done.
const VERB_CHARS_MIN: usize = 3;
/// How a verb ends that was done: `booked`, `set`, `withdrawn`.
const FORM_ENDS: [&str; 5] = ["", "ed", "d", "n", "en"];
/// With one letter before, as in `cancelled` and `verified`.
const LONG_END: &str = "ed";
/// Behind these a clause begins.
const JOINTS: &str = "and then please";
/// Behind these stands what was done.
const BE: &str = "is are was were be";
/// These stand before the thing that something is done to.
const BEFORE_THINGS: &str = "
    the a an all every each it them this these those my our your his her their on whoever";
/// What stands behind these tells which thing is meant, or when.
const ASIDE: &str = "
    that which when who whom whether what where why how since before after because if unless until";

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let unproven = unproven(pass);
    of_criteria(pass, &unproven, found);
    let unlooked = unlooked(pass, &unproven, found);
    found.extend(unlooked);
    let proofs = pass.plan.success.iter();
    let silent: Vec<&Proof> = proofs.filter(|proof| !is_said(found, proof)).collect();
    found.extend(silent.into_iter().filter_map(|proof| {
        let mut parts = proof.check.whole()?.conjuncts().iter();
        parts.find_map(|part| of_old_reading(pass, proof, part))
    }));
}

/// Whether a proof is found already.
fn is_said(found: &[Diagnostic], proof: &Proof) -> bool {
    let at = proof.check.span();
    let mut own = found.iter();
    own.any(|one| one.code == Code::ReadsProveEffect && one.span == at)
}

/// A part of a proof that asks for what a read found before a write, where the plan reads the same
/// again after it and no proof looks at that.
fn of_old_reading(pass: &Pass<'_>, proof: &Proof, part: &Expr) -> Option<Diagnostic> {
    let reads = references_of(part);
    let mut of_steps = reads.iter().filter(|read| step_of(read).is_some());
    if !of_steps.all(is_output) {
        return None;
    }
    let each: BTreeSet<&str> = reads.iter().filter_map(step_of).collect();
    each.into_iter()
        .find_map(|id| of_old_step(pass, proof, part, pass.plan.step(id)?))
}

/// The same of one step that the part reads.
fn of_old_step(pass: &Pass<'_>, proof: &Proof, part: &Expr, old: &Step) -> Option<Diagnostic> {
    let id = old.id.value.as_str();
    let own = pass.operation(old).filter(|op| op.effect == Effect::Read)?;
    let proofs = pass.plan.success.iter().flat_map(|p| p.check.references());
    let looked: BTreeSet<&str> = proofs.filter_map(step_of).collect();
    let StepKind::Tool { tool, args } = &old.kind else {
        return None;
    };
    let writes = pass.order.nodes().iter().filter(|node| {
        let is_same = node.is_call_of(|op| !op.effect.is_read() && op.server() == own.server());
        is_same && pass.order.is_before(id, &node.step.id.value)
    });
    let (write, again) = writes.map(|node| node.step).find_map(|write| {
        let again = pass.plan.steps.iter().find(|again| {
            let StepKind::Tool {
                tool: other,
                args: given,
            } = &again.kind
            else {
                return false;
            };
            let of_write = || references(again).any(|read| step_of(read) == Some(&write.id.value));
            other.value == tool.value
                && pass.order.is_before(&write.id.value, &again.id.value)
                && (given.form() == args.form() || of_write())
                && !looked.contains(again.id.value.as_str())
        })?;
        Some((write, again))
    })?;
    let message = format!(
        "the proof of `{}` asks for what `{id}` read before `{}`, and `{}` reads it again",
        proof.criterion.value, write.id.value, again.id.value
    );
    Some(
        Diagnostic::new(Code::ReadsProveEffect, part.span, message)
            .related(again.id.span, "read again after it")
            .hint(format!("ask for it of `steps.{}.output`", again.id.value)),
    )
}

fn of_criteria(pass: &Pass<'_>, unproven: &[&Step], found: &mut Vec<Diagnostic>) {
    let all = pass.plan.steps.iter().filter(|s| does(pass, s)).count();
    for criterion in &pass.terms.goal.success {
        let named = || {
            unproven
                .iter()
                .find_map(|step| named(&criterion.text, step))
        };
        let of = |proof: &&Proof| proof.criterion.value == criterion.id;
        let proofs: Vec<&Proof> = pass.plan.success.iter().filter(of).collect();
        let Some(first) = proofs.first() else {
            continue;
        };
        let read = proofs.iter().flat_map(|proof| proof.check.references());
        let read: BTreeSet<&str> = read.filter_map(step_of).collect();
        let only_read = proofs.iter().all(|proof| says_only_read(pass, proof));
        let follows = read.iter().any(|id| rests_on_effect(pass, id));
        let looks = |id: &&str| pass.plan.step(id).is_some_and(|step| looks(pass, step));
        if read.is_empty() || follows && !(only_read && read.iter().all(looks)) {
            continue;
        }
        let done = || {
            let mut steps = pass.plan.steps.iter().filter(|step| does(pass, step));
            let found = steps.find_map(|step| done_by(&criterion.text, step));
            found.filter(|_| only_read)
        };
        let word = match follows {
            true => named(),
            false => wanted(&criterion.text).or_else(named).or_else(done),
        };
        let id = &criterion.id;
        let message = match (word, follows) {
            (Some(word), _) => {
                let how = match follows {
                    true => "does not look at that",
                    false => "is true before anything is",
                };
                format!("`{id}` wants something done (`{word}`), but what proves it {how}")
            }
            (None, true) => continue,
            (None, false) => {
                let all_unproven = unproven.len() == all;
                let looked = (&read, only_read);
                match by_looks(pass, criterion, (unproven, all_unproven), looked) {
                    Some(message) => message,
                    None => continue,
                }
            }
        };
        let label = match follows {
            true => "looks at the status of reads and of questions alone",
            false => "looks at reads alone, and none of them follows a call that does something",
        };
        found.push(
            Diagnostic::new(Code::ReadsProveEffect, first.check.span(), message)
                .label(label)
                .note(format!("`{id}`: {}", criterion.text))
                .hint(format!(
                    "{}, or by a read that `needs` that step",
                    proving(pass)
                )),
        );
    }
}

/// A proof that says what another says already, or that a call was looked up for which no proof
/// looks at, where a step that does something is looked at by none.
fn unlooked(pass: &Pass<'_>, unproven: &[&Step], found: &[Diagnostic]) -> Vec<Diagnostic> {
    let Some(first) = unproven.first() else {
        return Vec::new();
    };
    let proofs = pass.plan.success.iter().enumerate();
    let open = proofs.filter(|(_, proof)| !is_said(found, proof));
    open.filter_map(|(at, proof)| {
        let id = &proof.criterion.value;
        let mut before = pass.plan.success.iter().take(at);
        let twin =
            before.find(|one| one.criterion.value != *id && one.check.form() == proof.check.form());
        let message = match twin {
            Some(twin) => format!(
                "`{id}` is proven by what proves `{}`, and no criterion looks at `{}`",
                twin.criterion.value, first.id.value
            ),
            None => {
                let (read, step) = unproven
                    .iter()
                    .find_map(|step| Some((looked_up_for(pass, proof, step)?, *step)))?;
                format!(
                    "`{id}` looks at `{read}`, which is read for `{0}`, and no criterion looks at \
                     `{0}`",
                    step.id.value
                )
            }
        };
        Some(
            Diagnostic::new(Code::ReadsProveEffect, proof.check.span(), message)
                .hint(proving_by(first)),
        )
    })
    .collect()
}

/// The read whose status a proof looks at, where the step `of` is given what it answers, and no
/// other step is.
fn looked_up_for<'p>(pass: &'p Pass<'_>, proof: &Proof, of: &Step) -> Option<&'p str> {
    let status = [Segment::Field("status".to_owned())];
    let mut asked = proof.check.references().filter(|read| read.path == status);
    asked.find_map(|read| {
        let step = pass.plan.step(step_of(read)?)?;
        let id = step.id.value.as_str();
        let reads = |step: &Step| references(step).any(|read| step_of(read) == Some(id));
        let mut others = pass
            .plan
            .steps
            .iter()
            .filter(|one| one.id.value != of.id.value);
        // Why only behind another effect: what is read before all else may be all that is wanted.
        let is_late = rests_on_effect(pass, id) && step.tool().is_some();
        let is_for = looks(pass, step) && is_late && reads(of);
        (is_for && !others.any(reads)).then_some(id)
    })
}

/// What is odd about a criterion that reads of before prove, although it names nothing done.
fn by_looks(
    pass: &Pass<'_>,
    criterion: &Criterion,
    (unproven, is_all): (&[&Step], bool),
    (read, only_read): (&BTreeSet<&str>, bool),
) -> Option<String> {
    let id = &criterion.id;
    let alone = |step: &Step, why: &str| {
        format!(
            "`{id}` is proven as soon as something is read, and no criterion looks at `{}`{why}",
            step.id.value
        )
    };
    if let Some(step) = unproven.first().filter(|_| is_all && only_read) {
        return Some(alone(step, ""));
    }
    if let Some((before, again)) = read_again(pass, read) {
        return Some(format!(
            "`{id}` is proven by what `{before}` reads before anything is done, and no proof looks \
             at `{again}`, which reads it again"
        ));
    }
    let mut unproven = unproven.iter().filter(|_| only_read);
    let looked = || read.iter().filter_map(|id| pass.plan.step(id));
    let described = unproven
        .clone()
        .find(|step| is_described(&criterion.text, step, looked()));
    let described = described.map(|step| alone(step, ", whose description it follows"));
    described.or_else(|| {
        let told = unproven.find(|step| is_told_of(&criterion.text, step, looked()))?;
        Some(alone(told, ", which it is about"))
    })
}

/// A step that a proof looks at, and one that makes the same call once something is done, at which
/// no proof looks. Why not one that a call reads: it is made for that.
fn read_again<'p>(pass: &'p Pass<'_>, read: &BTreeSet<&str>) -> Option<(&'p str, &'p str)> {
    let looked = pass.plan.success.iter().flat_map(|p| p.check.references());
    let calls = pass.plan.steps.iter().filter(|step| step.tool().is_some());
    let looked: BTreeSet<&str> = looked
        .chain(calls.flat_map(references))
        .filter_map(step_of)
        .collect();
    let call = |step: &'p Step| match &step.kind {
        StepKind::Tool { tool, args } => Some((tool.value.as_str(), args.form())),
        _ => None,
    };
    let before = read.iter().filter_map(|id| pass.plan.step(id));
    before.filter(|step| !does(pass, step)).find_map(|before| {
        let again = pass.plan.steps.iter().find(|again| {
            let id = again.id.value.as_str();
            !looked.contains(id)
                && call(again).is_some()
                && call(again) == call(before)
                && pass.order.is_before(&before.id.value, id)
                && rests_on_effect(pass, id)
        })?;
        Some((before.id.value.as_str(), again.id.value.as_str()))
    })
}

/// Whether a proof says no more than that reads succeeded which nothing skips: what they read, it
/// does not say.
fn says_only_read(pass: &Pass<'_>, proof: &Proof) -> bool {
    let is_status = |read: &Reference| {
        let status = [Segment::Field("status".to_owned())];
        let step = step_of(read).and_then(|id| pass.plan.step(id));
        read.path == status && step.is_some_and(|step| step.when.is_none())
    };
    proof.check.references().all(is_status)
}

/// Whether a step reads, or asks a person: what it comes to is nothing that was done.
fn looks(pass: &Pass<'_>, step: &Step) -> bool {
    let reads = pass
        .operation(step)
        .is_some_and(|op| op.effect == Effect::Read);
    reads || matches!(step.kind, StepKind::Question { .. })
}

/// Whether a step calls what does something.
fn does(pass: &Pass<'_>, step: &Step) -> bool {
    let operation = pass.operation(step);
    operation.is_some_and(|op| !op.effect.is_read())
}

/// The steps that do something which no proof looks at, in itself or by reads that follow it.
fn unproven<'a>(pass: &Pass<'a>) -> Vec<&'a Step> {
    let read = pass.plan.success.iter().flat_map(|p| p.check.references());
    let mut open: Vec<&str> = read.filter_map(step_of).collect();
    let mut proven = BTreeSet::new();
    while let Some(id) = open.pop() {
        let own = pass.plan.step(id);
        if proven.insert(id) && !own.is_some_and(|own| does(pass, own)) {
            let before = pass.graph.after.get(id).into_iter().flatten();
            open.extend(before.map(String::as_str));
        }
    }
    let steps = pass.plan.steps.iter().filter(|step| does(pass, step));
    steps
        .filter(|step| !proven.contains(step.id.value.as_str()))
        .collect()
}

/// The word of a text that is the name of a step, or a form of it: `booked` for `book`.
fn named(text: &str, step: &Step) -> Option<String> {
    let id = step.id.value.to_lowercase();
    let verb = id
        .split(['_', '-', '/'])
        .next_back()
        .filter(|verb| verb.len() >= STEM_CHARS_MIN)?;
    let text = text.to_lowercase();
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    let stem = verb.strip_suffix('e').unwrap_or(verb);
    words.find(|word| word.starts_with(stem)).map(str::to_owned)
}

/// The word by which a text says that what a step does was done: `was booked` of a step that is
/// called `book`, or calls `rooms.book`.
fn done_by(text: &str, step: &Step) -> Option<String> {
    let tool = step.tool().map_or("", |tool| tool.value.as_str());
    let names = [step.id.value.as_str(), tool];
    let ends = names.iter().flat_map(|name| {
        let mut words = name.split(['_', '-', '/', '.']);
        [words.next_back(), words.next_back()]
    });
    let verbs: Vec<String> = ends.flatten().map(str::to_lowercase).collect();
    let text = text.to_lowercase();
    let words = text.split(|c: char| !c.is_alphanumeric());
    let mut been = false;
    for word in words.filter(|word| !word.is_empty()) {
        if is_in(ASIDE, word) {
            return None;
        }
        if been && verbs.iter().any(|verb| is_form(verb, word)) {
            return Some(word.to_owned());
        }
        been = is_in(BE, word) || been && word == "not";
    }
    None
}

/// Whether a text says what a step is described to do, by the first word of its description, and
/// none of others is described so.
fn is_described<'s>(text: &str, step: &Step, mut others: impl Iterator<Item = &'s Step>) -> bool {
    let Some(stem) = verb(step) else {
        return false;
    };
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.any(|word| word.starts_with(&stem))
        && !others.any(|other| verb(other).as_ref() == Some(&stem))
}

/// Whether a text has words of what a step does that none of the others has, and none of theirs.
fn is_told_of<'s>(text: &str, step: &Step, others: impl Iterator<Item = &'s Step>) -> bool {
    let stems = |text: &str| -> BTreeSet<String> {
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        let long = words.filter(|word| word.chars().count() >= STEM_CHARS_MIN);
        long.map(|word| word.chars().take(STEM_CHARS_MIN).collect())
            .collect()
    };
    let of_step = |step: &Step| {
        let tool = step.tool().map_or("", |tool| tool.value.as_str());
        let told = step.description.as_ref().map_or("", |text| &text.value);
        stems(&format!("{} {tool} {told}", step.id.value))
    };
    let said = stems(text);
    let own: BTreeSet<String> = of_step(step).intersection(&said).cloned().collect();
    let theirs: BTreeSet<String> = others.flat_map(of_step).collect();
    let theirs: BTreeSet<String> = theirs.intersection(&said).cloned().collect();
    let is_described = step.description.is_some();
    is_described
        && own.difference(&theirs).count() >= WORDS_MIN
        && theirs.difference(&own).count() < own.difference(&theirs).count()
}

/// The first word of a description, without an `e` at its end.
fn verb(step: &Step) -> Option<String> {
    let first = step.description.as_ref()?.value.split_whitespace().next()?;
    let lower = first.to_lowercase();
    let is_word = lower.chars().all(char::is_alphabetic) && lower.len() >= STEM_CHARS_MIN;
    is_word.then(|| lower.strip_suffix('e').unwrap_or(&lower).to_owned())
}

/// Whether a word says that what a verb says was done: `moved` for `move`.
pub(super) fn is_form(verb: &str, word: &str) -> bool {
    let stem = verb.strip_suffix(['e', 'y']).unwrap_or(verb);
    let is_end = |rest: &str| {
        let is_long = || rest.len() == LONG_END.len() + 1 && rest.ends_with(LONG_END);
        FORM_ENDS.contains(&rest) || is_long()
    };
    verb.len() >= VERB_CHARS_MIN && word.strip_prefix(stem).is_some_and(is_end)
}

fn proving_by(step: &Step) -> String {
    format!(
        "prove it by the step that does it, such as `${{ steps.{}.status == \"succeeded\" }}`",
        step.id.value
    )
}

/// What proves it: a step of the plan that does something, if there is one.
fn proving(pass: &Pass<'_>) -> String {
    match pass.plan.steps.iter().find(|step| does(pass, step)) {
        Some(step) => proving_by(step),
        None => "no step does it yet: add one, and prove it by its status".to_owned(),
    }
}

/// Whether a step is something else than a read, or waits for one that is.
fn rests_on_effect(pass: &Pass<'_>, id: &str) -> bool {
    let mut open = vec![id];
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !seen.insert(id) {
            continue;
        }
        let Some(step) = pass.plan.step(id) else {
            return true;
        };
        // Why a subgoal too: what its refinement does is not known here. Why egress: what is
        // drafted or translated is made by such a call, a model's for one, and is nowhere else.
        let reads = pass.operation(step).map(|op| op.effect == Effect::Read);
        if step.subgoal().is_some()
            || reads == Some(false)
            || reads.is_none() && step.tool().is_some()
        {
            return true;
        }
        open.extend(
            pass.graph
                .after
                .get(id)
                .into_iter()
                .flatten()
                .map(String::as_str),
        );
    }
    false
}

/// The word by which a text wants something done, if it does.
fn wanted(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let parts: Vec<&str> = lower
        .split_inclusive(|c: char| !c.is_alphanumeric())
        .collect();
    let bare = |part: &str| {
        part.trim_end_matches(|c: char| !c.is_alphanumeric())
            .to_owned()
    };
    let (mut begins, mut been, mut aside) = (true, false, false);
    for (at, part) in parts.iter().enumerate() {
        let word = bare(part);
        if !word.is_empty() {
            let next = parts.get(at + 1).map(|next| bare(next)).unwrap_or_default();
            // Why the next: `open tickets` is no demand, `open the ticket` is one.
            let told = begins && is_in(DO, &word) && is_in(BEFORE_THINGS, &next);
            if told || been && !aside && is_in(DONE, &word) {
                return Some(word);
            }
            aside |= is_in(ASIDE, &word);
            begins = is_in(JOINTS, &word);
            been = is_in(BE, &word) || been && word == "not";
        }
        begins |= part.ends_with([',', ';', ':', '.']);
    }
    None
}

fn is_in(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn a_text_wants_something_done_or_something_known() {
        for text in [
            "Answer the ticket and draft an article",
            "Look at the orders, then note them",
            "on-call was paged if and only if the threshold was exceeded",
            "the draft is saved",
        ] {
            assert!(wanted(text).is_some(), "{text}");
        }
        for text in [
            "the cause is named with its evidence",
            "Count the mails that came today",
            "Find the latest post about the queue",
            "Investigate the checkout latency spike",
            "which note is the newest is known",
            "open tickets were counted",
            "the page that was updated last is named",
            "post 12 was read",
        ] {
            assert_eq!(wanted(text), None, "{text}");
        }
    }
}
