//! Questions that lapse: by a default, or as a failure; never as somebody's word.

use crate::case::{Case, ok, person, take_up};
use provost_plan::label::{Integrity, Label};
use provost_run::event::Event;
use provost_run::state::{Objection, Signatory};
use provost_run::statement::Statement;
use serde_json::json;

const GO: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: go, question: { text: "now?", answer: { enum: [now, later] }, expires: 4h, default: later } }
  - { id: put, tool: note.put, args: { to: '${ steps.go.output }' }, accept: ['${ output.done }'] }
answer: "${ steps.go.output }"
"#;

/// The moment at which the question of a run lapses that began at 1,000.
const DUE: i64 = 1_000 + 4 * 3_600_000;

fn without_default() -> String {
    GO.replace(", default: later", "")
}

#[test]
fn a_default_is_the_output_and_nobodys_answer() {
    let case = Case::new(GO)
        .started()
        .tick(DUE - 1)
        .tick(DUE)
        .ends("put", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < tick 14400999
    > wait until 14401000
    < tick 14401000
    + QuestionExpired
    + ObservationMade go trusted
    + StepSettled go succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"later"}
    < put#1 ok happened
    + AttemptEnded put#1 ok happened
    + ObservationMade put data
    + StepSettled put succeeded
    + RunEnded succeeded ["later"]
    > done succeeded
    "#);
}

#[test]
fn without_a_default_the_step_fails_because_nobody_answered() {
    let case = Case::new(&without_default()).started().tick(DUE);
    insta::assert_snapshot!(case.transcript(), @"
    < tick 14401000
    + QuestionExpired
    + StepSettled go failed expired: nobody answered in time
    + ReplanRequested expired
    + PlanRequested
    > plan request 2: expired
    + PlanGivenUp: nothing better is known
    + RunEnded expired: nobody answered in time
    > done expired
    ");
}

#[test]
fn what_a_lapse_leads_to_is_on_failure_as_always() {
    let plan = without_default().replace(
        "{ id: go, question:",
        "{ id: go, on_failure: stop, question:",
    );
    let case = Case::new(&plan).started().quietly().tick(DUE);
    insta::assert_snapshot!(case.transcript(), @"
    < tick 14401000
    + QuestionExpired
    + StepSettled go failed expired: nobody answered in time
    + RunEnded expired: nobody answered in time
    > done expired
    ");
}

#[test]
fn an_answer_in_time_is_a_persons_and_stops_the_clock() {
    let case = Case::new(GO)
        .started()
        .at(DUE - 1)
        .answer("bob", json!("now"))
        .tick(DUE + 1);
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob answers "now"
    + QuestionAnswered
    + ObservationMade go trusted
    + StepSettled go succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"now"}
    < tick 14401001
    "#);
    assert_eq!(case.state().next_timer(DUE), None);
}

/// Also at the very moment, before anybody recorded the lapse, as of a card.
#[test]
fn an_answer_that_comes_too_late_is_refused_and_told_why() {
    let case = Case::new(GO).started().quietly();
    let question = *case.state().open_questions().next().unwrap().0;
    let value = json!("now");
    let late = || Statement::Answer {
        question,
        value: value.clone(),
    };
    let case = case
        .at(DUE)
        .says("bob", late())
        .tick(DUE)
        .says("bob", late());
    insta::assert_snapshot!(case.transcript(), @r#"
    ! the question `sha256:23f411db8b3616c193a70f1342f9f2724c77dd7e09694141356e25ca250ad8d8` expired: an answer counts no more
    < tick 14401000
    + QuestionExpired
    + ObservationMade go trusted
    + StepSettled go succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"later"}
    ! the question `sha256:23f411db8b3616c193a70f1342f9f2724c77dd7e09694141356e25ca250ad8d8` expired: an answer counts no more
    "#);
}

/// What was posted in time and is heard too late does not count either.
#[test]
fn a_lapse_is_noticed_by_the_next_process() {
    let case = Case::new(GO).started().quietly();
    let question = *case.state().open_questions().next().unwrap().0;
    let value = json!("now");
    let answer = Statement::Answer { question, value };
    let case = case.at(DUE + 5_000).crash_and_hear(vec![("bob", answer)]);
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    < bob answer
    ! the question `sha256:23f411db8b3616c193a70f1342f9f2724c77dd7e09694141356e25ca250ad8d8` expired: an answer counts no more
    < people are heard
    + QuestionExpired
    + ObservationMade go trusted
    + StepSettled go succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"later"}
    "#);
}

