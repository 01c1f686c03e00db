//! The client's end of the process: lines of stdin in, lines to stdout out.
//!
//! Owns the threads that read and write, since a terminal or a pipe cannot be waited for.
//! INVARIANT: a line longer than [`LINE_MAX`] ends the conversation, and is never held whole.

use std::io::{self, BufRead as _, Read as _, Write as _};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::runtime::Handle;

/// The longest line of a client, in bytes: a plan has one mebibyte at most, escaped twice over.
const LINE_MAX: u64 = 8 * 1024 * 1024;
/// How much stands between the threads and the server, in bytes.
const BUFFER: usize = 64 * 1024;

/// What the client writes, and what it reads.
pub fn open() -> (DuplexStream, DuplexStream) {
    let (from_client, read) = tokio::io::duplex(BUFFER);
    let (to_client, written) = tokio::io::duplex(BUFFER);
    let handle = Handle::current();
    let writing = handle.clone();
    // Why detached: both end with the process, and a read of stdin cannot be called off.
    std::thread::spawn(move || pump_in(&handle, from_client));
    std::thread::spawn(move || pump_out(&writing, written));
    (read, to_client)
}

fn pump_in(handle: &Handle, mut server: DuplexStream) {
    let mut stdin = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = stdin.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        match read {
            Ok(0) | Err(_) => return,
            Ok(_) if line.last() != Some(&b'\n') && line.len() as u64 == LINE_MAX => {
                crate::output::note("error: the client sent a line that is too long\n");
                return;
            }
            Ok(_) => {}
        }
        if handle.block_on(server.write_all(&line)).is_err() {
            return;
        }
    }
}

fn pump_out(handle: &Handle, mut server: DuplexStream) {
    let mut stdout = io::stdout().lock();
    let mut some = vec![0; BUFFER];
    while let Ok(n @ 1..) = handle.block_on(server.read(&mut some)) {
        let written = stdout.write_all(some.get(..n).unwrap_or_default());
        if written.and_then(|()| stdout.flush()).is_err() {
            return;
        }
    }
}
