//! Plans as dear as their limits allow: schemas, patterns, expressions and policies made at random,
//! each kept if it just passes. What they take is bounded whatever they are.
//!
//! `PROVOST_COUNT` says how many. The control is a schema that the bound refuses: judged without
//! paying, it takes longer than all others together.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use provost_plan::catalog::{Catalog, Effect};
use provost_plan::expr::{Scope, Template};
use provost_plan::limits::{EXPRESSION_BYTES_MAX, TURN_WORK_LITTLE, TURN_WORK_MAX};
use provost_plan::plan::read::read_plan;
use provost_plan::policy::{People, Policy};
use provost_plan::schema::Schema;
use provost_plan::source::{Source, Span};
use provost_plan::work::WorkBudget;
use serde_json::{Map, Value, json};

use super::generated::{check_plan, closed, operation, since, source, spent, terms};

/// How much slower it is where nothing is optimised.
const SLOWER: u32 = if cfg!(debug_assertions) { 40 } else { 1 };
const CHECK_MAX: Duration = Duration::from_secs(2);
const JUDGE_MAX: Duration = Duration::from_secs(1);
/// What may be done on the thread that drives the runs.
const LITTLE_MAX: Duration = Duration::from_millis(100);
const MEMORY_KB_MAX: u64 = 200 * 1024;

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    fn pick<'t>(&mut self, all: &[&'t str]) -> &'t str {
        all[self.roll(all.len())]
    }
}

fn pattern(dice: &mut Dice) -> String {
    let class = dice.pick(&["[ab]", "a", ".", "\\\\w", "(a|b|ab)", "[^c]", "\\\\p{L}"]);
    let most = 1 << dice.roll(8);
    let repeat = dice
        .pick(&["*", "+", "?", "{N}", "{1,N}", "{0,N}"])
        .replace('N', &most.to_string());
    let tail = dice.pick(&["", "c$", "a", "[ab]*a", "$"]);
    format!("{}{class}{repeat}{tail}", dice.pick(&["", "^", "[ab]*a"])).replace("\\\\", "\\")
}

fn leaf(dice: &mut Dice) -> Value {
    match dice.roll(8) {
        0 => json!({ "type": "string", "pattern": pattern(dice) }),
        1 => json!({ "enum": (0..dice.roll(300)).collect::<Vec<_>>() }),
        2 => json!({ "type": "array", "uniqueItems": true }),
        3 => {
            json!({ "format": dice.pick(&["email", "date-time", "uri", "regex", "ipv6", "idn-email"]) })
        }
        4 => json!({ "multipleOf": 0.01 }),
        5 => json!({ "minLength": 2, "maxLength": 3 }),
        6 => json!({ "patternProperties": { pattern(dice): true }, "additionalProperties": false }),
        _ => json!({ "type": dice.pick(&["object", "string", "array", "number"]) }),
    }
}

/// A schema of definitions that refer to those behind them, as often as chance has it.
fn schema(dice: &mut Dice) -> Value {
    let levels = 1 + dice.roll(12);
    let mut all = Map::new();
    for at in 0..levels {
        let next = |dice: &mut Dice| {
            if dice.roll(4) == 0 {
                return leaf(dice);
            }
            let to = (at + 1 + dice.roll(2)).min(levels);
            json!({ "$ref": format!("#/$defs/d{to}") })
        };
        let count = 1 + dice.roll(4);
        let several: Vec<Value> = (0..count).map(|_| next(dice)).collect();
        let node = match dice.roll(10) {
            0 => json!({ "allOf": several }),
            1 => json!({ "anyOf": several }),
            2 => json!({ "oneOf": several }),
            3 => json!({ "not": next(dice), "if": next(dice), "then": next(dice) }),
            4 => json!({ "items": next(dice), "contains": next(dice) }),
            5 => {
                json!({ "properties": { "a": next(dice), "b": next(dice) }, "additionalProperties": next(dice) })
            }
            6 => json!({ "allOf": several, "unevaluatedProperties": next(dice) }),
            7 => json!({ "propertyNames": next(dice), "prefixItems": several }),
            8 => json!({ "items": { "allOf": [next(dice), { "items": { "$ref": "#" } }] } }),
            _ => json!({ "dependentSchemas": { "a": next(dice) }, "anyOf": several }),
        };
        all.insert(format!("d{at}"), node);
    }
    all.insert(format!("d{levels}"), leaf(dice));
    json!({ "$ref": "#/$defs/d0", "$defs": all })
}

