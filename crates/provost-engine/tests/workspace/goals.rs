//! Goals as people word them, for the workspaces of the examples, by people who had not seen the
//! playbooks: `corpus/goals`. The second file was kept apart until the sentences were written.

use std::path::Path;

use provost_engine::workspace::Workspace;
use provost_planner::Route;

use super::OPENING;

/// How a goal fared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It runs, or its missing value is asked for.
    Runs,
    /// A person is offered the sentence.
    Offered,
    Refused,
}

fn fate(root: &Path, workspace: &str, goal: &str) -> Fate {
    let dir = root.join("examples").join(workspace);
    let workspace = Workspace::open(&dir, &OPENING).unwrap_or_else(|_| panic!("{workspace}"));
    match workspace.playbooks().route(goal, false) {
        Route::Playbook { .. } | Route::Ask { .. } => Fate::Runs,
        Route::NoMatch(none) if !none.similar.is_empty() => Fate::Offered,
        Route::NoMatch(_) => Fate::Refused,
    }
}

/// How many are meant so, how many of these run or are offered, and how many others run.
fn counted(name: &str) -> (usize, usize, usize) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("corpus/goals").join(name)).unwrap();
    let (mut meant, mut right, mut others_run, mut others_offered) = (0, 0, 0, 0);
    let mut runs = 0;
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [workspace, goal, kind] = fields[..] else {
            panic!("{line}")
        };
        let fate = fate(&root, workspace, goal);
        if kind == "other" {
            others_run += usize::from(fate == Fate::Runs);
            others_offered += usize::from(fate == Fate::Offered);
        } else {
            meant += 1;
            right += usize::from(fate != Fate::Refused);
            runs += usize::from(fate == Fate::Runs);
        }
        let word = match fate {
            Fate::Runs => "runs",
            Fate::Offered => "offered",
            Fate::Refused => "refused",
        };
        println!("{word:<8} {kind:<6} {workspace:<14} {goal}");
    }
    println!(
        "{name}: {right} of {meant} run or are offered ({runs} run); others: {others_run} run, {others_offered} offered"
    );
    (meant, right, others_run)
}

/// None of another job runs; of what is meant so, nearly all runs or is offered.
#[test]
fn what_people_type_runs_or_is_offered() {
    for (name, least) in [("seen.tsv", 90), ("apart.tsv", 80)] {
        let (meant, right, others_run) = counted(name);
        assert_eq!(others_run, 0, "{name}: another job runs");
        assert!(right * 100 >= meant * least, "{name}: {right} of {meant}");
    }
}
