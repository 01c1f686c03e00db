use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_no_is_recorded_and_ends_the_run() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    assert_snapshot!(place.run(&["reject", &target, "--reason", "not today"]), @r"
    exit 0
    --- stdout
    rejected: Note the orders of ada
    a person rejected it: not today

    not met: the number of orders stands in the note

    why: provost why RUN
    --- stderr
    run RUN: resumed
    rejected by ada: not today
    note: failed, rejected: not today
    replanning: a person rejected step `note`: not today
    planner: proposed nothing: playbook note has no rule for a plan that a person rejected
    ");
    assert_eq!(place.status(), "rejected");
    assert!(!place.path("notes/orders.txt").exists());
}

#[test]
fn the_only_card_needs_no_digest() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    place.run(&["reject", &run]).exits(0);
    assert_eq!(place.status(), "rejected");
}

/// Two notes, each of which asks.
const TWO: &str = r#"
schema: provost/plan/v1
goal: { text: Write two notes }
steps:
  - { id: one, tool: notes.write, args: { path: one.txt, text: one }, accept: ["${ output.bytes > 0 }"] }
  - { id: two, tool: notes.write, args: { path: two.txt, text: two }, accept: ["${ output.bytes > 0 }"] }
success:
  - { for: goal, check: '${ steps.two.status == "succeeded" }' }
answer:
  - { text: Written., cites: [two] }
"#;

fn two() -> (Workplace, String) {
    let place = Workplace::new();
    place.write("two.yaml", TWO);
    place.run(&["apply", "two.yaml"]).exits(3);
    let (run, _) = place.card();
    (place, run)
}

fn steps_asked(place: &Workplace) -> Vec<String> {
    let inbox = place.json(&["inbox", "--json"]);
    let waits = inbox["waiting"][0]["waits"].as_array().cloned();
    let steps = waits.into_iter().flatten();
    let mut steps: Vec<String> = steps
        .map(|wait| wait["step"].as_str().unwrap().to_owned())
        .collect();
    steps.sort();
    steps
}

#[test]
fn a_no_to_a_step_leaves_the_other_card_open_and_a_no_to_all_ends_the_run() {
    let (place, run) = two();
    assert_eq!(steps_asked(&place), ["one", "two"]);
    let ran = place.run(&["reject", &run]).exits(2);
    assert!(
        ran.stderr.contains("`--step STEP` names one of them"),
        "{ran}"
    );
    let ran = place.run(&["reject", &run, "--step", "three"]).exits(2);
    assert!(
        ran.stderr.contains("no open card is about step `three`"),
        "{ran}"
    );
    place
        .run(&["reject", &run, "--step", "one", "--all"])
        .exits(2);
    place.run(&["reject", &run, "--step", "one"]).exits(0);
    assert_eq!(steps_asked(&place), ["two"]);
    assert_eq!(place.status(), "waiting_approval");
    let (_, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]);
    assert!(place.path("notes/two.txt").exists());
    assert!(!place.path("notes/one.txt").exists());
    // The control of the other card: a no to all leaves none.
    let (place, run) = two();
    place.run(&["reject", &run, "--all"]).exits(0);
    assert_eq!(place.status(), "rejected");
    assert_eq!(steps_asked(&place), [""; 0]);
    assert!(!place.path("notes/two.txt").exists());
}
