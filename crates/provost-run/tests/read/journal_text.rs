//! Journals written by hand, for tests: one line an event, `+MS` before it for the time passed.
//!
//! Owns the small language of the tests of `provost_run::read`. Everything after
//! ` | ` is free text or JSON.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::check::{PlanRecord, StepRecord, TermsRecord};
use provost_plan::digest::{Digest, Domain};
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::request::{FindingView, NoPlan, PlanReply, RequestKind, Why};
use provost_plan::plan::{Goal, Limits};
use provost_plan::policy::{AskTerms, Decision, OnExpiry, Principal, PrincipalKind, Verdict};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use provost_run::call::{Purpose, Slot};
use provost_run::card::{Card, CardSubject, ConcreteCall, Question, QuestionPurpose, StepAsk};
use provost_run::event::{
    AskMode, AttemptEnded, AttemptStarted, Event, PlannerChoice, Proven, RunCreated, RunEnded,
    SkipReason,
};

/// The moment of the first event.
const BEGIN: i64 = 1_000_000;
/// Between two events that say nothing.
const STEP: i64 = 100;

/// Reads a journal; empty lines and those that begin with `#` are skipped.
pub fn journal(text: &str) -> Vec<(Event, i64)> {
    let mut at = BEGIN - STEP;
    let lines = text.lines().map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| {
            let (passed, line) = match line.strip_prefix('+') {
                Some(rest) => {
                    let (ms, rest) = rest.split_once(' ').unwrap();
                    (ms.parse().unwrap(), rest)
                }
                None => (STEP, line),
            };
            at += passed;
            (event(line), at)
        })
        .collect()
}

pub fn digest(name: &str) -> Digest {
    Digest::of_bytes(Domain::Evidence, name.as_bytes())
}

fn event(line: &str) -> Event {
    let (head, text) = match line.split_once(" | ") {
        Some((head, text)) => (head, Some(text.to_owned())),
        None => (line, None),
    };
    let words: Vec<&str> = head.split_whitespace().collect();
    let said = text.clone().unwrap_or_default();
    match words[0] {
        "created" => created(&words[1..], &said),
        "goal" => Event::GoalInterpreted {
            goal: Goal::of_text(&said),
            by: words[1].to_owned(),
            planner: None,
        },
        "asked" => Event::PlanRequested {
            id: words[1].parse().unwrap(),
            kind: if words[1] == "1" {
                RequestKind::Propose
            } else {
                RequestKind::Revise
            },
            request: digest(words[1]),
            why: words.get(2).map(|word| why(word)),
            reserved: None,
            candidates: None,
        },
        "proposed" => Event::PlanProposed {
            id: words[1].parse().unwrap(),
            reply: PlanReply::Plan {
                text: "steps: []".to_owned(),
                name: "plan.yaml".to_owned(),
                author: "the playbook".to_owned(),
                literals: Label::trusted(),
                control: Label::trusted(),
                consult: Vec::new(),
                because: text,
            },
        },
        "checked" => checked(&words[1..], &said),
        "mended" => Event::ProposalMended {
            id: words[1].parse().unwrap(),
            text: said.clone(),
            fixes: vec![said],
        },
        "refused" => Event::PlanRefused {
            id: words[1].parse().unwrap(),
            findings: findings(words[2], &said),
        },
        "givenup" => Event::PlanGivenUp {
            id: words[1].parse().unwrap(),
            class: no_plan_of(words.get(2)),
            reason: said,
            goes_on: false,
        },
        "revised" => revised(&words[1..], text),
        "replan" => Event::ReplanRequested { why: why(words[1]) },
        _ => event_of_people(&words, text),
    }
}

