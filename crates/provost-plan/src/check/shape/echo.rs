//! Part of the pass `shape`: what a call is given against what its own `accept` and `confirm` ask.
//!
//! Owns S718. A field of an output that is called like an argument and can hold its value is taken
//! for that argument. INVARIANT: what is found compares two values that are known before the run.

use serde_json::Value;

use super::accepted::{AskedField, asked_fields, asked_values, only};
use super::solve::meets;
use crate::check::graph::step_of;
use crate::check::scope::Site;
use crate::check::typing::{TypedPlace, type_of};
use crate::check::{FixedEntry, Pass};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::digest::canonical;
use crate::expr::cases::{Demand, DemandSubject, cases};
use crate::expr::tree::{Access, Compare, Expr, ExprKind, WalkKind};
use crate::expr::{ArgTree, Key, Root, Segment, Template, references_of};
use crate::plan::{Step, StepKind};

mod linked;

use linked::{are_linked, is_known_of, is_other, is_other_param};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let StepKind::Tool { args, .. } = &step.kind else {
            continue;
        };
        if pass.operation(step).is_none() {
            continue;
        }
        let own = step.accept.iter().map(|accept| (accept, Root::Output));
        let confirm = step.confirm.iter().flat_map(|confirm| &confirm.accept);
        let site = Site::confirmed(pass, step);
        for (accept, about) in own.chain(confirm.map(|accept| (accept, Root::Read))) {
            let other = other_value(pass, &site, (step, args), accept, &about);
            let other = other.or_else(|| other_word(pass, &site, (step, args), accept, &about));
            found.extend(other.or_else(|| {
                let parts = accept.whole()?.conjuncts().iter();
                parts
                    .filter_map(|part| Asked::of(part, &about))
                    .find_map(|asked| other_place(pass, &site, (step, args), (&asked, &about)))
            }));
        }
        if let Some(confirm) = &step.confirm {
            found.extend(other_target(pass, step, args, &confirm.args));
            found.extend(disagree(step, &confirm.accept));
        }
    }
}

/// An acceptance that asks for another value than the one that the call is given.
pub(super) fn other_value(
    pass: &Pass<'_>,
    site: &Site<'_>,
    (step, args): (&Step, &ArgTree),
    accept: &Template,
    about: &Root,
) -> Option<Diagnostic> {
    let all = accept.whole()?.conjuncts().iter();
    let all: Vec<AskedOf> = all.flat_map(|part| asked_of(part, about)).collect();
    all.iter().find_map(|asked| {
        let (name, value) = argument(pass, args, &asked.subject, about)?;
        let is_other = asks_for_one(&asked.demand, &value) && !meets(&value, &asked.demand);
        let in_list = matches!(about, Root::Step(_)) && !asked.list.is_empty();
        let path: Vec<Segment> = asked
            .list
            .iter()
            .chain(&asked.subject.path)
            .cloned()
            .collect();
        // Why: of a list, one item may be asked for beside another.
        let is_there = all.iter().any(|one| {
            let is_same = one.list == asked.list && one.subject == asked.subject;
            is_same && asks_for_one(&one.demand, &value) && meets(&value, &one.demand)
        });
        if !is_other || in_list || is_there || !can_hold(pass, site, (about, &path), &value) {
            return None;
        }
        Some(given_other((step, args), (&name, &value), accept))
    })
}

/// What an acceptance asks of a place, or of one item of the list at a place.
struct AskedOf {
    list: Vec<Segment>,
    subject: DemandSubject,
    demand: Demand,
}

/// What a part of an acceptance asks for, as far as one case says it.
fn asked_of(part: &Expr, about: &Root) -> Vec<AskedOf> {
    let item_of = || match &part.kind {
        ExprKind::Walk(walk) if walk.kind == WalkKind::Exists => {
            let mut read = references_of(&walk.list).into_iter();
            let list = read.next().filter(|list| list.root == *about)?;
            let path = list.path.into_iter().chain([Segment::Any]);
            Some((path.collect(), walk.body.about(walk.variable.id, about)))
        }
        _ => None,
    };
    let (list, asked): (Vec<Segment>, Expr) = item_of().unwrap_or((Vec::new(), part.clone()));
    let parts = match &asked.kind {
        ExprKind::And(terms) => terms.as_slice(),
        _ => std::slice::from_ref(&asked),
    };
    let single = parts.iter().filter_map(|part| only(cases(part, true)));
    let each = single.flatten().map(|(subject, demand)| AskedOf {
        list: list.clone(),
        subject,
        demand,
    });
    each.collect()
}

