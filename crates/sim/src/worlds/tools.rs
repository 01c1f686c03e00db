//! The tools of a world: what arrives, what takes place, what comes back.
//!
//! Owns the count of effects. Never knows what the machine believes. INVARIANT: a tool keeps its
//! word: within a key's life it does not do the same twice, and what it refuses it did not do.

use std::collections::BTreeMap;
use std::time::Duration;

use provost_plan::catalog::Idempotency;
use provost_run::call::Call;
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::{Value, json};

use super::faults::{Fault, FaultPlan};
use super::scenario::FIND;
use super::sketch::POLLED;

/// A request on its way.
#[derive(Clone, Debug)]
pub(super) struct Request {
    pub(super) call: Call,
    /// Whether a person said yes to it as a repetition.
    pub(super) repeated: bool,
    /// What the tool will do with it.
    fate: Delivery,
    /// When its sender stops waiting, in true time.
    pub(super) until: i64,
    /// How long the answer travels; never, if there is none.
    back: Option<i64>,
    twice: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    Serve,
    Corrupt,
    NotAccepted,
    Refuse(Class),
    /// Fails with nobody knowing where: before or after the effect.
    Break(bool),
}

/// Something that a tool did, or did not do again.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub(super) step: String,
    pub(super) operation: String,
    pub(super) target: String,
    pub(super) args: String,
    /// Whether a repetition of it is harmless.
    pub(super) natural: bool,
    pub(super) repeated: bool,
    pub(super) at: i64,
}

/// The tools, and what they did.
#[derive(Default)]
pub(super) struct Tools {
    pub(super) effects: Vec<Effect>,
    keys: BTreeMap<String, i64>,
    down_until: BTreeMap<String, i64>,
}

pub(super) fn target(call: &Call) -> String {
    let text = |name: &str| call.args().get(name).and_then(Value::as_str);
    format!(
        "{}/{}",
        text("place").unwrap_or(""),
        text("to").unwrap_or("")
    )
}

impl Tools {
    /// A call leaves: when it arrives, if it does, and the request.
    pub(super) fn send(
        &mut self,
        call: Call,
        repeated: bool,
        now: i64,
        faults: &mut FaultPlan,
    ) -> (Option<i64>, Request) {
        let timeout = i64::try_from(call.timeout().as_millis()).unwrap_or(i64::MAX);
        let until = now + timeout;
        let mut arrives = Some(now + faults.ms(1, 200));
        let mut back = Some(faults.ms(1, 200));
        if faults.strikes(Fault::DroppedRequest) {
            arrives = None;
        } else if faults.strikes(Fault::Delay) {
            arrives = Some(latest(&call, until, faults));
        }
        if faults.strikes(Fault::DroppedReply) {
            back = None;
        } else if faults.strikes(Fault::Slow) {
            back = Some(faults.ms(200, 2 * timeout));
        }
        let fate = self.fate(&call, now, faults);
        let twice = faults.strikes(Fault::Duplicate);
        let request = Request {
            call,
            repeated,
            fate,
            until,
            back,
            twice,
        };
        (arrives, request)
    }

    fn fate(&mut self, call: &Call, now: i64, faults: &mut FaultPlan) -> Delivery {
        let server = call.operation().server().to_owned();
        let down = self.down_until.get(&server).copied().unwrap_or(0);
        if faults.strikes(Fault::Flapping) {
            self.down_until.insert(server, now + faults.ms(1, 10_000));
        }
        if now < down && !faults.calm {
            return Delivery::Refuse(Class::Unavailable);
        }
        if faults.strikes(Fault::Busy) {
            return Delivery::Refuse(Class::RateLimited);
        }
        if faults.strikes(Fault::Denied) {
            let classes = [Class::PermissionDenied, Class::NotFound, Class::Conflict];
            let at = usize::try_from(faults.ms(0, 2)).unwrap_or(0);
            return Delivery::Refuse(classes.get(at).copied().unwrap_or(Class::NotFound));
        }
        if faults.strikes(Fault::Broken) {
            return Delivery::Break(faults.ms(0, 1) == 0);
        }
        if faults.strikes(Fault::Corrupt) {
            return Delivery::Corrupt;
        }
        if faults.strikes(Fault::NotAccepted) {
            return Delivery::NotAccepted;
        }
        Delivery::Serve
    }

