//! Part of the pass `shape`: whether what a condition asks can be.
//!
//! Owns the proof that a case never comes up: two demands on one reference exclude each other, or
//! the schema or the statuses that a step can have exclude one. INVARIANT: a reason is a proof;
//! what is not decided can be.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::accepted::{AcceptedOutputs, key};
use super::related;
use super::rows;
use super::status::Statuses;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::check::typing::TypedPlace;
use crate::expr::cases::{Case, Demand, DemandSubject, not_null, presence};
use crate::expr::tree::Compare;
use crate::expr::{Reference, Root, Segment, StepStatus};
use crate::schema::{Kinds, Type};
use crate::source::Span;

/// Most conditions of every item that are held against one item.
const WAYS_MAX: usize = 8;

/// What is not believed in a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Assume {
    /// Nothing: all that is known counts.
    Everything,
    /// Parameters, which the next run gives other values.
    NoParams,
    /// Parameters, and what a guard asks out of caution: statuses and null.
    NoCaution,
}

/// Why a case never comes up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImpossibleCase {
    pub(super) reason: String,
    /// The word that is no status of a step, if that is the reason.
    pub(super) slip: Option<String>,
}

/// Where a condition stands, and what is believed there.
pub(super) struct Solver<'p, 'a> {
    pub(super) pass: &'p Pass<'a>,
    pub(super) site: &'p Site<'a>,
    pub(super) statuses: Statuses,
    pub(super) trust: Assume,
    /// What the outputs of steps were accepted by, where that counts.
    pub(super) accepted: Option<&'p AcceptedOutputs>,
}

impl<'p, 'a> Solver<'p, 'a> {
    /// With all that is known believed.
    pub(super) fn knowing(
        pass: &'p Pass<'a>,
        site: &'p Site<'a>,
        statuses: Statuses,
        accepted: Option<&'p AcceptedOutputs>,
    ) -> Self {
        Self {
            pass,
            site,
            statuses,
            trust: Assume::Everything,
            accepted,
        }
    }
}

impl Solver<'_, '_> {
    /// Why none of the cases ever comes up, if none does.
    pub(super) fn never(&self, cases: &[Case]) -> Option<ImpossibleCase> {
        let mut first = None;
        for case in cases {
            let never = self.excluded(case)?;
            first.get_or_insert(never);
        }
        Some(first.unwrap_or_else(|| ImpossibleCase {
            reason: "it is false by itself".to_owned(),
            slip: None,
        }))
    }

    /// Why a case never comes up, if it does not.
    pub(super) fn excluded(&self, case: &Case) -> Option<ImpossibleCase> {
        let alone = || self.excluded_alone(case);
        alone().or_else(|| {
            let mut ways = self.ways_of_items(case);
            ways.find_map(|ways| self.never_in_any(case, &ways))
        })
    }

    /// The ways in which what holds of every item of a list holds of one that the case is about.
    fn ways_of_items<'c>(&'c self, case: &'c Case) -> impl Iterator<Item = Vec<Case>> + 'c {
        let held = items(case).flat_map(move |(item, each)| {
            let told = case.iter().chain(self.accepted_in(case));
            let own = told.filter(move |(subject, _)| subject.root == *each);
            own.filter_map(move |(_, demand)| match demand {
                Demand::Holds(held) => held.of(item),
                _ => None,
            })
        });
        held.take(WAYS_MAX)
    }

    fn never_in_any(&self, case: &Case, ways: &[Case]) -> Option<ImpossibleCase> {
        let mut first = None;
        for way in ways {
            let joined: Case = case.iter().chain(way).cloned().collect();
            let never = self.excluded_alone(&joined)?;
            first.get_or_insert(never);
        }
        first
    }

