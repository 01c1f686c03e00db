//! What runs share: the guard over doubts, breakers, rates, places, budgets, stops; between
//! processes as within one.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use provost_engine::clock::Clock;
use provost_engine::store::{NewEvent, StopScope, Stopped, Store, StoreError};
use provost_plan::digest::{Digest, Domain};
use provost_plan::money::Money;
use provost_run::admission::{
    AdmissionEntry, Begin, Breaker, Budget, CallTarget, Denial, Period, Rate, Reserve, Spent,
    ToolLimits, planner_slot,
};
use provost_run::call::Slot;
use provost_run::event::Event;
use provost_run::spending::Spending;
use rusqlite::Connection;
use serde_json::json;

use super::{append, durable, second};

fn slot(step: &str) -> Slot {
    Slot {
        step: step.to_owned(),
        item: None,
    }
}

fn sinks(of: &str) -> Digest {
    Digest::of_bytes(Domain::Args, of.as_bytes())
}

pub(super) fn begin(step: &str) -> Begin {
    Begin {
        slot: slot(step),
        tool: "mail".to_owned(),
        operation: "mail.send".to_owned(),
        sinks: Some(sinks("bob")),
        plain: true,
        money: Money::ZERO,
        tokens: 0,
        limits: ToolLimits::default(),
        budget: None,
        principal: "ada".to_owned(),
        playbook: Some("greet".to_owned()),
    }
}

pub(super) fn begins(begin: Begin) -> AdmissionEntry {
    AdmissionEntry::Begin(Box::new(begin))
}

fn ends(step: &str, healthy: bool, known: bool, breaker: Option<Breaker>) -> AdmissionEntry {
    AdmissionEntry::End {
        slot: slot(step),
        tool: "mail".to_owned(),
        healthy: Some(healthy),
        known,
        // Why not of all: a journal of an older version does not tell it.
        target: (step != "a").then(|| CallTarget {
            operation: "mail.send".to_owned(),
            sinks: sinks("bob"),
        }),
        breaker,
    }
}

thread_local! {
    /// What the stores of a test tell time by.
    static CLOCK: Arc<AtomicI64> = Arc::new(AtomicI64::new(1_000));
}

fn clock() -> Clock {
    Clock::Set(CLOCK.with(Arc::clone))
}

/// The event that an entry goes with.
fn event_of(entry: &AdmissionEntry) -> Event {
    let attempt_of = |slot: &Slot| json!({ "slot": slot, "attempt": 1 });
    let digest = sinks("any");
    let (kind, mut payload, more) = match entry {
        AdmissionEntry::Begin(begin) => {
            let is_read = begin.sinks.is_none();
            let key = (!is_read && !begin.plain).then_some("a key");
            let more = json!({
                "operation": begin.operation, "tool": digest, "closure": digest, "args": {},
                "args_digest": digest, "sinks": begin.sinks, "read": is_read, "key": key,
                "verdict": { "decision": "permit", "policies": [] },
                "money": (begin.money > Money::ZERO).then_some(begin.money),
                "tokens": (begin.tokens > 0).then_some(begin.tokens),
            });
            ("AttemptStarted", attempt_of(&begin.slot), more)
        }
        AdmissionEntry::End { slot, known, .. } => {
            let landing = if *known { "happened" } else { "unknown" };
            let more = json!({ "class": "ok", "landing": landing });
            ("AttemptEnded", attempt_of(slot), more)
        }
        AdmissionEntry::Doubt { slot } => {
            let more = json!({ "status": "in_doubt" });
            ("StepSettled", json!({ "slot": slot }), more)
        }
        AdmissionEntry::Settled { slot } => {
            let by = json!({ "kind": "person", "id": "ada" });
            let more = json!({ "settled": "happened", "by": by });
            ("DoubtSettled", json!({ "slot": slot }), more)
        }
        AdmissionEntry::Reserve(reserve) => {
            let reserved = json!({ "money": reserve.money, "tokens": reserve.tokens });
            let more = json!({ "ask": "propose", "request": digest, "reserved": reserved });
            ("PlanRequested", json!({ "id": 1 }), more)
        }
        AdmissionEntry::Spent(spent) => {
            let usage = json!({ "tokens_in": spent.tokens, "cost": spent.money });
            ("BudgetSpent", json!({ "id": 1 }), json!({ "usage": usage }))
        }
        AdmissionEntry::Earlier(_) => ("RunStarted", json!({ "revision": 1 }), json!({})),
    };
    let fields = payload.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    fields.retain(|_, value| !value.is_null());
    Event::from_stored(kind, 1, &payload).unwrap()
}

