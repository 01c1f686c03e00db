//! `RUN[@DIGEST]`: a run, and the card or question that is meant.

use std::convert::Infallible;
use std::str::FromStr;

use provost_engine::engine::{Engine, FoldedRun, Record};
use provost_engine::history::History;
use provost_engine::run::machine::StepError;
use provost_engine::run::state::State;
use provost_engine::store::Store;
use provost_plan::digest::Digest;

use crate::failure::Failure;
use crate::screen::words::run_is;
use crate::workspace_path::WorkspacePath;

/// What was typed.
#[derive(Clone, Debug)]
pub struct Target {
    /// The run, or how it begins.
    pub run: String,
    /// The digest, or how it begins.
    pub digest: Option<String>,
}

impl FromStr for Target {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once('@') {
            Some((run, digest)) => Self {
                run: run.to_owned(),
                digest: Some(digest.to_owned()),
            },
            None => Self {
                run: text.to_owned(),
                digest: None,
            },
        })
    }
}

/// What waits in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetWait {
    /// Cards.
    Cards,
    /// Questions.
    Questions,
}

impl TargetWait {
    fn word(self) -> &'static str {
        match self {
            Self::Cards => "card",
            Self::Questions => "question",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Cards => "approve",
            Self::Questions => "answer",
        }
    }

    /// What waits, by digest.
    pub fn open(self, state: &State) -> Vec<Digest> {
        match self {
            Self::Cards => state.open_cards().map(|(digest, _)| *digest).collect(),
            Self::Questions => state.open_questions().map(|(digest, _)| *digest).collect(),
        }
    }
}

/// A run that somebody speaks to or takes up: the workspace is read once for it, the journal
/// opened once, and the run folded once.
pub struct TargetRun {
    /// What it was looked at through; opened for driving only by whoever drives.
    pub engine: Engine,
    /// The run.
    pub folded: FoldedRun,
}

impl TargetRun {
    /// Its state.
    pub fn state(&self) -> &State {
        self.folded.state()
    }
}

impl Target {
    /// Opens the workspace to speak to the run. Nothing is written or created yet.
    pub fn open(&self, place: &WorkspacePath) -> Result<TargetRun, Failure> {
        let engine = place.to_speak()?;
        let folded = engine.fold(&self.find(&engine)?)?;
        Ok(TargetRun { engine, folded })
    }

    /// The run as its journal alone tells it.
    pub fn history(&self, store: &Store) -> Result<History, Failure> {
        Ok(History::read(store, &self.find_in(store)?)?)
    }

    /// The run, read from its journal.
    pub fn read(&self, engine: &Engine) -> Result<Record, Failure> {
        Ok(engine.read(&self.find(engine)?)?)
    }

    /// The run's whole id.
    pub fn find(&self, engine: &Engine) -> Result<String, Failure> {
        self.find_in(engine.store())
    }

    /// The same by a journal alone.
    pub fn find_in(&self, store: &Store) -> Result<String, Failure> {
        if self.run.is_empty() {
            return Err(Failure::usage("no run is named").hint("`provost runs` lists them"));
        }
        Ok(store.find(&self.run)?)
    }

    /// The open card or question that is meant; with no digest, the only one there is.
    pub fn pick(
        &self,
        state: &State,
        waiting: TargetWait,
        place: &WorkspacePath,
    ) -> Result<Option<Digest>, Failure> {
        if let (Some(text), TargetWait::Questions) = (&self.digest, waiting) {
            not_lapsed(state, text)?;
        }
        let open = waiting.open(state);
        let Some(first) = open.first() else {
            return Err(nothing(state, waiting));
        };
        let run = &state.head.run;
        match &self.digest {
            Some(text) => {
                let meant: Vec<_> = open.iter().filter(|digest| digest.matches(text)).collect();
                if let [only] = meant.as_slice() {
                    return Ok(Some(**only));
                }
                let too_short = text.trim_start_matches("sha256:").len() < 8;
                let message = if too_short {
                    format!("`{text}` is too short for a digest: type at least 8 digits")
                } else {
                    format!(
                        "no open {} of run `{run}` has the digest `{text}`",
                        waiting.word()
                    )
                };
                let (verb, id) = (waiting.verb(), first.in_command());
                let value = if waiting == TargetWait::Questions {
                    " VALUE"
                } else {
                    ""
                };
                let command = place.command(&format!("provost {verb} {run}@{id}{value}"));
                Err(Failure::usage(message).hint(format!(
                    "the open {} is {first}:\n  {command}",
                    waiting.word()
                )))
            }
            None if open.len() == 1 => Ok(Some(*first)),
            None => Ok(None),
        }
    }
}

/// Refuses a question that nobody answered in time, in the words of the run.
fn not_lapsed(state: &State, text: &str) -> Result<(), StepError> {
    let mut lapsed = state.people.questions.iter();
    match lapsed.find(|(digest, asked)| asked.expired && digest.matches(text)) {
        Some((digest, _)) => Err(StepError::Lapsed {
            digest: digest.to_string(),
        }),
        None => Ok(()),
    }
}

fn nothing(state: &State, waiting: TargetWait) -> Failure {
    let status = run_is(state.status().word());
    Failure::usage(format!(
        "run `{}` has no open {}: it {status}",
        state.head.run,
        waiting.word()
    ))
    .hint("`provost inbox` lists what waits, with commands")
}
