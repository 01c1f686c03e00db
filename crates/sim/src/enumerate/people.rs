//! The people of the enumeration, and every statement they can make.
//!
//! Owns who they are and the form of what they say. Never chooses when. INVARIANT: a statement that
//! is posted has the same number however often it is heard.

use provost_engine::people::{Inbox, RequiredCredential, StatementEnvelope, StatementSubject};
use provost_plan::digest::Digest;
use provost_plan::policy::{Principal, PrincipalKind};
use provost_run::event::Settlement;
use provost_run::machine::Input;
use provost_run::state::State;
use provost_run::statement::{PlanText, Statement};
use serde_json::{Value, json};

use super::explore::Search;
use super::machine::{Machine, Settled, slot_of};
use super::world::{self, Flight};

/// Who is listed among the people of the workspace.
pub(super) const LISTED: [&str; 2] = ["ada", "bob"];
/// The store that statements are posted in.
const STORE: &str = "enumeration";
/// The number of the statement that is posted in a history.
pub(super) const NONCE: &str = "posted";
/// What a driver draws anew that hears a statement twice: a control.
const REDRAWN: &str = "posted-anew";

/// The number that the person who made the statement drew.
pub(super) fn original(nonce: &str) -> &str {
    nonce.split('-').next().unwrap_or(nonce)
}

/// Somebody who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Person {
    /// Who asked for the run.
    Ada,
    /// A second person.
    Bob,
    /// Nobody of the workspace.
    Mallory,
    /// A program that acts for Bob.
    Agent,
}

impl Person {
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Ada => "ada",
            Self::Bob | Self::Agent => "bob",
            Self::Mallory => "mallory",
        }
    }

    pub(super) fn principal(self) -> Principal {
        let kind = match self {
            Self::Agent => PrincipalKind::Agent,
            _ => PrincipalKind::User,
        };
        Principal {
            kind,
            id: self.id().to_owned(),
            groups: Default::default(),
        }
    }
}

/// What somebody says, as the search names it: cards and questions by their place among the open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Saying {
    /// Yes to a card.
    Yes(usize),
    /// No to a card, or to all that is left.
    No(usize, bool),
    /// An answer to a question: this one of those it may have.
    Answer(usize, usize),
    /// What became of the doubtful call of this place.
    Settle(usize, bool, Settled),
    /// The run is stopped for now.
    Pause,
    /// It may go on.
    GoOn,
    /// It is to end.
    Cancel,
    /// It is to end, and what happened to be undone.
    Undo,
    /// It has ended, and what happened is to be undone.
    UndoEnded,
    /// Another plan, goal, or both.
    Amend(Amendment),
}

/// What somebody puts in the place of what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Amendment {
    /// A plan with one step more.
    Longer,
    /// A plan without what has not begun.
    Shorter,
    /// A goal.
    Goal,
    /// A goal, and the longer plan for it.
    Both,
}

impl Amendment {
    pub(super) const ALL: [Self; 4] = [Self::Longer, Self::Shorter, Self::Goal, Self::Both];
}

impl Saying {
    /// The words of a history.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Yes(_) => "a person says yes",
            Self::No(_, false) => "a person says no",
            Self::No(_, true) => "a person says no to all",
            Self::Answer(..) => "a person answers",
            Self::Settle(..) => "a person settles a doubt",
            Self::Pause => "a person pauses",
            Self::GoOn => "a person lets it go on",
            Self::Cancel => "a person cancels",
            Self::Undo => "a person has it undone",
            Self::UndoEnded => "a person has it undone after the end",
            Self::Amend(Amendment::Longer) => "a person amends the plan",
            Self::Amend(Amendment::Shorter) => "a person takes steps out of the plan",
            Self::Amend(Amendment::Goal) => "a person amends the goal",
            Self::Amend(Amendment::Both) => "a person amends plan and goal",
        }
    }
}

/// The answers that a question takes.
pub(super) fn choices(answer: &Value) -> &[Value] {
    let choices = answer.get("enum").and_then(Value::as_array);
    choices.map_or(&[], Vec::as_slice)
}

