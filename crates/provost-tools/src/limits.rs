//! Every fixed limit of the tools, in one place, with the unit last in the name.
//!
//! Owns numbers only. What an operator may move (`timeout`, `max_bytes`, `max_rows`) has its
//! default and its ceiling here.

use std::time::Duration;

/// How long one call may take, unless the operator says otherwise.
pub(crate) const TIMEOUT_DEFAULT: Duration = Duration::from_secs(30);
/// The longest time an operator may give one call.
pub(crate) const TIMEOUT_MAX: Duration = Duration::from_secs(60 * 60);
/// How long a call that was told to stop may still take to do so.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(2);
/// Largest result, unless the operator says otherwise.
pub(crate) const RESULT_BYTES_DEFAULT: u64 = 1024 * 1024;
/// The largest result an operator may allow.
pub(crate) const RESULT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest message of a reply, in characters.
pub(crate) const MESSAGE_CHARS_MAX: usize = 500;
/// Longest description of an operation, in characters.
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 2_000;
/// Longest life of an idempotency key.
pub(crate) const KEY_TTL_MAX: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// Most rows of one query, unless the operator says otherwise.
pub(crate) const ROWS_DEFAULT: u64 = 1_000;
/// The most rows an operator may allow.
pub(crate) const ROWS_MAX: u64 = 100_000;
/// Longest SQL text, in bytes.
pub(crate) const SQL_BYTES_MAX: usize = 20_000;
/// How many SQLite instructions run between two looks at the clock.
pub(crate) const SQL_STEPS_PER_LOOK: i32 = 1_000;
/// How long a query waits for a lock that another program holds.
pub(crate) const SQL_LOCK_WAIT: Duration = Duration::from_secs(2);

/// Longest path below a root, in bytes.
pub(crate) const PATH_BYTES_MAX: usize = 1_024;
/// Deepest folder below a root.
pub(crate) const PATH_DEPTH_MAX: usize = 32;
/// Most bytes of the file that holds the keys of what was added in one folder.
pub(crate) const APPEND_TABLE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest file pattern, in bytes.
pub(crate) const GLOB_BYTES_MAX: usize = 200;
/// Most entries that a walk below a root looks at.
pub(crate) const WALK_ENTRIES_MAX: usize = 50_000;
/// Most bytes that one search reads.
pub(crate) const SEARCH_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Longest line that a search takes in, in bytes.
pub(crate) const LINE_BYTES_MAX: usize = 1024 * 1024;
/// Longest text of one match, in bytes.
pub(crate) const MATCH_BYTES_MAX: usize = 2_000;
/// Most bytes of matches held while a search runs.
pub(crate) const MATCHES_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most matches, unless the call says otherwise.
pub(crate) const MATCHES_DEFAULT: u64 = 20;
/// The most matches a call may ask for.
pub(crate) const MATCHES_MAX: u64 = 1_000;
/// Most groups that one search tells apart.
pub(crate) const GROUPS_MAX: usize = 10_000;
/// Most groups that one search returns.
pub(crate) const GROUPS_SHOWN_MAX: usize = 500;
/// Most files with counts that one search returns.
pub(crate) const FILES_SHOWN_MAX: usize = 1_000;
/// How many lines are searched between two looks at the clock.
pub(crate) const LINES_PER_LOOK: u64 = 512;
/// Least memory that a command can be held to.
pub(crate) const COMMAND_MEMORY_BYTES_MIN: u64 = 16 * 1024 * 1024;
/// Most places at a tool that an operator may give.
pub const PLACES_MAX: u64 = 10_000;
/// Longest time that a breaker may keep a tool alone.
pub const BREAKER_COOLDOWN_MAX: Duration = Duration::from_secs(24 * 3600);
/// Longest time that a write may take to land.
pub const FINAL_AFTER_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// Tokens that the protocol of a model puts around a request, at most.
pub(crate) const MODEL_FRAME_TOKENS: u64 = 256;

/// How many times `max_bytes` one message of an MCP server may have: a result stands in it as text
/// and as structured content, both escaped.
pub(crate) const MCP_RESULT_FACTOR: usize = 4;
/// How many bytes a message of an MCP server may have beside a result.
pub(crate) const MCP_MESSAGE_BYTES_BESIDE: usize = 1024 * 1024;
/// Most bytes that are read of what an MCP server says with a status that is no success.
pub(crate) const MCP_ERROR_BYTES_MAX: usize = 64 * 1024;
/// Most pages of a list of tools.
pub(crate) const MCP_PAGES_MAX: usize = 100;
/// Most tools of one server.
pub(crate) const MCP_TOOLS_MAX: usize = 1_000;
/// How old a list of tools may be when a read of them is called.
pub(crate) const MCP_LISTING_AGE_MAX: Duration = Duration::from_secs(60);
/// Most characters of a server's own words in a message.
pub(crate) const MCP_WORDS_CHARS_MAX: usize = 300;
/// Largest file of a command that is held to its bytes.
pub(crate) const PIN_BYTES_MAX: u64 = 256 * 1024 * 1024;
