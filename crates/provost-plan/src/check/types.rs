//! The pass `types`: every argument, guard and text against the schemas of what it reads.
//!
//! Owns the three answers: proven, an error because nothing can pass, or a check placed at run
//! time. INVARIANT: an argument without a finding and without a run-time check is proven to fit.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::guards::{self, GuardFacts};
use super::open;
use super::scope::Site;
use super::typing::{TextForm, Typed, type_where};
use super::{Pass, RunCheck};
use crate::catalog::Operation;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::expr::{ArgTree, Key, Part, Root, Segment, Template};
use crate::limits::FIT_WORK_MAX;
use crate::plan::{CallRole, ForEach, Step, StepKind};
use crate::schema::{Fit, Kinds, PathType, Places, Schema, Type};
use crate::source::Span;

mod beside;
mod branch;
mod crossed;
mod declared;
mod left_out;
mod subgoal;
mod unanswered;

use declared::{NOT_NAMED, cannot_stand_at, has_only_fields};
use left_out::{Called, MarkedEntry};

/// Longest schema that is shown in a message, in bytes.
const SCHEMA_BYTES_MAX: usize = 100;

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut types = Types::default();
    for step in &pass.plan.steps {
        types.step = Some(step.id.value.clone());
        types.given = Rc::new(guards::before_when(pass, step));
        if let Some(when) = &step.when {
            types.guard(pass, &Site::before(step), when, "`when`");
        }
        types.given = guards::given(pass, step);
        types.step(pass, step);
        let checks = std::mem::take(&mut types.run_checks);
        if !checks.is_empty() {
            pass.run_checks.insert(step.id.value.clone(), checks);
        }
    }
    types.step = None;
    types.given = Rc::default();
    for proof in &pass.plan.success {
        types.guard(pass, &Site::end(), &proof.check, "a proof");
    }
    let proven = guards::proven(pass);
    for claim in &pass.plan.answer {
        types.given = Rc::new(pass.guards.implied(proven.clone(), guards::Terms::new()));
        if let Some(when) = &claim.when {
            types.guard(pass, &Site::end(), when, "`when`");
            let mut given = proven.clone();
            given.extend(when.facts_if_true());
            types.given = Rc::new(pass.guards.implied(given, guards::terms_of(when)));
        }
        types.text(pass, &Site::end(), &claim.text);
    }
    types.given = Rc::default();
    for condition in &pass.open.conditions {
        types.guard(pass, &Site::end(), condition, "`when`");
    }
    types.found.extend(crossed::run(pass));
    pass.diagnostics.extend(types.found);
}

#[derive(Default)]
struct Types {
    step: Option<String>,
    /// What holds where the template stands.
    given: Rc<GuardFacts>,
    found: Vec<Diagnostic>,
    run_checks: Vec<RunCheck>,
    /// Whether a part of these arguments has no type, because of an error that is reported.
    blind: bool,
    /// What is called with these arguments.
    called: Called,
    /// What looking through the arguments' schema costs.
    weight: usize,
    /// What comparing has cost so far.
    work: usize,
    /// What was compared before: steps that call one tool mostly pass it the same types.
    fits: BTreeMap<(Type, Type), Fit>,
}

/// A value that is computed, and where it goes.
struct Leaf<'a> {
    template: &'a Template,
    given: Type,
    kinds: Kinds,
    pointer: &'a str,
}

/// Most comparisons of types that are kept.
const FITS_MAX: usize = 1_000;

impl Types {
    fn report(&mut self, finding: Diagnostic) {
        self.found.push(match &self.step {
            Some(step) => finding.step(step),
            None => finding,
        });
    }

