//! Fuzz targets: what must hold of any bytes at all, each a plain function.
//!
//! Owns the list of targets and what several of them ask of findings. Never draws a number: inputs
//! are the [`driver`]'s. INVARIANT: a target panics if, and only if, what it states does not hold.

use std::cell::RefCell;
use std::collections::BTreeSet;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::DIAGNOSTICS_MAX;
use provost_plan::render::{Style, render};
use provost_plan::source::{Source, Span};

pub mod check;
pub mod digest;
pub mod driver;
pub mod expression;
pub mod parse;
pub mod policy;
pub mod seeds;
pub mod terms;

/// A function that is fed any bytes.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder in `corpus/fuzz`.
    pub name: &'static str,
    /// Panics where something does not hold.
    pub run: fn(&[u8]),
    /// What it begins with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every target.
pub const TARGETS: [Target; 5] = [
    Target {
        name: "parse",
        run: parse::run,
        seeds: seeds::plans,
    },
    Target {
        name: "expression",
        run: expression::run,
        seeds: seeds::expressions,
    },
    Target {
        name: "check",
        run: check::run,
        seeds: seeds::plans,
    },
    Target {
        name: "digest",
        run: digest::run,
        seeds: seeds::documents,
    },
    Target {
        name: "policy",
        run: policy::run,
        seeds: seeds::policies,
    },
];

thread_local! {
    static REACHED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Says that the input reached something: the driver keeps inputs that reach something new.
pub fn reached(what: impl Into<String>) {
    REACHED.with_borrow_mut(|reached| reached.insert(what.into()));
}

/// What was reached since this was last asked.
fn take_reached() -> BTreeSet<String> {
    REACHED.with_borrow_mut(std::mem::take)
}

/// What holds of the findings about any text: few enough, inside the text, and drawn without
/// anything that moves a cursor.
fn hold(source: &Source, diagnostics: &[Diagnostic]) {
    assert!(
        diagnostics.len() <= DIAGNOSTICS_MAX,
        "{} findings",
        diagnostics.len()
    );
    for diagnostic in diagnostics {
        reached(diagnostic.code.as_str());
        let places = diagnostic.related.iter().map(|related| related.span);
        for span in places.chain([diagnostic.span]) {
            stands_inside(source, span, diagnostic.code.as_str());
        }
    }
    let drawn = render(source, diagnostics, Style::default());
    let moves = |c: &char| c.is_control() && *c != '\n' || is_direction(*c);
    assert_eq!(drawn.chars().find(moves), None, "a drawing holds {drawn:?}");
}

fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
}

fn stands_inside(source: &Source, span: Span, what: &str) {
    assert!(
        source.text.get(span.start..span.end).is_some(),
        "{what}: {span:?} is not a part of a text of {} bytes",
        source.text.len()
    );
}
