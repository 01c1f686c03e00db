//! Whether a stop would bind anything: one that binds nothing is a false comfort.
//!
//! Owns the question for every scope; the stops themselves are [`crate::store`]'s. Stops nothing.
//! INVARIANT: a person whose run is still under way can be stopped, listed or not.

use provost_plan::diagnostic::nearest;

use crate::store::{RunFilter, RunPage, StopScope, Store, StoreError};
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
    let is_under_way = match store.filter(|_| scope == StopScope::Principal) {
        Some(store) => acts(workspace, store, name)?,
        None => false,
    };
    if known.contains(&name) || is_under_way {
        return Ok(None);
    }
    Ok(Some(UnboundStop {
        scope,
        name: name.to_owned(),
        near: nearest(name, known).map(str::to_owned),
    }))
}

/// Whether a run that is not over acts for this person, or for an agent of theirs.
fn acts(workspace: &Workspace, store: &Store, name: &str) -> Result<bool, StoreError> {
    let person = workspace.people().principal(name);
    let page = RunPage {
        statuses: RunFilter::unfinished().statuses,
        principals: Some(vec![person.agent(), person]),
        limit: 1,
        ..RunPage::default()
    };
    Ok(!store.runs_page(&page)?.is_empty())
}
