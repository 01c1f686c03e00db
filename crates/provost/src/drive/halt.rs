//! Stopping: the first signal lets what is in flight settle, the second ends the process.
//!
//! Owns the handling of signals. INVARIANT: after the first signal nothing new begins.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

use crate::screen::view::HALTING;
use crate::{log, output};

/// The exit code of a process that a second Ctrl-C ended at once.
const ENDED_AT_ONCE: u8 = 130;

/// Turns true at the first Ctrl-C; the second ends the process at once.
pub fn at_interrupt() -> watch::Receiver<bool> {
    of(&[SignalKind::interrupt()], HALTING)
}

/// Turns true at the first Ctrl-C or SIGTERM; the second ends the process at once.
pub fn at_interrupt_or_end(said: &'static str) -> watch::Receiver<bool> {
    of(&[SignalKind::interrupt(), SignalKind::terminate()], said)
}

fn of(kinds: &[SignalKind], said: &'static str) -> watch::Receiver<bool> {
    let (halt, halted) = watch::channel(false);
    let (come, mut comes) = tokio::sync::mpsc::unbounded_channel();
    for kind in kinds {
        // Why one stream for both times: a second signal that comes before anybody waits is not
        // lost.
        if let Ok(stream) = signal(*kind) {
            tokio::spawn(pass_on(stream, come.clone()));
        }
    }
    tokio::spawn(async move {
        if comes.recv().await.is_none() {
            return;
        }
        if !output::is_live() {
            output::note(&format!("{said}\n"));
        }
        let _ = halt.send(true);
        if comes.recv().await.is_some() {
            if output::is_live() {
                output::control("\u{1b}[?7h");
            }
            output::note("\nended at once: writes in flight may be in doubt\n");
            log::end(ENDED_AT_ONCE);
            std::process::exit(ENDED_AT_ONCE.into());
        }
    });
    halted
}

async fn pass_on(mut stream: Signal, come: tokio::sync::mpsc::UnboundedSender<()>) {
    while stream.recv().await.is_some() && come.send(()).is_ok() {}
}
