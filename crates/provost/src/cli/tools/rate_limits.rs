//! How fast and how often a tool may be called, and how it stands now.

use provost_engine::run::admission::ToolLimits;
use provost_engine::store::ToolStatus;
use serde_json::{Value, json};

use crate::screen::page::{Page, TextStyle};
use crate::screen::words::{lasted, moment, now_ms};

/// The fields of `tools show`: they are of the whole tool, over all runs.
pub fn fields(page: &mut Page, tool: &str, limits: &ToolLimits, known: &ToolStatus) {
    if let Some(places) = limits.concurrency {
        page.field(
            "at once",
            &format!("{places} calls of `{tool}`, {} in flight", known.in_flight),
        );
    }
    if let Some(rate) = limits.rate {
        let text = format!(
            "{} calls of `{tool}` in {}",
            rate.count,
            lasted(rate.per_ms)
        );
        page.field("rate", &text);
    }
    let Some(breaker) = limits.breaker else {
        page.field("breaker", "off");
        return;
    };
    let row = &known.row;
    match row.open_until {
        Some(until) if row.is_open(now_ms()) => {
            page.faint("  breaker ").put(TextStyle::Bad, "open");
            page.line(&format!(
                " since `{tool}` failed {} times; one call tries it after {}",
                row.failures,
                moment(until)
            ));
        }
        _ => {
            let so_far = match row.failures {
                0 => String::new(),
                failures => format!(", {failures} so far"),
            };
            let (most, pause) = (breaker.failures, lasted(breaker.cooldown_ms));
            page.field(
                "breaker",
                &format!(
                    "closed; {most} failures of `{tool}` in a row open it for {pause}{so_far}"
                ),
            );
        }
    }
}

/// The same as data.
pub fn to_json(limits: &ToolLimits, known: &ToolStatus) -> Value {
    json!({
        "concurrency": limits.concurrency,
        "in_flight": known.in_flight,
        "rate": limits.rate.map(|rate| json!({ "count": rate.count, "per_ms": rate.per_ms })),
        "breaker": limits.breaker.map(|breaker| json!({
            "failures": breaker.failures,
            "cooldown_ms": breaker.cooldown_ms,
            "open": known.row.is_open(now_ms()),
            "open_until": known.row.open_until,
            "failures_so_far": known.row.failures,
        })),
    })
}
