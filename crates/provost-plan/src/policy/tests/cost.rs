//! What a decision costs: a measurement, run by hand.

use std::time::Instant;

use super::*;

/// `cargo test --release -p provost-plan --lib -- --ignored --nocapture policy::tests::cost`
#[test]
#[ignore = "a measurement, not a test"]
#[expect(
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "a measurement needs a clock and prints"
)]
fn what_a_decision_costs() {
    let begun = Instant::now();
    let policy = policy(&[DEFAULT_POLICY, SOLO_POLICY]);
    println!("load and validate: {:?}", begun.elapsed());
    let call = || Case::call("pager.notify").arg("to", json!("ada@a.test"), Integrity::Trusted);
    let cases = [
        (
            "all known",
            call().arg("message", json!("hello"), Integrity::Text),
        ),
        ("a text unknown", call().unknown("message", Integrity::Text)),
        (
            "evaluated in part",
            call().unknown("either", Integrity::Text),
        ),
    ];
    for (name, case) in &cases {
        case.decide(&policy);
        let begun = Instant::now();
        for _ in 0..1_000 {
            case.decide(&policy);
        }
        println!("{name}: {:?} a decision", begun.elapsed() / 1_000);
    }
}

/// What is kept for a standing never leaks into another: every order of the same calls says the
/// same, call by call.
#[test]
fn what_is_kept_hangs_on_every_fact() {
    let fresh = || policy(&[DEFAULT_POLICY]);
    let with = |sink, control, validated, person: &str, name: &str| {
        let case = Case::call(name)
            .arg("to", json!("x"), sink)
            .control(control);
        let principal = people().principal(person);
        Case {
            inputs_validated: validated,
            principal,
            ..case
        }
    };
    let mut cases = Vec::new();
    for sink in [Integrity::Trusted, Integrity::Text] {
        for control in [Integrity::Trusted, Integrity::Text] {
            for validated in [true, false] {
                cases.push(with(sink, control, validated, "ada", "pager.notify"));
                cases.push(with(sink, control, validated, "bo", "db.put"));
            }
        }
    }
    let alone: Vec<String> = cases
        .iter()
        .map(|case| line(&case.decide(&fresh())))
        .collect();
    let kept = fresh();
    for _ in 0..2 {
        let together: Vec<String> = cases.iter().map(|case| line(&case.decide(&kept))).collect();
        assert_eq!(together, alone);
    }
    let different: BTreeSet<&String> = alone.iter().collect();
    assert_eq!(different.len(), 9, "{different:?}");
    // More standings than are kept.
    for n in 0..200 {
        let principal = Principal {
            id: format!("p{n}"),
            ..people().principal("ada")
        };
        let case = Case {
            principal,
            ..with(Integrity::Text, Integrity::Trusted, true, "ada", "db.put")
        };
        assert_eq!(line(&case.decide(&kept)), "ask by untrusted-sink");
    }
}
