//! Witnesses: other calls of an operation under the same entry, in this run and in others.
//!
//! Owns what is kept of a call for that, and how far other runs are looked at. Judges nothing.
//! INVARIANT: a call witnesses only under an equal digest of its tool's entry, and an equal call
//! only where nothing of ours wrote in between.

use std::collections::BTreeMap;

use provost_plan::digest::Digest;

use crate::call::Slot;
use crate::event::{AttemptStarted, Event};
use crate::outcome::Class;
use crate::read::words::counted;

/// Events of other runs, the newest first, among which witnesses are looked for.
pub const EVENTS_LOOKED_AT_MAX: usize = 100_000;
/// How far apart two calls may be for one to speak for the other, in milliseconds.
const NEAR_MS: u64 = 3_600_000;

/// A call that ended.
#[derive(Clone, Debug)]
struct EndedCall {
    operation: String,
    tool: Digest,
    args_digest: Digest,
    read: bool,
    class: Class,
    began: i64,
    ended: i64,
}

/// The calls of runs.
#[derive(Clone, Debug, Default)]
pub struct Witnesses {
    calls: Vec<EndedCall>,
    runs: usize,
    events: usize,
    cut: bool,
}

impl Witnesses {
    /// Takes in the calls of a run; false if that is more than may be looked at.
    pub fn add(&mut self, events: &[(Event, i64)]) -> bool {
        if self.events.saturating_add(events.len()) > EVENTS_LOOKED_AT_MAX {
            self.cut = true;
            return false;
        }
        self.runs += 1;
        self.events += events.len();
        self.calls.extend(calls_of(events));
        true
    }

    /// How far it looked, in words.
    pub(super) fn looked(&self) -> String {
        let runs = counted(self.runs, "run");
        match self.cut {
            true => format!("calls of other runs before those of the newest {runs}"),
            false if self.runs == 0 => "calls of other runs".to_owned(),
            false => format!("calls of other runs than {runs} of this store"),
        }
    }
}

/// What a run and others say of its calls.
pub(super) struct KnownCalls<'w> {
    own: Vec<EndedCall>,
    others: &'w Witnesses,
}

impl<'w> KnownCalls<'w> {
    pub(super) fn of(events: &[(Event, i64)], others: &'w Witnesses) -> Self {
        Self {
            own: calls_of(events),
            others,
        }
    }

    pub(super) fn looked(&self) -> String {
        self.others.looked()
    }

    pub(super) fn others(&self) -> &'w Witnesses {
        self.others
    }

    /// Whether the same call ended well before, with no write of ours in between. A write is none:
    /// it changed the world itself.
    pub(super) fn same(&self, of: &AttemptStarted, began: i64) -> bool {
        if !of.read {
            return false;
        }
        let before = self.ok_of(of).filter(|call| call.ended <= began);
        let mut equal = before.filter(|call| call.args_digest == of.args_digest);
        equal.any(|call| {
            let between = |other: &EndedCall| other.began >= call.ended && other.ended <= began;
            !self.all().any(|other| !other.read && between(other))
        })
    }

    /// Whether a call with other arguments ended well within an hour.
    pub(super) fn other(&self, of: &AttemptStarted, began: i64) -> bool {
        let near = |call: &EndedCall| call.began.abs_diff(began) <= NEAR_MS;
        self.ok_of(of)
            .any(|call| call.args_digest != of.args_digest && near(call))
    }

    /// Whether any call of the operation ended well.
    pub(super) fn ever_ok(&self, of: &AttemptStarted) -> bool {
        self.ok_of(of).next().is_some()
    }

    /// Whether the calls of the operation that ended well took longer than so many milliseconds,
    /// each of them, and among them two or an equal one: one call may have been slow for once.
    pub(super) fn all_took_longer(&self, of: &AttemptStarted, ms: u64) -> bool {
        let most = i64::try_from(ms).unwrap_or(i64::MAX);
        let known: Vec<&EndedCall> = self.ok_of(of).collect();
        let longer = |call: &&EndedCall| call.ended.saturating_sub(call.began) > most;
        let equal = |call: &&EndedCall| call.args_digest == of.args_digest;
        known.iter().all(longer) && (known.len() > 1 || known.iter().any(equal))
    }

    /// Whether another run was denied a call with other arguments, and none ended well. Why of
    /// another: what one plan goes over may all be what nobody may have.
    pub(super) fn denied_all(&self, of: &AttemptStarted) -> bool {
        let alike = |call: &&EndedCall| call.operation == of.operation && call.tool == of.tool;
        let mut denied = self.others.calls.iter().filter(alike);
        !self.ever_ok(of)
            && denied.any(|call| {
                call.class == Class::PermissionDenied && call.args_digest != of.args_digest
            })
    }

    fn all(&self) -> impl Iterator<Item = &EndedCall> {
        self.own.iter().chain(&self.others.calls)
    }

    fn ok_of<'a>(&'a self, of: &'a AttemptStarted) -> impl Iterator<Item = &'a EndedCall> {
        self.all().filter(move |call| {
            call.class == Class::Ok && call.operation == of.operation && call.tool == of.tool
        })
    }
}

/// The calls of a run that ended, whatever they were made for.
fn calls_of(events: &[(Event, i64)]) -> Vec<EndedCall> {
    let mut open: BTreeMap<(&Slot, u32), (&AttemptStarted, i64)> = BTreeMap::new();
    let mut calls = Vec::new();
    for (event, at) in events {
        match event {
            Event::AttemptStarted(started) => {
                open.insert((&started.slot, started.attempt), (started, *at));
            }
            Event::AttemptEnded(ended) => {
                let begun = open.remove(&(&ended.slot, ended.attempt));
                let Some((started, began)) = begun.filter(|_| ended.is_try()) else {
                    continue;
                };
                calls.push(EndedCall {
                    operation: started.operation.clone(),
                    tool: started.tool,
                    args_digest: started.args_digest,
                    read: started.read,
                    class: ended.class,
                    began,
                    ended: *at,
                });
            }
            _ => {}
        }
    }
    calls
}
