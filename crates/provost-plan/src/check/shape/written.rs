//! Part of the pass `shape`: what a write leaves a field at, against what is asked of it then.
//!
//! Owns what S718 says of one field of one record: what the tool can answer, what `accept` takes
//! and what a statement sets, against `confirm` and what a later read must show. INVARIANT: both
//! have the field by one name and know the words of the other, and nothing comes between that could
//! change it or takes its time.

use serde_json::{Value, json};

use super::accepted::{
    AcceptedOutputs, AskedField, asked_fields, asked_items, asserted, item_terms,
};
use super::effect::is_form;
use super::solve::Solver;
use super::statement;
use super::status::Statuses;
use crate::catalog::Operation;
use crate::check::Pass;
use crate::check::effects::{by_name, words};
use crate::check::order::OrderNode;
use crate::check::scope::Site;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::cases::{Case, Demand, DemandSubject, both, constant};
use crate::expr::tree::{Compare, Expr, ExprKind};
use crate::expr::{ArgTree, Root, Segment, Template};
use crate::plan::{CallRole, StepKind};
use crate::schema::{Kinds, PathType};
use crate::source::Span;

pub(super) fn run(pass: &Pass<'_>, accepted: &AcceptedOutputs, found: &mut Vec<Diagnostic>) {
    for node in pass.order.nodes() {
        let (Some(operation), StepKind::Tool { args, .. }) = (node.operation, &node.step.kind)
        else {
            continue;
        };
        let is_said = |one: &Diagnostic| {
            let of_step = one.step.as_deref() == Some(node.step.id.value.as_str());
            of_step && matches!(one.code, Code::OtherThanGiven | Code::ImpossibleProof)
        };
        if operation.effect.is_read() || found.iter().any(is_said) {
            continue;
        }
        let write = Write {
            pass,
            node,
            operation,
            args,
        };
        let own = || {
            let confirmed = write.confirmed().or_else(|| write.absent());
            confirmed.or_else(|| write.named())
        };
        let one = own().or_else(|| write.read_later(accepted));
        // Why: of a state that is wanted at once it is enough to say so.
        let is_known = |one: &Diagnostic| {
            let mut waits = found.iter().filter(|said| said.code == Code::UnwaitedState);
            waits.any(|said| said.span == one.span)
        };
        found.extend(one.filter(|one| !is_known(one)));
    }
}

/// The values that an operation answers with at a path, if there are few.
pub(super) fn answered(operation: &Operation, path: &[Segment]) -> Option<Vec<Value>> {
    let PathType::Known { ty, .. } = operation.output.as_ref()?.ty().at(path) else {
        return None;
    };
    let values = ty.values();
    match values.is_empty() {
        false => Some(values),
        true if ty.kinds().within(Kinds::BOOL) => Some(vec![json!(false), json!(true)]),
        true => None,
    }
}

/// Where a field of this name lies in what an operation answers: directly, or in its row.
fn field_paths(name: &str) -> [Vec<Segment>; 2] {
    let field = |name: &str| Segment::Field(name.to_owned());
    [vec![field(name)], vec![field("row"), field(name)]]
}

fn has_all(known: &[Value], values: &[Value]) -> bool {
    values.iter().all(|value| known.contains(value))
}

fn has_none(known: &[Value], values: &[Value]) -> bool {
    !values.iter().any(|value| known.contains(value))
}

/// A call that does something.
struct Write<'p, 'a> {
    pass: &'p Pass<'a>,
    node: &'p OrderNode<'a>,
    operation: &'p Operation,
    args: &'p ArgTree,
}

impl<'p, 'a> Write<'p, 'a> {
    /// A `confirm` that asks for a value which the call never leaves.
    fn confirmed(&self) -> Option<Diagnostic> {
        let confirm = self.node.step.confirm.as_ref()?;
        let read = self.pass.called(self.node.step, CallRole::Confirm)?;
        let items = asked_items(&confirm.accept, &Root::Read);
        asked_fields(&confirm.accept, &Root::Read)
            .into_iter()
            .chain(items)
            .find_map(|asked| {
                if let Some(given) = self.never_null(read, &asked) {
                    return Some(given);
                }
                let known = answered(read, &asked.path)?;
                let left = self.left(read, &asked.name, &known)?;
                let is_other = has_none(&left, &asked.values) && has_all(&known, &asked.values);
                let wants = "its `confirm` wants another";
                is_other.then(|| self.finding(&asked.name, &left, wants, asked.span))
            })
    }