    fn step(&mut self, pass: &Pass<'_>, step: &Step) {
        if let Some(each) = &step.for_each {
            self.list(pass, step, each);
        }
        let (call, after) = (Site::call(pass, step), Site::after(pass, step));
        match &step.kind {
            StepKind::Question { text, answer, .. } => {
                self.text(pass, &call, text);
                self.unanswered(answer, step.default_answer());
            }
            StepKind::Subgoal(subgoal) => self.result(pass, &call, subgoal),
            StepKind::Assertion(assertion) => {
                self.guard(pass, &call, &assertion.condition, "`assert`");
                let message = assertion.message.iter();
                message.for_each(|message| self.text(pass, &call, message));
            }
            StepKind::Tool { .. } => {}
        }
        for (role, _, args) in step.calls() {
            if let Some(operation) = pass.called(step, role) {
                let others = std::mem::take(&mut self.run_checks);
                let site = if role == CallRole::Own { &call } else { &after };
                self.args(pass, site, operation, args);
                let own = std::mem::replace(&mut self.run_checks, others);
                let own = own.into_iter().map(|check| check.within(role));
                self.run_checks.extend(own);
            }
        }
        if let Some(until) = &step.until {
            self.guard(pass, &after, &until.condition, "`until`");
        }
        for accept in &step.accept {
            self.guard(pass, &after, accept, "`accept`");
        }
        if let Some(confirm) = &step.confirm {
            let confirmed = Site::confirmed(pass, step);
            for accept in &confirm.accept {
                self.guard(pass, &confirmed, accept, "`accept` of `confirm`");
            }
        }
    }

    /// The type of a template, and whether something in it is an error already.
    fn template(&mut self, pass: &Pass<'_>, site: &Site<'_>, template: &Template) -> (Typed, bool) {
        if let Some(value) = pass.fixed(template) {
            return (Typed::value(value), false);
        }
        let names = |root: &_, path: &[Segment]| pass.place(site, root, path);
        let mut found = Vec::new();
        let sure = guards::never_null(pass, template, &self.given);
        let typed = match template.whole() {
            Some(expression) => type_where(expression.ast(), &names, &sure, &mut found),
            None => {
                let mut form = TextForm::new();
                for part in template.parts() {
                    match part {
                        Part::Text(text) => form.push_text(text),
                        Part::Expr(expression) => {
                            let typed = type_where(expression.ast(), &names, &sure, &mut found);
                            found.extend(unprintable(&typed, expression.span()));
                            form.push_gap();
                        }
                    }
                }
                form.typed()
            }
        };
        let failed = found.iter().any(|d| d.severity() == Severity::Error);
        for finding in found {
            self.report(finding);
        }
        (typed, failed)
    }

    fn guard(&mut self, pass: &Pass<'_>, site: &Site<'_>, template: &Template, what: &str) {
        let (typed, failed) = self.template(pass, site, template);
        if !failed && !typed.kinds.meets(Kinds::BOOL) {
            let message = format!("{what} is {}, not true or false", typed.kinds.words());
            let finding = Diagnostic::new(Code::NotBoolean, template.span(), message);
            self.report(match template.whole() {
                Some(_) => finding.hint("compare it with something: `==`, `>`, `size(…) > 0`"),
                None => finding.hint("write one expression: `\"${ … }\"` and nothing around it"),
            });
        }
    }

    fn list(&mut self, pass: &Pass<'_>, step: &Step, each: &ForEach) {
        let template = &each.list;
        let (typed, failed) = self.template(pass, &Site::before(step), template);
        if !failed && !typed.kinds.meets(Kinds::LIST) {
            let message = format!(
                "`for_each` runs over a list, and this is {}",
                typed.kinds.words()
            );
            self.report(Diagnostic::new(Code::NotAList, template.span(), message));
        }
        self.too_many(pass, step, each);
    }

    /// A list that is known before the run and has more items than its step allows.
    fn too_many(&mut self, pass: &Pass<'_>, step: &Step, each: &ForEach) {
        let reads_item = |guard: &Template| guard.references().any(|read| read.root == Root::Item);
        // Why: those that are left out do not count.
        if step.when.as_ref().is_some_and(reads_item) {
            return;
        }
        let most = each.max_items.value;
        if let Some(Value::Array(list)) = pass.fixed(&each.list)
            && u64::try_from(list.len()).is_ok_and(|items| items > most)
        {
            let message = format!(
                "`for_each` runs over {} items, and `max_items` is {most}",
                list.len()
            );
            let finding = Diagnostic::new(Code::NotAList, each.list.span(), message)
                .related(each.max_items.span, "the most that it may have")
                .hint("a longer list fails the step before its first call");
            self.report(finding);
        }
    }

