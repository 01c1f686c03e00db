//! The pass `flow`: where the values of every argument and guard come from.
//!
//! Owns the rules that assign labels, for the check and for the run alike. Decides nothing: what
//! it finds feeds the policy, except that a secret never leaves. INVARIANT: a label is never more
//! trusted than anything the value was computed from or chosen by.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use super::closed::is_closed;
use super::{Pass, StepRecord};
use crate::catalog::{Catalog, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::ExprKind;
use crate::expr::{ArgTree, Expression, Key, Reference, Root, Segment, Template};
use crate::label::{Integrity, Label};
use crate::limits::{LABEL_SOURCES_MAX, TYPE_WORK_MAX};
use crate::plan::undo::undone_by;
use crate::plan::{CallRole, Plan, Step, StepKind, Subgoal};
use crate::schema::{PathType, Schema};

mod argument;
mod author;
mod control;
pub(super) mod opinion;
mod path;
mod secret;

use author::Author;
use opinion::Opinions;

/// How far a part of a step's output may be believed, by the operator's schema alone. `path` is
/// what follows `output` in one call's output: of a step with `for_each`, without the position.
#[must_use]
pub fn output_integrity(operation: Option<&Operation>, step: &Step, path: &[Segment]) -> Integrity {
    match step.kind {
        StepKind::Question { .. } => return Integrity::Trusted,
        // Why: what it computes is as trusted as what that reads, which the record says.
        StepKind::Subgoal(_) => return Integrity::Text,
        // Why: that it holds is all it yields, and what it looks at decides that.
        StepKind::Assertion(_) => return Integrity::Trusted,
        StepKind::Tool { .. } => {}
    }
    let Some(operation) = operation else {
        return Integrity::Text;
    };
    if operation.trusted {
        return Integrity::Trusted;
    }
    let schema = operation.output.as_ref();
    match schema.is_some_and(|schema| is_closed_at(schema, path)) {
        true => Integrity::Data,
        false => Integrity::Text,
    }
}

/// Whether nothing that a schema admits at a place holds free text.
#[must_use]
pub fn is_closed_at(schema: &Schema, path: &[Segment]) -> bool {
    matches!(schema.at(path), PathType::Known { ty, .. } if is_closed(&ty))
}

/// Labels of what a plan reads, given the labels of each step.
pub struct Labels<'a> {
    plan: &'a Plan,
    catalog: &'a Catalog,
    /// What is known of each step so far.
    steps: BTreeMap<&'a str, Known<'a>>,
    /// How many sources have been joined.
    joined: Cell<usize>,
    /// Of what the author of the step that is labelled wrote.
    literals: Label,
    /// How many values of schemas were looked through.
    looked: Cell<usize>,
    /// How far the parts of an operation's output may be believed, as far as it was asked.
    believed: RefCell<BTreeMap<String, BTreeMap<Vec<Segment>, Integrity>>>,
}

/// What the labels of a step do to what is read of it.
struct Known<'a> {
    control: Cow<'a, Label>,
    /// Where the secrets came from that it was given, if it was given any.
    secrets: Option<BTreeSet<String>>,
    /// Of what is called [`RESULT`]: of a subgoal, its output.
    result: Option<Label>,
    /// Of what is called [`DEFAULT`]: of a question, what it comes to without an answer.
    default: Option<Label>,
}

/// The name under which the label of the result of a subgoal is kept.
pub const RESULT: &str = "result";

/// The name under which the label of the default of a question is kept.
pub const DEFAULT: &str = "default";

impl<'a> Known<'a> {
    fn of(control: Cow<'a, Label>, args: &BTreeMap<String, Label>) -> Self {
        let secret = args.values().filter(|label| label.secret);
        let sources = secret.map(|label| &label.sources);
        Self {
            control,
            result: args.get(RESULT).cloned(),
            default: args.get(DEFAULT).cloned(),
            secrets: sources.fold(None, |all: Option<BTreeSet<String>>, more| {
                let mut all = all.unwrap_or_default();
                all.extend(more.iter().cloned());
                Some(all)
            }),
        }
    }
}

