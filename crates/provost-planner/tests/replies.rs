//! Whatever a planner replies: one reader, a defined end, and the check behind it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::read::read_plan;
use provost_plan::plan::request::{PlanReply, PlanRequest, PlanningMode, RequestKind};
use provost_plan::plan::{Goal, Limits};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use provost_planner::model::{PROMPT_VERSION, read_text, reply_schema};
use serde_json::{Value, json};

/// A text of another version has another name: whoever changes one changes the other.
#[test]
fn the_prompt_is_the_one_of_its_version() {
    let texts = [
        include_str!("../prompts/plan.v5.md"),
        include_str!("../prompts/plan.v5.single.md"),
        include_str!("../prompts/plan.v5.iterative.md"),
    ];
    let digest = Digest::of_bytes(Domain::Evidence, texts.concat().as_bytes()).to_string();
    assert_eq!(
        (PROMPT_VERSION, digest.as_str()),
        (
            "plan.v5",
            "sha256:b1eff3bc46f9b2d83a05ff7d78e96c22ee56293fee224182dfc7055281fa1f33"
        )
    );
}

/// What constrained decoders take: closed objects, every key required, no `maxItems`.
#[test]
fn the_strict_schema_is_in_the_subset_of_every_provider() {
    fn walk(schema: &Value) {
        match schema {
            Value::Object(map) => {
                if map.get("type") == Some(&"object".into()) {
                    let mut names: Vec<&str> = map["properties"]
                        .as_object()
                        .unwrap()
                        .keys()
                        .map(String::as_str)
                        .collect();
                    let mut required: Vec<&str> = map["required"]
                        .as_array()
                        .unwrap()
                        .iter()
                        .filter_map(Value::as_str)
                        .collect();
                    names.sort_unstable();
                    required.sort_unstable();
                    assert_eq!(names, required);
                    assert_eq!(map["additionalProperties"], false);
                }
                assert!(!map.contains_key("maxItems") && !map.contains_key("oneOf"));
                map.values().for_each(walk);
            }
            Value::Array(items) => items.iter().for_each(walk),
            _ => {}
        }
    }
    for mode in [
        None,
        Some(PlanningMode::Single),
        Some(PlanningMode::Iterative),
    ] {
        walk(&reply_schema(mode));
    }
}

/// A decoder that is constrained can say what must hold: a step that calls nothing.
#[test]
fn an_assertion_fits_the_strict_form_and_is_read() {
    let step = |fields: Value| {
        let mut step = json!({
            "id": "a", "description": "d", "tool": null, "args": null, "assert": null,
            "message": null, "needs": [], "when": null, "for_each": null, "max_items": null,
            "accept": [], "on_failure": null,
        });
        let map = step.as_object_mut().unwrap();
        map.extend(fields.as_object().unwrap().clone());
        step
    };
    let read = json!({ "id": "stock", "tool": "stock.free", "args": "{}" });
    let holds = "${ steps.stock.output.free > 0 }";
    let enough = json!({ "id": "enough", "assert": holds, "message": "none is free" });
    let reply = json!({
        "plan": {
            "let": null, "steps": [step(read), step(enough)],
            "success": [{ "for": "goal", "check": "${ steps.enough.status == 'succeeded' }" }],
            "answer": [{ "text": "Some is free.", "when": null, "cites": ["stock"] }],
        },
        "because": null, "consult": [], "questions": null, "decline": null,
    });
    let form = Schema::compile(reply_schema(Some(PlanningMode::Single))).unwrap();
    assert!(form.admits(&reply));
    let request = PlanRequest {
        id: 1,
        kind: RequestKind::Propose,
        mode: Some(PlanningMode::Single),
        goal: Goal::of_text("Say whether some is free"),
        tools: Vec::new(),
        roles: Vec::new(),
        plan: None,
        observations: Default::default(),
        diagnostics: Vec::new(),
        proposal: None,
        answers: Vec::new(),
        why: None,
        envelope: None,
        limits: Limits::default(),
    };
    let PlanReply::Plan { text, .. } = read_text("large", &request, &reply.to_string()) else {
        panic!("no plan: {reply}");
    };
    let plan = read_plan(&Source::new("reply", text.as_str())).unwrap();
    let asserted = plan.steps[1].assertion().unwrap();
    assert_eq!(asserted.condition.text(), holds);
    assert!(asserted.message.is_some());
    assert!(
        plan.steps[0].assertion().is_none(),
        "the control: a call is none"
    );
}
