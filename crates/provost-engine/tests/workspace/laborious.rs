//! What takes long to judge keeps nobody else waiting, and ends in time.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use provost_engine::engine::{Engine, NewRun};
use provost_engine::run::outcome::Reply;
use provost_engine::session::{DriveEnd, Session, Unwatched};
use provost_engine::tools::{ReplyFuture, Request, Tool};
use provost_engine::workspace::{Example, Workspace, scaffold};
use provost_plan::catalog::{Effect, Operation};
use provost_plan::plan::Goal;
use provost_plan::schema::Schema;
use provost_run::event::{PlannerChoice, RunEnded};
use serde_json::{Value, json};

use super::OPENING;

/// A tool that answers with so many empty maps.
#[derive(Debug)]
struct Rows(usize);

impl Tool for Rows {
    fn describe(&self) -> Vec<Operation> {
        let input = Schema::compile(json!({ "type": "object" })).unwrap();
        vec![Operation::new("rows.read", Effect::Read, input)]
    }

    fn call<'a>(&'a self, _: &'a Request) -> ReplyFuture<'a> {
        let rows: Value = (0..self.0).map(|_| json!({})).collect();
        Box::pin(async { Reply::ok(rows, Vec::new(), "text/plain") })
    }
}

/// A plan whose one output is held against 2,000 subschemas, item by item.
fn plan() -> String {
    let name = |at: usize| json!({ "$ref": format!("#/$defs/d{at}") });
    let twice = |at: usize| {
        (
            format!("d{at}"),
            json!({ "allOf": [name(at + 1), name(at + 1)] }),
        )
    };
    let mut all: serde_json::Map<String, Value> = (0..9).map(twice).collect();
    all.insert("d9".to_owned(), json!({ "type": "object" }));
    let expect = json!({ "type": "array", "items": { "$ref": "#/$defs/d0" }, "$defs": all });
    let step = json!({ "id": "a", "tool": "rows.read", "expect": expect, "on_failure": "stop" });
    let success = json!([{ "for": "goal", "check": "${ steps.a.status == \"succeeded\" }" }]);
    json!({ "schema": "provost/plan/v1", "success": success, "steps": [step], "answer": "done" })
        .to_string()
}

/// How a run of that plan ends, how long it took, and how long at most somebody else had to wait
/// on the thread that drives it.
fn driven(rows: usize, change: impl Fn(&mut Session)) -> (RunEnded, Duration, Duration) {
    let dir = tempfile::tempdir().unwrap();
    scaffold(dir.path(), "ada", Example::Files).unwrap();
    fs::remove_file(dir.path().join("provost.lock")).unwrap_or_default();
    let tool: Arc<dyn Tool> = Arc::new(Rows(rows));
    let workspace = Workspace::open_with(dir.path(), &OPENING, &[tool]).unwrap();
    let engine = Engine::open(workspace).unwrap();
    let new = NewRun {
        goal: Goal::of_text("Read the rows"),
        interpreted_by: "test".to_owned(),
        planner: PlannerChoice::File {
            name: "plan".to_owned(),
            text: plan(),
            playbook: None,
        },
        fallback: None,
        mode: None,
        ask: engine.workspace().ask(),
        again: true,
        traceparent: None,
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut session = engine.begin(new, &mut Unwatched).await.unwrap();
        change(&mut session);
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        let began = Instant::now();
        let (mut waited, mut last) = (Duration::ZERO, began);
        let mut beside = tokio::time::interval(Duration::from_millis(1));
        let mut watcher = Unwatched;
        let drive = session.drive(&mut watcher, &mut halt);
        tokio::pin!(drive);
        let stop = loop {
            tokio::select! {
                biased;
                stop = &mut drive => break stop.unwrap(),
                _ = beside.tick() => {}
            }
            waited = waited.max(last.elapsed());
            last = Instant::now();
        };
        waited = waited.max(last.elapsed());
        let DriveEnd::Ended(ended) = stop else {
            panic!("it stopped with {stop:?}");
        };
        (*ended, began.elapsed(), waited)
    })
}

#[test]
fn what_takes_long_to_judge_keeps_nobody_else_waiting() {
    let (ended, took, waited) = driven(3_000, |_| {});
    assert_eq!(ended.class, None, "{:?}", ended.message);
    // Why a part and no time: a machine may be slow, and this holds on a slow one too.
    assert!(waited * 3 < took, "{waited:?} of {took:?}");
}

#[test]
fn a_turn_that_is_not_back_in_time_ends_the_run_by_a_class_of_its_own() {
    let (ended, ..) = driven(3_000, |session| session.limit_turns_to(Duration::ZERO));
    // The plan itself takes long to check: without time for it there is none.
    assert_eq!(ended.status.word(), "refused", "{:?}", ended.message);
    let (ended, took, _) = driven(40_000, |_| {});
    let class = ended.class.map(|class| class.word());
    assert_eq!(class, Some("work_exceeded"), "{:?}", ended.message);
    assert!(took < Duration::from_secs(30), "{took:?}");
}
