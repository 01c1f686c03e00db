//! The archive: the rights that the statements of a journal were judged by.
//!
//! Owns reading them, once each. They are evidence of their runs, so that what stands in
//! `policies/`
//! today has no part in what could be said then. INVARIANT: what is not there, or cannot be read,
//! lets nothing stand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::digest::Digest;
use provost_plan::policy::Rights;

use super::EventRejection;
use crate::store::Store;

/// The rights that a store keeps.
pub struct RightsArchive<'s> {
    store: &'s Store,
    /// Those in force now, where they are known: most journals keep these and no others.
    now: Option<Arc<Rights>>,
    read: RefCell<BTreeMap<Digest, Arc<Rights>>>,
}

impl<'s> RightsArchive<'s> {
    /// Those of this store.
    #[must_use]
    pub fn of(store: &'s Store) -> Self {
        Self {
            store,
            now: None,
            read: RefCell::default(),
        }
    }

    /// The same, where these rights are in force: stored ones of the same text are not read again.
    #[must_use]
    pub fn beside(self, now: &Arc<Rights>) -> Self {
        Self {
            now: Some(Arc::clone(now)),
            ..self
        }
    }

    /// The rights under a digest.
    ///
    /// # Errors
    /// [`EventRejection::NoRights`] says why there are none.
    pub fn rights(&self, digest: &Digest) -> Result<Arc<Rights>, EventRejection> {
        if let Some(rights) = self.read.borrow().get(digest) {
            return Ok(Arc::clone(rights));
        }
        let none = |reason: String| EventRejection::NoRights { reason };
        let stored = self.store.rights(digest);
        let stored = stored.map_err(|error| none(error.to_string()))?;
        let stored = stored.ok_or_else(|| none(format!("{digest} is not in the journal")))?;
        let same = |now: &&Arc<Rights>| now.text().as_bytes() == stored;
        let rights = match self.now.as_ref().filter(same) {
            Some(now) => Arc::clone(now),
            None => Arc::new(Rights::read(&stored).map_err(none)?),
        };
        let mut read = self.read.borrow_mut();
        read.insert(*digest, Arc::clone(&rights));
        Ok(rights)
    }
}
