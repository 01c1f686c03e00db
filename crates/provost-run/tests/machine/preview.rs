//! Previews: what a person is shown of what a call is about, and that nothing hangs on it.

use crate::case::{Case, failed, ok, rules_with};
use provost_plan::catalog::{Operation, Preview};
use provost_run::admission::{Denial, Stop};
use provost_run::card::{CardSubject, PreviewResult};
use provost_run::machine::Rules;
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::state::ItemState;
use serde_json::{Value, json};

const MAIL: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: mail, tool: mail.send, args: { to: cus_81 }, accept: ['${ output.done }'] }
answer: done
"#;

fn rules(change: impl Fn(&mut Operation)) -> Rules {
    rules_with(|operation| {
        operation.preview = (operation.name == "mail.send").then(|| Preview {
            tool: "look.up".to_owned(),
            args: json!({ "to": "${ args.to }" }),
        });
        change(operation);
    })
}

fn of(plan: &str) -> Case {
    Case::of(rules(|_| {}), plan)
}

fn ada() -> Reply {
    ok(json!({ "total": 1, "note": "Ada Moreau, Lyon" }))
}

fn sent() -> Reply {
    ok(json!({ "done": true }))
}

fn item(case: &Case) -> ItemState {
    let (_, item) = case.state().items().next().unwrap();
    item.clone()
}

#[test]
fn a_card_shows_what_a_call_is_about() {
    let case = of(MAIL).begin();
    let case = case.ends("mail", ada()).approve("ada").ends("mail", sent());
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + AttemptStarted mail#0 permit
    > call mail#0 look.up {"to":"cus_81"}
    < mail#0 ok happened
    + AttemptEnded mail#0 ok none
    + ApprovalRequested mail ["outside-communication"]: {"to":"cus_81"} [look.up {"to":"cus_81"}: untrusted {"total":1,"note":"Ada Moreau, Lyon"}]
    > ask about mail
    < ada says yes
    + ApprovalGiven by ada
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"to":"cus_81"}
    < mail#1 ok happened
    + AttemptEnded mail#1 ok happened
    + ObservationMade mail data
    + StepSettled mail succeeded
    + RunEnded succeeded ["done"]
    > done succeeded
    "#);
    let state = case.state();
    assert_eq!(
        (state.spend.calls, state.spend.attempts),
        (1, 2),
        "a preview is no call of the plan"
    );
}

/// The control: without the declaration nothing is read, and the card has the arguments alone.
#[test]
fn without_a_preview_the_question_comes_at_once() {
    let case = Case::of(rules(|o| o.preview = None), MAIL).begin();
    let shown = serde_json::to_value(case.card()).unwrap();
    assert_eq!(shown.pointer("/subject/calls/0/preview"), None);
    assert_eq!(case.state().spend.attempts, 0);
}

