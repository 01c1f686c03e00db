//! What holds a plan back: guards, acceptances, approvals, undo, proofs, limits and order.
//!
//! Owns what counts as a safeguard, and which of them another plan no longer has. Compares trees:
//! spaces, quotes and parentheses do not count, and a guard that is another tree counts as another
//! one. INVARIANT: whatever a plan loses of what it asks for, waits for or is bounded by is named,
//! unless the step that had it is gone.

use std::collections::BTreeMap;
use std::time::Duration;

use super::CheckedUnder;
use crate::amount::Amount;
use crate::catalog::Effect;
use crate::duration::words;
use crate::expr::tree::{Expr, ExprKind};
use crate::expr::{ArgTree, Template};
use crate::plan::{Expiry, OnFailure, Plan, SideCall, Step, StepKind};
use crate::source::Span;

/// What the plan itself, and no step of it, is held by.
const PLAN: &str = "";

/// The safeguards of a plan, by the step they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safeguards {
    of: BTreeMap<String, BTreeMap<String, String>>,
    polls: BTreeMap<(String, &'static str), Duration>,
    /// How long each question waits, and whether it comes to something without an answer.
    questions: BTreeMap<String, (Option<Duration>, bool)>,
    /// The entries of arguments of what acts, and whether each is sent whatever its value is.
    args: BTreeMap<(String, String), bool>,
    limits: BTreeMap<String, Amount>,
}

impl Safeguards {
    pub(super) fn of(checkup: &CheckedUnder<'_>) -> Self {
        let plan = checkup.plan.plan();
        let mut all = Self {
            limits: limits(plan),
            ..Self::default()
        };
        let proofs = plan.success.iter().flat_map(|proof| {
            let what = format!("proof of {}", proof.criterion.value);
            parts(&what, &proof.check)
        });
        all.of.insert(PLAN.to_owned(), proofs.collect());
        for (step, _) in checkup.steps() {
            let calls = checkup.calls(step);
            let acts = calls
                .iter()
                .any(|operation| operation.effect != Effect::Read);
            let mut own = of_step(step);
            if acts {
                for (role, _, args) in step.calls() {
                    let of = role
                        .field()
                        .map_or_else(String::new, |field| format!("{field}."));
                    entries(args, &of, &mut |name, is_sent| {
                        let of = all.args.entry((step.id.value.clone(), name));
                        *of.or_insert(true) &= is_sent;
                    });
                }
                own.extend(step.when.iter().flat_map(|when| parts("when", when)));
                let asserted = checkup.plan.assertions(&step.id.value).into_iter();
                let asserted = asserted.filter_map(Step::asserted);
                own.extend(asserted.flat_map(|held| parts("asserted", &held.condition)));
                let waits = checkup.plan.record().before(&step.id.value);
                own.extend(
                    waits
                        .into_iter()
                        .map(|id| plain(format!("runs after {id}"))),
                );
            }
            if let Some(until) = &step.until {
                let of = |name| (step.id.value.clone(), name);
                all.polls.insert(of("every"), until.every);
                all.polls.insert(of("at_most"), until.at_most);
            }
            if let StepKind::Question { expires, .. } = &step.kind {
                let after = expires.as_ref().map(|expires| expires.after);
                let has_default = step.default_answer().is_some();
                let of = (after, has_default);
                all.questions.insert(step.id.value.clone(), of);
            }
            all.of.insert(step.id.value.clone(), own);
        }
        all
    }

    /// What `after` no longer has of this, and limits of it that are wider there.
    pub(super) fn lost(&self, after: &Self) -> Vec<String> {
        let mut lost = Vec::new();
        for (step, own) in &self.of {
            let Some(there) = after.of.get(step) else {
                continue;
            };
            let gone = own.iter().filter(|(form, _)| !there.contains_key(*form));
            lost.extend(gone.map(|(_, written)| match step.as_str() {
                PLAN => written.clone(),
                step => format!("{step}: {written}"),
            }));
        }
        for ((step, name), most) in &self.polls {
            let now = after.polls.get(&(step.clone(), name));
            // Why not where it is gone: then `until` is, which is named above.
            if let Some(now) = now.filter(|now| *now > most) {
                let (most, now) = (words(*most), words(*now));
                lost.push(format!("{step}: {name}: {most} → {now}"));
            }
        }
        for (step, (most, _)) in &self.questions {
            if let Some((now, has_default)) = after.questions.get(step)
                && weakens(*most, *now, *has_default)
            {
                lost.push(format!(
                    "{step}: expires: {} → {}",
                    until(*most),
                    until(*now)
                ));
            }
        }
        for ((step, name), is_sent) in &self.args {
            let now = after.args.get(&(step.clone(), name.clone()));
            // Why not where it is gone: that is another call, and no call that may reach further.
            if *is_sent && now == Some(&false) {
                lost.push(format!("{step}: {name} is always sent"));
            }
        }
        for (name, most) in &self.limits {
            match after.limits.get(name) {
                Some(now) if now <= most => {}
                Some(now) => lost.push(format!("limit {name}: {most} → {now}")),
                None => lost.push(format!("limit {name}: {most}")),
            }
        }
        lost
    }
}

/// Whether a question of the second deadline holds back less than one of the first: it waits
/// longer, or people have less time before its default counts.
fn weakens(most: Option<Duration>, now: Option<Duration>, has_default: bool) -> bool {
    let ends = |time: Option<Duration>| time.unwrap_or(Duration::MAX);
    ends(now) > ends(most) || has_default && ends(now) < ends(most)
}

fn until(time: Option<Duration>) -> String {
    time.map_or_else(|| "never".to_owned(), words)
}

