//! Every history of every small plan, over the real machine; and the controls that must fail.
//!
//! `PROVOST_ENUMERATE=full` explores all of it (`scripts/full enumerate`); without it a reduced set
//! that reaches the same rows of the transition table.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sim::enumerate::judge::{BEGUN_UNHEARD, DOUBLED_KEYED, DOUBLED_PLAIN, HELD_BACK, LOST};
use sim::enumerate::plans::Asserted;
use sim::enumerate::reading::COUNTED_TWICE;
use sim::enumerate::sums::{self, REACHED};
use sim::enumerate::{
    Bounds, Budget, FirstQuestion, Kind, PlanCase, Tally, catalog, explore, plans,
};
use sim::polls::{POLLED_EARLY, POLLED_LATE};
use sim::repeats::{BEGUN_FORBIDDEN, BEGUN_UNSHOWN, CARD_SILENT, Looks, NOT_RECORDED};
use sim::table::{self, Where};

/// Plans of one shape, and how much may go wrong in them.
struct Family {
    name: &'static str,
    cases: Vec<PlanCase>,
    bounds: Bounds,
}

/// Crashes, faults, replans, refusals, words of people that stop or settle.
type Numbers = [u8; 5];

fn family(name: &'static str, cases: Vec<PlanCase>, numbers: Numbers) -> Family {
    let [crashes, faults, replans, refusals, words] = numbers;
    let budget = Budget {
        crashes,
        faults,
        replans,
        refusals,
        words,
    };
    let bounds = Bounds {
        budget,
        merge_equals: false,
        probes: false,
        forget_sync: false,
        dispatch_first: false,
        hears_anew: false,
        strict_polls: false,
        two_people: false,
        stops: false,
        repeats: false,
        sum: None,
        looks: Looks::Always,
    };
    Family {
        name,
        cases,
        bounds,
    }
}

/// The same family, with every state of the machine tried in more ways.
fn probed(family: Family) -> Family {
    let bounds = Bounds {
        probes: true,
        ..family.bounds
    };
    Family { bounds, ..family }
}

/// The same family, with calls that differ in name only counted as one.
fn merged(family: Family) -> Family {
    let bounds = Bounds {
        merge_equals: true,
        ..family.bounds
    };
    Family { bounds, ..family }
}

/// The same family, where two people speak and people amend.
fn of_two(mut family: Family) -> Family {
    let amended = family.cases.into_iter().map(PlanCase::with_amendments);
    family.cases = amended.collect();
    family.bounds.two_people = true;
    family
}

/// The same family, where nothing begins before a person answers a question.
fn asked_first(family: Family) -> Family {
    first_asked(family, FirstQuestion::Open)
}

/// The same, with what is asked.
fn first_asked(mut family: Family, asked: FirstQuestion) -> Family {
    let cases = family.cases.into_iter();
    family.cases = cases.map(|case| case.with_question(asked)).collect();
    family.bounds.two_people = true;
    family
}

/// A question that lapses, then one step; the process dies at every boundary.
fn lapsing(name: &'static str, asked: FirstQuestion) -> Family {
    let cases = plans::all(1, &[Kind::Plain]);
    probed(first_asked(family(name, cases, [1, 0, 1, 1, 0]), asked))
}

/// The same family, where people stop more than the run.
fn stopped(mut family: Family) -> Family {
    family.bounds.stops = true;
    family
}

/// The same family, where another run makes the same calls.
fn repeated(mut family: Family) -> Family {
    family.bounds.repeats = true;
    family
}

/// The same family, where each call adds to a sum whose limit has room for two.
fn summed(mut family: Family) -> Family {
    family.cases = family.cases.into_iter().map(sums::adding).collect();
    family.bounds.sum = Some(5);
    family
}

