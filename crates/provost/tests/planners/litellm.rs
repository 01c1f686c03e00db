//! LiteLLM's proxy in place of a provider: `scripts/full litellm` installs it. What it answers is
//! an entry of its own configuration for each kind of request; its three wires are not ours.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::place::{KEY, Place, planned_by, says_the_truth};
use crate::plans::{first, second, wrong};
use crate::shop::{Shop, goal, plan};

/// How long the proxy may take to begin: it loads much.
const BEGINS: Duration = Duration::from_secs(120);

/// The proxy in a process of its own.
struct Proxy {
    child: Child,
    port: u16,
    dir: tempfile::TempDir,
}

impl Proxy {
    /// A proxy whose models say this: name and reply.
    fn start(replies: &[(&str, Value)]) -> Self {
        // Why no default: what is not installed fails.
        let venv = PathBuf::from(std::env::var_os("PROVOST_LITELLM").unwrap()).join("venv/bin");
        let dir = tempfile::tempdir().unwrap();
        let models = replies.iter().map(|(name, reply)| {
            let mock = reply.to_string();
            let params =
                json!({ "model": "openai/none", "api_key": "none", "mock_response": mock });
            json!({ "model_name": name, "litellm_params": params })
        });
        let config = json!({
            "model_list": models.collect::<Vec<_>>(),
            "litellm_settings": { "callbacks": "litellm_hook.hook" },
        });
        // Why JSON: it is YAML too.
        std::fs::write(dir.path().join("config.yaml"), config.to_string()).unwrap();
        let hook = include_str!("litellm_hook.py");
        std::fs::write(dir.path().join("litellm_hook.py"), hook).unwrap();
        let free = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let log = std::fs::File::create(dir.path().join("log")).unwrap();
        let child = Command::new(venv.join("litellm"))
            .args(["--config", "config.yaml", "--host", "127.0.0.1"])
            .args(["--telemetry", "False", "--port", &port.to_string()])
            .current_dir(dir.path())
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", venv.display()))
            .env("HOME", dir.path())
            .env("LITELLM_MASTER_KEY", KEY)
            // Why: otherwise it fetches a list of prices.
            .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut proxy = Self { child, port, dir };
        let begun = Instant::now();
        while !proxy.is_alive() {
            let ended = proxy.child.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < BEGINS,
                "it did not begin: {ended:?}\n{}",
                std::fs::read_to_string(proxy.dir.path().join("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        println!("litellm began after {} s", begun.elapsed().as_secs());
        proxy
    }

    fn is_alive(&self) -> bool {
        let ask = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(b"GET /health/liveliness HTTP/1.0\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        ask().is_ok_and(|answer| answer.contains("alive"))
    }

    /// What says that a model of this wire plans.
    fn plans(&self, kind: &str) -> String {
        let version = if kind == "gemini" { "v1beta" } else { "v1" };
        let url = format!("http://127.0.0.1:{}/{version}", self.port);
        planned_by(kind, &url, "")
    }

    /// The requests since this was last asked: wire and entry.
    fn asked(&self) -> Vec<(String, String)> {
        let ledger = self.dir.path().join("ledger");
        let text = std::fs::read_to_string(&ledger).unwrap_or_default();
        let _ = std::fs::remove_file(ledger);
        let words = text.lines().map(|line| {
            let (wire, entry) = line.split_once(' ').unwrap();
            (wire.to_owned(), entry.to_owned())
        });
        words.collect()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn replies() -> [(&'static str, Value); 6] {
    let mut astray = plan(2000, "PAY-1");
    astray["steps"][2]["args"]["payment"] = json!("${ steps.nobody.output.id }");
    [
        // Asked for by name; the hook puts one of the others in its place.
        ("scripted-1", json!({ "decline": "no entry was chosen" })),
        (
            "incident-plan",
            json!({ "plan": first(), "consult": ["errors"] }),
        ),
        (
            "incident-revision",
            json!({ "plan": second(), "because": "nothing failed" }),
        ),
        ("refund-plan", json!({ "plan": astray })),
        ("refund-repair", json!({ "plan": plan(2000, "PAY-1") })),
        ("doctor", json!({ "ready": true, "word": "plan" })),
    ]
}

#[test]
#[ignore = "needs LiteLLM: scripts/full litellm"]
fn both_examples_come_to_the_right_end_over_its_three_wires() {
    let proxy = Proxy::start(&replies());
    for (kind, wire) in [
        ("openai", "acompletion"),
        ("anthropic", "anthropic_messages"),
        ("gemini", "agenerate_content"),
    ] {
        let asked = |entries: &[&str]| {
            let entries = entries
                .iter()
                .map(|entry| (wire.to_owned(), (*entry).to_owned()));
            assert_eq!(proxy.asked(), entries.collect::<Vec<_>>(), "{kind}");
        };
        let place = Place::without_planner([]);
        place.configure(&proxy.plans(kind));
        let said = place.run(&["doctor", "--model", "large"]).exits(0).stdout;
        assert!(said.contains("is honoured"), "{said}");
        asked(&["doctor"]);
        let ran = place.run(&["run", place.goal()]).exits(0);
        says_the_truth(&ran.stdout, &place.dataset.truth);
        assert_eq!(place.stage.count("PlanRevised"), 1);
        asked(&["incident-plan", "incident-revision"]);
        for spent in place.stage.payloads("BudgetSpent") {
            let usage = &spent["usage"];
            assert!(usage["tokens_in"].as_u64() > Some(0), "{kind}: {usage}");
            assert!(usage["tokens_out"].as_u64() > Some(0), "{kind}: {usage}");
        }

        let shop = Shop::new();
        shop.stage
            .edit("provost.toml", |text| text + &proxy.plans(kind));
        let ran = shop.run(&["run", &goal(2000, "PAY-1")]).exits(0);
        let said = "Refunded 2000 cents of pay-1.";
        assert!(ran.stdout.contains(said), "{}", ran.all());
        assert_eq!(shop.stage.count("PlanRefused"), 1);
        assert_eq!(shop.refunds(), json!([["pay-1", 2000, null]]));
        asked(&["refund-plan", "refund-repair"]);
        println!("{kind}: incident and refund came to the right end");
    }
    the_controls(&proxy);
}

/// A plan that stays wrong is left to a person with nothing begun, and a wrong key is not taken.
fn the_controls(proxy: &Proxy) {
    let place = Place::without_planner([]);
    place.configure(&proxy.plans("openai"));
    let mut command = place.command(&["run", place.goal()]);
    let output = command.env("SCRIPTED_KEY", "another-key").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(place.status(), "waiting_answer");
    assert_eq!(proxy.asked(), []);

    let other = Proxy::start(&[
        ("scripted-1", json!({ "decline": "no entry was chosen" })),
        ("incident-plan", json!({ "plan": wrong() })),
        ("incident-repair", json!({ "plan": wrong() })),
    ]);
    let place = Place::without_planner([]);
    place.configure(&other.plans("openai"));
    place.run(&["run", place.goal()]).exits(3);
    assert_eq!(place.status(), "waiting_answer");
    assert_eq!(place.stage.count("AttemptStarted"), 0);
}
