//! Every history of every small plan, over the real machine; and the controls that must fail.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Arc;

use provost_plan::policy::{DEFAULT_POLICY, People, Policy, Principal, PrincipalKind, SOLO_POLICY};
use provost_plan::source::Source;
use provost_run::machine::Rules;
use sim::enumerate::plans::{self, Kind};
use sim::enumerate::{Bounds, Tally, explore};

fn rules(naive: bool) -> Rules {
    let catalog = plans::catalog(naive).unwrap();
    let people = People::read(&Source::new(
        "entities.json",
        r#"{ "users": { "ada": {} } }"#,
    ));
    let texts = [
        Source::new("default.cedar", DEFAULT_POLICY),
        Source::new("solo.cedar", SOLO_POLICY),
    ];
    let policy = Policy::load(&catalog, &texts, &people.unwrap()).unwrap();
    Rules {
        catalog,
        policy: Arc::new(policy),
    }
}

fn number(name: &str, default: u32) -> u32 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

fn run(
    naive: bool,
    bounds: Bounds,
    sizes: std::ops::RangeInclusive<usize>,
    kinds: &[Kind],
) -> Tally {
    let rules = rules(naive);
    let ada = Principal {
        kind: PrincipalKind::User,
        id: "ada".to_owned(),
        groups: Default::default(),
    };
    let mut tally = Tally::default();
    for size in sizes {
        for case in plans::all(size, kinds) {
            explore(&case, &rules, &ada, bounds, &mut tally).unwrap();
        }
    }
    println!(
        "plans {} states {} boundaries {} ends {:?}\n\
         doubled keyed {} doubled plain {} lost {} ambiguous {} in doubt {}\n\
         faults {:?}\nevents {:?}",
        tally.plans,
        tally.states,
        tally.boundaries,
        tally.ends,
        tally.doubled_keyed,
        tally.doubled_plain,
        tally.lost,
        tally.ambiguous,
        tally.in_doubt,
        tally.faults,
        tally.kinds,
    );
    tally
}

fn bounds() -> Bounds {
    Bounds {
        crashes: number("PROVOST_CRASHES", 1),
        faults: number("PROVOST_FAULTS", 1),
        forget_sync: false,
    }
}

#[test]
fn no_effect_is_doubled_or_lost_in_any_history_of_two_steps() {
    let tally = run(false, bounds(), 1..=2, &Kind::ALL);
    assert_sound(&tally);
    for kind in ["ApprovalRequested", "ApprovalGiven"] {
        assert!(tally.kinds.contains(kind), "`{kind}` never occurred");
    }
}

/// Three steps: a read and a plain write in every shape here, every class by `PROVOST_KINDS=all`.
#[test]
fn no_effect_is_doubled_or_lost_in_any_history_of_three_steps() {
    let all = std::env::var("PROVOST_KINDS").is_ok_and(|kinds| kinds == "all");
    let kinds: &[Kind] = if all {
        &Kind::ALL
    } else {
        &[Kind::Read, Kind::Plain]
    };
    assert_sound(&run(false, bounds(), 3..=3, kinds));
}

fn assert_sound(tally: &Tally) {
    assert_eq!(tally.violations(), 0, "{:?}", tally.witness);
    assert_eq!(
        tally.ambiguous, tally.in_doubt,
        "every ambiguous plain write is in doubt"
    );
    for stuck in ["running", "planning", "paused"] {
        assert_eq!(
            tally.ends.get(stuck),
            None,
            "a run stands still and calls itself {stuck}"
        );
    }
    assert!(
        tally.ambiguous > 0,
        "the search never made a write ambiguous"
    );
    for fault in [
        "ok",
        "refused",
        "denied",
        "timeout before the effect",
        "timeout after the effect",
        "crash before the commit",
        "crash after the commit",
        "crash with calls in flight",
        "loss of power",
    ] {
        assert!(tally.faults.contains(fault), "`{fault}` was never tried");
    }
    for kind in ["Resumed", "ReplanRequested"] {
        assert!(tally.kinds.contains(kind), "`{kind}` never occurred");
    }
}

/// Control: an executor that takes a plain write for repeatable doubles it.
#[test]
fn a_naive_executor_is_caught() {
    let bounds = Bounds {
        crashes: 1,
        faults: 1,
        forget_sync: false,
    };
    let tally = run(true, bounds, 1..=2, &[Kind::Read, Kind::Plain]);
    assert!(tally.doubled_plain > 0);
}

/// Control: a driver that does not sync before a write loses its intent.
#[test]
fn a_driver_that_forgets_to_sync_is_caught() {
    let bounds = Bounds {
        crashes: 1,
        faults: 0,
        forget_sync: true,
    };
    let tally = run(false, bounds, 1..=2, &[Kind::Read, Kind::Plain]);
    assert!(tally.lost + tally.doubled_plain > 0);
}
