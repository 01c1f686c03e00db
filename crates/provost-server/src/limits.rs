//! Every fixed limit of the server, in one place, with the unit last in the name.

use std::time::Duration;

/// The largest body of a request, in bytes: a plan has one mebibyte at most, escaped twice over.
pub const BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long the head of a request may take, and a connection may say nothing.
pub const HEAD_TIME: Duration = Duration::from_secs(15);
/// How long the body of a request may take that is read whole.
pub const BODY_TIME: Duration = Duration::from_secs(30);
/// Most connections at once.
pub const CONNECTIONS_MAX: usize = 256;
/// Most connections without a request; with more, the one that was silent longest is closed.
pub const SILENT_MAX: usize = 128;
/// Most requests of MCP clients that are answered at once.
pub const MCP_REQUESTS_MAX: usize = 64;
/// Most MCP clients that are remembered at once; with more, one that is not in use is forgotten.
pub const MCP_SESSIONS_MAX: usize = 64;
/// Fewest characters of a token that is given: whoever is on this machine may try them.
pub const TOKEN_CHARS_MIN: usize = 16;
/// Most requests that one connection of HTTP/2 makes at once.
pub const STREAMS_AT_ONCE_MAX: u32 = 32;
/// Most bytes of one answer that HTTP/2 keeps for a client that reads slowly.
pub const ANSWER_BUFFER_BYTES_MAX: usize = 64 * 1024;
/// How long a connection that was told to end may have nothing to say.
pub const GOODBYE_TIME: Duration = Duration::from_secs(1);
/// How long nothing is taken after the system could not give a connection.
pub const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long requests may take to end once the process is told to end.
pub const DRAIN_MAX: Duration = Duration::from_secs(5);
/// Connections for reads, none shared with whoever drives.
pub const READERS: usize = 4;
/// Most runs that are kept as they were last read.
pub const SEEN_RUNS_MAX: usize = 32;
/// Most runs that wait to be begun.
pub const BEGINNINGS_MAX: usize = 64;
/// How long a one-time link can be used.
pub const LINK_LASTS: Duration = Duration::from_secs(15 * 60);
/// How long a session lasts.
pub const SESSION_LASTS: Duration = Duration::from_secs(12 * 60 * 60);
/// How long a session lasts without a request.
pub const SESSION_IDLE: Duration = Duration::from_secs(60 * 60);
/// How often at most it is noted that a session is in use.
pub const SESSION_SEEN_EVERY: Duration = Duration::from_secs(60);
/// How long a login with a provider may take.
pub const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);
/// Most logins with a provider that are under way at once.
pub const LOGINS_UNDER_WAY_MAX: u32 = 1_000;
/// Most tries to sign in from one address in a minute.
pub const LOGINS_PER_MINUTE_MAX: u32 = 10;
/// Most statements of one session or token in a minute.
pub const STATEMENTS_PER_MINUTE_MAX: u32 = 60;
/// Most runs that one session or token begins in a minute.
pub const RUNS_PER_MINUTE_MAX: u32 = 30;
/// Random bytes of a link, a session and a token.
pub const SECRET_BYTES: usize = 32;

/// Most answers of the machine that are kept, on who may give what waits.
pub(crate) const WAIT_VERDICTS_MAX: usize = 20_000;
/// Verdicts of policy that are kept, while policies and people are the same.
pub(crate) const VERDICTS_MAX: usize = 20_000;
