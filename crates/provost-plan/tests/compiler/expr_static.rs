//! What is known of an expression before it is evaluated: references, labels, guards.

use std::collections::BTreeSet;

use proptest::prelude::*;
use provost_plan::expr::{Expression, Fact, Read, Reference, Root, Scope, Segment, Template};
use provost_plan::label::{Integrity, Label};
use provost_plan::source::Span;
use serde_json::{Value, json};

fn template(text: &str) -> Template {
    Template::parse(text, Span::new(0, text.len()), text)
        .unwrap_or_else(|d| panic!("{text}: {}", d.message))
}

fn expression(text: &str) -> Expression {
    template(&format!("${{ {text} }}")).whole().unwrap().clone()
}

fn shown(reference: &Reference) -> String {
    let tested = if reference.tested { "?" } else { "" };
    format!("{reference}{tested}")
}

#[test]
fn references_are_paths_through_comprehensions() {
    let cases: &[(&str, &[&str])] = &[
        ("1 + size('a')", &[]),
        (
            "steps.a.output.x + params.y",
            &["steps.a.output.x", "params.y"],
        ),
        ("steps['a'].output['x y'][0]", &["steps.a.output.x y[0]"]),
        (
            "steps.a.output[params.k].z",
            &["steps.a.output[_].z", "params.k"],
        ),
        ("has(steps.a.output.x)", &["steps.a.output.x?"]),
        (
            "output.rows.map(r, r.total)",
            &["output.rows", "output.rows[_].total"],
        ),
        (
            "output.rows.filter(r, r.a > 1).map(x, x.b)",
            &["output.rows", "output.rows[_].a", "output.rows[_].b"],
        ),
        (
            "output.rows.filter(r, r.a > 1)[0].b",
            &["output.rows[_].b", "output.rows", "output.rows[_].a"],
        ),
        (
            "first(output.rows).b",
            &["output.rows[0].b", "output.rows[0]", "output.rows"],
        ),
        (
            "output.rows.all(r, r.tags.exists(t, t == item))",
            &[
                "output.rows",
                "output.rows[_].tags",
                "output.rows[_].tags[_]",
                "item",
            ],
        ),
        ("[steps.a.output].map(x, x.y)", &["steps.a.output"]),
        ("nope.x", &["nope.x"]),
        ("[1].map(item, item + index)", &["index"]),
    ];
    for (text, wanted) in cases {
        let found: Vec<_> = expression(text).references().iter().map(shown).collect();
        assert_eq!(found, *wanted, "{text}");
    }
}

/// Labels of the tests: numbers and statuses are data, `trusted` is trusted, everything else text,
/// and text decided that `chosen` ran.
fn label_of(reference: &Reference) -> Label {
    let is_chosen = reference.root == Root::Step("chosen".to_owned());
    let integrity = match reference.path.last() {
        Some(Segment::Field(name)) if name == "status" && is_chosen => Integrity::Text,
        Some(Segment::Field(name)) if name == "n" || name == "status" => Integrity::Data,
        Some(Segment::Field(name)) if name == "trusted" => Integrity::Trusted,
        _ => Integrity::Text,
    };
    match &reference.root {
        Root::Step(step) => Label::from_step(step.clone(), integrity),
        _ => Label::trusted(),
    }
}

