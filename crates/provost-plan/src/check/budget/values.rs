//! The worst case of counted values: what all calls of a plan add up to, by name.
//!
//! Owns the sums, and the findings about their limits. Never looks at what was spent before: a step
//! that ran stays in its plan, and counts as it is written there. INVARIANT: no run of the plan
//! adds more to a value than its sum; where nothing bounds a call there is no sum.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::super::Pass;
use super::super::scope::Site;
use super::super::shape::Exclusions;
use super::super::typing::{TypedNames, type_of};
use super::capped;
use super::worst::{items, may_undo};
use crate::amount::{Amount, Totals};
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, nearest};
use crate::expr::tree::{Arith, Expr, ExprKind, Function};
use crate::expr::{ArgTree, Key, Root, Scope, Segment};
use crate::plan::{CallRole, Field, ForEach, Limits, Step};
use crate::source::{Span, Spanned};

/// Most steps that one is compared with, to see whether they exclude each other.
const GROUPS_MAX: usize = 64;

/// The most that a plan adds to one value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueWorst {
    /// The most of all calls; none where a step has no bound.
    pub most: Option<Amount>,
    /// The steps that add to it, as written.
    pub steps: Vec<ValueShare>,
}

/// The most that one step adds to a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ValueShare {
    /// Its id.
    pub step: String,
    /// The operation that counts it.
    pub tool: String,
    /// The argument that counts.
    pub arg: String,
    /// Its calls.
    pub calls: u64,
    /// The most of all of them; none without a bound.
    pub most: Option<Amount>,
    /// Whether that hangs on a parameter that has no value yet.
    #[serde(skip)]
    pub open: bool,
}

/// The most of each value that the catalog counts.
pub(super) fn worst(pass: &Pass<'_>, times: &dyn Fn(&Step) -> u64) -> BTreeMap<String, ValueWorst> {
    let names = pass.terms.catalog.values();
    let exclusions = Exclusions::of(pass);
    let of = |name: String| {
        let steps = pass.plan.steps.iter();
        let shares = steps.filter_map(|step| Some((step, share(pass, step, &name, times(step))?)));
        let shares: Vec<(&Step, ValueShare)> = shares.collect();
        let most = most(&shares, &exclusions);
        let steps = shares.into_iter().map(|(_, share)| share).collect();
        (name, ValueWorst { most, steps })
    };
    names.into_keys().map(of).collect()
}

/// What policy is told of the sums; nothing where one of them hangs on an open parameter.
pub(super) fn totals(worst: &BTreeMap<String, ValueWorst>) -> Option<Totals> {
    let mut shares = worst.values().flat_map(|value| &value.steps);
    if shares.any(|share| share.open) {
        return None;
    }
    let each = worst.iter();
    Some(
        each.map(|(name, value)| (name.clone(), value.most))
            .collect(),
    )
}

/// The most of all steps: of those that exclude each other, the largest.
fn most(shares: &[(&Step, ValueShare)], exclusions: &Exclusions<'_, '_>) -> Option<Amount> {
    let known = shares
        .iter()
        .map(|(step, share)| Some((*step, share.most?)));
    let mut known: Vec<(&Step, Amount)> = known.collect::<Option<_>>()?;
    known.sort_by_key(|(_, most)| std::cmp::Reverse(*most));
    let mut groups: Vec<Vec<&Step>> = Vec::new();
    let mut total = Amount::ZERO;
    for (step, most) in known {
        let fits = |group: &&mut Vec<&Step>| group.iter().all(|one| exclusions.exclude(one, step));
        match groups.iter_mut().take(GROUPS_MAX).find(fits) {
            // Why nothing more: the first of a group adds the most of it.
            Some(group) => group.push(step),
            None => {
                total = total.plus(most);
                groups.push(vec![step]);
            }
        }
    }
    Some(total)
}

/// What one step adds to a value, if a call of it counts.
fn share(pass: &Pass<'_>, step: &Step, name: &str, times: u64) -> Option<ValueShare> {
    if step.is_open_subgoal() {
        return of_subgoal(pass, step, name);
    }
    let roles = CallRole::ALL.into_iter();
    let roles = roles.filter(|role| *role != CallRole::Undo || may_undo(pass, step));
    let calls = roles.filter_map(|role| of_call(pass, step, role, name));
    calls
        .reduce(|one, two| joined(one, &two))
        .map(|share| ValueShare {
            calls: share.calls.saturating_mul(times),
            most: share.most.map(|most| most.times(times)),
            ..share
        })
}

fn joined(one: ValueShare, two: &ValueShare) -> ValueShare {
    ValueShare {
        calls: one.calls.saturating_add(two.calls),
        most: one.most.zip(two.most).map(|(a, b)| a.plus(b)),
        open: one.open || two.open,
        ..one
    }
}

