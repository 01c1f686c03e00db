//! Fixes: the one safe way to mend a finding, as edits of the text it stands in.
//!
//! Owns what is sure enough to be written without a person's word, the edits that keep comments
//! and form, and [`mend`], which tries each fix and keeps only what helps. Never writes a file.
//! INVARIANT: a fix that is kept removes its finding and adds no error, no fix makes a plan call
//! anything but a plain read, and none but that of an error is made beside an error.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::diagnostic::{Diagnostic, Severity, has_errors};
use crate::node::{Kind, Node, parse_yaml};
use crate::source::{Source, Span, Spanned};

mod certain;
mod slip;

pub use certain::keep_certain;
pub(crate) use slip::surely;

/// Most fixes of one text.
const FIXES_MAX: usize = 200;
/// Most errors of a text that is mended unseen.
const ERRORS_MAX: usize = 8;

/// The one safe way to mend a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fix {
    /// A name at the marked place is meant to be another.
    Rename {
        /// As written.
        from: String,
        /// As meant.
        to: String,
    },
    /// What is marked is left out: the item of a list, or the value with its key.
    LeaveOut,
}

impl Fix {
    /// What a renamed thing is called then.
    #[must_use]
    pub fn renamed_to(&self) -> Option<&str> {
        match self {
            Self::Rename { to, .. } => Some(to),
            Self::LeaveOut => None,
        }
    }

    /// Whether it may be made of a name that the author of the text gave: a step, a parameter, a
    /// criterion. Why not a plural for a singular: one may have given both, `move` and `moves`.
    #[must_use]
    pub fn is_of_own_name(&self) -> bool {
        match self {
            Self::Rename { from, to } => !slip::is_plural(from, to),
            Self::LeaveOut => false,
        }
    }
}

/// A piece of a text and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// What is replaced.
    pub span: Span,
    /// By what.
    pub text: String,
}

/// A fix in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedFix {
    /// What is done, in words.
    pub title: String,
    /// The edits, in order; none overlaps another.
    pub edits: Vec<Edit>,
}

/// Finds the edits of fixes in one text; the text is read at most once.
#[derive(Debug)]
pub struct Editor<'s> {
    source: &'s Source,
    tree: OnceCell<Option<Node>>,
}

impl<'s> Editor<'s> {
    /// For the findings of `source`.
    #[must_use]
    pub fn new(source: &'s Source) -> Self {
        Self {
            source,
            tree: OnceCell::new(),
        }
    }

    /// The fix of a finding, if it has one and the text lets it be written safely.
    #[must_use]
    pub fn fix(&self, finding: &Diagnostic) -> Option<AppliedFix> {
        let (title, edit) = match finding.fix.as_ref()? {
            Fix::Rename { from, to } => (
                format!("write `{to}` instead of `{from}`"),
                self.rename(finding.span, from, to)?,
            ),
            Fix::LeaveOut => {
                let edit = self.leave_out(finding.span)?;
                let gone = self.text(edit.span)?;
                let gone = gone.split_whitespace().collect::<Vec<_>>().join(" ");
                (
                    format!("leave out `{}`", gone.trim_matches([',', ' '])),
                    edit,
                )
            }
        };
        Some(AppliedFix {
            title,
            edits: vec![edit],
        })
    }

