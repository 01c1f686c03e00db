//! Gates: asking a person, and what their answer opens.
//!
//! Owns cards, quorum, expiry, questions and escalation. A yes binds the closure digest and the
//! digest of the arguments that were shown; anything else is asked about again.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::StepRecord;
use provost_plan::digest::{Digest, canonical};
use provost_plan::label::{Integrity, Label};
use provost_plan::limits::CARD_ARGS_BYTES_MAX;
use provost_plan::plan::Step;
use provost_plan::plan::request::Why;
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
use crate::turn::Turn;
use crate::turn::call::dispatch::Candidate;
use crate::turn::work::bytes_of;

/// The name under which a repeated call is asked about.
const REPEATED: &str = "provost:repeated-call";

/// Whether a person's word on a candidate is there.
pub(in crate::turn) enum ApprovalState {
    /// It is, under this card: the step's, or that of the whole plan.
    Approved(Digest),
    /// It is not.
    Open,
}

impl Turn<'_> {
    /// Whether an approval covers the candidate.
    pub(in crate::turn) fn approval_of(
        &self,
        step: &Step,
        record: &StepRecord,
        candidate: &Candidate,
    ) -> ApprovalState {
        if let Some((card, args)) = self
            .state
            .item(&candidate.slot)
            .and_then(|item| item.approved)
            && args == candidate.args_digest
            && self.counts_still(card)
            && self.card_shows(card, record, candidate)
        {
            return ApprovalState::Approved(card);
        }
        let Some(plan) = &self.state.in_force.plan else {
            return ApprovalState::Open;
        };
        let granted = candidate.repeats.is_none()
            && plan.opens_gate(&step.id.value, record, &candidate.operation);
        let id = &step.id.value;
        let card = self.plan_card(id, record).filter(|_| granted);
        let shown = |card: &Digest| match self.state.card(card).map(|s| &s.card.subject) {
            Some(CardSubject::Plan { steps }) => steps
                .get(id)
                .is_some_and(|ask| ask.earlier.cover(&candidate.before.calls)),
            Some(CardSubject::Step { .. }) | None => false,
        };
        // Why: a yes to what nobody said was made before is none to making it again.
        let card = card.filter(shown);
        card.map_or(ApprovalState::Open, ApprovalState::Approved)
    }

    /// Whether what people said yes to under a card is no older than policy lets it be.
    fn counts_still(&self, card: Digest) -> bool {
        let card = self.state.card(&card);
        card.is_some_and(|card| self.now < card.valid_until)
    }

    /// The latest plan card under which people said yes to this form of a step.
    fn plan_card(&self, id: &str, record: &StepRecord) -> Option<Digest> {
        let authors = self.state.authors_of(id);
        let wrote = |person: &String| {
            let fields = authors.values().flat_map(BTreeMap::values);
            fields.flatten().any(|author| author == person)
        };
        // Why looked at now: an answer that the call reads may be newer than the yes.
        let own = |state: &CardState| !self.state.head.solo && state.approved_by.iter().any(&wrote);
        let covers = |state: &CardState| match &state.card.subject {
            CardSubject::Plan { .. } if own(state) || self.now >= state.valid_until => false,
            CardSubject::Plan { steps } => {
                let agreed = state
                    .agreed
                    .as_ref()
                    .is_some_and(|agreed| agreed.contains(id));
                let same = steps
                    .get(id)
                    .is_some_and(|ask| ask.closure == record.closure);
                agreed
                    && same
                    && state.approved_by.len() as u64 >= u64::from(state.card.terms.quorum)
            }
            CardSubject::Step { .. } => false,
        };
        let cards = self
            .state
            .people
            .cards
            .iter()
            .filter(|(_, state)| covers(state));
        cards
            .max_by_key(|(_, state)| state.card.asked_at)
            .map(|(digest, _)| *digest)
    }

    /// Whether a card showed this very call, what it would repeat, and the equal calls before it.
    fn card_shows(&self, card: Digest, record: &StepRecord, candidate: &Candidate) -> bool {
        match self.state.card(&card).map(|state| &state.card.subject) {
            Some(CardSubject::Step { ask, calls, .. }) => {
                ask.closure == record.closure
                    && calls.iter().any(|call| {
                        let covers = call.earlier.cover(&candidate.before.calls);
                        covers && call.is_same(&Self::concrete(candidate))
                    })
            }
            Some(CardSubject::Plan { .. }) | None => false,
        }
    }

    /// Whether a person approved the plan without this step.
    pub(in crate::turn) fn not_approved(&self, id: &str, record: &StepRecord) -> bool {
        self.state.followups.is_left_out(id, record.closure)
    }

    /// Asks about a plan before anything runs, where the run wants that.
    pub(in crate::turn) fn ask_for_plan(&mut self) -> Result<(), StepError> {
        // Why not while undoing: each call is asked about when it is its turn.
        if self.state.head.ask != AskMode::Plan || self.state.is_undoing() {
            return Ok(());
        }
        let Some(plan) = self.state.in_force.plan.clone() else {
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
            let over = self
                .state
                .steps
                .get(id)
                .is_none_or(|known| known.status.is_final());
            let asks = verdict.decision == Decision::Ask;
            if !asks || over || plan.is_granted(id) || self.not_approved(id, record) {
                continue;
            }
            let known = self.known_before(step, record);
            if let Some(candidate) = &known {
                self.look_up(candidate);
            }
            let judged = known.as_ref().map(|candidate| candidate.verdict.decision);
            if verdict.condition.is_some() && judged == Some(Decision::Permit) {
                continue;
            }
            let ask = verdict.ask.clone().unwrap_or_default();
            terms = Some(terms.map_or_else(|| ask.clone(), |t| t.strictest(&ask)));
            if let Some(mut entry) = self.step_ask(step, record, verdict.clone()) {
                entry.earlier = known.map(|known| known.before.calls).unwrap_or_default();
                steps.insert(id.clone(), entry);
            }
        }
        match terms {
            Some(terms) if !steps.is_empty() => self.open_card(CardSubject::Plan { steps }, terms),
            _ => Ok(()),
        }
    }

    /// Asks about one step with its values, as they are shown; one card for all its items.
    pub(in crate::turn) fn ask_for_step(
        &mut self,
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
        let Some(ask) = self.step_ask(step, record, verdict) else {
            return Ok(());
        };
        let bytes: usize = calls.iter().map(|call| bytes_of(&call.args)).sum();
        if bytes > CARD_ARGS_BYTES_MAX {
            let message = format!(
                "its card would have {bytes} bytes of arguments, more than the \
                 {CARD_ARGS_BYTES_MAX} that one may"
            );
            return candidates.iter().try_for_each(|candidate| {
                self.settle_failed(&candidate.slot, Class::BudgetExceeded, message.clone())
            });
        }
        self.open_card(
            CardSubject::Step {
                step: step.id.value.clone(),
                ask,
                calls,
            },
            terms,
        )
    }

    fn step_ask(&self, step: &Step, record: &StepRecord, verdict: Verdict) -> Option<StepAsk> {
        let operation = self.rules.catalog.get(&step.tool()?.value)?;
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
            control: record.control.clone(),
            earlier: EarlierCalls::default(),
        })
    }

    fn open_card(&mut self, subject: CardSubject, terms: AskTerms) -> Result<(), StepError> {
        let Some(plan) = &self.state.in_force.plan else {
            return Ok(());
        };
        let steps: Vec<&String> = match &subject {
            CardSubject::Plan { steps } => steps.keys().collect(),
            CardSubject::Step { step, .. } => vec![step],
        };
        let mut barred = BTreeSet::new();
        let mut authors = Authors::new();
        for step in steps {
            barred.extend(self.state.barred_from(step));
            authors.extend(self.state.authors_of(step));
        }
        let asked = [&self.state.head.principal.id]
            .into_iter()
            .chain(&self.state.in_force.amender);
        let requester = asked.chain(&barred).find(|id| barred.contains(*id));
        let requester = requester.cloned().unwrap_or_default();
        barred.remove(&requester);
        let lasts = terms.expires_ms.and_then(|ms| i64::try_from(ms).ok());
        let card = Card {
            run: self.state.head.run.clone(),
            goal: self.state.goals.goal.text.clone(),
            revision: self.state.in_force.revision,
            plan: plan.checked().record().digest,
            subject,
            terms,
            requester,
            amended_by: barred,
            authors,
            planned_by: self.state.outsider(),
            solo: self.state.head.solo,
            asked_at: self.now,
            expires_at: lasts.map(|ms| self.now.saturating_add(ms)),
        };
        let digest = card.digest();
        self.asked.insert(digest);
        self.emit(Event::ApprovalRequested { card, digest })
    }

    pub(in crate::turn) fn approve(
        &mut self,
        signer: Signer,
        digest: Digest,
        steps: Vec<String>,
    ) -> Result<(), StepError> {
        let Signer { by, record } = signer;
        let card = self.answerable(digest, &by)?;
        card.meant(&steps)
            .map_err(|step| StepError::NotOnCard { step })?;
        let before = self.state.card(&digest).map(|s| s.approved_by.clone());
        let mut people = before.unwrap_or_default();
        if !people.insert(by.id.clone()) {
            return Err(StepError::NotAllowed {
                by: by.id,
                reason: "they already approved, and more approvals are needed".to_owned(),
            });
        }
        let complete = people.len() as u64 >= u64::from(card.terms.quorum);
        let valid_until = Some(self.now.saturating_add(card.terms.valid()));
        self.emit(Event::ApprovalGiven {
            card: digest,
            by: by.id,
            steps,
            complete,
            valid_until,
            record,
        })?;
        if complete {
            self.leave_out(digest)
        } else {
            Ok(())
        }
    }

    /// Skips the items on a card that its people did not all say yes to.
    fn leave_out(&mut self, digest: Digest) -> Result<(), StepError> {
        let Some(CardState {
            card,
            agreed: Some(agreed),
            ..
        }) = self.state.card(&digest)
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
            self.emit(Event::StepSkipped {
                slot,
                because: SkipReason::NotApproved,
            })?;
        }
        self.settle_list(&id)
    }

    pub(in crate::turn) fn reject(
        &mut self,
        signer: Signer,
        digest: Digest,
        reason: &str,
        all: bool,
    ) -> Result<(), StepError> {
        let Signer { by, record } = signer;
        let card = self.answerable(digest, &by)?;
        self.emit(Event::ApprovalRejected {
            card: digest,
            by: by.id,
            reason: reason.to_owned(),
            all,
            record,
        })?;
        self.card_failed(&card, Class::Rejected, reason)
    }

    /// Lets cards lapse whose time is over.
    pub(in crate::turn) fn expire(&mut self) -> Result<(), StepError> {
        let lapsed: Vec<(Digest, Card)> = self
            .state
            .open_cards()
            .filter(|(_, card)| card.expires_at.is_some_and(|at| at <= self.now))
            .map(|(digest, card)| (*digest, card.clone()))
            .collect();
        for (digest, card) in lapsed {
            // Why looked at again: a lapse may end the run, and nothing is recorded after that.
            let asked = self.state.card(&digest);
            if !asked.is_some_and(|asked| asked.open) {
                continue;
            }
            self.emit(Event::ApprovalExpired { card: digest })?;
            self.card_failed(&card, Class::Expired, "nobody answered in time")?;
        }
        Ok(())
    }

    fn card_failed(&mut self, card: &Card, class: Class, reason: &str) -> Result<(), StepError> {
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
                    return self.end_because(&why);
                }
                self.emit(Event::ReplanRequested { why })
            }
            CardSubject::Step { step, calls, .. } => {
                for call in calls {
                    let slot = Slot {
                        step: step.clone(),
                        item: call.item,
                    };
                    self.settle_failed(&slot, class, reason.to_owned())?;
                }
                Ok(())
            }
        }
    }

    /// Whether policy ends the run because nobody answered about this step in time.
    pub(in crate::turn) fn lapse_ends(&self, id: &str, class: Class) -> bool {
        let fails = |card: &Card| card.step() == Some(id) && card.terms.on_expiry == OnExpiry::Fail;
        class == Class::Expired
            && self
                .state
                .people
                .cards
                .values()
                .any(|state| fails(&state.card))
    }

    /// The open card, if this person may answer it.
    fn answerable(&self, digest: Digest, by: &Principal) -> Result<Card, StepError> {
        let not_open = || StepError::NotOpen {
            digest: digest.to_string(),
        };
        let state = self
            .state
            .card(&digest)
            .filter(|s| s.open)
            .ok_or_else(not_open)?;
        if state.card.expires_at.is_some_and(|at| at <= self.now) {
            return Err(not_open());
        }
        let operation = state.card.step().and_then(|step| {
            let plan = self.state.plan()?;
            let (step, _) = plan.checked().step(step)?;
            self.rules.catalog.get(&step.tool()?.value)
        });
        // Why every one: who wrote a part of what is asked about has asked for it.
        for id in std::iter::once(&state.card.requester).chain(&state.card.amended_by) {
            let requester = Principal {
                id: id.clone(),
                ..self.state.head.principal.clone()
            };
            let operation = operation.map(AsRef::as_ref);
            self.rules
                .policy
                .may_approve(by, &requester, operation, &state.card.terms)
                .map_err(|denied| StepError::NotAllowed {
                    by: by.id.clone(),
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

    pub(in crate::turn) fn answer(
        &mut self,
        signer: Signer,
        digest: Digest,
        value: Value,
    ) -> Result<(), StepError> {
        let Signer { by, record } = signer;
        let not_open = || StepError::NotOpen {
            digest: digest.to_string(),
        };
        let asked = self.state.question(&digest).ok_or_else(not_open)?;
        if !asked.open {
            return Err(not_open());
        }
        let question = asked.question.clone();
        self.may(Act::Answer(question.of.as_deref()), &by)?;
        let value =
            provost_plan::digest::normalize(value).map_err(|error| StepError::BadAnswer {
                reason: error.to_string(),
            })?;
        let schema =
            Schema::compile(question.answer.clone()).map_err(|error| StepError::BadAnswer {
                reason: error.to_string(),
            })?;
        if let Some(violation) = schema.violations_within(&value, &self.purse).first() {
            return Err(StepError::BadAnswer {
                reason: violation.message.clone(),
            });
        }
        self.emit(Event::QuestionAnswered {
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
                self.accept_answer(&slot, &value)
            }
            QuestionPurpose::Planner { .. }
            | QuestionPurpose::Escalation { .. }
            | QuestionPurpose::Review { .. } => Ok(()),
        }
    }

    /// Settles steps whose answer is recorded and what followed from it is not.
    pub(in crate::turn) fn finish_answers(&mut self) -> Result<(), StepError> {
        let waits = |id: &String| {
            self.state
                .steps
                .get(id)
                .is_some_and(|step| step.status == StepStatus::WaitingAnswer)
        };
        let pending: Vec<(String, Value)> = self
            .state
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
        for (step, answer) in pending {
            self.accept_answer(&Slot { step, item: None }, &answer)?;
        }
        Ok(())
    }

    /// Records what a person answered as what the step came to; the answer is its evidence.
    fn accept_answer(&mut self, slot: &Slot, answer: &Value) -> Result<(), StepError> {
        let bytes = canonical(answer).into_bytes();
        let evidence = self.keep("application/json".to_owned(), bytes);
        self.accept_output(slot, answer, evidence)
    }

    /// Asks a person what to do about a failed step.
    pub(in crate::turn) fn escalate(&mut self, id: &str, class: Class) -> Result<(), StepError> {
        let message = self
            .state
            .failure(id)
            .map_or_else(String::new, |(_, message)| message);
        let text = format!(
            "step `{id}` failed ({}): {message}. go on, replan or stop?",
            class.word()
        );
        let answer = json!({ "enum": ["continue", "replan", "stop"] });
        self.ask_question(
            QuestionPurpose::Escalation {
                step: id.to_owned(),
            },
            text,
            answer,
            None,
        )
    }
}

/// The verdict on a call that repeats an effect: a person is asked whatever policy says.
pub(in crate::turn) fn with_caution(mut verdict: Verdict) -> Verdict {
    verdict.decision = Decision::Ask;
    verdict.ask.get_or_insert_default();
    verdict.policies.push(REPEATED.to_owned());
    verdict
}
