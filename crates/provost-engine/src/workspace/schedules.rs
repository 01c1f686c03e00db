//! `[schedule.NAME]`: which goals the clock begins.
//!
//! Owns reading the tables; whether a planner takes the goal is asked when it is begun.

use std::time::Duration;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Node};
use provost_plan::source::Spanned;

use super::config::bad;
use crate::limits::SCHEDULE_EVERY_MIN;
use crate::schedule::{CronTiming, Overlap, Schedule, Timing, TimingError};

/// Reads the tables.
pub(super) fn read(
    entries: &[(Spanned<String>, Node)],
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<Schedule> {
    let one = |(name, node): &(Spanned<String>, Node)| read_one(name, node, diagnostics);
    entries.iter().filter_map(one).collect()
}

fn read_one(
    name: &Spanned<String>,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Schedule> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.value.is_empty() || !name.value.chars().all(plain) {
        let message = "the name of a `[schedule.NAME]` is of letters, digits, `-` and `_`";
        bad(diagnostics, name.span, message);
    }
    let owner = format!("`[schedule.{}]`", name.value);
    let mut fields = Fields::new(owner.clone(), node, diagnostics)?;
    let goal = fields.required_text("goal");
    let every = fields.duration("every");
    let cron = fields.text("cron");
    let zone = fields.text("timezone");
    let on_overlap = fields.choice("on_overlap", &Overlap::WORDS);
    let span = fields.span();
    fields.finish();
    if let Some(goal) = goal.as_ref().filter(|goal| goal.value.trim().is_empty()) {
        bad(diagnostics, goal.span, "`goal` is empty");
    }
    let timing = match (every, cron) {
        (Some(every), None) => {
            if let Some(zone) = &zone {
                bad(diagnostics, zone.span, "`timezone` belongs to `cron`");
            }
            Some(Timing::Every(often_enough(&every, diagnostics)))
        }
        (None, Some(cron)) => {
            match CronTiming::new(&cron.value, zone.as_ref().map(|z| &*z.value)) {
                Ok(cron) => Some(Timing::Cron(Box::new(cron))),
                Err(error) => {
                    let zone = zone
                        .as_ref()
                        .filter(|_| matches!(error, TimingError::Zone(_)));
                    let span = zone.map_or(cron.span, |zone| zone.span);
                    bad(diagnostics, span, error.to_string());
                    None
                }
            }
        }
        (Some(_), Some(cron)) => {
            let message = format!("{owner} has both `every` and `cron`; it needs one of them");
            bad(diagnostics, cron.span, message);
            None
        }
        (None, None) => {
            bad(
                diagnostics,
                span,
                format!("{owner} needs `every` or `cron`"),
            );
            None
        }
    };
    Some(Schedule {
        name: name.value.clone(),
        goal: goal?.value,
        timing: timing?,
        on_overlap: on_overlap.unwrap_or_default(),
    })
}

fn often_enough(every: &Spanned<Duration>, diagnostics: &mut Vec<Diagnostic>) -> Duration {
    if every.value < SCHEDULE_EVERY_MIN {
        let least = SCHEDULE_EVERY_MIN.as_secs();
        bad(
            diagnostics,
            every.span,
            format!("`every` must be at least {least} s"),
        );
    }
    every.value
}
