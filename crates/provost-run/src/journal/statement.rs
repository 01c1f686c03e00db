//! Statements: what people say to a run, and what the journal keeps of each.
//!
//! Owns the closed list and the form that is signed. Never verifies a signature and never judges
//! who may: whoever takes a statement in does the one, the machine the other. INVARIANT: an event
//! that follows from a statement records all of it, so that it can be rebuilt and verified again.

use provost_plan::digest::Digest;
use provost_plan::policy::{OperationFacts, Principal};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::call::Slot;
use crate::event::{Event, SettledBy, Settlement};

/// What a person says to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Statement {
    /// Yes.
    Approve {
        /// The card.
        card: Digest,
        /// The steps of a plan card, or the items of a list (`page[2]`); all if empty.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<String>,
    },
    /// No.
    Reject {
        /// The card.
        card: Digest,
        /// Why.
        reason: String,
        /// Whether it is a no to all that is left of the run.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all: bool,
    },
    /// An answer.
    Answer {
        /// The question.
        question: Digest,
        /// The answer.
        value: Value,
    },
    /// Another plan, another goal, or both.
    Amend {
        /// The plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        plan: Option<PlanText>,
        /// The text of the goal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        goal: Option<String>,
        /// Why.
        reason: String,
    },
    /// What became of a write in doubt.
    Settle {
        /// The step, or one of its items.
        slot: Slot,
        /// The digest of the attempt in doubt, as [`State::attempt_in_doubt`] gives it.
        ///
        /// [`State::attempt_in_doubt`]: crate::state::State::attempt_in_doubt
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempt: Option<Digest>,
        /// What is said of it.
        settled: Settlement,
        /// The output of what happened, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Value>,
        /// How they know.
        reason: String,
    },
    /// Nothing further may begin for now.
    Pause {
        /// Why.
        reason: String,
    },
    /// A paused run may go on.
    Resume,
    /// The run is to end.
    Cancel {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Whether what happened is to be undone first.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        undo: bool,
    },
    /// What a run that has ended did is to be taken back.
    Undo {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
}

/// A plan as somebody wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanText {
    /// The name shown in diagnostics.
    pub name: String,
    /// The text.
    pub text: String,
}

impl PlanText {
    /// What a plan that somebody made of the one in force is called.
    pub const AMENDED: &str = "<the current plan, amended>";

    /// The document of a plan as it is amended: without its goal, because the goal of the run
    /// is the goal.
    #[must_use]
    pub fn to_amend(document: &Value) -> Value {
        let mut document = document.clone();
        if let Some(document) = document.as_object_mut() {
            document.remove("goal");
        }
        document
    }
}

/// Through which door a statement came, and how its speaker had shown who they are. It is the word
/// of the server that took the statement: nothing is judged by it, and it counts for who spoke only
/// with a [`Voucher`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatementVia {
    /// `page` or `api`.
    pub door: String,
    /// `link`, `oidc`, or `token NAME`.
    pub login: String,
    /// Who vouched for the person, where a provider did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What that provider calls them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// When they showed it, in milliseconds since the epoch.
    pub since: i64,
}

/// What a statement has to bring to count, from the least to the most: what shows who made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Credential {
    /// Nothing: a name is enough.
    #[default]
    Nothing,
    /// The word of a server that its speaker had signed in, or what is more.
    Login,
    /// The signature of its speaker.
    Signature,
}

impl Credential {
    /// All of them, from the least to the most.
    pub const ALL: [Self; 3] = [Self::Nothing, Self::Login, Self::Signature];

    /// How it is written.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Login => "login",
            Self::Signature => "signature",
        }
    }
}

/// The word of a server that who made a statement had signed in: its signature over the statement
/// and the login.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Voucher {
    /// The public key of the server, as text.
    pub key: String,
    /// The signature, in base64.
    pub signature: String,
}

/// What stands behind a statement in the journal: its number, its life, its signature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatementRecord {
    /// Drawn by who made it; a run takes it once.
    pub nonce: String,
    /// The revision of the plan that it was about.
    pub revision: u32,
    /// When it was made, in milliseconds since the epoch.
    pub at: i64,
    /// When it lapses.
    pub expires_at: i64,
    /// The public key it is signed with, if it is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The signature, in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signature: Option<String>,
    /// The digest of the rights that it was judged by, where others were in force before; in runs
    /// whose statements have to be signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Digest>,
    /// What it was judged by of the call that it settles, in such runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Box<OperationFacts>>,
    /// How it came, if it came through a server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Box<StatementVia>>,
    /// That the server vouches for the login in `via`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vouched: Option<Box<Voucher>>,
}

/// A statement as an event records it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedStatement {
    /// Who made it.
    pub by: String,
    /// The statement.
    pub statement: Statement,
    /// What stands behind it; none if it came to the machine without an envelope.
    pub record: Option<StatementRecord>,
}

/// Who makes a statement, and what stands behind it.
#[derive(Debug)]
pub(crate) struct Signer {
    pub(crate) by: Principal,
    pub(crate) record: Option<StatementRecord>,
}