/// Gives every entry of arguments, by its path, and whether it is sent whatever its value is.
fn entries(tree: &ArgTree, path: &str, give: &mut dyn FnMut(String, bool)) {
    match tree {
        ArgTree::Value(..) | ArgTree::Template(_) => {}
        ArgTree::List(items, _) => items.iter().for_each(|item| entries(item, path, give)),
        ArgTree::Map(map, _) => {
            for (key, value) in map {
                let path = format!("{path}{}", key.as_str());
                entries(value, &format!("{path}."), give);
                give(path, !key.may_be_left_out());
            }
        }
    }
}

/// What a step asks for besides its guard and its order.
fn of_step(step: &Step) -> BTreeMap<String, String> {
    let call = |what: &str, call: &SideCall, field: &str| {
        let args = step.value.pointer(&format!("/{field}/args"));
        let args = args.map_or_else(String::new, |args| format!(" {args}"));
        format!("{what}: {}{args}", call.tool.value)
    };
    let mut own: BTreeMap<String, String> = BTreeMap::new();
    let until = step.until.iter();
    own.extend(until.flat_map(|until| parts("until", &until.condition)));
    own.extend(step.accept.iter().flat_map(|one| parts("accept", one)));
    let mut more: Vec<String> = Vec::new();
    if let Some(confirm) = &step.confirm {
        more.push(call("confirm", confirm, "confirm"));
        let accepts = confirm.accept.iter();
        own.extend(accepts.flat_map(|one| parts("confirm accepts", one)));
    }
    more.extend(step.undo.iter().map(|undo| call("undo", undo, "undo")));
    if step.approval_required {
        more.push("approval: required".to_owned());
    }
    let fresh = step.fresh.as_ref();
    more.extend(fresh.map(|fresh| format!("fresh: {}", words(fresh.value))));
    more.extend(step.role().map(|role| format!("as: {role}")));
    let field = |name: &str| {
        let value = step.value.get(name)?;
        Some(format!("{name}: {value}"))
    };
    more.extend(field("expect"));
    more.extend(field("risk"));
    if step.on_failure != OnFailure::Continue {
        more.push("a failure of it stops what follows".to_owned());
    }
    match &step.kind {
        StepKind::Question { of, expires, .. } => {
            more.extend(of.iter().map(|of| format!("asks {}", of.value)));
            more.push(without_answer(expires.as_ref()));
        }
        StepKind::Subgoal(_) => more.extend(
            ["tools", "effect_max", "steps_max"]
                .iter()
                .filter_map(|name| field(name)),
        ),
        StepKind::Tool { .. } | StepKind::Assertion(_) => {}
    }
    own.extend(more.into_iter().map(plain));
    own
}

/// What counts as the answer to a question.
fn without_answer(expires: Option<&Expiry>) -> String {
    match expires.and_then(|expires| expires.default.as_ref()) {
        Some(default) => format!("without an answer: {}", default.value),
        None => "goes on with a person's answer only".to_owned(),
    }
}

/// The limits that a plan sets for itself.
fn limits(plan: &Plan) -> BTreeMap<String, Amount> {
    let own = plan.value.get("limits");
    let names = [
        "steps",
        "calls",
        "attempts",
        "revisions",
        "proposals",
        "concurrency",
    ];
    let set = |name: &&'static str| own.and_then(|own| own.get(*name)).is_some();
    let Some(limits) = &plan.limits else {
        return BTreeMap::new();
    };
    let of = |name: &'static str| match name {
        "steps" => limits.steps,
        "calls" => limits.calls,
        "attempts" => limits.attempts,
        "revisions" => limits.revisions,
        "proposals" => limits.proposals,
        _ => limits.concurrency,
    };
    let counts = names.into_iter().filter(set).map(|name| (name, of(name)));
    let mut counts: Vec<(&str, u64)> = counts.collect();
    if own.and_then(|own| own.get("wall")).is_some() {
        counts.push(("wall_ms", limits.wall_ms));
    }
    counts.extend(limits.tokens.map(|tokens| ("tokens", tokens)));
    counts.extend(limits.money.map(|money| ("money", money.millionths())));
    let counts = counts.into_iter();
    let mut all: BTreeMap<String, Amount> = counts
        .map(|(name, most)| (name.to_owned(), Amount::of_count(most)))
        .collect();
    let values = limits.values.iter();
    all.extend(values.map(|(name, most)| (format!("values.{name}"), *most)));
    all
}

/// Something that holds a step back: its form, by which it is compared, and as it is written.
type Hold = (String, String);

/// What is compared as it is written.
fn plain(text: String) -> Hold {
    (text.clone(), text)
}

/// The parts of a condition that all have to hold.
fn parts(what: &str, template: &Template) -> Vec<Hold> {
    let whole = || plain(format!("{what}: {}", template.text()));
    let Some(expression) = template.whole() else {
        return vec![whole()];
    };
    // Why read again: the places of its parts are then those in its own text.
    let text = format!("${{{}}}", expression.source());
    let own = Template::parse(&text, Span::new(0, text.len()), &text);
    let own = own.ok();
    let Some(expression) = own.as_ref().and_then(Template::whole) else {
        return vec![whole()];
    };
    let hold = |part: &Expr| {
        let written = text.get(part.span.start..part.span.end).unwrap_or_default();
        (
            format!("{what}: {}", part.form()),
            format!("{what}: {written}"),
        )
    };
    let parts = expression.conjuncts().iter().flat_map(joined);
    parts.map(hold).collect()
}

/// The conditions that a part joins with `&&` itself, in parentheses.
fn joined(part: &Expr) -> Vec<&Expr> {
    match &part.kind {
        ExprKind::And(terms) => terms.iter().flat_map(joined).collect(),
        _ => vec![part],
    }
}
