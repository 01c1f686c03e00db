//! What policies let people and their agents see, be shown and begin.

use serde_json::{Value, json};

use super::served::{Served, note, team, token};

/// People see what they asked for or may approve, and are shown the values of their own runs alone;
/// chi approves and begins nothing.
const NARROW: &str = r#"
@id("see-own-or-approve") permit (principal is User, action == Action::"see", resource)
when { context.own || context.may_approve };
@id("agents-see-own") permit (principal is Agent, action == Action::"see", resource)
when { context.own };
@id("reveal-own") permit (principal, action == Action::"reveal", resource) when { context.own };
@id("chi-approves-nothing") forbid (principal == User::"chi", action == Action::"approve", resource);
@id("chi-begins-nothing") forbid (principal in User::"chi", action == Action::"begin", resource);
"#;

/// The ids in a list of runs.
fn ids(list: &Value) -> Vec<&str> {
    let runs = list["runs"].as_array().unwrap().iter();
    runs.map(|run| run["id"].as_str().unwrap()).collect()
}

#[test]
fn who_may_not_see_a_run_finds_it_nowhere() {
    let place = team();
    place.write("policies/narrow.cedar", NARROW);
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let robot = token(&place, "robot", "ada", &["--agent"]);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let own = server.begin(&robot, "Count the orders of ada");
    server.until(&robot, &own, "succeeded");
    let paths = ["", "/plan", "/trace", "/events", "/steps/count", "/why"];
    for path in paths {
        let asked = server.get(&chi, &format!("/v1/runs/{run}{path}")).is(404);
        assert_eq!(asked.problem(), "not-found", "{path}");
    }
    let card_of = format!("/v1/runs/{run}/cards/{card}");
    server.get(&chi, &card_of).is(404);
    let nothing: [&str; 0] = [];
    for list in [
        "/v1/runs",
        "/v1/runs?by=ada",
        "/v1/runs?status=waiting_approval",
    ] {
        assert_eq!(
            ids(&server.get(&chi, list).is(200).json()),
            nothing,
            "{list}"
        );
    }
    assert_eq!(server.get(&chi, "/v1/inbox").json()["waits"], json!([]));
    assert_eq!(server.get(&chi, "/v1/inbox/count").json()["all"], 0);
    let cookie = server.invited(&place, "chi");
    let heads = [("Host", server.host.as_str()), ("Cookie", &cookie)];
    server.send(&format!("GET /runs/{run}"), &heads, "").is(404);
    for page in ["/", "/runs"] {
        let page = server.send(&format!("GET {page}"), &heads, "").is(200);
        assert!(!page.body.contains(&run), "{}", page.body);
    }
    let say = json!({ "kind": "pause", "reason": "x" });
    let to = format!("POST /v1/runs/{run}/statements");
    server.ask(&chi, &to, &say).is(404);
    // The controls: an approver and who asked find it, each what is theirs.
    assert_eq!(
        ids(&server.get(&bo, "/v1/runs").json()),
        [own.as_str(), &run]
    );
    assert_eq!(ids(&server.get(&ada, "/v1/runs").json()), [run.as_str()]);
    assert_eq!(
        ids(&server.get(&bo, "/v1/runs?by=ada").json()),
        [run.as_str()]
    );
    assert_eq!(ids(&server.get(&robot, "/v1/runs").json()), [own.as_str()]);
    assert_eq!(server.get(&bo, "/v1/inbox/count").json()["all"], 1);
    assert_eq!(
        server.get(&ada, "/v1/inbox").json()["waits"][0]["run"],
        run.as_str()
    );
}

#[test]
fn who_is_not_shown_values_decides_and_sees_none() {
    let place = team();
    place.write("policies/narrow.cedar", NARROW);
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    // Whoever decides is shown what they decide on.
    server
        .get(&bo, &format!("/v1/runs/{run}/cards/{card}"))
        .is(200);
    let yes = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    server.ask(&bo, &to, &yes).is(200);
    let of_ada = server.until(&ada, &run, "succeeded");
    let of_bo = server.get(&bo, &format!("/v1/runs/{run}")).is(200).json();
    assert!(of_ada["answer"].is_array(), "the control: {of_ada}");
    assert_eq!(of_bo.get("answer"), None, "{of_bo}");
    assert_eq!(of_bo["status"], "succeeded");
    for path in ["/trace", "/why", "/events"] {
        let path = format!("/v1/runs/{run}{path}");
        let refused = server.get(&bo, &path).is(403);
        let words = "`bo` may not reveal: policy lets only others (reveal-own)";
        assert_eq!(refused.problem(), "not-allowed");
        assert_eq!(refused.json()["detail"], words);
        server.get(&ada, &path).is(200);
    }
    let cookies = ["ada", "bo"].map(|name| server.invited(&place, name));
    let pages = |path: &str| {
        cookies.each_ref().map(|cookie| {
            let heads = [("Host", server.host.as_str()), ("Cookie", cookie)];
            server.send(&format!("GET /runs/{run}{path}"), &heads, "")
        })
    };
    for (path, value) in [
        ("", "The note is written."),
        ("/steps/count", "total"),
        ("/steps/note", "<h4>Arguments</h4>"),
    ] {
        let [of_ada, of_bo] = pages(path).map(|page| page.is(200).body);
        assert!(of_ada.contains(value), "the control: {path}: {of_ada}");
        assert!(!of_bo.contains(value), "{path}: {of_bo}");
        assert!(of_bo.contains("is not shown to you"), "{path}: {of_bo}");
    }
    for path in ["/trace", "/why"] {
        let [of_ada, of_bo] = pages(path).map(|page| page.status);
        assert_eq!((of_ada, of_bo), (200, 403), "{path}");
    }
}

