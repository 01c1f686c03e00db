//! The files of a workspace that is served: changed under way, by hand and when told.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::served::{Answer, Served, note, team, token};
use super::stream::Listening;
use super::workplace::Workplace;

/// How soon a change of the files counts.
const SOON: Duration = Duration::from_secs(15);

/// Waits until an answer is as it should be; how long it took.
#[track_caller]
fn until(ask: impl Fn() -> Answer, fits: impl Fn(&Answer) -> bool) -> Duration {
    let began = Instant::now();
    loop {
        let answer = ask();
        if fits(&answer) {
            return began.elapsed();
        }
        assert!(began.elapsed() < SOON, "{answer:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn people(place: &Workplace, names: &[&str]) {
    let groups = |name: &str| match name {
        "chi" => json!({ "groups": ["operators"] }),
        _ => json!({}),
    };
    let all = names.iter().map(|name| ((*name).to_owned(), groups(name)));
    place.people(&all.collect());
}

fn files(server: &Served, token: &str) -> Value {
    server.get(token, "/v1/workspace").is(200).json()["files"].clone()
}

const RELOAD: &str = "POST /v1/workspace/reload";

#[test]
fn who_left_is_out_soon() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let robot = token(&place, "robot", "bo", &["--agent"]);
    let cookie = server.invited(&place, "bo");
    let me = |cookie: &str| {
        let heads = [("Host", server.host.as_str()), ("Cookie", cookie)];
        server.send("GET /v1/me", &heads, "")
    };
    let mut stream = Listening::from(&server, &bo, None);
    assert_eq!(stream.next().kind, "reset");
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    people(&place, &["ada", "chi"]);
    let unlisted = |answer: &Answer| answer.status == 403 && answer.problem() == "unlisted";
    until(|| server.get(&bo, "/v1/me"), unlisted);
    assert!(unlisted(&server.get(&robot, "/v1/me")));
    assert_ne!(me(&cookie).status, 200);
    let ended = std::iter::repeat_with(|| stream.next()).find(|sent| sent.kind != "run");
    let bye = ended.unwrap();
    assert_eq!(
        (bye.kind.as_str(), &bye.data["why"]),
        ("bye", &json!("unlisted"))
    );
    let yes = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    assert!(unlisted(&server.ask(&bo, &to, &yes)));
    server.get(&ada, "/v1/me").is(200);
    // Whoever comes back has their token, and signs in anew.
    people(&place, &["ada", "bo", "chi"]);
    until(|| server.get(&bo, "/v1/me"), |answer| answer.status == 200);
    assert_eq!(me(&cookie).status, 401);
    server.ask(&bo, &to, &yes).is(200);
    server.until(&ada, &run, "succeeded");
}

/// The last of a group leaves, and a policy names the group: the files have an error and are
/// refused, and who left is out all the same.
#[test]
fn who_left_is_out_also_where_the_files_are_refused() {
    let place = team();
    let listed = |bo: Value| {
        let mut users = json!({ "ada": {}, "chi": { "groups": ["operators"] } });
        if !bo.is_null() {
            users["bo"] = bo;
        }
        place.write(
            "policies/entities.json",
            json!({ "users": users }).to_string(),
        );
    };
    listed(json!({ "groups": ["interns"] }));
    place.write("policies/interns.cedar", INTERNS);
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let cookie = server.invited(&place, "bo");
    server.get(&bo, "/v1/me").is(200);
    listed(Value::Null);
    let unlisted = |answer: &Answer| answer.status == 403 && answer.problem() == "unlisted";
    until(|| server.get(&bo, "/v1/me"), unlisted);
    let heads = [("Host", server.host.as_str()), ("Cookie", cookie.as_str())];
    until(
        || server.send("GET /v1/me", &heads, ""),
        |answer| answer.status == 401,
    );
    // The control: the files are refused, and who did not leave is in.
    let refused = files(&server, &chi)["refused"].clone();
    assert_eq!(refused["findings"][0]["code"], "W802", "{refused}");
    server.get(&ada, "/v1/me").is(200);
}

const INTERNS: &str = r#"@id("interns-approve-nothing")
forbid (principal in Group::"interns", action == Action::"approve", resource);
"#;

#[test]
fn files_that_cannot_be_used_leave_the_old_in_force() {
    let place = team();
    let server = Served::of(&place);
    let [ada, chi] = ["ada", "chi"].map(|name| token(&place, name, name, &[]));
    let good = std::fs::read(place.path("policies/entities.json")).unwrap();
    assert_eq!(files(&server, &ada)["refused"], Value::Null);
    place.write("policies/entities.json", "{ \"users\": { \"eve\": {}, ");
    let refused = |answer: &Answer| !answer.json()["files"]["refused"].is_null();
    until(|| server.get(&ada, "/v1/workspace"), refused);
    // Those of before count, and what is wrong is told to who may have it read again.
    let told = files(&server, &chi);
    assert_eq!(
        told["refused"]["findings"][0]["place"]["file"], "policies/entities.json",
        "{told}"
    );
    assert_eq!(files(&server, &ada)["refused"]["findings"], Value::Null);
    let refused = server.ask(&chi, RELOAD, &Value::Null).is(422);
    assert_eq!(refused.problem(), "findings");
    assert!(refused.json()["findings"].is_array(), "{refused:?}");
    server.begin(&ada, "Count the orders of ada");
    // So do files that another process would have to be started for.
    place.write("policies/entities.json", &good);
    place.write("policies/solo.cedar", SOLO);
    let refused = server.ask(&chi, RELOAD, &Value::Null).is(422);
    assert!(
        refused.json()["detail"].to_string().contains("solo.cedar"),
        "{refused:?}"
    );
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    // The control: once they are mended they are read, and nothing is said any more.
    until(
        || server.get(&ada, "/v1/workspace"),
        |now| now.json()["files"]["refused"].is_null(),
    );
    server.ask(&chi, RELOAD, &Value::Null).is(200);
}

const SOLO: &str = r#"@id("solo-approves")
permit (principal is User, action == Action::"approve", resource)
when { principal == resource.requester };
"#;

#[test]
fn a_stream_says_how_the_files_stand() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let mut stream = Listening::from(&server, &ada, None);
    let newest = stream.next().id;
    let first = stream.next_of("workspace");
    assert_eq!(
        (first.id.as_str(), &first.data),
        ("", &files(&server, &ada))
    );
    // What is wrong is said without what stands in the files, and to who was away as well.
    let good = std::fs::read(place.path("policies/entities.json")).unwrap();
    place.write("policies/entities.json", "{ \"users\": { \"eve\": {}, ");
    let refused = stream.next_of("workspace").data;
    assert_eq!(refused["read_ms"], first.data["read_ms"], "{refused}");
    assert!(refused["refused"]["detail"].is_string(), "{refused}");
    assert_eq!(refused["refused"]["findings"], Value::Null, "{refused}");
    let mut back = Listening::from(&server, &ada, Some(&newest));
    assert_eq!(back.next_of("workspace").data, refused);
    // The files of before again: nothing is read, and nothing is refused any more.
    place.write("policies/entities.json", good);
    for stream in [&mut stream, &mut back] {
        assert_eq!(stream.next_of("workspace").data, first.data);
    }
    people(&place, &["ada", "chi"]);
    let anew = stream.next_of("workspace").data;
    assert!(
        anew["read_ms"].as_i64() > first.data["read_ms"].as_i64(),
        "{anew}"
    );
    assert_eq!(anew["refused"], Value::Null, "{anew}");
}

