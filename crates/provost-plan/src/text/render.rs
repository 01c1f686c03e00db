//! Drawing diagnostics: for people like rustc's, and as JSON.
//!
//! Owns what a finding looks like and the escaping of text that nobody vouches for. Never decides
//! what a finding is. INVARIANT: no control character, escape sequence or mark of direction that
//! stands in a message or in a source reaches the output raw.

use std::borrow::Cow;
use std::fmt::Write as _;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet, renderer::DecorStyle};
use serde_json::{Value, json};

use crate::diagnostic::{Diagnostic, Severity};
use crate::fix::{AppliedFix, Editor};
use crate::limits::DIAGNOSTICS_MAX;
use crate::source::{Source, Span};

mod sarif;

pub use sarif::{FileReport, Report, to_sarif};

/// Longest line shown, in bytes; of a longer one only what is around the findings.
const LINE_BYTES_MAX: usize = 4_096;
/// Most further places of a note that are drawn.
const RELATED_DRAWN_MAX: usize = 8;
/// What is kept of a longer line before and after a finding, in bytes.
const LINE_MARGIN_BYTES: usize = 60;

/// How findings are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether colours are used.
    pub color: bool,
}

/// Draws findings over their source, in the order given.
#[must_use]
pub fn render(source: &Source, diagnostics: &[Diagnostic], style: Style) -> String {
    let renderer = if style.color {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer.decor_style(DecorStyle::Ascii);
    let mut out = String::new();
    for diagnostic in diagnostics.iter().take(DIAGNOSTICS_MAX) {
        out.push_str(&one(source, diagnostic, &renderer));
        out.push_str("\n\n");
    }
    let left = diagnostics.len().saturating_sub(DIAGNOSTICS_MAX);
    if left > 0 {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{left} more findings are not shown\n");
    }
    out
}

/// One line that counts findings: `2 errors, 1 warning`; empty if there are none.
#[must_use]
pub fn tally(diagnostics: &[Diagnostic]) -> String {
    let count = |severity| {
        diagnostics
            .iter()
            .filter(|d| d.severity() == severity)
            .count()
    };
    [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (count(severity), severity.word()))
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Findings as data, each with byte spans and with lines and columns from one.
#[must_use]
pub fn to_json(source: &Source, diagnostics: &[Diagnostic]) -> Value {
    let editor = Editor::new(source);
    diagnostics
        .iter()
        .map(|d| {
            let mut value = json!({
                "code": d.code,
                "severity": d.severity(),
                "title": d.code.title(),
                "message": d.message,
                "place": place(source, d.span),
            });
            if let Value::Object(map) = &mut value {
                let mut put = |key: &str, value: Option<Value>| {
                    value.map(|value| map.insert(key.to_owned(), value))
                };
                put("label", d.label.clone().map(Value::String));
                put("hint", d.hint.clone().map(Value::String));
                put("step", d.step.clone().map(Value::String));
                put("fix", editor.fix(d).map(|fix| fix_json(source, &fix)));
                put("notes", (!d.notes.is_empty()).then(|| json!(d.notes)));
                let related = d
                    .related
                    .iter()
                    .map(|r| json!({ "label": r.label, "place": place(source, r.span) }));
                put(
                    "related",
                    (!d.related.is_empty()).then(|| related.collect()),
                );
            }
            value
        })
        .collect()
}

fn fix_json(source: &Source, fix: &AppliedFix) -> Value {
    let edits = fix
        .edits
        .iter()
        .map(|edit| json!({ "place": place(source, edit.span), "text": edit.text }));
    json!({ "title": fix.title, "edits": edits.collect::<Value>() })
}

fn place(source: &Source, span: Span) -> Value {
    let point = |offset| {
        let (line, column) = source.position(offset);
        json!({ "line": line, "column": column })
    };
    json!({
        "file": &*source.name,
        "bytes": [span.start, span.end],
        "start": point(span.start),
        "end": point(span.end),
    })
}

/// Makes control characters, escape sequences and marks of direction visible, and keeps the rest;
/// line breaks and tabs too, since what is escaped is meant to stand in one line.
#[must_use]
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_escaped(&mut out, c);
    }
    Cow::Owned(out)
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        c if is_unsafe(c) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        }
        c => out.push(c),
    }
}

