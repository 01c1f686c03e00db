//! Which runs keep their texts when old ones lose theirs, and who comes between.

use provost_engine::audit::{Audit, AuditError};
use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::retention::{Kept, Retention, prune_payloads};
use provost_engine::session::{DriveEnd, Unwatched};
use provost_run::event::Event;

use super::forger::Forger;
use super::place::{Place, audited, begin, drive, key, runtime, yes};

/// A run that bo said yes to, and that is over; its id.
fn ended(engine: &Engine) -> String {
    runtime().block_on(async {
        let mut session = begin(engine).await;
        let word = yes(engine, session.state(), "bo").signed_with(&key("bo"));
        session.hear(&word, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
        let run = session.state().head.run.clone();
        session.release().await.unwrap();
        run
    })
}

/// Prunes everything that is over; with whether heads are signed, as the workspace says.
fn prune(engine: &Engine) -> Result<Retention, AuditError> {
    let workspace = engine.workspace();
    let audit = workspace
        .audit()
        .map(|said| Audit::open(workspace.root(), said).unwrap());
    let (store, inbox) = (engine.store(), engine.inbox());
    prune_payloads(store, inbox, audit.as_ref(), i64::MAX, now_ms())
}

fn is_pruned(engine: &Engine, run: &str) -> bool {
    match engine.fold(run) {
        Ok(_) => false,
        Err(error) => error.to_string().contains("were pruned at"),
    }
}

/// Records the yes of a run a second time, as nobody said it.
fn forged(place: &Place, engine: &Engine, run: &str) -> Forger {
    let events = engine.read(run).unwrap().events;
    let given = |(event, _): &&(Event, i64)| matches!(event, Event::ApprovalGiven { .. });
    let again = events.iter().find(given).unwrap().0.clone();
    let forger = Forger::new(place.journal());
    forger.append(run, &[again]);
    forger
}

/// The control: the run beside it loses its texts.
#[test]
fn a_run_with_an_event_that_may_not_stand_keeps_its_texts() {
    let place = Place::new("nothing").without_repeats();
    let sound = ended(&place.engine());
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let config = config.replace("require = \"nothing\"", "require = \"signature\"");
    place.write("provost.toml", &config);
    let engine = place.engine();
    let run = ended(&engine);
    let length = engine.store().load(&run).unwrap().len();
    forged(&place, &engine, &run);
    let done = prune(&engine).unwrap();
    assert_eq!(done.kept, [(run.clone(), Kept::Contradicts)]);
    assert_eq!(done.payloads.runs, 1);
    assert!(is_pruned(&engine, &sound) && !is_pruned(&engine, &run));
    // What contradicts is still there to be read.
    assert_eq!(engine.store().load(&run).unwrap().len(), length + 1);
}

/// The control: without the forged event the same run loses its texts.
#[test]
fn where_heads_are_signed_nothing_goes_while_an_event_may_not_stand() {
    let place = audited("signature");
    let engine = place.engine();
    let run = ended(&engine);
    engine.sign_head().unwrap().unwrap();
    let forger = forged(&place, &engine, &run);
    let refused = prune(&engine).unwrap_err();
    assert!(
        matches!(refused, AuditError::JournalStatements(_)),
        "{refused}"
    );
    assert_eq!(place.count("RunEnded"), 1);
    assert!(engine.store().load(&run).is_ok());
    forger.put_back();
    let done = prune(&engine).unwrap();
    assert_eq!((done.kept.len(), done.payloads.runs), (0, 1));
    assert!(is_pruned(&engine, &run));
}

/// The controls: the same run where heads are signed, and one that needed no credential.
#[test]
fn a_run_that_needed_a_credential_keeps_its_texts_until_heads_are_signed() {
    for (place, kept) in [
        (Place::new("signature"), true),
        (audited("signature"), false),
        (Place::new("nothing"), false),
    ] {
        let engine = place.engine();
        let run = ended(&engine);
        let done = prune(&engine).unwrap();
        let why = done.kept.iter().map(|(_, why)| *why).collect::<Vec<_>>();
        let expected = if kept {
            vec![Kept::NoHeads]
        } else {
            Vec::new()
        };
        assert_eq!(why, expected);
        assert_eq!(is_pruned(&engine, &run), !kept);
    }
}

/// The controls: without the other process each does what it set out to do.
#[test]
fn of_who_prunes_and_who_takes_up_the_first_keeps_the_other_out() {
    let place = Place::new("nothing");
    let (worker, pruner) = (place.engine(), place.engine());
    let run = ended(&worker);
    // Found, and then claimed by somebody else: nothing goes, and the run is taken up whole.
    let found = pruner.store().ended_runs(i64::MAX).unwrap();
    assert_eq!(found.len(), 1);
    worker.store().claim(&run).wait().unwrap();
    let (dropped, _) = pruner.store().prune_payloads(found, now_ms()).unwrap();
    assert_eq!(dropped.runs, 0);
    assert_eq!(pruner.store().ended_runs(i64::MAX).unwrap().len(), 0);
    let take_up = |folded| {
        runtime().block_on(async {
            let session = worker.take_up_folded(folded, None, &mut Unwatched).await?;
            session.release().await.unwrap();
            Ok::<_, EngineError>(())
        })
    };
    take_up(worker.fold(&run).unwrap()).unwrap();
    // Looked at, and then pruned: it is not taken up from what was read before, and is nobody's.
    let folded = worker.fold(&run).unwrap();
    let found = pruner.store().ended_runs(i64::MAX).unwrap();
    let (dropped, _) = pruner.store().prune_payloads(found, now_ms()).unwrap();
    assert_eq!(dropped.runs, 1);
    let refused = take_up(folded).unwrap_err().to_string();
    assert!(refused.contains("were pruned at"), "{refused}");
    assert_eq!(pruner.store().run(&run).unwrap().owner, None);
    pruner.store().verify().unwrap();
}
