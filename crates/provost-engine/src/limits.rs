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
/// Pieces of pruned evidence that one event of the workspace's log names.
pub const PRUNED_PIECES_MAX: usize = 1_000;
/// Runs whose payloads were pruned that one event of the workspace's log names.
pub const PRUNED_RUNS_MAX: usize = 100;
/// How long one process waits for another one's commit.
pub const BUSY_WAIT: Duration = Duration::from_secs(10);
/// How long it waits before it asks again, where SQLite does not wait itself.
pub(crate) const BUSY_PAUSE: Duration = Duration::from_millis(2);
/// How long the writer must have been idle before it checkpoints.
pub const CHECKPOINT_IDLE: Duration = Duration::from_millis(250);
/// Commits after which a checkpoint is due.
pub const CHECKPOINT_COMMITS_MIN: u64 = 200;
/// Pages of the write-ahead log at which SQLite checkpoints even under load.
pub const CHECKPOINT_PAGES_MAX: u32 = 16_384;
/// How long one turn of a run may take on a thread beside the one that drives.
pub const TURN_TIME_MAX: Duration = Duration::from_secs(10);
/// Most such turns at once.
pub const LABORIOUS_TURNS_MAX: usize = 2;
/// The stack of such a thread, in bytes.
pub const TURN_STACK_BYTES: usize = 16 * 1024 * 1024;
/// Most names that an ambiguous prefix lists.
pub const AMBIGUOUS_NAMES_MAX: usize = 6;
/// Most runs that are looked at for calls that equal one: calls before those are not counted.
pub const EARLIER_RUNS_MAX: usize = 100;
/// Most writes of other runs that are kept between two looks.
pub const EARLIER_WRITES_MAX: usize = 20_000;
/// For how long equal calls are remembered unless the operator says otherwise, in milliseconds.
pub const REPEATS_SHOWN_MS: i64 = 30 * 24 * 3_600_000;
/// Most calls in flight at once that an operator may allow.
pub const CONCURRENT_CALLS_MAX: u64 = 256;
/// Most runs that one process drives at once, unless it is told otherwise.
pub const DRIVEN_RUNS_MAX: usize = 64;
/// How often a process that works looks for runs and words.
pub const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How often a process looks whether another one wrote, for all its runs together.
pub const WOKEN_EVERY: Duration = Duration::from_millis(40);
/// The longest that a process does not look for runs and statements where nobody seems to have
/// written: a run whose process died leaves no trace in the journal.
pub const LOOK_MIN_EVERY: Duration = Duration::from_secs(1);
/// The longest wait of a run that such a process sits out.
pub const SAT_OUT_MAX: Duration = Duration::from_secs(5);
/// How far off the next moment of a run may be for a process that ends when nothing can move.
pub const IDLE_WAIT_MAX: Duration = Duration::from_secs(60);
/// The first rest of a run that could not be driven; it doubles each time.
pub const REST_MIN: Duration = Duration::from_secs(1);
/// The longest such rest.
pub const REST_MAX: Duration = Duration::from_secs(60);
/// Most notices that are delivered at once.
pub const NOTICES_AT_ONCE_MAX: usize = 16;
/// How long one delivery may take, unless the operator says otherwise.
pub const NOTIFY_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest that the operator may say.
pub const NOTIFY_TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// The rest after the first delivery that failed; it doubles each time.
pub const NOTIFY_WAIT_MIN: Duration = Duration::from_secs(5);
/// The longest such rest.
pub const NOTIFY_WAIT_MAX: Duration = Duration::from_secs(60 * 60);
/// The shortest life of a session that an operator may set.
pub const SESSION_MIN: Duration = Duration::from_secs(60);
/// The longest life of a session that an operator may set.
pub const SESSION_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// The shortest time after which somebody is told again, or somebody else is.
pub const NOTIFY_REMIND_MIN: Duration = Duration::from_secs(1);
/// The shortest time between two runs of a schedule.
pub const SCHEDULE_EVERY_MIN: Duration = Duration::from_secs(1);
/// How long a command that drove a run delivers notices before it ends.
pub const NOTIFY_LAST: Duration = Duration::from_secs(12);
/// Most characters kept of why a notice could not be delivered.
pub const NOTICE_SAID_CHARS_MAX: usize = 500;
/// Largest answer of a webhook, in bytes.
pub const NOTICE_ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// Most events of the journal that are sent as traces at once.
pub const EXPORT_EVENTS_MAX: u32 = 512;
/// How often the journal is looked at for what is to be sent.
pub const EXPORT_EVERY: Duration = Duration::from_millis(500);
/// How many times as long as it read the journal it rests: one part in 50 of one core is the most.
pub const EXPORT_REST_TIMES: u32 = 49;
/// The rest after the first sending that failed; it doubles each time.
pub const EXPORT_WAIT_MIN: Duration = Duration::from_secs(2);
/// The longest such rest.
pub const EXPORT_WAIT_MAX: Duration = Duration::from_secs(5 * 60);
/// How long a command that drove a run waits for what it sends last.
pub const EXPORT_LAST_RUN: Duration = Duration::from_millis(500);
/// How long a process that served or worked does.
pub const EXPORT_LAST_WORK: Duration = Duration::from_secs(5);
/// The most bytes that are sent of one argument list, result, goal or answer.
pub const EXPORT_CONTENT_BYTES_MAX: usize = 4 * 1024;
/// Largest answer of a receiver, in bytes.
pub const EXPORT_ANSWER_BYTES_MAX: u64 = 64 * 1024;
/// How long a process that drives runs leaves what was committed without a signed head.
pub const SIGN_EVERY: Duration = Duration::from_secs(5 * 60);
/// How many events it leaves without one.
pub const SIGN_EVENTS_MAX: i64 = 10_000;
/// Largest file of signed heads that is read, in bytes.
pub const HEADS_BYTES_MAX: u64 = 256 * 1024 * 1024;
/// Longest reason for accepting a store that signed heads contradict, in bytes.
pub const REASON_BYTES_MAX: usize = 2_000;
/// Largest word or card file, in bytes: a plan may stand in a word.
pub const STATEMENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a word counts, unless what it answers lapses earlier.
pub const STATEMENT_LIFE: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Longest life that a word may give itself.
pub const STATEMENT_LIFE_MAX: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How far ahead of this clock the clock of who said a word may be.
pub const STATEMENT_EARLY_MAX: Duration = Duration::from_secs(5 * 60);
/// Longest nonce of a word, in characters.
pub const STATEMENT_NONCE_CHARS_MAX: usize = 64;
/// Most posted statements that are taken at once; the others wait for the next look.
pub const POSTED_AT_ONCE_MAX: u32 = 1_000;
/// How often a process that goes on looks at the files of its workspace.
pub const FILES_LOOK: Duration = Duration::from_secs(2);
/// Most bytes of goals that a process keeps to search them.
pub const GOALS_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Most events that are looked at for what they change of what is kept to search.
pub const EVENTS_TAKEN_IN_MAX: i64 = 50_000;
/// Most runs that a page is looked for among, one by one.
pub const RUNS_ASKED_FOR_MAX: usize = 4_000;