fn event_of_people(words: &[&str], text: Option<String>) -> Event {
    let said = text.clone().unwrap_or_default();
    match words[0] {
        "card" => {
            let card = card(words[2], words.contains(&"repeats"));
            Event::ApprovalRequested {
                card,
                digest: digest(words[1]),
            }
        }
        "yes" => Event::ApprovalGiven {
            card: digest(words[1]),
            by: words[2].to_owned(),
            steps: Vec::new(),
            complete: true,
            valid_until: None,
            record: None,
        },
        "no" => Event::ApprovalRejected {
            card: digest(words[1]),
            by: words[2].to_owned(),
            reason: said,
            record: None,
            all: false,
        },
        "lapsed" => Event::ApprovalExpired {
            card: digest(words[1]),
        },
        "question" => Event::QuestionAsked {
            question: Question {
                run: "r".to_owned(),
                purpose: match words[2].split_once(':') {
                    Some(("step", step)) => QuestionPurpose::Step {
                        step: step.to_owned(),
                    },
                    Some(("escalation", step)) => QuestionPurpose::Escalation {
                        step: step.to_owned(),
                    },
                    _ => QuestionPurpose::Planner {
                        id: words[2].to_owned(),
                        request: 1,
                    },
                },
                text: said,
                answer: json!({ "type": "string" }),
                of: None,
                expires: None,
            },
            digest: digest(words[1]),
        },
        "unanswered" => Event::QuestionExpired {
            question: digest(words[1]),
        },
        "answered" => Event::QuestionAnswered {
            question: digest(words[1]),
            value: said.into(),
            by: words[2].to_owned(),
            record: None,
        },
        "cancel" => Event::CancelRequested {
            by: words[1].to_owned(),
            reason: text,
            undo: false,
            record: None,
        },
        _ => event_of_execution(words, text),
    }
}

fn event_of_execution(words: &[&str], text: Option<String>) -> Event {
    let said = text.clone().unwrap_or_default();
    match words[0] {
        "begun" => Event::RunStarted { revision: 1 },
        "list" => Event::ListEvaluated {
            step: words[1].to_owned(),
            items: serde_json::from_str(&said).unwrap(),
            secret: false,
        },
        "skipped" => Event::StepSkipped {
            slot: slot(words[1]),
            because: parse::<SkipReason>(words[2]),
        },
        "blocked" => Event::StepBlocked {
            step: words[1].to_owned(),
            on: words[2].to_owned(),
        },
        "limit" => Event::AdmissionRefused {
            slot: slot(words[1]),
            limit: said,
            reached: None,
        },
        "start" => started(&words[1..], &said),
        "end" | "lost" => Event::AttemptEnded(AttemptEnded {
            slot: slot(words[1]),
            attempt: words[2].parse().unwrap(),
            class: parse(words[3]),
            landing: parse(words[4]),
            message: text,
            evidence: None,
            retry_at: words.contains(&"again").then_some(BEGIN),
            not_yet: words.contains(&"not_yet"),
            lost: words[0] == "lost",
            unsent: false,
            refused_args: Vec::new(),
            secret: false,
            used: None,
            shows: None,
            took_us: words
                .iter()
                .find_map(|word| word.strip_prefix("took=")?.parse().ok()),
            waited_us: None,
        }),
        "seen" => Event::ObservationMade {
            slot: slot(words[1]),
            output: serde_json::from_str(&said).unwrap(),
            label: Label::from_step(slot(words[1]).step, Integrity::Data),
            evidence: digest(words[1]),
        },
        "settled" => Event::StepSettled {
            slot: slot(words[1]),
            status: parse(words[2]),
            class: words.get(3).map(|word| parse(word)),
            message: text,
            reconcile_at: None,
            created: None,
        },
        "resumed" => Event::Resumed {
            lost: words.get(1).into_iter().map(|word| slot(word)).collect(),
            by: None,
            record: None,
        },
        "over" => over(&words[1..], text),
        other => panic!("no event `{other}`"),
    }
}

fn no_plan_of(word: Option<&&str>) -> Option<NoPlan> {
    word.map(|word| parse(word))
}