    /// Why a case never comes up by what it asks of single subjects.
    fn excluded_alone(&self, case: &Case) -> Option<ImpossibleCase> {
        if let Some((one, other)) = related::apart(case) {
            let (one, other) = (shown(one), shown(other));
            let reason = format!("`{one}` and `{other}` do not compare in both ways");
            return Some(ImpossibleCase { reason, slip: None });
        }
        let counted = rows::counted(self.pass, case);
        let case = counted.as_ref().unwrap_or(case);
        let mut subjects: BTreeMap<&DemandSubject, Vec<&Demand>> = BTreeMap::new();
        for (subject, demand) in case {
            subjects.entry(subject).or_default().push(demand);
        }
        for (subject, demand) in self.accepted_in(case) {
            if let Some(known) = subjects.get_mut(subject) {
                known.push(demand);
            }
        }
        let of_items = self.of_items(case);
        for (subject, demand) in &of_items {
            subjects.entry(subject).or_default().push(demand);
        }
        let carried = related::carried(case, |subject| self.only_value(subject));
        for (subject, demand) in &carried {
            subjects.entry(subject).or_default().push(demand);
        }
        let there = there(&subjects);
        for (subject, demand) in &there {
            if let Some(known) = subjects.get_mut(subject) {
                known.push(demand);
            }
        }
        // Why not of each item: what no item can be says only that there is none.
        let judged = subjects.iter().filter(|(subject, _)| !subject.is_of_each());
        let mut reasons =
            judged.filter_map(|(subject, demands)| self.contradiction(subject, demands));
        reasons.next()
    }

    /// What holds of every item of a list, for the items of it that the case is about.
    fn of_items(&self, case: &Case) -> Case {
        let of_each = |(item, each): (&Root, &Root)| {
            let told = case.iter().chain(self.accepted_in(case));
            let own = told.filter(|(subject, _)| subject.root == *each);
            let here = own.map(|(subject, demand)| {
                let root = item.clone();
                (
                    DemandSubject {
                        root,
                        ..subject.clone()
                    },
                    demand.clone(),
                )
            });
            here.collect::<Case>()
        };
        items(case).flat_map(of_each).collect()
    }

    /// What was accepted of the outputs that a case is about.
    fn accepted_in<'c>(&'c self, case: &Case) -> impl Iterator<Item = &'c (DemandSubject, Demand)> {
        let read: BTreeSet<&str> = case
            .iter()
            .filter_map(|(subject, demand)| match (&subject.root, demand) {
                (_, Demand::ItemOf(each)) => key(each),
                (root, _) => key(root),
            })
            .collect();
        let accepted = self.accepted.into_iter();
        let of = accepted.flat_map(move |all| {
            let known = read.iter().filter_map(|id| all.get(*id));
            known.flatten().collect::<Vec<_>>()
        });
        of.collect::<Vec<_>>().into_iter()
    }

    fn contradiction(
        &self,
        subject: &DemandSubject,
        demands: &[&Demand],
    ) -> Option<ImpossibleCase> {
        if demands.contains(&&Demand::Nothing) {
            let reason = format!("`{}` never differs from itself", shown(subject));
            return Some(ImpossibleCase { reason, slip: None });
        }
        if let (Root::Step(step), [Segment::Field(field)], false) =
            (&subject.root, subject.path.as_slice(), subject.is_size)
            && field == "status"
        {
            return self.of_status(step, demands);
        }
        let cautious = |demand: &&Demand| {
            self.trust == Assume::NoCaution && matches!(demand, Demand::Compares(_, Value::Null))
        };
        let demands: Vec<&Demand> = demands.iter().copied().filter(|d| !cautious(d)).collect();
        let reason = among_themselves(subject, &demands)
            .or_else(|| of_type(subject, &self.type_of(subject)?, &demands))?;
        Some(ImpossibleCase { reason, slip: None })
    }

    /// The type of a subject, where that is known and believed.
    fn type_of(&self, subject: &DemandSubject) -> Option<Type> {
        // Why believed where it is a type: that holds for the next run too.
        let is_value = subject.root == Root::Params && self.pass.open.params.is_none();
        if self.trust != Assume::Everything && is_value {
            return None;
        }
        if subject.is_size {
            let holder = DemandSubject {
                is_size: false,
                ..subject.clone()
            };
            let sizes = self.type_of(&holder).and_then(|list| list.sizes());
            let any = || Type::of_json(&json!({ "type": "integer", "minimum": 0 }));
            return Some(sizes.unwrap_or_else(any));
        }
        match self.pass.place(self.site, &subject.root, &subject.path) {
            TypedPlace::Typed(typed) if !typed.is_reported() => Some(typed.to_type()),
            TypedPlace::Typed(_) | TypedPlace::Absent { .. } => None,
        }
    }

    /// The one value that a subject has, if it is known.
    fn only_value(&self, subject: &DemandSubject) -> Option<Value> {
        let ty = self.type_of(subject)?;
        match ty.values().as_slice() {
            [only] if !ty.kinds().meets(Kinds::NULL) || only.is_null() => Some(only.clone()),
            _ => None,
        }
    }

    fn of_status(&self, id: &str, demands: &[&Demand]) -> Option<ImpossibleCase> {
        let fits = |word: &str| demands.iter().all(|demand| meets(&json!(word), demand));
        let step = self.pass.plan.step(id)?;
        let asked: Vec<&str> = StepStatus::words()
            .into_iter()
            .filter(|word| fits(word))
            .collect();
        // Why: a subgoal looks at what refines it once that has ended, however it did.
        let parent = self
            .pass
            .plan
            .parent(id)
            .map(|(parent, _)| &parent.id.value);
        let reader = self.site.step().map(|reader| &reader.id.value);
        let statuses = match parent {
            Some(_) if parent == reader => Statuses::End,
            _ => self.statuses,
        };
        // Why: a guard may ask with care for what cannot be otherwise, but only for an end.
        let possible = match self.trust {
            Assume::NoCaution => Statuses::ENDS.to_vec(),
            Assume::Everything | Assume::NoParams => statuses.of(self.pass, step),
        };
        if asked.iter().any(|word| possible.contains(word)) {
            return None;
        }
        let unknown = words(demands).find(|word| !StepStatus::words().contains(word));
        let (reason, slip) = match (unknown, asked.first()) {
            (Some(word), None) => (
                format!("`{word}` is no status of a step"),
                Some(word.to_owned()),
            ),
            (_, Some(word)) => (
                format!(
                    "`{id}` is never `{word}` here: {}",
                    statuses.why_not(step, word)
                ),
                None,
            ),
            (None, None) => (format!("`{id}` has one status, not two"), None),
        };
        Some(ImpossibleCase { reason, slip })
    }
}

