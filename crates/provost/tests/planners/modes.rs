//! The modes of planning, at the command line: whole at once, or step by step through a subgoal.

use std::time::Instant;

use serde_json::{Value, json};
use sim::model::Scripted;

use crate::place::Place;
use crate::stage::{count, moment};

/// What is certain, and a subgoal for the rest; `more` is behind it.
pub fn coarse(more: &[Value], result: Option<&str>) -> Value {
    let mut subgoal = json!({
        "id": "rose", "description": "When latency rose",
        "subgoal": "Find the minute from which latency is up",
        "when": "${ steps.service.output.row != null }",
        "tools": ["metrics.rise", "metrics.summary"],
        "effect_max": "read", "steps_max": 3, "output": { "type": "string" },
    });
    if let Some(result) = result {
        subgoal["result"] = json!(result);
    }
    let mut steps = vec![
        json!({
            "id": "service", "description": "Find the service", "tool": "metrics.service",
            "args": { "name": "Payment API" },
        }),
        subgoal,
    ];
    steps.extend(more.iter().cloned());
    json!({
        "steps": steps,
        "success": [{ "for": "goal", "check": "${ steps.rose.status == \"succeeded\" }" }],
        "answer": [{
            "when": "${ steps.rose.status == \"succeeded\" }",
            "text": "Latency rose at ${ steps.rose.output }.",
        }],
    })
}

pub fn rise() -> Value {
    json!({
        "id": "rose/rise", "description": "The rise", "tool": "metrics.rise",
        "args": { "service": "${ steps.service.output.row.id }", "ratio": 1.5 },
    })
}

pub const RESULT: &str = "${ steps[\"rose/rise\"].output.row != null ? \
    steps[\"rose/rise\"].output.row.rose_at : \"no minute\" }";

