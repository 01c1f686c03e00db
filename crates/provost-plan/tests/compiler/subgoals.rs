//! Subgoals in the check: worst case, terms, labels, digests, reach.

use std::collections::BTreeMap;

use crate::literate::{Case, Document};
use provost_plan::catalog::Risk;
use provost_plan::check::PlanRecord;
use provost_plan::digest::Digest;
use provost_plan::label::Integrity;
use provost_plan::reach::{Facet, Reach};

const OPEN: &str = r#"steps:
  - { id: list, tool: tickets.list, args: { project: PAY } }
  - id: find
    subgoal: Find the ticket that is meant
    when: ${ steps.list.output.total > 0 }
    tools: [tickets.count, tickets.close]
    effect_max: write
    steps_max: 4
    output: { type: string }
"#;
const CHILD: &str = "  - { id: find/count, tool: tickets.count, args: { project: PAY } }\n";
const END: &str = "answer: { when: \"${ steps.find.status == 'succeeded' }\", text: \"${ steps.find.output }\" }\n";

/// The plan with these steps behind it, and with this result.
fn plan(more: &str, result: &str) -> String {
    let result = match result {
        "" => String::new(),
        text => format!("    result: '${{ {text} }}'\n"),
    };
    format!("{OPEN}{result}{more}{END}")
}

fn case(text: &str) -> Case {
    Case::of(&Document::of(&[("yaml plan", text)]))
}

fn record(text: &str) -> PlanRecord {
    case(text).plan().record().clone()
}

const RESULT: &str = "string(steps[\"find/count\"].output.total)";

#[test]
fn an_open_subgoal_counts_as_all_that_may_still_come() {
    let counts = |text: &str| {
        let case = case(text);
        let worst = case.worst();
        [worst.steps, worst.calls, worst.attempts]
    };
    // Beside it `list`: one call of three attempts.
    assert_eq!(counts(&plan("", "")), [6, 5, 15]);
    assert_eq!(
        counts(&plan(CHILD, "")),
        [6, 5, 15],
        "one of the four is there"
    );
    assert_eq!(
        counts(&plan(CHILD, RESULT)),
        [3, 2, 6],
        "nothing more comes"
    );
    let open = case(&plan("", ""));
    let row = open
        .worst()
        .rows
        .iter()
        .find(|row| row.step == "find")
        .unwrap();
    assert_eq!((row.calls, row.risk), (4, Risk::Medium));
    assert!(open.worst().wall_ms > case(&plan(CHILD, RESULT)).worst().wall_ms);
}

#[test]
fn the_tools_of_an_open_envelope_are_among_the_terms() {
    let tools = |text: &str| record(text).terms.tools.into_keys().collect::<Vec<_>>();
    let open = ["tickets.close", "tickets.count", "tickets.list"];
    assert_eq!(tools(&plan("", "")), open);
    assert_eq!(
        tools(&plan(CHILD, RESULT)),
        ["tickets.count", "tickets.list"]
    );
    // No more than the envelope admits.
    let reading = plan("", "").replace("effect_max: write", "effect_max: read");
    let admitted = reading.replace("[tickets.count, tickets.close]", "[\"tickets.*\"]");
    assert_eq!(tools(&admitted), ["tickets.count", "tickets.list"]);
}

#[test]
fn what_is_not_known_yet_is_text_and_then_what_it_is_computed_from() {
    let after = "  - { id: next, tool: tickets.count, args: { project: \"${ steps.find.output }\" }, \
         when: \"${ steps.find.status == 'succeeded' }\" }\n";
    let used = |text: String| text.replace("text: \"", "text: \"${ steps.next.status } ");
    let label = |text: String| record(&used(text)).steps["next"].labels["project"].clone();
    let open = label(plan(after, ""));
    assert_eq!((open.integrity, open.secret), (Integrity::Text, false));
    let closed = label(plan(&format!("{CHILD}{after}"), RESULT));
    assert_eq!(closed.integrity, Integrity::Data, "a count is a number");
    assert!(closed.sources.contains("find/count"), "{closed:?}");
    let secret = plan(after, "").replace("[tickets.count, tickets.close]", "[vault.read]");
    let secret = secret.replace("effect_max: write", "effect_max: read");
    let found = case(&used(secret)).findings();
    let leaves = found.iter().filter(|found| found.code == "F403");
    assert!(leaves.count() >= 2, "into `next`, and into the answer");
}

/// A guard of a subgoal decides about its steps as much as about itself.
#[test]
fn the_control_of_a_subgoal_is_that_of_its_steps() {
    let control = |when: &str| {
        let text = plan(CHILD, RESULT).replace("steps.list.output.total > 0", when);
        record(&text).steps["find/count"].control.clone()
    };
    assert_eq!(
        control("steps.list.output.total > 0").integrity,
        Integrity::Data
    );
    let read =
        control("size(steps.list.output.items) > 0 && steps.list.output.items[0].subject > \"a\"");
    assert_eq!(read.integrity, Integrity::Text);
    // The control: without a guard nothing decides.
    let free = plan(CHILD, RESULT).replace("    when: ${ steps.list.output.total > 0 }\n", "");
    let free = free.replace(
        "${ steps.find.output }",
        "${ steps.find.output } ${ steps.list.status }",
    );
    assert_eq!(
        record(&free).steps["find/count"].control.integrity,
        Integrity::Trusted
    );
}

