//! Expressions: what they come to, and why they do not.

use provost_plan::expr::{ArgTree, Scope, Template, as_written};
use provost_plan::node::parse_yaml;
use provost_plan::source::Span;
use serde_json::{Value, json};

fn template(text: &str) -> Template {
    Template::parse(text, Span::new(0, text.len()), text)
        .unwrap_or_else(|d| panic!("{text}: {}", d.message))
}

fn world() -> Vec<(&'static str, Value)> {
    let rows = json!([
        {"name": "a", "total": 3, "tags": ["x", "y"]},
        {"name": "b", "total": 5, "tags": []},
        {"name": "c", "total": 1.5, "note": null, "tags": ["y"]},
    ]);
    vec![
        (
            "count",
            json!({"status": "succeeded", "output": {"total": 12, "half": 0.5, "rows": rows,
                "empty": [], "at": "2026-01-31T08:00:00Z", "subject": "it's \"here\"", "flag": true}}),
        ),
        ("page", json!({"status": "skipped"})),
        (
            "bad",
            json!({"status": "failed", "error": {"class": "timeout"}}),
        ),
    ]
}

fn eval(text: &str) -> Result<Value, String> {
    let world = world();
    let params = json!({"limit": 10, "names": ["a", "c"], "half": 2.5});
    let mut scope = Scope::new().with("params", &params);
    for (id, value) in &world {
        scope = scope.with_step(id, value);
    }
    template(text).eval(&scope).map_err(|error| error.reason)
}

#[test]
fn values_keep_their_type_when_the_expression_is_the_whole_text() {
    let cases: &[(&str, Value)] = &[
        ("${ 1 }", json!(1)),
        ("${ 0x1F }", json!(31)),
        ("${ 2.0 }", json!(2)),
        ("${ 'a' + \"b\" }", json!("ab")),
        ("${ r'\\d' }", json!("\\d")),
        ("${ \"}\" }", json!("}")),
        ("${ {'a': {'b': 1}}.a.b }", json!(1)),
        ("${ {'a': 1} }", json!({"a": 1})),
        ("${ [1, 2.5, null, true,] }", json!([1, 2.5, null, true])),
        ("${ true ? 'y' : 'n' }\n", json!("y")),
        ("${ steps.count.output.rows[1].name }", json!("b")),
        ("${ steps['count'].output['total'] }", json!(12)),
        ("${ steps.page.status == 'skipped' }", json!(true)),
        ("${ -steps.count.output.total }", json!(-12)),
        ("${ !!steps.count.output.flag }", json!(true)),
        ("${ 1 - 2 - 3 }", json!(-4)),
        ("${ 2 + 3 * 4 }", json!(14)),
        ("${ (2 + 3) * 4 % 7 }", json!(6)),
        ("${ 7 / 2 }", json!(3)),
        ("${ 7 / 2.0 }", json!(3.5)),
        ("${ params.half * 2 }", json!(5)),
        ("${ 1 == 1.0 }", json!(true)),
        ("${ '1' == 1 }", json!(false)),
        ("${ null == null }", json!(true)),
        ("${ 'b' in ['a', 'b'] }", json!(true)),
        ("${ 'total' in steps.count.output }", json!(true)),
        ("${ has(steps.count.output.total) }", json!(true)),
        ("${ has(steps.page.output) }", json!(false)),
        (
            "${ has(steps.page.output) && steps.page.output.x == 1 }",
            json!(false),
        ),
        ("${ steps.page.output.x == 1 || true }", json!(true)),
        ("${ steps.page.output.x == 1 && false }", json!(false)),
        ("${ [1,2] + [3] == [1,2,3] }", json!(true)),
        (
            "${ {'a': 1, 'b': [2.0]} == {'b': [2], 'a': 1.0} }",
            json!(true),
        ),
        ("${ type(1) == int && type('') == string }", json!(true)),
    ];
    for (text, wanted) in cases {
        assert_eq!(eval(text).as_ref(), Ok(wanted), "{text}");
    }
}

