//! CEL's strings, lists and math extensions, and the functions beside them: values, faults, bounds.

use std::time::{Duration, Instant};

use provost_plan::expr::{Scope, Template};
use provost_plan::source::Span;
use serde_json::{Value, json};

fn parse(text: &str) -> Result<Template, String> {
    let text = format!("${{ {text} }}");
    Template::parse(&text, Span::new(0, text.len()), &text).map_err(|d| d.message.clone())
}

fn eval(text: &str) -> Result<Value, String> {
    let output = json!({
        "tags": {"b": 2, "a": 1}, "csv": "a;b;;c", "name": "Häß", "json": "{\"n\": [1, 2.0]}",
    });
    let scope = Scope::new().with("output", &output);
    let template = parse(text).unwrap_or_else(|message| panic!("{text}: {message}"));
    template.eval(&scope).map_err(|error| error.reason)
}

/// Each expression is true: most are the examples of CEL's own pages on its extensions.
const TRUE: &[&str] = &[
    "'hello'.charAt(4) == 'o'",
    "'hello'.charAt(5) == ''",
    "'hello mellow'.indexOf('') == 0",
    "'hello mellow'.indexOf('ello') == 1",
    "'hello mellow'.indexOf('jello') == -1",
    "'hello mellow'.indexOf('', 2) == 2",
    "'hello mellow'.indexOf('ello', 2) == 7",
    "'hello mellow'.indexOf('ello', 20) == -1",
    "'hello mellow'.lastIndexOf('') == 12",
    "'hello mellow'.lastIndexOf('ello') == 7",
    "'hello mellow'.lastIndexOf('jello') == -1",
    "'hello mellow'.lastIndexOf('ello', 6) == 1",
    "'hello mellow'.lastIndexOf('ello', 20) == -1",
    "'häßäß'.lastIndexOf('äß') == 3 && 'häßäß'.lastIndexOf('äß', 2) == 1",
    "'häßä'.lastIndexOf('ß', 2) == 2 && 'häßä'.indexOf('ä', 2) == 3",
    "['hello', 'mellow'].join(' ') == 'hello mellow'",
    "'TacoCÆt Xii'.lowerAscii() == 'tacocÆt xii'",
    "'TacoCæt Xii'.upperAscii() == 'TACOCæT XII'",
    "'hello hello'.replace('he', 'we') == 'wello wello'",
    "'hello hello'.replace('he', 'we', -1) == 'wello wello'",
    "'hello hello'.replace('he', 'we', 1) == 'wello hello'",
    "'hello hello'.replace('he', 'we', 0) == 'hello hello'",
    "'ab'.replace('', '-') == '-a-b-'",
    "'hello hello hello'.split(' ') == ['hello', 'hello', 'hello']",
    "'hello hello hello'.split(' ', 0) == []",
    "'hello hello hello'.split(' ', 1) == ['hello hello hello']",
    "'hello hello hello'.split(' ', 2) == ['hello', 'hello hello']",
    "'hello hello hello'.split(' ', -1) == ['hello', 'hello', 'hello']",
    "'häß'.split('') == ['h', 'ä', 'ß'] && 'häß'.split('', 2) == ['h', 'äß']",
    "''.split('') == [] && ''.split(',') == [''] && ','.split(',') == ['', '']",
    "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco'",
    "'häß'.substring(1, 2) == 'ä' && 'häß'.substring(3) == ''",
    "'  \\ttrim\\n    '.trim() == 'trim'",
    "'gums'.reverse() == 'smug' && 'häß'.reverse() == 'ßäh'",
    "[1, 2, 2, 3, 3, 3].distinct() == [1, 2, 3]",
    "['b', 'b', 'c', 'a', 'c'].distinct() == ['b', 'c', 'a']",
    "[1, 'b', 2, 'b'].distinct() == [1, 'b', 2]",
    "[1, 1.0, 1.5, 1.5, '1', true, null, null].distinct() == [1, 1.5, '1', true, null]",
    "[[1], [2], [1.0], {'a': 1}, {'a': 1}].distinct() == [[1], [2], {'a': 1}]",
    "[1, [2, 3], [4]].flatten() == [1, 2, 3, 4]",
    "[1, [2, [3, 4]]].flatten() == [1, 2, [3, 4]]",
    "[1, 2, [], [], [3, 4]].flatten() == [1, 2, 3, 4]",
    "[1, [2, [3, [4]]]].flatten(2) == [1, 2, 3, [4]]",
    "[1, [2]].flatten(0) == [1, [2]] && [[[[1]]]].flatten(9000000) == [1]",
    "lists.range(5) == [0, 1, 2, 3, 4] && lists.range(0) == [] && lists.range(-2) == []",
    "[5, 3, 1, 2].reverse() == [2, 1, 3, 5]",
    "[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1, 2, 3, 4].slice(2, 4) == [3, 4]",
    "[1].slice(1, 1) == []",
    "[3, 2, 1].sort() == [1, 2, 3] && ['b', 'c', 'a'].sort() == ['a', 'b', 'c']",
    "[2, 1.5, -1].sort() == [-1, 1.5, 2] && [true, false].sort() == [false, true]",
    "[].sort() == [] && [duration('2s'), duration('1s')].sort()[0] == duration('1s')",
    "zip(['a', 'b'], [1, 2]) == [['a', 1], ['b', 2]]",
    "zip(lists.range(2), ['a', 'b']).filter(p, p[0] > 0).map(p, p[1]) == ['b']",
    "keys(output.tags) == ['a', 'b'] && output.tags.values() == [1, 2]",
    "keys(output.tags).filter(k, output.tags[k] > 1) == ['b']",
    "keys({'z': 1, 'y': 2}) == ['y', 'z'] && keys({}) == []",
    "math.greatest(1) == 1 && math.greatest(-42.0, -21.5, -100.0) == -21.5",
    "math.greatest([-42.0, -21.5, -100.0]) == -21.5 && math.greatest(1, 2.5) == 2.5",
    "math.least(-42.0, -21.5, -100.0) == -100.0 && math.least([3, 1, 2]) == 1",
    "math.ceil(1.2) == 2.0 && math.ceil(-1.2) == -1.0 && math.ceil(7) / 2 == 3.5",
    "math.floor(1.2) == 1.0 && math.floor(-1.2) == -2.0",
    "math.round(1.2) == 1.0 && math.round(1.5) == 2.0 && math.round(-1.5) == -2.0",
    "math.trunc(-1.3) == -1.0 && math.trunc(1.3) == 1.0",
    "math.abs(-1) == 1 && math.abs(1) == 1 && math.abs(-1.5) == 1.5",
    "math.sign(-42) == -1 && math.sign(0) == 0 && math.sign(0.5) == 1.0",
    "'%s is %d years and %.2f EUR, %%'.format(['Ada', 36, 12.5]) == 'Ada is 36 years and 12.50 EUR, %'",
    "'%s'.format([[1, 'a', null, true, 2.5]]) == '[1, a, null, true, 2.5]'",
    "'%s'.format([{'b': [1], 'a': 2}]) == '{a: 2, b: [1]}'",
    "'%f %e %.3e'.format([2, 1052.032911275, 0]) == '2.000000 1.052033e+03 0.000e+00'",
    "'%b %b %x %X %o %x'.format([5, true, 30, 30, 11, 'hi']) == '101 1 1e 1E 13 6869'",
    "'%x %d'.format([-31, 1.5]) == '-1f 1.5'",
    "'%s'.format([duration('90s')]) == '90s'",
    "json_parse(output.json).n[1] == 2 && json_parse('null') == null",
    "json_parse('{\"b\": 1, \"a\": 2}').map(k, k) == ['a', 'b']",
    "capture('PAY-17 is open', '^([A-Z]+)-[0-9]+') == 'PAY'",
    "'order 4711.'.capture('[0-9]+') == '4711' && capture('none', '[0-9]+') == null",
    "capture('ac', 'a(b)?c') == null",
    "size(output.csv.split(';')) == 4 && output.name.lowerAscii() == 'häß'",
    // A variable of these names is a variable.
    "[{'abs': 1}].map(math, math.abs) == [1]",
];

