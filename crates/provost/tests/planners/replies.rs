//! What a model says that is no plan, or a wrong one: each comes to a defined end.

use serde_json::{Value, json};
use sim::model::Scripted;

use crate::place::{KEY, Place, says_the_truth};
use crate::plans::{first, right, second, wrong};

fn plan(plan: &Value) -> Scripted {
    Scripted::json(json!({ "plan": plan }))
}

#[test]
fn what_is_wrong_goes_back_and_is_repaired() {
    let [one, two] = right();
    let place = Place::new([plan(&wrong()), one, two]);
    let ran = place.run(&["run", place.goal()]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    assert_eq!(place.stage.count("PlanRefused"), 1);
    let asked = place.asked();
    assert_eq!(asked.len(), 3);
    let again = asked[1].body["messages"][1]["content"].as_str().unwrap();
    for words in [
        "# Your last proposal, which was refused",
        "steps.nobody.output",
        "# Findings about it",
        "\"code\":\"R102\"",
    ] {
        assert!(again.contains(words), "{words}\n{again}");
    }
}

/// A code fence, words around it, raw control characters, a plan by itself: read as what is meant.
#[test]
fn what_can_be_read_is_read() {
    let revised = second().to_string();
    let bare = first().to_string();
    for (one, two) in [
        (
            format!("```json\n{{\"plan\":{bare},\"consult\":[\"errors\"]}}\n```"),
            revised.clone(),
        ),
        (
            format!("Here it is:\n{{\"plan\":{bare},\"consult\":[\"errors\"]}}\nGood luck!"),
            revised,
        ),
    ] {
        let place = Place::new([Scripted::text(&one), Scripted::text(&two)]);
        place.run(&["run", place.goal()]).exits(0);
        assert_eq!(place.stage.count("PlanRefused"), 0);
    }
    let mut raw = first();
    raw["steps"][0]["description"] = json!("Find the service LINE");
    let raw = json!({ "plan": raw, "consult": ["errors"] }).to_string();
    let place = Place::new([
        Scripted::text(&raw.replace("LINE", "by\n\tname")),
        plan(&{
            let mut plan = second();
            plan["steps"][0]["description"] = json!("Find the service by\n\tname");
            plan
        }),
    ]);
    place.run(&["run", place.goal()]).exits(0);
    assert_eq!(place.stage.count("PlanRefused"), 0);
}

/// Replies, and what a person is told of them, who lets the run end.
#[test]
fn what_cannot_waits_for_a_person_with_a_reason() {
    let vague = json!({ "steps": [{ "id": "a", "tool": "nobody.knows" }] });
    let cut = Scripted {
        cut: true,
        ..Scripted::text("{\"plan\":{\"steps\":[{\"id\":")
    };
    let refusal = Scripted {
        refusal: Some("I will not look into that.".to_owned()),
        tokens: Some([10, 0, 5]),
        ..Scripted::default()
    };
    let html = Scripted {
        raw: Some("<html>".to_owned()),
        ..Scripted::default()
    };
    let odd = Scripted {
        raw: Some("{\"what\": \"ever\"}".to_owned()),
        ..Scripted::default()
    };
    let key = Scripted {
        text: Some(format!("the key {KEY} is wrong")),
        ..Scripted::status(401)
    };
    let text = Scripted::text;
    let cases: Vec<(&str, Vec<Scripted>, &str)> = vec![
        (
            "garbage",
            vec![
                text("I think"),
                text("that we should"),
                text("look into it"),
            ],
            "3 proposals were inadmissible; first error P001: the reply is no JSON object",
        ),
        (
            "the same garbage",
            vec![text("no"), text("no")],
            "the same inadmissible plan again",
        ),
        (
            "no plan",
            vec![text("{}"), text("{ }"), text("{\"a\":1}")],
            "P005: the reply holds none",
        ),
        (
            "a list",
            vec![text("[]"), text("[1]"), text("[2]")],
            "the reply is no JSON object",
        ),
        (
            "both",
            vec![text(r#"{"plan":{"steps":[]},"decline":"no"}"#); 2],
            "holds more than one of",
        ),
        (
            "nonsense that fits",
            vec![plan(&vague), plan(&vague)],
            "R101",
        ),
        (
            "cut",
            vec![cut.clone(), cut],
            "the reply was cut off after 8192 tokens",
        ),
        (
            "refusal",
            vec![refusal],
            "model large would not answer: I will not look into that.",
        ),
        (
            "decline",
            vec![Scripted::json(json!({ "decline": "no tool does that" }))],
            "model large: no tool does that",
        ),
        ("html", vec![html], "what it answered cannot be read"),
        ("another protocol", vec![odd], "model large:"),
        (
            "a key that is not taken",
            vec![key],
            "does not take the key",
        ),
        ("no script", vec![], "does not take the request: status 404"),
        (
            "bad questions",
            vec![Scripted::json(json!({ "questions": [{ "id": "a" }] })); 2],
            "a question has an `id` and a `text`",
        ),
    ];
    for (name, script, said) in cases {
        let place = Place::new(script);
        let ran = place.run(&["run", place.goal()]);
        assert!(!ran.all().contains(KEY), "{name}");
        assert!(ran.all().contains("question: there is no plan: "), "{name}");
        let ended = ran.all() + &place.stopped(&ran).all();
        let flat = ended.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(said), "{name}: {said}\n{ended}");
        assert_eq!(place.stage.count("AttemptStarted"), 0, "{name}");
        assert_eq!(place.stage.count("PlanChecked"), 0, "{name}");
    }
}

#[test]
fn a_server_that_wants_a_moment_gets_it() {
    let [one, two] = right();
    let wait = Scripted {
        retry_after: Some(1),
        ..Scripted::status(429)
    };
    let place = Place::new([wait, Scripted::status(503), one, two]);
    let begun = std::time::Instant::now();
    let ran = place.run(&["run", place.goal()]).exits(0);
    assert!(begun.elapsed().as_secs() >= 1);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    assert_eq!(place.asked().len(), 4);
    assert_eq!(
        place.stage.payloads("BudgetSpent")[0]["usage"]["requests"],
        3
    );
}

#[test]
fn a_server_that_never_answers_is_left() {
    let place = Place::new((0..4).map(|_| Scripted::status(500)));
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert!(ran.all().contains("asked 4 times"), "{}", ran.all());
    // A wait that is too long to sit out ends it at once.
    let long = Scripted {
        retry_after: Some(600),
        ..Scripted::status(429)
    };
    let place = Place::new([long]);
    let begun = std::time::Instant::now();
    place.run(&["run", place.goal()]).exits(3);
    assert!(begun.elapsed().as_secs() < 20);
    // Nobody there at all.
    let place = Place::new([]);
    let url = place.model.url();
    place.stage.edit("provost.toml", |text| {
        text.replace(&url, "http://127.0.0.1:1/v1")
    });
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert!(
        ran.all().contains("its server cannot be reached"),
        "{}",
        ran.all()
    );
}

/// What was asked for and may have been paid is not asked for twice.
#[test]
fn a_slow_model_is_left_after_its_time() {
    let slow = Scripted {
        delay_ms: 5_000,
        ..Scripted::text("late")
    };
    let place = Place::of_kind("openai", "timeout = \"300ms\"", [slow]);
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert!(
        ran.all().contains("no whole answer within 300ms"),
        "{}",
        ran.all()
    );
    assert_eq!(place.asked().len(), 1);
    assert_eq!(
        place.stage.payloads("BudgetSpent")[0]["usage"]["unknown"],
        true
    );
}

#[test]
fn a_question_is_put_to_the_person() {
    let ask = json!({ "questions": [{ "id": "which", "text": "Which service?" }] });
    let [one, two] = right();
    let place = Place::new([Scripted::json(ask), one, two]);
    place.run(&["run", place.goal()]).exits(3);
    let run = place.stage.only_run().unwrap();
    let ran = place.run(&["answer", &run, "Payment API"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    says_the_truth(&ran.stdout, &place.dataset.truth);
    let again = place.asked()[1].body["messages"][1]["content"].to_string();
    assert!(again.contains("# Answers of people"), "{again}");
}

/// The check before a run: what is wrong goes back there too, and nothing is begun.
#[test]
fn plan_repairs_as_a_run_does() {
    let place = Place::new([plan(&wrong()), plan(&first())]);
    let ran = place.run(&["plan", place.goal()]).exits(0);
    assert!(ran.stdout.contains("same_symptom"), "{}", ran.stdout);
    assert_eq!(place.asked().len(), 2);
    assert_eq!(place.stage.only_run(), None);
}
