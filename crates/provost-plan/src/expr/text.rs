//! Regular expressions of `matches`: linear in time, bounded in size.

use regex::{Regex, RegexBuilder};

/// Largest compiled regular expression, in bytes.
const PATTERN_BYTES_MAX: usize = 256 * 1024;

/// Compiles a pattern.
///
/// # Errors
/// In words, if it is malformed or too large.
pub(super) fn compile_pattern(pattern: &str) -> Result<Regex, String> {
    RegexBuilder::new(pattern)
        .size_limit(PATTERN_BYTES_MAX)
        .dfa_size_limit(PATTERN_BYTES_MAX)
        .nest_limit(16)
        .build()
        .map_err(|error| match error {
            regex::Error::CompiledTooBig(_) => "the regular expression is too large".to_owned(),
            _ => "the regular expression cannot be read".to_owned(),
        })
}
