//! Subgoals: refined when the run has come to them, inside their envelopes, and no further.

use crate::case::{Case, failed, ok, plan_reply};
use provost_plan::plan::request::{PlanReply, PlanningMode, RequestKind};
use provost_run::event::{Event, RunStatus, Settlement};
use provost_run::machine::Run;
use provost_run::outcome::{Class, Landing};
use serde_json::{Value, json};

/// A plan with a subgoal `find`, the `result` of it and steps beside it.
fn plan(result: &str, steps: &str) -> String {
    let result = match result {
        "" => String::new(),
        text => format!("    result: '${{ {text} }}'\n"),
    };
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.find.status == "succeeded" }}' }}
steps:
  - id: find
    subgoal: Find out how many there are
    tools: [look.up]
    effect_max: read
    steps_max: 2
    output: {{ type: integer }}
{result}{steps}
answer: "found ${{ steps.find.output }}"
"#
    )
}

const A: &str = "  - { id: find/a, tool: look.up, args: { to: a } }\n";
const B: &str = "  - { id: find/b, tool: look.up, args: { to: b } }\n";
const TOTAL: &str = "steps[\"find/a\"].output.total";
const BOTH: &str = "steps[\"find/a\"].output.total + steps[\"find/b\"].output.total";

fn total(total: i64) -> provost_run::outcome::Reply {
    ok(json!({ "total": total }))
}

/// The case of a program that plans: first a coarse plan, then these.
fn refined(replies: &[&str]) -> Case {
    let case = Case::new(&plan("", "")).by_a_program();
    replies.iter().fold(case, |case, reply| case.replans(reply))
}

fn codes(case: &Case) -> Vec<Vec<String>> {
    let of = |event: &(Event, i64)| match &event.0 {
        Event::PlanRefused { findings, .. } => {
            Some(findings.iter().map(|f| f.code.clone()).collect())
        }
        _ => None,
    };
    case.journal.iter().filter_map(of).collect()
}

fn status(case: &Case) -> Option<RunStatus> {
    case.state().ending.ended.as_ref().map(|ended| ended.status)
}

