//! Names of a `let` and conditions per item: a plan with them is the plan with each written out.

use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::Template;
use provost_plan::fix::mend;
use provost_plan::node::parse_yaml;
use provost_plan::plan::Plan;
use provost_plan::plan::read::{plan_from_value, read_plan};
use provost_plan::source::{Source, Span};

use crate::literate::{Case, Document};

fn read(text: &str) -> Plan {
    let found = read_plan(&Source::new("plan.yaml", text));
    found.unwrap_or_else(|found| panic!("{found:?}\n{text}"))
}

fn refused(text: &str) -> Vec<Diagnostic> {
    read_plan(&Source::new("plan.yaml", text)).unwrap_err()
}

fn at(text: &str, span: Span) -> &str {
    &text[span.start..span.end]
}

/// A plan with a `let`, and the same without.
const WRITTEN: [(&str, &str); 4] = [
    (
        "let: { n: \"${ steps.a.output.n }\", more: \"${ let.n + 1 }\" }
steps: [{ id: a, tool: x.y }]
answer: \"${ let.more * 2 } of ${ let.n }\"",
        "steps: [{ id: a, tool: x.y }]
answer: \"${ (steps.a.output.n + 1) * 2 } of ${ steps.a.output.n }\"",
    ),
    (
        "let: { least: -3, word: 'say \"$${x}\"', odd: \"it's\", list: [1, b], map: { a: null } }
steps: [{ id: a, tool: x.y, args: { a: \"${ 1 - let.least }\", b: \"${ let.list }\" } }]
answer: \"${ let.word + let.odd } ${ json(let.map) }\"",
        "steps: [{ id: a, tool: x.y, args: { a: \"${ 1 - (-3) }\", b: '${ [1,\"b\"] }' } }]
answer: '${ \"say \\\"${x}\\\"\" + \"it''s\" } ${ json({\"a\":null}) }'",
    ),
    (
        "steps:
  - id: a
    tool: x.y
    let: { own: \"${ item.id }\", is_own: \"${ output.id == let.own }\" }
    for_each: \"${ [{'id': 1}] }\"
    args: { id: \"${ let.own }\" }
    accept: \"${ !let.is_own || has(let.own.x) }\"
answer: done",
        "steps:
  - id: a
    tool: x.y
    for_each: \"${ [{'id': 1}] }\"
    args: { id: \"${ item.id }\" }
    accept: \"${ !(output.id == item.id) || has(item.id.x) }\"
answer: done",
    ),
    // What is no use of a name: a field, a string, a text outside of expressions, an escape.
    (
        "let: { n: 1 }
steps: [{ id: let, tool: x.y, description: \"${ let.n }\", args: { a: \"let.n $${ let.n }\" } }]
answer: \"${ steps.let.output.let.n + let.n } ${ 'let.n' }\"",
        "steps: [{ id: let, tool: x.y, description: \"${ let.n }\", args: { a: \"let.n $${ let.n }\" } }]
answer: \"${ steps.let.output.let.n + 1 } ${ 'let.n' }\"",
    ),
];

#[test]
fn a_plan_with_names_is_the_plan_with_each_written_out() {
    for (named, written) in WRITTEN {
        let (named, written) = (read(named), read(written));
        assert_eq!(*named.value, *written.value);
        assert_eq!(named.digest(), written.digest());
        // What a journal holds has no names, and is the same plan.
        let again = plan_from_value(&named.value, "journal").unwrap();
        assert_eq!(again.digest(), named.digest());
        assert_eq!(again.names.all().len(), 0);
    }
    // The control: other names are another plan.
    let [(named, written), ..] = WRITTEN;
    let other = read(&named.replace("+ 1", "+ 2"));
    assert_ne!(other.digest(), read(written).digest());
}

/// The condition of a step, and what is left of it and its list.
const ASKED_OF_ITEMS: [(&str, Option<&str>, &str); 14] = [
    ("item.x > 1", None, "l.filter(item, item.x > 1)"),
    ("a && item.x", Some("a"), "l.filter(item, item.x)"),
    ("item.x && a", Some("a"), "l.filter(item, item.x)"),
    (
        "a && item.x && b && item.y > 1 && c",
        Some("a && b && c"),
        "l.filter(item, item.x && item.y > 1)",
    ),
    ("a", Some("a"), "l"),
    // One term, whatever stands in it.
    ("(a && item.x)", None, "l.filter(item, (a && item.x))"),
    ("a || item.x", None, "l.filter(item, a || item.x)"),
    (
        "a && b ? item.x : false",
        None,
        "l.filter(item, a && b ? item.x : false)",
    ),
    (
        "a && [b && item.x] == [true]",
        Some("a"),
        "l.filter(item, [b && item.x] == [true])",
    ),
    // A name that is the whole condition, and one that is a part of it.
    ("let.both", Some("a"), "l.filter(item, item.x)"),
    ("let.both && b", Some("b"), "l.filter(item, (a && item.x))"),
    // No item of the step: a variable, a field, a text.
    (
        "m.exists(item, item > 1)",
        Some("m.exists(item, item > 1)"),
        "l",
    ),
    ("a.item == 'item'", Some("a.item == 'item'"), "l"),
    // A position is none of an item alone.
    (
        "item.x > index && item.y",
        Some("item.x > index"),
        "l.filter(item, item.y)",
    ),
];

#[test]
fn a_condition_per_item_is_a_filter_of_the_list() {
    for (when, left, list) in ASKED_OF_ITEMS {
        let plan = read(&format!(
            "steps:
  - id: s
    tool: x.y
    let: {{ both: \"${{ a && item.x }}\" }}
    when: \"${{ {when} }}\"
    for_each: ${{ l }}"
        ));
        let step = &plan.steps[0];
        let source = |text: &Template| text.whole().map(|e| e.source().to_owned());
        let found = step.when.as_ref().and_then(source);
        let each = step.for_each.as_ref().and_then(|each| source(&each.list));
        assert_eq!(
            (found.as_deref(), each.as_deref()),
            (left, Some(list)),
            "{when}"
        );
        assert_eq!(plan.value["steps"][0].get("when").is_some(), left.is_some());
        assert_eq!(
            plan_from_value(&plan.value, "again").unwrap().value,
            plan.value
        );
    }
}

#[test]
fn a_list_that_is_no_operand_is_closed_in_before_it_is_asked() {
    let plan =
        read("steps: [{ id: s, tool: x.y, when: \"${ item.x }\", for_each: \"${ a ? l : m }\" }]");
    let list = plan.steps[0].for_each.as_ref().unwrap();
    assert_eq!(list.list.text(), "${ (a ? l : m).filter(item, item.x) }");
}

/// A corpus file with another plan.
fn case(file: &str, change: &dyn Fn(&str) -> String) -> (String, Case) {
    let path = format!(
        "{}/../../corpus/plans/{file}.md",
        env!("CARGO_MANIFEST_DIR")
    );
    let document = Document::parse(&std::fs::read_to_string(path).unwrap());
    let text = change(document.block("yaml plan").unwrap());
    let case = Case::of_text(&document, &text);
    (text, case)
}

#[test]
fn what_is_found_in_a_name_is_found_once_with_the_places_that_use_it() {
    let (text, case) = case("bad/let-absent-field-library", &str::to_owned);
    let (_, found, _) = case.report();
    let [finding] = found else {
        panic!("{found:?}")
    };
    assert_eq!(
        at(&text, finding.span),
        "steps.copies.output.shelf.borrowed"
    );
    let uses: Vec<&str> = finding.related.iter().map(|r| at(&text, r.span)).collect();
    assert_eq!(uses, ["let.left"; 3]);
    let node = parse_yaml(&text).unwrap();
    assert_eq!(node.pointer_at(finding.span), "/let/left");
}

#[test]
fn what_reaches_beyond_a_name_is_found_where_it_is_used() {
    let change = |text: &str| text.replace("let.row.due", "let.row.deu");
    let (text, case) = case("ok/let-guards-library", &change);
    let (_, found, _) = case.report();
    let finding = found.iter().find(|d| d.code.as_str() == "T204").unwrap();
    assert_eq!(at(&text, finding.span), "let.row.deu");
    let related: Vec<&str> = finding.related.iter().map(|r| at(&text, r.span)).collect();
    assert_eq!(related, ["${ steps.loan.output.row }"]);
}

/// A name in a text that begins with a quote or a blank, in a block and behind an escape.
#[test]
fn places_are_those_of_the_text_however_it_is_written() {
    let head = "let: { n: \"${ steps.a.output.n }\" }\nsteps: [{ id: a, tool: x.y }]\nanswer:";
    for answer in [
        "\"'${ let.n }' is ${ let.nobody }\"",
        "\" ${ let.n } ${ let.nobody }\"",
        "'\"${ let.n }\" ''quoted'' ${ let.nobody }'",
        ">-\n  ${ let.n\n  + let.n } and\n  ${ let.nobody }\n",
        "|\n  a ${ let.n }\n  > ${ let.nobody }\n",
        "[\"> ${ let.n } \\\" ${ let.nobody }\"]",
    ] {
        let text = format!("{head} {answer}");
        let plan = read(&text);
        let unknown = plan.answer[0].text.references().last().unwrap().span;
        assert_eq!(at(&text, plan.names.place(unknown)), "let.nobody", "{text}");
        let named = plan.answer[0].text.references().next().unwrap().span;
        assert_eq!(
            at(&text, plan.names.place(named)),
            "steps.a.output.n",
            "{text}"
        );
        let whole = plan.names.place(plan.answer[0].text.span());
        assert!(at(&text, whole).contains("let.nobody"), "{text}");
    }
}

#[test]
fn a_fix_keeps_the_let_and_mends_the_name() {
    let misspelt = |text: &str| text.replace("output.spoilt", "output.spoild");
    let (text, _) = case("ok/let-chain-orchard", &misspelt);
    let judge = |source: &Source| {
        let (_, case) = case("ok/let-chain-orchard", &|_| source.text.to_string());
        case.report().1.to_vec()
    };
    let mended = mend(&Source::new("plan.yaml", text.as_str()), judge);
    assert_eq!(
        mended.source.text.matches("let.").count(),
        text.matches("let.").count()
    );
    assert!(
        mended
            .source
            .text
            .contains("spoilt: ${ steps.field.output.spoilt }")
    );
    assert_eq!(mended.findings, Vec::new());
}

/// Names of names, each used so often by the next.
fn doubling(names: usize, uses: usize) -> String {
    let mut text = "let:\n  n0: ${ steps.a.output.n }\n".to_owned();
    for at in 1..names {
        let sum = vec![format!("let.n{}", at - 1); uses].join(" + ");
        text.push_str(&format!("  n{at}: ${{ {sum} }}\n"));
    }
    let last = names - 1;
    text.push_str(&format!(
        "steps: [{{ id: a, tool: x.y }}]\nanswer: '${{ let.n{last} }}'\n"
    ));
    text
}

#[test]
fn names_that_double_each_other_are_refused_before_they_are_written() {
    // Written out, the last of twenty would have more than ten megabytes.
    for names in [20, 200, 5_000] {
        let found = refused(&doubling(names, 2));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].code.as_str(), "P009");
    }
    // The control: a name of each other is no longer than what it stands for.
    let plan = read(&doubling(5_000, 1));
    assert_eq!(plan.value["answer"], "${ steps.a.output.n }");
}

#[test]
fn names_used_everywhere_do_not_fill_the_memory() {
    let long = "x".repeat(900);
    let uses = "${ let.n }".repeat(40_000);
    let text = format!(
        "let: {{ n: {long} }}\nsteps: [{{ id: a, tool: x.y, args: {{ a: \"{uses}\" }} }}]\nanswer: a"
    );
    let found = refused(&text);
    assert!(found.iter().any(|d| d.code.as_str() == "P002"), "{found:?}");
    let circle: String = (0..5_000)
        .map(|at| format!("  n{at}: ${{ let.n{} }}\n", (at + 1) % 5_000))
        .collect();
    let text = format!("let:\n{circle}steps: [{{ id: a, tool: x.y }}]\nanswer: '${{ let.n7 }}'");
    let found = refused(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].message.len() < 200, "{}", found[0].message);
}
