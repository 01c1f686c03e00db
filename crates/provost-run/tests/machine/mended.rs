//! A proposal whose errors have one safe fix: it is mended, and its planner is not asked again.

use crate::case::{Case, ok};
use provost_plan::plan::request::PlannerCost;
use serde_json::json;

const SLIP: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.look.status == "succeeded" }' }]
steps:
  - { id: look, tool: look.upp, args: { to: a } }
"#;

fn by_a_model(plan: &str) -> Case {
    Case::new(plan).planner_costs(PlannerCost::default())
}

/// What the planner was shown of its own proposal, and what was wrong with it.
fn shown(case: &Case) -> String {
    let line = |request: &provost_plan::plan::request::PlanRequest| {
        let codes: Vec<&str> = request
            .diagnostics
            .iter()
            .map(|f| f.code.as_str())
            .collect();
        format!(
            "{} {codes:?} {}",
            request.id,
            request.proposal.as_deref().unwrap_or("-")
        )
    };
    case.requests()
        .iter()
        .map(line)
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn a_slip_of_one_letter_is_mended_and_not_sent_back() {
    let case = by_a_model(SLIP)
        .begin()
        .crash()
        .ends("look", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + ProposalMended
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    < crash
    + Resumed, 1 lost
    + AttemptEnded look#1 unavailable unknown lost
    + AttemptStarted look#2 permit
    > call look#2 look.up {"to":"a"}
    < look#2 ok happened
    + AttemptEnded look#2 ok happened
    + ObservationMade look data
    + StepSettled look succeeded
    + RunEnded succeeded
    > done succeeded
    "#);
    assert_eq!(case.requests().iter().map(|asked| asked.id).max(), Some(1));
}

/// What has no safe fix goes back alone, in the text as it was mended.
#[test]
fn only_what_is_left_goes_back() {
    let plan = format!("{SLIP}  - {{ id: more, tool: no.such, args: {{}} }}\n");
    let case = by_a_model(&plan).replans(SLIP).begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + ProposalMended
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 2
    + PlanProposed
    + ProposalMended
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted look#1 permit
    > call look#1 look.up {"to":"a"}
    "#);
    insta::assert_snapshot!(shown(&case), @r#"
    1 [] -
    2 ["S705", "R101"] 
    schema: provost/plan/v1
    success: [{ for: goal, check: '${ steps.look.status == "succeeded" }' }]
    steps:
      - { id: look, tool: look.up, args: { to: a } }
      - { id: more, tool: no.such, args: {} }
    "#);
}

/// The same slip beside the same other error is the same proposal, whatever was mended in it.
#[test]
fn the_same_proposal_again_ends_it() {
    let plan = format!("{SLIP}  - {{ id: more, tool: no.such, args: {{}} }}\n");
    let case = by_a_model(&plan).replans(&plan).begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + ProposalMended
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 2
    + PlanProposed
    + ProposalMended
    + PlanRefused S705 R101
    + PlanHandedOn to a person: the planner proposed the same inadmissible plan again
    + QuestionAsked
    > question "there is no plan: the planner proposed the same inadmissible plan again; R101: no tool is called `no.such`. ask model test again, or stop?"
    "#);
}

/// A name that is nearly that of a write may mean it, or not: that is for whoever wrote it.
#[test]
fn nothing_is_mended_into_a_write() {
    let plan = SLIP.replace("look.upp", "mail.sent");
    let case = by_a_model(&plan)
        .planner_is_away()
        .begin()
        .planner_replies(crate::case::plan_reply(&plan, &[]));
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + PlanProposed
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 2
    ");
}

/// What a person or a playbook wrote runs as it stands there, or not at all.
#[test]
fn what_a_playbook_says_is_not_mended() {
    let case = Case::new(SLIP)
        .planner_is_away()
        .begin()
        .planner_replies(crate::case::plan_reply(SLIP, &[]));
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    < the planner replies
    + PlanProposed
    + PlanRefused S705 R101
    + PlanRequested
    > plan request 2
    ");
}