fn value(dice: &mut Dice, depth: usize) -> Value {
    let width = if depth == 0 { 0 } else { 1 << dice.roll(6) };
    match dice.roll(5) {
        0 if depth > 0 => (0..width).map(|_| value(dice, depth - 1)).collect(),
        1 if depth > 0 => {
            let names = ["a", "b", "ab", "abab", "x"];
            let entries = (0..5).map(|at| (names[at].to_owned(), value(dice, depth - 1)));
            Value::Object(entries.collect())
        }
        2 => Value::String("ab".repeat(1 << dice.roll(16))),
        3 => json!(dice.roll(1_000)),
        _ => (0..width * 40).map(|at| json!([at, [at]])).collect(),
    }
}

fn expression(dice: &mut Dice) -> String {
    let list = dice.pick(&[
        "output",
        "[1, 2, 3]",
        "output.map(x, output)",
        "output.filter(x, true)",
    ]);
    let term = match dice.roll(7) {
        0 => format!("{list}.all(x, {list}.exists(y, x == y))"),
        1 => format!(
            "json({list}).matches('[ab]*a[ab]{{{}}}c')",
            1 << dice.roll(8)
        ),
        2 => format!("size({list} + {list}) > 0"),
        3 => format!("json(json(json({list}))).contains('b')"),
        4 => format!("{list} == {list}"),
        5 => format!("{list}.map(x, {list}.map(y, [x, y])) == {list}"),
        _ => format!("{list}.exists_one(x, string(x) == 'a')"),
    };
    let by = dice.pick(&[" && ", " || "]);
    let mut all = term.clone();
    while all.len() + by.len() + term.len() < EXPRESSION_BYTES_MAX - 20 {
        let _ = write!(all, "{by}{term}");
    }
    all
}

fn policy(dice: &mut Dice) -> String {
    let terms = 1 + dice.roll(110);
    let term = dice.pick(&[
        "resource.attended",
        "context.args.id == \"x\"",
        "(1 + 1 == 2)",
        "if resource.attended then true else false",
        "[1, 2].contains(1)",
    ]);
    let all = vec![term; terms].join(dice.pick(&[" && ", " || "]));
    let one = |at: usize| {
        format!("@id(\"p{at}\") permit (principal, action, resource) when {{ {all} }};\n")
    };
    (0..1 + dice.roll(20)).map(one).collect()
}

/// What it took, on a processor where that is known.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let (cpu, wall) = (spent(), Instant::now());
    let made = work();
    (made, since(cpu, wall))
}

/// The most memory this process ever had, in kilobytes.
pub fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok())
        .unwrap_or(0)
}

#[derive(Default)]
struct Worst {
    check: Duration,
    judge: Duration,
    little: Duration,
    expression: Duration,
    policy: Duration,
    taken: usize,
}

fn plan_with(dice: &mut Dice, schema: &Value) -> String {
    let step = json!({ "id": "a", "tool": "docs.list", "args": { "project": "PAY" }, "expect": schema,
                       "accept": [format!("${{ {} }}", expression(dice))] });
    json!({ "schema": "provost/plan/v1", "steps": [step], "answer": "done",
            "success": [{ "for": "goal", "check": "${ steps.a.status == \"succeeded\" }" }] })
    .to_string()
}

fn judged(dice: &mut Dice, schema: &Value, worst: &mut Worst) {
    let Ok(schema) = Schema::compile(schema.clone()) else {
        return;
    };
    for (units, most) in [(TURN_WORK_LITTLE, LITTLE_MAX), (TURN_WORK_MAX, JUDGE_MAX)] {
        let value = value(dice, 3);
        let (found, took) = timed(|| {
            schema
                .judge(&value, &WorkBudget::of(units))
                .map(|found| found.len())
        });
        assert!(
            took <= most * SLOWER,
            "{took:?}: {found:?} of {}",
            schema.value()
        );
        let kept = if most == LITTLE_MAX {
            &mut worst.little
        } else {
            &mut worst.judge
        };
        *kept = (*kept).max(took);
    }
}

