//! The transition table of the run machine, as marks that a search can hit.
//!
//! Owns which rows there are, what of each must be seen, and where: in the enumeration of small
//! plans or in seeded worlds. Never decides what the machine may do. INVARIANT: the rows are those
//! at the head of `provost-run/src/machine.rs`, no more and no fewer; a test compares the two.

use std::collections::BTreeSet;

use provost_plan::plan::request::Why;
use provost_run::card::QuestionPurpose;
use provost_run::event::{Event, RunStatus, Settlement, SkipReason, StepStatus};
use provost_run::outcome::{Class, Landing};

mod turn;

pub use turn::{Turn, TurnInput};

/// Where a mark must be hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Where {
    /// In every full enumeration of small plans.
    Small,
    /// In seeded worlds only: small plans do not reach it.
    Worlds,
}

/// Something of a row that must be seen.
pub struct Mark {
    /// Its name, unique in the table.
    pub name: &'static str,
    /// Where it must be hit.
    pub hit: Where,
    /// Whether a turn hits it.
    pub seen: fn(&Turn<'_>) -> bool,
}

/// A row of the table.
pub struct Row {
    /// Its first column.
    pub state: &'static str,
    /// Its second column.
    pub input: &'static str,
    /// What of it must be seen.
    pub marks: &'static [Mark],
}

const fn small(name: &'static str, seen: fn(&Turn<'_>) -> bool) -> Mark {
    let hit = Where::Small;
    Mark { name, hit, seen }
}

const fn worlds(name: &'static str, seen: fn(&Turn<'_>) -> bool) -> Mark {
    let hit = Where::Worlds;
    Mark { name, hit, seen }
}

const fn row(state: &'static str, input: &'static str, marks: &'static [Mark]) -> Row {
    Row {
        state,
        input,
        marks,
    }
}