/// Whether a character can change how a terminal shows what stands around it.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{3164}'
            | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2800}'
            | '\u{fff0}'..='\u{fff8}' | '\u{fffe}' | '\u{ffff}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{1d159}' | '\u{13430}'..='\u{13455}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

fn one(source: &Source, diagnostic: &Diagnostic, renderer: &Renderer) -> String {
    let level = match diagnostic.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    // Why fewer of a note: they say the same of other places, and the data has them all.
    let most = match diagnostic.severity() {
        Severity::Note => RELATED_DRAWN_MAX,
        Severity::Warning | Severity::Error => usize::MAX,
    };
    let related = || diagnostic.related.iter().take(most);
    let spans: Vec<Span> = std::iter::once(diagnostic.span)
        .chain(related().map(|related| related.span))
        .collect();
    let excerpt = Excerpt::new(&source.text, &spans);
    let primary = AnnotationKind::Primary.span(excerpt.range(diagnostic.span));
    let primary = match &diagnostic.label {
        Some(label) => primary.label(escape(label)),
        None => primary,
    };
    let related = related().map(|related| {
        AnnotationKind::Context
            .span(excerpt.range(related.span))
            .label(escape(&related.label))
    });
    let snippet = Snippet::source(excerpt.text.as_str())
        .line_start(excerpt.first_line)
        .path(escape(&source.name))
        .annotation(primary)
        .annotations(related);
    let title = level
        .primary_title(escape(&diagnostic.message))
        .id(diagnostic.code.as_str());
    let mut group = Group::with_title(title).element(snippet);
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(escape(note)));
    }
    if let Some(hint) = &diagnostic.hint {
        group = group.element(Level::HELP.with_name("hint").message(escape(hint)));
    }
    renderer.render(&[group])
}

/// The lines around some spans, escaped, with the way from offsets in the text to offsets in it.
struct Excerpt {
    text: String,
    first_line: usize,
    /// Pairs (offset in the source, offset here), ascending; between two the distance is equal.
    marks: Vec<(usize, usize)>,
}

impl Excerpt {
    fn new(source: &str, spans: &[Span]) -> Self {
        let clamp = |offset: usize| {
            let mut offset = offset.min(source.len());
            while !source.is_char_boundary(offset) {
                offset -= 1;
            }
            offset
        };
        let spans: Vec<Span> = spans
            .iter()
            .map(|s| Span::new(clamp(s.start), clamp(s.end)))
            .collect();
        let start = spans.iter().map(|s| s.start).min().unwrap_or(0);
        let end = spans.iter().map(|s| s.end).max().unwrap_or(0);
        let before = source.get(..start).unwrap_or_default();
        let from = before.rfind('\n').map_or(0, |at| at + 1);
        let after = source.get(end..).unwrap_or_default();
        let to = after.find('\n').map_or(source.len(), |at| end + at);
        let mut excerpt = Self {
            text: String::new(),
            first_line: before.matches('\n').count() + 1,
            marks: Vec::new(),
        };
        let mut offset = from;
        for line in source.get(from..to).unwrap_or_default().split('\n') {
            if offset > from {
                excerpt.text.push('\n');
            }
            excerpt.push_line(line, offset, &spans);
            offset += line.len() + 1;
        }
        excerpt
    }

    fn push_line(&mut self, line: &str, offset: usize, spans: &[Span]) {
        let (from, to) = shown(line, offset, spans);
        self.marks.push((offset, self.text.len()));
        if from > 0 {
            self.text.push('…');
            self.marks.push((offset + from, self.text.len()));
        }
        let mut at = offset + from;
        // Why: a carriage return before the line break is part of the break, not of the line.
        let line = line.get(from..to).unwrap_or_default();
        for c in line.strip_suffix('\r').unwrap_or(line).chars() {
            if is_unsafe(c) && c != '\t' {
                self.marks.push((at, self.text.len()));
                push_escaped(&mut self.text, c);
                self.marks.push((at + c.len_utf8(), self.text.len()));
            } else {
                self.text.push(c);
            }
            at += c.len_utf8();
        }
        self.marks.push((at, self.text.len()));
    }

