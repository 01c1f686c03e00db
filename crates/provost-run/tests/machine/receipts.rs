//! Receipts: commands leave only against the store's word for what they follow from.

use crate::case::{person, plan_reply, rules_with};
use provost_plan::plan::{Goal, Limits};
use provost_run::event::{AskMode, PlannerChoice, RunCreated};
use provost_run::machine::{Input, Output, Receipt, Run, StepError};
use provost_run::statement::Statement;

fn begun() -> Result<Output, StepError> {
    create().map(|(_, output)| output)
}

fn begun_run() -> Result<Run, StepError> {
    create().map(|(run, _)| run)
}

fn create() -> Result<(Run, Output), StepError> {
    let created = RunCreated {
        run: "run".to_owned(),
        goal: Goal::of_text("test"),
        planner: PlannerChoice::Playbook {
            name: "test".to_owned(),
        },
        fallback: None,
        mode: None,
        principal: person("ada"),
        limits: Limits::default(),
        ask: AskMode::Step,
        solo: true,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    };
    Run::create(created, "test", rules_with(|_| {}), 1_000)
}

fn opened(run: &str, through: u64, durable: bool) -> Result<String, StepError> {
    let receipt = Receipt {
        run: run.to_owned(),
        through,
        durable,
    };
    let opened = begun()?.commands.open(&receipt);
    Ok(opened.map_or_else(
        |error| error.to_string(),
        |commands| format!("{} given", commands.len()),
    ))
}

#[test]
fn only_the_whole_of_the_right_run_on_the_disk_is_enough() -> Result<(), StepError> {
    let output = begun()?;
    assert!(output.sync, "a request to a planner leaves the process");
    assert_eq!((output.first_seq, output.append.len()), (1, 3));
    insta::assert_snapshot!(opened("run", 3, true)?, @"1 given");
    insta::assert_snapshot!(opened("run", 9, true)?, @"1 given");
    insta::assert_snapshot!(opened("run", 2, true)?, @"the store kept events of run `run` through 2, but 3 are needed");
    insta::assert_snapshot!(opened("run", 3, false)?, @"the events of run `run` are kept, but not yet on the disk");
    insta::assert_snapshot!(opened("another", 3, true)?, @"the store's receipt is of run `another`, and run `run` is driven");
    Ok(())
}

/// A word that starts nothing is on the disk all the same before it is acknowledged.
#[test]
fn what_a_person_said_is_on_the_disk() -> Result<(), StepError> {
    let (mut run, id) = (begun_run()?, 1);
    let plan = "schema: provost/plan/v1\nsuccess:\n  - { for: goal, check: '${ steps.look.status \
                == \"succeeded\" }' }\nsteps:\n  - { id: look, tool: look.up }\nanswer: done\n";
    let reply = plan_reply(plan, &[]);
    let read = run.step(
        Input::Planned {
            id,
            reply,
            usage: None,
        },
        1_000,
    )?;
    assert!(
        !read.sync,
        "a read may begin before its intent is on the disk"
    );
    let by = person("ada");
    let cancel = Statement::Cancel {
        reason: None,
        undo: false,
    };
    let cancelled = run.step(Input::unsigned(by, cancel), 1_001)?;
    assert!(
        cancelled.sync,
        "a call is in flight, so nothing follows from the word yet"
    );
    Ok(())
}
