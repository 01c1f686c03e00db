//! Expressions end: in depth, in time, and as CEL's own interpreter says.

use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use cel::parser::PrattParser;
use cel::{Context, Env, Value as CelValue};
use proptest::prelude::*;
use provost_plan::expr::{Scope, Template};
use provost_plan::source::Span;
use serde_json::{Value, json};

fn parse(text: &str) -> Result<Template, String> {
    Template::parse(text, Span::new(0, text.len()), text).map_err(|d| d.message.clone())
}

/// On a thread with the smallest stack that this system gives to anything.
fn on_a_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new()
        .stack_size(1024 * 1024)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap()
}

/// The deepest and longest forms, each cut to the longest text that is allowed.
fn worst() -> Vec<String> {
    let grow = |unit: &str, close: &str, seed: &str, most: usize| {
        let count = ((1000 - seed.len()) / (unit.len() + close.len())).min(most);
        format!("{}{seed}{}", unit.repeat(count), close.repeat(count))
    };
    let mut all = Vec::new();
    for most in [30, usize::MAX] {
        all.extend([
            grow("(", ")", "1", most),
            grow("[", "]", "1", most),
            grow("{'a':", "}", "1", most),
            grow("[1][", "]", "0", most),
            grow("-", "", "1", most),
            grow("!", "", "true", most),
            grow("- -", "", "1", most),
            grow("1+", "", "1", most),
            grow("1*", "", "1", most),
            grow("true&&", "", "true", most),
            grow("false||", "", "true", most),
            grow("true?1:", "", "1", most),
            grow("true?", ":1", "1", most),
            grow("json(", ")", "1", most),
            grow("has(", ")", "a.b", most),
            grow("[1].map(x,", ")", "1", most),
            grow("[1].filter(x,x==", ")", "1", most),
            grow("", "==1", "1", most),
            grow("", ".a", "a", most),
            grow("", "[0]", "[1]", most),
            grow("", ".json()", "'a'", most),
            grow("", ".map(x,x)", "[1]", most),
            grow("", ".filter(x,true)", "[1]", most),
            grow("[1].map(x,[1].map(y,(((((((((", ")))))))))))", "1", 1),
        ]);
    }
    all
}

#[test]
fn the_deepest_expressions_neither_overflow_nor_take_long() {
    let (read, refused) = on_a_small_stack(|| {
        let (mut read, mut refused) = (0, 0);
        for text in worst() {
            let Ok(template) = parse(&format!("${{{text}}}")) else {
                refused += 1;
                continue;
            };
            read += 1;
            let _ = template.eval(&Scope::new());
            let _ = template.label(&Default::default(), &|_| Default::default());
            let _ = template.reads(&template.facts_if_true());
            let _ = template.clone();
        }
        (read, refused)
    });
    // Control: the same forms are read when they are shallow, and refused when they are deep.
    assert!(read > 24, "{read} were read");
    assert!(refused > 8, "{refused} were refused");
}

#[test]
fn the_work_of_an_evaluation_is_bounded() {
    let big: Vec<Value> = (0..10_000).map(|n| json!(n)).collect();
    let long = "a".repeat(1_000_000);
    let more = vec![0; big.len() + 1];
    let params = json!({"l": big, "more": more, "s": long});
    let scope = Scope::new().with("params", &params);
    let cases = [
        ("${ params.l.all(x, params.l.all(y, x + y >= 0)) }", "work"),
        ("${ params.l.map(x, params.l) }", "work"),
        ("${ params.l.map(x, params.s) }", "work"),
        ("${ params.l.map(x, params.s).join() }", "work"),
        ("${ params.l.exists(x, params.s + params.s == '') }", "work"),
        ("${ params.l.exists(x, params.s.matches('b+c')) }", "work"),
        ("${ params.l.exists(x, params.s.contains('b')) }", "work"),
        (
            "${ params.l.exists(x, params.l == params.l.map(y, 1)) }",
            "work",
        ),
        (
            "${ params.l.exists(x, 'a'.matches('^' + string(x) + '[a-z]{9}$')) }",
            "work",
        ),
        ("${ params.l.exists(x, json(params) == '') }", "work"),
        (
            "${ params.l.exists(x, sum(params.l) < 0 || max(params.l) < 0) }",
            "work",
        ),
        ("${ params.more.all(x, true) }", "items"),
    ];
    for (text, why) in cases {
        let start = Instant::now();
        let error = parse(text).unwrap().eval(&scope).unwrap_err();
        assert!(error.reason.contains(why), "{text}: {}", error.reason);
        assert!(start.elapsed() < Duration::from_secs(60), "{text}");
    }
    // Control: as much as one list of the largest size is no trouble.
    let sum = parse("${ params.l.filter(x, x % 2 == 0).map(x, x * 2).sum() }").unwrap();
    assert_eq!(sum.eval(&scope), Ok(json!(49_990_000)));
}

#[test]
fn only_what_is_referred_to_is_looked_at() {
    let big = Value::Array(vec![json!({"text": "x".repeat(100)}); 100_000]);
    let small = json!({"status": "succeeded", "output": {"n": 1}});
    let scope = Scope::new()
        .with_step("big", &big)
        .with_step("small", &small);
    let template = parse("${ steps.small.output.n + 1 }").unwrap();
    let start = Instant::now();
    for _ in 0..1_000 {
        assert_eq!(template.eval(&scope), Ok(json!(2)));
    }
    assert!(start.elapsed() < Duration::from_secs(2));
}

