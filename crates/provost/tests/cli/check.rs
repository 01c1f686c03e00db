use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

#[test]
fn a_good_plan_is_ok_and_says_what_was_not_looked_at() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    assert_snapshot!(place.run(&["check", "plan.yaml"]), @r"
    exit 0
    --- stdout
    ok: `plan.yaml`, 1 step, 1 read; no approval needed
    not checked:
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect
    ");
    assert!(!place.path(".provost").exists());
}

#[test]
fn errors_are_drawn_over_the_text() {
    let place = Workplace::new();
    place.write(
        "plan.yaml",
        PLAN.replace("shop.orders", "shop.order")
            .replace("steps.count.s", "steps.cont.s"),
    );
    assert_snapshot!(place.run(&["check", "plan.yaml"]), @r#"
    exit 1
    --- stdout
    error[R101]: no tool is called `shop.order`
     --> plan.yaml:7:11
      |
    7 |     tool: shop.order
      |           ^^^^^^^^^^
      |
      = hint: did you mean `shop.orders`?

    error[R102]: no step is called `cont`
      --> plan.yaml:10:31
       |
    10 |   - { for: looked, check: '${ steps.cont.status == "succeeded" }' }
       |                               ^^^^^^^^^^^^^^^^^
       |
       = hint: did you mean `count`?

    not ok: `plan.yaml`, 2 errors
    not checked:
      the plans of up to 5 revisions
      what tools do beyond their declared effect
    "#);
}

#[test]
fn warnings_pass_unless_denied() {
    let place = Workplace::new();
    let at = PLAN.find("answer:").unwrap();
    place.write("plan.yaml", PLAN.get(..at).unwrap());
    assert_snapshot!(place.run(&["check", "plan.yaml"]), @r"
    exit 0
    --- stdout
    warning[S705]: the plan says nothing at the end
     --> plan.yaml:6:9
      |
    6 |   - id: count
      |         ^^^^^
      |
      = hint: add `answer:` with a text that reads what the steps observed

    ok: `plan.yaml`, 1 step, 1 read; no approval needed; 1 warning
    not checked:
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect
    ");
    place
        .run(&["check", "plan.yaml", "--deny-warnings"])
        .exits(1);
}

#[test]
fn findings_are_data_on_demand() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN.replace("shop.orders", "shop.order"));
    let ran = place
        .run(&["check", "plan.yaml", "--format", "json"])
        .exits(1);
    let found: serde_json::Value = serde_json::from_str(&ran.raw_stdout).unwrap();
    assert_eq!(found["schema"], "provost/check/v1");
    assert_eq!(found["ok"], false);
    assert_eq!(found.pointer("/findings/0/code").unwrap(), "R101");
    assert!(!found["not_checked"].as_array().unwrap().is_empty());
}

#[test]
fn a_playbook_is_compiled_in_its_own_file() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["check", "playbooks/note.yaml"]), @r"
    exit 0
    --- stdout
    note[E303]: `note` is tried at most once: its tool recognises no repetition
      --> playbooks/note.yaml:12:11
       |
    12 |     - id: note
       |           ^^^^
       |
       = note: if its outcome stays unknown, the run waits for a person

    note[V602]: a person is asked before `note` calls `notes.write`
      --> playbooks/note.yaml:14:13
       |
    14 |       tool: notes.write
       |             ^^^^^^^^^^^
       |
       = note: decided by production-writes

    ok: `playbooks/note.yaml`, 2 steps, 1 read, 1 write; approval needed for 1 step; 2 notes
    not checked:
      how long people take to answer: note
      whether a lost reply can be settled without a person: note
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect
    ");
}

#[test]
fn a_fix_of_a_rule_is_written_in_the_file_of_its_playbook() {
    let place = Workplace::new();
    let good = std::fs::read_to_string(place.path("playbooks/count.yaml")).unwrap();
    let at = good.rfind("shop.orders").unwrap();
    let mut bad = good.clone();
    bad.replace_range(at..at + "shop.orders".len(), "shop.order");
    place.write("playbooks/count.yaml", &bad);
    let found = place
        .run(&["check", "playbooks/count.yaml", "--json"])
        .exits(1);
    let found: serde_json::Value = serde_json::from_str(&found.raw_stdout).unwrap();
    let line = bad.get(..at).unwrap().matches('\n').count() + 1;
    assert_eq!(found["file"], "playbooks/count.yaml");
    let first = found.pointer("/findings/0/place/start/line").unwrap();
    assert_eq!(first, line, "{found}");
    let sarif = place
        .run(&["check", "playbooks/count.yaml", "--format", "sarif"])
        .exits(1);
    let sarif: serde_json::Value = serde_json::from_str(&sarif.raw_stdout).unwrap();
    let at = "/runs/0/results/0/locations/0/physicalLocation/region/startLine";
    assert_eq!(sarif.pointer(at).unwrap(), line, "{sarif}");
    place
        .run(&["check", "playbooks/count.yaml", "--fix"])
        .exits(0);
    let fixed = std::fs::read_to_string(place.path("playbooks/count.yaml")).unwrap();
    assert_eq!(fixed, good);
}