    /// A request arrives: the answers, with when each comes back.
    pub(super) fn arrive(
        &mut self,
        request: &Request,
        now: i64,
        faults: &mut FaultPlan,
    ) -> Vec<(i64, Reply)> {
        let done = match request.fate {
            Delivery::Refuse(_) | Delivery::Break(false) => true,
            Delivery::Serve | Delivery::Corrupt | Delivery::NotAccepted | Delivery::Break(true) => {
                self.perform(request, now);
                request.fate != Delivery::NotAccepted
            }
        };
        let reply = self.reply(request, done, now, faults);
        let Some(back) = request.back else {
            return Vec::new();
        };
        let mut replies = vec![(now + back, reply.clone())];
        if request.twice {
            replies.push((now + back + faults.ms(0, 5_000), reply));
        }
        replies
    }

    fn perform(&mut self, request: &Request, now: i64) {
        let call = &request.call;
        let operation = call.operation();
        if operation.effect.is_read() {
            return;
        }
        if let (Some(key), Idempotency::Key { ttl_ms, .. }) = (call.key(), &operation.idempotency) {
            let lives = i64::try_from(*ttl_ms).unwrap_or(i64::MAX);
            let seen = self.keys.get(key).copied();
            if seen.is_some_and(|seen| now < seen.saturating_add(lives)) {
                return;
            }
            self.keys.insert(key.to_owned(), now);
        }
        self.effects.push(Effect {
            step: call.slot().to_string(),
            operation: operation.name.clone(),
            target: target(call),
            args: call.args().to_string(),
            natural: operation.idempotency == Idempotency::Natural,
            repeated: request.repeated,
            at: now,
        });
    }

    fn reply(&self, request: &Request, done: bool, now: i64, faults: &mut FaultPlan) -> Reply {
        let call = &request.call;
        match request.fate {
            Delivery::Refuse(class) => {
                let mut reply = Reply::failed(class, Landing::None, class.word());
                if class == Class::RateLimited {
                    let ms = faults.ms(100, 5_000).unsigned_abs();
                    reply.retry_after = Some(Duration::from_millis(ms));
                }
                reply
            }
            Delivery::Break(_) => Reply::failed(Class::Unavailable, Landing::Unknown, "it broke"),
            Delivery::Corrupt => ok(json!({ "total": "many" })),
            Delivery::Serve | Delivery::NotAccepted => {
                let target = target(call);
                let found = self.effects.iter().any(|effect| effect.target == target);
                let finds = call.operation().name == FIND;
                let total = target.bytes().fold(0u64, |sum, byte| sum + u64::from(byte)) % 10;
                // Why by the time: what is polled for is there for a while, now and then.
                let polled = call.args().get("text") == Some(&json!(POLLED));
                let done = match (finds, polled) {
                    (true, _) => found,
                    (false, true) => done && now / 1_500 % 2 == 0,
                    (false, false) => done,
                };
                let items = [total, (total + 3) % 10];
                ok(json!({ "done": done, "total": total, "items": items, "note": "seen" }))
            }
        }
    }
}

/// When a late request arrives: within what the catalog promises of its operation.
fn latest(call: &Call, until: i64, faults: &mut FaultPlan) -> i64 {
    let operation = call.operation();
    let beyond = match (&operation.idempotency, &operation.reconcile) {
        // Why: no tool honours a key for longer than it says, and the sender has stopped waiting.
        (Idempotency::Key { .. }, _) => 0,
        (_, Some(reconcile)) => i64::try_from(reconcile.final_after_ms).unwrap_or(0) - 1,
        (_, None) => 30_000,
    };
    until + faults.ms(-200, beyond.max(0))
}

fn ok(output: Value) -> Reply {
    let bytes = output.to_string().into_bytes();
    Reply::ok(output, bytes, "application/json")
}
