//! Gates: asking a person, and what their answer opens.
//!
//! Owns cards, quorum, expiry, questions and escalation. A yes binds the closure digest and the
//! digest of the arguments that were shown; anything else is asked about again.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::StepRecord;
use provost_plan::digest::{Digest, canonical};
use provost_plan::label::{Integrity, Label};
use provost_plan::limits::CARD_ARGS_BYTES_MAX;
use provost_plan::plan::request::Why;
use provost_plan::plan::{Step, StepKind};
use provost_plan::policy::{ApproveDenied, AskTerms, Decision, OnExpiry, Principal, Verdict};
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use crate::call::Slot;
use crate::card::{Card, CardSubject, ConcreteCall, QuestionPurpose, StepAsk};
use crate::earlier::EarlierCalls;
use crate::event::{AskMode, Event, SkipReason, StepStatus};
use crate::machine::StepError;
use crate::outcome::Class;
use crate::state::{Act, Authors, CardState};
use crate::statement::Signer;
use crate::turn::basis::Basis;
use crate::turn::call::approval::not_approved;
use crate::turn::call::dispatch::Candidate;
use crate::turn::call::earlier::{known_before, look_up};
use crate::turn::call::settle::{accept_output, settle_failed, settle_list};
use crate::turn::end::finish::end_because;
use crate::turn::log::TurnLog;
use crate::turn::work::bytes_of;

/// Why a step failed that people were asked about.
const UNANSWERED: &str = "nobody answered in time";

/// Asks about a plan before anything runs, where the run wants that.
pub(crate) fn ask_for_plan(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    // Why not while undoing: each call is asked about when it is its turn.
    if log.state().head.ask != AskMode::Plan || log.state().is_undoing() {
        return Ok(());
    }
    let Some(plan) = log.state().in_force.plan.clone() else {
        return Ok(());
    };
    let mut steps = BTreeMap::new();
    let mut terms: Option<AskTerms> = None;
    for step in &plan.checked().plan().steps {
        let id = &step.id.value;
        let Some((_, record)) = plan.checked().step(id) else {
            continue;
        };
        let Some(verdict) = &record.verdict else {
            continue;
        };
        let over = log
            .state()
            .steps
            .get(id)
            .is_none_or(|known| known.status.is_final());
        let asks = verdict.decision == Decision::Ask;
        if !asks || over || plan.is_granted(id) || not_approved(log.state(), id, record) {
            continue;
        }
        let known = known_before(log.basis(), step, record);
        if let Some(candidate) = &known {
            look_up(log, candidate);
        }
        let judged = known.as_ref().map(|candidate| candidate.verdict.decision);
        if verdict.condition.is_some() && judged == Some(Decision::Permit) {
            continue;
        }
        let ask = verdict.ask.clone().unwrap_or_default();
        terms = Some(terms.map_or_else(|| ask.clone(), |t| t.strictest(&ask)));
        if let Some(mut entry) = step_ask(log.basis(), step, record, verdict.clone()) {
            entry.earlier = known.map(|known| known.before.calls).unwrap_or_default();
            steps.insert(id.clone(), entry);
        }
    }
    match terms {
        Some(terms) if !steps.is_empty() => open_card(log, CardSubject::Plan { steps }, terms),
        _ => Ok(()),
    }
}

/// Asks about one step with its values, as they are shown; one card for all its items.
pub(super) fn ask_for_step(
    log: &mut TurnLog<'_>,
    step: &Step,
    record: &StepRecord,
    candidates: &[Candidate],
    calls: Vec<ConcreteCall>,
) -> Result<(), StepError> {
    let mut terms: Option<AskTerms> = None;
    let mut verdict: Option<Verdict> = None;
    for candidate in candidates {
        let ask = candidate.verdict.ask.clone().unwrap_or_default();
        terms = Some(terms.map_or_else(|| ask.clone(), |t| t.strictest(&ask)));
        verdict.get_or_insert_with(|| candidate.verdict.clone());
    }
    let (Some(terms), Some(verdict)) = (terms, verdict) else {
        return Ok(());
    };
    let Some(ask) = step_ask(log.basis(), step, record, verdict) else {
        return Ok(());
    };
    let bytes: usize = calls.iter().map(|call| bytes_of(&call.args)).sum();
    if bytes > CARD_ARGS_BYTES_MAX {
        let message = format!(
            "its card would have {bytes} bytes of arguments, more than the \
             {CARD_ARGS_BYTES_MAX} that one may"
        );
        return candidates.iter().try_for_each(|candidate| {
            settle_failed(log, &candidate.slot, Class::BudgetExceeded, message.clone())
        });
    }
    open_card(
        log,
        CardSubject::Step {
            step: step.id.value.clone(),
            ask,
            calls,
        },
        terms,
    )
}

