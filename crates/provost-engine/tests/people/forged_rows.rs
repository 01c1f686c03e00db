//! Rows written straight into the journal by somebody who has no key, with both chains computed
//! anew: none begins a call, each is named, and no head is signed over it.
//!
//! `PROVOST_COUNT` says how many; the second verifier is asked of one of each kind, and of one in
//! [`SAMPLE`] as well.

use provost_engine::audit::AuditError;
use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::people::{Inbox, Statement, StatementEnvelope, StatementSubject};
use provost_engine::session::{DriveEnd, Unwatched};
use provost_plan::plan::Goal;
use provost_run::card::CardSubject;
use provost_run::event::Event;
use provost_run::state::State;
use serde_json::{Value, json};

use super::forged::Dice;
use super::forger::Forger;
use super::place::{
    Place, audited, begin, begin_plan, card, count, drive, key, runtime, second, yes,
};

const SAMPLE: usize = 499;

/// That a run whose event `seq` is forged is not taken up, and that the audit names this event and
/// no other.
pub fn assert_is_named(engine: &Engine, inbox: &Inbox, (run, seq): (&String, u64), what: &str) {
    let taken = runtime().block_on(engine.take_up(run, &mut Unwatched));
    match taken.err() {
        Some(EngineError::InvalidEvent(found)) => {
            assert_eq!((&found.run, found.seq), (run, seq), "{what}");
        }
        Some(other) => panic!("{what}: {other}"),
        None => panic!("{what}: the run was taken up"),
    }
    let heard = inbox.verify_journal(engine.store(), 0).unwrap();
    let named: Vec<_> = heard
        .contradictions
        .iter()
        .map(|found| (&found.run, found.seq))
        .collect();
    assert_eq!(named, [(run, seq)], "{what}");
}

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

/// A run that waits for a yes, another one, and one that waits for an answer.
struct Waiting {
    asked: State,
    other: State,
    question: State,
}

fn waiting(engine: &Engine) -> Waiting {
    runtime().block_on(async {
        let (asked, other) = (begin(engine).await, begin(engine).await);
        let mut question = begin_plan(engine, QUESTION).await;
        assert_eq!(drive(&mut question).await, DriveEnd::Waiting);
        let mut states = Vec::new();
        for session in [asked, other, question] {
            states.push(session.state().clone());
            session.release().await.unwrap();
        }
        let mut states = states.into_iter();
        let mut next = || states.next().unwrap();
        Waiting {
            asked: next(),
            other: next(),
            question: next(),
        }
    })
}

/// The event that the journal would have of an envelope, had it been taken in.
pub fn event_of(state: &State, envelope: &StatementEnvelope) -> Event {
    let (kind, mut payload) = match envelope.statement.clone() {
        Statement::Approve { card, steps } => (
            "ApprovalGiven",
            json!({ "card": card, "steps": steps, "complete": true }),
        ),
        Statement::Answer { question, value } => (
            "QuestionAnswered",
            json!({ "question": question, "value": value }),
        ),
        Statement::Amend { goal, reason, .. } => {
            let goal = Goal {
                text: goal.unwrap(),
                ..state.goals.goal.clone()
            };
            let payload = json!({ "goal": goal, "clears": true, "reason": reason });
            ("GoalAmended", payload)
        }
        Statement::Cancel { undo, .. } => ("CancelRequested", json!({ "undo": undo })),
        other => panic!("{other:?}"),
    };
    payload["by"] = envelope.by.clone().into();
    payload["said"] = json!(envelope.record());
    Event::from_stored(kind, 1, &payload).unwrap()
}

/// The event with one field of its payload changed, or taken out.
fn with(event: &Event, field: &str, value: Option<Value>) -> Event {
    let (kind, version, mut payload) = event.to_stored();
    let fields = payload.as_object_mut().unwrap();
    match value {
        Some(value) => drop(fields.insert(field.to_owned(), value)),
        None => drop(fields.remove(field)),
    }
    Event::from_stored(&kind, version, &payload).unwrap()
}

