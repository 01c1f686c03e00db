//! Plans from text: what is read, what is refused and where.

use provost_plan::plan::read::{is_step_id, plan_from_value, read_plan};
use provost_plan::plan::request::FindingView;
use provost_plan::plan::{OnFailure, Plan, StepKind};
use provost_plan::source::Source;

const PAGE: &str = r#"
schema: provost/plan/v1
goal:
  text: Page the on-call engineer if open PAY tickets exceed the SLA threshold
  success:
    - { id: counted, text: the tickets were counted and compared with the threshold }
    - { id: paged,   text: on-call was paged if and only if the threshold was exceeded }
success:
  - { for: counted, check: '${ steps.count.status == "succeeded" && steps.sla.status == "succeeded" }' }
  - { for: paged,   check: '${ (steps.count.output.total > steps.sla.output.max) == (steps.page.status == "succeeded") }' }
steps:
  - id: count
    description: Count the open tickets of project PAY
    tool: tickets.count
    args: { project: PAY }
    accept: [ '${ output.total >= 0 }' ]
  - id: sla
    description: Read the threshold
    tool: config.sla_threshold
  - id: page
    description: Page whoever is on call
    tool: pager.notify
    when: ${ steps.count.output.total > steps.sla.output.max }
    args:
      message: "Open tickets ${ steps.count.output.total } exceed the SLA of ${ steps.sla.output.max }"
    accept: [ '${ output.delivered }' ]
answer:
  - text: "${ steps.count.output.total } open PAY tickets, threshold ${ steps.sla.output.max }."
  - { when: '${ steps.page.status == "succeeded" }', text: "On-call was paged.", cites: [page] }
"#;

fn read(text: &str) -> Plan {
    read_plan(&Source::new("plan.yaml", text)).unwrap_or_else(|found| panic!("{text}\n{found:#?}"))
}

/// Each finding as `line:column CODE message`, with the text it marks.
fn findings(text: &str) -> Vec<String> {
    let source = Source::new("plan.yaml", text);
    let Err(found) = read_plan(&source) else {
        return Vec::new();
    };
    found
        .iter()
        .map(|d| {
            let (line, column) = source.position(d.span.start);
            let at = &text[d.span.start..d.span.end];
            let at = at.lines().next().unwrap_or("");
            format!("{line}:{column} {} {} [{at}]", d.code, d.message)
        })
        .collect()
}

#[test]
fn the_example_of_the_design_is_read() {
    let plan = read(PAGE);
    assert_eq!(plan.goal.as_ref().unwrap().value.success.len(), 2);
    assert_eq!(plan.success.len(), 2);
    assert_eq!(plan.answer[1].cites[0].value, "page");
    let page = plan.step("page").unwrap();
    assert_eq!(page.tool().unwrap().value, "pager.notify");
    let read: Vec<String> = page
        .templates()
        .iter()
        .flat_map(|(_, template)| template.references())
        .map(|reference| {
            let at = &PAGE[reference.span.start..reference.span.end];
            assert_eq!(at, reference.to_string());
            at.to_owned()
        })
        .collect();
    assert_eq!(
        read,
        [
            "steps.count.output.total",
            "steps.sla.output.max",
            "steps.count.output.total",
            "steps.sla.output.max",
            "output.delivered"
        ]
    );
}

#[test]
fn every_field_is_read() {
    let plan = read(
        "steps:\n\
         - id: each\n  tool: a.b\n  needs: [x, y]\n  for_each: ${ params.list }\n  max_items: 7\n  \
         timeout: 30s\n  retry: { attempts: 3, backoff: 2s }\n  on_failure: continue\n  risk: high\n  \
         approval: required\n  expect: { type: object }\n  accept: ${ output.ok }\n\
         - id: ask\n  question: { text: 'Which ${ item }?', answer: { type: string }, of: ada }\n\
         - id: again\n  tool: a.b\n  retry: 2\n  for_each: ${ [1] }\n\
         limits: { steps: 3, wall: 10m }\n",
    );
    let each = &plan.steps[0];
    assert_eq!(each.needs.len(), 2);
    assert_eq!(each.for_each.as_ref().unwrap().max_items.value, 7);
    assert_eq!(each.timeout.unwrap().as_secs(), 30);
    assert_eq!(each.retry.unwrap().backoff.as_secs(), 2);
    assert_eq!(each.on_failure, OnFailure::Continue);
    assert!(each.approval_required);
    assert!(each.expect.is_some());
    assert_eq!(each.accept.len(), 1);
    assert!(
        matches!(&plan.steps[1].kind, StepKind::Question { of: Some(of), .. } if of.value == "ada")
    );
    assert_eq!(plan.steps[2].retry.unwrap().attempts, 2);
    assert_eq!(
        plan.steps[2].for_each.as_ref().unwrap().max_items.value,
        100
    );
    let limits = plan.limits.unwrap();
    assert_eq!((limits.steps, limits.wall_ms), (3, 600_000));
    assert_eq!(
        limits
            .narrowed(&provost_plan::plan::Limits::default())
            .calls,
        500
    );
}