/// The label without the steps whose output is trusted: a card that asks because of the others
/// must not say of a person's answer that nobody may trust it.
fn untrusted_part(at: Basis<'_>, control: &Label) -> Label {
    let mut part = control.clone();
    let Some(plan) = at
        .state
        .in_force
        .plan
        .as_ref()
        .map(|plan| plan.checked().plan())
    else {
        return part;
    };
    if part.integrity == Integrity::Trusted || part.secret {
        return part;
    }
    part.sources.retain(|id| {
        let Some(step) = plan.step(id) else {
            return true;
        };
        let operation = step
            .tool()
            .and_then(|tool| at.rules.catalog.get(&tool.value));
        let answered = matches!(step.kind, StepKind::Question { .. });
        let trusted = operation.is_some_and(|operation| operation.trusted);
        !trusted && (!answered || step.default_answer().is_some())
    });
    part
}

fn step_ask(at: Basis<'_>, step: &Step, record: &StepRecord, verdict: Verdict) -> Option<StepAsk> {
    let operation = at.rules.catalog.get(&step.tool()?.value)?;
    let marked = |label: &Label| label.integrity != Integrity::Trusted || label.secret;
    Some(StepAsk {
        description: step.description.as_ref().map(|text| text.value.clone()),
        operation: operation.name.clone(),
        role: step.role().map(str::to_owned),
        effect: operation.effect,
        risk: record.risk,
        closure: record.closure,
        verdict,
        labels: record
            .labels
            .iter()
            .filter(|(_, label)| marked(label))
            .map(|(name, label)| (name.clone(), label.clone()))
            .collect(),
        control: untrusted_part(at, &record.control),
        earlier: EarlierCalls::default(),
    })
}

fn open_card(
    log: &mut TurnLog<'_>,
    subject: CardSubject,
    terms: AskTerms,
) -> Result<(), StepError> {
    let Some(plan) = &log.state().in_force.plan else {
        return Ok(());
    };
    let steps: Vec<&String> = match &subject {
        CardSubject::Plan { steps } => steps.keys().collect(),
        CardSubject::Step { step, .. } => vec![step],
    };
    let mut barred = BTreeSet::new();
    let mut authors = Authors::new();
    for step in steps {
        barred.extend(log.state().barred_from(step));
        authors.extend(log.state().authors_of(step));
    }
    let asked = [&log.state().head.principal.id]
        .into_iter()
        .chain(&log.state().in_force.amender);
    let requester = asked.chain(&barred).find(|id| barred.contains(*id));
    let requester = requester.cloned().unwrap_or_default();
    barred.remove(&requester);
    let lasts = terms.expires_ms.and_then(|ms| i64::try_from(ms).ok());
    let card = Card {
        run: log.state().head.run.clone(),
        goal: log.state().goals.goal.text.clone(),
        revision: log.state().in_force.revision,
        plan: plan.checked().record().digest,
        subject,
        terms,
        requester,
        amended_by: barred,
        authors,
        planned_by: log.state().outsider(),
        solo: log.basis().is_solo(),
        asked_at: log.now(),
        expires_at: lasts.map(|ms| log.now().saturating_add(ms)),
    };
    let digest = card.digest();
    log.emit(Event::ApprovalRequested { card, digest })
}

pub(crate) fn approve(
    log: &mut TurnLog<'_>,
    signer: Signer,
    digest: Digest,
    steps: Vec<String>,
) -> Result<(), StepError> {
    let Signer { by, record } = signer;
    let card = answerable(log.basis(), digest, &by, "approve")?;
    card.meant(&steps)
        .map_err(|step| StepError::NotOnCard { step })?;
    let before = log.state().card(&digest).map(|s| s.approved_by.clone());
    let mut people = before.unwrap_or_default();
    if !people.insert(by.id.clone()) {
        return Err(StepError::NotAllowed {
            by: by.id,
            what: "approve",
            reason: "they already approved, and more approvals are needed".to_owned(),
        });
    }
    let complete = people.len() as u64 >= u64::from(card.terms.quorum);
    let valid_until = Some(log.now().saturating_add(card.terms.valid()));
    log.emit(Event::ApprovalGiven {
        card: digest,
        by: by.id,
        steps,
        complete,
        valid_until,
        record,
    })?;
    if complete {
        leave_out(log, digest)
    } else {
        Ok(())
    }
}

