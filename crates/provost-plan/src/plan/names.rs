//! The names of a `let`, once they are written out: what they were, and where what was found lies.
//!
//! Owns the way back from the text in which names are written out to the text of the author. Reads
//! no expression. INVARIANT: every place that leaves the check lies in the text of the author; one
//! inside a name is the place in the `let`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Reference;
use crate::expr::names::Piece;
use crate::expr::offsets::Offsets;
use crate::source::{Span, Spanned};

/// Most places that use a name which a finding points at.
const USES_SHOWN: usize = 4;

/// The names of a plan, and the texts that use them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    pub(super) names: Vec<LetName>,
    /// Where the text of the author ends, and the texts with names written out begin.
    pub(super) end: usize,
    /// Those texts, in their order.
    pub(super) texts: Vec<WrittenText>,
    /// Parts of those texts that come from another text and are no names; pieces number them
    /// behind the names.
    pub(super) parts: Vec<Origin>,
}

/// A name of a `let`.
#[derive(Clone, Debug)]
pub struct LetName {
    /// The name.
    pub name: Spanned<String>,
    /// The step whose `let` it stands in; none of the plan's.
    pub step: Option<String>,
    /// The place of its value.
    pub span: Span,
    /// Whether anything uses it.
    pub is_used: bool,
    /// What its own expression reads.
    pub(crate) references: Vec<Reference>,
    pub(super) origin: Origin,
}

/// A text in which names are written out.
#[derive(Clone, Debug)]
pub(super) struct WrittenText {
    /// Where it stands behind the text of the author.
    pub(super) at: Range<usize>,
    /// How many bytes stand in front of it there.
    pub(super) before: usize,
    /// Where the author wrote it.
    pub(super) whole: Span,
    pub(super) origin: Origin,
}

/// Where the pieces of a text come from.
#[derive(Clone, Debug)]
pub(super) struct Origin {
    pub(super) own: Offsets,
    pub(super) pieces: Vec<Piece>,
}

/// A place in the text of the author.
struct Located {
    span: Span,
    /// The uses on the way to it: of the name that it lies in, of the one that uses that.
    through: Vec<Span>,
    /// The names that it holds without lying in one of them.
    holds: Vec<usize>,
}

impl Located {
    fn at(span: Span) -> Self {
        Self {
            span,
            through: Vec::new(),
            holds: Vec::new(),
        }
    }
}

/// Findings with their places in the text of the author, and the uses of the names they lie in.
pub(crate) struct PlacedFindings {
    pub(crate) findings: Vec<Diagnostic>,
    uses: BTreeMap<(Code, Span), Vec<(Span, String)>>,
}

impl Names {
    /// Every name, those of the plan first.
    #[must_use]
    pub fn all(&self) -> &[LetName] {
        &self.names
    }

    /// The names that may be used in a step, or in what is no step.
    pub(crate) fn visible<'n>(&'n self, step: Option<&'n str>) -> impl Iterator<Item = &'n str> {
        let sees = move |name: &&LetName| name.step.is_none() || name.step.as_deref() == step;
        self.names
            .iter()
            .filter(sees)
            .map(|name| name.name.value.as_str())
    }

    /// A place as it is in the text of the author.
    #[must_use]
    pub fn place(&self, span: Span) -> Span {
        self.located(span).span
    }

    fn located(&self, span: Span) -> Located {
        if span.start <= self.end || self.texts.is_empty() {
            return Located::at(span);
        }
        let text = self.texts.partition_point(|text| text.at.end < span.start);
        let Some(text) = self.texts.get(text) else {
            return Located::at(Span::new(self.end, self.end));
        };
        if span.start <= text.at.start && text.at.end <= span.end {
            return Located::at(text.whole);
        }
        let begin = text.at.start + text.before;
        let from = span.start.saturating_sub(begin);
        let to = span.end.saturating_sub(begin);
        self.within(&text.origin, from..to.max(from))
    }