impl Statement {
    /// The verb.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Self::Approve { .. } => "approve",
            Self::Reject { .. } => "reject",
            Self::Answer { .. } => "answer",
            Self::Amend { .. } => "amend",
            Self::Settle { .. } => "settle",
            Self::Pause { .. } => "pause",
            Self::Resume => "resume",
            Self::Cancel { .. } => "cancel",
            Self::Undo { .. } => "undo",
        }
    }

    /// Whether a workspace that requires a credential requires it for this.
    #[must_use]
    pub fn needs_credential(&self) -> bool {
        match self {
            Self::Approve { .. }
            | Self::Reject { .. }
            | Self::Answer { .. }
            | Self::Settle { .. }
            | Self::Amend { .. }
            | Self::Undo { .. }
            | Self::Cancel { undo: true, .. } => true,
            // Why not: they only stop, and stopping must never wait for a key; what goes on again
            // was approved before.
            Self::Pause { .. } | Self::Resume | Self::Cancel { .. } => false,
        }
    }

    /// The card that it is about.
    #[must_use]
    pub fn card(&self) -> Option<Digest> {
        match self {
            Self::Approve { card, .. } | Self::Reject { card, .. } => Some(*card),
            Self::Answer { .. }
            | Self::Amend { .. }
            | Self::Settle { .. }
            | Self::Pause { .. }
            | Self::Resume
            | Self::Undo { .. }
            | Self::Cancel { .. } => None,
        }
    }
}

impl Event {
    /// The statement it follows from, as it was made; none if it follows from no person's.
    #[must_use]
    pub fn statement(&self) -> Option<RecordedStatement> {
        let (by, statement) = self.stated()?;
        let record = self.record().cloned();
        Some(RecordedStatement {
            by,
            statement,
            record,
        })
    }

    fn stated(&self) -> Option<(String, Statement)> {
        match self {
            Self::ApprovalGiven { .. }
            | Self::ApprovalRejected { .. }
            | Self::QuestionAnswered { .. }
            | Self::GoalAmended { .. }
            | Self::PlanAmended { .. } => self.of_plan(),
            Self::DoubtSettled { .. }
            | Self::Paused { .. }
            | Self::Resumed { .. }
            | Self::CancelRequested { .. }
            | Self::UndoRequested { .. } => self.of_execution(),
            Self::RunCreated(_)
            | Self::GoalInterpreted { .. }
            | Self::PlanRequested { .. }
            | Self::BudgetSpent { .. }
            | Self::PlanProposed { .. }
            | Self::ProposalMended { .. }
            | Self::PlanChecked { .. }
            | Self::PlanRefused { .. }
            | Self::PlanGivenUp { .. }
            | Self::PlanHandedOn { .. }
            | Self::PlanRevised { .. }
            | Self::ApprovalRequested { .. }
            | Self::ApprovalExpired { .. }
            | Self::ApprovalsRevised { .. }
            | Self::QuestionAsked { .. }
            | Self::QuestionExpired { .. }
            | Self::RunStarted { .. }
            | Self::ListEvaluated { .. }
            | Self::StepSkipped { .. }
            | Self::StepBlocked { .. }
            | Self::AdmissionRefused { .. }
            | Self::AttemptStarted(_)
            | Self::AttemptEnded(_)
            | Self::ObservationMade { .. }
            | Self::StepSettled { .. }
            | Self::ReconcileGivenUp { .. }
            | Self::Deferred { .. }
            | Self::ReplanRequested { .. }
            | Self::UndoPlanned { .. }
            | Self::RunEnded(_) => None,
        }
    }

    /// A statement on what is planned: a yes, a no, an answer, an amendment.
    fn of_plan(&self) -> Option<(String, Statement)> {
        let (by, statement) = match self.clone() {
            Self::ApprovalGiven {
                card, by, steps, ..
            } => (by, Statement::Approve { card, steps }),
            Self::ApprovalRejected {
                card,
                by,
                reason,
                all,
                ..
            } => (by, Statement::Reject { card, reason, all }),
            Self::QuestionAnswered {
                question,
                value,
                by,
                ..
            } => (by, Statement::Answer { question, value }),
            Self::GoalAmended {
                goal,
                by,
                reason,
                plan,
                ..
            } => {
                let goal = Some(goal.text);
                (by, Statement::Amend { plan, goal, reason })
            }
            Self::PlanAmended {
                name,
                text,
                by,
                reason,
                goal,
                ..
            } => {
                let plan = Some(PlanText { name, text });
                (by, Statement::Amend { plan, goal, reason })
            }
            _ => return None,
        };
        Some((by, statement))
    }

    /// A statement on what is carried out: a settlement, a stop, its end, the end of the run.
    fn of_execution(&self) -> Option<(String, Statement)> {
        let (by, statement) = match self.clone() {
            Self::DoubtSettled {
                slot,
                attempt,
                settled,
                by: SettledBy::Person { id },
                reason,
                output,
                ..
            } => {
                let statement = Statement::Settle {
                    slot,
                    attempt,
                    settled,
                    output,
                    reason: reason.unwrap_or_default(),
                };
                (id, statement)
            }
            // Why only with a record: admission stops runs by the same event.
            Self::Paused {
                by,
                reason,
                record: Some(_),
                ..
            } => (by, Statement::Pause { reason }),
            Self::Resumed { by: Some(by), .. } => (by, Statement::Resume),
            Self::CancelRequested {
                by, reason, undo, ..
            } => (by, Statement::Cancel { reason, undo }),
            Self::UndoRequested { by, reason, .. } => (by, Statement::Undo { reason }),
            _ => return None,
        };
        Some((by, statement))
    }

    /// What stands behind the statement it follows from, if it followed from one that was recorded.
    #[must_use]
    pub fn record(&self) -> Option<&StatementRecord> {
        match self {
            Self::ApprovalGiven { record, .. }
            | Self::ApprovalRejected { record, .. }
            | Self::QuestionAnswered { record, .. }
            | Self::CancelRequested { record, .. }
            | Self::UndoRequested { record, .. }
            | Self::DoubtSettled { record, .. }
            | Self::Paused { record, .. }
            | Self::Resumed { record, .. }
            | Self::GoalAmended { record, .. }
            | Self::PlanAmended { record, .. } => record.as_ref(),
            _ => None,
        }
    }
}
