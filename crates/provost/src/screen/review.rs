//! A plan as a reviewer reads it: first what decides (where things go, who is asked, what it can
//! cost, what it changes), then the order, what is left to run time and what nobody looked at, and
//! last every step in detail.
//!
//! Owns the order and the brevity of the review. INVARIANT: whatever changes something stands
//! above the details, with every argument of it and where that comes from.

use std::collections::BTreeMap;

use provost_engine::proposal::CheckedFile;
use provost_engine::workspace::Workspace;
use provost_plan::catalog::Effect;
use provost_plan::check::StepRecord;
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::digest::canonical;
use provost_plan::duration;
use provost_plan::label::Label;
use provost_plan::plan::{OnFailure, Step, StepKind};
use provost_plan::reach::{CheckedUnder, Reach, asked};
use provost_plan::render::{self, Style};

use super::page::{Cell, Page, TextStyle};
use super::plan::{
    bare, conditions, effect, effect_cell, effect_look, envelope, label, policies, steps_line,
    waves, what,
};
use super::words::{at_most, count};
use crate::output;

/// Fewest columns in which a whole digest fits beside its name.
const DIGEST_WIDTH_MIN: usize = 86;

type Reviewed<'a> = [(usize, &'a Step, &'a StepRecord)];

/// The whole review, as wide as the terminal.
pub fn plan(
    page: &mut Page,
    judged: &CheckedFile,
    checkup: &CheckedUnder<'_>,
    workspace: &Workspace,
    playbook: Option<&str>,
) {
    let width = output::width();
    let reviewed = waves(checkup.plan);
    head(page, judged, checkup, width);
    identity(page, checkup, workspace, playbook, width);
    changes(page, checkup, &reviewed, width);
    order(page, checkup, &reviewed, width);
    run_time(page, &reviewed);
    // Why no notes: what they say stands above, step by step.
    let warnings: Vec<Diagnostic> = judged
        .diagnostics
        .iter()
        .filter(|finding| finding.severity() > Severity::Note)
        .cloned()
        .collect();
    if !warnings.is_empty() {
        page.end().strong("findings").end();
        let style = Style { color: true };
        page.drawn(render::render(&judged.source, &warnings, style).trim_end());
        page.end();
    }
    if !judged.not_checked.is_empty() {
        page.end().strong("not checked").end();
        for line in &judged.not_checked {
            page.line(&format!("  {line}"));
        }
    }
    details(page, checkup, &reviewed);
    proofs(page, judged, checkup);
}

/// What decides: the goal, where values go, who is asked, what it can take.
fn head(page: &mut Page, judged: &CheckedFile, checkup: &CheckedUnder<'_>, width: usize) {
    let goal = match judged.goal.text.as_str() {
        "" => "not set",
        text => text,
    };
    page.wrapped("goal", goal, width);
    page.wrapped("reach", &Reach::of(checkup).line(), width);
    let mut asks: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (step, record) in checkup.steps() {
        if let Some(mut terms) = asked(step, record) {
            if let StepKind::Question { text, .. } = &step.kind {
                terms.push_str(&format!(" to \"{}\"", text.text()));
            }
            asks.entry(terms).or_default().push(&step.id.value);
        }
    }
    if asks.is_empty() {
        page.field("approvals", "none needed");
    }
    for (number, (terms, steps)) in asks.iter().enumerate() {
        let name = if number == 0 { "approvals" } else { "" };
        page.wrapped(name, &format!("{}: {terms}", steps.join(", ")), width);
    }
    page.wrapped("at most", &at_most(checkup.worst), width);
}

fn identity(
    page: &mut Page,
    checkup: &CheckedUnder<'_>,
    workspace: &Workspace,
    playbook: Option<&str>,
    width: usize,
) {
    let approves = if workspace.is_solo() {
        "solo workspace: the requester may also approve"
    } else {
        "another person approves"
    };
    page.field("requester", &format!("{}; {approves}", workspace.user().id));
    if let Some(playbook) = playbook {
        page.field("planner", &format!("playbook {playbook}"));
    }
    let digest = checkup.plan.record().digest;
    if width < DIGEST_WIDTH_MIN {
        page.field("plan", &format!("sha256:{}…", digest.short()));
    } else {
        page.field("plan", &digest.to_string());
    }
}

