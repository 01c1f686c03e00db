//! The forms in which a secret may stand in a record: as it is, in base64, hex or URL form.
//!
//! Owns the search for them, written in another way than the code that takes them out. Uses no
//! crate, so that tests of crates below this one read it too. INVARIANT: what stands in any of
//! these forms is found, whatever stands before and behind it, in capitals or not.

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A value in each form, as somebody would write it.
#[must_use]
pub fn written(value: &str) -> [(&'static str, String); 4] {
    let hex = value.bytes().map(|byte| format!("{byte:02x}")).collect();
    [
        ("raw", value.to_owned()),
        ("base64", base64(value.as_bytes())),
        ("hex", hex),
        ("url", url(value)),
    ]
}

/// All of these, one a line.
#[must_use]
pub fn echo(value: &str) -> String {
    written(value).map(|(_, form)| form + "\n").concat()
}

/// The names of the forms of `value` that stand in `bytes`.
#[must_use]
pub fn found(value: &str, bytes: &[u8]) -> Vec<&'static str> {
    let found = found_of(&[value], bytes);
    found.into_iter().map(|(_, form)| form).collect()
}

/// Each of the values that stands in `bytes`, with the name of its form.
#[must_use]
pub fn found_of<'a>(values: &[&'a str], bytes: &[u8]) -> Vec<(&'a str, &'static str)> {
    let mut wanted: Vec<(&'a str, &'static str, Vec<u8>)> = Vec::new();
    for value in values {
        let needles = needles(value).into_iter();
        wanted.extend(needles.map(|(name, needle)| (*value, name, needle)));
    }
    // Why pairs: this looks through megabytes, in builds that are not optimized, once for all.
    let mut begins = vec![false; 1 << 16];
    for (_, _, needle) in &wanted {
        if let Some(place) = pair(needle).and_then(|pair| begins.get_mut(pair)) {
            *place = true;
        }
    }
    let text = bytes.to_ascii_lowercase();
    let mut found = Vec::new();
    for (at, two) in text.windows(2).enumerate() {
        if pair(two).is_none_or(|pair| begins.get(pair) != Some(&true)) {
            continue;
        }
        let here = text.get(at..).unwrap_or_default();
        let stand = wanted
            .iter()
            .filter(|(_, _, needle)| here.starts_with(needle));
        found.extend(stand.map(|(value, name, _)| (*value, *name)));
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn pair(bytes: &[u8]) -> Option<usize> {
    match bytes {
        [one, two, ..] => Some(usize::from(*one) << 8 | usize::from(*two)),
        _ => None,
    }
}

/// What is looked for, in small letters, by the name of its form.
fn needles(value: &str) -> Vec<(&'static str, Vec<u8>)> {
    let [(raw, as_is), _, (hex, digits), (url, escaped)] = written(value);
    let mut all = vec![(raw, as_is.clone()), (raw, as_is.replace('/', "\\/"))];
    for before in 0..3 {
        // Why cut: the ends of base64 hang on what stands before and behind.
        let whole = base64(&[vec![0; before], value.as_bytes().to_vec()].concat());
        let begins = (before * 8_usize).div_ceil(6);
        let ends = (before + value.len()) * 8 / 6;
        let inner: String = whole.chars().take(ends).skip(begins).collect();
        all.push(("base64", inner.replace('+', "-").replace('/', "_")));
        all.push(("base64", inner));
    }
    all.extend([(hex, digits), (url, escaped)]);
    let small = |(name, text): (_, String)| (name, text.to_ascii_lowercase().into_bytes());
    all.into_iter().map(small).collect()
}

fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let index = usize::try_from(word >> (18 - 6 * place) & 63).unwrap_or(0);
            let letter = BASE64.get(index).map_or('=', |letter| char::from(*letter));
            let is_there = place <= group.len();
            text.push(if is_there { letter } else { '=' });
        }
    }
    text
}

fn url(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let one = |byte: u8| match is_plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