/// The items that a case is about, each with the root that stands for every item of its list.
fn items(case: &Case) -> impl Iterator<Item = (&Root, &Root)> {
    case.iter().filter_map(|(item, demand)| match demand {
        Demand::ItemOf(each) => Some((&item.root, each)),
        _ => None,
    })
}

/// The texts that a subject is asked to be.
fn words<'d>(demands: &[&'d Demand]) -> impl Iterator<Item = &'d str> {
    let texts = demands.iter().flat_map(|demand| match demand {
        Demand::Compares(Compare::Equal, value) => std::slice::from_ref(value),
        Demand::Among(values, true) => values,
        _ => &[],
    });
    let texts: Vec<&str> = texts.filter_map(Value::as_str).collect();
    texts.into_iter()
}

/// What must hold where a place is read: what it lies in is not null, and long enough.
fn there(subjects: &BTreeMap<&DemandSubject, Vec<&Demand>>) -> Vec<(DemandSubject, Demand)> {
    let mut there = Vec::new();
    // Why: what one subject lies in is another.
    if subjects.len() < 2 {
        return there;
    }
    for subject in subjects.keys() {
        for (at, segment) in subject.path.iter().enumerate() {
            let holder = subject.path.get(..at).unwrap_or_default();
            let through = subject.path.get(..=at).unwrap_or_default();
            let demand = Demand::Compares(Compare::Equal, json!(true));
            there.push((presence(&subject.root, through), demand));
            if at > 0 {
                there.push(not_null(&subject.root, holder));
            }
            if let Segment::Index(index) = segment {
                let demand = Demand::Compares(Compare::Greater, json!(index));
                let size = DemandSubject {
                    root: subject.root.clone(),
                    path: holder.to_vec(),
                    is_size: true,
                };
                there.push((size, demand));
            }
        }
    }
    there
}