fn parse<T: DeserializeOwned>(word: &str) -> T {
    serde_json::from_value(Value::String(word.to_owned())).expect(word)
}

fn slot(word: &str) -> Slot {
    match word.trim_end_matches(']').split_once('[') {
        Some((step, item)) => Slot {
            step: step.to_owned(),
            item: Some(item.parse().unwrap()),
        },
        None => Slot {
            step: word.to_owned(),
            item: None,
        },
    }
}

/// `observed:x`, `failed:x:class`, `rejected:x`, `expired:x`, `unmet:x`.
fn why(word: &str) -> Why {
    let parts: Vec<&str> = word.split(':').collect();
    let step = parts[1].to_owned();
    match parts[0] {
        "observed" => Why::Observed { step },
        "failed" => Why::StepFailed {
            step,
            class: parts[2].to_owned(),
        },
        "rejected" => Why::Rejected {
            step: Some(step),
            reason: "no".to_owned(),
        },
        "expired" => Why::Expired { step },
        _ => Why::Unmet {
            criteria: vec![step],
        },
    }
}

fn created(words: &[&str], goal: &str) -> Event {
    let revisions = words
        .iter()
        .find_map(|word| word.strip_prefix("revisions="));
    let limits = Limits {
        revisions: revisions.map_or(5, |number| number.parse().unwrap()),
        ..Limits::default()
    };
    Event::RunCreated(RunCreated {
        run: "r".to_owned(),
        goal: Goal::of_text(goal),
        planner: PlannerChoice::Playbook {
            name: "latency".to_owned(),
        },
        fallback: None,
        mode: None,
        principal: Principal {
            kind: PrincipalKind::User,
            id: "ada".to_owned(),
            groups: Default::default(),
        },
        limits,
        ask: AskMode::Step,
        solo: true,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    })
}

/// `checked ID REVISION [policy=NAME] [CODE,…] | STEPS`: the steps of a plan, as JSON.
fn checked(words: &[&str], text: &str) -> Event {
    let steps: Value = serde_json::from_str(text).expect("steps");
    let policy = words.iter().find_map(|word| word.strip_prefix("policy="));
    let codes = words.iter().skip(2).find(|word| !word.contains('='));
    let records = steps.as_array().unwrap().iter().map(|step| {
        let asks = step.get("approval").is_some();
        (step["id"].as_str().unwrap().to_owned(), record(asks))
    });
    Event::PlanChecked {
        id: words[0].parse().unwrap(),
        record: Arc::new(PlanRecord {
            digest: digest(text),
            revision: words[1].parse().unwrap(),
            terms: TermsRecord {
                goal: digest("goal"),
                policy: digest(policy.unwrap_or("policy")),
                principal: digest("principal"),
                limits: digest("limits"),
                tools: BTreeMap::new(),
                roles: BTreeMap::new(),
            },
            steps: records.collect(),
            not_checked: Vec::new(),
            totals: BTreeMap::new(),
        }),
        document: Arc::new(json!({ "schema": "provost/plan/v1", "steps": steps })),
        findings: codes.map_or_else(Vec::new, |codes| findings(codes, "…")),
        consult: Vec::new(),
        control: Label::trusted(),
        literals: Label::trusted(),
    }
}

fn record(asks: bool) -> StepRecord {
    StepRecord {
        closure: digest("closure"),
        after: Default::default(),
        reads: Default::default(),
        tool: Some(digest("tool")),
        role: None,
        labels: BTreeMap::new(),
        control: Label::trusted(),
        risk: parse("low"),
        verdict: Some(verdict(asks)),
        confirm: None,
        undo: None,
        run_checks: Vec::new(),
    }
}

fn verdict(asks: bool) -> Verdict {
    Verdict {
        decision: if asks {
            Decision::Ask
        } else {
            Decision::Permit
        },
        policies: vec!["reads".to_owned()],
        ask: None,
        condition: None,
        errors: Vec::new(),
    }
}

