//! A team: who asks, who approves, and what each is told.

use serde_json::{Value, json};

use super::served::{Served, note, team, token};

#[test]
fn one_asks_and_another_approves() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let inbox = server.get(&bo, "/v1/inbox").is(200).json();
    assert_eq!(inbox["waits"][0]["may"], true, "{inbox}");
    let own = server.get(&ada, "/v1/inbox").is(200).json();
    assert_eq!(own["waits"][0]["may"], false);
    let why = own["waits"][0]["why_not"].as_str().unwrap();
    assert!(why.contains("`ada` requested this run"), "{why}");
    assert_eq!(
        server.get(&ada, "/v1/inbox?mine=true").json()["waits"],
        json!([])
    );
    let shown = server
        .get(&bo, &format!("/v1/runs/{run}/cards/{card}"))
        .is(200)
        .json();
    assert_eq!(
        (&shown["digest"], &shown["may"]),
        (&json!(card), &json!(true))
    );
    assert!(shown["text"].as_str().unwrap().contains("note-a.txt"));
    let approve = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    assert_eq!(
        server.ask(&ada, &to, &approve).is(403).problem(),
        "not-allowed"
    );
    let said = server.ask(&bo, &to, &approve).is(200).json();
    assert_eq!(said["taken"], true);
    let done = server.until(&ada, &run, "succeeded");
    assert_eq!(done["requester"], "ada");
    // The same yes again counts for nothing, and says so.
    assert_eq!(server.ask(&bo, &to, &approve).is(409).problem(), "not-open");
    let trace = server
        .get(&ada, &format!("/v1/runs/{run}/trace"))
        .is(200)
        .json();
    let given = trace["planning"].as_array().unwrap().iter();
    let given: Vec<&Value> = given
        .filter(|line| line["kind"] == "ApprovalGiven")
        .collect();
    assert_eq!(given.len(), 1);
    for view in ["why", "plan", "steps/note", "events"] {
        server.get(&bo, &format!("/v1/runs/{run}/{view}")).is(200);
    }
    place.run(&["audit", "verify"]).exits(0);
}

#[test]
fn a_request_under_a_key_begins_one_run() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let wanted = json!({ "goal": "Count the orders of ada" });
    let key = [("Idempotency-Key", "k-1")];
    let ask = |token: &str, body: &Value| server.ask_with(token, "POST /v1/runs", &key, body);
    let first = ask(&ada, &wanted).is(201);
    let run = first.json()["run"].as_str().unwrap().to_owned();
    assert_eq!(first.heads["location"], format!("/v1/runs/{run}"));
    server.until(&ada, &run, "succeeded");
    assert_eq!(ask(&ada, &wanted).is(200).json()["run"], json!(run));
    let other = json!({ "goal": "Count the orders of grace" });
    assert_eq!(ask(&ada, &other).is(409).problem(), "other-request");
    // The key is the person's: another's is another run.
    assert_ne!(ask(&bo, &wanted).is(201).json()["run"], json!(run));
    let runs = server.get(&ada, "/v1/runs?limit=1").is(200).json();
    let after = runs["after"].as_str().unwrap();
    let rest = server
        .get(&ada, &format!("/v1/runs?limit=1&after={after}"))
        .json();
    assert_eq!(rest["runs"][0]["id"], json!(run));
    assert_eq!(rest["after"], Value::Null);
    let none = server
        .get(&ada, "/v1/runs?status=failed&q=orders&by=ada")
        .json();
    assert_eq!(none["runs"], json!([]));
    for bad in ["?statsu=failed", "?status=nonsense", "?limit=x"] {
        let refused = server.get(&ada, &format!("/v1/runs{bad}")).is(422);
        assert_eq!(refused.problem(), "unfit");
    }
    let seen = server.get(&ada, &format!("/v1/runs/{run}")).is(200);
    let etag = [("If-None-Match", seen.heads["etag"].as_str())];
    let line = format!("GET /v1/runs/{run}");
    server.ask_with(&ada, &line, &etag, &Value::Null).is(304);
}

