//! What `doctor` says of runs that could not begin or end: signed heads, planner, schedules,
//! approvals.
//!
//! Asks nobody and starts nothing. INVARIANT: what is said not to work is judged by what a run
//! would ask: the way of a goal to its planner, and who may approve.

use std::collections::BTreeSet;

use provost_engine::audit::Audit;
use provost_engine::proposal::route;
use provost_engine::workspace::Workspace;
use provost_plan::policy::{AskTerms, Decision};
use provost_plan::reach::needs;

use super::SetupFinding;
use crate::advice::Advice as _;
use crate::screen::words::count;

/// Whether the journal agrees with its newest signed head; nothing where none is signed.
pub(super) fn heads(workspace: &Workspace) -> Option<SetupFinding> {
    let settings = workspace.audit()?;
    let looked = Audit::open(workspace.root(), settings)
        .and_then(|audit| audit.look(&workspace.store_dir()));
    Some(match looked {
        Ok(Some(commit)) => {
            let said = format!("the journal agrees with the newest, of commit {commit}");
            SetupFinding::fit("heads", said)
        }
        Ok(None) => SetupFinding::fit("heads", "the first is signed when the journal is made"),
        Err(error) => SetupFinding::unfit("heads", error.to_string(), error.advice()),
    })
}

/// The planner of `[planner]`; nothing where there is none.
pub(super) fn planner(workspace: &Workspace) -> Option<SetupFinding> {
    workspace.other_planner()?;
    let Some(defect) = workspace.planner_defect() else {
        return Some(SetupFinding::fit(
            "planner",
            "it is there; nothing was asked of it",
        ));
    };
    let hint = "correct `[planner]` in provost.toml, or give it what it lacks";
    Some(SetupFinding::unfit("planner", defect, Some(hint)))
}

/// Whether a planner takes the goal of each schedule; nothing where there is none.
pub(super) fn schedules(workspace: &Workspace) -> Option<SetupFinding> {
    let all = workspace.schedules();
    if all.is_empty() {
        return None;
    }
    let refused = all.iter().filter_map(|schedule| {
        let error = route(workspace, &schedule.goal, None).err()?;
        Some(format!("`{}`: {error}", schedule.name))
    });
    let refused: Vec<String> = refused.collect();
    if refused.is_empty() {
        let said = format!("{}, each with a planner", count(all.len(), "goal"));
        return Some(SetupFinding::fit("schedules", said));
    }
    let hint = "write the goal as the `match` of a playbook: no run of it begins until then";
    Some(SetupFinding::unfit(
        "schedules",
        refused.join("; "),
        Some(hint),
    ))
}

/// The approvals that too few of those who are listed may give; nothing where there is none.
pub(super) fn approvals(workspace: &Workspace) -> Option<SetupFinding> {
    let (policy, user) = (workspace.policy(), workspace.user());
    let mut missing: Vec<(String, String)> = Vec::new();
    let mut seen = BTreeSet::new();
    for outlook in policy.survey(user).operations {
        for verdict in [&outlook.trusted, &outlook.untrusted] {
            if verdict.decision != Decision::Ask {
                continue;
            }
            let terms = AskTerms {
                expires_ms: None,
                valid_ms: None,
                ..verdict.ask.clone().unwrap_or_default()
            };
            let operation = workspace.catalog().get(&outlook.operation);
            let operation = operation.map(AsRef::as_ref);
            let Some(shortage) = policy.shortage(user, operation, &terms) else {
                continue;
            };
            let (asked, who) = (needs(&terms), shortage.words());
            let said = format!("`{}` needs {asked}, and {who}", outlook.operation);
            if seen.insert(said.clone()) {
                missing.push((said, shortage.hint().to_owned()));
            }
        }
    }
    let (_, hint) = missing.first()?;
    let said: Vec<&str> = missing.iter().map(|(said, _)| said.as_str()).collect();
    Some(SetupFinding::unfit(
        "approvals",
        said.join("; "),
        Some(hint),
    ))
}
