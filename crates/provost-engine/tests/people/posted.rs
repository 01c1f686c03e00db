//! Words that other processes post, for a run that is driven and for one that is not.

use provost_engine::clock::now_ms;
use provost_engine::engine::Engine;
use provost_engine::people::{
    Credential, Inbox, PlanText, Statement, StatementEnvelope, StatementError, StatementSubject,
};
use provost_engine::session::{DriveEnd, Watcher};
use provost_run::event::{Event, RunStatus};
use provost_run::state::State;

use super::place::{
    PLAN, Place, RecordingWatcher, begin, begin_plan, card, drive, key, runtime, yes,
};

/// Whether the statement that an event records is signed by whom it names; none's passes.
fn verify_recorded(inbox: &Inbox, run: &str, event: &Event) -> Result<(), StatementError> {
    let recorded = event.statement();
    let envelope = recorded.map(|recorded| {
        let envelope = StatementEnvelope::of_recorded(inbox.store(), run, recorded);
        envelope.unwrap()
    });
    envelope.map_or(Ok(()), |envelope| {
        inbox.verify_credential(&envelope, Credential::Signature)
    })
}

/// Posts words while a session waits at a prompt; what it hears of them.
#[test]
fn a_word_by_another_process_wakes_who_waits() {
    let place = Place::new("signature");
    let (here, there) = (place.engine(), place.engine());
    let mut ear = RecordingWatcher::default();
    runtime().block_on(async {
        let mut session = begin(&here).await;
        let run = session.state().head.run.clone();
        let word = yes(&there, session.state(), "bo").signed_with(&key("bo"));
        let post = async {
            let posted = there.store().post(&run, &word.to_text(), now_ms());
            posted.await.unwrap();
        };
        let (come, ()) = tokio::join!(session.words_come(), post);
        come.unwrap();
        session.hear_posted(&mut ear).await.unwrap();
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        let stop = session.drive(&mut ear, &mut halt).await.unwrap();
        assert!(matches!(stop, DriveEnd::Ended(end) if end.status == RunStatus::Succeeded));
        let became = there.store().became(&run, &word.to_text()).unwrap();
        assert_eq!(became.as_deref(), Some("taken"));
    });
    assert!(ear.ignored.is_empty(), "{:?}", ear.ignored);
}

#[test]
fn a_row_written_from_outside_counts_for_nothing_and_is_reported() {
    let place = Place::new("signature");
    let run = place.waiting();
    let engine = place.engine();
    let state_of = engine.read(&run).unwrap();
    let state = state_of.run.state();
    let good = yes(&engine, state, "bo").signed_with(&key("bo"));
    let bare = yes(&engine, state, "bo");
    let eves = yes(&engine, state, "bo").signed_with(&key("eve"));
    let extra = good.to_text().replacen('{', "{\"also\":1,", 1);
    let mut moved = good.clone();
    moved.run = "aaaaaaaaaaaa".to_owned();
    let moved = moved.signed_with(&key("bo"));
    let mut later = good.clone();
    later.expires_at = now_ms() - 1;
    let later = later.signed_with(&key("bo"));
    let rows = [
        "yes".to_owned(),
        "{}".to_owned(),
        bare.to_text(),
        eves.to_text(),
        extra,
        moved.to_text(),
        later.to_text(),
    ];
    let journal = place.journal();
    for row in &rows {
        let sql = "INSERT INTO posted_statements (run, statement, at_ms) VALUES (?1, ?2, 0)";
        journal.execute(sql, [&run, row]).unwrap();
    }
    let mut ear = RecordingWatcher::default();
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut ear).await.unwrap();
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        let stop = session.drive(&mut ear, &mut halt).await.unwrap();
        assert_eq!(stop, DriveEnd::Waiting);
        session.release().await.unwrap();
    });
    insta::assert_snapshot!(ear.ignored.join("\n"), @r"
    this is no statement of a person: expected value at line 1 column 1
    this is no statement of a person: missing field `schema`
    this statement of `bo` is not signed, and this workspace requires signatures
    this statement is not signed with the key of `bo`
    this is no statement of a person: it has what this version does not know
    this statement is for run `aaaaaaaaaaaa`
    this statement of `bo` expired
    ");
    assert_eq!(
        (place.count("ApprovalGiven"), place.count("AttemptStarted")),
        (0, 0)
    );
    // The control: the same row, signed by who it says, counts.
    let sql = "INSERT INTO posted_statements (run, statement, at_ms) VALUES (?1, ?2, 0)";
    journal.execute(sql, [&run, &good.to_text()]).unwrap();
    runtime().block_on(async {
        let mut session = engine.take_up(&run, &mut ear).await.unwrap();
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        session.drive(&mut ear, &mut halt).await.unwrap();
    });
    assert_eq!(
        (place.count("ApprovalGiven"), place.count("RunEnded")),
        (1, 1)
    );
}

