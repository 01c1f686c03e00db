//! Connections that have nothing to say yet.
//!
//! Owns who has to go when there is no room: the one that was silent longest. Knows no protocol.
//! INVARIANT: who is being answered is never sent away, and who only waits keeps nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Connections without a request, in the order in which they fell silent.
#[derive(Debug)]
pub(super) struct IdleConnections {
    room: usize,
    waiting: Mutex<IdleWait>,
}

#[derive(Debug, Default)]
struct IdleWait {
    next: u64,
    by_turn: BTreeMap<u64, Arc<Notify>>,
}

/// One connection, as the lobby knows it.
#[derive(Debug)]
pub(super) struct IdleConnection {
    lobby: Arc<IdleConnections>,
    /// Its turn while it waits; requests of one connection come one after the other.
    turn: Mutex<Option<u64>>,
    sent_away: Arc<Notify>,
}

impl IdleConnections {
    /// A lobby for so many.
    pub(super) fn new(room: usize) -> Arc<Self> {
        Arc::new(Self {
            room,
            waiting: Mutex::default(),
        })
    }

    /// A new connection comes in; if there is no room, the one that waited longest goes.
    pub(super) fn enter(self: &Arc<Self>) -> Arc<IdleConnection> {
        let guest = Arc::new(IdleConnection {
            lobby: Arc::clone(self),
            turn: Mutex::default(),
            sent_away: Arc::default(),
        });
        guest.wait();
        guest
    }
}

impl IdleConnection {
    /// It has nothing to say for now.
    pub(super) fn wait(&self) {
        let mut turn = lock(&self.turn);
        let mut waiting = lock(&self.lobby.waiting);
        if let Some(before) = turn.take() {
            waiting.by_turn.remove(&before);
        }
        while waiting.by_turn.len() >= self.lobby.room {
            let Some((_, longest)) = waiting.by_turn.pop_first() else {
                break;
            };
            longest.notify_one();
        }
        let next = waiting.next;
        waiting.next += 1;
        waiting.by_turn.insert(next, Arc::clone(&self.sent_away));
        *turn = Some(next);
    }

    /// It is answered: until it waits again, nobody sends it away.
    pub(super) fn leave(&self) {
        if let Some(turn) = lock(&self.turn).take() {
            lock(&self.lobby.waiting).by_turn.remove(&turn);
        }
    }

    /// Ends when it has to go.
    pub(super) async fn sent_away(&self) {
        self.sent_away.notified().await;
    }
}

/// What several threads share. Why never poisoned: nothing that can fail is done while it is held.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