/// Every step that is more than a plain read, with all its arguments, none of them cut.
fn changes(page: &mut Page, checkup: &CheckedUnder<'_>, steps: &Reviewed<'_>, width: usize) {
    if !steps
        .iter()
        .any(|(_, step, _)| acts(checkup, step).is_some())
    {
        return;
    }
    page.end().strong("what it changes").end();
    for (_, step, record) in steps {
        let Some(effect) = acts(checkup, step) else {
            continue;
        };
        let tool = what(step);
        page.text("  ").strong(&step.id.value);
        page.text(&format!("  {tool}  "))
            .put(effect_look(effect), effect.word());
        page.text(&format!(", {} risk", record.risk.word()));
        if let Some(verdict) = &record.verdict {
            page.text(&format!(", {} ", verdict.decision.word()));
            page.faint(&policies(verdict));
        }
        page.end();
        let mut rows = Vec::new();
        if let Some(subgoal) = step.subgoal() {
            let text = subgoal.text.value.clone();
            rows.push(("to".to_owned(), text, String::new()));
            rows.push(("by".to_owned(), envelope(subgoal), String::new()));
        }
        if let Some(each) = &step.for_each {
            let items = format!("{} of {}", each.max_items.value, bare(each.list.text()));
            rows.push(("for up to".to_owned(), items, label(&record.control)));
        }
        if let Some(when) = &step.when {
            rows.push((
                "only if".to_owned(),
                bare(when.text()),
                label(&record.control),
            ));
        }
        let is_sink = |name: &str| checkup.is_sink(step, name);
        // Why first: who or what is reached weighs more than what is said.
        for sink in [true, false] {
            for (name, from) in record.labels.iter().filter(|(n, _)| is_sink(n) == sink) {
                let (value, _) = checkup.argument(step, name);
                let name = if sink {
                    format!("→ {name}")
                } else {
                    name.clone()
                };
                rows.push((name, value.trim_matches('"').to_owned(), label(from)));
            }
        }
        let column = rows
            .iter()
            .map(|(name, ..)| name.chars().count())
            .max()
            .unwrap_or(0);
        for (name, value, from) in rows {
            let lead = format!("      {name:<column$}  ");
            page.hanging(&lead, &value, width);
            if !from.is_empty() {
                let indent = " ".repeat(column + 8);
                page.put(TextStyle::Warn, &format!("{indent}← {from}"))
                    .end();
            }
        }
    }
}

/// The effect of a step that is more than a plain read.
fn acts(checkup: &CheckedUnder<'_>, step: &Step) -> Option<Effect> {
    effect(step, checkup.catalog).filter(|effect| *effect != Effect::Read)
}

/// All steps, in the order in which they may run.
fn order(page: &mut Page, checkup: &CheckedUnder<'_>, steps: &Reviewed<'_>, width: usize) {
    page.end().strong("order").text(": ");
    page.line(&steps_line(checkup.plan, checkup.catalog));
    let row = |(number, step, record): &(usize, &Step, &StepRecord)| {
        let tool = what(step);
        let asks = asked(step, record).map_or("", |_| "asks");
        vec![
            Cell::new(TextStyle::Faint, number.to_string()),
            Cell::new(TextStyle::Strong, step.id.value.clone()),
            Cell::plain(tool),
            effect_cell(effect(step, checkup.catalog)),
            Cell::new(TextStyle::Warn, asks),
            Cell::new(TextStyle::Faint, conditions(step)),
        ]
    };
    let rows: Vec<Vec<Cell>> = steps.iter().map(row).collect();
    page.table_within(2, &rows, width);
}