#[test]
fn comprehensions_and_functions() {
    let cases: &[(&str, Value)] = &[
        (
            "${ steps.count.output.rows.map(r, r.total) }",
            json!([3, 5, 1.5]),
        ),
        (
            "${ steps.count.output.rows.filter(r, r.total > 2).map(x, x.name) }",
            json!(["a", "b"]),
        ),
        (
            "${ steps.count.output.rows.map(r, r.total > 2, r.name) }",
            json!(["a", "b"]),
        ),
        (
            "${ steps.count.output.rows.all(r, r.total > 0) }",
            json!(true),
        ),
        (
            "${ steps.count.output.rows.exists(r, r.note == null) }",
            json!(true),
        ),
        (
            "${ steps.count.output.rows.exists_one(r, r.name in params.names) }",
            json!(false),
        ),
        (
            "${ [[1,2],[3]].map(x, x.map(y, y * 2)) }",
            json!([[2, 4], [6]]),
        ),
        ("${ {'b': 1, 'a': 2}.map(k, k) }", json!(["a", "b"])),
        ("${ [1].map(x, [2].map(x, x)) }", json!([[2]])),
        ("${ size('häß') + size([1]) + {'a': 1}.size() }", json!(5)),
        (
            "${ 'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c') }",
            json!(true),
        ),
        (
            "${ 'PAY-12'.matches('^[A-Z]+-[0-9]+$') && matches('a', 'a') }",
            json!(true),
        ),
        ("${ [int('4'), int(4.9), int(-4.9)] }", json!([4, 4, -4])),
        (
            "${ [double('4.5'), string(4.5), string(true)] }",
            json!([4.5, "4.5", "true"]),
        ),
        ("${ bool('true') }", json!(true)),
        (
            "${ [round(2.5), round(-2.5), round(7), round(2.345, 2)] }",
            json!([3, -3, 7, 2.35]),
        ),
        (
            "${ [sum([1, 2]), sum([1, 2.5]), sum([])] }",
            json!([3, 3.5, 0]),
        ),
        (
            "${ [min([3, 1.5]), max(3, 1), ['b', 'a'].min()] }",
            json!([1.5, 3, "a"]),
        ),
        (
            "${ ['a', 1, true, 2.5].join(', ') + join(['x']) }",
            json!("a, 1, true, 2.5x"),
        ),
        ("${ first(steps.count.output.rows).name }", json!("a")),
        (
            "${ json({'b': [1.0, null], 'a': 'x'}) }",
            json!("{\"a\":\"x\",\"b\":[1,null]}"),
        ),
        (
            "${ timestamp(steps.count.output.at) + duration('1h30m') }",
            json!("2026-01-31T09:30:00Z"),
        ),
        (
            "${ timestamp('2026-01-31T08:00:00+02:00') }",
            json!("2026-01-31T06:00:00Z"),
        ),
        (
            "${ timestamp('2026-01-31T08:00:00Z') - timestamp('2026-01-31T07:00:00Z') }",
            json!("3600s"),
        ),
        ("${ timestamp(steps.count.output.at).getHours() }", json!(8)),
        (
            "${ timestamp(steps.count.output.at).getHours('America/New_York') }",
            json!(3),
        ),
        (
            "${ timestamp(steps.count.output.at).getDayOfWeek() }",
            json!(6),
        ),
        ("${ duration('90m').getHours() }", json!(1)),
        ("${ duration('1.5s') > duration('-1s') }", json!(true)),
        ("${ int(timestamp('1970-01-01T00:01:00Z')) }", json!(60)),
    ];
    for (text, wanted) in cases {
        assert_eq!(eval(text).as_ref(), Ok(wanted), "{text}");
    }
}

#[test]
fn texts_print_scalars_and_refuse_the_rest() {
    let cases: &[(&str, Result<Value, &str>)] = &[
        (
            "a ${ 1 } b ${ true } ${ 0.5 } ${ 'x' }",
            Ok(json!("a 1 b true 0.5 x")),
        ),
        (" ${ 1 }", Ok(json!(" 1"))),
        (
            "cost $5, $${literal} $$${ 1 }",
            Ok(json!("cost $5, ${literal} $${ 1 }")),
        ),
        ("${ '}' }${ {'a': '}'}.a }", Ok(json!("}}"))),
        (
            "x ${ 1e21 }",
            Err("the integer 1e+21 is beyond ±2^53, where readers disagree on its value"),
        ),
        ("x ${ 1e-7 }", Ok(json!("x 1e-7"))),
        ("${ timestamp(0) } !", Ok(json!("1970-01-01T00:00:00Z !"))),
        (
            "x ${ null }",
            Err("null has no text; give a default or use `json()`"),
        ),
        (
            "x ${ [1] }",
            Err("a list has no text; use `join()` or `json()`"),
        ),
        (
            "x ${ {'a': 1} }",
            Err("a map has no text; use a field of it or `json()`"),
        ),
        ("", Ok(json!(""))),
    ];
    for (text, wanted) in cases {
        let wanted = wanted.clone().map_err(str::to_owned);
        assert_eq!(eval(text), wanted, "{text}");
    }
}