#[test]
fn labels_are_joined_and_lowered_only_where_a_closed_kind_is_left() {
    use Integrity::{Data, Text, Trusted};
    let cases: &[(&str, Integrity)] = &[
        ("${ 1 }", Trusted),
        ("${ params.x }", Trusted),
        ("${ steps.a.output.trusted }", Trusted),
        ("${ steps.a.output.n }", Data),
        ("${ steps.a.output.n > 5 }", Data),
        ("${ steps.a.output.s }", Text),
        ("${ steps.a.output.s + 'x' }", Text),
        ("n = ${ steps.a.output.n }", Data),
        ("${ steps.a.output.n } and ${ steps.a.output.s }", Text),
        ("${ steps.a.output.s == 'x' }", Data),
        ("${ 'x' != steps.a.output.s }", Data),
        ("${ steps.a.output.s in ['x', 'y'] }", Data),
        ("${ steps.a.output.s == params.x }", Text),
        ("${ steps.a.output.s in [params.x] }", Text),
        ("${ steps.a.output.s < 'x' }", Text),
        ("${ size(steps.a.output.s) }", Data),
        ("${ steps.a.output.s.contains('x') }", Text),
        ("${ steps.a.output.s == 'x' ? 1 : 2 }", Data),
        ("${ steps.a.output.flag ? 1 : 2 }", Text),
        ("${ {'x': 1, 'y': 2}[steps.a.output.s] }", Data),
        ("${ {'x': steps.b.output.s}['x'] }", Text),
        ("${ {'x': params.y}[steps.a.output.s] }", Text),
        ("${ params.map[steps.a.output.s] }", Text),
        ("${ steps.a.output.rows.map(r, r.n) }", Data),
        ("${ steps.a.output.rows.map(r, r.s) }", Text),
        ("${ steps.a.output.rows.exists(r, r.s == 'x') }", Data),
        ("${ steps.chosen.output.rows.all(r, r.s == 'x') }", Text),
        ("${ steps.a.output.rows.filter(r, r.n > 1) }", Text),
        (
            "${ steps.a.output.rows.filter(r, r.s.contains('x')).map(r, r.n) }",
            Text,
        ),
        (
            "${ steps.a.output.rows.filter(r, r.n > 1).map(x, x.n) }",
            Data,
        ),
        (
            "${ steps.a.output.rows.filter(r, r.n > 1).map(x, x.s) }",
            Text,
        ),
        ("${ steps.a.output.rows.filter(r, r.n > 1)[0].n }", Data),
        ("${ steps.a.output.rows.filter(r, r.s > 'x')[0].n }", Text),
        ("${ first(steps.a.output.rows.filter(r, r.n > 1)).n }", Data),
        ("${ size(steps.a.output.rows.filter(r, r.n > 1)) }", Data),
        ("${ steps.a.output.rows[steps.b.output.s].n }", Text),
        ("${ [steps.a.output.s].filter(x, true).map(y, 1) }", Data),
        ("${ steps.a.output.rows.map(r, [r.s].map(s, s)) }", Text),
        ("${ [steps.a.output.s].map(x, 1) }", Data),
        ("${ [steps.a.output.n].map(x, x) }", Data),
        ("${ first(steps.a.output.rows).n }", Data),
        ("${ json(steps.a.output) }", Text),
        // A piece of a text stays text, whatever is made of it.
        ("${ steps.a.output.s.substring(0, 1) == 'x' }", Text),
        ("${ steps.a.output.s.split(',')[0] == 'x' }", Text),
        ("${ size(steps.a.output.s.split(',')) > 1 }", Text),
        ("${ steps.a.output.s.indexOf('x') > 0 }", Text),
        ("${ steps.a.output.s.lastIndexOf('x') > 0 }", Text),
        ("${ int(steps.a.output.s.capture('[0-9]+')) > 1 }", Text),
        ("${ steps.a.output.s.charAt(0) == 'x' }", Text),
        ("${ steps.a.output.s.replace('a', 'b') == 'x' }", Text),
        ("${ json_parse(steps.a.output.s).ok == true }", Text),
        // All of it, as it stands, is compared like the text itself.
        ("${ steps.a.output.s.trim().lowerAscii() == 'x' }", Data),
        ("${ math.abs(steps.a.output.n) }", Data),
        ("${ keys(steps.a.output.m) }", Text),
        ("${ [steps.a.output.n].sort() }", Data),
        ("${ has(steps.a.output.n) }", Data),
    ];
    for (text, wanted) in cases {
        let label = template(text).label(&Label::trusted(), &label_of);
        assert_eq!(label.integrity, *wanted, "{text}");
    }
    let both = template("${ steps.a.output.n + steps.b.output.n }");
    let sources = both.label(&Label::trusted(), &label_of).sources;
    assert_eq!(sources, BTreeSet::from(["a".to_owned(), "b".to_owned()]));
}

