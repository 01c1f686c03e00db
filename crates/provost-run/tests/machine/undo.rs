//! `cancel --undo`: what happened is taken back, the newest first, and nothing else begins.

use crate::case::world::rules_in_role;
use crate::case::{Case, failed, ok, person, rules_with};
use provost_run::event::{Event, RunStatus, Settlement};
use provost_run::machine::{Input, Rules};
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::statement::Statement;
use serde_json::json;

/// Two writes that can be undone, one that cannot, and one that has not begun.
const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.last.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - id: put
    tool: note.put
    args: { to: box, count: '${ steps.look.output.total }' }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: bin, text: '${ has(output.id) ? output.id : "" } of ${ steps.look.output.total }' } }
  - { id: page, tool: page.send, needs: [put], args: { to: ada }, accept: ['${ output.done }'] }
  - id: mail
    tool: note.put
    needs: [page]
    args: { to: list }
    accept: ['${ output.done }']
    undo: { tool: page.send, args: { to: list, text: '$${ back } ${ has(output.id) ? output.id : "" }' } }
  - { id: last, tool: page.send, needs: [mail, hold], args: { to: bob }, accept: ['${ output.done }'] }
  - { id: hold, question: go on?, needs: [mail] }
answer: done
"#;

/// Nobody is asked, whatever decides where a write goes.
fn open_rules() -> Rules {
    rules_with(|operation| operation.trusted = true)
}

fn made(id: &str) -> Reply {
    ok(json!({ "done": true, "id": id }))
}

fn done() -> Reply {
    ok(json!({ "done": true }))
}

/// Everything before the question has happened.
fn happened() -> Case {
    until_mail(open_rules(), PLAN)
        .ends("mail", made("m1"))
        .quietly()
}

/// The third write is on its way.
fn until_mail(rules: Rules, plan: &str) -> Case {
    Case::of(rules, plan)
        .started()
        .ends("look", ok(json!({ "total": 3 })))
        .ends("put", made("n1"))
        .ends("page", done())
        .quietly()
}

/// What is left, on a line each.
fn left(case: &Case) -> String {
    let left = case.state().not_undone();
    let lines = left.iter().map(|l| format!("{}: {}\n", l.slot, l.because));
    lines.collect()
}