fn shown(subject: &DemandSubject) -> String {
    if subject.is_of_witness() {
        let reference = Reference {
            root: Root::Item,
            path: subject.path.clone(),
            tested: false,
            span: Span::default(),
        };
        return reference.to_string();
    }
    // Why: the text of what is computed is no text that anybody wrote.
    if let Root::Unknown(_) = subject.root {
        return "one condition".to_owned();
    }
    let reference = Reference {
        root: subject.root.clone(),
        path: subject.path.clone(),
        tested: false,
        span: Span::default(),
    };
    if subject.is_size {
        format!("size({reference})")
    } else {
        reference.to_string()
    }
}

/// Why no value at all meets the demands.
fn among_themselves(subject: &DemandSubject, demands: &[&Demand]) -> Option<String> {
    let values = asked_for(demands);
    if let Some(values) = values {
        let met = values
            .iter()
            .any(|value| demands.iter().all(|demand| meets(value, demand)));
        let contradicted = || {
            let shown = shown(subject);
            format!("`{shown}` cannot be all that is asked of it at once")
        };
        return (!met).then(contradicted);
    }
    let range = Range::of(demands);
    range.is_empty().then(|| {
        format!(
            "no number is both {} for `{}`",
            range.words(),
            shown(subject)
        )
    })
}

/// The values that one demand lists; no other can meet it.
fn asked_for(demands: &[&Demand]) -> Option<Vec<Value>> {
    demands.iter().find_map(|demand| match demand {
        Demand::Compares(Compare::Equal, value) => Some(vec![value.clone()]),
        Demand::Among(values, true) => Some(values.clone()),
        _ => None,
    })
}

/// Why no value of a type meets the demands.
fn of_type(subject: &DemandSubject, ty: &Type, demands: &[&Demand]) -> Option<String> {
    let meets_all = |value: &Value| demands.iter().all(|demand| meets(value, demand));
    if let Some(asked) = asked_for(demands) {
        let asked: Vec<&Value> = asked.iter().filter(|value| meets_all(value)).collect();
        // Why: a value of a wrong kind is `types`' finding.
        let own_kind = |value: &Value| {
            let kinds = Type::of_value(value).kinds();
            value.is_null() || ty.kinds().as_numbers().meets(kinds)
        };
        let never = asked.iter().all(|v| own_kind(v) && ty.excludes(v));
        return (never && !asked.is_empty()).then(|| {
            let list: Vec<String> = asked.iter().map(|v| crate::digest::canonical(v)).collect();
            format!("`{}` is never {}", shown(subject), list.join(" or "))
        });
    }
    let listed = ty.values();
    if !listed.is_empty() {
        let met = listed.iter().any(meets_all);
        return (!met).then(|| format!("no value that `{}` can have is left", shown(subject)));
    }
    let range = Range::of(demands);
    if !range.is_bounded() || !ty.kinds().within(Kinds::NUMBER | Kinds::NULL) {
        return None;
    }
    let numbers = ty.never_fits(&Type::of_json(&range.schema()));
    if numbers.is_some() {
        return Some(format!("`{}` is never {}", shown(subject), range.words()));
    }
    let none_left = ty.kinds().within(Kinds::INTEGER | Kinds::NULL)
        && (runs_out(ty, demands, range.most, -1) || runs_out(ty, demands, range.least, 1));
    none_left.then(|| format!("no whole number that `{}` can be is left", shown(subject)))
}

/// Most whole numbers that are tried one by one.
const NUMBERS_TRIED_MAX: i64 = 16;

/// Whether no whole number of a type meets the demands, from one bound on; `step` leads into the
/// range. Not decided where there are many.
fn runs_out(ty: &Type, demands: &[&Demand], from: Option<(&Value, bool)>, step: i64) -> bool {
    let Some(from) = from.and_then(|(bound, _)| bound.as_i64()) else {
        return false;
    };
    let side = if step < 0 { "maximum" } else { "minimum" };
    for away in 0..NUMBERS_TRIED_MAX {
        let Some(number) = from.checked_add(away * step) else {
            return false;
        };
        let rest = json!({ "type": "number", side: number });
        if ty.never_fits(&Type::of_json(&rest)).is_some() {
            return true;
        }
        let value = json!(number);
        if !ty.excludes(&value) && demands.iter().all(|demand| meets(&value, demand)) {
            return false;
        }
    }
    false
}

