use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_goal_becomes_a_plan_and_an_answer() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Count the orders of ada"]), @r"
    exit 0
    --- stdout
    succeeded: Count the orders of ada

    2 orders, the latest of ‹ada›. [1]

    [1] step `count`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: the orders were counted
    --- stderr
    run RUN: Count the orders of ada
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  count  shop.orders  read  permit  by plain-reads

    count: calls shop.orders
    count: succeeded after TIME
    replanning: the planner asked to see the result of `count`
    planner: proposed nothing: no rule of playbook count applies to it, so the plan stays as it is
    ");
}

#[test]
fn an_observation_leads_to_a_revision() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Count the orders of nobody"]), @r"
    exit 0
    --- stdout
    succeeded: Count the orders of nobody

    0 orders, the latest of . [1]
    No orders; 3 of everybody. [2]

    [1] step `count`, evidence sha256:DIGEST
    [2] step `everybody`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: the orders were counted
    --- stderr
    run RUN: Count the orders of nobody
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  count  shop.orders  read  permit  by plain-reads

    count: calls shop.orders
    count: succeeded after TIME
    replanning: the planner asked to see the result of `count`

    revision 2: nobody of that name ordered anything
    added
      1  everybody  shop.orders  read  permit  by plain-reads

    everybody: calls shop.orders
    everybody: succeeded after TIME
    ");
}

#[test]
fn without_a_terminal_it_prints_the_card_and_the_command() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Note the orders of ada"]), @r#"
    exit 3
    --- stdout
    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "2 orders of ada"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    --- stderr
    run RUN: Note the orders of ada
    solo workspace: the requester may also approve

    plan, revision 1: 2 steps, 1 read, 1 write; approval needed for 1 step
      1  count  shop.orders  read   permit  by plain-reads
      2  note   notes.write  write  ask     by production-writes

    count: calls shop.orders
    count: succeeded after TIME
    note: waits for approval
    "#);
    assert!(!place.path("notes/orders.txt").exists());
}

#[test]
fn asked_about_the_plan_it_waits_before_anything_runs() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Note the orders of ada", "--ask", "plan"]), @r"
    exit 3
    --- stdout
    approve 1 step of the plan?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      step       note
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    --- stderr
    run RUN: Note the orders of ada
    solo workspace: the requester may also approve

    plan, revision 1: 2 steps, 1 read, 1 write; approval needed for 1 step
      1  count  shop.orders  read   permit  by plain-reads
      2  note   notes.write  write  ask     by production-writes

    plan: waits for approval
    ");
}

#[test]
fn the_command_names_the_workspace_as_it_was_typed() {
    let place = Workplace::new();
    let dir = place.path("");
    let dir = dir.to_str().unwrap();
    let ran = Workplace::empty()
        .run(&["-C", dir, "run", "Note the orders of ada"])
        .exits(3);
    let command = format!("approve: provost -C {dir} approve ");
    assert!(ran.raw_stdout.contains(&command), "{ran}");
}

#[test]
fn the_same_goal_again_is_refused_while_it_waits() {
    let place = Workplace::new();
    place.waiting();
    assert_snapshot!(place.run(&["run", "note  the orders of ADA"]), @r"
    exit 2
    --- stderr
    error: run `RUN` has the same goal and is not finished: it waits for approval

    hint: `provost show RUN` shows what it waits for, `provost resume RUN` continues it; `--again` starts another run
    ");
    place
        .run(&["run", "Note the orders of ada", "--again"])
        .exits(3);
}

#[test]
fn a_goal_that_no_playbook_matches_is_refused() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Make me a sandwich"]), @r"
    exit 2
    --- stderr
    error: no playbook matches the goal

    hint: the playbooks are:
      ask: Ask whose orders count
      count: Count the orders of {customer}
      note: Note the orders of {customer}
    word the goal as one of them, write another playbook, or give a plan of your own with `provost apply FILE`
    ");
    assert!(!place.path(".provost").exists());
}

