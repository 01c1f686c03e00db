//! A plan as people read it: order, tool, effect, verdict; and what changed in a revision.

use provost_plan::catalog::{Catalog, Effect};
use provost_plan::check::{CheckedPlan, StepRecord};
use provost_plan::duration;
use provost_plan::plan::{Step, StepKind, Subgoal};
use provost_plan::policy::{Decision, Verdict};
use provost_plan::reach::lapse;
pub use provost_plan::reach::waves;

use super::page::{Cell, Page, TextStyle};
use super::sentences::policies;
use super::words::count;

/// The table of steps with their verdicts; `only` keeps some of them.
pub fn table(page: &mut Page, plan: &CheckedPlan, catalog: &Catalog, only: impl Fn(&str) -> bool) {
    let rows: Vec<Vec<Cell>> = waves(plan)
        .into_iter()
        .filter(|(_, step, _)| only(&step.id.value))
        .map(|(number, step, record)| row(number, step, record, catalog))
        .collect();
    page.table_within(2, &rows, crate::output::note_width());
}

fn row(number: usize, step: &Step, record: &StepRecord, catalog: &Catalog) -> Vec<Cell> {
    let mut row = vec![
        Cell::new(TextStyle::Faint, number.to_string()),
        Cell::new(TextStyle::Strong, step.id.value.clone()),
        Cell::plain(what(step)),
        effect_cell(effect(step, catalog)),
    ];
    row.extend(verdict_cells(step, record.verdict.as_ref()));
    row.push(Cell::new(TextStyle::Faint, conditions(step)));
    row
}

/// The tool that a step calls, or what it does instead.
pub fn what(step: &Step) -> &str {
    match &step.kind {
        StepKind::Tool { tool, .. } => &tool.value,
        StepKind::Question { .. } => "(question)",
        StepKind::Subgoal(_) => "(subgoal)",
        StepKind::Assertion(_) => "(assert)",
    }
}

/// What a step does to the world, and what the steps may do that an open subgoal is refined into;
/// none for what makes no call.
pub fn effect(step: &Step, catalog: &Catalog) -> Option<Effect> {
    if let Some(subgoal) = step.subgoal() {
        let open = subgoal.is_open();
        return open.then_some(subgoal.effect_max.value);
    }
    catalog
        .get(&step.tool()?.value)
        .map(|operation| operation.effect)
}

/// The word of an effect.
pub fn effect_cell(effect: Option<Effect>) -> Cell {
    let look = effect.map_or(TextStyle::Plain, effect_look);
    Cell::new(look, effect.map_or("-", Effect::word))
}

/// The look of an effect: the further it reaches, the louder.
pub fn effect_look(effect: Effect) -> TextStyle {
    match effect {
        Effect::Read => TextStyle::Plain,
        Effect::Egress | Effect::Write => TextStyle::Warn,
        Effect::External | Effect::Destructive => TextStyle::Bad,
    }
}

fn verdict_cells(step: &Step, verdict: Option<&Verdict>) -> [Cell; 2] {
    if let Some(subgoal) = step.subgoal() {
        let envelope = Cell::new(TextStyle::Faint, envelope(subgoal));
        return match subgoal.is_open() {
            true => [Cell::new(TextStyle::Warn, "open"), envelope],
            false => [Cell::plain("refined"), envelope],
        };
    }
    if let Some(assertion) = step.assertion() {
        let condition = bare(assertion.condition.text());
        return [Cell::plain("looks"), Cell::new(TextStyle::Faint, condition)];
    }
    let Some(verdict) = verdict else {
        return [
            Cell::new(TextStyle::Warn, "answer"),
            Cell::plain(from_whom(step)),
        ];
    };
    let asks = step.approval_required && verdict.decision == Decision::Permit;
    let (look, word) = match verdict.decision {
        Decision::Permit if asks => (TextStyle::Warn, Decision::Ask.word()),
        Decision::Permit => (TextStyle::Good, verdict.decision.word()),
        Decision::Ask => (TextStyle::Warn, verdict.decision.word()),
        Decision::Forbid => (TextStyle::Bad, verdict.decision.word()),
    };
    let by = if asks {
        "by the plan".to_owned()
    } else {
        policies(verdict)
    };
    [Cell::new(look, word), Cell::new(TextStyle::Faint, by)]
}