/// Explores every plan, on two threads: what is added up does not depend on which came first.
fn run(families: &[Family], naive: bool) -> Tally {
    let (solo, two) = (catalog::rules(naive), catalog::rules_of_two());
    let (solo, two) = (solo.unwrap(), two.unwrap());
    let repeats = catalog::rules_of_repeats().unwrap();
    let sums = catalog::rules_of_sums().unwrap();
    let mut all = Tally::default();
    for family in families {
        let rules = match family.bounds {
            Bounds { repeats: true, .. } => &repeats,
            Bounds { sum: Some(_), .. } => &sums,
            Bounds {
                two_people: true, ..
            } => &two,
            _ => &solo,
        };
        let began = Instant::now();
        let (next, total) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Some(case) = family.cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let tally = explore(case, rules, family.bounds).unwrap();
                        total.lock().unwrap().add(tally);
                    }
                });
            }
        });
        let total = total.into_inner().unwrap();
        println!(
            "{:<28} plans {:>4} states {:>8} transitions {:>8} steps {:>7} boundaries {:>8} \
             in {:.1?}",
            family.name,
            total.plans,
            total.states,
            total.transitions,
            total.steps,
            total.boundaries,
            began.elapsed()
        );
        all.add(total);
    }
    println!(
        "plans {} states {} transitions {} steps {} boundaries {}\nends {:?}\n\
         doubled keyed {} doubled plain {} lost {} ambiguous {} in doubt {}\n\
         broken {:?}\nfaults {:?}\nmarks {:?}\nfindings in refused proposals {:?}",
        all.plans,
        all.states,
        all.transitions,
        all.steps,
        all.boundaries,
        all.ends,
        all.times(DOUBLED_KEYED),
        all.times(DOUBLED_PLAIN),
        all.times(LOST),
        all.ambiguous,
        all.in_doubt,
        all.broken,
        all.faults,
        all.marks,
        all.refused,
    );
    all
}

/// All of one class, and all of one class but the first or the last.
fn mixes(size: usize) -> Vec<Vec<Kind>> {
    let mut mixes = Vec::new();
    for most in Kind::ALL {
        mixes.push(vec![most; size]);
        for other in Kind::ALL.into_iter().filter(|other| *other != most) {
            for at in [0, size - 1] {
                let mut mix = vec![most; size];
                mix.remove(at);
                mix.insert(at, other);
                mixes.push(mix);
            }
        }
    }
    mixes
}

fn shaped(size: usize, shape: fn(&[Kind]) -> PlanCase) -> Vec<PlanCase> {
    mixes(size).iter().map(|mix| shape(mix)).collect()
}

fn writes(size: usize) -> Vec<Vec<Kind>> {
    let writes = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Read);
    plans::choices(size, &writes.collect::<Vec<Kind>>())
}

fn read_back(size: usize) -> Vec<PlanCase> {
    let choices = writes(size);
    let plans = choices.iter().map(|kinds| plans::read_back(kinds));
    plans.collect()
}

fn undone(size: usize) -> Vec<PlanCase> {
    let choices = writes(size);
    choices.iter().map(|kinds| plans::undone(kinds)).collect()
}

/// Reads that poll: alone, before and after a write, two at once, over a list.
fn polled() -> Vec<PlanCase> {
    vec![
        plans::polled(&[Kind::Read]),
        plans::polled(&[Kind::Read, Kind::Plain]),
        plans::polled(&[Kind::Keyed, Kind::Read]),
        plans::polled(&[Kind::Read, Kind::Read]),
        plans::polled_list(2),
    ]
}

/// An assertion after the first step, for which all others wait: one that holds, one that does not.
fn asserted() -> Vec<PlanCase> {
    let ways = [true, false].map(|holds| Asserted {
        holds,
        heeded: true,
    });
    let plans = || {
        [
            plans::chain(&[Kind::Read, Kind::Plain]),
            plans::chain(&[Kind::Keyed, Kind::Wipe]),
            plans::fan_out(&[Kind::Plain, Kind::Plain, Kind::Read]),
        ]
    };
    let cases = ways
        .into_iter()
        .flat_map(|way| plans().map(|plan| plan.with_assertion(way)));
    cases.collect()
}

fn lists(items: usize, same: bool) -> Vec<PlanCase> {
    // Why: the check refuses a list that destroys one thing again and again.
    let kinds = Kind::ALL
        .into_iter()
        .filter(|kind| !same || *kind != Kind::Wipe);
    kinds.map(|kind| plans::list(kind, items, same)).collect()
}

