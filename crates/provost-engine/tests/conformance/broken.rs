//! A store that breaks one rule of the contract, over one that keeps them all.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, Weak};

use provost_engine::owner::{ClaimResult, OwnerStatus};
use provost_engine::store::{
    Append, Backend, Change, Changed, CommitReceipt, Pending, PostedStatement, Store, StoreError,
    StoredEvent, StoredEvidence,
};
use provost_plan::digest::Digest;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It keeps fewer events than it is given.
    LastEventLost,
    /// Two processes pass for one.
    OneOwnerForAll,
    /// It keeps events without their evidence.
    EvidenceLost,
    /// It asks admission nothing.
    AdmissionSkipped,
    /// It takes everybody for alive.
    NobodyDies,
    /// Its clock goes back.
    ClockGoesBack,
    /// It shows nobody what was posted.
    PostsLost,
    /// It says to nobody that somebody wrote.
    HintsLost,
}

impl Fault {
    /// The fault that a rule is there to find.
    pub fn of(rule: &str) -> Self {
        match rule {
            "K1 prefix" => Self::LastEventLost,
            "K2 fence" | "K8 claims" => Self::OneOwnerForAll,
            "K3 whole" => Self::EvidenceLost,
            "K4 admission" => Self::AdmissionSkipped,
            "K9 owner status" => Self::NobodyDies,
            "K10 clock" => Self::ClockGoesBack,
            "K11 waking" => Self::PostsLost,
            other => panic!("no fault for {other}"),
        }
    }
}

/// The stores that pass for one, by their directory.
static SHARED: LazyLock<Mutex<HashMap<PathBuf, Weak<Store>>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
pub struct Broken {
    store: Arc<Store>,
    fault: Fault,
    clock: AtomicI64,
}

impl Broken {
    pub fn open(dir: &Path, fault: Fault) -> Self {
        let open = || Arc::new(Store::open(dir).unwrap());
        let store = if fault == Fault::OneOwnerForAll {
            let mut shared = SHARED.lock().unwrap();
            let known = shared.get(dir).and_then(Weak::upgrade);
            let store = known.unwrap_or_else(open);
            shared.insert(dir.to_owned(), Arc::downgrade(&store));
            store
        } else {
            open()
        };
        let clock = AtomicI64::new(0);
        Self {
            store,
            fault,
            clock,
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl Backend for Broken {
    fn append(&self, mut append: Append) -> Pending<CommitReceipt> {
        if self.has(Fault::LastEventLost) && append.events.len() > 1 {
            append.events.pop();
        }
        if self.has(Fault::EvidenceLost) {
            append.evidence.clear();
        }
        if self.has(Fault::AdmissionSkipped) {
            append.admission.clear();
        }
        self.store.append(append)
    }

    fn claim(&self, run: &str) -> Pending<ClaimResult> {
        self.store.claim(run)
    }

    fn release(&self, run: &str) -> Pending<()> {
        self.store.release(run)
    }

    fn change(&self, change: Change) -> Pending<Changed> {
        self.store.change(change)
    }

    fn load(&self, run: &str) -> Pending<Vec<StoredEvent>> {
        Pending::ready(self.store.load(run))
    }

    fn evidence(&self, digest: &Digest) -> Pending<Option<StoredEvidence>> {
        Pending::ready(self.store.evidence(digest))
    }

    fn untaken(&self, run: &str) -> Pending<Vec<PostedStatement>> {
        if self.has(Fault::PostsLost) {
            return Pending::ready(Ok(Vec::new()));
        }
        Pending::ready(self.store.untaken(run))
    }

    fn woken(&self) -> Pending<u64> {
        if self.has(Fault::HintsLost) {
            return Pending::ready(Ok(0));
        }
        Pending::ready(self.store.woken())
    }

    fn instance(&self) -> Option<&str> {
        self.store.instance()
    }

    fn owner_status(&self, instance: &str) -> Pending<OwnerStatus> {
        if self.has(Fault::NobodyDies) {
            return Pending::ready(Ok(OwnerStatus::Alive { pid: None }));
        }
        Pending::ready(self.store.owner_status(instance))
    }

    fn now_ms(&self) -> i64 {
        let back = match self.fault {
            Fault::ClockGoesBack => self.clock.fetch_add(1_000, Ordering::Relaxed),
            _ => 0,
        };
        Backend::now_ms(&*self.store) - back
    }

    fn failure(&self) -> Option<StoreError> {
        self.store.failure()
    }
}
