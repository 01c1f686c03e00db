//! Limits: what a run may use up, and what happens when it has.

use crate::case::{Case, failed, ok};
use provost_plan::catalog::{Cost, Operation, Tokens};
use provost_plan::money::Money;
use provost_run::outcome::{Class, Landing, Reply, Used};
use serde_json::json;

const THREE: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.c.status == "succeeded" }' }
steps:
  - { id: a, tool: look.up, args: { to: a }, retry: { attempts: 1, backoff: 1s }, on_failure: continue }
  - { id: b, tool: look.up, args: { to: b }, retry: { attempts: 1, backoff: 1s } }
  - { id: c, tool: look.up, args: { to: c }, needs: [a, b], retry: { attempts: 1, backoff: 1s } }
answer: done
"#;

/// The worst case of a plan is compared with the limits before it runs.
#[test]
fn a_plan_that_cannot_stay_within_its_calls_is_refused() {
    let case = Case::new(THREE).limits(|limits| limits.calls = 2).begin();
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanRefused B502 S702 S702 S704
    + PlanRequested
    > plan request 2
    + PlanGivenUp: nothing better is known
    + RunEnded refused: nothing better is known; first error B502: up to 3 calls, more than the limit of 2
    > done refused
    ");
}

/// Steps that ran stay in every revision, so their calls are counted with the new ones.
#[test]
fn the_calls_of_all_revisions_are_counted() {
    let more = "  - { id: d, tool: look.up, args: { to: d } }\nanswer:";
    let revised = THREE.replace("answer:", more);
    let case = Case::new("")
        .consulting(THREE, &["a"])
        .replans(&revised)
        .limits(|limits| limits.calls = 3)
        .started()
        .ends("a", ok(json!({ "total": 1 })))
        .ends("b", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < a#1 ok happened
    + AttemptEnded a#1 ok happened
    + ObservationMade a data
    + StepSettled a succeeded
    + ReplanRequested observed
    < b#1 ok happened
    + AttemptEnded b#1 ok happened
    + ObservationMade b data
    + StepSettled b succeeded
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanRefused B502 S702 S702 S702 S704
    + PlanRequested
    > plan request 3: observed
    + PlanGivenUp: nothing better is known
    + AttemptStarted c#1 permit
    > call c#1 look.up {"to":"c"}
    "#);
}

/// Attempts lost with a process are not counted against the step, but they are against the run.
#[test]
fn the_attempts_of_a_run_have_an_end_even_across_crashes() {
    let case = Case::new(THREE)
        .limits(|limits| limits.attempts = 5)
        .started()
        .crash()
        .quietly()
        .crash()
        .ends("a", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 2 lost
    + AttemptEnded a#2 unavailable unknown lost
    + AttemptEnded b#2 unavailable unknown lost
    + AttemptStarted a#3 permit
    + AdmissionRefused b: its limit of 5 attempts is reached
    > call a#3 look.up {"to":"a"}
    < a#3 ok happened
    + AttemptEnded a#3 ok happened
    + ObservationMade a data
    + StepSettled a succeeded
    + RunEnded failed: no other call may begin: its limit of 5 attempts is reached
    > done failed
    "#);
}

fn money(text: &str) -> Option<Money> {
    Some(Money::parse(text).unwrap())
}

/// The same plan, of which two processes lose two attempts each.
fn losing(cost: Option<Cost>, limits: impl FnOnce(&mut provost_plan::plan::Limits)) -> Case {
    let priced = move |operation: &mut Operation| operation.cost.clone_from(&cost);
    Case::of(crate::case::rules_with(priced), THREE)
        .limits(limits)
        .started()
        .crash()
        .quietly()
        .crash()
}

/// What an attempt can cost is reserved with its intent, and is not given back where nobody counts:
/// five attempts at one each leave nothing for a sixth.
#[test]
fn no_attempt_begins_that_could_pass_the_limit_on_money() {
    let cost = || {
        Some(Cost {
            money: money("1.00"),
            ..Cost::default()
        })
    };
    let case = losing(cost(), |limits| limits.money = money("5.999999"));
    let refused = "AdmissionRefused b: its limit of 5.999999 in money is reached: 5.00 is \
                   reserved and this may cost 1.00";
    assert!(case.transcript().contains(refused), "{}", case.transcript());
    assert_eq!(case.state().spend.money, Money::parse("5.00").unwrap());
    let case = case.ends("a", ok(json!({ "total": 1 })));
    let ended = case.state().ending.ended.as_ref().expect("the run is over");
    assert_eq!(ended.class, Some(Class::BudgetExceeded));
    // The controls: a millionth more is enough, and what nothing prices is not counted.
    let case = losing(cost(), |limits| limits.money = money("6.00"));
    assert!(!case.transcript().contains("AdmissionRefused"));
    let case = losing(None, |limits| limits.money = money("5.00"));
    assert!(!case.transcript().contains("AdmissionRefused"));
    assert_eq!(case.state().spend.money, Money::ZERO);
}

/// Where nothing else bounds what is sent, its bytes do: `{"to":"a"}` has ten.
#[test]
fn no_attempt_begins_that_could_pass_the_limit_on_tokens() {
    let cost = || {
        Some(Cost {
            tokens_in: Some(Tokens::default()),
            tokens_out: Some(Tokens {
                max: Some(90),
                price: None,
            }),
            ..Cost::default()
        })
    };
    let case = losing(cost(), |limits| limits.tokens = Some(599));
    let refused = "AdmissionRefused b: its limit of 599 tokens is reached: 500 are reserved and \
                   this may take 100";
    assert!(case.transcript().contains(refused), "{}", case.transcript());
    let case = losing(cost(), |limits| limits.tokens = Some(600));
    assert!(!case.transcript().contains("AdmissionRefused"));
    assert_eq!(case.state().spend.tokens, 600);
}

/// What a model counted takes the place of what was reserved; what it did not, stays reserved.
#[test]
fn what_an_attempt_took_of_a_model_is_settled() {
    let cost = Cost {
        money: money("1.00"),
        ..Cost::default()
    };
    let priced = move |operation: &mut Operation| operation.cost = Some(cost.clone());
    let begun = || Case::of(crate::case::rules_with(priced.clone()), THREE).started();
    let reserved = begun().state().spend.money;
    let used = |cost: Option<&str>| Reply {
        used: Some(Used {
            model: "large".to_owned(),
            prompt: "tool.v1".to_owned(),
            tokens_in: 70,
            tokens_cached: 0,
            tokens_out: 7,
            cost: cost.and_then(money),
        }),
        ..ok(json!({ "total": 1 }))
    };
    let one = Money::parse("1.00").unwrap();
    for (reply, money, tokens) in [
        (
            used(Some("0.25")),
            reserved
                .saturating_sub(one)
                .saturating_add(Money::parse("0.25").unwrap()),
            77,
        ),
        (used(None), reserved, 77),
        (ok(json!({ "total": 1 })), reserved, 0),
    ] {
        let case = begun().ends("a", reply);
        assert_eq!(
            (case.state().spend.money, case.state().spend.tokens),
            (money, tokens)
        );
    }
}

/// The check refuses what could not stay within the limit even without a loss.
#[test]
fn a_plan_that_cannot_stay_within_its_money_is_refused() {
    let priced = |operation: &mut Operation| {
        operation.cost = Some(Cost {
            money: money("1.00"),
            ..Cost::default()
        });
    };
    let case = Case::of(crate::case::rules_with(priced), THREE)
        .limits(|limits| limits.money = money("2.50"))
        .begin();
    let refused = "B506: up to 3.00 in money, 0.50 more than the limit of 2.50";
    assert!(case.transcript().contains(refused), "{}", case.transcript());
}

#[test]
fn a_plan_narrows_the_limits_of_its_run() {
    let plan = THREE.replace("steps:", "limits: { concurrency: 1 }\nsteps:");
    assert_eq!(Case::new(&plan).started().state().in_flight(), 1);
    let wider = THREE.replace("steps:", "limits: { concurrency: 9 }\nsteps:");
    let case = Case::new(&wider).limits(|limits| limits.concurrency = 1);
    assert_eq!(case.started().state().in_flight(), 1);
}

#[test]
fn concurrency_bounds_what_is_in_flight() {
    let case = Case::new(THREE)
        .limits(|limits| limits.concurrency = 1)
        .started();
    assert_eq!(case.state().in_flight(), 1);
    let case = case.ends("a", ok(json!({ "total": 1 })));
    assert_eq!(case.state().in_flight(), 1);
    assert_eq!(
        Case::new(THREE).started().state().in_flight(),
        2,
        "the control: no bound"
    );
}

const WAITS: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.look.status == "succeeded" }' }
steps:
  - { id: mail, tool: mail.send, args: { to: team }, accept: ['${ output.done }'] }
  - { id: look, tool: look.up, needs: [mail] }
answer: done
"#;

#[test]
fn time_spent_waiting_for_people_does_not_count() {
    let case = Case::new(WAITS)
        .limits(|limits| limits.wall_ms = 60_000)
        .started()
        .at(86_400_000)
        .approve("ada")
        .ends("mail", ok(json!({ "done": true })));
    assert_eq!(case.state().spend.active_ms, 0);
    assert_eq!(case.state().in_flight(), 1);
}

#[test]
fn time_in_which_no_process_ran_does_not_count() {
    let case = Case::new(THREE)
        .limits(|limits| limits.wall_ms = 60_000)
        .started();
    let case = case.at(86_400_000).crash();
    assert_eq!(case.state().spend.active_ms, 0);
}

#[test]
fn time_spent_running_counts_and_has_an_end() {
    let case = Case::new(WAITS)
        .limits(|limits| limits.wall_ms = 60_000)
        .started()
        .approve("ada")
        .quietly()
        .at(61_000)
        .ends("mail", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @"
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail data
    + StepSettled mail succeeded
    + AdmissionRefused look: its limit of 60000 ms of running is reached
    + RunEnded failed: no other call may begin: its limit of 60000 ms of running is reached
    > done failed
    ");
}

/// A limit does not cut off what is in flight, and a clock that goes back does no harm.
#[test]
fn what_is_in_flight_settles_before_a_limit_ends_the_run() {
    let plan = THREE.replace("needs: [a, b], ", "");
    let case = Case::new(&plan)
        .limits(|limits| limits.wall_ms = 30_000)
        .limits(|limits| limits.concurrency = 2)
        .started()
        .at(40_000)
        .ends("a", failed(Class::NotFound, Landing::None))
        .at(3)
        .ends("b", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < a#1 not_found none
    + AttemptEnded a#1 not_found none
    + StepSettled a failed not_found: it went wrong
    + AdmissionRefused c: its limit of 30000 ms of running is reached
    < b#1 ok happened
    + AttemptEnded b#1 ok happened
    + ObservationMade b data
    + StepSettled b succeeded
    + RunEnded failed: no other call may begin: its limit of 30000 ms of running is reached
    > done failed
    ");
}
