//! The contract of a store, rule by rule, over every implementation; and each rule over one that
//! breaks it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod broken;
mod rules;

use std::path::Path;

use provost_engine::store::{Backend, Store};

use broken::{Broken, Fault};
use rules::{RULES, Rule};

/// Opens the journal of a directory, as one process does.
type Open = dyn Fn(&Path) -> Box<dyn Backend> + Sync;

/// What a rule says of a store that is opened so, in a directory of its own.
fn keeps(rule: &Rule, open: &Open) -> Result<(), String> {
    let dir = tempfile::tempdir().unwrap();
    (rule.holds)(&|| open(dir.path()))
}

fn sqlite(dir: &Path) -> Box<dyn Backend> {
    Box::new(Store::open(dir).unwrap())
}

#[test]
fn the_sqlite_store_keeps_the_contract() {
    for rule in RULES {
        if let Err(broken) = keeps(rule, &sqlite) {
            panic!("{} is broken: {broken}", rule.name);
        }
    }
}

#[test]
fn each_rule_finds_a_store_that_breaks_it() {
    for rule in RULES {
        let fault = Fault::of(rule.name);
        let spoilt = move |dir: &Path| -> Box<dyn Backend> { Box::new(Broken::open(dir, fault)) };
        let found = keeps(rule, &spoilt);
        assert!(found.is_err(), "{} finds no fault in {fault:?}", rule.name);
    }
}

/// A hint that is lost costs time and nothing else: every rule holds without it.
#[test]
fn no_rule_needs_the_hint_that_somebody_wrote() {
    let deaf = |dir: &Path| -> Box<dyn Backend> { Box::new(Broken::open(dir, Fault::HintsLost)) };
    for rule in RULES {
        assert_eq!(keeps(rule, &deaf), Ok(()), "{}", rule.name);
    }
}
