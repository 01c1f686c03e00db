//! What the check records of a plan: closure digests, terms, labels, and what it did not look at.

use std::collections::BTreeSet;

use crate::literate::{Case, Document};
use provost_plan::check::CheckedPlan;
use provost_plan::plan::read::read_plan;
use provost_plan::source::Source;

const PLAN: &str = r#"
steps:
  - { id: count, tool: tickets.count, args: { project: PAY } }
  - { id: sla, tool: config.sla_threshold }
  - id: page
    tool: pager.notify
    when: "${ steps.count.output.total > 3 }"
    args: { message: "${ steps.count.output.total } open" }
    accept: ["${ output.delivered }"]
answer: "${ steps.page.status } ${ steps.sla.output.max }"
"#;

const CATALOG: &str = r#"
tickets.count: { effect: read, args: { project: string }, gives: { total: integer } }
config.sla_threshold: { effect: read, trusted: true, gives: { max: integer } }
pager.notify: { effect: external, args: { message: string }, content: [message],
                gives: { delivered: boolean }, trusted: true, idempotency: key }
"#;

fn checked(plan: &str, blocks: &[(&str, &str)]) -> CheckedPlan {
    let mut all = vec![("yaml plan", plan)];
    all.extend_from_slice(blocks);
    Case::of(&Document::of(&all)).plan().clone()
}

fn under(plan: &str, catalog: &str, terms: &str) -> CheckedPlan {
    checked(plan, &[("yaml catalog", catalog), ("yaml terms", terms)])
}

fn moved<'i>(base: &CheckedPlan, other: &CheckedPlan, ids: &[&'i str]) -> BTreeSet<&'i str> {
    let closure = |plan: &CheckedPlan, id: &str| plan.record().steps[id].closure;
    let differs = |id: &&str| closure(base, id) != closure(other, id);
    ids.iter().copied().filter(differs).collect()
}

#[test]
fn closure_digests_cover_what_a_step_rests_on() {
    let base = under(PLAN, CATALOG, "{}");
    let all = ["count", "page", "sla"];
    let plan = |from: &str, to: &str| {
        assert!(PLAN.contains(from), "{from}");
        under(&PLAN.replace(from, to), CATALOG, "{}")
    };
    let catalog = |from: &str, to: &str| {
        assert!(CATALOG.contains(from), "{from}");
        under(PLAN, &CATALOG.replace(from, to), "{}")
    };
    let cases: [(&str, CheckedPlan, &[&str]); 11] = [
        ("nothing", under(PLAN, CATALOG, "{}"), &[]),
        ("a comment", plan("steps:", "# a comment\nsteps:"), &[]),
        (
            "spacing and order of keys",
            plan(
                "{ id: count, tool: tickets.count, args: { project: PAY } }",
                "{ args: {  project: PAY }, tool: tickets.count, id: count }",
            ),
            &[],
        ),
        ("the answer", plan("answer: \"", "answer: \"so "), &[]),
        ("an argument", plan("PAY", "OPS"), &["count", "page"]),
        (
            "an acceptance",
            plan("output.delivered", "output.delivered == true"),
            &["page"],
        ),
        (
            "a need",
            plan("    when:", "    needs: [sla]\n    when:"),
            &["page"],
        ),
        (
            "a tool",
            catalog(
                "tickets.count: { effect: read",
                "tickets.count: { effect: read, tags: [x]",
            ),
            &["count", "page"],
        ),
        (
            "a tool that another step uses",
            catalog(
                "config.sla_threshold: { effect: read",
                "config.sla_threshold: { effect: egress",
            ),
            &["sla"],
        ),
        (
            "a tool that nobody uses",
            under(
                PLAN,
                &format!("{CATALOG}\nweb.fetch: {{ effect: egress }}\n"),
                "{}",
            ),
            &[],
        ),
        (
            "the choice of the revision",
            under(PLAN, CATALOG, "control: data"),
            &all,
        ),
    ];
    for (what, other, changed) in cases {
        let moved = moved(&base, &other, &all);
        assert_eq!(moved, changed.iter().copied().collect(), "{what}");
    }
}

#[test]
fn terms_cover_only_what_the_plan_uses() {
    let base = under(PLAN, CATALOG, "{}").record().terms.clone();
    let unrelated = format!("{CATALOG}\nweb.fetch: {{ effect: egress }}\n");
    assert_eq!(under(PLAN, &unrelated, "{}").record().terms, base);
    for (what, other) in [
        ("limits", under(PLAN, CATALOG, "limits: { steps: 50 }")),
        ("goal", under(PLAN, CATALOG, "goal: Another one")),
        (
            "a used tool",
            under(PLAN, &CATALOG.replace("max: integer", "max: number"), "{}"),
        ),
    ] {
        assert_ne!(other.record().terms, base, "{what}");
    }
}

