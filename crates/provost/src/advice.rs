//! What to do about an error, with the commands to type: no other crate knows one.
//!
//! Owns which command mends what. What else there is to say stands beside the error itself.

use provost_engine::audit::AuditError;
use provost_engine::people::JournalStatementsError;
use provost_engine::planners::NoMatch;
use provost_engine::store::heads::HeadsError;
use provost_engine::store::{FindError, StoreError};
use provost_engine::workspace::{ScaffoldError, WorkspaceError};

use crate::workspace_path::quoted;

/// An error about which something can be done.
pub trait Advice {
    /// What to do, where there is something.
    fn advice(&self) -> Option<&'static str>;
}

impl Advice for StoreError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Poisoned { .. } => Some(
                "end this process, check the space and the health of the disk, then \
                 `provost resume`",
            ),
            Self::Moved { .. } | Self::SeqMismatch { .. } => {
                Some("another process took over the run: `provost trace` shows it")
            }
            Self::NotAJournal { .. } | Self::Failed { .. } => Some(
                "`provost restore FILE` puts a backup in its place, and keeps this one; without a \
                 backup, move the file away: writes in doubt and calls made before are then \
                 forgotten",
            ),
            Self::Damaged { .. } => Some(
                "the journal was changed from outside or the disk is damaged: \
                 `provost restore FILE` puts a backup in its place, and keeps this one",
            ),
            other => other.hint(),
        }
    }
}

impl Advice for FindError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Unknown { .. } => Some("`provost runs` lists them"),
            Self::Store(error) => error.advice(),
            other @ Self::Ambiguous { .. } => other.hint(),
        }
    }
}

impl Advice for HeadsError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::None { .. } => Some(
                "if no head was ever signed, `provost audit sign` signs the first; otherwise \
                 restore the file",
            ),
            Self::OtherStore { .. } | Self::Shorter { .. } | Self::Differs { .. } => Some(
                "restore the newest journal; to accept this one, give the reason: \
                 `provost audit accept --reason WHY`",
            ),
            Self::Store(error) => error.advice(),
            other => other.hint(),
        }
    }
}

impl Advice for AuditError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Heads(error) => error.advice(),
            Self::Store(error) => error.advice(),
            Self::JournalStatements(error) => error.advice(),
            other => other.hint(),
        }
    }
}

impl Advice for JournalStatementsError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Store(error) => error.advice(),
            other => other.hint(),
        }
    }
}

impl Advice for WorkspaceError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::NotFound { .. } | Self::NoConfig { .. } => {
                Some("`provost init` makes a workspace here; `-C DIR` names one elsewhere")
            }
            Self::Refused { .. } => None,
        }
    }
}

impl Advice for ScaffoldError {
    fn advice(&self) -> Option<&'static str> {
        match self {
            Self::Exists { .. } => Some("name another directory: `provost init DIR`"),
            other @ Self::NotWritable { .. } => Some(other.hint()),
        }
    }
}

/// What to do where no playbook matches a goal and no other planner is configured.
pub fn no_match(none: &NoMatch) -> String {
    let offered = none.similar.iter().map(|one| match one.is_complete {
        true => format!("did you mean `provost run {}`?\n", quoted(&one.sentence)),
        false => format!("did you mean \"{}\", with its value?\n", one.sentence),
    });
    let offered: String = offered.collect();
    let own = format!("{offered}{} with `provost apply FILE`", none.hint());
    match known_key() {
        Some((variable, kind)) => format!("{own}\n{}", model_planner(variable, kind)),
        None => own,
    }
}

/// Environment variables that hold API keys, with the kind of model that each is for.
const KNOWN_KEYS: [(&str, &str); 3] = [
    ("ANTHROPIC_API_KEY", "anthropic"),
    ("OPENAI_API_KEY", "openai"),
    ("GEMINI_API_KEY", "gemini"),
];

/// An API key that is set already.
fn known_key() -> Option<(&'static str, &'static str)> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    KNOWN_KEYS.into_iter().find(|(name, _)| is_set(name))
}

/// What to add to provost.toml so that a model plans.
fn model_planner(variable: &str, kind: &str) -> String {
    format!(
        "or let a model plan: `{variable}` is set; add to provost.toml\n  \
         [models.large]\n  kind = \"{kind}\"\n  model = \"NAME OF A MODEL\"\n  \
         key = \"env:{variable}\"\n  [planner]\n  kind = \"model\"\n  model = \"large\""
    )
}
