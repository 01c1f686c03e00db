//! Where a login is required: what is said on the page or with a token counts, and what somebody
//! says who only has the files does not.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::served::{Served, note, team, token};
use super::workplace::Workplace;

/// The key of the server, as the corpus has it, and what it is sealed under.
const KEY: &str = include_str!("../../../../corpus/audit/audit.key");
const PASSPHRASE: &str = "correct horse";
const PUBLIC: &str = "ed25519:6kpsY+KcUgq+9VB7Ey7F+ZVHdq6+vnuSQh7qaRRG0iw=";

const VOUCHER: &str = r#"
[server.voucher]
key = "kept/server.key"
passphrase = "file:kept/passphrase"
"#;

/// A team that requires a login; the server has its key.
fn vouching() -> Workplace {
    let place = team();
    place.write("kept/server.key", KEY);
    place.write("kept/passphrase", PASSPHRASE);
    let approvals = format!("[approvals]\nrequire = \"login\"\nvouchers = [\"{PUBLIC}\"]\n");
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", format!("{config}\n{approvals}{VOUCHER}"));
    place
}

/// The second verifier's verdict.
fn second(place: &Workplace, more: &[&str]) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    let ran = Command::new("python3")
        .arg(script)
        .arg(place.path(".provost/journal.db"))
        .args(more)
        .args([Path::new("--people"), &place.path("policies/entities.json")])
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn what_is_said_after_a_login_counts_and_nothing_else_does() {
    let place = vouching();
    let server = Served::of(&place);
    let ada = token(&place, "ada", "ada", &[]);
    let bo = token(&place, "bo", "bo", &[]);
    let workspace = server.get(&ada, "/v1/workspace").is(200).json();
    assert_eq!(
        (&workspace["require"], &workspace["signed"]),
        (&json!("login"), &json!(false))
    );
    let run = server.begin(&ada, &note("a"));
    let card = server.card(&ada, &run);
    let to = format!("POST /v1/runs/{run}/statements");
    // A terminal has no login: what is typed there has to be signed.
    let typed = place
        .run(&["approve", &format!("{run}@{card}"), "--record"])
        .exits(2);
    assert!(typed.stderr.contains("`provost serve`"), "{typed}");
    // Who can write to the file can post a row of anybody.
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let state: String = journal
        .query_row("SELECT value FROM meta WHERE key = 'store'", [], |row| {
            row.get(0)
        })
        .unwrap();
    let row = json!({
        "schema": "provost/statement/v1", "store": state, "run": run, "revision": 1,
        "kind": "approve", "card": card, "by": "bo", "nonce": "drawn-anew",
        "said_at": now_ms(), "expires_at": now_ms() + 3_600_000,
    });
    let mut with_login = row.clone();
    with_login["nonce"] = json!("drawn-again");
    with_login["via"] = json!({ "door": "page", "login": "link", "since": now_ms() });
    let sql = "INSERT INTO posted_statements (run, statement, at_ms) VALUES (?1, ?2, 0)";
    for row in [&row, &with_login] {
        journal.execute(sql, [&run, &row.to_string()]).unwrap();
    }
    let became = || -> Vec<Option<String>> {
        let mut query = journal
            .prepare("SELECT taken FROM posted_statements")
            .unwrap();
        let rows = query.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    };
    let began = Instant::now();
    while became().iter().any(Option::is_none) {
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "nobody heard them"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    for ignored in became() {
        assert!(
            ignored
                .unwrap()
                .contains("no server vouches that `bo` had signed in")
        );
    }
    assert_eq!(server.card(&ada, &run), card, "it waits as before");
    // Nor may who speaks say how they came, or be vouched for by themselves.
    let mut vouched = row.clone();
    vouched["vouched"] = json!({ "key": PUBLIC, "signature": "AAAA" });
    for brought in [&with_login, &vouched] {
        assert_eq!(server.ask(&bo, &to, brought).is(422).problem(), "unfit");
    }
    // The control: bo, who signed in, says the same.
    let approve = json!({ "kind": "approve", "card": card });
    server.ask(&bo, &to, &approve).is(200);
    server.until(&ada, &run, "succeeded");
    // And in a browser.
    let second_run = server.begin(&ada, &note("b"));
    let card = server.card(&ada, &second_run);
    let cookie = server.invited(&place, "bo");
    let heads = [
        ("Host", server.host.as_str()),
        ("Cookie", cookie.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
        ("Content-Type", "application/json"),
    ];
    let approve = json!({ "kind": "approve", "card": card }).to_string();
    let to = format!("POST /v1/runs/{second_run}/statements");
    server.send(&to, &heads, &approve).is(200);
    server.until(&ada, &second_run, "succeeded");
    let shown = place.run(&["show", &second_run]).exits(0);
    assert!(shown.stdout.contains("vouched for"), "{shown}");
    assert_eq!(server.end(), Some(0));
    // Both verifiers believe the journal, and a copy of it beside the key of the server alone.
    place.run(&["audit", "verify"]).exits(0);
    let people = place.path("policies/entities.json");
    let copy = [
        "audit",
        "verify",
        ".provost",
        "--people",
        people.to_str().unwrap(),
        "--voucher",
        PUBLIC,
    ];
    place.run(&copy).exits(0);
    let ran = place.run(&copy[..5]);
    assert!(
        ran.code != Some(0) && ran.stderr.contains("not one of this workspace's servers"),
        "{ran}"
    );
    let (holds, said) = second(&place, &["--voucher", PUBLIC]);
    assert!(holds, "{said}");
    assert!(!second(&place, &[]).0);
}

#[test]
fn a_server_without_its_key_does_not_open() {
    let place = vouching();
    let refused = |words: &str| {
        let ran = place.run(&["serve", "--listen", "127.0.0.1:0"]).exits(2);
        assert!(ran.stderr.contains(words), "{ran}");
        assert!(ran.stderr.contains("`[server.voucher]`"), "{ran}");
    };
    place.write("kept/passphrase", "another horse");
    refused("cannot be used");
    place.write("kept/passphrase", PASSPHRASE);
    let other = PUBLIC.replace("6kps", "7kps");
    place.edit("provost.toml", PUBLIC, &other);
    refused("`vouchers` does not list ed25519:6kps");
    place.edit("provost.toml", &other, PUBLIC);
    place.edit("provost.toml", VOUCHER, "");
    refused("none is named");
    // And a workspace that names no server whose word counts does not load.
    place.edit("provost.toml", &format!("vouchers = [\"{PUBLIC}\"]\n"), "");
    let ran = place.run(&["run", "Count the orders of ada"]).exits(2);
    assert!(ran.stderr.contains("names no server"), "{ran}");
}

/// The key of the server is nothing that a tool may read, where a plan would ask for it.
#[test]
fn no_tool_reaches_the_key_of_the_server() {
    let place = vouching();
    // The control: kept elsewhere, it is in nobody's way.
    place.run(&["run", "Note the orders of ada"]).exits(3);
    place.write("notes/server.key", KEY);
    place.write("notes/passphrase", PASSPHRASE);
    place.edit("provost.toml", "kept/", "notes/");
    let ran = place
        .run(&["run", "Note the orders of ada", "--again"])
        .exits(2);
    assert!(ran.stderr.contains("notes"), "{ran}");
}

fn now_ms() -> i64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    i64::try_from(now.unwrap().as_millis()).unwrap()
}