/// That an acceptance asks for another value than an argument has, which is known.
fn given_other(
    (step, args): (&Step, &ArgTree),
    (name, value): (&str, &Value),
    accept: &Template,
) -> Diagnostic {
    let (id, given) = (&step.id.value, canonical(value));
    let asks = match accept.references().any(|read| step_of(read) == Some(id)) {
        true => "is asked for another",
        false => "accepts another",
    };
    let message = format!("`{id}` is given the `{name}` {given}, and {asks}");
    Diagnostic::new(Code::OtherThanGiven, accept.span(), message)
        .related(args.span(), "given here")
        .hint(format!("ask for what the call is given: {given}"))
        .step(id)
}

/// An acceptance that asks for a word which the call is not given, of a place that has those words
/// which it is given.
fn other_word(
    pass: &Pass<'_>,
    site: &Site<'_>,
    (step, args): (&Step, &ArgTree),
    accept: &Template,
    about: &Root,
) -> Option<Diagnostic> {
    let given: Vec<(&Key, Value)> = args
        .entries()
        .iter()
        .filter_map(|entry| Some((&entry.0, sent(pass, entry)?)))
        .filter(|(_, value)| value.is_string())
        .collect();
    accept.whole()?.conjuncts().iter().find_map(|part| {
        only(cases(part, true))?
            .into_iter()
            .find_map(|(subject, demand)| {
                let asked = asked_values(&demand)?;
                let ours = |(_, value): &&(&Key, Value)| {
                    can_hold(pass, site, (&subject.root, &subject.path), value)
                };
                if subject.root != *about || !is_worded(pass, site, &subject) {
                    return None;
                }
                let set: Vec<&(&Key, Value)> = given.iter().filter(ours).collect();
                let (name, value) = set.first()?;
                if set.iter().any(|(_, value)| asked.contains(value)) {
                    return None;
                }
                Some(given_other((step, args), (name.as_str(), value), accept))
            })
    })
}

/// Whether a place has one of a few words.
fn is_worded(pass: &Pass<'_>, site: &Site<'_>, subject: &DemandSubject) -> bool {
    match pass.place(site, &subject.root, &subject.path) {
        TypedPlace::Typed(typed) => typed.to_type().values().iter().any(Value::is_string),
        TypedPlace::Absent { .. } => false,
    }
}

/// The argument that a demand is about, with its value, if that is known.
fn argument(
    pass: &Pass<'_>,
    args: &ArgTree,
    subject: &DemandSubject,
    about: &Root,
) -> Option<(String, Value)> {
    let Some(Segment::Field(name)) = subject.path.last() else {
        return None;
    };
    // Why of a step only what lies directly in its output: in a row, it may be of another thing.
    let is_answer = !matches!(about, Root::Step(_)) || subject.path.len() == 2;
    if subject.root != *about || subject.is_size || !is_answer {
        return None;
    }
    let value = sent(pass, args.get(name)?)?;
    Some((name.clone(), value))
}

/// The value that is sent of an entry, if that is known.
fn sent(pass: &Pass<'_>, entry: &(Key, ArgTree)) -> Option<Value> {
    match pass.fixed_entry(entry)? {
        FixedEntry::Sent(value) => Some(value),
        FixedEntry::LeftOut => None,
    }
}

/// Whether a demand asks for certain values of the kind of another.
fn asks_for_one(demand: &Demand, value: &Value) -> bool {
    let is_like = |other: &Value| {
        value.is_string() && other.is_string()
            || value.is_number() && other.is_number()
            || value.is_boolean() && other.is_boolean()
    };
    match demand {
        Demand::Compares(Compare::Equal, other) => is_like(other),
        Demand::Among(others, true) => !others.is_empty() && others.iter().all(is_like),
        _ => false,
    }
}

/// Whether the place that is looked at can hold the value: else it is another thing of that name.
fn can_hold(
    pass: &Pass<'_>,
    site: &Site<'_>,
    (root, path): (&Root, &[Segment]),
    value: &Value,
) -> bool {
    match pass.place(site, root, path) {
        TypedPlace::Typed(typed) => !typed.is_reported() && !typed.to_type().excludes(value),
        TypedPlace::Absent { .. } => false,
    }
}

