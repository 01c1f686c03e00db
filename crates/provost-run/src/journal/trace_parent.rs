//! A place in a trace, as the W3C header `traceparent` names it.
//!
//! Owns its form, of version 00. Follows no trace. INVARIANT: it holds identifiers alone: 55
//! characters of digits, `a` to `f` and `-`, so that no text of anybody travels in it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The bit that says that whoever names the place may have recorded it.
const SAMPLED: u8 = 1;

/// A span of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TraceParent {
    /// The id of the trace.
    pub trace: [u8; 16],
    /// The id of the span.
    pub span: [u8; 8],
    flags: u8,
}

/// A text names no place in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it is no W3C `traceparent` of version 00, such as \
     00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
)]
pub struct TraceParentError;

impl TraceParent {
    /// A span that is recorded.
    #[must_use]
    pub fn recorded(trace: [u8; 16], span: [u8; 8]) -> Self {
        Self {
            trace,
            span,
            flags: SAMPLED,
        }
    }
}

impl FromStr for TraceParent {
    type Err = TraceParentError;

    fn from_str(text: &str) -> Result<Self, TraceParentError> {
        let mut parts = text.split('-');
        if parts.next() != Some("00") {
            return Err(TraceParentError);
        }
        let parent = Self {
            trace: bytes(parts.next())?,
            span: bytes(parts.next())?,
            flags: u8::from_be_bytes(bytes(parts.next())?),
        };
        let is_place = parent.trace != [0; 16] && parent.span != [0; 8];
        match parts.next() {
            None if is_place => Ok(parent),
            _ => Err(TraceParentError),
        }
    }
}

fn bytes<const N: usize>(hex: Option<&str>) -> Result<[u8; N], TraceParentError> {
    let hex = hex.ok_or(TraceParentError)?.as_bytes();
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        _ => Err(TraceParentError),
    };
    let mut found = [0; N];
    if hex.len() != 2 * N {
        return Err(TraceParentError);
    }
    for (place, pair) in found.iter_mut().zip(hex.chunks_exact(2)) {
        for half in pair {
            *place = *place << 4 | digit(half)?;
        }
    }
    Ok(found)
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hex = |f: &mut fmt::Formatter<'_>, bytes: &[u8]| {
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        };
        f.write_str("00-")?;
        hex(f, &self.trace)?;
        f.write_str("-")?;
        hex(f, &self.span)?;
        write!(f, "-{:02x}", self.flags)
    }
}

impl TryFrom<String> for TraceParent {
    type Error = TraceParentError;

    fn try_from(text: String) -> Result<Self, TraceParentError> {
        text.parse()
    }
}

impl From<TraceParent> for String {
    fn from(parent: TraceParent) -> Self {
        parent.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    #[test]
    fn a_place_is_read_and_printed_as_it_stood() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        for text in [
            good,
            &good.replace("-01", "-00"),
            &good.replace("-01", "-ff"),
        ] {
            let read: Option<TraceParent> = text.parse().ok();
            assert_eq!(read.map(|read| read.to_string()).as_deref(), Some(text));
        }
        for wrong in [
            "",
            "00",
            &good.to_uppercase(),
            &good.replace("00-", "01-"),
            &good.replace("00-", "ff-"),
            &good.replace("-01", ""),
            &good.replace("-01", "-1"),
            &format!("{good}-x"),
            &format!(" {good}"),
            &good.replace("0af7651916cd43dd8448eb211c80319c", &"0".repeat(32)),
            &good.replace("b7ad6b7169203331", &"0".repeat(16)),
            &good.replace("0af7", "0ag7"),
            &good.replace("0af7", "0aé"),
        ] {
            assert!(wrong.parse::<TraceParent>().is_err(), "{wrong}");
        }
    }
}
