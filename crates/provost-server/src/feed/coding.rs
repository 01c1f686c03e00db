//! How the texts of a stream are coded on their way (RFC 9110 §8.4; gzip: RFC 1952, RFC 1951).
//!
//! Owns what a reader accepts, and the bytes of each text. A batch for many readers is deflated
//! once, on its own, so that it fits into the stream of each; a text for one reader is stored.
//! INVARIANT: each text ends at a whole byte that needs nothing of what follows, so a reader has
//! an event as soon as it is sent.

use std::io::Write as _;
use std::sync::OnceLock;

use axum::http::{HeaderMap, header};
use bytes::Bytes;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// Magic, deflate, no flags, no time, no hint, of a system that is not known.
const GZIP_HEAD: &[u8] = &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
/// A stored block without a byte, the last one.
const LAST_BLOCK: &[u8] = &[1, 0, 0, 0xff, 0xff];
/// Most bytes of a stored block.
const STORED_MAX: usize = 0xffff;

/// A text that many readers are sent.
#[derive(Debug)]
pub(super) struct SharedText {
    plain: Bytes,
    deflated: OnceLock<Deflated>,
}

#[derive(Debug)]
struct Deflated {
    bytes: Bytes,
    sum: Crc,
}

impl From<Bytes> for SharedText {
    fn from(plain: Bytes) -> Self {
        Self {
            plain,
            deflated: OnceLock::new(),
        }
    }
}

impl SharedText {
    /// Whether it can be sent without work: who may work makes it so.
    pub(super) fn is_ready(&self, is_packed: bool, may_work: bool) -> bool {
        if is_packed && may_work {
            self.deflated();
        }
        !is_packed || self.plain.is_empty() || self.deflated.get().is_some()
    }

    fn deflated(&self) -> &Deflated {
        self.deflated.get_or_init(|| {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
            let written = encoder.write_all(&self.plain);
            let bytes = match written.and_then(|()| encoder.flush()) {
                Ok(()) => std::mem::take(encoder.get_mut()),
                Err(_) => stored(&self.plain),
            };
            Deflated {
                bytes: bytes.into(),
                sum: sum(&self.plain),
            }
        })
    }
}

/// How one stream is coded, and what its end must say of all that was sent.
#[derive(Debug)]
pub(super) enum Coding {
    Identity,
    Gzip(Crc),
}

impl Coding {
    /// The one that a reader accepts: gzip where it says so.
    pub(super) fn accepted(headers: &HeaderMap) -> Self {
        let lists = headers.get_all(header::ACCEPT_ENCODING).into_iter();
        let texts = lists.filter_map(|list| list.to_str().ok());
        match texts.flat_map(|list| list.split(',')).any(is_gzip) {
            true => Self::Gzip(Crc::new()),
            false => Self::Identity,
        }
    }

    /// Its name in `Content-Encoding`, if it has one.
    pub(super) const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Identity => None,
            Self::Gzip(_) => Some("gzip"),
        }
    }

    /// What comes before the first text.
    pub(super) const fn head(&self) -> Bytes {
        match self {
            Self::Identity => Bytes::new(),
            Self::Gzip(_) => Bytes::from_static(GZIP_HEAD),
        }
    }

    /// A text for this reader alone.
    pub(super) fn text(&mut self, text: Bytes) -> Bytes {
        match self {
            Self::Identity => text,
            Self::Gzip(sent) => {
                sent.combine(&sum(&text));
                stored(&text).into()
            }
        }
    }

    /// A text that other readers are sent too.
    pub(super) fn shared(&mut self, text: &SharedText) -> Bytes {
        match self {
            Self::Identity => text.plain.clone(),
            // Why: nothing is to be told of runs that a reader may not see.
            Self::Gzip(_) if text.plain.is_empty() => Bytes::new(),
            Self::Gzip(sent) => {
                let deflated = text.deflated();
                sent.combine(&deflated.sum);
                deflated.bytes.clone()
            }
        }
    }

    /// What comes after the last text.
    pub(super) fn end(&self) -> Bytes {
        match self {
            Self::Identity => Bytes::new(),
            Self::Gzip(sent) => {
                let tail = [sent.sum().to_le_bytes(), sent.amount().to_le_bytes()];
                [LAST_BLOCK, &tail.concat()].concat().into()
            }
        }
    }
}

/// Whether an item of `Accept-Encoding` takes gzip.
fn is_gzip(item: &str) -> bool {
    let mut parts = item.split(';').map(str::trim);
    let is_named = parts
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
    let weight = parts.find_map(|part| part.strip_prefix("q=")?.parse::<f64>().ok());
    is_named && weight != Some(0.0)
}

fn sum(text: &[u8]) -> Crc {
    let mut sum = Crc::new();
    sum.update(text);
    sum
}

/// Blocks of deflate that hold a text as it is.
fn stored(text: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::with_capacity(text.len() + 5);
    for part in text.chunks(STORED_MAX) {
        // Why never the other: a part is no longer than the most.
        let length = u16::try_from(part.len()).unwrap_or(u16::MAX);
        blocks.push(0);
        blocks.extend(length.to_le_bytes());
        blocks.extend((!length).to_le_bytes());
        blocks.extend_from_slice(part);
    }
    blocks
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;

    fn accepts(value: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, value.parse().unwrap());
        matches!(Coding::accepted(&headers), Coding::Gzip(_))
    }

    #[test]
    fn gzip_is_for_who_accepts_it() {
        for value in [
            "gzip",
            "br, GZIP;q=0.5",
            "gzip;q=1.0, deflate",
            "deflate,gzip",
        ] {
            assert!(accepts(value), "{value}");
        }
        for value in [
            "",
            "identity",
            "br, deflate",
            "gzip;q=0",
            "gzip; q=0.000",
            "x-gzipped",
        ] {
            assert!(!accepts(value), "{value}");
        }
        assert_eq!(Coding::accepted(&HeaderMap::new()).name(), None);
    }

    #[test]
    fn what_is_sent_is_one_gzip_file_and_each_text_is_there_when_it_was_sent() {
        let long = "data: {\"run\":\"a\"}\n\n".repeat(20_000);
        let shared = SharedText::from(Bytes::from(long.clone()));
        let mut coding = Coding::Gzip(Crc::new());
        let (mut sent, mut told) = (coding.head().to_vec(), String::new());
        for at in 0..6 {
            match at % 2 {
                0 => {
                    sent.extend(coding.shared(&shared));
                    told.push_str(&long);
                }
                _ => {
                    let own = format!("event: waits\ndata: {at}\n\n").repeat(at * 1_000);
                    sent.extend(coding.text(Bytes::from(own.clone())));
                    told.push_str(&own);
                }
            }
            let mut so_far = vec![0; told.len()];
            GzDecoder::new(&*sent).read_exact(&mut so_far).unwrap();
            assert_eq!(so_far, told.as_bytes(), "after {at}");
        }
        assert!(
            sent.len() < told.len() / 2,
            "{} of {}",
            sent.len(),
            told.len()
        );
        sent.extend(coding.end());
        let mut whole = String::new();
        GzDecoder::new(&*sent).read_to_string(&mut whole).unwrap();
        assert_eq!(whole, told);
        // The control: an end of other texts is refused.
        sent.truncate(sent.len() - 8);
        sent.extend([0; 8]);
        assert!(GzDecoder::new(&*sent).read_to_string(&mut whole).is_err());
    }
}