fn of_call(pass: &Pass<'_>, step: &Step, role: CallRole, name: &str) -> Option<ValueShare> {
    let (operation, (_, args)) = (pass.called(step, role)?, step.call(role)?);
    let arg = operation.values.get(name)?;
    let entry = args.get(arg);
    let tree = entry.map(|(_, tree)| tree);
    let reads_open = |tree: &ArgTree| {
        let reads = tree.templates().into_iter();
        let own = reads.flat_map(|template| template.references());
        let mut own = own.map(|read| &read.root);
        let list = step.for_each.as_ref().map(|each| &each.list);
        let of_item = list.is_some_and(|list| pass.open.leaves_open(list));
        let open = |root: &Root| match root {
            Root::Params => pass.open.params.is_some(),
            Root::Item => of_item,
            _ => false,
        };
        own.any(open)
    };
    // Why unknown without it: nobody knows what a tool does that is not told how much.
    let most = entry.and_then(|entry| of_entry(pass, step, (role, operation), entry));
    Some(ValueShare {
        step: step.id.value.clone(),
        tool: operation.name.clone(),
        arg: arg.clone(),
        calls: items_of(pass, step),
        most,
        open: tree.is_some_and(reads_open),
    })
}

/// The most of one argument, over all items.
fn of_entry(
    pass: &Pass<'_>,
    step: &Step,
    (role, operation): (CallRole, &Operation),
    (key, tree): &(Key, ArgTree),
) -> Option<Amount> {
    if let Some(value) = pass.fixed_tree(tree) {
        return Amount::of_value(&value).map(|one| one.times(items_of(pass, step)));
    }
    if let Some(total) = of_items(pass, step, tree) {
        return Some(total);
    }
    let capped = capped::of_list(pass, step, tree);
    // Why: a call without it is like one that never had it.
    if key.may_be_left_out() {
        return None;
    }
    let declared = operation.ceiling(key);
    let site = Site::of(pass, step, Field::Args(role));
    let names = |root: &Root, path: &[Segment]| pass.place(&site, root, path);
    let written = match tree {
        ArgTree::Template(template) => {
            let whole = template.whole();
            whole.and_then(|whole| of_expr(whole.ast(), &names))
        }
        ArgTree::Value(..) | ArgTree::List(..) | ArgTree::Map(..) => None,
    };
    let one = match (written, declared) {
        (Some(written), Some(declared)) => Some(written.min(declared)),
        (written, declared) => written.or(declared),
    };
    let all = one.map(|one| one.times(items_of(pass, step)));
    match (all, capped) {
        (Some(all), Some(capped)) => Some(all.min(capped)),
        (all, capped) => all.or(capped),
    }
}

/// The most that an expression comes to. Why not its type alone: that says little of a sum, and
/// nothing of the least of two numbers.
fn of_expr(expr: &Expr, names: &TypedNames<'_>) -> Option<Amount> {
    let of = |expr: &Expr| of_expr(expr, names);
    match &expr.kind {
        ExprKind::Call(Function::Min | Function::Least, all) if all.len() > 1 => {
            all.iter().filter_map(of).min()
        }
        ExprKind::Call(Function::Max | Function::Greatest, all) if all.len() > 1 => {
            let all: Option<Vec<Amount>> = all.iter().map(of).collect();
            all?.into_iter().max()
        }
        ExprKind::Choice(_, yes, no) => Some(of(yes)?.max(of(no)?)),
        ExprKind::Chain(first, rest) if rest.iter().all(|(by, _)| *by == Arith::Add) => {
            let all = rest.iter().map(|(_, operand)| of(operand));
            all.fold(of(first), |sum, one| Some(sum?.plus(one?)))
        }
        _ => {
            let typed = type_of(expr, names, &mut Vec::new());
            let known = !typed.is_reported();
            known.then(|| typed.to_type().amount_max()).flatten()
        }
    }
}

/// The calls of a step, one an item: of a list that is known before the run, as many as it has.
fn items_of(pass: &Pass<'_>, step: &Step) -> u64 {
    let list = step.for_each.as_ref().and_then(|each| list_of(pass, each));
    let known = list.and_then(|list| u64::try_from(list.len()).ok());
    // Why not more: with more items than that, no call of the step begins.
    known.map_or(items(step), |known| known.min(items(step)))
}

/// The items of a list that is known before the run.
fn list_of(pass: &Pass<'_>, each: &ForEach) -> Option<Vec<Value>> {
    match pass.fixed(&each.list)? {
        Value::Array(list) => Some(list),
        _ => None,
    }
}

/// The sum over the items of a list that is known before the run.
fn of_items(pass: &Pass<'_>, step: &Step, tree: &ArgTree) -> Option<Amount> {
    let (each, ArgTree::Template(template)) = (step.for_each.as_ref()?, tree) else {
        return None;
    };
    let known = |root: &Root| matches!(root, Root::Params | Root::Item | Root::Index);
    if pass.open.leaves_open(template) || !template.references().all(|read| known(&read.root)) {
        return None;
    }
    let list = list_of(pass, each)?;
    list.iter()
        .enumerate()
        .try_fold(Amount::ZERO, |sum, (at, item)| {
            let index = Value::from(at);
            let scope = Scope::new().with("params", &pass.params).with("item", item);
            let scope = scope.with("index", &index).paid_from(&pass.purse);
            let value = template.eval(&scope).ok()?;
            Some(sum.plus(Amount::of_value(&value)?))
        })
}

