//! How a run ended, as a program reads it.

use std::fmt;

use provost_engine::run::event::{AnswerPart, RunEnded, RunStatus};
use provost_engine::run::read::words::run_status;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// In a word.
    pub status: Status,
    /// Why, in one line, if it did not succeed.
    pub message: Option<String>,
    /// The answer.
    pub answer: Answer,
}

/// How a run ended, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status(RunStatus);

impl Status {
    /// Whether the criteria of the goal are proven.
    #[must_use]
    pub fn is_success(self) -> bool {
        self.0 == RunStatus::Succeeded
    }

    /// The word of the journal, of `runs --json` and of the glossary.
    #[must_use]
    pub fn word(self) -> &'static str {
        self.0.word()
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(run_status(self.0))
    }
}

/// The answer: claims, each with what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Answer {
    /// In order.
    pub claims: Vec<Claim>,
}

/// One claim of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claim {
    /// Its text.
    pub text: String,
    /// Whether some of the text came from a source that nobody vouches for.
    pub untrusted: bool,
    /// The steps whose observations it cites; a claim without any is unsupported.
    pub cites: Vec<String>,
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, claim) in self.claims.iter().enumerate() {
            let end = if number > 0 { "\n" } else { "" };
            write!(f, "{end}{}", claim.text)?;
            if !claim.cites.is_empty() {
                write!(f, " [{}]", claim.cites.join(", "))?;
            }
        }
        Ok(())
    }
}

impl Outcome {
    pub(crate) fn of(ended: &RunEnded) -> Self {
        Self {
            status: Status(ended.status),
            message: ended.message.clone(),
            answer: Answer {
                claims: ended.answer.iter().map(Claim::of).collect(),
            },
        }
    }
}

impl Claim {
    fn of(part: &AnswerPart) -> Self {
        Self {
            text: part.text(),
            untrusted: part.spans.iter().any(|span| span.untrusted),
            cites: part.cites.iter().map(|cited| cited.step.clone()).collect(),
        }
    }
}
