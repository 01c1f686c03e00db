//! Secrets that are drawn here: of links, sessions and tokens.
//!
//! Owns drawing them and the digest under which they are kept. INVARIANT: 256 random bits, and what
//! is kept gives none of them away.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest as digest_of};

use crate::limits::SECRET_BYTES;

/// A secret, in letters that an address and a header can bear.
///
/// # Errors
/// The system's words, if it has no randomness.
pub(super) fn draw() -> Result<String, String> {
    let mut bytes = [0u8; SECRET_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| error.to_string())?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What is kept of a secret: SHA-256, in hexadecimal digits.
pub(crate) fn digest(secret: &str) -> String {
    let digest = digest_of(&SHA256, secret.as_bytes());
    let digits = digest.as_ref().iter();
    digits.map(|byte| format!("{byte:02x}")).collect()
}
