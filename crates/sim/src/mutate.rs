//! Mutants of good plans: what the check must notice, and what it must not.
//!
//! Owns the operators, the rules by which a mutant is breaking or harmless, and the comparison of
//! two checks. Whether a mutant is breaking is never asked of `check`: it follows from the operator
//! ([`Rule::Breaks`], [`Rule::Warns`], [`Rule::Keeps`]), or from running plan and mutant with
//! simulated tools ([`Rule::Run`], [`naive`]). INVARIANT: a mutant differs from its plan in one
//! thing.
//!
//! The rules, operator by operator:
//!
//! - By the operator it **breaks**: a step that others name is gone, or the ids of two steps of
//!   which one reads the other are exchanged (it reads itself then); a tool the catalog does not
//!   hold; an argument its input schema refuses, lacks or does not take; a field the output schema
//!   does not name; a cycle; a second step of one id; a step that is not there named; a risk below
//!   the operation's; a limit below the calls that are written down; a recipient that neither the
//!   goal nor the catalog names; a tool outside the operator's allow list; a tool outside the role
//!   of its step, or a role that nobody declares; `until` without its waits, on a write, or that
//!   never polls twice; a `confirm` or `undo` that cannot be one; the same call twice, as two steps
//!   or as items of a constant list; a write and what is declared to take it back, in no order.
//! - By the operator it is **warned of**, at least: a condition that always or never holds; a
//!   timeout, retry or `fresh` without effect; an assertion that no write waits for.
//! - By the operator it **keeps** what the plan does: the order of the text, of keys; spacing,
//!   quotes, the form of numbers; another id, used throughout; a description; defaults spelt out;
//!   a `needs` that a reference implies already; parentheses around an expression.
//! - The **run** decides where neither is sure: a step nobody names is dropped, an effect is
//!   dropped with its proof, a write is added, a guard is removed. It breaks if, in any of the
//!   seeded worlds, the mutant fails or leaves a criterion unmet where the plan does not, or if
//!   the calls that are no reads are not the same. A *guard* is a condition that protects a read
//!   of what may be absent.
//! - A condition or an assertion that protects no read (whether to page at all) is removed too, and
//!   **counted beside**: a plan that pages always is a plan, nothing in it says that it was meant
//!   otherwise.
//!
//! The setting: the default policy, whatever a file brings; an author who has seen untrusted text,
//! and a goal that names the literals of the plan and has a criterion for each effect.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Catalog, Operation};
use provost_plan::plan::Goal;
use serde_json::Value;

use crate::rng::Rng;

pub mod approval;
pub mod breaking;
pub mod document;
pub mod edits;
pub mod fields;
pub mod guards;
pub mod harmless;
pub mod judge;
pub mod language;
pub mod naive;
mod pattern;
pub mod sample;
pub mod settings;
pub mod slips;
pub mod text;

pub use document::Document;

/// What decides whether a mutant is breaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The operator: it breaks the plan.
    Breaks,
    /// The operator: it breaks nothing that could not be meant, and a warning must say so.
    Warns,
    /// The operator: it keeps what the plan does.
    Keeps,
    /// A simulated run.
    Run,
    /// Nothing in a plan can say; it is counted beside.
    Beside,
}

/// A good plan, with what a mutant of it may use.
#[derive(Clone, Debug)]
pub struct CardSubject {
    /// The file it comes from.
    pub name: String,
    /// The plan.
    pub plan: Document,
    /// The operations.
    pub catalog: Arc<Catalog>,
    /// The goal.
    pub goal: Goal,
    /// Steps that ran already and cannot change.
    pub settled: std::collections::BTreeSet<String>,
}

impl CardSubject {
    /// The steps that may change, with their index and operation.
    pub fn calls(&self) -> impl Iterator<Item = (usize, &Value, &Arc<Operation>)> {
        let steps = self.plan.steps().iter().enumerate();
        steps.filter_map(|(index, step)| {
            let name = step.get("tool")?.as_str()?;
            let free = !self.settled.contains(&document::id_of(step));
            free.then_some((index, step, self.catalog.get(name)?))
        })
    }
}

/// A changed plan.
#[derive(Clone, Debug)]
pub struct Change {
    /// What was changed.
    pub what: String,
    /// The text.
    pub text: String,
    /// Steps with another id, and the id they had.
    pub renamed: BTreeMap<String, String>,
}

impl Change {
    /// A changed document, in one line of JSON.
    #[must_use]
    pub fn of(what: impl Into<String>, plan: &Document) -> Self {
        Self::written(what, plan.0.to_string())
    }

    /// A plan in another form.
    #[must_use]
    pub fn written(what: impl Into<String>, text: String) -> Self {
        Self {
            what: what.into(),
            text,
            renamed: BTreeMap::new(),
        }
    }
}

/// A way to change plans.
pub struct Operator {
    /// Its name.
    pub name: &'static str,
    /// What decides about its mutants.
    pub rule: Rule,
    /// Whether plan and mutants are checked under a policy that allows the tools of the plan only.
    pub allow_list: bool,
    /// All the changes it makes of a plan.
    pub changes: fn(&CardSubject) -> Vec<Change>,
}

/// The name of an operator, and all the changes it makes of a plan.
pub type Named = (&'static str, fn(&CardSubject) -> Vec<Change>);

/// All operators.
#[must_use]
pub fn operators() -> Vec<Operator> {
    let of = |rule, list: Vec<Named>| {
        list.into_iter().map(move |(name, changes)| Operator {
            name,
            rule,
            allow_list: name == "tool outside the allow list",
            changes,
        })
    };
    let mut all: Vec<Operator> = of(Rule::Breaks, breaking::operators()).collect();
    all.extend(of(Rule::Breaks, settings::breaking()));
    all.extend(of(Rule::Breaks, language::breaking()));
    // Why not by a run: one that ends at the assertion ends at the read without it.
    let unguarded: Vec<Named> = vec![("an assertion that guards removed", language::protecting)];
    all.extend(of(Rule::Breaks, unguarded));
    all.extend(of(Rule::Warns, settings::warned()));
    all.extend(of(Rule::Warns, language::warned()));
    all.extend(of(Rule::Run, breaking::judged_by_run()));
    all.extend(of(Rule::Run, vec![("a guard removed", guards::protecting)]));
    all.extend(of(
        Rule::Beside,
        vec![
            ("a condition removed", guards::deciding),
            ("an assertion removed", language::deciding),
        ],
    ));
    all.extend(of(Rule::Keeps, harmless::operators()));
    all.extend(of(Rule::Keeps, language::kept()));
    all
}

/// At most `most` of the changes, chosen by the names.
#[must_use]
pub fn some(mut changes: Vec<Change>, most: usize, stream: &str) -> Vec<Change> {
    Rng::new(1, stream).shuffle(&mut changes);
    changes.truncate(most);
    changes
}