/// One run of a store, that appends one event with each entry.
pub(super) struct Writes<'s> {
    store: &'s Store,
    run: &'static str,
    seq: u64,
}

impl<'s> Writes<'s> {
    pub(super) fn new(store: &'s Store, run: &'static str) -> Self {
        store.append(append(run, 0, 1)).wait().unwrap();
        Self { store, run, seq: 1 }
    }

    fn at(&mut self, at_ms: i64, entries: Vec<AdmissionEntry>) -> Result<(), Vec<(Slot, Denial)>> {
        CLOCK.with(|clock| clock.store(at_ms, Ordering::Relaxed));
        self.by_own_clock(at_ms, entries)
    }

    /// The run's clock shows `at_ms`, and the store's what it did before.
    fn by_own_clock(
        &mut self,
        at_ms: i64,
        entries: Vec<AdmissionEntry>,
    ) -> Result<(), Vec<(Slot, Denial)>> {
        let mut one = durable(append(self.run, self.seq, 1));
        // As the machine does: what an event reserves follows its entry.
        let entries: Vec<AdmissionEntry> = entries
            .into_iter()
            .flat_map(|entry| {
                let is_told = matches!(entry, AdmissionEntry::Spent(_));
                let spent = Spending::default().apply(&event_of(&entry), at_ms);
                let spent = spent.filter(|_| !is_told).map(AdmissionEntry::Spent);
                std::iter::once(entry).chain(spent)
            })
            .collect();
        let reserves = |at: usize| {
            at > 0
                && matches!(
                    entries[at - 1],
                    AdmissionEntry::Begin(_) | AdmissionEntry::Reserve(_)
                )
        };
        let told = entries.iter().enumerate();
        let told =
            told.filter(|(at, entry)| !matches!(entry, AdmissionEntry::Spent(_)) || !reserves(*at));
        let events = told.map(|(_, entry)| event_of(entry)).map(|event| {
            let (kind, version, payload) = event.to_stored();
            let (kind, payload) = (kind.into(), payload.into());
            NewEvent {
                kind,
                version,
                at_ms,
                payload,
            }
        });
        let events: Vec<_> = events.collect();
        one.events.extend(events);
        one.events.iter_mut().for_each(|event| event.at_ms = at_ms);
        one.admission = entries;
        match self.store.append(one).wait() {
            Ok(receipt) => {
                self.seq = receipt.seq();
                Ok(())
            }
            Err(StoreError::NotAdmitted { denials, .. }) => Err(denials),
            Err(error) => panic!("{error}"),
        }
    }

    pub(super) fn enter(
        &mut self,
        entries: Vec<AdmissionEntry>,
    ) -> Result<(), Vec<(Slot, Denial)>> {
        self.at(1_000, entries)
    }
}

fn opened() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open_by_clock(dir.path(), clock()).unwrap();
    (dir, store)
}

fn doubted(run: &str, step: &str) -> Vec<(Slot, Denial)> {
    let denial = Denial::Doubt {
        run: run.to_owned(),
        slot: step.to_owned(),
    };
    vec![(slot("b"), denial)]
}

#[test]
fn no_run_repeats_what_another_is_in_doubt_about() {
    let (_dir, store) = opened();
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    one.enter(vec![begins(begin("a"))]).unwrap();
    // Why admitted: what a living process has in flight is no doubt.
    two.enter(vec![begins(begin("b"))]).unwrap();
    two.enter(vec![ends("b", true, true, None)]).unwrap();
    one.enter(vec![
        ends("a", false, false, None),
        AdmissionEntry::Doubt { slot: slot("a") },
    ])
    .unwrap();
    assert_eq!(
        two.enter(vec![begins(begin("b"))]),
        Err(doubted("one", "a"))
    );
    let elsewhere = Begin {
        sinks: Some(sinks("eve")),
        ..begin("b")
    };
    two.enter(vec![begins(elsewhere), ends("b", true, true, None)])
        .unwrap();
    let read = Begin {
        sinks: None,
        plain: false,
        ..begin("b")
    };
    two.enter(vec![begins(read)]).unwrap();
    one.enter(vec![AdmissionEntry::Settled { slot: slot("a") }])
        .unwrap();
    two.enter(vec![begins(begin("b"))]).unwrap();
}

