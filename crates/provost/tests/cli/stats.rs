//! `stats`, and what `trace --json` holds of each event.

use serde_json::Value;

use super::workplace::Workplace;

#[test]
fn runs_are_counted_with_what_their_figures_are_made_of() {
    let place = Workplace::new();
    assert!(place.run(&["stats"]).stderr.contains("nothing has run"));
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    place.run(&["run", "Note the orders of ada"]).exits(3);
    let stats = place.json(&["stats", "--json"]);
    assert_eq!(stats["schema"], "provost/stats/v1");
    let all = &stats["groups"][0];
    assert_eq!(all["runs"], 3);
    assert_eq!(all["statuses"]["waiting_approval"], 1);
    let pair = |rate: &Value| (rate["numerator"].as_u64(), rate["denominator"].as_u64());
    let (planning, execution) = (&all["planning"], &all["execution"]);
    // Three first proposals; the run that is not over has no criterion and no end.
    assert_eq!(pair(&planning["first_time"]), (Some(3), Some(3)));
    assert_eq!(pair(&planning["shown"]), (Some(2), Some(2)));
    assert_eq!(pair(&execution["completed_alone"]), (Some(2), Some(2)));
    // The playbook revises where nobody ordered anything: by what was observed, no failure.
    assert_eq!(pair(&planning["revisions"]), (Some(1), Some(3)));
    assert_eq!(all["revisions_by"]["observed"], 1);
    assert_eq!(
        planning["revisions"]["low"],
        Value::Null,
        "a mean is no share"
    );
    assert!(execution["tool_success"]["low"].as_f64().unwrap() < 1.0);
    assert_eq!(execution["in_doubt"], Value::Null, "nothing was attempted");
    let by = place.json(&["stats", "--by", "playbook", "--json"]);
    assert_eq!(by["groups"].as_array().unwrap().len(), 2);
    let by = place.json(&["stats", "--by", "operation", "--json"]);
    assert_eq!(by["groups"][0]["group"], "shop.orders");
    assert_eq!(by["groups"].as_array().unwrap().len(), 1);
    let none = place.run(&["stats", "--since", "1ms"]);
    assert!(none.stderr.contains("there is no such run"), "{none}");
    place.run(&["stats", "--since", "soon"]).exits(2);
    let text = place.run(&["stats"]).exits(0).stdout;
    assert!(text.contains("tries that ended ok"), "{text}");
}

#[test]
fn a_trace_has_arguments_results_and_risk_and_no_secret() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let trace = || place.json(&["trace", &run, "--json"]);
    let of = |trace: &Value, kind: &str| {
        let lines = trace["execution"].as_array().unwrap();
        lines
            .iter()
            .find(|line| line["kind"] == kind)
            .unwrap()
            .clone()
    };
    let before = trace();
    assert_eq!(before["schema"], "provost/trace/v2");
    let started = of(&before, "AttemptStarted");
    assert_eq!(started["data"]["args"]["customer"], "ada");
    assert_eq!(started["risk"], "low");
    assert!(of(&before, "ObservationMade")["data"]["output"]["row"].is_object());
    // An operation that is another now: nobody knows what it gave back then.
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", config.replace("like '%'", "like '' || '%'"));
    let moved = of(&trace(), "ObservationMade");
    assert_eq!(moved["data"]["output"]["secret"], true);
    // Nor where the workspace cannot be read.
    place.write("provost.toml", "[tools.shop]\nkind = \"none\"\n");
    let unread = of(&trace(), "ObservationMade");
    assert_eq!(unread["data"]["output"]["secret"], true);
}
