//! A plan as whoever says yes reads it: what decides, then each step in the order in which it may
//! run, a read in a line and whatever changes something in one place, then what proves the goal
//! and what nobody looked at.
//!
//! Owns the order and the brevity of the review. INVARIANT: of what changes something nothing is
//! cut: each argument stands there whole, with where it comes from.

use provost_engine::proposal::CheckedFile;
use provost_engine::workspace::Workspace;
use provost_plan::check::{CheckedPlan, budget::WorstCase};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::money::Money;
use provost_plan::plan::{Goal, StepKind};
use provost_plan::reach::{CheckedUnder, Reach, asked};

use super::page::{Page, TextStyle};
use super::plan::{bare, steps_line};
use super::words::{at_most, count};
use crate::output;

mod step;

pub use step::steps;

/// What stands before a warning, as wide as the name of a field.
const WARNING: &str = "  warning    ";
/// Fewest columns in which a whole digest fits beside its name.
const DIGEST_WIDTH_MIN: usize = 86;

/// The whole review, as wide as the terminal.
pub fn plan(
    page: &mut Page,
    judged: &CheckedFile,
    checkup: &CheckedUnder<'_>,
    workspace: &Workspace,
    playbook: Option<&str>,
) {
    let width = output::width();
    head(page, &judged.goal, checkup, width);
    identity(page, checkup.plan, workspace, playbook, width);
    page.end();
    steps(page, &checkup.reviews(), width);
    page.end();
    proofs(page, &judged.goal, checkup.plan, width);
    warnings(page, judged, width);
    let list = judged.not_checked.iter().map(String::as_str);
    let list: Vec<&str> = list.filter(|line| !stands_beside(line)).collect();
    page.wrapped("unchecked", &list.join("; "), width);
}

/// Whether what was not looked at is said beside each step that it is about.
fn stands_beside(line: &str) -> bool {
    let said = [
        "arguments that are checked at run time",
        "whether a lost reply can be settled",
        "what calls cost",
        "worst case, ",
    ];
    said.iter().any(|said| line.starts_with(said))
}

/// What decides: the goal, where values go, how many steps change something, what it can take.
fn head(page: &mut Page, goal: &Goal, checkup: &CheckedUnder<'_>, width: usize) {
    let goal = match goal.text.as_str() {
        "" => "not set",
        text => text,
    };
    page.wrapped("goal", goal, width);
    page.wrapped("reach", &Reach::of(checkup).line(), width);
    let questions = |kind: &StepKind| matches!(kind, StepKind::Question { .. });
    let mut line = steps_line(checkup.plan, checkup.catalog);
    let asking = checkup.plan.plan().steps.iter();
    match asking.filter(|step| questions(&step.kind)).count() {
        0 => {}
        n => line.push_str(&format!(", {}", count(n, "question"))),
    }
    match checkup
        .steps()
        .filter(|(step, record)| asked(step, record).is_some())
        .count()
    {
        0 => line.push_str("; none waits for a person"),
        1 => line.push_str("; 1 waits for a person"),
        n => line.push_str(&format!("; {n} wait for a person")),
    }
    page.wrapped("plan", &line, width);
    page.wrapped("at most", &cost(checkup.worst), width);
    let sums = sums(checkup.worst);
    if !sums.is_empty() {
        page.wrapped("adds up", &sums.join("; "), width);
    }
}

/// What the calls of a plan add up to, of each counted value that they add to.
fn sums(worst: &WorstCase) -> Vec<String> {
    let added = worst
        .values
        .iter()
        .filter(|(_, value)| !value.steps.is_empty());
    let sums = added.map(|(name, value)| match value.most {
        Some(most) => format!("{name} up to {most}"),
        None => format!("{name} without a bound"),
    });
    sums.collect()
}

/// The most a plan can take, with its price as far as that is set.
fn cost(worst: &WorstCase) -> String {
    let money = worst.money;
    match worst.money_is_total {
        true => format!("{}; costs {money}", at_most(worst)),
        false if money == Money::ZERO => format!("{}; cost not set", at_most(worst)),
        false => format!("{}; known costs {money}", at_most(worst)),
    }
}

fn identity(
    page: &mut Page,
    plan: &CheckedPlan,
    workspace: &Workspace,
    playbook: Option<&str>,
    width: usize,
) {
    let approves = if workspace.is_solo() {
        "solo workspace: the requester may also approve"
    } else {
        "another person approves"
    };
    page.wrapped(
        "requester",
        &format!("{}; {approves}", workspace.user().id),
        width,
    );
    if let Some(playbook) = playbook {
        page.wrapped("planner", &format!("playbook {playbook}"), width);
    }
    let digest = plan.record().digest;
    if width < DIGEST_WIDTH_MIN {
        page.field("digest", &format!("sha256:{}…", digest.short()));
    } else {
        page.field("digest", &digest.to_string());
    }
}

/// What shows that the goal is reached.
fn proofs(page: &mut Page, goal: &Goal, plan: &CheckedPlan, width: usize) {
    for criterion in &goal.success {
        let proofs = plan.plan().success.iter();
        let own = proofs.filter(|proof| proof.criterion.value == criterion.id);
        let checks: Vec<String> = own.map(|proof| bare(proof.check.text())).collect();
        let text = format!("{}: {}", criterion.text, checks.join(" and "));
        page.wrapped("proof", &text, width);
    }
}

/// What is probably a mistake, a line each; `check` draws it over the text.
fn warnings(page: &mut Page, judged: &CheckedFile, width: usize) {
    let found = judged.diagnostics.iter();
    // Why no notes: what they say stands above, step by step.
    let warns = |finding: &&Diagnostic| finding.severity() > Severity::Note;
    for finding in found.filter(warns) {
        let (line, _) = judged.source.position(finding.span.start);
        let place = format!("{}:{line}", judged.source.name);
        let text = format!("{} {} ({place})", finding.code, finding.message);
        page.put(TextStyle::Warn, WARNING);
        page.rest(WARNING.len(), &text, None, width);
    }
}
