//! What is still open of a plan when it is compiled for all goals of one form.
//!
//! Owns the types that stand for the values of parameters, and conditions that are asked beside
//! the plan. Knows no playbook. INVARIANT: where a parameter has a type here, no pass looks at a
//! value of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::tree::{Access, ExprKind};
use crate::expr::{Root, Template};
use crate::plan::Step;
use crate::schema::Schema;
use crate::source::Span;

/// What is open of a plan; nothing where the goal has every value and nobody else looks on.
#[derive(Clone, Debug, Default)]
pub struct OpenPlan {
    /// The type of each parameter; none if the values stand in the goal.
    pub params: Option<BTreeMap<String, Schema>>,
    /// Conditions that whoever revises the plan asks once the steps they read have ended.
    pub conditions: Vec<Template>,
    /// The steps whose observation whoever revises the plan waits for.
    pub observed: BTreeSet<String>,
}

impl OpenPlan {
    /// Whether the value of a template is open: it reads a parameter that has a type alone.
    pub(super) fn leaves_open(&self, template: &Template) -> bool {
        self.params.is_some() && template.references().any(|read| read.root == Root::Params)
    }

    /// The parameter that a template passes on as it is, by itself or as the item of a step's list,
    /// if its value is open.
    pub(super) fn passed_on<'t>(
        &self,
        step: Option<&'t Step>,
        template: &'t Template,
    ) -> Option<&'t str> {
        self.params.as_ref()?;
        let passed = |template: &'t Template| match &template.whole()?.ast().kind {
            ExprKind::Root(Root::Item) => Some((&Root::Item, "")),
            ExprKind::Path(base, accesses) => match (&base.kind, accesses.as_slice()) {
                (ExprKind::Root(root), [Access::Field(name)]) => Some((root, name.as_str())),
                _ => None,
            },
            _ => None,
        };
        let list = step.and_then(|step| step.for_each.as_ref());
        match (passed(template)?, list) {
            ((Root::Params, name), _) => Some(name),
            ((Root::Item, ""), Some(each)) => match passed(&each.list)? {
                (Root::Params, name) => Some(name),
                _ => None,
            },
            _ => None,
        }
    }
}

/// The finding about a place that does not take every value of a parameter.
pub(super) fn not_every_value(span: Span, name: &str, at: &str, value: &str) -> Diagnostic {
    let message = format!("`{at}` does not take every value of `{name}`: not {value}");
    Diagnostic::new(Code::ArgumentType, span, message).hint(format!(
        "make the type of `{name}` as narrow as that of `{at}`"
    ))
}