    fn range(&self, span: Span) -> std::ops::Range<usize> {
        let start = self.offset(span.start);
        start..self.offset(span.end).max(start)
    }

    fn offset(&self, offset: usize) -> usize {
        let next = self.marks.partition_point(|(from, _)| *from <= offset);
        let Some((from, here)) = next.checked_sub(1).and_then(|at| self.marks.get(at)) else {
            return 0;
        };
        let limit = self
            .marks
            .get(next)
            .map_or(self.text.len(), |(_, here)| *here);
        let mut at = (here + (offset - from)).min(limit);
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        at
    }
}

/// The part of a line that is shown: all of it, unless it is very long.
fn shown(line: &str, offset: usize, spans: &[Span]) -> (usize, usize) {
    if line.len() <= LINE_BYTES_MAX {
        return (0, line.len());
    }
    let start = spans
        .iter()
        .map(|s| s.start.max(offset) - offset)
        .filter(|start| *start <= line.len())
        .min()
        .unwrap_or(0);
    let boundary = |mut at: usize| {
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let from = boundary(start.saturating_sub(LINE_MARGIN_BYTES));
    let to = boundary((start + 3 * LINE_MARGIN_BYTES).min(line.len()));
    (from, to)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::codes::Code;

    fn plain(text: &str, diagnostics: &[Diagnostic]) -> String {
        render(
            &Source::new("plan.yaml", text),
            diagnostics,
            Style::default(),
        )
    }

    fn span_of(text: &str, part: &str) -> Span {
        let at = text.find(part).unwrap();
        Span::new(at, at + part.len())
    }

    #[test]
    fn draws_like_rustc() {
        let text = "steps:\n  - id: count\n    tool: tickets.cuont\n    args: {}\n";
        let finding = Diagnostic::new(
            Code::UnknownTool,
            span_of(text, "tickets.cuont"),
            "no tool is called `tickets.cuont`",
        )
        .label("not in the catalog")
        .related(span_of(text, "count"), "in this step")
        .note("the catalog holds 3 tools")
        .hint("did you mean `tickets.count`?");
        insta::assert_snapshot!(plain(text, &[finding]));
    }

    #[test]
    fn nothing_raw_reaches_the_terminal() {
        let text = "a: \"\u{1b}[31mred\u{202e}\"\r\nb: \u{200b}c\n";
        let finding = Diagnostic::new(Code::Syntax, span_of(text, "c"), "bad \u{1b}]0;title\u{7}")
            .label("line\nbreak")
            .related(span_of(text, "red"), "tab\there");
        let drawn = plain(text, &[finding]);
        insta::assert_snapshot!(drawn);
        assert!(
            !drawn.chars().any(|c| is_unsafe(c) && c != '\n'),
            "{drawn:?}"
        );
        assert!(
            text.chars().any(is_unsafe),
            "the control: the source is unsafe"
        );
    }

    #[test]
    fn survives_empty_long_and_odd_places() {
        let long = format!("{{\"a\": \"{}\", \"é\": 1}}", "x".repeat(2_000_000));
        for (text, span) in [
            ("", Span::default()),
            ("", Span::new(10, 20)),
            ("é", Span::new(1, 1)),
            ("\n\n", Span::new(1, 2)),
            (long.as_str(), span_of(&long, "é")),
            (long.as_str(), Span::new(0, long.len())),
        ] {
            let drawn = plain(text, &[Diagnostic::new(Code::Syntax, span, "message")]);
            assert!(drawn.starts_with("error[P001]: message"), "{drawn}");
            assert!(drawn.len() < 4_096, "{}", drawn.len());
        }
    }

    #[test]
    fn many_findings_are_counted() {
        let one = Diagnostic::new(Code::Syntax, Span::default(), "message");
        let many = vec![one; DIAGNOSTICS_MAX + 3];
        assert!(plain("a", &many).contains("3 more findings are not shown"));
        assert_eq!(tally(&many), "103 errors");
    }

    #[test]
    fn json_says_where() {
        let text = "a: é\nb: 1\n";
        let finding = Diagnostic::new(Code::UnreadOutput, span_of(text, "1"), "m").hint("h");
        let value = to_json(&Source::new("p", text), &[finding]);
        insta::assert_snapshot!(value[0].to_string());
    }
}
