//! The moments that other steps tell of, beside numbers over time: a deployment in a latency.
//!
//! Owns which of them are marked, and that few are: those of the steps that tell of the fewest
//! moments come first. INVARIANT: a mark lies within the axis, and tells nothing secret.

use provost_plan::catalog::Catalog;
use serde_json::Value;

use super::moment;
use crate::shown;
use crate::state::State;

/// Most marks on one axis: each has a digit.
pub const MARKS_MAX: usize = 9;

/// Most of one step.
const OF_STEP_MAX: usize = 3;

/// A moment that a step tells of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When, in milliseconds since the epoch.
    pub at: i64,
    /// Which step, and which field of it: `deployment.deployed_at`.
    pub of: String,
}

/// The moments that the other steps of a run tell of, within those of an axis.
pub(super) fn within(state: &State, catalog: &Catalog, id: &str, axis: &[i64]) -> Vec<Mark> {
    let (Some(first), Some(last)) = (axis.first(), axis.last()) else {
        return Vec::new();
    };
    let Some(approved) = state.plan() else {
        return Vec::new();
    };
    let mut by_step: Vec<Vec<Mark>> = Vec::new();
    let plan = approved.checked();
    for step in &plan.plan().steps {
        let name = step.id.value.as_str();
        if name == id {
            continue;
        }
        let output = shown::step_output(state, catalog, name);
        let mut marks = output.map(|output| told(name, output)).unwrap_or_default();
        marks.retain(|mark| (first..=last).contains(&&mark.at));
        marks.truncate(OF_STEP_MAX);
        if !marks.is_empty() {
            by_step.push(marks);
        }
    }
    by_step.sort_by_key(Vec::len);
    let mut marks: Vec<Mark> = by_step.into_iter().flatten().take(MARKS_MAX).collect();
    marks.sort_by(|one, other| (one.at, &one.of).cmp(&(other.at, &other.of)));
    marks.dedup_by(|later, kept| {
        let same = later.at == kept.at;
        if same {
            kept.of = format!("{}, {}", kept.of, later.of);
        }
        same
    });
    marks
}

/// The moments in a record, or in the one row that it is.
fn told(step: &str, output: &Value) -> Vec<Mark> {
    let record = output.get("row").filter(|row| row.is_object());
    let Some(map) = record.unwrap_or(output).as_object() else {
        return Vec::new();
    };
    let mark = |(field, value): (&String, &Value)| {
        Some(Mark {
            at: moment(field, value)?,
            of: format!("{step}.{field}"),
        })
    };
    let mut marks: Vec<Mark> = map.iter().filter_map(mark).collect();
    // Why first: that something began or was done is told as `…_at`; the rest are bounds.
    marks.sort_by_key(|mark| !mark.of.ends_with("_at"));
    marks
}
