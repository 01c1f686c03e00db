//! What can make a service slow, and the words each cause leaves behind.
//!
//! Owns the signature message of every cause and the prose of its past incident. Never picks a
//! cause. INVARIANT: a signature belongs to one cause, and no other text contains it.

/// A reason for a rise in latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    ConnectionPool,
    RowLocks,
    CacheStampede,
    NameResolution,
    SlowUpstream,
    GarbageCollection,
    WorkerQueue,
    FullScan,
    DiskSync,
    TlsHandshakes,
}

/// Every cause.
pub const CAUSES: [Cause; 10] = [
    Cause::ConnectionPool,
    Cause::RowLocks,
    Cause::CacheStampede,
    Cause::NameResolution,
    Cause::SlowUpstream,
    Cause::GarbageCollection,
    Cause::WorkerQueue,
    Cause::FullScan,
    Cause::DiskSync,
    Cause::TlsHandshakes,
];

/// The words of a cause.
#[derive(Debug)]
pub struct Facts {
    /// The message it logs, without its parameters.
    pub message: &'static str,
    /// The field that holds the message's parameter.
    pub field: &'static str,
    /// The note of a deployment that brings it.
    pub note: &'static str,
    pub title: &'static str,
    pub cause: &'static str,
    pub fix: &'static str,
}

impl Cause {
    pub fn facts(self) -> Facts {
        match self {
            Self::ConnectionPool => Facts {
                message: "waiting for a free database connection",
                field: "waited_ms",
                note: "Move pool settings to the shared defaults",
                title: "Connection pool too small after a change of defaults",
                cause: "The pool held 8 connections in place of 40. Requests queued for one.",
                fix: "Set the pool size back and alert on the time spent queueing.",
            },
            Self::RowLocks => Facts {
                message: "row lock not granted in time, trying again",
                field: "waited_ms",
                note: "Settle balances inside the request transaction",
                title: "A long transaction held locks on hot rows",
                cause: "A transaction called another service while it held its locks.",
                fix: "Call first, then open the transaction; keep it under 20 ms.",
            },
            Self::CacheStampede => Facts {
                message: "cache entry expired, recomputing while others wait",
                field: "waiters",
                note: "Align cache lifetimes to the full hour",
                title: "All cache entries expired in the same minute",
                cause: "Entries shared one lifetime, so that all callers recomputed at once.",
                fix: "Spread lifetimes by a random tenth; let one caller recompute.",
            },
            Self::NameResolution => Facts {
                message: "name resolution took longer than its budget",
                field: "took_ms",
                note: "Resolve internal names through the new zone",
                title: "Every call asked a far name server first",
                cause: "The new search list tried four names before the right one.",
                fix: "Use fully qualified names and cache answers in the process.",
            },
            Self::SlowUpstream => Facts {
                message: "upstream answered after the soft deadline",
                field: "took_ms",
                note: "Call the fraud score synchronously",
                title: "A synchronous call to a slow partner",
                cause: "A call that used to be queued was made inside the request.",
                fix: "Queue the call again and decide on the last known score.",
            },
            Self::GarbageCollection => Facts {
                message: "collector paused the process beyond its budget",
                field: "paused_ms",
                note: "Keep rendered documents in memory",
                title: "Memory pressure stopped the process again and again",
                cause: "A cache without a limit left the collector no room.",
                fix: "Limit the cache by bytes; restart the instances one by one.",
            },
            Self::WorkerQueue => Facts {
                message: "worker queue is full, request parked",
                field: "queue_length",
                note: "Give the report export its own priority",
                title: "Exports took all workers",
                cause: "Long exports shared the workers with short requests.",
                fix: "Run exports in a pool of their own.",
            },
            Self::FullScan => Facts {
                message: "query read more rows than planned",
                field: "rows_read",
                note: "Filter by normalised e-mail address",
                title: "A new filter could not use the index",
                cause: "The filter wrapped the column in a function, so the table was scanned.",
                fix: "Add an index on the expression.",
            },
            Self::DiskSync => Facts {
                message: "write-ahead log sync was slow",
                field: "took_ms",
                note: "Write the audit trail beside the data",
                title: "The audit trail and the data shared one disk",
                cause: "Each request waited for two syncs of the same disk.",
                fix: "Move the audit trail to its own volume.",
            },
            Self::TlsHandshakes => Facts {
                message: "connection could not be reused, new handshake",
                field: "took_ms",
                note: "Upgrade the HTTP client",
                title: "Connections were no longer kept alive",
                cause: "The new client closed idle connections after one second.",
                fix: "Set the idle time to 90 seconds again.",
            },
        }
    }
}
