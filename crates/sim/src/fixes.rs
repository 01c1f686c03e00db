//! What `check --fix` may do to a plan: a second judge of every fix.
//!
//! Owns the definition of a safe fix, and shares no code with the check or the fixes; the check is
//! asked only what it finds in a text, and what policy says. INVARIANT: what is not allowed here by
//! name is a fault.
//!
//! A fix may write a name in place of one that is the same but for a slip of the hand, and leave
//! out an entry of `needs`, `fresh` or `risk` ([`changes`]). Of the plan it leaves must hold:
//!
//! - **order**: no step waits for less ([`order`]);
//! - **approvals**: no verdict is milder, no reason to ask is gone, nothing is shown as trusted
//!   that was not, and `approval: required` stays;
//! - **conditions**: every guard, acceptance, confirmation, `until` and proof lets pass no more,
//!   over generated outputs ([`conditions`]); `undo`, limits and all else stay as they are;
//! - `fresh` goes only where the step acts on no reading, `risk` only where it is below that of
//!   the operation: neither had an effect;
//! - **meaning**: if the plan compiled, it does the same in every simulated world as before; if
//!   not, and a good plan is known of which this is a mutant, every name that was written is the
//!   one that the author of the good plan wrote there, and all of the above holds against that
//!   plan;
//! - **help**: the finding is gone, no error came, and a second time there is nothing to fix.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::catalog::Catalog;
use provost_plan::check::CheckedPlan;
use provost_plan::diagnostic::{Diagnostic, has_errors};
use provost_plan::fix::{Editor, Repair, edited, mend};
use provost_plan::node::parse_yaml;
use provost_plan::plan::{Goal, Plan};
use provost_plan::source::Source;
use serde_json::Value;

use crate::mutate::document::{Document, id_of};
use crate::mutate::judge::Judgment;
use crate::mutate::naive::World;

pub mod changes;
pub mod conditions;
pub mod order;

use changes::Change;

/// What a check says of a text.
#[derive(Debug)]
pub struct Checkup {
    diagnostics: Vec<Diagnostic>,
    judgment: Judgment,
    plan: Option<CheckedPlan>,
}

impl Checkup {
    /// From what was found, and the plan if there was no error.
    #[must_use]
    pub fn of(diagnostics: Vec<Diagnostic>, plan: Option<CheckedPlan>) -> Self {
        Self {
            judgment: Judgment::of(&diagnostics, plan.as_ref()),
            diagnostics,
            plan,
        }
    }

    /// Whether there is no error.
    #[must_use]
    pub fn compiles(&self) -> bool {
        !has_errors(&self.diagnostics)
    }

    /// How often each finding stands there, by code and message.
    fn tally(&self) -> BTreeMap<(String, String), usize> {
        let mut tally = BTreeMap::new();
        for one in &self.diagnostics {
            let key = (one.code.to_string(), one.message.clone());
            *tally.entry(key).or_default() += 1;
        }
        tally
    }

    fn count(&self, finding: &Diagnostic) -> usize {
        let key = (finding.code.to_string(), finding.message.clone());
        self.tally().get(&key).copied().unwrap_or_default()
    }
}

/// A good plan of which others are mutants.
#[derive(Debug)]
pub struct Meant {
    /// The document.
    pub value: Value,
    /// What the check says of it.
    pub checkup: Checkup,
}

/// What the fixes of texts are tried under.
pub struct Trial<'t> {
    /// The check.
    pub check: &'t dyn Fn(&Source) -> Checkup,
    /// The operations.
    pub catalog: &'t Catalog,
    /// The goal of plans that name none.
    pub goal: &'t Goal,
    /// The plan as its author meant it, if the texts are mutants of one.
    pub meant: Option<&'t Meant>,
    /// In how many generated outputs and worlds plans are compared.
    pub seeds: u64,
}

/// What was tried, and what no fix may do.
#[derive(Debug, Default)]
pub struct Tally {
    /// Texts.
    pub texts: usize,
    /// Texts of which `--fix` wrote another.
    pub mended: usize,
    /// Fixes that are offered, one by one.
    pub offered: usize,
    /// Of these: fixes that help alone.
    pub helped: usize,
    /// Texts that compiled, and still do after a fix.
    pub ran: usize,
    /// How often each code had a fix that helped.
    pub codes: BTreeMap<String, usize>,
    /// What went wrong, one line each.
    pub wrong: Vec<String>,
}