impl Search<'_> {
    /// What a person says, as the run is given it.
    pub(super) fn statement(&self, from: &Machine, saying: Saying) -> Result<Statement, String> {
        let state = from.run.state();
        let card = |number: usize| {
            let mut cards = state.open_cards().map(|(digest, _)| *digest);
            cards.nth(number).ok_or("no such card is open")
        };
        Ok(match saying {
            Saying::Yes(number) => Statement::Approve {
                card: card(number)?,
                steps: Vec::new(),
            },
            Saying::No(number, all) => Statement::Reject {
                card: card(number)?,
                reason: "no".to_owned(),
                all,
            },
            Saying::Answer(number, choice) => {
                let (question, asked) = state.open_questions().nth(number).ok_or("no question")?;
                let value = choices(&asked.answer).get(choice).ok_or("no such answer")?;
                Statement::Answer {
                    question: *question,
                    value: value.clone(),
                }
            }
            Saying::Settle(place, again, settled) => {
                let class = world::Class::Plain;
                let flight = Flight {
                    place,
                    again,
                    class,
                };
                let slot = slot_of(self.case, flight).ok_or("no such place")?;
                let attempt = state.attempt_in_doubt(&slot);
                settlement(slot, attempt, settled)
            }
            Saying::Pause => Statement::Pause {
                reason: "wait".to_owned(),
            },
            Saying::GoOn => Statement::Resume,
            Saying::Cancel | Saying::Undo => Statement::Cancel {
                reason: None,
                undo: saying == Saying::Undo,
            },
            Saying::UndoEnded => Statement::Undo { reason: None },
            Saying::Amend(amendment) => self.amendment(from, amendment),
        })
    }

    fn amendment(&self, from: &Machine, amendment: Amendment) -> Statement {
        let text = match amendment {
            Amendment::Longer | Amendment::Both => Some(self.case.amended(None)),
            Amendment::Shorter => Some(self.case.amended(Some(from.reading.begun()))),
            Amendment::Goal => None,
        };
        let goal = match amendment {
            Amendment::Goal | Amendment::Both => Some("something else".to_owned()),
            Amendment::Longer | Amendment::Shorter => None,
        };
        let name = "amended".to_owned();
        Statement::Amend {
            plan: text.map(|text| PlanText { name, text }),
            goal,
            reason: "better like this".to_owned(),
        }
    }

    /// The input of a statement that was posted, through the inbox of the engine; `anew` as of a
    /// driver that draws another number for it.
    pub(super) fn posted(
        &self,
        state: &State,
        by: Person,
        (statement, revision): (Statement, u32),
        anew: bool,
    ) -> Result<Input, String> {
        let about = StatementSubject {
            store: STORE,
            run: &state.head.run,
            revision,
        };
        let at = state.spend.last_at;
        let envelope = StatementEnvelope::new(about, statement, by.id(), at, None);
        let mut envelope = envelope.map_err(|error| error.to_string())?;
        envelope.nonce = if anew { REDRAWN } else { NONCE }.to_owned();
        let verified = self.inbox.verify(&envelope, state, state.spend.last_at);
        verified.map_err(|error| error.to_string())
    }
}

/// The inbox of the enumeration, for these people.
pub(super) fn inbox(people: provost_plan::policy::People, solo: bool) -> Inbox {
    Inbox::new(STORE.to_owned(), people, RequiredCredential::default()).in_solo(solo)
}

/// A settlement of this attempt.
pub(super) fn settlement(
    slot: provost_run::call::Slot,
    attempt: Option<Digest>,
    settled: Settled,
) -> Statement {
    let (settled, output) = match settled {
        Settled::Happened => (Settlement::Happened, Some(json!({ "done": true }))),
        Settled::DidNotHappen => (Settlement::DidNotHappen, None),
        Settled::Abandoned => (Settlement::Abandoned, None),
    };
    Statement::Settle {
        attempt,
        slot,
        settled,
        output,
        reason: "seen".to_owned(),
    }
}
