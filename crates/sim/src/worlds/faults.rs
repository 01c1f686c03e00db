//! Faults: what goes wrong in a world, and how often.
//!
//! Owns the closed list of faults and which of them a world has at all: a world with few kinds
//! reaches places that one with all of them does not. INVARIANT: a fault that strikes is noted, and
//! none strikes once the plan is calm.

use std::collections::BTreeSet;

use crate::rng::Rng;

/// Something that goes wrong, or that somebody does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A request never arrives.
    DroppedRequest,
    /// An answer never comes back.
    DroppedReply,
    /// A request arrives after nobody waits for it.
    Delay,
    /// An answer comes before that to an earlier call.
    Reorder,
    /// An answer comes twice.
    Duplicate,
    /// An output does not fit its schema.
    Corrupt,
    /// An output says that it was not done.
    NotAccepted,
    /// An answer takes longer than usual.
    Slow,
    /// A tool cannot be reached for a while, again and again.
    Flapping,
    /// A tool asks for a slower pace.
    Busy,
    /// A tool refuses.
    Denied,
    /// A tool answers that it failed, and nobody knows where.
    Broken,
    /// The process dies.
    Crash,
    /// The process dies between two halves of a turn.
    CrashInTurn,
    /// The machine loses power.
    PowerLoss,
    /// Nobody is there for more than a day.
    LongAbsence,
    /// The rules are others when the run is taken up.
    RulesMove,
    /// The clock jumps a day ahead.
    ClockAhead,
    /// The clock goes back a day.
    ClockBack,
    /// The clock stands still.
    ClockFrozen,
    /// A planner says what is no plan.
    Garbage,
    /// A planner proposes what is not admissible.
    Inadmissible,
    /// A planner does not answer.
    Hang,
    /// A planner says that all is done.
    Lie,
    /// A planner asks.
    Questions,
    /// A planner wants to see what steps came to.
    Consult,
    /// A planner proposes a call again that may have taken place.
    Again,
    /// A planner has no plan.
    Decline,
    /// A person says no.
    Reject,
    /// A person answers too late, or never.
    Late,
    /// A person answers twice.
    Double,
    /// Somebody answers who may not.
    Unauthorised,
    /// A person says yes to a part.
    Partial,
    /// A person gives an answer that does not fit.
    WrongAnswer,
    /// A person ends the run.
    Cancel,
    /// A person ends the run, and wants undone what happened.
    Undo,
    /// A person wants undone what a run did that has ended.
    UndoEnded,
    /// A person says again what was heard, or what is about something else by now.
    Stale,
    /// A person says no to all that is left.
    RejectAll,
    /// A person stops the run for a while.
    Pause,
    /// A person puts a plan or a goal of their own in the place of what is there.
    Amend,
    /// A person settles a doubt.
    Settle,
    /// A person gives a doubt up.
    Abandon,
    /// Other runs leave no room for an attempt.
    NotAdmitted,
    /// Another run makes a call that this one is about to ask about or to make.
    MadeBefore,
}

