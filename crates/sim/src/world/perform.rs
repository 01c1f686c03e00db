//! One call against the state: key, fault, effect, ledger, disk, in this order.
//!
//! Owns the lock around the state. Never waits while it holds it, except for the disk.
//! INVARIANT: a call works on a copy that replaces the state only once it is on disk, so what is
//! in memory is never ahead of the file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::route::{self, Reply, Request};
use super::state::{Fault, FaultKind, FirstAnswer, LedgerEntry, State};

/// The world: its state and the file that holds it.
pub struct World {
    path: PathBuf,
    state: Mutex<State>,
}

/// What a call comes to, before a fault withholds it.
pub struct Performed {
    pub status: u16,
    pub body: Value,
    /// The answer is the one its key was given before.
    pub replayed: bool,
    effects: u32,
}

impl World {
    /// Opens the world kept in `path`, beginning a new one where there is none.
    pub fn open(path: &Path) -> io::Result<Self> {
        let state = State::load(path)?;
        state.save(path)?;
        Ok(Self {
            path: path.to_owned(),
            state: Mutex::new(state),
        })
    }

    /// Every call so far, oldest first.
    pub fn ledger(&self) -> Vec<LedgerEntry> {
        self.locked().ledger.clone()
    }

    /// The faults switched on.
    pub fn faults(&self) -> Vec<Fault> {
        self.locked().faults.clone()
    }

    /// Switches a fault on.
    pub fn add_fault(&self, fault: Fault) -> io::Result<()> {
        self.change(|state| state.faults.push(fault))
    }

    /// Switches every fault off.
    pub fn clear_faults(&self) -> io::Result<()> {
        self.change(|state| state.faults.clear())
    }

    /// Takes the first fault that strikes this request, using up one of its times.
    pub fn take_fault(&self, request: &Request) -> io::Result<Option<Fault>> {
        let Some((route, _)) = route::find(request) else {
            return Ok(None);
        };
        let name = route.name();
        let strikes = |fault: &Fault| fault.route == "*" || fault.route == name;
        if !self.locked().faults.iter().any(strikes) {
            return Ok(None);
        }
        self.change(|state| {
            let struck = state.faults.iter_mut().find(|fault| strikes(fault))?;
            struck.times = struck.times.saturating_sub(1);
            let fault = struck.clone();
            state.faults.retain(|fault| fault.times > 0);
            Some(fault)
        })
    }

    /// Performs the call under the fault and makes it durable.
    pub fn perform(&self, request: &Request, fault: Option<&Fault>) -> io::Result<Performed> {
        self.change(|state| {
            let performed = performed(state, request, fault);
            let kind = fault.map(|fault| fault.kind);
            let unanswered = matches!(kind, Some(FaultKind::Hang | FaultKind::Drop));
            state.ledger.push(LedgerEntry {
                seq: u64::try_from(state.ledger.len())
                    .unwrap_or(u64::MAX)
                    .saturating_add(1),
                at: request.at.clone(),
                method: request.method.clone(),
                path: request.path.clone(),
                route: route::find(request).map(|(route, _)| route.name()),
                key: request.key.clone(),
                body_digest: request.body_digest.clone(),
                effect: performed.effects > 0,
                effects: performed.effects,
                status: (!unanswered).then_some(performed.status),
                replayed: performed.replayed,
                fault: kind,
            });
            performed
        })
    }

    fn change<T>(&self, how: impl FnOnce(&mut State) -> T) -> io::Result<T> {
        let mut state = self.locked();
        let mut next = state.clone();
        let result = how(&mut next);
        next.save(&self.path)?;
        *state = next;
        Ok(result)
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        // Why: a poisoned lock still holds a whole state, as changes are made on a copy.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn performed(state: &mut State, request: &Request, fault: Option<&Fault>) -> Performed {
    match fault.map(|fault| (fault.kind, fault.effect)) {
        Some((FaultKind::Before, _)) => failed(503, 0),
        Some((FaultKind::Hang, false)) => failed(504, 0),
        Some((FaultKind::After, _)) => failed(500, answered(state, request, 1).effects),
        Some((FaultKind::Twice, _)) => answered(state, request, 2),
        Some((FaultKind::Lie, _)) => Performed {
            effects: 0,
            ..answered(&mut state.clone(), request, 1)
        },
        Some((FaultKind::Hang | FaultKind::Drop | FaultKind::Slow | FaultKind::Stutter, _))
        | None => answered(state, request, 1),
    }
}

fn failed(status: u16, effects: u32) -> Performed {
    let body = json!({ "error": "a fault was switched on for this route" });
    Performed {
        status,
        body,
        replayed: false,
        effects,
    }
}

/// The answer to the request, from its key's first answer where there is one.
fn answered(state: &mut State, request: &Request, times: u32) -> Performed {
    if let Some(first) = request.key.as_ref().and_then(|key| state.answers.get(key)) {
        return again(first, request);
    }
    let Some((route, holes)) = route::find(request) else {
        return refused(404, "no such route");
    };
    let Reply {
        status,
        body,
        effect,
    } = (route.handle)(state, request, &holes);
    let mut effects = u32::from(effect);
    for _ in 1..times {
        effects += u32::from((route.handle)(state, request, &holes).effect);
    }
    if let (Some(key), true) = (&request.key, effects > 0) {
        let first = FirstAnswer {
            method: request.method.clone(),
            path: request.path.clone(),
            body_digest: request.body_digest.clone(),
            status,
            body: body.clone(),
        };
        state.answers.insert(key.clone(), first);
    }
    Performed {
        status,
        body,
        replayed: false,
        effects,
    }
}

fn again(first: &FirstAnswer, request: &Request) -> Performed {
    let same = first.method == request.method
        && first.path == request.path
        && first.body_digest == request.body_digest;
    match same {
        true => Performed {
            status: first.status,
            body: first.body.clone(),
            replayed: true,
            effects: 0,
        },
        false => refused(422, "this idempotency key was used for another request"),
    }
}

fn refused(status: u16, why: &str) -> Performed {
    let Reply { status, body, .. } = Reply::refused(status, why);
    Performed {
        status,
        body,
        replayed: false,
        effects: 0,
    }
}