    /// A `confirm` that wants null of what a statement sets to an argument that is never null.
    fn never_null(&self, read: &Operation, asked: &AskedField) -> Option<Diagnostic> {
        if asked.values.iter().any(|value| !value.is_null()) {
            return None;
        }
        let argument = statement::leaves_argument(self.operation, read, &asked.name)?;
        let is_sent = self.args.get(argument.as_str())?.0.as_str() == argument;
        let PathType::Known { ty, .. } = self.operation.input.ty().at(&[Segment::Field(argument)])
        else {
            return None;
        };
        (is_sent && !ty.kinds().meets(Kinds::NULL)).then(|| self.other_than_null(asked))
    }

    fn other_than_null(&self, asked: &AskedField) -> Diagnostic {
        let (id, name) = (&self.node.step.id.value, &asked.name);
        let message =
            format!("after `{id}` its `{name}` is not null, and its `confirm` wants null");
        Diagnostic::new(Code::OtherThanGiven, asked.span, message)
            .related(self.node.step.id.span, "what it leaves")
            .hint("ask for what the call leaves")
            .step(id)
    }

    /// A `confirm` that wants no row to be like the one that a statement adds.
    fn absent(&self) -> Option<Diagnostic> {
        let confirm = self.node.step.confirm.as_ref()?;
        let read = self.pass.called(self.node.step, CallRole::Confirm)?;
        if !statement::adds_to(self.operation, read) {
            return None;
        }
        let wholes = confirm.accept.iter().filter_map(Template::whole);
        let mut parts = wholes.flat_map(|whole| whole.conjuncts());
        parts.find_map(|part| {
            let ExprKind::Not(inner) = &part.kind else {
                return None;
            };
            let (_, terms) = item_terms(inner, &Root::Read)?;
            let is_added = |term: &Expr| self.is_added(read, term) == Some(true);
            terms.iter().all(is_added).then(|| {
                let id = &self.node.step.id.value;
                let message = format!("`{id}` adds a row, and its `confirm` wants none like it");
                Diagnostic::new(Code::OtherThanGiven, part.span, message)
                    .related(self.node.step.id.span, "adds it")
                    .hint("ask that there is one")
                    .step(id)
            })
        })
    }

    /// Whether a term asks a column of the read row to be what the statement sets it to.
    fn is_added(&self, read: &Operation, term: &Expr) -> Option<bool> {
        let ExprKind::Compare(Compare::Equal, left, right) = &term.kind else {
            return None;
        };
        let sides = [(left, right), (right, left)];
        let (name, value) = sides.into_iter().find_map(|(field, value)| {
            let (root, name) = field.field_of_root()?;
            (*root == Root::Read).then_some((name, value))
        })?;
        let argument = statement::leaves_argument(self.operation, read, name)?;
        let (_, given) = self.args.get(argument.as_str())?;
        let is_value = || {
            let fixed = self.pass.fixed_tree(given);
            fixed.is_some() && constant(value) == fixed
        };
        let is_form = match given {
            ArgTree::Template(given) => {
                let given = given.whole();
                given.is_some_and(|given| given.ast().form() == value.form())
            }
            _ => false,
        };
        Some(is_form || is_value())
    }

    /// What the tool can answer, or a statement sets: all of it is known where it is read.
    fn left(&self, read: &Operation, name: &str, known: &[Value]) -> Option<Vec<Value>> {
        let own = field_paths(name);
        let mut own = own.iter().filter_map(|path| answered(self.operation, path));
        let set = || {
            let value = |given: &str| {
                let (_, tree) = self.args.get(given)?;
                self.pass.fixed_tree(tree)
            };
            let set = statement::leaves(self.operation, read, name, &value)?;
            Some(vec![set])
        };
        let left = own.next().or_else(set)?;
        has_all(known, &left).then_some(left)
    }

    /// An acceptance that does not ask for what the operation does by its name, where the field has
    /// the word for it; or that asks for what its opposite does.
    fn named(&self) -> Option<Diagnostic> {
        let step = self.node.step;
        // Why: what is polled later need not be done when the call answers.
        let after = self.node.after.iter();
        let mut after = after.filter_map(|at| self.pass.order.node(at));
        if after.any(|later| later.step.until.is_some()) {
            return None;
        }
        let own = asked_fields(&step.accept, &Root::Output).into_iter();
        let own = own.map(|asked| (asked, self.operation, "its `accept` wants another"));
        let read = self.pass.called(step, CallRole::Confirm);
        let confirm = step.confirm.as_ref().zip(read).map(|(confirm, read)| {
            let all = asked_fields(&confirm.accept, &Root::Read).into_iter();
            all.map(|asked| (asked, &**read, "its `confirm` wants another"))
        });
        let mut all = own.chain(confirm.into_iter().flatten());
        all.find_map(|(asked, operation, who)| {
            let known = answered(operation, &asked.path)?;
            let left = self.meant(&known, &asked.values)?;
            Some(self.finding(&asked.name, &left, who, asked.span))
        })
    }

