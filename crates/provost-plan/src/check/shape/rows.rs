//! Part of the pass `shape`: that a query tells how many rows it gives.
//!
//! Owns the one place where `row_count` and the size of `rows` are one subject. Judges nothing:
//! [`super::solve`] does. INVARIANT: only what a query answers with is read so.

use crate::check::Pass;
use crate::expr::cases::{Case, DemandSubject};
use crate::expr::{Root, Segment};

/// A case in which the number of rows is the size of the rows; none if it asks for no such number.
pub(super) fn counted(pass: &Pass<'_>, case: &Case) -> Option<Case> {
    let has_any = case
        .iter()
        .any(|(subject, _)| rows(pass, subject).is_some());
    has_any.then(|| {
        let moved = case.iter().map(|(subject, demand)| {
            let subject = rows(pass, subject).unwrap_or_else(|| subject.clone());
            (subject, demand.clone())
        });
        moved.collect()
    })
}

/// The size of the rows, where a subject is their number.
fn rows(pass: &Pass<'_>, subject: &DemandSubject) -> Option<DemandSubject> {
    let (Root::Step(id), [output, Segment::Field(name)]) = (&subject.root, subject.path.as_slice())
    else {
        return None;
    };
    if name != "row_count" {
        return None;
    }
    let operation = pass.operation(pass.plan.step(id)?)?;
    operation.endpoint.get("statement")?.get("query")?;
    Some(DemandSubject {
        root: subject.root.clone(),
        path: vec![output.clone(), Segment::Field("rows".to_owned())],
        is_size: true,
    })
}
