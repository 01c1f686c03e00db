//! `kill -9`, Ctrl-C and words of people while a model thinks.

use std::process::Child;
use std::time::{Duration, Instant};

use serde_json::json;
use sim::model::Scripted;

use crate::place::{Place, says_the_truth};
use crate::plans::{first, right};
use crate::stage::Ran;

fn slow(reply: Scripted) -> Scripted {
    Scripted {
        delay_ms: 20_000,
        ..reply
    }
}

/// A run that has asked `times`, and waits for a reply.
fn thinking(place: &Place, times: usize) -> Child {
    let child = place.command(&["run", place.goal()]).spawn().unwrap();
    place.until_asked(times);
    // Why: the request is in the ledger before the binary has looked at anything else.
    std::thread::sleep(Duration::from_millis(100));
    child
}

fn kill(child: &mut Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn killed_while_the_model_thinks_it_is_asked_again() {
    let [one, two] = right();
    let place = Place::new([slow(one.clone()), one, two]);
    let mut child = thinking(&place, 1);
    kill(&mut child);
    let run = place.stage.only_run().unwrap();
    // The request was durable before it left.
    assert_eq!(place.stage.count("PlanRequested"), 1);
    let ran = place.run(&["resume", &run]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    assert_eq!(place.asked().len(), 3);
    // What was lost may be paid: its reservation is never taken back.
    let spent: Vec<_> = place.stage.payloads("BudgetSpent");
    let ids: Vec<_> = spent.iter().map(|event| event["id"].clone()).collect();
    assert_eq!(ids, [json!(2), json!(3)]);
}

#[test]
fn killed_after_it_answered_it_is_not_asked_for_that_again() {
    let [one, two] = right();
    let place = Place::new([one, slow(two.clone()), two]);
    let mut child = thinking(&place, 2);
    kill(&mut child);
    let run = place.stage.only_run().unwrap();
    let ran = place.run(&["resume", &run]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    let asked = place.asked();
    assert_eq!(asked.len(), 3);
    let first_plans = asked
        .iter()
        .filter(|asked| asked.body.to_string().contains("Propose a plan."));
    assert_eq!(first_plans.count(), 1);
    assert_eq!(place.stage.count("PlanProposed"), 2);
}

#[test]
fn an_interrupt_is_heard_while_the_model_thinks() {
    let [one, two] = right();
    let place = Place::new([slow(one.clone()), one, two]);
    let child = thinking(&place, 1);
    let begun = Instant::now();
    let id = child.id().to_string();
    let told = std::process::Command::new("kill")
        .args(["-INT", &id])
        .status();
    assert!(told.unwrap().success());
    let ran = Ran::from(child.wait_with_output().unwrap()).exits(3);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert!(
        ran.stderr.contains("halted; go on with: provost"),
        "{}",
        ran.stderr
    );
    let run = place.stage.only_run().unwrap();
    let ran = place.run(&["resume", &run]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
}

#[test]
fn a_word_is_heard_while_the_model_thinks() {
    let place = Place::new([slow(Scripted::json(json!({ "plan": first() })))]);
    let child = thinking(&place, 1);
    let run = place.stage.only_run().unwrap();
    let begun = Instant::now();
    place.run(&["cancel", &run]).exits(0);
    Ran::from(child.wait_with_output().unwrap()).exits(1);
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(place.status(), "cancelled");
}
