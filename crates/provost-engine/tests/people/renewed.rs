//! Files that are read anew while runs are driven: the next dispatch is under them, and so is what
//! people say.

use std::cell::RefCell;
use std::sync::Arc;

use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::session::{DriveEnd, Unwatched};
use provost_engine::work::{WorkEvent, WorkOptions, work_on};
use provost_run::event::Event;
use tokio::sync::watch;

use super::place::{Place, begin, begin_plan, drive, key, runtime, yes};

/// Two notes, one after the other.
const TWO: &str = r#"schema: provost/plan/v1
goal: { text: Write a note, success: [ { id: noted, text: the note is written } ] }
steps:
  - id: one
    tool: notes.write
    args: { path: one.txt, text: hello }
  - id: two
    when: '${ steps.one.status == "succeeded" }'
    tool: notes.write
    args: { path: two.txt, text: hello }
success:
  - { for: noted, check: '${ steps.two.status == "succeeded" }' }
answer:
  - { text: Both are written., cites: [two] }
"#;

/// Drives a run of two writes that need no yes; `change` is made of the engine while the first is
/// in flight. How it was let go of, each time.
fn let_go(place: &Place, change: impl Fn(&Place, &watch::Sender<Arc<Engine>>)) -> Vec<DriveEnd> {
    place.write(
        "policies/default.cedar",
        "permit (principal, action, resource);",
    );
    let engines = watch::Sender::new(Arc::new(place.engine()));
    let ends = RefCell::new(Vec::new());
    let listener = |told: &WorkEvent<'_>| match told {
        WorkEvent::Kept { events, .. } => {
            let begins = |event: &Event| matches!(event, Event::AttemptStarted(_));
            if events.iter().any(begins) && ends.borrow().is_empty() {
                change(place, &engines);
            }
        }
        WorkEvent::LetGo { stop, .. } => ends.borrow_mut().push((*stop).clone()),
        other => panic!("{other:?}"),
    };
    let working = WorkOptions {
        until_idle: true,
        ..WorkOptions::default()
    };
    runtime().block_on(async {
        let first = Arc::clone(&engines.borrow());
        begin_plan(&first, TWO).await.release().await.unwrap();
        let (_keep, halt) = watch::channel(false);
        let worked = work_on(engines.subscribe(), working, halt, &listener, &|_| true);
        worked.await.unwrap();
    });
    ends.into_inner()
}

#[test]
fn a_run_changes_over_at_its_next_dispatch() {
    let place = Place::new("nothing").without_repeats();
    let ends = let_go(&place, |place, engines| {
        place.asks("");
        let old = Arc::clone(&engines.borrow());
        let new = old.renewed(place.workspace()).unwrap();
        engines.send_replace(Arc::new(new));
        old.supersede();
    });
    // What was in flight settled; what follows is asked about, as the new files say.
    assert_eq!(ends, [DriveEnd::Superseded, DriveEnd::Waiting]);
    assert_eq!(place.count("AttemptStarted"), 1);
    assert_eq!(place.count("AttemptEnded"), 1);
    assert_eq!(place.count("ApprovalRequested"), 1);
    // The controls: files that nobody read change nothing, and neither does reading the same.
    let place = Place::new("nothing").without_repeats();
    let ends = let_go(&place, |place, _| place.asks(""));
    assert!(matches!(ends[..], [DriveEnd::Ended(_)]), "{ends:?}");
    assert_eq!(place.count("AttemptStarted"), 2);
    let place = Place::new("nothing").without_repeats();
    let ends = let_go(&place, |place, engines| {
        let old = Arc::clone(&engines.borrow());
        engines.send_replace(Arc::new(old.renewed(place.workspace()).unwrap()));
        old.supersede();
    });
    let over = matches!(ends[..], [DriveEnd::Superseded, DriveEnd::Ended(_)]);
    assert!(over, "{ends:?}");
    assert_eq!(place.count("AttemptStarted"), 2);
}

/// What bo posted, signed, and what became of it under the files of after.
fn heard(change: impl Fn(&Place)) -> (String, usize) {
    let place = Place::new("signature").without_repeats();
    place.people(&["bo"]);
    let old = place.engine();
    let became = runtime().block_on(async {
        let mut session = begin(&old).await;
        let run = session.state().head.run.clone();
        change(&place);
        let new = old.renewed(place.workspace()).unwrap();
        old.supersede();
        let said = yes(&old, session.state(), "bo").signed_with(&key("bo"));
        let said = said.to_text();
        old.store().post(&run, &said, now_ms()).await.unwrap();
        assert_eq!(drive(&mut session).await, DriveEnd::Superseded);
        let became = old.store().became(&run, &said).unwrap();
        assert_eq!(became, None, "the old hears nothing more");
        // The old drives it still, so the new may not.
        let held = new.take_up(&run, &mut Unwatched).await;
        assert!(matches!(held, Err(EngineError::Held { .. })));
        session.release().await.unwrap();
        let mut session = new.take_up(&run, &mut Unwatched).await.unwrap();
        drive(&mut session).await;
        old.store().became(&run, &said).unwrap().unwrap()
    });
    (became, place.count("AttemptStarted"))
}

#[test]
fn what_is_said_is_judged_by_the_files_of_now() {
    let leaves = |place: &Place| {
        let keyed = std::fs::read_to_string(place.path("policies/entities.json")).unwrap();
        let other = keyed.replace("\"bo\"", "\"boris\"");
        assert_ne!(other, keyed);
        place.write("policies/entities.json", &other);
    };
    let loses_key = |place: &Place| place.people(&[]);
    let may_not = |place: &Place| {
        place.write(
            "policies/more.cedar",
            r#"forbid (principal == User::"bo", action == Action::"approve", resource);"#,
        );
    };
    for change in [&leaves as &dyn Fn(&Place), &loses_key, &may_not] {
        let (became, begun) = heard(change);
        assert!(became.starts_with("ignored: "), "{became}");
        assert_eq!(begun, 0, "{became}");
    }
    assert_eq!(heard(|_| {}), ("taken".to_owned(), 1), "the control");
}

#[test]
fn texts_tell_whether_the_files_changed() {
    let place = Place::new("nothing");
    let workspace = place.workspace();
    assert_eq!(workspace.texts(), workspace.texts_now());
    let was = std::fs::read_to_string(place.path("policies/default.cedar")).unwrap();
    type Change<'a> = (&'a str, &'a dyn Fn());
    let changes: [Change<'_>; 6] = [
        ("a policy", &|| {
            place.write(
                "policies/default.cedar",
                "permit (principal, action, resource);",
            )
        }),
        ("another one", &|| {
            place.write(
                "policies/more.cedar",
                "permit (principal, action, resource);",
            )
        }),
        ("people", &|| place.write("policies/entities.json", "{}")),
        ("what cannot be read", &|| place.write("provost.toml", "\0")),
        ("a playbook", &|| {
            place.write("playbooks/x.yaml", "schema: x")
        }),
        ("the lock", &|| place.write("provost.lock", "{}")),
    ];
    let kept = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let people = std::fs::read_to_string(place.path("policies/entities.json")).unwrap();
    for (what, change) in changes {
        change();
        assert_ne!(workspace.texts(), workspace.texts_now(), "{what}");
        place.write("policies/default.cedar", &was);
        place.write("policies/entities.json", &people);
        place.write("provost.toml", &kept);
        for gone in ["policies/more.cedar", "playbooks/x.yaml", "provost.lock"] {
            let _ = std::fs::remove_file(place.path(gone));
        }
        assert_eq!(
            workspace.texts(),
            workspace.texts_now(),
            "the control: {what}"
        );
    }
}
