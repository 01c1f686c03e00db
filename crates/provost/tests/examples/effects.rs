//! `kill -9` of the real process against the real `world`, which counts: no effect twice, none
//! lost, whatever the world does with its answers.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::stage::{Stage, count, moment};

#[path = "../../../sim/tests/built/program.rs"]
mod built;

const TOOLS: &str = r#"
[tools.pager]
kind = "http"
base_url = "URL"
[tools.pager.ops.keyed]
request = { method = "POST", path = "/pages", body = { message = "${ args.message }" } }
input = "schemas/page.json"
output = { schema = "schemas/paged.json", trusted = true }
effect = "write"
timeout = "400ms"
idempotency = { key = { header = "Idempotency-Key", ttl = "24h" } }
[tools.pager.ops.plain]
request = { method = "POST", path = "/pages", body = { message = "${ args.message }" } }
input = "schemas/page.json"
output = { schema = "schemas/paged.json", trusted = true }
effect = "write"
timeout = "400ms"
reconcile = { tool = "pager.by_message", args = { message = "${ args.message }" }, landed = "${ output.found }", final_after = "1500ms" }
[tools.pager.ops.by_message]
request = { method = "GET", path = "/pages/by-message/${ args.message }" }
input = "schemas/page.json"
output = { schema = "schemas/found.json", trusted = true }
effect = "read"
"#;

const PLAN: &str = r#"schema: provost/plan/v1
goal: { text: Send four pages, success: [ { id: sent, text: all four are sent } ] }
steps:
  - { id: a, tool: pager.keyed, args: { message: page-a } }
  - { id: b, tool: pager.plain, args: { message: page-b }, needs: [a] }
  - { id: c, tool: pager.plain, args: { message: page-c }, needs: [a] }
  - { id: d, tool: pager.keyed, args: { message: page-d }, needs: [b] }
success:
  - { for: sent, check: '${ steps.d.status == "succeeded" && steps.c.status == "succeeded" }' }
answer: sent
"#;

/// What the world does besides being called, in turn.
pub const FAULTS: [&str; 8] = [
    "{}",
    r#"{"kind":"drop","times":2}"#,
    r#"{"kind":"stutter","times":2}"#,
    r#"{"kind":"hang","effect":true,"times":2}"#,
    r#"{"kind":"slow","ms":900,"times":2}"#,
    r#"{"kind":"after","times":2}"#,
    r#"{"kind":"hang","times":2}"#,
    "killed",
];

/// The world's binary, as new as what it is made of.
pub fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let provost = Path::new(env!("CARGO_BIN_EXE_provost"));
        built::program(provost.parent().unwrap(), "world")
    })
}

pub struct World {
    child: Child,
    pub url: String,
}

impl World {
    pub fn start(state: &Path, listen: &str) -> Self {
        let mut child = Command::new(binary())
            .args(["--listen", listen, "--state"])
            .arg(state)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line
            .trim()
            .strip_prefix("listening on ")
            .unwrap()
            .to_owned();
        Self { child, url }
    }

    pub fn address(&self) -> String {
        self.url.trim_start_matches("http://").to_owned()
    }

