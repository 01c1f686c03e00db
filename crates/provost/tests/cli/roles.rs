//! Roles: a narrower allow list, from provost.toml to the call that is not made.

use insta::assert_snapshot;

use super::workplace::Workplace;

const ROLES: &str = r#"
[roles.reader]
description = "looks, and changes nothing"
tools = ["shop.orders", "notes.read"]
[roles.writer]
tools = ["notes.*"]
"#;

/// A count by a reader and a note by whoever `WHO` is.
const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Note how many orders there are }
steps:
  - { id: count, as: reader, tool: shop.orders, args: { customer: "" } }
  - id: note
    as: WHO
    tool: notes.write
    args: { path: orders.txt, text: "${ steps.count.output.row.total } orders" }
    accept: ["${ output.bytes > 0 }"]
success:
  - { for: goal, check: '${ steps.note.status == "succeeded" }' }
answer:
  - { text: It is noted., cites: [note] }
"#;

fn place(who: &str) -> Workplace {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + ROLES);
    place.write("note.yaml", PLAN.replace("WHO", who));
    place
}

fn is_noted(place: &Workplace) -> bool {
    place.path("notes/orders.txt").exists()
}

/// How many attempts the journal of the newest run holds.
fn attempts(place: &Workplace) -> usize {
    let run = place.json(&["runs", "--json"]);
    let Some(run) = run.pointer("/runs/0/id").and_then(|id| id.as_str()) else {
        return 0;
    };
    let trace = place
        .run(&["trace", run, "--execution"])
        .exits(0)
        .raw_stdout;
    trace.matches("AttemptStarted").count()
}

