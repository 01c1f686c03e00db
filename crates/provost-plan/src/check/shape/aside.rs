//! Part of the pass `shape`: an `undo` or a `confirm` of another target than its step's call.
//!
//! Owns what S720 says of single arguments: those of one name in both calls. What is known of all
//! of them is [`super::detached`]'s, constants of a `confirm` are [`super::echo`]'s. INVARIANT: a
//! value that the call answers with, or that a read found under the call's own value, is no other.

use std::sync::Arc;

use super::detached::finding;
use crate::catalog::Operation;
use crate::check::Pass;
use crate::check::effects::by_name;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Expr, ExprKind};
use crate::expr::{ArgTree, Key, Reference, Root, Segment};
use crate::plan::{CallRole, Step, StepKind};
use crate::schema::{Kinds, PathType};
use serde_json::Value;

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    for step in &pass.plan.steps {
        let StepKind::Tool { args, .. } = &step.kind else {
            continue;
        };
        let Some(own) = pass.operation(step).filter(|op| !op.effect.is_read()) else {
            continue;
        };
        for role in [CallRole::Undo, CallRole::Confirm] {
            let is_said = |one: &Diagnostic| {
                let of_step = one.step.as_deref() == Some(step.id.value.as_str());
                of_step && matches!(one.code, Code::Detached | Code::OtherThanGiven)
            };
            let Some((call, beside)) = step.side_call(role).zip(pass.called(step, role)) else {
                continue;
            };
            if found.iter().any(is_said) || role == CallRole::Undo && beside.effect.is_read() {
                continue;
            }
            let pair = Pair {
                pass,
                own: (own, args),
                beside: (beside, &call.args),
            };
            if role == CallRole::Undo
                && let Some(why) = pair.opposite()
            {
                let message = format!("`{}` is {why}", step.id.value);
                found.push(finding(step, role, call.tool.span, message));
                continue;
            }
            let named = pair.other_than_answered(step, role);
            let other = named.or_else(|| match role {
                CallRole::Undo if own.name == beside.name => pair.other_of_same(),
                CallRole::Undo => pair.other_of_undo(),
                CallRole::Own | CallRole::Confirm => pair.other_of_confirm(),
            });
            found.extend(other.map(|(name, at, why)| {
                let field = role.field().unwrap_or_default();
                let id = &step.id.value;
                let message = format!("the `{field}` of `{id}` {why} `{}`", name.as_str());
                finding(step, role, at.span(), message)
            }));
        }
    }
}

/// An argument of the call beside, and what is odd about it.
type Odd<'t> = (&'t Key, &'t ArgTree, &'static str);

/// The call of a step and the one beside it.
struct Pair<'p, 'a> {
    pass: &'p Pass<'a>,
    own: (&'p Operation, &'p ArgTree),
    beside: (&'p Operation, &'p ArgTree),
}

