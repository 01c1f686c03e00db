//! Labels: where each value comes from, followed along every edge until nothing moves.
//!
//! Owns F401 to F403 and the labels of arguments and of control. The label of a value is the worst
//! of what it was made of; a length, a presence, a number, a flag, a time and one of the plan's own
//! words make text data.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::expr::tree::{Access, Compare, Expr, ExprKind, Function, Walk, WalkKind};
use provost_plan::expr::{ArgTree, Part, Root, Template};
use provost_plan::plan::{Step, StepKind};
use serde_json::Value;

use super::{Answers, Setting, Tag, Trust, place_of, refs, schemas};

mod calls;
mod kept;

/// The label of what decides that each step runs, by the step's number.
pub type Controls = BTreeMap<usize, Tag>;

/// Finds untrusted sinks, untrusted control and secrets that leave.
pub fn judge(setting: &Setting<'_>, answers: &mut Answers) {
    let controls = controls(setting);
    for (number, step) in setting.plan.steps.iter().enumerate() {
        let flow = Flow::new(setting, &controls, Some(number));
        let place = place_of(number, step);
        let control = controls.get(&number).copied().unwrap_or(Tag::TRUSTED);
        answers.controls.insert(place.clone(), control);
        // An assertion calls nothing: what waits for it is told.
        if control.trust == Trust::Text && step.assertion().is_none() {
            answers.find("F402", place.clone());
        }
        if let StepKind::Question { text, answer, .. } = &step.kind {
            if flow.template(text).secret {
                answers.find("F403", place.clone());
            }
            if let Some(default) = step.default_answer() {
                if !is_answer(answer.value(), &default.value) {
                    answers.find("T212", place.clone());
                }
                let written = (place.clone(), "default".to_owned());
                answers.labels.insert(written, setting.by_its_author());
            }
        }
        for (role, tool, args) in step.calls() {
            let operation = setting.operations.get(&tool.value);
            calls::judge(&flow, (&place, role), args, operation, answers);
        }
    }
    let flow = Flow::new(setting, &controls, None);
    let spots = setting.spots().into_iter();
    for spot in spots.filter(|spot| spot.place.starts_with("answer")) {
        if flow.template(spot.template).secret {
            answers.find("F403", spot.place);
        }
    }
}

/// Goes round until no label moves: a control hangs on what other steps' controls decide.
fn controls(setting: &Setting<'_>) -> Controls {
    let chosen = Tag {
        trust: setting.control,
        secret: false,
    };
    let count = setting.plan.steps.len();
    let mut controls: Controls = (0..count).map(|number| (number, chosen)).collect();
    loop {
        let mut next = controls.clone();
        for (number, step) in setting.plan.steps.iter().enumerate() {
            let flow = Flow::new(setting, &controls, Some(number));
            let lists = step.for_each.iter().map(|each| &each.list);
            let asserted = step.assertion().map(|asserted| &asserted.condition);
            let parts = step.when.iter().chain(lists).chain(asserted);
            let tag = parts.fold(chosen, |tag, part| tag.worse(flow.template(part)));
            let held = refs::held_back_by(setting, number).into_iter();
            let held = held.filter_map(|(at, _)| controls.get(&at));
            let tag = held.fold(tag, |tag, control| tag.worse(*control));
            next.insert(number, tag);
        }
        if next == controls {
            return controls;
        }
        controls = next;
    }
}

/// What a value is made of, as far down as a path may go into it.
#[derive(Clone, Debug)]
enum Made {
    /// A part of an output.
    Output {
        /// What holds for every part of it.
        tag: Tag,
        /// Whether the operator vouches for what is in it.
        vouched: bool,
        /// The type of it.
        schema: Option<Value>,
    },
    /// A list with the label of its length, and its item.
    List(Tag, Box<Made>),
    /// A value.
    Flat(Tag),
}

impl Made {
    /// The label of all that is in it.
    fn whole(&self) -> Tag {
        match self {
            Self::Output {
                tag,
                vouched,
                schema,
            } => tag.worse(Tag {
                trust: if *vouched {
                    Trust::Trusted
                } else {
                    schemas::closes(schema.as_ref())
                },
                secret: false,
            }),
            Self::List(tag, item) => tag.worse(item.whole()),
            Self::Flat(tag) => *tag,
        }
    }

    /// The label of how many items it has.
    fn count(&self) -> Tag {
        match self {
            Self::Output { tag, vouched, .. } => tag.worse(Tag {
                trust: if *vouched {
                    Trust::Trusted
                } else {
                    Trust::Data
                },
                secret: false,
            }),
            Self::List(tag, _) => *tag,
            // A number says less than what is counted.
            Self::Flat(tag) => lowered(*tag),
        }
    }

