use insta::assert_snapshot;

use super::workplace::{PLAN, Workplace};

#[test]
fn a_saved_plan_is_shown_for_review() {
    let place = Workplace::new();
    place
        .run(&["plan", "Note the orders of ada", "-o", "saved.json"])
        .exits(0);
    assert_snapshot!(place.run(&["show", "saved.json"]), @r#"
    exit 0
    --- stdout
      goal       Note the orders of ada
      reach      shop.orders → notes.write (write)
      plan       2 steps, 1 read, 1 write; 1 waits for a person
      at most    2 calls, 6 attempts, 3 min 3 s without waits for people; cost not set
      requester  ada; solo workspace: the requester may also approve
      planner    playbook note
      digest     sha256:DIGEST

      1  count  read   shop.orders with customer: "ada"
      2  note   write  notes.write, high risk, no undo. Write the note
         to       path: "orders.txt"  ← literal
         with     text: "${ steps.count.output.row.total } orders of ${ params.customer }"
                  ← untrusted data from count
         accept   output.bytes > 0
         asks     approval by one person (production-writes)
         limits   1 call, 3 attempts of 30s, then another plan; a lost reply needs a person

      proof      the number of orders stands in the note: steps.note.status == "succeeded"
      unchecked  how long people take to answer: note; the plans of up to 5 revisions; what tools do
                 beyond their declared effect
    "#);
}

/// What the calls of a plan add up to stands beside what they cost.
#[test]
fn the_sums_of_counted_values_are_shown() {
    let place = Workplace::new();
    let pay = "[tools.shop.ops.pay]\nexecute = \"update orders set customer = :to where :n > 0 or :p > 0\"\n\
               effect = \"write\"\nvalues = { spend = \"n\", posted = \"p\" }\n\
               [tools.shop.ops.pay.input]\ntype = \"object\"\nrequired = [\"to\", \"n\"]\n\
               additionalProperties = false\nproperties = { to = { type = \"string\" }, \
               n = { type = \"integer\" }, p = { type = \"number\" } }\n";
    let notes = "[tools.notes]";
    place.edit("provost.toml", notes, &format!("{pay}{notes}"));
    place.write(
        "pay.yaml",
        "schema: provost/plan/v1\ngoal: Pay twice\nsteps:\n\
         - { id: one, tool: shop.pay, args: { to: a, n: 300 } }\n\
         - { id: two, tool: shop.pay, args: { to: b, n: 250, p: 0.5 }, needs: [one] }\n\
         success: [{ for: goal, check: \"${ steps.two.status == 'succeeded' }\" }]\nanswer: done\n",
    );
    let shown = place.run(&["show", "pay.yaml"]).exits(0).stdout;
    let line = shown.lines().find(|line| line.contains("adds up"));
    let line = line.map(str::trim);
    assert_eq!(
        line,
        Some("adds up    posted without a bound; spend up to 550"),
        "{shown}"
    );
    let data = place.json(&["show", "pay.yaml", "--json"]);
    let sums = &data["reach"]["at_most"]["values"];
    assert_eq!(
        sums,
        &serde_json::json!({ "posted": null, "spend": "550" }),
        "{data}"
    );
    let less = std::fs::read_to_string(place.path("pay.yaml")).unwrap();
    place.write("less.yaml", less.replace("n: 250, p: 0.5", "n: 50, p: 0.5"));
    place.write("told.yaml", less.replace("n: 300 }", "n: 300, p: 2 }"));
    let diff = |one: &str, two: &str| {
        let shown = place.run(&["diff", one, two]).exits(0).stdout;
        let lines = shown.lines().filter(|line| line.contains("adds up"));
        lines.map(str::to_owned).collect::<Vec<String>>()
    };
    assert_eq!(
        diff("less.yaml", "pay.yaml"),
        ["  + adds up   spend: 350 → 550"]
    );
    assert_eq!(
        diff("pay.yaml", "less.yaml"),
        ["  - adds up   spend: 550 → 350"]
    );
    assert_eq!(
        diff("pay.yaml", "told.yaml"),
        ["  - adds up   posted: no bound → 2.5"]
    );
    let data = place.json(&["diff", "told.yaml", "pay.yaml", "--json"]);
    assert_eq!(
        data.pointer("/reach/sums"),
        Some(&serde_json::json!([{ "of": "posted", "from": "2.5", "to": null }])),
        "{data}"
    );
    // The control: a plan that adds to nothing has no such line.
    place
        .run(&["plan", "Count the orders of ada", "-o", "saved.json"])
        .exits(0);
    let shown = place.run(&["show", "saved.json"]).exits(0).stdout;
    assert!(!shown.contains("adds up"), "{shown}");
}

#[test]
fn a_stale_plan_says_so() {
    let place = Workplace::new();
    place
        .run(&["plan", "Count the orders of ada", "-o", "saved.json"])
        .exits(0);
    place.edit(
        "provost.toml",
        "[tools.shop]",
        "[limits]\nsteps = 20\n[tools.shop]",
    );
    let ran = place.run(&["show", "saved.json"]).exits(0);
    assert!(
        ran.stdout
            .starts_with("this saved plan is stale: changed: the limits\n"),
        "{ran}"
    );
}

#[test]
fn a_run_is_shown_with_its_outcome() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["show", &run]), @r#"
    exit 0
    --- stdout
    run RUN: waits for approval
      goal       Note the orders of ada
      asked      by ada at MOMENT
      plan       revision 1
      solo       the requester may also approve

      count  shop.orders  read   succeeded
      note   notes.write  write  waits for approval

    observed
      count  {"found":true,"row":{"latest":"ada","total":2}}

    still to come
      2  note  write  notes.write, high risk, no undo. Write the note
         to       path: "orders.txt"  ← literal
         with     text: "${ steps.count.output.row.total } orders of ${ params.customer }"
                  ← untrusted data from count
         accept   output.bytes > 0
         asks     approval by one person (production-writes)
         limits   1 call, 3 attempts of 30s, then another plan; a lost reply needs a person

    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "2 orders of ada"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST

    approve: provost approve RUN@CARD
    reject: provost reject RUN@CARD --reason WHY
    "#);
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let prefix: String = run.chars().take(6).collect();
    assert_snapshot!(place.run(&["show", &prefix]), @r#"
    exit 0
    --- stdout
    run RUN: succeeded
      goal       Note the orders of ada
      asked      by ada at MOMENT
      ended      at MOMENT
      plan       revision 1
      solo       the requester may also approve

      count  shop.orders  read   succeeded
      note   notes.write  write  succeeded

    observed
      count  {"found":true,"row":{"latest":"ada","total":2}}
      note   {"bytes":15,"created":true,"path":"orders.txt"}

    said by people
      MOMENT  ada  note: approved by ada

    succeeded: Note the orders of ada

    The note is written. [1] (said, not shown)

    [1] step `note`, evidence sha256:DIGEST

    proven: the number of orders stands in the note
    "#);
}

