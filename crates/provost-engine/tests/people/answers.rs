//! Many people at once, many restarts, and people who are too late.

use std::sync::{Arc, Barrier};

use provost_engine::clock::now_ms;
use provost_engine::engine::EngineError;
use provost_engine::people::{Statement, StatementError};
use provost_engine::session::{DriveEnd, DriveError, Unwatched};
use provost_run::event::RunStatus;
use provost_run::machine::StepError;

use super::place::{Place, RecordingWatcher, begin, card, count, drive, runtime, shared, yes};

/// One answer, as a process of its own gives it: taken up where nobody drives the run, else
/// posted, and then tried once more.
fn answer(place: &Place, run: &str, by: &str, yes_or_no: bool) -> bool {
    let engine = place.engine();
    let record = engine.read(run).unwrap();
    let Some((open, _)) = record.run.state().open_cards().next() else {
        return false;
    };
    let mut word = yes(&engine, record.run.state(), by);
    if !yes_or_no {
        word.statement = Statement::Reject {
            card: *open,
            reason: "no".to_owned(),
            all: false,
        };
    }
    let became = || engine.store().became(run, &word.to_text()).unwrap();
    runtime().block_on(async {
        let (mut said, mut posted) = (None, false);
        loop {
            match engine.take_up(run, &mut Unwatched).await {
                Ok(mut session) => {
                    if said.is_none() && !posted {
                        said = Some(session.hear(&word, &mut Unwatched).await.is_ok());
                    }
                    drive(&mut session).await;
                    session.release().await.unwrap();
                    // Why once more: somebody may have posted a word before the run was free.
                    if engine.store().untaken(run).unwrap().is_empty() {
                        return said.unwrap_or_else(|| became().as_deref() == Some("taken"));
                    }
                }
                Err(EngineError::Held { .. }) => {
                    if let Some(said) = said {
                        return said;
                    }
                    if let Some(became) = became() {
                        return became == "taken";
                    }
                    if !std::mem::replace(&mut posted, true) {
                        let text = word.to_text();
                        engine.store().post(run, &text, now_ms()).await.unwrap();
                    }
                    tokio::task::yield_now().await;
                }
                Err(error) => panic!("{error}"),
            }
        }
    })
}

#[test]
fn of_a_hundred_answers_at_once_one_counts() {
    let place = shared(Place::new("nothing"));
    let run = place.waiting();
    let all = count(100);
    let together = Arc::new(Barrier::new(all));
    let threads: Vec<_> = (0..all)
        .map(|n| {
            let (place, run, together) = (place.clone(), run.clone(), together.clone());
            std::thread::spawn(move || {
                together.wait();
                answer(&place, &run, ["bo", "eve", "dan"][n % 3], n % 7 != 0)
            })
        })
        .collect();
    let counted = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .filter(|counted| *counted)
        .count();
    assert_eq!(counted, 1);
    assert_eq!(
        place.count("ApprovalGiven") + place.count("ApprovalRejected"),
        1
    );
    assert_eq!(place.count("RunEnded"), 1);
    let engine = place.engine();
    assert!(engine.store().untaken(&run).unwrap().is_empty());
    engine.store().verify().unwrap();
}

#[test]
fn a_hundred_restarts_lose_neither_the_card_nor_a_word() {
    let place = Place::new("nothing");
    let run = place.waiting();
    let waits = card(place.engine().read(&run).unwrap().run.state());
    let all = count(100);
    let runtime = runtime();
    for restart in 0..all {
        let engine = place.engine();
        if restart == all / 2 {
            // Why by somebody who may not: it must be there, heard, and change nothing.
            let word = yes(&engine, engine.read(&run).unwrap().run.state(), "ada");
            let posted = engine.store().post(&run, &word.to_text(), now_ms());
            runtime.block_on(posted).unwrap();
            assert_eq!(
                engine.store().runs_with_posted().unwrap(),
                std::slice::from_ref(&run)
            );
            continue;
        }
        runtime.block_on(async {
            let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
            let mut ear = RecordingWatcher::default();
            let (_keep, mut halt) = tokio::sync::watch::channel(false);
            assert_eq!(
                session.drive(&mut ear, &mut halt).await.unwrap(),
                DriveEnd::Waiting
            );
            assert_eq!(ear.ignored.len(), usize::from(restart == all / 2 + 1));
            assert_eq!(card(session.state()), waits);
            // Why no release: the process is gone, and so is its lock.
            drop(session);
        });
    }
    let engine = place.engine();
    runtime.block_on(async {
        let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
        let word = yes(&engine, session.state(), "bo");
        session.hear(&word, &mut Unwatched).await.unwrap();
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(end) if end.status == RunStatus::Succeeded));
    });
}