#[test]
fn who_may_not_begin_begins_at_no_door() {
    let place = team();
    place.write("policies/narrow.cedar", NARROW);
    let server = Served::of(&place);
    let bo = token(&place, "bo", "bo", &[]);
    let chi = token(&place, "chi", "chi", &[]);
    let drone = token(&place, "drone", "chi", &["--agent"]);
    let goal = json!({ "goal": "Count the orders of ada" });
    let plan = json!({ "plan": "{}" });
    let words = "`chi` may not begin: policy forbids it (chi-begins-nothing)";
    // Chi is an operator as well, which is another right.
    for (token, govern) in [(&chi, true), (&drone, false)] {
        for (line, body) in [("POST /v1/runs", &goal), ("POST /v1/checks", &plan)] {
            let refused = server.ask(token, line, body).is(403);
            assert_eq!(refused.problem(), "not-allowed");
            assert_eq!(refused.json()["detail"], words, "{line}");
        }
        let me = server.get(token, "/v1/me").json();
        assert_eq!(me["may"], json!({ "begin": false, "govern": govern }));
    }
    let cookie = server.invited(&place, "chi");
    let heads = [
        ("Host", server.host.as_str()),
        ("Cookie", &cookie),
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/x-www-form-urlencoded"),
    ];
    let form = server.send("GET /runs/new", &heads[..2], "").is(200);
    let sent = server.send("POST /runs", &heads, "goal=Count+the+orders+of+ada");
    for page in [form, sent.is(422)] {
        assert!(page.body.contains("may not begin"), "{}", page.body);
    }
    assert_eq!(place.json(&["runs", "--json"])["runs"], json!([]));
    // The control: others do.
    server.ask(&bo, "POST /v1/checks", &plan).is(200);
    server.begin(&bo, "Count the orders of ada");
    let me = server.get(&bo, "/v1/me").json();
    assert_eq!(me["may"], json!({ "begin": true, "govern": false }));
}

/// As [`NARROW`], and: ada stops nothing but what was asked for in her name; nobody approves but chi.
const STOPS: &str = r#"
@id("ada-stops-own") forbid (principal == User::"ada", action == Action::"stop", resource)
when { resource.requester != User::"ada" };
@id("chi-alone-approves") forbid (principal, action == Action::"approve", resource)
unless { principal == User::"chi" };
"#;

#[test]
fn a_stop_is_placed_and_lifted_by_whom_policy_lets() {
    let place = team();
    place.write("policies/stops.cedar", STOPS);
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let all = "/v1/stops/all/-";
    let own = "/v1/stops/principal/ada";
    let place_it = |who: &str, path: &str, reason: &str| {
        let body = json!({ "reason": reason });
        server.ask(who, &format!("PUT {path}"), &body)
    };
    let lift = |who: &str, path: &str| server.ask(who, &format!("DELETE {path}"), &Value::Null);
    let refused = place_it(&ada, all, "a").is(403);
    assert_eq!(refused.problem(), "not-allowed");
    assert_eq!(
        refused.json()["detail"],
        "`ada` may not stop: policy forbids it (ada-stops-own)"
    );
    let none = || server.get(&bo, "/v1/stops").json()["stops"] == json!([]);
    assert!(none());
    // The controls: of her own runs she may, and others may of everything.
    place_it(&ada, own, "a").is(200);
    lift(&ada, own).is(200);
    let placed = place_it(&bo, all, "b").is(200).json();
    assert_eq!(
        (&placed["by"], &placed["reason"]),
        (&json!("bo"), &json!("b"))
    );
    // Who may not lift it does not make it theirs by another stop, either.
    lift(&ada, all).is(403);
    place_it(&ada, all, "a").is(403);
    let dan = token(&place, "dan", "ada", &["--agent"]);
    lift(&dan, all).is(403);
    assert!(!none());
    // Whoever may approve lifts what somebody else placed, and may say another reason.
    assert_eq!(place_it(&chi, all, "c").is(200).json()["by"], "chi");
    // What stands is what whoever stops it again is told.
    assert_eq!(place_it(&bo, all, "b").is(200).json()["by"], "chi");
    lift(&bo, all).is(403);
    lift(&chi, all).is(200);
    assert!(none());
}

/// A run that a stop paused stays paused when it is lifted: the answer names it, and a statement
/// resumes it.
#[test]
fn what_a_lifted_stop_leaves_paused_is_named() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let all = "/v1/stops/all/-";
    server
        .ask(&bo, &format!("PUT {all}"), &json!({ "reason": "a" }))
        .is(200);
    let begun = server.ask(
        &ada,
        "POST /v1/runs",
        &json!({ "goal": "Count the orders of ada" }),
    );
    let run = begun.is(201).json()["run"].as_str().unwrap().to_owned();
    server.until(&ada, &run, "paused");
    let lifted = server
        .ask(&bo, &format!("DELETE {all}"), &Value::Null)
        .is(200);
    assert_eq!(lifted.json()["paused"], json!([run]));
    let path = format!("POST /v1/runs/{run}/statements");
    server.ask(&bo, &path, &json!({ "kind": "resume" })).is(200);
    server.until(&ada, &run, "succeeded");
    // The control: nothing is named where nothing is paused.
    let lifted = server
        .ask(&bo, &format!("DELETE {all}"), &Value::Null)
        .is(200);
    assert_eq!(lifted.json()["paused"], json!([]));
}
