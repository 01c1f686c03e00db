//! The two views and the counts, over journals written by hand.

use provost_run::read::trace::{TraceLine, trace};

use crate::journal_text::journal;

const RUN: &str = r#"
created | page on-call if needed
goal playbook | page on-call if needed
asked 1
proposed 1
refused 1 R104,T202 | steps wait for each other
asked 2
proposed 2
checked 2 1 S702 | [{"id":"count","tool":"tickets.count"},{"id":"page","tool":"pager.notify","approval":"required"}]
begun
start count 1 tickets.count | {}
+250 end count 1 timeout none again took=249300 | no answer
start count 2 tickets.count | {}
+1500 end count 2 ok happened took=640
seen count | {"total": 9}
settled count succeeded
card c page repeats
+60000 yes c ada
start page 1 pager.notify write key | m
+20 end page 1 ok happened
seen page | {"delivered": true}
settled page succeeded
over succeeded goal=held
"#;

fn shown(lines: &[TraceLine]) -> String {
    let lines = lines
        .iter()
        .map(|line| format!("{} {} {} {}\n", line.seq, line.at_ms, line.kind, line.text));
    lines.collect()
}

#[test]
fn planning_and_execution_stand_apart() {
    let trace = trace(&journal(RUN));
    insta::assert_snapshot!(shown(&trace.planning), @r"
    1 1000000 RunCreated run r (for ada, planner: playbook latency): page on-call if needed
    2 1000100 GoalInterpreted goal: interpreted by playbook (criteria `goal`)
    3 1000200 PlanRequested planner: asked for a plan (request 1, 96b43df27ca4)
    4 1000300 PlanProposed planner: proposed a plan (reply 1, by the playbook, `plan.yaml`, 9 bytes)
    5 1000400 PlanRefused plan: failed the check (reply 1): R104 steps wait for each other; T202 steps wait for each other
    6 1000500 PlanRequested planner: asked for a revision (request 2, 0ad26a54f3b6)
    7 1000600 PlanProposed planner: proposed a plan (reply 2, by the playbook, `plan.yaml`, 9 bytes)
    8 1000700 PlanChecked plan: passed the check (reply 2, revision 1, 6fdb72bde95a, 2 steps: ask `page`; 1 permit, findings S702)
    16 1003050 ApprovalRequested page: waits for approval (card 8d03c768991c, 1 call of `pager.notify`, external, high risk, repeats `earlier`)
    17 1063050 ApprovalGiven approved by ada (card 8d03c768991c)
    ");
    insta::assert_snapshot!(shown(&trace.execution), @r"
    9 1000800 RunStarted run: started with revision 1
    10 1000900 AttemptStarted count: calls tickets.count (arguments e22950b77b7e, permit)
    11 1001150 AttemptEnded count: timeout, retrying (attempt 1, effect none, 249 ms): no answer
    12 1001250 AttemptStarted count: calls tickets.count, attempt 2 (arguments e22950b77b7e, permit)
    13 1002750 AttemptEnded count: ok (attempt 2, 0.6 ms)
    14 1002850 ObservationMade count: observed data (evidence c581fca16608)
    15 1002950 StepSettled count: succeeded
    18 1063150 AttemptStarted page: calls pager.notify (arguments 017a020da232, permit, keyed)
    19 1063170 AttemptEnded page: ok (attempt 1)
    20 1063270 ObservationMade page: observed data (evidence 867fb1e3c011)
    21 1063370 StepSettled page: succeeded
    22 1063470 RunEnded run: succeeded
    ");
}

#[test]
fn a_latency_is_measured_or_unknown_and_no_distance_of_commits() {
    let trace = trace(&journal(RUN));
    let ends = trace
        .execution
        .iter()
        .filter(|line| line.kind == "AttemptEnded");
    let latencies: Vec<_> = ends.map(|line| line.latency_us).collect();
    assert_eq!(latencies, [Some(249_300), Some(640), None]);
}

#[test]
fn every_event_stands_in_one_view() {
    let events = journal(RUN);
    let trace = trace(&events);
    let mut seqs: Vec<u64> = trace.planning.iter().map(|line| line.seq).collect();
    seqs.extend(trace.execution.iter().map(|line| line.seq));
    seqs.sort_unstable();
    let all: Vec<u64> = (1..=events.len() as u64).collect();
    assert_eq!(seqs, all);
}

#[test]
fn what_can_be_counted_is_counted() {
    let metrics = trace(&journal(RUN)).metrics;
    let json = serde_json::to_string_pretty(&metrics).unwrap_or_default();
    insta::assert_snapshot!(json, @r#"
    {
      "proposals": 2,
      "proposals_refused": 1,
      "diagnostics": 3,
      "criteria_held": 1,
      "criteria": 1,
      "steps_unneeded": 1,
      "revisions": 0,
      "dependency_faults": 1,
      "clarifications": 0,
      "steps": 2,
      "steps_by_status": {
        "succeeded": 2
      },
      "attempts": 3,
      "retries": 1,
      "failures": {
        "timeout": 1
      },
      "validation_failures": 0,
      "duplicates_held": 1,
      "ended": "succeeded",
      "elapsed_ms": 63470,
      "waiting_for_people_ms": 60000
    }
    "#);
}

/// The control: the counts move with the events they count.
#[test]
fn a_journal_without_a_retry_counts_none() {
    let without: String = RUN
        .lines()
        .filter(|line| !line.contains("count 2") && !line.contains("yes c"))
        .map(|line| format!("{line}\n"))
        .collect();
    let metrics = trace(&journal(&without)).metrics;
    assert_eq!((metrics.retries, metrics.attempts), (0, 2));
    // Why: a card that stays open is waited for until the end of the journal.
    assert!(metrics.waiting_for_people_ms < 1_000);
}
