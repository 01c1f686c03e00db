//! The type of an expression against its value: what is inferred must hold of what is computed.
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use serde_json::{Value, json};

use super::{Typed, TypedPlace, type_of};
use crate::expr::{Root, Scope, Segment, Template};
use crate::schema::{Schema, Type};
use crate::source::Span;

fn schema() -> Value {
    json!({
        "type": "object",
        "required": ["n", "x", "s", "b", "rows", "texts", "maybe", "level", "at", "day"],
        "additionalProperties": false,
        "properties": {
            "n": {"type": "integer"},
            "x": {"type": "number"},
            "s": {"type": "string"},
            "b": {"type": "boolean"},
            "rows": {"type": "array", "items": {
                "type": "object", "required": ["id", "p"], "additionalProperties": false,
                "properties": {"id": {"type": "string"}, "p": {"type": "number"}}}},
            "texts": {"type": "array", "items": {"type": "string"}},
            "maybe": {"type": ["integer", "null"]},
            "level": {"enum": ["low", "high"]},
            "at": {"type": "string", "format": "date-time"},
            "day": {"type": "string", "format": "date"},
        },
    })
}

fn values() -> Vec<Value> {
    vec![
        json!({"n": 0, "x": 0.5, "s": "", "b": false, "rows": [], "texts": [], "maybe": null,
               "level": "low", "at": "2025-01-02T03:04:05Z", "day": "2025-01-02"}),
        json!({"n": -7, "x": 3, "s": "a b", "b": true, "maybe": 4, "level": "high",
               "rows": [{"id": "r1", "p": 1}, {"id": "r2", "p": 2.25}], "texts": ["x", "y", "x"],
               "at": "2024-02-29T23:59:59Z", "day": "2024-02-29"}),
    ]
}

const EXPRESSIONS: &[&str] = &[
    "output.n + 1",
    "output.n * output.x",
    "-output.x",
    "output.n % 2 == 0",
    "output.s + '!'",
    "output.texts + ['z']",
    "output.b ? output.n : 2",
    "output.b ? output.s : output.n",
    "[output.n, output.s]",
    "{'a': output.n, 'b': [output.x]}",
    "{'a': {'c': output.s}}.a.c",
    "[1, 2, 3][0]",
    "output.rows.map(r, r.id)",
    "output.rows.map(r, r.p > 1, r.p)",
    "output.rows.filter(r, r.p > 1)",
    "output.rows.all(r, r.p >= 0)",
    "output.rows.exists(r, r.id == 'r1')",
    "output.rows.map(r, {'k': r.id})",
    "size(output.rows)",
    "size(output.s)",
    "sum(output.rows.map(r, r.p))",
    "round(output.x)",
    "round(output.x, 1)",
    "max(output.n, 3)",
    "min(output.texts)",
    "join(output.texts, ', ')",
    "first(output.texts)",
    "json(output.rows)",
    "string(output.n)",
    "int(output.x)",
    "double(output.n)",
    "output.s.contains('a') || output.s.startsWith('b')",
    "timestamp(output.at)",
    "timestamp(output.at) - duration('1h')",
    "timestamp(output.at).getFullYear()",
    "timestamp(output.at) < timestamp('2030-01-01T00:00:00Z')",
    "output.maybe",
    "output.maybe != null && output.maybe > 3",
    "output.level == 'low'",
    "output.level in ['low', 'mid']",
    "'x' in output.texts",
    "has(output.n)",
    "dyn(output.n)",
    "output",
    "output.s.split(' ')",
    "output.s.split(' ').map(t, t.trim().upperAscii())",
    "output.s.replace(' ', '-').reverse()",
    "output.s.indexOf(' ') + output.s.lastIndexOf('a', 1)",
    "output.s.substring(0, 0) + output.s.charAt(0)",
    "output.texts.sort().reverse().distinct()",
    "output.rows.slice(0, 0)",
    "output.rows.map(r, [r.id]).flatten()",
    "lists.range(size(output.rows))",
    "zip(lists.range(size(output.rows)), output.rows).map(p, p[1].id)",
    "zip(output.texts, output.texts)",
    "keys(output)",
    "values(output)",
    "capture(output.s, '[a-z]')",
    "'%s costs %.2f'.format([output.s, output.x])",
    "math.greatest(output.n, output.x)",
    "math.least(output.n, 3)",
    "math.greatest(output.rows.map(r, r.p) + [1])",
    "math.abs(output.n)",
    "math.ceil(output.x)",
    "math.sign(output.n)",
    "json_parse('{\"a\": [1]}').a",
    "timestamp('2030-01-01T00:00:00+01:00')",
    "keys({'a': 1}).map(k, k)",
    "{'a': 1}.map(k, k + '!')",
    // These can never have a value, and each is reported.
    "output.n + output.s",
    "output.n && true",
    "!output.s",
    "output.s < output.n",
    "output.nope",
    "output.rows.id",
    "output.n.x",
    "size(output.b)",
    "output.rows.map(r, r.nope)",
    "join(output.s)",
    "timestamp(output.at) + timestamp(output.at)",
    "timestamp('2024-05-15T10:00:00')",
    "timestamp(output.day)",
    "duration('5 minutes')",
    "int('a')",
    "output.map(k, k)",
    "first([output]).filter(k, k == 'n')",
    "output.n.split(',')",
    "output.s.split(1)",
    "'%d'.format([output.s])",
    "keys(output.texts)",
    "math.abs(output.s)",
    "[3, 'a'].sort()",
    "'ab'.substring(3)",
];