fn reduced() -> Vec<Family> {
    vec![
        probed(family(
            "one step",
            plans::all(1, &Kind::ALL),
            [2, 2, 1, 1, 1],
        )),
        family("two steps", plans::all(2, &Kind::ALL), [1, 1, 1, 1, 0]),
        probed(family(
            "a list of two, one by one",
            lists(2, true),
            [1, 1, 1, 1, 1],
        )),
        merged(family("a list of three", lists(3, false), [1, 1, 0, 1, 0])),
        family("readings that grow old", ageing(), [1, 2, 0, 0, 0]),
        family("reads that poll", polled(), [1, 1, 0, 0, 1]),
        family("a write read back", read_back(1), [2, 2, 1, 1, 0]),
        family("two writes read back", read_back(2), [1, 1, 0, 1, 0]),
        family("a write undone", undone(1), [2, 2, 0, 1, 1]),
        family("a write that is shown", shown(), [1, 2, 0, 1, 1]),
        family("two writes undone", undone(2), [1, 1, 0, 0, 1]),
        lapsing("a question with a default", FirstQuestion::Defaults),
        lapsing("a question that lapses", FirstQuestion::Fails),
        probed(family("an assertion between", asserted(), [1, 1, 0, 1, 1])),
    ]
}

/// Few of the plans that people speak to, with one statement in a history.
fn people() -> Vec<Family> {
    let kinds = [Kind::Plain, Kind::Wipe];
    vec![
        probed(of_two(family(
            "one step, two people",
            plans::all(1, &kinds),
            [1, 1, 0, 1, 1],
        ))),
        probed(asked_first(family(
            "a question, then one step",
            plans::all(1, &[Kind::Plain]),
            [1, 1, 0, 0, 1],
        ))),
        probed(first_asked(
            family(
                "a question with a default",
                plans::all(1, &[Kind::Plain]),
                [1, 0, 0, 1, 1],
            ),
            FirstQuestion::Defaults,
        )),
        probed(stopped(family(
            "one step, stopped from outside",
            plans::all(1, &[Kind::Plain]),
            [1, 1, 0, 0, 2],
        ))),
        of_two(family(
            "two steps, two people",
            vec![plans::chain(&[Kind::Plain, Kind::Wipe])],
            [1, 0, 0, 0, 1],
        )),
    ]
}

/// A call of which its card shows what it is about: alone, after another, and over a list.
fn shown() -> Vec<PlanCase> {
    vec![
        plans::chain(&[Kind::Shown]),
        plans::chain(&[Kind::Plain, Kind::Shown]),
        plans::list(Kind::Shown, 2, false),
    ]
}

/// Two reads, and a step that acts on both while they are young.
fn ageing() -> Vec<PlanCase> {
    let acts = [Kind::Plain, Kind::Keyed];
    acts.map(|kind| plans::fresh(&[Kind::Read, Kind::Read, kind]))
        .to_vec()
}

/// Every plan of three steps.
fn three(name: &'static str, numbers: Numbers) -> Family {
    merged(family(name, plans::all(3, &Kind::ALL), numbers))
}

/// Plans of four and five steps.
fn large(
    name: &'static str,
    size: usize,
    shape: fn(&[Kind]) -> PlanCase,
    numbers: Numbers,
) -> Family {
    merged(family(name, shaped(size, shape), numbers))
}