/// A process that dies between intent and outcome leaves a doubt, before anybody takes its run up.
#[test]
fn what_a_dead_process_began_is_not_begun_by_another_run() {
    let (dir, store) = opened();
    let mut one = Writes::new(&store, "one");
    one.enter(vec![begins(begin("a"))]).unwrap();
    let keyed = Begin {
        plain: false,
        sinks: Some(sinks("keyed")),
        ..begin("k")
    };
    one.enter(vec![begins(keyed.clone())]).unwrap();
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    let mut two = Writes::new(&store, "two");
    assert_eq!(
        two.enter(vec![begins(begin("b"))]),
        Err(doubted("one", "a"))
    );
    // Why: a call with a key is settled by its own next attempt, and another run's is another.
    two.enter(vec![begins(Begin {
        slot: slot("b"),
        ..keyed
    })])
    .unwrap();
}

/// An append that is not admitted leaves nothing: not the end that stood before it either.
#[test]
fn what_is_not_admitted_leaves_no_row() {
    let (_dir, store) = opened();
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    one.enter(vec![
        begins(begin("a")),
        AdmissionEntry::Doubt { slot: slot("a") },
    ])
    .unwrap();
    let other = Begin {
        sinks: Some(sinks("eve")),
        ..begin("c")
    };
    let both = vec![begins(other.clone()), begins(begin("b"))];
    assert_eq!(two.enter(both), Err(doubted("one", "a")));
    assert_eq!(store.load("two").unwrap().len(), 1);
    let bare = Connection::open(_dir.path().join("journal.db")).unwrap();
    let rows: i64 = bare
        .query_row(
            "SELECT count(*) FROM open_effects WHERE run = 'two'",
            [],
            |row| row.get(0),
        )
        .unwrap();
    assert_eq!(rows, 0);
}

/// Changes the journal from outside.
pub(super) fn change(dir: &tempfile::TempDir, sql: &str) {
    let journal = Connection::open(dir.path().join("journal.db")).unwrap();
    journal.execute_batch(sql).unwrap();
}

#[test]
fn a_guard_that_somebody_took_away_is_found_and_stands_before_the_next_write() {
    for (tampered, sql) in [
        (false, ""),
        (true, "DELETE FROM open_effects"),
        (true, "UPDATE open_effects SET standing = 'keyed'"),
        (true, "UPDATE open_effects SET sinks = zeroblob(32)"),
        (true, "UPDATE open_effects SET operation = 'mail.read'"),
        (true, "UPDATE open_effects SET slot = 'other'"),
        (true, "UPDATE open_effects SET run = 'other'"),
    ] {
        for dies in [false, true] {
            let (dir, store) = opened();
            let mut one = Writes::new(&store, "one");
            one.enter(vec![begins(begin("a"))]).unwrap();
            if !dies {
                one.enter(vec![
                    ends("a", false, false, None),
                    AdmissionEntry::Doubt { slot: slot("a") },
                ])
                .unwrap();
            }
            drop(store);
            change(&dir, sql);
            let store = Store::open_by_clock(dir.path(), clock()).unwrap();
            let verified = store.verify();
            assert_eq!(verified.is_err(), tampered, "{sql}: {verified:?}");
            let second = second(dir.path());
            assert_eq!(second.status.success(), !tampered, "{sql}: {second:?}");
            if let Err(error) = verified {
                assert!(error.to_string().contains("open_effects"), "{error}");
            }
            let mut two = Writes::new(&store, "two");
            let refused = two.enter(vec![begins(begin("b"))]);
            assert_eq!(refused, Err(doubted("one", "a")), "{sql}");
            store.verify().unwrap();
        }
    }
}