fn evaluated(dice: &mut Dice, worst: &mut Worst) {
    let text = format!("${{ {} }}", expression(dice));
    let Ok(template) = Template::parse(&text, Span::default(), "") else {
        return;
    };
    let output = value(dice, 2);
    let (_, took) = timed(|| template.eval(&Scope::new().with("output", &output)).is_ok());
    assert!(took <= JUDGE_MAX * SLOWER, "{took:?}: {text}");
    worst.expression = worst.expression.max(took);
}

fn loaded(dice: &mut Dice, worst: &mut Worst) {
    let args = closed(&["id"], &json!({ "id": { "type": "string" } }));
    let catalog = Catalog::new([operation("t.op", Effect::Write, args, None)]);
    let sources = [Source::new("own.cedar", policy(dice))];
    let load = || Policy::load(&catalog, &sources, &People::default());
    let (policy, mut took) = timed(load);
    if let Ok(policy) = policy {
        let principal = People::default().principal("ada");
        took += timed(|| policy.survey(&principal).operations.len()).1;
    }
    assert!(took <= CHECK_MAX * SLOWER, "{took:?}");
    worst.policy = worst.policy.max(took);
}

#[test]
fn plans_as_dear_as_their_limits_allow() {
    let count = std::env::var("PROVOST_COUNT")
        .ok()
        .and_then(|count| count.parse().ok());
    let count: usize = count.unwrap_or(if cfg!(debug_assertions) { 40 } else { 10_000 });
    let terms = terms();
    let (mut dice, mut worst, before) = (Dice(7), Worst::default(), peak());
    for at in 0..count {
        let schema = schema(&mut dice);
        let text = plan_with(&mut dice, &schema);
        let (taken, took) = timed(|| {
            let plan = read_plan(&source(&text)).ok()?;
            Some(check_plan(plan, &terms).diagnostics.len())
        });
        assert!(took <= CHECK_MAX * SLOWER, "plan {at}: {took:?}\n{text}");
        worst.check = worst.check.max(took);
        if taken.is_some() {
            worst.taken += 1;
            judged(&mut dice, &schema, &mut worst);
        }
        evaluated(&mut dice, &mut worst);
        if at % 10 == 0 {
            loaded(&mut dice, &mut worst);
        }
    }
    println!(
        "{count} plans, {} within their limits: check {:?}, judging {:?} and with little effort {:?}, \
         an expression {:?}, policies {:?}, {} MB",
        worst.taken,
        worst.check,
        worst.judge,
        worst.little,
        worst.expression,
        worst.policy,
        peak() / 1024
    );
    assert!(worst.taken * 10 > count, "{} of {count} pass", worst.taken);
    let more = peak().saturating_sub(before);
    assert!(more <= MEMORY_KB_MAX, "{} MB", more / 1024);
}

#[test]
fn a_schema_that_the_bound_refuses_would_have_taken_long() {
    let name = |at: usize| json!({ "$ref": format!("#/$defs/d{at}") });
    let twice = |at: usize| {
        (
            format!("d{at}"),
            json!({ "allOf": [name(at + 1), name(at + 1)] }),
        )
    };
    let doubled = |levels: usize| {
        let mut all: Map<String, Value> = (0..levels).map(twice).collect();
        all.insert(format!("d{levels}"), json!({ "type": "object" }));
        json!({ "$ref": "#/$defs/d0", "$defs": all })
    };
    let levels = 22;
    let text = plan_with(&mut Dice(1), &doubled(levels));
    assert!(read_plan(&source(&text)).is_err());
    // Without the bound each level takes as long as all above it.
    let took = |levels| {
        let validator = jsonschema::validator_for(&doubled(levels)).unwrap();
        // Why on the wall: it is short, and what the system counts is not exact. Why the least of
        // five: other work on the machine only ever adds to one.
        let once = |_| {
            let began = Instant::now();
            assert!(validator.is_valid(&json!({})));
            began.elapsed()
        };
        (0..5).map(once).min().unwrap_or_default()
    };
    // Why three levels, of which twice as long is asked: other work may strike one of the two.
    let (one, eight) = (took(levels - 3), took(levels));
    assert!(eight > one * 2, "{one:?}, then {eight:?}");
}
