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
    let by = place.json(&["stats", "--by", "version", "--json"]);
    assert_eq!(by["groups"][0]["group"], env!("CARGO_PKG_VERSION"));
    assert_eq!(by["groups"].as_array().unwrap().len(), 1);
    let by = place.json(&["stats", "--by", "operation", "--json"]);
    assert_eq!(by["groups"][0]["group"], "shop.orders");
    assert_eq!(by["groups"].as_array().unwrap().len(), 1);
    let none = place.run(&["stats", "--since", "1ms"]);
    assert!(none.stderr.contains("there is no such run"), "{none}");
    place.run(&["stats", "--since", "soon"]).exits(2);
    let text = place.run(&["stats"]).exits(0).stdout;
    assert!(text.contains("tries that ended ok"), "{text}");
}

/// The counts that the journal keeps, by run.
fn kept(place: &Workplace) -> Vec<(i64, String)> {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let mut query = journal
        .prepare("select run, facts from run_facts order by run")
        .unwrap();
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

fn in_journal(place: &Workplace, sql: &str) {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal.execute_batch(sql).unwrap();
}

#[test]
fn what_is_kept_of_a_run_is_what_its_events_say() {
    let place = Workplace::new();
    let recounted = |place: &Workplace| place.json(&["doctor", "--recount", "--json"]);
    assert_eq!(recounted(&place)["runs"], 0);
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    let noted = place
        .run(&["run", "Note the orders of ada", "--json"])
        .exits(3);
    let noted: Value = serde_json::from_str(&noted.raw_stdout).unwrap();
    let run = noted["id"].as_str().unwrap();
    // Of a run that is not over nothing is kept.
    assert_eq!(kept(&place).len(), 2);
    // Another process ends this one, and has not all of its events at hand.
    place.run(&["reject", run, "--reason", "not now"]).exits(0);
    let stats = place.json(&["stats", "--json"]);
    let verdicts = &stats["groups"][0]["verdicts"];
    assert_eq!(verdicts[0]["guilty"], "neither", "{verdicts}");
    assert_eq!(
        (&verdicts[0]["party"], &verdicts[0]["runs"]),
        (&"person".into(), &1.into())
    );
    assert_eq!(verdicts.as_array().unwrap().len(), 1);
    let text = place.run(&["stats"]).exits(0).stdout;
    assert!(text.contains("speak against"), "{text}");
    let rows = kept(&place);
    assert_eq!(rows.len(), 3);
    in_journal(&place, "delete from run_facts");
    assert_eq!(
        place.json(&["stats", "--json"]),
        stats,
        "counted from events"
    );
    let again = recounted(&place);
    assert_eq!(
        (&again["runs"], again["changed"].as_array().unwrap().len()),
        (&3.into(), 3)
    );
    assert_eq!(kept(&place), rows, "the fold keeps the same");
    assert!(recounted(&place)["changed"].as_array().unwrap().is_empty());
    // The control: what is kept is what is read, and another count is found.
    let wrong = "update run_facts set facts = replace(facts, '\"settled\":1', '\"settled\":9')";
    in_journal(&place, wrong);
    assert_ne!(place.json(&["stats", "--json"]), stats);
    let text = place.run(&["doctor", "--recount"]).exits(0).stdout;
    assert!(text.contains("missing or other"), "{text}");
    assert_eq!(kept(&place), rows);
    // What other formulas counted, and what was counted before a later event, is not believed.
    for stale in ["formulas = 1", "seq = seq - 1"] {
        in_journal(&place, &format!("{wrong}; update run_facts set {stale}"));
        assert_eq!(place.json(&["stats", "--json"]), stats, "{stale}");
    }
}

/// Short, and longer than what lies beside a copy of a run: the end of a run is counted as its
/// journal is. The control is a count that is changed.
#[test]
fn a_long_run_is_counted_as_its_journal_is() {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        "[tools.shop]",
        "[limits]\nsteps = 1000\ncalls = 1000\nattempts = 3000\nwall = \"4h\"\n[tools.shop]",
    );
    for (steps, at_least) in [(10, 20), (1_000, 1_025)] {
        place.write("plan.yaml", reads(steps));
        place.run(&["apply", "plan.yaml"]).exits(0);
        let last = "SELECT max(seq) FROM events WHERE run = (SELECT max(n) FROM runs)";
        let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
        let events: i64 = journal.query_row(last, [], |row| row.get(0)).unwrap();
        assert!(events >= at_least, "{steps} steps, {events} events");
    }
    let rows = kept(&place);
    assert_eq!(rows.len(), 2);
    let recounted = || place.json(&["doctor", "--recount", "--json"])["changed"].clone();
    assert_eq!(recounted(), serde_json::json!([]));
    let wrong = "update run_facts set facts = replace(facts, '\"settled\":', '\"settled\":1')";
    in_journal(&place, wrong);
    assert_ne!(kept(&place), rows);
    assert_eq!(recounted().as_array().map(Vec::len), Some(2));
    assert_eq!(kept(&place), rows);
}

/// A plan that reads as often.
fn reads(steps: usize) -> String {
    let mut plan = format!(
        "schema: provost/plan/v1\ngoal:\n  text: Look {steps} times\n  \
         success: [ {{ id: looked, text: the orders were counted }} ]\nsteps:\n"
    );
    for step in 1..=steps {
        plan += &format!(
            "  - {{ id: s{step}, description: Count {step}, tool: shop.orders, \
             args: {{ customer: \"c{step}\" }} }}\n"
        );
    }
    plan += "success:\n  - { for: looked, check: '${ steps.s1.status == \"succeeded\" }' }\n";
    plan + "answer: looked\n"
}

#[test]
fn latencies_are_those_that_the_toolbox_measured() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of nobody"]).exits(0);
    let stats = place.json(&["stats", "--json"]);
    let of_tool = &stats["groups"][0]["latency_us"]["shop.orders"];
    assert_eq!(of_tool["calls"], 2);
    let (half, most) = (
        of_tool["p50"].as_u64().unwrap(),
        of_tool["p99"].as_u64().unwrap(),
    );
    assert!(half > 0 && half <= most, "{of_tool}");
    let text = place.run(&["stats"]).exits(0).stdout;
    assert!(text.contains("latency of tools"), "{text}");
    let by = place.json(&["stats", "--by", "operation", "--json"]);
    assert_eq!(&by["groups"][0]["latency_us"]["shop.orders"], of_tool);
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