    fn text(&self, span: Span) -> Option<&'s str> {
        self.source.text.get(span.start..span.end)
    }

    fn tree(&self) -> Option<&Node> {
        let read = || parse_yaml(&self.source.text).ok();
        self.tree.get_or_init(read).as_ref()
    }

    /// Replaces the one whole word `from` in a span; with two of them nobody knows which is meant.
    fn rename(&self, span: Span, from: &str, to: &str) -> Option<Edit> {
        let mut places = certain::words(self.text(span)?, from);
        let (Some(at), None) = (places.next(), places.next()) else {
            return None;
        };
        Some(Edit {
            span: span.sub(at, from.len()),
            text: to.to_owned(),
        })
    }

    fn leave_out(&self, value: Span) -> Option<Edit> {
        let mut place = find(self.tree()?, value)?;
        if let EditPlace::Item { items, list, .. } = &place
            && items.len() == 1
        {
            // Why: a list that would be empty goes with its key.
            place = find(self.tree()?, *list)?;
        }
        let is_item = matches!(place, EditPlace::Item { .. });
        let (spans, at) = place.spans();
        self.without(&spans, at, is_item)
    }

    /// Takes one of several neighbours out, with the separator between it and the next or the one
    /// before; what else stands there, such as a comment, stays.
    fn without(&self, spans: &[Span], at: usize, is_item: bool) -> Option<Edit> {
        let own = *spans.get(at)?;
        let previous = at.checked_sub(1).and_then(|at| spans.get(at));
        let gone = |span: Span| Edit {
            span,
            text: String::new(),
        };
        let is_comma = |span: Span| self.text(span).is_some_and(|gap| gap.trim() == ",");
        if let Some(next) = spans.get(at + 1) {
            let gap = Span::new(own.end, next.start);
            if is_comma(gap) {
                return Some(gone(Span::new(own.start, next.start)));
            }
        }
        if let Some(previous) = previous
            && is_comma(Span::new(previous.end, own.start))
        {
            return Some(gone(Span::new(previous.end, own.end)));
        }
        let next = spans.get(at + 1);
        self.lines(own, next, is_item).map(gone)
    }

    /// The lines of one entry in block form.
    fn lines(&self, own: Span, next: Option<&Span>, is_item: bool) -> Option<Span> {
        let text = &self.source.text;
        let head = text.get(..own.start)?;
        let line = head.rfind('\n').map_or(0, |at| at + 1);
        let tail = text.get(own.end..)?;
        let rest = tail.split('\n').next().unwrap_or_default();
        if !rest.trim().is_empty() {
            // A comment behind it, or something this does not understand.
            return None;
        }
        let before = text.get(line..own.start)?.trim();
        if before.is_empty() || (before == "-" && is_item) {
            let end = (own.end + rest.len() + 1).min(text.len());
            return Some(Span::new(line, end));
        }
        // The first entry of a map that is itself an item: `- risk: low`.
        let next = next?;
        let gap = text.get(own.end..next.start)?;
        (before.chars().all(|c| c == '-' || c == ' ') && gap.trim().is_empty())
            .then(|| Span::new(own.start, next.start))
    }
}

/// Where a value stands in the tree.
enum EditPlace<'t> {
    Entry {
        entries: &'t [(Spanned<String>, Node)],
        at: usize,
    },
    Item {
        items: &'t [Node],
        at: usize,
        list: Span,
    },
}

impl EditPlace<'_> {
    /// The neighbours, keys included, and which of them it is.
    fn spans(&self) -> (Vec<Span>, usize) {
        match self {
            Self::Entry { entries, at } => {
                let spans = entries.iter().map(|(key, value)| key.span.to(value.span));
                (spans.collect(), *at)
            }
            Self::Item { items, at, .. } => (items.iter().map(|item| item.span).collect(), *at),
        }
    }
}

/// Finds the value that stands exactly at `span`.
fn find(node: &Node, span: Span) -> Option<EditPlace<'_>> {
    let holds = |inner: &Node| inner.span.start <= span.start && span.end <= inner.span.end;
    match &node.kind {
        Kind::Map(entries) => {
            let at = entries.iter().position(|(_, value)| value.span == span);
            if let Some(at) = at {
                return Some(EditPlace::Entry { entries, at });
            }
            let mut inner = entries.iter().filter(|(_, value)| holds(value));
            inner.find_map(|(_, value)| find(value, span))
        }
        Kind::List(items) => {
            let list = node.span;
            if let Some(at) = items.iter().position(|item| item.span == span) {
                return Some(EditPlace::Item { items, at, list });
            }
            let mut inner = items.iter().filter(|item| holds(item));
            inner.find_map(|item| find(item, span))
        }
        _ => None,
    }
}

/// A text with edits made; nothing if two of them overlap or one lies outside the text.
#[must_use]
pub fn edited(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.span);
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in sorted {
        out.push_str(text.get(at..edit.span.start)?);
        out.push_str(&edit.text);
        at = edit.span.end;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// A fix that was made, or one that was not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixAttempt {
    /// The finding.
    pub finding: Diagnostic,
    /// The line it stands in, from one.
    pub line: usize,
    /// What is done, in words.
    pub title: String,
}

/// What became of a text.
#[derive(Clone, Debug)]
pub struct Repair {
    /// The text.
    pub source: Source,
    /// What is still found in it.
    pub findings: Vec<Diagnostic>,
    /// What was fixed.
    pub fixed: Vec<FixAttempt>,
    /// Fixes that were tried and would not have helped.
    pub left: Vec<FixAttempt>,
}