/// The rows, in the order of the table.
pub const ROWS: &[Row] = &[
    row(
        "new",
        "create",
        &[small("created", |t| {
            t.heard == TurnInput::Create && t.has("PlanRequested")
        })],
    ),
    row(
        "planning",
        "reply: goal interpreted",
        &[worlds("interpreted", |t| {
            t.heard == TurnInput::Interpreted && t.has("PlanRequested")
        })],
    ),
    row(
        "planning",
        "reply: plan, admissible",
        &[
            small("a first plan", |t| {
                t.has("PlanChecked") && t.has("RunStarted")
            }),
            small("a revision", |t| {
                t.heard == TurnInput::Plan && t.has("ApprovalsRevised")
            }),
        ],
    ),
    row(
        "planning",
        "reply: plan, inadmissible",
        &[
            small("refused", |t| {
                t.heard == TurnInput::Plan && t.has("PlanRefused")
            }),
            worlds("refused for good", |t| {
                t.has("PlanRefused") && t.ended(RunStatus::Refused)
            }),
        ],
    ),
    row(
        "planning",
        "reply: questions",
        &[
            worlds("the planner asks", |t| {
                t.heard == TurnInput::Questions && t.has("QuestionAsked")
            }),
            worlds("the planner is answered", |t| {
                t.heard == TurnInput::Answer && t.has("PlanRequested")
            }),
        ],
    ),
    row(
        "planning",
        "reply: decline",
        &[
            small("declined, over", |t| {
                t.heard == TurnInput::Decline && t.has("RunEnded")
            }),
            worlds("declined, goes on", |t| {
                t.heard == TurnInput::Decline && !t.has("RunEnded")
            }),
        ],
    ),
    row(
        "planning",
        "planner came to nothing, others are asked",
        &[
            worlds("another planner is asked", |t| {
                t.has("PlanHandedOn") && t.has("PlanRequested")
            }),
            worlds("a person is asked for want of a plan", |t| {
                t.any(|e| {
                    matches!(e, Event::QuestionAsked { question, .. }
                if matches!(question.purpose, QuestionPurpose::Review { .. }))
                })
            }),
        ],
    ),
    row(
        "step pending, needs met",
        "–",
        &[
            worlds("skipped by its guard", |t| t.skipped(SkipReason::When)),
            small("list evaluated", |t| t.has("ListEvaluated")),
            worlds("question of a step", |t| {
                t.any(|e| {
                    matches!(e, Event::QuestionAsked { question, .. }
                if matches!(question.purpose, QuestionPurpose::Step { .. }))
                })
            }),
            small("asked about", |t| t.has("ApprovalRequested")),
            small("started", |t| t.has("AttemptStarted")),
            small("failed before a call", |t| {
                t.settled_alone(StepStatus::Failed)
            }),
        ],
    ),
    row(
        "step pending, need never met",
        "–",
        &[worlds("blocked", |t| t.has("StepBlocked"))],
    ),
    row(
        "step may begin, its card shows a preview",
        "–",
        &[small("reads what it is about", |t| t.previews())],
    ),
    row(
        "preview in flight",
        "reply",
        &[
            small("asks beside what it showed", |t| t.asks_beside(true)),
            small("asks without it", |t| t.asks_beside(false)),
        ],
    ),
    row(
        "card open",
        "yes",
        &[
            small("approved", |t| {
                t.heard == TurnInput::Yes && t.has("ApprovalGiven")
            }),
            worlds("approved in part", |t| {
                t.heard == TurnInput::Yes && t.skipped(SkipReason::NotApproved)
            }),
        ],
    ),
    row(
        "card open",
        "no, lapse",
        &[
            small("rejected", |t| t.has("ApprovalRejected")),
            small("lapsed", |t| t.has("ApprovalExpired")),
            worlds("a lapse ends the run", |t| t.ended(RunStatus::Expired)),
        ],
    ),
    row(
        "question open",
        "answer",
        &[small("answered", |t| {
            t.has("QuestionAnswered") && t.has("ObservationMade")
        })],
    ),
    row(
        "question open",
        "its time is over",
        &[
            small("its default counts", |t| {
                t.has("QuestionExpired") && t.has("ObservationMade")
            }),
            worlds("a question lapses beside others", |t| {
                t.has("QuestionExpired")
            }),
            small("nobody answered", |t| {
                t.has("QuestionExpired") && t.settled(StepStatus::Failed)
            }),
        ],
    ),
    row(
        "step may begin, readings too old",
        "–",
        &[small("taken again", |t| t.retakes())],
    ),
    row(
        "reading on its way again",
        "reply ok",
        &[small("observed again", |t| {
            t.heard == TurnInput::Result && t.has("ObservationMade") && !t.has("StepSettled")
        })],
    ),
    row(
        "reading on its way again",
        "reply failed",
        &[
            small("not observed again", |t| {
                t.any(|e| {
                    matches!(
                        e,
                        Event::StepSettled {
                            class: Some(Class::Stale),
                            ..
                        }
                    )
                })
            }),
            small("to be observed later", |t| {
                t.heard == TurnInput::Failure && t.has("Deferred")
            }),
        ],
    ),
    row(
        "attempt in flight",
        "reply ok",
        &[small("observed", |t| {
            t.heard == TurnInput::Result && t.has("ObservationMade") && t.has("StepSettled")
        })],
    ),
    row(
        "attempt in flight",
        "reply ok, to be confirmed",
        &[small("reads it back", |t| {
            t.has("ObservationMade") && t.confirms()
        })],
    ),
    row(
        "confirming read in flight",
        "reply shows it or not",
        &[small("shown by what was read back", |t| {
            t.heard == TurnInput::Result
                && t.settled(StepStatus::Succeeded)
                && !t.has("ObservationMade")
        })],
    ),
    row(
        "confirming read in flight",
        "reply failed, may repeat",
        &[small("reads it back again", |t| {
            t.confirms() && !t.has("ObservationMade")
        })],
    ),
    row(
        "attempt in flight",
        "reply failed, may repeat",
        &[small("retried", |t| {
            t.ends(|ended| ended.retry_at.is_some() && !ended.not_yet)
        })],
    ),
    row(
        "attempt in flight",
        "reply ok, `until` does not hold",
        &[
            small("polls again", |t| {
                t.ends(|ended| ended.not_yet && ended.retry_at.is_some())
            }),
            small("polls no more", |t| {
                t.any(|e| {
                    matches!(
                        e,
                        Event::StepSettled {
                            class: Some(Class::DeadlineExceeded),
                            ..
                        }
                    )
                })
            }),
        ],
    ),
    row(
        "attempt in flight",
        "reply failed, unknown, no key",
        &[small("in doubt", |t| {
            t.heard == TurnInput::Failure && t.settled(StepStatus::InDoubt)
        })],
    ),
    row(
        "attempt in flight",
        "reply failed",
        &[
            small("failed", |t| {
                t.heard == TurnInput::Failure && t.settled(StepStatus::Failed)
            }),
            worlds("a failure stops the run", |t| {
                t.settled(StepStatus::Failed) && t.ended(RunStatus::Failed) && !t.has("PlanGivenUp")
            }),
            worlds("a failure is passed over", |t| {
                t.settled(StepStatus::Failed) && t.has("AttemptStarted")
            }),
            worlds("a failure is asked about", |t| {
                t.any(|e| {
                    matches!(e, Event::QuestionAsked { question, .. }
                if matches!(question.purpose, QuestionPurpose::Escalation { .. }))
                })
            }),
        ],
    ),
    row(
        "attempt in flight",
        "resume",
        &[small("lost with the process", |t| {
            t.heard == TurnInput::Resume
                && t.any(|e| matches!(e, Event::AttemptEnded(ended) if ended.lost))
        })],
    ),
    row(
        "taken up, people heard",
        "proceed",
        &[small("goes on where it was left", |t| {
            t.heard == TurnInput::Proceed && t.has("AttemptStarted")
        })],
    ),
    row(
        "step in doubt, reconcile read due",
        "–",
        &[small("asks the tool", |t| t.reconciles())],
    ),
    row(
        "reconcile read in flight",
        "reply says it landed or not",
        &[
            small("the tool says yes", |t| {
                t.settled_by_tool(Settlement::Happened)
            }),
            small("the tool says no", |t| {
                t.settled_by_tool(Settlement::DidNotHappen)
            }),
        ],
    ),
    row(
        "reconcile read in flight",
        "reply says neither",
        &[small("the tool does not say", |t| {
            t.heard == TurnInput::Failure
                && t.any(|e| {
                    matches!(e, Event::AttemptEnded(ended)
            if ended.landing == Landing::None && ended.retry_at.is_some())
                })
                && !t.has("StepSettled")
        })],
    ),
    row(
        "step in doubt, no read may ask",
        "–",
        &[worlds("the tool cannot be asked", |t| {
            t.has("ReconcileGivenUp")
        })],
    ),
    row(
        "step in doubt",
        "settle",
        &[
            small("settled by a person", |t| {
                t.heard == TurnInput::Settle && t.has("DoubtSettled")
            }),
            small("tried again after a settlement", |t| {
                t.heard == TurnInput::Settle && t.has("AttemptStarted")
            }),
        ],
    ),
    row(
        "attempt not admitted now",
        "–",
        &[worlds("put off", |t| t.has("Deferred"))],
    ),
    row(
        "attempt not admitted, stopped",
        "–",
        &[worlds("stopped from outside", |t| {
            t.heard != TurnInput::Pause && t.has("Paused")
        })],
    ),
    row(
        "any but ended",
        "pause",
        &[small("paused", |t| {
            t.heard == TurnInput::Pause && t.has("Paused")
        })],
    ),
    row(
        "paused",
        "go on",
        &[small("gone on", |t| {
            t.heard == TurnInput::GoOn && t.has("Resumed")
        })],
    ),
    row(
        "attempt may not be repeated any more",
        "–",
        &[small("beyond its key", |t| {
            t.settled_alone(StepStatus::InDoubt) && !t.has("RunEnded")
        })],
    ),
    row(
        "step failed, `replan`",
        "nothing in flight",
        &[small("a revision is wanted", |t| {
            t.wanted(|why| matches!(why, Why::StepFailed { .. })) && t.has("PlanRequested")
        })],
    ),
    row(
        "subgoal open, its needs met and its steps over",
        "nothing in flight",
        &[worlds("a refinement is wanted", |t| {
            t.wanted(|why| matches!(why, Why::Refine { .. })) && t.has("PlanRequested")
        })],
    ),
    row(
        "subgoal refined, its needs met and its steps over",
        "–",
        &[worlds("a result", |t| {
            t.heard == TurnInput::Plan && t.has("ObservationMade") && t.has("StepSettled")
        })],
    ),
    row(
        "success holds, only reads left",
        "–",
        &[worlds("ended early", |t| {
            t.skipped(SkipReason::Proven) && t.ended(RunStatus::Succeeded)
        })],
    ),
    row(
        "all final, none in doubt",
        "–",
        &[
            small("succeeded", |t| t.ended(RunStatus::Succeeded)),
            worlds("unmet", |t| {
                t.wanted(|why| matches!(why, Why::Unmet { .. }))
            }),
        ],
    ),
    row(
        "any but ended, no planner asked",
        "amend the plan, or both",
        &[worlds("plan amended", |t| {
            t.has("PlanAmended") && t.has("PlanChecked")
        })],
    ),
    row(
        "any but ended, no planner asked",
        "amend the goal",
        &[worlds("goal amended", |t| {
            t.has("GoalAmended") && t.has("PlanRequested")
        })],
    ),
    row(
        "any but ended",
        "cancel, undo",
        &[small("undoing wanted", |t| t.heard == TurnInput::Undo)],
    ),
    row(
        "undo wanted, nothing in flight",
        "–",
        &[
            small("something to undo", |t| {
                t.has("UndoPlanned") && t.has("PlanRevised")
            }),
            small("nothing to undo", |t| {
                t.has("UndoPlanned") && !t.has("PlanRevised")
            }),
        ],
    ),
    row(
        "undoing, nothing left to begin",
        "–",
        &[small("undone, over", |t| {
            t.undid() && t.ended(RunStatus::Cancelled)
        })],
    ),
    row(
        "ended, something to take back",
        "undo",
        &[small("undoing wanted after the end", |t| {
            t.has("UndoRequested")
        })],
    ),
    row(
        "undoing after the end, nothing left to begin",
        "–",
        &[
            small("all undone", |t| t.ended(RunStatus::Undone)),
            small("a part undone", |t| t.ended(RunStatus::PartlyUndone)),
            small("nothing undone", |t| t.ended(RunStatus::UndoFailed)),
        ],
    ),
    row(
        "any but ended",
        "cancel",
        &[
            small("cancelled", |t| t.has("CancelRequested")),
            small("cancelled, over", |t| t.ended(RunStatus::Cancelled)),
        ],
    ),
];