#[test]
fn every_structural_fault_is_found_at_once() {
    let text = "\
schema: provost/plan/v2
goals: x
success:
  - { for: a, check: 'true' }
steps:
  - id: Bad-Id
    tool: a.b
    arg: {}
    when: steps.a.output.x > 1
    timeout: soon
    on_failure: retry
  - id: two
    tool: a.b
    question: which?
  - id: three
    subgoal: find out
    steps_max: 4
  - id: four
    tool: a.b
    args: [1]
    accept: [ '${ output. }' ]
    max_items: 3
  - tool: a.b
    retry: 0
    expect: { type: nonsense }
  - just text
answer: [ { txt: x } ]
";
    assert_eq!(
        findings(text),
        [
            "1:9 P011 `provost/plan/v2` is not the format of a plan [provost/plan/v2]",
            "2:1 P004 a plan has no field `goals` [goals]",
            "4:22 P006 `check` must be one expression, `${ … }` ['true']",
            "6:9 P010 `Bad-Id` cannot be an id [Bad-Id]",
            "8:5 P004 a step has no field `arg` [arg]",
            "9:11 P006 `when` must be one expression, `${ … }` [steps.a.output.x > 1]",
            "10:14 P006 `soon` is not a duration: write a whole number and a unit, such as `500ms`, `30s`, `5m`, `24h` or `7d` [soon]",
            "11:17 P006 `on_failure` must be one of `replan`, `stop`, `continue`, `escalate` [retry]",
            "12:5 P006 a step is one of `tool`, `question`, `subgoal` and `assert` [id: two]",
            "15:5 P005 a step needs the field `tools` []",
            "15:5 P005 a step needs the field `effect_max` []",
            "15:5 P005 a step needs the field `output` []",
            "20:11 P006 `args` must be a map, not a list [[1]]",
            "21:27 P009 the expression ends where a name must stand []",
            "22:16 P005 `max_items` belongs to `for_each`, which is not there [3]",
            "23:5 P005 a step needs the field `id` []",
            "24:12 P006 a step is attempted from 1 to 100 times, the first counted [0]",
            "25:13 W804 the JSON Schema does not load: \"nonsense\" is not valid under any of the schemas listed in the 'anyOf' keyword [{ type: nonsense }]",
            "26:5 P006 a step must be a map, not a text [just text]",
            "27:11 P005 a part of the answer needs the field `text` []",
            "27:13 P004 a part of the answer has no field `txt` [txt]",
        ]
    );
}

#[test]
fn expressions_are_placed_in_every_style_of_scalar() {
    for (text, at) in [
        (
            "steps: [{id: a, tool: b, when: '${ foo() && ''x'' == 1 }'}]",
            "foo",
        ),
        (
            "steps: [{id: a, tool: b, when: '${ ''x'' == foo() }'}]",
            "foo",
        ),
        (
            "steps: [{id: a, tool: b, when: \"${ \\\"x\\\" == foo() }\"}]",
            "foo",
        ),
        (
            "steps:\n- id: a\n  tool: b\n  when: |\n    ${ 1 == 2\n       && foo() }\n",
            "foo",
        ),
        (
            "steps:\n- id: a\n  tool: b\n  when: >-\n    ${ 1 == 2\n    && foo() }\n",
            "foo",
        ),
        (
            "steps:\n- id: a\n  tool: b\n  when: ${ 1 == 2\n    && foo() }\n",
            "foo",
        ),
        (
            "{\"steps\":[{\"id\":\"a\",\"tool\":\"b\",\"when\":\"${ foo() }\"}]}",
            "foo",
        ),
        (
            "steps: [{id: a, tool: b, when: '${ \"häß\" == foo() }'}]",
            "foo",
        ),
    ] {
        let found = read_plan(&Source::new("p", text)).unwrap_err();
        let span = found[0].span;
        assert_eq!(
            &text[span.start..span.end],
            at,
            "{text}: {}",
            found[0].message
        );
    }
}