/// Guards that hold for the same values, by the label they all have.
const ALIKE: &[(Integrity, &[&str])] = &[
    (
        Integrity::Data,
        &[
            "size(steps.a.output.rows) > 0",
            "size(steps.a.output.rows) != 0",
            "size(steps.a.output.rows) >= 1",
            "0 < size(steps.a.output.rows)",
            "1 <= size(steps.a.output.rows)",
            "!(size(steps.a.output.rows) == 0)",
            "!(size(steps.a.output.rows) < 1)",
            "size(steps.a.output.rows) == 0 ? false : true",
            "steps.a.output.rows != []",
            "steps.a.output.rows.size() > 0",
            "steps.a.output.rows.exists(r, true)",
            "!steps.a.output.rows.all(r, false)",
            "size(steps.a.output.rows.map(r, r.s)) > 0",
            "size(steps.a.output.rows.filter(r, true)) > 0",
            "steps.a.output.rows.map(r, r.s) != []",
            "steps.a.output.rows.map(r, r.s).exists(s, true)",
        ],
    ),
    (
        Integrity::Data,
        &[
            "steps.a.output.s == 'x'",
            "'x' == steps.a.output.s",
            "!(steps.a.output.s != 'x')",
            "steps.a.output.s in ['x']",
            "[steps.a.output.s].exists(s, s == 'x')",
            "[steps.a.output.s] == ['x']",
            "steps.a.output.s == 'x' ? true : false",
            "(steps.a.output.s == 'x') == true",
            "steps.a.output.s == 'x' && true",
        ],
    ),
    (
        Integrity::Data,
        &[
            "steps.a.output.rows.exists(r, r.s == 'x')",
            "'x' in steps.a.output.rows.map(r, r.s)",
            "steps.a.output.rows.map(r, r.s).exists(s, s == 'x')",
            "size(steps.a.output.rows.filter(r, r.s == 'x')) > 0",
            "steps.a.output.rows.filter(r, r.s == 'x') != []",
            "!steps.a.output.rows.all(r, r.s != 'x')",
        ],
    ),
    (
        Integrity::Data,
        &[
            "int(steps.a.output.s) > 4",
            "int(steps.a.output.s) >= 5",
            "!(int(steps.a.output.s) <= 4)",
            "int(steps.a.output.s) - 4 > 0",
        ],
    ),
    (
        Integrity::Data,
        &[
            "steps.a.output.s != ''",
            "size(steps.a.output.s) > 0",
            "!(steps.a.output.s == '')",
        ],
    ),
    (
        Integrity::Data,
        &[
            "has(steps.a.output.s)",
            "steps.a.output.s != null",
            "!(steps.a.output.s == null)",
        ],
    ),
    // What a search in a text says stays text, however it is wrapped.
    (
        Integrity::Text,
        &[
            "steps.a.output.s.contains('x')",
            "steps.a.output.s.contains('x') == true",
            "steps.a.output.s.matches('x')",
            "(steps.a.output.s.contains('x') ? 'a' : 'b') == 'a'",
            "(steps.a.output.s.contains('x') ? 1 : 0) > 0",
            "size(steps.a.output.s.contains('x') ? 'a' : '') > 0",
            "[steps.a.output.s].exists(s, s.contains('x'))",
            "size([1].filter(i, steps.a.output.s.contains('x'))) > 0",
            "{'x': steps.a.output.s.contains('x')}['x']",
            "[true, false][steps.a.output.s.contains('x') ? 0 : 1] == true",
        ],
    ),
    (
        Integrity::Text,
        &[
            "steps.a.output.rows.exists(r, r.s.contains('x'))",
            "size(steps.a.output.rows.filter(r, r.s.contains('x'))) > 0",
            "steps.a.output.rows.filter(r, r.s.contains('x')) != []",
            "steps.a.output.rows.map(r, r.s).exists(s, s.contains('x'))",
            "!steps.a.output.rows.all(r, !r.s.contains('x'))",
        ],
    ),
    // So does what decided that the step ran which is asked.
    (
        Integrity::Text,
        &[
            "size(steps.chosen.output.rows) > 0",
            "steps.chosen.output.rows != []",
            "steps.chosen.output.rows.exists(r, true)",
        ],
    ),
];