#[test]
fn a_word_to_a_card_that_lapsed_never_approves() {
    for posted_in_time in [true, false] {
        let place = Place::new("nothing");
        place.asks("@expires(\"1s\")");
        let run = place.waiting();
        let engine = place.engine();
        let record = engine.read(&run).unwrap();
        let state = record.run.state();
        let lapses = state.open_cards().next().unwrap().1.expires_at.unwrap();
        let word = yes(&engine, state, "bo");
        assert_eq!(word.expires_at, lapses, "a word lapses with its card");
        let post = || {
            let posted = engine.store().post(&run, &word.to_text(), now_ms());
            runtime().block_on(posted).unwrap();
        };
        if posted_in_time {
            post();
        }
        while now_ms() < lapses {
            std::thread::yield_now();
        }
        if !posted_in_time {
            post();
        }
        let mut ear = RecordingWatcher::default();
        let stop = runtime().block_on(async {
            let mut session = engine.take_up(&run, &mut ear).await.unwrap();
            let (_keep, mut halt) = tokio::sync::watch::channel(false);
            session.drive(&mut ear, &mut halt).await.unwrap()
        });
        assert!(matches!(stop, DriveEnd::Ended(end) if end.status == RunStatus::Expired));
        assert_eq!(ear.ignored.len(), 1, "{:?}", ear.ignored);
        assert_eq!(
            (place.count("ApprovalGiven"), place.count("AttemptStarted")),
            (0, 0)
        );
    }
}

#[test]
fn two_of_four_must_be_two_and_neither_of_them_who_asked() {
    let place = Place::new("signature");
    place.asks("@quorum(\"2\")");
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = begin(&engine).await;
        let say = |state: &provost_run::state::State, by: &str| {
            yes(&engine, state, by).signed_with(&super::place::key(by))
        };
        let mut heard = Vec::new();
        for by in ["ada", "bo", "bo", "eve", "dan"] {
            let Some(_) = session.state().open_cards().next() else {
                heard.push(format!("{by}: nothing waits"));
                continue;
            };
            let word = say(session.state(), by);
            let result = session.hear(&word, &mut Unwatched).await;
            heard.push(match result {
                Ok(()) => format!("{by}: counts"),
                Err(error) => format!("{by}: {error}"),
            });
        }
        insta::assert_snapshot!(heard.join("\n"), @"
        ada: `ada` may not approve: `ada` requested this run, and another person must approve it
        bo: counts
        bo: `bo` may not approve: they already approved, and more approvals are needed
        eve: counts
        dan: nothing waits
        ");
        assert!(matches!(drive(&mut session).await, DriveEnd::Ended(_)));
    });
}

#[test]
fn where_signatures_are_required_nothing_bare_gets_in() {
    let place = Place::new("signature");
    let engine = place.engine();
    runtime().block_on(async {
        let mut session = begin(&engine).await;
        let bo = engine.workspace().people().principal("bo");
        let yes_to_all = Statement::Approve {
            card: card(session.state()),
            steps: Vec::new(),
        };
        let bare = provost_run::machine::Input::unsigned(bo, yes_to_all);
        let refused = session.give(bare, &mut Unwatched).await.unwrap_err();
        assert!(
            matches!(
                refused,
                DriveError::Statement(StatementError::Unsigned { .. })
            ),
            "{refused}"
        );
        let word = yes(&engine, session.state(), "bo");
        let refused = session.hear(&word, &mut Unwatched).await.unwrap_err();
        assert!(
            matches!(
                refused,
                DriveError::Statement(StatementError::Unsigned { .. })
            ),
            "{refused}"
        );
        // The control: signed, it counts, and once.
        let word = word.signed_with(&super::place::key("bo"));
        session.hear(&word, &mut Unwatched).await.unwrap();
        let refused = session.hear(&word, &mut Unwatched).await.unwrap_err();
        assert!(
            matches!(refused, DriveError::Step(StepError::Replayed { .. })),
            "{refused}"
        );
    });
}
