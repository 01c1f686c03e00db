//! Ownership of runs as rows: taken from the dead, never from the living.

use rusqlite::params;

use super::super::{payloads, read};
use super::{Batch, Writer};
use crate::owner::{ClaimResult, DeathProof, OwnerStatus};
use crate::store::StoreError;

impl Writer {
    pub(super) fn claim(
        &mut self,
        batch: &mut Batch,
        run: &str,
    ) -> rusqlite::Result<Result<ClaimResult, StoreError>> {
        let Some(head) = self.head(run)? else {
            return Ok(Err(StoreError::UnknownRun {
                run: run.to_owned(),
            }));
        };
        // Why here too: who read the run before it was pruned must not go on with it.
        if payloads::is_gone(&self.connection, head.n)? {
            let gone = StoreError::Erased {
                run: run.to_owned(),
                seq: 1,
            };
            let row = read::run(&self.connection, run);
            return Ok(Err(match row {
                Ok(row) => payloads::why_gone(&self.connection, &row, gone),
                Err(error) => error,
            }));
        }
        let mine = self.owner.instance();
        let before = match head.owner.as_deref() {
            Some(owner) if owner == mine => return Ok(Ok(ClaimResult::Taken)),
            Some(owner) => match self.owner.status_of(owner) {
                OwnerStatus::Alive { pid } => return Ok(Ok(ClaimResult::HeldBy { pid })),
                OwnerStatus::Silent => return Ok(Ok(ClaimResult::HeldBy { pid: None })),
                OwnerStatus::Dead(proof) => {
                    if let DeathProof::LockFree(file) = proof {
                        batch.dead.push(file);
                    }
                    Some(owner)
                }
            },
            None => None,
        };
        if let Some(before) = before {
            // Why: its lock file goes, so every other run that names it must be free as well.
            self.connection
                .prepare_cached("UPDATE runs SET owner = NULL WHERE owner = ?1")?
                .execute([before])?;
        }
        self.connection
            .prepare_cached("UPDATE runs SET owner = ?2 WHERE n = ?1")?
            .execute(params![head.n, mine])?;
        Ok(Ok(ClaimResult::Taken))
    }

    pub(super) fn release(&mut self, run: &str) -> rusqlite::Result<Result<(), StoreError>> {
        let changed = self
            .connection
            .prepare_cached("UPDATE runs SET owner = NULL WHERE id = ?1 AND owner = ?2")?
            .execute(params![run, self.owner.instance()])?;
        Ok(if changed == 1 {
            Ok(())
        } else {
            Err(StoreError::Moved {
                run: run.to_owned(),
            })
        })
    }
}