/// Every mark of the table.
pub fn marks() -> impl Iterator<Item = &'static Mark> {
    ROWS.iter().flat_map(|row| row.marks)
}

/// Adds the marks that a turn hits.
pub fn note(turn: &Turn<'_>, hit: &mut BTreeSet<&'static str>) {
    for mark in marks() {
        if !hit.contains(mark.name) && (mark.seen)(turn) {
            hit.insert(mark.name);
        }
    }
}

/// The marks that were never hit of those that must be hit there.
#[must_use]
pub fn missing(hit: &BTreeSet<&'static str>, there: Where) -> Vec<&'static str> {
    marks()
        .filter(|mark| mark.hit == there && !hit.contains(mark.name))
        .map(|mark| mark.name)
        .collect()
}

/// The rows (state, input) that stand in the table of a source text.
pub fn rows_in(source: &str) -> Vec<(String, String)> {
    let cells = |line: &str| -> Option<(String, String)> {
        let mut cells = line.strip_prefix("//! |")?.split('|').map(str::trim);
        Some((cells.next()?.to_owned(), cells.next()?.to_owned()))
    };
    let heading = |state: &str| state == "state" || state.starts_with("---");
    source
        .lines()
        .filter_map(cells)
        .filter(|(state, _)| !heading(state))
        .collect()
}