impl Trial<'_> {
    /// Tries every fix of a text, one by one and all together.
    pub fn run(&self, name: &str, source: &Source, tally: &mut Tally) {
        tally.texts += 1;
        let before = (self.check)(source);
        if before.diagnostics.iter().all(|one| one.fix.is_none()) {
            return;
        }
        let editor = Editor::new(source);
        for finding in &before.diagnostics {
            let Some(fix) = editor.fix(finding) else {
                continue;
            };
            tally.offered += 1;
            let Some(text) = edited(&source.text, &fix.edits) else {
                let line = format!("{name}: {}: edits overlap", fix.title);
                tally.wrong.push(line);
                continue;
            };
            let next = Source::new(source.name.clone(), text);
            let after = (self.check)(&next);
            let helps = self.helps(finding, &before, &after);
            tally.helped += usize::from(helps);
            if helps {
                *tally.codes.entry(finding.code.to_string()).or_default() += 1;
            }
            for line in self.faults((source, &before), (&next, &after)) {
                let line = format!("{name}: {} ({}): {line}", fix.title, finding.code);
                tally.wrong.push(line);
            }
        }
        self.all_together(name, (source, &before), tally);
    }

    fn all_together(&self, name: &str, (source, before): (&Source, &Checkup), tally: &mut Tally) {
        let judge = |source: &Source| (self.check)(source).diagnostics;
        let Repair {
            source: next,
            fixed,
            ..
        } = mend(source, judge);
        if fixed.is_empty() {
            return;
        }
        tally.mended += 1;
        let after = (self.check)(&next);
        tally.ran += usize::from(before.compiles() && after.compiles());
        let mut wrong = self.faults((source, before), (&next, &after));
        for one in &fixed {
            if after.count(&one.finding) >= before.count(&one.finding).max(1) {
                wrong.push(format!("{} is still found", one.finding.code));
            }
        }
        if let Some(came) = new_error(before, &after) {
            wrong.push(format!("a new error: {came}"));
        }
        if !mend(&next, judge).fixed.is_empty() {
            wrong.push("a second time there is more to fix".to_owned());
        }
        let titles: Vec<&str> = fixed.iter().map(|one| one.title.as_str()).collect();
        let titles = titles.join("; ");
        let lines = wrong.into_iter();
        tally
            .wrong
            .extend(lines.map(|line| format!("{name}: [{titles}]: {line}")));
    }

    /// Whether a fix by itself takes its finding away and brings no error.
    fn helps(&self, finding: &Diagnostic, before: &Checkup, after: &Checkup) -> bool {
        after.count(finding) < before.count(finding) && new_error(before, after).is_none()
    }

    /// What must not be, of two texts of which one is to be the other after fixes.
    #[must_use]
    pub fn compare(&self, before: &Source, after: &Source) -> Vec<String> {
        let (was, is) = ((self.check)(before), (self.check)(after));
        self.faults((before, &was), (after, &is))
    }

    /// What must not be, of a text before and after fixes.
    fn faults(&self, before: (&Source, &Checkup), after: (&Source, &Checkup)) -> Vec<String> {
        let ((source, was), (next, is)) = (before, after);
        let (Some(one), Some(two)) = (document(source), document(next)) else {
            return vec!["a text that is no document".to_owned()];
        };
        let mut faults = Vec::new();
        for change in changes::between(&one, &two) {
            faults.extend(self.fault_of(&change, (&one, &two), was));
        }
        for (one, two) in order::plans(&one).iter().zip(&order::plans(&two)) {
            faults.extend(order::lost(one, two));
        }
        faults.extend(self.less_asked(was, is));
        let meant = self.meant.filter(|_| !was.compiles() && is.compiles());
        for (one, two) in meant
            .map(|meant| (order::plans(&meant.value), order::plans(&two)))
            .iter()
            .flat_map(|(one, two)| one.iter().zip(two))
        {
            faults.extend(order::lost(one, two));
        }
        let before = meant.map_or(&was.plan, |meant| &meant.checkup.plan);
        if let (Some(one), Some(two)) = (before, &is.plan) {
            let (one, two) = (one.plan(), two.plan());
            faults.extend(conditions::weaker(one, two, self.catalog, self.seeds));
            faults.extend(self.other_effects(one, two));
        }
        faults
    }

    /// What is asked no longer of steps that are in both: of the text before, or of the plan that
    /// its author meant, if the text did not compile.
    fn less_asked(&self, was: &Checkup, is: &Checkup) -> Option<String> {
        let meant = self.meant.map(|meant| &meant.checkup);
        let before = meant.filter(|_| !was.compiles()).unwrap_or(was);
        let mut asked = before.judgment.clone();
        asked.errors.clear();
        asked
            .verdicts
            .retain(|id, _| is.judgment.verdicts.contains_key(id));
        let less = is.compiles() && asked.is_stricter(&is.judgment, &BTreeMap::new());
        let (one, two) = (&asked.verdicts, &is.judgment.verdicts);
        less.then(|| format!("less is asked: {one:?} became {two:?}"))
    }

    /// What two plans do otherwise in simulated worlds.
    fn other_effects(&self, before: &Plan, after: &Plan) -> Vec<String> {
        let own = before.goal.as_ref().map(|goal| &goal.value);
        let goal = own.unwrap_or(self.goal);
        let catalog = self.catalog;
        let differs = (0..self.seeds).find(|seed| {
            let world = World {
                catalog,
                goal,
                seed: *seed,
            };
            world.run(before) != world.run(after)
        });
        let line = |seed| format!("in the world {seed} the plan does something else");
        differs.map(line).into_iter().collect()
    }

    /// Why a change is not allowed, if it is not.
    fn fault_of(
        &self,
        change: &Change,
        (before, after): (&Value, &Value),
        was: &Checkup,
    ) -> Option<String> {
        match change {
            Change::Other { place, what } => Some(format!("{place}: {what}")),
            Change::Need { .. } => None,
            Change::Renamed { place, now, key } => {
                if was.compiles() {
                    return Some(format!("{place}: a name of a plan that compiles"));
                }
                let meant = self.meant?;
                let there = places(before, &meant.value, place);
                let holds = |value: &&Value| match key {
                    true => now.as_str().is_some_and(|key| value.get(key).is_some()),
                    false => *value == now,
                };
                let fails = !there.iter().any(holds);
                fails.then(|| format!("{place}: {now} is not what its author wrote"))
            }
            Change::Fresh { place } => {
                // Why the names after: a slip in the name of a tool may have been put right, and
                // of a tool that there is not nobody knows what it does.
                let named = with_tools_of(before, after, place);
                let acts = acts_on_a_reading(&named, place, self.catalog);
                acts.then(|| format!("{place}: `fresh` had an effect"))
            }
            Change::Risk { place, was } => {
                let step = before.pointer(place)?;
                let tool = step.get("tool").and_then(Value::as_str)?;
                let risk = self
                    .catalog
                    .get(tool)
                    .map(|operation| operation.risk().word());
                let order = ["low", "medium", "high", "critical"];
                let at = |word: Option<&str>| order.iter().position(|known| Some(*known) == word);
                let below = at(was.as_str()) < at(risk);
                (!below).then(|| format!("{place}: `risk` was not below {risk:?}"))
            }
        }
    }
}