    fn item(self) -> Self {
        match self {
            Self::Output {
                tag,
                vouched,
                schema,
            } => Self::Output {
                tag,
                vouched,
                schema: schema.as_ref().and_then(schemas::item),
            },
            Self::List(tag, item) => item.with(tag),
            flat @ Self::Flat(_) => flat,
        }
    }

    fn field(self, name: &str) -> Self {
        match self {
            Self::Output {
                tag,
                vouched,
                schema,
            } => {
                let inner = schema
                    .as_ref()
                    .and_then(|schema| schemas::field(schema, name));
                let schema = inner.map(|(schema, _)| schema);
                Self::Output {
                    tag,
                    vouched,
                    schema,
                }
            }
            other => Self::Flat(other.whole()),
        }
    }

    /// The same, made of something else too.
    fn with(self, more: Tag) -> Self {
        match self {
            Self::Output {
                tag,
                vouched,
                schema,
            } => Self::Output {
                tag: tag.worse(more),
                vouched,
                schema,
            },
            Self::List(tag, item) => Self::List(tag.worse(more), Box::new(item.with(more))),
            Self::Flat(tag) => Self::Flat(tag.worse(more)),
        }
    }
}

/// Labels values that stand in one step, or in none.
struct Flow<'a> {
    setting: &'a Setting<'a>,
    controls: &'a Controls,
    here: Option<usize>,
    /// The steps on whose arguments this hangs: a cycle ends here.
    within: Vec<usize>,
}

type Bound<'b> = Vec<(u32, &'b Made)>;

impl<'a> Flow<'a> {
    fn new(setting: &'a Setting<'a>, controls: &'a Controls, here: Option<usize>) -> Self {
        Self {
            setting,
            controls,
            here,
            within: Vec::new(),
        }
    }

    /// Whether a step is given a secret, which its tool may then give back.
    fn is_given_secret(&self, number: usize, step: &Step) -> bool {
        let StepKind::Tool { args, .. } = &step.kind else {
            return false;
        };
        if self.within.contains(&number) {
            return false;
        }
        let mut within = self.within.clone();
        within.push(number);
        let there = Flow {
            within,
            ..Flow::new(self.setting, self.controls, Some(number))
        };
        args.entries()
            .iter()
            .any(|(_, tree)| there.tree(tree).secret)
    }

    /// The label of a literal: the author's, unless it stands in the goal or in the catalog.
    fn literal(&self, text: Option<&str>) -> Tag {
        let in_goal = |text: &str| {
            let mut words = self.setting.goal.split_whitespace();
            !text.is_empty() && words.any(|word| word.trim_end_matches(['.', ',']) == text)
        };
        let is_known = |text| in_goal(text) || in_catalog(self.setting, text);
        let trust = match text {
            Some(text) if is_known(text) => Trust::Trusted,
            _ => self.setting.literals,
        };
        Tag {
            trust,
            secret: false,
        }
    }

    fn tree(&self, tree: &ArgTree) -> Tag {
        match tree {
            ArgTree::Value(value, _) => self.literal(value.as_str()),
            ArgTree::Template(template) => self.template(template),
            ArgTree::List(items, _) => {
                let parts = items.iter().map(|item| self.tree(item));
                parts.fold(self.literal(None), Tag::worse)
            }
            ArgTree::Map(entries, _) => {
                let parts = entries.iter().map(|(_, value)| self.tree(value));
                parts.fold(self.literal(None), Tag::worse)
            }
        }
    }

    fn template(&self, template: &Template) -> Tag {
        if let Some(whole) = template.whole() {
            return self.label(whole.ast(), &Bound::new());
        }
        let part = |part: &Part| match part {
            Part::Text(_) => self.literal(None),
            Part::Expr(expression) => self.label(expression.ast(), &Bound::new()),
        };
        template
            .parts()
            .iter()
            .map(part)
            .fold(Tag::TRUSTED, Tag::worse)
    }

    fn label(&self, expr: &Expr, bound: &Bound<'_>) -> Tag {
        self.made(expr, bound).whole()
    }

    fn join(&self, parts: &[Expr], bound: &Bound<'_>) -> Tag {
        let labels = parts.iter().map(|part| self.label(part, bound));
        labels.fold(Tag::TRUSTED, Tag::worse)
    }

