//! Who is cause, over journals written by hand: a rule, a journal, a judgment.

use std::collections::BTreeSet;

use provost_run::call::Slot;
use provost_run::event::Event;
use provost_run::read::why::{Certainty, Guilty, Judgment, Witnesses, why};
use provost_run::state::{WaitKind, Waiting};

use crate::journal_text::journal;

/// A journal in, a judgment out, as it is read aloud.
fn judged(text: &str) -> String {
    judged_waiting(text, |_| Vec::new())
}

/// The same of a run that waits for something.
fn judged_waiting(text: &str, waits: impl FnOnce(&Event) -> Vec<Waiting>) -> String {
    let events = journal(text);
    let (last, _) = events.last().expect("an event");
    aloud(&why(&events, &waits(last), &Witnesses::default()))
}

/// A judgment as it is read aloud.
fn aloud(judged: &Judgment) -> String {
    let party = judged.party.map_or("nobody", |party| party.word());
    let cause = judged.cause.unwrap_or("-");
    let mut out = format!(
        "{} ({party}, {cause}, {}): {}\n",
        judged.guilty.word(),
        judged.certainty.word(),
        judged.sentence
    );
    for line in &judged.proof {
        out.push_str(&format!("  {} {} {}\n", line.seq, line.kind, line.text));
    }
    for other in &judged.also {
        out.push_str(&format!(
            "  also: {}: {}\n",
            other.guilty.word(),
            other.sentence
        ));
    }
    for one in &judged.candidates {
        out.push_str(&format!("  maybe: {}: {}\n", one.guilty.word(), one.text));
    }
    for what in &judged.would_decide {
        out.push_str(&format!("  would decide: {what}\n"));
    }
    out
}

/// The beginning of every run with a plan of one step, `count`.
const ONE: &str = r#"
created | count the tickets
goal user | count the tickets
asked 1
proposed 1
checked 1 1 | [{"id":"count","tool":"tickets.count","args":{"project":"PAY"}}]
begun
"#;

/// What a run waits for whose last event asks a person.
fn asked(last: &Event) -> Vec<Waiting> {
    let (kind, digest, slot) = match last {
        Event::ApprovalRequested { card, digest } => {
            let step = card.step().map(str::to_owned);
            let slot = step.map(|step| Slot { step, item: None });
            (WaitKind::Approval, *digest, slot)
        }
        Event::QuestionAsked { digest, .. } => (WaitKind::Answer, *digest, None),
        _ => return Vec::new(),
    };
    vec![Waiting {
        kind,
        digest: Some(digest),
        slot,
        operation: None,
        effect: None,
        risk: None,
        requester: None,
        planned_by: None,
        asked_at: 0,
        expires_at: None,
        quorum: None,
        approved_by: BTreeSet::new(),
        repeats: 0,
    }]
}

fn one(rest: &str) -> String {
    judged(&format!("{ONE}{rest}"))
}

/// A run whose one step ends with `class` and fails the run.
fn failing(class: &str) -> Judgment {
    let rest = format!(
        "start count 1 tickets.count | {{}}\nend count 1 {class} none\n\
         settled count failed {class}\nover failed {class} at:count"
    );
    why(
        &journal(&format!("{ONE}{rest}")),
        &[],
        &Witnesses::default(),
    )
}

#[test]
fn a_class_is_proof_only_of_what_excludes_everybody_else() {
    use Guilty::{Execution, Neither, Undecided};
    let table = [
        ("timeout", Execution),
        ("unavailable", Execution),
        ("rate_limited", Execution),
        ("output_invalid", Execution),
        ("permission_denied", Execution),
        ("partial", Execution),
        ("breaker_open", Execution),
        ("misdeclared", Execution),
        ("tool_bug", Execution),
        ("rejected", Neither),
        ("expired", Neither),
        ("cancelled", Neither),
        ("drift", Undecided),
        ("stale", Undecided),
        ("invalid_arguments", Undecided),
        ("expression", Undecided),
        ("work_exceeded", Undecided),
        ("not_found", Undecided),
        ("acceptance_failed", Undecided),
        ("deadline_exceeded", Undecided),
        ("conflict", Undecided),
        ("budget_exceeded", Undecided),
        ("policy_denied", Undecided),
    ];
    for (class, guilty) in table {
        let judged = failing(class);
        assert_eq!(judged.guilty, guilty, "{class}: {}", judged.sentence);
        assert!(!judged.proof.is_empty(), "{class} is shown by events");
        let open = judged.certainty == Certainty::Open;
        assert_eq!(open, guilty == Undecided, "{class}");
        assert_eq!(open, !judged.candidates.is_empty(), "{class}");
    }
}

