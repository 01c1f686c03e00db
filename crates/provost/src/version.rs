//! Which build this is: version, commit, target, and the formats that it reads and writes.
//!
//! Owns the text and the object of `--version`. INVARIANT: what a build does not know of itself is
//! null, never a guess.

use provost_engine::store::JOURNAL_FORMAT;
use serde_json::{Value, json};

use crate::cli::schema;

/// The version, with the commit and its date in a build that knows them.
pub const VERSION: &str = env!("PROVOST_BUILD_VERSION");

/// The commit, in a build that knows it.
pub fn commit() -> Option<&'static str> {
    known(env!("PROVOST_BUILD_COMMIT"))
}

fn known(text: &'static str) -> Option<&'static str> {
    (!text.is_empty()).then_some(text)
}

/// All of it, as one object.
pub fn to_json() -> Value {
    json!({
        "schema": "provost/version/v1",
        "version": env!("CARGO_PKG_VERSION"),
        "commit": commit(),
        "commit_date": known(env!("PROVOST_BUILD_DATE")),
        "dirty": known(env!("PROVOST_BUILD_DIRTY")).map(|text| text == "true"),
        "target": env!("PROVOST_BUILD_TARGET"),
        "profile": env!("PROVOST_BUILD_PROFILE"),
        "journal_format": JOURNAL_FORMAT,
        "schemas": schema::names().collect::<Vec<_>>(),
    })
}
