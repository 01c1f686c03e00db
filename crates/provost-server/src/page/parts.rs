//! Pieces that many pages have: a status, a moment, how long ago.
//!
//! Owns their markup. INVARIANT: a status is told by word and shape, whatever its colour.

use provost_engine::run::event::{RunStatus, StepStatus};
use provost_engine::run::read::words::{moment, run_status, step_status};

use crate::graph::draw::glyph;
use crate::markup::{Markup, escape};

/// The status of a run.
pub(crate) fn of_run(status: RunStatus) -> Markup {
    status_of(status.word(), run_status(status))
}

/// The status of a run by its word in a listing.
pub(crate) fn of_word(word: &str) -> Markup {
    RunStatus::of(word).map_or_else(|| status_of("", word), of_run)
}

/// The status of a step, with how far its items are.
pub(crate) fn of_step(status: StepStatus, words: Option<&str>) -> Markup {
    status_of(status.word(), words.unwrap_or_else(|| step_status(status)))
}

fn status_of(look: &str, words: &str) -> Markup {
    Markup::written(format!(
        "<span class=\"status is-{look}\"><span aria-hidden=\"true\">{}</span> {}</span>",
        glyph(look),
        escape(words)
    ))
}

/// A moment; a browser shows it in its own time.
pub(crate) fn at(ms: i64) -> Markup {
    let moment = escape(&moment(ms));
    Markup::written(format!("<time datetime=\"{moment}\">{moment}</time>"))
}

/// A moment that is told by how long ago it is, or how long is left.
pub(crate) fn ago(ms: i64) -> Markup {
    let moment = escape(&moment(ms));
    Markup::written(format!(
        "<time datetime=\"{moment}\" data-age>{moment}</time>"
    ))
}

/// A sentence of the run machine, with what stands between backticks as code.
pub(crate) fn marked(text: &str) -> Markup {
    let mut out = String::new();
    for (number, part) in text.split('`').enumerate() {
        let part = escape(part);
        out.push_str(&match number % 2 {
            1 => format!("<code>{part}</code>"),
            _ => part,
        });
    }
    Markup::written(out)
}
