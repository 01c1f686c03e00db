//! Small plans: every shape of up to three steps, named shapes of four and five.
//!
//! Owns what a plan is made of and its text, and the revision that proposes a write again under
//! another id. Never checks a plan. INVARIANT: every call of a plan has a target of its own, so
//! the world can count effects by target.

use std::collections::BTreeSet;

use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::undo::{undo_id, undone_by};
use provost_run::earlier::CallKey;
use serde_json::json;

mod form;

use form::Form;

use super::asked::FirstQuestion;
use super::catalog::Kind;

/// The id of the step that a revision adds.
pub(super) const AGAIN: &str = "again";
/// The id of the step that a person adds, and what it reaches.
const MINE: &str = "mine";
/// The id of the assertion after the first step.
const HELD: &str = "held";

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The class of what it calls.
    pub kind: Kind,
    /// The steps it waits for.
    pub needs: Vec<usize>,
    /// Items of its list; 0 for a step that has none.
    pub items: usize,
    /// Whether all items reach the same, one after the other.
    pub same: bool,
    /// Whether it acts on what it waits for, and that may not be old.
    pub fresh: bool,
    /// Whether what it wrote is read back.
    pub confirmed: bool,
    /// Whether what it wrote can be undone.
    pub undone: bool,
    /// Whether it polls.
    pub polled: bool,
}

/// A plan with what it is made of.
#[derive(Clone, Debug)]
pub struct PlanCase {
    /// Its name, for people.
    pub name: String,
    /// Its steps.
    pub steps: Vec<Sketch>,
    /// Its text.
    pub text: String,
    /// Every call it may make.
    pub places: Vec<Place>,
    /// Places that differ in name only, as indices into `places`.
    pub equals: Vec<Vec<usize>>,
    /// Whether people amend it.
    amended: bool,
    /// What is asked before all else.
    asked: FirstQuestion,
    /// What is asserted after the first step.
    asserted: Option<Asserted>,
}

/// What is asserted after the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asserted {
    /// Whether it holds.
    pub holds: bool,
    /// Whether the other steps wait for it: a control that must begin what it holds back.
    pub heeded: bool,
}

/// A call that a plan may make.
#[derive(Clone, Debug)]
pub struct Place {
    /// The step's id.
    pub step: String,
    /// The item of its list.
    pub item: Option<usize>,
    /// What it reaches.
    pub target: String,
    /// The class of what it calls.
    pub kind: Kind,
    /// The digest of its arguments.
    pub args: Digest,
}

impl PlanCase {
    /// The plan of these steps.
    #[must_use]
    pub fn of(shape: &str, steps: Vec<Sketch>) -> Self {
        let kinds: Vec<&str> = steps.iter().map(|step| step.kind.word()).collect();
        let mut places = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            let items = (0..step.items.max(1)).map(|item| (step.items > 0).then_some(item));
            places.extend(items.map(|item| Place::of(index, item, step)));
        }
        let undone = steps.iter().enumerate().filter(|(_, step)| step.undone);
        let times = |(index, step)| [1, 2].map(|time| Place::undoing(index, step, time));
        places.extend(undone.flat_map(times));
        Self {
            name: format!("{shape}: {}", kinds.join(" ")),
            text: Form::of(&steps).text(),
            equals: equals(&steps, &places),
            steps,
            places,
            amended: false,
            asked: FirstQuestion::None,
            asserted: None,
        }
    }

    /// The same plan, which people amend: it may make one call more.
    #[must_use]
    pub fn with_amendments(mut self) -> Self {
        if let Some(last) = self.steps.last() {
            let target = MINE.to_owned();
            self.equals.push(vec![self.places.len()]);
            self.places.push(Place {
                step: target.clone(),
                item: None,
                args: Digest::of_value(Domain::Args, &json!({ "to": target })),
                target,
                kind: last.kind,
            });
            self.amended = true;
        }
        self
    }

    /// The same plan, of which nothing begins before a question is answered.
    #[must_use]
    pub fn with_question(mut self, asked: FirstQuestion) -> Self {
        self.asked = asked;
        self.text = self.form().text();
        self
    }

    /// How long its question waits, in milliseconds, where it lapses.
    pub(super) fn question_lasts(&self) -> Option<i64> {
        self.asked.lasts()
    }

    /// The same plan, with an assertion after the first step, for which all others wait.
    #[must_use]
    pub fn with_assertion(mut self, asserted: Asserted) -> Self {
        self.asserted = Some(asserted);
        self.text = self.form().text();
        self
    }

    /// Whether an assertion that does not hold holds the call of a place back.
    #[must_use]
    pub fn is_held_back(&self, place: &Place) -> bool {
        self.asserted.is_some_and(|asserted| !asserted.holds) && place.step != "s0"
    }

    fn form(&self) -> Form<'_> {
        Form {
            asked: self.asked,
            asserted: self.asserted,
            ..Form::of(&self.steps)
        }
    }

    /// Whether the call of a place polls.
    #[must_use]
    pub fn polls(&self, place: usize) -> bool {
        let id = self.places.get(place).map(|place| place.step.as_str());
        let index = id.and_then(|id| id.strip_prefix('s')?.parse::<usize>().ok());
        let step = index.and_then(|index| self.steps.get(index));
        step.is_some_and(|step| step.polled)
    }

    /// Whether people amend it.
    #[must_use]
    pub fn is_amended(&self) -> bool {
        self.amended
    }

    /// The plan with the step that a person adds, and of the others those of these names only.
    #[must_use]
    pub fn amended(&self, only: Option<&BTreeSet<String>>) -> String {
        let mine = self.steps.last().map(|step| step.kind);
        let form = self.form();
        Form { only, mine, ..form }.text()
    }

    /// Whether what its steps write can be undone.
    #[must_use]
    pub fn can_undo(&self) -> bool {
        self.steps.iter().any(|step| step.undone)
    }

    /// The place that the call of `place` undoes.
    #[must_use]
    pub fn undone_by(&self, place: &Place) -> Option<usize> {
        let (step, item) = undone_by(&place.step)?;
        let mut places = self.places.iter();
        places.position(|place| place.step == step && place.item == item)
    }

    /// The places that undo the call of `place`, one for each time that it is tried.
    pub fn times_undone(&self, place: &Place) -> impl Iterator<Item = usize> {
        let of = self
            .places
            .iter()
            .position(|known| known.step == place.step);
        let places = self.places.iter().enumerate();
        places
            .filter(move |(_, place)| of.is_some() && self.undone_by(place) == of)
            .map(|(index, _)| index)
    }

    /// The revision that makes the call of `place` again, under another id.
    #[must_use]
    pub fn again(&self, place: &Place) -> String {
        let again = Some(place);
        let form = self.form();
        Form { again, ..form }.text()
    }
}

