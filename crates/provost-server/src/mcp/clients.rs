//! The clients that are remembered: who said something, when, and how much at once.
//!
//! Owns the bounds for each, and who is forgotten when there is no room. INVARIANT: a client that
//! is being answered is never forgotten; one that only shook hands is forgotten before all others.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most requests of one client that are answered at once.
const REQUESTS_MAX: usize = 16;

/// The clients, by the id of their session; those without one are one client, under none.
#[derive(Debug)]
pub(super) struct Clients {
    room: usize,
    known: Mutex<KnownClients>,
}

#[derive(Debug, Default)]
struct KnownClients {
    moment: u64,
    by_session: BTreeMap<Option<String>, McpClient>,
}

#[derive(Debug, Default)]
struct McpClient {
    /// Requests after the handshake.
    requests: u64,
    last: u64,
    open: usize,
    /// By whose token it was given.
    owner: String,
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering {
    clients: Arc<Clients>,
    session: Option<String>,
}

impl Clients {
    /// Room for so many.
    pub(super) fn new(room: usize) -> Arc<Self> {
        Arc::new(Self {
            room,
            known: Mutex::default(),
        })
    }

    /// A request of a client begins; none if as many are answered as it may have at once.
    pub(super) fn begin(self: &Arc<Self>, session: Option<&str>) -> Option<Answering> {
        let mut known = self.known();
        let session = session.map(str::to_owned);
        // Why: an id that nobody was given is no client of its own.
        let session = session.filter(|id| known.by_session.contains_key(&Some(id.clone())));
        known.moment += 1;
        let moment = known.moment;
        let client = known.by_session.entry(session.clone()).or_default();
        if client.open >= REQUESTS_MAX {
            return None;
        }
        client.open += 1;
        client.requests += 1;
        client.last = moment;
        Some(Answering {
            clients: Arc::clone(self),
            session,
        })
    }

    /// Whether the session `id` was given to who came with another token.
    pub(super) fn is_of_another(&self, id: &str, owner: &str) -> bool {
        let known = self.known();
        let client = known.by_session.get(&Some(id.to_owned()));
        client.is_some_and(|client| client.owner != owner)
    }

    /// A client of `owner` was given the session `id`; those that `lives` does not know are
    /// forgotten. Which session has to end for it, if there is no room: its own where all others
    /// are in use.
    pub(super) fn add(
        &self,
        id: &str,
        owner: &str,
        lives: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let mut known = self.known();
        let is_kept = |session: &Option<String>| session.as_deref().is_none_or(&lives);
        known.by_session.retain(|session, _| is_kept(session));
        let clients = known.by_session.iter();
        let sessions: Vec<_> = clients
            .filter_map(|(id, client)| Some((id.as_ref()?, client)))
            .collect();
        if sessions.len() >= self.room {
            let idle = sessions.iter().filter(|(_, client)| client.open == 0);
            let least = idle.min_by_key(|(_, client)| (client.requests > 1, client.last));
            let Some(least) = least.map(|(id, _)| (*id).clone()) else {
                return Some(id.to_owned());
            };
            known.by_session.remove(&Some(least.clone()));
            self.insert(known, id, owner);
            return Some(least);
        }
        self.insert(known, id, owner);
        None
    }

    fn insert(&self, mut known: MutexGuard<'_, KnownClients>, id: &str, owner: &str) {
        known.moment += 1;
        let client = McpClient {
            last: known.moment,
            owner: owner.to_owned(),
            ..McpClient::default()
        };
        known.by_session.insert(Some(id.to_owned()), client);
    }

    fn known(&self) -> MutexGuard<'_, KnownClients> {
        // Why never poisoned: nothing that can fail is done while it is held.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut known = self.clients.known();
        if let Some(client) = known.by_session.get_mut(&self.session) {
            client.open = client.open.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_only_shook_hands_is_forgotten_first_and_who_is_answered_never() {
        let clients = Clients::new(3);
        for id in ["works", "idle", "asks"] {
            assert_eq!(clients.add(id, "ci", |_| true), None, "{id}");
        }
        for _ in 0..2 {
            // What is dropped at once has been answered.
            drop(clients.begin(Some("works")));
        }
        let asked = clients.begin(Some("asks"));
        for n in 0..9 {
            let id = format!("hand {n}");
            let gone = clients.add(&id, "ci", |_| true);
            let expected = match n {
                0 => "idle".to_owned(),
                n => format!("hand {}", n - 1),
            };
            assert_eq!(gone, Some(expected));
        }
        // With all in use, the new one has to go.
        let (works, hand) = (clients.begin(Some("works")), clients.begin(Some("hand 8")));
        assert_eq!(clients.add("late", "ci", |_| true).as_deref(), Some("late"));
        drop((asked, works, hand));
        assert_eq!(clients.add("last", "ci", |_| true).as_deref(), Some("asks"));
        // What has ended elsewhere takes no room.
        assert_eq!(clients.add("free", "ci", |id| id == "works"), None);
    }

    #[test]
    fn one_client_has_so_many_requests_at_once_and_no_more() {
        let clients = Clients::new(3);
        assert_eq!(clients.add("one", "ci", |_| true), None);
        assert_eq!(clients.add("two", "ci", |_| true), None);
        let mut open: Vec<_> = (0..REQUESTS_MAX)
            .map(|_| clients.begin(Some("one")))
            .collect();
        assert!(open.iter().all(Option::is_some));
        assert!(clients.begin(Some("one")).is_none());
        assert!(clients.begin(Some("two")).is_some(), "another client");
        open.pop();
        assert!(clients.begin(Some("one")).is_some(), "one is over");
        assert!(clients.is_of_another("one", "robot"));
        assert!(!clients.is_of_another("one", "ci"));
        assert!(!clients.is_of_another("three", "robot"), "nobody's");
    }
}
