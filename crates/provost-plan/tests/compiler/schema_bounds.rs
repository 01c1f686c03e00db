//! What schemas may come to: counted as they are meant, not as they are written.

use provost_plan::codes::Code;
use provost_plan::expr::{Scope, Template};
use provost_plan::limits::{PLAN_SCHEMA_EXPANSION_MAX, VALIDATION_WORK_MAX};
use provost_plan::plan::read::read_plan;
use provost_plan::schema::Schema;
use provost_plan::source::{Source, Span};
use provost_plan::work::{Exceeded, WorkBudget};
use serde_json::{Map, Value, json};

/// A schema whose definitions each hold the next one twice: 2^`levels` subschemas in all.
fn doubled(levels: usize, twice: impl Fn(Value) -> Value) -> Value {
    let name = |at: usize| json!({ "$ref": format!("#/$defs/d{at}") });
    let definition = |at: usize| (format!("d{at}"), twice(name(at + 1)));
    let mut definitions: Map<String, Value> = (0..levels).map(definition).collect();
    definitions.insert(format!("d{levels}"), json!({ "type": "object" }));
    json!({ "$ref": "#/$defs/d0", "$defs": definitions })
}

/// What says a subschema twice.
type Twice = fn(Value) -> Value;

/// The ways to say the same subschema twice of one value.
fn twice() -> Vec<(&'static str, Twice)> {
    vec![
        ("allOf", |next| json!({ "allOf": [next, next] })),
        ("anyOf", |next| json!({ "anyOf": [next, next] })),
        ("oneOf", |next| json!({ "oneOf": [next, next] })),
        ("not", |next| json!({ "not": next, "allOf": [next] })),
        ("if", |next| json!({ "if": next, "then": next })),
        (
            "dependentSchemas",
            |next| json!({ "dependentSchemas": { "a": next, "b": next } }),
        ),
    ]
}

/// The code of the first finding of a plan with this schema, where it is refused.
fn refused(field: &str, schema: &Value) -> Option<Code> {
    let step = match field {
        "expect" => json!({ "id": "a", "tool": "t.none", "expect": schema }),
        "answer" => json!({ "id": "a", "question": { "text": "What?", "answer": schema } }),
        _ => json!({ "id": "a", "subgoal": "find out", "tools": ["b.c"], "effect_max": "read",
                     "steps_max": 3, "output": schema }),
    };
    let text = json!({ "schema": "provost/plan/v1", "steps": [step] }).to_string();
    let found = read_plan(&Source::new("plan.json", text)).err()?;
    found.first().map(|finding| finding.code)
}

#[test]
fn a_schema_doubled_by_its_references_is_refused_wherever_a_plan_may_bring_one() {
    for (name, twice) in twice() {
        for field in ["expect", "answer", "output"] {
            let found = refused(field, &doubled(40, twice));
            assert_eq!(found, Some(Code::TooLarge), "{name} in `{field}`");
            assert_eq!(
                refused(field, &doubled(5, twice)),
                None,
                "{name}: 32 are few"
            );
        }
    }
}

#[test]
fn what_all_schemas_of_a_plan_come_to_is_counted_together() {
    let half = doubled(9, |next| json!({ "allOf": [next, next] }));
    let steps = |count: usize| {
        let step = |at: usize| json!({ "id": format!("s{at}"), "tool": "t.none", "expect": half });
        let steps: Vec<Value> = (0..count).map(step).collect();
        let text = json!({ "schema": "provost/plan/v1", "steps": steps }).to_string();
        read_plan(&Source::new("plan.json", text)).is_ok()
    };
    assert!(steps(1), "about {} of {PLAN_SCHEMA_EXPANSION_MAX}", 4 << 9);
    assert!(!steps(2));
}

#[test]
fn a_schema_without_an_end_and_one_nested_too_deep_do_not_compile() {
    let chain = |links: usize| {
        let link = |at: usize| {
            (
                format!("d{at}"),
                json!({ "$ref": format!("#/$defs/d{}", at + 1) }),
            )
        };
        let mut all: Map<String, Value> = (0..links).map(link).collect();
        all.insert(format!("d{links}"), json!(true));
        json!({ "$ref": "#/$defs/d0", "$defs": all })
    };
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#/$defs/a" }], "$defs": { "a": { "not": { "$ref": "#" } } } }),
        json!({ "$dynamicAnchor": "n", "anyOf": [{ "$dynamicRef": "#n" }] }),
        chain(20_000),
    ] {
        assert!(Schema::compile(schema).is_err());
    }
    // What leads back to itself over another value ends with the value.
    let tree = json!({ "properties": { "next": { "$ref": "#" } } });
    assert!(Schema::compile(tree).is_ok_and(|tree| tree.admits(&json!({ "next": {} }))));
    assert!(Schema::compile(chain(20)).is_ok());
}