impl<'p> Pair<'p, '_> {
    /// The arguments of one name in both calls that decide who or what is reached.
    fn shared(&self) -> impl Iterator<Item = (&'p Key, &'p ArgTree, &'p ArgTree)> {
        let (operation, args) = self.own;
        let entries = self.beside.1.entries().iter();
        entries.filter_map(move |(name, beside)| {
            let (_, own) = args.get(name)?;
            operation.is_sink(name).then_some((name, own, beside))
        })
    }

    /// Whether an argument of the call beside is certainly not what the step's own is.
    fn differs(&self, own: &ArgTree, beside: &ArgTree) -> bool {
        match (self.value(own), self.value(beside)) {
            (Some(own), Some(beside)) => own != beside,
            _ => {
                !reads(beside, &Root::Output)
                    && own.form() != beside.form()
                    && !self.is_found_by(own, beside)
                    && !self.is_found_by(beside, own)
            }
        }
    }

    fn value(&self, tree: &ArgTree) -> Option<Value> {
        self.pass.fixed_tree(tree)
    }

    /// Whether one value is read of a call that is given the other, at first or at second hand.
    fn is_found_by(&self, given: &ArgTree, found: &ArgTree) -> bool {
        let form = given.form();
        let value = self.value(given);
        let steps = self.pass.plan.steps.iter();
        let mut read = steps.filter(|step| reads(found, &Root::Step(step.id.value.clone())));
        read.any(|step| {
            let StepKind::Tool { args, .. } = &step.kind else {
                return false;
            };
            let mut entries = args.entries().iter().map(|(_, tree)| tree);
            entries.any(|tree| tree.form() == form || value.is_some() && self.value(tree) == value)
                || reads_of(given, found)
        })
    }

    /// Whether a value is one of those that the step's own call is given by another name.
    fn is_swapped(&self, name: &Key, beside: &ArgTree) -> bool {
        let others = self.own.1.entries().iter();
        let mut others = others.filter(|(other, _)| other.as_str() != name.as_str());
        let value = self.value(beside);
        others.any(|(_, own)| {
            own.form() == beside.form() || value.is_some() && self.value(own) == value
        })
    }

    /// Whether an argument takes a word of a list, or yes and no: such a one is set, and nothing is
    /// found by it.
    fn is_setting(&self, name: &Key) -> bool {
        let field = [Segment::Field(name.as_str().to_owned())];
        match self.own.0.input.ty().at(&field) {
            PathType::Known { ty, .. } => {
                !ty.values().is_empty() || ty.kinds().within(Kinds::BOOL | Kinds::NULL)
            }
            _ => true,
        }
    }

    /// Whether both operations take the same words for an argument: then it tells what is reached,
    /// and what is done to it is told by the operation.
    fn is_word_of_both(&self, name: &Key) -> bool {
        let field = [Segment::Field(name.as_str().to_owned())];
        let words = |operation: &Operation| match operation.input.ty().at(&field) {
            PathType::Known { ty, .. } => ty.values(),
            _ => Vec::new(),
        };
        let own = words(self.own.0);
        own.len() > 1 && own == words(self.beside.0)
    }

    /// Of another operation: a constant, whatever the call is given, or what stands elsewhere.
    fn other_of_undo(&self) -> Option<Odd<'p>> {
        let is_one = |beside: &ArgTree| match self.value(beside) {
            Some(Value::String(text)) => !text.contains(char::is_whitespace),
            Some(Value::Number(_)) => true,
            _ => false,
        };
        let is_literal = |tree: &ArgTree| tree.templates().is_empty();
        self.shared().find_map(|(name, own, beside)| {
            if !self.differs(own, beside) || self.is_swapped(name, beside) {
                return None;
            }
            if self.is_setting(name) {
                let is_other = is_literal(own) && is_literal(beside) && self.is_word_of_both(name);
                return is_other.then_some((name, beside, "is given another"));
            }
            let why = match (is_literal(own), is_literal(beside)) {
                (false, true) if is_one(beside) => "is always given the same",
                (false, false) if is_whole(own) && is_whole(beside) => "is given another",
                (true, true) if is_one(beside) && self.none_is_kept() => "is given another",
                _ => return None,
            };
            Some((name, beside, why))
        })
    }

    /// A constant, or what the call is given by another name, where the call answers with a field
    /// of this name; of an `undo`, also what was there before.
    fn other_than_answered(&self, step: &Step, role: CallRole) -> Option<Odd<'p>> {
        let (operation, args) = self.own;
        let output = operation.output.as_ref()?;
        self.beside.1.entries().iter().find_map(|(name, beside)| {
            let field = [Segment::Field(name.as_str().to_owned())];
            let PathType::Known { ty, .. } = output.ty().at(&field) else {
                return None;
            };
            let is_id = ty.values().is_empty() && ty.kinds().within(Kinds::TEXT | Kinds::INTEGER);
            if args.get(name).is_some() || !is_id {
                return None;
            }
            if beside.templates().is_empty() {
                return Some((name, beside, "is always given the same"));
            }
            let mut given = args.entries().iter();
            let is_given = given.any(|(_, own)| own.form() == beside.form());
            let is_old = || role == CallRole::Undo && self.is_of_before(step, beside);
            (is_given || is_old()).then_some((
                name,
                beside,
                "is not given what the call answers as",
            ))
        })
    }

    /// Whether a value names what was there before: it is none that the call answers with, and
    /// nothing that the call reaches is found with it.
    fn is_of_before(&self, step: &Step, beside: &ArgTree) -> bool {
        let (operation, args) = self.own;
        let form = beside.form();
        let read: Vec<&Reference> = beside
            .templates()
            .into_iter()
            .flat_map(|t| t.references())
            .collect();
        let is_early = |read: &&Reference| matches!(read.root, Root::Params | Root::Step(_));
        let is_linked = |own: &ArgTree| {
            let mut given = own.templates().into_iter().flat_map(|t| t.references());
            self.is_found_by(own, beside)
                || self.is_found_by(beside, own)
                || given.any(|one| read.iter().any(|two| one.root == two.root))
        };
        let mut sinks = args
            .entries()
            .iter()
            .filter(|(name, _)| operation.is_sink(name));
        let accepts = step.accept.iter().filter_map(|accept| accept.whole());
        let mut parts = accepts.flat_map(|whole| whole.conjuncts());
        let is_accepted = |part: &Expr| match &part.kind {
            ExprKind::Compare(_, left, right) => [left, right].iter().any(|one| {
                let ArgTree::Template(own) = beside else {
                    return false;
                };
                own.whole()
                    .is_some_and(|own| own.ast().form() == one.form())
            }),
            _ => false,
        };
        let others = self.beside.1.entries().iter();
        let mut others = others.filter(|(_, tree)| tree.form() != form);
        is_whole(beside)
            && !read.is_empty()
            && read.iter().all(is_early)
            && !sinks.any(|(_, own)| is_linked(own))
            && !others.any(|(_, tree)| reads(tree, &Root::Output))
            && !parts.any(is_accepted)
    }

    /// What takes back what the call does, by its name, where another is named for it that does
    /// not: also the same once more, unless it sets something else.
    fn opposite(&self) -> Option<String> {
        let (own, named) = (self.own.0, self.beside.0);
        if by_name(&own.name, &named.name) || own.name == named.name && self.sets_back() {
            return None;
        }
        let is_again = own.name == named.name;
        let acts = |op: &&Arc<Operation>| !op.effect.is_read() && by_name(&own.name, &op.name);
        let others: Vec<_> = self.pass.terms.catalog.iter().filter(acts).collect();
        match others.iter().find(|op| self.takes_all(op)) {
            Some(other) => {
                let verb = other.name.rsplit(['.', '_', '-']).next()?;
                // Why not what ends alike: `reopen` takes `close` back, as `open` does.
                let is_alike = named.name.ends_with(verb) && !is_again;
                let names = (&other.name, &named.name);
                (!is_alike)
                    .then(|| format!("taken back by `{}`, and not by `{}`", names.0, names.1))
            }
            // Why: whatever takes it back, the same does not.
            None if is_again && !others.is_empty() => {
                Some(format!("not taken back by `{}` once more", named.name))
            }
            None => None,
        }
    }

    /// Whether an operation takes each argument that both calls have. Why: what is told less of
    /// the target reaches another, such as the whole exam instead of one student in it.
    fn takes_all(&self, operation: &Operation) -> bool {
        let takes = |name: &Key| {
            let field = [Segment::Field(name.as_str().to_owned())];
            let place = operation.input.ty().at(&field);
            matches!(place, PathType::Known { .. } | PathType::Unknown { .. })
        };
        self.shared().all(|(name, ..)| takes(name))
    }

    /// Whether the call beside sets something that the step's own sets otherwise.
    fn sets_back(&self) -> bool {
        self.shared().any(|(name, own, beside)| {
            let is_set = self.is_setting(name) || self.is_swapped(name, beside);
            is_set && self.differs(own, beside)
        })
    }

    /// Whether no argument of one name is the same in both calls.
    fn none_is_kept(&self) -> bool {
        self.shared()
            .all(|(_, own, beside)| self.differs(own, beside))
    }

    /// Of the same operation, which sets something back: what it sets differs, and so does what it
    /// is set at; or it expects what it sets.
    fn other_of_same(&self) -> Option<Odd<'p>> {
        let changed: Vec<_> = self
            .shared()
            .filter(|(_, own, beside)| self.differs(own, beside))
            .collect();
        let sets = |(name, _, beside): &(&Key, &ArgTree, &ArgTree)| {
            self.is_setting(name) || self.is_swapped(name, beside)
        };
        if changed.iter().any(sets)
            && let Some((name, own, beside)) = changed
                .iter()
                .find(|one| !sets(one) && one.2.templates().is_empty())
        {
            let why = match own.templates().is_empty() {
                true => "is given another",
                false => "is always given the same",
            };
            return Some((*name, *beside, why));
        }
        // What was there before is what the step's call is given for what it expects.
        changed.iter().find_map(|(name, own, beside)| {
            let kept = self.shared().find(|(other, kept, again)| {
                other.as_str() != name.as_str()
                    && kept.form() == again.form()
                    && again.form() == beside.form()
                    && own.form() != kept.form()
                    && self.is_setting(other)
                    && self.is_setting(name)
            });
            kept.map(|(other, _, again)| {
                (other, again, "changes nothing: it sets what it gives as")
            })
        })
    }

    /// Of a read: what stands elsewhere, where nothing else is taken of the step.
    fn other_of_confirm(&self) -> Option<Odd<'p>> {
        let takes = |(_, tree): &(Key, ArgTree)| {
            let mut own = self.own.1.entries().iter();
            reads(tree, &Root::Output) || own.any(|(_, own)| own.form() == tree.form())
        };
        if self.beside.1.entries().iter().any(takes) {
            return None;
        }
        self.shared().find_map(|(name, own, beside)| {
            let is_computed = is_whole(beside) && self.value(beside).is_none();
            let is_other = is_computed && !self.is_setting(name) && self.differs(own, beside);
            is_other.then_some((name, beside, "is given another"))
        })
    }
}

/// Whether an argument is one expression that names a place.
fn is_whole(tree: &ArgTree) -> bool {
    let ArgTree::Template(template) = tree else {
        return false;
    };
    let named = |expr: &Expr| matches!(expr.kind, ExprKind::Path(..) | ExprKind::Root(_));
    template.whole().is_none_or(|whole| named(whole.ast()))
}

/// Whether an argument reads a root.
fn reads(tree: &ArgTree, root: &Root) -> bool {
    let mut read = tree.templates().into_iter().flat_map(|t| t.references());
    read.any(|read| read.root == *root)
}

/// Whether both read one step, one of whose outputs may name the other.
fn reads_of(one: &ArgTree, other: &ArgTree) -> bool {
    let mut read = one.templates().into_iter().flat_map(|t| t.references());
    read.any(|read| matches!(read.root, Root::Step(_)) && reads(other, &read.root))
}
