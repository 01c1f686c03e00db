//! What an evaluation takes in memory, measured in a process of its own.
//!
//! Each part calls this program again for one case, because the most memory that a process ever had
//! is known for the whole process only. The control makes what `json` is about, unpaid.

use std::process::Command;

use provost_plan::expr::{Scope, Template};
use provost_plan::limits::EXPRESSION_BYTES_MAX;
use provost_plan::source::Span;
use serde_json::{Value, json};

use super::dear::peak;

/// The most that one evaluation may take, whatever it is of.
const EVALUATION_KB_MAX: u64 = 56 * 1024;
/// Tells the process which case it measures.
const CASE: &str = "PROVOST_ROOM_CASE";

/// Long texts, many numbers, and many small maps.
fn outputs() -> [Value; 3] {
    [
        (0..32)
            .map(|_| Value::String("ab".repeat(1 << 15)))
            .collect(),
        (0..1_200).map(|at| json!([at, [at]])).collect(),
        (0..1_000).map(|at| json!({ "a": at, "b": "x" })).collect(),
    ]
}

const TERMS: [&str; 19] = [
    "json(output.map(x, output)).matches('[ab]*a[ab]{64}c')",
    "json(output.map(x, output)).contains('c')",
    "json(json(json(output.map(x, output)))).contains('c')",
    "output.map(x, output.map(y, [x, y])) == output",
    "size(output.map(x, output + output)) > 0",
    "size(json(output) + json(output) + json(output)) > 0",
    "join(output.map(x, json(x)), '').contains('c')",
    "join(output.map(x, join(output.map(y, json(y)), '')), '').contains('c')",
    "{'a': output, 'b': output.map(x, {'x': x})} == {'a': 1}",
    "size(json(output).split('')) < 0",
    "output.map(x, json(x).split('a')) == []",
    "json(output).replace('a', json(output)) == ''",
    "size(json_parse(json(output))) < 0",
    "size(json_parse('[' + output.map(x, '{\"\":0}').join(',') + ']')) < 0",
    "output.map(x, zip(output, output)) == []",
    "output.map(x, lists.range(10000)) == []",
    "output.map(x, output.distinct().sort()) == []",
    "output.map(x, [output, output].flatten()) == []",
    "output.map(x, '%s %s'.format([output, x])) == []",
];

fn cases() -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    for output in outputs() {
        for term in TERMS {
            let mut all = term.to_owned();
            while all.len() + 4 + term.len() < EXPRESSION_BYTES_MAX - 20 {
                all = format!("{all} || {term}");
            }
            cases.push((all, output.clone()));
        }
        cases.push(("output.map(x, output)".to_owned(), output));
    }
    cases
}

/// How much more memory the process had at most because of this, in kilobytes.
fn room(work: impl FnOnce()) -> u64 {
    let before = peak();
    work();
    peak().saturating_sub(before)
}

/// Runs this program again for one case.
fn measured(case: &str) -> u64 {
    let program = std::env::current_exe().unwrap();
    let ran = Command::new(program)
        .args(["room::one_case", "--exact", "--ignored", "--nocapture"])
        .env(CASE, case)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ran.stdout);
    let line = printed.lines().find_map(|line| line.split_once("took "));
    line.and_then(|(_, kb)| kb.trim().parse().ok())
        .unwrap_or_else(|| panic!("{printed}{}", String::from_utf8_lossy(&ran.stderr)))
}

#[test]
#[ignore = "one case, which the tests below run in a process of its own"]
fn one_case() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let taken = match case.parse::<usize>() {
        Ok(at) => {
            let (text, output) = cases().swap_remove(at);
            let template = Template::parse(&format!("${{ {text} }}"), Span::default(), "").unwrap();
            room(|| {
                let _outcome = template.eval(&Scope::new().with("output", &output));
            })
        }
        Err(_) => {
            let [output, ..] = outputs();
            room(|| {
                let all: Vec<Value> = (0..32).map(|_| output.clone()).collect();
                assert!(!json!(all).to_string().contains('c'));
            })
        }
    };
    println!("took {taken}");
}

#[test]
fn an_evaluation_takes_no_more_memory_than_its_price_pays_for() {
    let mut most = 0;
    for (at, (text, _)) in cases().iter().enumerate() {
        let taken = measured(&at.to_string());
        assert!(taken <= EVALUATION_KB_MAX, "{taken} kB: {text}");
        most = most.max(taken);
    }
    println!("{} evaluations, each within {most} kB", cases().len());
}

#[test]
fn what_is_made_without_a_price_takes_more() {
    let taken = measured("unpaid");
    assert!(taken > EVALUATION_KB_MAX, "{taken} kB");
}