/// Makes every fix that helps, one after another, each judged again by `judge`; the result has no
/// further fix that helps.
pub fn mend(source: &Source, mut judge: impl FnMut(&Source) -> Vec<Diagnostic>) -> Repair {
    let findings = judge(source);
    let mut repair = Repair {
        source: source.clone(),
        findings,
        fixed: Vec::new(),
        left: Vec::new(),
    };
    while repair.fixed.len() < FIXES_MAX {
        repair.left.clear();
        if !repair.next(&mut judge) {
            break;
        }
    }
    repair
}

/// [`mend`] for a text that nobody looks at before it is judged: errors alone, and few of them,
/// since each is tried by a check of its own. None if nothing was fixed.
pub fn mend_errors(
    source: &Source,
    mut judge: impl FnMut(&Source) -> Vec<Diagnostic>,
) -> Option<Repair> {
    let mut errors = |source: &Source| -> Vec<Diagnostic> {
        let found = judge(source).into_iter();
        found
            .filter(|one| one.severity() == Severity::Error)
            .collect()
    };
    if errors(source).len() > ERRORS_MAX {
        return None;
    }
    let repair = mend(source, errors);
    (!repair.fixed.is_empty()).then_some(repair)
}

impl Repair {
    /// Makes the first fix that helps; says whether there was one.
    fn next(&mut self, judge: &mut impl FnMut(&Source) -> Vec<Diagnostic>) -> bool {
        let source = self.source.clone();
        let editor = Editor::new(&source);
        let mut findings = self.findings.clone();
        hold_back(&mut findings);
        for finding in findings {
            let Some(mended) = editor.fix(&finding) else {
                continue;
            };
            let tried = FixAttempt {
                line: source.position(finding.span.start).0,
                title: mended.title,
                finding,
            };
            let Some(text) = edited(&source.text, &mended.edits) else {
                continue;
            };
            let next = Source::new(source.name.clone(), text);
            let findings = judge(&next);
            if helps(&tried.finding, &self.findings, &findings) {
                self.source = next;
                self.findings = findings;
                self.fixed.push(tried);
                return true;
            }
            self.left.push(tried);
        }
        false
    }
}

/// Takes back the fixes that wait for others: beside errors, those of errors alone are left.
///
/// Why: what a plan does not need is known once every name in it means something. `fresh` of a step
/// whose reading is misspelt is not needless.
pub(crate) fn hold_back(findings: &mut [Diagnostic]) {
    if !has_errors(findings) {
        return;
    }
    for finding in findings {
        if finding.severity() != Severity::Error {
            finding.fix = None;
        }
    }
}

/// Whether a finding is gone and no error came.
fn helps(finding: &Diagnostic, before: &[Diagnostic], after: &[Diagnostic]) -> bool {
    let (was, is) = (tally(before), tally(after));
    let of = |tally: &BTreeMap<FixKey, usize>, key: &FixKey| tally.get(key).copied().unwrap_or(0);
    let gone = of(&is, &key(finding)) < of(&was, &key(finding));
    // Why: where the text could not be read, nothing but its form was looked at before.
    let form = |code: &str| code.starts_with('P');
    let unread = before.iter().any(|d| form(d.code.as_str()));
    let came = after.iter().filter(|d| d.severity() == Severity::Error);
    let came = came.filter(|d| !unread || form(d.code.as_str()));
    gone && came.map(key).all(|key| of(&is, &key) <= of(&was, &key))
}

