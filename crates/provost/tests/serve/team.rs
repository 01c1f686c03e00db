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
        // Why without: it says that a process took the run up, and that is no decision.
        let kinds = all.iter().map(|one| one["kind"].to_string());
        let kinds: Vec<String> = kinds.filter(|kind| !kind.contains("Resumed")).collect();
        let given = all
            .iter()
            .find(|one| one["kind"] == "ApprovalGiven")
            .unwrap();
        let via = given["payload"]["said"]["via"].clone();
        let mut given = given["payload"].clone();
        for moment in ["card", "valid_until", "said"] {
            given.as_object_mut().unwrap().remove(moment);
        }
        ((kinds, given), via)
    };
    let (by_program, via) = decided("a", &|run, card| {
        let approve = json!({ "kind": "approve", "card": card });
        server
            .ask(&bo, &format!("POST /v1/runs/{run}/statements"), &approve)
            .is(200);
    });
    let (by_terminal, untold) = decided("b", &|run, card| {
        place.edit("provost.toml", "user = \"ada\"", "user = \"bo\"");
        let card = card.trim_start_matches("sha256:");
        place.run(&["approve", &format!("{run}@{card}"), "--record"]);
        place.edit("provost.toml", "user = \"bo\"", "user = \"ada\"");
    });
    assert_eq!(by_program, by_terminal);
    assert_eq!(via["door"], "api");
    assert_eq!(via["login"], "token bo");
    assert!(via["since"].as_i64().unwrap() > 0, "{via}");
    assert_eq!(untold, Value::Null, "the terminal is no server");
    let cookie = server.invited(&place, "bo");
    let (by_page, via) = decided("d", &|run, card| {
        let form = format!("kind=approve&card={card}");
        let heads = [
            ("Host", server.host.as_str()),
            ("Cookie", cookie.as_str()),
            ("Sec-Fetch-Site", "same-origin"),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        let line = format!("POST /runs/{run}/statements");
        server.send(&line, &heads, &form).is(303);
    });
    assert_eq!(by_page, by_terminal);
    assert_eq!(
        (&via["door"], &via["login"]),
        (&json!("page"), &json!("link"))
    );
    // Nobody says of themselves how they came.
    let run = server.begin(&ada, &note("e"));
    let card = server.card(&ada, &run);
    let forged = json!({ "kind": "approve", "card": card, "via": { "door": "page" } });
    let line = format!("POST /v1/runs/{run}/statements");
    server.ask(&bo, &line, &forged).is(422);
    // The control: a yes of somebody else is another event.
    let chi = token(&place, "chi", "chi", &[]);
    let (by_other, _) = decided("c", &|run, card| {
        let approve = json!({ "kind": "approve", "card": card });
        server
            .ask(&chi, &format!("POST /v1/runs/{run}/statements"), &approve)
            .is(200);
    });
    assert_ne!(by_program, by_other);
}

/// Two revisions that differ: programs are told what the terminal tells.
#[test]
fn what_changed_between_two_revisions_is_what_the_terminal_says() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    // Nobody of that name ordered anything, so the plan is revised.
    let run = server.begin(&ada, "Count the orders of nobody");
    server.until(&ada, &run, "succeeded");
    let ask = |from: u32, to: u32| {
        let path = format!("/v1/runs/{run}/diff?from={from}&to={to}");
        server.get(&ada, &path).is(200).json()
    };
    let grown = ask(1, 2);
    assert_eq!((&grown["from"], &grown["to"]), (&json!(1), &json!(2)));
    let said = grown.to_string();
    assert!(said.contains("everybody"), "{said}");
    assert_eq!(grown, place.json(&["diff", &run, "1", "2", "--json"]));
    // The controls: the other way round something goes, and from itself to itself nothing changes.
    let (back, same) = (ask(2, 1), ask(2, 2));
    let everybody = |steps: &Value| steps.to_string().contains("everybody");
    assert!(everybody(&grown["added"]) && !everybody(&grown["removed"]));
    assert!(everybody(&back["removed"]) && !everybody(&back["added"]));
    assert!(!everybody(&same), "{same}");
}

