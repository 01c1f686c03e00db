//! Diagnostics: coded findings in a plan, a playbook or a configuration file.
//!
//! Owns the shape of a finding; drawing it is [`crate::render`]'s. Never an operation's error
//! (those are `Result`s). INVARIANT: the severity follows from the code alone.

use serde::Serialize;

use crate::source::Span;

pub use crate::codes::Code;

/// How much a finding weighs. Only errors withhold a checked plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something worth knowing.
    Note,
    /// Probably a mistake.
    Warning,
    /// The plan cannot run.
    Error,
}

impl Severity {
    /// The word shown to people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A second place that explains the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Where.
    pub span: Span,
    /// Why it matters.
    pub label: String,
}

/// A coded finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code; it fixes the severity and names the page of `explain`.
    pub code: Code,
    /// The main message: lower case, one line, no final period.
    pub message: String,
    /// Where it stands.
    pub span: Span,
    /// What is said under the marked place.
    pub label: Option<String>,
    /// Further places.
    pub related: Vec<Related>,
    /// Further facts, one line each.
    pub notes: Vec<String>,
    /// What to do.
    pub hint: Option<String>,
    /// The step it is about.
    pub step: Option<String>,
}

impl Diagnostic {
    /// A finding with a code, a place and a message.
    pub fn new(code: Code, span: Span, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            span,
            label: None,
            related: Vec::new(),
            notes: Vec::new(),
            hint: None,
            step: None,
        }
    }

    /// The severity, fixed per code.
    #[must_use]
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }

    /// Says something under the marked place.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Suggests the nearest of `known` names to `given`, if one is near.
    #[must_use]
    pub fn did_you_mean<'a>(self, given: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        match nearest(given, known) {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Adds a fact.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Points at a second place.
    #[must_use]
    pub fn related(mut self, span: Span, label: impl Into<String>) -> Self {
        self.related.push(Related {
            span,
            label: label.into(),
        });
        self
    }

    /// Names the step.
    #[must_use]
    pub fn step(mut self, step: impl Into<String>) -> Self {
        self.step = Some(step.into());
        self
    }
}

/// The nearest of `known` to `given`, if it is near enough to be what was meant.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (given.chars().count() / 3).max(1);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= allowed && *name != given)
        .min()
        .map(|(_, name)| name)
}

/// Whether any finding is an error.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity() == Severity::Error)
}