/// Whether the call of a place undoes another.
pub(super) fn undoes(place: &Place) -> bool {
    undone_by(&place.step).is_some()
}

impl Place {
    /// Its call, as another run would make it.
    pub(super) fn call(&self) -> CallKey {
        CallKey {
            operation: self.kind.operation().to_owned(),
            args: self.args,
        }
    }

    fn of(index: usize, item: Option<usize>, step: &Sketch) -> Self {
        let target = match item {
            Some(item) => format!("s{index}-{item}"),
            None => format!("s{index}"),
        };
        let args = if step.same {
            json!({ "to": format!("s{index}"), "n": target })
        } else {
            json!({ "to": target })
        };
        Self {
            step: format!("s{index}"),
            item,
            args: Digest::of_value(Domain::Args, &args),
            target,
            kind: step.kind,
        }
    }
}

impl Place {
    /// The call that undoes a step.
    fn undoing(index: usize, step: &Sketch, time: usize) -> Self {
        let target = format!("u{index}");
        Self {
            step: undo_id(&format!("s{index}"), None, time),
            item: None,
            args: Digest::of_value(Domain::Args, &json!({ "to": target })),
            target,
            kind: step.kind,
        }
    }
}

/// Items of one list, and steps with the same class, needs and dependents.
fn equals(steps: &[Sketch], places: &[Place]) -> Vec<Vec<usize>> {
    let role = |place: &Place| {
        // Why by itself: steps are undone in an order of their own.
        if undone_by(&place.step).is_some() || place.step == MINE {
            return Err(place.step.clone());
        }
        let index: usize = place.step.trim_start_matches('s').parse().unwrap_or(0);
        let step = steps.get(index).ok_or_else(|| place.step.clone())?;
        let waits: BTreeSet<usize> = steps
            .iter()
            .enumerate()
            .filter(|(_, other)| other.needs.contains(&index))
            .map(|(other, _)| other)
            .collect();
        let list = (step.items > 0).then_some(index);
        Ok((step.kind, step.needs.clone(), waits, list))
    };
    let mut groups: Vec<(_, Vec<usize>)> = Vec::new();
    for (index, place) in places.iter().enumerate() {
        let role = role(place);
        match groups.iter_mut().find(|(known, _)| *known == role) {
            Some((_, group)) => group.push(index),
            None => groups.push((role, vec![index])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Every choice of one class for each of `size` steps.
#[must_use]
pub fn choices(size: usize, kinds: &[Kind]) -> Vec<Vec<Kind>> {
    let mut choices: Vec<Vec<Kind>> = vec![Vec::new()];
    for _ in 0..size {
        choices = choices
            .into_iter()
            .flat_map(|chosen| {
                kinds.iter().map(move |kind| {
                    let mut next = chosen.clone();
                    next.push(*kind);
                    next
                })
            })
            .collect();
    }
    choices
}

/// Every plan of exactly `size` steps over `kinds`, in every order of waiting for one another; of
/// those that differ in the order written only, the first.
#[must_use]
pub fn all(size: usize, kinds: &[Kind]) -> Vec<PlanCase> {
    let pairs: Vec<(usize, usize)> = (0..size)
        .flat_map(|after| (0..after).map(move |before| (before, after)))
        .collect();
    let orders = orders(size);
    let mut known = BTreeSet::new();
    let mut plans = Vec::new();
    for chosen in choices(size, kinds) {
        for shape in 0..1usize << pairs.len() {
            let edges: Vec<(usize, usize)> = pairs
                .iter()
                .enumerate()
                .filter(|(bit, _)| shape & (1 << bit) != 0)
                .map(|(_, edge)| *edge)
                .collect();
            if known.insert(form(&chosen, &edges, &orders)) {
                plans.push(PlanCase::of(&format!("{edges:?}"), steps(&chosen, &edges)));
            }
        }
    }
    plans
}

/// Every order of so many things.
fn orders(size: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for next in 0..size {
        orders = orders
            .into_iter()
            .flat_map(|order| {
                (0..=order.len()).map(move |at| {
                    let mut longer = order.clone();
                    longer.insert(at, next);
                    longer
                })
            })
            .collect();
    }
    orders
}

/// What plans have in common that differ in the order written only.
fn form(
    kinds: &[Kind],
    edges: &[(usize, usize)],
    orders: &[Vec<usize>],
) -> (Vec<Kind>, Vec<(usize, usize)>) {
    let moved = |order: &Vec<usize>| {
        let to = |index: &usize| order.iter().position(|place| place == index).unwrap_or(0);
        let kinds = order.iter().filter_map(|place| kinds.get(*place).copied());
        let mut edges: Vec<_> = edges.iter().map(|(a, b)| (to(a), to(b))).collect();
        edges.sort_unstable();
        (kinds.collect(), edges)
    };
    orders.iter().map(moved).min().unwrap_or_default()
}

fn steps(kinds: &[Kind], edges: &[(usize, usize)]) -> Vec<Sketch> {
    let needs = |index: usize| {
        let before = edges.iter().filter(move |(_, after)| *after == index);
        before.map(|(before, _)| *before).collect()
    };
    let step = |(index, kind): (usize, &Kind)| Sketch {
        kind: *kind,
        needs: needs(index),
        items: 0,
        same: false,
        fresh: false,
        confirmed: false,
        undone: false,
        polled: false,
    };
    kinds.iter().enumerate().map(step).collect()
}

/// One step after another.
#[must_use]
pub fn chain(kinds: &[Kind]) -> PlanCase {
    let edges: Vec<_> = (1..kinds.len()).map(|after| (after - 1, after)).collect();
    PlanCase::of("chain", steps(kinds, &edges))
}

/// The first step, then all others at once.
#[must_use]
pub fn fan_out(kinds: &[Kind]) -> PlanCase {
    let edges: Vec<_> = (1..kinds.len()).map(|after| (0, after)).collect();
    PlanCase::of("fan-out", steps(kinds, &edges))
}

/// All but the last step at once, then the last.
#[must_use]
pub fn fan_in(kinds: &[Kind]) -> PlanCase {
    let last = kinds.len().saturating_sub(1);
    let edges: Vec<_> = (0..last).map(|before| (before, last)).collect();
    PlanCase::of("fan-in", steps(kinds, &edges))
}

/// All but the last step at once, then the last, which acts on them while they are young.
#[must_use]
pub fn fresh(kinds: &[Kind]) -> PlanCase {
    let mut case = fan_in(kinds).steps;
    if let Some(last) = case.last_mut() {
        last.fresh = true;
    }
    PlanCase::of("fresh", case)
}

/// One step after another, of which each write is read back.
#[must_use]
pub fn read_back(kinds: &[Kind]) -> PlanCase {
    let edges: Vec<_> = (1..kinds.len()).map(|after| (after - 1, after)).collect();
    let mut steps = steps(kinds, &edges);
    for step in &mut steps {
        step.confirmed = step.kind != Kind::Read;
    }
    PlanCase::of("read back", steps)
}

/// One step after another, of which each write can be undone.
#[must_use]
pub fn undone(kinds: &[Kind]) -> PlanCase {
    let edges: Vec<_> = (1..kinds.len()).map(|after| (after - 1, after)).collect();
    let mut steps = steps(kinds, &edges);
    for step in &mut steps {
        step.undone = step.kind != Kind::Read;
    }
    PlanCase::of("undone", steps)
}

/// One step after another, of which each read polls.
#[must_use]
pub fn polled(kinds: &[Kind]) -> PlanCase {
    let edges: Vec<_> = (1..kinds.len()).map(|after| (after - 1, after)).collect();
    let mut steps = steps(kinds, &edges);
    for step in &mut steps {
        step.polled = step.kind == Kind::Read;
    }
    PlanCase::of("polled", steps)
}

/// A list of so many reads, each of which polls.
#[must_use]
pub fn polled_list(items: usize) -> PlanCase {
    let mut steps = list(Kind::Read, items, false).steps;
    for step in &mut steps {
        step.polled = true;
    }
    PlanCase::of(&format!("polled list of {items}"), steps)
}

/// One step over a list of so many items; all at once, or one after the other to the `same`.
#[must_use]
pub fn list(kind: Kind, items: usize, same: bool) -> PlanCase {
    let step = Sketch {
        kind,
        needs: Vec::new(),
        items,
        same,
        fresh: false,
        confirmed: false,
        undone: false,
        polled: false,
    };
    PlanCase::of(&format!("list of {items}"), vec![step])
}