#[test]
fn extensions_of_cel_are_as_cel_defines_them() {
    for text in TRUE {
        assert_eq!(eval(text), Ok(json!(true)), "{text}");
    }
    // Control: one that does not hold is seen.
    assert_eq!(eval("'a'.upperAscii() == 'a'"), Ok(json!(false)));
}

#[test]
fn what_an_extension_does_not_take_is_a_fault() {
    let cases: &[(&str, &str)] = &[
        (
            "'hello'.charAt(-1)",
            "a text of 5 characters has no part from -1 to 0",
        ),
        (
            "'hello'.charAt(6)",
            "a text of 5 characters has no part from 6 to 5",
        ),
        (
            "'tacocat'.substring(-1)",
            "a text of 7 characters has no part from -1 to 7",
        ),
        (
            "'tacocat'.substring(2, 1)",
            "a text of 7 characters has no part from 2 to 1",
        ),
        ("'a'.indexOf('a', -1)", "-1 is no position in a text"),
        ("'a'.lastIndexOf('', -1)", "-1 is no position in a text"),
        (
            "[1].slice(1, 0)",
            "a list of 1 items has no part from 1 to 0",
        ),
        (
            "[1].slice(0, 2)",
            "a list of 1 items has no part from 0 to 2",
        ),
        (
            "[1, 'b'].sort()",
            "`sort` does not order an integer and a text",
        ),
        ("[[1]].sort()", "`sort` does not order a list"),
        ("[1].flatten(-1)", "`flatten` takes no negative depth"),
        (
            "zip([1], [1, 2])",
            "`zip` takes two lists of one length, and these have 1 and 2 items",
        ),
        (
            "lists.range(10001)",
            "`lists.range` makes at most 10000 numbers",
        ),
        ("math.greatest([])", "the list is empty"),
        (
            "math.greatest(1, dyn('a'))",
            "`math.greatest` does not take a text",
        ),
        ("math.abs(dyn('a'))", "`math.abs` does not take a text"),
        ("keys(dyn([1]))", "`keys` does not take a list"),
        ("dyn(1).trim()", "`trim` does not take an integer"),
        ("'a'.split(dyn(1))", "`split` does not take an integer"),
        ("'a'.substring(0.5)", "`substring` does not take a number"),
        (
            "dyn('%d').format(['a'])",
            "a clause of `format` needs a number, and this is a text",
        ),
        (
            "dyn('%d').format([])",
            "the text has 1 clauses, and there are 0 values for them",
        ),
        (
            "dyn('%q').format([1])",
            "`format` does not know `%q` here: it knows `%s`, `%d`, `%.2f`, \
                                   `%e`, `%b`, `%x`, `%X`, `%o` and `%%`",
        ),
        (
            "json_parse('{')",
            "the text is not JSON: EOF while parsing an object at line 1 column 1",
        ),
        (
            "json_parse('{\"a\": 1, \"a\": 2}')",
            "the text is not JSON: the name `a` stands twice in a map at line 1 column 16",
        ),
        (
            "json_parse('9007199254740993')",
            "the text is not JSON: the integer 9007199254740993 is \
                                            beyond ±2^53, where readers disagree on its value",
        ),
    ];
    for (text, wanted) in cases {
        assert_eq!(eval(text), Err((*wanted).to_owned()), "{text}");
    }
    let deep = format!("json_parse('{}{}')", "[".repeat(65), "]".repeat(65));
    assert_eq!(
        eval(&deep),
        Err("the text is not JSON: it nests deeper than 64".to_owned())
    );
}