    fn made(&self, expr: &Expr, bound: &Bound<'_>) -> Made {
        match &expr.kind {
            ExprKind::Bool(_) => Made::Flat(lowered(self.literal(None))),
            // Why not the text: what an expression makes of a known word need not be known.
            ExprKind::Text(_)
            | ExprKind::Null
            | ExprKind::Int(_)
            | ExprKind::Double(_)
            | ExprKind::Type(_) => Made::Flat(self.literal(None)),
            ExprKind::List(items) => Made::Flat(self.join(items, bound).worse(self.literal(None))),
            ExprKind::Root(_) | ExprKind::Var(_) => self.path(expr, &[], bound),
            ExprKind::Path(base, accesses) => self.path(base, accesses, bound),
            ExprKind::Compare(operator, left, right) => {
                let whole = matches!(operator, Compare::Equal | Compare::NotEqual | Compare::In)
                    && (left.is_literal() || right.is_literal());
                let side = |side: &Expr| match whole {
                    true => self.kept(side, bound),
                    false => self.ordered(side, bound),
                };
                Made::Flat(side(left).worse(side(right)))
            }
            ExprKind::Has(path) => Made::Flat(self.kept(path, bound)),
            ExprKind::Call(Function::Size, arguments) => match arguments.first() {
                Some(counted) => Made::Flat(self.counted(counted, bound)),
                None => Made::Flat(Tag::TRUSTED),
            },
            ExprKind::Call(
                Function::Int
                | Function::Double
                | Function::Bool
                | Function::Type
                | Function::Timestamp
                | Function::Duration,
                arguments,
            ) => {
                let kept = arguments.iter().map(|argument| self.kept(argument, bound));
                Made::Flat(kept.fold(Tag::TRUSTED, Tag::worse))
            }
            ExprKind::Walk(walk) => self.walk(walk, bound),
            ExprKind::Call(Function::First, arguments) => match arguments.first() {
                Some(list) => self.made(list, bound).item(),
                None => Made::Flat(Tag::TRUSTED),
            },
            ExprKind::Map(entries) => {
                let parts = entries.iter().flat_map(|(key, value)| [key, value]);
                let labels = parts.map(|part| self.label(part, bound));
                Made::Flat(labels.fold(self.literal(None), Tag::worse))
            }
            _ => {
                let parts = expr.children();
                let labels = parts.into_iter().map(|part| self.label(part, bound));
                Made::Flat(labels.fold(Tag::TRUSTED, Tag::worse))
            }
        }
    }

    fn path(&self, base: &Expr, accesses: &[Access], bound: &Bound<'_>) -> Made {
        let mut rest = accesses;
        let mut made = match &base.kind {
            ExprKind::Root(Root::Step(id)) => {
                let first = rest.split_first();
                rest = first.map_or(rest, |(_, after)| after);
                self.step(id, first.map(|(access, _)| access))
            }
            ExprKind::Root(Root::Item) => self.each().map_or(Made::Flat(Tag::TRUSTED), Made::item),
            ExprKind::Root(Root::Index) => Made::Flat(self.index_of_each()),
            ExprKind::Root(Root::Output) => self.own_output(),
            ExprKind::Root(Root::Read) => Made::Flat(Tag {
                trust: Trust::Text,
                secret: false,
            }),
            ExprKind::Root(_) => Made::Flat(Tag::TRUSTED),
            ExprKind::Var(variable) => {
                let mut found = bound.iter().rev();
                let found = found.find(|(id, _)| *id == variable.id);
                found.map_or(Made::Flat(Tag::TRUSTED), |(_, made)| (*made).clone())
            }
            ExprKind::Map(_) if base.is_literal() => {
                // Selection from a literal map: which value it is hangs on the key only.
                let mut tag = self.label(base, bound);
                for access in rest {
                    if let Access::Index(index) = access {
                        tag = tag.worse(lowered(self.label(index, bound)));
                    }
                }
                return Made::Flat(tag);
            }
            _ => self.made(base, bound),
        };
        for access in rest {
            made = match access {
                Access::Field(name) => made.field(name),
                Access::Index(index) => made.item().with(self.index(index, bound)),
            };
        }
        made
    }

    /// A constant position chooses nothing.
    fn index(&self, index: &Expr, bound: &Bound<'_>) -> Tag {
        self.label(index, bound)
    }

    fn step(&self, id: &str, field: Option<&Access>) -> Made {
        let Some((number, step)) = self.setting.step(id) else {
            return Made::Flat(Tag::TRUSTED);
        };
        let control = self.controls.get(&number).copied().unwrap_or(Tag::TRUSTED);
        let operation = self.setting.operation(step);
        let asked = matches!(
            step.kind,
            StepKind::Question { .. } | StepKind::Assertion(_)
        );
        let vouched = asked || operation.is_some_and(|op| op.trusted);
        let untrusted = |trust| Tag {
            trust: if vouched { Trust::Trusted } else { trust },
            secret: false,
        };
        // What was read back decides whether it succeeded.
        let confirm = step.confirm.as_ref();
        let proven = confirm.is_none_or(|confirm| {
            let read = self.setting.operations.get(&confirm.tool.value);
            read.is_some_and(|read| read.trusted)
        });
        match field {
            Some(Access::Field(name)) if name == "status" => {
                let unproven = Tag {
                    trust: if proven { Trust::Trusted } else { Trust::Data },
                    secret: false,
                };
                Made::Flat(control.worse(untrusted(Trust::Data)).worse(unproven))
            }
            Some(Access::Field(name)) if name == "output" => {
                let secret = Tag {
                    trust: Trust::Trusted,
                    secret: operation.is_some_and(|op| op.secret)
                        || self.is_given_secret(number, step),
                };
                // Nobody said what its author wrote in advance.
                let secret = match step.default_answer() {
                    Some(_) => secret.worse(self.setting.by_its_author()),
                    None => secret,
                };
                output(self.setting, step, control.worse(secret), vouched)
            }
            _ => {
                // Nobody vouches for the words of an error; they may repeat what it was given.
                let error = Tag {
                    trust: Trust::Text,
                    secret: self.is_given_secret(number, step),
                };
                Made::Flat(control.worse(error))
            }
        }
    }