#[test]
fn what_a_run_made_is_listed() {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        "op = \"write\"",
        "op = \"write\"\ncreates = { kind = \"note\", id = \"${ output.path }\" }",
    );
    let (run, card) = place.waiting();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let shown = place.run(&["show", &run]).exits(0);
    assert!(
        shown
            .stdout
            .contains("created    note orders.txt by step note\n"),
        "{shown}"
    );
    let made = place.json(&["show", &run, "--json"]);
    assert_eq!(
        made["created"],
        serde_json::json!([{ "kind": "note", "id": "orders.txt", "step": "note" }])
    );
}

#[test]
fn showing_makes_no_journal() {
    let place = Workplace::new();
    place.write("plan.yaml", PLAN);
    place.run(&["show", "plan.yaml"]).exits(0);
    assert!(!place.path(".provost").exists());
}

#[test]
fn what_decides_stands_first() {
    let place = Workplace::new();
    let plan = r#"schema: provost/plan/v1
goal: { text: Ask whose orders to note, success: [ { id: noted, text: the note is written } ] }
steps:
  - { id: whose, question: "Whose orders?" }
  - { id: count, tool: shop.orders, args: { customer: "${ steps.whose.output }" } }
  - id: note
    tool: notes.write
    when: ${ steps.count.output.row.total > 0 }
    args: { path: "${ steps.count.output.row.latest }.txt", text: "${ steps.count.output.row.total } orders" }
    accept: ["${ output.bytes > 0 }"]
success:
  - { for: noted, check: '${ steps.note.status in ["succeeded", "skipped"] }' }
answer: "${ steps.count.output.row.total } orders."
"#;
    place.write("plan.yaml", plan);
    let shown = place.run(&["show", "plan.yaml"]).exits(0);
    let first: Vec<&str> = shown.stdout.lines().take(21).collect();
    assert_snapshot!(first.join("\n"), @r#"
    goal       Ask whose orders to note
    reach      a person's answer, shop.orders → notes.write (write)
    plan       3 steps, 1 read, 1 write, 1 question; 2 wait for a person
    at most    2 calls, 6 attempts, 3 min 3 s without waits for people; cost not set
    requester  ada; solo workspace: the requester may also approve
    digest     sha256:DIGEST

    1  whose  asks   anyone who may approve: "Whose orders?"
    2  count  read   shop.orders with customer: steps.whose.output
    3  note   write  notes.write, high risk, no undo
       when     steps.count.output.row.total > 0  ← untrusted data from count
       to       path: "${ steps.count.output.row.latest }.txt"
                ← untrusted text from count; checked when it runs: its schema does not prove that it
                fits
       with     text: "${ steps.count.output.row.total } orders"  ← untrusted data from count
       accept   output.bytes > 0
       asks     approval by one person (production-writes, untrusted-sink)
       limits   1 call, 3 attempts of 30s, then another plan; a lost reply needs a person

    proof      the note is written: steps.note.status in ["succeeded", "skipped"]
    unchecked  how long people take to answer: whose, note; the plans of up to 5 revisions; what tools
    "#);
    let data = place.json(&["show", "plan.yaml", "--json"]);
    assert_eq!(data.pointer("/reach/destinations/0/1").unwrap(), "write");
}

/// Five thousand rows are a few lines for whoever reads of them, and all of them evidence.
#[test]
fn a_long_observation_is_summed_up() {
    let place = Workplace::new();
    place.edit(
        "provost.toml",
        "select count(*) as total, coalesce(max(customer), '') as latest",
        "select rowid as n, customer",
    );
    place.edit("provost.toml", "single = true", "max_rows = 5000");
    let rows = r#"{ "type": "object", "required": ["rows"], "properties": { "rows": {
        "type": "array", "items": { "type": "object", "required": ["n"], "properties": {
            "n": { "type": "integer" }, "customer": { "type": "string" } } } } } }"#;
    place.write("schemas/orders.json", rows);
    for playbook in ["count", "note", "ask"] {
        std::fs::remove_file(place.path(&format!("playbooks/{playbook}.yaml"))).unwrap();
    }
    let many = "with recursive n(x) as (select 4 union all select x + 1 from n where x < 5000)
        insert into orders select 'customer ' || x from n";
    let database = rusqlite::Connection::open(place.path("data/shop.db")).unwrap();
    assert_eq!(database.execute(many, []).unwrap(), 4_997);
    let plan = PLAN.replace("row.total }", "rows.size() }");
    place.write("plan.yaml", plan);
    let ran = place.run(&["apply", "plan.yaml"]).exits(0);
    assert!(ran.stdout.contains("5000 orders."), "{ran}");
    let runs = place.json(&["runs", "--json"]);
    let run = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
    let shown = place.run(&["show", run]).exits(0);
    assert!(shown.raw_stdout.len() < 3_000, "{shown}");
    let (_, observed) = shown.stdout.split_once("observed\n").unwrap();
    assert_snapshot!(observed.lines().next().unwrap(), @r#"  count  {"row_count":5000,"rows":{"ref":"steps.count.output.rows","items":5000,"shown":[{"customer":"ada","n":1},{"customer":"ada","n":2},{"customer":"grace","n":3}],"last":{"customer":"customer 5000","n":5000}}}"#);
}

