//! The check against a second reading of its rules, over generated plans; and the controls.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::time::Instant;

use sim::reference::compare::{Alter, Bench, CODES, Judged, kind, smaller};
use sim::reference::names::{self, AskItems, WriteOut};
use sim::reference::{Tag, Trust, Word};

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[derive(Default)]
struct Tally {
    plans: u64,
    checked: u64,
    given_up: u64,
    cautious: u64,
    left_out: u64,
    apart: u64,
    codes: BTreeMap<String, u64>,
    errors: BTreeMap<String, u64>,
    labels: BTreeMap<String, u64>,
    verdicts: BTreeMap<String, u64>,
}

fn label_word(what: &str, tag: Tag) -> String {
    let secret = if tag.secret { " secret" } else { "" };
    format!("{what} {:?}{secret}", tag.trust)
}

impl Tally {
    fn add(&mut self, result: &Judged) {
        let reading = &result.reading;
        self.plans += 1;
        self.cautious += u64::try_from(result.excused.cautious).unwrap();
        self.apart += u64::from(reading.apart > 0);
        for code in &result.errors {
            *self.errors.entry(code.clone()).or_default() += 1;
        }
        let mut codes: Vec<&String> = reading.findings.iter().map(|(code, _)| code).collect();
        codes.dedup();
        for code in codes {
            *self.codes.entry(code.clone()).or_default() += 1;
        }
        let given_up = reading.findings.iter().any(|(code, _)| code == "given up");
        self.given_up += u64::from(given_up);
        if !result.is_checked {
            return;
        }
        self.checked += 1;
        for tag in reading.labels.values() {
            *self.labels.entry(label_word("argument", *tag)).or_default() += 1;
        }
        for tag in reading.controls.values() {
            *self.labels.entry(label_word("control", *tag)).or_default() += 1;
        }
        for (place, word) in &reading.verdicts {
            let control = reading.controls.get(place).map(|tag| tag.trust);
            let key = format!("{word:?} under control {:?}", control.unwrap());
            *self.verdicts.entry(key).or_default() += 1;
        }
    }

    fn table(&self) {
        println!(
            "{} plans, {} without an error, {} with exclusive writes, {} given up, {} guarded in a \
             roundabout way",
            self.plans, self.checked, self.apart, self.given_up, self.cautious
        );
        for (what, rows) in [
            ("plans with", &self.codes),
            ("errors", &self.errors),
            ("labels", &self.labels),
            ("verdicts", &self.verdicts),
        ] {
            for (key, count) in rows {
                println!("{what:>11} {key:<34} {count:>9}");
            }
        }
    }
}

fn run(from: u64, count: u64) -> Tally {
    let bench = Bench::new().unwrap();
    let mut tally = Tally::default();
    let mut failed = 0_u64;
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    let began = Instant::now();
    for seed in from..from + count {
        let drawn = bench.draw(seed);
        let result = bench.compare(&drawn, &|_| {});
        if let Some(why) = result.unreadable {
            panic!("seed {seed} is no plan: {why}\n{}", drawn.text);
        }
        tally.add(&result);
        tally.left_out += u64::from(drawn.text.contains("\"?"));
        if !result.differences.is_empty() {
            failed += 1;
            for difference in &result.differences {
                *kinds.entry(kind(difference)).or_default() += 1;
            }
            if failed <= number("PROVOST_SHOW", 5) {
                let small = smaller(&bench, &drawn, &|_| {});
                let again = bench.compare(&small, &|_| {});
                println!(
                    "seed {seed} (literals {:?}, control {:?}):\n{}{}\n",
                    small.literals,
                    small.control,
                    small.text,
                    again.differences.join("\n")
                );
            }
        }
    }
    let rate = f64::from(u32::try_from(count).unwrap()) / began.elapsed().as_secs_f64();
    println!(
        "seeds {from} to {}: {rate:.0} plans a second",
        from + count - 1
    );
    tally.table();
    for (kind, count) in &kinds {
        println!("{count:>6} differ: {kind}");
    }
    assert_eq!(
        failed, 0,
        "{failed} of {count} plans are judged in two ways"
    );
    tally
}

#[test]
fn the_check_agrees_with_a_second_reading_of_its_rules() {
    let count = number("PROVOST_COUNT", 1_000);
    let tally = run(number("PROVOST_SEED", 1), count);
    for code in CODES {
        let found = tally.codes.get(code).copied().unwrap_or(0);
        assert!(
            found * 400 >= count,
            "{code} stood in {found} of {count} plans only"
        );
    }
    for trust in ["Trusted", "Data", "Text"] {
        for what in ["argument", "control"] {
            for secret in ["", " secret"] {
                let key = format!("{what} {trust}{secret}");
                let found = tally.labels.get(&key).copied().unwrap_or(0);
                // A secret that is trusted needs an operation that is both: there is none.
                let possible = secret.is_empty() || (trust == "Text" && what == "argument");
                assert!(!possible || found * 1_000 >= count, "{key}: {found}");
            }
        }
    }
    for word in [Word::Permit, Word::Ask, Word::AskPerhaps] {
        let rows = tally.verdicts.iter();
        let rows = rows.filter(|(key, _)| key.starts_with(&format!("{word:?} ")));
        let found: u64 = rows.map(|(_, count)| count).sum();
        assert!(found * 100 >= count, "{word:?}: {found}");
    }
    assert!(
        tally.checked * 4 >= count,
        "{} plans without an error",
        tally.checked
    );
    assert!(
        tally.left_out * 20 >= count,
        "{} plans with an entry that may be left out",
        tally.left_out
    );
    assert!(
        tally.apart * 400 >= count,
        "{} plans with writes that exclude each other",
        tally.apart
    );
    // Why allowed at all: the check may want a plainer guard than a person could do with.
    assert!(tally.cautious * 500 <= count, "{}", tally.cautious);
    assert!(
        tally.given_up * 100 <= count,
        "{} plans given up",
        tally.given_up
    );
}

