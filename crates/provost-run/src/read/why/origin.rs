//! Where the arguments of a slot came from: the plan, the goal, an answer, or steps.
//!
//! Owns the origin of each leaf, computed from the plan in force and never from the text of an
//! answer. INVARIANT: what cannot be told is said to be unknown, never a literal.

use std::collections::BTreeSet;

use provost_plan::expr::{ArgTree, Reference, Root, Template};
use provost_plan::plan::{Goal, Plan, Step, StepKind};
use serde_json::Value;

use super::story::Story;
use crate::call::Slot;
use crate::card::QuestionPurpose;
use crate::event::Event;
use crate::shown::observed;

/// Where a leaf came from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeafOrigin {
    /// Whoever planned wrote it.
    Literal,
    /// A person wrote it into the plan.
    Amended,
    /// The goal has it: a parameter, or its text.
    Goal,
    /// A person answered it.
    Answer,
    /// A step read or made it.
    Step(String),
}

/// The origins of all that a call was made of; none if that cannot be told.
pub(super) fn origins(story: &Story<'_>, slot: &Slot) -> Option<BTreeSet<LeafOrigin>> {
    found_among(story, slot, |_| true)
}

/// The origins of some arguments of a call, by name; none if that cannot be told.
pub(super) fn origins_among(
    story: &Story<'_>,
    slot: &Slot,
    names: &BTreeSet<String>,
) -> Option<BTreeSet<LeafOrigin>> {
    found_among(story, slot, |name| names.contains(name))
}

fn found_among(
    story: &Story<'_>,
    slot: &Slot,
    is_meant: impl Fn(&str) -> bool,
) -> Option<BTreeSet<LeafOrigin>> {
    let (seq, plan, _) = story.plan_of(&slot.step)?;
    let step = plan.step(&slot.step)?;
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    let leaves = Leaves {
        plan,
        step,
        goal: story.goal(),
        answers: story.answers_to_planner(),
        literal: match amended(story, seq, &slot.step)? {
            true => LeafOrigin::Amended,
            false => LeafOrigin::Literal,
        },
    };
    let mut found = BTreeSet::new();
    match args {
        ArgTree::Map(entries, _) => {
            let meant = entries.iter().filter(|(name, _)| is_meant(name.as_str()));
            meant
                .map(|(_, value)| leaves.tree(value, &mut found))
                .collect::<Option<()>>()?;
        }
        _ => leaves.tree(args, &mut found)?,
    }
    (!found.is_empty()).then_some(found)
}

/// The steps among them.
pub(super) fn steps_of(origins: &BTreeSet<LeafOrigin>) -> Vec<&str> {
    let steps = origins.iter().filter_map(|origin| match origin {
        LeafOrigin::Step(id) => Some(id.as_str()),
        _ => None,
    });
    steps.collect()
}

/// The steps whose answers the planner had seen when it wrote this step.
pub(super) fn seen_before(story: &Story<'_>, step: &str) -> Vec<String> {
    let Some((checked, ..)) = story.plan_of(step) else {
        return Vec::new();
    };
    let seen = story.numbered().take_while(|(seq, _)| *seq < checked);
    let seen: BTreeSet<&str> = seen
        .filter_map(|(_, event)| Some(observed(event)?.0.step.as_str()))
        .collect();
    seen.into_iter().map(str::to_owned).collect()
}

/// Whether a person wrote this step of the plan that was checked at `seq`; none if an old journal
/// does not say what they wrote.
fn amended(story: &Story<'_>, seq: u64, step: &str) -> Option<bool> {
    let mut by_person = story.numbered().filter(|(at, _)| *at < seq);
    let last = by_person.rfind(|(_, event)| {
        matches!(
            event,
            Event::PlanAmended { .. } | Event::PlanProposed { .. }
        )
    });
    match last {
        Some((_, Event::PlanAmended { wrote, .. })) if wrote.is_empty() => None,
        Some((_, Event::PlanAmended { wrote, .. })) => Some(wrote.contains_key(step)),
        _ => Some(false),
    }
}