/// The values of one field of which `accept` and `confirm` have none in common.
fn disagree(step: &Step, confirm: &[Template]) -> Option<Diagnostic> {
    let accepted = asked_fields(&step.accept, &Root::Output);
    let id = &step.id.value;
    asked_fields(confirm, &Root::Read)
        .into_iter()
        .find_map(|asked| {
            let is_other = |one: &&AskedField| {
                one.name == asked.name
                    && !one.values.iter().any(|value| asked.values.contains(value))
            };
            let other = accepted.iter().find(is_other)?;
            let name = &asked.name;
            let message = format!("`accept` and `confirm` of `{id}` want different `{name}`");
            Some(
                Diagnostic::new(Code::OtherThanGiven, asked.span, message)
                    .related(other.span, "wants another value")
                    .hint("where the tool goes on after its answer, poll it with `until` in a step")
                    .step(id),
            )
        })
}

/// A condition that asks a field, called like an argument, to equal an expression, or not to.
struct Asked<'a> {
    name: &'a str,
    value: &'a Expr,
    is_equal: bool,
}

impl<'a> Asked<'a> {
    fn of(part: &'a Expr, about: &Root) -> Option<Self> {
        let ExprKind::Compare(operator @ (Compare::Equal | Compare::NotEqual), left, right) =
            &part.kind
        else {
            return None;
        };
        let is_equal = *operator == Compare::Equal;
        let sides = [(&**left, &**right), (&**right, &**left)];
        sides.into_iter().find_map(|(field, value)| {
            let (_, name) = field.field_of_root().filter(|(root, _)| *root == about)?;
            let is_own = reads(value, &|root| matches!(root, Root::Output | Root::Read));
            (!is_own).then_some(Self {
                name,
                value,
                is_equal,
            })
        })
    }

    /// The parameter that it asks for.
    fn param(&self) -> Option<&'a str> {
        let field = self.value.field_of_root();
        field.and_then(|(root, name)| (*root == Root::Params).then_some(name))
    }

    /// Whether it asks for what a step answered.
    fn is_step(&self) -> bool {
        matches!(&self.value.kind, ExprKind::Path(base, _)
            if matches!(base.kind, ExprKind::Root(Root::Step(_))))
    }

    /// Whether what it asks for is a field of the argument's name somewhere else.
    fn is_namesake(&self) -> bool {
        let ExprKind::Path(_, accesses) = &self.value.kind else {
            return false;
        };
        matches!(accesses.last(), Some(Access::Field(name)) if name == self.name)
    }
}

/// Whether an expression reads a root of this kind.
fn reads(expr: &Expr, wanted: &dyn Fn(&Root) -> bool) -> bool {
    let own = matches!(&expr.kind, ExprKind::Root(root) if wanted(root));
    own || expr.children().into_iter().any(|part| reads(part, wanted))
}

/// The paths that an expression reads, in order.
fn paths(expr: &Expr) -> Vec<String> {
    match &expr.kind {
        ExprKind::Path(base, _) if matches!(base.kind, ExprKind::Root(_)) => vec![expr.form()],
        ExprKind::Root(_) => vec![expr.form()],
        _ => expr.children().into_iter().flat_map(paths).collect(),
    }
}

