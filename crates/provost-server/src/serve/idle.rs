//! Connections that have nothing to say yet.
//!
//! Owns who has to go when there is no room: the one that was silent longest. Knows no protocol.
//! INVARIANT: who is being answered is never sent away, and who only waits keeps nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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
    stay: Mutex<Stay>,
    sent_away: Arc<Notify>,
}

/// What a connection is about.
#[derive(Debug, Default)]
struct Stay {
    /// Its turn while it waits, which no other wait has.
    turn: Option<u64>,
    /// Its requests that are being answered.
    requests: usize,
    /// Whether it ended. Why kept: an answer may be let go of after its connection.
    ended: bool,
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
            stay: Mutex::default(),
            sent_away: Arc::default(),
        });
        guest.wait(&mut lock(&guest.stay));
        guest
    }
}

impl IdleConnection {
    /// A request of it is answered from here on: until the last one is, nobody sends it away.
    pub(super) fn begin(&self) {
        let mut stay = lock(&self.stay);
        stay.requests += 1;
        self.stop_waiting(&mut stay);
    }

    /// A request of it was answered.
    pub(super) fn end(&self) {
        let mut stay = lock(&self.stay);
        stay.requests = stay.requests.saturating_sub(1);
        if stay.requests == 0 && !stay.ended {
            self.wait(&mut stay);
        }
    }

    /// It is over.
    pub(super) fn leave(&self) {
        let mut stay = lock(&self.stay);
        stay.ended = true;
        self.stop_waiting(&mut stay);
    }

    /// Ends when it has to go.
    pub(super) async fn sent_away(&self) {
        self.sent_away.notified().await;
    }

    /// Ends once it had nothing to say for so long, and before it had for twice as long.
    pub(super) async fn silent(&self, most: Duration) {
        loop {
            let before = lock(&self.stay).turn;
            tokio::time::sleep(most).await;
            if before.is_some() && lock(&self.stay).turn == before {
                return;
            }
        }
    }

    fn wait(&self, stay: &mut Stay) {
        let mut waiting = lock(&self.lobby.waiting);
        while waiting.by_turn.len() >= self.lobby.room {
            let Some((_, longest)) = waiting.by_turn.pop_first() else {
                break;
            };
            longest.notify_one();
        }
        let next = waiting.next;
        waiting.next += 1;
        waiting.by_turn.insert(next, Arc::clone(&self.sent_away));
        stay.turn = Some(next);
    }

    fn stop_waiting(&self, stay: &mut Stay) {
        if let Some(turn) = stay.turn.take() {
            lock(&self.lobby.waiting).by_turn.remove(&turn);
        }
    }
}

/// What several threads share. Why never poisoned: nothing that can fail is done while it is held.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