    /// A position: a number, but how many there are hangs on what decided about the steps that the
    /// list comes from.
    fn index_of_each(&self) -> Tag {
        let step = self
            .here
            .and_then(|number| self.setting.plan.steps.get(number));
        let each = step.and_then(|step| step.for_each.as_ref());
        let whole = each.and_then(|each| each.list.whole());
        let mut ids = BTreeSet::new();
        if let Some(whole) = whole {
            refs::named(whole.ast(), &mut ids);
        }
        let status = Access::Field("status".to_owned());
        let deciding = ids.iter().map(|id| self.step(id, Some(&status)).whole());
        let list = self
            .each()
            .map_or(Tag::TRUSTED, |list| lowered(list.whole()));
        deciding.fold(list, Tag::worse)
    }

    /// The list of the `for_each` in which the value stands.
    fn each(&self) -> Option<Made> {
        let step = self
            .here
            .and_then(|number| self.setting.plan.steps.get(number))?;
        let list = &step.for_each.as_ref()?.list;
        let whole = list.whole()?.ast();
        let made = self.made(whole, &Bound::new());
        // Only a list that is one path is known part by part.
        let is_path = match &whole.kind {
            ExprKind::Path(base, _) => matches!(base.kind, ExprKind::Root(_)),
            kind => matches!(kind, ExprKind::Root(_)),
        };
        Some(if is_path {
            made
        } else {
            Made::Flat(made.whole())
        })
    }

    fn walk(&self, walk: &Walk, bound: &Bound<'_>) -> Made {
        let list = self.made(&walk.list, bound);
        let item = list.clone().item();
        let mut inner = bound.clone();
        inner.push((walk.variable.id, &item));
        let filter = walk
            .filter
            .as_ref()
            .map(|filter| self.label(filter, &inner));
        let count = list.count().worse(filter.unwrap_or(Tag::TRUSTED));
        let body = self.made(&walk.body, &inner);
        match walk.kind {
            WalkKind::Map | WalkKind::Filter => Made::List(count, Box::new(body.with(count))),
            _ => Made::Flat(count.worse(body.whole())),
        }
    }
}

/// Whether a person could give this answer, by the schemas that are drawn: a text, or one of a few.
fn is_answer(schema: &Value, value: &Value) -> bool {
    match schema.get("enum").and_then(Value::as_array) {
        Some(words) => words.contains(value),
        None => value.is_string(),
    }
}

/// What a closed kind leaves of a label: text is data then.
fn lowered(tag: Tag) -> Tag {
    Tag {
        trust: tag.trust.min(Trust::Data),
        ..tag
    }
}

fn output(setting: &Setting<'_>, step: &Step, tag: Tag, vouched: bool) -> Made {
    let own = match &step.kind {
        StepKind::Question { answer, .. } => Some(answer.value().clone()),
        StepKind::Subgoal(subgoal) => Some(subgoal.output.value().clone()),
        StepKind::Assertion(assertion) => Some(assertion.output.value().clone()),
        StepKind::Tool { .. } => {
            // Why not `expect`: it is the planner's, and only the operator's schema closes.
            let declared = setting.operation(step).and_then(|op| op.output.as_ref());
            declared.map(|schema| schema.value().clone())
        }
    };
    let schema = match step.for_each {
        Some(_) => Some(schemas::list_of(own)),
        None => own,
    };
    Made::Output {
        tag,
        vouched,
        schema,
    }
}

/// Whether a text is one of the words that the operator wrote into a schema of arguments.
fn in_catalog(setting: &Setting<'_>, text: &str) -> bool {
    fn holds(value: &Value, text: &str) -> bool {
        match value {
            Value::Object(fields) => {
                let words = fields.get("enum").and_then(Value::as_array);
                let is_word = words.is_some_and(|words| words.contains(&Value::from(text)));
                is_word || fields.values().any(|inner| holds(inner, text))
            }
            Value::Array(items) => items.iter().any(|inner| holds(inner, text)),
            _ => false,
        }
    }
    setting
        .operations
        .values()
        .any(|op| holds(op.input.value(), text))
}
