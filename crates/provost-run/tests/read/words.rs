//! The sentence of each event, short and with its details, over journals written by hand.

use provost_run::read::words::{duration, words};

use crate::journal_text::journal;

fn sentences(text: &str) -> String {
    let events = journal(text).into_iter();
    let lines = events.map(|(event, _)| {
        let words = words(&event);
        format!("{}\n  {}\n", words.line(), words.full())
    });
    lines.collect()
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
fn each_event_has_its_sentence() {
    let journal = "created | g
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
    insta::assert_snapshot!(sentences(journal), @r#"
    run r: g
      run r (for ada, planner: playbook latency): g
    plan: passed the check
      plan: passed the check (reply 1, revision 1, f0a34871f73d, 2 steps: 2 permit)
    question: which?
      question (6f932b84c4ec, of step `a`): which?
    answered by ada: "eu"
      answered by ada (question 6f932b84c4ec): "eu"
    question: go on?
      question (5ed605d59d4d, about step `a`): go on?
    rejected by bo: not now
      rejected by bo (card 8d03c768991c): not now
    approval: expired, nobody answered in time
      approval: expired, nobody answered in time (card 8d03c768991c)
    replanning: nobody answered about step `a` in time
      replanning: nobody answered about step `a` in time
    revision 2: the logs hold none
      revision 2 (added `c`, changed `a`, removed `b`): the logs hold none
    a: runs over 2 items
      a: runs over 2 items
    a[1]: skipped, it is not among the steps approved
      a[1]: skipped, it is not among the steps approved
    b: skipped, its condition is false
      b: skipped, its condition is false
    b: blocked, dependency `a` did not succeed
      b: blocked, dependency `a` did not succeed
    a: not started, its limit of 3 calls is reached
      a: not started, its limit of 3 calls is reached
    a[0]: interrupted, its effect is unknown
      a[0]: interrupted, its effect is unknown (attempt 1, effect unknown)
    run: resumed, interrupted calls: `a[0]`
      run: resumed, interrupted calls: `a[0]`
    run: resumed
      run: resumed (no call was in flight)
    cancelled by ada: late
      cancelled by ada: late
    "#);
}
