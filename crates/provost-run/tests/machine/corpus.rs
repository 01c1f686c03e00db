//! Recorded journals: they fold to the same state for ever, whatever the machine learns.
//!
//! `corpus/runs/NAME.jsonl` holds one event a line, as the store keeps it; `NAME.sha256` the digest
//! of what is remembered after the last. A file is never recorded anew: a changed payload gets a
//! new version and an upgrade in `event.rs`, and a new file beside the old ones.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::case::{Case, failed, ok, plan_reply};
use provost_plan::digest::{Digest, Domain, canonical};
use provost_plan::plan::request::{PlanReply, PlannerQuestion, PlanningMode};
use provost_run::call::Purpose;
use provost_run::event::Event;
use provost_run::machine::Run;
use provost_run::outcome::{Class, Landing};
use provost_run::state::{State, StepState};
use serde_json::{Value, json};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../corpus/runs")
}

/// What a later reader relies on, in a form that new fields of the state do not change.
fn remembered(state: &State) -> Value {
    let item = |item: &provost_run::state::ItemState| {
        json!({
            "settled": item.status(),
            "attempt": item.history.attempt,
            "tries": item.history.tries,
            "first_at": item.history.first_at,
            "retry_at": item.retry_at,
            "in_flight": item.in_flight.is_some(),
            "output": item.output(),
            "evidence": item.history.evidence,
            "card": item.consent.card,
            "approved": item.consent.approved,
            "key": item.history.key,
        })
    };
    let step = |step: &StepState| {
        json!({
            "status": step.status,
            "closure": step.closure,
            "list": step.list,
            "items": step.items.iter().map(item).collect::<Vec<_>>(),
            "class": step.class,
            "view": step.view,
        })
    };
    let steps: BTreeMap<&String, Value> = state
        .steps
        .iter()
        .map(|(id, known)| (id, step(known)))
        .collect();
    let cards: BTreeMap<String, Value> = state
        .people
        .cards
        .iter()
        .map(|(digest, card)| (digest.to_string(), json!([card.open, card.approved_by])))
        .collect();
    let questions: BTreeMap<String, Value> = state
        .people
        .questions
        .iter()
        .map(|(digest, asked)| (digest.to_string(), json!([asked.open, asked.answer])))
        .collect();
    let effects: Vec<Value> = state
        .writes
        .effects
        .iter()
        .map(|e| json!([e.slot, e.operation, e.args_digest, e.landing, e.doubtful]))
        .collect();
    json!({
        "run": state.head.run,
        "goal": state.goals.goal,
        "status": state.status(),
        "revision": state.in_force.revision,
        "plan": state.plan().map(|plan| plan.checked().plan().digest()),
        "granted": state.plan().map(|plan| plan.grants().keys().collect::<Vec<_>>()),
        "steps": steps,
        "cards": cards,
        "questions": questions,
        "effects": effects,
        "failed_calls": state.writes.failed_calls,
        "requests": state.planning.requests,
        "calls": state.spend.calls,
        "attempts": state.spend.attempts,
        "limit": state.spend.limit,
        "cancelled": state.ending.cancelled,
        "ended": state.ending.ended,
        "active_ms": state.spend.active_ms,
        "last_at": state.spend.last_at,
    })
}

fn digest_of(state: &State) -> String {
    Digest::of_bytes(Domain::Evidence, canonical(&remembered(state)).as_bytes()).to_string()
}

fn lines(journal: &[(Event, i64)]) -> String {
    let line = |(index, (event, at)): (usize, &(Event, i64))| {
        let (kind, version, payload) = event.to_stored();
        let line = json!({
            "seq": index + 1, "at": at, "kind": kind, "version": version, "payload": payload,
        });
        format!("{line}\n")
    };
    journal.iter().enumerate().map(line).collect()
}

fn journal(text: &str) -> Vec<(Event, i64)> {
    let read = |(index, line): (usize, &str)| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["seq"], json!(index + 1), "numbers without gaps");
        let version = u32::try_from(line["version"].as_u64().unwrap()).unwrap();
        let kind = line["kind"].as_str().unwrap();
        let event = Event::from_stored(kind, version, &line["payload"]).unwrap();
        (event, line["at"].as_i64().unwrap())
    };
    text.lines().enumerate().map(read).collect()
}

fn fold(journal: &[(Event, i64)]) -> Run {
    let events = journal.iter().map(|(event, at)| (event, *at));
    Run::from_journal(events, crate::case::rules_with(|_| {})).unwrap()
}

