//! The files of the workspace while it is served.
//!
//! Owns what is told of them, which of them a server can go on under, and that who left is signed
//! out. Reads none: that is the engine's. INVARIANT: what is wrong in a file is told only to who
//! may know what stands in it.

use provost_engine::keys::PublicKey;
use provost_engine::people::Credential;
use provost_engine::reload::{FilesState, ReloadError};
use provost_engine::workspace::{Findings, Workspace, WorkspaceError};
use serde_json::{Value, json};

use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::problem::{Problem, ProblemKind};
use crate::serve::ServeError;

/// How the files stand, as data; what is wrong with them for who may know what stands in them.
pub(crate) fn to_json(state: &FilesState, governs: bool) -> Value {
    let refused = state.refused.as_ref().map(|refused| {
        let why = governs.then(|| problem(&refused.why).to_json());
        let findings = why.as_ref().and_then(|why| why.get("findings"));
        json!({
            "at_ms": refused.at_ms,
            "detail": refused.why.to_string(),
            "findings": findings,
        })
    });
    json!({
        "read_ms": state.read_ms,
        "refused": refused,
        "restart": state.at_start,
    })
}

/// Has the files read anew, for who says so.
///
/// # Errors
/// [`ProblemKind::Findings`] if they cannot be used: then nothing has changed.
pub(crate) async fn read_anew_by(app: &App, viewer: &Viewer) -> Result<(), Problem> {
    let by = &viewer.principal.id;
    app.database.note(by, "had the files read anew")?;
    app.live.read_anew().await.map_err(|why| problem(&why))?;
    app.read(sign_out_who_left).await
}

/// Has the files read anew once they changed, until the process is told to end.
pub(crate) async fn watch(app: App) {
    let mut changes = app.live.changes();
    let watching = app.live.watch(app.halt.clone());
    let mut watching = std::pin::pin!(watching);
    loop {
        tokio::select! {
            () = &mut watching => return,
            Ok(()) = changes.changed() => {
                // Why ignored: whoever is not listed is refused at the door as well.
                let _ = app.read(sign_out_who_left).await;
            }
        }
    }
}

/// Files that can be used, and not by a server that was started under others.
pub(crate) fn refuse_unfit(
    workspace: &Workspace,
    started_solo: bool,
    voucher: Option<&PublicKey>,
) -> Result<(), ReloadError> {
    let unfit = |detail: &str, hint| {
        let detail = detail.to_owned();
        Err(ReloadError::Unfit { detail, hint })
    };
    let again = Some("start the server again");
    let solo = workspace.is_solo();
    match (solo, started_solo) {
        (true, false) => {
            return unfit(
                "`policies/solo.cedar` is there now, and a team is served",
                again,
            );
        }
        (false, true) => {
            return unfit(
                "`policies/solo.cedar` is gone, and one person is served",
                again,
            );
        }
        _ => {}
    }
    if !solo && workspace.people().names().next().is_none() {
        return unfit(&ServeError::NoPeople.to_string(), None);
    }
    let required = workspace.required();
    let vouches = voucher.is_some_and(|key| required.vouchers.contains(key));
    if required.least == Credential::Login && !vouches {
        let detail = "`require = \"login\"` needs a key of this server in `vouchers`";
        return unfit(detail, None);
    }
    Ok(())
}

fn problem(why: &ReloadError) -> Problem {
    let of = |detail: String| Problem::new(ProblemKind::Findings, detail);
    match why {
        ReloadError::Workspace(error) => refused(error),
        ReloadError::Unfit { detail, hint } => match hint {
            Some(hint) => of(detail.clone()).hint(*hint),
            None => of(detail.clone()),
        },
        ReloadError::Engine(_) | ReloadError::Halted => of(why.to_string()),
    }
}

fn refused(error: &WorkspaceError) -> Problem {
    let findings: Vec<Value> = error
        .findings()
        .iter()
        .flat_map(Findings::to_json)
        .collect();
    Problem::new(ProblemKind::Findings, error.to_string()).with("findings", json!(findings))
}

/// Whoever left has no session any more, also if they come back.
fn sign_out_who_left(shared: &Shared) -> Result<(), Problem> {
    if shared.workspace().is_solo() {
        return Ok(());
    }
    for session in shared.database.sessions(None)? {
        if !shared.live.is_listed(&session.person) {
            shared.database.end(None, Some(&session.digest))?;
            shared.database.note(&session.person, "left, signed out")?;
        }
    }
    Ok(())
}