#[test]
fn a_value_that_takes_too_much_work_to_judge_does_not_fit() {
    let judge = |schema: Value, value: &Value| {
        let schema = Schema::compile(schema).unwrap();
        let purse = WorkBudget::of(VALIDATION_WORK_MAX);
        let found = schema.judge(value, &purse).map(|found| found.is_empty());
        assert_eq!(schema.admits(value), found == Ok(true));
        assert_eq!(schema.violations(value).is_empty(), found == Ok(true));
        (found, VALIDATION_WORK_MAX - purse.left())
    };
    let too_much = (Err(Exceeded), VALIDATION_WORK_MAX);
    for (name, twice) in twice() {
        let value = json!({ "a": 1, "b": 2 });
        assert_eq!(judge(doubled(60, twice), &value), too_much, "{name}");
    }
    // Each level of the value doubles what holds for the next.
    let tree = json!({ "items": { "allOf": [{ "$ref": "#" }, { "$ref": "#" }] } });
    let deep = |levels: usize| (0..levels).fold(json!([]), |inner, _| json!([inner]));
    assert_eq!(judge(tree.clone(), &deep(60)), too_much);
    assert_eq!(judge(tree, &deep(6)).0, Ok(true));
    let text = Value::String("ab".repeat(250_000));
    let slow = json!({ "type": "string", "pattern": "[ab]*a[ab]{900}c" });
    assert_eq!(judge(slow, &text), too_much);
    let plain = json!({ "type": "string", "pattern": "^[ab]*$" });
    assert!(matches!(judge(plain, &text), (Ok(true), ..500_000)));
    let lists: Vec<Value> = (0..9_000).map(|_| json!([[1], 2])).collect();
    let unique = json!({ "uniqueItems": true });
    assert_eq!(judge(unique.clone(), &json!(lists)), too_much);
    let numbers: Vec<u32> = (0..9_000).collect();
    assert_eq!(judge(unique, &json!(numbers)).0, Ok(true));
}

#[test]
fn plain_schemas_cost_next_to_nothing() {
    let schema = json!({ "type": "object", "required": ["rows"], "properties": { "rows": {
        "type": "array", "items": { "type": "object", "properties": {
            "id": { "type": "integer" }, "name": { "type": "string", "maxLength": 80 },
            "kind": { "enum": ["a", "b"] } } } } } });
    let schema = Schema::compile(schema).unwrap();
    let row = |at: usize| json!({ "id": at, "name": "somebody", "kind": "a" });
    for (rows, most) in [(1, 1_000), (10_000, 500_000)] {
        let rows: Vec<Value> = (0..rows).map(row).collect();
        let purse = WorkBudget::of(VALIDATION_WORK_MAX);
        assert_eq!(schema.judge(&json!({ "rows": rows }), &purse), Ok(vec![]));
        let spent = VALIDATION_WORK_MAX - purse.left();
        assert!(spent <= most, "{} rows: {spent}", rows.len());
    }
}

#[test]
fn patterns_of_a_plan_are_regular() {
    let pattern = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    for irregular in ["(?=a)b", "(?!a)b", r"(a+)\1"] {
        assert_eq!(
            refused("expect", &pattern(irregular)),
            Some(Code::TooLarge),
            "{irregular}"
        );
        let named = json!({ "patternProperties": { irregular: true } });
        assert_eq!(
            refused("expect", &named),
            Some(Code::TooLarge),
            "{irregular}"
        );
    }
    assert_eq!(refused("expect", &pattern("^[a-z]+$")), None);
}

#[test]
fn expressions_are_paid_from_the_purse_of_their_scope() {
    let template = Template::parse("${ output.exists(x, x == 7) }", Span::default(), "").unwrap();
    let output = json!((0..1_000).map(|_| 1).collect::<Vec<_>>());
    let (rich, poor) = (WorkBudget::of(100_000), WorkBudget::of(500));
    let eval = |purse| {
        let scope = Scope::new().with("output", &output).paid_from(purse);
        template.eval(&scope)
    };
    assert_eq!(eval(&rich), Ok(json!(false)));
    assert!(rich.left() < 100_000 && !rich.is_empty());
    assert!(eval(&poor).is_err());
    assert!(poor.is_empty());
}

#[test]
fn a_search_is_paid_for_by_text_and_pattern() {
    let spent = |pattern: &str| {
        let text = format!("${{ output.matches('{pattern}') }}");
        let template = Template::parse(&text, Span::default(), "").unwrap();
        let output = Value::String("ab".repeat(10_000));
        let purse = WorkBudget::of(u64::MAX);
        let scope = Scope::new().with("output", &output).paid_from(&purse);
        template.eval(&scope).map(|_| u64::MAX - purse.left())
    };
    let plain = spent("^[ab]*$").unwrap();
    let slow = spent("[ab]*a[ab]{500}c").unwrap();
    assert!(slow > 30 * plain, "{plain} and {slow}");
}