fn full() -> Vec<Family> {
    vec![
        family("readings that grow old", ageing(), [2, 2, 0, 1, 1]),
        probed(family(
            "one step",
            plans::all(1, &Kind::ALL),
            [2, 2, 1, 1, 1],
        )),
        probed(family(
            "two steps",
            plans::all(2, &Kind::ALL),
            [2, 2, 1, 1, 0],
        )),
        family(
            "two steps, with words",
            plans::all(2, &Kind::ALL),
            [1, 1, 1, 0, 1],
        ),
        // Why apart: two of everything in three steps are a hundred million states. Each two
        // kinds of trouble meet, and all of them in the plans of one and of two steps.
        three("three steps, crashes and faults", [1, 1, 0, 1, 0]),
        three("three steps, two crashes", [2, 0, 1, 1, 0]),
        three("three steps, a fault and a replan", [0, 1, 1, 1, 0]),
        // Why apart: each poll is an attempt, and two of everything are twenty million states.
        merged(family(
            "reads that poll, two crashes",
            polled(),
            [2, 1, 0, 1, 1],
        )),
        merged(family(
            "reads that poll, two faults",
            polled(),
            [1, 2, 1, 1, 0],
        )),
        family("a write read back", read_back(1), [2, 2, 1, 1, 1]),
        family("two writes read back", read_back(2), [1, 2, 1, 1, 0]),
        // Why apart: two crashes, a fault and two statements in one step are four million states.
        probed(of_two(family(
            "one step, two people",
            plans::all(1, &Kind::ALL),
            [2, 1, 0, 1, 1],
        ))),
        of_two(family(
            "one step, two statements",
            plans::all(1, &Kind::ALL),
            [1, 0, 0, 1, 2],
        )),
        merged(of_two(family(
            "two steps, two people",
            plans::all(2, &Kind::ALL),
            [1, 0, 0, 1, 1],
        ))),
        probed(asked_first(family(
            "a question, then one step",
            plans::all(1, &Kind::ALL),
            [2, 1, 0, 1, 1],
        ))),
        lapsing("a question with a default", FirstQuestion::Defaults),
        lapsing("a question that lapses", FirstQuestion::Fails),
        asked_first(family(
            "a question, then two steps",
            plans::all(2, &Kind::ALL),
            [1, 0, 0, 1, 1],
        )),
        probed(stopped(family(
            "one step, stopped from outside",
            plans::all(1, &Kind::ALL),
            [2, 1, 0, 1, 2],
        ))),
        stopped(family(
            "two steps, stopped from outside",
            plans::all(2, &Kind::ALL),
            [1, 0, 0, 0, 1],
        )),
        probed(repeated(family(
            "one step, made before",
            plans::all(1, &Kind::ALL),
            [1, 1, 1, 1, 2],
        ))),
        repeated(family(
            "two steps, made before",
            plans::all(2, &Kind::ALL),
            [1, 0, 0, 0, 1],
        )),
        probed(family("a write undone", undone(1), [2, 2, 0, 1, 2])),
        probed(family("a write that is shown", shown(), [2, 2, 1, 1, 1])),
        family("two writes undone", undone(2), [1, 1, 0, 1, 2]),
        probed(family("an assertion between", asserted(), [2, 2, 0, 1, 2])),
        probed(family(
            "a list of two, one by one",
            lists(2, true),
            [2, 2, 1, 1, 0],
        )),
        merged(family("a list of four", lists(4, false), [1, 2, 1, 1, 0])),
        merged(family("a list of five", lists(5, false), [1, 1, 1, 1, 0])),
        large("four in a chain", 4, plans::chain, [1, 1, 0, 1, 0]),
        large("five in a chain", 5, plans::chain, [1, 1, 0, 1, 0]),
        large("fan-out of four", 4, plans::fan_out, [1, 1, 0, 1, 0]),
        large(
            "fan-out of five, a crash",
            5,
            plans::fan_out,
            [1, 0, 0, 1, 0],
        ),
        large(
            "fan-out of five, a fault",
            5,
            plans::fan_out,
            [0, 1, 0, 0, 0],
        ),
        large("fan-in of four", 4, plans::fan_in, [1, 1, 0, 1, 0]),
        large("fan-in of five, a crash", 5, plans::fan_in, [1, 0, 0, 1, 0]),
        large("fan-in of five, a fault", 5, plans::fan_in, [0, 1, 0, 0, 0]),
    ]
}

/// Every kind of fault that the search knows.
const FAULTS: [&str; 19] = [
    "a clock goes back",
    "a statement that must not count",
    "a statement waits for who takes the run up",
    "an answer comes twice",
    "back when no key is remembered",
    "crash after the commit",
    "crash before the commit",
    "crash with calls in flight",
    "denied",
    "loss of power",
    "nobody answers",
    "not yet",
    "ok",
    "refused",
    "takes place after all",
    "timeout after the effect",
    "timeout before the effect",
    "timeout long before the effect",
    "a revision calls it again",
];

/// Every statement that the search knows.
const STATEMENTS: [&str; 14] = [
    "a person amends plan and goal",
    "a person amends the goal",
    "a person amends the plan",
    "a person answers",
    "a person cancels",
    "a person lets it go on",
    "a person pauses",
    "a person says no",
    "a person says no to all",
    "a person says yes",
    "a person settles a doubt",
    "a person stops more than this run",
    "a person takes steps out of the plan",
    "an amendment is refused",
];

fn is_whole() -> bool {
    std::env::var("PROVOST_ENUMERATE").is_ok_and(|part| part == "full")
}

#[track_caller]
fn tried(tally: &Tally, names: &[&str]) {
    for name in names {
        assert!(tally.faults.contains(name), "`{name}` was never tried");
    }
}

