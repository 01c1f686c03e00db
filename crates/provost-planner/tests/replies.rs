//! Whatever a planner replies: one reader, a defined end, and the check behind it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use provost_plan::digest::{Digest, Domain};
use provost_plan::plan::request::PlanningMode;
use provost_planner::model::{PROMPT_VERSION, reply_schema};
use serde_json::Value;

/// A text of another version has another name: whoever changes one changes the other.
#[test]
fn the_prompt_is_the_one_of_its_version() {
    let texts = [
        include_str!("../prompts/plan.v4.md"),
        include_str!("../prompts/plan.v4.single.md"),
        include_str!("../prompts/plan.v4.iterative.md"),
    ];
    let digest = Digest::of_bytes(Domain::Evidence, texts.concat().as_bytes()).to_string();
    assert_eq!(
        (PROMPT_VERSION, digest.as_str()),
        (
            "plan.v4",
            "sha256:f3d93f650681f9782457a343327d171ab1adb43d978ede292803bfd8ad72cf30"
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