fn recorded() -> Vec<(String, String, String)> {
    let mut found: Vec<(String, String, String)> = std::fs::read_dir(folder())
        .expect("the corpus is there")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let digest = std::fs::read_to_string(path.with_extension("sha256")).unwrap();
            (name, text, digest.trim().to_owned())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn every_recorded_journal_folds_to_its_recorded_state() {
    let all = recorded();
    assert!(all.len() >= 3, "only {} journals are there", all.len());
    for (name, text, digest) in all {
        let run = fold(&journal(&text));
        assert_eq!(
            digest_of(run.state()),
            digest,
            "{name} folds to another state"
        );
    }
}

/// The control: a journal in which one fact differs has another digest.
#[test]
fn a_changed_fact_changes_the_digest() {
    for (name, text, digest) in recorded() {
        let mut events = journal(&text);
        for (event, _) in &mut events {
            let forged = Digest::of_bytes(Domain::Evidence, b"forged");
            match event {
                Event::AttemptEnded(ended) => ended.evidence = Some(forged),
                Event::ObservationMade { evidence, .. } => *evidence = forged,
                _ => {}
            }
        }
        assert_ne!(digest_of(fold(&events).state()), digest, "{name}");
    }
}

/// Together the recorded journals hold every kind of event but those no script reaches.
#[test]
fn the_recorded_journals_hold_nearly_every_kind_of_event() {
    let mut kinds: Vec<&str> = Vec::new();
    let all = recorded();
    let journals: Vec<_> = all.iter().map(|(_, text, _)| journal(text)).collect();
    kinds.extend(journals.iter().flatten().map(|(event, _)| event.kind()));
    kinds.sort_unstable();
    kinds.dedup();
    insta::assert_snapshot!(kinds.join(" "), @"ApprovalExpired ApprovalGiven ApprovalRejected ApprovalRequested ApprovalsRevised AttemptEnded AttemptStarted CancelRequested GoalInterpreted ListEvaluated ObservationMade PlanChecked PlanGivenUp PlanProposed PlanRefused PlanRequested PlanRevised QuestionAnswered QuestionAsked ReplanRequested Resumed RunCreated RunEnded RunStarted StepBlocked StepSettled StepSkipped UndoPlanned");
}

/// Writes journals that are not there yet; run with `--ignored` after adding a script.
#[test]
#[ignore = "writes to the corpus"]
fn record_what_is_missing() {
    for (name, case) in [
        ("gates", gates()),
        ("revised", revised()),
        ("doubt", doubt()),
        ("undone", undone()),
        ("subgoal", subgoal()),
    ] {
        let path = folder().join(name).with_extension("jsonl");
        if path.exists() {
            continue;
        }
        std::fs::create_dir_all(folder()).unwrap();
        std::fs::write(&path, lines(&case.journal)).unwrap();
        let digest = format!("{}\n", digest_of(case.state()));
        std::fs::write(path.with_extension("sha256"), digest).unwrap();
    }
}

/// A list under one card, a question, retries, a crash and a gate.
fn gates() -> Case {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.mail.status == "succeeded" }' }
steps:
  - { id: look, tool: look.up, accept: ['${ output.total > 0 }'] }
  - { id: each, tool: page.send, for_each: '${ [1, 2, 3] }', approval: required, needs: [look], args: { to: box, count: '${ item }' }, accept: ['${ output.done }'] }
  - { id: which, question: { text: "which?", answer: { type: integer } } }
  - { id: never, tool: note.put, when: '${ steps.look.output.total > 9 }', args: { to: box }, accept: ['${ output.done }'] }
  - { id: mail, tool: mail.send, args: { to: team, count: '${ steps.which.output }' }, needs: [each], accept: ['${ output.done }'] }
answer: "${ steps.look.output.total } seen"
"#;
    Case::new(plan)
        .begin()
        .ends("look", failed(Class::Timeout, Landing::Unknown))
        .tick(1_500)
        .crash()
        .ends("look", ok(json!({ "total": 2, "names": ["a"] })))
        .approve_steps("ada", &["each[0]", "each[2]"])
        .ends("each[2]", failed(Class::Unavailable, Landing::Unknown))
        .ends("each[0]", ok(json!({ "done": true })))
        .tick(2_500)
        .ends("each[2]", ok(json!({ "done": true, "id": "p2" })))
        .answer("bob", json!(7))
        .approve("ada")
        .ends("mail", ok(json!({ "done": true })))
}

/// Questions of the planner, a refused proposal, a plan card, a revision, a no, an unmet goal.
fn revised() -> Case {
    let plan = |to: &str, more: &str| {
        format!(
            r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.wipe.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
  - {{ id: mail, tool: mail.send, args: {{ to: {to} }}, needs: [look], accept: ['${{ output.done }}'] }}
  - {{ id: wipe, tool: disk.wipe, args: {{ to: old }}, needs: [look], accept: ['${{ output.done }}'] }}
  - {{ id: after, tool: look.up, args: {{ to: after }}, needs: [wipe] }}
{more}
answer: done
"#
        )
    };
    let question = PlannerQuestion {
        id: "team".to_owned(),
        text: "which team?".to_owned(),
        answer: json!({ "type": "string" }),
    };
    Case::new("")
        .ask_for_plan()
        .planner_is_away()
        .begin()
        .planner_replies(PlanReply::Questions(vec![question]))
        .answer("bob", json!("pay"))
        .planner_replies(plan_reply("schema: provost/plan/v1", &[]))
        .planner_replies(plan_reply(&plan("pay", ""), &["look"]))
        .approve_steps("ada", &["mail"])
        .ends("look", ok(json!({ "total": 2, "note": "quiet" })))
        .planner_replies(plan_reply(&plan("ops", ""), &[]))
        .reject("ada", "not to ops")
        .planner_replies(plan_reply(
            &plan("dev", "  - { id: last, tool: look.up, args: { to: last } }"),
            &[],
        ))
        .approve("ada")
        .ends("mail", failed(Class::NotFound, Landing::None))
        .ends("last", ok(json!({ "total": 1 })))
        .planner_replies(PlanReply::Decline("nothing else is known".to_owned()))
}

