//! Text on its way into markup: what makes it harmless, and short.
//!
//! Owns the escaping for HTML and SVG of what is written without a template, and the cut. Control
//! characters and marks of direction are made visible as on the terminal. INVARIANT: what comes
//! out holds no `<`, `>`, `&`, quote, control character or mark of direction that came in.

use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;

/// Most characters of a text of a tool, a planner or a person that a page shows.
pub const TEXT_MAX: usize = 4096;

/// A text from anywhere, as a page shows it: what is hidden is visible, what is long is cut, and
/// the template escapes it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seen(String);

/// A text as a page shows it.
#[must_use]
pub fn seen(text: impl AsRef<str>) -> Seen {
    Seen(visible(text.as_ref()))
}

impl Seen {
    /// Whether there is nothing to see.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Markup that this crate wrote: the one thing that a template does not escape.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Markup(String);

impl Markup {
    /// Markup in which every text was escaped by [`escape`].
    pub(crate) fn written(markup: String) -> Self {
        Self(markup)
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

/// A text as it may stand in markup and in an attribute.
#[must_use]
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c if is_hidden(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// A text as people see it, without markup: what is hidden is made visible, the rest is cut.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::new();
    for c in shortened(text, TEXT_MAX).chars() {
        match c {
            '\n' => out.push('\n'),
            c if is_hidden(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// JSON in which what is hidden is spelled out as JSON spells it: whoever reads it back reads the
/// same, and whoever looks at it sees all. Nothing is cut.
#[must_use]
pub fn spelled(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_hidden(c) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

/// Whether a character is not seen, or moves what is seen: controls, marks of direction, joiners,
/// tags and the like.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            u32::from(c),
            0xad | 0x61c
                | 0x180e
                | 0x200b..=0x200f
                | 0x2028..=0x202e
                | 0x2060..=0x206f
                | 0x3164
                | 0xfe00..=0xfe0f
                | 0xfeff
                | 0xfff9..=0xfffb
                | 0xe0000..=0xe0fff
        )
}

/// A text of at most so many characters.
#[must_use]
pub fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most.saturating_sub(1)).collect();
            format!("{kept}…")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_markup_or_is_not_seen_is_text() {
        assert_eq!(
            escape("<b a='\"'>&\u{202e}\u{1b}[31m\u{0}\u{200b}"),
            "&lt;b a=&#39;&quot;&#39;&gt;&amp;\\u{202e}\\u{1b}[31m\\u{0}\\u{200b}"
        );
        assert_eq!(visible("a\nb\r\u{2066}<"), "a\nb\\u{d}\\u{2066}<");
        let json = "{\n\"a\": \"\u{202e}\u{e0041}ä\"}";
        assert_eq!(spelled(json), "{\n\"a\": \"\\u202e\\udb40\\udc41ä\"}");
        let read = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        assert!(read(json).is_some() && read(&spelled(json)) == read(json));
        // The control: what is harmless stays as it is.
        assert_eq!(escape("naïve 東京 x=1"), "naïve 東京 x=1");
    }

    #[test]
    fn a_long_text_is_cut_by_characters() {
        assert_eq!(shortened("äöüß", 4), "äöüß");
        assert_eq!(shortened("äöüßa", 4), "äöü…");
        assert_eq!(visible(&"x".repeat(1 << 20)).chars().count(), TEXT_MAX);
    }
}