struct Leaves<'p> {
    plan: &'p Plan,
    step: &'p Step,
    goal: Option<&'p Goal>,
    answers: Vec<&'p Value>,
    literal: LeafOrigin,
}

impl Leaves<'_> {
    fn tree(&self, tree: &ArgTree, found: &mut BTreeSet<LeafOrigin>) -> Option<()> {
        match tree {
            ArgTree::Value(value, _) => {
                found.insert(self.of_literal(value));
                Some(())
            }
            ArgTree::Template(template) => self.template(template, found),
            ArgTree::List(items, _) => items.iter().try_for_each(|item| self.tree(item, found)),
            ArgTree::Map(entries, _) => entries
                .iter()
                .try_for_each(|(_, value)| self.tree(value, found)),
        }
    }

    fn of_literal(&self, value: &Value) -> LeafOrigin {
        let in_goal = |text: &str| self.goal.is_some_and(|goal| says(&goal.text, text));
        match value {
            Value::String(text) if in_goal(text) => LeafOrigin::Goal,
            Value::Number(number) if in_goal(&number.to_string()) => LeafOrigin::Goal,
            value if self.answers.contains(&value) => LeafOrigin::Answer,
            _ => self.literal.clone(),
        }
    }

    fn template(&self, template: &Template, found: &mut BTreeSet<LeafOrigin>) -> Option<()> {
        if template.whole().is_none() {
            // Why: the text around an expression is a literal too.
            found.insert(self.literal.clone());
        }
        let mut any = false;
        for reference in template.references() {
            any = true;
            self.reference(reference, found)?;
        }
        if !any {
            found.insert(self.literal.clone());
        }
        Some(())
    }

    fn reference(&self, reference: &Reference, found: &mut BTreeSet<LeafOrigin>) -> Option<()> {
        let origin = match &reference.root {
            Root::Step(id) => match self.plan.step(id).map(|step| &step.kind) {
                Some(StepKind::Question { .. }) => LeafOrigin::Answer,
                Some(_) => LeafOrigin::Step(id.clone()),
                None => return None,
            },
            Root::Params => LeafOrigin::Goal,
            Root::Item | Root::Index => {
                let list = &self.step.for_each.as_ref()?.list;
                if list.references().next().is_none() {
                    found.insert(self.literal.clone());
                }
                return list.references().try_for_each(|one| match one.root {
                    // Why: a list rests on no item of itself.
                    Root::Item | Root::Index => None,
                    _ => self.reference(one, found),
                });
            }
            Root::Run => self.literal.clone(),
            Root::Output | Root::Read | Root::Args | Root::Key | Root::Unknown(_) => return None,
        };
        found.insert(origin);
        Some(())
    }
}

/// Whether a text has this one, not as a part of a longer word.
fn says(text: &str, part: &str) -> bool {
    let outside = |c: Option<char>| !c.is_some_and(is_part);
    let mut found = text.match_indices(part).map(|(at, _)| text.split_at(at));
    !part.is_empty()
        && found.any(|(before, rest)| {
            let after = rest.strip_prefix(part).unwrap_or_default();
            outside(before.chars().next_back()) && outside(after.chars().next())
        })
}

/// Whether a word goes on with this.
pub(super) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_'
}

/// The answers that people gave to questions of a planner.
pub(super) fn answers<'e>(events: impl Iterator<Item = &'e Event> + Clone) -> Vec<&'e Value> {
    let of_planner: BTreeSet<_> = events
        .clone()
        .filter_map(|event| match event {
            Event::QuestionAsked { question, digest }
                if matches!(question.purpose, QuestionPurpose::Planner { .. }) =>
            {
                Some(*digest)
            }
            _ => None,
        })
        .collect();
    let given = events.filter_map(move |event| match event {
        Event::QuestionAnswered {
            question, value, ..
        } if of_planner.contains(question) => Some(value),
        _ => None,
    });
    given.collect()
}