impl<'a> Labels<'a> {
    /// Labels under what the check recorded.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        catalog: &'a Catalog,
        records: &'a BTreeMap<String, StepRecord>,
    ) -> Self {
        let of = |(id, record): (&'a String, &'a StepRecord)| {
            let control = Cow::Borrowed(&record.control);
            (id.as_str(), Known::of(control, &record.labels))
        };
        Self {
            plan,
            catalog,
            steps: records.iter().map(of).collect(),
            joined: Cell::default(),
            literals: Label::trusted(),
            looked: Cell::default(),
            believed: RefCell::default(),
        }
    }

    /// The label of what `reference` reads, as seen from `step` (none for proofs and claims).
    #[must_use]
    pub fn of(&self, step: Option<&Step>, reference: &Reference) -> Label {
        match &reference.root {
            Root::Step(id) => self.of_step(id, &reference.path),
            Root::Item => self.of_item(step, &reference.path),
            Root::Index => self.of_index(step),
            Root::Output => {
                step.map_or_else(untrusted, |step| self.of_output(step, &reference.path))
            }
            // A goal a person typed, and what the run itself knows.
            Root::Params | Root::Run => Label::trusted(),
            // Why: what is read back is seen by its own `accept` alone, and passed on nowhere.
            Root::Read | Root::Args | Root::Key | Root::Unknown(_) => untrusted(),
        }
    }

    fn of_step(&self, id: &str, path: &[Segment]) -> Label {
        let Some(step) = self.plan.step(id) else {
            return untrusted();
        };
        let Some((Segment::Field(field), rest)) = path.split_first() else {
            return self.of_output(step, &[]);
        };
        match field.as_str() {
            "status" => self.of_status(step),
            "output" if step.for_each.is_some() => match rest.split_first() {
                Some((Segment::Index(_) | Segment::Any, rest)) => self.of_output(step, rest),
                _ => self.of_output(step, &[]),
            },
            "output" => self.of_output(step, rest),
            // Messages of errors are the tool's own words.
            _ => self.with_secrets(
                step,
                self.of_status(step)
                    .join(&Label::from_step(id, Integrity::Text)),
            ),
        }
    }

    /// A status is one of a few words, chosen by what decided about the step and by its tool.
    fn of_status(&self, step: &Step) -> Label {
        self.decided(step, self.status_alone(step))
    }

    fn of_output(&self, step: &Step, path: &[Segment]) -> Label {
        let label = self.with_secrets(step, self.output_alone(step, path));
        self.decided(step, label)
    }

    /// The label of a status, but for what decided about the step.
    fn status_alone(&self, step: &Step) -> Label {
        if let Some(subgoal) = step.subgoal() {
            // Why: whether it fits its type hangs on what it is computed from.
            return self.subgoal_alone(step, subgoal).lowered();
        }
        let confirm = step.confirm.as_ref();
        let read = confirm.map(|confirm| self.catalog.get(&confirm.tool.value));
        let trusted = self
            .operation(step)
            .is_none_or(|operation| operation.trusted)
            // Why: what was read back decides whether it succeeded.
            && read.is_none_or(|read| read.is_some_and(|read| read.trusted));
        let integrity = if trusted {
            Integrity::Trusted
        } else {
            Integrity::Data
        };
        Label::from_step(step.id.value.as_str(), integrity)
    }

    /// Whether the sources were few enough to be named.
    fn is_bounded(&self) -> bool {
        self.joined.get() <= LABEL_SOURCES_MAX
    }

    /// The label of an output, but for what decided about the step and what it was given.
    fn output_alone(&self, step: &Step, path: &[Segment]) -> Label {
        if let Some(subgoal) = step.subgoal() {
            return self.subgoal_alone(step, subgoal);
        }
        let operation = self.operation(step);
        let integrity = self.integrity(operation, step, path);
        let mut label = Label::from_step(step.id.value.as_str(), integrity);
        label.secret = operation.is_some_and(|operation| operation.secret);
        let known = self.steps.get(step.id.value.as_str());
        let default = known.and_then(|known| known.default.as_ref());
        // Why always: before the run nobody knows whether a person answers.
        match default.filter(|_| step.default_answer().is_some()) {
            Some(default) => label.join(default),
            None => label,
        }
    }

    /// The label of what a subgoal yields: of all that its result reads, and until that is known
    /// of the worst that its envelope admits.
    fn subgoal_alone(&self, step: &Step, subgoal: &Subgoal) -> Label {
        let id = step.id.value.as_str();
        let known = self.steps.get(id).and_then(|known| known.result.as_ref());
        match known.filter(|_| !subgoal.is_open()) {
            Some(label) => label.clone().join(&Label::from_step(id, label.integrity)),
            None => Label {
                secret: subgoal.admitted(self.catalog).any(|tool| tool.secret),
                ..Label::from_step(id, Integrity::Text)
            },
        }
    }

    /// A label, joined with what decided whether the step runs.
    fn decided(&self, step: &Step, label: Label) -> Label {
        let Some(known) = self.steps.get(step.id.value.as_str()) else {
            return label;
        };
        let control = &known.control;
        self.joined
            .set(self.joined.get().saturating_add(control.sources.len()));
        if !self.is_bounded() {
            // Why: such a plan is refused; until then only how far it may be believed counts.
            return Label {
                integrity: label.integrity.max(control.integrity),
                secret: label.secret || control.secret,
                ..label
            };
        }
        label.join(control)
    }

    /// Why: a tool that is given a secret may give it back, and no operator says that it does not.
    fn with_secrets(&self, step: &Step, mut label: Label) -> Label {
        let known = self.steps.get(step.id.value.as_str());
        if let Some(secrets) = known.and_then(|known| known.secrets.as_ref()) {
            label.secret = true;
            label.sources.extend(secrets.iter().cloned());
        }
        label
    }

    fn of_item(&self, step: Option<&Step>, path: &[Segment]) -> Label {
        let Some(each) = step.and_then(|step| step.for_each.as_ref()) else {
            return untrusted();
        };
        let list = each.list.whole();
        // Why: a list that is one path gives its items the label of that path, so that a number in
        // an item stays a number.
        if let Some(list) = list
            && let [only] = list.references()
            && is_path(list)
        {
            let mut item = only.clone();
            item.path.push(Segment::Any);
            item.path.extend(path.iter().cloned());
            return self.of(None, &item);
        }
        self.template(None, &each.list, &self.literals)
    }

    /// A position is a number, but how many there are hangs on what decided about the steps that
    /// the list comes from.
    fn of_index(&self, step: Option<&Step>) -> Label {
        let lists = step.and_then(|step| step.for_each.as_ref());
        let references = lists.into_iter().flat_map(|each| each.list.references());
        let deciding = references.filter_map(|read| match &read.root {
            Root::Step(id) => self.plan.step(id),
            _ => None,
        });
        deciding.fold(self.of_item(step, &[]).lowered(), |label, source| {
            label.join(&self.of_status(source))
        })
    }

    /// The label of a template's value.
    #[must_use]
    pub fn template(&self, step: Option<&Step>, template: &Template, literals: &Label) -> Label {
        template.label(literals, &|reference| self.of(step, reference))
    }

    fn integrity(
        &self,
        operation: Option<&'a Operation>,
        step: &Step,
        path: &[Segment],
    ) -> Integrity {
        let Some(operation) = operation else {
            return output_integrity(None, step, path);
        };
        let mut believed = self.believed.borrow_mut();
        let known = believed.get(&operation.name);
        if let Some(integrity) = known.and_then(|known| known.get(path)) {
            return *integrity;
        }
        let weight = operation.output.as_ref().map_or(0, Schema::weight);
        self.looked.set(self.looked.get().saturating_add(weight));
        if self.looked.get() > TYPE_WORK_MAX {
            // Why: what is not looked through may hold anything.
            return Integrity::Text;
        }
        let integrity = output_integrity(Some(operation), step, path);
        let known = believed.entry(operation.name.clone()).or_default();
        known.insert(path.to_vec(), integrity);
        integrity
    }

    fn operation(&self, step: &Step) -> Option<&'a Operation> {
        let tool = step.tool()?;
        self.catalog.get(&tool.value).map(std::sync::Arc::as_ref)
    }
}

