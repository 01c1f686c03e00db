//! Runs that would go on if a process drove them.
//!
//! Owns the question, asked of the kernel's locks and no heartbeat. Drives and takes nothing.
//! INVARIANT: a run that a living process owns is never among them.

use std::path::PathBuf;

use provost_engine::owner::{lives, living};
use provost_engine::run::event::RunStatus;
use provost_engine::store::RunRow;

use crate::failure::Failure;
use crate::workspace_path::WorkspacePath;

/// What is said of such a run.
pub const NO_DRIVER: &str = "no process drives it";

/// The processes that could drive a run, as the locks tell.
pub struct Drivers {
    store_dir: PathBuf,
    /// Whether nobody is here who could take up a free run.
    nobody: bool,
}

impl Drivers {
    /// Looks who is there.
    pub fn of(place: &WorkspacePath) -> Result<Self, Failure> {
        let store_dir = place.store_dir()?;
        // Why: who cannot look says nothing of drivers.
        let nobody = living(&store_dir).is_ok_and(|all| all.is_empty());
        Ok(Self { store_dir, nobody })
    }

    /// Whether the process that drove a run is gone, and left it as it was: killed, or crashed.
    pub fn lost(&self, row: &RunRow) -> bool {
        let owner = row.owner.as_deref();
        moves(row) && owner.is_some_and(|owner| !lives(&self.store_dir, owner))
    }

    /// Whether a run would go on, and no process drives it: lost, or halted by whoever drove it.
    pub fn lacks(&self, row: &RunRow) -> bool {
        match row.owner {
            Some(_) => self.lost(row),
            None => moves(row) && self.nobody,
        }
    }
}

/// Whether a run of this status goes on without anybody's word.
fn moves(row: &RunRow) -> bool {
    let status = RunStatus::of(&row.status);
    matches!(status, Some(RunStatus::Planning | RunStatus::Running))
}
