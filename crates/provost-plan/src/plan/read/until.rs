//! Reads `until`: the condition that a read is repeated for, and how long.
//!
//! INVARIANT: the three fields stand together, and the polls that they ask for are bounded.

use super::optional;
use super::step::above_nothing;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::limits::POLLS_MAX;
use crate::node::Fields;
use crate::plan::{StepKind, Until};
use crate::source::{Source, Span};

/// The fields that belong to `until`.
const WAITS: [&str; 2] = ["every", "at_most"];

/// Takes `until: "${ output.done }"`, `every: 30s` and `at_most: 2h`.
pub(super) fn until(
    fields: &mut Fields<'_, '_>,
    kind: Option<&StepKind>,
    source: &Source,
) -> Option<Until> {
    let written = fields.node("until").map(|node| node.span);
    let places = WAITS.map(|name| fields.node(name).map(|node| node.span));
    let condition = optional(fields, "until", source);
    let every = above_nothing(fields, "every");
    let at_most = above_nothing(fields, "at_most");
    let Some(span) = written else {
        for (name, place) in WAITS.into_iter().zip(places) {
            if let Some(place) = place {
                let message = format!("`{name}` belongs to `until`, which is not there");
                report(fields, Code::MissingField, place, message);
            }
        }
        return None;
    };
    match kind {
        Some(StepKind::Question { .. }) => {
            let message = "`until` repeats the read of a tool, and the step calls none";
            report(fields, Code::WrongShape, span, message.to_owned());
        }
        // Why silent: these refuse each field of a call themselves.
        Some(StepKind::Subgoal(_) | StepKind::Assertion(_)) => return None,
        Some(StepKind::Tool { .. }) | None => {}
    }
    for (name, place) in WAITS.into_iter().zip(places) {
        if place.is_none() {
            let means = match name {
                "every" => "the wait between two reads, such as `30s`",
                _ => "how long to repeat it, such as `2h`",
            };
            let message = format!("`until` needs the field `{name}`: {means}");
            report(fields, Code::MissingField, span, message);
        }
    }
    let (every, at_most) = (every?, at_most?);
    let until = Until {
        condition: condition?,
        every: every.value,
        at_most: at_most.value,
    };
    if !until.every.is_zero() && until.polls() > POLLS_MAX {
        let message = format!(
            "`until` asks for up to {} reads, more than the {POLLS_MAX} it may ask for",
            until.polls()
        );
        report(fields, Code::TooLarge, every.span, message);
    }
    Some(until)
}

fn report(fields: &mut Fields<'_, '_>, code: Code, span: Span, message: String) {
    let finding = Diagnostic::new(code, span, message);
    fields.diagnostics().push(finding);
}
