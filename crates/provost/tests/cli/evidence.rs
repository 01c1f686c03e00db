//! What a claim cites can be printed, unless it is secret.

use insta::assert_snapshot;

use super::workplace::Workplace;

/// A plan that reads and says nothing of what it read.
const LOOK: &str = r#"schema: provost/plan/v1
goal: { text: Look how many orders there are }
steps:
  - { id: count, tool: shop.orders, args: { customer: "" } }
success:
  - { for: goal, check: '${ steps.count.status == "succeeded" }' }
answer:
  - { text: Looked., cites: [count] }
"#;

/// The first digest in a text.
fn digest(text: &str) -> String {
    let from = text.find("sha256:").unwrap() + "sha256:".len();
    text.get(from..from + 64).unwrap().to_owned()
}

#[test]
fn what_an_answer_cites_is_printed() {
    let place = Workplace::new();
    let ran = place.run(&["run", "Count the orders of ada"]).exits(0);
    let digest = digest(&ran.raw_stdout);
    let short = digest.get(..8).unwrap();
    let printed = place.run(&["evidence", short]).exits(0);
    assert!(
        printed.raw_stdout.contains("\"latest\":\"ada\""),
        "{printed}"
    );
    let named = format!("sha256:{digest}");
    let json = place.json(&["evidence", &named, "--json"]);
    assert_eq!(json["step"], "count");
    assert_eq!(json["text"], printed.raw_stdout.as_str());
    assert_snapshot!(place.run(&["evidence", "00000000"]), @r"
    exit 2
    --- stderr
    error: no run cites `00000000`
    ");
    assert_snapshot!(place.run(&["evidence", "rows"]), @r"
    exit 2
    --- stderr
    error: `rows` is no digest

    hint: `provost show RUN` prints those that an answer cites
    ");
    let run = json["run"].as_str().unwrap();
    place.run(&["evidence", short, "--run", run]).exits(0);
}

#[test]
fn what_is_secret_is_not() {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        "single = true\n",
        "single = true\nsecret = true\n",
    );
    place.write("look.yaml", LOOK);
    place.run(&["apply", "look.yaml"]).exits(0);
    let stored = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let mut query = stored.prepare("select hex(digest) from evidence").unwrap();
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    let mut secret = 0;
    for digits in rows {
        let refused = place
            .run(&["evidence", &digits.unwrap().to_lowercase()])
            .exits(2);
        assert!(refused.raw_stdout.is_empty(), "{refused}");
        secret += usize::from(refused.raw_stderr.contains("is secret"));
    }
    assert_eq!(secret, 1, "it was looked at");
}