    /// The words that say what the operation does, if others are asked for.
    fn meant(&self, known: &[Value], asked: &[Value]) -> Option<Vec<Value>> {
        let verb = verb(&self.operation.name)?;
        let is_done = |verb: &str, value: &Value| value.as_str().is_some_and(|w| is_form(verb, w));
        let stem = verb.get(..verb.len().min(STEM_CHARS)).unwrap_or(&verb);
        let is_own = |value: &Value| value.as_str().is_none_or(|word| word.starts_with(stem));
        // Why not what an argument is called by: a notice with an embargo is embargoed.
        let mut names = self.args.entries().iter().map(|(name, _)| name.as_str());
        let is_given = names.any(|name| asked.iter().any(|value| is_done(name, value)));
        if asked.iter().any(is_own) || is_given {
            return None;
        }
        let own = known.iter().filter(|value| is_done(&verb, value));
        let own: Vec<Value> = own.cloned().collect();
        if !own.is_empty() {
            return Some(own);
        }
        let mut others = self.pass.terms.catalog.iter().filter(|op| {
            !op.effect.is_read()
                && op.server() == self.operation.server()
                && by_name(&op.name, &self.operation.name)
        });
        let undone = others.any(|op| {
            let other = self::verb(&op.name);
            other.is_some_and(|other| asked.iter().all(|value| is_done(&other, value)))
        });
        // Why too: what takes the call back is its opposite, whatever it is called.
        let undo = self.pass.called(self.node.step, CallRole::Undo);
        let undo = undo.filter(|undo| undo.name != self.operation.name);
        let undo = undo.and_then(|undo| self::verb(&undo.name));
        let is_undone = undo.is_some_and(|undo| asked.iter().all(|value| is_done(&undo, value)));
        let undone = undone || is_undone && !asked.is_empty();
        let rest = known.iter().filter(|value| !asked.contains(value));
        undone.then(|| rest.cloned().collect())
    }

    /// A read of the same record after the call, of which another value is wanted.
    fn read_later(&self, accepted: &AcceptedOutputs) -> Option<Diagnostic> {
        let own = asked_fields(&self.node.step.accept, &Root::Output);
        if own.is_empty() || self.node.step.for_each.is_some() {
            return None;
        }
        let after = self.node.after.iter();
        let after = after.filter_map(|at| self.pass.order.node(at));
        let mut reads = after.filter(|read| self.is_of_same(read) && self.is_next(read));
        reads.find_map(|read| {
            let operation = read.operation?;
            own.iter().find_map(|own| {
                let could = answered(self.operation, &own.path)?;
                let paths = field_paths(&own.name);
                paths.iter().find_map(|path| {
                    let known = answered(operation, path)?;
                    let left = Left {
                        name: &own.name,
                        values: &own.values,
                        could: &could,
                    };
                    has_all(&known, &own.values)
                        .then(|| self.wanted(accepted, read, path, &left))
                        .flatten()
                })
            })
        })
    }

    /// Whether a read is of what the call is given, or of what it answers.
    fn is_of_same(&self, read: &OrderNode<'_>) -> bool {
        let StepKind::Tool { tool, args } = &read.step.kind else {
            return false;
        };
        let is_plain =
            read.is_call_of(|op| op.effect.is_read() && op.server() == self.operation.server());
        if !is_plain || read.step.for_each.is_some() || read.step.until.is_some() {
            return false;
        }
        let own = Root::Step(self.node.step.id.value.clone());
        let reads = |tree: &ArgTree, root: &Root| {
            let mut all = tree.templates().into_iter().flat_map(|t| t.references());
            all.any(|read| read.root == *root)
        };
        let value = |tree: &ArgTree| self.pass.fixed_tree(tree);
        let is_given = |tree: &ArgTree| {
            let mut given = self.args.entries().iter().map(|(_, given)| given);
            reads(tree, &own)
                || given.any(|given| {
                    let is_value = value(given).is_some() && value(given) == value(tree);
                    is_value || given.form() == tree.form()
                })
        };
        // Why: what was found by a read is of the record that the same read finds again.
        let is_found = || {
            let mut steps = self.pass.plan.steps.iter();
            steps.any(|step| match &step.kind {
                StepKind::Tool {
                    tool: one,
                    args: by,
                } => {
                    let root = Root::Step(step.id.value.clone());
                    let mut given = self.args.entries().iter();
                    root != own
                        && one.value == tool.value
                        && by.form() == args.form()
                        && given.any(|(_, given)| reads(given, &root))
                }
                _ => false,
            })
        };
        let mut entries = args.entries().iter();
        !args.entries().is_empty() && (entries.all(|(_, tree)| is_given(tree)) || is_found())
    }

