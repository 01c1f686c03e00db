//! Verdicts: the policies of the generated plans, read by hand.
//!
//! Owns a second interpretation of `policies/default.cedar` and of [`EXTRA`], and nothing of Cedar.
//! A rule says yes, no, or that it hangs on a value that comes later; every way those may turn out
//! is tried.

use std::collections::BTreeSet;

use provost_plan::catalog::{Effect, Operation};
use provost_plan::expr::tree::{Access, Expr, ExprKind};
use provost_plan::expr::{ArgTree, Root};
use provost_plan::plan::{CallRole, Field, Step};
use serde_json::Value;

use super::constants::{Sent, sent};
use super::{Answers, Setting, Tag, Trust, Word, labelled, place_of, refs, sums};

/// The policies beside the default ones.
pub const EXTRA: &str = r#"
@id("never-banned")
forbid (principal, action in Action::"call", resource)
when { resource.tags.contains("banned") };

@id("large-amount")
forbid (principal, action == Action::"ledger.post", resource)
when { !resource.attended && context.args.amount > 500 };

@id("huge-amount")
forbid (principal, action == Action::"ledger.post", resource)
when { context.args.amount > 10000 };

@id("never-eve")
forbid (principal, action == Action::"notes.add", resource)
when { context.args.list == "eve" };

@id("said-eve")
forbid (principal, action == Action::"tickets.close", resource)
when { !resource.attended && context.args has note && context.args.note == "eve" };

@id("whole-list")
forbid (principal, action == Action::"tickets.list", resource)
when { !resource.attended && !(context.args has limit) };

@id("posted-in-all")
forbid (principal, action == Action::"ledger.post", resource)
unless { resource.attended || context.total has posted && context.total.posted <= 800 };
"#;

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holds {
    Yes,
    No,
    Later,
}

impl From<bool> for Holds {
    fn from(value: bool) -> Self {
        if value { Self::Yes } else { Self::No }
    }
}

/// Says policy's word on every step.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    for (number, step) in setting.plan.steps.iter().enumerate() {
        // Policy is asked about a step whose own tool is known.
        if setting.operation(step).is_none() {
            continue;
        }
        for (role, tool, args) in step.calls() {
            let Some(operation) = setting.operations.get(&tool.value) else {
                continue;
            };
            let call = Call {
                number,
                step,
                role,
                args,
                operation,
            };
            let word = word(setting, answers, &call);
            let place = place_of(number, step);
            match (role, word) {
                (CallRole::Own, word) => _ = answers.verdicts.insert(place, word),
                (_, Word::Permit) => {}
                (_, Word::Forbid) => answers.find("V601", place),
                // A read that proves a write is made by itself.
                (CallRole::Confirm, _) => answers.find("E307", place),
                (CallRole::Undo, _) => answers.find("V602", place),
            }
        }
    }
}

/// A call of a step, its own or one beside.
struct Call<'a> {
    number: usize,
    step: &'a Step,
    role: CallRole,
    args: &'a ArgTree,
    operation: &'a Operation,
}

fn word(setting: &Setting<'_>, answers: &Answers, call: &Call<'_>) -> Word {
    let Call {
        step,
        operation,
        role,
        ..
    } = *call;
    let place = place_of(call.number, step);
    let control = answers
        .controls
        .get(&place)
        .copied()
        .unwrap_or(Tag::TRUSTED);
    let sink = call.args.entries().iter().any(|(name, _)| {
        let label = answers.labels.get(&(place.clone(), labelled(role, name)));
        let untrusted = label.is_some_and(|tag| tag.trust != Trust::Trusted);
        untrusted && !operation.content.contains(&**name)
    });
    let asks = asks(operation, sink, control.trust == Trust::Text)
        || (step.approval_required && role != CallRole::Confirm);
    let unvalidated =
        operation.effect == Effect::External && reads_unaccepted(setting, call.number, role);
    let rules = [
        amount_over(setting, call, 500),
        amount_over(setting, call, 10_000),
        reaches_eve(setting, call),
        says_eve(setting, call),
        lists_all(setting, call),
        carries_free_keys(setting, call),
        posts_much(setting, operation),
    ];
    let mut words = BTreeSet::new();
    for [large, huge, eve, said, all, opaque, much] in ways(rules) {
        let forbidden = operation.tags.contains("banned") || huge || eve || unvalidated;
        words.insert(
            match (forbidden, asks || large || said || all || opaque || much) {
                (true, _) => Word::Forbid,
                (false, true) => Word::Ask,
                (false, false) => Word::Permit,
            },
        );
    }
    match (words.len(), words.first()) {
        (1, Some(word)) => *word,
        _ => Word::AskPerhaps,
    }
}

/// Whether a call is given what nobody accepted: why a step failed, or a list of which items may
/// have failed.
///
/// Who asks about the status of that list is taken to read it only if it succeeded.
fn reads_unaccepted(setting: &Setting<'_>, number: usize, role: CallRole) -> bool {
    let spots = setting.spots();
    let asserted = refs::surely_asserted(setting, number);
    let own = spots.iter().filter(|spot| {
        let asserts = asserted.iter().any(|one| std::ptr::eq(*one, spot.template));
        spot.step == Some(number) || asserts
    });
    let mut read = BTreeSet::new();
    let mut asked = BTreeSet::new();
    for spot in own {
        for expression in spot.template.expressions() {
            reads(expression.ast(), &mut |id, field| match field {
                "status" => _ = asked.insert(id.to_owned()),
                _ if spot.field == Some(Field::Args(role)) => {
                    read.insert((id.to_owned(), field == "error"));
                }
                _ => {}
            });
        }
    }
    let partial = |id: &str| {
        let step = setting.step(id).map(|(_, step)| step);
        step.is_some_and(|step| step.for_each.is_some() && step.on_failure.may_go_on())
    };
    read.iter()
        .any(|(id, is_error)| *is_error || (partial(id) && !asked.contains(id)))
}