/// The same class has another cause where the plan may be why.
#[test]
fn what_the_plan_sets_is_not_the_tools_with_certainty() {
    let polls = r#""until":"${ output.done }","every":"1s","at_most":"1m""#;
    let table = [
        (r#""retry":2"#, "rate_limited", Guilty::Execution),
        (polls, "rate_limited", Guilty::Undecided),
        (r#""retry":2"#, "output_invalid", Guilty::Execution),
        (
            r#""expect":{"type":"object"}"#,
            "output_invalid",
            Guilty::Undecided,
        ),
    ];
    for (field, class, guilty) in table {
        let step = format!(r#"[{{"id":"get","tool":"t.get",{field}}}]"#);
        let judged = why(
            &journal(&format!(
                "created | get\nchecked 1 1 | {step}\nstart get 1 t.get | x\n\
                 end get 1 {class} none\nsettled get failed {class}\n\
                 over failed {class} at:get"
            )),
            &[],
            &Witnesses::default(),
        );
        assert_eq!(judged.guilty, guilty, "{class} with {field}");
    }
}

#[test]
fn what_a_plan_asserts_in_vain_is_open() {
    insta::assert_snapshot!(judged(
        "created | enough
         asked 1
         checked 1 1 | [{\"id\":\"enough\",\"assert\":\"${ params.n > 3 }\"}]
         settled enough failed acceptance_failed | only 2 are free
         over failed acceptance_failed at:enough"
    ), @r"
    undecided (nobody, -, open): what step `enough` asserts does not hold
      4 StepSettled enough: failed, acceptance_failed: only 2 are free
      5 RunEnded run: failed at `enough`, acceptance_failed
      maybe: plan: what the plan wrote at `enough`
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn a_timeout_is_the_executions() {
    insta::assert_snapshot!(one(
        "start count 1 tickets.count | {}
         +5000 end count 1 timeout unknown again | no answer in 5 s
         start count 2 tickets.count | {}
         +5000 end count 2 timeout unknown | no answer in 5 s
         settled count failed timeout | no answer in 5 s
         replan failed:count:timeout
         asked 2 failed:count:timeout
         givenup 2 | no rule of the playbook fits
         over failed timeout at:count | step `count` failed: no answer in 5 s"
    ), @r"
    execution (tool or operator, timeout, proven): step `count`: the tool did not answer in the time that its own entry gives it
      9 AttemptStarted count: calls tickets.count, attempt 2 (arguments e22950b77b7e, permit)
      10 AttemptEnded count: timeout (attempt 2, effect unknown): no answer in 5 s
      11 StepSettled count: failed, timeout: no answer in 5 s
      15 RunEnded run: failed at `count`, timeout: step `count` failed: no answer in 5 s
    ");
}

#[test]
fn a_write_in_doubt_is_the_executions_before_the_run_is_over() {
    insta::assert_snapshot!(one(
        "start count 1 pager.notify write | {}
         lost count 1 unavailable unknown | the process ended
         settled count in_doubt unavailable | its outcome is unknown"
    ), @r"
    execution (host, lost, proven): step `count` is in doubt: a write was sent, and the process that sent it ended before an answer came
      7 AttemptStarted count: calls pager.notify (arguments e22950b77b7e, permit)
      8 AttemptEnded count: interrupted, its effect is unknown (attempt 1, effect unknown): the process ended
      9 StepSettled count: in doubt, unavailable: its outcome is unknown
    ");
}

#[test]
fn a_check_that_nothing_passes_is_the_plans() {
    insta::assert_snapshot!(judged(
        "created | count
         asked 1
         proposed 1
         refused 1 R101 | no tool `ticket.count`
         asked 2
         proposed 2
         refused 2 T202 | `project` is not there
         givenup 3 | 2 proposals were inadmissible
         over refused invalid_arguments | 2 proposals were inadmissible"
    ), @r"
    plan (planner, does_not_compile, proven): none of the 2 proposed plans passed the check; the last has `T202`
      4 PlanRefused plan: failed the check (reply 1): R101 no tool `ticket.count`
      7 PlanRefused plan: failed the check (reply 2): T202 `project` is not there
      8 PlanGivenUp planner: proposed nothing (request 3): 2 proposals were inadmissible
      9 RunEnded run: refused, invalid_arguments: 2 proposals were inadmissible
    ");
}

#[test]
fn no_proposal_at_all_is_undecided() {
    insta::assert_snapshot!(judged(
        "created | count
         asked 1
         givenup 1 | no playbook matches
         over refused invalid_arguments | no playbook matches"
    ), @r"
    undecided (nobody, -, open): no plan was proposed
      3 PlanGivenUp planner: proposed nothing (request 1): no playbook matches
      4 RunEnded run: refused, invalid_arguments: no playbook matches
      maybe: neither: a planner that has none, or none that could be asked
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn a_criterion_unmet_by_steps_that_succeeded_is_open() {
    insta::assert_snapshot!(one(
        "start count 1 tickets.count | {}
         end count 1 ok happened
         seen count | {\"total\":3}
         settled count succeeded
         replan unmet:goal
         asked 2 unmet:goal
         givenup 2 | nothing more to try
         over failed unmet goal=not | not proven: `goal`"
    ), @r"
    undecided (nobody, -, open): `goal` is not proven, and no step that it rests on failed
      14 RunEnded run: failed, unmet: not proven: `goal`
      maybe: plan: the proofs, or what the plan does
      maybe: execution: what the tool of `count` answered is wrong
      maybe: neither: the goal, which cannot be had as it asks
      maybe: neither: what changed outside before it was read
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn a_criterion_unmet_by_a_failed_step_is_judged_by_that_step() {
    insta::assert_snapshot!(one(
        "start count 1 tickets.count | {}
         end count 1 unavailable none | connection refused
         settled count failed unavailable | connection refused
         replan unmet:goal
         asked 2 unmet:goal
         givenup 2 | nothing more to try
         over failed unmet goal=not"
    ), @r"
    execution (tool or operator, unavailable, proven): `goal` is not proven: step `count`: the tool could not serve, and it never answered well under this entry
      7 AttemptStarted count: calls tickets.count (arguments e22950b77b7e, permit)
      8 AttemptEnded count: unavailable (attempt 1, effect none): connection refused
      9 StepSettled count: failed, unavailable: connection refused
      13 RunEnded run: failed, unmet
    ");
}

#[test]
fn a_no_to_what_a_criterion_does_not_rest_on_explains_nothing() {
    insta::assert_snapshot!(one(
        "card c count
         no c ada | not tonight
         replan rejected:count
         asked 2 rejected:count
         proposed 2
         checked 2 2 | [{\"id\":\"other\",\"tool\":\"tickets.count\"}]
         revised 2 +other -count | without the page
         start other 1 tickets.count | {}
         end other 1 ok happened
         settled other succeeded
         over failed unmet goal=not"
    ), @r"
    undecided (nobody, -, open): `goal` is not proven, and no step that it rests on failed
      17 RunEnded run: failed, unmet
      maybe: plan: the proofs, or what the plan does
      maybe: execution: what the tool of `other` answered is wrong
      maybe: neither: the goal, which cannot be had as it asks
      maybe: neither: what changed outside before it was read
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn steps_that_disagree_leave_it_undecided() {
    insta::assert_snapshot!(judged(
        "created | two
         asked 1
         checked 1 1 | [{\"id\":\"a\",\"tool\":\"t.a\"},{\"id\":\"b\",\"tool\":\"t.b\"}]
         start a 1 t.a | 1
         start b 1 t.b | 2
         end a 1 timeout none
         settled a failed timeout
         end b 1 invalid_arguments none
         settled b failed invalid_arguments
         over failed unmet goal=not"
    ), @r"
    undecided (nobody, -, open): `goal` is not proven: more than one thing went wrong, and not one kind of it
      4 AttemptStarted a: calls t.a (arguments 96b43df27ca4, permit)
      5 AttemptStarted b: calls t.b (arguments 0ad26a54f3b6, permit)
      6 AttemptEnded a: timeout (attempt 1, effect none)
      7 StepSettled a: failed, timeout
      8 AttemptEnded b: invalid_arguments (attempt 1, effect none)
      9 StepSettled b: failed, invalid_arguments
      10 RunEnded run: failed, unmet
      also: execution: step `a`: the tool did not answer in the time that its own entry gives it
      also: undecided: `t.b` refuses the arguments of step `b`
      maybe: plan: what the plan wrote at `b`
      maybe: neither: what changed outside before `b`
      maybe: execution: what the tool of `b` answered
      maybe: execution: the operator's entry or account for the tool of `b`
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn what_is_not_found_is_open_without_a_witness() {
    let run = |args: &str| {
        let steps = format!(
            "[{{\"id\":\"list\",\"tool\":\"t.list\"}},{{\"id\":\"get\",\"tool\":\"t.get\",\"args\":{args}}}]"
        );
        judged(&format!(
            "created | get it
             asked 1
             checked 1 1 | {steps}
             start get 1 t.get | x
             end get 1 not_found none | no such ticket
             settled get failed not_found | no such ticket
             over failed not_found at:get"
        ))
    };
    insta::assert_snapshot!(run(r#"{"id":"PAY-0","who":"${ params.who }"}"#), @r"
    undecided (nobody, -, open): what step `get` names is not there, as its tool says
      4 AttemptStarted get: calls t.get (arguments 6b5bd96d7844, permit)
      5 AttemptEnded get: not_found (attempt 1, effect none): no such ticket
      6 StepSettled get: failed, not_found: no such ticket
      7 RunEnded run: failed at `get`, not_found
      maybe: plan: what the plan wrote at `get`
      maybe: neither: what the goal asks for
      maybe: neither: what changed outside before `get`
      maybe: execution: what the tool of `get` answered
      maybe: execution: the operator's entry or account for the tool of `get`
      would decide: why r --against RIGHT_RUN
    ");
    insta::assert_snapshot!(run(r#"{"id":"${ steps.list.output.rows[0].id }"}"#), @r"
    undecided (nobody, -, open): what step `get` names is not there, as its tool says
      4 AttemptStarted get: calls t.get (arguments 6b5bd96d7844, permit)
      5 AttemptEnded get: not_found (attempt 1, effect none): no such ticket
      6 StepSettled get: failed, not_found: no such ticket
      7 RunEnded run: failed at `get`, not_found
      maybe: plan: what the plan wrote at `get`
      maybe: neither: what changed outside before `get`
      maybe: execution: what the tool of `get` answered
      maybe: execution: the operator's entry or account for the tool of `get`
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn a_list_is_judged_by_its_items() {
    insta::assert_snapshot!(one(
        "list count | [1, 2, 3]
         start count[0] 1 t.x | 0
         start count[1] 1 t.x | 1
         end count[0] 1 rate_limited none
         settled count[0] failed rate_limited
         end count[1] 1 timeout none
         settled count[1] failed timeout
         settled count failed partial | 2 of 3 items failed
         over failed partial at:count"
    ), @r"
    undecided (nobody, -, open): more than one thing went wrong, and not one kind of it
      8 AttemptStarted count[0]: calls t.x (arguments 80fc364012f5, permit)
      9 AttemptStarted count[1]: calls t.x (arguments 96b43df27ca4, permit)
      10 AttemptEnded count[0]: rate_limited (attempt 1, effect none)
      11 StepSettled count[0]: failed, rate_limited
      12 AttemptEnded count[1]: timeout (attempt 1, effect none)
      13 StepSettled count[1]: failed, timeout
      15 RunEnded run: failed at `count`, partial
      also: undecided: step `count[0]`: the tool asked for a slower pace to the end
      also: execution: step `count[1]`: the tool did not answer in the time that its own entry gives it
      maybe: plan: the pace that the plan sets at `count[0]`
      maybe: execution: what the tool of `count[0]` answered
      maybe: execution: the operator's entry or account for the tool of `count[0]`
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn a_persons_statement_is_neithers() {
    insta::assert_snapshot!(one(
        "card c count
         no c bo | wrong team
         settled count failed rejected | wrong team
         over rejected rejected at:count | a person rejected it: wrong team"
    ), @r"
    neither (person, rejected, proven): a person rejected the approval
      8 ApprovalRejected rejected by bo (card 8d03c768991c): wrong team
      10 RunEnded run: rejected at `count`: a person rejected it: wrong team
    ");
    insta::assert_snapshot!(one(
        "card c count
         lapsed c
         settled count failed expired
         over expired expired at:count"
    ), @r"
    neither (person or operator, expired, proven): nobody answered in time, of what policy gives
      8 ApprovalExpired approval: expired, nobody answered in time (card 8d03c768991c)
      10 RunEnded run: expired at `count`
    ");
    insta::assert_snapshot!(one(
        "cancel ada | too late
         over cancelled cancelled"
    ), @r"
    neither (person, cancelled, proven): a person cancelled the run
      7 CancelRequested cancelled by ada: too late
      8 RunEnded run: cancelled
    ");
}

#[test]
fn policy_that_changed_is_neithers_and_the_same_policy_is_undecided() {
    let denied = "settled count failed policy_denied | policy forbids it: `no-prod`
         over failed policy_denied at:count";
    let moved = format!(
        "resumed
         checked 0 1 policy=later | [{{\"id\":\"count\",\"tool\":\"tickets.count\"}}]
         {denied}"
    );
    insta::assert_snapshot!(one(&moved), @r"
    undecided (nobody, -, open): policy forbids step `count` with its actual values
      9 StepSettled count: failed, policy_denied: policy forbids it: `no-prod`
      10 RunEnded run: failed at `count`, policy_denied
      maybe: neither: policy changed after the check
      maybe: plan: what the plan wrote at `count`
      would decide: why r --against RIGHT_RUN
    ");
    insta::assert_snapshot!(one(denied), @r"
    undecided (nobody, -, open): policy forbids step `count` with its actual values
      7 StepSettled count: failed, policy_denied: policy forbids it: `no-prod`
      8 RunEnded run: failed at `count`, policy_denied
      maybe: plan: what the plan wrote at `count`
      would decide: why r --against RIGHT_RUN
    ");
    insta::assert_snapshot!(one("resumed\nover failed drift"), @r"
    neither (operator, entry_moved, proven): the rules changed, and the plan no longer passes the check
      7 Resumed run: resumed (no call was in flight)
      8 RunEnded run: failed, drift
    ");
}

#[test]
fn a_loop_stands_beside_what_is_open() {
    insta::assert_snapshot!(judged(
        "created | again and again
         asked 1
         checked 1 1 | [{\"id\":\"a\",\"tool\":\"t.x\"},{\"id\":\"b\",\"tool\":\"t.x\"},{\"id\":\"c\",\"tool\":\"t.x\"}]
         start a 1 t.x | same
         end a 1 ok happened
         settled a succeeded
         start b 1 t.x | same
         end b 1 ok happened
         settled b succeeded
         start c 1 t.x | same
         end c 1 ok happened
         settled c failed acceptance_failed
         over failed acceptance_failed at:c"
    ), @r"
    undecided (nobody, -, open): the output of step `c` is not accepted
      10 AttemptStarted c: calls t.x (arguments aafef0e98b38, permit)
      11 AttemptEnded c: ok (attempt 1)
      12 StepSettled c: failed, acceptance_failed
      13 RunEnded run: failed at `c`, acceptance_failed
      also: plan: the plan makes the same call in `a`, `b`, `c`
      maybe: execution: what the tool of `c` answered
      maybe: plan: what the plan wrote at `c`
      would decide: why r --against RIGHT_RUN
    ");
}

#[test]
fn revisions_without_end_are_judged_by_the_failure() {
    let run = |class: &str| {
        judged(&format!(
            "created revisions=1 | count
             asked 1
             checked 1 1 | [{{\"id\":\"a\",\"tool\":\"t.x\"}}]
             start a 1 t.x | 1
             end a 1 {class} none
             settled a failed {class}
             replan failed:a:{class}
             asked 2 failed:a:{class}
             checked 2 2 | [{{\"id\":\"b\",\"tool\":\"t.x\"}}]
             revised 2 +b -a
             start b 1 t.x | 2
             end b 1 {class} none
             settled b failed {class}
             replan failed:b:{class}
             asked 3 failed:b:{class}
             givenup 3 | the plan was revised 1 times
             over failed {class} at:b"
        ))
    };
    insta::assert_snapshot!(run("partial"), @r"
    execution (tool or operator, partial, proven): step `b`: the tool did only a part, and it never answered well under this entry
      11 AttemptStarted b: calls t.x (arguments 0ad26a54f3b6, permit)
      12 AttemptEnded b: partial (attempt 1, effect none)
      13 StepSettled b: failed, partial
      17 RunEnded run: failed at `b`, partial
    ");
    insta::assert_snapshot!(run("timeout"), @r"
    execution (tool or operator, timeout, proven): step `b`: the tool did not answer in the time that its own entry gives it
      11 AttemptStarted b: calls t.x (arguments 0ad26a54f3b6, permit)
      12 AttemptEnded b: timeout (attempt 1, effect none)
      13 StepSettled b: failed, timeout
      17 RunEnded run: failed at `b`, timeout
    ");
}

#[test]
fn success_and_waiting_have_no_cause() {
    insta::assert_snapshot!(one(
        "start count 1 tickets.count | {}
         end count 1 timeout none again
         start count 2 tickets.count | {}
         end count 2 ok happened
         settled count succeeded
         over succeeded goal=held"
    ), @r"
    nobody (nobody, -, proven): the run succeeded
      12 RunEnded run: succeeded
    ");
    insta::assert_snapshot!(judged_waiting(&format!("{ONE}card c count"), asked), @r"
    nobody (nobody, -, proven): the run is not over: it waits for approval of step `count`
      7 ApprovalRequested count: waits for approval (card 8d03c768991c, 1 call of `pager.notify`, external, high risk)
    ");
    let question = "question q region | which region?";
    insta::assert_snapshot!(judged_waiting(&format!("{ONE}{question}"), asked), @r"
    nobody (nobody, -, proven): the run is not over: it waits for an answer to a question
      7 QuestionAsked question (6f932b84c4ec, of the planner, `region`): which region?
    ");
    insta::assert_snapshot!(one("card c count\nyes c ada"), @r"
    nobody (nobody, -, proven): the run is not over
    ");
}

/// The control: a judge who looks only at the end of the run must fail these pairs.
#[test]
fn two_runs_with_one_end_can_have_two_causes() {
    let naive = |events: &[(Event, i64)]| match events.last() {
        Some((Event::RunEnded(ended), _)) => ended.class,
        _ => None,
    };
    let with = |narrowed: &str| {
        journal(&format!(
            "created | get
             checked 1 1 | [{{\"id\":\"get\",\"tool\":\"t.get\"}}]
             start get 1 t.get {narrowed} | x
             end get 1 timeout none
             settled get failed timeout
             over failed timeout at:get"
        ))
    };
    let (whole, narrowed) = (with(""), with("narrowed"));
    assert_eq!(naive(&whole), naive(&narrowed));
    let guilty = |events: &[(Event, i64)]| why(events, &[], &Witnesses::default()).guilty;
    assert_eq!(guilty(&whole), Guilty::Execution);
    assert_eq!(guilty(&narrowed), Guilty::Undecided);
}

#[test]
fn a_judgment_names_events_that_are_there() {
    let events = journal(&format!("{ONE}cancel ada\nover cancelled cancelled"));
    for line in why(&events, &[], &Witnesses::default()).proof {
        let index = usize::try_from(line.seq - 1).expect("a small number");
        assert_eq!(
            events.get(index).map(|(event, _)| event.kind()),
            Some(line.kind)
        );
    }
}