#[test]
fn a_word_taken_before_its_process_died_is_not_taken_again() {
    let place = Place::new("nothing");
    place.asks("@quorum(\"2\")");
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = begin(&engine).await;
        let run = session.state().head.run.clone();
        let word = yes(&engine, session.state(), "bo");
        let post = engine.store().post(&run, &word.to_text(), now_ms());
        post.await.unwrap();
        // Why: as if the process had died after the event and before the row was noted.
        session
            .hear(&word, &mut RecordingWatcher::default())
            .await
            .unwrap();
        session.release().await.unwrap();
        let mut ear = RecordingWatcher::default();
        let mut session = engine.take_up(&run, &mut ear).await.unwrap();
        session.hear_posted(&mut ear).await.unwrap();
        assert_eq!(ear.ignored.len(), 1, "{:?}", ear.ignored);
        assert!(
            ear.ignored[0].contains("was recorded before"),
            "{:?}",
            ear.ignored
        );
    });
    assert_eq!(place.count("ApprovalGiven"), 1);
}

#[test]
fn the_journal_keeps_what_was_signed_so_that_anybody_can_verify_it() {
    let place = Place::new("signature");
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = begin(&engine).await;
        let run = session.state().head.run.clone();
        let statement = Statement::Reject {
            card: card(session.state()),
            reason: "not today".to_owned(),
            all: false,
        };
        let mut word = yes(&engine, session.state(), "bo");
        word.statement = statement;
        let word = word.signed_with(&key("bo"));
        session
            .hear(&word, &mut RecordingWatcher::default())
            .await
            .unwrap();
        let events = engine.read(&run).unwrap().events;
        let kept = events
            .iter()
            .find_map(|(event, _)| event.statement())
            .unwrap();
        let kept = StatementEnvelope::of_recorded(engine.inbox().store(), &run, kept).unwrap();
        assert_eq!(kept, word);
        assert!(kept.is_signed_by(&key("bo").public()));
    });
}

/// The goal of the plan, which an amendment of both names by itself.
const GOAL: &str =
    "goal: { text: Write a note, success: [ { id: noted, text: the note is written } ] }\n";

/// One signature stands behind both events of an amendment; the control: another goal, another
/// plan, another name in the journal, and it does not fit any more.
#[test]
fn an_amendment_is_verified_again_from_each_of_its_events() {
    let place = Place::new("signature");
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = begin(&engine).await;
        let run = session.state().head.run.clone();
        let mut amendment = yes(&engine, session.state(), "ada");
        amendment.statement = Statement::Amend {
            plan: Some(PlanText {
                name: "mine".to_owned(),
                text: PLAN
                    .replace(GOAL, "")
                    .replace("for: noted", "for: goal")
                    .replace("hello", "good morning"),
            }),
            goal: Some("Write a note".to_owned()),
            reason: "it is early".to_owned(),
        };
        let amendment = amendment.signed_with(&key("ada"));
        session
            .hear(&amendment, &mut RecordingWatcher::default())
            .await
            .unwrap();
        let events = engine.read(&run).unwrap().events;
        let inbox = engine.inbox();
        let mut halves = 0;
        for (event, _) in &events {
            verify_recorded(inbox, &run, event).unwrap();
            let changed = match event.clone() {
                Event::GoalAmended {
                    mut goal,
                    planner,
                    clears,
                    by,
                    reason,
                    plan,
                    record,
                } => {
                    goal.text.push('!');
                    Event::GoalAmended {
                        goal,
                        planner,
                        clears,
                        by,
                        reason,
                        plan,
                        record,
                    }
                }
                Event::PlanAmended {
                    name,
                    text,
                    by,
                    wrote,
                    reason,
                    goal,
                    record,
                } => Event::PlanAmended {
                    name,
                    text: text.replace("good", "bad"),
                    by,
                    wrote,
                    reason,
                    goal,
                    record,
                },
                _ => continue,
            };
            halves += 1;
            let kept = event.statement().unwrap();
            let kept = StatementEnvelope::of_recorded(inbox.store(), &run, kept).unwrap();
            assert_eq!(kept, amendment);
            let refused = verify_recorded(inbox, &run, &changed).unwrap_err();
            assert!(
                matches!(refused, StatementError::Forged { .. }),
                "{refused}"
            );
        }
        assert_eq!(halves, 2);
    });
}

