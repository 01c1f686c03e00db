//! How long the machine takes for a step of a run, whatever the length of the plan.
//!
//! Owns the targets. Exits 1 where one is missed. INVARIANT: every run that is timed succeeds, so
//! each of its steps was checked, decided, begun, judged and settled.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a benchmark, which never ships"
)]

#[path = "../../provost-plan/tests/generated/mod.rs"]
mod generated;

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use generated::{closed, operation, since, spent};
use provost_plan::catalog::{Catalog, Effect, Idempotency, Operation};
use provost_plan::check::Terms;
use provost_plan::label::Label;
use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanReply;
use provost_plan::policy::DEFAULT_POLICY;
use provost_run::admission::AdmissionRules;
use provost_run::event::{AskMode, PlannerChoice, RunCreated, RunStatus};
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run};
use provost_run::outcome::Reply;
use serde_json::json;

/// Steps of the plans, and runs of which the median counts.
const LENGTHS: [(usize, usize); 3] = [(10, 60), (100, 15), (1_000, 5)];
/// The most that one step may take.
const STEP_MAX: Duration = Duration::from_micros(100);
/// The most by which a step of the longest plan may take longer than one of the shortest.
const GROWTH_MAX: f64 = 1.5;

fn main() -> ExitCode {
    let terms = terms();
    let mut times: Vec<Duration> = Vec::new();
    for (steps, runs) in LENGTHS {
        let mut all: Vec<Duration> = (0..runs).map(|_| run(&terms, steps)).collect();
        all.sort_unstable();
        let median = all[all.len() / 2];
        println!(
            "a step of {steps}: {:.1} us (slowest run {:.1}), at most {} us",
            micros(median),
            micros(all[all.len() - 1]),
            STEP_MAX.as_micros()
        );
        times.push(median);
    }
    let growth = times[times.len() - 1].as_secs_f64() / times[0].as_secs_f64();
    println!("from the shortest plan to the longest: {growth:.2} times, at most {GROWTH_MAX}");
    if times.iter().all(|time| *time <= STEP_MAX) && growth <= GROWTH_MAX {
        ExitCode::SUCCESS
    } else {
        println!("MISSED");
        ExitCode::FAILURE
    }
}

/// Drives a run of a chain; what one of its steps took, planning not counted.
fn run(terms: &Terms, steps: usize) -> Duration {
    let rules = Rules {
        catalog: Arc::clone(&terms.catalog),
        policy: Arc::clone(&terms.policy),
        admission: AdmissionRules::default(),
    };
    let created = RunCreated {
        run: "timed".to_owned(),
        goal: Goal::of_text(generated::GOAL),
        planner: PlannerChoice::File {
            name: "plan.yaml".to_owned(),
            text: String::new(),
            playbook: None,
        },
        fallback: None,
        mode: None,
        principal: terms.principal.clone(),
        limits: terms.limits.clone(),
        ask: AskMode::Step,
        solo: false,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    };
    let (mut run, output) = Run::create(created, "a test", rules, 0).expect("a run");
    let mut next = commands(output);
    let Some(Command::Plan(request)) = next.pop() else {
        panic!("no planner was asked");
    };
    let reply = PlanReply::Plan {
        text: chain(steps),
        name: "plan.yaml".to_owned(),
        author: "file plan.yaml".to_owned(),
        literals: Label::trusted(),
        control: Label::trusted(),
        consult: Vec::new(),
        because: None,
    };
    let planned = Input::Planned {
        id: request.id,
        reply,
        usage: None,
    };
    let mut next = commands(run.step(planned, 1).expect("a plan"));
    let (cpu, wall) = (spent(), Instant::now());
    while let Some(Command::Call(call)) = next.pop() {
        let reply = Reply::ok(
            json!({ "ok": true }),
            b"{\"ok\":true}".to_vec(),
            "application/json",
        );
        let ended = Input::Ended {
            slot: call.slot().clone(),
            attempt: call.attempt(),
            reply,
        };
        next = commands(run.step(ended, 2).expect("a step"));
    }
    let time = since(cpu, wall);
    let ended = run.state().ending.ended.as_ref().expect("an end");
    assert_eq!(ended.status, RunStatus::Succeeded, "{ended:?}");
    time / u32::try_from(steps).expect("few")
}

/// What is to be done, the calls last.
fn commands(output: Output) -> Vec<Command> {
    let receipt = Receipt {
        run: "timed".to_owned(),
        through: u64::MAX,
        durable: true,
    };
    output.commands.open(&receipt).expect("a receipt")
}

fn terms() -> Terms {
    let input = closed(&["n"], &json!({ "n": { "type": "integer" } }));
    let output = closed(&["ok"], &json!({ "ok": { "type": "boolean" } }));
    let plain = Operation {
        idempotency: Idempotency::None,
        trusted: true,
        timeout: Duration::from_secs(5),
        ..operation("timed.put", Effect::Write, input, Some(output))
    };
    generated::terms_of(Catalog::new([plain]), DEFAULT_POLICY)
}

fn chain(steps: usize) -> String {
    let mut text = String::from("schema: provost/plan/v1\nsteps:\n");
    for at in 0..steps {
        let needs = at
            .checked_sub(1)
            .map_or(String::new(), |at| format!(", needs: [s{at}]"));
        let _ = writeln!(
            text,
            "  - {{ id: s{at}, tool: timed.put, args: {{ n: {at} }}{needs} }}"
        );
    }
    let last = steps - 1;
    let _ = writeln!(
        text,
        "success: [{{ for: goal, check: '${{ steps.s{last}.output.ok }}' }}]"
    );
    text
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
