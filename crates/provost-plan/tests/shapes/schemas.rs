//! Schemas of every bad shape: of the catalog, and those that a plan brings itself.
//!
//! Owns the shapes; what they come to is looked at as that of any text.

use provost_plan::catalog::{Catalog, Effect};
use provost_plan::check::Terms;
use provost_plan::codes::Code;
use provost_plan::policy::DEFAULT_POLICY;
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use super::generated::{closed, operation, terms, terms_of};
use super::{outcome, plan};

/// Terms with one tool `t.make` whose output, and one `t.take` whose argument, has this schema.
fn typed(output: &Value, input: &Value) -> Terms {
    let any = json!({ "type": "object" });
    let make = operation("t.make", Effect::Read, any, Some(output.clone()));
    let mut outer = closed(&["x"], &json!({ "x": input }));
    // A reference leads from the root of the document that it stands in.
    if let Some(named) = input.get("$defs") {
        outer["$defs"] = named.clone();
    }
    let take = operation("t.take", Effect::Write, outer, None);
    terms_of(Catalog::new([make, take]), DEFAULT_POLICY)
}

/// A plan that passes what `t.make` gives, at `path`, to `t.take`, so many times.
fn passing(path: &str, times: usize) -> String {
    let take = |at: usize| {
        format!("id: t{at}, tool: t.take, args: {{ x: '${{ steps.a.output{path} }}' }}")
    };
    plan(std::iter::once("id: a, tool: t.make".to_owned()).chain((0..times).map(take)))
}

fn tree(depth: usize, width: usize, leaf: &Value) -> Value {
    if depth == 0 {
        return leaf.clone();
    }
    let properties: serde_json::Map<String, Value> = (0..width)
        .map(|at| (format!("f{at}"), tree(depth - 1, width, leaf)))
        .collect();
    json!({ "type": "object", "properties": properties })
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "most of a minute without optimization: `scripts/full shapes` runs it"
)]
fn schemas_that_are_wide_and_deep() {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    let list = |count: usize, prefix: &str| {
        let words: Vec<String> = (0..count).map(|at| format!("{prefix}{at}")).collect();
        json!({ "enum": words })
    };
    let recursive = json!({ "$ref": "#/$defs/n", "$defs": { "n": { "type": "object", "properties": {
        "next": { "$ref": "#/$defs/n" }, "v": { "type": "string" } }, "additionalProperties": false } } });
    let branches = |count: usize, ty: &str| {
        let branch = |at: usize| {
            json!({ "type": "object", "required": [format!("k{at}")], "properties": {
                "kind": { "const": at }, (format!("k{at}")): { "type": ty } } })
        };
        json!({ "anyOf": (0..count).map(branch).collect::<Vec<_>>() })
    };
    let all = |count: usize| {
        let branch = |at: usize| json!({ "anyOf": [ { "type": "string", "minLength": at }, { "type": "integer", "minimum": at } ] });
        json!({ "allOf": (0..count).map(branch).collect::<Vec<_>>() })
    };
    for (name, output, input, path) in [
        ("deep", tree(40, 1, &text), tree(40, 1, &number), ""),
        ("wide", tree(1, 2_000, &text), tree(1, 2_000, &number), ""),
        ("wide and deep", tree(4, 6, &text), tree(4, 6, &number), ""),
        (
            "recursive",
            recursive.clone(),
            recursive.clone(),
            ".next.next",
        ),
        (
            "an enumeration of 10,000",
            list(10_000, "a"),
            list(10_000, "b"),
            "",
        ),
        (
            "the same enumeration",
            list(10_000, "a"),
            list(10_000, "a"),
            "",
        ),
        (
            "any of 20",
            branches(20, "string"),
            branches(20, "integer"),
            "",
        ),
        (
            "any of 60",
            branches(60, "string"),
            branches(60, "string"),
            "",
        ),
        ("all of 8", all(8), all(8), ""),
        ("all of 16", all(16), all(12), ""),
    ] {
        let terms = typed(&output, &input);
        outcome(name, &passing(path, 20), &terms);
    }
}

#[test]
fn patterns() {
    let pattern = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    for (name, one, two) in [
        ("nested repetition", "^(a+)+$", "^(a*)*b$"),
        ("counted repetition", "^[a-z]{1,1000}$", "^[a-z]{5,900}$"),
        ("classes", "^\\w{1,200}$", "^\\p{L}{1,100}$"),
        (
            "alternatives",
            "^(a|b|ab|ba|aab|abb){1,50}$",
            "^(a|b){1,100}$",
        ),
    ] {
        let terms = typed(&pattern(one), &pattern(two));
        outcome(name, &passing("", 20), &terms);
    }
    // What a plan brings itself is compiled while it is read.
    for heavy in [
        "(((a{1,100}){1,100}){1,100}){1,100}",
        "^\\\\p{L}{100000}$",
        "(a*)*(b*)*(c*)*",
    ] {
        let step = format!("id: a, tool: t.none, expect: {{ type: string, pattern: \"{heavy}\" }}");
        let steps = (0..50).map(|at| step.replace("id: a", &format!("id: a{at}")));
        outcome("a pattern of the plan's own", &plan(steps), &terms());
    }
}

#[test]
fn schemas_of_the_plans_own() {
    let wide: Vec<String> = (0..10_000)
        .map(|at| format!("p{at}: {{ type: string }}"))
        .collect();
    let wide = format!(
        "id: a, tool: t.none, expect: {{ type: object, additionalProperties: false, properties: {{ {} }} }}",
        wide.join(", ")
    );
    let reads: String = (0..8_000).fold(String::new(), |text, at| {
        text + &format!("${{ steps.a.output.q{at} }}")
    });
    let text = format!("{}answer: '{reads}'\n", plan([wide]));
    let held = outcome("reads of fields that are not there", &text, &terms());
    assert!(!held.checked);
    let wide = typed(&tree(1, 2_000, &json!({ "type": "string" })), &json!(true));
    let reads: String = (0..1_900).fold(String::new(), |text, at| {
        text + &format!("${{ steps.a.output.f{at} }}")
    });
    let text = format!("{}answer: '{reads}'\n", passing("", 0));
    let held = outcome("reads of every field of a wide output", &text, &wide);
    assert_eq!(held.count(Code::TooLarge), 1, "{:?}", held.found.first());
    let nested = |levels: usize, word: &str| {
        (0..levels).fold("{ type: string }".to_owned(), |inner, _| {
            format!("{{ {word}: [{inner}, {{ type: integer }}] }}")
        })
    };
    for word in ["anyOf", "allOf", "oneOf"] {
        let schema = nested(25, word);
        let steps = (0..40).map(|at| {
            format!(
                "id: s{at}, tool: t.none, expect: {schema}, accept: '${{ output.a.b == output.c }}'"
            )
        });
        outcome(word, &plan(steps), &terms());
    }
    let words: Vec<String> = (0..20_000).map(|at| format!("w{at}")).collect();
    let many = format!(
        "id: a, tool: docs.list, args: {{ project: PAY }}, expect: {{ enum: [{}] }}",
        words.join(",")
    );
    outcome("an enumeration of the plan's own", &plan([many]), &terms());
    assert!(Schema::compile(json!({ "$ref": "http://127.0.0.1:1/x" })).is_err());
}
