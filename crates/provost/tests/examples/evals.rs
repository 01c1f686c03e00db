//! The eval set of the examples through the binary, over its doubles; and that nothing else is
//! reached, whatever a set says.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use sim::canary;
use sim::world::Local;

use crate::pager::got;
use crate::stage::Stage;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

fn provost(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_provost"))
        .args(args)
        .env("NO_COLOR", "1")
        .output()
        .unwrap()
}

fn operations(args: &[&str]) -> (i32, String) {
    let set = examples().join("evals/operations.yaml");
    let ran = provost(&[&["eval", set.to_str().unwrap()], args].concat());
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    (ran.status.code().unwrap(), text + &said)
}

/// A set of one case of the refund workspace.
struct Set {
    dir: tempfile::TempDir,
}

impl Set {
    /// With `case` as what stands beside its id, workspace and goal.
    fn of(case: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = examples().canonicalize().unwrap();
        let (workspace, double) = (root.join("refund"), root.join("evals/doubles/shop.py"));
        let case = case.replace("DOUBLE", double.to_str().unwrap());
        let text = format!(
            "schema: provost/eval/v1\ncases:\n  - id: one\n    workspace: {}\n    \
             goal: Refund 2000 cents of pay-1 for PAY-1\n{case}",
            workspace.display()
        );
        std::fs::write(dir.path().join("set.yaml"), text).unwrap();
        Self { dir }
    }

    fn run(&self) -> (i32, String) {
        self.run_with("--report")
    }

    /// Grades the report again that `run` left.
    fn regrade(&self) -> (i32, String) {
        self.run_with("--regrade")
    }

    fn edit(&self, file: &str, from: &str, to: &str) {
        let path = self.dir.path().join(file);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "`{from}` is not in {file}");
        std::fs::write(path, text.replace(from, to)).unwrap();
    }

    fn run_with(&self, option: &str) -> (i32, String) {
        let (set, out) = (
            self.dir.path().join("set.yaml"),
            self.dir.path().join("out"),
        );
        let (set, out) = (set.to_str().unwrap(), out.to_str().unwrap());
        let ran = provost(&["eval", set, option, out]);
        let text = [ran.stdout, ran.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        (ran.status.code().unwrap(), text)
    }

    fn report(&self) -> Value {
        let text = std::fs::read(self.dir.path().join("out/report.json")).unwrap();
        serde_json::from_slice(&text).unwrap()
    }
}

const WORLD: &str = "    world: { double: [python3, DOUBLE, --port, \"${ port }\"], \
                     ledger: GET /ledger, tools: { shop: \"http://127.0.0.1:${ port }\" } }\n";
const FORGETFUL: &str = "    world: { double: [python3, DOUBLE, --forgetful, --port, \"${ port }\"], \
                         ledger: GET /ledger, tools: { shop: \"http://127.0.0.1:${ port }\" } }\n";

