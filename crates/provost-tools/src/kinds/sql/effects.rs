//! The table of effects: what makes a write of a database recognise its repetition.
//!
//! Owns the table `provost_effects` and what a row of it means. A write with a key puts its row in
//! its own transaction, so the row is there exactly if the write is. INVARIANT: one key stands for
//! one operation with one set of arguments, and a row that is there is never written again.

use provost_plan::catalog::KeyCarrier;
use provost_plan::digest::{Digest, Domain};
use provost_run::outcome::{Class, Landing};
use serde_json::Value;

use crate::fault::{Fault, Request};

/// The SQL that makes the table in SQLite.
pub const SQLITE: &str = "\
CREATE TABLE IF NOT EXISTS provost_effects (
  key TEXT NOT NULL PRIMARY KEY,
  operation TEXT NOT NULL,
  args TEXT NOT NULL,
  result TEXT NOT NULL,
  at TEXT NOT NULL
)";

/// What makes the table in PostgreSQL.
pub(super) const POSTGRES: &str = "\
CREATE TABLE IF NOT EXISTS provost_effects (
  key text NOT NULL PRIMARY KEY,
  operation text NOT NULL,
  args text NOT NULL,
  result text NOT NULL,
  at timestamptz NOT NULL DEFAULT now()
)";

/// The row of one call.
#[derive(Clone, Debug)]
pub(super) struct EffectRow {
    pub(super) key: String,
    pub(super) operation: String,
    /// The digest of the arguments.
    pub(super) args: String,
}

/// A row that is already there.
#[derive(Clone, Debug)]
pub(super) struct StoredEffect {
    pub(super) operation: String,
    pub(super) args: String,
    pub(super) result: String,
}

impl EffectRow {
    /// The row of this call, where its operation keeps one.
    pub(super) fn of(request: &Request) -> Result<Option<Self>, Fault> {
        let Some((KeyCarrier::Table, key)) = request.carried_key()? else {
            return Ok(None);
        };
        let args = Value::Object(request.args.clone());
        Ok(Some(Self {
            key: key.to_owned(),
            operation: request.operation.name.clone(),
            args: Digest::of_value(Domain::Args, &args).to_string(),
        }))
    }

    /// What the call came to when it was made the first time.
    pub(super) fn repeat_output(&self, stored: &StoredEffect) -> Result<Value, Fault> {
        if stored.operation != self.operation || stored.args != self.args {
            let message = format!(
                "the key of this call stands in `provost_effects` for another one, of `{}`",
                stored.operation
            );
            return Err(Fault::no_effect(Class::Conflict, message));
        }
        serde_json::from_str(&stored.result).map_err(|_| {
            let message = "the result that `provost_effects` holds of this call cannot be read";
            Fault::new(Class::OutputInvalid, Landing::Happened, message)
        })
    }
}

/// The table is not there.
pub(super) fn missing(tool: &str) -> Fault {
    let message = format!(
        "the database of the tool `{tool}` has no table `provost_effects` for keys: \
         it has to be prepared first"
    );
    Fault::no_effect(Class::Unavailable, message)
}