fn replies() -> [Scripted; 3] {
    [
        coarse(&[], None),
        coarse(&[rise()], None),
        coarse(&[rise()], Some(RESULT)),
    ]
    .map(|plan| Scripted::json(json!({ "plan": plan })))
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn user(place: &Place, at: usize) -> String {
    place.asked()[at].body["messages"][1]["content"].to_string()
}

#[test]
fn in_the_mode_iterative_a_subgoal_is_refined_to_the_right_end() {
    let place = Place::new(replies());
    let ran = place
        .run(&["run", place.goal(), "--mode", "iterative"])
        .exits(0);
    let rose_at = place.dataset.truth.rose_at.clone().unwrap();
    assert!(ran.stdout.contains(&rose_at), "{}", ran.stdout);
    assert_eq!(place.asked().len(), 3);
    assert!(user(&place, 0).contains("iterative: propose the steps that are certain"));
    assert!(user(&place, 1).contains("Refine the subgoal named above"));
    // What stays the same stands first, mode and goal included.
    let (one, two) = (user(&place, 1), user(&place, 2));
    let same = one
        .bytes()
        .zip(two.bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert!(same > user(&place, 0).find("# Goal").unwrap(), "{same}");
    let all = flat(&ran.all());
    assert!(
        all.contains("replanning: subgoal `rose` needs its steps"),
        "{all}"
    );
    let run = place.stage.only_run().unwrap();
    let trace = flat(&place.run(&["trace", &run, "--planning"]).exits(0).stdout);
    for words in [
        "planner: model large, mode iterative",
        "rules: mode iterative was requested, so model large plans step by step",
        "asked for a refinement (request 2,",
        ": subgoal `rose` needs its steps",
    ] {
        assert!(trace.contains(words), "{words}\n{trace}");
    }
    let counts = flat(&place.run(&["trace", &run]).exits(0).stdout);
    assert!(counts.contains("0 revisions, 2 refinements"), "{counts}");
    let shown = flat(&place.run(&["show", &run]).exits(0).stdout);
    assert!(shown.contains("rose (subgoal)"), "{shown}");
    assert!(shown.contains("rose/rise metrics.rise"), "{shown}");
    let diff = flat(&place.run(&["diff", &run, "1", "3"]).exits(0).stdout);
    assert!(diff.contains("+ rose/rise metrics.rise"), "{diff}");
    assert!(diff.contains("~ rose"), "{diff}");
}

#[test]
fn a_subgoal_that_nobody_could_refine_is_why_the_run_failed() {
    let decline = Scripted::json(json!({ "decline": "no idea" }));
    let place = Place::new([replies()[0].clone(), decline]);
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert!(
        flat(&ran.all()).contains("there is no refinement of `rose`"),
        "{}",
        ran.all()
    );
    let run = place.stage.only_run().unwrap();
    assert_eq!(place.run(&["answer", &run, "stop"]).code, Some(1));
    let why = flat(&place.run(&["why", &run]).exits(0).stdout);
    assert!(
        why.contains("no planner refined the subgoal `rose`"),
        "{why}"
    );
}

/// `kill -9` at random moments: what was answered is not asked for again.
#[test]
fn a_refinement_that_was_answered_is_not_asked_for_again() {
    const KILLS: u64 = 3;
    let texts = ["Propose a plan.", "steps_left\\\":3", "steps_left\\\":2"];
    let make = || {
        let scripted = replies().into_iter().zip(texts);
        Place::new(scripted.map(|(reply, text)| Scripted {
            asked: Some(text.to_owned()),
            delay_ms: 40,
            ..reply
        }))
    };
    let asked = |place: &Place| {
        let sent: Vec<String> = place
            .asked()
            .iter()
            .map(|one| one.body.to_string())
            .collect();
        texts.map(|text| sent.iter().filter(|sent| sent.contains(text)).count())
    };
    let whole = make();
    let begun = Instant::now();
    whole.run(&["run", whole.goal()]).exits(0);
    let takes_ms = u64::try_from(begun.elapsed().as_millis())
        .unwrap()
        .clamp(10, 2_000);
    assert_eq!(asked(&whole), [1, 1, 1]);
    let mut kills = 0;
    for seed in 0..u64::from(count(5)) {
        let place = make();
        let on = || match place.stage.only_run() {
            None => Some(vec!["run".to_owned(), place.goal().to_owned()]),
            Some(run) => (place.status() != "succeeded").then(|| vec!["resume".to_owned(), run]),
        };
        let mut answered = Vec::new();
        for round in 0..KILLS {
            let Some(words) = on() else { break };
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let mut child = place.command(&words).spawn().unwrap();
            std::thread::sleep(moment(seed * KILLS + round, takes_ms));
            kills += u64::from(child.try_wait().unwrap().is_none());
            let _ = child.kill();
            child.wait().unwrap();
            if place.stage.only_run().is_some() {
                answered.push((place.stage.count("PlanProposed"), asked(&place)));
            }
        }
        if let Some(words) = on() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            place.run(&words).exits(0);
        }
        let last = asked(&place);
        for (proposed, before) in answered {
            let proposed = usize::try_from(proposed).unwrap();
            assert_eq!(last[..proposed], before[..proposed], "seed {seed}");
        }
        assert_eq!(place.stage.count("PlanProposed"), 3, "seed {seed}");
    }
    println!("killed while running: {kills}");
    assert!(kills > 0, "no kill came in time to interrupt anything");
    // The control: where the journal is lost all is asked again, and the ledger shows it.
    std::fs::remove_dir_all(whole.stage.path().join(".provost")).unwrap();
    whole.run(&["run", whole.goal()]).exits(0);
    assert_eq!(asked(&whole), [2, 2, 2]);
}

#[test]
fn in_the_mode_single_a_subgoal_goes_back_and_one_request_is_enough() {
    let place = Place::new([
        Scripted::json(json!({ "plan": coarse(&[], None) })),
        Scripted::json(json!({ "plan": coarse(&[rise()], Some(RESULT)) })),
    ]);
    place
        .run(&["run", place.goal(), "--mode", "single"])
        .exits(0);
    assert_eq!(place.asked().len(), 2);
    assert!(user(&place, 0).contains("Use no subgoal"));
    assert!(user(&place, 1).contains("R116"), "{}", user(&place, 1));
    // In this mode the form of the reply has no subgoal in it.
    let form = |place: &Place| place.asked()[0].body["response_format"].to_string();
    assert!(!form(&place).contains("steps_max"));
    // The control: a whole plan takes one request.
    let place = Place::new([Scripted::json(
        json!({ "plan": coarse(&[rise()], Some(RESULT)) }),
    )]);
    place
        .run(&["run", place.goal(), "--mode", "single"])
        .exits(0);
    assert_eq!(place.asked().len(), 1);
    let run = place.stage.only_run().unwrap();
    let trace = flat(&place.run(&["trace", &run, "--planning"]).stdout);
    assert!(trace.contains("mode single was requested"), "{trace}");
    // And in `auto` the form has it.
    let place = Place::new(replies());
    place.run(&["run", place.goal()]).exits(0);
    assert!(form(&place).contains("steps_max"));
    assert_eq!(place.asked().len(), 3);
}

#[test]
fn a_plan_in_the_mode_single_has_no_open_subgoal() {
    let place = Place::new([
        Scripted::json(json!({ "plan": coarse(&[], None) })),
        Scripted::json(json!({ "plan": coarse(&[rise()], Some(RESULT)) })),
    ]);
    let planned = place
        .run(&["plan", place.goal(), "--mode", "single"])
        .exits(0);
    assert_eq!(place.asked().len(), 2);
    assert!(
        flat(&planned.stdout).contains("result steps[\"rose/rise\"]"),
        "{}",
        planned.stdout
    );
    // The control: without the mode the coarse plan is shown, with its envelope.
    let place = Place::new(replies());
    let planned = place.run(&["plan", place.goal()]).exits(0);
    assert_eq!(place.asked().len(), 1);
    let shown = flat(&planned.stdout);
    assert!(
        shown.contains("up to 3 steps of metrics.rise, metrics.summary"),
        "{shown}"
    );
    assert!(shown.contains("the steps that refine rose"), "{shown}");
}

#[test]
fn nobody_plans_step_by_step_where_nobody_is_configured() {
    let place = Place::without_planner([]);
    let ran = place
        .run(&["run", place.goal(), "--mode", "iterative"])
        .exits(2);
    let said = flat(&ran.stderr);
    assert!(
        said.contains("no `[planner]` that could plan step by step"),
        "{said}"
    );
}

/// A file is refined by nobody; it is refused before there is a run.
#[test]
fn a_plan_file_with_an_open_subgoal_is_refused() {
    let place = Place::without_planner([]);
    let file = place.stage.path().join("coarse.json");
    let apply = |plan: &Value| {
        let mut plan = plan.clone();
        plan["goal"] = json!({ "text": "When did latency rise?" });
        std::fs::write(&file, plan.to_string()).unwrap();
        place.run(&["apply", &file.to_string_lossy()])
    };
    let ran = apply(&coarse(&[], None));
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert!(
        flat(&ran.all()).contains("nobody would refine `rose`"),
        "{}",
        ran.all()
    );
    assert!(!place.stage.path().join(".provost").exists());
    // The control: with its steps and its result it runs.
    let ran = apply(&coarse(&[rise()], Some(RESULT)));
    assert_eq!(ran.code, Some(0), "{}", ran.all());
}

/// Neither is a playbook: `check` says so before anybody runs it.
#[test]
fn a_playbook_with_an_open_subgoal_is_found_and_not_run() {
    let place = Place::without_planner([]);
    let dir = place.stage.path().join("playbooks");
    std::fs::create_dir(&dir).unwrap();
    let book = dir.join("rise.yaml");
    let write = |plan: &Value| {
        let text = json!({
            "schema": "provost/playbook/v1", "match": "When did latency rise?", "plan": plan,
        });
        std::fs::write(&book, text.to_string()).unwrap();
    };
    write(&coarse(&[], None));
    let checked = place.run(&["check", &book.to_string_lossy()]);
    assert_eq!(checked.code, Some(1), "{}", checked.all());
    let all = flat(&checked.all());
    assert!(all.contains("R116"), "{all}");
    assert!(all.contains("playbook rise plans this run"), "{all}");
    let ran = place.run(&["run", "When did latency rise?"]);
    assert_eq!(ran.code, Some(1), "{}", ran.all());
    assert_eq!(place.stage.count("AttemptStarted"), 0);
    // The control: with its steps and its result it passes and runs.
    write(&coarse(&[rise()], Some(RESULT)));
    place.run(&["check", &book.to_string_lossy()]).exits(0);
    place.run(&["run", "When did latency rise?"]).exits(0);
}

/// A program is asked for a refinement with its envelope, and its calls are asked about like any.
#[test]
fn a_program_refines_inside_the_envelope() {
    let place = Place::without_planner([]);
    let plans = json!([
        coarse(&[], None),
        coarse(&[rise()], None),
        coarse(&[rise()], Some(RESULT)),
    ]);
    let program = format!(
        "import json, sys\nplans = json.loads({:?})\nfor line in sys.stdin:\n    m = json.loads(line)\n    \
         with open('asked', 'a') as f: f.write(line)\n    \
         a = m if m.get('kind') == 'hello' else {{'id': m['id'], 'plan': plans.pop(0)}}\n    \
         print(json.dumps(a), flush=True)\n",
        plans.to_string()
    );
    std::fs::write(place.stage.path().join("steps.py"), program).unwrap();
    let command = "[\"python3\", \"-B\", \"steps.py\"]";
    place.configure(&format!(
        "\n[planner]\nkind = \"process\"\ncommand = {command}\n"
    ));
    let ran = place
        .run(&["run", place.goal(), "--mode", "iterative"])
        .exits(0);
    let rose_at = place.dataset.truth.rose_at.clone().unwrap();
    assert!(ran.stdout.contains(&rose_at), "{}", ran.stdout);
    let asked = std::fs::read_to_string(place.stage.path().join("asked")).unwrap();
    let asked: Vec<Value> = asked
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<&str> = asked
        .iter()
        .map(|one| one["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["hello", "propose", "refine", "refine"]);
    assert!(asked[1..].iter().all(|one| one["mode"] == "iterative"));
    assert_eq!(asked[2]["envelope"]["steps_left"], 3);
    assert_eq!(asked[3]["envelope"]["steps_left"], 2);
    assert_eq!(asked[3]["why"], json!({ "kind": "refine", "step": "rose" }));
}
