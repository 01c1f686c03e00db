//! A run is amended on its page: what was typed is checked, kept while it has errors, and bound to
//! the revision that was read.

use serde_json::{Value, json};

use super::browser::{Browser, text_of};
use super::served::{Served, note, team, token};

#[test]
fn a_plan_and_a_goal_are_amended_on_the_page() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = server.begin(&ada, &note("a"));
    server.card(&ada, &run);
    let browser = Browser::of(&server, &place, "ada");
    let path = format!("/runs/{run}/amend");
    let linked = browser.open(&format!("/runs/{run}")).is(200);
    assert!(linked.body.contains(&format!("href=\"{path}\"")));
    let page = browser.open(&path).is(200).body;
    let plan = text_of(&page, "<textarea id=\"plan\"");
    let goal = text_of(&page, "<textarea id=\"goal\"");
    assert_eq!(goal, note("a"));
    let document: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(document["steps"][1]["id"], "note", "{document}");
    let amend = |plan: &str, goal: &str, reason: &str, revision: &str| {
        let fields = [
            ("nonce", "0123456789"),
            ("revision", revision),
            ("goal", goal),
            ("plan", plan),
            ("reason", reason),
        ];
        browser.send(&path, &fields)
    };
    // Errors are shown beside what was typed, which is not lost; nothing was said.
    let wrong = plan.replace("notes.write", "notes.wrote");
    let refused = amend(&wrong, &goal, "better", "1").is(422).body;
    assert!(
        refused.contains("id=\"findings\"") && refused.contains("notes.wrote"),
        "{refused}"
    );
    assert_eq!(text_of(&refused, "<textarea id=\"plan\""), wrong);
    for (plan, reason, words) in [
        (
            plan.as_str(),
            "better",
            "neither the goal nor the plan was changed",
        ),
        (
            &*plan.replace("orders\"", "bestellt\""),
            "",
            "the reason is missing",
        ),
    ] {
        let refused = amend(plan, &goal, reason, "1").is(422).body;
        assert!(refused.contains(words), "{refused}");
    }
    let before = server.get(&ada, &format!("/v1/runs/{run}")).json();
    assert_eq!(before["revision"], 1, "{before}");
    // The plan, then the goal.
    let better = plan.replace(" orders\"", " orders, counted by hand\"");
    assert_ne!(better, plan);
    amend(&better, &goal, "better", "1").is(303);
    let now = server.get(&ada, &format!("/v1/runs/{run}")).json();
    assert_eq!(now["revision"], 2, "{now}");
    // What was read at the first revision is not put in the place of the second.
    let late = amend(&plan, &goal, "late", "1").is(409).body;
    assert!(
        late.contains("counted by hand"),
        "what stands is shown: {late}"
    );
    // Who amended it is one of those who asked; another one says yes.
    let card = server.card(&ada, &run);
    let approve = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    assert_eq!(
        server.ask(&ada, &to, &approve).is(403).problem(),
        "not-allowed"
    );
    let bo = token(&place, "bo", "bo", &[]);
    server.ask(&bo, &to, &approve).is(200);
    server.until(&ada, &run, "succeeded");
    let written = std::fs::read_to_string(place.path("notes/note-a.txt")).unwrap();
    assert!(written.ends_with("counted by hand"), "{written}");
    // A run that ended is not amended.
    let over = browser.open(&path).is(200).body;
    assert!(
        over.contains("Not for you") && !over.contains("<textarea"),
        "{over}"
    );
}

#[test]
fn whom_policy_keeps_from_amending_is_shown_no_form() {
    let place = team();
    place.write(
        "policies/amend.cedar",
        "@id(\"chi-amends-nothing\")\n\
         forbid (principal == User::\"chi\", action == Action::\"amend\", resource);\n",
    );
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = server.begin(&ada, &note("a"));
    server.card(&ada, &run);
    let path = format!("/runs/{run}/amend");
    for (who, may) in [("chi", false), ("bo", true)] {
        let browser = Browser::of(&server, &place, who);
        let page = browser.open(&path).is(200).body;
        assert_eq!(page.contains("<textarea"), may, "{who}: {page}");
        let fields = [
            ("nonce", "0123456789"),
            ("revision", "1"),
            ("goal", "File the orders of ada under note-b"),
            ("reason", "better"),
        ];
        let said = browser.send(&path, &fields).status;
        assert_eq!(said, if may { 303 } else { 403 }, "{who}");
    }
}