#[test]
fn a_preview_that_fails_is_said_and_the_question_is_asked_all_the_same() {
    let ends = [
        failed(Class::Unavailable, Landing::None),
        failed(Class::Timeout, Landing::Unknown),
        ok(json!({ "names": "no list" })),
        Reply {
            lacks: Some("env:CRM".to_owned()),
            ..failed(Class::PermissionDenied, Landing::None)
        },
    ];
    let cards: Vec<String> = ends
        .into_iter()
        .map(|reply| {
            let case = of(MAIL).started().ends("mail", reply);
            assert_eq!(case.status(), "waiting_approval");
            let asked = case.transcript();
            let case = case.approve("ada").ends("mail", sent());
            assert_eq!(case.status(), "succeeded");
            asked
        })
        .collect();
    insta::assert_snapshot!(cards.join("\n"), @r#"
    < mail#0 unavailable none
    + AttemptEnded mail#0 unavailable none
    + ApprovalRequested mail ["outside-communication"]: {"to":"cus_81"} [look.up {"to":"cus_81"}: failed, unavailable: it went wrong]
    > ask about mail

    < mail#0 timeout unknown
    + AttemptEnded mail#0 timeout none
    + ApprovalRequested mail ["outside-communication"]: {"to":"cus_81"} [look.up {"to":"cus_81"}: failed, timeout: it went wrong]
    > ask about mail

    < mail#0 ok happened
    + AttemptEnded mail#0 output_invalid none
    + ApprovalRequested mail ["outside-communication"]: {"to":"cus_81"} [look.up {"to":"cus_81"}: failed, output_invalid: the output does not fit: value is not of type "array"]
    > ask about mail

    < mail#0 permission_denied none
    + AttemptEnded mail#0 permission_denied none
    + ApprovalRequested mail ["outside-communication"]: {"to":"cus_81"} [look.up {"to":"cus_81"}: failed, permission_denied: it went wrong]
    > ask about mail
    "#);
}

/// What keeps the read from beginning is said as well, and only a stop stops.
#[test]
fn a_preview_that_may_not_begin_is_said_too() {
    let denied = |denial: Denial| of(MAIL).denying(vec![("mail", denial)]).begin();
    let later = Denial::Later {
        until: 900_000,
        because: "`look` may be called again in 15 min".to_owned(),
        broken: false,
    };
    let full = Denial::Full {
        because: "no place at `look` is free".to_owned(),
    };
    let forbids = r#"
permit (principal, action in Action::"call", resource) when { resource.attended };
forbid (principal, action == Action::"look.up", resource);
"#;
    let forbidden = Rules {
        catalog: rules(|_| {}).catalog,
        ..crate::case::rules(forbids)
    };
    let unfit = rules(|operation| {
        if let Some(preview) = &mut operation.preview {
            preview.args = json!({ "count": "${ args.to }" });
        }
    });
    let cases = [
        denied(later),
        denied(full),
        Case::of(forbidden, MAIL).begin(),
        Case::of(unfit, MAIL).begin(),
    ];
    let cards: Vec<String> = cases
        .iter()
        .map(|case| {
            assert_eq!(case.status(), "waiting_approval", "{}", case.transcript());
            assert_eq!(case.state().spend.attempts, 0);
            let CardSubject::Step { calls, .. } = &case.card().subject else {
                panic!("a card of a step");
            };
            match &calls[0].preview.as_ref().unwrap().came {
                PreviewResult::Failed(reason) => reason.clone(),
                PreviewResult::Shown(shown) => panic!("{shown:?}"),
            }
        })
        .collect();
    insta::assert_snapshot!(cards.join("\n"), @r#"
    `look` may be called again in 15 min
    no place at `look` is free
    policy does not permit it by itself
    argument `/count`: value is not of type "integer"
    "#);
    let stopped = denied(Denial::Stopped(Stop {
        what: "tool `look`".to_owned(),
        by: "bob".to_owned(),
        reason: "wait".to_owned(),
    }));
    assert_eq!(stopped.status(), "paused");
}

#[test]
fn a_crash_at_any_point_asks_once_and_sends_once() {
    let begun = of(MAIL).started().crash();
    insta::assert_snapshot!(begun.transcript(), @r#"
    < crash
    + Resumed, 1 lost
    + AttemptEnded mail#0 unavailable none lost
    + AttemptStarted mail#0 permit
    > call mail#0 look.up {"to":"cus_81"}
    "#);
    let shown = begun.ends("mail", ada());
    let card = shown.open_card();
    let again = shown.quietly().crash();
    insta::assert_snapshot!(again.transcript(), @"
    < crash
    + Resumed, 0 lost
    > ask about mail
    ");
    assert_eq!(again.open_card(), card, "the same card is shown again");
    let case = again.approve("ada").crash();
    assert_eq!(item(&case).history.attempt, 1, "{}", case.transcript());
}

/// The events between the end of the read and the question may be lost together or kept apart.
#[test]
fn what_was_read_is_kept_for_the_card() {
    let case = of(MAIL).started().ends("mail", ada());
    let asked = case.journal.len();
    assert_eq!(case.journal[asked - 1].0.kind(), "ApprovalRequested");
    let between = case.folded(asked - 1);
    let (_, known) = between.state().items().next().unwrap();
    assert!(known.consent.preview.is_some() && known.in_flight.is_none());
    let lost = case.folded(asked - 2);
    let (_, known) = lost.state().items().next().unwrap();
    assert_eq!(known.flying(), Some(0));
}

#[test]
fn a_list_is_asked_about_once_all_of_it_is_shown() {
    let plan = MAIL.replace("to: cus_81", "to: '${ item }'").replace(
        "tool: mail.send,",
        "tool: mail.send, for_each: '${ [\"cus_81\", \"cus_82\"] }',",
    );
    let case = of(&plan).started();
    let case = case.ends("mail[1]", failed(Class::NotFound, Landing::None));
    assert_eq!(case.status(), "running");
    let case = case.ends("mail[0]", ada());
    insta::assert_snapshot!(case.transcript(), @r#"
    < mail[1]#0 not_found none
    + AttemptEnded mail[1]#0 not_found none
    < mail[0]#0 ok happened
    + AttemptEnded mail[0]#0 ok none
    + ApprovalRequested mail ["outside-communication"]: {"to":"cus_81"} [look.up {"to":"cus_81"}: untrusted {"total":1,"note":"Ada Moreau, Lyon"}] {"to":"cus_82"} [look.up {"to":"cus_82"}: failed, not_found: it went wrong]
    > ask about mail
    "#);
}

/// A yes is to a call; what was shown beside it is under the digest of the card.
#[test]
fn what_was_shown_is_under_the_digest_and_a_second_reading_asks_no_second_time() {
    let case = of(MAIL).started().ends("mail", ada());
    let mut card = case.card().clone();
    assert_eq!(card.digest(), case.open_card());
    let CardSubject::Step { calls, .. } = &mut card.subject else {
        panic!("a card of a step");
    };
    let mut other = calls[0].clone();
    other.preview.as_mut().unwrap().came = PreviewResult::Failed("gone".to_owned());
    assert!(other.is_same(&calls[0]), "the call is the same");
    calls[0] = other;
    assert_ne!(card.digest(), case.open_card(), "the card is not");
}

#[test]
fn a_large_output_is_cut_to_the_room_on_a_card() {
    let names: Vec<Value> = (0..90)
        .map(|n| json!(format!("{n} {}", "x".repeat(900))))
        .collect();
    let case = of(MAIL).started();
    let case = case.ends("mail", ok(json!({ "total": 1, "names": names })));
    let shown = serde_json::to_value(case.card()).unwrap();
    let came = shown
        .pointer("/subject/calls/0/preview/came/shown")
        .unwrap();
    assert_eq!(came.pointer("/cut"), Some(&json!(true)));
    assert!(came.to_string().len() < 6_000, "{}", came.to_string().len());
}

#[test]
fn nothing_is_read_for_a_run_that_is_over() {
    let case = of(MAIL).started().cancel("ada");
    let case = case.ends("mail", ada());
    assert_eq!(case.status(), "cancelled");
    assert!(case.state().open_cards().next().is_none());
}
