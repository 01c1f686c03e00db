//! Diagnostics: coded findings in a plan, a playbook or a configuration file.
//!
//! Owns the shape of a finding; drawing it is [`crate::render`]'s. Never an operation's error
//! (those are `Result`s). INVARIANT: the severity follows from the code alone.

use serde::Serialize;

use crate::fix::{Fix, surely};
use crate::limits::{DIAGNOSTICS_MAX, SUGGESTION_BYTES_MAX, SUGGESTION_NAMES_MAX};
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
    /// The one safe way to mend it, if there is one.
    pub fix: Option<Fix>,
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
            fix: None,
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

    /// Suggests the nearest of `known` names to `given`, if one is near; if it is surely the one
    /// meant, writing it instead is the fix.
    #[must_use]
    pub fn did_you_mean<'a>(
        mut self,
        given: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        self.fix = surely(given, &known).map(|to| Fix::Rename {
            from: given.to_owned(),
            to: to.to_owned(),
        });
        match nearest(given, known) {
            Some(name) => self.hint(format!("did you mean `{name}`?")),
            None => self,
        }
    }

    /// Says how it is safely mended.
    #[must_use]
    pub fn fix(mut self, fix: Fix) -> Self {
        self.fix = Some(fix);
        self
    }

    /// Takes the fix back unless it `holds`: what remains is the hint.
    #[must_use]
    pub fn fix_only_if(mut self, holds: impl FnOnce(&Fix) -> bool) -> Self {
        self.fix = self.fix.filter(holds);
        self
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
    if given.len() > SUGGESTION_BYTES_MAX {
        return None;
    }
    let length = given.chars().count();
    let allowed = (length / 3).max(1);
    known
        .into_iter()
        .take(SUGGESTION_NAMES_MAX)
        // Why: what differs more in length alone is not near, and need not be compared.
        .filter(|name| name.chars().count().abs_diff(length) <= allowed)
        .map(|name| (strsim::damerau_levenshtein(given, name), name))
        .filter(|(distance, name)| *distance <= allowed && *name != given)
        .min()
        .map(|(_, name)| name)
}

/// At most [`DIAGNOSTICS_MAX`] findings: the gravest, in the order given. The last one says how
/// many are not shown, `uncounted` that were never made included.
pub(crate) fn limited(diagnostics: Vec<Diagnostic>, uncounted: usize) -> Vec<Diagnostic> {
    let rest = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    let mut places: Vec<usize> = (0..diagnostics.len()).collect();
    let severity = |place: &usize| diagnostics.get(*place).map(Diagnostic::severity);
    places.sort_by_key(|place| std::cmp::Reverse(severity(place)));
    places.truncate(DIAGNOSTICS_MAX);
    places.sort_unstable();
    let mut kept = places.into_iter().peekable();
    let mut shown: Vec<Diagnostic> = diagnostics
        .into_iter()
        .enumerate()
        .filter(|(place, _)| kept.next_if_eq(place).is_some())
        .map(|(_, diagnostic)| diagnostic)
        .collect();
    let rest = rest + uncounted;
    if rest > 0
        && let Some(last) = shown.pop()
    {
        shown.push(last.note(format!("{rest} more findings are not shown")));
    }
    shown
}

/// Whether any finding is an error.
#[must_use]
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|d| d.severity() == Severity::Error)
}