fn document(source: &Source) -> Option<Value> {
    Some(parse_yaml(&source.text).ok()?.to_value())
}

/// An error that there was not before. Where the text could not be read, only its form was looked
/// at then.
fn new_error(before: &Checkup, after: &Checkup) -> Option<String> {
    let was = before.tally();
    let is_form = |code: &str| code.starts_with('P');
    let unread = before
        .diagnostics
        .iter()
        .any(|one| is_form(one.code.as_str()));
    let new = after.diagnostics.iter().find(|one| {
        let key = (one.code.to_string(), one.message.clone());
        let known = was.get(&key).copied().unwrap_or_default();
        let counts = !unread || is_form(one.code.as_str());
        has_errors(std::slice::from_ref(*one)) && counts && after.count(one) > known
    });
    new.map(|one| format!("{} {}", one.code, one.message))
}

/// What stands in `other` where `place` points in `document`: of items with a name the one of the
/// same name, of others any.
fn places<'v>(document: &Value, other: &'v Value, place: &str) -> Vec<&'v Value> {
    let mut here = document;
    let mut there = vec![other];
    for part in place.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        match here {
            Value::Array(items) => {
                let Some(item) = part.parse::<usize>().ok().and_then(|at| items.get(at)) else {
                    return Vec::new();
                };
                let of: Vec<&'v Value> = there
                    .iter()
                    .flat_map(|list| list.as_array().into_iter().flatten())
                    .collect();
                let named = |value: &&&'v Value| {
                    ["id", "for"]
                        .iter()
                        .any(|key| item.get(key).is_some() && item.get(key) == value.get(key))
                };
                let same: Vec<&'v Value> = of.iter().filter(named).copied().collect();
                there = if same.is_empty() { of } else { same };
                here = item;
            }
            _ => {
                there = there.iter().filter_map(|map| map.get(&part)).collect();
                let Some(inner) = here.get(&part) else {
                    return Vec::new();
                };
                here = inner;
            }
        }
    }
    there
}

