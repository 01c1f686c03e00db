//! Subgoals: coarse steps that are refined later, inside an envelope.
//!
//! Owns what an envelope admits and the ids of the steps that refine one. Judges no plan: that is
//! the check's. INVARIANT: an envelope bounds and never gives: what it admits is checked, decided
//! on by policy and asked about like any step.

use serde_json::Value;

use super::read::is_step_id;
use super::{Plan, Step, StepKind};
use crate::catalog::{Catalog, Effect, Operation, Role};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::Template;
use crate::plan::undo::is_undo;
use crate::schema::Schema;
use crate::source::Spanned;

/// A step that is refined into others, its children, and yields what it computes from them.
#[derive(Clone, Debug)]
pub struct Subgoal {
    /// What is to be found out or done, in words.
    pub text: Spanned<String>,
    /// The tools its children may call: names of operations, or `SERVER.*`.
    pub tools: Vec<Spanned<String>>,
    /// The highest effect a child may have.
    pub effect_max: Spanned<Effect>,
    /// The most children it may have.
    pub steps_max: Spanned<u64>,
    /// The type of its output.
    pub output: Schema,
    /// Its output, once its refinement says what it is.
    pub result: Option<Template>,
}

impl Subgoal {
    /// Whether nobody has said yet what its output is.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.result.is_none()
    }

    /// Whether its list names this operation.
    #[must_use]
    pub fn lists(&self, tool: &str) -> bool {
        let mut tools = self.tools.iter();
        tools.any(|listed| Role::is_pattern_of(&listed.value, tool))
    }

    /// Whether a child may call this operation. The one judgment on it.
    #[must_use]
    pub fn admits(&self, operation: &Operation) -> bool {
        self.lists(&operation.name) && operation.effect <= self.effect_max.value
    }

    /// The operations that a child may call.
    pub fn admitted<'c>(&self, catalog: &'c Catalog) -> impl Iterator<Item = &'c Operation> {
        let all = catalog.iter().map(std::sync::Arc::as_ref);
        all.filter(|operation| self.admits(operation))
    }
}

impl Step {
    /// The subgoal it is, if it is one.
    #[must_use]
    pub fn subgoal(&self) -> Option<&Subgoal> {
        match &self.kind {
            StepKind::Subgoal(subgoal) => Some(subgoal),
            StepKind::Tool { .. } | StepKind::Question { .. } | StepKind::Assertion(_) => None,
        }
    }

    /// Its canonical form without a result: of a subgoal, what decides whether a step of it runs,
    /// and what that step may be.
    #[must_use]
    pub fn without_result(&self) -> Value {
        let mut value = self.value.clone();
        if let Value::Object(fields) = &mut value {
            fields.remove("result");
        }
        value
    }

    /// Whether it is a subgoal that is still to be refined.
    #[must_use]
    pub fn is_open_subgoal(&self) -> bool {
        self.subgoal().is_some_and(Subgoal::is_open)
    }
}

/// The id of the subgoal that the step called `id` refines; none if it refines nothing.
#[must_use]
pub fn parent_of(id: &str) -> Option<&str> {
    let (parent, child) = id.split_once('/')?;
    (is_step_id(parent) && is_step_id(child) && !is_undo(parent)).then_some(parent)
}

impl Plan {
    /// The steps that refine the subgoal called `id`, by id.
    pub fn children<'p>(&'p self, id: &str) -> impl Iterator<Item = &'p Step> + use<'p> {
        // Why a copy: `/` sorts before all that an id may go on with, so they stand together.
        let prefix = format!("{id}/");
        let from = self.places.range(prefix.clone()..);
        let own = from.take_while(move |(id, _)| id.starts_with(&prefix));
        own.filter_map(|(_, at)| self.steps.get(*at))
            .filter(|step| parent_of(&step.id.value).is_some())
    }

    /// The subgoal that a step refines, if the plan has it.
    #[must_use]
    pub fn parent(&self, id: &str) -> Option<(&Step, &Subgoal)> {
        let parent = self.step(parent_of(id)?)?;
        Some((parent, parent.subgoal()?))
    }

    /// The subgoals that are still to be refined.
    pub fn open_subgoals(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.is_open_subgoal())
    }
}

/// The finding about a plan that leaves a subgoal open which nobody would refine, and why not.
#[must_use]
pub fn left_open(plan: &Plan, because: &str) -> Option<Diagnostic> {
    let open = plan.open_subgoals().next()?;
    let id = &open.id.value;
    let message = format!("nobody would refine `{id}`: {because}");
    Some(
        Diagnostic::new(Code::NeverRefined, open.id.span, message)
            .hint("write its steps and its `result`, or plan without it")
            .step(id),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_children() {
        for (id, parent) in [
            ("find/count", Some("find")),
            ("find", None),
            ("find/", None),
            ("/count", None),
            ("find/count/more", None),
            ("find/2", None),
            ("Find/count", None),
            ("undo/count", None),
        ] {
            assert_eq!(parent_of(id), parent, "{id}");
        }
    }
}