#[test]
fn guards_that_say_the_same_have_equal_labels() {
    for literals in [Label::trusted(), Label::from_step("seen", Integrity::Text)] {
        for (wanted, guards) in ALIKE {
            let of = |guard: &&str| {
                let text = format!("${{ {guard} }}");
                template(&text).label(&literals, &label_of)
            };
            let labels: Vec<Label> = guards.iter().map(of).collect();
            for (guard, label) in guards.iter().zip(&labels) {
                assert_eq!(label.integrity, *wanted, "{guard}");
            }
            // Why not the author among them: not every spelling has a literal.
            let sources = |label: &Label| {
                let mut sources = label.sources.clone();
                sources.remove("seen");
                sources
            };
            for (guard, label) in guards.iter().zip(&labels) {
                assert_eq!(sources(label), sources(&labels[0]), "{guard}");
            }
        }
    }
}

/// The guard that the hint of R106 writes asks no more than a count does.
#[test]
fn a_guard_over_a_length_asks_no_more_than_one_over_a_count() {
    let label = |text: &str| template(text).label(&Label::trusted(), &label_of);
    let count = label("${ steps.a.output.n > 0 }");
    let length = label("${ size(steps.a.output.rows) > 0 }");
    assert_eq!(count, length);
}

#[test]
fn literals_carry_the_label_of_their_author() {
    let literals = Label::from_step("seen", Integrity::Text);
    let cases: &[(&str, Integrity)] = &[
        ("text", Integrity::Text),
        ("${ 'a' }", Integrity::Text),
        ("${ params.x }", Integrity::Trusted),
        ("to ${ params.x }", Integrity::Text),
        ("${ params.x == 'a' }", Integrity::Data),
        ("${ [params.x, 'a'] }", Integrity::Text),
        ("${ {'a': 'b'}[params.x] }", Integrity::Text),
    ];
    for (text, wanted) in cases {
        let label = template(text).label(&literals, &label_of);
        assert_eq!(label.integrity, *wanted, "{text}");
    }
}

fn named(fact: &Fact) -> String {
    let path = |root: &Root, path: &[Segment]| {
        let reference = Reference {
            root: root.clone(),
            path: path.to_vec(),
            tested: false,
            span: Span::default(),
        };
        reference.to_string()
    };
    match fact {
        Fact::Status { step, words } => {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            format!("{step} is {}", words.join("|"))
        }
        Fact::Present { root, path: p } => format!("{} there", path(root, p)),
        Fact::NotNull { root, path: p } => format!("{} not null", path(root, p)),
    }
}

#[test]
fn a_true_condition_proves_facts() {
    let cases: &[(&str, &[&str])] = &[
        ("true", &[]),
        (
            "steps.a.status == 'succeeded'",
            &["a is succeeded", "steps.a.status there"],
        ),
        (
            "'failed' == steps.a.status",
            &["a is failed", "steps.a.status there"],
        ),
        (
            "steps.a.status in ['failed', 'skipped']",
            &["a is failed|skipped", "steps.a.status there"],
        ),
        ("has(params.x)", &["params.x there"]),
        ("has(params.x) || true", &[]),
        ("has(params.x) || has(params.x.y)", &["params.x there"]),
        ("!(has(params.x) || true)", &[]),
        ("!(!has(params.x) || false)", &["params.x there"]),
        (
            "size(params.l) > 1",
            &["params.l there", "params.l[1] there"],
        ),
        (
            "1 <= params.l.size()",
            &["params.l there", "params.l[0] there"],
        ),
        ("params.l != []", &["params.l there", "params.l[0] there"]),
        ("params.x != null", &["params.x there", "params.x not null"]),
        ("params.x > 1", &["params.x there", "params.x not null"]),
        (
            "params.flag",
            &["params.flag there", "params.flag not null"],
        ),
        ("'x' in params.m", &["params.m there", "params.m.x there"]),
        (
            "params.l.exists(x, x == 1)",
            &[
                "params.l there",
                "params.l[0] there",
                "(Filter((params).\"l\") (== ($0) (1)))[0] there",
            ],
        ),
        ("params.l.all(x, has(x.y))", &["params.l there"]),
        (
            "params.c ? has(params.x) : false",
            &["params.c there", "params.x there", "params.c not null"],
        ),
        ("params.l[index] == 1", &["params.l there"]),
    ];
    for (text, wanted) in cases {
        let facts: Vec<_> = expression(text).facts_if_true().iter().map(named).collect();
        let facts: Vec<_> = facts.iter().filter(|f| *f != "index there").collect();
        assert_eq!(facts, *wanted, "{text}");
    }
}