#[test]
fn faults_say_what_is_missing() {
    let cases: &[(&str, &str)] = &[
        (
            "${ steps.page.output.id }",
            "`steps.page.output` is absent: step `page` is `skipped`",
        ),
        (
            "${ steps.count.output.nope.x }",
            "`steps.count.output.nope` is absent",
        ),
        (
            "${ steps.count.output.rows[7].name }",
            "`steps.count.output.rows[7]` is absent: the list has 3 items",
        ),
        ("${ steps.none.output }", "`steps.none` is not in scope"),
        ("${ item.x }", "`item` is not in scope"),
        ("${ nothing }", "`nothing` is not in scope"),
        (
            "${ steps.count.output.total.x }",
            "`steps.count.output.total.x` cannot be looked up in an integer",
        ),
        (
            "${ has(steps.page.output.x) }",
            "`steps.page.output` is absent: step `page` is `skipped`",
        ),
        ("${ 1 + 'a' }", "`+` does not take an integer and a text"),
        (
            "${ 1 < 'a' }",
            "`<` does not compare an integer with a text",
        ),
        ("${ !1 }", "`!` does not take an integer"),
        ("${ 1 && true }", "`&&` does not take an integer"),
        ("${ 1 / 0 }", "a division by zero"),
        ("${ 1.0 / 0 }", "the result is not a finite number"),
        (
            "${ 9007199254740992 + 1 }",
            "the integer 9007199254740993 is beyond ±2^53, where readers disagree on its value",
        ),
        (
            "${ 9007199254740992 * 9007199254740992 }",
            "the result is out of range",
        ),
        ("${ first([]) }", "the list is empty"),
        ("${ max([]) }", "the list is empty"),
        (
            "${ timestamp('yesterday') }",
            "the text is not a time such as `2026-01-31T08:00:00Z`",
        ),
        (
            "${ timestamp(0).getHours('Mars') }",
            "`getHours` does not know this zone",
        ),
        ("${ {'a': 1, 'a': 2} }", "a key stands twice in a map"),
        ("${ 1 ? 2 : 3 }", "`? :` does not take an integer"),
    ];
    for (text, wanted) in cases {
        assert_eq!(eval(text), Err((*wanted).to_owned()), "{text}");
    }
}

fn refusal(text: &str) -> (String, String) {
    let diagnostic = Template::parse(text, Span::new(0, text.len()), text).unwrap_err();
    assert_eq!(diagnostic.code.as_str(), "P009", "{text}");
    let at = text
        .get(diagnostic.span.start..diagnostic.span.end)
        .unwrap();
    (diagnostic.message.clone(), at.to_owned())
}

