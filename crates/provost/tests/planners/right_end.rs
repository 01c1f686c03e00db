//! A scripted model drives the incident to the same end as the playbook, on both wires.

use serde_json::{Value, json};
use sim::model::Scripted;

use crate::place::{KEY, Place, says_the_truth};
use crate::plans::{first, right, second, strict};

#[track_caller]
fn comes_to_the_right_end(place: &Place) {
    let ran = place.run(&["run", place.goal()]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    assert_eq!(place.asked().len(), 2);
    assert_eq!(place.stage.count("PlanRevised"), 1);
    assert!(place.asked().iter().all(|asked| asked.key == KEY));
    let journal = format!("{:?}", place.stage.payloads("PlanProposed"));
    assert!(!journal.contains(KEY));
}

#[test]
fn over_the_wire_of_openai() {
    let place = Place::new(right());
    comes_to_the_right_end(&place);
    let asked = place.asked();
    let body = &asked[0].body;
    assert_eq!(asked[0].path, "/v1/chat/completions");
    assert_eq!(body["response_format"]["type"], "json_schema");
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    // The prefix that is always the same stands first.
    let system = |at: usize| asked[at].body["messages"][0].clone();
    assert_eq!(system(0)["role"], "system");
    assert_eq!(system(0), system(1));
    let text = |at: usize| asked[at].body["messages"][1]["content"].to_string();
    let (one, two) = (text(0), text(1));
    let same = one.bytes().zip(two.bytes()).take_while(|(a, b)| a == b);
    assert!(text(0).starts_with("\"# Tools"), "{}", text(0));
    assert!(
        same.count() * 10 > text(0).len() * 9,
        "the tools and the goal stand first"
    );
}

#[test]
fn over_the_wire_of_anthropic() {
    let place = Place::of_kind("anthropic", "", right());
    comes_to_the_right_end(&place);
    assert_eq!(place.asked()[0].path, "/v1/messages");
    assert!(place.asked()[0].body["output_config"]["format"]["schema"].is_object());
}

#[test]
fn over_the_wire_of_gemini() {
    let place = Place::of_kind("gemini", "", right());
    comes_to_the_right_end(&place);
    let asked = &place.asked()[0];
    assert_eq!(asked.path, "/v1/models/scripted-1:generateContent");
    let config = &asked.body["generationConfig"];
    assert!(config["responseJsonSchema"].is_object(), "{config}");
    let usage = &place.stage.payloads("BudgetSpent")[0]["usage"];
    assert_eq!(usage["cost"], "0.00292");
}

#[test]
fn in_every_form_of_the_schema() {
    for (kind, form) in [
        ("openai", "json_object"),
        ("openai", "tool"),
        ("openai", "prompt"),
        ("anthropic", "tool"),
        ("anthropic", "prompt"),
        ("gemini", "tool"),
        ("gemini", "prompt"),
    ] {
        let place = Place::of_kind(kind, &format!("schema_form = \"{form}\""), right());
        comes_to_the_right_end(&place);
        let body = place.asked()[0].body.to_string();
        assert!(
            body.contains("on_failure"),
            "{kind} {form}: the schema is sent"
        );
        let sent = &place.asked()[0].body;
        let format = sent["response_format"]["type"].as_str();
        match (kind, form) {
            ("openai", "json_object") => assert_eq!(format, Some("json_object")),
            (_, "tool") => assert!(sent["tools"].is_array(), "{kind}"),
            _ => assert_eq!(format, None),
        }
    }
}

/// What a constrained decoder writes comes to the same plan.
#[test]
fn in_the_strict_form() {
    let reply = |plan: &Value, consult: Value| {
        Scripted::json(json!({
            "plan": strict(plan), "because": null, "consult": consult,
            "questions": null, "decline": null,
        }))
    };
    let place = Place::new([
        reply(&first(), json!(["errors"])),
        reply(&second(), json!([])),
    ]);
    comes_to_the_right_end(&place);
}

#[test]
fn the_trace_says_who_planned_why_and_what_it_took() {
    let place = Place::new(right());
    place.run(&["run", place.goal()]).exits(0);
    let run = place.stage.only_run().unwrap();
    let trace = place.run(&["trace", &run, "--planning"]).exits(0).stdout;
    for words in [
        "rules: no playbook matches, so model large plans",
        "1000 tokens in (600 cached), 200 out, cost 0.00292",
        "prompt plan.v5",
        "model: scripted-1",
    ] {
        let flat = trace.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(words), "{words}\n{trace}");
    }
    let counts = place.run(&["trace", &run]).exits(0).stdout;
    let took = "2 requests, 2000 tokens in (1200 cached), 400 out, cost 0.00584";
    assert!(counts.contains(took), "{counts}");
    let usage = &place.stage.payloads("BudgetSpent")[0]["usage"];
    assert_eq!(usage["cost"], "0.00292");
}

/// The control: without a planner the goal is refused, with what to add where a key is there.
#[test]
fn nobody_plans_where_nobody_is_configured() {
    let place = Place::without_planner([]);
    let ran = place.run(&["run", place.goal()]).exits(2);
    assert!(!ran.stderr.contains("[models.large]"), "{}", ran.stderr);
    let mut command = place.command(&["run", place.goal()]);
    let output = command
        .env("ANTHROPIC_API_KEY", "sk-ant-0123456789")
        .output();
    let said = String::from_utf8(output.unwrap().stderr).unwrap();
    assert!(said.contains("kind = \"anthropic\""), "{said}");
    assert!(said.contains("key = \"env:ANTHROPIC_API_KEY\""), "{said}");
    assert!(!said.contains("sk-ant"), "{said}");
}