/// What was sent, what came, who approved; and the same in the file for somebody else.
#[test]
fn a_step_is_shown_in_detail_and_a_run_goes_out_as_a_file() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let shown = place.run(&["show", &run, "note"]).exits(0).stdout;
    let short = regex::Regex::new("(card|arguments|evidence) [0-9a-f]{12}|[0-9.]+ ms").unwrap();
    assert_snapshot!(short.replace_all(&shown, "$1 …"), @r#"
    step note of run RUN: succeeded
      purpose    Write the note
      does       notes.write

    MOMENT  note: waits for approval (card …, 1 call of `notes.write`, write, high risk)
    MOMENT  approved by ada (card …)
    MOMENT  note: calls notes.write (arguments …, ask, card …)
        argument   path: "orders.txt"
        argument   text: "2 orders of ada"
    MOMENT  note: ok (attempt 1, evidence …,  …)
        evidence   sha256:DIGEST
    MOMENT  note: observed text (evidence …)
        output     {"bytes":15,"created":true,"path":"orders.txt"}
        evidence   sha256:DIGEST
    MOMENT  note: succeeded
    "#);
    let step = place.json(&["show", &run, "note", "--json"]);
    assert_eq!(step["statements"][0]["by"], "ada");
    assert_eq!(step["statements"][0]["verb"], "approve");
    let digest = step["statements"][0]["digest"].as_str().unwrap();
    assert!(digest.contains(&card), "{digest}");
    let kinds = step["events"].as_array().unwrap().iter();
    let kinds: Vec<&str> = kinds.map(|one| one["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains(&"ApprovalGiven") && kinds.contains(&"AttemptEnded"));
    // The control: what is of another step is not there.
    let of_count = place.json(&["show", &run, "count", "--json"]);
    assert_eq!(of_count["statements"], serde_json::json!([]));
    assert!(!of_count["events"].to_string().contains("ApprovalGiven"));
    let wrong = place.run(&["show", &run, "nott"]).exits(2);
    assert!(wrong.stderr.contains("its steps: count, note"), "{wrong}");

    let told = place
        .run(&["audit", "export", &run, "-o", "run.json"])
        .exits(0);
    assert!(told.stderr.contains("events is in run.json"), "{told}");
    let text = std::fs::read_to_string(place.path("run.json")).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file, place.json(&["audit", "export", &run]));
    assert_eq!(file["run"]["status"], "succeeded");
    assert_eq!(file["statements"], step["statements"]);
    let events = file["events"].as_array().unwrap();
    let numbers: Vec<u64> = events
        .iter()
        .map(|one| one["seq"].as_u64().unwrap())
        .collect();
    assert!(
        numbers
            .iter()
            .enumerate()
            .all(|(at, n)| *n == at as u64 + 1)
    );
    assert_eq!(events.last().unwrap()["kind"], "RunEnded");
}