#[test]
fn the_playbooks_pass_every_case_and_leave_a_report() {
    let out = tempfile::tempdir().unwrap();
    let (code, text) = operations(&["--report", out.path().to_str().unwrap()]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("27 of 27 repeats pass"), "{text}");
    let read = |name: &str| std::fs::read_to_string(out.path().join(name)).unwrap();
    let report: Value = serde_json::from_str(&read("report.json")).unwrap();
    assert_eq!(report["schema"], "provost/report/v1");
    let cases = report["planners"][0]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 27);
    assert!(read("junit.xml").contains(r#"tests="27" skipped="0" failures="0" errors="0""#));
    let html = read("report.html");
    assert!(html.contains("default-src 'none'"));
    for asks in [
        "<script", "<img", "<link", "<iframe", "src=", "href=", "@import", "url(",
    ] {
        assert!(!html.contains(asks), "the page asks for something: {asks}");
    }
    // The journals lie beside it, and hold together.
    for case in cases {
        let repeat = &case["repeats"][0];
        let workspace = out
            .path()
            .join("repeats")
            .join(repeat["workspace"].as_str().unwrap());
        let verified = provost(&["-C", workspace.to_str().unwrap(), "audit", "verify"]);
        assert_eq!(verified.status.code(), Some(0), "{case}");
    }
    let first = out.path().join("repeats/playbook/refund-small/1/workspace");
    let counted = provost(&["-C", first.to_str().unwrap(), "stats", "--json"]);
    let counted: Value = serde_json::from_slice(&counted.stdout).unwrap();
    let execution = &counted["groups"][0]["execution"];
    assert_eq!(execution["tool_success"]["numerator"], 3);
    assert_eq!(execution["duplicates"]["denominator"], 1);
}

#[test]
fn a_worse_planner_is_found_and_an_equal_one_is_not() {
    let (code, text) = operations(&["--planner", "careless", "--against", "scripted"]);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("| compare | fails | worse by"), "{text}");
    let (code, text) = operations(&["--planner", "swapped", "--against", "scripted"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("no difference seen (could be as large as"),
        "{text}"
    );
    // Of few cases nothing is said, however they differ.
    let few = [
        "--planner",
        "careless",
        "--against",
        "scripted",
        "--only",
        "refund-of*",
    ];
    let (_, text) = operations(&few);
    assert!(text.contains("too few to tell"), "{text}");
}

#[test]
fn a_service_that_has_no_double_is_not_reached() {
    // The workspace as it is configured reaches this very listener.
    let real = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    real.set_nonblocking(true).unwrap();
    let port = real.local_addr().unwrap().port();
    let dir = tempfile::tempdir().unwrap();
    let example = examples().join("refund");
    copy(&example, dir.path());
    let config = dir.path().join("provost.toml");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, text.replace("4517", &port.to_string())).unwrap();
    let goal = "    goal: Refund 2000 cents of pay-1 for PAY-1\n    expect: { status: failed }\n";
    let text = format!(
        "schema: provost/eval/v1\ncases:\n  - id: one\n    workspace: {}\n{goal}",
        dir.path().display()
    );
    let set = dir.path().join("set.yaml");
    std::fs::write(&set, text).unwrap();
    let ran = provost(&["eval", set.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    // Why not 0, although the run failed as expected: nobody answered, so nothing is judged.
    assert_eq!(ran.status.code(), Some(3), "{said}");
    assert!(said.contains("a miss: `shop.get_"), "{said}");
    assert!(
        real.accept().is_err(),
        "somebody connected to the real service"
    );
    // The control: the same workspace, run for real, does connect.
    let _ = Command::new(env!("CARGO_BIN_EXE_provost"))
        .args(["-C", dir.path().to_str().unwrap(), "run"])
        .arg("Refund 2000 cents of pay-1 for PAY-1")
        .spawn()
        .map(|mut run| {
            let began = std::time::Instant::now();
            while real.accept().is_err() && began.elapsed().as_secs() < 30 {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            let connected = began.elapsed().as_secs() < 30;
            run.kill().unwrap();
            run.wait().unwrap();
            assert!(connected, "the control connects");
        });
}

#[test]
fn no_secret_of_a_workspace_stands_beside_the_report() {
    // Every tool of the stage sends a token out of a file of the workspace.
    let stage = Stage::of("refund", false);
    let case = format!("{WORLD}    expect: {{ status: succeeded }}\n");
    let set = Set::of(&case);
    let path = set.dir.path().join("set.yaml");
    let text = std::fs::read_to_string(&path).unwrap();
    let refund = examples().canonicalize().unwrap().join("refund");
    let staged = stage.path().to_str().unwrap();
    std::fs::write(&path, text.replace(refund.to_str().unwrap(), staged)).unwrap();
    let (code, text) = set.run();
    assert_eq!(code, 0, "{text}");
    let copy = set.dir.path().join("out/repeats/workspace/one/1/workspace");
    assert!(copy.join("provost.toml").is_file());
    assert!(!copy.join(canary::TOKEN_FILE).exists());
    assert!(
        stage.path().join(canary::TOKEN_FILE).exists(),
        "the control"
    );
    assert_eq!(canary::leaks_below(&set.dir.path().join("out")), [""; 0]);
}

#[test]
fn a_set_that_names_a_real_service_is_refused() {
    let tools = "{ shop: \"https://api.example.com\" }";
    let set = Set::of(&format!(
        "    world: {{ double: [python3, DOUBLE], tools: {tools} }}\n    expect: {{ status: failed }}\n"
    ));
    let (code, text) = set.run();
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("a double listens on this machine"), "{text}");
    // A port that is not the double's is no double either.
    let set = Set::of(&format!(
        "{}    expect: {{ status: failed }}\n",
        WORLD.replace(
            "shop: \"http://127.0.0.1:${ port }\"",
            "shop: \"http://127.0.0.1:1\""
        )
    ));
    let (code, text) = set.run();
    assert_eq!(code, 3, "{text}");
}

#[test]
fn a_live_world_is_read_and_never_written() {
    let stage = Stage::of("refund", false);
    let state = tempfile::tempdir().unwrap();
    let world = Local::start(&state.path().join("world.json")).unwrap();
    let url = world.url();
    stage.edit("provost.toml", |text| {
        text.replace("http://127.0.0.1:4517", &url)
    });
    let asked = || -> Vec<(String, bool)> {
        let calls: Value = serde_json::from_str(&got(&format!("{url}/ledger"))).unwrap();
        let calls = calls["calls"].as_array().unwrap().clone().into_iter();
        let one = |call: Value| {
            let effect = call["effect"].as_bool().unwrap();
            (call["method"].as_str().unwrap().to_owned(), effect)
        };
        calls.map(one).collect()
    };
    let set = Set::of("    world: { live: read_only }\n    expect: { status: succeeded }\n");
    let refund = examples().canonicalize().unwrap().join("refund");
    let staged = stage.path().to_str().unwrap();
    set.edit("set.yaml", refund.to_str().unwrap(), staged);
    let (code, text) = set.run();
    assert_eq!(code, 3, "{text}");
    let missed = "a miss: `shop.create_refund`, a live world is only read";
    assert!(text.contains(missed), "{text}");
    // The control: the service itself was asked, and of the write it saw nothing.
    let calls = asked();
    assert!(calls.len() >= 2, "{calls:?}");
    assert!(
        calls
            .iter()
            .all(|(method, effect)| method == "GET" && !effect)
    );
    // What only reads is judged.
    set.edit("set.yaml", "for PAY-1", "for PAY-3");
    let (code, text) = set.run();
    assert_eq!(code, 0, "{text}");
    assert_eq!(canary::leaks_below(&set.dir.path().join("out")), [""; 0]);
    // The control: beside an eval, the same goal is written.
    stage
        .run(&["run", "Refund 2000 cents of pay-1 for PAY-1"])
        .exits(0);
    assert!(asked().contains(&("POST".to_owned(), true)));
    set.edit(
        "set.yaml",
        "live: read_only",
        "live: read_only, double: [python3, DOUBLE]",
    );
    let (code, text) = set.run();
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("`live` or a `double`"), "{text}");
}

#[test]
fn the_ledger_finds_an_effect_that_happened_twice() {
    let fault = "    faults: [{ tool: shop.create_refund, nth: 1, class: timeout, \
                 landing: happened }]\n";
    let expect = "    expect:\n      status: succeeded\n      \
                  ledger: \"${ size(ledger.refunds) == 1 }\"\n";
    // A service that knows a key again answers a repeated call and does nothing.
    let (code, text) = Set::of(&format!("{WORLD}{fault}{expect}")).run();
    assert_eq!(code, 0, "{text}");
    // The control: one that forgets keys is told that it never happened, since its entry declares a
    // reconcile read that it answers. What it then does twice only its ledger shows.
    let forgetful = Set::of(&format!("{FORGETFUL}{fault}{expect}"));
    let (code, text) = forgetful.run();
    let report = forgetful.report();
    let repeat = &report["planners"][0]["cases"][0]["repeats"][0];
    assert_eq!(repeat["metrics"]["duplicates_held"], 0);
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("ledger: "), "{text}");
}

