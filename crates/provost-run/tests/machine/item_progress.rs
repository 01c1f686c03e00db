//! How far an item is, by the fold of its journal: what is known of a stage ends with the stage.

use crate::case::{Case, failed, ok, reconciled, rules_with};
use provost_run::event::{Event, Settlement, StepStatus};
use provost_run::machine::Run;
use provost_run::outcome::{Class, Landing};
use provost_run::state::{Doubt, FoldError, ItemState};
use serde_json::json;

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.a.status == "succeeded" }' }
steps:
  - { id: a, tool: note.put, args: { to: a }, accept: ['${ output.done }'] }
answer: done
"#;

fn item(case: &Case) -> &ItemState {
    let (_, item) = case.state().items().next().unwrap();
    item
}

/// In doubt, and the tool is being asked about it.
fn asked() -> Case {
    Case::of(reconciled(), PLAN)
        .started()
        .ends("a", failed(Class::Timeout, Landing::Unknown))
        .tick(31_000)
}

#[test]
fn what_is_known_of_a_doubt_ends_with_it() {
    let case = asked();
    let first = item(&case).doubt().unwrap().clone();
    assert!(first.since < 31_000 && item(&case).in_flight.is_some());
    assert_eq!(first.reconcile_tries, 1);
    // A person ends the doubt while the read is in flight: it is open, and counts nothing.
    let case = case.settle("a", Settlement::DidNotHappen, None);
    assert!(item(&case).is_open() && item(&case).in_flight.is_some());
    let case = case.ends("a", failed(Class::Unavailable, Landing::None));
    assert!(item(&case).is_open() && item(&case).doubt().is_none());
    // The next doubt is another one.
    let case = case.ends("a", failed(Class::Timeout, Landing::Unknown));
    let next = Doubt {
        since: 31_000,
        final_at: Some(61_000),
        reconcile_tries: 0,
    };
    assert_eq!(item(&case).doubt(), Some(&next), "{}", case.transcript());
}

#[test]
fn a_doubt_stands_while_it_is_asked_about() {
    let case = asked().ends("a", failed(Class::Unavailable, Landing::None));
    let before = item(&case).doubt().unwrap().clone();
    assert!(item(&case).in_flight.is_none() && item(&case).retry_at.is_some());
    let case = case.tick(60_000);
    let asked = Doubt {
        reconcile_tries: before.reconcile_tries + 1,
        ..before
    };
    assert!(item(&case).in_flight.is_some());
    assert_eq!(item(&case).doubt(), Some(&asked), "{}", case.transcript());
}

/// No version of the machine ever settled an item by another status.
#[test]
fn an_item_is_settled_by_an_end_or_the_journal_does_not_fold() {
    let case = Case::of(rules_with(|_| {}), PLAN)
        .started()
        .ends("a", ok(json!({ "done": true })));
    let is_settling = |event: &Event| matches!(event, Event::StepSettled { .. });
    let at = case
        .journal
        .iter()
        .position(|(event, _)| is_settling(event));
    for settled in StepStatus::ALL {
        let mut journal = case.journal[..=at.unwrap()].to_vec();
        let Some((Event::StepSettled { status, .. }, _)) = journal.last_mut() else {
            panic!("{}", case.transcript());
        };
        *status = settled;
        let events = journal.iter().map(|(event, at)| (event, *at));
        let folded = Run::from_journal(events, rules_with(|_| {}));
        let ends = [
            StepStatus::Succeeded,
            StepStatus::Failed,
            StepStatus::Skipped,
            StepStatus::InDoubt,
        ];
        match folded {
            Ok(run) => {
                let (_, item) = run.state().items().next().unwrap();
                assert_eq!(item.status(), Some(settled));
                assert!(ends.contains(&settled), "{}", settled.word());
            }
            Err(FoldError::NotSettled { slot, status }) => {
                assert_eq!((slot.as_str(), status), ("a", settled));
                assert!(!ends.contains(&settled), "{}", settled.word());
            }
            Err(other) => panic!("{other}"),
        }
    }
}
