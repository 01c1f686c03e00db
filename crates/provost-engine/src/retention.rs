//! Retention: which runs may lose their texts, and in which order that is done.
//!
//! Owns the order judge → sign → drop → sign. Never decides what is old. INVARIANT:
//! nothing is dropped of a run whose content somebody still has to judge, nor of a journal that
//! does not hold.

use std::collections::BTreeSet;

use provost_run::statement::Credential;

use crate::audit::{Audit, AuditError};
use crate::people::Inbox;
use crate::store::{EndedRun, Pruned, PrunedPayloads, Store};

/// Why the texts of a run that is over stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// An event of it may not stand: its content is evidence.
    Contradicts,
    /// Statements needed a credential, and no heads are signed that show that they were judged.
    NoHeads,
    /// No head was signed over its end yet.
    Unsigned,
}

impl Kept {
    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Contradicts => "an event of it is not valid: verifying the journal names it",
            Self::NoHeads => {
                "its statements needed a credential, and only signed heads (`[audit]`) show later \
                 that they were judged"
            }
            Self::Unsigned => "no head is signed over its end yet",
        }
    }
}

/// What pruning payloads drops, and what it keeps.
#[derive(Clone, Debug, Default)]
pub struct Retention {
    /// Payloads.
    pub payloads: PrunedPayloads,
    /// The evidence of these runs.
    pub evidence: Pruned,
    /// Whether the file was written anew; not, while another process held it.
    pub rewritten: bool,
    /// Runs whose texts stay, with the reason.
    pub kept: Vec<(String, Kept)>,
}

/// What [`prune_payloads`] would drop.
///
/// # Errors
/// [`AuditError`] if the journal does not hold or cannot be read.
pub fn prunable_payloads(
    store: &Store,
    inbox: &Inbox,
    audit: Option<&Audit>,
    before_ms: i64,
) -> Result<Retention, AuditError> {
    let signs = audit.is_some_and(Audit::signs);
    let (runs, kept) = chosen(store, inbox, audit, before_ms, !signs)?;
    Ok(Retention {
        payloads: store.payloads_of(&runs)?,
        evidence: store.prunable_of(&names(&runs))?,
        rewritten: false,
        kept,
    })
}

/// Drops the texts of runs that ended before `before_ms`, with the evidence that only they name. A
/// head is signed before, and one after, where heads are signed.
///
/// # Errors
/// [`AuditError`] if the journal does not hold, cannot be written or cannot be signed.
pub fn prune_payloads(
    store: &Store,
    inbox: &Inbox,
    audit: Option<&Audit>,
    before_ms: i64,
    now_ms: i64,
) -> Result<Retention, AuditError> {
    if let Some(audit) = audit {
        audit.sign(store, inbox)?;
    }
    let (runs, kept) = chosen(store, inbox, audit, before_ms, true)?;
    // Why first: a digest that no payload names any more is found by nobody.
    let evidence = store.prune_of(&names(&runs), now_ms)?;
    let (payloads, rewritten) = store.prune_payloads(runs, now_ms)?;
    if let Some(audit) = audit {
        audit.sign(store, inbox)?;
    }
    Ok(Retention {
        payloads,
        evidence,
        rewritten,
        kept,
    })
}

fn names(runs: &[EndedRun]) -> BTreeSet<String> {
    runs.iter().map(|run| run.kept.run().to_owned()).collect()
}

type Chosen = (Vec<EndedRun>, Vec<(String, Kept)>);

/// The runs that may lose their texts, and those that may not. `signed` says that a head has to
/// stand over them already.
fn chosen(
    store: &Store,
    inbox: &Inbox,
    audit: Option<&Audit>,
    before_ms: i64,
    signed: bool,
) -> Result<Chosen, AuditError> {
    store.verify()?;
    let judged = inbox.verify_journal(store, 0)?;
    let invalid: BTreeSet<&str> = judged.contradictions.iter().map(|one| &*one.run).collect();
    let since = store.required_since(Credential::Login)?;
    let head = match audit {
        Some(audit) => audit.signed_commit()?,
        None => None,
    };
    let why_kept = |run: &EndedRun| -> Option<Kept> {
        if invalid.contains(run.kept.run()) {
            return Some(Kept::Contradicts);
        }
        match audit {
            None if since.is_some_and(|since| run.began >= since) => Some(Kept::NoHeads),
            Some(_) if signed && head.is_none_or(|head| run.ended > head) => Some(Kept::Unsigned),
            _ => None,
        }
    };
    let (mut may_go, mut kept) = (Vec::new(), Vec::new());
    for run in store.ended_runs(before_ms)? {
        match why_kept(&run) {
            Some(why) => kept.push((run.kept.run().to_owned(), why)),
            None => may_go.push(run),
        }
    }
    Ok((may_go, kept))
}