/// Whether a value meets a demand; in doubt it does.
pub(super) fn meets(value: &Value, demand: &Demand) -> bool {
    let equal = |other: &Value| order(value, other) == Some(Ordering::Equal) || value == other;
    match demand {
        Demand::Nothing => false,
        Demand::Relates(_) | Demand::ItemOf(_) | Demand::Holds(_) => true,
        Demand::Among(values, inside) => values.iter().any(equal) == *inside,
        Demand::Compares(Compare::Equal, other) => equal(other),
        Demand::Compares(Compare::NotEqual, other) => !equal(other),
        Demand::Compares(operator, other) => {
            let Some(order) = order(value, other) else {
                return true;
            };
            match operator {
                Compare::Less => order.is_lt(),
                Compare::LessEqual => order.is_le(),
                Compare::Greater => order.is_gt(),
                Compare::GreaterEqual => order.is_ge(),
                Compare::Equal | Compare::NotEqual | Compare::In => true,
            }
        }
    }
}

fn order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (a.as_i64(), b.as_i64()) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// The numbers between two bounds.
#[derive(Default)]
struct Range<'d> {
    least: Option<(&'d Value, bool)>,
    most: Option<(&'d Value, bool)>,
}

impl<'d> Range<'d> {
    fn of(demands: &[&'d Demand]) -> Self {
        let mut range = Self::default();
        for demand in demands {
            let Demand::Compares(operator, value @ Value::Number(_)) = demand else {
                continue;
            };
            let strict = matches!(operator, Compare::Less | Compare::Greater);
            match operator {
                Compare::Greater | Compare::GreaterEqual => {
                    narrow(&mut range.least, (value, strict), Ordering::Greater);
                }
                Compare::Less | Compare::LessEqual => {
                    narrow(&mut range.most, (value, strict), Ordering::Less);
                }
                Compare::Equal | Compare::NotEqual | Compare::In => {}
            }
        }
        range
    }

    fn is_bounded(&self) -> bool {
        self.least.is_some() || self.most.is_some()
    }

    fn is_empty(&self) -> bool {
        let (Some((least, above)), Some((most, below))) = (self.least, self.most) else {
            return false;
        };
        match order(least, most) {
            Some(Ordering::Greater) => true,
            Some(Ordering::Equal) => above || below,
            Some(Ordering::Less) | None => false,
        }
    }

    fn words(&self) -> String {
        let bound = |bound: Option<(&Value, bool)>, strict: &str, or: &str| {
            bound.map(|(value, is_strict)| {
                let operator = if is_strict { strict } else { or };
                format!("`{operator} {value}`")
            })
        };
        let bounds = [bound(self.least, ">", ">="), bound(self.most, "<", "<=")];
        let bounds: Vec<String> = bounds.into_iter().flatten().collect();
        bounds.join(" and ")
    }

    fn schema(&self) -> Value {
        let mut schema = Map::from_iter([("type".to_owned(), json!("number"))]);
        let mut put = |bound: Option<(&Value, bool)>, strict: &str, or: &str| {
            if let Some((value, is_strict)) = bound {
                let key = if is_strict { strict } else { or };
                schema.insert(key.to_owned(), value.clone());
            }
        };
        put(self.least, "exclusiveMinimum", "minimum");
        put(self.most, "exclusiveMaximum", "maximum");
        Value::Object(schema)
    }
}

/// Keeps the narrower of two bounds; `narrower` is the order of a narrower one to a wider.
fn narrow<'d>(
    known: &mut Option<(&'d Value, bool)>,
    (value, strict): (&'d Value, bool),
    narrower: Ordering,
) {
    let is_narrower = match known {
        None => true,
        Some((other, _)) => {
            let order = order(value, other);
            order == Some(narrower) || (order == Some(Ordering::Equal) && strict)
        }
    };
    if is_narrower {
        *known = Some((value, strict));
    }
}

#[cfg(test)]
mod tests;
