//! Whether an event of a journal may stand where it stands, as far as a person's word bears on it.
//!
//! Owns the rights that cards and questions carry with them, and asks the policies of that day
//! about everything else, where the journal has them. Never verifies a signature. INVARIANT: what
//! the machine takes from a person leads to no objection when the journal is read again.

use std::sync::Arc;

use provost_plan::digest::Digest;
use provost_plan::policy::{ActionDenied, Principal, PrincipalKind, Rights};

use super::{ItemState, State};
use crate::call::Slot;
use crate::card::Card;
use crate::event::{Event, SettledBy};

/// Who an event names, as the workspace knows them.
#[derive(Clone, Debug)]
pub struct Signatory {
    /// Who.
    pub by: Principal,
    /// Whether they are listed.
    pub listed: bool,
    /// Whether one person is everybody here.
    pub solo: bool,
    /// The rights that the statement was judged by; none in journals of earlier versions.
    pub rights: Option<Arc<Rights>>,
}

/// Why an event may not stand.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum Objection {
    /// Nothing waited for it.
    #[error("nothing waited for an answer under `{digest}`")]
    NotOpen {
        /// What it names.
        digest: Digest,
    },
    /// What is recorded is not what was asked.
    #[error("what is recorded under `{digest}` is not what that digest is of")]
    OtherContent {
        /// What it names.
        digest: Digest,
    },
    /// It came too late.
    #[error("what it answers had expired")]
    Lapsed,
    /// This person may not.
    #[error("`{by}` may not: {reason}")]
    NotAllowed {
        /// Who.
        by: String,
        /// Why not.
        reason: String,
    },
    /// The quorum is another.
    #[error("it says otherwise than the quorum whether more people are needed")]
    Quorum,
    /// It gives itself another life.
    #[error("it says that it counts longer than the card lets it")]
    Life,
    /// The write was not in doubt.
    #[error("`{slot}` was not in doubt")]
    NotInDoubt {
        /// Which.
        slot: Slot,
    },
    /// It settles another call than the one that the plan makes there.
    #[error("it does not say of the call of `{slot}` that it settles it")]
    OtherCall {
        /// Which.
        slot: Slot,
    },
    /// The run had not ended.
    #[error("the run had not ended: nothing was to be undone after its end")]
    NotEnded,
    /// The policies of that day do not let them.
    #[error(transparent)]
    Denied(#[from] ActionDenied),
    /// The same statement was recorded before.
    #[error("the statement `{nonce}` was recorded before")]
    Replayed {
        /// Its number.
        nonce: String,
    },
    /// Half of an amendment.
    #[error("it is one half of an amendment, and the other half is not before it")]
    Half,
}

impl State {
    /// Why `event` may not follow here; `before` is the event before it. Only an event that a
    /// person's statement led to can be objected to.
    ///
    /// # Errors
    /// [`Objection`] says why.
    pub fn object(
        &self,
        before: Option<&Event>,
        event: &Event,
        at: i64,
        signatory: &Signatory,
    ) -> Result<(), Objection> {
        object_to_replay(self, before, event)?;
        let denied = |reason: &str| Objection::NotAllowed {
            by: signatory.by.id.clone(),
            reason: reason.to_owned(),
        };
        if signatory.by.kind != PrincipalKind::User {
            return Err(denied("only people say something to a run"));
        }
        if !signatory.solo && !signatory.listed {
            return Err(denied("they are not listed in policies/entities.json"));
        }
        if let Some(rights) = &signatory.rights {
            self.object_by_rights(event, &signatory.by.id, rights)?;
        }
        match event {
            Event::ApprovalGiven { .. } => object_to_yes(self, event, at, signatory),
            Event::ApprovalRejected { card, .. } => {
                object_to_answer(self, *card, at, signatory).map(drop)
            }
            Event::QuestionAnswered { question, .. } => {
                let digest = *question;
                let asked = self
                    .people
                    .questions
                    .get(question)
                    .filter(|asked| asked.open);
                let asked = asked.ok_or(Objection::NotOpen { digest })?;
                if asked.question.digest() != digest {
                    return Err(Objection::OtherContent { digest });
                }
                if asked.question.has_lapsed(at) {
                    return Err(Objection::Lapsed);
                }
                match &asked.question.of {
                    // Why only here: otherwise policy was asked, which sees whom it names.
                    Some(of)
                        if signatory.rights.is_none()
                            && *of != signatory.by.id
                            && !signatory.by.groups.contains(of) =>
                    {
                        Err(denied(&format!("the question is for `{of}`")))
                    }
                    _ => Ok(()),
                }
            }
            Event::DoubtSettled {
                slot,
                by: SettledBy::Person { .. },
                ..
            } => {
                let in_doubt = self.item(slot).is_some_and(ItemState::is_in_doubt);
                let slot = slot.clone();
                in_doubt.then_some(()).ok_or(Objection::NotInDoubt { slot })
            }
            Event::UndoRequested { .. } if self.ending.ended.is_none() => Err(Objection::NotEnded),
            _ => Ok(()),
        }
    }

