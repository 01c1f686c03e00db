use std::time::{Duration, Instant};

use insta::assert_snapshot;

use super::workplace::Workplace;

/// A tool that keeps lines in a file, by a program of the system.
const TOOL: &str = r#"
[tools.lines]
kind = "command"
root = "lines"
[tools.lines.ops.find]
argv = ["grep", "-c", "-e", "${ args.text }", "--", "all.txt"]
input = { type = "object", properties = { text = { type = "string" } }, required = ["text"], additionalProperties = false }
effect = "read"
exit = { 1 = "not_found" }
[tools.lines.ops.keep]
argv = ["cp", "--", "all.txt", "${ args.to }"]
input = { type = "object", properties = { to = { type = "string" } }, required = ["to"], additionalProperties = false }
effect = "write"
"#;

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Keep the lines if ada is there }
steps:
  - { id: find, tool: lines.find, args: { text: ada } }
  - id: keep
    tool: lines.keep
    args: { to: kept.txt }
    needs: [find]
    accept: ["${ output.text == '' }"]
success:
  - { for: goal, check: '${ steps.keep.status == "succeeded" }' }
answer:
  - { text: "Kept.", cites: [keep] }
"#;

fn place() -> Workplace {
    let place = Workplace::new();
    place.write(
        "provost.toml",
        format!("[workspace]\nuser = \"ada\"\n{TOOL}"),
    );
    for playbook in ["count", "note", "ask"] {
        std::fs::remove_file(place.path(&format!("playbooks/{playbook}.yaml"))).unwrap();
    }
    place.write("lines/all.txt", "ada\nbob\n");
    place.write("keep.yaml", PLAN);
    place
}

