use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

#[test]
fn a_good_plan_is_ok_and_says_what_was_not_looked_at() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    assert_snapshot!(place.run(&["check", "plan.yaml"]), @r"
    exit 0
    --- stdout
    ok: `plan.yaml`, 1 step, 1 read; nothing is asked
    not checked:
      the plans of up to 5 revisions
      money and tokens: nothing is priced
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
      money and tokens: nothing is priced
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

    ok: `plan.yaml`, 1 step, 1 read; nothing is asked; 1 warning
    not checked:
      the plans of up to 5 revisions
      money and tokens: nothing is priced
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
fn a_playbook_is_checked_with_samples() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["check", "playbooks/note.yaml"]), @r"
    exit 0
    --- stdout
    note[E303]: `note` is tried at most once: its tool recognises no repetition
     --> <playbook note>:7:11
      |
    7 |     - id: note
      |           ^^^^
      |
      = note: if its outcome stays unknown, the run waits for a person

    note[V602]: a person is asked before `note` calls `notes.write`
     --> <playbook note>:9:13
      |
    9 |       tool: notes.write
      |             ^^^^^^^^^^^
      |
      = note: decided by production-writes

    ok: `<playbook note>`, 2 steps, 1 read, 1 write; a person is asked about 1 step; 2 notes
    not checked:
      parameters other than samples of their types
      the plans of its revise rules
      how long people take to answer: note
      whether a lost reply can be settled without a person: note
      the plans of up to 5 revisions
      money and tokens: nothing is priced
      what tools do beyond their declared effect
    ");
}

#[test]
fn a_saved_plan_is_checked() {
    let place = Workplace::new();
    place
        .run(&["plan", "Count the orders of ada", "-o", "saved.json"])
        .exits(0);
    place.run(&["check", "saved.json"]).exits(0);
}
