use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_question_waits_with_its_command_and_an_answer_goes_on() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["run", "Ask whose orders count"]), @r#"
    exit 3
    --- stdout
    question: Whose orders?
      asked by   step `whose`
      answer     a text that fits {"minLength":2,"type":"string"}
      run        RUN
      digest     sha256:DIGEST

    answer: provost answer RUN@CARD VALUE
    --- stderr
    run RUN: Ask whose orders count
    solo workspace: the requester may also approve

    plan, revision 1: 2 steps, 1 read; no approval needed; 1 question
      1  whose  (question)   -     answer  from anyone who may approve
      2  count  shop.orders  read  permit  by plain-reads

    question: Whose orders?
    "#);
    let (run, card) = place.card();
    assert_snapshot!(place.run(&["answer", &format!("{run}@{card}"), "grace"]), @r#"
    exit 0
    --- stdout
    succeeded: Ask whose orders count

    1 orders. [1]

    [1] step `count`, evidence sha256:DIGEST

    proven: the orders were counted
    --- stderr
    run RUN: resumed
    answered by ada: "grace"
    whose: succeeded
    count: calls shop.orders
    count: succeeded after TIME
    "#);
}

#[test]
fn an_answer_that_does_not_fit_is_refused() {
    let place = Workplace::new();
    place.run(&["run", "Ask whose orders count"]).exits(3);
    let (run, _) = place.card();
    assert_snapshot!(place.run(&["answer", &run, "x"]), @r#"
    exit 2
    --- stderr
    error: `x` is not a text that fits {"minLength":2,"type":"string"}: value is shorter than 2 characters

    hint: the question is: Whose orders?
    "#);
    assert_eq!(place.status(), "waiting_answer");
}

#[test]
fn an_answer_is_evidence_and_the_journal_verifies_and_is_copied() {
    let place = Workplace::new();
    place.run(&["run", "Ask whose orders count"]).exits(3);
    let (run, card) = place.card();
    place
        .run(&["answer", &format!("{run}@{card}"), "grace"])
        .exits(0);
    place.run(&["audit", "verify"]).exits(0);
    place.run(&["doctor"]).exits(0);
    place.run(&["backup", "copy.db"]).exits(0);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    let mut python = std::process::Command::new("python3");
    let ran = python.arg(script).arg(place.path("copy.db")).output();
    assert!(ran.unwrap().status.success());
    let journal = rusqlite::Connection::open(place.path("copy.db")).unwrap();
    let sql = "SELECT count(*) FROM evidence WHERE bytes = CAST('\"grace\"' AS BLOB)";
    let kept: i64 = journal.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1, "the bytes of the answer");
}

/// At a terminal, too, the time of a question ends: the prompt is taken back and the run goes on.
#[test]
fn a_prompt_ends_with_the_time_of_its_question() {
    let place = Workplace::new();
    place.edit(
        "playbooks/ask.yaml",
        "question: {",
        "question: { expires: 2s, default: grace,",
    );
    let provost = env!("CARGO_BIN_EXE_provost");
    let line = format!("{provost} run 'Ask whose orders count'");
    let mut script = std::process::Command::new("script");
    for (name, value) in place.command(&[]).get_envs() {
        match value {
            Some(value) => script.env(name, value),
            None => script.env_remove(name),
        };
    }
    script
        .args(["-qec", &line, "/dev/null"])
        .current_dir(place.path("."))
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped());
    let mut child = script.spawn().unwrap();
    // Why held: at the end of its input nobody could type any more.
    let typing = child.stdin.take();
    let began = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > std::time::Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the prompt stands after its time");
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    drop(typing);
    let output = child.wait_with_output().unwrap();
    let seen = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        seen.contains("no longer asking: the time for it is over"),
        "{seen}"
    );
    assert!(seen.contains("1 orders."), "{seen}");
    assert_eq!(output.status.code(), Some(0), "{seen}");
}

/// What decides that the write runs is half a tool's and half a person's.
const REMIND: &str = r#"schema: provost/plan/v1
goal:
  text: Note how many orders there are, if I want it
  success: [ { id: noted, text: the note is there } ]
steps:
  - { id: count, tool: shop.orders, args: { customer: ada } }
  - { id: tone, question: { text: "In which tone?", answer: { enum: [kind, stern] } } }
  - id: note
    tool: notes.write
    when: ${ steps.count.output.row.total > 0 && steps.tone.output == "stern" }
    args: { path: "orders.txt", text: "${ steps.count.output.row.total } orders" }
success:
  - { for: noted, check: '${ steps.note.status == "succeeded" }' }
answer: "Noted."
"#;

#[test]
fn a_card_does_not_count_a_persons_answer_among_what_is_untrusted() {
    let place = Workplace::new();
    place.write("plan.yaml", REMIND);
    place.run(&["apply", "plan.yaml"]).exits(3);
    let (run, card) = place.card();
    let ran = place.run(&["answer", &format!("{run}@{card}"), "stern"]);
    let ran = ran.exits(3);
    assert!(
        ran.stdout
            .contains("depends on untrusted data from count\n"),
        "{ran}"
    );
    let asked = place.run(&["inbox"]).exits(0);
    assert!(
        asked.stdout.contains("untrusted data from count\n"),
        "{asked}"
    );
}

#[test]
fn a_number_is_asked_for_with_its_bounds() {
    let place = Workplace::new();
    let bounded = "answer: { type: integer, minimum: 1 }";
    let plan = REMIND
        .replace("answer: { enum: [kind, stern] }", bounded)
        .replace("== \"stern\"", "> 3");
    place.write("plan.yaml", plan);
    let ran = place.run(&["apply", "plan.yaml"]).exits(3);
    assert!(ran.stdout.contains("a whole number, 1 or more\n"), "{ran}");
    let (run, card) = place.card();
    let ran = place
        .run(&["answer", &format!("{run}@{card}"), "-5"])
        .exits(2);
    let said = "error: -5 is less than the minimum of 1: the answer is a whole number, 1 or more";
    assert!(ran.stderr.contains(said), "{ran}");
    // The control: what fits is taken.
    place
        .run(&["answer", &format!("{run}@{card}"), "5"])
        .exits(3);
}
