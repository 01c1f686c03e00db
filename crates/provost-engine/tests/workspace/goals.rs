//! Goals as people word them, for the workspaces of the examples, by people who had not seen the
//! playbooks: `corpus/goals`. The second file of each pair is kept apart: nobody looks at it while
//! the sentences, or how goals are compared with them, are mended.

use std::collections::BTreeMap;
use std::path::Path;

use provost_engine::workspace::{Example, Workspace, scaffold};
use provost_plan::plan::Params;
use provost_planner::Route;
use serde_json::{Value, json};

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

/// The workspace that a line of `typed.tsv` names: an example, or what `init` makes.
fn opened(root: &Path, name: &str, dir: &Path) -> Workspace {
    let at = match name {
        "shop" => {
            scaffold(&dir.join("shop"), "ada", Example::Refunds).unwrap();
            dir.join("shop")
        }
        name => root.join("examples").join(name),
    };
    Workspace::open(&at, &OPENING).unwrap_or_else(|_| panic!("{name}"))
}

/// What became of a goal that names all its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Heard {
    /// It runs with the values that it says.
    Ran,
    /// The sentence with these values is offered, or a value is asked for.
    Offered,
    Refused,
    /// Only a sentence that says something else is offered.
    WrongOffer,
    /// Something else runs.
    WrongRun,
}

/// Whether no value differs from what is meant; letter case is the person's.
fn agree(said: &Params, meant: &Value) -> bool {
    let small = |value: &Value| value.to_string().to_lowercase();
    said.iter().all(|(name, value)| {
        meant
            .get(name)
            .is_some_and(|one| small(one) == small(value))
    })
}

fn heard(workspace: &Workspace, playbook: &str, meant: &Value, goal: &str) -> Heard {
    let router = workspace.playbooks();
    let right = |name: &str, said: &Params| {
        let whole = meant.as_object().is_some_and(|all| all.len() == said.len());
        name == playbook && whole && agree(said, meant)
    };
    match router.route(goal, false) {
        Route::Playbook { playbook, goal } => {
            let said = goal.params.into_iter().collect();
            match right(playbook.name(), &said) {
                true => Heard::Ran,
                false => Heard::WrongRun,
            }
        }
        Route::Ask { playbooks, .. } => {
            let is_asked = playbooks.iter().any(|name| name == playbook);
            let near = router.get(playbook).and_then(|one| one.near(goal));
            let said = near.map(|near| near.params).unwrap_or_default();
            match is_asked && agree(&said, meant) {
                true => Heard::Offered,
                // Of another job: nothing runs before a person has answered.
                false if playbook == "-" => Heard::WrongOffer,
                false => Heard::WrongRun,
            }
        }
        Route::NoMatch(none) if none.similar.is_empty() => Heard::Refused,
        Route::NoMatch(none) => {
            let is_right = none.similar.iter().any(|one| {
                match router.route(&one.sentence, false) {
                    Route::Playbook { playbook, goal } => {
                        right(playbook.name(), &goal.params.into_iter().collect())
                    }
                    // A sentence with a hole still open: the values that it has are right.
                    _ => !one.is_complete && playbook != "-" && agree(&one.params, meant),
                }
            });
            match is_right {
                true => Heard::Offered,
                false => Heard::WrongOffer,
            }
        }
    }
}

/// What became of each goal of a file: those that are meant so, and those of another job.
fn all_heard(name: &str) -> [Vec<Heard>; 2] {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("corpus/goals").join(name)).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let mut open = BTreeMap::new();
    let (mut meant_so, mut others) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [workspace, playbook, params, goal] = fields[..] else {
            panic!("{line}")
        };
        let meant: Value = serde_json::from_str(params).unwrap();
        let place = || opened(&root, workspace, dir.path());
        let workspace = open.entry(workspace).or_insert_with(place);
        let heard = heard(workspace, playbook, &meant, goal);
        // What is kept apart is counted, and nobody reads which.
        if std::env::var_os("PROVOST_GOALS").is_some_and(|shown| shown == *name) {
            println!("{heard:?}\t{playbook}\t{goal}");
        }
        match playbook {
            "-" => others.push(heard),
            _ => meant_so.push(heard),
        }
    }
    let count = |list: &[Heard], one| list.iter().filter(|heard| **heard == one).count();
    println!(
        "{name}: of {} goals {} run, {} are offered, {} refused, {} offered another, {} run \
         another; of {} of another job {} run",
        meant_so.len(),
        count(&meant_so, Heard::Ran),
        count(&meant_so, Heard::Offered),
        count(&meant_so, Heard::Refused),
        count(&meant_so, Heard::WrongOffer),
        count(&meant_so, Heard::WrongRun),
        others.len(),
        count(&others, Heard::WrongRun)
    );
    [meant_so, others]
}

/// Sixty goals with the values that they mean, a third of them kept apart: nearly all run or are
/// offered the right sentence, none runs as something else, and none of another job runs.
#[test]
fn sixty_goals_as_typed_run_or_are_offered_the_right_sentence() {
    for (name, count) in [("typed.tsv", 40), ("typed-apart.tsv", 20)] {
        let [meant, others] = all_heard(name);
        assert_eq!(meant.len(), count);
        assert!(!meant.contains(&Heard::WrongRun), "{name}: {meant:?}");
        assert!(!others.contains(&Heard::WrongRun), "{name}: {others:?}");
        let right = meant.iter().filter(|heard| **heard <= Heard::Offered);
        let right = right.count();
        assert!(right * 100 >= count * 90, "{name}: {right} of {count}");
    }
}

/// The control: the same goals, held to another amount and another playbook.
#[test]
fn a_goal_that_runs_as_something_else_is_noticed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let dir = tempfile::tempdir().unwrap();
    let shop = opened(&root, "shop", dir.path());
    let goal = "Refund 2000 cents of pay-1";
    let meant = json!({ "amount": 2000, "payment": "pay-1" });
    assert_eq!(heard(&shop, "refund", &meant, goal), Heard::Ran);
    let other = json!({ "amount": 2001, "payment": "pay-1" });
    assert_eq!(heard(&shop, "refund", &other, goal), Heard::WrongRun);
    assert_eq!(heard(&shop, "-", &json!({}), goal), Heard::WrongRun);
    let offered = "please refund 2000 cents to the customer of pay-1";
    assert_eq!(heard(&shop, "refund", &meant, offered), Heard::Offered);
    assert_eq!(heard(&shop, "refund", &other, offered), Heard::WrongOffer);
}