#[test]
fn a_journal_gives_back_only_the_plan_that_was_checked() {
    let base = under(PLAN, CATALOG, "{}");
    let read = |text: &str| read_plan(&Source::new("plan.yaml", text)).unwrap();
    let again = CheckedPlan::from_journal(read(PLAN), base.record().clone()).unwrap();
    assert_eq!(again.record(), base.record());
    let other = read(&PLAN.replace("PAY", "OPS"));
    let error = CheckedPlan::from_journal(other, base.record().clone()).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("the recorded plan has the digest sha256:"),
        "{error}"
    );
    // A record survives the journal's JSON.
    let json = serde_json::to_string(base.record()).unwrap();
    assert_eq!(
        serde_json::from_str::<provost_plan::check::PlanRecord>(&json).unwrap(),
        *base.record()
    );
}

/// The label of the message of `page`, which is computed by `expression`.
fn label(expression: &str, more: &str) -> String {
    let plan = format!(
        r#"
steps:
  - {{ id: ask, question: {{ text: What?, answer: {{ type: string }} }} }}
  - {{ id: sla, tool: config.sla_threshold }}
  - {{ id: list, tool: tickets.list, args: {{ project: PAY }} }}
  - id: choose
    tool: tickets.count
    when: "${{ steps.list.output.items.exists(t, t.subject.contains('x')) }}"
    args: {{ project: PAY }}
  - id: each
    tool: tickets.count
    for_each: "${{ steps.list.output.items.map(t, t.id) }}"
    args: {{ project: "${{ item }}" }}
  - id: page
    tool: pager.notify
    {more}
    args: {{ message: "${{ {expression} }}" }}
    accept: ["${{ output.delivered }}"]
answer: "${{ steps.page.status }} ${{ steps.ask.output }} ${{ size(steps.each.output) }}"
"#
    );
    let plan = checked(&plan, &[("yaml terms", "params: { name: x }")]);
    let label = &plan.record().steps["page"].labels["message"];
    let sources: Vec<&str> = label.sources.iter().map(String::as_str).collect();
    format!("{} {}", label.integrity.word(), sources.join(","))
        .trim_end()
        .to_owned()
}

#[test]
fn labels_follow_values() {
    for (expression, expected) in [
        ("'a' + 'b'", "trusted"),
        ("params.name", "trusted"),
        ("run.id", "trusted"),
        ("steps.ask.output", "trusted ask"),
        ("string(steps.sla.output.max)", "trusted sla"),
        ("string(steps.list.output.total)", "data list"),
        (
            "steps.list.output.items.map(t, t.id).join(',')",
            "data list",
        ),
        (
            "steps.list.output.items.map(t, t.priority).join(',')",
            "data list",
        ),
        (
            "steps.list.output.items.map(t, t.subject).join(',')",
            "text list",
        ),
        ("json(steps.list.output)", "text list"),
        ("steps.list.status", "data list"),
        ("steps.choose.status", "text choose,list"),
        ("steps.sla.output.max > 3 ? 'a' : 'b'", "trusted sla"),
        ("steps.list.output.total > 3 ? 'a' : 'b'", "data list"),
        (
            "steps.list.output.items.exists(t, t.subject == 'x') ? 'a' : 'b'",
            "data list",
        ),
        ("string(size(steps.each.output))", "data each,list"),
    ] {
        assert_eq!(label(expression, ""), expected, "{expression}");
    }
    let each = "for_each: \"${ steps.list.output.items }\"";
    for (expression, expected) in [
        ("item.id", "data list"),
        ("item.subject", "text list"),
        ("string(index)", "data list"),
    ] {
        assert_eq!(label(expression, each), expected, "{expression}");
    }
}

#[test]
fn an_unchanged_step_keeps_the_labels_of_its_first_author() {
    let page = |id: &str, text: &str| {
        format!(
            "  - {{ id: {id}, tool: mail.send, args: {{ to: {text}, subject: s }}, \
                 accept: [\"${{ output.id != '' }}\"] }}\n"
        )
    };
    let old = page("old", "ada@example.org");
    let answer = "answer: \"${ steps.old.status }\"\n";
    let before = format!("steps:\n{old}{answer}");
    let after = format!("steps:\n{old}{}{answer}", page("new", "eve@example.org"));
    let plan = checked(
        &after,
        &[
            ("yaml previous", &before),
            ("yaml terms", "literals: text\ncontrol: text"),
        ],
    );
    let word = |id: &str| {
        let record = &plan.record().steps[id];
        (
            record.labels["to"].integrity.word(),
            record.control.integrity.word(),
        )
    };
    assert_eq!(word("old"), ("trusted", "trusted"));
    assert_eq!(word("new"), ("text", "text"));
}

