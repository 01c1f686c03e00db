//! Forgeries through HTTP, where signatures are required: of a signed yes, no change counts, and
//! nothing of it is kept.
//!
//! `PROVOST_COUNT` says how many; `scripts/full forgeries` has those that need no server.

use serde_json::{Value, json};

use super::served::{Served, note, team, token};
use super::workplace::Workplace;

/// How many statements one token may say in a minute.
const OF_A_TOKEN: usize = 60;
const PASSPHRASE: &str = "file:token.canary";

/// A team in which bo has a key, and what is said counts by a signature alone.
fn signing() -> Workplace {
    let place = team();
    let new = ["key", "new", "--name", "bo", "--passphrase", PASSPHRASE];
    let public = place.run(&new).exits(0).raw_stdout;
    let people = json!({ "ada": {}, "bo": { "key": public.trim() }, "chi": {} });
    place.people(people.as_object().unwrap());
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write(
        "provost.toml",
        config + "\n[approvals]\nrequire = \"signature\"\n",
    );
    place
}

/// The yes that bo signs to the card of a run.
fn signed(place: &Workplace, run: &str, card: &str) -> String {
    let card = format!("{run}@{}", card.trim_start_matches("sha256:"));
    place.run(&["approve", &card, "--card", "card.json"]);
    let key = place.path("config/provost/keys/bo.json");
    let sign = [
        "approve",
        "card.json",
        "-o",
        "yes.json",
        "--passphrase",
        PASSPHRASE,
        "--key",
        key.to_str().unwrap(),
    ];
    place.run(&sign).exits(0);
    std::fs::read_to_string(place.path("yes.json")).unwrap()
}

/// A statement with each of its fields changed, gone, or of another kind.
fn changed(yes: &Value) -> Vec<String> {
    let mut all = Vec::new();
    for (name, value) in yes.as_object().unwrap() {
        let others = match value {
            Value::String(text) => vec![
                json!(format!("{text}a")),
                json!(text.chars().skip(1).collect::<String>()),
                json!(""),
            ],
            Value::Number(number) => {
                let number = number.as_i64().unwrap();
                vec![
                    json!(number + 1),
                    json!(number - 1),
                    json!(number.to_string()),
                ]
            }
            other => vec![json!([other]), json!({})],
        };
        for other in others.into_iter().chain([Value::Null]) {
            let mut forged = yes.clone();
            forged[name] = other;
            all.push(forged.to_string());
        }
        let mut forged = yes.clone();
        forged.as_object_mut().unwrap().remove(name);
        all.push(forged.to_string());
    }
    for by in ["ada", "chi"] {
        let mut forged = yes.clone();
        forged["by"] = json!(by);
        all.push(forged.to_string());
    }
    all
}

/// A statement with one of its characters changed, each time another.
fn flipped(yes: &str, count: usize) -> impl Iterator<Item = String> {
    let characters: Vec<char> = yes.trim().chars().collect();
    (0..count).map(move |at| {
        let mut characters = characters.clone();
        let place = at * 131 % characters.len();
        let other = ['0', 'a', 'Z', '"', '}', ' '][at % 6];
        characters[place] = if characters[place] == other {
            '9'
        } else {
            other
        };
        characters.into_iter().collect()
    })
}

#[test]
fn no_change_of_a_signed_yes_counts() {
    let count = std::env::var("PROVOST_COUNT").ok();
    let count = count.and_then(|count| count.parse().ok()).unwrap_or(60);
    let place = signing();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let yes = signed(&place, &run, &card);
    let original: Value = serde_json::from_str(&yes).unwrap();
    let forged = changed(&original).into_iter().chain(flipped(&yes, count));
    // Why not those: what says the same is no forgery.
    let same =
        |forged: &String| serde_json::from_str::<Value>(forged).ok().as_ref() == Some(&original);
    let forged: Vec<String> = forged.filter(|forged| !same(forged)).collect();
    let to = format!("POST /v1/runs/{run}/statements");
    let before = stands(&server, &place, &ada, &run);
    // Who has no key could not sign a yes, and is told that.
    let chi = token(&place, "chi", "chi", &[]);
    let bo = token(&place, "bo-looks", "bo", &[]);
    let wait = |who: &str| server.get(who, "/v1/inbox").is(200).json()["waits"][0].clone();
    assert_eq!(wait(&chi)["may"], false);
    assert_eq!(wait(&bo)["may"], true, "the control");
    for (number, some) in forged.chunks(OF_A_TOKEN).enumerate() {
        let bo = token(&place, &format!("bo{number}"), "bo", &[]);
        let bearer = format!("Bearer {bo}");
        let heads = [("Host", server.host.as_str()), ("Authorization", &bearer)];
        for one in some {
            let answer = server.send(&to, &heads, one);
            let refused = [400, 403, 409, 410, 422].contains(&answer.status);
            assert!(refused, "{one}: {answer:?}");
        }
    }
    assert_eq!(stands(&server, &place, &ada, &run), before);
    // Nor a word without a signature, nor the yes to another run.
    let bo = token(&place, "bo", "bo", &[]);
    let bare = json!({ "kind": "approve", "card": card });
    assert_eq!(server.ask(&bo, &to, &bare).is(403).problem(), "unsigned");
    let other = server.begin(&ada, &note("b"));
    server.card(&ada, &other);
    let borrowed = format!("POST /v1/runs/{other}/statements");
    assert_eq!(
        server.ask(&bo, &borrowed, &original).is(422).problem(),
        "unfit"
    );
    // The control: the yes itself, whoever brings it, and once.
    server.ask(&ada, &to, &original).is(200);
    server.until(&ada, &run, "succeeded");
    assert_eq!(
        server.ask(&bo, &to, &original).is(409).problem(),
        "replayed"
    );
    place.run(&["audit", "verify"]).exits(0);
    println!("{} forgeries, none counts", forged.len());
}

/// The last event of a run, and how many words of people are kept for it.
fn stands(server: &Served, place: &Workplace, ada: &str, run: &str) -> (Value, i64) {
    let seen = server.get(ada, &format!("/v1/runs/{run}")).is(200).json();
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let sql = "SELECT count(*) FROM posted_statements WHERE run = ?1";
    let kept = journal.query_row(sql, [run], |row| row.get(0)).unwrap();
    (seen["seq"].clone(), kept)
}
