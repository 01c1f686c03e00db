//! The question that a plan may ask before all else.
//!
//! Owns its text, and how long it waits. INVARIANT: what it comes to without an answer is one of
//! the answers that people may give.

/// The id of its step.
pub(super) const QUESTION: &str = "q";
/// How long a question waits that lapses, in milliseconds.
const LASTS_MS: i64 = 3_600_000;

/// What is asked before all else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstQuestion {
    /// Nothing.
    #[default]
    None,
    /// A question that waits for ever.
    Open,
    /// A question that fails its step without an answer.
    Fails,
    /// A question that has a default.
    Defaults,
}

impl FirstQuestion {
    /// How long it waits, in milliseconds, where it lapses.
    pub(super) fn lasts(self) -> Option<i64> {
        match self {
            Self::None | Self::Open => None,
            Self::Fails | Self::Defaults => Some(LASTS_MS),
        }
    }

    /// Its step, as a plan has it.
    pub(super) fn step(self) -> String {
        let lapse = match self {
            Self::None => return String::new(),
            Self::Open => String::new(),
            Self::Fails => format!(", expires: {LASTS_MS}ms"),
            Self::Defaults => format!(", expires: {LASTS_MS}ms, default: begin"),
        };
        format!(
            "  - id: {QUESTION}\n    question: {{ text: \"shall it begin?\", \
             answer: {{ type: string, enum: [go, begin] }}{lapse} }}\n"
        )
    }
}