#[test]
fn green_says_what_it_did_not_look_at() {
    let plan = checked(
        r#"
steps:
  - { id: fetch, tool: web.fetch, args: { url: "https://example.org/" } }
  - { id: count, tool: tickets.count, args: { project: PAY } }
  - { id: list, tool: tickets.list, args: { project: PAY, limit: "${ steps.count.output.total }" } }
  - { id: ask, question: { text: Sure?, answer: { type: boolean } } }
  - id: mail
    tool: mail.send
    when: "${ steps.ask.output }"
    args: { to: ada@example.org, subject: "${ steps.list.output.total } open" }
    accept: ["${ output.id != '' }"]
answer: "${ steps.mail.status } ${ steps.fetch.status }"
"#,
        &[],
    );
    insta::assert_snapshot!(plan.record().not_checked.join("\n"), @r"
    outputs without a schema: fetch
    arguments that are checked at run time: list
    how long people take to answer: ask
    whether a lost reply can be settled without a person: mail
    the plans of up to 5 revisions
    what calls cost
    what tools do beyond their declared effect
    ");
    let checks = &plan.record().steps["list"].run_checks;
    let check = format!("{}: {}", checks[0].argument, checks[0].reason);
    assert_eq!(check, "/limit: the value may be 101, which does not fit");
}

/// The fifteen faults that other planners find after the first effect, or never: each is found
/// before anything runs, by the plan of the corpus named here.
#[test]
fn fifteen_faults_are_found_before_anything_runs() {
    for (fault, file, code) in [
        ("unknown tool", "unknown-tool", "R101"),
        ("dangling reference", "unknown-step", "R102"),
        ("forward reference, a cycle", "cycle", "R104"),
        ("constant of the wrong type", "argument-type", "T201"),
        ("unknown argument", "unknown-argument", "T203"),
        ("required argument missing", "missing-argument", "T202"),
        ("reference to an absent field", "absent-path", "T204"),
        (
            "reference to a field of the wrong type",
            "no-overlap-number",
            "T205",
        ),
        (
            "answer that refers to nowhere",
            "unknown-step-answer",
            "R102",
        ),
        ("the same mail twice", "repeated-call", "E305"),
        ("more steps than allowed", "too-many-steps", "B501"),
        ("a text that is no plan", "syntax-unclosed", "P001"),
        (
            "a planner's literal as recipient",
            "untrusted-literal",
            "F401",
        ),
        (
            "free text of an allowed source as recipient",
            "untrusted-sink-error",
            "F401",
        ),
        ("a read that nobody uses", "unread-output", "S702"),
    ] {
        let path = format!(
            "{}/../../corpus/plans/bad/{file}.md",
            env!("CARGO_MANIFEST_DIR")
        );
        let text = std::fs::read_to_string(&path).unwrap();
        let case = Case::of(&Document::parse(&text));
        let found = case.findings().iter().any(|finding| finding.code == code);
        assert!(found, "{fault}: {code} is not found in {file}");
        assert!(!case.is_checked(), "{fault}: {file} would run");
    }
}

/// The run waits for people in any case: whom it waits for is one thing to know.
#[test]
fn a_question_is_told_beside_the_calls_that_people_are_asked_about() {
    let text = "\
steps:
  - { id: which, question: Which project? }
  - { id: count, tool: tickets.count, args: { project: \"${ steps.which.output }\" } }
  - id: page
    tool: pager.notify
    args: { message: \"${ steps.count.output.total } open\" }
    approval: required
    accept: [\"${ output.delivered }\"]
answer: \"${ steps.page.status }\"
";
    let found = |text: &str| -> Vec<(String, Vec<String>)> {
        let case = Case::of(&Document::of(&[
            ("yaml plan", text),
            ("yaml catalog", CATALOG),
        ]));
        let waits = case.report().1.iter();
        let waits = waits.filter(|d| ["V602", "B504"].contains(&d.code.as_str()));
        let beside = waits.map(|d| {
            let places = d
                .related
                .iter()
                .map(|r| text[r.span.start..r.span.end].to_owned());
            (d.code.to_string(), places.collect())
        });
        beside.collect()
    };
    assert_eq!(found(text), [("V602".to_owned(), vec!["which".to_owned()])]);
    // The control: where people are asked about no call, the question stands by itself.
    let permitted = text.replace("    approval: required\n", "");
    assert_eq!(found(&permitted), [("B504".to_owned(), Vec::new())]);
}
