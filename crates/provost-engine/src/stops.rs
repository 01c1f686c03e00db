//! Whether a stop would bind anything: one that binds nothing is a false comfort.
//!
//! Owns the question for every scope; the stops themselves are [`crate::store`]'s. Stops nothing.
//! INVARIANT: a person whose run is still under way can be stopped, listed or not.

use provost_plan::diagnostic::nearest;

use crate::store::{RunFilter, StopScope, Store, StoreError};
use crate::summary::Summary;
use crate::workspace::Workspace;

/// A stop that would bind nothing.
#[derive(Debug, thiserror::Error)]
#[error("there is no {} `{name}`", scope.word())]
pub struct UnboundStop {
    /// What was to be stopped.
    pub scope: StopScope,
    /// Its name, as it was given.
    pub name: String,
    /// The name that was probably meant.
    pub near: Option<String>,
}

/// Why a stop of this name would bind nothing, if so. `store` is the journal, if there is one.
///
/// # Errors
/// [`StoreError`] if the runs under way cannot be read.
pub fn unbound(
    workspace: &Workspace,
    store: Option<&Store>,
    scope: StopScope,
    name: &str,
) -> Result<Option<UnboundStop>, StoreError> {
    let catalog = workspace.catalog();
    let known: Vec<&str> = match scope {
        StopScope::All => return Ok(None),
        StopScope::Tool => {
            let servers = catalog.iter().map(|operation| operation.server());
            catalog.names().chain(servers).collect()
        }
        StopScope::Playbook => {
            let all = workspace.playbooks().playbooks();
            all.map(|playbook| playbook.name()).collect()
        }
        StopScope::Principal => {
            let user = std::iter::once(workspace.user().id.as_str());
            workspace.people().names().chain(user).collect()
        }
    };
    if known.contains(&name) || scope == StopScope::Principal && acts(store, name)? {
        return Ok(None);
    }
    Ok(Some(UnboundStop {
        scope,
        name: name.to_owned(),
        near: nearest(name, known).map(str::to_owned),
    }))
}

/// Whether a run that is not over acts for this person.
fn acts(store: Option<&Store>, name: &str) -> Result<bool, StoreError> {
    let Some(store) = store else {
        return Ok(false);
    };
    let runs = store.runs(&RunFilter::unfinished())?;
    let of = |row| Summary::of_row(row, store).requester;
    Ok(runs.iter().any(|row| of(row).as_deref() == Some(name)))
}
