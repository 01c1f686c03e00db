//! What an error of the server, or of the way to it, means: class and landing.
//!
//! Owns the reading of SQLSTATE. Never looks at the words of a message. INVARIANT: `unknown` is
//! said of nothing but a `COMMIT` whose answer is missing or says nothing of the transaction.

use std::error::Error as _;

use provost_run::outcome::{Class, Landing};
use tokio_postgres::Error;
use tokio_postgres::error::DbError;

use crate::fault::{Fault, Request};
use crate::kinds::sql::settings::SqlStatement;

/// No connection came about: nothing was sent.
pub(super) fn not_connected(tool: &str, error: &Error) -> Fault {
    let message = format!(
        "the database of the tool `{tool}` is not reached: {}",
        said(error)
    );
    let class = match error.code().map(|code| code.code()) {
        Some(code) if code.starts_with("28") => Class::PermissionDenied,
        _ => Class::Unavailable,
    };
    Fault::no_effect(class, message)
}

/// A statement of ours failed, such as the one that sets the time.
pub(super) fn of_session(tool: &str, error: &Error) -> Fault {
    match error.as_db_error() {
        Some(db) => plain(tool, db),
        None => lost(tool, error, Landing::None),
    }
}

/// The operator's statement failed, before it was committed.
pub(super) fn of_statement(
    tool: &str,
    error: &Error,
    statement: &SqlStatement,
    request: &Request,
) -> Fault {
    let Some(db) = error.as_db_error() else {
        return lost(tool, error, Landing::None);
    };
    let wrong = |message: &str| statement.wrong(&request.operation.name, message);
    match db.code().code() {
        "25006" => wrong("it is declared as a query, and would do more than read"),
        code if code.starts_with("42") && code != "42501" => wrong(db.message()),
        code if code.starts_with("0A") => wrong(db.message()),
        _ => plain(tool, db),
    }
}

/// `COMMIT` was sent, and failed.
pub(super) fn of_commit(tool: &str, error: &Error) -> Fault {
    let Some(db) = error.as_db_error() else {
        return lost(tool, error, Landing::Unknown);
    };
    let code = db.code().code();
    let mut fault = plain(tool, db);
    // Why these: with them the server says that it rolled back. 40003 says that it does not know.
    let rolled_back = ["22", "23", "25", "40", "42", "P0"]
        .iter()
        .any(|class| code.starts_with(class));
    if !(rolled_back && code != "40003") && code != "57014" {
        fault.landing = Landing::Unknown;
    }
    fault
}

/// What the server says of a statement that is not wrong in itself.
fn plain(tool: &str, db: &DbError) -> Fault {
    let code = db.code().code();
    let message = db.message();
    let refuses = || format!("the database refuses this: {message}");
    let (class, message) = match code {
        "42501" => (Class::PermissionDenied, refuses()),
        "57014" => (Class::Timeout, format!("the time is over: {message}")),
        _ => match code.get(..2).unwrap_or_default() {
            "22" => (Class::InvalidArguments, refuses()),
            "23" | "27" | "44" | "P0" => (Class::Conflict, refuses()),
            "28" => (Class::PermissionDenied, refuses()),
            "42" | "0A" | "25" => (Class::Misdeclared, refuses()),
            _ => {
                let text = format!("the database of the tool `{tool}` cannot do it now: {message}");
                (Class::Unavailable, text)
            }
        },
    };
    Fault::no_effect(class, message)
}

fn lost(tool: &str, error: &Error, landing: Landing) -> Fault {
    let when = match landing {
        Landing::None => "before the transaction was to be committed",
        Landing::Happened | Landing::Unknown => "while the transaction was being committed",
    };
    let said = said(error);
    let message = format!("the connection to the database of `{tool}` was lost {when}: {said}");
    Fault::new(Class::Unavailable, landing, message)
}

/// The error and what is behind it.
fn said(error: &Error) -> String {
    match (error.as_db_error(), error.source()) {
        (Some(db), _) => db.message().to_owned(),
        (None, Some(source)) => format!("{error}: {source}"),
        (None, None) => error.to_string(),
    }
}