/// Whether an expression is one path and nothing else.
fn is_path(expression: &Expression) -> bool {
    match &expression.ast().kind {
        ExprKind::Root(_) => true,
        ExprKind::Path(base, _) => matches!(base.kind, ExprKind::Root(_)),
        _ => false,
    }
}

fn untrusted() -> Label {
    Label {
        integrity: Integrity::Text,
        ..Label::trusted()
    }
}

/// The labels of one step.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepLabels {
    /// Of the arguments of each of its calls; of a subgoal's own, of [`RESULT`].
    calls: BTreeMap<CallRole, BTreeMap<String, Label>>,
    pub(crate) control: Label,
}

impl StepLabels {
    /// Of each argument of a call.
    pub(crate) fn of(&self, role: CallRole) -> &BTreeMap<String, Label> {
        static NONE: BTreeMap<String, Label> = BTreeMap::new();
        self.calls.get(&role).unwrap_or(&NONE)
    }
}

/// Assigns labels, step after step in the order of the plan; and says where their sources became
/// too many to be named.
pub(crate) fn assign_labels(pass: &mut Pass<'_>) {
    let (labels, beyond) = assigned(pass);
    pass.labels = labels;
    pass.diagnostics.extend(beyond);
}

fn assigned(pass: &Pass<'_>) -> (BTreeMap<String, StepLabels>, Option<Diagnostic>) {
    let mut done: BTreeMap<String, StepLabels> = BTreeMap::new();
    let mut labels = Labels {
        plan: pass.plan,
        catalog: &pass.terms.catalog,
        steps: BTreeMap::new(),
        joined: Cell::default(),
        literals: Label::trusted(),
        looked: Cell::default(),
        believed: RefCell::default(),
    };
    let opinions = Opinions::of(pass);
    let mut beyond = None;
    for step in pass.order.nodes().iter().map(|node| node.step) {
        labels.literals = match (before_of(pass, step), undone(pass, step)) {
            (None, None) => pass.origin.literals.clone(),
            _ => Label::trusted(),
        };
        let of = of_step(pass, &mut labels, &opinions, step);
        if beyond.is_none() && !labels.is_bounded() {
            beyond = Some(too_many_sources(step));
        }
        let known = Known::of(Cow::Owned(of.control.clone()), of.of(CallRole::Own));
        labels.steps.insert(&step.id.value, known);
        done.insert(step.id.value.clone(), of);
    }
    (done, beyond)
}

