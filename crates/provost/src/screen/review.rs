//! A plan as a reviewer reads it: what it is for, in which order it does what, what is asked and
//! why, where untrusted values go, what is left to run time and what nobody looked at.

use std::collections::BTreeMap;

use provost_engine::workspace::Workspace;
use provost_plan::check::{CheckedPlan, StepRecord};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::plan::{OnFailure, Step, StepKind};
use provost_plan::render::{self, Style};

use super::page::{Cell, Look, Page};
use super::plan::{asks, bare, effect, label, policies, summary, table, waves};
use crate::proposal::Judged;

/// The whole review.
pub fn plan(
    page: &mut Page,
    judged: &Judged,
    checked: &CheckedPlan,
    workspace: &Workspace,
    playbook: Option<&str>,
) {
    page.field("goal", &judged.goal.text);
    if let Some(playbook) = playbook {
        page.field("planner", &format!("playbook {playbook}"));
    }
    page.field("plan", &checked.record().digest.to_string());
    page.field(
        "asked by",
        &format!("{}; {}", workspace.user().id, may_approve(workspace)),
    );
    page.end()
        .strong("steps")
        .text(": ")
        .line(&summary(checked, workspace.catalog()));
    table(page, checked, workspace.catalog(), |_| true);
    let reviewed = waves(checked);
    asked(page, checked, &reviewed);
    flows(page, &reviewed, workspace);
    run_time(page, &reviewed);
    details(page, &reviewed, workspace);
    proofs(page, judged, checked);
    // Why no notes: what they say stands above, step by step.
    let warnings: Vec<Diagnostic> = judged
        .diagnostics
        .iter()
        .filter(|finding| finding.severity() > Severity::Note)
        .cloned()
        .collect();
    if !warnings.is_empty() {
        page.end().strong("findings").end();
        page.drawn(&render::render(
            &judged.source,
            &warnings,
            Style { color: true },
        ));
    }
    if !judged.not_checked.is_empty() {
        page.end().strong("not checked").end();
        for line in &judged.not_checked {
            page.line(&format!("  {line}"));
        }
    }
}

fn may_approve(workspace: &Workspace) -> &'static str {
    if workspace.is_solo() {
        "solo workspace: who asks may also approve"
    } else {
        "somebody else approves"
    }
}

type Reviewed<'a> = [(usize, &'a Step, &'a StepRecord)];

fn asked(page: &mut Page, checked: &CheckedPlan, steps: &Reviewed<'_>) {
    let asked: Vec<_> = steps
        .iter()
        .filter(|(_, step, _)| asks(checked, step))
        .collect();
    if asked.is_empty() {
        return;
    }
    page.end().strong("asked of a person").end();
    for (_, step, record) in asked {
        let why = match (&step.kind, &record.verdict) {
            (StepKind::Question { text, .. }, _) => text.text().to_owned(),
            (_, Some(verdict)) if verdict.decision != provost_plan::policy::Decision::Permit => {
                policies(verdict)
            }
            _ => "the plan wants it".to_owned(),
        };
        page.text("  ")
            .put(Look::Warn, &step.id.value)
            .line(&format!(": {why}"));
    }
}

fn flows(page: &mut Page, steps: &Reviewed<'_>, workspace: &Workspace) {
    let mut rows = Vec::new();
    for (_, step, record) in steps {
        // Why grouped: what a reviewer looks for is the step that gets anything untrusted at all.
        let mut by_source: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let arguments = record
            .labels
            .iter()
            .map(|(name, from)| (name.as_str(), from));
        for (what, from) in arguments.chain([("whether it runs", &record.control)]) {
            by_source.entry(label(from)).or_default().push(what);
        }
        let reads = effect(step, workspace.catalog()).is_none_or(|effect| effect.is_read());
        for (from, what) in by_source.into_iter().filter(|(from, _)| !from.is_empty()) {
            let look = if reads { Look::Plain } else { Look::Warn };
            rows.push(vec![
                Cell::new(look, step.id.value.clone()),
                Cell::plain(what.join(", ")),
                Cell::new(Look::Faint, from),
            ]);
        }
    }
    if !rows.is_empty() {
        page.end().strong("where untrusted values go").end();
        page.table(2, &rows);
    }
}

fn run_time(page: &mut Page, steps: &Reviewed<'_>) {
    if steps
        .iter()
        .all(|(_, _, record)| record.run_checks.is_empty())
    {
        return;
    }
    page.end().strong("checked when it runs").end();
    for (_, step, record) in steps {
        for check in &record.run_checks {
            page.line(&format!(
                "  {}{}: {}",
                step.id.value, check.argument, check.reason
            ));
        }
    }
}

fn details(page: &mut Page, steps: &Reviewed<'_>, workspace: &Workspace) {
    page.end().strong("in detail").end();
    for (_, step, record) in steps {
        page.text("  ").strong(&step.id.value);
        if let Some(description) = &step.description {
            page.text(&format!(": {description}"));
        }
        page.end();
        if let Some(args) = step.value.get("args").and_then(|args| args.as_object()) {
            for (name, value) in args {
                page.faint(&format!("    {name}: "))
                    .line(&value.to_string());
            }
        }
        for accept in &step.accept {
            page.faint("    done if ")
                .line(bare(accept.text()).as_str());
        }
        let after: Vec<&str> = record.after.iter().map(String::as_str).collect();
        if !after.is_empty() {
            page.faint("    after ").line(&after.join(", "));
        }
        let reads = effect(step, workspace.catalog()).is_none_or(|effect| effect.is_read());
        let on_failure = match step.on_failure {
            OnFailure::Replan => None,
            OnFailure::Stop => Some("the run fails"),
            OnFailure::Continue => Some("the plan goes on"),
            OnFailure::Escalate => Some("a person is asked"),
        };
        if let Some(then) = on_failure {
            page.faint("    if it fails ").line(then);
        }
        if !reads {
            page.faint("    risk ").line(record.risk.word());
        }
    }
}

fn proofs(page: &mut Page, judged: &Judged, checked: &CheckedPlan) {
    if judged.goal.success.is_empty() {
        return;
    }
    page.end().strong("proven by").end();
    for criterion in &judged.goal.success {
        page.line(&format!("  {}", criterion.text));
        let plan = checked.plan();
        let proofs = plan
            .success
            .iter()
            .filter(|proof| proof.criterion.value == criterion.id);
        for proof in proofs {
            page.faint("    if ").line(&bare(proof.check.text()));
        }
    }
}
