//! Telling people elsewhere: what the operator says in `[notify.NAME]`, and what follows from it.
//!
//! Owns the targets and their occasions; `made` turns events into notices, `deliver` sends them.
//! INVARIANT: a notice stands in the journal's file before anybody is told, under an id that is
//! the same at every delivery.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use provost_run::state::WaitKind;
use provost_wire::SecretName;
use provost_wire::http::BaseUrl;
use provost_wire::process::command_lacks;

mod body;
pub(crate) mod compose;
mod deliver;

pub use deliver::{Delivered, DeliveryStatus};

/// Somebody to tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotifyTarget {
    /// The name in `[notify.NAME]`.
    pub name: String,
    /// How they are told.
    pub by: DeliveryMethod,
    /// How long one delivery may take.
    pub timeout: Duration,
    /// Of what they are told.
    pub on: BTreeSet<NoticeReason>,
    /// How often they are told again while it still waits.
    pub remind: Option<Duration>,
    /// Who else is told when it still waits.
    pub escalate: Option<Escalation>,
}

impl NotifyTarget {
    /// Why nobody can be told, as far as files and variables tell. Nothing is started or sent.
    #[must_use]
    pub fn defect(&self, root: &Path) -> Option<String> {
        match &self.by {
            DeliveryMethod::Command(argv) => command_lacks(argv, &[], root),
            DeliveryMethod::Webhook { secret, .. } => Some(secret.resolve(root).err()?.to_string()),
        }
    }
}

/// How somebody is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryMethod {
    /// A command with the notice on stdin.
    Command(Vec<String>),
    /// A webhook.
    Webhook {
        /// The host.
        base: BaseUrl,
        /// The path below it.
        path: String,
        /// What the notice is signed with, or what the service knows the sender by.
        secret: SecretName,
        /// What it looks like.
        body: NotifyBody,
    },
}

/// What a notice looks like to a webhook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotifyBody {
    /// A CloudEvent, signed.
    #[default]
    CloudEvent,
    /// A message of an incoming webhook of Slack; the secret is the end of its path.
    Slack,
    /// An event of PagerDuty; the secret is the routing key.
    PagerDuty,
}

impl NotifyBody {
    /// The words of provost.toml.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("cloudevents", Self::CloudEvent),
        ("slack", Self::Slack),
        ("pagerduty", Self::PagerDuty),
    ];
}

/// Who else is told when something still waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalation {
    /// After how long.
    pub after: Duration,
    /// The name of another target.
    pub to: String,
}

/// Of what somebody is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoticeReason {
    /// Something waits for a yes or an answer, or for a secret to be set.
    Waiting,
    /// Nobody knows whether a write took place, and no tool can be asked.
    InDoubt,
    /// A run failed, was refused or expired, or a schedule could not begin one.
    Failed,
    /// Nobody answered a question of the plan in time.
    Expired,
    /// A tool failed so often that nothing is sent to it for a while.
    BreakerOpen,
    /// A run ended, however that was.
    Ended,
}

impl NoticeReason {
    /// The words of provost.toml.
    pub const WORDS: [(&'static str, Self); 6] = [
        ("waiting", Self::Waiting),
        ("in_doubt", Self::InDoubt),
        ("failed", Self::Failed),
        ("expired", Self::Expired),
        ("breaker_open", Self::BreakerOpen),
        ("ended", Self::Ended),
    ];

    /// Whether somebody is told of it who does not say of what.
    #[must_use]
    pub fn is_default(self) -> bool {
        self != Self::Ended
    }

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, occasion)| *occasion == self);
        found.map_or("", |(word, _)| word)
    }
}

/// What a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoticeSubject<'n> {
    /// The run; of a schedule, the one that could not begin.
    pub run: &'n str,
    /// The kind.
    pub kind: SubjectKind,
    /// Which of the kind: the digest of a card or a question, the name of a secret or a tool, the
    /// slot of a doubt, the run, the name of a schedule.
    pub which: &'n str,
}

/// The kind of what a notice is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubjectKind {
    /// What the run waits for.
    Waits(WaitKind),
    /// The run: it is over, or went on without an answer.
    Run,
    /// A tool, whose breaker is open.
    Tool,
    /// A schedule that could not begin its run.
    Schedule,
}

/// The command to type about a subject. The front end spells it: no verb is known here.
pub type CommandOf = dyn Fn(&NoticeSubject<'_>) -> String + Send + Sync;

impl SubjectKind {
    const WORDS: [(&'static str, Self); 7] = [
        ("card", Self::Waits(WaitKind::Approval)),
        ("question", Self::Waits(WaitKind::Answer)),
        ("secret", Self::Waits(WaitKind::Secret)),
        ("doubt", Self::Waits(WaitKind::Settlement)),
        ("run", Self::Run),
        ("tool", Self::Tool),
        ("schedule", Self::Schedule),
    ];

    fn word(self) -> &'static str {
        let found = Self::WORDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(word, _)| word)
    }

    fn of(word: &str) -> Option<Self> {
        let found = Self::WORDS.iter().find(|(known, _)| *known == word);
        found.map(|(_, kind)| *kind)
    }
}
