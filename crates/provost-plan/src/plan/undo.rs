//! Undo: the call that undoes what a step did.
//!
//! Owns the names of the steps that a run places to undo others. Judges nothing. INVARIANT: no id
//! that a person or a planner may write is the id of such a step.

use super::Plan;
use super::read::is_step_id;
use super::subgoal::parent_of;

/// What the ids of undoing steps begin with.
const UNDO: &str = "undo/";

/// Whether the children of a subgoal with this id would be called like undoing steps.
pub(crate) fn is_undo(id: &str) -> bool {
    UNDO.strip_suffix('/') == Some(id)
}

/// The id of the step that undoes `step`, or one item of it, the first time that this is tried or
/// a later one: `undo/page`, `undo/page/2`, `undo/2/page`.
#[must_use]
pub fn undo_id(step: &str, item: Option<usize>, time: usize) -> String {
    // Why before the step: no id begins with a digit, so it is no item.
    let time = match time {
        0 | 1 => String::new(),
        time => format!("{time}/"),
    };
    match item {
        Some(item) => format!("{UNDO}{time}{step}/{item}"),
        None => format!("{UNDO}{time}{step}"),
    }
}

/// The step, and the item of it, that the step called `id` undoes; none if it undoes nothing.
#[must_use]
pub fn undone_by(id: &str) -> Option<(&str, Option<usize>)> {
    let of = id.strip_prefix(UNDO)?;
    let (time, of) = match of.split_once('/') {
        Some((time, of)) if time.starts_with(|c: char| c.is_ascii_digit()) => {
            (time.parse().ok().filter(|time| *time > 1)?, of)
        }
        Some(_) | None => (1, of),
    };
    // Why tried from behind: the id of a step that refines a subgoal has a `/` of its own, and no
    // id begins with a digit.
    let (step, item) = match of.rsplit_once('/') {
        Some((step, item)) if item.starts_with(|c: char| c.is_ascii_digit()) => {
            (step, Some(item.parse().ok()?))
        }
        Some(_) | None => (of, None),
    };
    let is_step = is_step_id(step) || parent_of(step).is_some();
    // Why compared: an item has one way to be written, and a step one undoing step.
    (is_step && undo_id(step, item, time) == id).then_some((step, item))
}

impl Plan {
    /// Whether a step of it undoes the step called `id`, or an item of that.
    pub(crate) fn is_undone(&self, id: &str) -> bool {
        // Why the first from there on: `/` sorts before all that an id may go on with.
        let first = self.places.range(undo_id(id, None, 1)..).next();
        let of = first.and_then(|(undoing, _)| undone_by(undoing));
        of.is_some_and(|(step, _)| step == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_undoing_steps() {
        for (id, of) in [
            ("undo/page", Some(("page", None))),
            ("undo/page/2", Some(("page", Some(2)))),
            ("undo/page/02", None),
            ("undo/page/+2", None),
            ("undo/page/", None),
            ("undo/", None),
            ("undo/Page", None),
            ("undo/undo/page", None),
            ("undo/find/page", Some(("find/page", None))),
            ("undo/find/page/2", Some(("find/page", Some(2)))),
            ("undo/find/page/more", None),
            ("undo/2/page", Some(("page", None))),
            ("undo/12/find/page/2", Some(("find/page", Some(2)))),
            ("undo/1/page", None),
            ("undo/02/page", None),
            ("undo/2", None),
            ("undo/2/2", None),
            ("undo", None),
            ("page", None),
        ] {
            assert_eq!(undone_by(id), of, "{id}");
        }
    }
}