    /// Whether nothing comes between the call and a read that changes what is there, or takes time.
    fn is_next(&self, read: &OrderNode<'_>) -> bool {
        let own = &self.node.step.id.value;
        !self.pass.order.nodes().iter().any(|other| {
            let id = &other.step.id.value;
            let changes = other
                .is_call_of(|op| !op.effect.is_read() && op.server() == self.operation.server());
            let waits =
                other.step.until.is_some() || matches!(other.step.kind, StepKind::Question { .. });
            (changes || waits)
                && id != own
                && !self.pass.order.is_before(id, own)
                && !self.pass.order.is_before(&read.step.id.value, id)
        })
    }

    /// What wants another value of a read: its `accept`, an assertion or a proof.
    fn wanted(
        &self,
        accepted: &AcceptedOutputs,
        read: &OrderNode<'_>,
        path: &[Segment],
        left: &Left<'_>,
    ) -> Option<Diagnostic> {
        let id = &read.step.id.value;
        let of_read = asked_fields(&read.step.accept, &Root::Output).into_iter();
        let mut of_read = of_read.filter(|asked| asked.path == path);
        if let Some(other) = of_read.find(|asked| {
            has_none(left.values, &asked.values) && !has_none(left.could, &asked.values)
        }) {
            let who = "its `accept`";
            return Some(self.finding(left.name, left.values, &wants(who, id), other.span));
        }
        let output = Segment::Field("output".to_owned());
        let place = DemandSubject {
            root: Root::Step(id.clone()),
            path: std::iter::once(output)
                .chain(path.iter().cloned())
                .collect(),
            is_size: false,
        };
        let site = Site::end();
        let held = asserted(accepted, self.pass.plan.steps.iter());
        let steps = self.pass.plan.steps.iter();
        let asserted = steps.filter_map(|step| {
            let who = format!("`{}`", step.id.value);
            Some((who, &step.asserted()?.condition, accepted))
        });
        let proofs = self.pass.plan.success.iter().map(|proof| {
            let who = format!("the proof of `{}`", proof.criterion.value);
            (who, &proof.check, &held)
        });
        asserted.chain(proofs).find_map(|(who, condition, known)| {
            let solver = Solver::knowing(self.pass, &site, Statuses::End, Some(known));
            let holds = both(&condition.whole()?.cases(true)?, &[self.done()])?;
            let with = |values: &[Value]| {
                let demand = Demand::Among(values.to_vec(), true);
                let joined = both(&holds, &[vec![(place.clone(), demand)]])?;
                Some(solver.never(&joined).is_some())
            };
            let other = left.could.iter().filter(|one| !left.values.contains(one));
            let other: Vec<Value> = other.cloned().collect();
            let is_other = with(left.values)? && !with(&other)?;
            is_other
                .then(|| self.finding(left.name, left.values, &wants(&who, id), condition.span()))
        })
    }

    /// That the call succeeded.
    fn done(&self) -> Case {
        let status = DemandSubject {
            root: Root::Step(self.node.step.id.value.clone()),
            path: vec![Segment::Field("status".to_owned())],
            is_size: false,
        };
        let succeeded = Demand::Compares(Compare::Equal, json!("succeeded"));
        vec![(status, succeeded)]
    }

    fn finding(&self, name: &str, left: &[Value], wants: &str, span: Span) -> Diagnostic {
        let id = &self.node.step.id.value;
        let left: Vec<String> = left.iter().map(crate::digest::canonical).collect();
        let left = left.join(" or ");
        let message = format!("after `{id}` its `{name}` is {left}, and {wants}");
        Diagnostic::new(Code::OtherThanGiven, span, message)
            .related(self.node.step.id.span, "what it leaves")
            .hint("ask for what the call leaves; what comes later is polled with `until`")
            .step(id)
    }
}

/// That something wants another value of a read.
fn wants(who: &str, read: &str) -> String {
    format!("{who} wants another of `{read}`")
}

/// What a call is known to leave a field at, and what else the tool could have answered.
struct Left<'l> {
    name: &'l str,
    values: &'l [Value],
    could: &'l [Value],
}

/// So many letters of a verb are left in any form of it.
const STEM_CHARS: usize = 4;

/// The first word of the name of an operation, without its server: what it does.
fn verb(operation: &str) -> Option<String> {
    let (_, name) = operation.split_once('.')?;
    words(name).into_iter().next()
}