/// A run with a yes that was recorded, and that nobody drives: its call could begin.
async fn approved(engine: &Engine) -> (String, StatementEnvelope) {
    let session = begin(engine).await;
    let run = session.state().head.run.clone();
    let mut statement = yes(engine, session.state(), "bo").signed_with(&key("bo"));
    session.release().await.unwrap();
    let mut ear = RecordingWatcher::default();
    let recorded = engine.take_up_with(&statement, &mut ear).await.unwrap();
    recorded.release().await.unwrap();
    statement.statement = Statement::Cancel {
        reason: None,
        undo: false,
    };
    statement.nonce.push('2');
    statement.by = "ada".to_owned();
    (run, statement.signed_with(&key("ada")))
}

/// A cancel, at hand or posted, ends a run whose call was approved before that call is made.
#[test]
fn a_cancel_of_a_halted_run_makes_no_call() {
    for posted in [false, true] {
        let place = Place::new("signature");
        let engine = place.engine();
        runtime().block_on(async {
            let (run, cancel) = approved(&engine).await;
            let mut ear = RecordingWatcher::default();
            let mut session = if posted {
                let post = engine.store().post(&run, &cancel.to_text(), now_ms());
                post.await.unwrap();
                engine.take_up(&run, &mut ear).await.unwrap()
            } else {
                engine.take_up_with(&cancel, &mut ear).await.unwrap()
            };
            assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
            assert_eq!(session.state().status(), RunStatus::Cancelled);
        });
        assert_eq!(place.count("AttemptStarted"), 0, "posted: {posted}");
        assert!(!place.path("notes/note.txt").exists());
    }
    // The control: to whom nobody said anything, the call is made.
    let place = Place::new("signature");
    let engine = place.engine();
    runtime().block_on(async {
        let (run, _) = approved(&engine).await;
        let mut session = engine
            .take_up(&run, &mut RecordingWatcher::default())
            .await
            .unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
    });
    assert_eq!(place.count("AttemptStarted"), 1);
}

#[test]
fn a_statement_that_is_refused_leaves_the_run_as_it_was() {
    let place = Place::new("signature");
    let engine = place.engine();
    runtime().block_on(async {
        let (run, mut amend) = approved(&engine).await;
        amend.statement = Statement::Amend {
            plan: Some(PlanText {
                name: "none".to_owned(),
                text: "no plan".to_owned(),
            }),
            goal: None,
            reason: "it is early".to_owned(),
        };
        let amend = amend.signed_with(&key("ada"));
        let before = engine.read(&run).unwrap().events;
        let refused = engine
            .take_up_with(&amend, &mut RecordingWatcher::default())
            .await;
        assert!(refused.is_err());
        assert_eq!(engine.read(&run).unwrap().events, before);
        // Why: it was given back, so anybody may take it up at once.
        let mut session = place
            .engine()
            .take_up(&run, &mut RecordingWatcher::default())
            .await
            .unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
    });
}

/// Two reads, one after the other.
const TWO_READS: &str = r#"schema: provost/plan/v1
goal: { text: Write a note, success: [ { id: noted, text: the note is written } ] }
steps:
  - { id: first, tool: notes.read, args: { path: a.txt } }
  - { id: second, tool: notes.read, args: { path: a.txt }, needs: [first] }
