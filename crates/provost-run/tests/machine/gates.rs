//! Gates: who is asked about what, and what a yes, a no or silence does.

use std::collections::BTreeSet;

use crate::case::{Case, failed, ok};
use provost_plan::digest::{Digest, Domain};
use provost_plan::policy::DEFAULT_POLICY;
use provost_run::outcome::{Class, Landing};
use serde_json::json;

const MAIL: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: count, tool: look.up }
  - { id: mail, tool: mail.send, args: { to: team, text: '${ steps.count.output.total } open' }, accept: ['${ output.done }'] }
answer: done
"#;

fn asked() -> Case {
    Case::new(MAIL)
        .started()
        .ends("count", ok(json!({ "total": 4 })))
}

#[test]
fn a_yes_to_a_step_with_its_values_starts_it() {
    let case = asked()
        .approve("ada")
        .ends("mail", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ApprovalRequested mail ["outside-communication"]: {"text":"4 open","to":"team"}
    > ask about mail
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail data
    + StepSettled mail succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

#[test]
fn a_no_goes_to_the_planner_and_ends_the_run_if_it_has_nothing_better() {
    let case = asked().reject("ada", "too loud");
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ApprovalRequested mail ["outside-communication"]: {"text":"4 open","to":"team"}
    > ask about mail
    < ada says no
    + ApprovalRejected by ada: too loud
    + StepSettled mail failed rejected: too loud
    + ReplanRequested rejected
    + PlanRequested
    > plan request 2: rejected
    + PlanGivenUp: nothing better is known
    + RunEnded rejected: a person rejected it: too loud
    > done rejected
    "#);
}

#[test]
fn a_card_binds_the_arguments_it_shows() {
    let four = asked();
    let five = Case::new(MAIL)
        .started()
        .ends("count", ok(json!({ "total": 5 })));
    assert_ne!(four.open_card(), five.open_card());
    let case = five.quietly().approve_card("ada", four.open_card());
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes to that card
    ! nothing waits for an answer under `sha256:97776882f448701feab68c3f1a14fab8c5267396e4f66aef4f7ef5af78538bf5`
    ");
}

#[test]
fn a_digest_of_no_card_and_a_step_of_no_card_are_refused() {
    let unknown = Digest::of_bytes(Domain::Card, b"no card");
    let case = asked()
        .quietly()
        .approve_card("ada", unknown)
        .approve_steps("ada", &["count"])
        .approve_steps("ada", &["mail", "count"])
        .approve_steps("ada", &["mail"]);
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes to that card
    ! nothing waits for an answer under `sha256:c6fc1ea83347342274bbfb79e5516bcc1abc506c575da43cfe2d67ee32db4644`
    < ada says yes count
    ! the card does not ask about step `count`
    < ada says yes mail count
    ! the card does not ask about step `count`
    < ada says yes mail
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
}

#[test]
fn a_card_takes_one_answer() {
    let case = asked();
    let card = case.open_card();
    let case = case.reject("ada", "no").quietly().approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes to that card
    ! the run is over: rejected
    ");
    let case = Case::new(MAIL)
        .started()
        .ends("count", ok(json!({ "total": 4 })));
    let card = case.open_card();
    let case = case.approve("ada").quietly().approve_card("ada", card);
    insta::assert_snapshot!(case.transcript(), @"
    < ada says yes to that card
    ! nothing waits for an answer under `sha256:97776882f448701feab68c3f1a14fab8c5267396e4f66aef4f7ef5af78538bf5`
    ");
}

#[test]
fn a_yes_survives_a_crash_and_so_does_a_card() {
    let case = asked().crash().approve("ada").crash();
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ApprovalRequested mail ["outside-communication"]: {"text":"4 open","to":"team"}
    > ask about mail
    < crash
    + Resumed, 0 lost
    > ask about mail
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    < crash
    + Resumed, 1 lost
    + AttemptEnded mail#1 unavailable unknown lost
    + StepSettled mail in_doubt unavailable: the process ended before an answer was recorded
    "#);
}

const OTHERS: &str = DEFAULT_POLICY;

#[test]
fn the_requester_may_not_approve_where_others_can() {
    let case = Case::under(OTHERS, MAIL)
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .approve("ada")
        .approve("mallory")
        .approve("bob");
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    ! `ada` may not approve: `ada` requested this run, and another person must approve it
    < mallory says yes
    ! `mallory` may not approve: `mallory` is not listed in policies/entities.json
    < bob says yes
    + ApprovalGiven by bob
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
}

fn asks(annotations: &str) -> String {
    format!(
        r#"
permit (principal, action, resource);
@id("mails") {annotations}
forbid (principal, action in Action::"call", resource)
when {{ !resource.attended && resource.effect == "external" }};
"#
    )
}

fn under(annotations: &str) -> Case {
    Case::under(&asks(annotations), MAIL)
}

#[test]
fn a_quorum_of_two_needs_two_people() {
    let case = under("@quorum(\"2\")")
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .approve("bob")
        .approve("bob")
        .crash()
        .approve("eve");
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes
    + ApprovalGiven by bob, more are needed
    < bob says yes
    ! `bob` may not approve: they already approved, and more approvals are needed
    < crash
    + Resumed, 0 lost
    > ask about mail
    < eve says yes
    + ApprovalGiven by eve
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"4 open","to":"team"}
    "#);
}

#[test]
fn one_no_is_enough_against_a_quorum() {
    let case = under("@quorum(\"2\")")
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .approve("bob")
        .reject("eve", "no");
    insta::assert_snapshot!(case.transcript(), @"
    < bob says yes
    + ApprovalGiven by bob, more are needed
    < eve says no
    + ApprovalRejected by eve: no
    + StepSettled mail failed rejected: no
    + ReplanRequested rejected
    + PlanRequested
    > plan request 2: rejected
    + PlanGivenUp: nothing better is known
    + RunEnded rejected: a person rejected it: no
    > done rejected
    ");
}

#[test]
fn silence_is_an_outcome_of_its_own() {
    let case = under("@expires(\"1h\")")
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .tick(3_600_999)
        .tick(3_601_000);
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ApprovalRequested mail ["mails"]: {"text":"4 open","to":"team"}
    > ask about mail
    > wait until 3601000
    < tick 3600999
    > wait until 3601000
    < tick 3601000
    + ApprovalExpired
    + StepSettled mail failed expired: nobody answered in time
    + RunEnded expired: nobody answered in time
    > done expired
    "#);
    assert_eq!(case.status(), "expired");
}

#[test]
fn a_yes_that_comes_too_late_is_refused_even_before_the_tick() {
    let case = under("@expires(\"1h\")")
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .at(3_601_000)
        .approve("bob")
        .tick(3_601_001);
    insta::assert_snapshot!(case.transcript(), @"
    < bob says yes
    ! nothing waits for an answer under `sha256:2ab81f0a973fa1eff2bc738f45905b7d1082cfa45a04da40ce96575b122b6ec0`
    < tick 3601001
    + ApprovalExpired
    + StepSettled mail failed expired: nobody answered in time
    + RunEnded expired: nobody answered in time
    > done expired
    ");
}

#[test]
fn silence_is_noticed_by_the_next_process() {
    let case = under("@expires(\"1h\")")
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .at(9_000_000)
        .crash();
    insta::assert_snapshot!(case.transcript(), @"
    < crash
    + Resumed, 0 lost
    + ApprovalExpired
    + StepSettled mail failed expired: nobody answered in time
    + RunEnded expired: nobody answered in time
    > done expired
    ");
}

#[test]
fn silence_may_ask_for_another_plan() {
    let revised = MAIL
        .replace("  - { id: mail,", "  - { id: mail, tool: mail.send, args: { to: team, text: '${ steps.count.output.total } open' }, accept: ['${ output.done }'] }\n  - { id: note, needs: [count],")
        .replacen("tool: mail.send, args: { to: team, text: '${ steps.count.output.total } open' }, accept: ['${ output.done }'] }\nanswer", "tool: note.put, args: { to: box }, accept: ['${ output.done }'] }\nanswer", 1)
        .replace("steps.mail.status", "steps.note.status");
    let case = under("@expires(\"1h\") @on_expiry(\"replan\")")
        .replans(&revised)
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .tick(3_601_000)
        .ends("note", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < tick 3601000
    + ApprovalExpired
    + StepSettled mail failed expired: nobody answered in time
    + ReplanRequested expired
    + PlanRequested
    > plan request 2: expired
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["note"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted note#1 permit
    > call note#1 note.put {"to":"box"}
    < note#1 ok happened
    + AttemptEnded note#1 ok happened
    + ObservationMade note data
    + StepSettled note succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
}

/// What is in flight when a card lapses settles before the run ends.
#[test]
fn silence_does_not_lose_what_is_in_flight() {
    let plan = MAIL.replace(
        "answer:",
        "  - { id: slow, tool: note.put, needs: [count], args: { to: box }, accept: ['${ output.done }'] }\nanswer:",
    );
    let case = Case::under(&asks("@expires(\"1h\")"), &plan)
        .started()
        .ends("count", ok(json!({ "total": 4 })))
        .quietly()
        .tick(3_601_000)
        .ends("slow", ok(json!({ "done": true })));
    insta::assert_snapshot!(case.transcript(), @"
    < tick 3601000
    + ApprovalExpired
    + StepSettled mail failed expired: nobody answered in time
    < slow#1 ok happened
    + AttemptEnded slow#1 ok happened
    + ObservationMade slow data
    + StepSettled slow succeeded
    + RunEnded expired: nobody answered in time
    > done expired
    ");
}

#[test]
fn a_step_may_ask_for_more_caution_than_policy() {
    let plan = MAIL
        .replace("mail.send", "note.put")
        .replace("{ id: mail,", "{ id: mail, approval: required,");
    let case = Case::new(&plan)
        .started()
        .ends("count", ok(json!({ "total": 4 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + ApprovalRequested mail ["calls", "plan:approval-required"]: {"text":"4 open","to":"team"}
    > ask about mail
    "#);
}

#[test]
fn what_policy_forbids_at_run_time_is_not_called() {
    let policy = r#"
permit (principal, action, resource);
@id("few") forbid (principal, action == Action::"note.put", resource)
when { context.args has count && context.args.count > 3 };
"#;
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: count, tool: look.up }
  - { id: put, tool: note.put, args: { to: box, count: '${ steps.count.output.total }' }, accept: ['${ output.done }'] }
answer: done
"#;
    let run = |total: i64| {
        Case::under(policy, plan)
            .started()
            .ends("count", ok(json!({ "total": total })))
    };
    insta::assert_snapshot!(run(4).transcript(), @"
    < count#1 ok happened
    + AttemptEnded count#1 ok happened
    + ObservationMade count data
    + StepSettled count succeeded
    + StepSettled put failed policy_denied: policy forbids it: `few`
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `put` failed: policy forbids it: `few`
    > done failed
    ");
    assert!(
        run(3).transcript().contains("call put"),
        "the control: three are let through"
    );
}

#[test]
fn a_retry_of_an_approved_call_needs_no_second_yes() {
    let case = asked()
        .approve("ada")
        .quietly()
        .ends("mail", failed(Class::Unavailable, Landing::None))
        .tick(9_000);
    insta::assert_snapshot!(case.transcript(), @r#"
    < mail#1 unavailable none
    + AttemptEnded mail#1 unavailable none again at 1500
    > wait until 1500
    < tick 9000
    + AttemptStarted mail#2 ask approved
    > call mail#2 mail.send {"text":"4 open","to":"team"}
    "#);
}

/// A lapse may end the run: the other cards that lapse in the same moment are not recorded after it.
#[test]
fn nothing_is_recorded_of_other_cards_once_silence_has_ended_the_run() {
    let sink = "to: '${ \"team\" + string(steps.count.output.total) }'";
    let plan = MAIL.replace("to: team", sink);
    let lapses = |n: u32| {
        let again = format!(
            "  - {{ id: again, tool: mail.send, needs: [mail], args: {{ to: other, text: more {n} }}, \
             accept: ['${{ output.done }}'] }}\nanswer:"
        );
        let case = Case::under(&asks("@expires(\"1h\")"), &plan)
            .ask_for_plan()
            .started()
            .approve("bob")
            .ends("count", ok(json!({ "total": n })))
            .amends("bob", Some(&plan.replace("answer:", &again)), None)
            .tick(9_000_000);
        let kinds: Vec<_> = case.journal.iter().map(|(event, _)| event.kind()).collect();
        assert_eq!(kinds.last(), Some(&"RunEnded"), "{}", case.transcript());
        kinds
            .iter()
            .filter(|kind| **kind == "ApprovalExpired")
            .count()
    };
    // Cards lapse in the order of their digests: that of the plan comes first in some of these.
    let seen: BTreeSet<usize> = (0..8).map(lapses).collect();
    assert_eq!(seen, BTreeSet::from([1, 2]));
}

/// The yes of last year begins nothing: it is asked for anew, and counts from then on.
#[test]
fn a_yes_that_is_too_old_when_its_call_begins_is_asked_for_again() {
    let hour = 3_600_000;
    let day = 24 * hour;
    let asks = "@id(\"valid\") @valid(\"1h\") forbid (principal, action in Action::\"call\", \
                resource) when { !resource.attended && resource.effect == \"external\" };";
    let stated = format!("{DEFAULT_POLICY}\n{asks}");
    for (policy, valid) in [(DEFAULT_POLICY, day), (&stated, hour)] {
        for (late, by_crash) in [(false, false), (true, false), (true, true)] {
            for whole_plan in [false, true] {
                let case = Case::under(policy, LETTER);
                let case = if whole_plan {
                    case.ask_for_plan()
                } else {
                    case
                };
                let case = case.started().pause().approve("bob");
                let at = 1_000 + valid - i64::from(!late);
                let case = case.at(at).quietly();
                let case = if by_crash { case.crash() } else { case }.go_on();
                let begun = case.transcript().contains("+ AttemptStarted mail");
                assert_eq!(begun, !late, "{valid} {whole_plan}: {}", case.transcript());
                if late {
                    let case = case.quietly().approve("bob");
                    let begun = case.transcript().contains("+ AttemptStarted mail");
                    assert!(begun, "{}", case.transcript());
                }
            }
        }
    }
}

const LETTER: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.mail.status == "succeeded" }' }]
steps:
  - { id: mail, tool: mail.send, args: { to: team, text: hi }, accept: ['${ output.done }'] }
"#;

const BRANCHES: &str = r#"
schema: provost/plan/v1
success: [{ for: goal, check: '${ steps.last.status == "succeeded" }' }]
steps:
  - { id: mail, tool: mail.send, args: { to: team, text: hi }, accept: ['${ output.done }'] }
  - { id: after, tool: look.up, needs: [mail], args: { to: y } }
  - { id: wipe, tool: disk.wipe, args: { to: x }, accept: ['${ output.done }'] }
  - { id: last, tool: look.up, needs: [wipe], args: { to: x } }
"#;

/// A no to one step is none to what does not depend on it: its card stays open, and the run goes
/// on as far as that leads.
#[test]
fn a_no_to_one_step_leaves_the_others_to_go_on() {
    let case = Case::new(BRANCHES).started();
    let card = |case: &Case, step: &str| {
        let mut open = case.state().open_cards();
        open.find(|(_, card)| card.step() == Some(step))
            .map(|(digest, _)| *digest)
    };
    let (mail, wipe) = (card(&case, "mail").unwrap(), card(&case, "wipe").unwrap());
    let case = case.rejects("ada", mail, false);
    assert_eq!(card(&case, "wipe"), Some(wipe), "{}", case.transcript());
    let case = case
        .crash()
        .approve_card("ada", wipe)
        .ends("wipe", ok(json!({ "done": true })))
        .ends("last", ok(json!({ "total": 1 })));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says no to that card
    + ApprovalRejected by ada: not so
    + StepSettled mail failed rejected: not so
    + ReplanRequested rejected
    + PlanRequested
    > plan request 2: rejected
    + PlanGivenUp: nothing better is known
    + StepBlocked after on mail
    < crash
    + Resumed, 0 lost
    > ask about wipe
    < ada says yes to that card
    + ApprovalGiven by ada
    + AttemptStarted wipe#1 ask approved
    > call wipe#1 disk.wipe {"to":"x"}
    < wipe#1 ok happened
    + AttemptEnded wipe#1 ok happened
    + ObservationMade wipe data
    + StepSettled wipe succeeded
    + AttemptStarted last#1 permit
    > call last#1 look.up {"to":"x"}
    < last#1 ok happened
    + AttemptEnded last#1 ok happened
    + ObservationMade last data
    + StepSettled last succeeded
    + RunEnded succeeded
    > done succeeded
    "#);
    let case = Case::new(BRANCHES).started().rejects("ada", mail, true);
    assert_eq!(case.status(), "rejected", "{}", case.transcript());
}

/// Without what was rejected the criteria do not hold: then the run ends as rejected.
#[test]
fn a_run_that_a_no_kept_from_its_goal_ends_as_rejected() {
    let plan = BRANCHES.replace("steps.last.status", "steps.after.status");
    let case = Case::new(&plan).started();
    let mut open = case.state().open_cards();
    let mail = open.find(|(_, card)| card.step() == Some("mail"));
    let mail = *mail.unwrap().0;
    drop(open);
    let case = case
        .rejects("ada", mail, false)
        .approve("ada")
        .ends("wipe", ok(json!({ "done": true })))
        .ends("last", ok(json!({ "total": 1 })));
    assert_eq!(case.status(), "rejected", "{}", case.transcript());
}
