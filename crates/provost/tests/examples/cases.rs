//! Runs that happened, kept as cases: replayed before they are kept, and never with a secret.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sim::canary;
use sim::world::Local;

use crate::stage::Stage;

struct Shop {
    stage: Stage,
    out: tempfile::TempDir,
    _world: Local,
    _state: tempfile::TempDir,
}

impl Shop {
    fn new() -> Self {
        let stage = Stage::of("refund", false);
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let url = world.url();
        stage.edit("provost.toml", |text| {
            text.replace("http://127.0.0.1:4517", &url)
        });
        Self {
            stage,
            out: tempfile::tempdir().unwrap(),
            _world: world,
            _state: state,
        }
    }

    fn run(&self, goal: &str) -> String {
        self.stage.run(&["run", goal]);
        let runs = self.stage.run(&["runs", "--json"]);
        let runs: Value = serde_json::from_str(&runs.stdout).unwrap();
        runs["runs"][0]["id"].as_str().unwrap().to_owned()
    }

    fn dir(&self, name: &str) -> PathBuf {
        self.out.path().join(name)
    }

    /// Makes a case; its exit code and what was said.
    fn case(&self, run: &str, name: &str, more: &[&str]) -> (i32, String) {
        let dir = self.dir(name);
        let args = [&["case", "from", run, "-o", dir.to_str().unwrap()], more].concat();
        ended(self.stage.command(&args))
    }
}

fn ended(mut command: Command) -> (i32, String) {
    let ran = command.output().unwrap();
    let text = [ran.stdout, ran.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    (ran.status.code().unwrap(), text)
}

fn provost(args: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_provost"));
    command.args(args).env("NO_COLOR", "1");
    ended(command)
}

fn check(dir: &Path) -> (i32, String) {
    provost(&["case", "check", dir.to_str().unwrap()])
}

fn edit(path: &Path, change: impl FnOnce(String) -> String) {
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::write(path, change(text)).unwrap();
}

#[test]
fn a_failed_run_becomes_a_case_that_replays_without_its_service() {
    let shop = Shop::new();
    let run = shop.run("Refund 2000 cents of pay-1 for PAY-9");
    let (code, text) = shop.case(&run, "was", &[]);
    assert_eq!(code, 0, "{text}");
    let dir = shop.dir("was");
    assert!(dir.join("case.yaml").is_file(), "{text}");
    let config = std::fs::read_to_string(dir.join("workspace/provost.toml")).unwrap();
    assert!(!config.contains(canary::TOKEN_FILE), "the name of a secret");
    assert!(!config.contains("auth"), "{config}");
    let (code, text) = check(&dir);
    assert_eq!(code, 0, "{text}");
    // The same as a case of a set, red until it is mended.
    let (code, text) = shop.case(&run, "fixed", &["--expect", "fixed"]);
    assert_eq!(code, 0, "{text}");
    let set = shop.dir("set.yaml");
    let case = "schema: provost/eval/v1\ncases: [{ id: lost, case: fixed }]\n";
    std::fs::write(&set, case).unwrap();
    let (code, text) = provost(&["eval", set.to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("lost (known to fail)"), "{text}");
    let out = shop.dir("out");
    let reported = [
        "eval",
        set.to_str().unwrap(),
        "--report",
        out.to_str().unwrap(),
    ];
    assert_eq!(provost(&reported).0, 0);
    let junit = std::fs::read_to_string(out.join("junit.xml")).unwrap();
    assert!(junit.contains("name=\"known_to_fail\""), "{junit}");
    assert!(junit.contains("known to fail: `red: true`"), "{junit}");
    // Mended in the playbook: a ticket that is not there is none that is open.
    edit(&shop.dir("fixed/workspace/playbooks/refund.yaml"), |text| {
        let read = "      args: { id: \"${ params.ticket }\" }\n";
        assert!(text.contains(read));
        text.replace(read, &format!("{read}      on_failure: continue\n"))
            .replace("steps.ticket.status == \"succeeded\" &&", "")
            .replace("steps.ticket.output.status == \"open\" &&", OPEN)
    });
    let (code, text) = provost(&["eval", set.to_str().unwrap()]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("take the mark away"), "{text}");
}

/// A case is judged by its own playbook, and says so where that of the workspace is another one.
#[test]
fn a_case_whose_playbook_is_not_that_of_the_workspace_says_so() {
    let shop = Shop::new();
    let run = shop.run("Refund 2000 cents of pay-1 for PAY-1");
    let dir = shop.stage.path().join("cases/was");
    let from = ["case", "from", &run, "-o", dir.to_str().unwrap()];
    assert_eq!(ended(shop.stage.command(&from)).0, 0);
    let set = shop.stage.path().join("set.yaml");
    let case = "schema: provost/eval/v1\ncases: [{ id: was, case: cases/was }]\n";
    std::fs::write(&set, case).unwrap();
    let judged = || provost(&["eval", set.to_str().unwrap()]);
    // The control: while both are the same, nothing is said.
    let (code, text) = judged();
    assert_eq!(code, 0, "{text}");
    assert!(!text.contains("## Notes"), "{text}");
    shop.stage
        .edit("playbooks/refund.yaml", |text| format!("{text}# mended\n"));
    let (code, text) = judged();
    assert_eq!(code, 0, "{text}");
    let note = "- was: `cases/was/workspace/playbooks/refund.yaml` differs from the playbook of the \
                workspace: the case is judged by this copy";
    assert!(text.contains(note), "{text}");
}

const OPEN: &str =
    "steps.ticket.status == \"succeeded\" && steps.ticket.output.status == \"open\" &&";

#[test]
fn what_was_not_recorded_is_no_pass() {
    let shop = Shop::new();
    let run = shop.run("Refund 2000 cents of pay-1 for PAY-1");
    assert_eq!(shop.case(&run, "case", &[]).0, 0);
    let (dir, calls) = (shop.dir("case"), shop.dir("case/calls.jsonl"));
    assert_eq!(check(&dir).0, 0);
    let recorded = std::fs::read_to_string(&calls).unwrap();
    assert_eq!(recorded.lines().count(), 3);
    // A call less is a miss, and is not judged, although the run then fails.
    let fewer = recorded.lines().take(2).collect::<Vec<_>>().join("\n");
    std::fs::write(&calls, fewer).unwrap();
    let (code, text) = check(&dir);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("a miss: `shop.create_refund`"), "{text}");
    // An answer that is another comes to something else.
    std::fs::write(
        &calls,
        recorded.replace("\"status\":\"open\"", "\"status\":\"closed\""),
    )
    .unwrap();
    let (code, text) = check(&dir);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("missing: shop.create_refund"), "{text}");
}