#[test]
fn a_reader_that_writes_is_refused_before_any_call() {
    let place = place("reader");
    assert_snapshot!(place.run(&["apply", "note.yaml"]), @"
    exit 1
    --- stderr
    note[E303]: `note` is tried at most once: its tool recognises no repetition
     --> note.yaml:6:9
      |
    6 |   - id: note
      |         ^^^^
      |
      = note: if its outcome stays unknown, the run waits for a person

    error[V603]: `note` is in the role `reader`, which does not admit `notes.write`
     --> note.yaml:8:11
      |
    8 |     tool: notes.write
      |           ^^^^^^^^^^^
      |
      = hint: the role admits notes.read, shop.orders

    error: the plan `note.yaml` is not admissible: 1 error, 1 note

    hint: `provost explain V603` tells more
    ");
    assert!(!is_noted(&place));
    assert_eq!(attempts(&place), 0);
}

#[test]
fn a_writer_is_asked_about_in_its_role() {
    let place = place("writer");
    assert_snapshot!(place.run(&["apply", "note.yaml"]), @r#"
    exit 3
    --- stdout
    approve step `note`?
      goal       Note how many orders there are
      run        RUN, revision 1 of the plan
      tool       notes.write
      role       writer
      effect     write, high risk
      policy     production-writes
      argument   text: "3 orders"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    --- stderr
    run RUN: Note how many orders there are
    solo workspace: the requester may also approve

    plan, revision 1: 2 steps, 1 read, 1 write; approval needed for 1 step
      1  count  shop.orders  read   permit  by plain-reads        as reader
      2  note   notes.write  write  ask     by production-writes  as writer

    count: calls shop.orders
    count: succeeded after TIME
    note: waits for approval
    "#);
    assert!(!is_noted(&place));
    assert_eq!(attempts(&place), 1, "the count");
    let (run, card) = place.card();
    let card = format!("{run}@{card}");
    place.run(&["approve", &card]).exits(0);
    assert!(is_noted(&place));
}

/// The list changed between the yes and the call: whoever said yes did so to another role.
#[test]
fn a_list_that_changed_after_the_yes_keeps_the_call_from_being_made() {
    for (list, status) in [
        (r#"["notes.read"]"#, "failed"),
        (r#"["notes.*", "shop.*"]"#, "waiting_approval"),
        // The control: a list that only moved in the text is the same.
        (r#"[ "notes.*" ]"#, "succeeded"),
    ] {
        let place = place("writer");
        place.run(&["apply", "note.yaml"]).exits(3);
        let (run, card) = place.card();
        let card = format!("{run}@{card}");
        place
            .run(&["pause", &run, "--reason", "a look at the roles"])
            .exits(0);
        place.run(&["approve", &card]).exits(3);
        place.edit("provost.toml", r#"["notes.*"]"#, list);
        let ran = place.run(&["resume", &run]);
        assert_eq!(place.status(), status, "{list}: {ran}");
        assert_eq!(is_noted(&place), status == "succeeded", "{list}: {ran}");
    }
}

#[test]
fn a_list_that_changed_makes_a_saved_plan_stale() {
    let place = Workplace::new();
    place.write("playbooks/note.yaml", PLAYBOOK);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + ROLES);
    place
        .run(&["plan", "Count as a reader", "-o", "saved.json"])
        .exits(0);
    place.edit("provost.toml", r#""notes.read"]"#, r#""notes.*"]"#);
    assert_snapshot!(place.run(&["apply", "saved.json"]), @r"
    exit 2
    --- stderr
    error: saved plan is stale
      changed: the role `reader`

    hint: what it was checked under is not what is here now; make it anew: `provost plan 'Count as a reader' -o saved.json`
    ");
}

/// The plan does not even pass the check any more; the control is the list as it was.
#[test]
fn a_list_that_admits_the_plan_no_more_makes_it_stale_too() {
    let place = Workplace::new();
    place.write("playbooks/note.yaml", PLAYBOOK);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config + ROLES);
    let plan = ["plan", "Count as a reader", "-o", "saved.json"];
    place.run(&plan).exits(0);
    place.run(&["apply", "saved.json"]).exits(0);
    place.edit("provost.toml", r#"["shop.orders", "#, "[");
    let ran = place.run(&["apply", "saved.json", "--again"]).exits(2);
    assert!(ran.stderr.contains("error: saved plan is stale"), "{ran}");
    assert!(ran.stderr.contains("changed: the role `reader`"), "{ran}");
}

const PLAYBOOK: &str = r#"
schema: provost/playbook/v1
match: "Count as a reader"
plan:
  steps:
    - { id: count, as: reader, tool: shop.orders, args: { customer: "" } }
  success:
    - { for: goal, check: '${ steps.count.status == "succeeded" }' }
  answer:
    - text: "${ steps.count.output.row.total } orders."
"#;

#[test]
fn a_review_and_a_diff_name_the_role() {
    let place = place("writer");
    let shown = place.run(&["show", "note.yaml"]).exits(0);
    assert!(shown.stdout.contains("as reader"), "{shown}");
    place.write("other.yaml", PLAN.replace("    as: WHO\n", ""));
    assert_snapshot!(place.run(&["diff", "note.yaml", "other.yaml"]), @r#"
    exit 0
    --- stdout
    note.yaml to other.yaml
      + weaker    no longer note: as: writer
      approval needed again: note
    ~ note
        - as: "writer"
    "#);
}

#[test]
fn a_list_that_names_no_tool_is_refused() {
    let place = place("writer");
    place.edit(
        "provost.toml",
        r#"["notes.*"]"#,
        r#"["notes.wirte", "shops.*", "a"]"#,
    );
    place.edit("provost.toml", "[roles.reader]", "[roles.Reader]");
    assert_snapshot!(place.run(&["check", "note.yaml"]), @r#"
    exit 2
    --- stderr
    error[W801]: `Reader` cannot be a role: a name has up to 40 small letters, digits, `_` and `-`, a letter first
      --> provost.toml:29:8
       |
    29 | [roles.Reader]
       |        ^^^^^^

    error[W801]: `[roles.writer]` names `notes.wirte`, which is no tool
      --> provost.toml:33:10
       |
    33 | tools = ["notes.wirte", "shops.*", "a"]
       |          ^^^^^^^^^^^^^
       |
       = hint: did you mean `notes.write`?

    error[W801]: `[roles.writer]` names `shops.*`, which is no tool
      --> provost.toml:33:25
       |
    33 | tools = ["notes.wirte", "shops.*", "a"]
       |                         ^^^^^^^^^
       |
       = hint: did you mean `shop.*`?

    error[W801]: `[roles.writer]` names `a`, which is no tool
      --> provost.toml:33:36
       |
    33 | tools = ["notes.wirte", "shops.*", "a"]
       |                                    ^^^
       |
       = hint: a role lists operations, `git.log`, or all of a server, `git.*`

    error: the workspace cannot be used: 4 findings in provost.toml

    hint: `provost explain W801` tells more
    "#);
}