#[test]
fn the_canonical_document_reads_back_as_the_same_plan() {
    let plan = read(PAGE);
    let again = plan_from_value(&plan.value, "journal").unwrap();
    assert_eq!(again.digest(), plan.digest());
    assert_eq!(again.value, plan.value);
    assert_eq!(again.steps[2].value, plan.steps[2].value);
}

#[test]
fn the_digest_is_of_what_is_meant() {
    let base = "steps: [{id: a, tool: b, args: {n: 1, s: x}}]";
    let digest = |text: &str| read(text).digest();
    for same in [
        "# a comment\nsteps:\n  - args: {s: 'x', n: 1.0}\n    tool: b\n    id: a\n",
        "{\"steps\":[{\"id\":\"a\",\"tool\":\"b\",\"args\":{\"n\":1,\"s\":\"x\"},\"when\":null}]}",
        "schema: provost/plan/v1\nsteps: [{id: a, tool: b, args: {n: 1e0, s: x}}]",
        "goal: anything\nsteps: [{id: a, tool: b, args: {n: 1, s: x}}]",
    ] {
        assert_eq!(digest(same), digest(base), "{same}");
    }
    for other in [
        "steps: [{id: a, tool: b, args: {n: 1, s: 'x '}}]",
        "steps: [{id: a, tool: b, args: {n: 2, s: x}}]",
        "steps: [{id: a, tool: b, args: {n: '1', s: x}}]",
        "steps: [{id: a, tool: b, args: {n: 1, s: x, t: null}}]",
        "steps: [{id: a, tool: b, args: {n: 1, s: x}}, {id: c, tool: b}]",
    ] {
        assert_ne!(digest(other), digest(base), "{other}");
    }
}

#[test]
fn ids_of_steps() {
    for (text, wanted) in [
        ("a", true),
        ("a_1", true),
        ("", false),
        ("1a", false),
        ("A", false),
        ("a-b", false),
        ("ä", false),
    ] {
        assert_eq!(is_step_id(text), wanted, "{text}");
    }
    assert!(is_step_id(&"a".repeat(40)));
    assert!(!is_step_id(&"a".repeat(41)));
}

#[test]
fn more_findings_than_the_limit_are_counted() {
    let text = format!("steps:\n{}", "- just text\n".repeat(250));
    let found = read_plan(&Source::new("p", text)).unwrap_err();
    assert_eq!(found.len(), 100);
    assert_eq!(found[99].notes, ["150 more findings are not shown"]);
}

#[test]
fn findings_say_where_in_the_plan_they_stand() {
    let source = Source::new(
        "plan.yaml",
        "schema: provost/plan/v1\nsteps:\n  - id: a\n    tool: t.x\n    retrie: 3\n  - id: B\n    \
         tool: t.x\n    args: { 'a/b': '${ 1 + }' }\n",
    );
    let found = read_plan(&source).unwrap_err();
    let views = FindingView::all(&found, &source);
    let paths: Vec<_> = views.iter().map(|view| view.path.as_deref()).collect();
    assert_eq!(
        paths,
        [
            Some("/steps/0/retrie"),
            Some("/steps/1/id"),
            Some("/steps/1/args/a~1b")
        ]
    );
    // The control: a text that cannot be read has no places in it.
    let broken = Source::new("plan.yaml", "steps: [");
    let found = read_plan(&broken).unwrap_err();
    assert_eq!(FindingView::all(&found, &broken)[0].path, None);
}

#[test]
fn a_value_with_a_colon_is_told_to_stand_in_quotes() {
    let hint = |value: &str| {
        let text = format!("steps:\n  - id: a\n    tool: x.y\n    for_each: {value}\n");
        let found = read_plan(&Source::new("plan.yaml", text)).unwrap_err();
        found[0].hint.clone().unwrap_or_default()
    };
    assert!(hint("${ [{'id': 'x'}] }").contains("the expression in quotes"));
    assert!(hint("first: second").contains("the text in quotes"));
    // The control: where quotes are not what is missing, none are spoken of.
    assert!(!hint("\"${ [{'id': 'x'}] }").contains("quotes:"));
    assert!(!hint("[a, b").contains("in quotes"));
}