/// The document `before` with the tools that its steps have in the one `after` it.
fn with_tools_of(before: &Value, after: &Value, place: &str) -> Value {
    let mut named = before.clone();
    let plan = place.rsplit_once("/steps/").map_or("", |(plan, _)| plan);
    let list = format!("{plan}/steps");
    let now = after.pointer(&list).and_then(Value::as_array);
    let steps = named.pointer_mut(&list).and_then(Value::as_array_mut);
    for step in steps.into_iter().flatten() {
        let same = now
            .into_iter()
            .flatten()
            .find(|now| now.get("id") == step.get("id"));
        let tool = same.and_then(|now| now.get("tool")).cloned();
        if let (Some(map), Some(tool)) = (step.as_object_mut(), tool) {
            map.insert("tool".to_owned(), tool);
        }
    }
    named
}

/// Whether a step acts on the output of a plain read, at first hand or through reads and answers.
fn acts_on_a_reading(document: &Value, place: &str, catalog: &Catalog) -> bool {
    let Some((plan, _)) = place.rsplit_once("/steps/") else {
        return true;
    };
    let Some(plan) = document.pointer(plan) else {
        return true;
    };
    let plan = Document(plan.clone());
    let effect = |step: &Value| {
        let tool = step.get("tool").and_then(Value::as_str);
        tool.and_then(|name| catalog.get(name))
            .map(|operation| operation.effect)
    };
    let Some(step) = document.pointer(place) else {
        return true;
    };
    if effect(step).is_some_and(|effect| effect.is_read()) || step.get("question").is_some() {
        return false;
    }
    let (mut seen, mut open) = (BTreeSet::new(), vec![step]);
    while let Some(step) = open.pop() {
        let fields = ["when", "for_each", "args", "question", "result"];
        let read = fields.iter().filter_map(|field| step.get(field));
        let read: String = read.map(Value::to_string).collect();
        for source in plan.steps() {
            let output = format!("steps.{}.output", id_of(source));
            if !read.contains(&output) || !seen.insert(id_of(source)) {
                continue;
            }
            match effect(source) {
                Some(provost_plan::catalog::Effect::Read) => return true,
                Some(effect) if !effect.is_read() => {}
                _ => open.push(source),
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_place_is_found_by_names() {
        let meant = json!({ "steps": [
            { "id": "a", "args": { "x": 1 } }, { "id": "b", "needs": ["a"], "args": { "x": 2 } },
        ] });
        let now = json!({ "steps": [{ "id": "b", "needs": ["aa"], "args": { "x": 3 } }] });
        assert_eq!(places(&now, &meant, "/steps/0/args/x"), [&json!(2)]);
        assert_eq!(places(&now, &meant, "/steps/0/needs/0"), [&json!("a")]);
        assert_eq!(
            places(&now, &meant, "/steps/0/args/y"),
            Vec::<&Value>::new()
        );
    }
}