#[test]
fn who_may_govern_has_them_read_at_once() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let agent = token(&place, "robot", "chi", &["--agent"]);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let before = files(&server, &ada)["read_ms"].as_i64().unwrap();
    place.write(
        "policies/fewer.cedar",
        r#"@id("ada-begins-nothing") forbid (principal == User::"ada", action == Action::"begin", resource);
@id("bo-approves-nothing") forbid (principal == User::"bo", action == Action::"approve", resource);
"#,
    );
    for who in [&ada, &bo, &agent] {
        assert_eq!(
            server.ask(who, RELOAD, &Value::Null).is(403).problem(),
            "not-allowed"
        );
    }
    let now = server.ask(&chi, RELOAD, &Value::Null).is(200).json();
    assert!(now["files"]["read_ms"].as_i64().unwrap() >= before);
    // What begins, and what waited before, is under the new ones.
    let goal = json!({ "goal": "Count the orders of ada" });
    let refused = server.ask(&ada, "POST /v1/runs", &goal).is(403);
    assert!(refused.body.contains("ada-begins-nothing"), "{refused:?}");
    let yes = json!({ "kind": "approve", "card": card });
    let to = format!("POST /v1/runs/{run}/statements");
    let refused = server.ask(&bo, &to, &yes).is(403);
    assert!(refused.body.contains("bo-approves-nothing"), "{refused:?}");
    let waits = server.get(&bo, "/v1/inbox").json()["waits"][0].clone();
    assert_eq!(waits["may"], false, "{waits}");
    // The control: without it they may.
    std::fs::remove_file(place.path("policies/fewer.cedar")).unwrap();
    server.ask(&chi, RELOAD, &Value::Null).is(200);
    server.ask(&bo, &to, &yes).is(200);
    server.until(&ada, &run, "succeeded");
    server.begin(&ada, "Count the orders of ada");
}

#[test]
fn a_table_that_counts_at_the_start_is_named() {
    let place = team();
    let server = Served::of(&place);
    let chi = token(&place, "chi", "chi", &[]);
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let reload = || server.ask(&chi, RELOAD, &Value::Null).is(200).json();
    assert_eq!(reload()["files"]["restart"], json!([]));
    place.write(
        "provost.toml",
        format!("{config}\n[server]\nsession = {{ lasts = \"2h\" }}\n"),
    );
    assert_eq!(reload()["files"]["restart"], json!(["[server]"]));
    place.write("provost.toml", config);
    assert_eq!(reload()["files"]["restart"], json!([]));
}

#[test]
fn a_card_that_the_files_overtook_is_made_anew() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    people(&place, &["ada", "bo", "chi", "dan"]);
    server.ask(&chi, RELOAD, &Value::Null).is(200);
    let to = format!("POST /v1/runs/{run}/statements");
    let yes = |card: &str| server.ask(&bo, &to, &json!({ "kind": "approve", "card": card }));
    assert_eq!(yes(&card).is(409).problem(), "not-open");
    let now = server.card(&ada, &run);
    assert_ne!(now, card);
    yes(&now).is(200);
    server.until(&ada, &run, "succeeded");
}