static CEL: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// What the interpreter of the `cel` crate says; none for its errors and for what is not JSON.
fn by_cel(text: &str) -> Option<Value> {
    let tree = PrattParser::new().parse(text).ok()?;
    let value = CelValue::resolve(&tree, &Context::with_env(Arc::clone(&CEL))).ok()?;
    // Why: one instant, written in two ways.
    let text = value.json().ok()?.to_string().replace("+00:00", "Z");
    let value = serde_json::from_str(&text).ok()?;
    provost_plan::digest::normalize(value).ok()
}

fn by_us(text: &str) -> Result<Value, String> {
    let template = parse(&format!("${{{text}}}"))?;
    template.eval(&Scope::new()).map_err(|e| e.reason)
}

/// Where we refuse what it lets pass, on purpose.
const STRICTER: [&str; 3] = [
    "deeper",
    "not a finite",
    // There a map in a sum is the list of its keys.
    "`+` does not take a list and a map",
];

fn expressions() -> impl Strategy<Value = String> {
    let atoms = prop::sample::select(vec![
        "0",
        "1",
        "-2",
        "7",
        "0.5",
        "2.0",
        "-1.5",
        "true",
        "false",
        "null",
        "'a'",
        "'b'",
        "''",
        "'häß'",
        "[]",
        "[1, 2]",
        "['a', 'b']",
        "[true, false]",
        "{'a': 1}",
        "{'a': {'b': 'a'}}",
        "int('3')",
        "duration('90s')",
        "timestamp('2026-01-31T08:00:00Z')",
    ])
    .prop_map(str::to_owned);
    atoms.prop_recursive(5, 32, 3, |e| {
        let binary = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||",
        ]);
        let method = prop::sample::select(vec![
            "size()",
            "a",
            "a.b",
            "[0]",
            "contains('a')",
            "startsWith('a')",
            "endsWith('b')",
            "matches('^a|b$')",
            "map(x, x)",
            "map(x, x + x)",
            "map(x, x != 1, x)",
            "filter(x, x == 1)",
            "all(x, x == 1)",
            "exists(x, x == 'a')",
            "exists_one(x, x == 1)",
            "map(x, [1, 2].map(y, y))",
            "getHours()",
            "getFullYear()",
            "getSeconds()",
        ]);
        let function = prop::sample::select(vec!["size", "int", "double", "string", "dyn"]);
        prop_oneof![
            (e.clone(), binary, e.clone()).prop_map(|(a, op, b)| format!("({a} {op} {b})")),
            (e.clone(), method).prop_map(|(a, m)| if m.starts_with('[') {
                format!("({a}){m}")
            } else {
                format!("({a}).{m}")
            }),
            (function, e.clone()).prop_map(|(f, a)| format!("{f}({a})")),
            (e.clone(), e.clone(), e.clone()).prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
            e.clone().prop_map(|a| format!("!({a})")),
            (e.clone(), e.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
            // Why: with two keys the order of a walk over them is chance there.
            e.prop_map(|a| format!("{{'a': {a}}}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 100_000,
        failure_persistence: None, ..ProptestConfig::with_cases(3_000) })]

    #[test]
    fn what_cel_evaluates_we_evaluate_alike(text in expressions()) {
        prop_assume!(text.len() <= 1_000);
        if let Some(wanted) = by_cel(&text) {
            // Why: a duration is nanoseconds there and text here.
            prop_assume!(!text.contains("duration") && text.matches("timestamp").count() < 2);
            match by_us(&text) {
                Ok(found) => prop_assert_eq!(found, wanted, "{}", text),
                Err(reason) => prop_assert!(
                    STRICTER.iter().any(|known| reason.contains(known)),
                    "{}: {} but cel says {}", text, reason, wanted
                ),
            }
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[ -~\\n\u{e4}\u{1F600}$\\{}()'\"\\[\\]]{0,200}") {
        let _ = parse(&text);
        let _ = parse(&format!("${{{text}}}"));
        if let Ok(template) = parse(&format!("a ${{ {text} }} b")) {
            let _ = template.eval(&Scope::new());
        }
    }

    #[test]
    fn no_tokens_make_the_reader_panic(tokens in prop::collection::vec(prop::sample::select(vec![
        "steps", "a", ".", "output", "(", ")", "[", "]", "{", "}", "?", ":", ",", "1", "1.5", "'s'",
        "has", "map", "all", "filter", "size", "first", "+", "-", "!", "==", "in", "&&", "||", "x",
        "math", "lists", "abs", "range", "split", "format", "capture", "zip", "keys", "sort",
    ]), 0..40)) {
        let text = tokens.join(" ");
        if let Ok(template) = parse(&format!("${{ {text} }}")) {
            let _ = template.eval(&Scope::new());
            let facts = template.facts_if_true();
            let _ = template.reads(&facts);
            let _ = template.label(&Default::default(), &|_| Default::default());
        }
    }
}

#[test]
fn the_comparison_with_cel_is_no_empty_one() {
    let evaluated = [
        "1 + 2",
        "[1, 2].map(x, x * 2)",
        "'a' in {'a': 1}",
        "timestamp('2026-01-31T08:00:00Z').getHours()",
    ];
    for text in evaluated {
        assert_eq!(by_cel(text), by_us(text).ok(), "{text}");
        assert!(by_cel(text).is_some(), "{text}");
    }
    // Control: where the two are meant to differ, the comparison sees it.
    assert_eq!(
        (by_cel("1 + 0.5"), by_us("1 + 0.5")),
        (None, Ok(json!(1.5)))
    );
    if parse("${").is_ok() {
        panic!("an open expression was read");
    }
}