    /// Why the person that an event names had no right to it, by the policies of that day. Of a
    /// statement that need not be signed the name proves nothing; a right it lacks is named all the
    /// same.
    ///
    /// # Errors
    /// [`Objection`] says why.
    pub fn object_by_rights(
        &self,
        event: &Event,
        by: &str,
        rights: &Rights,
    ) -> Result<(), Objection> {
        let Some(act) = self.act_of(event)? else {
            return Ok(());
        };
        rights.judge(&self.facts(act, &rights.people().principal(by)))?;
        Ok(())
    }
}

fn object_to_yes(
    state: &State,
    event: &Event,
    at: i64,
    signatory: &Signatory,
) -> Result<(), Objection> {
    let Event::ApprovalGiven {
        card,
        steps,
        complete,
        valid_until,
        ..
    } = event
    else {
        return Ok(());
    };
    let (asked, before) = object_to_answer(state, *card, at, signatory)?;
    if asked.meant(steps).is_err() {
        return Err(Objection::NotAllowed {
            by: signatory.by.id.clone(),
            reason: "it names what is not on the card".to_owned(),
        });
    }
    if *complete != (before + 1 >= u64::from(asked.terms.quorum)) {
        return Err(Objection::Quorum);
    }
    match valid_until {
        Some(until) if *until > at.saturating_add(asked.terms.valid()) => Err(Objection::Life),
        _ => Ok(()),
    }
}

/// A statement counts once; an amendment of plan and goal is two events of one.
fn object_to_replay(state: &State, before: Option<&Event>, event: &Event) -> Result<(), Objection> {
    let Some(record) = event.record() else {
        return Ok(());
    };
    if let Event::PlanAmended { goal: Some(_), .. } = event {
        let is_pair = before.is_some_and(|before| {
            matches!(before, Event::GoalAmended { .. }) && before.statement() == event.statement()
        });
        return is_pair.then_some(()).ok_or(Objection::Half);
    }
    if state.people.nonces.contains(&record.nonce) {
        let nonce = record.nonce.clone();
        return Err(Objection::Replayed { nonce });
    }
    Ok(())
}

/// Objects to an answer to a card; otherwise the card, and how many said yes to it before.
fn object_to_answer<'s>(
    state: &'s State,
    digest: Digest,
    at: i64,
    signatory: &Signatory,
) -> Result<(&'s Card, u64), Objection> {
    let denied = |reason: String| Objection::NotAllowed {
        by: signatory.by.id.clone(),
        reason,
    };
    let asked = state.people.cards.get(&digest).filter(|asked| asked.open);
    let asked = asked.ok_or(Objection::NotOpen { digest })?;
    let card = &asked.card;
    if card.digest() != digest {
        return Err(Objection::OtherContent { digest });
    }
    if card.expires_at.is_some_and(|expires_at| expires_at <= at) {
        return Err(Objection::Lapsed);
    }
    let by = &signatory.by;
    if !signatory.solo && (card.requester == by.id || card.amended_by.contains(&by.id)) {
        return Err(denied("they requested it".to_owned()));
    }
    if let Some(role) = card.terms.approvers.difference(&by.groups).next() {
        return Err(denied(format!("this needs a person in `{role}`")));
    }
    if asked.approved_by.contains(&by.id) {
        return Err(denied("they already approved".to_owned()));
    }
    Ok((card, asked.approved_by.len() as u64))
}