    pub fn kill(&mut self) {
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    pub fn fault(&self, fault: &str) {
        let Ok(mut fault) = serde_json::from_str::<Value>(fault) else {
            return;
        };
        if fault == json!({}) {
            return;
        }
        fault["route"] = "POST /pages".into();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = format!("{}/faults", self.url);
        let answer = tokio::runtime::Runtime::new().unwrap().block_on(async {
            let client = reqwest::Client::new();
            client.post(url).json(&fault).send().await.unwrap().status()
        });
        assert!(answer.is_success(), "{answer}");
    }

    pub fn read(&self, path: &str) -> Value {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let url = format!("{}{path}", self.url);
        let text = tokio::runtime::Runtime::new()
            .unwrap()
            .block_on(async { reqwest::get(url).await.unwrap().text().await.unwrap() });
        serde_json::from_str(&text).unwrap()
    }

    /// How many calls reached the world, whatever became of them.
    pub fn calls(&self) -> u64 {
        let ledger = self.read("/ledger");
        u64::try_from(ledger["calls"].as_array().unwrap().len()).unwrap()
    }

    /// How often each page was really sent, and what the ledger counts in all.
    pub fn pages(&self) -> (BTreeMap<String, u64>, u64) {
        let mut pages = BTreeMap::new();
        for page in self.read("/pages")["pages"].as_array().unwrap() {
            let message = page["message"].as_str().unwrap().to_owned();
            *pages.entry(message).or_insert(0) += 1;
        }
        let ledger = self.read("/ledger");
        let calls = ledger["calls"].as_array().unwrap();
        let effects = calls.iter().map(|call| call["effects"].as_u64().unwrap());
        (pages, effects.sum())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.kill();
    }
}

pub fn stage(url: &str) -> Stage {
    Stage::of_plan(PLAN, &TOOLS.replace("URL", url))
}

/// The words that begin a run of the plan.
pub fn apply(stage: &Stage) -> [String; 2] {
    let plan = stage.path().join("plan.yaml");
    ["apply".to_owned(), plan.to_string_lossy().into_owned()]
}

pub fn statuses(stage: &Stage) -> (String, BTreeMap<String, String>) {
    let journal = stage.journal();
    let status = journal
        .query_row("select status from runs", [], |row| row.get(0))
        .unwrap();
    let mut steps = BTreeMap::new();
    for payload in stage.payloads("StepSettled") {
        let word = |name: &str| payload[name].as_str().unwrap_or_default().to_owned();
        let step = payload["slot"]["step"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        steps.insert(step, word("status"));
    }
    (status, steps)
}

/// Kills the process, then drives what is left until it is over or a person is needed.
fn survived(seed: u64, world: &mut World, state: &Path, stage: &Stage) -> bool {
    let fault = FAULTS[usize::try_from(seed).unwrap() % FAULTS.len()];
    world.fault(fault);
    let words = apply(stage);
    let words = [words[0].as_str(), words[1].as_str()];
    let mut child = stage.spawn(&words);
    std::thread::sleep(Duration::from_millis(20) + moment(seed, 900));
    if fault == "killed" {
        let address = world.address();
        world.kill();
        std::thread::sleep(moment(seed, 300));
        *world = World::start(state, &address);
    }
    let running = child.try_wait().unwrap().is_none();
    let _ = child.kill();
    child.wait().unwrap();
    if stage.only_run().is_none() {
        stage.run(&words);
    }
    for _ in 0..3 {
        let ran = stage.run(&["work", "--until-idle"]);
        assert_eq!(ran.code, Some(0), "seed {seed}: {}", ran.all());
    }
    running
}

/// One seed: whether the kill came in time, and how the run ended.
fn once(seed: u64) -> (bool, String) {
    let dir = tempfile::tempdir().unwrap();
    let state = dir.path().join("world.json");
    let mut world = World::start(&state, "127.0.0.1:0");
    let stage = stage(&world.url);
    let interrupted = survived(seed, &mut world, &state, &stage);
    let (pages, effects) = world.pages();
    let (status, steps) = statuses(&stage);
    let seen = format!("seed {seed}: {status} {steps:?} {pages:?}");
    assert!(pages.values().all(|times| *times == 1), "doubled: {seen}");
    assert_eq!(effects, pages.values().sum::<u64>(), "{seen}");
    for (step, word) in &steps {
        let sent = pages.contains_key(&format!("page-{step}"));
        assert!(word != "succeeded" || sent, "lost: {seen}");
        assert!(word != "failed" || !sent, "denied: {seen}");
    }
    let over = ["succeeded", "failed", "in_doubt"].contains(&status.as_str());
    assert!(over, "{seen}");
    (interrupted, status)
}

#[test]
fn effects_happen_once_however_often_the_process_is_killed() {
    binary();
    let next = AtomicU64::new(0);
    let seeds = u64::from(count(8));
    let (mut interrupted, mut ends) = (0, BTreeMap::new());
    std::thread::scope(|scope| {
        // Why several: each spends most of its time waiting for what hangs.
        let threads: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    let seed = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < seeds);
                    std::iter::from_fn(seed).map(once).collect::<Vec<_>>()
                })
            })
            .collect();
        for (in_time, status) in threads.into_iter().flat_map(|t| t.join().unwrap()) {
            interrupted += u64::from(in_time);
            *ends.entry(status).or_insert(0) += 1;
        }
    });
    println!("killed while running: {interrupted}; {ends:?}; doubled 0, lost 0");
    assert!(
        interrupted > 0,
        "no kill came in time to interrupt anything"
    );
}

/// The control: a world that doubles an effect on purpose is noticed by the same count.
#[test]
fn a_world_that_doubles_effects_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(&dir.path().join("world.json"), "127.0.0.1:0");
    let stage = stage(&world.url);
    world.fault(r#"{"kind":"twice"}"#);
    let words = apply(&stage);
    stage.run(&[&words[0], &words[1]]).exits(0);
    let (pages, effects) = world.pages();
    assert_eq!((pages["page-a"], effects), (2, 5));
}