#[test]
fn samples_of_a_playbook_fit_its_patterns() {
    let place = Workplace::new();
    let upper = |pattern: &str| format!("{{ type: string, pattern: \"{pattern}\" }}");
    place.edit(
        "playbooks/count.yaml",
        "{ type: string }",
        &upper("[A-Z]{2,8}"),
    );
    let input = r#"{ "type": "string", "pattern": "^[A-Z]{2,8}$" }"#;
    place.edit("schemas/customer.json", r#"{ "type": "string" }"#, input);
    place.edit(
        "playbooks/count.yaml",
        r#"{ customer: "" }"#,
        "{ customer: ALL }",
    );
    place.run(&["check", "playbooks/count.yaml"]).exits(0);
    // The control: a value that the tool does not take is seen.
    place.edit("playbooks/count.yaml", "[A-Z]{2,8}", "[a-z]+");
    place.run(&["check", "playbooks/count.yaml"]).exits(1);
}

#[test]
fn a_saved_plan_is_checked() {
    let place = Workplace::new();
    place
        .run(&["plan", "Count the orders of ada", "-o", "saved.json"])
        .exits(0);
    place.run(&["check", "saved.json"]).exits(0);
}

#[test]
fn a_log_for_code_hosts() {
    let place = Workplace::new();
    place.write(
        "plans/my plan.yaml",
        PLAN.replace("shop.orders", "shop.order"),
    );
    let ran = place
        .run(&["check", "plans/my plan.yaml", "--format", "sarif"])
        .exits(1);
    let log: serde_json::Value = serde_json::from_str(&ran.raw_stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let driver = log.pointer("/runs/0/tool/driver").unwrap();
    assert_eq!(driver["rules"][0]["name"], "UnknownTool");
    assert!(
        driver["rules"][0]["help"]["markdown"]
            .as_str()
            .unwrap()
            .contains("## Repaired")
    );
    let invocation = log.pointer("/runs/0/invocations/0").unwrap();
    assert_eq!(invocation["exitCode"], 1);
    let unseen = invocation["toolExecutionNotifications"].as_array().unwrap();
    assert!(!unseen.is_empty());
    let results = log.pointer("/runs/0/results").unwrap();
    assert_snapshot!(serde_json::to_string_pretty(results).unwrap(), @r#"
    [
      {
        "ruleId": "R101",
        "ruleIndex": 0,
        "level": "error",
        "message": {
          "text": "no tool is called `shop.order`\nhint: did you mean `shop.orders`?"
        },
        "locations": [
          {
            "physicalLocation": {
              "artifactLocation": {
                "uri": "plans/my%20plan.yaml",
                "index": 0
              },
              "region": {
                "startLine": 7,
                "startColumn": 11,
                "endLine": 7,
                "endColumn": 21
              }
            },
            "logicalLocations": [
              {
                "name": "count",
                "fullyQualifiedName": "steps.count",
                "kind": "object"
              }
            ]
          }
        ],
        "fixes": [
          {
            "description": {
              "text": "write `shop.orders` instead of `shop.order`"
            },
            "artifactChanges": [
              {
                "artifactLocation": {
                  "uri": "plans/my%20plan.yaml",
                  "index": 0
                },
                "replacements": [
                  {
                    "deletedRegion": {
                      "startLine": 7,
                      "startColumn": 11,
                      "endLine": 7,
                      "endColumn": 21
                    },
                    "insertedContent": {
                      "text": "shop.orders"
                    }
                  }
                ]
              }
            ]
          }
        ],
        "partialFingerprints": {
          "provostFinding/v2": "110403c4c89d3f3f96551d07a4ad06746dbad9fb1f831d104e9d16ae5cdc3b63"
        }
      }
    ]
    "#);
}

const MISSPELT: &str = r#"schema: provost/plan/v1
goal: { text: Look how many, success: [ { id: looked, text: the orders were counted } ] }
steps:
  # What there is.
  - id: count
    risk: low   # as it is
    tool: shop.order
    args: { custmer: "" }
  - { id: note, risk: low, tool: notes.write, args: { path: a.txt, text: "x ${ steps.cuont.status }" }, accept: ["${ output.bytes > 0 }"] }
success:
  - { for: looked, check: '${ steps.count.status == "suceeded" && steps.note.output.bytes > 0 }' }
answer: "${ steps.count.output.row.total } orders."
"#;

#[test]
fn what_has_one_safe_fix_is_fixed() {
    let place = Workplace::new();
    place.write("plan.yaml", MISSPELT.replace("custmer", "customer"));
    assert_snapshot!(place.run(&["check", "plan.yaml", "--fix"]), @r#"
    exit 0
    --- stdout
    fixed: R101 at line 7: write `shop.orders` instead of `shop.order`
    fixed: E301 at line 9: leave out `risk: low`
    fixed: R102 at line 9: write `count` instead of `cuont`
    fixed: S708 at line 11: write `succeeded` instead of `suceeded`

    note[E303]: `note` is tried at most once: its tool recognises no repetition
     --> plan.yaml:9:11
      |
    9 |   - { id: note, tool: notes.write, args: { path: a.txt, text: "x ${ steps.count.status }" }, accept: ["${ output.bytes > 0 }"] }
      |           ^^^^
      |
      = note: if its outcome stays unknown, the run waits for a person

    note[V602]: a person is asked before `note` calls `notes.write`
     --> plan.yaml:9:23
      |
    9 |   - { id: note, tool: notes.write, args: { path: a.txt, text: "x ${ steps.count.status }" }, accept: ["${ output.bytes > 0 }"] }
      |                       ^^^^^^^^^^^
      |
      = note: decided by production-writes

    ok: `plan.yaml`, 2 steps, 1 read, 1 write; approval needed for 1 step; 2 notes
    not checked:
      how long people take to answer: note
      whether a lost reply can be settled without a person: note
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect
    "#);
    let fixed = std::fs::read_to_string(place.path("plan.yaml")).unwrap();
    assert_snapshot!(fixed, @r#"
    schema: provost/plan/v1
    goal: { text: Look how many, success: [ { id: looked, text: the orders were counted } ] }
    steps:
      # What there is.
      - id: count
        risk: low   # as it is
        tool: shop.orders
        args: { customer: "" }
      - { id: note, tool: notes.write, args: { path: a.txt, text: "x ${ steps.count.status }" }, accept: ["${ output.bytes > 0 }"] }
    success:
      - { for: looked, check: '${ steps.count.status == "succeeded" && steps.note.output.bytes > 0 }' }
    answer: "${ steps.count.output.row.total } orders."
    "#);
    // A second time there is nothing to fix, and the file is not touched.
    let ran = place.json(&["check", "plan.yaml", "--fix", "--json"]);
    assert_eq!(
        ran["fixes"],
        serde_json::json!({ "fixed": [], "not_fixed": [] })
    );
    assert_eq!(
        std::fs::read_to_string(place.path("plan.yaml")).unwrap(),
        fixed
    );
    let left: Vec<_> = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(".plan"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn a_fix_that_would_bring_an_error_is_not_made() {
    let place = Workplace::new();
    let text = PLAN
        .replace("shop.orders", "shop.order")
        .replace("args: { customer", "args: { custom");
    place.write("plan.yaml", &text);
    let ran = place.run(&["check", "plan.yaml", "--fix"]).exits(1);
    assert!(
        ran.stdout.starts_with("not fixed: R101 at line 7: "),
        "{ran}"
    );
    assert_eq!(
        std::fs::read_to_string(place.path("plan.yaml")).unwrap(),
        text
    );
}

#[test]
fn a_fix_never_adds_an_effect() {
    let place = Workplace::new();
    let plan = PLAN
        .replace("shop.orders", "notes.writ")
        .replace("{ customer: \"\" }", "{ path: a.txt, text: b }");
    place.write("plan.yaml", &plan);
    let ran = place.run(&["check", "plan.yaml", "--fix"]).exits(1);
    assert!(
        ran.stdout.contains("hint: did you mean `notes.write`?"),
        "{ran}"
    );
    assert_eq!(
        std::fs::read_to_string(place.path("plan.yaml")).unwrap(),
        plan
    );
}

#[test]
fn a_saved_plan_is_not_fixed() {
    let place = Workplace::new();
    place
        .run(&["plan", "Count the orders of ada", "-o", "saved.json"])
        .exits(0);
    assert_snapshot!(place.run(&["check", "saved.json", "--fix"]), @r"
    exit 2
    --- stderr
    error: only a plan file or a playbook can be fixed

    hint: a saved plan was reviewed as it is; fix the plan and save it again
    ");
}

/// Whoever judges a plan judges it as a run of it would: nobody refines what a file leaves open.
/// The control is the same plan without the subgoal.
#[test]
fn a_plan_that_leaves_open_what_nobody_refines_passes_nowhere() {
    let place = Workplace::new();
    let open = "  - id: find\n    subgoal: Find out more\n    tools: [shop.orders]\n    \
                effect_max: read\n    steps_max: 2\n    output: { type: string }\nsuccess:\n  - {";
    place.write("open.yaml", PLAN.replace("success:\n  - {", open));
    place.write("plan.yaml", PLAN);
    for (file, code) in [("open.yaml", 1), ("plan.yaml", 0)] {
        for verb in ["check", "apply"] {
            let ran = place.run(&[verb, file]).exits(code);
            let all = format!("{}{}", ran.stdout, ran.stderr);
            assert_eq!(all.contains("R116"), code == 1, "{verb} {file}: {ran}");
        }
        let runs = place.json(&["runs", "--json"]);
        let begun = runs["runs"].as_array().unwrap().len();
        assert_eq!(begun, 1 - usize::try_from(code).unwrap(), "{file}");
    }
}

#[test]
fn without_a_file_every_playbook_is_checked() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["check", "--errors-only"]), @"
    exit 0
    --- stdout
    ok: `playbooks/ask.yaml`, 2 steps, 1 read; no approval needed; 1 question
    not checked:
      how long people take to answer: whose
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect
    not shown: 1 note

    ok: `playbooks/count.yaml`, 1 step, 1 read; no approval needed
    not checked:
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect

    ok: `playbooks/note.yaml`, 2 steps, 1 read, 1 write; approval needed for 1 step
    not checked:
      how long people take to answer: note
      whether a lost reply can be settled without a person: note
      the plans of up to 5 revisions
      what calls cost
      what tools do beyond their declared effect
    not shown: 2 notes
    ");
    let all = place.json(&["check", "--json"]);
    assert_eq!(all["schema"], "provost/check-files/v1");
    assert_eq!(all["files"].as_array().unwrap().len(), 3);
    // The control: an error in one of them is the command's.
    place.edit("playbooks/count.yaml", "shop.orders", "shop.order");
    let ran = place.run(&[
        "check",
        "playbooks/note.yaml",
        "playbooks/count.yaml",
        "--json",
    ]);
    assert_eq!(ran.code, Some(1), "{ran}");
    let sarif = place.run(&["check", "--format", "sarif"]).exits(1);
    let log: serde_json::Value = serde_json::from_str(&sarif.raw_stdout).unwrap();
    let run = &log["runs"][0];
    assert_eq!(run["artifacts"].as_array().unwrap().len(), 3);
    for result in run["results"].as_array().unwrap() {
        let at = &result["locations"][0]["physicalLocation"]["artifactLocation"];
        let index = usize::try_from(at["index"].as_u64().unwrap()).unwrap();
        assert_eq!(run["artifacts"][index]["location"]["uri"], at["uri"]);
    }
}

/// A playbook that no workspace opens with is a file that was checked like any other: where a code
/// host shows its findings, they stand.
#[test]
fn a_playbook_that_stops_the_workspace_is_found_in_every_format() {
    let place = Workplace::new();
    place.edit(
        "playbooks/count.yaml",
        "${ params.customer }",
        "${ params.custmer }",
    );
    let ran = place.run(&["check", "-q"]).exits(1);
    assert!(ran.stderr.contains("did you mean `customer`?"), "{ran}");
    let json = place.run(&["check", "--json"]).exits(1);
    let json: serde_json::Value = serde_json::from_str(&json.raw_stdout).unwrap();
    assert_eq!((&json["code"], &json["exit"]), (&"R105".into(), &1.into()));
    let sarif = |code| {
        let ran = place.run(&["check", "--format", "sarif"]).exits(code);
        let log: serde_json::Value = serde_json::from_str(&ran.raw_stdout).unwrap();
        let result = &log["runs"][0]["results"][0];
        let place = &result["locations"][0]["physicalLocation"];
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let line = place["region"]["startLine"].as_u64().unwrap();
        (
            text(&result["ruleId"]),
            text(&place["artifactLocation"]["uri"]),
            line,
        )
    };
    assert_eq!(
        sarif(1),
        ("R105".to_owned(), "playbooks/count.yaml".to_owned(), 11)
    );
    // The control: what is wrong with the settings is no checked file's fault.
    place.edit("provost.toml", "user = \"ada\"", "usr = \"ada\"");
    assert_eq!(sarif(2).1, "provost.toml");
}
