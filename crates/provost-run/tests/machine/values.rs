//! Counted values: what the calls of a run add up to, and its limit.

use std::sync::Arc;

use crate::case::world::PEOPLE;
use crate::case::{Case, failed, ok, rules_of, rules_with};
use provost_plan::amount::Amount;
use provost_plan::catalog::Operation;
use provost_plan::source::Source;
use provost_run::event::Event;
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const TWO: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.b.status == "succeeded" }' }
steps:
  - { id: a, tool: note.put, args: { to: a, count: 300 }, retry: { attempts: 3, backoff: 1s } }
  - { id: b, tool: note.put, args: { to: b, count: 200 }, needs: [a], retry: { attempts: 1, backoff: 1s } }
answer: done
"#;

fn counting(operation: &mut Operation) {
    if operation.name == "note.put" {
        let counts = ("spend".to_owned(), "count".to_owned());
        operation.values = [counts].into();
    }
}

fn case(plan: &str) -> Case {
    Case::of(rules_with(counting), plan)
}

fn limited(plan: &str, most: u64) -> Case {
    let limit = ("spend".to_owned(), Amount::of_count(most));
    case(plan).limits(|limits| limits.values = [limit].into())
}

/// The same run, as if it had been created under another limit than its plan was checked under.
fn under(mut case: Case, most: u64) -> Case {
    let Some((Event::RunCreated(created), _)) = case.journal.first_mut() else {
        panic!("a journal begins with its creation");
    };
    let limit = ("spend".to_owned(), Amount::of_count(most));
    created.limits.values = [limit].into();
    case
}

fn spent(case: &Case) -> String {
    let spent = case.state().spend.values.get("spend");
    spent.copied().unwrap_or_default().to_string()
}

/// The check compares the sum before anything runs.
#[test]
fn a_plan_that_adds_up_to_more_is_refused() {
    let case = limited(TWO, 499).begin();
    let transcript = case.transcript();
    assert!(transcript.contains("first error B509"), "{transcript}");
    assert!(!transcript.contains("> call"), "{transcript}");
    // The control: exactly the limit is within it.
    let case = limited(TWO, 500).begin();
    assert!(
        case.transcript().contains("> call a#1"),
        "{}",
        case.transcript()
    );
}

/// Before each call the run compares again, by the amounts that it is made with.
#[test]
fn a_call_that_passes_the_limit_does_not_begin() {
    let run = |most| {
        let case = limited(TWO, 500).started();
        let case = case.ends("a", failed(Class::Unavailable, Landing::None));
        // Why before it is tried again: nothing is in flight that a crash could lose.
        let case = under(case, most).crash().tick(60_000);
        // Why no more than once: the second attempt is the same call.
        assert_eq!(spent(&case), "300", "{}", case.transcript());
        case.ends("a", ok(json!({ "done": true })))
    };
    let case = run(499);
    let refused = "AdmissionRefused b: its limit of 499 of `spend` is reached: 300 is counted and \
                   this adds 200";
    assert!(case.transcript().contains(refused), "{}", case.transcript());
    assert_eq!(spent(&case), "300");
    let ended = case.state().ending.ended.as_ref().expect("the run is over");
    assert_eq!(ended.class, Some(Class::BudgetExceeded));
    // The control.
    let case = run(500);
    assert!(
        case.transcript().contains("> call b#1"),
        "{}",
        case.transcript()
    );
    assert_eq!(spent(&case), "500");
}

/// Where a call does not say how much it adds, no limit can be held.
#[test]
fn a_call_without_an_amount_does_not_begin_under_a_limit() {
    let silent = TWO.replace("{ to: b, count: 200 }", "{ to: b }");
    let tried = || {
        let case = case(&silent).started();
        case.ends("a", failed(Class::Unavailable, Landing::None))
    };
    let done = || ok(json!({ "done": true }));
    let case = under(tried(), 500).crash().tick(60_000).ends("a", done());
    let refused = "AdmissionRefused b: its limit of 500 of `spend` cannot be held";
    assert!(case.transcript().contains(refused), "{}", case.transcript());
    // The control: nobody limits it.
    let case = tried().tick(60_000).ends("a", done());
    assert!(
        case.transcript().contains("> call b#1"),
        "{}",
        case.transcript()
    );
}

/// Steps that ran stay in every revision, so what they added counts with the new ones.
#[test]
fn the_amounts_of_all_revisions_are_counted() {
    let more = "  - { id: c, tool: note.put, args: { to: c, count: 1 }, needs: [b] }\nanswer:";
    let revised = TWO.replace("answer:", more);
    let run = |most| {
        let case = limited("", most).consulting(TWO, &["a"]).replans(&revised);
        case.started().ends("a", ok(json!({ "done": true })))
    };
    let case = run(500);
    let refused = "+ PlanRefused E302 E303 E310 B509";
    assert!(case.transcript().contains(refused), "{}", case.transcript());
    // The control.
    let case = run(501);
    assert!(
        !case.transcript().contains("PlanRefused"),
        "{}",
        case.transcript()
    );
}

/// The record of an older check has no sums: policy is told of none, and not of small ones.
#[test]
fn a_plan_without_recorded_sums_is_not_taken_for_a_small_one() {
    const SMALL: &str = r#"
@id("calls")
permit (principal, action in Action::"call", resource);
@id("much-in-all")
forbid (principal, action == Action::"note.put", resource)
unless { resource.attended || context.total has spend && context.total.spend <= 500 };
"#;
    let run = |is_old: bool| {
        let rules = rules_of(&[Source::new("test.cedar", SMALL)], PEOPLE, counting);
        let case = Case::of(rules, TWO).started();
        let mut case = case.ends("a", failed(Class::Unavailable, Landing::None));
        for (event, _) in case.journal.iter_mut().filter(|_| is_old) {
            if let Event::PlanChecked { record, .. } = event {
                Arc::make_mut(record).totals.clear();
            }
        }
        case.crash().tick(60_000)
    };
    let case = run(true);
    assert!(
        case.state().open_cards().next().is_some(),
        "{}",
        case.transcript()
    );
    // The control: the same run with the sums of its plan.
    let case = run(false);
    assert!(
        case.state().open_cards().next().is_none(),
        "{}",
        case.transcript()
    );
    assert_eq!(spent(&case), "300");
}