    fn text(&mut self, pass: &Pass<'_>, site: &Site<'_>, template: &Template) {
        let (typed, failed) = self.template(pass, site, template);
        if let Some(expression) = template.whole()
            && !failed
            && let Some(finding) = unprintable(&typed, expression.span())
        {
            self.report(finding);
        }
    }

    fn args(&mut self, pass: &Pass<'_>, site: &Site<'_>, operation: &Operation, args: &ArgTree) {
        let before = self.found.len();
        self.weight = operation.input.weight();
        if !self.called.is_of(operation) {
            self.called = Called::of(operation);
        }
        self.names(pass, operation, args);
        if let Some(value) = pass.fixed_tree(args) {
            self.marks(pass, args, operation.input.ty(), "");
            let named = self.found.len() > before;
            self.constants(operation, args, &value, named);
            self.undeclared(args, operation.input.ty(), "");
            return;
        }
        self.blind = false;
        let given = match args {
            ArgTree::Map(entries, _) => {
                let wanted = operation.input.places(false);
                self.entries(pass, site, entries, wanted, "")
            }
            other => self.tree(pass, site, other, operation.input.ty(), ""),
        };
        let failed = self
            .found
            .iter()
            .skip(before)
            .any(|d| d.severity() == Severity::Error);
        // Why: what every argument fits by itself can still miss a rule between arguments.
        if failed || self.blind {
            return;
        }
        if has_only_fields(&operation.input) {
            return;
        }
        let (given, wanted) = (Type::of_json(&given), operation.input.ty());
        let never = |reason: &str| {
            let message = format!("these arguments never fit `{}`: {reason}", operation.name);
            Diagnostic::new(Code::NoOverlap, args.span(), message)
        };
        if !self.run_checks.is_empty() {
            // The arguments are checked at run time anyway, all together.
            if self.compares()
                && let Some(reason) = given.never_fits(wanted)
            {
                self.report(never(&reason));
            }
            return;
        }
        match self.fit(&given, wanted) {
            Fit::Proven => {}
            Fit::Never { reason } => self.report(never(&reason)),
            Fit::RunTime { counterexample } => {
                let counterexample = counterexample.as_deref();
                self.check_later(args.span(), "", "the arguments together", counterexample);
            }
        }
    }

    /// Whether values of one type fit another, from memory where it was asked before.
    fn fit(&mut self, given: &Type, wanted: &Type) -> Fit {
        let pair = (given.clone(), wanted.clone());
        if let Some(fit) = self.fits.get(&pair) {
            return fit.clone();
        }
        if !self.compares() {
            return Fit::RunTime {
                counterexample: None,
            };
        }
        let fit = given.fit(wanted);
        if self.fits.len() < FITS_MAX {
            self.fits.insert(pair, fit.clone());
        }
        fit
    }

    /// Whether there is work left to compare types of these arguments' size.
    fn compares(&mut self) -> bool {
        if self.work > FIT_WORK_MAX {
            return false;
        }
        // Why: of two wide maps each field of one is tried with those of the other.
        let cost = self
            .weight
            .saturating_add(self.weight.saturating_mul(self.weight) / 16);
        self.work = self.work.saturating_add(cost);
        true
    }

    /// Constant arguments, of which `names` may have reported some.
    fn constants(
        &mut self,
        operation: &Operation,
        args: &ArgTree,
        value: &Value,
        named_before: bool,
    ) {
        for violation in operation.input.violations(value) {
            let is_extra = matches!(
                violation.keyword.as_str(),
                "additionalProperties" | "unevaluatedProperties"
            );
            let is_missing = violation.keyword == "required" && violation.pointer.is_empty();
            if is_extra || (is_missing && named_before) || self.is_left_out(args, &violation) {
                // `names`, `undeclared` or `marks` says it.
                continue;
            }
            if is_missing {
                let message = format!("`{}`: {}", operation.name, violation.message);
                self.report(Diagnostic::new(Code::MissingArgument, args.span(), message));
                continue;
            }
            let at = violation.pointer.trim_start_matches('/').replace('/', ".");
            let place = if at.is_empty() {
                "the arguments".to_owned()
            } else {
                format!("`{at}`")
            };
            let message = format!("{place} of `{}`: {}", operation.name, violation.message);
            let span = span_at(args, &violation.pointer);
            self.report(Diagnostic::new(Code::ArgumentType, span, message));
        }
    }

