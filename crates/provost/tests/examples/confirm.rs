//! A draft is saved when it is read back, against the real `world`, which drops answers and lies.

use crate::stage::Stage;
use serde_json::{Value, json};
use sim::world::Local;

const TOOLS: &str = r#"
[tools.drafts]
kind = "http"
base_url = "URL"
[tools.drafts.ops.save]
request = { method = "POST", path = "/drafts", body = { title = "${ args.title }" } }
input = { type = "object", required = ["title"], properties = { title = { type = "string" } } }
output = { schema = { type = "object", required = ["id"], properties = { id = { type = "string" } } }, trusted = true }
effect = "write"
timeout = "2s"
creates = { kind = "draft", id = "${ output.id }" }
[tools.drafts.ops.get]
request = { method = "GET", path = "/drafts/${ args.id }" }
input = { type = "object", required = ["id"], properties = { id = { type = "string" } } }
output = { schema = { type = "object", required = ["id", "title"], properties = { id = { type = "string" }, title = { type = "string" } } }, trusted = true }
effect = "read"
"#;

const PLAN: &str = r#"schema: provost/plan/v1
goal: { text: Save a draft, success: [ { id: saved, text: the draft is saved } ] }
steps:
  - id: save
    tool: drafts.save
    args: { title: T }
    on_failure: stop
    confirm:
      tool: drafts.get
      args: { id: '${ output.id }' }
      accept: [ '${ read.title == "T" && read.id == output.id }' ]
success:
  - { for: saved, check: '${ steps.save.status == "succeeded" }' }
answer: saved
"#;

fn ask(url: &str, body: Option<&Value>) -> Value {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let text = tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = reqwest::Client::new();
        let request = match body {
            Some(body) => client.post(url).json(body),
            None => client.get(url),
        };
        request.send().await.unwrap().text().await.unwrap()
    });
    serde_json::from_str(&text).unwrap_or_default()
}

/// What the world was asked for, as route and effects.
fn calls(world: &Local) -> Vec<String> {
    let ledger = ask(&format!("{}/ledger", world.url()), None);
    let calls = ledger["calls"].as_array().unwrap().iter();
    calls
        .map(|call| format!("{} {}", call["route"].as_str().unwrap(), call["effects"]))
        .collect()
}

/// The plan against a world with this fault: the stage, and how `apply` ended.
fn applied(world: &Local, fault: &str, plan: &str) -> (Stage, Option<i32>) {
    if !fault.is_empty() {
        let fault = json!({ "route": "POST /drafts", "kind": fault });
        ask(&format!("{}/faults", world.url()), Some(&fault));
    }
    let stage = Stage::of("sla", false);
    std::fs::remove_dir_all(stage.path().join("playbooks")).unwrap();
    std::fs::write(stage.path().join("plan.yaml"), plan).unwrap();
    stage.edit("provost.toml", |_| TOOLS.replace("URL", &world.url()));
    let path = stage.path().join("plan.yaml");
    let ran = stage.run(&["apply", &path.to_string_lossy()]);
    (stage, ran.code)
}

fn shown(stage: &Stage) -> Value {
    let run = stage.only_run().unwrap();
    let ran = stage.run(&["show", &run, "--json"]);
    serde_json::from_str(&ran.stdout).unwrap()
}

#[test]
fn a_draft_is_saved_when_it_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let world = Local::start(&dir.path().join("world.json")).unwrap();
    let (stage, code) = applied(&world, "", PLAN);
    let run = shown(&stage);
    assert_eq!((code, &run["status"]), (Some(0), &json!("succeeded")));
    assert_eq!(calls(&world), ["POST /drafts 1", "GET /drafts/{id} 0"]);
    let made = json!([{ "kind": "draft", "id": "draft-1", "step": "save" }]);
    assert_eq!(run["created"], made);
}

/// The world says that it saved, and did not: the reading tells.
#[test]
fn a_lie_about_saving_is_found_out() {
    let dir = tempfile::tempdir().unwrap();
    let world = Local::start(&dir.path().join("world.json")).unwrap();
    let (stage, code) = applied(&world, "lie", PLAN);
    let run = shown(&stage);
    assert_eq!((code, &run["status"]), (Some(1), &json!("failed")));
    assert_eq!(run["steps"]["save"]["class"], "acceptance_failed");
    assert_eq!(run["created"], Value::Null);
    assert_eq!(calls(&world), ["POST /drafts 0", "GET /drafts/{id} 0"]);
}

/// The control: without `confirm` the lie is believed.
#[test]
fn without_confirm_a_lie_is_believed() {
    let dir = tempfile::tempdir().unwrap();
    let world = Local::start(&dir.path().join("world.json")).unwrap();
    let (before, rest) = PLAN.split_once("    confirm:").unwrap();
    let plan = format!("{before}success:{}", rest.split_once("success:").unwrap().1);
    let (stage, code) = applied(&world, "lie", &plan);
    assert_eq!(
        (code, &shown(&stage)["status"]),
        (Some(0), &json!("succeeded"))
    );
}

/// No answer: whether it was saved is in doubt, and no reading settles that.
#[test]
fn a_dropped_answer_is_a_doubt() {
    let dir = tempfile::tempdir().unwrap();
    let world = Local::start(&dir.path().join("world.json")).unwrap();
    let (stage, code) = applied(&world, "drop", PLAN);
    assert_eq!(
        (code, &shown(&stage)["status"]),
        (Some(4), &json!("in_doubt"))
    );
    assert_eq!(calls(&world), ["POST /drafts 1"]);
}
