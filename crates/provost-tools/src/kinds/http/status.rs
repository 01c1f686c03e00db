//! What a status means.
//!
//! Owns the table. Never looks at a body. INVARIANT: landing `none` is said only of statuses that
//! a server gives instead of carrying a request out.

use provost_run::outcome::{Class, Landing};

/// Class and landing of an answer that is no success.
pub(super) fn meaning(status: u16) -> (Class, Landing) {
    match status {
        400 | 405 | 411 | 413 | 414 | 415 | 422 | 431 => (Class::InvalidArguments, Landing::None),
        401 | 402 | 403 | 407 | 451 => (Class::PermissionDenied, Landing::None),
        404 | 410 => (Class::NotFound, Landing::None),
        409 | 412 | 423 | 428 => (Class::Conflict, Landing::None),
        429 => (Class::RateLimited, Landing::None),
        408 | 504 => (Class::Timeout, Landing::Unknown),
        400..500 => (Class::InvalidArguments, Landing::Unknown),
        500..600 => (Class::Unavailable, Landing::Unknown),
        // Why: a server may act and then point elsewhere, as with 303.
        _ => (Class::OutputInvalid, Landing::Unknown),
    }
}