pub fn without_record(event: &Event) -> Event {
    with(event, "said", None)
}

fn envelope(engine: &Engine, state: &State, statement: Statement, by: &str) -> StatementEnvelope {
    let about = StatementSubject {
        store: engine.inbox().store(),
        run: &state.head.run,
        revision: state.in_force.revision,
    };
    StatementEnvelope::new(about, statement, by, now_ms(), None).unwrap()
}

const KINDS: [&str; 17] = [
    "a yes that nobody made a statement of",
    "a yes that is not signed",
    "a yes signed with a key of nobody",
    "a yes with a signature that is not of the key it names",
    "a yes of who asked",
    "a yes of somebody who is not listed",
    "a yes with the signature of a yes to another card",
    "a yes to another run",
    "a yes with the signature of a no",
    "a yes changed after signing",
    "a yes that had lapsed",
    "a yes to a card with other contents",
    "a yes that is to count for ever",
    "an answer",
    "a settlement",
    "another goal",
    "an undoing cancel",
];

/// What is appended to which run; the event that may not stand is the last of it.
fn forge(engine: &Engine, runs: &Waiting, kind: usize, dice: &mut Dice) -> (String, Vec<Event>) {
    let state = &runs.asked;
    let who = ["bo", "eve", "dan"][dice.roll(3) as usize];
    let valid = || yes(engine, state, who);
    let signed = || valid().signed_with(&key(who));
    let envelope = match KINDS[kind] {
        "a yes that nobody made a statement of" => {
            let bare = without_record(&event_of(state, &valid()));
            return (state.head.run.clone(), vec![bare]);
        }
        "a yes that is not signed" => valid(),
        "a yes signed with a key of nobody" => valid().signed_with(&dice.key()),
        "a yes with a signature that is not of the key it names" => {
            let mut forged = valid().signed_with(&dice.key());
            forged.signed.as_mut().unwrap().key = key(who).public().to_string();
            forged
        }
        "a yes of who asked" => yes(engine, state, "ada").signed_with(&key("ada")),
        "a yes of somebody who is not listed" => yes(engine, state, "zoe").signed_with(&dice.key()),
        "a yes with the signature of a yes to another card" => {
            let mut forged = yes(engine, &runs.other, who).signed_with(&key(who));
            forged.statement = valid().statement;
            forged
        }
        "a yes to another run" => yes(engine, &runs.other, who).signed_with(&key(who)),
        "a yes with the signature of a no" => {
            let mut forged = valid();
            forged.statement = Statement::Reject {
                card: card(state),
                reason: "no".to_owned(),
                all: false,
            };
            let mut forged = forged.signed_with(&key(who));
            forged.statement = valid().statement;
            forged
        }
        "a yes changed after signing" => {
            let mut forged = signed();
            match dice.roll(4) {
                0 => forged.by = if who == "bo" { "eve" } else { "bo" }.to_owned(),
                1 => forged.nonce = format!("n{}", dice.roll(1 << 40)),
                2 => forged.expires_at += 1,
                _ => forged.revision += 1,
            }
            forged
        }
        "a yes that had lapsed" => {
            let mut forged = valid();
            forged.said_at -= 1 << 32;
            forged.expires_at = forged.said_at + i64::try_from(1 + dice.roll(1 << 30)).unwrap();
            forged.signed_with(&key(who))
        }
        "a yes to a card with other contents" => {
            let mut other = state.people.cards[&card(state)].card.clone();
            if let CardSubject::Step { calls, .. } = &mut other.subject {
                calls[0].args["text"] = format!("other {}", dice.roll(1 << 40)).into();
            }
            let digest = card(state);
            let asked = Event::ApprovalRequested {
                card: other,
                digest,
            };
            return (
                state.head.run.clone(),
                vec![asked, event_of(state, &signed())],
            );
        }
        "a yes that is to count for ever" => {
            let until = Some(json!(i64::MAX >> 16));
            let given = with(&event_of(state, &signed()), "valid_until", until);
            return (state.head.run.clone(), vec![given]);
        }
        "an answer" => {
            let state = &runs.question;
            let question = *state.open_questions().next().unwrap().0;
            let value = format!("note {}", dice.roll(1 << 40)).into();
            let said = Statement::Answer { question, value };
            let forged = maybe_signed(envelope(engine, state, said, who), dice);
            return (state.head.run.clone(), vec![event_of(state, &forged)]);
        }
        "a settlement" => {
            let payload = json!({
                "slot": { "step": "note" }, "settled": "did_not_happen",
                "by": { "kind": "person", "id": who }, "reason": "I looked",
                "said": maybe_signed(valid(), dice).record(),
            });
            let settled = Event::from_stored("DoubtSettled", 1, &payload).unwrap();
            return (state.head.run.clone(), vec![settled]);
        }
        "another goal" => {
            let said = Statement::Amend {
                plan: None,
                goal: Some(format!("Write note {}", dice.roll(1 << 40))),
                reason: "better".to_owned(),
            };
            maybe_signed(envelope(engine, state, said, who), dice)
        }
        _ => {
            let said = Statement::Cancel {
                reason: None,
                undo: true,
            };
            maybe_signed(envelope(engine, state, said, who), dice)
        }
    };
    (state.head.run.clone(), vec![event_of(state, &envelope)])
}