fn too_many_sources(step: &Step) -> Diagnostic {
    let message = format!("the values of this plan come from more than {LABEL_SOURCES_MAX} places");
    Diagnostic::new(Code::TooLarge, step.id.span, message)
        .label("the first step beyond the limit")
        .hint("let fewer steps decide, through their guards, about fewer others")
        .step(&step.id.value)
}

/// The record of a step that stands unchanged in the plan before: it has the literals and the
/// choice of that plan; what is new is its present author's.
fn before_of<'a>(pass: &Pass<'a>, step: &Step) -> Option<&'a StepRecord> {
    let (was, record) = pass.base.previous?.step(&step.id.value)?;
    (was.value == step.value).then_some(record)
}

/// The record of the step that a step of the run's own undoes: a value that it sends has the label
/// that the expression had which it is the value of.
fn undone<'a>(pass: &Pass<'a>, step: &Step) -> Option<&'a StepRecord> {
    let previous = pass.base.previous.filter(|_| pass.base.undoes)?;
    let (of, _) = undone_by(&step.id.value)?;
    let record = previous.record().steps.get(of)?;
    record.undo.is_some().then_some(record)
}

fn of_step<'p>(
    pass: &Pass<'p>,
    labels: &mut Labels<'p>,
    opinions: &Opinions<'_>,
    step: &'p Step,
) -> StepLabels {
    let before = before_of(pass, step);
    let undone = undone(pass, step);
    let literals = &labels.literals.clone();
    let chosen = before.or(undone);
    let mut control = chosen
        .map_or(&pass.origin.control, |record| &record.control)
        .clone();
    let deciding = step
        .when
        .iter()
        .chain(step.for_each.iter().map(|each| &each.list))
        .chain(step.assertion().map(|assertion| &assertion.condition));
    for template in deciding {
        control = control.join(&labels.template(Some(step), template, literals));
    }
    control = with_assertions(pass, labels, step, control);
    // Why: what refines a subgoal runs only where that would.
    if let Some((parent, _)) = pass.plan.parent(&step.id.value)
        && let Some(when) = &parent.when
    {
        let literals = match before_of(pass, parent) {
            Some(_) => Label::trusted(),
            None => pass.origin.literals.clone(),
        };
        control = control.join(&labels.template(Some(parent), when, &literals));
    }
    if let Some(opinion) = opinions.deciding(pass, step, &control) {
        control = control.join(&opinion);
    }
    let mut calls = BTreeMap::new();
    for (role, _, args) in step.calls() {
        let was = before.and_then(|record| record.labels_of(role));
        let undoing = undone.filter(|_| role == CallRole::Own);
        let was = was.or_else(|| undoing?.labels_of(CallRole::Undo));
        let schema = pass.called(step, role).map(|called| called.input.value());
        let of = |(name, tree): &(Key, ArgTree)| {
            let author = Author {
                pass,
                literals,
                known: schema.and_then(|schema| schema.get("properties")?.get(&**name)),
            };
            let label = author.label(labels, step, tree);
            let was = was.and_then(|was| was.get(&**name));
            (name.to_string(), with_before(label, was))
        };
        // Why: what the undone step left out of its `undo` was left out by its label.
        let left_out = undoing.and(was).cloned().unwrap_or_default();
        let sent = args.entries().iter().map(of);
        let labelled: BTreeMap<String, Label> = left_out.into_iter().chain(sent).collect();
        if role == CallRole::Own {
            // Why here: what proves it and what takes it back read its output, in which a secret
            // may stand that it was given.
            let own = Known::of(Cow::Owned(control.clone()), &labelled);
            labels.steps.insert(&step.id.value, own);
        }
        calls.insert(role, labelled);
    }
    if let Some((name, label)) = of_itself(labels, step) {
        let was = before.and_then(|record| record.labels.get(name));
        let label = with_before(label, was);
        calls.insert(CallRole::Own, BTreeMap::from([(name.to_owned(), label)]));
    }
    StepLabels { calls, control }
}

