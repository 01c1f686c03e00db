//! Regular expressions of `matches`: linear in time, bounded in size.

use regex::{Regex, RegexBuilder};

use crate::pattern;

/// Largest compiled regular expression, in bytes.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct TextPattern {
    pub(super) regex: Regex,
    /// Where a search can be at once.
    pub(super) places: u64,
}

/// Compiles a pattern.
///
/// # Errors
/// In words, if it is malformed or too large.
pub(super) fn compile_pattern(pattern: &str) -> Result<TextPattern, String> {
    let regex = RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .nest_limit(16)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
            _ => "the regular expression cannot be read".to_owned(),
        })?;
    // Why never none: what the engine takes is regular.
    let places = pattern::size(pattern).map_or(PATTERN_BYTES_MAX, |size| size.places);
    Ok(TextPattern {
        regex,
        places: u64::try_from(places).unwrap_or(u64::MAX),
    })
}