/// Not signed, or signed with a key of nobody.
fn maybe_signed(envelope: StatementEnvelope, dice: &mut Dice) -> StatementEnvelope {
    match dice.roll(2) {
        0 => envelope,
        _ => envelope.signed_with(&dice.key()),
    }
}

#[test]
fn no_forged_row_begins_a_call_and_each_is_named() {
    let place = audited("signature");
    let engine = place.engine();
    let runs = waiting(&engine);
    engine.sign_head().unwrap().unwrap();
    let inbox = engine.inbox();
    let forger = Forger::new(place.journal());
    // The control: a journal that nobody touched is believed, by both verifiers.
    let heard = inbox.verify_journal(engine.store(), 0).unwrap();
    assert_eq!(heard.contradictions, []);
    let (holds, said) = second(&place, &[]);
    assert!(holds, "{said}");
    let all = count(320);
    let (mut made, mut asked) = ([0usize; KINDS.len()], 0);
    for seed in 0..all {
        let kind = seed % KINDS.len();
        let mut dice = Dice(seed as u64);
        let (run, events) = forge(&engine, &runs, kind, &mut dice);
        let seq = forger.append(&run, &events);
        let what = format!("seed {seed}, {}", KINDS[kind]);
        assert_is_named(&engine, inbox, (&run, seq), &what);
        if seed < KINDS.len() || seed % SAMPLE == 0 {
            engine.store().verify().unwrap();
            let signed = engine.sign_head();
            assert!(
                matches!(signed, Err(AuditError::JournalStatements(_))),
                "{what}"
            );
            let (holds, said) = second(&place, &[]);
            let names = format!("event {seq} of run {run}");
            assert!(!holds && said.contains(&names), "{what}: {said}");
            asked += 1;
        }
        forger.put_back();
        made[kind] += 1;
    }
    for (kind, made) in KINDS.iter().zip(made) {
        println!("{made:>7} {kind}");
    }
    println!("begun: 0 of {all}; {asked} of them judged by the second verifier too");
    assert_eq!(place.count("AttemptStarted"), 0);
    assert!(!place.path("notes/note.txt").exists());
}

/// The control: where nothing has to be signed, the same row is believed, and the note is written.
#[test]
fn where_nothing_must_be_signed_a_forged_row_begins_a_call() {
    let place = audited("nothing");
    let engine = place.engine();
    let runs = waiting(&engine);
    let (run, events) = forge(&engine, &runs, 0, &mut Dice(0));
    Forger::new(place.journal()).append(&run, &events);
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
    });
    assert!(place.path("notes/note.txt").exists());
}