fn typed(expression: &str) -> (Typed, usize) {
    let text = format!("${{ {expression} }}");
    let template = Template::parse(&text, Span::default(), &text).unwrap();
    let output = Type::of_json(&schema());
    let names = |root: &Root, path: &[Segment]| match root {
        Root::Output => TypedPlace::within(&output, path),
        _ => TypedPlace::Typed(Typed::reported()),
    };
    let mut found = Vec::new();
    let typed = type_of(template.whole().unwrap().ast(), &names, &mut found);
    (typed, found.len())
}

#[test]
fn what_is_inferred_holds_of_what_is_computed() {
    let input = Schema::compile(schema()).unwrap();
    let mut refused = 0;
    for expression in EXPRESSIONS {
        let text = format!("${{ {expression} }}");
        let template = Template::parse(&text, Span::default(), &text).unwrap();
        let (typed, findings) = typed(expression);
        let result = Schema::compile(typed.to_type().to_json()).unwrap();
        refused += usize::from(findings > 0);
        for output in values() {
            assert_eq!(input.violations(&output), []);
            match template.eval(&Scope::new().with("output", &output)) {
                Ok(value) => {
                    // Why: over an empty list a wrong condition is never asked.
                    let vacuous = expression.contains(".map(") && value == json!([]);
                    assert!(
                        findings == 0 || vacuous,
                        "`{expression}` has the value {value}"
                    );
                    assert!(
                        result.admits(&value) || vacuous,
                        "`{expression}` is {value}, and {:?} was inferred",
                        typed.to_type()
                    );
                }
                // Empty lists have no first and no least item; that is the guards' business.
                Err(error) => assert!(
                    findings > 0 || output["texts"] == json!([]),
                    "`{expression}` fails and was not reported: {error}"
                ),
            }
        }
    }
    assert_eq!(refused, 24, "the control: what has no value is reported");
}

#[test]
fn comparisons_that_are_always_the_same() {
    for (expression, expected) in [
        ("output.n == '3'", 1),
        ("output.n == 3.0", 0),
        ("output.level == 'lwo'", 1),
        ("output.level != 'mid'", 1),
        ("output.level == output.s", 0),
        ("output.s == null", 0),
        ("output.maybe == null", 0),
        ("3 in output.texts", 1),
        ("output.rows == []", 0),
    ] {
        assert_eq!(typed(expression).1, expected, "{expression}");
    }
}