#[test]
fn a_dead_run_given_to_a_living_process_is_still_in_doubt() {
    let (dir, store) = opened();
    let mut one = Writes::new(&store, "one");
    one.enter(vec![begins(begin("a"))]).unwrap();
    drop(store);
    let store = Store::open_by_clock(dir.path(), clock()).unwrap();
    let living = store.instance().unwrap();
    change(&dir, &format!("UPDATE open_effects SET owner = '{living}'"));
    let mut two = Writes::new(&store, "two");
    assert_eq!(
        two.enter(vec![begins(begin("b"))]),
        Err(doubted("one", "a"))
    );
}

#[test]
fn a_guard_that_somebody_made_up_is_found_and_binds_nobody() {
    let (dir, store) = opened();
    let mut one = Writes::new(&store, "one");
    one.enter(vec![begins(begin("a")), ends("a", true, true, None)])
        .unwrap();
    drop(store);
    let target = sinks("bob");
    change(
        &dir,
        &format!(
            "INSERT INTO open_effects VALUES ('one', 'a', 'mail.send', x'{}', 'doubtful', '', 1)",
            target.hex()
        ),
    );
    let store = Store::open_by_clock(dir.path(), clock()).unwrap();
    let error = store.verify().unwrap_err();
    assert!(error.to_string().contains("was made up"), "{error}");
    let mut two = Writes::new(&store, "two");
    two.enter(vec![begins(begin("b"))]).unwrap();
    store.verify().unwrap();
}

fn begin_read(step: &str, limits: ToolLimits) -> AdmissionEntry {
    begins(Begin {
        sinks: None,
        plain: false,
        limits,
        ..begin(step)
    })
}

#[test]
fn a_breaker_opens_for_every_run_and_one_probe_closes_it() {
    let breaker = Breaker {
        failures: 2,
        cooldown_ms: 10_000,
    };
    let limits = || ToolLimits {
        breaker: Some(breaker),
        ..ToolLimits::default()
    };
    let (_dir, store) = opened();
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    for at in [1_000, 2_000] {
        one.at(at, vec![begin_read("a", limits())]).unwrap();
        one.at(at, vec![ends("a", false, true, Some(breaker))])
            .unwrap();
    }
    let denied = |result: Result<(), Vec<(Slot, Denial)>>| match result {
        Err(denials) => match &denials[0].1 {
            Denial::Later { until, broken, .. } => (*until, *broken),
            other => panic!("{other:?}"),
        },
        Ok(()) => panic!("admitted"),
    };
    assert_eq!(
        denied(two.at(2_001, vec![begin_read("b", limits())])),
        (12_000, true)
    );
    two.at(12_000, vec![begin_read("b", limits())]).unwrap();
    assert!(
        denied(one.at(12_001, vec![begin_read("a", limits())])).1,
        "one probe only"
    );
    two.at(12_500, vec![ends("b", false, true, Some(breaker))])
        .unwrap();
    assert_eq!(
        denied(one.at(12_600, vec![begin_read("a", limits())])),
        (22_500, true)
    );
    one.at(22_500, vec![begin_read("a", limits())]).unwrap();
    one.at(22_600, vec![ends("a", true, true, Some(breaker))])
        .unwrap();
    two.at(22_601, vec![begin_read("b", limits())]).unwrap();
    one.at(22_602, vec![begin_read("a", limits())]).unwrap();
}

#[test]
fn a_rate_and_places_are_shared_by_all_runs() {
    let (dir, store) = opened();
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    let slow = || ToolLimits {
        rate: Some(Rate {
            count: 2,
            per_ms: 1_000,
        }),
        ..ToolLimits::default()
    };
    one.at(5_000, vec![begin_read("a", slow())]).unwrap();
    two.at(5_100, vec![begin_read("b", slow())]).unwrap();
    let Err(denials) = one.at(5_999, vec![begin_read("a", slow())]) else {
        panic!("admitted");
    };
    assert!(matches!(
        denials[0].1,
        Denial::Later {
            until: 6_000,
            broken: false,
            ..
        }
    ));
    one.at(6_000, vec![begin_read("a", slow())]).unwrap();

    let narrow = || ToolLimits {
        concurrency: Some(1),
        ..ToolLimits::default()
    };
    one.at(9_000, vec![begin_read("a", narrow())]).unwrap();
    let Err(denials) = two.at(9_000, vec![begin_read("b", narrow())]) else {
        panic!("admitted");
    };
    assert!(matches!(denials[0].1, Denial::Full { .. }));
    one.at(9_100, vec![ends("a", true, true, None)]).unwrap();
    two.at(9_100, vec![begin_read("b", narrow())]).unwrap();
    // Why: the place of a process that died is free.
    drop(store);
    let store = Store::open_by_clock(dir.path(), clock()).unwrap();
    let mut three = Writes::new(&store, "three");
    three.at(9_200, vec![begin_read("c", narrow())]).unwrap();
}