#[test]
fn what_happened_is_undone_the_newest_first() {
    let case = happened()
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    + UndoPlanned ["undo/mail", "undo/put"], not page: its step has no `undo`
    + PlanChecked revision 2
    + PlanRevised added ["undo/mail", "undo/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/mail#1 permit
    > call undo/mail#1 page.send {"text":"${ back } m1","to":"list"}
    < undo/mail#1 ok happened
    + AttemptEnded undo/mail#1 ok happened
    + ObservationMade undo/mail trusted
    + StepSettled undo/mail succeeded
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"text":"n1 of 3","to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 2
    > done cancelled
    "#);
}

/// Control: without `--undo` nothing is taken back, and nothing is said to be left.
#[test]
fn a_plain_cancel_undoes_nothing() {
    let case = happened().cancel("ada");
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    + RunEnded cancelled: cancelled by ada
    > done cancelled
    ");
    assert_eq!(left(&case), "");
}

#[test]
fn what_is_on_its_way_settles_first() {
    let case = until_mail(open_rules(), PLAN)
        .cancel_and_undo("ada")
        .ends("mail", made("m1"))
        .ends("undo/mail", done())
        .ends("undo/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail trusted
    + StepSettled mail succeeded
    + UndoPlanned ["undo/mail", "undo/put"], not page: its step has no `undo`
    + PlanChecked revision 2
    + PlanRevised added ["undo/mail", "undo/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/mail#1 permit
    > call undo/mail#1 page.send {"text":"${ back } m1","to":"list"}
    < undo/mail#1 ok happened
    + AttemptEnded undo/mail#1 ok happened
    + ObservationMade undo/mail trusted
    + StepSettled undo/mail succeeded
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"text":"n1 of 3","to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 2
    > done cancelled
    "#);
    insta::assert_snapshot!(left(&case), @"page: its step has no `undo`");
}

/// Nobody knows whether it took place, so nothing takes it back; what is known to have is undone.
#[test]
fn what_is_in_doubt_is_not_undone_but_listed() {
    let case = until_mail(open_rules(), PLAN)
        .ends("mail", failed(Class::Timeout, Landing::Unknown))
        .quietly()
        .cancel_and_undo("ada")
        .ends("undo/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    + UndoPlanned ["undo/put"], not page: its step has no `undo`
    + PlanChecked revision 2
    + PlanRevised added ["undo/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"text":"n1 of 3","to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 1
    > done cancelled
    "#);
    insta::assert_snapshot!(left(&case), @"
    mail: its outcome is unknown
    page: its step has no `undo`
    ");
    // Settled after the end it is known, and still not undone.
    let case = case.settle("mail", Settlement::Happened, Some(json!({ "done": true })));
    insta::assert_snapshot!(left(&case), @"
    mail: it became known too late that it took place
    page: its step has no `undo`
    ");
}

/// Control: what surely did not take place is neither undone nor listed.
#[test]
fn what_did_not_happen_is_not_undone() {
    let case = until_mail(open_rules(), PLAN)
        .cancel_and_undo("ada")
        .ends("mail", failed(Class::Conflict, Landing::None))
        .ends("undo/put", done());
    insta::assert_snapshot!(left(&case), @"page: its step has no `undo`");
    assert_eq!(case.status(), "cancelled");
}

/// It happened, although it was not accepted.
#[test]
fn what_happened_and_was_not_accepted_is_undone() {
    let case = until_mail(open_rules(), PLAN)
        .cancel_and_undo("ada")
        .ends("mail", ok(json!({ "done": false, "id": "m1" })))
        .ends("undo/mail", done())
        .ends("undo/put", done());
    insta::assert_snapshot!(left(&case), @"page: its step has no `undo`");
}

#[test]
fn what_could_not_be_undone_is_listed_and_the_rest_goes_on() {
    let case = happened()
        .cancel_and_undo("ada")
        .ends("undo/mail", failed(Class::NotFound, Landing::None))
        .ends("undo/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    + UndoPlanned ["undo/mail", "undo/put"], not page: its step has no `undo`
    + PlanChecked revision 2
    + PlanRevised added ["undo/mail", "undo/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/mail#1 permit
    > call undo/mail#1 page.send {"text":"${ back } m1","to":"list"}
    < undo/mail#1 not_found none
    + AttemptEnded undo/mail#1 not_found none
    + StepSettled undo/mail failed not_found: it went wrong
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"text":"n1 of 3","to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 1
    > done cancelled
    "#);
    insta::assert_snapshot!(left(&case), @"
    mail: `undo/mail` failed, not_found: it went wrong
    page: its step has no `undo`
    ");
}

/// Whether it was undone is a doubt like any other: what is older waits until it is settled.
#[test]
fn an_undo_in_doubt_is_settled_before_the_next() {
    let doubted = || {
        until_mail(
            open_rules(),
            &PLAN.replace("page.send, args: { to: list", "note.put, args: { to: heap"),
        )
        .ends("mail", made("m1"))
        .quietly()
        .cancel_and_undo("ada")
        .ends("undo/mail", failed(Class::Timeout, Landing::Unknown))
    };
    let case = doubted();
    assert_eq!(case.status(), "in_doubt");
    insta::assert_snapshot!(left(&case), @r"
    mail: the outcome of `undo/mail` is unknown
    page: its step has no `undo`
    ");
    let happened = doubted()
        .settle(
            "undo/mail",
            Settlement::Happened,
            Some(json!({ "done": true })),
        )
        .ends("undo/put", done());
    insta::assert_snapshot!(left(&happened), @"page: its step has no `undo`");
    let again = doubted()
        .quietly()
        .settle("undo/mail", Settlement::DidNotHappen, None)
        .ends("undo/mail", done())
        .ends("undo/put", done());
    insta::assert_snapshot!(again.transcript(), @r#"
    < ada settles undo/mail: did not happen
    + DoubtSettled undo/mail did not happen says ada
    + AttemptStarted undo/mail#2 permit
    > call undo/mail#2 note.put {"text":"${ back } m1","to":"heap"}
    < undo/mail#2 ok happened
    + AttemptEnded undo/mail#2 ok happened
    + ObservationMade undo/mail trusted
    + StepSettled undo/mail succeeded
    + AttemptStarted undo/put#1 permit
    > call undo/put#1 note.put {"text":"n1 of 3","to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 2
    > done cancelled
    "#);
}

#[test]
fn items_are_undone_one_by_one() {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up }
  - id: put
    tool: note.put
    for_each: '${ steps.look.output.names }'
    args: { to: '${ item }' }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: '${ item }', text: 'not ${ item }', count: '${ index }' } }
answer: done
"#;
    let plan = plan.replace(
        "steps.look.output.names",
        "has(steps.look.output.names) ? steps.look.output.names : []",
    );
    let names = json!({ "total": 3, "names": ["a", "b", "c"] });
    let case = Case::of(open_rules(), &plan)
        .started()
        .ends("look", ok(names))
        .ends("put[0]", done())
        .quietly()
        .cancel_and_undo("ada")
        .ends("put[2]", done())
        .ends("put[1]", failed(Class::Conflict, Landing::None))
        .ends("undo/put/2", done())
        .ends("undo/put/0", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    < put[2]#1 ok happened
    + AttemptEnded put[2]#1 ok happened
    + ObservationMade put[2] trusted
    + StepSettled put[2] succeeded
    < put[1]#1 conflict none
    + AttemptEnded put[1]#1 conflict none
    + StepSettled put[1] failed conflict: it went wrong
    + StepSettled put failed partial: 1 of 3 items failed: it went wrong
    + UndoPlanned ["undo/put/0", "undo/put/2"]
    + PlanChecked revision 2
    + PlanRevised added ["undo/put/0", "undo/put/2"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/put/2#1 permit
    > call undo/put/2#1 note.put {"count":2,"text":"not c","to":"c"}
    < undo/put/2#1 ok happened
    + AttemptEnded undo/put/2#1 ok happened
    + ObservationMade undo/put/2 trusted
    + StepSettled undo/put/2 succeeded
    + AttemptStarted undo/put/0#1 permit
    > call undo/put/0#1 note.put {"count":0,"text":"not a","to":"a"}
    < undo/put/0#1 ok happened
    + AttemptEnded undo/put/0#1 ok happened
    + ObservationMade undo/put/0 trusted
    + StepSettled undo/put/0 succeeded
    + RunEnded cancelled: cancelled by ada; undone: 2
    > done cancelled
    "#);
    assert_eq!(left(&case), "");
}

/// By default a person is asked where untrusted values decide, and a no is final.
#[test]
fn policy_asks_about_an_undo_as_about_any_call() {
    let plan = PLAN.replace("to: bin", "to: '${ has(output.id) ? output.id : \"\" }'");
    let ask = Case::of(rules_with(|_| {}), &plan)
        .started()
        .ends("look", ok(json!({ "total": 3 })))
        .approve("ada")
        .ends("put", made("n1"))
        .ends("page", done())
        .ends("mail", made("m1"))
        .quietly()
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .quietly();
    assert_eq!(ask.status(), "waiting_approval");
    let call = ask.card();
    assert!(format!("{call:?}").contains("undo/put"));
    let yes = ask.approve("ada").ends("undo/put", done());
    insta::assert_snapshot!(yes.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted undo/put#1 ask approved
    > call undo/put#1 note.put {"text":"n1 of 3","to":"n1"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put data
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 2
    > done cancelled
    "#);
}

#[test]
fn a_no_leaves_it_as_it_is() {
    let plan = PLAN.replace("  - id: put\n", "  - id: put\n    approval: required\n");
    let case = Case::of(open_rules(), &plan)
        .started()
        .ends("look", ok(json!({ "total": 3 })))
        .approve("ada")
        .ends("put", made("n1"))
        .ends("page", done())
        .ends("mail", made("m1"))
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .quietly()
        .reject("ada", "leave it");
    insta::assert_snapshot!(case.transcript(), @"
    < ada says no
    + ApprovalRejected by ada: leave it
    + StepSettled undo/put failed rejected: leave it
    + RunEnded cancelled: cancelled by ada; undone: 1
    > done cancelled
    ");
    insta::assert_snapshot!(left(&case), @"
    page: its step has no `undo`
    put: `undo/put` failed, rejected: leave it
    ");
}

#[test]
fn a_plain_cancel_ends_the_undoing() {
    let case = happened()
        .cancel_and_undo("ada")
        .quietly()
        .cancel("ada")
        .ends("undo/mail", done());
    insta::assert_snapshot!(case.transcript(), @"
    < ada cancels
    + CancelRequested
    < undo/mail#1 ok happened
    + AttemptEnded undo/mail#1 ok happened
    + ObservationMade undo/mail trusted
    + StepSettled undo/mail succeeded
    + RunEnded cancelled: cancelled by ada; undone: 1
    > done cancelled
    ");
    insta::assert_snapshot!(left(&case), @"
    page: its step has no `undo`
    put: the run ended before `undo/put`
    ");
}

#[test]
fn to_ask_twice_undoes_once() {
    let case = happened()
        .cancel_and_undo("ada")
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .cancel_and_undo("ada")
        .ends("undo/put", done());
    assert_eq!(begun(&case.journal), ["undo/mail", "undo/put"]);
}

/// Undoing begins calls: a pause holds it up, and a process that lets go begins nothing.
#[test]
fn a_paused_run_undoes_when_it_goes_on() {
    let case = happened().pause().cancel_and_undo("ada");
    assert_eq!(case.status(), "paused");
    let case = case.go_on();
    assert_eq!(begun(&case.journal), ["undo/mail"]);
    let held = happened().hold().cancel_and_undo("ada").crash();
    assert_eq!(begun(&held.journal), ["undo/mail"]);
}

/// Before there is a plan, and while a planner is asked: its reply comes too late.
#[test]
fn a_planner_is_not_heard_any_more() {
    let case = Case::of(open_rules(), PLAN).planner_is_away().started();
    let none = case.cancel_and_undo("ada");
    assert_eq!(none.status(), "cancelled");
    let asked = until_mail(open_rules(), PLAN)
        .planner_is_away()
        .ends("mail", failed(Class::Conflict, Landing::None))
        .cancel_and_undo("ada")
        .quietly()
        .planner_replies(crate::case::plan_reply(PLAN, &[]));
    insta::assert_snapshot!(asked.transcript(), @"
    < the planner replies
    ! no planner request 2 waits for a reply
    ");
}

/// Who may not amend the run may stop it, and may not begin calls by that.
#[test]
fn who_may_not_amend_may_not_undo() {
    let agent = provost_plan::policy::Principal {
        kind: provost_plan::policy::PrincipalKind::Agent,
        ..person("ada")
    };
    let cancel = Statement::Cancel {
        reason: None,
        undo: true,
    };
    let case = happened().give(Input::unsigned(agent, cancel));
    insta::assert_snapshot!(case.transcript(), @"! `ada` may not amend: `ada` is an agent, and only people say something to a run");
}

/// A plan that its limits let pass can be undone within them.
#[test]
fn limits_leave_room_for_undoing() {
    let limited = |calls: u32| {
        let limits = format!("limits: {{ calls: {calls} }}\nanswer: done");
        PLAN.replace("answer: done", &limits)
    };
    let case = until_mail(open_rules(), &limited(7))
        .ends("mail", made("m1"))
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    assert_eq!(begun(&case.journal), ["undo/mail", "undo/put"]);
    // Control: a plan that fits only as long as nothing is undone is refused.
    let refused = Case::of(open_rules(), &limited(6)).begin();
    assert!(
        refused.transcript().contains("B502"),
        "{}",
        refused.transcript()
    );
}

/// What policy forbids once its values are known is left, and said.
#[test]
fn what_the_check_refuses_is_listed() {
    let policy = r#"
@id("all") permit (principal, action, resource);
@id("bins") forbid (principal, action == Action::"note.put", resource)
when { context.args has to && context.args.to == "n1" };
"#;
    let plan = PLAN.replace("to: bin", "to: '${ has(output.id) ? output.id : \"\" }'");
    let case = Case::under(policy, &plan)
        .started()
        .ends("look", ok(json!({ "total": 3 })))
        .ends("put", made("n1"))
        .ends("page", done())
        .ends("mail", made("m1"))
        .cancel_and_undo("ada")
        .ends("undo/mail", done());
    assert_eq!(case.status(), "cancelled");
    insta::assert_snapshot!(left(&case), @"
    page: its step has no `undo`
    put: policy forbids `undo/put` to call `note.put`
    ");
}

/// Two undoing calls that are the same: a person says that the second is meant.
#[test]
fn the_same_call_twice_is_asked_about() {
    let plan = PLAN
        .replace("tool: page.send, args: { to: list, text: '$${ back } ${ has(output.id) ? output.id : \"\" }' }", "tool: note.put, args: { to: bin }")
        .replace("args: { to: bin, text: '${ has(output.id) ? output.id : \"\" } of ${ steps.look.output.total }' }", "args: { to: bin }");
    let case = until_mail(open_rules(), &plan)
        .ends("mail", made("m1"))
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .quietly();
    assert_eq!(case.status(), "waiting_approval");
    let case = case.approve("ada").ends("undo/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted undo/put#1 ask approved
    > call undo/put#1 note.put {"to":"bin"}
    < undo/put#1 ok happened
    + AttemptEnded undo/put#1 ok happened
    + ObservationMade undo/put trusted
    + StepSettled undo/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 2
    > done cancelled
    "#);
}

/// The undoing tool is not there any more: what it would have undone is listed.
#[test]
fn a_tool_that_is_gone_undoes_nothing() {
    let case = until_mail(open_rules(), PLAN)
        .ends("mail", made("m1"))
        .cancel_and_undo("ada");
    let moved = rules_with(|operation| {
        operation.trusted = true;
        if operation.name == "note.put" {
            operation.name = "note.other".to_owned();
        }
    });
    let case = case.quietly().crash_into(moved);
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 1 lost
    + AttemptEnded undo/mail#1 unavailable unknown lost
    + StepSettled undo/mail in_doubt cancelled: the run ended before this was known
    + RunEnded cancelled: cancelled by ada; undone: 0
    > done cancelled
    ");
    insta::assert_snapshot!(left(&case), @r"
    mail: the outcome of `undo/mail` is unknown
    page: its step has no `undo`
    put: the run ended before `undo/put`
    ");
}

/// The undoing steps that began, in order.
fn begun(journal: &[(Event, i64)]) -> Vec<String> {
    let started = journal.iter().filter_map(|(event, _)| match event {
        Event::AttemptStarted(started) if started.slot.step.starts_with("undo/") => {
            Some(started.slot.to_string())
        }
        _ => None,
    });
    started.collect()
}

/// Wherever the process died, nothing is undone twice, and the newest is undone first.
#[test]
fn a_journal_cut_anywhere_undoes_once_and_in_order() {
    // Why these tools: without a key, a second attempt would be a second effect.
    let plan = PLAN.replace("page.send, args: { to: list", "note.put, args: { to: heap");
    let whole = until_mail(open_rules(), &plan)
        .ends("mail", made("m1"))
        .cancel_and_undo("ada")
        .ends("undo/mail", done())
        .ends("undo/put", done());
    assert_eq!(begun(&whole.journal), ["undo/mail", "undo/put"]);
    let asked = |(event, _): &(Event, i64)| matches!(event, Event::CancelRequested { .. });
    let from = whole.journal.iter().position(asked).unwrap() + 1;
    for length in from..=whole.journal.len() {
        let mut run = whole.folded(length);
        let mut all = begun(&whole.journal[..length]);
        let mut inputs = vec![Input::Proceed, Input::Resume];
        while let (Some(input), None) = (inputs.pop(), &run.state().ending.ended) {
            let output = run.step(input, 60_000).unwrap();
            for event in &output.append {
                if let Event::AttemptStarted(started) = event {
                    all.push(started.slot.to_string());
                    inputs.push(Input::Ended {
                        slot: started.slot.clone(),
                        attempt: started.attempt,
                        reply: done(),
                    });
                }
            }
        }
        let once = [vec!["undo/mail"], vec!["undo/mail", "undo/put"]];
        assert!(
            once.iter().any(|once| *once == all),
            "after {length}: {all:?}"
        );
        let known = [RunStatus::InDoubt, RunStatus::Cancelled];
        assert!(
            known.contains(&run.state().status()),
            "after {length} events"
        );
    }
}

/// What takes a call back reaches no further than the call did.
#[test]
fn an_undo_is_in_the_role_of_what_it_undoes() {
    const IN_ROLE: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - id: put
    as: clerk
    tool: note.put
    args: { to: box }
    accept: ['${ output.done }']
    undo: { tool: note.put, args: { to: bin } }
  - { id: hold, question: go on?, needs: [put] }
answer: done
"#;
    let case = Case::of(rules_in_role(&["note.*"]), IN_ROLE)
        .started()
        .ends("put", made("n1"))
        .cancel_and_undo("ada");
    let steps = case.state().in_force.document["steps"].as_array().unwrap();
    let undo = steps.iter().find(|step| step["id"] == "undo/put").unwrap();
    assert_eq!(undo["as"], "clerk");
}
