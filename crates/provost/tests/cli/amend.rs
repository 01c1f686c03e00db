use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

#[test]
fn an_argument_can_be_put_right_before_it_is_approved() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let set = [
        "amend",
        &run,
        "--set",
        "note.path=count.txt",
        "--reason",
        "the other file",
    ];
    assert_snapshot!(place.run(&set), @r#"
    exit 3
    --- stdout
    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 2 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "2 orders of ada"  (untrusted data from count)
      argument   path: "count.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      written    note.args.path: by ada
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    --- stderr
    run RUN: resumed
    plan: changed by ada: the other file

    revision 2: the other file
    changed
      2  note  notes.write  write  ask  by production-writes

    note: waits for approval
    "#);
    let (_, other) = place.card();
    assert_ne!(card, other);
    place.run(&["approve", &format!("{run}@{card}")]).exits(2);
    place.run(&["approve", &format!("{run}@{other}")]).exits(0);
    assert!(place.path("notes/count.txt").exists() && !place.path("notes/orders.txt").exists());
}

#[test]
fn who_amends_may_not_approve_it_and_who_asked_may() {
    let place = Workplace::new();
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    place.write(
        "policies/entities.json",
        r#"{ "users": { "ada": {}, "bo": {} } }"#,
    );
    let (run, _) = place.waiting();
    let user = |name: &str, before: &str| {
        place.edit(
            "provost.toml",
            &format!("user = \"{before}\""),
            &format!("user = \"{name}\""),
        );
    };
    user("bo", "ada");
    place
        .run(&["amend", &run, "--set", "note.path=count.txt"])
        .exits(3);
    let (_, card) = place.card();
    let target = format!("{run}@{card}");
    let ran = place.run(&["approve", &target]).exits(2);
    assert!(ran.stderr.contains("`bo` requested this run"), "{ran}");
    user("ada", "bo");
    place.run(&["approve", &target]).exits(0);
}

#[test]
fn an_amendment_is_checked_like_any_plan() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    place.write("plan.yaml", PLAN);
    assert_snapshot!(place.run(&["amend", &run, "--plan", "plan.yaml"]), @r#"
    exit 2
    --- stderr
    error: the run cannot be amended: the plan does not pass the check
      R108: the plan is for another goal (leave `goal` out: it is the user's)
      R111: `count` has run, and the revision changes it (keep it as it was, and give the new step another id)
      R109: the goal has no criterion `looked` (it has noted)
      R110: the revision drops the proof of `noted` (add to `success`: { for: noted, check: "${ … }" })
    "#);
    for (args, why) in [
        (
            vec!["--set", "noone.x=1"],
            "error: the current plan has no step `noone`",
        ),
        (vec!["--set", "nothing"], "error: invalid value 'nothing'"),
        (
            vec![],
            "error: the following required arguments were not provided",
        ),
    ] {
        let ran = place
            .run(&[&["amend", run.as_str()], args.as_slice()].concat())
            .exits(2);
        assert!(ran.stderr.starts_with(why), "{args:?}: {ran}");
    }
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn another_goal_is_an_event_and_a_yes_to_the_old_one_is_none_to_it() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let amend = [
        "amend",
        &run,
        "--goal",
        "Note them for ada",
        "--reason",
        "said so",
    ];
    assert_snapshot!(place.run(&amend), @r"
    exit 3
    --- stdout
    question: there is no plan for the amended goal: no playbook matches the goal. amend the plan too, or stop?
      asked by   the run, because its planner gave no usable plan
      answer     one of stop
      run        RUN
      digest     sha256:DIGEST

    answer: provost answer RUN@CARD VALUE
    or a plan of yours: provost amend RUN --plan FILE
    --- stderr
    run RUN: resumed
    goal: changed by ada: Note them for ada (said so)
    planner: failed, next is a person: no playbook matches the goal
    question: there is no plan for the amended goal: no playbook matches the goal. amend the plan too, or stop?
    ");
    place.run(&["approve", &format!("{run}@{card}")]).exits(2);
    assert_eq!(place.status(), "waiting_answer");
    assert!(!place.path("notes/orders.txt").exists());
}
