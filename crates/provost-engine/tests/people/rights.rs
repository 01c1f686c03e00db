//! Who may answer, settle, amend, stop and resume, by policy: what another process posts, and what
//! somebody with a key but without the right writes straight into the journal.

use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::people::{PlanText, Statement, StatementEnvelope, StatementSubject};
use provost_engine::session::Unwatched;
use provost_engine::store::StoreError;
use provost_plan::plan::Goal;
use provost_run::event::Event;
use provost_run::state::State;
use serde_json::json;

use super::forger::Forger;
use super::place::{PEOPLE, Place, RecordingWatcher, begin_plan, drive, key, runtime};

const QUESTION: &str = r#"schema: provost/plan/v1
goal: { text: Write a note, success: [ { id: noted, text: the note is written } ] }
steps:
  - id: what
    question: { text: "What is to be noted?", answer: { type: string } }
  - id: note
    tool: notes.write
    args: { path: note.txt, text: '${ steps.what.output }' }
success:
  - { for: noted, check: '${ steps.note.status == "succeeded" }' }
answer:
  - { text: The note is written., cites: [note] }
"#;

/// Operators say everything; bo, who is listed and has a key, is none of them.
const OPERATORS: &str = r#"@id("operators-speak")
permit (principal in Group::"operators", action in [Action::"answer", Action::"settle",
    Action::"amend", Action::"stop", Action::"resume"], resource);
"#;

/// A workspace that requires signatures, with these policies beside the default one.
fn place(policy: &str) -> Place {
    let place = Place::new("signature");
    let users: serde_json::Map<_, _> = PEOPLE
        .iter()
        .map(|person| {
            let groups = if *person == "dan" {
                vec!["operators"]
            } else {
                Vec::new()
            };
            let key = key(person).public().to_string();
            (
                (*person).to_owned(),
                json!({ "groups": groups, "key": key }),
            )
        })
        .collect();
    place.write(
        "policies/entities.json",
        &json!({ "users": users }).to_string(),
    );
    place.write("policies/operators.cedar", policy);
    place
}

/// A run of ada's that waits for an answer, and that nobody drives.
fn asking(engine: &Engine) -> State {
    runtime().block_on(async {
        let mut session = begin_plan(engine, QUESTION).await;
        drive(&mut session).await;
        let state = session.state().clone();
        session.release().await.unwrap();
        state
    })
}

const VERBS: [&str; 5] = ["answer", "amend", "cancel --undo", "pause", "cancel"];

fn said(state: &State, verb: &str) -> Statement {
    let reason = "better so".to_owned();
    match verb {
        "answer" => Statement::Answer {
            question: *state.open_questions().next().unwrap().0,
            value: json!("hello"),
        },
        "amend" => Statement::Amend {
            plan: Some(PlanText {
                name: "plan".to_owned(),
                text: QUESTION.replace("to be noted", "to be written"),
            }),
            goal: None,
            reason,
        },
        "cancel --undo" => Statement::Cancel {
            reason: None,
            undo: true,
        },
        "undo" => Statement::Undo { reason: None },
        "cancel" => Statement::Cancel {
            reason: None,
            undo: false,
        },
        "pause" => Statement::Pause { reason },
        _ => Statement::Resume,
    }
}

fn envelope(engine: &Engine, state: &State, verb: &str, by: &str) -> StatementEnvelope {
    let about = StatementSubject {
        store: engine.inbox().store(),
        run: &state.head.run,
        revision: state.in_force.revision,
    };
    let envelope = StatementEnvelope::new(about, said(state, verb), by, now_ms(), None);
    envelope.unwrap().signed_with(&key(by))
}

/// What a process that drives the run says of a word that another one posts.
fn posted(place: &Place, verb: &str, by: &str) -> (Vec<String>, Vec<&'static str>) {
    let (here, there) = (place.engine(), place.engine());
    let mut ear = RecordingWatcher::default();
    runtime().block_on(async {
        let mut session = begin_plan(&here, QUESTION).await;
        drive(&mut session).await;
        if verb == "resume" {
            let pause = envelope(&here, session.state(), "pause", "dan");
            session.hear(&pause, &mut Unwatched).await.unwrap();
        }
        let word = envelope(&there, session.state(), verb, by);
        let run = session.state().head.run.clone();
        there
            .store()
            .post(&run, &word.to_text(), now_ms())
            .await
            .unwrap();
        session.hear_posted(&mut ear).await.unwrap();
        session.release().await.unwrap();
    });
    (ear.ignored, ear.kinds)
}

