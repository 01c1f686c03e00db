//! Who is signed in: one's own logins, and those of others for who may govern.

use serde_json::{Value, json};

use super::served::{Served, team, token};

/// Whose logins are in a list.
fn whose(list: &Value) -> Vec<String> {
    let all = ["sessions", "tokens"].into_iter();
    let all = all.flat_map(|name| list[name].as_array().into_iter().flatten());
    let mut all: Vec<String> = all
        .map(|one| one["person"].as_str().unwrap().to_owned())
        .collect();
    all.sort();
    all
}

#[test]
fn who_may_govern_sees_and_ends_the_logins_of_others() {
    let place = team();
    let server = Served::of(&place);
    let [ada, bo, chi] = ["ada", "bo", "chi"].map(|name| token(&place, name, name, &[]));
    let cookies = ["ada", "bo"].map(|name| server.invited(&place, name));
    let me = |cookie: &str| {
        let heads = [("Host", server.host.as_str()), ("Cookie", cookie)];
        server.send("GET /v1/me", &heads, "").status
    };
    let ask = |who: &str, line: &str| server.ask(who, line, &Value::Null);
    // One's own, for everybody.
    assert_eq!(whose(&ask(&ada, "GET /v1/tokens").is(200).json()), ["ada"]);
    assert_eq!(
        whose(&ask(&ada, "GET /v1/sessions").is(200).json()),
        ["ada"]
    );
    assert_eq!(
        ask(&ada, "DELETE /v1/tokens/bo").is(404).problem(),
        "not-found"
    );
    // Those of others, for who may govern alone.
    for line in [
        "GET /v1/tokens?all=true",
        "GET /v1/tokens?person=bo",
        "GET /v1/tokens?person=ada",
        "GET /v1/sessions?all=true",
        "DELETE /v1/sessions?person=bo",
        "DELETE /v1/sessions?all=true",
    ] {
        assert_eq!(ask(&ada, line).is(403).problem(), "not-allowed", "{line}");
    }
    assert_eq!(cookies.each_ref().map(|cookie| me(cookie)), [200, 200]);
    let tokens = ask(&chi, "GET /v1/tokens?all=true").is(200).json();
    assert_eq!(whose(&tokens), ["ada", "bo", "chi"]);
    let sessions = ask(&chi, "GET /v1/sessions?all=true").is(200).json();
    assert_eq!(whose(&sessions), ["ada", "bo"]);
    for secret in [&ada, &bo, &chi, &cookies[0]] {
        let secret = secret.split('=').next_back().unwrap();
        assert!(!format!("{tokens}{sessions}").contains(secret));
    }
    let both = ask(&chi, "GET /v1/sessions?all=true&person=bo").is(422);
    assert_eq!(both.problem(), "unfit");
    let ended = ask(&chi, "DELETE /v1/sessions?person=bo").is(200).json();
    assert_eq!(ended["ended"], 1);
    assert_eq!(cookies.each_ref().map(|cookie| me(cookie)), [200, 401]);
    ask(&chi, "DELETE /v1/tokens/bo").is(200);
    ask(&bo, "GET /v1/me").is(401);
    ask(&ada, "GET /v1/me").is(200);
    ask(&chi, "DELETE /v1/tokens/bo").is(404);
    ask(&chi, "DELETE /v1/sessions?all=true").is(200);
    assert_eq!(me(&cookies[0]), 401);
}

#[test]
fn the_page_of_people_has_it_for_who_may_govern() {
    let place = team();
    let server = Served::of(&place);
    let bo = token(&place, "bo", "bo", &[]);
    let [ada, chi] = ["ada", "chi"].map(|name| server.invited(&place, name));
    let heads = |cookie: &str| {
        [
            ("Host".to_owned(), server.host.clone()),
            ("Cookie".to_owned(), cookie.to_owned()),
            ("Sec-Fetch-Site".to_owned(), "same-origin".to_owned()),
            (
                "Content-Type".to_owned(),
                "application/x-www-form-urlencoded".to_owned(),
            ),
        ]
    };
    let ask = |cookie: &str, line: &str, body: &str| {
        let heads = heads(cookie);
        let heads: Vec<(&str, &str)> = heads
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .collect();
        server.send(line, &heads, body)
    };
    let of_ada = ask(&ada, "GET /people", "").is(200).body;
    let of_chi = ask(&chi, "GET /people", "").is(200).body;
    for words in ["Table of sessions", "Revoke the token bo", "Read them anew"] {
        assert!(of_chi.contains(words), "{words}: {of_chi}");
        assert!(!of_ada.contains(words), "{words}: {of_ada}");
    }
    for form in ["person=ada", "token=bo", "reload=true"] {
        ask(&ada, "POST /people", form).is(403);
    }
    ask(&chi, "POST /people", "person=ada&token=bo").is(400);
    ask(&chi, "POST /people", "reload=true").is(303);
    ask(&chi, "POST /people", "token=bo").is(303);
    assert_eq!(server.get(&bo, "/v1/me").status, 401);
    place.write("policies/entities.json", "{");
    let page = ask(&chi, "POST /people", "reload=true").is(422).body;
    let finding = "<li>policies/entities.json:1:";
    assert!(page.contains(finding), "no `{finding}`: {page}");
    assert!(page.contains("policies/entities.json"), "{page}");
    let page = ask(&chi, "GET /people", "").is(200).body;
    assert!(page.contains("are not in force"), "{page}");
    ask(&chi, "POST /people", "person=ada").is(303);
    assert_eq!(ask(&ada, "GET /v1/me", "").status, 401);
    assert_eq!(
        ask(&chi, "GET /v1/me", "").json()["may"],
        json!({ "begin": true, "govern": true })
    );
}

/// A program is told when its token ends, and in the form of every problem that a route does not
/// answer a method.
#[test]
fn a_program_is_told_how_long_its_token_counts() {
    let place = team();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &["--expires", "2d"]);
    let listed = server.get(&ada, "/v1/tokens").is(200).json();
    let ends = &listed["tokens"][0]["ends_ms"];
    assert!(ends.is_i64(), "{listed}");
    assert_eq!(&server.get(&ada, "/v1/me").is(200).json()["ends_ms"], ends);
    let bearer = format!("Bearer {ada}");
    let heads = [("Host", server.host.as_str()), ("Authorization", &bearer)];
    let refused = server.send("DELETE /v1/me", &heads, "").is(405);
    assert_eq!(refused.problem(), "method");
}

/// A monitor that asks whether runs are driven here is told of a server as of `work`.
#[test]
fn a_server_works_here() {
    let place = team();
    place.run(&["work", "--check"]).exits(3);
    let server = Served::of(&place);
    let told = place.json(&["work", "--check", "--json"]);
    assert_eq!(told["processes"][0]["pid"], server.id(), "{told}");
    assert_eq!(server.end(), Some(0));
    place.run(&["work", "--check"]).exits(3);
}
