//! Arguments that are left out: what is sent, asked and repeated is the map as it is sent.

use crate::case::{Case, ok, rules, rules_with};
use provost_run::event::Event;
use provost_run::machine::Rules;
use serde_json::{Value, json};

fn plan(put: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.put.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
{put}
answer: done
"#
    )
}

/// The arguments of every call that began, by its step.
fn sent(case: &Case) -> Vec<(String, Value)> {
    let events = case.journal.iter();
    let calls = events.filter_map(|(event, _)| match event {
        Event::AttemptStarted(attempt) if attempt.slot.step != "look" => {
            Some((attempt.slot.to_string(), attempt.args.clone()))
        }
        _ => None,
    });
    calls.collect()
}

fn open_rules() -> Rules {
    rules_with(|operation| operation.trusted = true)
}

#[test]
fn what_is_null_is_not_sent_and_what_is_not_null_is_sent_without_its_mark() {
    let put = r#"  - id: put
    tool: note.put
    args:
      to: box
      "?text": "${ has(steps.look.output.note) ? steps.look.output.note : null }"
      "?count": "${ steps.look.output.total > 0 ? steps.look.output.total : null }"
    accept: ['${ output.done }']"#;
    for (read, wanted) in [
        (json!({ "total": 0 }), json!({ "to": "box" })),
        (json!({ "total": 2 }), json!({ "to": "box", "count": 2 })),
        (
            json!({ "total": 0, "note": "" }),
            json!({ "to": "box", "text": "" }),
        ),
    ] {
        let case = Case::of(open_rules(), &plan(put)).begin();
        let case = case.ends("look", ok(read));
        assert_eq!(sent(&case), [("put".to_owned(), wanted)]);
    }
}

/// Two writes that differ in what is left out alone are equal: the second waits for a person.
#[test]
fn a_call_without_an_argument_repeats_one_that_never_had_it() {
    let put = r#"  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - id: again
    tool: note.put
    needs: [put]
    args: { to: box, "?text": "${ has(steps.look.output.note) ? steps.look.output.note : null }" }
    accept: ['${ output.done }']"#;
    for (read, asks) in [
        (json!({ "total": 0 }), true),
        (json!({ "total": 0, "note": "n" }), false),
    ] {
        let case = Case::of(open_rules(), &plan(put)).begin();
        let case = case.ends("look", ok(read));
        let case = case.ends("put", ok(json!({ "done": true })));
        let open = case.state().open_cards().next().is_some();
        assert_eq!(open, asks, "{}", case.transcript());
    }
}

#[test]
fn an_undo_leaves_out_what_is_null() {
    let put = r#"  - id: put
    tool: note.put
    args: { to: box }
    accept: ['${ output.done }']
    undo: { tool: page.send, args: { to: box, "?text": "${ has(output.id) ? output.id : null }" } }
  - { id: hold, question: go on?, needs: [put] }"#;
    for (made, wanted) in [
        (json!({ "done": true }), json!({ "to": "box" })),
        (
            json!({ "done": true, "id": "n1" }),
            json!({ "to": "box", "text": "n1" }),
        ),
    ] {
        let case = Case::of(open_rules(), &plan(put)).begin();
        let case = case.ends("look", ok(json!({ "total": 0 })));
        let case = case.ends("put", ok(made)).cancel_and_undo("ada");
        let last = sent(&case).pop().unwrap();
        assert_eq!(
            last,
            ("undo/put".to_owned(), wanted),
            "{}",
            case.transcript()
        );
    }
}

/// Asks where `asks` holds, of the call that is made.
fn policy(asks: &str) -> String {
    format!(
        r#"
@id("calls")
permit (principal, action in Action::"call", resource);
@id("asks")
forbid (principal, action == Action::"note.put", resource)
when {{ !resource.attended && {asks} }};
"#
    )
}

#[test]
fn policy_is_asked_about_the_map_that_is_sent_and_about_who_decided_it() {
    let put = r#"  - id: put
    tool: note.put
    args:
      text: x
      "?to": "${ steps.look.output.total > 0 ? 'box' : null }"
    accept: ['${ output.done }']"#;
    for (asks, total, wanted) in [
        ("context.args has to", 1, true),
        ("context.args has to", 0, false),
        ("!(context.args has to)", 1, false),
        ("!(context.args has to)", 0, true),
        ("context.sinks.contains(\"box\")", 1, true),
        ("context.sinks.contains(\"box\")", 0, false),
        ("resource.untrusted_sink", 1, true),
        ("resource.untrusted_sink", 0, true),
        ("!resource.values_from_goal", 1, true),
        ("!resource.values_from_goal", 0, true),
    ] {
        let case = Case::of(rules(&policy(asks)), &plan(put)).begin();
        let case = case.ends("look", ok(json!({ "total": total })));
        let open = case.state().open_cards().next().is_some();
        assert_eq!(open, wanted, "{asks} of {total}\n{}", case.transcript());
    }
}
