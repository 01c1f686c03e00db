//! Replies that come together: one input, looked at once.

use crate::case::{Case, ok};
use provost_run::call::Slot;
use provost_run::machine::{Input, StepError};
use serde_json::json;

/// Three reads at once, then one that rests on all of them.
const FAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.all.status == "succeeded" }' }
steps:
  - { id: one, tool: look.up, args: { text: one } }
  - { id: two, tool: look.up, args: { text: two } }
  - { id: three, tool: look.up, args: { text: three } }
  - { id: all, tool: look.up, args: { text: all }, needs: [one, two, three] }
answer: done
"#;

fn together(steps: &[&str]) -> Input {
    let reply = |step: &&str| {
        let slot = Slot {
            step: (*step).to_owned(),
            item: None,
        };
        (slot, 1, ok(json!({ "total": 1 })))
    };
    Input::EndedTogether {
        replies: steps.iter().map(reply).collect(),
    }
}

#[test]
fn they_are_recorded_in_their_order_and_followed_once() {
    let case = Case::new(FAN)
        .started()
        .quietly()
        .give(together(&["two", "one"]))
        .give(together(&["three"]));
    insta::assert_snapshot!(case.transcript(), @r#"
    + AttemptEnded two#1 ok happened
    + ObservationMade two data
    + StepSettled two succeeded
    + AttemptEnded one#1 ok happened
    + ObservationMade one data
    + StepSettled one succeeded
    + AttemptEnded three#1 ok happened
    + ObservationMade three data
    + StepSettled three succeeded
    + AttemptStarted all#1 permit
    > call all#1 look.up {"text":"all"}
    "#);
}

#[test]
fn one_that_is_not_in_flight_keeps_all_out() {
    let case = Case::new(FAN).started();
    let mut run = case.folded(usize::MAX);
    let (seq, status) = (run.seq(), run.state().steps["one"].status);
    let refused = run.step(together(&["one", "all"]), 1);
    assert!(
        matches!(refused.unwrap_err(), StepError::NoAttempt { slot, .. } if slot.step == "all")
    );
    assert_eq!((run.seq(), run.state().steps["one"].status), (seq, status));
}
