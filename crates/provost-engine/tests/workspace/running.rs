//! What `init` writes runs: from the goal to an answer, in the file that the journal keeps.

use provost_engine::engine::{Engine, NewRun};
use provost_engine::proposal::of_file;
use provost_engine::session::{DriveEnd, Watcher};
use provost_engine::workspace::{Example, Workspace, scaffold};
use provost_plan::plan::read::read_plan_once;
use provost_plan::source::Source;
use provost_planner::Route;
use provost_run::event::{Event, PlannerChoice, RunStatus};
use provost_run::state::State;

use super::OPENING;

struct Nobody;

impl Watcher for Nobody {
    fn kept(&mut self, _: u64, _: &[Event], _: &State) {}
    fn tick(&mut self, _: &State) {}
}

/// Runs a goal in a new workspace; its status, its answer and the kinds of its events.
fn run(goal: &str) -> (RunStatus, String, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    scaffold(dir.path(), "ada", Example::Files).unwrap();
    let workspace = Workspace::open(dir.path(), &OPENING).unwrap();
    let Route::Playbook { playbook, goal } = workspace.playbooks().route(goal, false) else {
        panic!("no playbook");
    };
    let new = NewRun {
        goal,
        interpreted_by: playbook.author(),
        planner: PlannerChoice::Playbook {
            name: playbook.name().to_owned(),
        },
        fallback: None,
        mode: None,
        ask: workspace.ask(),
        again: false,
        traceparent: None,
    };
    let engine = Engine::open(workspace).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stop = runtime.block_on(async {
        let mut session = engine.begin(new, &mut Nobody).await.unwrap();
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        session.drive(&mut Nobody, &mut halt).await.unwrap()
    });
    let DriveEnd::Ended(ended) = stop else {
        panic!("it stopped with {stop:?}");
    };
    let answer: Vec<_> = ended.answer.iter().map(|part| part.text()).collect();
    let run = engine.find("").unwrap();
    let events = engine.store().load(&run).unwrap();
    engine.store().verify().unwrap();
    let kinds = events.into_iter().map(|event| event.kind).collect();
    (ended.status, answer.join("\n"), kinds)
}

#[test]
fn a_new_workspace_answers_its_own_goal() {
    let (status, answer, kinds) = run("Find approval in my notes");
    assert_eq!(status, RunStatus::Succeeded);
    insta::assert_snapshot!(answer, @r#"
    Lines with "approval": 1; notes searched: 1.
    First in welcome.md, line 6: - A step that reads runs by itself. A step that reaches people waits for your approval.
    "#);
    assert!(!kinds.contains(&"PlanRevised".to_owned()), "{kinds:?}");
}

#[test]
fn a_new_workspace_revises_its_plan_where_nothing_is_found() {
    let (status, answer, kinds) = run("find Zebras in my notes");
    assert_eq!(status, RunStatus::Succeeded);
    insta::assert_snapshot!(answer, @r#"
    Lines with "Zebras": 0; notes searched: 1.
    Lines in files of any kind: 0.
    "#);
    assert!(kinds.contains(&"PlanRevised".to_owned()), "{kinds:?}");
}

/// `apply` judges a file before it begins the run, whose machine judges it again: the text is read
/// once.
#[test]
fn a_plan_that_is_judged_before_its_run_is_read_once() {
    let dir = tempfile::tempdir().unwrap();
    scaffold(dir.path(), "ada", Example::Files).unwrap();
    let workspace = Workspace::open(dir.path(), &OPENING).unwrap();
    let text = r#"
schema: provost/plan/v1
goal: { text: read once }
steps:
  - { id: look, tool: notes.search, args: { glob: "**/*.md", contains: x } }
success:
  - { for: goal, check: '${ steps.look.status == "succeeded" }' }
answer: "${ steps.look.output.total } lines"
"#;
    let source = Source::new("once.yaml", text);
    let judged = of_file(&workspace, source.clone());
    let plan = judged
        .plan
        .unwrap_or_else(|| panic!("{:?}", judged.diagnostics));
    let of_machine = read_plan_once(&source).unwrap();
    assert!(std::ptr::eq(plan.plan(), &*of_machine));
    // The control: another text is another plan.
    let other = Source::new("once.yaml", format!("{text}\n"));
    assert!(!std::ptr::eq(
        plan.plan(),
        &*read_plan_once(&other).unwrap()
    ));
}