    /// Checks a tree that holds expressions against a type, and gives the schema of what it yields.
    fn tree(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        tree: &ArgTree,
        wanted: &Type,
        pointer: &str,
    ) -> Value {
        match tree {
            ArgTree::Value(value, span) => {
                self.constant(value, *span, wanted, pointer);
                json!({ "const": value })
            }
            ArgTree::Template(template) => self.leaf(pass, site, template, wanted, pointer),
            ArgTree::List(items, _) => {
                let schemas: Vec<Value> = items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| {
                        let wanted = self.inner(item.span(), wanted, &Segment::Index(at), pointer);
                        self.tree(pass, site, item, &wanted, &format!("{pointer}/{at}"))
                    })
                    .collect();
                json!({ "type": "array", "minItems": schemas.len(), "prefixItems": schemas,
                        "items": false })
            }
            ArgTree::Map(entries, _) => self.entries(pass, site, entries, wanted, pointer),
        }
    }

    fn entries(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        entries: &[(Key, ArgTree)],
        wanted: &impl Places,
        pointer: &str,
    ) -> Value {
        let mut schemas = Map::new();
        let mut required = Vec::new();
        for entry in entries {
            let (name, value) = entry;
            let inner = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
            let segment = Segment::Field(name.to_string());
            let marked = MarkedEntry::of(&self.called, entry, wanted, pointer);
            let wanted = self.inner(name.span(), wanted, &segment, pointer);
            let schema = match marked {
                Some(marked) => self.marked(pass, site, &marked, &wanted, &inner),
                None => {
                    required.push(name.as_str());
                    Some(self.tree(pass, site, value, &wanted, &inner))
                }
            };
            schemas.extend(schema.map(|schema| (name.to_string(), schema)));
        }
        json!({ "type": "object", "required": required, "properties": schemas,
                "additionalProperties": false })
    }

    /// What an inner place must hold; reports a place that can never be there.
    fn inner(&mut self, span: Span, of: &impl Places, segment: &Segment, pointer: &str) -> Type {
        let (reason, known) = match of.at(std::slice::from_ref(segment)) {
            PathType::Known { ty, .. } => return ty,
            PathType::Unknown { .. } => return Type::any(),
            PathType::Undeclared { known, .. } => (NOT_NAMED.to_owned(), known),
            PathType::Absent { reason, known, .. } => (reason, known),
        };
        // The arguments themselves are `names`' business.
        if !pointer.is_empty() {
            self.report(match segment {
                Segment::Field(name) => cannot_stand_at(span, name, &reason, &known),
                Segment::Index(_) | Segment::Any => {
                    let message = format!("nothing can stand here: {reason}");
                    Diagnostic::new(Code::ArgumentType, span, message)
                }
            });
        }
        Type::any()
    }

    fn constant(&mut self, value: &Value, span: Span, wanted: &Type, pointer: &str) {
        if !wanted.excludes(value) {
            return;
        }
        let violation = Schema::compile(wanted.to_json())
            .ok()
            .and_then(|schema| schema.violations(value).into_iter().next());
        let reason = violation.map_or_else(|| "it never fits".to_owned(), |v| v.message);
        let at = pointer.trim_start_matches('/').replace('/', ".");
        let message = format!("`{at}`: {reason}");
        self.report(Diagnostic::new(Code::ArgumentType, span, message));
    }

    fn leaf(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        template: &Template,
        wanted: &Type,
        pointer: &str,
    ) -> Value {
        let (typed, failed) = self.template(pass, site, template);
        if failed || typed.is_reported() {
            self.blind = true;
            return Value::Bool(true);
        }
        let leaf = Leaf {
            template,
            given: typed.to_type(),
            kinds: typed.kinds,
            pointer,
        };
        self.fits(pass, site, &leaf, wanted);
        leaf.given.to_json()
    }

    /// Reports what of a value does not fit its place, or leaves it to the run.
    fn fits(&mut self, pass: &Pass<'_>, site: &Site<'_>, leaf: &Leaf<'_>, wanted: &Type) {
        let template = leaf.template;
        let at = leaf.pointer.trim_start_matches('/').replace('/', ".");
        match self.fit(&leaf.given, wanted) {
            Fit::Proven => {}
            Fit::Never { reason } => {
                let message = format!("this never fits `{at}`: {reason}");
                let finding = Diagnostic::new(Code::NoOverlap, template.span(), message)
                    .label(format!("this is {}", leaf.kinds.words()));
                self.report(with_schema(finding, &at, wanted));
            }
            Fit::RunTime { counterexample } => {
                let open = pass.open.passed_on(site.step(), template);
                if let (Some(name), Some(value)) = (open, &counterexample) {
                    let finding = open::not_every_value(template.span(), name, &at, value);
                    self.report(with_schema(finding, &at, wanted));
                } else if self.gives_null(pass, site, leaf, wanted) {
                    self.blind = true;
                } else if let Some((span, reason)) = self.branch(pass, site, template, wanted) {
                    let message = format!("this never fits `{at}`: {reason}");
                    let finding = Diagnostic::new(Code::NoOverlap, span, message);
                    self.report(with_schema(finding, &at, wanted));
                } else {
                    let beside = self.beside(pass, site, leaf, wanted);
                    beside.into_iter().for_each(|finding| self.report(finding));
                    let (what, example) = (format!("`{at}`"), counterexample.as_deref());
                    self.check_later(template.span(), leaf.pointer, &what, example);
                }
            }
        }
    }

    /// Whether a place that does not take null is given what may be null; then that is the finding.
    fn gives_null(
        &mut self,
        pass: &Pass<'_>,
        site: &Site<'_>,
        leaf: &Leaf<'_>,
        wanted: &Type,
    ) -> bool {
        if wanted.kinds().meets(Kinds::NULL) || !leaf.given.kinds().meets(Kinds::NULL) {
            return false;
        }
        let found = guards::null_given(pass, site, leaf.template, &self.given);
        let gives = !found.is_empty();
        found.into_iter().for_each(|finding| self.report(finding));
        gives
    }

    fn check_later(&mut self, span: Span, pointer: &str, what: &str, counterexample: Option<&str>) {
        let message = format!("{what} can only be checked at run time");
        let reason = match counterexample {
            Some(value) => format!("the value may be {value}, which does not fit"),
            None => "its schema does not prove that it fits".to_owned(),
        };
        self.run_checks.push(RunCheck {
            argument: pointer.to_owned(),
            reason: reason.clone(),
        });
        // Why only with a value: what no schema proves is what `not_checked` lists, and nothing
        // that its author could ask for.
        if counterexample.is_some() {
            self.report(Diagnostic::new(Code::RunTimeCheck, span, message).note(reason));
        }
    }
}