/// Skips the items on a card that its people did not all say yes to.
fn leave_out(log: &mut TurnLog<'_>, digest: Digest) -> Result<(), StepError> {
    let Some(CardState {
        card,
        agreed: Some(agreed),
        ..
    }) = log.state().card(&digest)
    else {
        return Ok(());
    };
    let CardSubject::Step { step, calls, .. } = &card.subject else {
        return Ok(());
    };
    let id = step.clone();
    let refused: Vec<Slot> = calls
        .iter()
        .filter(|call| !agreed.contains(&call.name(&id)))
        .map(|call| Slot {
            step: id.clone(),
            item: call.item,
        })
        .collect();
    if refused.is_empty() {
        return Ok(());
    }
    for slot in refused {
        log.emit(Event::StepSkipped {
            slot,
            because: SkipReason::NotApproved,
        })?;
    }
    settle_list(log, &id)
}

pub(crate) fn reject(
    log: &mut TurnLog<'_>,
    signer: Signer,
    digest: Digest,
    reason: &str,
    all: bool,
) -> Result<(), StepError> {
    let Signer { by, record } = signer;
    let card = answerable(log.basis(), digest, &by, "reject")?;
    log.emit(Event::ApprovalRejected {
        card: digest,
        by: by.id,
        reason: reason.to_owned(),
        all,
        record,
    })?;
    card_failed(log, &card, Class::Rejected, reason)
}

/// Lets cards and questions lapse whose time is over.
pub(crate) fn expire(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let lapsed: Vec<(Digest, Card)> = log
        .state()
        .open_cards()
        .filter(|(_, card)| card.expires_at.is_some_and(|at| at <= log.now()))
        .map(|(digest, card)| (*digest, card.clone()))
        .collect();
    for (digest, card) in lapsed {
        // Why looked at again: a lapse may end the run, and nothing is recorded after that.
        let asked = log.state().card(&digest);
        if !asked.is_some_and(|asked| asked.open) {
            continue;
        }
        log.emit(Event::ApprovalExpired { card: digest })?;
        card_failed(log, &card, Class::Expired, UNANSWERED)?;
    }
    expire_questions(log)
}

fn expire_questions(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let open = log.state().open_questions();
    let lapsed: Vec<Digest> = open
        .filter(|(_, asked)| asked.has_lapsed(log.now()))
        .map(|(digest, _)| *digest)
        .collect();
    for question in lapsed {
        // Why looked at again: as of a card.
        let asked = log.state().question(&question).filter(|asked| asked.open);
        if asked.is_none() || log.state().ending.ended.is_some() {
            continue;
        }
        log.emit(Event::QuestionExpired { question })?;
        finish_lapsed(log, question)?;
    }
    Ok(())
}

/// Settles the step of a question that lapsed: by its default, or as failed.
fn finish_lapsed(log: &mut TurnLog<'_>, question: Digest) -> Result<(), StepError> {
    let Some(asked) = log.state().question(&question) else {
        return Ok(());
    };
    let QuestionPurpose::Step { step } = &asked.question.purpose else {
        return Ok(());
    };
    let slot = Slot {
        step: step.clone(),
        item: None,
    };
    let expires = asked.question.expires.as_ref();
    match expires.and_then(|expires| expires.default.clone()) {
        Some(default) => accept_answer(log, &slot, &default),
        None => settle_failed(log, &slot, Class::Expired, UNANSWERED.to_owned()),
    }
}

fn card_failed(
    log: &mut TurnLog<'_>,
    card: &Card,
    class: Class,
    reason: &str,
) -> Result<(), StepError> {
    match &card.subject {
        CardSubject::Plan { .. } => {
            let why = match class {
                Class::Rejected => Why::Rejected {
                    step: None,
                    reason: reason.to_owned(),
                },
                _ => Why::Expired {
                    step: String::new(),
                },
            };
            // Why: nothing is in flight while a plan waits for a yes.
            if class == Class::Expired && card.terms.on_expiry == OnExpiry::Fail {
                return end_because(log, &why);
            }
            log.emit(Event::ReplanRequested { why })
        }
        CardSubject::Step { step, calls, .. } => {
            for call in calls {
                let slot = Slot {
                    step: step.clone(),
                    item: call.item,
                };
                settle_failed(log, &slot, class, reason.to_owned())?;
            }
            Ok(())
        }
    }
}

