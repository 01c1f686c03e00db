//! Every fixed limit of planners, in one place, with the unit last in the name.
//!
//! Owns numbers only.

use std::time::Duration;

/// How often a model is asked until it answers, where nothing of it was answered.
pub(crate) const ASKED_TIMES_MAX: u32 = 4;
/// The wait before a model is asked again, doubled each time.
pub(crate) const ASK_AGAIN_AFTER: Duration = Duration::from_millis(500);
/// The longest wait of that kind, whatever a server asks for.
pub(crate) const ASK_AGAIN_MAX: Duration = Duration::from_secs(60);
/// Bytes that providers add to a request: names of roles, marks between messages.
pub(crate) const REQUEST_FRAME_BYTES: u64 = 2 * 1024;
/// Most questions of one reply.
pub(crate) const QUESTIONS_MAX: usize = 5;
/// Most characters of a question, a reason or another text of a planner for people.
pub(crate) const WORDS_CHARS_MAX: usize = 1_000;
/// Most bytes of one line of an external planner.
pub(crate) const LINE_BYTES_MAX: usize = 2 * 1024 * 1024;
/// How long an external planner may take to say hello.
pub(crate) const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