#[test]
fn what_stands_in_the_text_is_refused_when_it_is_read() {
    let cases: &[(&str, &str)] = &[
        ("capture('a', '(')", "the regular expression cannot be read"),
        (
            "capture('a', params.p)",
            "the pattern of `capture` must stand in the text as it is",
        ),
        (
            "capture('a', 'b' + 'c')",
            "the pattern of `capture` must stand in the text as it is",
        ),
        (
            "'%d %d'.format([1])",
            "the text has 2 clauses, and there are 1 values for them",
        ),
        (
            "'100%'.format([])",
            "the text to format ends in a `%`; write `%%`",
        ),
        ("'%.200f'.format([1])", "`format` prints 0 to 100 decimals"),
        ("range(3)", "there is no function `range`"),
        ("math.cosine(1)", "there is no function `math.cosine`"),
        ("'a'.math.abs(1)", "there is no function `abs`"),
        ("math.abs(1, 2)", "`math.abs` does not take 2 arguments"),
    ];
    for (text, wanted) in cases {
        assert_eq!(parse(text).unwrap_err(), *wanted, "{text}");
    }
}

#[test]
fn a_function_of_another_language_is_answered_with_ours() {
    let hint = |text: &str| {
        let text = format!("${{ {text} }}");
        let finding = Template::parse(&text, Span::new(0, text.len()), &text).unwrap_err();
        finding.hint.clone().unwrap_or_default()
    };
    assert_eq!(hint("len('a')"), "write `size`");
    assert_eq!(hint("'a'.toLowerCase()"), "write `lowerAscii`");
    assert_eq!(hint("ceil(1.5)"), "write `math.ceil`");
    assert_eq!(hint("range(3)"), "write `lists.range`");
    assert_eq!(hint("'a'.lowerAsci()"), "did you mean `lowerAscii`?");
}

