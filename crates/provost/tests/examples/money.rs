//! Many runs on one money limit, in processes at once of which some are killed: it is never passed.

use std::sync::atomic::{AtomicU32, Ordering};

use super::effects::{World, binary};
use super::stage::{Stage, count, moment};

/// What one call costs is a cent; each run makes two, and there is money for one.
const TOOLS: &str = r#"
[tools.pager]
kind = "http"
base_url = "URL"
[tools.pager.ops.send]
request = { method = "POST", path = "/pages", body = { message = "${ args.message }" } }
input = "schemas/page.json"
output = { schema = "schemas/paged.json", trusted = true }
effect = "write"
cost = { money = "0.01" }
idempotency = { key = { header = "Idempotency-Key", ttl = "24h" } }
"#;

const PLAN: &str = r#"schema: provost/plan/v1
goal: { text: Send two pages, success: [ { id: sent, text: both are sent } ] }
steps:
  - { id: a, tool: pager.send, args: { message: page-a } }
  - { id: b, tool: pager.send, args: { message: page-b }, needs: [a] }
success:
  - { for: sent, check: '${ steps.b.status == "succeeded" }' }
answer: sent
"#;

/// How many processes drive at once.
const AT_ONCE: u32 = 8;

fn stage(url: &str, budget: &str) -> Stage {
    Stage::of_plan(PLAN, &format!("{budget}{}", TOOLS.replace("URL", url)))
}

/// Begins `runs` runs in processes of their own, several at once, and kills one of three: how many
/// kills came in time.
fn begun(stage: &Stage, runs: u32) -> u32 {
    let (next, in_time) = (AtomicU32::new(0), AtomicU32::new(0));
    let one = |seed: u32| {
        // Why of its own: of two equal calls that are killed at once each holds the other back.
        let plan = stage.path().join(format!("plan-{seed}.yaml"));
        std::fs::write(&plan, PLAN.replace("page-", &format!("page-{seed}-"))).unwrap();
        let mut child = stage.spawn(&["apply", &plan.to_string_lossy(), "--again"]);
        if seed.is_multiple_of(3) {
            std::thread::sleep(moment(seed.into(), 250));
            let running = child.try_wait().unwrap().is_none();
            in_time.fetch_add(u32::from(running), Ordering::Relaxed);
            let _ = child.kill();
        }
        let ended = child.wait_with_output().unwrap();
        // Why: a process that could not begin would spend nothing, and look like a kept limit.
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_ne!(ended.status.code(), Some(2), "{said}");
    };
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            let seed = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|seed| *seed < runs);
            scope.spawn(move || std::iter::from_fn(seed).for_each(one));
        }
    });
    in_time.into_inner()
}

/// The runs that are not over, each with its status and the kinds of its events.
fn unfinished(stage: &Stage) -> Vec<String> {
    let over = "('succeeded', 'failed', 'rejected', 'expired', 'refused', 'cancelled')";
    let query = format!(
        "select id || ' ' || status || ': ' || (select group_concat(kind, ' ') from events where \
         events.run = runs.n) from runs where status not in {over}"
    );
    let journal = stage.journal();
    let mut rows = journal.prepare(&query).unwrap();
    let rows = rows.query_map([], |row| row.get(0)).unwrap();
    rows.map(Result::unwrap).collect()
}

/// Drives what was left to its end.
fn driven(stage: &Stage) {
    for _ in 0..3 {
        stage.run(&["work", "--until-idle"]).exits(0);
    }
    assert_eq!(unfinished(stage), [""; 0]);
}

#[test]
fn a_money_limit_of_many_runs_is_never_passed() {
    binary();
    let runs = count(12);
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(&dir.path().join("world.json"), "127.0.0.1:0");
    let limit = u64::from(runs);
    let money = format!("{}.{:02}", limit / 100, limit % 100);
    let stage = stage(&world.url, &format!("[budget]\nmoney = \"{money}\"\n"));
    let killed = begun(&stage, runs);
    driven(&stage);
    let (calls, attempts) = (world.calls(), stage.count("AttemptStarted"));
    println!(
        "{runs} runs, {killed} kills in time: {calls} calls of {limit} that there is money for"
    );
    assert!(calls <= limit, "the limit was passed: {calls} of {limit}");
    // Why: a limit that nobody comes near is not tested.
    assert_eq!(u64::try_from(attempts).unwrap(), limit);
    assert!(killed > 0, "no kill came in time to interrupt anything");
}

/// The control: without the limit the same runs spend twice as much.
#[test]
fn runs_without_a_limit_pass_what_it_would_be() {
    binary();
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(&dir.path().join("world.json"), "127.0.0.1:0");
    let stage = stage(&world.url, "");
    begun(&stage, 6);
    driven(&stage);
    assert!(world.calls() > 6, "{}", world.calls());
}