/// An acceptance that asks for what stands somewhere else than what the call is given.
fn other_place(
    pass: &Pass<'_>,
    site: &Site<'_>,
    (step, args): (&Step, &ArgTree),
    (asked, about): (&Asked<'_>, &Root),
) -> Option<Diagnostic> {
    let (id, name) = (&step.id.value, asked.name);
    let entry = args.get(name)?;
    let is_given = |given: &ArgTree| match given {
        ArgTree::Template(given) => given.whole().map(|given| given.ast().form()),
        _ => None,
    };
    let is_refused = !asked.is_equal && is_given(&entry.1) == Some(asked.value.form());
    let message = match (sent(pass, entry), &entry.1) {
        (Some(_), _) if is_refused => {
            format!("`{id}` accepts any `{name}` but the one it is given")
        }
        (Some(given), _) if asked.is_equal && asked.is_step() => {
            let is_own = *about == Root::Output;
            if !(asked.is_namesake() || is_own) || is_known_of(pass, entry, &given, asked) {
                return None;
            }
            format!("`{id}` accepts the `{name}` of another place than the call is given")
        }
        (Some(given), _) if asked.is_equal => {
            let param = [Segment::Field(asked.param()?.to_owned())];
            if can_hold(pass, site, (&Root::Params, &param), &given) {
                return None;
            }
            let given = canonical(&given);
            format!("`{id}` is given the `{name}` {given}, and accepts another")
        }
        (None, ArgTree::Template(given)) => {
            let given = given.whole()?.ast();
            let each = |root: &Root| matches!(root, Root::Item | Root::Index);
            let any = |_: &Root| true;
            let is_same = given.form() == asked.value.form();
            if !asked.is_equal {
                let message = format!("`{id}` accepts any `{name}` but the one it is given");
                (is_same && reads(given, &any)).then_some(message)?
            } else if reads(given, &each)
                && !reads(asked.value, &each)
                && !is_asked_of_items(step, asked.value)
            {
                format!("`{id}` accepts the same `{name}` for every item")
            } else if is_same || !reads(given, &any) {
                return None;
            } else if asked.is_namesake() && !are_linked(pass, given, asked) {
                format!("`{id}` accepts the `{name}` of another place than the call is given")
            } else if is_other(pass, given, asked) || is_other_param(pass, given, asked) {
                format!("`{id}` accepts another `{name}` than the call is given")
            } else if paths(given) == paths(asked.value)
                && !reads(asked.value, &each)
                && are_alike(pass, site, given, asked.value)
            {
                format!("`{id}` accepts the `{name}` computed otherwise than it is given")
            } else {
                return None;
            }
        }
        _ => return None,
    };
    Some(
        Diagnostic::new(Code::OtherThanGiven, asked.value.span, message)
            .related(entry.1.span(), "given here")
            .hint("ask for what the call is given; what has to equal it is asserted before")
            .step(id),
    )
}

/// Whether the list that a step goes over was chosen by this value.
fn is_asked_of_items(step: &Step, value: &Expr) -> bool {
    let list = step.for_each.as_ref().and_then(|each| each.list.whole());
    let form = value.form();
    let is_value = |part: &Expr| match &part.kind {
        ExprKind::Compare(_, a, b) => a.form() == form || b.form() == form,
        _ => false,
    };
    list.is_some_and(|list| any_part(list.ast(), &is_value))
}

/// Whether two expressions can have one value: a list is not its number of items.
fn are_alike(pass: &Pass<'_>, site: &Site<'_>, given: &Expr, asked: &Expr) -> bool {
    let names = |root: &Root, path: &[Segment]| pass.place(site, root, path);
    let kinds = |expr: &Expr| type_of(expr, &names, &mut Vec::new()).kinds;
    kinds(given).meets(kinds(asked))
}

/// Whether a part of an expression is so.
fn any_part(expr: &Expr, is_so: &dyn Fn(&Expr) -> bool) -> bool {
    is_so(expr)
        || expr
            .children()
            .into_iter()
            .any(|part| any_part(part, is_so))
}

/// A confirming read that is given another value than the write, or one for all items.
fn other_target(
    pass: &Pass<'_>,
    step: &Step,
    args: &ArgTree,
    confirm: &ArgTree,
) -> Option<Diagnostic> {
    let varies = |tree: &ArgTree| {
        let mut read = tree.templates().into_iter().flat_map(|t| t.references());
        read.any(|read| matches!(read.root, Root::Item | Root::Index))
    };
    let id = &step.id.value;
    args.entries().iter().find_map(|entry| {
        let (name, given) = entry;
        let read_entry = confirm.get(name)?;
        let (_, read) = read_entry;
        let read_value = sent(pass, read_entry)?;
        let computed = |tree: &ArgTree| {
            let mut reads = tree.templates().into_iter().flat_map(|t| t.references());
            reads.next().is_some()
        };
        let message = match sent(pass, entry) {
            Some(given) if given != read_value => format!(
                "`{id}` is given the `{}` {}, and `confirm` reads {}",
                &**name,
                canonical(&given),
                canonical(&read_value)
            ),
            None if varies(given) => format!(
                "`confirm` of `{id}` reads the same `{}` for every item",
                &**name
            ),
            None if computed(given) => format!(
                "`confirm` of `{id}` reads the `{}` {}, whatever the call is given",
                &**name,
                canonical(&read_value)
            ),
            _ => return None,
        };
        Some(
            Diagnostic::new(Code::OtherThanGiven, read.span(), message)
                .related(given.span(), "given here")
                .hint("read back what the call has written")
                .step(id),
        )
    })
}
