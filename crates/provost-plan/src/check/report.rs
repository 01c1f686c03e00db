//! The last stage: what is shown of all that the passes found.
//!
//! Owns which finding makes another one needless, their order, and the finding that a plan without
//! errors cannot be kept. No pass takes back what another found. INVARIANT: what is left out lies
//! at the place of a finding that stays, or hangs on a name of its step that this one is about.

use std::collections::{BTreeMap, BTreeSet};

use super::Pass;
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity, has_errors};
use crate::plan::Plan;
use crate::plan::read::{document_read_back, is_surely_read_back};
use crate::source::Span;

/// Where the findings lie that make another one needless.
enum Lies {
    /// Inside its place.
    Inside,
    /// Around its place.
    Around,
    /// In the same step.
    InStep,
}

/// Findings of a code, and which others make them needless.
struct Subsumed {
    code: Code,
    lies: Lies,
    by: fn(&Diagnostic) -> bool,
}

/// What gives way to what, one after the other.
///
/// Why these: what is wrong in an expression by itself is said once; only where an operand is
/// merely never equal does the whole that can never hold say more.
const SUBSUMED: [Subsumed; 7] = [
    Subsumed {
        code: Code::ImpossibleProof,
        lies: Lies::Inside,
        by: |d| is_error(d) && ![Code::OperandType, Code::ImpossibleProof].contains(&d.code),
    },
    Subsumed {
        code: Code::OperandType,
        lies: Lies::Around,
        by: |d| d.code == Code::ImpossibleProof,
    },
    Subsumed {
        code: Code::HollowCondition,
        lies: Lies::Inside,
        by: is_error,
    },
    Subsumed {
        code: Code::OtherThanGiven,
        lies: Lies::Inside,
        by: is_error,
    },
    Subsumed {
        code: Code::ConstantGuard,
        lies: Lies::Inside,
        by: is_error,
    },
    // Why these two: where a value comes from is not known of a name that there is not.
    Subsumed {
        code: Code::UntrustedControl,
        lies: Lies::InStep,
        by: is_unresolved,
    },
    Subsumed {
        code: Code::UntrustedSink,
        lies: Lies::InStep,
        by: is_unresolved,
    },
];

/// The findings that are shown, in the order of the text.
pub(crate) fn run(pass: &mut Pass<'_>) -> Vec<Diagnostic> {
    let mut all = std::mem::take(&mut pass.diagnostics);
    for rule in &SUBSUMED {
        if all.iter().any(|d| d.code == rule.code) {
            let by: Vec<&Diagnostic> = all.iter().filter(|d| (rule.by)(d)).collect();
            let spans = Spans::of(by.iter().map(|d| d.span));
            let steps: BTreeSet<String> = by.iter().filter_map(|d| d.step.clone()).collect();
            let is_needless = |d: &Diagnostic| match rule.lies {
                Lies::Inside => spans.any_inside(d.span),
                Lies::Around => spans.any_around(d.span),
                Lies::InStep => d.step.as_ref().is_some_and(|step| steps.contains(step)),
            };
            all.retain(|d| d.code != rule.code || !is_needless(d));
        }
    }
    // Why not before: until here what stands in an expression lies in it, also within a name.
    let mut placed = pass.plan.names.placed(all);
    let mut all = std::mem::take(&mut placed.findings);
    if !has_errors(&all) {
        all.extend(unreadable(pass.plan));
    }
    let mut all = joined(all);
    placed.show_uses(&mut all);
    all.sort_by(|a, b| {
        let key = |d: &Diagnostic| (d.span, d.code);
        key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
    });
    all.dedup();
    all
}

/// Notes of one code are one finding, at the first place, with the others beside it: there is one
/// thing to know, and one thing to do. Those that draw a way are one for each step. Questions are
/// told beside the calls that people are asked about: the run waits for people in any case.
fn joined(all: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut rest = Vec::new();
    let mut notes: BTreeMap<(Code, Option<String>), Vec<Diagnostic>> = BTreeMap::new();
    for finding in all {
        match finding.severity() {
            Severity::Note => {
                let of_step = finding.step.clone().filter(|_| !finding.related.is_empty());
                let same = notes.entry((finding.code, of_step)).or_default();
                same.push(finding);
            }
            Severity::Warning | Severity::Error => rest.push(finding),
        }
    }
    let asks = notes.keys().any(|(code, _)| *code == Code::Asks);
    let unbounded = asks.then(|| notes.remove(&(Code::NotBounded, None)));
    let unbounded = unbounded.flatten().unwrap_or_default();
    for ((code, _), mut of_code) in notes {
        of_code.sort_by(|a, b| (a.span, &a.message).cmp(&(b.span, &b.message)));
        of_code.dedup();
        let more = of_code.len().saturating_sub(1);
        let mut of_code = of_code.into_iter();
        let Some(mut first) = of_code.next() else {
            continue;
        };
        if code == Code::Asks {
            for question in &unbounded {
                first = first.related(question.span, question.message.as_str());
            }
        }
        if more > 0 {
            first.message = format!("{}, and {more} more like it", first.message);
            for other in of_code {
                let why = other.notes.first().filter(|why| !first.notes.contains(why));
                let label = match why {
                    Some(why) => format!("{}: {why}", other.message),
                    None => other.message,
                };
                first = first.related(other.span, label);
            }
        }
        rest.push(first);
    }
    rest
}

/// Whether it is about a name that there is not.
fn is_unresolved(finding: &Diagnostic) -> bool {
    [Code::UnknownStep, Code::UnknownParam, Code::UnknownRoot].contains(&finding.code)
}

fn is_error(finding: &Diagnostic) -> bool {
    finding.severity() == Severity::Error
}

/// Why the plan would not be found again in a journal, which holds its canonical form: that is
/// longer than what was written, and a run whose journal cannot be read is lost.
fn unreadable(plan: &Plan) -> Option<Diagnostic> {
    if is_surely_read_back(&plan.value) {
        return None;
    }
    let why = match document_read_back(&plan.value) {
        Ok(read) if read == *plan.value => return None,
        Ok(_) => "it says something else there".to_owned(),
        Err(found) => found.message,
    };
    let message = format!("the plan cannot be kept in a journal: {why}");
    let finding = Diagnostic::new(Code::TooLarge, Span::default(), message);
    Some(finding.hint("keep data out of the plan: let a step read it"))
}

/// Places in the order of their beginnings.
struct Spans(Vec<Span>);

impl Spans {
    fn of(spans: impl Iterator<Item = Span>) -> Self {
        let mut spans: Vec<Span> = spans.collect();
        spans.sort_unstable();
        Self(spans)
    }

    /// Whether one of them lies inside of `place`.
    fn any_inside(&self, place: Span) -> bool {
        let from = self.0.partition_point(|span| span.start < place.start);
        let inside = self.0.iter().skip(from);
        let mut inside = inside.take_while(|span| span.start <= place.end);
        inside.any(|span| span.end <= place.end)
    }

    /// Whether one of them lies around `place`.
    fn any_around(&self, place: Span) -> bool {
        // Why the last alone: conditions do not overlap.
        let to = self.0.partition_point(|span| span.start <= place.start);
        let last = to.checked_sub(1).and_then(|at| self.0.get(at));
        last.is_some_and(|span| place.end <= span.end)
    }
}
