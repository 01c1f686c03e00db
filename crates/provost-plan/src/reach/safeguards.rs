//! What holds a plan back: guards, acceptances, approvals, undo, proofs, limits and order.
//!
//! Owns what counts as a safeguard, and which of them another plan no longer has. Compares texts:
//! a guard that is written otherwise counts as another one. INVARIANT: whatever a plan loses of
//! what it asks for, waits for or is bounded by is named, unless the step that had it is gone.

use std::collections::{BTreeMap, BTreeSet};

use super::CheckedUnder;
use crate::catalog::Effect;
use crate::expr::Template;
use crate::plan::{OnFailure, Plan, SideCall, Step, StepKind};

/// What the plan itself, and no step of it, is held by.
const PLAN: &str = "";

/// The safeguards of a plan, by the step they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Safeguards {
    of: BTreeMap<String, BTreeSet<String>>,
    limits: BTreeMap<&'static str, u64>,
}

impl Safeguards {
    pub(super) fn of(checkup: &CheckedUnder<'_>) -> Self {
        let plan = checkup.plan.plan();
        let mut all = Self {
            limits: limits(plan),
            ..Self::default()
        };
        let proofs = plan.success.iter().flat_map(|proof| {
            let parts = parts(&proof.check);
            let id = &proof.criterion.value;
            parts
                .into_iter()
                .map(move |part| format!("proof of {id}: {part}"))
        });
        all.of.insert(PLAN.to_owned(), proofs.collect());
        for (step, _) in checkup.steps() {
            let calls = checkup.calls(step);
            let acts = calls
                .iter()
                .any(|operation| operation.effect != Effect::Read);
            let mut own = of_step(step);
            if acts {
                let when = step.when.iter().flat_map(parts);
                own.extend(when.map(|part| format!("when: {part}")));
                let waits = checkup.plan.record().before(&step.id.value);
                own.extend(waits.into_iter().map(|id| format!("runs after {id}")));
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
            let gone = own.difference(there);
            lost.extend(gone.map(|one| match step.as_str() {
                PLAN => one.clone(),
                step => format!("{step}: {one}"),
            }));
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

/// What a step asks for besides its guard and its order.
fn of_step(step: &Step) -> BTreeSet<String> {
    let accept = |what: &'static str, of: &[Template]| -> Vec<String> {
        let parts = of.iter().flat_map(parts);
        parts.map(|part| format!("{what}: {part}")).collect()
    };
    let call = |what: &str, call: &SideCall, field: &str| {
        let args = step.value.pointer(&format!("/{field}/args"));
        let args = args.map_or_else(String::new, |args| format!(" {args}"));
        format!("{what}: {}{args}", call.tool.value)
    };
    let mut own: BTreeSet<String> = accept("accept", &step.accept).into_iter().collect();
    if let Some(confirm) = &step.confirm {
        own.insert(call("confirm", confirm, "confirm"));
        own.extend(accept("confirm accepts", &confirm.accept));
    }
    own.extend(step.undo.iter().map(|undo| call("undo", undo, "undo")));
    if step.approval_required {
        own.insert("approval: required".to_owned());
    }
    let fresh = step.fresh.as_ref();
    own.extend(fresh.map(|fresh| format!("fresh: {}", crate::duration::words(fresh.value))));
    own.extend(step.role().map(|role| format!("as: {role}")));
    let field = |name: &str| {
        let value = step.value.get(name)?;
        Some(format!("{name}: {value}"))
    };
    own.extend(field("expect"));
    own.extend(field("risk"));
    if step.on_failure != OnFailure::Continue {
        own.insert("a failure of it stops what follows".to_owned());
    }
    match &step.kind {
        StepKind::Question { of: Some(of), .. } => {
            own.insert(format!("asks {}", of.value));
        }
        StepKind::Subgoal(_) => own.extend(
            ["tools", "effect_max", "steps_max"]
                .iter()
                .filter_map(|name| field(name)),
        ),
        StepKind::Question { of: None, .. } | StepKind::Tool { .. } => {}
    }
    own
}

/// The limits that a plan sets for itself.
fn limits(plan: &Plan) -> BTreeMap<&'static str, u64> {
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
    let mut all: BTreeMap<&'static str, u64> = names
        .into_iter()
        .filter(set)
        .map(|name| (name, of(name)))
        .collect();
    if own.and_then(|own| own.get("wall")).is_some() {
        all.insert("wall_ms", limits.wall_ms);
    }
    all.extend(limits.tokens.map(|tokens| ("tokens", tokens)));
    all.extend(limits.money.map(|money| ("money", money.millionths())));
    all
}

/// The parts of a condition that all have to hold, as written but for its spaces.
fn parts(template: &Template) -> Vec<String> {
    let text = template
        .whole()
        .map_or(template.text(), |whole| whole.source());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let (mut parts, mut from) = (Vec::new(), 0);
    let (mut depth, mut quote, mut either) = (0i32, None, false);
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some(_), '\\') => {
                letters.next();
            }
            (Some(open), _) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, '|' | '?') if depth == 0 => either = true,
            (None, '&') if depth == 0 && letters.peek().is_some_and(|(_, next)| *next == '&') => {
                letters.next();
                parts.push(text.get(from..at).unwrap_or_default().trim().to_owned());
                from = at + 2;
            }
            (None, _) => {}
        }
    }
    // Why whole: of `a && b || c` no part has to hold.
    if either {
        return vec![text];
    }
    parts.push(text.get(from..).unwrap_or_default().trim().to_owned());
    parts
}