/// A rate of ten calls a second.
fn ten_a_second() -> ToolLimits {
    ToolLimits {
        rate: Some(Rate {
            count: 10,
            per_ms: 1_000,
        }),
        ..ToolLimits::default()
    }
}

#[test]
fn a_run_whose_own_clock_is_ahead_gets_no_rate_of_its_own() {
    let (_dir, store) = opened();
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    CLOCK.with(|clock| clock.store(50_000, Ordering::Relaxed));
    let mut admitted = 0;
    for _ in 0..20 {
        for (run, at_ms) in [(&mut one, 50_000), (&mut two, 50_600)] {
            let begun = run.by_own_clock(at_ms, vec![begin_read("a", ten_a_second())]);
            admitted += u32::from(begun.is_ok());
        }
    }
    assert_eq!(admitted, 10);
    // The run is told the moment by its own clock.
    let denials = two.by_own_clock(50_600, vec![begin_read("a", ten_a_second())]);
    let until = match &denials.unwrap_err()[0].1 {
        Denial::Later { until, .. } => *until,
        other => panic!("{other:?}"),
    };
    assert_eq!(until, 51_600);
}

#[test]
fn two_processes_whose_clocks_differ_share_one_rate() {
    let dir = tempfile::tempdir().unwrap();
    let (slow, fast) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let open = |clock: &Arc<AtomicI64>| {
        Store::open_by_clock(dir.path(), Clock::Set(Arc::clone(clock))).unwrap()
    };
    let (behind, ahead) = (open(&slow), open(&fast));
    let (mut one, mut two) = (Writes::new(&behind, "one"), Writes::new(&ahead, "two"));
    let mut seconds = [0; 5];
    for tick in 0..250_i64 {
        let now = 50_000 + tick * 20;
        slow.store(now, Ordering::Relaxed);
        fast.store(now + 600, Ordering::Relaxed);
        for (run, at_ms) in [(&mut one, now), (&mut two, now + 600)] {
            let begun = run.by_own_clock(at_ms, vec![begin_read("a", ten_a_second())]);
            seconds[usize::try_from(tick / 50).unwrap()] += u32::from(begun.is_ok());
        }
    }
    // Why twenty: the end of one window and the beginning of the next may lie in one second.
    assert!(seconds.iter().all(|calls| *calls <= 20), "{seconds:?}");
    assert!(seconds.iter().sum::<u32>() <= 60, "{seconds:?}");
}

#[test]
fn a_clock_that_was_set_back_for_long_blocks_no_tool() {
    let (_dir, store) = opened();
    let mut one = Writes::new(&store, "one");
    let year = 365 * 86_400_000;
    for _ in 0..10 {
        one.at(year, vec![begin_read("a", ten_a_second())]).unwrap();
    }
    assert!(one.at(year, vec![begin_read("a", ten_a_second())]).is_err());
    one.at(5_000, vec![begin_read("a", ten_a_second())])
        .unwrap();
}