#[test]
fn a_subgoal_is_refined_step_by_step_and_comes_to_its_result() {
    let case = refined(&[
        &plan("", A),
        &plan("", &format!("{A}{B}")),
        &plan(BOTH, &format!("{A}{B}")),
    ]);
    let case = case
        .begin()
        .ends("find/a", total(2))
        .ends("find/b", total(3));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ReplanRequested refine
    + PlanRequested
    > plan request 2: refine
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["find/a"] changed ["find"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted find/a#1 permit
    > call find/a#1 look.up {"to":"a"}
    < find/a#1 ok happened
    + AttemptEnded find/a#1 ok happened
    + ObservationMade find/a data
    + StepSettled find/a succeeded
    + ReplanRequested refine
    + PlanRequested
    > plan request 3: refine
    + PlanProposed
    + PlanChecked revision 3
    + PlanRevised added ["find/b"] changed ["find"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted find/b#1 permit
    > call find/b#1 look.up {"to":"b"}
    < find/b#1 ok happened
    + AttemptEnded find/b#1 ok happened
    + ObservationMade find/b data
    + StepSettled find/b succeeded
    + ReplanRequested refine
    + PlanRequested
    > plan request 4: refine
    + PlanProposed
    + PlanChecked revision 4
    + PlanRevised added [] changed ["find"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + ObservationMade find data
    + StepSettled find succeeded
    + RunEnded succeeded ["found 5"]
    > done succeeded
    "#);
    let asked: Vec<Value> = case.requests()[1..]
        .iter()
        .map(|request| {
            json!([
                request.kind,
                request.why,
                request.envelope,
                request.observations
            ])
        })
        .collect();
    insta::assert_snapshot!(json!(asked), @r#"[["refine",{"kind":"refine","step":"find"},{"step":"find","subgoal":"Find out how many there are","tools":["look.up"],"effect_max":"read","steps_left":2,"output":{"type":"integer"}},{}],["refine",{"kind":"refine","step":"find"},{"step":"find","subgoal":"Find out how many there are","tools":["look.up"],"effect_max":"read","steps_left":1,"output":{"type":"integer"}},{"find/a":{"status":"succeeded","output":{"total":2}}}],["refine",{"kind":"refine","step":"find"},{"step":"find","subgoal":"Find out how many there are","tools":["look.up"],"effect_max":"read","steps_left":0,"output":{"type":"integer"}},{"find/a":{"status":"succeeded","output":{"total":2}},"find/b":{"status":"succeeded","output":{"total":3}}}]]"#);
}

/// Steps beside it go on first; nothing is on its way while the planner is asked.
#[test]
fn a_planner_is_asked_for_a_refinement_once_nothing_is_on_its_way() {
    let beside = "  - { id: look, tool: look.up }\n";
    let used = |plan: String| plan.replace("answer: \"", "answer: \"${ steps.look.output.total } ");
    let case = Case::new(&used(plan("", beside)))
        .by_a_program()
        .replans(&used(plan(TOTAL, &format!("{beside}{A}"))))
        .begin();
    assert_eq!(case.requests().len(), 1, "look is on its way");
    let wants = |(event, _): &(Event, i64)| matches!(event, Event::ReplanRequested { .. });
    assert!(
        !case.journal.iter().any(wants),
        "what is wanted holds up what could begin"
    );
    let case = case.ends("look", total(1));
    assert_eq!(case.requests()[1].kind, RequestKind::Refine);
    let case = case.ends("find/a", total(2));
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
}

#[test]
fn what_refines_more_than_the_subgoal_goes_back() {
    let coarse = plan("", A);
    let table = [
        // Another step, another description, another proof, another answer, nothing at all.
        coarse.replace("answer:", "  - { id: more, tool: look.up }\nanswer:"),
        coarse.replace("how many there are", "who is there"),
        coarse.replace("steps_max: 2", "steps_max: 3"),
        coarse.replace("tools: [look.up]", "tools: [look.up, note.put]"),
        coarse.replace("== \"succeeded\"", "!= \"failed\""),
        coarse.replace("found", "there are"),
        plan("", ""),
    ];
    for wrong in table {
        let case = refined(&[&wrong, &coarse]).begin();
        assert_eq!(codes(&case).len(), 1, "{wrong}");
        let last = codes(&case)[0].last().unwrap().clone();
        assert_eq!(last, "R115", "{wrong}");
        // The control: what only refines comes into force.
        assert_eq!(case.state().in_force.revision, 2, "{wrong}");
    }
}

#[test]
fn a_step_beyond_the_envelope_goes_back() {
    let put = "  - { id: find/a, tool: note.put, args: { to: a }, accept: ['${ output.done }'] }\n";
    let c = "  - { id: find/c, tool: look.up, args: { to: c } }\n";
    for wrong in [put.to_owned(), format!("{A}{B}{c}")] {
        let case = refined(&[&plan("", &wrong), &plan("", A)]).begin();
        assert!(codes(&case)[0].contains(&"V604".to_owned()), "{wrong}");
        assert_eq!(case.state().in_force.revision, 2);
    }
}

/// An envelope that admits a write gives no yes to it.
#[test]
fn an_envelope_never_answers_an_ask() {
    let writing = |steps: &str| {
        let coarse = plan("", steps).replace("[look.up]", "[mail.send]");
        coarse.replace("effect_max: read", "effect_max: external")
    };
    let send =
        "  - { id: find/a, tool: mail.send, args: { to: a }, accept: ['${ output.done }'] }\n";
    let case = Case::new(&writing(""))
        .by_a_program()
        .replans(&writing(send))
        .begin();
    assert_eq!(case.state().status(), RunStatus::WaitingApproval);
    assert_eq!(case.card().step(), Some("find/a"));
}

#[test]
fn refinements_are_not_counted_as_revisions() {
    let case = refined(&[
        &plan("", A),
        &plan("", &format!("{A}{B}")),
        &plan(BOTH, &format!("{A}{B}")),
    ]);
    let case = case.limits(|limits| limits.revisions = 0).begin();
    let case = case.ends("find/a", total(2)).ends("find/b", total(3));
    assert_eq!(
        (
            case.state().in_force.revision,
            case.state().in_force.refinements
        ),
        (4, 3)
    );
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
    // The control: a failed step is replanned within that limit, which is 0.
    let case = refined(&[&plan("", A), &plan("", &format!("{A}{B}"))]);
    let case = case.limits(|limits| limits.revisions = 0).begin();
    let case = case.ends("find/a", failed(Class::NotFound, Landing::None));
    assert_eq!(status(&case), None, "a person is asked what follows");
    assert_eq!(case.state().status(), RunStatus::WaitingAnswer);
}

#[test]
fn a_failed_step_of_a_subgoal_is_replanned_like_any_other() {
    let case = refined(&[
        &plan("", A),
        &plan("", &format!("{A}{B}")),
        &plan("steps[\"find/b\"].output.total", &format!("{A}{B}")),
    ]);
    let case = case
        .begin()
        .ends("find/a", failed(Class::NotFound, Landing::None));
    let case = case.ends("find/b", total(3));
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ReplanRequested refine
    + PlanRequested
    > plan request 2: refine
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["find/a"] changed ["find"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted find/a#1 permit
    > call find/a#1 look.up {"to":"a"}
    < find/a#1 not_found none
    + AttemptEnded find/a#1 not_found none
    + StepSettled find/a failed not_found: it went wrong
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 3: step_failed
    + PlanProposed
    + PlanChecked revision 3
    + PlanRevised added ["find/b"] changed ["find"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted find/b#1 permit
    > call find/b#1 look.up {"to":"b"}
    < find/b#1 ok happened
    + AttemptEnded find/b#1 ok happened
    + ObservationMade find/b data
    + StepSettled find/b succeeded
    + ReplanRequested refine
    + PlanRequested
    > plan request 4: refine
    + PlanProposed
    + PlanChecked revision 4
    + PlanRevised added [] changed ["find"] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + ObservationMade find data
    + StepSettled find succeeded
    + RunEnded succeeded ["found 3"]
    > done succeeded
    "#);
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
}

#[test]
fn a_result_that_is_not_what_was_promised_fails_the_subgoal() {
    let loose = |result: &str| {
        plan(result, A).replace("{ type: integer }", "{ type: integer, maximum: 5 }")
    };
    let case = Case::new(&loose(TOTAL)).by_a_program().begin();
    let case = case.quietly().ends("find/a", total(9));
    insta::assert_snapshot!(case.transcript(), @"
    < find/a#1 ok happened
    + AttemptEnded find/a#1 ok happened
    + ObservationMade find/a data
    + StepSettled find/a succeeded
    + StepSettled find failed output_invalid: the result does not fit `output` at `/`: value is greater than the maximum of 5
    + ReplanRequested step_failed
    + PlanRequested
    > plan request 2: step_failed
    + PlanGivenUp: nothing better is known
    + RunEnded failed: step `find` failed: the result does not fit `output` at `/`: value is greater than the maximum of 5
    > done failed
    ");
    // The control: what fits is the output.
    let case = Case::new(&loose(TOTAL)).by_a_program().begin();
    let case = case.ends("find/a", total(4));
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
}

#[test]
fn a_planner_that_cannot_refine_leaves_it_to_a_person() {
    let decline = PlanReply::Decline("I do not know how".to_owned());
    let case = refined(&[]).replies(decline).begin();
    insta::assert_snapshot!(case.transcript(), @r#"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanChecked revision 1
    + RunStarted
    + ReplanRequested refine
    + PlanRequested
    > plan request 2: refine
    + PlanHandedOn to a person: I do not know how
    + QuestionAsked
    > question "there is no refinement of `find`: I do not know how. ask process test again, or stop?"
    "#);
    let again = case.replans(&plan(TOTAL, A)).answer("ada", json!("again"));
    let again = again.ends("find/a", total(1));
    assert_eq!(status(&again), Some(RunStatus::Succeeded));
}

#[test]
fn a_person_who_stops_it_ends_the_run() {
    let decline = PlanReply::Decline("I do not know how".to_owned());
    let case = refined(&[]).replies(decline).begin();
    let case = case.quietly().answer("ada", json!("stop"));
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada answers "stop"
    + QuestionAnswered
    + RunEnded failed: no planner refined the subgoal `find`
    > done failed
    "#);
}

#[test]
fn who_refines_nothing_may_leave_nothing_open() {
    let case = Case::new(&plan("", "")).begin();
    insta::assert_snapshot!(case.transcript(), @"
    + RunCreated
    + GoalInterpreted
    + PlanRequested
    > plan request 1
    + PlanProposed
    + PlanRefused R116
    + PlanRequested
    > plan request 2
    + PlanGivenUp: nothing better is known
    + RunEnded refused: nothing better is known; first error R116: nobody would refine `find`: playbook test plans this run
    > done refused
    ");
    // The control: a subgoal with its steps and its result runs whoever wrote it.
    let case = Case::new(&plan(TOTAL, A)).begin().ends("find/a", total(1));
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
}

#[test]
fn a_guard_of_a_subgoal_is_that_of_its_steps() {
    let guarded = |steps: &str, result: &str| {
        plan(result, steps)
            .replace(
                "    subgoal:",
                "    when: ${ steps.look.output.total > 0 }\n    subgoal:",
            )
            .replace(
                "answer: \"found ${ steps.find.output }\"",
                "  - { id: look, tool: look.up }\nanswer: \"${ steps.look.output.total }\"",
            )
            .replace(
                "steps.find.status == \"succeeded\"",
                "steps.find.status in [\"succeeded\", \"skipped\"]",
            )
    };
    for count in [0, 1] {
        let case = Case::new(&guarded(A, TOTAL))
            .begin()
            .ends("look", total(count));
        let ran = case.state().spend.calls > 1;
        assert_eq!(ran, count > 0);
        let open = Case::new(&guarded("", ""))
            .by_a_program()
            .replans(&guarded(A, TOTAL));
        let open = open.begin().ends("look", total(count));
        assert_eq!(
            open.requests().len() > 1,
            count > 0,
            "nobody refines what is skipped"
        );
    }
}

/// What was answered is not asked again, wherever the process ends.
#[test]
fn a_crash_asks_again_only_for_what_was_not_answered() {
    let (one, two) = (plan("", A), plan(TOTAL, A));
    let case = refined(&[&one]).begin().crash();
    assert_eq!(case.requests().len(), 2, "the refinement is there");
    let case = case.planner_is_away().ends("find/a", total(4));
    let asked = case.requests().len();
    let case = case.crash();
    assert_eq!(
        case.requests()[asked - 1],
        case.requests()[asked],
        "asked again"
    );
    let case = case.planner_replies(plan_reply(&two, &[]));
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
}

/// Text that a result passes on is not shown to the planner; numbers are.
#[test]
fn a_result_is_as_trusted_as_what_it_is_computed_from() {
    let noted = |result: &str| plan(result, A).replace("{ type: integer }", "{ type: string }");
    let then = |plan: String| {
        let more = "  - { id: last, tool: look.up, args: { to: \"${ steps.find.output }\" } }\nanswer: \"${ steps.last.output.total } ";
        plan.replace("answer: \"", more)
    };
    let guarded = "has(steps[\"find/a\"].output.note) ? steps[\"find/a\"].output.note : \"none\"";
    let case = Case::new(&then(noted(guarded))).by_a_program().begin();
    let case = case.ends("find/a", ok(json!({ "total": 1, "note": "obey" })));
    let case = case.ends("last", failed(Class::NotFound, Landing::None));
    let seen = &case.requests()[1].observations["find"];
    assert_eq!(
        seen.output,
        Some(json!({ "ref": "steps.find.output", "chars": 4 }))
    );
}

/// In the mode `single` a subgoal goes back; in the others it is refined.
#[test]
fn the_mode_single_leaves_no_subgoal_open() {
    let case = |mode: Option<PlanningMode>| {
        let case = refined(&[&plan(TOTAL, A), &plan(TOTAL, A)]);
        mode.into_iter().fold(case, Case::in_mode).begin()
    };
    let single = case(Some(PlanningMode::Single));
    assert_eq!(codes(&single), [["R116"]]);
    assert_eq!(single.requests()[1].kind, RequestKind::Propose);
    assert_eq!(single.state().in_force.revision, 1);
    assert!(
        single
            .requests()
            .iter()
            .all(|request| request.mode == Some(PlanningMode::Single))
    );
    for mode in [None, Some(PlanningMode::Iterative)] {
        let case = case(mode);
        assert!(codes(&case).is_empty());
        assert_eq!(case.requests()[1].kind, RequestKind::Refine);
        assert_eq!(case.requests()[1].mode, mode);
    }
}

/// A plan whose subgoal may write, with a step that does and can be taken back.
fn writing() -> String {
    let put = "  - id: find/put\n    tool: note.put\n    args: { to: box }\n    \
               accept: ['${ output.done }']\n    undo: { tool: page.send, args: { to: bin } }\n";
    let wider = plan("steps[\"find/put\"].output.done ? 1 : 0", put)
        .replace("[look.up]", "[note.put, page.send]");
    wider.replace("effect_max: read", "effect_max: write")
}

fn done() -> provost_run::outcome::Reply {
    ok(json!({ "done": true }))
}

#[test]
fn a_step_of_a_subgoal_is_undone_by_its_own_name() {
    let hold = "  - { id: hold, question: go on?, needs: [find] }\nanswer:";
    let case = Case::new(&writing().replace("answer:", hold)).begin();
    let case = case.ends("find/put", done()).quietly();
    let case = case.cancel_and_undo("ada").ends("undo/find/put", done());
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada cancels, undoing
    + CancelRequested
    + UndoPlanned ["undo/find/put"]
    + PlanChecked revision 2
    + PlanRevised added ["undo/find/put"] changed [] removed []
    + ApprovalsRevised retain [] replace [] clear []
    + AttemptStarted undo/find/put#1 permit
    > call undo/find/put#1 page.send {"to":"bin"}
    < undo/find/put#1 ok happened
    + AttemptEnded undo/find/put#1 ok happened
    + ObservationMade undo/find/put data
    + StepSettled undo/find/put succeeded
    + RunEnded cancelled: cancelled by ada; undone: 1
    > done cancelled
    "#);
    assert_eq!(status(&case), Some(RunStatus::Cancelled));
}

/// Nobody knows whether a step of it took place: the subgoal waits for the word on it.
#[test]
fn a_subgoal_waits_for_the_end_of_a_doubt() {
    let case = Case::new(&writing()).begin();
    let case = case.ends("find/put", failed(Class::Timeout, Landing::Unknown));
    assert_eq!(case.state().status(), RunStatus::InDoubt);
    let known = Some(json!({ "done": true }));
    let case = case.settle("find/put", Settlement::Happened, known);
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
}

/// Who said yes to a plan said it to what rests on the subgoal as it was; they are asked again.
#[test]
fn what_rests_on_a_subgoal_is_asked_about_again_when_it_is_refined() {
    let mail = "  - { id: mail, tool: mail.send, args: { to: team, count: \"${ steps.find.output }\" }, \
                accept: ['${ output.done }'] }\n";
    let case = Case::new(&plan("", mail)).by_a_program().ask_for_plan();
    let case = case.replans(&plan(TOTAL, &format!("{A}{mail}"))).begin();
    assert_eq!(case.state().status(), RunStatus::WaitingApproval);
    assert_eq!(
        case.requests().len(),
        1,
        "nobody refines before the plan is approved"
    );
    let case = case.quietly().approve("ada");
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes
    + ApprovalGiven by ada
    + ReplanRequested refine
    + PlanRequested
    > plan request 2: refine
    + PlanProposed
    + PlanChecked revision 2
    + PlanRevised added ["find/a"] changed ["find", "mail"] removed []
    + ApprovalsRevised retain [] replace ["mail"] clear []
    + ApprovalRequested the plan: mail ["outside-communication", "untrusted-sink"]
    > ask about the plan
    "#);
}

/// A person answers inside a subgoal as anywhere, and the answer is trusted.
#[test]
fn a_subgoal_may_be_refined_into_a_question() {
    let ask = "  - { id: find/ask, question: { text: how many?, answer: { type: integer } } }\n";
    let case = refined(&[&plan("steps[\"find/ask\"].output", ask)]).begin();
    let case = case.answer("bob", json!(4));
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
    assert_eq!(case.state().steps["find"].view["output"], 4);
}

/// A refinement that brings nothing new, again and again, is a circle like any other.
#[test]
fn refinements_that_lead_nowhere_have_an_end() {
    let skipped = |name: &str| {
        format!(
            "  - {{ id: find/{name}, when: '${{ run.started_at == \"never\" }}', tool: look.up }}\n"
        )
    };
    let more = |names: &[&str]| {
        let steps: String = names.iter().map(|name| skipped(name)).collect();
        plan("", &steps).replace("steps_max: 2", "steps_max: 9")
    };
    let case = Case::new(&more(&[])).by_a_program();
    let case = case.replans(&more(&["a"])).replans(&more(&["a", "b"]));
    let case = case.replans(&more(&["a", "b", "c"])).begin();
    let asked = case
        .requests()
        .iter()
        .filter(|r| r.kind == RequestKind::Refine);
    assert_eq!(asked.count(), 2, "{}", case.transcript());
    assert_eq!(case.state().status(), RunStatus::WaitingAnswer);
}

/// Cut after every event: the run folds and goes on, and what had ended stays as it was.
#[test]
fn after_every_event_of_a_refinement_the_next_process_goes_on() {
    let case = refined(&[
        &plan("", A),
        &plan("", &format!("{A}{B}")),
        &plan(BOTH, &format!("{A}{B}")),
    ]);
    let case = case
        .begin()
        .ends("find/a", total(2))
        .ends("find/b", total(3));
    assert_eq!(status(&case), Some(RunStatus::Succeeded));
    for length in 1..case.journal.len() {
        let mut run = case.folded(length);
        let views = |run: &Run| -> Vec<(String, Value)> {
            let over = run
                .state()
                .steps
                .iter()
                .filter(|(_, step)| step.status.is_final());
            over.map(|(id, step)| (id.clone(), step.view.clone()))
                .collect()
        };
        let (before, requests) = (views(&run), run.state().planning.requests);
        let revision = run.state().in_force.revision;
        let events = crate::case::take_up(&mut run, 10_000);
        let state = run.state();
        let goes_on = state.is_busy()
            || state.open_questions().next().is_some()
            || state.planning.outstanding.is_some()
            || state.ending.ended.is_some();
        assert!(goes_on, "nothing can happen after event {length}");
        assert_eq!(
            state.in_force.revision, revision,
            "what was planned stays after {length}"
        );
        assert!(state.planning.requests <= requests + 1);
        let asked = events.iter().filter(|e| e.kind() == "PlanRequested");
        let asked = asked.count();
        let waited = case.folded(length).state().planning.outstanding.is_some();
        assert!(!waited || asked == 0, "asked anew after {length}");
        let after = views(&run);
        assert!(
            before.iter().all(|fact| after.contains(fact)),
            "after {length}"
        );
    }
}
