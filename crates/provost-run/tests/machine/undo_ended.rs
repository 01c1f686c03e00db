//! `undo`: what a run did that has ended is taken back, the newest first, and nothing else begins.

use crate::case::{Case, failed, ok, person, rules_with};
use provost_run::event::{Event, RunStatus, Settlement};
use provost_run::machine::{Input, Rules};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::read::why::{Witnesses, why};
use provost_run::statement::Statement;
use serde_json::json;

/// Two writes that can be undone, and one before the end that may fail.
const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.last.status == "succeeded" }' }
steps:
  - id: put
    tool: note.put
    args: { to: box }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: bin } }
  - id: mail
    tool: note.put
    needs: [put]
    args: { to: list }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: heap } }
  - { id: last, tool: page.send, needs: [mail], args: { to: bob }, accept: ['${ output.done }'] }
answer: done
"#;

fn open_rules() -> Rules {
    rules_with(|operation| operation.trusted = true)
}

fn done() -> Reply {
    ok(json!({ "done": true }))
}

/// Both writes happened; the last step is on its way.
fn until_last(rules: Rules) -> Case {
    Case::of(rules, PLAN)
        .started()
        .ends("put", done())
        .ends("mail", done())
        .quietly()
}

/// The run failed after both writes.
fn half_done() -> Case {
    let case = until_last(open_rules()).ends("last", failed(Class::Conflict, Landing::None));
    assert_eq!(case.status(), "failed");
    case.quietly()
}

/// The undoing steps that began, in order.
fn begun(journal: &[(Event, i64)]) -> Vec<String> {
    let started = journal.iter().filter_map(|(event, _)| match event {
        Event::AttemptStarted(started) if started.slot.step.starts_with("undo/") => {
            Some(started.slot.to_string())
        }
        _ => None,
    });
    started.collect()
}

/// How it ended last.
fn message(case: &Case) -> String {
    let ended = case.state().ending.ended.as_ref().unwrap();
    ended.message.clone().unwrap()
}

fn left(case: &Case) -> Vec<String> {
    let left = case.state().not_undone().into_iter();
    left.map(|left| format!("{}: {}", left.slot, left.because))
        .collect()
}