fn run_time(page: &mut Page, steps: &Reviewed<'_>) {
    let checks: usize = steps
        .iter()
        .map(|(.., record)| record.run_checks.len())
        .sum();
    if checks == 0 {
        return;
    }
    page.end().strong("checked only when it runs").text(": ");
    page.line(&count(checks, "value"));
    for (_, step, record) in steps {
        for check in &record.run_checks {
            page.line(&format!(
                "  {}{}: {}",
                step.id.value, check.argument, check.reason
            ));
        }
    }
}

fn details(page: &mut Page, checkup: &CheckedUnder<'_>, steps: &Reviewed<'_>) {
    page.end().strong("in detail").end();
    for (_, step, record) in steps {
        page.text("  ").strong(&step.id.value);
        if let Some(description) = &step.description {
            page.text(&format!(": {}", description.value));
        }
        page.end();
        if acts(checkup, step).is_none() {
            inputs(page, step, record);
        }
        if let Some(until) = &step.until {
            let waits = format!(
                ", every {} for at most {}",
                duration::print(until.every),
                duration::print(until.at_most)
            );
            page.faint("    repeated until ")
                .text(&bare(until.condition.text()))
                .line(&waits);
        }
        for accept in &step.accept {
            page.faint("    done if ")
                .line(bare(accept.text()).as_str());
        }
        if let Some(confirm) = &step.confirm {
            let read = format!("{} {}", confirm.tool.value, confirmed_with(step));
            page.faint("    confirmed by ").line(read.trim_end());
            for accept in &confirm.accept {
                page.faint("      if ").line(bare(accept.text()).as_str());
            }
        }
        if let Some(undo) = &step.undo {
            let call = format!("{} {}", undo.tool.value, undone_with(step));
            page.faint("    undone by ").line(call.trim_end());
        }
        if let Some(subgoal) = step.subgoal() {
            page.faint("    refined by ").line(&envelope(subgoal));
            if let Some(result) = &subgoal.result {
                page.faint("    comes to ").line(&bare(result.text()));
            }
        }
        let after: Vec<&str> = record.after.iter().map(String::as_str).collect();
        if !after.is_empty() {
            page.faint("    after ").line(&after.join(", "));
        }
        let on_failure = match step.on_failure {
            OnFailure::Replan => None,
            OnFailure::Stop => Some("the run fails"),
            OnFailure::Continue => Some("the plan goes on"),
            OnFailure::Escalate => Some("a person is asked"),
        };
        if let Some(then) = on_failure {
            page.faint("    if it fails ").line(then);
        }
    }
}

/// The arguments of the read that proves a step, as they are written.
fn confirmed_with(step: &Step) -> String {
    let args = step.value.pointer("/confirm/args");
    args.map(canonical).unwrap_or_default()
}

/// The arguments of the call that undoes a step, as they are written.
fn undone_with(step: &Step) -> String {
    let args = step.value.pointer("/undo/args");
    args.map(canonical).unwrap_or_default()
}

/// The arguments of a plain read, and what decides whether it runs.
fn inputs(page: &mut Page, step: &Step, record: &StepRecord) {
    let from = |page: &mut Page, from: &Label| {
        let from = label(from);
        if !from.is_empty() {
            page.put(TextStyle::Warn, &format!("  ← {from}"));
        }
        page.end();
    };
    let args = step.value.get("args").and_then(|args| args.as_object());
    for (name, value) in args.into_iter().flatten() {
        page.faint(&format!("    {name}: "))
            .text(&value.to_string());
        from(page, record.labels.get(name).unwrap_or(&Label::trusted()));
    }
    if let Some(when) = &step.when {
        page.faint("    only if ").text(&bare(when.text()));
        from(page, &record.control);
    }
}

fn proofs(page: &mut Page, judged: &CheckedFile, checkup: &CheckedUnder<'_>) {
    if judged.goal.success.is_empty() {
        return;
    }
    page.end().strong("proven by").end();
    for criterion in &judged.goal.success {
        page.line(&format!("  {}", criterion.text));
        let proofs = checkup.plan.plan().success.iter();
        for proof in proofs.filter(|proof| proof.criterion.value == criterion.id) {
            page.faint("    if ").line(&bare(proof.check.text()));
        }
    }
}
