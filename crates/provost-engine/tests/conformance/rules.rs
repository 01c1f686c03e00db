//! The rules, each as a function of how a process opens the journal.

use std::borrow::Cow;
use std::thread;

use provost_engine::owner::{ClaimResult, OwnerStatus};
use provost_engine::store::{
    Append, Backend, Change, Evidence, NewEvent, Projection, StopScope, Stopped, StoreError,
};
use provost_plan::money::Money;
use provost_run::admission::{AdmissionEntry, Begin, Rate, ToolLimits};
use provost_run::call::Slot;
use serde_json::json;

/// Opens the journal once more, as another process does.
type Process<'a> = &'a (dyn Fn() -> Box<dyn Backend> + Sync);

pub struct Rule {
    pub name: &'static str,
    pub holds: fn(Process<'_>) -> Result<(), String>,
}

macro_rules! rules {
    ($($name:literal $holds:ident)+) => {
        pub const RULES: &[Rule] = &[$(Rule { name: $name, holds: $holds }),+];
    };
}
rules! {
    "K1 prefix" prefix
    "K2 fence" fence
    "K3 whole" whole
    "K4 admission" admission
    "K8 claims" claims
    "K9 owner status" owner_status
    "K10 clock" clock
    "K11 waking" waking
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    holds.then_some(()).ok_or_else(|| otherwise.to_owned())
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn append(run: &str, after: u64, count: u64) -> Append {
    let events = (after + 1..=after + count).map(|seq| NewEvent {
        kind: Cow::Borrowed("Noted"),
        version: 1,
        at_ms: 1_000 + i64::try_from(seq).unwrap(),
        payload: json!({ "seq": seq }).into(),
    });
    Append {
        run: run.to_owned(),
        expect_seq: after,
        events: events.collect(),
        evidence: Vec::new(),
        admission: Vec::new(),
        notices: Vec::new(),
        row: Projection {
            status: "running".to_owned(),
            goal: format!("the goal of {run}"),
            summary: "{}".to_owned(),
            due_ms: None,
            waits: Vec::new(),
            facts: None,
        },
        durable: true,
        only_of_goal: false,
    }
}

/// A read of the tool `mail` that wants to begin.
fn begins(run: &str, after: u64, limits: ToolLimits) -> Append {
    let slot = Slot {
        step: "one".to_owned(),
        item: None,
    };
    let begin = Begin {
        slot,
        tool: "mail".to_owned(),
        operation: "mail.read".to_owned(),
        sinks: None,
        plain: false,
        money: Money::ZERO,
        tokens: 0,
        limits,
        budget: None,
        principal: "ada".to_owned(),
        playbook: None,
    };
    let mut append = append(run, after, 1);
    append.admission = vec![AdmissionEntry::Begin(Box::new(begin))];
    append
}

/// How many events of a run another process reads.
fn kept(process: Process<'_>, run: &str) -> Result<usize, String> {
    process()
        .load(run)
        .wait()
        .map(|events| events.len())
        .map_err(words)
}

fn prefix(process: Process<'_>) -> Result<(), String> {
    let one = process();
    one.append(append("run", 0, 3)).wait().map_err(words)?;
    let receipt = one.append(append("run", 3, 2)).wait().map_err(words)?;
    let events = process().load("run").wait().map_err(words)?;
    let last = events.last().ok_or("nothing is there")?;
    ensure(
        receipt.seq() == 5 && events.len() == 5,
        "a receipt for events that are not kept",
    )?;
    ensure(
        receipt.head() == last.link,
        "the receipt names another head",
    )?;
    ensure(receipt.is_durable(), "it is not durable")
}

fn fence(process: Process<'_>) -> Result<(), String> {
    let (one, other) = (process(), process());
    one.append(append("run", 0, 1)).wait().map_err(words)?;
    one.release("run").wait().map_err(words)?;
    let taken = other.claim("run").wait().map_err(words)?;
    ensure(taken == ClaimResult::Taken, "a free run is not given")?;
    let late = one.append(append("run", 1, 1)).wait();
    ensure(
        matches!(late, Err(StoreError::Moved { .. })),
        "who lost the run appends",
    )?;
    let blind = other.append(append("run", 4, 1)).wait();
    ensure(
        matches!(blind, Err(StoreError::SeqMismatch { .. })),
        "it appends after what is not there",
    )?;
    ensure(
        kept(process, "run")? == 1,
        "something of it is kept all the same",
    )
}

fn whole(process: Process<'_>) -> Result<(), String> {
    let one = process();
    let [kept_bytes, refused] = [b"kept".as_slice(), b"refused"].map(<[u8]>::to_vec);
    let (kept_bytes, refused) = (
        Evidence::new("text/plain", kept_bytes),
        Evidence::new("text/plain", refused),
    );
    let digests = (kept_bytes.digest(), refused.digest());
    let mut first = append("run", 0, 1);
    first.evidence = vec![kept_bytes];
    one.append(first).wait().map_err(words)?;
    let mut blind = append("run", 7, 1);
    blind.evidence = vec![refused];
    let blind = one.append(blind).wait();
    ensure(blind.is_err(), "what does not follow is kept")?;
    let has = |digest| {
        let found = process().evidence(digest).wait();
        found.map(|found| found.is_some()).map_err(words)
    };
    ensure(has(&digests.0)?, "events are kept without their evidence")?;
    ensure(!has(&digests.1)?, "evidence is kept without its events")
}

fn everything() -> Stopped {
    Stopped {
        scope: StopScope::All,
        name: String::new(),
        by: "ada".to_owned(),
        reason: "a look".to_owned(),
        at_ms: 1,
    }
}

fn admission(process: Process<'_>) -> Result<(), String> {
    let (one, other) = (process(), process());
    one.append(append("a", 0, 1)).wait().map_err(words)?;
    other.append(append("b", 0, 1)).wait().map_err(words)?;
    let stop = one.change(Change::Stop(everything()));
    stop.wait().map_err(words)?;
    for (store, run) in [(&one, "a"), (&other, "b")] {
        let begun = store.append(begins(run, 1, ToolLimits::default())).wait();
        ensure(
            matches!(begun, Err(StoreError::NotAdmitted { .. })),
            "what is stopped begins",
        )?;
    }
    ensure(kept(process, "a")? == 1, "what is not admitted is kept")?;
    let (scope, name, by) = (StopScope::All, String::new(), "ada".to_owned());
    let lift = one.change(Change::Unstop { scope, name, by });
    lift.wait().map_err(words)?;
    let limits = ToolLimits {
        concurrency: Some(1),
        ..ToolLimits::default()
    };
    let first = one.append(begins("a", 1, limits.clone())).wait();
    first.map_err(words)?;
    let second = other.append(begins("b", 1, limits)).wait();
    ensure(
        matches!(second, Err(StoreError::NotAdmitted { .. })),
        "two begin where one place is",
    )
}

fn claims(process: Process<'_>) -> Result<(), String> {
    let (one, other) = (process(), process());
    one.append(append("run", 0, 1)).wait().map_err(words)?;
    let held = other.claim("run").wait().map_err(words)?;
    ensure(
        matches!(held, ClaimResult::HeldBy { .. }),
        "a run is taken from who lives",
    )?;
    for _ in 0..10 {
        one.release("run").wait().map_err(words)?;
        let taken: Vec<bool> = thread::scope(|scope| {
            let claims = [&one, &other].map(|store| {
                scope.spawn(move || store.claim("run").wait() == Ok(ClaimResult::Taken))
            });
            claims.map(|claim| claim.join().unwrap()).to_vec()
        });
        ensure(
            taken.iter().filter(|taken| **taken).count() == 1,
            "a free run is not given to exactly one",
        )?;
        if taken.get(1) == Some(&true) {
            other.release("run").wait().map_err(words)?;
            one.claim("run").wait().map_err(words)?;
        }
    }
    drop(one);
    let taken = other.claim("run").wait().map_err(words)?;
    ensure(
        taken == ClaimResult::Taken,
        "the run of a dead owner stays its",
    )
}

fn owner_status(process: Process<'_>) -> Result<(), String> {
    let (one, other) = (process(), process());
    let name = one.instance().ok_or("it has no name")?.to_owned();
    let status = |name: &str| other.owner_status(name).wait().map_err(words);
    ensure(
        matches!(status(&name)?, OwnerStatus::Alive { .. }),
        "who lives passes for dead",
    )?;
    drop(one);
    ensure(
        matches!(status(&name)?, OwnerStatus::Dead(_)),
        "who is dead passes for alive",
    )
}

fn clock(process: Process<'_>) -> Result<(), String> {
    let (one, other) = (process(), process());
    let (first, second) = (one.now_ms(), one.now_ms());
    ensure(first <= second, "its clock goes back")?;
    // A run whose clock is ahead counts in the window of all.
    let limits = ToolLimits {
        rate: Some(Rate {
            count: 1,
            per_ms: 60_000,
        }),
        ..ToolLimits::default()
    };
    let at = |run: &str, at_ms: i64| {
        let mut begins = begins(run, 1, limits.clone());
        begins
            .events
            .iter_mut()
            .for_each(|event| event.at_ms = at_ms);
        begins
    };
    one.append(append("a", 0, 1)).wait().map_err(words)?;
    other.append(append("b", 0, 1)).wait().map_err(words)?;
    let ahead = one.append(at("a", first + 600_000)).wait();
    ahead.map_err(words)?;
    let now = other.append(at("b", first)).wait();
    ensure(
        matches!(now, Err(StoreError::NotAdmitted { .. })),
        "the clock of a run opens a window for others",
    )
}

fn waking(process: Process<'_>) -> Result<(), String> {
    let (one, other) = (process(), process());
    one.append(append("run", 0, 1)).wait().map_err(words)?;
    let (run, text) = ("run".to_owned(), "a statement".to_owned());
    let at_ms = 1;
    let post = other.change(Change::Post { run, text, at_ms });
    post.wait().map_err(words)?;
    let untaken = one.untaken("run").wait().map_err(words)?;
    let [posted] = untaken.as_slice() else {
        return Err("what was acknowledged is not shown".to_owned());
    };
    let (n, became) = (posted.n, "taken".to_owned());
    let take = one.change(Change::Take { n, became });
    take.wait().map_err(words)?;
    let left = other.untaken("run").wait().map_err(words)?;
    ensure(left.is_empty(), "what was taken is shown again")
}