#[test]
fn a_run_that_failed_half_way_is_taken_back() {
    let case = half_done()
        .undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada has it undone
    + UndoRequested
    + UndoPlanned ["undo/mail", "undo/put"]
    + PlanChecked revision 2
    + PlanRevised added ["undo/mail", "undo/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/mail#1 permit
    > call undo/mail#1 note.put {"to":"heap"}
    < undo/mail#1 ok happened
    + AttemptEnded undo/mail#1 ok happened
    + ObservationMade undo/mail trusted
    + StepSettled undo/mail succeeded
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded undone: undo requested by ada: wrong list; undone: 2, not undone: 0
    > done undone
    "#);
    let judged = why(&case.journal, &[], &Witnesses::default());
    assert!(
        judged
            .sentence
            .ends_with("; after the end all that it did was undone"),
        "{judged:?}"
    );
    assert!(judged.proof.iter().any(|line| line.kind == "UndoRequested"));
}

/// What succeeded is taken back as well; what declares no `undo` is listed.
#[test]
fn a_run_that_succeeded_is_taken_back() {
    let case = until_last(open_rules()).ends("last", done());
    assert_eq!(case.status(), "succeeded");
    let case = case
        .undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    assert_eq!(case.status(), "partly_undone");
    assert_eq!(left(&case), ["last: its step has no `undo`"]);
}

/// A run that was cancelled without undoing is undone later.
#[test]
fn a_run_that_was_cancelled_is_taken_back() {
    let case = until_last(open_rules())
        .cancel("ada")
        .ends("last", failed(Class::Conflict, Landing::None));
    assert_eq!(case.status(), "cancelled");
    let case = case
        .undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    assert_eq!(case.status(), "undone");
}

/// What is undone is not undone again, and the run stays as it was.
#[test]
fn a_second_undo_does_nothing_and_says_so() {
    let case = half_done()
        .undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    let before = case.journal.len();
    let case = case.quietly().undo("ada");
    insta::assert_snapshot!(case.transcript(), @r"
    < ada has it undone
    ! nothing is left to undo; undone before: 2
    ");
    assert_eq!(case.journal.len(), before);
}

/// An active run is not undone after its end, and an ended one is not cancelled.
#[test]
fn each_statement_is_for_its_time() {
    let case = until_last(open_rules()).undo("ada");
    insta::assert_snapshot!(case.transcript(), @r"
    < ada has it undone
    ! the run has not ended
    ");
    let case = half_done().cancel_and_undo("ada");
    insta::assert_snapshot!(case.transcript(), @r"
    < ada cancels, undoing
    ! the run is over: failed
    ");
}

#[test]
fn who_may_not_amend_may_not_undo() {
    let agent = provost_plan::policy::Principal {
        kind: provost_plan::policy::PrincipalKind::Agent,
        ..person("ada")
    };
    let case = half_done().give(Input::unsigned(agent, Statement::Undo { reason: None }));
    insta::assert_snapshot!(case.transcript(), @"! `ada` may not amend: `ada` is an agent, and only people say something to a run");
}

/// A doubt stays one and is named; once it is settled, another undo takes the write back.
#[test]
fn what_is_in_doubt_is_undone_once_it_is_settled() {
    let case = Case::of(open_rules(), PLAN)
        .started()
        .ends("put", done())
        .ends("mail", failed(Class::Timeout, Landing::Unknown))
        .cancel("ada")
        .undo("ada")
        .ends("undo/put", done());
    assert_eq!(case.status(), "partly_undone");
    assert_eq!(left(&case), ["mail: its outcome is unknown"]);
    let again = case.quietly().undo("ada");
    insta::assert_snapshot!(again.transcript(), @r"
    < ada has it undone
    ! nothing is left to undo; undone before: 1; `mail` is not undone: its outcome is unknown
    ");
    let case = again
        .settle("mail", Settlement::Happened, Some(json!({ "done": true })))
        .undo("ada")
        .ends("undo/mail", done());
    assert_eq!(case.status(), "undone");
    assert_eq!(begun(&case.journal), ["undo/put", "undo/mail"]);
}

/// An undo that surely did not take place is tried again, under an id of its own; one that may have
/// taken place is not.
#[test]
fn what_surely_was_not_undone_is_tried_again() {
    let case = half_done()
        .undo("ada")
        .ends("undo/mail", failed(Class::PermissionDenied, Landing::None))
        .ends("undo/put", done());
    assert_eq!(case.status(), "partly_undone");
    // Why asked: it is the same call as the first, which a person may know more about.
    let case = case.undo("ada").approve("ada");
    let case = case.ends("undo/2/mail", done());
    assert_eq!(case.status(), "undone");
    assert_eq!(
        begun(&case.journal),
        ["undo/mail", "undo/put", "undo/2/mail"]
    );
    assert_eq!(
        message(&case),
        "undo requested by ada: wrong list; undone: 2, not undone: 0"
    );
    let doubtful = half_done()
        .undo("ada")
        .ends("undo/mail", failed(Class::Timeout, Landing::Unknown))
        .cancel("ada");
    assert_eq!(doubtful.status(), "undo_failed");
    let case = doubtful.undo("ada");
    assert_eq!(begun(&case.journal), ["undo/mail"]);
    // Why: what is older waits for the doubt, as it does while a cancelled run undoes.
    assert_eq!(case.status(), "in_doubt");
}

/// What no step calls any more withholds no undo: its tool may be gone by then.
#[test]
fn rules_that_moved_do_not_stand_in_the_way() {
    let moved = || {
        rules_with(|operation| {
            operation.trusted = true;
            if operation.name == "page.send" {
                operation.name = "page.other".to_owned();
            }
        })
    };
    let case = half_done().crash_into(moved());
    let case = case
        .undo("ada")
        .proceed()
        .ends("undo/mail", done())
        .ends("undo/put", done());
    assert_eq!(case.status(), "undone");
    // Control: the call that undoes needs its tool.
    let gone = rules_with(|operation| {
        operation.trusted = true;
        if operation.name == "note.put" {
            operation.name = "note.other".to_owned();
        }
    });
    let case = half_done().crash_into(gone).undo("ada").proceed();
    assert_eq!(case.status(), "undo_failed");
}

/// What passes after the end is no time of the run, and what it used up of its limits is not
/// counted against the undo.
#[test]
fn limits_count_from_the_undo_on() {
    let case = half_done();
    let before = case.state().spend.clone();
    assert_eq!((before.attempts, before.calls), (3, 3));
    let mut run = case.folded(case.journal.len());
    let undo = Input::unsigned(person("ada"), Statement::Undo { reason: None });
    let month = before.last_at + 30 * 86_400_000;
    run.step(undo, month).unwrap();
    let spend = &run.state().spend;
    assert_eq!((spend.attempts, spend.calls, spend.active_ms), (0, 0, 0));
    let begins = run.step(Input::Proceed, month).unwrap();
    let kinds = begins.append.iter().map(Event::kind);
    assert_eq!(kinds.filter(|kind| *kind == "AttemptStarted").count(), 1);
    assert_eq!(run.state().spend.active_ms, 0);
}

/// A run that met its limit of attempts has none left, and its undo begins all the same.
#[test]
fn a_run_that_a_limit_ended_is_taken_back() {
    // Why once: then the worst case is five attempts, two of them to undo.
    let plan = PLAN
        .replace("undo:", "retry: { attempts: 1, backoff: 1s }\n    undo:")
        .replace(
            "tool: page.send, needs: [mail], args: { to: bob }, accept: ['${ output.done }']",
            "tool: look.up, needs: [mail], retry: { attempts: 1, backoff: 1s }",
        );
    let until_last = |attempts: u64| {
        Case::of(open_rules(), &plan)
            .limits(|limits| limits.attempts = attempts)
            .started()
            .ends("put", done())
            .ends("mail", done())
            .crash()
            .crash()
    };
    let case = until_last(5).crash();
    let ended = case.state().ending.ended.as_ref().expect("the run is over");
    assert_eq!(
        ended.class,
        Some(Class::BudgetExceeded),
        "{}",
        case.transcript()
    );
    assert_eq!(case.state().spend.attempts, 5);
    let case = case
        .undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    assert_eq!(case.status(), "undone", "{}", case.transcript());
    assert_eq!(begun(&case.journal), ["undo/mail", "undo/put"]);
    assert_eq!(case.state().spend.attempts, 2);
    // The control: what ended it was the limit.
    assert!(until_last(6).crash().state().ending.ended.is_none());
}

/// Wherever the process died, nothing is undone twice, and the newest is undone first.
#[test]
fn a_journal_cut_anywhere_undoes_once_and_in_order() {
    let whole = half_done()
        .undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    let asked = |(event, _): &(Event, i64)| matches!(event, Event::UndoRequested { .. });
    let from = whole.journal.iter().position(asked).unwrap() + 1;
    for length in from..=whole.journal.len() {
        let mut run = whole.folded(length);
        let mut all = begun(&whole.journal[..length]);
        let mut inputs = vec![Input::Proceed, Input::Resume];
        while let (Some(input), None) = (inputs.pop(), &run.state().ending.ended) {
            let output = run.step(input, 60_000).unwrap();
            for event in &output.append {
                if let Event::AttemptStarted(started) = event {
                    all.push(started.slot.to_string());
                    inputs.push(Input::Ended {
                        slot: started.slot.clone(),
                        attempt: started.attempt,
                        reply: done(),
                    });
                }
            }
        }
        let once = [vec!["undo/mail"], vec!["undo/mail", "undo/put"]];
        assert!(
            once.iter().any(|once| *once == all),
            "after {length}: {all:?}"
        );
        // Why partly: a commit that is cut within is no crash, and loses what a call gave.
        let known = [
            RunStatus::InDoubt,
            RunStatus::Undone,
            RunStatus::PartlyUndone,
        ];
        assert!(
            known.contains(&run.state().status()),
            "after {length} events"
        );
    }
}