/// The label of what a step that calls nothing comes to by its own text, and its name.
fn of_itself(labels: &Labels<'_>, step: &Step) -> Option<(&'static str, Label)> {
    let literals = &labels.literals;
    match step.subgoal() {
        Some(subgoal) => {
            let result = subgoal.result.as_ref()?;
            Some((RESULT, labels.template(Some(step), result, literals)))
        }
        // Why as its author's, and no person's: nobody agreed to it.
        None => step.default_answer().map(|_| (DEFAULT, literals.clone())),
    }
}

/// A label, joined with what decides whether the assertions hold that hold a step back.
fn with_assertions(pass: &Pass<'_>, labels: &Labels<'_>, step: &Step, mut label: Label) -> Label {
    for assertion in pass.order.assertions(&step.id.value) {
        if let Some(known) = labels.steps.get(assertion.id.value.as_str()) {
            label = label.join(&known.control);
        }
    }
    label
}

/// A label, joined with what it was in the plan before.
fn with_before(label: Label, was: Option<&Label>) -> Label {
    match was {
        Some(was) => label.join(was),
        None => label,
    }
}

pub(crate) fn run(pass: &mut Pass<'_>) {
    let known = pass.labels.iter().map(|(id, labels)| {
        let control = Cow::Borrowed(&labels.control);
        (id.as_str(), Known::of(control, labels.of(CallRole::Own)))
    });
    let labels = Labels {
        plan: pass.plan,
        catalog: &pass.terms.catalog,
        steps: known.collect(),
        joined: Cell::default(),
        literals: Label::trusted(),
        looked: Cell::default(),
        believed: RefCell::default(),
    };
    let mut found = Vec::new();
    for step in &pass.plan.steps {
        let Some(own) = pass.labels.get(step.id.value.as_str()) else {
            continue;
        };
        match &step.kind {
            StepKind::Tool { .. } => {
                if pass.operation(step).is_none() {
                    continue;
                }
                for (role, _, args) in step.calls() {
                    let Some(operation) = pass.called(step, role) else {
                        continue;
                    };
                    for (name, tree) in args.entries() {
                        if let Some(label) = own.of(role).get(&**name) {
                            let argument = argument::LabelledArgument {
                                operation,
                                name,
                                tree,
                                label,
                            };
                            found.extend(argument.judged(&labels, step));
                        }
                    }
                }
                found.extend(secret::in_reconcile(pass, step, own));
            }
            StepKind::Question { text, .. } => {
                found.extend(secret::in_question(&labels, step, text));
            }
            StepKind::Assertion(assertion) => {
                let message = assertion.message.iter();
                found.extend(message.filter_map(|text| secret::in_message(&labels, step, text)));
            }
            StepKind::Subgoal(_) => {}
        }
        // Why not of an assertion: nothing is called, and what waits for it is told.
        if own.control.integrity == Integrity::Text && step.assertion().is_none() {
            found.push(control::finding(&labels, step, &own.control));
        }
    }
    found.extend(secret::in_answer(&labels));
    pass.diagnostics.extend(found);
}