/// A subgoal that is refined twice, by a program in the mode `iterative`, with a crash between.
fn subgoal() -> Case {
    let plan = |result: &str, more: &str| {
        format!(
            r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.rest.status == "succeeded" }}' }}
steps:
  - {{ id: look, tool: look.up }}
  - id: rest
    subgoal: do what is left
    when: ${{ steps.look.output.total > 0 }}
    tools: [look.up, note.put]
    effect_max: write
    steps_max: 3
    output: {{ type: integer }}
{result}{more}
answer: done
"#
        )
    };
    let put =
        "  - { id: rest/put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }";
    let result = "    result: '${ steps[\"rest/put\"].output.done ? 1 : 0 }'\n";
    Case::new("")
        .by_a_program()
        .in_mode(PlanningMode::Iterative)
        .planner_is_away()
        .begin()
        .planner_replies(plan_reply(&plan("", ""), &[]))
        .ends("look", ok(json!({ "total": 2 })))
        .planner_replies(plan_reply(&plan(result, ""), &[]))
        .planner_replies(plan_reply(&plan("", put), &[]))
        .ends("rest/put", ok(json!({ "done": true })))
        .crash()
        .planner_replies(plan_reply(&plan(result, put), &[]))
}

/// A run that is cancelled while its last write is in doubt: one item is undone, one is not.
fn undone() -> Case {
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.next.status == "succeeded" }' }
steps:
  - id: page
    tool: page.send
    for_each: '${ ["ada", "bob"] }'
    args: { to: '${ item }' }
    accept: ['${ output.done }']
    undo: { tool: page.send, args: { to: '${ item }', text: 'not item ${ index }' } }
  - { id: put, tool: note.put, args: { to: box }, needs: [page], accept: ['${ output.done }'] }
  - { id: next, tool: look.up, needs: [put] }
answer: done
"#;
    Case::new(plan)
        .begin()
        .ends("page[0]", ok(json!({ "done": true })))
        .ends("page[1]", ok(json!({ "done": true })))
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .cancel_and_undo("ada")
        .ends("undo/page/1", failed(Class::NotFound, Landing::None))
        .crash()
        .ends("undo/page/0", ok(json!({ "done": true })))
}

/// A card that lapses, a call lost with its process, a limit, and a cancel over a doubt.
fn doubt() -> Case {
    let policy = r#"
permit (principal, action, resource);
@id("mails") @expires("1h") @on_expiry("replan")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.effect == "external" };
"#;
    let plan = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.next.status == "succeeded" }' }
steps:
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - { id: look, tool: look.up, on_failure: escalate }
  - { id: mail, tool: mail.send, args: { to: team }, needs: [look], on_failure: continue, accept: ['${ output.done }'] }
  - { id: page, tool: page.send, args: { to: team }, needs: [look], accept: ['${ output.done }'] }
  - { id: next, tool: look.up, needs: [put], args: { to: next } }
answer: done
"#;
    Case::under(policy, plan)
        .limits(|limits| limits.wall_ms = 7_200_000)
        .begin()
        .crash()
        .ends("look", failed(Class::NotFound, Landing::None))
        .answer("eve", json!("continue"))
        .ends("page", failed(Class::Timeout, Landing::Unknown))
        .tick(3_602_000)
        .cancel("ada")
}

#[test]
fn the_purpose_of_a_call_stands_in_the_fields_of_the_first_journals() {
    let of = Digest::of_bytes(Domain::Args, b"{}");
    for (purpose, fields) in [
        (Purpose::Effect, json!({})),
        (Purpose::Confirm, json!({ "confirms": true })),
        (Purpose::Reconcile, json!({ "reconciles": true })),
        (Purpose::Preview { of }, json!({ "previews": of })),
        (
            Purpose::Retake {
                for_step: "pay".to_owned(),
            },
            json!({ "retakes_for": "pay" }),
        ),
    ] {
        assert_eq!(serde_json::to_value(&purpose).unwrap(), fields);
        let read: Purpose = serde_json::from_value(fields).unwrap();
        assert_eq!(read, purpose);
    }
}