#[test]
fn a_plan_carries_out_programs() {
    let place = place();
    assert_snapshot!(place.run(&["apply", "keep.yaml"]), @r"
    exit 0
    --- stdout
    succeeded: Keep the lines if ada is there

    Kept. [1] (said, not shown)

    [1] step `keep`, evidence sha256:DIGEST

    proven: Keep the lines if ada is there
    --- stderr
    run RUN: Keep the lines if ada is there
    solo workspace: the requester may also approve

    plan, revision 1: 2 steps, 1 read, 1 write; no approval needed
      1  find  lines.find  read   permit  by plain-reads
      2  keep  lines.keep  write  permit  by calls

    find: calls lines.find
    find: succeeded after TIME
    keep: calls lines.keep
    keep: succeeded after TIME
    ");
    let kept = std::fs::read_to_string(place.path("lines/kept.txt")).unwrap();
    assert_eq!(kept, "ada\nbob\n");
}

#[test]
fn an_exit_code_has_its_name() {
    let place = place();
    place.edit("keep.yaml", "text: ada", "text: eve");
    place.run(&["apply", "keep.yaml"]).exits(1);
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    let shown = place.json(&["show", run, "--json"]);
    assert_eq!(shown["class"], "not_found");
}

/// The value is the operator's kind of argument, or none: it never becomes an option.
#[test]
fn a_value_chooses_no_option() {
    let place = place();
    place.edit("keep.yaml", "to: kept.txt", "to: --verbose");
    place.run(&["apply", "keep.yaml"]).exits(0);
    assert!(place.path("lines/--verbose").exists());
    let (from, to) = (
        "\"--\", \"all.txt\", \"${ args.to }\"",
        "\"all.txt\", \"${ args.to }\"",
    );
    place.edit("provost.toml", from, to);
    let refused = place.run(&["apply", "keep.yaml", "--again"]);
    assert!(refused.stdout.contains("would be an option"), "{refused}");
}

#[test]
fn the_folder_of_the_workspace_is_out_of_reach() {
    let place = place();
    place.edit("provost.toml", "root = \"lines\"", "root = \".\"");
    assert_snapshot!(place.run(&["apply", "keep.yaml"]).exits(2).stderr, @"
    error: the tool `lines` cannot work: it reaches `provost.toml` through `root` (W803)

    hint: `provost doctor` looks at every tool
    ");
}

/// Every verb that judges or shows the tools names the one that stays closed, with the code of
/// the docs, whichever kind it is and whether a plan uses it or not.
#[test]
fn a_tool_that_reaches_a_secret_is_named_wherever_tools_are_judged() {
    let files = "[tools.f]\nkind = \"files\"\nroot = \"ROOT\"\n\
                 [tools.f.ops.read]\nop = \"read\"\neffect = \"read\"\n";
    let command = "[tools.f]\nkind = \"command\"\nroot = \"ROOT\"\n[tools.f.ops.read]\n\
                   argv = [\"cat\", \"a\"]\neffect = \"read\"\n\
                   input = { type = \"object\", additionalProperties = false }\n";
    let key = "[tools.api]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:9\"\n\
               auth = { bearer = \"file:secrets/token\" }\n[tools.api.ops.get]\n\
               request = { method = \"GET\", path = \"/\" }\neffect = \"read\"\n";
    let verbs: [(&[&str], i32); 10] = [
        (&["check"], 1),
        (&["check", "keep.yaml"], 1),
        (&["check", "keep.yaml", "-q"], 1),
        (&["check", "keep.yaml", "--json"], 1),
        (&["check", "keep.yaml", "--format", "sarif"], 1),
        (&["policy", "check"], 1),
        (&["doctor"], 2),
        (&["tools", "list"], 0),
        (&["tools", "show", "f.read"], 0),
        (&["tools", "call", "f.read"], 2),
    ];
    for (tool, root, fits) in [
        (files, ".", false),
        (files, "secrets", false),
        (command, "secrets", false),
        // The control.
        (files, "lines", true),
    ] {
        let place = place();
        place.write("secrets/token", "t0ken-of-the-api");
        place.write("lines/a", "a");
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        let tool = tool.replace("ROOT", root);
        place.write("provost.toml", format!("{config}\n{key}\n{tool}"));
        for (verb, code) in verbs {
            let mut verb = verb.to_vec();
            if verb.contains(&"call") && tool.contains("\"files\"") {
                verb.push("path=a");
            }
            let ran = place.run(&verb);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(!said.contains("W803"), fits, "{verb:?} {root}: {ran}");
            if !fits {
                ran.exits(code);
            }
        }
    }
}

/// A tool whose program is a script of the workspace.
const JOB: &str = r#"
[tools.lines.ops.swap]
argv = ["cp", "--", "evil.sh", "job.sh"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"

[tools.job]
kind = "command"
root = "lines"
memory_bytes = 268435456
[tools.job.ops.run]
argv = ["sh", "job.sh"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"
[tools.job.ops.bounds]
argv = ["sh", "-c", "ulimit -v"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "read"
[tools.job.ops.stays]
argv = ["sh", "-c", "echo $$ >new; mv new fled; sleep 600; touch late"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"
[tools.job.ops.flees]
argv = ["sh", "-c", "setsid sh -c 'echo $$ >new; mv new fled; exec sleep 600' & exec sleep 600"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"
timeout = "2s"
"#;

const JOB_PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Do the job }
steps:
  - { id: job, tool: job.run, approval: required, accept: ["${ output.text != '' }"] }
success:
  - { for: goal, check: '${ steps.job.status == "succeeded" }' }
answer:
  - { text: "Done.", cites: [job] }
"#;

fn place_with_job() -> Workplace {
    let place = place();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", format!("{config}{JOB}"));
    place.write("lines/job.sh", "echo good\n");
    place.write("lines/evil.sh", "touch evil.txt; echo evil\n");
    place.write("job.yaml", JOB_PLAN);
    place
}

#[test]
fn a_script_that_was_swapped_between_the_yes_and_the_call_is_not_run() {
    for is_swapped in [true, false] {
        let place = place_with_job();
        place.run(&["apply", "job.yaml"]).exits(3);
        let (run, card) = place.card();
        place
            .run(&["approve", &format!("{run}@{card}"), "--record"])
            .exits(0);
        if is_swapped {
            std::fs::rename(place.path("lines/evil.sh"), place.path("lines/job.sh")).unwrap();
        }
        let resumed = place.run(&["resume", &run]);
        assert!(!place.path("lines/evil.txt").exists(), "{resumed}");
        // The control: as it was when it was approved, it runs.
        assert_eq!(resumed.code == Some(0), !is_swapped, "{resumed}");
    }
}

#[test]
fn a_script_that_the_run_itself_swaps_is_not_run() {
    let place = place_with_job();
    let swap = "steps:\n  - { id: swap, tool: lines.swap, accept: [\"${ output.text == '' }\"] }\n";
    place.edit("job.yaml", "steps:\n", swap);
    place.edit("job.yaml", "approval: required", "needs: [swap]");
    let ran = place.run(&["apply", "job.yaml"]).exits(1);
    assert!(ran.stderr.contains("`lines/job.sh` changed after"), "{ran}");
    assert!(!place.path("lines/evil.txt").exists());
}

#[test]
fn a_program_is_bounded_and_what_it_starts_ends_with_its_time() {
    let place = place_with_job();
    let bounds = place.run(&["tools", "call", "job.bounds"]).exits(0);
    assert!(bounds.stdout.contains("262144"), "{bounds}");
    // A write that did not end in time: nobody knows whether it took place.
    place.run(&["tools", "call", "job.flees"]).exits(4);
    until_dead(&place);
}

/// Waits until the process is gone that wrote its number to `fled`.
fn until_dead(place: &Workplace) {
    let fled = std::fs::read_to_string(place.path("lines/fled")).unwrap();
    let stat = format!("/proc/{}/stat", fled.trim());
    let lives = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        let state = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('Z'));
        state == Some(false)
    };
    let begun = Instant::now();
    while lives() {
        assert!(begun.elapsed().as_secs() < 10, "it outlives its call");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_ends_with_a_process_that_is_killed() {
    let place = place_with_job();
    place.edit("job.yaml", "job.run, approval: required", "job.stays");
    let mut child = place.spawn(&["apply", "job.yaml"]);
    let fled = place.path("lines/fled");
    let begun = Instant::now();
    while !fled.exists() {
        assert!(begun.elapsed().as_secs() < 30, "it does not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    until_dead(&place);
}