#[test]
fn a_budget_is_never_passed_by_runs_beside_each_other() {
    let (_dir, store) = opened();
    let budget = Budget {
        money: Some(Money::parse("1").unwrap()),
        tokens: Some(100),
        per: Period::Day,
    };
    let dear = |step: &str, money: &str, tokens: u64| {
        begins(Begin {
            sinks: None,
            money: Money::parse(money).unwrap(),
            tokens,
            budget: Some((budget.clone(), "1970-01-01".to_owned())),
            ..begin(step)
        })
    };
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    one.enter(vec![dear("a", "0.6", 10)]).unwrap();
    assert!(two.enter(vec![dear("b", "0.400001", 10)]).is_err());
    two.enter(vec![dear("b", "0.4", 10)]).unwrap();
    assert!(one.enter(vec![dear("a", "0.000001", 0)]).is_err());
    one.enter(vec![dear("a", "0", 80)]).unwrap();
    assert!(one.enter(vec![dear("a", "0", 1)]).is_err());
}

#[test]
fn what_planners_cost_counts_against_the_budget_too() {
    let (dir, store) = opened();
    let day = "1970-01-01";
    let money = |text: &str| Money::parse(text).unwrap();
    let budget = Budget {
        money: Some(money("1")),
        tokens: Some(100),
        per: Period::Day,
    };
    let asks = |most: &str, tokens: u64| {
        AdmissionEntry::Reserve(Reserve {
            money: money(most),
            tokens,
            budget: budget.clone(),
            period: day.to_owned(),
        })
    };
    let took = |cost: &str, tokens: u64| {
        AdmissionEntry::Spent(Spent {
            at_ms: 1_000,
            money_back: money("0.6"),
            tokens_back: 60,
            money: money(cost),
            tokens,
        })
    };
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    one.enter(vec![asks("0.6", 60)]).unwrap();
    for more in [asks("0.400001", 10), asks("0", 41)] {
        let Err(denials) = two.enter(vec![more]) else {
            panic!("admitted");
        };
        assert_eq!(denials[0].0, planner_slot());
        assert!(matches!(denials[0].1, Denial::Budget { .. }));
    }
    // What was refused leaves nothing behind, what was taken makes room, also for a next request in
    // the same transaction.
    assert_eq!(store.spent(day).unwrap(), (money("0.6"), 60));
    one.enter(vec![took("0.1", 10), asks("0.6", 60)]).unwrap();
    assert_eq!(store.spent(day).unwrap(), (money("0.7"), 70));
    assert!(two.enter(vec![asks("0.4", 10)]).is_err());
    one.enter(vec![took("0.2", 20)]).unwrap();
    assert_eq!(store.spent(day).unwrap(), (money("0.3"), 30));
    // Calls and planners share it.
    let dear = Begin {
        sinks: None,
        money: money("0.700001"),
        budget: Some((budget.clone(), day.to_owned())),
        ..begin("a")
    };
    assert!(two.enter(vec![begins(dear)]).is_err());
    // It outlasts the process.
    drop(store);
    let store = Store::open(dir.path()).unwrap();
    assert_eq!(store.spent(day).unwrap(), (money("0.3"), 30));
    let mut three = Writes::new(&store, "three");
    three.enter(vec![asks("0.7", 70)]).unwrap();
}

#[test]
fn a_stop_binds_every_run_that_it_names() {
    let (_dir, store) = opened();
    let (mut one, mut two) = (Writes::new(&store, "one"), Writes::new(&store, "two"));
    let cases = [
        (StopScope::All, "", [false, false]),
        (StopScope::Tool, "mail", [false, false]),
        (StopScope::Tool, "mail.send", [false, false]),
        (StopScope::Tool, "mail.read", [true, true]),
        (StopScope::Playbook, "greet", [false, false]),
        (StopScope::Principal, "bob", [true, true]),
    ];
    for (scope, name, admitted) in cases {
        let stopped = Stopped {
            scope,
            name: name.to_owned(),
            by: "eve".to_owned(),
            reason: "for now".to_owned(),
            at_ms: 5,
        };
        store.stop(&stopped).wait().unwrap();
        assert_eq!(store.stops().unwrap(), [stopped]);
        let entries = |step| vec![begins(begin(step)), ends(step, true, true, None)];
        let found = [
            one.enter(entries("a")).is_ok(),
            two.enter(entries("b")).is_ok(),
        ];
        assert_eq!(found, admitted, "{scope:?} {name}");
        store.unstop(scope, name, "ada").wait().unwrap();
        assert_eq!(store.stops().unwrap(), []);
    }
    one.enter(vec![begins(begin("a"))]).unwrap();
}