#[test]
fn an_agent_begins_and_says_nothing() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let agent = token(&place, "robot", "ada", &["--agent"]);
    let of_ada = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &of_ada);
    assert_eq!(
        server
            .get(&agent, &format!("/v1/runs/{of_ada}"))
            .is(404)
            .problem(),
        "not-found"
    );
    assert_eq!(server.get(&agent, "/v1/runs").json()["runs"], json!([]));
    assert_eq!(server.get(&agent, "/v1/inbox").json()["waits"], json!([]));
    let own = server.begin(&agent, "Count the orders of ada");
    let seen = server.until(&agent, &own, "succeeded");
    assert_eq!(seen.get("answer"), None, "an agent sees no value: {seen}");
    server
        .get(&agent, &format!("/v1/runs/{own}/events"))
        .is(403);
    let pause = json!({ "kind": "pause", "reason": "x" });
    let say = |run: &str, said: &Value| {
        server.ask(&agent, &format!("POST /v1/runs/{run}/statements"), said)
    };
    assert_eq!(say(&own, &pause).is(403).problem(), "not-allowed");
    let approve = json!({ "kind": "approve", "card": card });
    assert_eq!(say(&of_ada, &approve).is(404).problem(), "not-found");
    assert!(
        server
            .ask(&ada, &format!("POST /v1/runs/{of_ada}/statements"), &pause)
            .status
            < 300
    );
}

#[test]
fn of_many_answers_to_one_card_one_counts() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let many: Vec<String> = (0..20)
        .map(|n| token(&place, &format!("t{n}"), ["bo", "chi"][n % 2], &[]))
        .collect();
    let approve = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    let answers: Vec<(u16, String)> = std::thread::scope(|scope| {
        let all: Vec<_> = many
            .iter()
            .map(|token| scope.spawn(|| server.ask(token, &to, &approve)))
            .collect();
        let all = all.into_iter().map(|one| one.join().unwrap());
        all.map(|answer| (answer.status, answer.body)).collect()
    });
    let counted = answers.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!(counted, 1, "{answers:?}");
    assert!(
        answers
            .iter()
            .all(|(status, _)| [200, 409].contains(status)),
        "{answers:?}"
    );
    server.until(&ada, &run, "succeeded");
}

#[test]
fn a_decision_is_the_same_event_through_every_door() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let decided = |name: &str, by: &dyn Fn(&str, &str)| {
        let run = server.begin(&ada, &note(name));
        let card = server.card(&ada, &run);
        by(&run, &card);
        server.until(&ada, &run, "succeeded");
        let events = server
            .get(&ada, &format!("/v1/runs/{run}/events?limit=200"))
            .is(200)
            .json();
        let all = events["events"].as_array().unwrap();
        let kinds: Vec<String> = all.iter().map(|one| one["kind"].to_string()).collect();
        let given = all
            .iter()
            .find(|one| one["kind"] == "ApprovalGiven")
            .unwrap();
        let mut given = given["payload"].clone();
        for moment in ["card", "valid_until", "said"] {
            given.as_object_mut().unwrap().remove(moment);
        }
        (kinds, given)
    };
    let by_program = decided("a", &|run, card| {
        let approve = json!({ "kind": "approve", "card": card });
        server
            .ask(&bo, &format!("POST /v1/runs/{run}/statements"), &approve)
            .is(200);
    });
    let by_terminal = decided("b", &|run, card| {
        place.edit("provost.toml", "user = \"ada\"", "user = \"bo\"");
        let card = card.trim_start_matches("sha256:");
        place.run(&["approve", &format!("{run}@{card}"), "--record"]);
        place.edit("provost.toml", "user = \"bo\"", "user = \"ada\"");
    });
    assert_eq!(by_program, by_terminal);
    // The control: a yes of somebody else is another event.
    let chi = token(&place, "chi", "chi", &[]);
    let by_other = decided("c", &|run, card| {
        let approve = json!({ "kind": "approve", "card": card });
        server
            .ask(&chi, &format!("POST /v1/runs/{run}/statements"), &approve)
            .is(200);
    });
    assert_ne!(by_program, by_other);
}