#[test]
fn a_report_is_graded_again_by_its_journals_alone() {
    let set = Set::of(&format!(
        "{WORLD}    expect:\n      status: succeeded\n      \
         ledger: \"${{ size(ledger.refunds) == 1 }}\"\n"
    ));
    let (code, text) = set.run();
    assert_eq!(code, 0, "{text}");
    let (code, again) = set.regrade();
    assert_eq!(code, 0, "{again}");
    assert!(text.starts_with(&again), "{text}\n{again}");
    // Another expectation is another grade, although no double could start any more.
    set.edit("set.yaml", "shop.py", "nowhere.py");
    set.edit("set.yaml", "refunds) == 1", "refunds) == 2");
    let (code, text) = set.regrade();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("`${ size(ledger.refunds) == 2 }`"), "{text}");
    // The control: run anew, this set is not judged at all.
    assert_eq!(
        provost(&["eval", set.dir.path().join("set.yaml").to_str().unwrap()])
            .status
            .code(),
        Some(3)
    );
    // What was not kept, or is another journal, is not judged.
    let ledger = "out/repeats/workspace/one/1/ledger.json";
    std::fs::remove_file(set.dir.path().join(ledger)).unwrap();
    let (code, text) = set.regrade();
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("the ledger of its double was not kept"),
        "{text}"
    );
    let head = set.report()["planners"][0]["cases"][0]["repeats"][0]["head"].clone();
    let other = format!("sha256:{}", "0".repeat(64));
    set.edit("out/report.json", head.as_str().unwrap(), &other);
    let (code, text) = set.regrade();
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("another than the report names"), "{text}");
    set.edit("out/report.json", "workspace/one/1", "../one/1");
    let (_, text) = set.regrade();
    assert!(text.contains("names no journal of it"), "{text}");
    set.edit("out/report.json", "provost/report/v1", "provost/report/v9");
    let (code, text) = set.regrade();
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("no report of an eval"), "{text}");
}

