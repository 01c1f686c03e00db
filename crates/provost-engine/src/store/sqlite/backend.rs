//! The SQLite store as a [`Backend`]: it answers what it reads at once.

use provost_plan::digest::Digest;

use super::{
    Append, Change, Changed, CommitReceipt, Pending, PostedStatement, Store, StoreError,
    StoredEvent, StoredEvidence,
};
use crate::owner::{ClaimResult, OwnerStatus};
use crate::store::Backend;

impl Backend for Store {
    fn append(&self, append: Append) -> Pending<CommitReceipt> {
        Self::append(self, append)
    }

    fn claim(&self, run: &str) -> Pending<ClaimResult> {
        Self::claim(self, run)
    }

    fn release(&self, run: &str) -> Pending<()> {
        Self::release(self, run)
    }

    fn change(&self, change: Change) -> Pending<Changed> {
        Self::change(self, change)
    }

    fn load(&self, run: &str) -> Pending<Vec<StoredEvent>> {
        Pending::ready(Self::load(self, run))
    }

    fn evidence(&self, digest: &Digest) -> Pending<Option<StoredEvidence>> {
        Pending::ready(Self::evidence(self, digest))
    }

    fn untaken(&self, run: &str) -> Pending<Vec<PostedStatement>> {
        Pending::ready(Self::untaken(self, run))
    }

    fn woken(&self) -> Pending<u64> {
        Pending::ready(Self::woken(self))
    }

    fn instance(&self) -> Option<&str> {
        Self::instance(self)
    }

    fn owner_status(&self, instance: &str) -> Pending<OwnerStatus> {
        Pending::ready(Self::owner_status(self, instance))
    }

    fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    fn failure(&self) -> Option<StoreError> {
        Self::failure(self)
    }
}