/// What a finding is, wherever it stands: edits move places.
type FixKey = (&'static str, String);

fn key(finding: &Diagnostic) -> FixKey {
    (finding.code.as_str(), finding.message.clone())
}

fn tally(findings: &[Diagnostic]) -> BTreeMap<FixKey, usize> {
    let mut tally = BTreeMap::new();
    for finding in findings {
        *tally.entry(key(finding)).or_default() += 1;
    }
    tally
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::codes::Code;

    fn mended(text: &str, part: &str, fix: Fix) -> Option<String> {
        let at = text.find(part).unwrap();
        let span = Span::new(at, at + part.len());
        let finding = Diagnostic::new(Code::Syntax, span, "m").fix(fix);
        let source = Source::new("p", text);
        let mended = Editor::new(&source).fix(&finding)?;
        edited(text, &mended.edits)
    }

    #[test]
    fn an_entry_is_left_out_with_its_line_or_comma() {
        let out = |text: &str| mended(text, "low", Fix::LeaveOut);
        for (text, after) in [
            ("a: 1\nrisk: low\nb: 2 # kept\n", "a: 1\nb: 2 # kept\n"),
            ("a: 1\r\nrisk: low\r\n", "a: 1\r\n"),
            ("a: 1\nrisk: low", "a: 1\n"),
            ("- risk: low\n  a: 1\n", "- a: 1\n"),
            ("{ risk: low, a: 1 }", "{ a: 1 }"),
            ("{ a: 1, risk: low }", "{ a: 1 }"),
            ("{ a: 1, risk: low, b: 2 }", "{ a: 1, b: 2 }"),
            ("{\n  \"a\": 1,\n  \"risk\": low\n}", "{\n  \"a\": 1\n}"),
            ("needs: [b, low]", "needs: [b]"),
            ("a: 1\nneeds: [low]\n", "a: 1\n"),
            ("needs:\n  - b\n  - low\n", "needs:\n  - b\n"),
        ] {
            assert_eq!(out(text).as_deref(), Some(after), "{text:?}");
        }
        let json = mended("{\"risk\": \"low\", \"a\": 1}", "\"low\"", Fix::LeaveOut);
        assert_eq!(json.as_deref(), Some("{\"a\": 1}"));
        // A comment belongs to what it stands beside: nobody knows what becomes of it.
        assert_eq!(out("a: 1\nrisk: low # for now\n"), None);
    }

    #[test]
    fn a_name_is_exchanged_where_it_stands_once() {
        let renamed = |text: &str, part: &str| {
            let (from, to) = ("cont".to_owned(), "count".to_owned());
            mended(text, part, Fix::Rename { from, to })
        };
        let place = "steps.cont.output";
        assert_eq!(
            renamed("when: ${ steps.cont.output }", place).as_deref(),
            Some("when: ${ steps.count.output }")
        );
        assert_eq!(
            renamed("${ steps.cont.output.cont }", "steps.cont.output.cont"),
            None
        );
        assert_eq!(renamed("${ steps.contract }", "steps.contract"), None);
    }

    #[test]
    fn edits_that_overlap_are_none() {
        let edit = |start, end| Edit {
            span: Span::new(start, end),
            text: "x".to_owned(),
        };
        assert_eq!(
            edited("abcd", &[edit(2, 3), edit(0, 1)]).as_deref(),
            Some("xbxd")
        );
        assert_eq!(edited("abcd", &[edit(0, 2), edit(1, 3)]), None);
        assert_eq!(edited("abcd", &[edit(3, 9)]), None);
    }

    #[test]
    fn what_is_needless_is_left_until_there_is_no_error() {
        let source = Source::new("p", "a: cont\nfresh: 1m\n");
        let place = |text: &str, part: &str| {
            let at = text.find(part)?;
            Some(Span::new(at, at + part.len()))
        };
        // Why like this: what `fresh` is for is not seen while the name before it is misspelt.
        let judge = |source: &Source| -> Vec<Diagnostic> {
            let (from, to) = ("cont".to_owned(), "count".to_owned());
            let error = place(&source.text, "cont").map(|span| {
                let finding = Diagnostic::new(Code::UnknownStep, span, "unknown");
                finding.fix(Fix::Rename { from, to })
            });
            let needless = place(&source.text, "1m").filter(|_| error.is_some());
            let needless = needless.map(|span| {
                Diagnostic::new(Code::NeedlessFresh, span, "needless").fix(Fix::LeaveOut)
            });
            needless.into_iter().chain(error).collect()
        };
        let repair = mend(&source, judge);
        assert_eq!(&*repair.source.text, "a: count\nfresh: 1m\n");
        let mut found = judge(&source);
        hold_back(&mut found);
        let fixes: Vec<bool> = found.iter().map(|one| one.fix.is_some()).collect();
        assert_eq!(fixes, [false, true]);
    }

    #[test]
    fn a_fix_that_adds_an_error_is_left() {
        let source = Source::new("p", "cont");
        let (from, to) = ("cont".to_owned(), "count".to_owned());
        let found = |source: &Source, then: Option<Code>| -> Vec<Diagnostic> {
            let span = Span::new(0, source.text.len());
            if &*source.text != "cont" {
                return then
                    .map(|code| Diagnostic::new(code, span, "new"))
                    .into_iter()
                    .collect();
            }
            let (from, to) = (from.clone(), to.clone());
            vec![Diagnostic::new(Code::UnknownStep, span, "m").fix(Fix::Rename { from, to })]
        };
        let helped = mend(&source, |source| found(source, Some(Code::UnreadOutput)));
        assert_eq!((&*helped.source.text, helped.fixed.len()), ("count", 1));
        let left = mend(&source, |source| found(source, Some(Code::Cycle)));
        assert_eq!((&*left.source.text, left.left.len()), ("cont", 1));
    }
}