/// What the steps of a subgoal may still add: as many calls as may come, of the tool that adds the
/// most.
fn of_subgoal(pass: &Pass<'_>, step: &Step, name: &str) -> Option<ValueShare> {
    let calls = pass.still_to_come(step);
    let counting = pass.may_call(step);
    let counting = counting.filter_map(|operation| Some((operation, operation.values.get(name)?)));
    let most = |(operation, arg): &(&Operation, &String)| operation.ceiling(arg);
    // Why unbounded first: what has no bound adds more than all that has one.
    let by_most = |one: &(&Operation, &String)| (most(one).is_none(), most(one));
    let (operation, arg) = counting.max_by_key(by_most)?;
    Some(ValueShare {
        step: step.id.value.clone(),
        tool: operation.name.clone(),
        arg: arg.clone(),
        calls,
        most: operation.ceiling(arg).map(|one| one.times(calls)),
        open: false,
    })
}

/// What passes the limits of values, has no bound under one, or is no value at all.
pub(super) fn findings(
    pass: &Pass<'_>,
    limits: &Limits,
    worst: &BTreeMap<String, ValueWorst>,
) -> Vec<Diagnostic> {
    let names: BTreeSet<&str> = worst.keys().map(String::as_str).collect();
    let named = pass.plan.value_limits.iter();
    let unknown = named.filter(|name| !names.contains(name.value.as_str()));
    let limited = pass
        .plan
        .value_limits
        .iter()
        .map(|name| name.value.as_str());
    let limited: BTreeSet<&str> = limited.collect();
    // Why not what has a limit: written once more, the text would be no document.
    let free: BTreeSet<&str> = names.difference(&limited).copied().collect();
    let unknown = unknown.map(|name| no_value(name, &names, &free));
    let mut found: Vec<Diagnostic> = unknown.collect();
    for (name, limit) in &limits.values {
        let Some(value) = worst.get(name) else {
            continue;
        };
        let unbounded = value.steps.iter().filter(|s| s.most.is_none() && !s.open);
        found.extend(unbounded.map(|share| no_bound(pass, name, *limit, share)));
        let closed = value.steps.iter().all(|share| !share.open);
        let passed = value.most.filter(|most| closed && most > limit);
        found.extend(passed.and_then(|most| too_much(pass, name, most, *limit, value)));
    }
    found
}

fn no_value(name: &Spanned<String>, known: &BTreeSet<&str>, free: &BTreeSet<&str>) -> Diagnostic {
    let message = format!("no tool counts `{}`", name.value);
    let found = Diagnostic::new(Code::UnknownValue, name.span, message);
    let list: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    match nearest(&name.value, free.iter().copied()) {
        Some(_) => found.did_you_mean(&name.value, free.iter().copied()),
        None if list.is_empty() => found.hint("no tool of this workspace counts a value"),
        None => found.hint(format!("the tools count {}", list.join(", "))),
    }
}

fn span_of(pass: &Pass<'_>, id: &str) -> Span {
    let step = pass.plan.step(id);
    step.map_or(Span::default(), |step| step.id.span)
}

fn no_bound(pass: &Pass<'_>, name: &str, limit: Amount, share: &ValueShare) -> Diagnostic {
    let (id, arg) = (&share.step, &share.arg);
    let message = format!("nothing bounds `{arg}` of `{id}`, which counts as `{name}`");
    Diagnostic::new(Code::ValueNotBounded, span_of(pass, id), message)
        .note(format!("the limit of `{name}` is {limit}"))
        .hint(format!(
            "give `{arg}` a value that is known before the run, or a `maximum` in the input schema \
             of `{}`",
            share.tool
        ))
        .step(id)
}

fn too_much(
    pass: &Pass<'_>,
    name: &str,
    most: Amount,
    limit: Amount,
    value: &ValueWorst,
) -> Option<Diagnostic> {
    // Why: the first of the largest, so that the place does not hang on the order of comparison.
    let share = value.steps.iter().rev().max_by_key(|share| share.most)?;
    let over = most.minus(limit);
    let message = format!("up to {most} of `{name}`, {over} more than the limit of {limit}");
    let calls = match share.calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    let here = share.most.unwrap_or_default();
    let steps: Vec<&str> = value
        .steps
        .iter()
        .map(|share| share.step.as_str())
        .collect();
    let finding = Diagnostic::new(Code::ValuePassed, span_of(pass, &share.step), message)
        .label(format!("up to {here} here, in {calls}"))
        .hint(
            "fewer or smaller calls add less; of a list whose sum is known to be less say so in \
             `when`: `sum(LIST.map(x, x.FIELD)) <= LIMIT`; the limit is `values` in `[limits]` of \
             provost.toml, or in the plan",
        )
        .step(&share.step);
    Some(match steps.as_slice() {
        [_] => finding,
        steps => finding.note(format!("the steps that add to it are {}", steps.join(", "))),
    })
}
