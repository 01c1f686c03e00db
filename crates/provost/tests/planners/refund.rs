//! A scripted model makes refunds to the same end as the playbook, over two wires.

use serde_json::{Value, json};
use sim::model::{Local, Scripted};

use crate::place::{KEY, planned_by};
use crate::shop::{Shop, goal, look, plan};

fn planned(kind: &str, script: impl IntoIterator<Item = Value>) -> (Shop, Local) {
    let shop = Shop::new();
    let model = Local::start(script.into_iter().map(Scripted::json)).unwrap();
    let config = planned_by(kind, &model.url(), "");
    shop.stage.edit("provost.toml", |text| text + &config);
    (shop, model)
}

/// A small one runs by itself: before anything ran, what a model writes is as trusted as the goal.
#[track_caller]
fn refunds_once(kind: &str, path: &str) {
    let (shop, model) = planned(kind, [json!({ "plan": plan(2000, "PAY-1") })]);
    let ran = shop.run(&["run", &goal(2000, "PAY-1")]).exits(0);
    let said = "Refunded 2000 cents of pay-1.";
    assert!(ran.stdout.contains(said), "{}", ran.all());
    assert_eq!(shop.refunds(), json!([["pay-1", 2000, null]]));
    let asked = model.model().ledger();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].path, path);
    assert_eq!(asked[0].key, KEY);
}

#[test]
fn over_the_wire_of_openai() {
    refunds_once("openai", "/v1/chat/completions");
}

#[test]
fn over_the_wire_of_anthropic() {
    refunds_once("anthropic", "/v1/messages");
}

/// A larger one waits for finance, whoever planned it.
#[test]
fn a_larger_one_asks_and_is_made_once_somebody_said_yes() {
    let (shop, model) = planned("openai", [json!({ "plan": plan(9000, "PAY-1") })]);
    let asked = shop.run(&["run", &goal(9000, "PAY-1")]).exits(3);
    let needs = "needs      approval by one person of finance";
    assert!(asked.all().contains(needs), "{}", asked.all());
    assert_eq!(shop.refunds(), json!([]));
    shop.approved_by_bo(&asked);
    assert_eq!(shop.refunds(), json!([["pay-1", 9000, null]]));
    assert_eq!(model.model().ledger().len(), 1);
}

#[test]
fn a_ticket_that_is_closed_gives_nothing() {
    let (shop, _model) = planned("anthropic", [json!({ "plan": plan(2000, "PAY-3") })]);
    let ran = shop.run(&["run", &goal(2000, "PAY-3")]).exits(0);
    let said = "Nothing was refunded.";
    assert!(ran.stdout.contains(said), "{}", ran.all());
    assert_eq!(shop.refunds(), json!([]));
}

/// Planned after the ticket was read: what stands in the goal is trusted still, and another value
/// may be the choice of whoever wrote the ticket, so a person is asked, however small it is.
#[test]
fn a_revision_that_leaves_the_goal_asks() {
    let revised = |payment: &str| {
        let mut plan = plan(2000, "PAY-1");
        plan["steps"][2]["args"]["payment"] = json!(payment);
        [
            json!({ "plan": look("PAY-1"), "consult": ["ticket", "payment"] }),
            json!({ "plan": plan, "because": "the payment holds as much" }),
        ]
    };
    let (shop, model) = planned("openai", revised("pay-1"));
    shop.run(&["run", &goal(2000, "PAY-1")]).exits(0);
    assert_eq!(shop.stage.count("PlanRevised"), 1);
    assert_eq!(shop.refunds(), json!([["pay-1", 2000, null]]));
    assert_eq!(model.model().ledger().len(), 2);

    let (shop, _model) = planned("openai", revised("pay-3"));
    let asked = shop.run(&["run", &goal(2000, "PAY-1")]).exits(3).all();
    assert!(asked.contains("payment: \"pay-3\"  (untrusted"), "{asked}");
    assert!(asked.contains("untrusted-sink"), "{asked}");
    assert_eq!(shop.refunds(), json!([]));
}
