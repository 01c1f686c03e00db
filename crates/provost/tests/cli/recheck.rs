//! `why --recheck`: plain reads made again, where the events decide nothing.

use serde_json::Value;

use super::workplace::Workplace;

/// A read, a read of notes, and a proof that holds only of other orders.
const WANTS_MORE: &str = r#"schema: provost/plan/v1
goal:
  text: See that ada ordered nine times
  success: [ { id: nine, text: ada ordered nine times } ]
steps:
  - id: count
    tool: shop.orders
    args: { customer: ada }
  - id: page
    tool: notes.read
    args: { path: page.txt }
success:
  - for: nine
    check: '${ steps.count.output.row.total == 9 && size(steps.page.output.text) > 0 }'
answer:
  - { text: It is so., cites: [count, page] }
"#;

fn newest(place: &Workplace) -> String {
    let runs = place.json(&["runs", "--json"]);
    runs["runs"][0]["id"].as_str().unwrap().to_owned()
}

fn runs(place: &Workplace) -> usize {
    let runs = place.json(&["runs", "--json"]);
    runs["runs"].as_array().unwrap().len()
}

/// A run that ends with its criterion unmet, and nothing to blame.
fn unmet() -> (Workplace, String) {
    let place = Workplace::new();
    place.write("notes/page.txt", "a page");
    place.write("wants.yaml", WANTS_MORE);
    place.run(&["apply", "wants.yaml"]).exits(1);
    let run = newest(&place);
    let verdict = place.json(&["why", &run, "--json"]);
    assert_eq!(verdict["guilty"], "undecided", "{verdict}");
    assert_eq!(verdict["rechecked"], Value::Null, "{verdict}");
    (place, run)
}

fn recheck(place: &Workplace, run: &str) -> Value {
    let verdict = place.json(&["why", run, "--recheck", "--json"]);
    // Another answer decides nothing: the tool was wrong, or the world moved.
    assert_eq!(verdict["guilty"], "undecided", "{verdict}");
    assert_eq!(verdict["certainty"], "open", "{verdict}");
    verdict
}

/// What came of the read of a step.
fn answer<'v>(verdict: &'v Value, step: &str) -> &'v str {
    let all = verdict["rechecked"].as_array().unwrap();
    let of_step = all.iter().find(|one| one["slot"] == step);
    of_step.unwrap()["answer"].as_str().unwrap()
}

fn candidates(verdict: &Value) -> Vec<(String, String)> {
    let all = verdict["candidates"].as_array().unwrap().iter();
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let named = all.map(|one| (word(&one["guilty"]), word(&one["step"])));
    named.collect()
}

#[test]
fn a_read_that_has_another_answer_now_speaks_against_its_step_and_no_other() {
    let (place, run) = unmet();
    let same = recheck(&place, &run);
    for step in ["count", "page"] {
        assert_eq!(answer(&same, step), "same", "{same}");
    }
    assert_eq!(same["step"], Value::Null, "{same}");
    // Each of them is a run of one step, with the same call.
    assert_eq!(runs(&place), 3);
    let read = same["rechecked"][0]["run"].as_str().unwrap();
    let traced = place.json(&["trace", read, "--json"]);
    assert_eq!(traced["status"], "succeeded", "{traced}");

    place.orders(&["ada"; 9]);
    let other = recheck(&place, &run);
    assert_eq!(answer(&other, "count"), "other", "{other}");
    assert_eq!(answer(&other, "page"), "same", "{other}");
    assert_eq!(other["step"], "count", "{other}");
    let of = |guilty: &str, step: &str| (guilty.to_owned(), step.to_owned());
    let expected = [
        of("execution", "count"),
        of("neither", "count"),
        of("plan", "-"),
        of("neither", "-"),
        of("neither", "-"),
        of("execution", "page"),
    ];
    assert_eq!(candidates(&other), expected, "{other}");
    let page = place.run(&["why", &run, "--recheck"]).exits(0);
    for text in ["what was read again", "another answer", "the same answer"] {
        assert!(page.stdout.contains(text), "{page}");
    }
}

#[test]
fn another_answer_after_a_write_of_ours_speaks_against_nobody() {
    let (place, run) = unmet();
    let (waiting, card) = place.waiting();
    place
        .run(&["approve", &format!("{waiting}@{card}")])
        .exits(0);
    place.orders(&["ada"; 9]);
    let verdict = recheck(&place, &run);
    assert_eq!(answer(&verdict, "count"), "other_after_write", "{verdict}");
    assert_eq!(answer(&verdict, "page"), "same", "{verdict}");
    assert_eq!(verdict["step"], Value::Null, "{verdict}");
}

#[test]
fn nothing_is_read_again_that_policy_does_not_permit_or_that_is_decided() {
    let (place, run) = unmet();
    let before = runs(&place);
    // An entry that is another one now may answer another question.
    place.edit("provost.toml", "single = true", "single = true\nlimit = 1");
    place.write(
        "policies/50-pages.cedar",
        "@id(\"no-pages\")\nforbid(principal, action == Action::\"notes.read\", resource);\n",
    );
    let verdict = recheck(&place, &run);
    for step in ["count", "page"] {
        assert_eq!(answer(&verdict, step), "not_made", "{verdict}");
    }
    assert_eq!(runs(&place), before, "{verdict}");
    // The control: a run whose verdict is decided has nothing to be read again.
    let (place, run) = counted();
    let before = runs(&place);
    let verdict = place.json(&["why", &run, "--recheck", "--json"]);
    assert_eq!(verdict["guilty"], "nobody", "{verdict}");
    assert_eq!(verdict["rechecked"], Value::Null, "{verdict}");
    assert_eq!(runs(&place), before);
    place
        .run(&["why", &run, "--recheck", "--against", &run])
        .exits(2);
    // A run is not held against itself, nor against one that did not succeed.
    let itself = place.run(&["why", &run, "--against", &run]).exits(2);
    assert!(itself.stderr.contains("compared with itself"), "{itself}");
}

/// A run that succeeded.
fn counted() -> (Workplace, String) {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let run = newest(&place);
    (place, run)
}