fn findings(codes: &str, message: &str) -> Vec<FindingView> {
    codes
        .split(',')
        .map(|code| FindingView {
            code: code.to_owned(),
            message: message.to_owned(),
            step: None,
            path: None,
            hint: None,
        })
        .collect()
}

fn revised(words: &[&str], because: Option<String>) -> Event {
    let named = |sign: char| -> Vec<String> {
        let words = words.iter().filter_map(|word| word.strip_prefix(sign));
        words.map(str::to_owned).collect()
    };
    Event::PlanRevised {
        revision: words[0].parse().unwrap(),
        added: named('+'),
        changed: named('~'),
        removed: named('-'),
        because,
    }
}

fn card(step: &str, repeats: bool) -> Card {
    let ask = StepAsk {
        description: None,
        operation: "pager.notify".to_owned(),
        role: None,
        effect: parse("external"),
        risk: parse("high"),
        closure: digest("closure"),
        verdict: verdict(true),
        labels: BTreeMap::new(),
        control: Label::trusted(),
        earlier: Default::default(),
    };
    let call = ConcreteCall {
        item: None,
        args: json!({}),
        args_digest: digest("args"),
        origins: Default::default(),
        repeats: repeats.then(|| "earlier".to_owned()),
        earlier: Default::default(),
        preview: None,
    };
    Card {
        run: "r".to_owned(),
        goal: "g".to_owned(),
        revision: 1,
        plan: digest("plan"),
        subject: CardSubject::Step {
            step: step.to_owned(),
            ask,
            calls: vec![call],
        },
        terms: AskTerms {
            quorum: 1,
            approvers: Default::default(),
            expires_ms: None,
            valid_ms: None,
            on_expiry: OnExpiry::Fail,
        },
        requester: "ada".to_owned(),
        amended_by: Default::default(),
        authors: Default::default(),
        planned_by: None,
        solo: true,
        asked_at: BEGIN,
        expires_at: None,
    }
}

/// `start SLOT ATTEMPT OPERATION [write] [key] | ARGS`.
fn started(words: &[&str], args: &str) -> Event {
    Event::AttemptStarted(AttemptStarted {
        slot: slot(words[0]),
        attempt: words[1].parse().unwrap(),
        operation: words[2].to_owned(),
        tool: digest("tool"),
        closure: digest("closure"),
        args: Value::Null,
        secret_args: Default::default(),
        args_digest: digest(args),
        key: words.contains(&"key").then(|| "k".to_owned()),
        verdict: verdict(false),
        approval: None,
        read: !words.contains(&"write"),
        purpose: match words.contains(&"confirms") {
            true => Purpose::Confirm,
            false => Purpose::Effect,
        },
        sinks: None,
        money: None,
        tokens: None,
        values: Default::default(),
        earlier: Default::default(),
        timeout_ms: Some(5_000),
        narrowed: words.contains(&"narrowed"),
    })
}

/// `over STATUS [CLASS] [at:STEP] [CRITERION=held|not|error…] | MESSAGE`.
fn over(words: &[&str], message: Option<String>) -> Event {
    let rest = || words.iter().skip(1);
    let criteria = rest().filter_map(|word| word.split_once('='));
    Event::RunEnded(RunEnded {
        proven_by: Default::default(),
        proofs: Default::default(),
        by: None,
        status: parse(words[0]),
        class: rest()
            .find(|word| !word.contains(['=', ':']))
            .map(|word| parse(word)),
        step: rest()
            .find_map(|word| word.strip_prefix("at:"))
            .map(str::to_owned),
        message,
        criteria: criteria
            .map(|(id, proven)| {
                let proven = match proven {
                    "held" => Proven::Held,
                    "not" => Proven::NotHeld,
                    other => Proven::Failed(other.to_owned()),
                };
                (id.to_owned(), proven)
            })
            .collect(),
        answer: Vec::new(),
    })
}