#[test]
fn reads_behind_their_guard_are_proven() {
    let cases: &[(&str, &[&str])] = &[
        ("steps.a.status == 'x'", &[]),
        ("steps.a.output.x", &["steps.a.output.x"]),
        ("has(steps.a.output.x)", &["steps.a.output.x?"]),
        ("has(steps.a.output)", &[]),
        (
            "has(steps.a.output) && has(steps.a.output.x) && steps.a.output.x > 1",
            &[],
        ),
        (
            "has(steps.a.output) && steps.a.output.x > 1",
            &["steps.a.output.x"],
        ),
        ("!has(params.x) || params.x == 1", &[]),
        ("has(params.x) || params.x == 1", &["params.x"]),
        ("has(params.x) ? params.x : 0", &[]),
        ("has(params.x) ? 0 : params.x", &["params.x"]),
        ("params.l.map(r, r)", &["params.l"]),
        (
            "has(params.l) ? params.l.map(r, r.x) : []",
            &["params.l[_].x"],
        ),
        ("has(params.l) ? params.l.map(r, has(r.x), r.x) : []", &[]),
        (
            "has(params.l) ? params.l.filter(r, has(r.x)).map(s, s.x) : []",
            &[],
        ),
        (
            "has(params.l) ? params.l.filter(r, has(r.y)).map(s, s.x) : []",
            &["params.l[_].x"],
        ),
        (
            "has(params.l) && size(params.l) > 0 && params.l[0] == 1",
            &[],
        ),
        (
            "has(params.l) && size(params.l) > 2 && params.l[1] == 1",
            &[],
        ),
        (
            "has(params.l) && size(params.l) > 0 && params.l[1] == 1",
            &["params.l[1]"],
        ),
        (
            "has(params.l) && params.l != [] && first(params.l) == 1",
            &[],
        ),
        ("has(params.l) && first(params.l) == 1", &["params.l[0]"]),
    ];
    for (text, wanted) in cases {
        let found: Vec<_> = expression(text)
            .unguarded(&BTreeSet::new())
            .iter()
            .map(shown)
            .collect();
        assert_eq!(found, *wanted, "{text}");
    }
}

#[test]
fn a_guard_in_when_proves_the_arguments() {
    let given =
        expression("steps.a.status == 'succeeded' && has(steps.a.output.x)").facts_if_true();
    let reads = template("${ steps.a.output.x } ${ steps.a.output.y }").reads(&given);
    let depths: Vec<_> = reads
        .iter()
        .map(|read| (read.is_present(1), read.is_present(2)))
        .collect();
    assert_eq!(depths, [(true, true), (true, false)]);
    let control = template("${ steps.a.output.x }").reads(&BTreeSet::new());
    assert!(!control.iter().any(|read| read.is_present(1)));
}

/// Whether a path is there in a scope, and whether it is null.
fn lookup<'v>(
    params: &'v Value,
    step: &'v Value,
    root: &Root,
    path: &[Segment],
) -> Option<&'v Value> {
    let mut value = match root {
        Root::Step(_) => step,
        _ => params,
    };
    for segment in path {
        value = match segment {
            Segment::Field(name) => value.get(name)?,
            Segment::Index(index) => value.get(index)?,
            Segment::Any => return None,
        };
    }
    Some(value)
}