/// How far the steps of a subgoal may reach.
pub fn envelope(subgoal: &Subgoal) -> String {
    let tools: Vec<&str> = subgoal.tools.iter().map(|t| t.value.as_str()).collect();
    let (steps, tools) = (subgoal.steps_max.value, tools.join(", "));
    let steps = count(usize::try_from(steps).unwrap_or(usize::MAX), "step");
    let most = subgoal.effect_max.value.word();
    format!("up to {steps} of {tools}, no more than {most}")
}

fn from_whom(step: &Step) -> String {
    match &step.kind {
        StepKind::Question { of, expires, .. } => {
            let of = of.as_ref().map(|of| of.value.as_str());
            let of = of.unwrap_or("anyone who may approve");
            let lapse = expires.iter().map(|expires| format!(" {}", lapse(expires)));
            format!("from {of}{}", lapse.collect::<String>())
        }
        _ => "from anyone who may approve".to_owned(),
    }
}

/// In what role a step is, over what it runs, and whether.
pub fn conditions(step: &Step) -> String {
    let mut parts = Vec::new();
    if let Some(role) = step.role() {
        parts.push(format!("as {role}"));
    }
    if let Some(each) = &step.for_each {
        parts.push(format!(
            "for each of up to {}",
            count_of(each.max_items.value)
        ));
    }
    if let Some(fresh) = &step.fresh {
        parts.push(format!(
            "on readings of the last {}",
            duration::print(fresh.value)
        ));
    }
    if let Some(when) = &step.when {
        parts.push(format!("when {}", bare(when.text())));
    }
    parts.join(", ")
}

fn count_of(n: u64) -> String {
    count(usize::try_from(n).unwrap_or(usize::MAX), "item")
}

/// An expression without the marks around it.
pub fn bare(template: &str) -> String {
    let inner = template
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let inner = inner
        .filter(|inner| !inner.contains("${"))
        .unwrap_or(template);
    inner.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How many steps there are, by effect.
pub fn steps_line(plan: &CheckedPlan, catalog: &Catalog) -> String {
    let steps = &plan.plan().steps;
    let mut parts = vec![count(steps.len(), "step")];
    for (word, effect_of) in Effect::WORDS {
        let n = steps
            .iter()
            .filter(|step| effect(step, catalog) == Some(effect_of))
            .count();
        if n > 0 {
            parts.push(format!("{n} {word}"));
        }
    }
    parts.join(", ")
}

/// One line that sums a plan up: steps, effects, what is asked.
pub fn summary(plan: &CheckedPlan, catalog: &Catalog) -> String {
    let is_question = |step: &&Step| matches!(step.kind, StepKind::Question { .. });
    let steps = || plan.plan().steps.iter();
    let approvals = steps().filter(|step| !is_question(step) && asks(plan, step));
    let asked = match approvals.count() {
        0 => "no approval needed".to_owned(),
        n => format!("approval needed for {}", count(n, "step")),
    };
    let questions = match steps().filter(is_question).count() {
        0 => String::new(),
        n => format!("; {}", count(n, "question")),
    };
    format!("{}; {asked}{questions}", steps_line(plan, catalog))
}

/// Whether a person is asked about a step.
pub fn asks(plan: &CheckedPlan, step: &Step) -> bool {
    if step.subgoal().is_some() || step.assertion().is_some() {
        return false;
    }
    let verdict = plan
        .step(&step.id.value)
        .and_then(|(_, record)| record.verdict.as_ref());
    step.approval_required || verdict.is_none_or(|verdict| verdict.decision == Decision::Ask)
}