/// The deadline is counted from the question, and by no process.
#[test]
fn a_process_that_ends_gives_no_more_time() {
    let case = Case::new(GO).started().at(DUE - 60_000).crash();
    assert_eq!(case.state().next_timer(DUE - 60_000), Some(DUE));
    let case = case.quietly().tick(DUE);
    let lapsed = case
        .journal
        .iter()
        .any(|(event, at)| matches!(event, Event::QuestionExpired { .. }) && *at == DUE);
    assert!(lapsed);
}

/// A stop holds what begins, and not the time of people.
#[test]
fn a_paused_run_lets_it_lapse_and_begins_nothing() {
    let case = Case::new(GO).started().pause().quietly();
    let case = case.at(DUE).go_on().tick(DUE + 1);
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada lets it go on
    + Resumed by ada
    > wait until 14401000
    < tick 14401001
    + QuestionExpired
    + ObservationMade go trusted
    + StepSettled go succeeded
    + AttemptStarted put#1 permit
    > call put#1 note.put {"to":"later"}
    "#);
    let case = Case::new(GO).started().pause().quietly().tick(DUE);
    insta::assert_snapshot!(case.transcript(), @"
    < tick 14401000
    + QuestionExpired
    + ObservationMade go trusted
    + StepSettled go succeeded
    ");
}

/// Cut after the lapse, and after each event that follows from it.
#[test]
fn a_lapse_of_which_no_more_is_recorded_is_carried_on() {
    for (plan, goes_on) in [(GO.to_owned(), true), (without_default(), false)] {
        let case = Case::new(&plan).started().tick(DUE);
        let lapse = |(event, _): &(Event, i64)| matches!(event, Event::QuestionExpired { .. });
        let lapse = case.journal.iter().position(lapse).unwrap();
        for length in lapse + 1..lapse + 3 {
            let mut run = case.folded(length);
            let events = take_up(&mut run, DUE + 1);
            let begun = events
                .iter()
                .any(|event| matches!(event, Event::AttemptStarted(_)));
            assert_eq!(begun, goes_on, "after event {length}");
            let again = events.iter().any(|event| event.kind() == "QuestionAsked");
            assert!(!again, "it is asked again after event {length}");
        }
    }
}

/// Its author had read untrusted text, and so the default decides no more than that may.
#[test]
fn a_default_is_worth_what_its_author_had_seen() {
    let text = Label {
        integrity: Integrity::Text,
        ..Label::trusted()
    };
    let label = |plan: &str| {
        let case = Case::new(plan).labelled(&text, &Label::trusted()).begin();
        let plan = case.state().plan().unwrap().clone();
        let (_, record) = plan.checked().step("put").unwrap();
        let at = record.labels["to"].integrity;
        let case = case.tick(DUE);
        let made = case.journal.iter().find_map(|(event, _)| match event {
            Event::ObservationMade { label, .. } => Some(label.integrity),
            _ => None,
        });
        (at, made)
    };
    assert_eq!(label(GO), (Integrity::Text, Some(Integrity::Text)));
    assert_eq!(label(&without_default()), (Integrity::Trusted, None));
}

/// A person's word makes them an author of what reads it; a default has no such author.
#[test]
fn a_default_makes_nobody_an_author() {
    let case = Case::new(GO).started().tick(DUE);
    assert!(case.state().authors_of("put").is_empty());
    let case = Case::new(GO).started().answer("bob", json!("now"));
    assert_eq!(case.state().authors_of("put").len(), 1);
}

/// The time counts from the question, and not from the run or from what was before it.
#[test]
fn the_time_counts_from_the_question() {
    let plan = GO.replace(
        "  - { id: go, question",
        "  - { id: look, tool: look.up }\n  - { id: go, needs: [look], question",
    );
    let case = Case::new(&plan).started().at(500_000);
    let case = case.ends("look", ok(json!({ "total": 1 })));
    assert_eq!(case.state().next_timer(500_000), Some(DUE + 499_000));
}

/// Who reads a journal objects to an answer that is recorded too late, and to no other.
#[test]
fn a_recorded_answer_that_is_late_is_objected_to() {
    let case = Case::new(GO).started();
    let question = *case.state().open_questions().next().unwrap().0;
    let answered = Event::QuestionAnswered {
        question,
        value: json!("now"),
        by: "bob".to_owned(),
        record: None,
    };
    let bob = Signatory {
        by: person("bob"),
        listed: true,
        solo: true,
        rights: None,
    };
    let object = |at| case.state().object(None, &answered, at, &bob);
    assert_eq!(object(DUE - 1), Ok(()));
    assert_eq!(object(DUE), Err(Objection::Lapsed));
}