fn unprintable(typed: &Typed, span: Span) -> Option<Diagnostic> {
    let printable = Kinds::TEXT | Kinds::NUMBER | Kinds::BOOL | Kinds::TIME | Kinds::DURATION;
    (!typed.kinds.meets(printable)).then(|| {
        let message = format!("{} cannot stand inside a text", typed.kinds.words());
        Diagnostic::new(Code::NotPrintable, span, message)
            .hint("read one field of it, or say how with `json(…)`, `size(…)` or `join(…)`")
    })
}

/// A finding about a place, with what the place takes if that is short.
fn with_schema(finding: Diagnostic, at: &str, wanted: &Type) -> Diagnostic {
    let schema = crate::digest::canonical(&wanted.to_json());
    if schema.len() > SCHEMA_BYTES_MAX {
        return finding;
    }
    finding.note(format!("`{at}` must fit {schema}"))
}

/// The place of a JSON pointer in a tree, or of the deepest part on the way to it.
fn span_at(tree: &ArgTree, pointer: &str) -> Span {
    let mut here = tree;
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        let next = match here {
            ArgTree::Map(entries, _) => entries
                .iter()
                .find(|(name, _)| **name == *part)
                .map(|(_, value)| value),
            ArgTree::List(items, _) => part.parse::<usize>().ok().and_then(|at| items.get(at)),
            ArgTree::Value(..) | ArgTree::Template(_) => None,
        };
        match next {
            Some(next) => here = next,
            None => break,
        }
    }
    here.span()
}
