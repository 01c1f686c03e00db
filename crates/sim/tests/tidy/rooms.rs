//! The rooms of a turn: which way calls go between them, and which events each records.

use crate::tree::{File, Tree, before_tests};

const TURN: &str = "crates/provost-run/src/turn/";

/// The rooms from the bottom up: a room calls those before it, and none after it.
const ORDER: [&str; 4] = ["call", "end", "plan", "people"];

/// The events that each room may record. `AttemptStarted` and `QuestionAsked` are recorded by the
/// log of the turn, for whoever begins a call or asks a question.
const EVENTS: [(&str, &[&str]); 4] = [
    (
        "call",
        &[
            "AdmissionRefused",
            "ApprovalsRevised",
            "AttemptEnded",
            "Deferred",
            "DoubtSettled",
            "ListEvaluated",
            "ObservationMade",
            "Paused",
            "ReconcileGivenUp",
            "StepBlocked",
            "StepSettled",
            "StepSkipped",
        ],
    ),
    (
        "end",
        &["ReplanRequested", "RunEnded", "StepSkipped", "UndoPlanned"],
    ),
    (
        "plan",
        &[
            "ApprovalsRevised",
            "BudgetSpent",
            "GoalInterpreted",
            "PlanChecked",
            "PlanGivenUp",
            "PlanHandedOn",
            "PlanProposed",
            "PlanRefused",
            "PlanRequested",
            "PlanRevised",
            "ProposalMended",
            "ReplanRequested",
            "RunStarted",
        ],
    ),
    (
        "people",
        &[
            "ApprovalExpired",
            "ApprovalGiven",
            "ApprovalRejected",
            "ApprovalRequested",
            "AttemptEnded",
            "CancelRequested",
            "GoalAmended",
            "Paused",
            "PlanAmended",
            "QuestionAnswered",
            "QuestionExpired",
            "ReplanRequested",
            "Resumed",
            "StepSkipped",
            "UndoRequested",
        ],
    ),
];

/// The lines by which a room names one above it.
pub fn back_calls(tree: &Tree) -> Vec<String> {
    let above = |room: &str, line: &str| {
        let at = ORDER.iter().position(|one| *one == room).unwrap_or(0);
        let names = |one: &&str| {
            line.contains(&format!("turn::{one}::"))
                || line.contains(&format!("super::super::{one}::"))
                || line.contains("turn::{") && line.contains(&format!("{one}::"))
        };
        ORDER[at + 1..].iter().any(names)
    };
    lines_of_rooms(tree, above)
}

/// The lines in which a room names an event that it does not record.
pub fn strange_events(tree: &Tree) -> Vec<String> {
    let strange = |room: &str, line: &str| {
        let own = EVENTS.iter().find(|(one, _)| *one == room);
        let own = own.map_or(&[][..], |(_, events)| events);
        let named = line.split("Event::").skip(1);
        let mut names = named.filter_map(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        names.any(|name| !own.contains(&name))
    };
    lines_of_rooms(tree, strange)
}

fn lines_of_rooms(tree: &Tree, is_fault: impl Fn(&str, &str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    for file in tree.sources() {
        let Some(room) = room_of(file) else {
            continue;
        };
        for (number, line) in before_tests(&file.text) {
            if !line.trim_start().starts_with("//") && is_fault(room, line) {
                faults.push(format!("{}:{number}: {}", file.path, line.trim()));
            }
        }
    }
    faults
}

fn room_of(file: &File) -> Option<&'static str> {
    let rest = file.path.strip_prefix(TURN)?;
    let room = rest.split(['/', '.']).next()?;
    ORDER.into_iter().find(|one| *one == room)
}
