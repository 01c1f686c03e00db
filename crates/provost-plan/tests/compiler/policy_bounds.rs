//! Policies of every bad shape: refused with a place, and many of them read in time.

use std::time::{Duration, Instant};

use provost_plan::catalog::{Catalog, Effect};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::{POLICIES_MAX, POLICY_DEPTH_MAX};
use provost_plan::policy::{DEFAULT_POLICY, People, Policy};
use provost_plan::source::Source;
use serde_json::json;

use super::generated::{closed, operation};

fn catalog() -> Catalog {
    let args = closed(
        &["id"],
        &json!({ "id": { "type": "string" }, "n": { "type": "integer" } }),
    );
    let make = |at: usize| {
        let effect = if at.is_multiple_of(2) {
            Effect::Read
        } else {
            Effect::Write
        };
        operation(&format!("t{}.op{at}", at / 4), effect, args.clone(), None)
    };
    Catalog::new((0..20).map(make))
}

/// Loads policies on a thread with the stack that threads have by default.
fn load(text: String) -> Result<Policy, Vec<(Source, Diagnostic)>> {
    let load = move || {
        let sources = [Source::new("own.cedar", text)];
        Policy::load(&catalog(), &sources, &People::default())
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(load)
        .unwrap()
        .join()
        .unwrap()
}

fn policy(condition: &str) -> String {
    format!("permit (principal, action, resource) when {{ {condition} }};")
}

/// Conditions of every shape, about so deep.
fn deep(depth: usize) -> Vec<(&'static str, String)> {
    let chain = |of: &str, by: &str| vec![of; depth + 1].join(by);
    let choices = "if resource.attended then true else ".repeat(depth);
    vec![
        ("||", policy(&chain("resource.attended", " || "))),
        ("&&", policy(&chain("resource.attended", " && "))),
        ("if", policy(&format!("{choices}false"))),
        (
            "(",
            policy(&format!("{}true{}", "(".repeat(depth), ")".repeat(depth))),
        ),
        ("!", policy(&format!("{}true", "!".repeat(depth)))),
        ("+", policy(&format!("1 < {}", chain("1", " + ")))),
        (
            "[",
            policy(&format!(
                "{}1{} == [1]",
                "[".repeat(depth),
                "]".repeat(depth)
            )),
        ),
        (
            "when",
            format!(
                "permit (principal, action, resource) {};",
                "when { true } ".repeat(depth)
            ),
        ),
    ]
}

#[test]
fn conditions_too_deep_for_any_stack_are_refused_at_their_place() {
    for depth in [POLICY_DEPTH_MAX + 5, 600, 20_000] {
        for (at, text) in deep(depth) {
            let found = load(text.clone()).expect_err(at);
            let (_, first) = found.first().unwrap();
            assert_eq!(first.code, Code::BadPolicy, "{at}");
            assert!(
                first.message.contains("operations deep"),
                "{at}: {}",
                first.message
            );
            let span = first.span;
            assert!(span.start > 0 && span.end <= text.len(), "{at}: {span:?}");
        }
    }
}

#[test]
fn conditions_as_deep_as_they_may_be_overflow_nothing() {
    for (at, text) in deep(POLICY_DEPTH_MAX - 12) {
        if let Err(found) = load(text) {
            let all: Vec<&str> = found.iter().map(|(_, d)| d.message.as_str()).collect();
            assert!(
                !all.iter().any(|m| m.contains("operations deep")),
                "{at}: {all:?}"
            );
        }
    }
}

#[test]
fn a_thousand_policies_are_loaded_and_looked_at_in_time() {
    let one = |at: usize| {
        let action = format!("t{}.op{}", at % 20 / 4, at % 20);
        format!(
            "@id(\"p{at}\") forbid (principal, action == Action::\"{action}\", resource) when {{ \
             !resource.attended && context.args.id == \"x{at}\" }};\n"
        )
    };
    let text = |count: usize| -> String {
        std::iter::once(DEFAULT_POLICY.to_owned())
            .chain((0..count).map(one))
            .collect()
    };
    let principal = People::default().principal("ada");
    let took = |count: usize| {
        let began = Instant::now();
        let policy = load(text(count)).unwrap_or_else(|found| panic!("{:?}", found.first()));
        let survey = policy.survey(&principal);
        assert_eq!(survey.operations.len(), 20);
        began.elapsed()
    };
    let (few, many) = (took(250), took(1_000));
    println!("250: {few:?}, 1,000: {many:?}");
    // Why against a quarter: a machine may be slow, and what grows with the square is seen on it.
    assert!(
        many < few * 8 + Duration::from_millis(200),
        "{few:?}, then {many:?}"
    );
    if !cfg!(debug_assertions) {
        assert!(many < Duration::from_secs(1), "{many:?}");
    }
}

#[test]
fn more_policies_than_there_may_be_are_refused() {
    let found = load(policy("true").repeat(POLICIES_MAX + 1)).expect_err("too many");
    let (_, first) = found.first().unwrap();
    assert!(
        first.message.contains("more than 5000 policies"),
        "{}",
        first.message
    );
}
