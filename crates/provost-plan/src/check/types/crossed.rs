//! Part of the pass `types`: an argument that is given the field of another.
//!
//! Owns T216. A field belongs to the argument of its name: what is found gives it to another one,
//! although the field of that one's own name stands beside it and is of the same kind. INVARIANT:
//! nothing is found where the plan makes the call more than once, or goes back to where an earlier
//! call of the same tool came from: there, names may well be crossed.

use std::collections::BTreeMap;

use crate::catalog::Operation;
use crate::check::Pass;
use crate::check::scope::Site;
use crate::check::typing::TypedPlace;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Root, Segment};
use crate::plan::{Step, StepKind};
use crate::schema::{Kinds, PathType, Type};

pub(super) fn run(pass: &Pass<'_>) -> Vec<Diagnostic> {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for tool in pass.plan.steps.iter().filter_map(Step::tool) {
        *calls.entry(&tool.value).or_default() += 1;
    }
    let found = pass.plan.steps.iter().filter_map(|step| {
        let operation = pass.operation(step)?;
        let is_only = calls.get(operation.name.as_str()) == Some(&1);
        is_only.then(|| crossed(pass, step, operation)).flatten()
    });
    found.collect()
}

fn crossed(pass: &Pass<'_>, step: &Step, operation: &Operation) -> Option<Diagnostic> {
    let StepKind::Tool { args, .. } = &step.kind else {
        return None;
    };
    let site = Site::call(pass, step);
    args.entries().iter().find_map(|(name, given)| {
        let ArgTree::Template(template) = given else {
            return None;
        };
        let whole = template.whole()?;
        let mut reads = template.references();
        let read = reads
            .next()
            .filter(|read| read.to_string() == whole.source())?;
        let (Segment::Field(field), holder) = read.path.split_last()? else {
            return None;
        };
        let name = name.as_str();
        if field == name || is_status(&read.root, holder) {
            return None;
        }
        let own = argument(operation, name)?;
        let other = argument(operation, field)?;
        let path: Vec<Segment> = holder
            .iter()
            .cloned()
            .chain([Segment::Field(name.to_owned())])
            .collect();
        let beside = match pass.place(&site, &read.root, &path) {
            TypedPlace::Typed(typed) if !typed.is_reported() => typed.to_type(),
            _ => return None,
        };
        if !is_plain(&beside)
            || !is_plain(&own)
            || !is_plain(&other)
            || !own.kinds().meets(beside.kinds())
            || beside.never_fits(&own).is_some()
        {
            return None;
        }
        let id = &step.id.value;
        let message =
            format!("`{id}` is given `{read}` as its `{name}`, and `{name}` stands beside it");
        Some(
            Diagnostic::new(Code::CrossedArguments, template.span(), message)
                .label(format!("`{}` takes a `{field}` too", operation.name))
                .hint(format!("did you mean `{name}`?"))
                .step(id),
        )
    })
}

/// The type of an argument, if the operation has it.
fn argument(operation: &Operation, name: &str) -> Option<Type> {
    match operation.input.ty().at(&[Segment::Field(name.to_owned())]) {
        PathType::Known { ty, .. } => Some(ty),
        _ => None,
    }
}

/// Whether it is a text or a number, and nothing is known of it that would tell it from another.
fn is_plain(ty: &Type) -> bool {
    let kinds = ty.kinds();
    ty.values().is_empty()
        && !kinds.is_empty()
        && kinds.within(Kinds::TEXT | Kinds::NUMBER | Kinds::INTEGER | Kinds::NULL)
}

/// Whether a place is a field of a step itself.
fn is_status(root: &Root, holder: &[Segment]) -> bool {
    matches!(root, Root::Step(_)) && holder.is_empty()
}
