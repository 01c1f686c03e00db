//! Moved rules: what a change of policy or catalog between two processes does to a run.

use crate::case::world::rules_in_role;
use crate::case::{Case, ok, plan_reply, rules, rules_with};
use provost_plan::catalog::Operation;
use serde_json::json;

const MAIL: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: mail, tool: mail.send, args: { to: team, text: hello }, accept: ['${ output.done }'] }
  - { id: next, tool: look.up, needs: [mail] }
answer: done
"#;

fn moved(name: &'static str) -> impl Fn(&mut Operation) {
    move |operation| {
        if operation.name == name {
            operation.description = "another".to_owned();
        }
    }
}

#[test]
fn nothing_moved_and_nothing_is_checked_again() {
    let case = Case::new(MAIL).started().crash_into(rules_with(|_| {}));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    > ask about mail
    ");
}

#[test]
fn a_tool_the_plan_does_not_use_moves_nothing() {
    let case = Case::new(MAIL)
        .started()
        .crash_into(rules_with(moved("disk.wipe")));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    > ask about mail
    ");
}

#[test]
fn a_card_about_a_tool_that_moved_is_asked_again() {
    let case = Case::new(MAIL).started();
    let card = case.open_card();
    let case = case.crash_into(rules_with(moved("mail.send")));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested mail ["outside-communication"]: {"text":"hello","to":"team"}
    > ask about mail
    "#);
    let case = case.quietly().approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes to that card
    ! nothing waits for an answer under `sha256:10d51da365250f180f98e7720e63de9e37b3298e4b2834b0718c7a6f7775af57`
    ");
}

#[test]
fn a_yes_to_a_plan_does_not_cover_a_tool_that_moved() {
    let plan = MAIL
        .replace("args: { to: team", "needs: [look], args: { to: team")
        .replace(
            "steps:",
            "steps:\n  - { id: look, tool: look.up, args: { to: look } }",
        );
    let case = Case::new(&plan)
        .ask_for_plan()
        .started()
        .approve("ada")
        .quietly()
        .crash_into(rules_with(moved("mail.send")));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 1 lost
    + AttemptEnded look#1 unavailable unknown lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested the plan: mail ["outside-communication"]
    > ask about the plan
    "#);
}

const ASKS: &str = r#"
permit (principal, action, resource);
@id("mails") forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "external" };
"#;

/// A yes was given as the policy of that moment asked for it.
#[test]
fn a_policy_that_asks_for_more_asks_again() {
    let two = ASKS.replace("@id", "@quorum(\"2\") @id");
    let case = Case::under(ASKS, MAIL).started().crash_into(rules(&two));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested mail ["mails"]: {"text":"hello","to":"team"} by 2 people
    > ask about mail
    "#);
    let plan = MAIL
        .replace("args: { to: team", "needs: [look], args: { to: team")
        .replace(
            "steps:",
            "steps:\n  - { id: look, tool: look.up, args: { to: look } }",
        );
    let case = Case::under(ASKS, &plan)
        .ask_for_plan()
        .started()
        .approve("bob")
        .quietly()
        .crash_into(rules(&two));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 1 lost
    + AttemptEnded look#1 unavailable unknown lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested the plan: mail ["mails"] by 2 people
    > ask about the plan
    "#);
}

#[test]
fn a_policy_that_permits_more_asks_no_longer() {
    let case = Case::under(ASKS, MAIL)
        .started()
        .crash_into(rules("@id(\"all\") permit (principal, action, resource);"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + AttemptStarted mail#1 permit
    > call mail#1 mail.send {"text":"hello","to":"team"}
    "#);
}

#[test]
fn a_plan_that_is_no_longer_admissible_ends_the_run() {
    let forbids = ASKS.replace("!resource.attended && ", "");
    let case = Case::under(ASKS, MAIL)
        .started()
        .crash_into(rules(&forbids));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    + RunEnded failed: the plan is no longer admissible under the current rules: policy forbids `mail` to call `mail.send`
    > done failed
    ");
}

/// A request that waits for its reply goes on waiting.
#[test]
fn a_planner_that_is_asked_is_not_forgotten() {
    let plan = MAIL.replace("needs: [mail]", "args: { to: next }");
    let revised = plan.replace("text: hello", "text: goodbye");
    let case = Case::new("")
        .consulting(&plan, &["next"])
        .started()
        .planner_is_away()
        .ends("next", ok(json!({ "total": 1 })))
        .quietly()
        .crash_into(rules_with(moved("mail.send")))
        .planner_replies(plan_reply(&revised, &[]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    > plan request 2: observed
    < the planner replies
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added [] changed ["mail"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + ApprovalRequested mail ["outside-communication"]: {"text":"goodbye","to":"team"}
    > ask about mail
    "#);
}

#[test]
fn a_run_that_ends_for_it_asks_nobody_any_more() {
    let forbids = ASKS.replace("!resource.attended && ", "");
    let plan = MAIL.replace("needs: [mail]", "args: { to: next }");
    let case = Case::under(ASKS, "")
        .consulting(&plan, &["next"])
        .started()
        .planner_is_away()
        .ends("next", ok(json!({ "total": 1 })))
        .quietly()
        .crash_into(rules(&forbids));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    + RunEnded failed: the plan is no longer admissible under the current rules: policy forbids `mail` to call `mail.send`
    > done failed
    ");
}

/// The mail, by a clerk.
fn by_a_clerk() -> String {
    MAIL.replace("tool: mail.send,", "as: clerk, tool: mail.send,")
}

const CLERK: &[&str] = &["mail.*", "note.put"];

#[test]
fn a_role_that_stays_moves_nothing() {
    let case = Case::of(rules_in_role(CLERK), &by_a_clerk()).started();
    let case = case.crash_into(rules_in_role(&["note.put", "mail.*"]));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    > ask about mail
    ");
}

/// A yes was given to a step in a role; a wider list is another role.
#[test]
fn a_card_about_a_step_whose_role_was_widened_is_asked_again() {
    let case = Case::of(rules_in_role(CLERK), &by_a_clerk()).started();
    let card = case.open_card();
    let case = case.crash_into(rules_in_role(&["mail.*", "note.put", "disk.*"]));
    insta::assert_snapshot!(case.transcript(), @r#"
    < crash
    + Resumed, 0 lost
    + PlanChecked revision 1
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested mail ["outside-communication"]: {"text":"hello","to":"team"}
    > ask about mail
    "#);
    let case = case.quietly().approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes to that card
    ! nothing waits for an answer under `sha256:f0056ff34df4eb420d533722f33a8adf1f5da6ec0c6a4439c7d49fd399f75d5e`
    ");
}

#[test]
fn a_step_that_its_role_does_not_admit_any_more_is_not_called() {
    let case = Case::of(rules_in_role(CLERK), &by_a_clerk()).started();
    let case = case.crash_into(rules_in_role(&["note.put"]));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    + RunEnded failed: the plan is no longer admissible under the current rules: `mail` is in the role `clerk`, which does not admit `mail.send`
    > done failed
    ");
}

#[test]
fn a_step_whose_role_is_gone_is_not_called() {
    let case = Case::of(rules_in_role(CLERK), &by_a_clerk()).started();
    let case = case.crash_into(rules_with(|_| {}));
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    + RunEnded failed: the plan is no longer admissible under the current rules: no role is called `clerk`
    > done failed
    ");
}