/// Whether some plan is judged in two ways if the check's answers are altered so.
fn is_noticed(alter: &Alter<'_>) -> bool {
    let bench = Bench::new().unwrap();
    (1..=1_000).any(|seed| {
        let result = bench.compare(&bench.draw(seed), alter);
        !result.differences.is_empty()
    })
}

/// Control of the controls: nothing is noticed where nothing is altered.
#[test]
fn a_check_that_is_left_alone_is_not_noticed() {
    let bench = Bench::new().unwrap();
    let differs = |seed: u64| {
        !bench
            .compare(&bench.draw(seed), &|_| {})
            .differences
            .is_empty()
    };
    assert!(!(1..=100).any(differs));
}

/// Controls: a check that loses one rule, or finds it where it is not, is noticed; so is one that
/// lowers a label or a verdict.
#[test]
fn a_check_that_loses_a_rule_is_noticed() {
    for code in CODES {
        let lost = is_noticed(&|answers| answers.findings.retain(|(found, _)| found != code));
        assert!(lost, "a check without {code} is not noticed");
    }
}

/// How many of the plans with names are judged in two ways, and how many names and terms over items
/// there are.
fn named(
    from: u64,
    count: u64,
    write_out: &WriteOut<'_>,
    ask_items: &AskItems<'_>,
) -> (u64, usize, usize) {
    let bench = Bench::new().unwrap();
    let (mut failed, mut all, mut asked) = (0_u64, 0, 0);
    for seed in from..from + count {
        let drawn = bench.draw(seed);
        let plan = names::named(&drawn, seed, write_out, ask_items).unwrap();
        all += plan.count;
        asked += plan.asked;
        if let Err(difference) = bench.compare_names(&drawn, &plan) {
            failed += 1;
            if failed <= number("PROVOST_SHOW", 1) {
                println!(
                    "seed {seed}:\n{}\n{}\n{difference}",
                    plan.named, plan.written
                );
            }
        }
    }
    (failed, all, asked)
}

#[test]
fn a_plan_with_names_is_judged_as_the_plan_with_each_written_out() {
    let count = number("PROVOST_COUNT", 1_000);
    let seed = number("PROVOST_SEED", 1);
    let (failed, all, asked) = named(seed, count, &names::in_parentheses, &names::in_a_filter);
    assert_eq!(
        failed, 0,
        "{failed} of {count} plans are judged in two ways"
    );
    assert!(all as u64 > 2 * count, "{all} names in {count} plans only");
    assert!(
        asked as u64 * 5 > count,
        "{asked} conditions of items in {count} plans only"
    );
}

#[test]
fn names_written_out_without_parentheses_are_noticed() {
    let (failed, ..) = named(1, 300, &str::to_owned, &names::in_a_filter);
    assert!(failed > 0, "no plan hangs on the parentheses");
}

#[test]
fn a_condition_that_is_asked_of_no_item_is_noticed() {
    let unasked = |list: &str, _: &str| list.to_owned();
    let (failed, ..) = named(1, 300, &names::in_parentheses, &unasked);
    assert!(failed > 0, "no plan hangs on a condition of items");
}

#[test]
fn a_check_that_finds_too_much_is_noticed() {
    for code in CODES {
        let moved = is_noticed(&|answers| {
            let wrong = answers
                .findings
                .iter()
                .find(|(found, _)| found == code)
                .cloned();
            if let Some((code, place)) = wrong {
                answers.find(&code, format!("{place}x"));
            }
        });
        assert!(moved, "a second {code} is not noticed");
    }
}

#[test]
fn a_check_that_lowers_a_label_or_a_verdict_is_noticed() {
    let lower = |tag: &mut Tag| {
        if tag.trust == Trust::Text {
            tag.trust = Trust::Data;
        }
    };
    let alterations: [(&str, &Alter<'_>); 5] = [
        ("labels", &|answers| {
            answers.labels.values_mut().for_each(lower)
        }),
        ("secrets", &|answers| {
            answers
                .labels
                .values_mut()
                .for_each(|tag| tag.secret = false);
        }),
        ("controls", &|answers| {
            answers.controls.values_mut().for_each(lower)
        }),
        ("asks", &|answers| {
            for word in answers
                .verdicts
                .values_mut()
                .filter(|word| **word == Word::Ask)
            {
                *word = Word::Permit;
            }
        }),
        ("conditions", &|answers| {
            for word in answers
                .verdicts
                .values_mut()
                .filter(|word| **word == Word::AskPerhaps)
            {
                *word = Word::Permit;
            }
        }),
    ];
    for (what, alter) in alterations {
        assert!(is_noticed(alter), "lowered {what} are not noticed");
    }
}