fn closures(text: &str) -> BTreeMap<String, Digest> {
    let steps = record(text).steps.into_iter();
    steps.map(|(id, step)| (id, step.closure)).collect()
}

#[test]
fn a_step_of_a_subgoal_is_approved_with_its_envelope_and_not_with_the_result() {
    let before = closures(&plan(CHILD, ""));
    let refined = closures(&plan(CHILD, RESULT));
    assert_eq!(before["find/count"], refined["find/count"]);
    assert_ne!(before["find"], refined["find"]);
    let more = CHILD
        .replace("find/count", "find/again")
        .replace("PAY", "OPS");
    let more = closures(&plan(&format!("{CHILD}{more}"), ""));
    assert_eq!(before["find/count"], more["find/count"]);
    assert_ne!(before["find"], more["find"], "it rests on its steps");
    for (from, to) in [
        ("effect_max: write", "effect_max: external"),
        ("steps_max: 4", "steps_max: 5"),
        ("total > 0", "total > 1"),
        ("tickets.close]", "db.update]"),
    ] {
        let wider = closures(&plan(CHILD, "").replace(from, to));
        assert_ne!(before["find/count"], wider["find/count"], "{to}");
    }
}

#[test]
fn the_reach_of_an_envelope_is_shown() {
    let case = case(&plan("", ""));
    let checkup = case.checkup();
    let reach = Reach::of(&checkup);
    let tools = &reach.facts[&Facet::Tools];
    assert!(
        tools.contains("tickets.close (write, if find needs it)"),
        "{tools:?}"
    );
    let line = reach.line();
    assert!(line.contains("tickets.close"), "{line}");
    assert!(!line.contains("a person"), "{line}");
    let not_checked = &case.plan().record().not_checked;
    assert!(
        not_checked.contains(&"the steps that refine find".to_owned()),
        "{not_checked:?}"
    );
}

/// A step that refines a subgoal waits for what that needs, and not for what its result reads.
#[test]
fn the_order_of_a_subgoal_is_not_needless_for_its_steps_or_its_result() {
    let needs = "    subgoal: Find the ticket that is meant\n    needs: [sla]\n";
    let sla = "steps:\n  - { id: sla, tool: config.sla_threshold }\n";
    let ordered = |more: &str, result: &str| {
        let text =
            plan(more, result).replacen("    subgoal: Find the ticket that is meant\n", needs, 1);
        case(&text.replacen("steps:\n", sla, 1))
    };
    let needless = |case: &Case| {
        let codes = case.report().1.iter().map(|finding| finding.code.as_str());
        codes.filter(|code| *code == "S709").count()
    };
    for (more, result) in [
        ("", ""),
        (CHILD, RESULT),
        (CHILD, "string(steps.sla.output.max)"),
    ] {
        assert_eq!(needless(&ordered(more, result)), 0, "{more}{result}");
    }
    // The control: its guard reads it, so its steps wait for it anyway.
    let text = plan(CHILD, RESULT).replacen(
        "    subgoal: Find the ticket that is meant\n",
        "    subgoal: Find the ticket that is meant\n    needs: [list]\n",
        1,
    );
    assert_eq!(needless(&case(&text)), 1);
}

/// A subgoal goes on once its steps have ended, however they did: who waits for it alone waits for
/// nothing that only they do. Nor do they wait for what its result waits for.
#[test]
fn what_only_the_steps_or_the_result_of_a_subgoal_wait_for_is_no_needless_order() {
    let text = "    subgoal: Find the ticket that is meant\n";
    let sla = "steps:\n  - { id: sla, tool: config.sla_threshold }\n";
    let count = |plan: &str| {
        let case = case(&plan.replacen("steps:\n", sla, 1));
        let codes = case.report().1.iter().map(|finding| finding.code.as_str());
        codes.filter(|code| *code == "S709").count()
    };
    let needs = |needs: &str| format!("{text}    needs: [{needs}]\n");
    let late = "  - { id: late, tool: tickets.count, needs: [sla], args: { project: PAY } }\n";
    let by_result = plan(&format!("{CHILD}{late}"), "string(steps.late.output.total)");
    assert_eq!(count(&by_result.replacen(text, &needs("sla"), 1)), 0);
    let child = CHILD.replace("tool:", "needs: [sla], tool:");
    let last =
        "  - { id: last, tool: tickets.count, needs: [find, sla], args: { project: PAX } }\n";
    let by_child = plan(&format!("{child}{last}"), RESULT);
    assert_eq!(count(&by_child), 0);
    // The control: who waits for the subgoal waits for what the subgoal itself waits for.
    let by_itself = plan(&format!("{CHILD}{last}"), RESULT);
    assert_eq!(count(&by_itself.replacen(text, &needs("sla"), 1)), 1);
}