/// Every field of a step that is read; not in the branch that a constant test never takes.
fn reads(expr: &Expr, found: &mut impl FnMut(&str, &str)) {
    if let ExprKind::Path(base, accesses) = &expr.kind
        && let (ExprKind::Root(Root::Step(id)), Some(Access::Field(name))) =
            (&base.kind, accesses.first())
    {
        found(id, name);
    }
    let taken = match &expr.kind {
        ExprKind::Choice(test, yes, no) => match test.kind {
            ExprKind::Bool(true) => Some(yes),
            ExprKind::Bool(false) => Some(no),
            _ => None,
        },
        _ => None,
    };
    match taken {
        Some(taken) => reads(taken, found),
        None => {
            for child in expr.children() {
                reads(child, found);
            }
        }
    }
}

/// Whether the default policy has a person asked.
fn asks(operation: &Operation, sink: bool, control: bool) -> bool {
    let tagged = |tag: &str| operation.tags.contains(tag);
    let is_read = operation.effect == Effect::Read;
    let by_tag = [
        "email",
        "money",
        "permission",
        "deploy",
        "delete",
        "production",
    ];
    let by_effect = matches!(operation.effect, Effect::External | Effect::Destructive);
    by_effect || (!is_read && (by_tag.into_iter().any(tagged) || sink || control))
}

/// What a call is given as an argument; nothing if the step does not write it.
fn given(setting: &Setting<'_>, call: &Call<'_>, name: &str) -> Sent {
    let entry = call.args.get(name);
    entry.map_or(Sent::Nothing, |entry| sent(setting, entry))
}

/// Whether a call that changes something is given an argument whose type lets keys free: of those
/// no policy sees all, so that a person does.
fn carries_free_keys(setting: &Setting<'_>, call: &Call<'_>) -> Holds {
    let fields = call.operation.input.value().get("properties");
    let is_free = |name: &str| {
        let field = fields.and_then(|fields| fields.get(name));
        field.is_some_and(|field| {
            field.get("type") == Some(&Value::from("object")) && field.get("properties").is_none()
        })
    };
    let free = call.args.entries().iter().filter(|(name, _)| is_free(name));
    let sent: Vec<Sent> = free.map(|entry| sent(setting, entry)).collect();
    let is_value = |sent: &Sent| matches!(sent, Sent::Value(_));
    match call.operation.effect {
        Effect::Read => Holds::No,
        _ if sent.iter().any(is_value) => Holds::Yes,
        _ if sent.contains(&Sent::Later) => Holds::Later,
        _ => Holds::No,
    }
}

fn amount_over(setting: &Setting<'_>, call: &Call<'_>, most: i64) -> Holds {
    if call.operation.name != "ledger.post" {
        return Holds::No;
    }
    match given(setting, call, "amount") {
        Sent::Value(value) => value.as_i64().is_some_and(|amount| amount > most).into(),
        Sent::Nothing => Holds::No,
        Sent::Later => Holds::Later,
    }
}

fn reaches_eve(setting: &Setting<'_>, call: &Call<'_>) -> Holds {
    match call.operation.name.as_str() {
        "notes.add" => is_eve(given(setting, call, "list")),
        _ => Holds::No,
    }
}

fn says_eve(setting: &Setting<'_>, call: &Call<'_>) -> Holds {
    match call.operation.name.as_str() {
        "tickets.close" => is_eve(given(setting, call, "note")),
        _ => Holds::No,
    }
}

fn is_eve(sent: Sent) -> Holds {
    match sent {
        Sent::Value(value) => (value == "eve").into(),
        Sent::Nothing => Holds::No,
        Sent::Later => Holds::Later,
    }
}

fn lists_all(setting: &Setting<'_>, call: &Call<'_>) -> Holds {
    if call.operation.name != "tickets.list" {
        return Holds::No;
    }
    match given(setting, call, "limit") {
        Sent::Value(_) => Holds::No,
        Sent::Nothing => Holds::Yes,
        Sent::Later => Holds::Later,
    }
}

/// Whether all calls of the plan post much, as far as anybody knows.
fn posts_much(setting: &Setting<'_>, operation: &Operation) -> Holds {
    let small = || sums::total(setting, "posted").is_some_and(|total| total <= 800);
    (operation.name == "ledger.post" && !small()).into()
}

/// Every way in which what comes later may turn out.
fn ways<const N: usize>(rules: [Holds; N]) -> Vec<[bool; N]> {
    let mut all = vec![[false; N]];
    for (place, rule) in rules.into_iter().enumerate() {
        let choices: &[bool] = match rule {
            Holds::Yes => &[true],
            Holds::No => &[false],
            Holds::Later => &[false, true],
        };
        let with = |way: &[bool; N], choice: bool| {
            let mut way = *way;
            if let Some(slot) = way.get_mut(place) {
                *slot = choice;
            }
            way
        };
        all = all
            .iter()
            .flat_map(|way| choices.iter().map(move |choice| with(way, *choice)))
            .collect();
    }
    all
}