    /// The place of a part of a text; that of a part of a name, if it is no more than that.
    fn within<'n>(&'n self, mut origin: &'n Origin, mut part: Range<usize>) -> Located {
        let mut through = Vec::new();
        loop {
            let own = |range: &Range<usize>| origin.own.span(range.start, range.end);
            let first = origin.pieces.partition_point(|p| p.at.end <= part.start);
            let piece = origin.pieces.get(first);
            let piece = piece.filter(|piece| part.end <= piece.at.end);
            let name = piece.and_then(|piece| {
                let (name, before) = piece.name?;
                Some((piece, name, before))
            });
            if let Some((piece, at, before)) = name
                && let Some(inner) = self.origin(at)
            {
                through.extend((at < self.names.len()).then(|| own(&piece.own)));
                let start = piece.at.start + before;
                let last = (piece.at.end - before).saturating_sub(start);
                let inside = |at: usize| at.saturating_sub(start).min(last);
                part = inside(part.start)..inside(part.end);
                origin = inner;
                continue;
            }
            let start = origin.own_place(part.start, false);
            let end = origin.own_place(part.end, true);
            let touched = origin.pieces.iter().skip(first);
            let touched = touched.take_while(|p| p.at.start < part.end);
            return Located {
                span: origin.own.span(start, end.max(start)),
                through,
                holds: touched.filter_map(|p| Some(p.name?.0)).collect(),
            };
        }
    }

    /// Where a name, or a part that is none, comes from.
    fn origin(&self, at: usize) -> Option<&Origin> {
        match self.names.get(at) {
            Some(name) => Some(&name.origin),
            None => self.parts.get(at - self.names.len()),
        }
    }

    /// Brings findings back to the text of the author. What is found in a name is found once.
    pub(crate) fn placed(&self, findings: Vec<Diagnostic>) -> PlacedFindings {
        let mut placed = PlacedFindings {
            findings,
            uses: BTreeMap::new(),
        };
        if self.texts.is_empty() {
            return placed;
        }
        let mut once: Vec<Diagnostic> = Vec::with_capacity(placed.findings.len());
        let mut inside: BTreeSet<(Code, Span, String)> = BTreeSet::new();
        for mut finding in std::mem::take(&mut placed.findings) {
            let located = self.located(finding.span);
            finding.span = located.span;
            for related in &mut finding.related {
                related.span = self.place(related.span);
            }
            let key = (finding.code, finding.span);
            let is_inside = !located.through.is_empty();
            let name = |at: &usize| self.names.get(*at);
            let beside = located.holds.iter().filter_map(name).map(|name| {
                let label = format!("`let.{}` stands for this", name.name.value);
                (name.span, label)
            });
            let through = located.through.first().map(|at| {
                let label = "it is used here".to_owned();
                (*at, label)
            });
            let shown = placed.uses.entry(key).or_default();
            for one in through.into_iter().chain(beside) {
                if !shown.contains(&one) && shown.len() < USES_SHOWN {
                    shown.push(one);
                }
            }
            let same = || (finding.code, finding.span, finding.message.clone());
            if !is_inside || inside.insert(same()) {
                once.push(finding);
            }
        }
        placed.uses.retain(|_, uses| !uses.is_empty());
        placed.findings = once;
        placed
    }
}

impl PlacedFindings {
    /// Points findings at what uses the names that they lie in.
    pub(crate) fn show_uses(&self, findings: &mut [Diagnostic]) {
        for finding in findings {
            let uses = self.uses.get(&(finding.code, finding.span));
            for (span, label) in uses.into_iter().flatten() {
                *finding = finding.clone().related(*span, label.as_str());
            }
        }
    }
}

impl Origin {
    /// The place that a position of the text has in what its author wrote.
    fn own_place(&self, at: usize, is_end: bool) -> usize {
        let piece = self.pieces.partition_point(|piece| match is_end {
            true => piece.at.end < at,
            false => piece.at.end <= at,
        });
        let Some(piece) = self.pieces.get(piece).or(self.pieces.last()) else {
            return at;
        };
        match (piece.name, is_end) {
            // Why the least: what stands between the parts of a list has a shorter place.
            (None, _) => {
                let at = piece.own.start + at.saturating_sub(piece.at.start);
                at.min(piece.own.end)
            }
            (Some(_), true) => piece.own.end,
            (Some(_), false) => piece.own.start,
        }
    }
}
