//! A program as the planner: the example in Python, and programs that do everything wrong.

use std::time::{Duration, Instant};

use crate::place::{Place, says_the_truth};

const PLANNER: &str = include_str!("../../../../examples/planner-python/planner.py");

fn planned_by(program: &str, more: &str) -> Place {
    let place = Place::without_planner([]);
    std::fs::write(place.stage.path().join("planner.py"), program).unwrap();
    place.configure(&format!(
        "\n[planner]\nkind = \"process\"\ncommand = [\"python3\", \"planner.py\"]\n{more}\n"
    ));
    place
}

#[test]
fn the_example_comes_to_the_right_end() {
    let place = planned_by(PLANNER, "");
    let ran = place.run(&["run", place.goal()]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);
    assert_eq!(place.stage.count("PlanRevised"), 1);
    let proposed = &place.stage.payloads("PlanProposed")[0]["reply"]["plan"];
    // It can read elsewhere, so it counts as having seen text.
    assert_eq!(proposed["literals"]["integrity"], "text");
    assert_eq!(proposed["control"]["integrity"], "text");
    let run = place.stage.only_run().unwrap();
    let trace = place.run(&["trace", &run, "--planning"]).stdout;
    assert!(trace.contains("process python3"), "{trace}");
}

/// A refused round: the program is told how grave each finding is, and mends what was refused.
#[test]
fn the_example_repairs_a_refused_plan() {
    let place = planned_by(PLANNER, "");
    let rule = "@id(\"no-deployments\")\nforbid (principal, action == \
                Action::\"metrics.deployment_before\", resource);\n";
    let policies = place.stage.path().join("policies");
    std::fs::create_dir_all(&policies).unwrap();
    std::fs::write(policies.join("deployments.cedar"), rule).unwrap();
    place.run(&["run", place.goal()]).exits(0);
    let refused = &place.stage.payloads("PlanRefused")[0]["findings"];
    assert!(refused.to_string().contains("V601"), "{refused}");
    let proposed = place.stage.payloads("PlanProposed");
    let has = |at: usize| {
        proposed[at]
            .to_string()
            .contains("metrics.deployment_before")
    };
    // The control: the first one has the step that the second one leaves out.
    assert!(has(0) && !has(1), "{proposed:?}");
}

#[test]
fn what_a_program_is_told_of_a_refused_plan() {
    let body = "if 'proposal' not in m: say({'id': m['id'], 'plan': {'steps': [{'id': 'a', 'tool': 'x.y'}]}})\n    \
                else: say({'id': m['id'], 'decline': 'told: ' + str(type(json.loads(m['proposal'])).__name__) \
                + ' ' + ','.join(sorted({d['severity'] + ':' + d['code'] for d in m['diagnostics']}))})";
    let place = planned_by(&after_hello(body), "");
    let ran = place.run(&["run", place.goal()]).exits(3);
    let said = ran.all();
    assert!(
        said.contains("told: dict") && said.contains("error:R101"),
        "{said}"
    );
}

#[test]
fn the_example_asks_what_it_has_to_know() {
    let place = planned_by(PLANNER, "");
    place.run(&["run", "Look into the latency"]).exits(3);
    let run = place.stage.only_run().unwrap();
    let ran = place.run(&["answer", &run, "Payment API"]);
    assert_eq!(ran.code, Some(0), "{}", ran.all());
    says_the_truth(&ran.stdout, &place.dataset.truth);
}

/// A program that says hello and then does this with each request `m`.
fn after_hello(body: &str) -> String {
    format!(
        "import json, os, sys, time\n\
         def say(x): print(x if isinstance(x, str) else json.dumps(x), flush=True)\n\
         n = 0\n\
         for line in sys.stdin:\n    m = json.loads(line)\n    n += 1\n    \
         if m.get('kind') == 'hello':\n        say(m)\n        continue\n    {body}\n"
    )
}

#[test]
fn whatever_a_program_does_the_end_is_defined() {
    let silent = "import time\ntime.sleep(60)\n".to_owned();
    let dies = "import sys\nsys.exit('no licence')\n".to_owned();
    let rude = "print('{}', flush=True)\nimport time\ntime.sleep(60)\n".to_owned();
    let cases: Vec<(&str, String, &str)> = vec![
        ("not there", String::new(), "process python3: it ended"),
        ("dies at once", dies, "no licence"),
        ("says another hello", rude, "its first line is no hello"),
        (
            "dies when asked",
            after_hello("sys.exit('out of ideas')"),
            "out of ideas",
        ),
        ("hangs", after_hello("time.sleep(60)"), "no reply within 1s"),
        (
            "garbage",
            after_hello("say('what? ' + str(os.getpid()))"),
            "the line is no JSON",
        ),
        (
            "another id",
            after_hello("say({'id': 99, 'plan': {}, 'n': os.getpid()})"),
            "`id`",
        ),
        (
            "no end of line",
            after_hello("sys.stdout.write('x' * 3000000); time.sleep(9)"),
            "longer",
        ),
        ("a list", after_hello("say([n])"), "no JSON object"),
        (
            "nothing in it",
            after_hello("say({'id': m['id'], 'n': n})"),
            "holds none of",
        ),
        (
            "a tool that is not there",
            after_hello("say({'id': m['id'], 'plan': {'steps': [{'id': 'a', 'tool': 'x.y'}]}})"),
            "R101",
        ),
        (
            "declines",
            after_hello("say({'id': m['id'], 'decline': 'too hard'})"),
            "too hard",
        ),
    ];
    for (name, program, said) in cases {
        let place = planned_by(&program, "timeout = \"1s\"");
        let begun = Instant::now();
        let ran = place.run(&["run", place.goal()]);
        let flat = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(said), "{name}: {said}\n{}", ran.all());
        assert_eq!(place.stage.count("PlanChecked"), 0, "{name}");
        place.stopped(&ran);
        assert!(begun.elapsed() < Duration::from_secs(15), "{name}");
    }
    // The silent one apart: it takes the whole time of a hello.
    let place = planned_by(&silent, "");
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert!(ran.all().contains("no hello of"), "{}", ran.all());
}

/// Its environment is `PATH` and what it is given; what it says it took is in the journal, its
/// secrets are not.
#[test]
fn it_gets_what_it_is_given_and_no_more() {
    let body = "say({'id': m['id'], 'usage': {'tokens_in': 7, 'tokens_out': 3, 'cost': '0.01'}, \
                'decline': ' '.join(sorted(os.environ)) + ' ' + os.environ['TOKEN']})";
    let env = "env = { TOKEN = \"env:SCRIPTED_KEY\", MODE = \"fast\" }";
    let place = planned_by(&after_hello(body), env);
    let ran = place.run(&["run", place.goal()]).exits(3);
    let said = ran.all();
    assert!(said.contains("MODE"), "{said}");
    assert!(
        !said.contains("HOME") && !said.contains(crate::place::KEY),
        "{said}"
    );
    let usage = &place.stage.payloads("BudgetSpent")[0]["usage"];
    assert_eq!(
        (&usage["tokens_in"], &usage["cost"]),
        (&7.into(), &"0.01".into())
    );
}