#[test]
fn a_goal_that_two_playbooks_match_is_asked_about() {
    let place = Workplace::new();
    let text = std::fs::read_to_string(place.path("playbooks/count.yaml")).unwrap();
    place.write("playbooks/again.yaml", text);
    assert_snapshot!(place.run(&["run", "Count the orders of ada"]), @r"
    exit 3
    --- stdout
    question: which playbook is the goal for: again (Count the orders of {customer}), count (Count the orders of {customer})?
      asked by   the planner
      answer     one of again, count
      run        RUN
      digest     sha256:DIGEST

    answer: provost answer RUN@CARD VALUE
    --- stderr
    run RUN: Count the orders of ada
    solo workspace: the requester may also approve
    question: which playbook is the goal for: again (Count the orders of {customer}), count (Count the orders of {customer})?
    ");
    let (run, _) = place.card();
    assert_snapshot!(place.run(&["answer", &run, "neither"]), @"
    exit 2
    --- stderr
    error: `neither` is not one of again, count

    hint: the question is: which playbook is the goal for: again (Count the orders of {customer}), count (Count the orders of {customer})?
    ");
    assert_snapshot!(place.run(&["answer", &run, "again"]), @r#"
    exit 0
    --- stdout
    succeeded: Count the orders of ada

    2 orders, the latest of ‹ada›. [1]

    [1] step `count`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: the orders were counted
    --- stderr
    run RUN: resumed
    answered by ada: "again"

    plan, revision 1: 1 step, 1 read; no approval needed
      1  count  shop.orders  read  permit  by plain-reads

    count: calls shop.orders
    count: succeeded after TIME
    replanning: the planner asked to see the result of `count`
    planner: proposed nothing: no rule of playbook again applies to it, so the plan stays as it is
    "#);
}

/// The goal has the words of a playbook: its value is asked for, and the run goes on with it,
/// whichever process is told.
#[test]
fn what_a_goal_leaves_out_is_asked_for() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["plan", "Count the orders"]), @"
    exit 1
    --- stderr
    error: the planner has questions: the goal does not say which customer: which is it?

    hint: say it in the goal, or let `provost run` ask
    ");
    assert_snapshot!(place.run(&["run", "Count the orders"]), @r"
    exit 3
    --- stdout
    question: the goal does not say which customer: which is it?
      asked by   the planner
      answer     a text
      run        RUN
      digest     sha256:DIGEST

    answer: provost answer RUN@CARD VALUE
    --- stderr
    run RUN: Count the orders
    solo workspace: the requester may also approve
    question: the goal does not say which customer: which is it?
    ");
    let (run, _) = place.card();
    assert_snapshot!(place.run(&["answer", &run, "ada"]), @r#"
    exit 0
    --- stdout
    succeeded: Count the orders

    2 orders, the latest of ‹ada›. [1]

    [1] step `count`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: the orders were counted
    --- stderr
    run RUN: resumed
    answered by ada: "ada"

    plan, revision 1: 1 step, 1 read; no approval needed
      1  count  shop.orders  read  permit  by plain-reads

    count: calls shop.orders
    count: succeeded after TIME
    replanning: the planner asked to see the result of `count`
    planner: proposed nothing: no rule of playbook count applies to it, so the plan stays as it is
    "#);
    let trace = place.run(&["trace", &run, "--planning"]).exits(0);
    let lines = trace.raw_stdout.lines();
    let read: Vec<&str> = lines
        .filter_map(|line| line.split_once("GoalInterpreted"))
        .map(|(_, text)| text.trim())
        .collect();
    assert_snapshot!(read.join("\n"), @r#"
    goal: interpreted by rules: the goal has the words of a playbook and not all of its values, so a person is asked (criteria `goal`)
    goal: interpreted by playbook count, with answers to: params.customer (criteria `counted`, params customer="ada", planner: playbook count)
    "#);
}

#[test]
fn events_are_journal_lines() {
    let place = Workplace::new();
    let ran = place
        .run(&["run", "Count the orders of ada", "--events"])
        .exits(0);
    let events: Vec<serde_json::Value> = ran
        .raw_stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = events
        .iter()
        .map(|event| event["kind"].as_str().unwrap())
        .collect();
    assert_snapshot!(kinds.join(" "), @"RunCreated GoalInterpreted PlanRequested PlanProposed PlanChecked RunStarted AttemptStarted AttemptEnded ObservationMade StepSettled ReplanRequested PlanRequested PlanGivenUp RunEnded");
    let numbers: Vec<u64> = events
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>());
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_result_is_one_json_object() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Count the orders of ada", "--json"]).stdout, @r#"
    {
      "schema": "provost/run/v1",
      "id": "RUN",
      "goal": "Count the orders of ada",
      "status": "succeeded",
      "revision": 1,
      "solo": true,
      "waiting_for": null,
      "waits": [],
      "steps": {
        "count": {
          "status": "succeeded",
          "class": null,
          "message": null
        }
      },
      "message": null,
      "class": null,
      "step": null,
      "criteria": {
        "counted": "held"
      },
      "proven_by": {
        "counted": {
          "kind": "playbook",
          "name": "count"
        }
      },
      "answer": [
        {
          "spans": [
            {
              "text": "2"
            },
            {
              "text": " orders, the latest of "
            },
            {
              "text": "ada",
              "untrusted": true
            },
            {
              "text": "."
            }
          ],
          "cites": [
            {
              "step": "count",
              "evidence": [
                "sha256:DIGEST"
              ]
            }
          ]
        }
      ]
    }
    "#);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let place = Workplace::new();
    let mut child = place.spawn(&["run", "Count the orders of ada"]);
    drop(child.stdout.take());
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(place.status(), "succeeded");
}

#[test]
fn a_goal_in_other_words_is_answered_with_the_sentence() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "please count ada's orders"]), @"
    exit 2
    --- stderr
    error: no playbook matches the goal

    hint: did you mean `provost run 'Count the orders of ada'`?
    the playbooks are:
      ask: Ask whose orders count
      count: Count the orders of {customer}
      note: Note the orders of {customer}
    word the goal as one of them, write another playbook, or give a plan of your own with `provost apply FILE`
    ");
    assert_snapshot!(place.run(&["run", "Count all orders for the customer ada"]), @"
    exit 2
    --- stderr
    error: no playbook matches the goal

    hint: did you mean `provost run 'Count the orders of ada'`?
    the playbooks are:
      ask: Ask whose orders count
      count: Count the orders of {customer}
      note: Note the orders of {customer}
    word the goal as one of them, write another playbook, or give a plan of your own with `provost apply FILE`
    ");
    assert_snapshot!(place.run(&["run", "Do not count the orders of ada"]), @"
    exit 2
    --- stderr
    error: no playbook matches the goal

    hint: the playbooks are:
      ask: Ask whose orders count
      count: Count the orders of {customer}
      note: Note the orders of {customer}
    word the goal as one of them, write another playbook, or give a plan of your own with `provost apply FILE`
    ");
}