#[test]
fn a_run_that_says_it_needed_no_signature_is_held_to_the_workspace() {
    // Begun before signatures were required, or so its first event says.
    let place = Place::new("nothing");
    let run = place.waiting();
    let engine = place.engine();
    let record = engine.read(&run).unwrap();
    let bare = without_record(&event_of(
        record.run.state(),
        &yes(&engine, record.run.state(), "bo"),
    ));
    drop(engine);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let config = config.replace("require = \"nothing\"", "require = \"signature\"");
    place.write("provost.toml", &config);
    let engine = place.engine();
    // The control: without a statement nothing is held against it.
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    assert_eq!((heard.runs, heard.contradictions.len()), (0, 0));
    Forger::new(place.journal()).append(&run, &[bare]);
    let taken = runtime().block_on(engine.take_up(&run, &mut Unwatched));
    let error = taken.err().unwrap();
    assert!(matches!(error, EngineError::InvalidEvent(_)), "{error}");
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    assert_eq!(heard.contradictions.len(), 1);
}

#[test]
fn what_was_taken_in_signed_is_believed_when_it_is_read_again() {
    let place = audited("signature");
    let run = place.waiting();
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
        let word = yes(&engine, session.state(), "bo").signed_with(&key("bo"));
        session.hear(&word, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
        session.release().await.unwrap();
    });
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    assert_eq!((heard.runs, heard.contradictions), (1, Vec::new()));
    engine.sign_head().unwrap().unwrap();
    let (holds, said) = second(&place, &[]);
    assert!(holds, "{said}");
    // A statement counts once: the same yes recorded a second time is named.
    let events = engine.read(&run).unwrap().events;
    let given = |(event, _): &&(Event, i64)| matches!(event, Event::ApprovalGiven { .. });
    let again = events.iter().find(given).unwrap().0.clone();
    let forger = Forger::new(place.journal());
    forger.append(&run, &[again]);
    let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
    assert_eq!(heard.contradictions.len(), 1);
    assert!(!second(&place, &[]).0);
}

#[test]
fn who_has_another_key_now_did_not_take_back_what_they_said() {
    let place = Place::new("signature");
    let run = place.waiting();
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
        let word = yes(&engine, session.state(), "bo").signed_with(&key("bo"));
        session.hear(&word, &mut Unwatched).await.unwrap();
        session.release().await.unwrap();
    });
    drop(engine);
    let (old, new) = (key("bo").public(), key("new").public());
    for (person, contradictions) in [
        (
            format!(r#"{{"key": "{new}", "former_keys": ["{old}"]}}"#),
            0,
        ),
        (format!(r#"{{"former_keys": ["{old}"]}}"#), 0),
        (format!(r#"{{"key": "{new}"}}"#), 1),
        ("{}".to_owned(), 1),
    ] {
        let people = format!(r#"{{"users": {{"ada": {{}}, "bo": {person}}}}}"#);
        place.write("policies/entities.json", &people);
        let engine = place.engine();
        let heard = engine.inbox().verify_journal(engine.store(), 0).unwrap();
        assert_eq!(heard.contradictions.len(), contradictions, "{person}");
        assert_eq!(second(&place, &[]).0, contradictions == 0, "{person}");
        // With a former key nothing new counts.
        let state = engine.read(&run).unwrap().run.state().clone();
        let about = StatementSubject {
            store: engine.inbox().store(),
            run: &run,
            revision: 1,
        };
        let said = Statement::Cancel {
            reason: None,
            undo: true,
        };
        let late = StatementEnvelope::new(about, said, "bo", now_ms(), None).unwrap();
        let late = late.signed_with(&key("bo"));
        assert!(engine.inbox().verify(&late, &state, now_ms()).is_err());
    }
}