/// The open card, if this person may say yes or no to it; `what` they say stands in the refusal.
fn answerable(
    at: Basis<'_>,
    digest: Digest,
    by: &Principal,
    what: &'static str,
) -> Result<Card, StepError> {
    let not_open = || StepError::NotOpen {
        digest: digest.to_string(),
    };
    let state = at
        .state
        .card(&digest)
        .filter(|s| s.open)
        .ok_or_else(not_open)?;
    if state.card.expires_at.is_some_and(|until| until <= at.now) {
        return Err(not_open());
    }
    let operation = state.card.step().and_then(|step| {
        let plan = at.state.plan()?;
        let (step, _) = plan.checked().step(step)?;
        at.rules.catalog.get(&step.tool()?.value)
    });
    // Why every one: who wrote a part of what is asked about has asked for it.
    for id in std::iter::once(&state.card.requester).chain(&state.card.amended_by) {
        let requester = Principal {
            id: id.clone(),
            ..at.state.head.principal.clone()
        };
        let operation = operation.map(AsRef::as_ref);
        at.rules
            .policy
            .may_approve(by, &requester, operation, &state.card.terms)
            .map_err(|denied| StepError::NotAllowed {
                by: by.id.clone(),
                what,
                reason: match denied {
                    ApproveDenied::Requester { id } if id != state.card.requester => format!(
                        "`{id}` wrote a part of it, \
                         and another person must approve it"
                    ),
                    denied => denied.to_string(),
                },
            })?;
    }
    Ok(state.card.clone())
}

pub(crate) fn answer(
    log: &mut TurnLog<'_>,
    signer: Signer,
    digest: Digest,
    value: Value,
) -> Result<(), StepError> {
    let Signer { by, record } = signer;
    let not_open = || StepError::NotOpen {
        digest: digest.to_string(),
    };
    let asked = log.state().question(&digest).ok_or_else(not_open)?;
    if asked.expired || asked.open && asked.question.has_lapsed(log.now()) {
        return Err(StepError::Lapsed {
            digest: digest.to_string(),
        });
    }
    if !asked.open {
        return Err(not_open());
    }
    let question = asked.question.clone();
    log.basis().may(Act::Answer(question.of.as_deref()), &by)?;
    let value = provost_plan::digest::normalize(value).map_err(|error| StepError::BadAnswer {
        reason: error.to_string(),
    })?;
    let schema =
        Schema::compile(question.answer.clone()).map_err(|error| StepError::BadAnswer {
            reason: error.to_string(),
        })?;
    if let Some(violation) = schema.violations_within(&value, log.purse()).first() {
        return Err(StepError::BadAnswer {
            reason: violation.message.clone(),
        });
    }
    log.emit(Event::QuestionAnswered {
        question: digest,
        value: value.clone(),
        by: by.id,
        record,
    })?;
    match &question.purpose {
        QuestionPurpose::Step { step } => {
            let slot = Slot {
                step: step.clone(),
                item: None,
            };
            accept_answer(log, &slot, &value)
        }
        QuestionPurpose::Planner { .. }
        | QuestionPurpose::Escalation { .. }
        | QuestionPurpose::Review { .. } => Ok(()),
    }
}

/// Settles steps whose answer, or its lapse, is recorded and what followed from it is not.
pub(crate) fn finish_answers(log: &mut TurnLog<'_>) -> Result<(), StepError> {
    let waits = |id: &String| {
        log.state()
            .steps
            .get(id)
            .is_some_and(|step| step.status == StepStatus::WaitingAnswer)
    };
    let pending: Vec<(String, Value)> = log
        .state()
        .people
        .questions
        .values()
        .filter_map(|asked| match (&asked.question.purpose, &asked.answer) {
            (QuestionPurpose::Step { step }, Some(answer)) if waits(step) => {
                Some((step.clone(), answer.clone()))
            }
            _ => None,
        })
        .collect();
    let lapsed = log.state().people.questions.iter().filter(|(_, asked)| {
        let step = asked.question.purpose.step();
        asked.expired && step.is_some_and(&waits)
    });
    let lapsed: Vec<Digest> = lapsed.map(|(digest, _)| *digest).collect();
    for (step, answer) in pending {
        accept_answer(log, &Slot { step, item: None }, &answer)?;
    }
    lapsed
        .into_iter()
        .try_for_each(|question| finish_lapsed(log, question))
}

/// Records what was answered, or its default, as what the step came to; it is its own evidence.
fn accept_answer(log: &mut TurnLog<'_>, slot: &Slot, answer: &Value) -> Result<(), StepError> {
    let bytes = canonical(answer).into_bytes();
    let evidence = log.keep("application/json".to_owned(), bytes);
    accept_output(log, slot, answer, evidence)
}

/// Asks a person what to do about a failed step.
pub(crate) fn escalate(log: &mut TurnLog<'_>, id: &str, class: Class) -> Result<(), StepError> {
    let message = log
        .state()
        .failure(id)
        .map_or_else(String::new, |(_, message)| message);
    let text = format!(
        "step `{id}` failed ({}): {message}. go on, replan or stop?",
        class.word()
    );
    let answer = json!({ "enum": ["continue", "replan", "stop"] });
    log.ask_question(
        QuestionPurpose::Escalation {
            step: id.to_owned(),
        },
        text,
        answer,
    )
}
