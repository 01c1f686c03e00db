//! What keeps a journal, as whoever drives a run needs it.
//!
//! Owns the seam between the driving loop and a store: a session sees nothing else of it. Every
//! request is a [`Pending`], so that a store that has to ask somebody keeps no thread waiting; the
//! SQLite store answers what it reads at once. INVARIANT: each implementation keeps the rules of
//! `tests/conformance`, which bear the numbers of the comments here.

use std::fmt;

use provost_plan::digest::Digest;

use super::{
    Append, Change, Changed, CommitReceipt, Pending, PostedStatement, StoreError, StoredEvent,
    StoredEvidence,
};
use crate::owner::{ClaimResult, OwnerStatus};

/// Keeps a journal that several processes share.
pub trait Backend: fmt::Debug + Send + Sync {
    /// Appends events to a run. K1: a receipt says that they and all before them are kept. K2: only
    /// by the run's owner, and only after the event it knows of. K3: with everything that goes with
    /// them, or not at all. K4: only what admission lets begin, judged in the same transaction.
    fn append(&self, append: Append) -> Pending<CommitReceipt>;
    /// Takes a run. K8: at most one owner holds it, and that is durable before it is answered.
    fn claim(&self, run: &str) -> Pending<ClaimResult>;
    /// Gives a run back.
    fn release(&self, run: &str) -> Pending<()>;
    /// Makes a change that is no event of a run, durably.
    fn change(&self, change: Change) -> Pending<Changed>;
    /// The events of a run, their chain checked.
    fn load(&self, run: &str) -> Pending<Vec<StoredEvent>>;
    /// The bytes of a digest, checked against it.
    fn evidence(&self, digest: &Digest) -> Pending<Option<StoredEvidence>>;
    /// The statements that were posted to a run and that nobody took, in their order. K11: one that
    /// was acknowledged is among them, whatever [`Backend::woken`] says.
    fn untaken(&self, run: &str) -> Pending<Vec<PostedStatement>>;
    /// A number that changes after somebody wrote; a hint, which may be lost (K11).
    fn woken(&self) -> Pending<u64>;
    /// The name under which this process owns runs; none if it only reads.
    fn instance(&self) -> Option<&str>;
    /// Whether an owner lives. K9: it is dead only where that is proven.
    fn owner_status(&self, instance: &str) -> Pending<OwnerStatus>;
    /// Now, by the store's clock, in milliseconds since 1970. K10: what runs share is judged by it,
    /// and never by the clock of a run; it does not go back.
    fn now_ms(&self) -> i64;
    /// Why nothing is written any more, if so: the process must end.
    fn failure(&self) -> Option<StoreError>;
}