#[test]
fn no_case_is_kept_that_would_hold_a_secret_or_replays_otherwise() {
    let shop = Shop::new();
    let run = shop.run("Refund 2000 cents of pay-1 for PAY-1");
    // A file of the workspace repeats a secret of it.
    let leak = shop.stage.path().join("policies/note.canary");
    std::fs::write(&leak, json!({ "note": canary::TOKEN }).to_string()).unwrap();
    let (code, text) = shop.case(&run, "leak", &[]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("would hold a secret"), "{text}");
    assert!(!shop.dir("leak").exists(), "nothing is left of it");
    std::fs::remove_file(leak).unwrap();
    assert_eq!(shop.case(&run, "clean", &[]).0, 0, "the control");
    let (code, text) = shop.case(&run, "clean", &[]);
    assert_eq!(code, 2, "{text}");
    // The playbook is another now: the run cannot be what the case replays.
    shop.stage.edit("playbooks/refund.yaml", |text| {
        text.replace("reason: \"ticket ${ params.ticket }\"", "reason: refund")
    });
    let (code, text) = shop.case(&run, "moved", &[]);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("the replay is another than the run"),
        "{text}"
    );
    assert!(!shop.dir("moved").exists());
    // What was said by a person in another process is replayed as well.
    shop.stage.edit("playbooks/refund.yaml", |text| {
        text.replace("reason: refund", "reason: \"ticket ${ params.ticket }\"")
    });
    let run = shop.run("Refund 9000 cents of pay-1 for PAY-2");
    let card = shop.stage.run(&["inbox", "--json"]);
    let card: Value = serde_json::from_str(&card.stdout).unwrap();
    let digest = card["waiting"][0]["waits"][0]["digest"].as_str().unwrap();
    shop.stage
        .edit("provost.toml", |text| text.replace("\"ada\"", "\"bo\""));
    shop.stage
        .run(&["reject", &format!("{run}@{digest}"), "--reason", "no"]);
    shop.stage
        .edit("provost.toml", |text| text.replace("\"bo\"", "\"ada\""));
    let (code, text) = shop.case(&run, "rejected", &[]);
    assert_eq!(code, 0, "{text}");
    let case = std::fs::read_to_string(shop.dir("rejected/case.yaml")).unwrap();
    assert!(case.contains("status: rejected # was"), "{case}");
    assert_eq!(check(&shop.dir("rejected")).0, 0);
}