#[track_caller]
fn holds(tally: &Tally) {
    assert!(
        tally.broken.is_empty(),
        "{:?}\n{:#?}",
        tally.broken,
        tally.witness
    );
    assert!(tally.ambiguous > 0, "no write was ever ambiguous");
    assert_eq!(
        tally.ambiguous, tally.in_doubt,
        "every ambiguous plain write is in doubt"
    );
    for stuck in ["running", "planning", "paused"] {
        let ends = tally.ends.get(stuck);
        assert_eq!(ends, None, "a run stands still and calls itself {stuck}");
    }
}

#[test]
fn no_effect_is_doubled_or_lost_in_any_history() {
    let began = Instant::now();
    let tally = run(&if is_whole() { full() } else { reduced() }, false);
    println!("in {:.1?}", began.elapsed());
    holds(&tally);
    tried(&tally, &FAULTS);
    if is_whole() {
        tried(&tally, &STATEMENTS);
    }
    let missing = table::missing(&tally.marks, Where::Small);
    assert!(missing.is_empty(), "rows never reached: {missing:?}");
    let within = std::env::var("PROVOST_WITHIN").ok();
    if let Some(within) = within
        .and_then(|text| text.parse().ok())
        .map(Duration::from_secs)
    {
        assert!(began.elapsed() <= within, "it takes longer than {within:?}");
    }
}

/// Two people say everything to a run, at every state and first after every crash.
#[test]
fn no_statement_is_passed_over_or_counts_for_more_than_it_says() {
    let tally = run(&people(), false);
    holds(&tally);
    tried(&tally, &STATEMENTS);
}

/// Another run makes the same calls, before and beside this one: no call begins that policy forbids
/// over them, and a card names them.
#[test]
fn no_call_is_repeated_against_a_rule_and_no_card_hides_a_repetition() {
    let families = [
        probed(repeated(family(
            "one step, made before",
            plans::all(1, &Kind::ALL),
            [1, 1, 1, 1, 1],
        ))),
        repeated(family(
            "two steps, made before",
            vec![
                plans::chain(&[Kind::Plain, Kind::Wipe]),
                plans::fan_out(&[Kind::Keyed, Kind::Keyed]),
            ],
            [1, 0, 0, 0, 1],
        )),
    ];
    let tally = run(&families, false);
    holds(&tally);
    tried(&tally, &["another run makes the same call"]);
}

/// Three writes of which the limit of a sum lets two begin: one after the other, two at once, and
/// over a list. Wherever the process dies, no call begins beyond it, none is counted twice, and
/// one whose outcome nobody knows is spent.
#[test]
fn no_call_begins_beyond_the_limit_of_a_sum() {
    let cases = vec![
        plans::chain(&[Kind::Keyed, Kind::Plain, Kind::Keyed]),
        plans::fan_out(&[Kind::Plain, Kind::Keyed, Kind::Found]),
        plans::list(Kind::Keyed, 3, false),
    ];
    let few = if is_whole() {
        [2, 2, 0, 1, 1]
    } else {
        [1, 1, 0, 0, 1]
    };
    let tally = run(&[probed(summed(family("a sum", cases, few)))], false);
    holds(&tally);
    tried(
        &tally,
        &[
            REACHED,
            "crash before the commit",
            "crash with calls in flight",
        ],
    );
}

fn control(naive: bool, forget_sync: bool, numbers: Numbers) -> Tally {
    let kinds = [Kind::Read, Kind::Plain];
    let mut family = family("control", plans::all(2, &kinds), numbers);
    family.bounds.forget_sync = forget_sync;
    run(&[family], naive)
}

/// Control: steps that do not wait for an assertion are not held back by it.
#[test]
fn an_assertion_that_nothing_waits_for_is_caught() {
    let unheeded = Asserted {
        holds: false,
        heeded: false,
    };
    let case = plans::chain(&[Kind::Read, Kind::Plain]).with_assertion(unheeded);
    let tally = run(&[family("control", vec![case], [0, 1, 0, 0, 0])], false);
    assert!(tally.times(HELD_BACK) > 0);
}

/// Control: an executor that takes a plain write for repeatable doubles it.
#[test]
fn a_naive_executor_is_caught() {
    let tally = control(true, false, [1, 1, 0, 0, 0]);
    assert!(tally.times(DOUBLED_PLAIN) > 0);
    assert!(tally.witness.is_some(), "it is shown how");
}