#[test]
fn what_is_posted_into_a_running_process_is_judged_by_policy() {
    let place = place(OPERATORS);
    let mut lines = Vec::new();
    for verb in VERBS.into_iter().chain(["resume"]) {
        let (ignored, kinds) = posted(&place, verb, "bo");
        assert_eq!(kinds, Vec::<&str>::new(), "{verb}");
        lines.extend(ignored);
        // The control: whoever has the right is heard.
        let (ignored, kinds) = posted(&place, verb, "dan");
        assert_eq!(ignored, Vec::<String>::new(), "{verb}");
        assert!(!kinds.is_empty(), "{verb}");
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    `bo` may not answer: policy lets only others (operators-speak)
    `bo` may not amend: policy lets only others (operators-speak)
    `bo` may not amend: policy lets only others (operators-speak)
    `bo` may not stop: policy lets only others (operators-speak)
    `bo` may not stop: policy lets only others (operators-speak)
    `bo` may not resume: policy lets only others (operators-speak)
    ");
}

/// The event that the journal would have of an envelope, had it been taken in.
fn event_of(state: &State, envelope: &StatementEnvelope) -> Event {
    let (kind, mut payload) = match envelope.statement.clone() {
        Statement::Answer { question, value } => (
            "QuestionAnswered",
            json!({ "question": question, "value": value }),
        ),
        Statement::Amend {
            goal: Some(text),
            reason,
            ..
        } => {
            let goal = Goal {
                text,
                ..state.goals.goal.clone()
            };
            (
                "GoalAmended",
                json!({ "goal": goal, "clears": true, "reason": reason }),
            )
        }
        Statement::Amend {
            plan: Some(PlanText { name, text }),
            reason,
            ..
        } => (
            "PlanAmended",
            json!({ "name": name, "text": text, "reason": reason }),
        ),
        Statement::Cancel { undo, .. } => ("CancelRequested", json!({ "undo": undo })),
        Statement::Undo { .. } => ("UndoRequested", json!({})),
        Statement::Pause { reason } => ("Paused", json!({ "what": "the run", "reason": reason })),
        Statement::Resume => ("Resumed", json!({ "lost": [] })),
        other => panic!("{other:?}"),
    };
    payload["by"] = envelope.by.clone().into();
    payload["said"] = json!(envelope.record());
    Event::from_stored(kind, 1, &payload).unwrap()
}

/// Why nothing of a run is driven and its journal is not believed; none if it is.
fn contradicted(engine: &Engine, run: &str) -> Option<String> {
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    let named = heard
        .contradictions
        .into_iter()
        .map(|found| found.to_string());
    let named: Vec<String> = named.collect();
    let taken = runtime().block_on(async {
        let session = engine.take_up(run, &mut Unwatched).await?;
        session.release().await?;
        Ok::<_, EngineError>(())
    });
    match taken.err() {
        // Why nothing of one that is over: nobody takes it up.
        Some(EngineError::Drive(_)) | None => assert_eq!(named, Vec::<String>::new()),
        Some(EngineError::InvalidEvent(found)) => assert_eq!(named, [found.to_string()]),
        Some(other) => panic!("{other}"),
    }
    named
        .into_iter()
        .next()
        .map(|named| named.replace(run, "RUN"))
}

/// bo's own signature is on it, and it counts for nothing: the rights stand in the journal.
#[test]
fn what_somebody_without_the_right_wrote_into_the_journal_may_not_stand() {
    let place = place(OPERATORS);
    let engine = place.engine();
    let mut lines = Vec::new();
    for verb in VERBS.into_iter().chain(["resume"]) {
        let state = asking(&engine);
        let forger = Forger::new(place.journal());
        let paused = event_of(&state, &envelope(&engine, &state, "pause", "dan"));
        let before = Vec::from_iter((verb == "resume").then_some(paused));
        for by in ["bo", "dan"] {
            let event = event_of(&state, &envelope(&engine, &state, verb, by));
            forger.append(&state.head.run, &[before.clone(), vec![event]].concat());
            let found = contradicted_read(&engine, &state.head.run);
            // The control: the same by an operator stands.
            assert_eq!(found.is_some(), by == "bo", "{verb} {by} {found:?}");
            lines.extend(found);
            forger.put_back();
        }
    }
    insta::assert_snapshot!(lines.join("\n"), @"
    event 8 of run RUN (QuestionAnswered) is not valid: `bo` may not answer: policy lets only others (operators-speak)
    event 8 of run RUN (PlanAmended) is not valid: `bo` may not amend: policy lets only others (operators-speak)
    event 8 of run RUN (CancelRequested) is not valid: `bo` may not amend: policy lets only others (operators-speak)
    event 8 of run RUN (Paused) is not valid: `bo` may not stop: policy lets only others (operators-speak)
    event 8 of run RUN (CancelRequested) is not valid: `bo` may not stop: policy lets only others (operators-speak)
    event 9 of run RUN (Resumed) is not valid: `bo` may not resume: policy lets only others (operators-speak)
    ");
}

/// To open a run that has ended takes the right to begin calls, a signature, and its end.
#[test]
fn an_undo_after_the_end_stands_only_by_right_and_after_the_end() {
    let place = place(OPERATORS);
    let engine = place.engine();
    let state = asking(&engine);
    let run = &state.head.run;
    let forger = Forger::new(place.journal());
    let undo = |by: &str| event_of(&state, &envelope(&engine, &state, "undo", by));
    let mut lines = Vec::new();
    let mut written = |events: &[Event]| {
        forger.append(run, events);
        let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
        let found = heard.contradictions.first();
        lines.push(found.map_or("stands".to_owned(), |found| {
            found.to_string().replace(run, "RUN")
        }));
        forger.put_back();
    };
    let (_, version, mut unsigned) = undo("dan").to_stored();
    unsigned.as_object_mut().unwrap().remove("said");
    let unsigned = Event::from_stored("UndoRequested", version, &unsigned).unwrap();
    let ended = json!({ "status": "failed" });
    let ended = Event::from_stored("RunEnded", 1, &ended).unwrap();
    written(&[undo("dan")]);
    written(&[ended.clone(), unsigned]);
    written(&[ended.clone(), undo("bo")]);
    // Control: an operator opens what has ended; and once, because then it has not.
    written(&[ended.clone(), undo("dan")]);
    written(&[ended, undo("dan"), undo("dan")]);
    insta::assert_snapshot!(lines.join("\n"), @"
    event 8 of run RUN (UndoRequested) is not valid: the run had not ended: nothing was to be undone after its end
    event 9 of run RUN (UndoRequested) is not valid: this statement of `dan` is not signed, and this workspace requires signatures
    event 9 of run RUN (UndoRequested) is not valid: `bo` may not amend: policy lets only others (operators-speak)
    stands
    event 10 of run RUN (UndoRequested) is not valid: the run had not ended: nothing was to be undone after its end
    ");
}

/// The same, by testimony alone: who takes a run up changes it.
fn contradicted_read(engine: &Engine, run: &str) -> Option<String> {
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    let named = heard.contradictions.first()?.to_string();
    assert_eq!(
        contradicted(engine, run).as_deref(),
        Some(&*named.replace(run, "RUN"))
    );
    Some(named.replace(run, "RUN"))
}

/// The rights of that day count, whatever stands in `policies/` today.
#[test]
fn rights_are_those_of_the_policies_that_the_run_recorded() {
    // What bo might say then stands when policies are stricter.
    let place = place("");
    let engine = place.engine();
    let honest = runtime().block_on(async {
        let mut session = begin_plan(&engine, QUESTION).await;
        drive(&mut session).await;
        let word = envelope(&engine, session.state(), "answer", "bo");
        session.hear(&word, &mut Unwatched).await.unwrap();
        let run = session.state().head.run.clone();
        session.release().await.unwrap();
        run
    });
    assert_eq!(contradicted(&engine, &honest), None);
    drop(engine);
    place.write("policies/operators.cedar", OPERATORS);
    let engine = place.engine();
    assert_eq!(contradicted(&engine, &honest), None);
    // What bo might not say then does not, when policies are laxer again.
    let state = asking(&engine);
    let event = event_of(&state, &envelope(&engine, &state, "answer", "bo"));
    drop(engine);
    place.write("policies/operators.cedar", "");
    let engine = place.engine();
    Forger::new(place.journal()).append(&state.head.run, &[event]);
    let found = contradicted(&engine, &state.head.run).unwrap();
    assert!(
        found.ends_with("policy lets only others (operators-speak)"),
        "{found}"
    );
}

/// Rights that are not in the journal let nothing stand, and the verification misses them.
#[test]
fn rights_that_are_gone_are_missed() {
    let place = place(OPERATORS);
    let engine = place.engine();
    let state = asking(&engine);
    engine.store().verify().unwrap();
    let event = event_of(&state, &envelope(&engine, &state, "answer", "dan"));
    let forger = Forger::new(place.journal());
    // A statement that names rights which nobody kept.
    let (kind, version, mut payload) = event.to_stored();
    payload["said"]["rights"] = format!("sha256:{}", "0".repeat(64)).into();
    let named = Event::from_stored(&kind, version, &payload).unwrap();
    forger.append(&state.head.run, &[named]);
    let found = contradicted(&engine, &state.head.run).unwrap();
    assert!(
        found.contains("the rights that it was judged by cannot be read"),
        "{found}"
    );
    let missing = engine.store().verify().unwrap_err();
    assert!(
        matches!(missing, StoreError::EvidenceMissing { .. }),
        "{missing}"
    );
    forger.put_back();
    engine.store().verify().unwrap();
    // Pruning takes the evidence of a run that ended and leaves these, and nobody else takes them.
    runtime().block_on(async {
        let mut session = engine
            .take_up(&state.head.run, &mut Unwatched)
            .await
            .unwrap();
        let end = envelope(&engine, session.state(), "cancel", "dan");
        session.hear(&end, &mut Unwatched).await.unwrap();
        session.release().await.unwrap();
    });
    let pruned = engine.store().prune(i64::MAX, now_ms()).unwrap();
    assert_eq!(pruned.runs, 1);
    let kept = engine
        .store()
        .evidence(&state.people.rights.unwrap())
        .unwrap();
    assert!(kept.is_some());
    assert_eq!(contradicted(&engine, &state.head.run), None);
    place.journal().execute("DELETE FROM evidence", []).unwrap();
    let missing = engine.store().verify().unwrap_err();
    assert!(
        matches!(missing, StoreError::EvidenceMissing { .. }),
        "{missing}"
    );
}
