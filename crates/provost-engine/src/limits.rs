//! Every fixed limit of the engine, in one place, with the unit last in the name.

use std::time::Duration;

/// Most requests of one group commit.
pub const BATCH_REQUESTS_MAX: usize = 512;
/// Most requests that may wait for the writer.
pub const QUEUE_REQUESTS_MAX: usize = 16_384;
/// Largest payload of one event, in bytes of canonical JSON.
pub const EVENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Largest single piece of evidence, in bytes.
pub const EVIDENCE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long one process waits for another one's commit.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How long the writer must have been idle before it checkpoints.
pub const CHECKPOINT_IDLE: Duration = Duration::from_millis(250);
/// Commits after which a checkpoint is due.
pub const CHECKPOINT_COMMITS_MIN: u64 = 200;
/// Pages of the write-ahead log at which SQLite checkpoints even under load.
pub const CHECKPOINT_PAGES_MAX: u32 = 16_384;
/// Most names that an ambiguous prefix lists.
pub const AMBIGUOUS_NAMES_MAX: usize = 6;
/// Most calls in flight at once that an operator may allow.
pub const CONCURRENT_CALLS_MAX: u64 = 256;