#[test]
fn refusals_point_into_the_text() {
    let cases: &[(&str, &str, &str)] = &[
        (
            "a ${ 1 + }",
            "the expression ends where a value must stand",
            "",
        ),
        (
            "${ 1 2 }",
            "expected the end of the expression, found `2`",
            "2",
        ),
        (
            "${ a = 1 }",
            "expected the end of the expression, found `=`",
            "=",
        ),
        ("${ }", "the expression is empty", "${ }"),
        (
            "x ${ 1",
            "the expression is not closed: no `}` stands behind it",
            "${",
        ),
        ("${ 'abc }", "unterminated string literal", "'"),
        ("${ a # b }", "a character that has no meaning", "#"),
        ("${ sizee([1]) }", "there is no function `sizee`", "sizee"),
        (
            "${ [1].first(2) }",
            "`first` does not take 1 arguments",
            "first",
        ),
        (
            "${ contains('a', 'b') }",
            "`contains` is called on a value",
            "contains",
        ),
        (
            "${ steps }",
            "`steps` stands without the id of a step",
            "steps",
        ),
        (
            "${ steps[params.x].output }",
            "`steps` stands without the id of a step",
            "steps",
        ),
        ("${ has(params) }", "`has` asks for a field", "has"),
        (
            "${ 1u }",
            "unsigned numbers and bytes are not part of the language",
            "1u",
        ),
        (
            "${ b'a' }",
            "unsigned numbers and bytes are not part of the language",
            "b'a'",
        ),
        (
            "${ 9007199254740993 }",
            "an integer beyond ±2^53 cannot be held exactly",
            "9007199254740993",
        ),
        ("${ 1 < 2 < 3 }", "comparisons do not chain", "<"),
        (
            "${ [1].map(x, [1].map(y, [1].map(z, [1].map(u, u)))) }",
            "comprehensions stand inside each other more than 3 deep",
            "map",
        ),
        (
            "${ 'a'.matches('(') }",
            "the regular expression cannot be read",
            "'('",
        ),
        (
            "${ 'a'.matches('(\\\\w{900}){900}') }",
            "the regular expression is too large",
            "'(\\\\w{900}){900}'",
        ),
        (
            "${ Foo{a: 1} }",
            "expected the end of the expression, found `{`",
            "{",
        ),
        ("${ a.`b` }", "expected a name, found ``b``", "`b`"),
        ("${ a.?b }", "expected a name, found `?`", "?"),
    ];
    for (text, message, at) in cases {
        assert_eq!(
            refusal(text),
            ((*message).to_owned(), (*at).to_owned()),
            "{text}"
        );
    }
    assert_eq!(
        refusal(&format!("${{ {} }}", "(".repeat(200))).0,
        "the expression nests deeper than 32"
    );
    assert_eq!(
        refusal(&format!("${{ {}1 }}", "1+".repeat(600))).0,
        "the expression is longer than 1024 bytes"
    );
}

#[test]
fn the_text_of_json_is_the_canonical_one_of_the_value() {
    for value in [
        "steps.count.output",
        "{'\u{e000}': 1, '\u{1f600}': 2, 'b': {'a': [], '\"': {}}}",
        "{1: 'first', '1': 'second', true: 0.5, 'c': -0.0}",
        "[1.0, 2.5, 1e20, 9007199254740992.0, null, 'it\\'s', \"\\n\"]",
        "steps.count.output.rows.map(x, {x.name: [x, x.tags]})",
        "[timestamp('2026-01-31T08:00:00Z'), duration('1h')]",
        "[9007199254740991 * 2]",
        "[1.0 / 0.0]",
        "type(1)",
    ] {
        let whole = eval(&format!("${{ {value} }}"));
        let text = eval(&format!("${{ json({value}) }}"));
        let expected = whole.map(|value| Value::String(provost_plan::digest::canonical(&value)));
        assert_eq!(text, expected, "{value}");
    }
}

/// The arguments that a text of YAML comes to, and its form.
fn args(text: &str) -> (Value, String) {
    let mut found = Vec::new();
    let tree = ArgTree::read(&parse_yaml(text).unwrap(), text, &mut found);
    assert!(found.is_empty(), "{found:?}");
    let params = json!({ "none": null, "some": 1 });
    let value = tree.eval(&Scope::new().with("params", &params)).unwrap();
    (value, tree.form())
}

#[test]
fn an_entry_is_left_out_where_its_value_is_null() {
    let text = r#"{ a: 1, "?b": "${ params.none }", "?c": "${ params.some }", d: "${ params.none }",
        e: [{ "?f": "${ params.none }" }, "${ params.none }"], "g?": 2, "??h": "${ params.none }" }"#;
    let wanted = json!({ "a": 1, "c": 1, "d": null, "e": [{}, null], "g?": 2, "?h": null });
    assert_eq!(args(text).0, wanted);
    // What was sent, written as a plan, is sent again as it was.
    assert_eq!(args(&as_written(&wanted).to_string()).0, wanted);
}

#[test]
fn an_entry_that_may_be_left_out_has_a_form_of_its_own() {
    let form = |text: &str| args(text).1;
    let marked = form(r#"{ "?a": "${ params.some }" }"#);
    assert_eq!(marked, form(r#"{ "?a": "${params.some}" }"#));
    for other in [
        r#"{ a: "${ params.some }" }"#,
        r#"{ "??a": "${ params.some }" }"#,
        r#"{ "?a": "${ params.none }" }"#,
    ] {
        assert_ne!(marked, form(other), "{other}");
    }
}
