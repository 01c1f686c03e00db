//! What the plan of a case adds up to.
//!
//! Owns what a case that is silent about a sum means: a plan of this one call. Never makes a sum
//! smaller than that in silence. INVARIANT: every value of the catalog has a sum, or none because
//! nothing bounds it, as in the record of a checked plan.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::amount::{Amount, Totals};
use crate::catalog::{Catalog, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::node::Fields;

/// The sums that a case names, and what its call adds to the others.
pub(super) fn of_case(
    fields: &mut Fields<'_, '_>,
    catalog: &Catalog,
    operation: &Operation,
    (args, unknown): (&Map<String, Value>, &BTreeSet<String>),
) -> Totals {
    let of_call = |name: &String| match operation.values.get(name) {
        None => Some(Amount::ZERO),
        Some(arg) if unknown.contains(arg) => operation.ceiling(arg),
        Some(arg) => args.get(arg).and_then(Amount::of_value),
    };
    let known = catalog.values().into_keys();
    let mut totals: Totals = known.map(|name| (name.clone(), of_call(&name))).collect();
    let given = fields.amounts("total").into_iter();
    let given = given.map(|(name, most)| (name, Some(most)));
    let unbounded = fields.texts("unbounded").into_iter();
    let named: Vec<_> = given.chain(unbounded.map(|name| (name, None))).collect();
    for (name, most) in named {
        if let Some(total) = totals.get_mut(&name.value) {
            *total = most;
            continue;
        }
        let message = format!("no tool counts `{}`", name.value);
        let finding = Diagnostic::new(Code::UnknownValue, name.span, message)
            .did_you_mean(&name.value, totals.keys().map(String::as_str));
        fields.diagnostics().push(finding);
    }
    totals
}
