//! Planners that go round in circles: stopped in a defined way, and only where nothing is learnt.

use crate::case::{Case, failed, ok, plan_reply};
use provost_plan::plan::request::PlanReply;
use provost_run::outcome::{Class, Landing};
use serde_json::json;

/// A plan whose success never holds, with these steps beside the one that runs.
fn unmet(more: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success: [{{ for: goal, check: '${{ steps.look.output.total > 3 }}' }}]
steps:
  - {{ id: look, tool: look.up, args: {{ to: a }} }}
{more}
"#
    )
}

/// A step that is skipped, whatever is known.
fn skipped(n: u64) -> String {
    unmet(&format!(
        "  - {{ id: more{n}, tool: look.up, args: {{ to: more{n} }}, \
         when: '${{ steps.look.output.total > 100 }}' }}"
    ))
}

fn looked(replies: &[String]) -> Case {
    let case = replies
        .iter()
        .fold(Case::new(&unmet("")).by_a_program(), |case, reply| {
            case.replans(reply)
        });
    case.limits(|limits| limits.revisions = 50)
        .started()
        .ends("look", ok(json!({ "total": 1 })))
}

#[test]
fn revisions_that_bring_nothing_new_are_stopped() {
    let replies: Vec<String> = (1..40).map(skipped).collect();
    let case = looked(&replies);
    insta::assert_snapshot!(case.transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["more1"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + StepSkipped more1 When
    + ReplanRequested unmet
    + PlanRequested
    > plan request 3: unmet
    + PlanProposed
    + PlanChecked revision 3
    + PlanRevised added ["more2"] changed [] removed ["more1"]
    + ApprovalsRevised retain [] replace [] clear []
    + StepSkipped more2 When
    + ReplanRequested unmet
    + PlanRequested
    > plan request 4: unmet
    + PlanProposed
    + PlanChecked revision 4
    + PlanRevised added ["more3"] changed [] removed ["more2"]
    + ApprovalsRevised retain [] replace [] clear []
    + StepSkipped more3 When
    + ReplanRequested unmet
    + PlanHandedOn to a person: the plan was revised 2 times in a row, and no step ended and nothing new became known in between
    + QuestionAsked
    > question "there is no revision of the plan: the plan was revised 2 times in a row, and no step ended and nothing new became known in between. ask process test again, or stop?"
    "#);
    let case = case.quietly().answer("ada", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada answers "stop"
    + QuestionAnswered
    + RunEnded failed: not proven: `goal`
    > done failed
    "#);
}

#[test]
fn a_plan_that_was_in_force_before_is_not_taken_again() {
    let case = looked(&[skipped(1), unmet(""), skipped(2)]);
    insta::assert_snapshot!(case.transcript(), @r#"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["more1"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + StepSkipped more1 When
    + ReplanRequested unmet
    + PlanRequested
    > plan request 3: unmet
    + PlanProposed
    + PlanHandedOn to a person: the planner proposed an earlier plan again, and nothing new is known since
    + QuestionAsked
    > question "there is no revision of the plan: the planner proposed an earlier plan again, and nothing new is known since. ask process test again, or stop?"
    "#);
}

/// A playbook goes through no chain: the run ends as it ends without a revision.
#[test]
fn a_playbook_that_repeats_its_plan_ends_the_run() {
    let case = Case::new(&unmet(""))
        .replans(&unmet(""))
        .started()
        .ends("look", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @"
    < look#1 ok happened
    + AttemptEnded look#1 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + ReplanRequested unmet
    + PlanRequested
    > plan request 2: unmet
    + PlanProposed
    + PlanGivenUp: the planner proposed an earlier plan again, and nothing new is known since
    + RunEnded failed: not proven: `goal`
    > done failed
    ");
}

#[test]
fn proposals_that_alternate_are_stopped_before_they_are_used_up() {
    let wrong = |tool: &str| unmet("").replace("look.up", tool);
    let case = Case::new(&wrong("look.one"))
        .by_a_program()
        .limits(|limits| limits.proposals = 50)
        .replans(&wrong("look.two"))
        .replans(&wrong("look.one"))
        .replans(&unmet(""))
        .begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 2
    + PlanProposed
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 3
    + PlanProposed
    + PlanRefused S705 R101
    + PlanHandedOn to a person: the planner proposed an earlier inadmissible plan again
    + QuestionAsked
    > question "there is no plan: the planner proposed an earlier inadmissible plan again; R101: no tool is called `look.one`. ask process test again, or stop?"
    "#);
    // A person's word clears the account.
    let case = case.quietly().answer("ada", json!("again"));
    assert!(
        case.transcript().contains("RunStarted"),
        "{}",
        case.transcript()
    );
}

/// The control: several failures at once are several things to learn, and none is a circle.
#[test]
fn failures_that_come_together_are_no_circle() {
    let plan = |bad: &str| {
        let bad = |n: u64| {
            format!(
                "  - {{ id: {bad}{n}, tool: look.up, args: {{ to: {bad}{n} }}, needs: [look] }}\n"
            )
        };
        (1..5).map(bad).collect::<String>()
    };
    let all = unmet(&plan("bad"));
    let more = |n: u64| {
        unmet(&format!(
            "{}{}",
            plan("bad"),
            (1..=n)
                .map(|n| format!(
                    "  - {{ id: good{n}, tool: look.up, args: {{ to: good{n} }}, needs: [look] }}\n"
                ))
                .collect::<String>()
        ))
    };
    let mut case = Case::new(&all)
        .by_a_program()
        .limits(|limits| limits.revisions = 50)
        .planner_is_away()
        .begin()
        .planner_replies(plan_reply(&all, &[]))
        .ends("look", ok(json!({ "total": 1 })));
    for n in 1..5 {
        case = case.ends(&format!("bad{n}"), failed(Class::NotFound, Landing::None));
    }
    for n in 1..5 {
        assert_eq!(case.status(), "planning", "{n}\n{}", case.transcript());
        case = case.planner_replies(plan_reply(&more(n), &[]));
    }
    assert_eq!(case.status(), "running", "{}", case.transcript());
    let nothing = PlanReply::Decline("enough".to_owned());
    let mut case = case.quietly();
    for n in 1..5 {
        case = case.ends(&format!("good{n}"), ok(json!({ "total": 1 })));
    }
    assert_eq!(case.planner_replies(nothing).status(), "failed");
}
