//! The rights by which statements are judged, kept as evidence.
//!
//! Owns when their text is kept: where a run begins, and where they changed. Judges nothing.
//! INVARIANT: every statement that needs a credential can be judged again by what is kept.

use provost_plan::digest::Digest;

use crate::statement::Credential;
use crate::turn::log::TurnLog;

/// The rights by which statements are judged now, kept as evidence; none where they are those
/// that the run recorded last, or where it records none.
pub(crate) fn keep_rights(log: &mut TurnLog<'_>) -> Option<Digest> {
    let now = log.rules().policy.rights().digest();
    let needs = log.state().head.required != Credential::Nothing;
    let is_kept = !needs || log.state().people.rights == Some(now);
    (!is_kept).then(|| keep_text_of_rights(log))
}

/// Keeps the rights that a run begins under, where it records them.
pub(crate) fn keep_first_rights(log: &mut TurnLog<'_>) {
    if log.state().people.rights.is_some() {
        keep_text_of_rights(log);
    }
}

fn keep_text_of_rights(log: &mut TurnLog<'_>) -> Digest {
    let text = log.rules().policy.rights().text().as_bytes().to_vec();
    log.keep("application/json".to_owned(), text)
}
