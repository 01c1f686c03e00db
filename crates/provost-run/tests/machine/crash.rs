//! Crash: a process may die after any event, and the next one goes on from the journal alone.
//!
//! `Case` compares, after every input of every test, the live state with the fold of the journal.

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use provost_run::state::State;
use serde_json::json;

/// Reads, a list, a plain write, a keyed write, a question and a gate.
const ALL: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up, accept: ['${ has(output.names) }'] }
  - { id: each, tool: page.send, when: '${ has(steps.look.output.names) && size(steps.look.output.names) > 0 && steps.look.output.names[0].contains("a") }', for_each: '${ [1, 2] }', args: { to: box, count: '${ item }' }, accept: ['${ output.done }'] }
  - { id: put, tool: note.put, args: { to: box }, needs: [look], accept: ['${ output.done }'] }
  - { id: which, question: { text: "which?", answer: { type: integer } } }
  - { id: mail, tool: mail.send, args: { to: team, count: '${ steps.which.output }' }, needs: [each, put], accept: ['${ output.done }'] }
answer: "${ steps.look.output.total } seen"
"#;

fn script() -> Case {
    Case::new(ALL)
        .begin()
        .ends("look", failed(Class::Timeout, Landing::Unknown))
        .tick(1_500)
        .ends("look", ok(json!({ "total": 2, "names": ["a"] })))
        .approve("ada")
        .ends("each[1]", ok(json!({ "done": true })))
        .ends("put", ok(json!({ "done": true })))
        .answer("bob", json!(7))
        .ends("each[0]", ok(json!({ "done": true })))
        .approve("ada")
        .ends("mail", ok(json!({ "done": true })))
}

#[test]
fn the_script_reaches_its_end() {
    let case = script();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    + QuestionAsked
    > call look#1 look.up {}
    > question "which?"
    < look#1 timeout unknown
    + AttemptEnded look#1 timeout unknown again at 1500
    > wait until 1500
    < tick 1500
    + AttemptStarted look#2 permit
    > call look#2 look.up {}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look text
    + StepSettled look succeeded
    + ListEvaluated each of 2
    + ApprovalRequested each ["untrusted-control"]: {"count":1,"to":"box"} {"count":2,"to":"box"}
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"box"}
    > ask about each
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted each[0]#1 ask approved
    + AttemptStarted each[1]#1 ask approved
    > call each[0]#1 page.send {"count":1,"to":"box"}
    > call each[1]#1 page.send {"count":2,"to":"box"}
    < each[1]#1 ok happened
    + AttemptEnded each[1]#1 ok happened
    + ObservationMade each[1] text
    + StepSettled each[1] succeeded
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    < bob answers 7
    + QuestionAnswered
    + ObservationMade which trusted
    + StepSettled which succeeded
    < each[0]#1 ok happened
    + AttemptEnded each[0]#1 ok happened
    + ObservationMade each[0] text
    + StepSettled each[0] succeeded
    + StepSettled each succeeded
    + ApprovalRequested mail ["outside-communication"]: {"count":7,"to":"team"}
    > ask about mail
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"count":7,"to":"team"}
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail data
    + StepSettled mail succeeded
    + RunEnded succeeded ["2 seen"]
    > done succeeded
    "#);
    assert_eq!(case.status(), "succeeded");
}

fn settled(state: &State) -> Vec<(String, String)> {
    let is_settled = |(slot, item): (provost_run::call::Slot, &provost_run::state::ItemState)| {
        item.status()
            .map(|status| (slot.to_string(), status.word().to_owned()))
    };
    state.items().filter_map(is_settled).collect()
}

/// Cut after every event: the run folds, resumes, and repeats nothing that had ended.
#[test]
fn after_every_event_the_next_process_goes_on_and_repeats_nothing_that_ended() {
    let case = script();
    for length in 1..case.journal.len() {
        let mut run = case.folded(length);
        let before = settled(run.state());
        let events = crate::case::take_up(&mut run, 10_000);
        for event in &events {
            if let provost_run::event::Event::AttemptStarted(started) = event {
                let slot = started.slot.to_string();
                let again = before.iter().any(|(ended, _)| *ended == slot);
                assert!(!again, "{slot} had ended before event {length}");
                let plain = started.operation == "note.put" || started.operation == "mail.send";
                assert!(
                    !plain || started.attempt == 1,
                    "{slot} is tried again after {length}"
                );
            }
        }
        let state = run.state();
        let goes_on = state.is_busy()
            || state.open_cards().next().is_some()
            || state.open_questions().next().is_some()
            || state.planning.outstanding.is_some()
            || state.doubts().next().is_some()
            || state.ending.ended.is_some();
        assert!(goes_on, "nothing can happen after event {length}");
        let now = settled(run.state());
        assert!(
            before.iter().all(|fact| now.contains(fact)),
            "a fact changed after {length}"
        );
    }
}

/// The control of the comparison in `Case`: a journal with one event less is another state.
#[test]
fn a_journal_that_lost_an_event_folds_to_another_state() {
    let case = script();
    let text = |length: usize| format!("{:?}", case.folded(length).state());
    let live = format!("{:?}", case.state());
    assert_eq!(text(case.journal.len()), live);
    assert_ne!(text(case.journal.len() - 1), live);
}

#[test]
fn a_run_taken_up_twice_in_a_row_is_where_it_was() {
    let case = Case::new(ALL).started().crash().crash();
    let once = Case::new(ALL).started().crash();
    assert_eq!(settled(case.state()), settled(once.state()));
    assert_eq!(case.state().in_flight(), once.state().in_flight());
}

#[test]
fn a_journal_that_does_not_follow_is_refused() {
    let case = script();
    let fold = |events: &[(provost_run::event::Event, i64)]| {
        let events = events.iter().map(|(event, at)| (event, *at));
        provost_run::machine::Run::from_journal(events, crate::case::rules_with(|_| {})).map(|_| ())
    };
    insta::assert_snapshot!(fold(&[]).unwrap_err(), @"the journal does not begin with the creation of a run");
    insta::assert_snapshot!(fold(&case.journal[1..]).unwrap_err(), @"the journal does not begin with the creation of a run");
    let mut without_plan = case.journal.clone();
    without_plan.retain(|(event, _)| event.kind() != "PlanChecked");
    insta::assert_snapshot!(fold(&without_plan).unwrap_err(), @"`AttemptStarted` names `look`, which the run does not have");
    let mut forged = case.journal.clone();
    for (event, _) in &mut forged {
        if let provost_run::event::Event::PlanChecked { document, .. } = event {
            std::sync::Arc::make_mut(document)["steps"][2]["args"]["to"] = json!("elsewhere");
        }
    }
    let error = fold(&forged).unwrap_err().to_string();
    let (reason, _) = error.split_once(": ").unwrap();
    insta::assert_snapshot!(reason, @"the stored plan of revision 1 does not match its digest");
}