#[test]
fn what_stands_behind_a_run_is_asked_for_by_programs() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let run = server.begin(&ada, &note("a"));
    server.card(&ada, &run);
    let get = |path: &str| server.get(&ada, path);
    let runs = |query: &str| {
        let all = get(&format!("/v1/runs?{query}")).is(200).json();
        all["runs"].as_array().unwrap().len()
    };
    assert_eq!(runs("planner=playbook"), 1);
    assert_eq!(runs("playbook=filed"), 1);
    assert_eq!((runs("playbook=count"), runs("planner=model")), (0, 0));
    get("/v1/runs?planner=nobody").is(422);
    let plan = get(&format!("/v1/runs/{run}/plan")).is(200).json();
    let first = get(&format!("/v1/runs/{run}/plan?revision=1"))
        .is(200)
        .json();
    assert_eq!(plan, first);
    get(&format!("/v1/runs/{run}/plan?revision=2")).is(404);
    get(&format!("/v1/runs/{run}/diff?from=1&to=2")).is(404);
    get(&format!("/v1/runs/{run}/diff?from=1")).is(422);
    let playbooks = get("/v1/playbooks").is(200).json();
    let filed = playbooks["playbooks"].as_array().unwrap().iter();
    let filed = filed.clone().find(|one| one["name"] == "filed").unwrap();
    assert_eq!(filed["params"], json!(["customer", "name"]));
    // Evidence: a file that no browser shows, of a run that cites it.
    let events = get(&format!("/v1/runs/{run}/events?limit=200"))
        .is(200)
        .json();
    let events = events["events"].as_array().unwrap();
    let ended = events
        .iter()
        .find(|one| one["kind"] == "AttemptEnded")
        .unwrap();
    let digest = ended["payload"]["evidence"].as_str().unwrap();
    let bytes = get(&format!("/v1/evidence/{digest}?run={run}")).is(200);
    assert!(bytes.body.contains("total"), "{bytes:?}");
    assert_eq!(bytes.heads["content-type"], "application/octet-stream");
    assert!(bytes.heads["content-disposition"].starts_with("attachment"));
    assert!(bytes.heads["content-security-policy"].contains("sandbox"));
    let other = server.begin(&ada, "Ask whose orders count");
    server.until(&ada, &other, "waiting_answer");
    get(&format!("/v1/evidence/{digest}?run={other}")).is(403);
    get(&format!("/v1/evidence/{digest}")).is(422);
    // Tokens: one's own, and nobody else's.
    let mine = get("/v1/tokens").is(200).json();
    assert_eq!(mine["tokens"].as_array().unwrap().len(), 1);
    assert_eq!(mine["tokens"][0]["this"], true);
    server
        .ask(&bo, "DELETE /v1/tokens/ada", &Value::Null)
        .is(404);
    server
        .ask(&ada, "DELETE /v1/tokens/ada", &Value::Null)
        .is(200);
    get("/v1/me").is(401);
}

#[test]
fn a_token_says_so_much_in_a_minute() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let run = server.begin(&ada, &note("a"));
    let line = format!("POST /v1/runs/{run}/statements");
    let nonsense = json!({ "kind": "nonsense" });
    let statuses = |token: &str, times| -> Vec<u16> {
        let ask = |_| server.ask(token, &line, &nonsense).status;
        (0..times).map(ask).collect()
    };
    assert_eq!(statuses(&ada, 62), [vec![422; 60], vec![429; 2]].concat());
    let late = server.ask(&ada, &line, &nonsense).is(429);
    let wait: u64 = late.heads["retry-after"].parse().unwrap();
    assert!((1..=61).contains(&wait), "{wait}");
    assert_eq!(statuses(&bo, 1), [422], "others have a count of their own");
    server.get(&ada, "/v1/me").is(200);
    let wanted = json!({ "goal": "nobody plans for this" });
    let begun = (0..31).map(|_| server.ask(&bo, "POST /v1/runs", &wanted).status);
    let begun: Vec<u16> = begun.collect();
    assert_eq!(begun, [vec![422; 30], vec![429]].concat());
}