/// Each fault, its name and how often it strikes where it may, in a thousand.
const TABLE: [(Fault, &str, i64); 45] = [
    (Fault::DroppedRequest, "dropped request", 60),
    (Fault::DroppedReply, "dropped reply", 60),
    (Fault::Delay, "delay", 60),
    (Fault::Reorder, "reorder", 0),
    (Fault::Duplicate, "duplicate", 150),
    (Fault::Corrupt, "corrupt output", 40),
    (Fault::NotAccepted, "not accepted", 40),
    (Fault::Slow, "slow", 150),
    (Fault::Flapping, "flapping", 300),
    (Fault::Busy, "busy", 60),
    (Fault::Denied, "denied", 40),
    (Fault::Broken, "broken", 60),
    (Fault::Crash, "crash", 400),
    (Fault::CrashInTurn, "crash in a turn", 25),
    (Fault::PowerLoss, "power loss", 400),
    (Fault::LongAbsence, "long absence", 150),
    (Fault::RulesMove, "rules move", 200),
    (Fault::ClockAhead, "clock ahead", 300),
    (Fault::ClockBack, "clock back", 400),
    (Fault::ClockFrozen, "clock frozen", 400),
    (Fault::Garbage, "planner: garbage", 200),
    (Fault::Inadmissible, "planner: inadmissible", 250),
    (Fault::Hang, "planner: hang", 100),
    (Fault::Lie, "planner: lie", 250),
    (Fault::Questions, "planner: questions", 300),
    (Fault::Consult, "planner: consults", 400),
    (Fault::Again, "planner: again", 500),
    (Fault::Decline, "planner: declines", 150),
    (Fault::Reject, "person: no", 150),
    (Fault::Late, "person: late", 200),
    (Fault::Double, "person: double", 300),
    (Fault::Unauthorised, "person: unauthorised", 400),
    (Fault::Partial, "person: partial", 300),
    (Fault::WrongAnswer, "person: wrong answer", 400),
    (Fault::Cancel, "person: cancels", 200),
    (Fault::Undo, "person: has it undone", 400),
    (Fault::UndoEnded, "person: has it undone after the end", 700),
    (Fault::Stale, "person: stale", 400),
    (Fault::RejectAll, "person: no to all", 500),
    (Fault::Pause, "person: pauses", 250),
    (Fault::Amend, "person: amends", 400),
    (Fault::Settle, "person: settles", 700),
    (Fault::Abandon, "person: abandons", 200),
    (Fault::NotAdmitted, "not admitted", 60),
    (Fault::MadeBefore, "made before", 300),
];

/// The names of all faults.
#[must_use]
pub fn names() -> BTreeSet<&'static str> {
    TABLE.iter().map(|(_, name, _)| *name).collect()
}

/// What goes wrong in one world.
pub(super) struct FaultPlan {
    rng: Rng,
    /// Draws what other runs do. Why of its own: a world without them stays what it was.
    others: Rng,
    /// Draws what is undone after the end, for the same reason.
    after: Rng,
    possible: BTreeSet<Fault>,
    pub(super) struck: BTreeSet<&'static str>,
    pub(super) calm: bool,
}

impl FaultPlan {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed, "weather");
        let mut others = Rng::new(seed, "others");
        let mut after = Rng::new(seed, "after the end");
        let bad = rng.pick(&[100, 300, 500, 700]);
        let possible = TABLE
            .iter()
            .filter(|(fault, _, _)| match fault {
                Fault::MadeBefore => others.permille(300),
                Fault::UndoEnded => after.permille(300),
                _ => rng.permille(bad),
            })
            .map(|(fault, _, _)| *fault)
            .collect();
        Self {
            rng,
            others,
            after,
            possible,
            struck: BTreeSet::new(),
            calm: false,
        }
    }

    /// Whether a fault strikes now.
    pub(super) fn strikes(&mut self, fault: Fault) -> bool {
        if self.calm || !self.possible.contains(&fault) {
            return false;
        }
        let row = TABLE.iter().find(|(known, _, _)| *known == fault);
        let often = row.map_or(0, |(_, _, often)| *often);
        let rng = match fault {
            Fault::MadeBefore => &mut self.others,
            Fault::UndoEnded => &mut self.after,
            _ => &mut self.rng,
        };
        let strikes = rng.permille(often);
        if strikes {
            self.note(fault);
        }
        strikes
    }

    /// Notes a fault that came about by itself.
    pub(super) fn note(&mut self, fault: Fault) {
        let rows = TABLE.iter().filter(|(known, _, _)| *known == fault);
        self.struck.extend(rows.map(|(_, name, _)| *name));
    }

    /// Moments at which most runs have ended.
    pub(super) fn late(&mut self) -> [i64; 3] {
        let mut at = 0;
        [0, 1, 2].map(|_| {
            at += self.after.between(60_000, 900_000);
            at
        })
    }

    /// A number of milliseconds.
    pub(super) fn ms(&mut self, low: i64, high: i64) -> i64 {
        self.rng.between(low, high)
    }
}
