//! The two views and the counts, over journals written by hand.

use super::*;
use crate::written::journal;

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
+250 end count 1 timeout none again | no answer
start count 2 tickets.count | {}
+1500 end count 2 ok happened
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
    1 1000000 RunCreated for `ada`, by playbook `latency`: page on-call if needed
    2 1000100 GoalInterpreted by playbook; criteria `goal`
    3 1000200 PlanRequested request 1 for a plan, 96b43df27ca4
    4 1000300 PlanProposed reply 1 by the playbook, `plan.yaml`, 9 bytes
    5 1000400 PlanRefused reply 1 does not pass the check: R104 steps wait for each other; T202 steps wait for each other
    6 1000500 PlanRequested request 2 for a revision, 0ad26a54f3b6
    7 1000600 PlanProposed reply 2 by the playbook, `plan.yaml`, 9 bytes
    8 1000700 PlanChecked reply 2, revision 1, 6fdb72bde95a; 2 steps; ask `page`; 1 permit; findings S702
    16 1003050 ApprovalRequested 8d03c768991c asks about `page`, 1 call of `pager.notify` (external, high risk), which repeats `earlier`
    17 1063050 ApprovalGiven `ada` said yes to 8d03c768991c
    ");
    insta::assert_snapshot!(shown(&trace.execution), @r"
    9 1000800 RunStarted revision 1
    10 1000900 AttemptStarted `count` attempt 1 of `tickets.count` with e22950b77b7e, permit
    11 1001150 AttemptEnded `count` attempt 1 timeout × none, 250 ms, tried again: no answer
    12 1001250 AttemptStarted `count` attempt 2 of `tickets.count` with e22950b77b7e, permit
    13 1002750 AttemptEnded `count` attempt 2 ok × happened, 1.5 s
    14 1002850 ObservationMade `count` data, evidence c581fca16608
    15 1002950 StepSettled `count` succeeded
    18 1063150 AttemptStarted `page` attempt 1 of `pager.notify` with 017a020da232, permit, keyed
    19 1063170 AttemptEnded `page` attempt 1 ok × happened, 20 ms
    20 1063270 ObservationMade `page` data, evidence 867fb1e3c011
    21 1063370 StepSettled `page` succeeded
    22 1063470 RunEnded succeeded
    ");
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

#[test]
fn lengths_of_time_are_read_at_a_glance() {
    let lengths = [0, 999, 1_000, 61_500, 3_600_000].map(duration);
    assert_eq!(
        lengths,
        ["0 ms", "999 ms", "1.0 s", "1 min 1 s", "1 h 0 min"]
    );
}

#[test]
fn other_events_have_their_words() {
    let rest = "created | g
        checked 1 1 | [{\"id\":\"a\",\"tool\":\"t.a\"},{\"id\":\"b\",\"tool\":\"t.b\"}]
        question q step:a | which?
        answered q ada | eu
        question e escalation:a | go on?
        no c bo | not now
        lapsed c
        replan expired:a
        revised 2 +c ~a -b | the logs hold none
        list a | [1, 2]
        skipped a[1] not_approved
        skipped b when
        blocked b a
        limit a | its limit of 3 calls is reached
        lost a[0] 1 unavailable unknown
        resumed a[0]
        resumed
        cancel ada | late";
    let trace = trace(&journal(rest));
    insta::assert_snapshot!(shown(&trace.planning), @r#"
    1 1000000 RunCreated for `ada`, by playbook `latency`: g
    2 1000100 PlanChecked reply 1, revision 1, f0a34871f73d; 2 steps; 2 permit
    3 1000200 QuestionAsked 6f932b84c4ec for step `a`: which?
    4 1000300 QuestionAnswered `ada` answered 6f932b84c4ec: "eu"
    5 1000400 QuestionAsked 5ed605d59d4d for what to do about `a`: go on?
    6 1000500 ApprovalRejected `bo` said no to 8d03c768991c: not now
    7 1000600 ApprovalExpired nobody answered 8d03c768991c in time
    8 1000700 ReplanRequested because nobody answered about `a`
    9 1000800 PlanRevised revision 2; added `c`; changed `a`; removed `b`: the logs hold none
    "#);
    insta::assert_snapshot!(shown(&trace.execution), @r"
    10 1000900 ListEvaluated `a` over 2 items
    11 1001000 StepSkipped `a[1]`: a person left it out
    12 1001100 StepSkipped `b`: its `when` is false
    13 1001200 StepBlocked `b` waits for `a`, which never comes
    14 1001300 AdmissionRefused `a`: its limit of 3 calls is reached
    15 1001400 AttemptEnded `a[0]` attempt 1 unavailable × unknown, lost
    16 1001500 Resumed lost in flight `a[0]`
    17 1001600 Resumed nothing was in flight
    18 1001700 CancelRequested by `ada`: late
    ");
}