#[test]
fn the_work_of_extensions_is_bounded() {
    let texts: Vec<String> = (0..10_000).map(|n| format!("text number {n}")).collect();
    let lists: Vec<Value> = (0..10_000).map(|n| json!([n])).collect();
    let params = json!({
        "texts": texts, "lists": lists, "s": "ab".repeat(500_000), "n": lists.len(),
        "json": format!("[{}1]", "{\"\":0},".repeat(150_000)),
    });
    let scope = Scope::new().with("params", &params);
    let long = "params.texts.exists(x, ";
    let cases = [
        format!("{long}params.s.replace('a', params.s) == '')"),
        format!("{long}params.s.split('a') == [])"),
        format!("{long}params.s.split('') == [])"),
        format!("{long}params.s.reverse() == '')"),
        format!("{long}params.s.lowerAscii() == '')"),
        format!("{long}params.s.indexOf('b', 7) == -9)"),
        format!("{long}params.s.substring(7) == '')"),
        format!("{long}params.s.trim() == '')"),
        format!("{long}params.texts.sort() == [])"),
        format!("{long}params.texts.distinct() == [])"),
        "params.lists.distinct() == []".to_owned(),
        format!("{long}params.lists.flatten() == [])"),
        format!("{long}params.texts.slice(0, 9000) == [])"),
        format!("{long}zip(params.texts, params.lists) == [])"),
        format!("{long}lists.range(10000) == [])"),
        format!("{long}'%s'.format([params.lists]) == '')"),
        format!(
            "{long}'{}'.format([{}1e300]) == '')",
            "%.100f".repeat(13),
            "1e300, ".repeat(12)
        ),
        format!("{long}keys(params) == [] || size(json_parse(params.json)) == 0)"),
        "json_parse(params.json) == []".to_owned(),
        format!("{long}params.s.capture('b+c') == '')"),
        format!("{long}math.least(params.texts.map(t, size(t))) < 0)"),
    ];
    for text in cases {
        let start = Instant::now();
        let value = parse(&text).unwrap().eval(&scope);
        let reason = value.map_err(|error| error.reason);
        assert!(
            reason.as_ref().is_err_and(|reason| reason.contains("work")),
            "{text}: {reason:?}"
        );
        assert!(start.elapsed() < Duration::from_secs(60), "{text}");
    }
    // Control: one call over the largest list is no trouble.
    let sorted = parse("params.texts.sort().distinct().slice(0, 1)[0]").unwrap();
    assert_eq!(sorted.eval(&scope), Ok(json!("text number 0")));
}

#[test]
fn a_local_time_is_refused_with_the_form_to_write() {
    let cases = [
        (
            "2024-05-15T10:00:00",
            "the time has no zone: write `2024-05-15T10:00:00Z`, or its \
                                 offset, as in `2024-05-15T10:00:00+02:00`",
        ),
        (
            "2024-05-15",
            "the time has no zone: write `2024-05-15T00:00:00Z`, or its offset, as in \
                        `2024-05-15T00:00:00+02:00`",
        ),
        (
            "15 May 2024",
            "the text is not a time such as `2026-01-31T08:00:00Z`",
        ),
    ];
    for (time, wanted) in cases {
        assert_eq!(
            eval(&format!("timestamp('{time}')")),
            Err(wanted.to_owned())
        );
    }
    let zoned = eval("timestamp('2024-05-15T10:00:00+02:00')");
    assert_eq!(zoned, Ok(json!("2024-05-15T08:00:00Z")));
}
