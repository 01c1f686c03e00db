//! How often the journal of a run is read for one who speaks to it and drives it.

use provost_engine::engine::Engine;
use provost_engine::session::{DriveEnd, Session, Unwatched};
use provost_engine::store::{StopScope, Stopped};
use provost_run::event::RunStatus;
use provost_run::state::State;

use super::place::{Place, begin, begin_plan, drive, key, runtime, yes};

const READS: &str = r#"schema: provost/plan/v1
goal: { text: Write a note, success: [ { id: noted, text: the note is written } ] }
steps:
  - { id: one, tool: notes.read, args: { path: one.txt } }
  - { id: two, tool: notes.read, args: { path: two.txt }, needs: [one] }
success:
  - { for: noted, check: '${ steps.two.status == "succeeded" }' }
answer:
  - { text: The notes were read., cites: [one, two] }
"#;

fn everything() -> Stopped {
    Stopped {
        scope: StopScope::All,
        name: String::new(),
        by: "ada".to_owned(),
        reason: "a look".to_owned(),
        at_ms: 1,
    }
}

fn loads(engine: &Engine) -> u64 {
    engine.store().counts().loads
}

/// What the session holds is what the journal tells.
fn assert_as_folded(engine: &Engine, session: &Session) {
    let folded = engine.fold(&session.state().head.run).unwrap();
    // Why sorted: the journal orders the keys of a map, and a map is the same in any order.
    let lines = |state: &State| {
        let text = format!("{state:#?}");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(lines(session.state()), lines(folded.state()));
}

#[test]
fn a_run_that_was_looked_at_is_not_read_again_to_drive_it() {
    let place = Place::new("signature");
    for (looked, reads) in [(true, 1), (false, 2)] {
        let run = place.waiting();
        let engine = place.engine();
        runtime().block_on(async {
            let folded = engine.fold(&run).unwrap();
            let yes = yes(&engine, folded.state(), "bo").signed_with(&key("bo"));
            let mut session = if looked {
                engine
                    .take_up_folded(folded, Some(&yes), &mut Unwatched)
                    .await
                    .unwrap()
            } else {
                // The control: by its name alone it is read once more.
                engine.take_up_with(&yes, &mut Unwatched).await.unwrap()
            };
            assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
            assert_eq!(loads(&engine), reads, "looked: {looked}");
            assert_as_folded(&engine, &session);
        });
    }
}

#[test]
fn a_run_that_moved_since_it_was_looked_at_is_read_again() {
    let place = Place::new("signature");
    let run = place.waiting();
    let engine = place.engine();
    runtime().block_on(async {
        let folded = engine.fold(&run).unwrap();
        let yes = yes(&engine, folded.state(), "bo").signed_with(&key("bo"));
        let other = place.engine();
        let session = other.take_up_with(&yes, &mut Unwatched).await.unwrap();
        session.release().await.unwrap();
        let taken = engine.take_up_folded(folded, None, &mut Unwatched).await;
        let mut session = taken.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
        assert_eq!(loads(&engine), 2);
        assert_as_folded(&engine, &session);
    });
}

#[test]
fn what_is_not_admitted_is_taken_back_without_reading_the_journal() {
    let place = Place::new("signature");
    for note in ["one", "two"] {
        place.write(&format!("notes/{note}.txt"), note);
    }
    let engine = place.engine();
    runtime().block_on(async {
        engine.store().stop(&everything()).await.unwrap();
        let mut session = begin_plan(&engine, READS).await;
        assert_eq!(drive(&mut session).await, DriveEnd::Paused);
        assert_eq!(loads(&engine), 0, "a run that began here");
        assert_as_folded(&engine, &session);
    });
}

#[test]
fn what_is_not_admitted_of_a_run_that_was_taken_up_is_taken_back_too() {
    let place = Place::new("signature");
    let engine = place.engine();
    runtime().block_on(async {
        let session = begin(&engine).await;
        let run = session.state().head.run.clone();
        session.release().await.unwrap();
        engine.store().stop(&everything()).await.unwrap();
        let folded = engine.fold(&run).unwrap();
        let yes = yes(&engine, folded.state(), "bo").signed_with(&key("bo"));
        let taken = engine
            .take_up_folded(folded, Some(&yes), &mut Unwatched)
            .await;
        let mut session = taken.unwrap();
        assert_eq!(drive(&mut session).await, DriveEnd::Paused);
        assert_eq!(session.state().status(), RunStatus::Paused);
        assert_eq!(loads(&engine), 1, "for whoever looked");
        assert_as_folded(&engine, &session);
    });
    assert_eq!(place.count("AttemptStarted"), 0);
}