fn conditions() -> impl Strategy<Value = String> {
    let atoms = prop::sample::select(vec![
        "true",
        "false",
        "has(params.f)",
        "has(params.f.g)",
        "params.f.g == 1",
        "params.f != null",
        "params.f == null",
        "'f' in params",
        "'g' in params.f",
        "params.b",
        "params.n > 1",
        "size(params.l) > 1",
        "1 > params.l.size()",
        "size(params.l) == 0",
        "params.l != []",
        "params.l[1] == 1",
        "first(params.l) == 1",
        "max(params.l) > 0",
        "params.l.exists(x, x > 0)",
        "params.l.all(x, x > 0)",
        "params.l.filter(x, x > 0)[0] == 1",
        "params.r.all(x, has(x.g) && x.g == 1)",
        "params.r.filter(x, has(x.g)).all(y, y.g == 1)",
        "params.r.exists(x, x.g == 1)",
        "steps.a.status == 'succeeded'",
        "steps.a.status != 'succeeded'",
        "steps.a.status in ['failed', 'succeeded']",
        "steps.a.output.x == 1",
        "has(steps.a.output)",
        "has(steps.a.output.x)",
        "has(steps.a.error)",
    ])
    .prop_map(str::to_owned);
    atoms.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| format!("!({a})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} && {b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a} || {b})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(a, b, c)| format!("({a} ? {b} : {c})")),
        ]
    })
}

fn worlds() -> impl Strategy<Value = (Value, Value)> {
    let optional = |values: Vec<Value>| prop::option::of(prop::sample::select(values));
    let params = (
        optional(vec![
            json!(null),
            json!({}),
            json!({"g": 1}),
            json!({"g": null}),
        ]),
        optional(vec![json!([]), json!([1]), json!([0, 1]), json!([2, 1, 0])]),
        optional(vec![
            json!([]),
            json!([{}]),
            json!([{"g": 1}]),
            json!([{}, {"g": 1}]),
        ]),
        optional(vec![json!(true), json!(false), json!(null)]),
        optional(vec![json!(0), json!(2), json!(null)]),
    );
    let params = params.prop_map(|(f, l, r, b, n)| {
        let fields = [("f", f), ("l", l), ("r", r), ("b", b), ("n", n)];
        fields
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    });
    let step = prop::sample::select(vec![
        json!({"status": "succeeded", "output": {"x": 1}}),
        json!({"status": "succeeded", "output": {}}),
        json!({"status": "failed", "error": {"class": "timeout"}}),
        json!({"status": "skipped"}),
        json!({"status": "cancelled"}),
    ]);
    (params, step)
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(2_000)
    })]

    #[test]
    fn facts_hold_whenever_the_condition_came_to_its_value(
        text in conditions(),
        (params, step) in worlds(),
    ) {
        prop_assume!(text.len() <= 1_000);
        let expression = expression(&text);
        let scope = Scope::new().with("params", &params).with_step("a", &step);
        let facts = match expression.eval(&scope) {
            Ok(Value::Bool(true)) => expression.facts_if_true(),
            Ok(Value::Bool(false)) => self::expression(&format!("!({text})")).facts_if_true(),
            _ => return Ok(()),
        };
        for fact in facts {
            let holds = match &fact {
                Fact::Status { words, .. } => words.contains(step["status"].as_str().unwrap()),
                // Why: what an expression makes is nowhere to look it up.
                Fact::Present { root: Root::Unknown(_), .. } => true,
                Fact::Present { root, path } => lookup(&params, &step, root, path).is_some(),
                Fact::NotNull { root, path } => {
                    lookup(&params, &step, root, path).is_some_and(|v| !v.is_null())
                }
            };
            prop_assert!(holds, "{}", named(&fact));
        }
    }

    #[test]
    fn what_is_proven_is_never_what_is_missing(
        text in conditions(),
        (params, step) in worlds(),
    ) {
        prop_assume!(text.len() <= 1_000);
        let expression = expression(&text);
        let scope = Scope::new().with("params", &params).with_step("a", &step);
        let Err(error) = expression.eval(&scope) else { return Ok(()) };
        prop_assume!(error.reason.contains("absent"));
        let missing = |read: &Read| {
            let needs = read.needs();
            let path: Vec<_> = read.reference.path.iter().take(needs).cloned().collect();
            !read.is_present(needs)
                && lookup(&params, &step, &read.reference.root, &path).is_none()
        };
        let reads = expression.reads(&BTreeSet::new());
        prop_assert!(reads.iter().any(missing), "{}: {:?}", error.reason, reads);
    }
}