success:
  - { for: noted, check: '${ steps.second.status == "succeeded" }' }
"#;

/// Posts a statement from another process as soon as the first call has begun.
struct Posting {
    store: String,
    journal: rusqlite::Connection,
    statement: Option<Statement>,
    began: Vec<String>,
}

impl Watcher for Posting {
    fn kept(&mut self, _: u64, events: &[Event], state: &State) {
        for event in events {
            let Event::AttemptStarted(started) = event else {
                continue;
            };
            self.began.push(started.slot.step.clone());
            let Some(statement) = self.statement.take() else {
                continue;
            };
            let about = StatementSubject {
                store: &self.store,
                run: &state.head.run,
                revision: 1,
            };
            let envelope = StatementEnvelope::new(about, statement, "ada", now_ms(), None);
            let text = envelope.unwrap().to_text();
            let sql = "INSERT INTO posted_statements (run, statement, at_ms) VALUES (?1, ?2, 0)";
            self.journal.execute(sql, [&state.head.run, &text]).unwrap();
        }
    }
    fn tick(&mut self, _: &State) {}
}

/// The control is the last case: nobody says anything, and the second call begins.
#[test]
fn what_is_posted_binds_the_next_call_of_whoever_drives() {
    let reason = "enough".to_owned();
    let pause = Statement::Pause {
        reason: reason.clone(),
    };
    let cancel = Statement::Cancel {
        reason: Some(reason),
        undo: false,
    };
    let cases = [
        (Some(pause), "paused", vec!["first"]),
        (Some(cancel), "cancelled", vec!["first"]),
        (None, "succeeded", vec!["first", "second"]),
    ];
    for (statement, status, began) in cases {
        let place = Place::new("nothing");
        place.write("notes/a.txt", "hello");
        let engine = place.engine();
        let mut posting = Posting {
            store: engine.inbox().store().to_owned(),
            journal: place.journal(),
            statement,
            began: Vec::new(),
        };
        runtime().block_on(async {
            let mut session = begin_plan(&engine, TWO_READS).await;
            let (_keep, mut halt) = tokio::sync::watch::channel(false);
            session.drive(&mut posting, &mut halt).await.unwrap();
            assert_eq!(session.state().status().word(), status);
        });
        assert_eq!(posting.began, began, "{status}");
    }
}

/// Posts a cancel of the run when it hears that another statement was refused: after the look at
/// what was posted, and before the run goes on.
struct Between {
    journal: rusqlite::Connection,
    cancel: Option<[String; 2]>,
}

impl Watcher for Between {
    fn kept(&mut self, _: u64, _: &[Event], _: &State) {}
    fn tick(&mut self, _: &State) {}
    fn ignored(&mut self, _: &str) {
        if let Some(row) = self.cancel.take() {
            let sql = "INSERT INTO posted_statements (run, statement, at_ms) VALUES (?1, ?2, 0)";
            self.journal.execute(sql, row).unwrap();
        }
    }
}

/// The control is the last case: nobody says anything in between, and the call begins.
#[test]
fn what_is_posted_while_a_run_is_taken_up_is_heard_before_it_goes_on() {
    for (posts, status, began) in [(true, "cancelled", 0), (false, "succeeded", 1)] {
        let place = Place::new("signature");
        let engine = place.engine();
        runtime().block_on(async {
            let (run, cancel) = approved(&engine).await;
            let refused = engine.store().post(&run, "no statement", now_ms());
            refused.await.unwrap();
            let mut between = Between {
                journal: place.journal(),
                cancel: posts.then(|| [run.clone(), cancel.to_text()]),
            };
            let mut session = engine
                .take_up(&run, &mut RecordingWatcher::default())
                .await
                .unwrap();
            let (_keep, mut halt) = tokio::sync::watch::channel(false);
            let driven = session.drive(&mut between, &mut halt);
            let driven = tokio::time::timeout(std::time::Duration::from_secs(60), driven).await;
            assert!(matches!(driven, Ok(Ok(_))), "the run goes on to its end");
            assert_eq!(session.state().status().word(), status);
        });
        assert_eq!(place.count("AttemptStarted"), began, "{status}");
    }
}