/// Control: a driver that does not sync before a write loses its intent.
#[test]
fn a_driver_that_forgets_to_sync_is_caught() {
    let tally = control(false, true, [1, 0, 0, 0, 0]);
    assert!(tally.times(LOST) > 0 && tally.times(DOUBLED_PLAIN) > 0);
}

/// Control: a driver that lets things begin before it hears what was posted begins what a person
/// forbade.
#[test]
fn a_driver_that_dispatches_before_it_hears_is_caught() {
    let kinds = [Kind::Read, Kind::Plain];
    let driven = |dispatch_first: bool| {
        let mut family = family("control", plans::all(2, &kinds), [1, 0, 0, 0, 1]);
        family.bounds.dispatch_first = dispatch_first;
        run(&[family], false).times(BEGUN_UNHEARD)
    };
    assert_eq!(driven(false), 0);
    assert!(driven(true) > 0);
}

/// Control: a driver that takes what was posted for another statement each time it hears it makes
/// one statement count twice.
#[test]
fn a_driver_that_hears_a_statement_anew_is_caught() {
    let driven = |hears_anew: bool| {
        let cases = plans::all(1, &[Kind::Plain]);
        let mut family = of_two(family("control", cases, [2, 0, 0, 0, 1]));
        family.bounds.hears_anew = hears_anew;
        run(&[family], false).times(COUNTED_TWICE)
    };
    assert_eq!(driven(false), 0);
    assert!(driven(true) > 0);
}

/// Control: a driver that does not have the store confirm what a turn rests on begins what policy
/// forbids, and asks with cards that are silent; one that does so for cards alone begins both.
#[test]
fn a_driver_that_does_not_look_for_equal_calls_is_caught() {
    let driven = |looks: Looks| {
        let kinds = [Kind::Keyed, Kind::Plain, Kind::Wipe];
        let mut family = repeated(family("control", plans::all(1, &kinds), [0, 0, 0, 0, 1]));
        family.bounds.looks = looks;
        let tally = run(&[family], false);
        let names = [BEGUN_FORBIDDEN, BEGUN_UNSHOWN, NOT_RECORDED, CARD_SILENT];
        names.map(|what| tally.times(what) > 0)
    };
    assert_eq!(driven(Looks::Always), [false; 4]);
    assert_eq!(driven(Looks::AtCards), [true, true, true, false]);
    assert_eq!(driven(Looks::Never), [true; 4]);
}

/// Control: who polls by shorter waits and for longer than is asked is caught.
#[test]
fn polls_that_begin_early_or_late_are_caught() {
    let driven = |strict: bool| {
        let mut family = family("control", polled(), [1, 1, 0, 0, 0]);
        family.bounds.strict_polls = strict;
        run(&[family], false)
    };
    let exact = driven(false);
    assert_eq!(exact.times(POLLED_EARLY) + exact.times(POLLED_LATE), 0);
    let strict = driven(true);
    assert!(strict.times(POLLED_EARLY) > 0 && strict.times(POLLED_LATE) > 0);
}

/// Control: what is merged because it differs in name only hides no row, no end and no fault.
#[test]
fn merging_equals_hides_nothing() {
    let cases = || {
        let mut cases = lists(2, false);
        cases.push(plans::fan_out(&[Kind::Read, Kind::Plain, Kind::Plain]));
        cases
    };
    let exact = run(&[family("exact", cases(), [1, 1, 0, 1, 0])], false);
    let equal = run(&[merged(family("merged", cases(), [1, 1, 0, 1, 0]))], false);
    assert!(equal.states < exact.states, "nothing was merged");
    assert_eq!(equal.marks, exact.marks);
    assert_eq!(equal.faults, exact.faults);
    assert!(equal.ends.keys().eq(exact.ends.keys()));
}

/// The rows are those of the table at the head of the machine.
#[test]
fn the_rows_are_those_of_the_machine() {
    let source = include_str!("../../provost-run/src/machine.rs");
    let mut there = table::rows_in(source);
    let rows = table::ROWS.iter();
    let mut here: Vec<_> = rows
        .map(|r| (r.state.to_owned(), r.input.to_owned()))
        .collect();
    there.sort();
    here.sort();
    assert_eq!(here, there);
    let mut names: Vec<_> = table::marks().map(|mark| mark.name).collect();
    names.sort_unstable();
    let all = names.len();
    names.dedup();
    assert_eq!(names.len(), all, "a mark has a name of its own");
}
