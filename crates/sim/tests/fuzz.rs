//! Fuzzing, in small: what was found before holds, and the driver finds what is planted.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::time::Duration;

use provost_plan::digest::canonical;
use provost_plan::node::parse_yaml;
use provost_plan::plan::Step;
use provost_plan::plan::read::read_plan;
use provost_plan::source::Source;
use sim::fuzz::driver::{Driver, run};
use sim::fuzz::{TARGETS, Target, seeds};

fn target(name: &str) -> Target {
    *TARGETS.iter().find(|target| target.name == name).unwrap()
}

#[test]
fn what_was_found_before_holds() {
    let mut count = 0;
    for target in TARGETS {
        for (path, input) in seeds::found(target.name) {
            count += 1;
            if let Some(message) = run(target.run, &input) {
                panic!("{}: {message}", path.display());
            }
        }
    }
    println!("count of inputs found before: {count}");
}

#[test]
fn seeds_are_there_and_hold() {
    for (name, least) in [
        ("parse", 100),
        ("expression", 100),
        ("digest", 100),
        ("policy", 15),
    ] {
        let target = target(name);
        let seeds = (target.seeds)();
        assert!(seeds.len() >= least, "{name}: {} seeds", seeds.len());
        for seed in seeds.iter().take(40) {
            assert_eq!(
                run(target.run, seed),
                None,
                "{name}: {}",
                String::from_utf8_lossy(seed)
            );
        }
    }
}

/// The executions after which the driver finds a fault that is planted in a target.
#[track_caller]
fn finds(name: &str, planted: fn(&[u8]), most: u64) {
    let target = target(name);
    let seeds = (target.seeds)();
    for seed in &seeds {
        assert_eq!(run(planted, seed), None, "a seed shows the fault by itself");
    }
    let mut driver = Driver::new(1, name, seeds);
    while driver.executions() < most {
        if let Some(finding) = driver.step(planted) {
            println!("{name}: found after {} executions", driver.executions());
            assert_eq!(finding.message, "planted");
            return;
        }
    }
    panic!("{name}: not found in {most} executions");
}

fn text(data: &[u8]) -> &str {
    std::str::from_utf8(data).unwrap_or_default()
}

#[test]
fn a_fault_of_reading_is_found() {
    finds(
        "parse",
        |data| {
            // A step that is tried as often as can be is taken badly.
            let plan = read_plan(&Source::new("plan", text(data)));
            let steps = plan.map(|plan| plan.steps).unwrap_or_default();
            let most = |step: &Step| step.retry.is_some_and(|retry| retry.attempts == 100);
            assert!(!steps.iter().any(most), "planted");
        },
        60_000,
    );
}

#[test]
fn a_fault_of_expressions_is_found() {
    finds(
        "expression",
        |data| {
            let deep = text(data).matches(".map(").count() > 2;
            assert!(!deep, "planted");
        },
        60_000,
    );
}

#[test]
fn a_fault_of_the_check_is_found() {
    // A long time that is allowed is taken badly.
    finds(
        "check",
        |data| {
            let plan = read_plan(&Source::new("plan", text(data)));
            let steps = plan.map(|plan| plan.steps).unwrap_or_default();
            let longest = Duration::from_secs(2 * 3600);
            let long = |step: &Step| step.timeout.is_some_and(|timeout| timeout > longest);
            assert!(!steps.iter().any(long), "planted");
        },
        200_000,
    );
}

#[test]
fn a_fault_of_digests_is_found() {
    // The largest number is taken badly.
    finds(
        "digest",
        |data| {
            let Ok(node) = parse_yaml(text(data)) else {
                return;
            };
            let huge = canonical(&node.to_value()).contains("9007199254740992");
            assert!(!huge, "planted");
        },
        60_000,
    );
}

#[test]
fn a_fault_of_policy_is_found() {
    finds(
        "policy",
        |data| {
            let args: serde_json::Value = serde_json::from_slice(data).unwrap_or_default();
            let flags = args.as_object().into_iter().flatten();
            assert!(
                !flags
                    .into_iter()
                    .any(|(_, value)| *value == serde_json::json!(true)),
                "planted"
            );
        },
        60_000,
    );
}
