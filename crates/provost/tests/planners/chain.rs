//! A planner that comes to nothing, at the command line: the playbook after it, then a person.

use serde_json::{Value, json};
use sim::model::Scripted;

use crate::place::{Place, says_the_truth};
use crate::plans::{first, second, wrong};

/// The playbook that the place was made without.
fn with_playbook(place: &Place) {
    let playbook = include_str!("../../../../examples/incident/playbooks/latency.yaml");
    let dir = place.stage.path().join("playbooks");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("latency.yaml"), playbook).unwrap();
}

fn down() -> impl Iterator<Item = Scripted> {
    (0..4).map(|_| Scripted::status(500))
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_playbook_plans_where_the_model_fails() {
    let place = Place::new([Scripted {
        refusal: Some("I will not.".to_owned()),
        tokens: Some([10, 0, 5]),
        ..Scripted::default()
    }]);
    with_playbook(&place);
    let ran = place
        .run(&["run", place.goal(), "--planner-first"])
        .exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    assert_eq!(place.asked().len(), 1);
    let handed = &place.stage.payloads("PlanHandedOn")[0];
    assert_eq!(handed["to"]["kind"], "planner");
    let said = "model large would not answer: I will not.";
    assert_eq!(handed["reason"], said);
    // It is told as it happens, and afterwards.
    let all = flat(&ran.all());
    let line = format!("planner: failed, next is playbook latency: {said}");
    assert!(all.contains(&line), "{all}");
    let run = place.stage.only_run().unwrap();
    let trace = flat(&place.run(&["trace", &run, "--planning"]).stdout);
    let line = format!("planner: failed, next is playbook latency (request 1): {said}");
    assert!(trace.contains(&line), "{trace}");
    // The control: without the flag the playbook alone is asked.
    let place = Place::new([]);
    with_playbook(&place);
    place.run(&["run", place.goal()]).exits(0);
    assert_eq!(place.asked().len(), 0);
}

#[test]
fn a_person_is_asked_after_the_playbook_and_has_the_model_asked_again() {
    // Its criteria are the playbook's from then on, since that was asked for the goal.
    let plan = |plan: Value| {
        let text = plan
            .to_string()
            .replace("\"for\":\"goal\"", "\"for\":\"cause\"");
        let plan: Value = serde_json::from_str(&text).unwrap();
        Scripted::json(json!({ "plan": plan, "consult": ["errors"] }))
    };
    let again = [plan(first()), plan(second())];
    let place = Place::new(down().chain(again));
    with_playbook(&place);
    // The playbook is there, and its plan does not pass: a tool of its is gone.
    place.stage.edit("playbooks/latency.yaml", |text| {
        text.replace("tool: metrics.", "tool: metric.")
    });
    let ran = place
        .run(&["run", place.goal(), "--planner-first"])
        .exits(3);
    let all = flat(&ran.all());
    assert!(all.contains("R101: no tool is called"), "{all}");
    assert!(all.contains("ask model large again, or stop?"), "{all}");
    assert_eq!(place.stage.count("PlanHandedOn"), 2);
    assert_eq!(place.stage.count("AttemptStarted"), 0);
    let run = place.stage.only_run().unwrap();
    // It stands in the inbox, with what may be typed, and in the run.
    let inbox = place.run(&["inbox"]);
    let shown = place.run(&["show", &run]);
    for text in [flat(&inbox.stdout), flat(&shown.stdout)] {
        assert!(text.contains("answer one of again, stop"), "{text}");
        assert!(text.contains(&format!("amend {run} --plan FILE")), "{text}");
    }
    assert_eq!(place.run(&["inbox", "--check"]).code, Some(3));
    let ran = place.run(&["answer", &run, "again"]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
}

/// A plan of a person's own is checked like any other, and runs.
#[test]
fn a_person_may_give_a_plan_of_their_own() {
    let place = Place::new([Scripted::json(json!({ "decline": "no idea" }))]);
    place.run(&["run", place.goal()]).exits(3);
    let run = place.stage.only_run().unwrap();
    let file = place.stage.path().join("own.json");
    let mut plan = wrong();
    plan["schema"] = json!("provost/plan/v1");
    std::fs::write(&file, plan.to_string()).unwrap();
    let amended = || place.run(&["amend", &run, "--plan", &file.to_string_lossy()]);
    let ran = amended();
    assert_eq!(ran.code, Some(2), "{}", ran.all());
    assert!(ran.all().contains("R102"), "{}", ran.all());
    assert_eq!(place.status(), "waiting_answer");
    let mut plan = first();
    plan["schema"] = json!("provost/plan/v1");
    std::fs::write(&file, plan.to_string()).unwrap();
    let ran = amended();
    assert_eq!(place.stage.count("RunStarted"), 1, "{}", ran.all());
}

/// A process that dies while a person is asked asks nobody twice, and the question stays.
#[test]
fn what_waits_for_a_person_outlasts_its_process() {
    let place = Place::new(down());
    place.run(&["run", place.goal()]).exits(3);
    let run = place.stage.only_run().unwrap();
    for _ in 0..2 {
        place.run(&["resume", &run]).exits(3);
    }
    assert_eq!(place.asked().len(), 4);
    assert_eq!(place.stage.count("QuestionAsked"), 1);
    let why = flat(&place.run(&["why", &run]).stdout);
    assert!(why.contains("waits for an answer to a question"), "{why}");
}

#[test]
fn without_a_planner_nobody_is_asked_first() {
    let place = Place::without_planner([]);
    let ran = place.run(&["run", "What now?", "--planner-first"]).exits(2);
    assert!(
        flat(&ran.all()).contains("has no `[planner]`"),
        "{}",
        ran.all()
    );
    assert_eq!(place.stage.only_run(), None);
}
