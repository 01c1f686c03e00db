//! What a run waits for: one list, whatever else of the run is busy.

use std::time::Duration;

use crate::case::{Case, failed, ok};
use provost_run::outcome::{Class, Landing};
use provost_run::state::{WaitKind, waiting};
use serde_json::json;

/// A read that is tried again, two mails that policy asks about, and a question.
const BUSY: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.count.status == "succeeded" }' }
steps:
  - { id: count, tool: look.up, retry: { attempts: 5, backoff: 30s } }
  - { id: mail, tool: mail.send, args: { to: team, text: one }, accept: ['${ output.done }'] }
  - { id: other, tool: mail.send, args: { to: lead, text: two }, accept: ['${ output.done }'] }
  - { id: whose, question: { text: Whose?, answer: { type: string } } }
answer: done
"#;

fn kinds(case: &Case) -> Vec<(WaitKind, Option<String>)> {
    let all = waiting(case.state());
    all.into_iter()
        .map(|one| (one.kind, one.slot.map(|slot| slot.step)))
        .collect()
}

#[test]
fn open_cards_are_seen_while_another_branch_is_busy_or_waits_for_a_retry() {
    let step = |kind: WaitKind, step: &str| (kind, Some(step.to_owned()));
    let all = |mut found: Vec<(WaitKind, Option<String>)>| {
        found.sort();
        found
    };
    let expected = vec![
        step(WaitKind::Approval, "mail"),
        step(WaitKind::Approval, "other"),
        step(WaitKind::Answer, "whose"),
    ];
    let case = Case::new(BUSY).started();
    assert_eq!(case.status(), "running", "a read is in flight");
    assert_eq!(all(kinds(&case)), expected);
    let mut slow = failed(Class::RateLimited, Landing::None);
    slow.retry_after = Some(Duration::from_secs(60));
    let case = case.ends("count", slow);
    assert_eq!(case.status(), "running", "a retry is waited for");
    assert_eq!(all(kinds(&case)), expected);
    let first = waiting(case.state());
    assert_eq!(first.first().unwrap().kind, WaitKind::Answer);
    let card = first.iter().find(|one| one.kind == WaitKind::Approval);
    let card = card.unwrap();
    assert_eq!(card.operation.as_deref(), Some("mail.send"));
    assert_eq!((card.quorum, card.approved_by.len()), (Some(1), 0));
    assert_eq!(card.requester.as_deref(), Some("ada"));
}

/// The control is the run before it ended: then the same cards are waited for.
#[test]
fn what_is_over_waits_for_nobody() {
    let case = Case::new(BUSY).started();
    assert_eq!(kinds(&case).len(), 3);
    let ended = case.cancel("ada").ends("count", ok(json!({ "total": 4 })));
    assert_eq!(ended.status(), "cancelled");
    assert_eq!(kinds(&ended), []);
}

#[test]
fn a_write_in_doubt_waits_since_it_is_in_doubt() {
    const PAGE: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: mail, tool: mail.send, args: { to: team, text: one }, accept: ['${ output.done }'] }
answer: done
"#;
    let case = Case::new(PAGE).started().approve("ada").at(5_000);
    let case = case.ends("mail", failed(Class::Timeout, Landing::Unknown));
    assert_eq!(case.status(), "in_doubt");
    let all = waiting(case.state());
    let [one] = all.as_slice() else {
        panic!("{all:?}");
    };
    assert_eq!(one.kind, WaitKind::Settlement);
    assert_eq!(one.operation.as_deref(), Some("mail.send"));
    assert_eq!(one.asked_at, 5_000);
}