#[test]
fn an_eval_is_held_against_an_earlier_report() {
    let out = tempfile::tempdir().unwrap();
    let path = |name: &str| out.path().join(name).to_str().unwrap().to_owned();
    let (old, new) = (path("old"), path("new"));
    let (code, text) = operations(&["--planner", "scripted", "--report", &old]);
    assert_eq!(code, 0, "{text}");
    let old = path("old/report.json");
    let args = [
        "--planner",
        "careless",
        "--baseline",
        &old,
        "--report",
        &new,
    ];
    let (code, text) = operations(&args);
    assert_eq!(code, 1, "{text}");
    assert!(
        text.contains("`careless` against `scripted of the baseline`"),
        "{text}"
    );
    assert!(text.contains("| compare | fails | worse by"), "{text}");
    // Graded again it compares the same.
    let (code, again) = operations(&["--regrade", &new, "--baseline", &old]);
    assert_eq!(code, 1, "{again}");
    assert!(again.contains("| compare | fails | worse by"), "{again}");
    // The control: an equal planner is no worse.
    let (code, text) = operations(&["--planner", "swapped", "--baseline", &old]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("no difference seen (could be as large as"),
        "{text}"
    );
    let few = [
        "--planner",
        "swapped",
        "--baseline",
        &old,
        "--only",
        "refund-of*",
    ];
    let (_, text) = operations(&few);
    assert!(
        text.contains("Not compared, since one of the two lacks them"),
        "{text}"
    );
    assert_eq!(operations(&["--baseline", &path("nothing.json")]).0, 2);
}

#[test]
fn exit_codes_tell_a_gate_from_what_was_not_judged() {
    let held = format!("{WORLD}    expect: {{ status: succeeded }}\n");
    assert_eq!(Set::of(&held).run().0, 0);
    let fails = format!("{WORLD}    expect: {{ status: refused }}\n");
    let (code, text) = Set::of(&fails).run();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("expected refused, found succeeded"), "{text}");
    let red = format!("{WORLD}    red: true\n    expect: {{ status: refused }}\n");
    assert_eq!(Set::of(&red).run().0, 0, "known to fail");
    let mended = format!("{WORLD}    red: true\n    expect: {{ status: succeeded }}\n");
    let (code, text) = Set::of(&mended).run();
    assert_eq!(code, 1, "{text}");
    assert!(text.contains("take the mark away"), "{text}");
    let gone = "    world: { double: [python3, nowhere.py] }\n    expect: { status: succeeded }\n";
    let (code, text) = Set::of(gone).run();
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("the double ended before it listened"),
        "{text}"
    );
    // A name that no operation has is held to be a mistake, and not something that never happens.
    for (at, wrong) in [
        (
            "`effects.never`",
            "    expect: { effects: { never: [pager.notyfy] } }\n",
        ),
        (
            "`effects`",
            "    expect: { effects: { exactly: [pager.notyfy] } }\n",
        ),
        (
            "`faults`",
            "    faults: [{ tool: pager.notyfy, class: timeout }]\n    expect: { status: failed }\n",
        ),
        (
            "`people`",
            "    people: [{ ask: pager.notyfy, say: yes }]\n    expect: { status: failed }\n",
        ),
    ] {
        let (code, text) = Set::of(&format!("{WORLD}{wrong}")).run();
        assert_eq!(code, 3, "{text}");
        let said = format!("{at} names `pager.notyfy`, which is no operation");
        assert!(text.contains(&said), "{text}");
    }
    for wrong in [
        "    expect: {}\n",
        "    expects: { status: succeeded }\n",
        "    expect: { status: done }\n",
        "    expect: { check: \"${ 1 + }\" }\n",
        "    expect: { check: always }\n",
        "    world: elsewhere\n    expect: { status: failed }\n",
        "    faults: [{ tool: a.b, class: ok }]\n    expect: { status: failed }\n",
    ] {
        let (code, text) = Set::of(wrong).run();
        assert_eq!(code, 2, "{wrong}: {text}");
        assert!(text.contains("hint: "), "{text}");
    }
    assert_eq!(operations(&["--planner", "nobody"]).0, 2);
    assert_eq!(operations(&["--only", "nothing"]).0, 2);
    // A grader that cannot be evaluated does not hold.
    let broken =
        format!("{WORLD}    expect: {{ check: \"${{ steps.nothing.output.x == 1 }}\" }}\n");
    assert_eq!(Set::of(&broken).run().0, 1);
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() == ".provost" => {}
            true => copy(&entry.path(), &target),
            false => drop(std::fs::copy(entry.path(), target).unwrap()),
        }
    }
}
