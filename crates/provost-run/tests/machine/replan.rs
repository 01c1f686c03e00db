//! Replanning: facts stay, proposals are checked, revisions have an end.

use crate::case::{Case, failed, ok, plan_reply};
use provost_run::outcome::{Class, Landing};
use serde_json::json;

fn plan(steps: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.last.status == "succeeded" }}' }}
steps:
{steps}
  - {{ id: last, tool: look.up, args: {{ to: last }} }}
answer: done
"#
    )
}

const BAD: &str =
    "  - { id: bad, tool: look.up, args: { to: bad }, accept: ['${ output.total > 3 }'] }";

/// The first plan fails at `bad`; then come these.
fn failing(replies: &[&str]) -> Case {
    let case = replies
        .iter()
        .fold(Case::new(&plan(BAD)), |case, reply| case.replans(reply));
    case.limits(|limits| limits.concurrency = 1)
        .started()
        .ends("bad", failed(Class::NotFound, Landing::None))
        .quietly()
}

#[test]
fn a_revision_goes_on_from_the_facts() {
    let revised = plan(&format!(
        "{BAD}\n  - {{ id: good, tool: look.up, args: {{ to: good }} }}"
    ));
    let case = Case::new(&plan(BAD))
        .replans(&revised)
        .limits(|limits| limits.concurrency = 1)
        .started()
        .ends("bad", failed(Class::NotFound, Landing::None))
        .ends("good", ok(json!({ "total": 1 })))
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < bad#1 not_found none
    + AttemptEnded bad#1 not_found none
    + StepSettled bad failed not_found: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["good"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted good#1 permit
    > call good#1 look.up {"to":"good"}
    < good#1 ok happened
    + AttemptEnded good#1 ok happened
    + ObservationMade good data
    + StepSettled good succeeded
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"last"}
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    let request = &case.requests()[1];
    insta::assert_snapshot!(json!([request.kind, request.why, request.observations]), @r#"["revise",{"kind":"step_failed","step":"bad","class":"not_found"},{"bad":{"status":"failed","error":"not_found"}}]"#);
}

#[test]
fn a_revision_that_changes_or_drops_a_fact_is_refused() {
    let changed = BAD.replace("total > 3", "total > 2");
    let case = failing(&[&plan(&changed), &plan("")]);
    let codes: Vec<Vec<&str>> = case
        .requests()
        .iter()
        .skip(2)
        .map(|request| {
            request
                .diagnostics
                .iter()
                .map(|d| d.code.as_str())
                .collect()
        })
        .collect();
    insta::assert_snapshot!(json!(codes), @r#"[["R111","S702","S704"],["R111","S704"]]"#);
    assert_eq!(case.state().in_force.revision, 1);
}

#[test]
fn a_revision_that_repeats_a_failed_call_is_refused() {
    let again = |to: &str| {
        plan(&format!(
            "{BAD}\n  - {{ id: again, tool: look.up, args: {{ to: {to} }} }}"
        ))
    };
    let case = failing(&[&again("bad")]);
    assert_eq!(case.requests()[2].diagnostics.last().unwrap().code, "R112");
    let computed = failing(&[&again("\"${ 'b' + 'ad' }\"")]);
    assert_eq!(
        computed.requests()[2].diagnostics.last().unwrap().code,
        "R112"
    );
    assert_eq!(
        failing(&[&again("worse")]).state().in_force.revision,
        2,
        "the control: another call"
    );
}

#[test]
fn a_refused_proposal_goes_back_with_its_findings_so_many_times() {
    let wrong = |tool: &str| {
        plan(BAD).replace(
            "id: last, tool: look.up",
            &format!("id: last, tool: {tool}"),
        )
    };
    let case = Case::new(&wrong("look.one"))
        .replans(&wrong("look.two"))
        .replans(&wrong("look.three"))
        .replans(&plan(BAD))
        .begin();
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanRefused S702 R101 S704
    + PlanRequested
    > plan request 2
    + PlanProposed
    + PlanRefused S702 R101 S704
    + PlanRequested
    > plan request 3
    + PlanProposed
    + PlanRefused S702 R101 S704
    + PlanRequested
    + PlanGivenUp: 3 proposals were inadmissible
    + RunEnded refused: 3 proposals were inadmissible; first error R101: no tool is called `look.three`
    > done refused
    ");
    let finding = &case.requests()[1].diagnostics[0];
    insta::assert_snapshot!(json!(finding), @r#"{"code":"S702","message":"nothing uses what `bad` reads","step":"bad","path":"/steps/0/id","hint":"read it in a step, in `success` or in `answer`, or leave the step out"}"#);
}

#[test]
fn the_same_inadmissible_text_again_is_given_up() {
    let wrong = "schema: provost/plan/v1";
    let case = Case::new(wrong).replans(wrong).replans(&plan(BAD)).begin();
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanRefused P005
    + PlanRequested
    > plan request 2
    + PlanProposed
    + PlanRefused P005
    + PlanRequested
    + PlanGivenUp: the planner proposed the same inadmissible plan again
    + RunEnded refused: the planner proposed the same inadmissible plan again; first error P005: a plan needs the field `steps`
    > done refused
    ");
}

/// What was refused of one revision is not held against the next.
#[test]
fn refusals_are_counted_for_each_revision() {
    let more = "  - { id: more, tool: look.up, args: { to: more } }";
    let wrong = plan("  - { id: more, tool: look.none }");
    let case = Case::new("")
        .consulting(&plan(more), &["more", "last"])
        .limits(|limits| limits.proposals = 1)
        .replans(&wrong)
        .replans(&wrong)
        .limits(|limits| limits.concurrency = 1)
        .started()
        .ends("more", ok(json!({ "total": 1 })))
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanRefused R111 R101 S704
    + PlanRequested
    + PlanGivenUp: the one proposal allowed was inadmissible
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"last"}
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 4: observed
    + PlanProposed
    + PlanRefused R111 R101 S704
    + PlanRequested
    + PlanGivenUp: the one proposal allowed was inadmissible
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    assert!(case.requests()[2].diagnostics.is_empty());
}

#[test]
fn revisions_have_an_end() {
    let numbered = |n: i64| {
        let steps: Vec<String> = (1..=n)
            .map(|i| format!("  - {{ id: bad{i}, tool: look.up, args: {{ count: {i} }} }}"))
            .collect();
        plan(&steps.join("\n"))
    };
    let mut case = Case::new(&numbered(1));
    for n in 2..9 {
        case = case.replans(&numbered(n));
    }
    let mut case = case
        .limits(|limits| limits.revisions = 2)
        .limits(|l| l.concurrency = 1)
        .started();
    for n in 1..=3 {
        case = case
            .quietly()
            .ends(&format!("bad{n}"), failed(Class::NotFound, Landing::None));
    }
    insta::assert_snapshot!(case.transcript(), @"
    < bad3#1 not_found none
    + AttemptEnded bad3#1 not_found none
    + StepSettled bad3 failed not_found: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    + PlanGivenUp: the plan was revised 2 times
    + RunEnded failed: step `bad3` failed: it went wrong
    > done failed
    ");
}

#[test]
fn a_planner_that_wants_to_see_an_observation_may_leave_the_plan_as_it_is() {
    let more = "  - { id: more, tool: look.up, args: { to: more } }";
    let case = Case::new("")
        .consulting(&plan(more), &["more"])
        .started()
        .ends("last", ok(json!({ "total": 1 })))
        .ends("more", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanGivenUp: nothing better is known
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_planner_that_saw_an_observation_may_revise_what_has_not_run() {
    let more = "  - { id: more, tool: look.up, args: { to: more } }";
    let revised = plan(more).replace("to: last", "to: first");
    let case = Case::new("")
        .consulting(&plan(more), &["more"])
        .limits(|limits| limits.concurrency = 1)
        .replies(plan_reply(&revised, &["more"]))
        .started()
        .ends("more", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["last"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"first"}
    "#);
}

#[test]
fn success_that_does_not_hold_asks_for_more_and_then_is_unmet() {
    let proof = |steps: &str| {
        plan(steps).replace(
            "steps.last.status == \"succeeded\"",
            "steps.last.status == \"succeeded\" && steps.last.output.total > 3",
        )
    };
    let more = "  - { id: more, tool: look.up, args: { to: more }, needs: [last] }";
    let case = Case::new(&proof(""))
        .replans(&proof(more))
        .started()
        .ends("last", ok(json!({ "total": 1 })))
        .ends("more", ok(json!({ "total": 9 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["more"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted more#1 permit
    > call more#1 look.up {"to":"more"}
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested unmet
    + PlanRequested
    > plan request 3: unmet
    + PlanGivenUp: nothing better is known
    + RunEnded failed: not proven: `goal`
    > done failed
    "#);
}

#[test]
fn every_criterion_must_hold() {
    let two = plan("").replace(
        "  - { for: goal, check",
        "  - { for: counted, check: '${ steps.last.output.total > 3 }' }\n  - { for: shown, check",
    );
    let case = Case::new(&two)
        .criteria(&["counted", "shown"])
        .started()
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanGivenUp: nothing better is known
    + RunEnded failed: not proven: `counted`
    > done failed
    ");
    insta::assert_snapshot!(json!(case.state().ending.ended.as_ref().unwrap().criteria), @r#"{"counted":"not_held","shown":"held"}"#);
}

const MAIL: &str =
    "  - { id: mail, tool: mail.send, args: { to: team }, accept: ['${ output.done }'] }";

/// A plan in which `mail` waits for a yes while `more` is looked at.
fn waiting(revised: &str) -> Case {
    let more = "  - { id: more, tool: look.up, args: { to: more } }";
    Case::new("")
        .consulting(&plan(&format!("{more}\n{MAIL}")), &["more"])
        .replans(&plan(&format!("{more}\n{revised}")))
        .started()
        .ends("last", ok(json!({ "total": 1 })))
        .quietly()
}

#[test]
fn an_open_card_of_an_unchanged_step_stays_open() {
    let case = waiting(MAIL);
    let card = case.open_card();
    let case = case.ends("more", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed [] removed []
    + ApprovalsRevised retain ["mail"] replace [] clear []
    "#);
    assert_eq!(case.open_card(), card);
    let case = case.quietly().approve("ada");
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"to":"team"}
    "#);
}

#[test]
fn an_open_card_of_a_changed_step_is_replaced() {
    let case = waiting(&MAIL.replace("to: team", "to: boss"));
    let card = case.open_card();
    let case = case
        .ends("more", ok(json!({ "total": 1 })))
        .approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["mail"] removed []
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested mail ["outside-communication"]: {"to":"boss"}
    > ask about mail
    < ada says yes to that card
    ! nothing waits for an answer under `sha256:93b6bf5c16dc297b612ce5a564b351e6093287fef2d2a738064342b553512ebd`
    "#);
}

#[test]
fn an_open_card_of_a_step_that_is_gone_is_cleared() {
    let case = waiting("");
    let card = case.open_card();
    let case = case
        .ends("more", ok(json!({ "total": 1 })))
        .approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed [] removed ["mail"]
    + ApprovalsRevised retain [] replace [] clear ["mail"]
    + RunEnded succeeded ["done"]
    > done succeeded
    < ada says yes to that card
    ! the run is over: succeeded
    "#);
}

/// A yes to a plan holds for the steps that a revision leaves as they were.
#[test]
fn a_yes_to_a_plan_holds_for_unchanged_steps_only() {
    let wipe = "  - { id: wipe, tool: disk.wipe, args: { to: old }, needs: [more], accept: ['${ output.done }'] }";
    let more = "  - { id: more, tool: look.up, args: { to: more } }";
    let mail = MAIL.replace("accept", "needs: [more], accept");
    let case = Case::new("")
        .consulting(&plan(&format!("{more}\n{mail}\n{wipe}")), &["more"])
        .replans(&plan(&format!(
            "{more}\n{mail}\n{}",
            wipe.replace("to: old", "to: new")
        )))
        .ask_for_plan()
        .started()
        .approve("ada")
        .ends("last", ok(json!({ "total": 1 })))
        .quietly()
        .ends("more", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["wipe"] removed []
    + ApprovalsRevised retain ["mail"] replace ["wipe"] clear []
    + ApprovalRequested the plan: wipe ["deletions"]
    > ask about the plan
    "#);
}

/// A step that a person left out of a plan is not asked about again while it stays as it was.
#[test]
fn a_step_left_out_stays_left_out() {
    let wipe = "  - { id: wipe, tool: disk.wipe, args: { to: old }, needs: [more], accept: ['${ output.done }'] }";
    let more = "  - { id: more, tool: look.up, args: { to: more } }";
    let mail = MAIL.replace("accept", "needs: [more], accept");
    let both = format!("{more}\n{mail}\n{wipe}");
    let case = Case::new("")
        .consulting(&plan(&both), &["more"])
        .replans(&plan(&both).replace("to: last", "to: first"))
        .limits(|limits| limits.concurrency = 1)
        .ask_for_plan()
        .started()
        .approve_steps("ada", &["mail"])
        .quietly()
        .ends("more", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < more#1 ok happened
    + AttemptEnded more#1 ok happened
    + ObservationMade more data
    + StepSettled more succeeded
    + ReplanRequested observed
    + PlanRequested
    > plan request 2: observed
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["last"] removed []
    + ApprovalsRevised retain ["mail"] replace [] clear []
    + AttemptStarted mail#1 ask approved
    + StepSkipped wipe NotApproved
    > call mail#1 mail.send {"to":"team"}
    "#);
}

#[test]
fn a_plan_asked_about_by_a_planner_that_is_away_is_asked_for_again_after_a_crash() {
    let case = Case::new("").planner_is_away().started().crash();
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    > plan request 1
    ");
    let case = case.quietly().planner_replies(plan_reply(&plan(""), &[]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < the planner replies
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"last"}
    "#);
}
