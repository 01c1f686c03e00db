//! Events and cards on one line each.

use provost_run::earlier::{EarlierCall, EarlierCalls};

use super::*;

impl Case {
    /// This playbook is asked if whoever plans comes to nothing.
    pub fn with_playbook(mut self, name: &str) -> Self {
        self.fallback = Some(name.to_owned());
        self
    }

    /// The run as its journal has it, for a turn that is not kept.
    pub fn taken_up(&self) -> Run {
        self.folded(self.journal.len())
    }

    /// What the last input changed of what runs share.
    pub fn entries(&self) -> &[AdmissionEntry] {
        &self.entries
    }
}

/// What a card asks, on one line.
fn shown(card: &Card) -> String {
    let entry = |id: &String, ask: &StepAsk| {
        format!("{id} {:?}{}", ask.verdict.policies, before(&ask.earlier))
    };
    let about = match &card.subject {
        CardSubject::Plan { steps } => {
            let steps: Vec<String> = steps.iter().map(|(id, ask)| entry(id, ask)).collect();
            format!("the plan: {}", steps.join(", "))
        }
        CardSubject::Step { step, ask, calls } => {
            let call = |call: &ConcreteCall| {
                let repeats = call.repeats.as_ref();
                let repeats = repeats.map(|other| format!(" repeating {other}"));
                let preview = call.preview.as_ref().map(about);
                let before = before(&call.earlier);
                let (repeats, preview) = (repeats.unwrap_or_default(), preview.unwrap_or_default());
                format!("{}{repeats}{before}{preview}", call.args)
            };
            let calls: Vec<String> = calls.iter().map(call).collect();
            format!("{}: {}", entry(step, ask), calls.join(" "))
        }
    };
    match card.terms.quorum {
        1 => about,
        people => format!("{about} by {people} people"),
    }
}

/// What a card says of equal calls.
fn before(earlier: &EarlierCalls) -> String {
    let of = |call: &EarlierCall| format!(" [made before: {call}]");
    earlier.latest.iter().map(of).collect()
}

/// What a card shows beside a call.
fn about(preview: &CardPreview) -> String {
    let came = match &preview.came {
        PreviewResult::Failed(reason) => format!("failed, {reason}"),
        PreviewResult::Shown(shown) => {
            let believed = if shown.untrusted { "untrusted " } else { "" };
            let cut = if shown.cut { " (cut)" } else { "" };
            format!("{believed}{}{cut}", shown.value)
        }
    };
    format!(" [{} {}: {came}]", preview.tool, preview.args)
}

/// An event on one line.
pub fn line(event: &Event) -> String {
    let kind = event.kind();
    match event {
        Event::PlanChecked { record, .. } => format!("{kind} revision {}", record.revision),
        Event::PlanRefused { findings, .. } => {
            let codes: Vec<&str> = findings.iter().map(|f| f.code.as_str()).collect();
            format!("{kind} {}", codes.join(" "))
        }
        Event::PlanGivenUp { reason, .. } => format!("{kind}: {reason}"),
        Event::PlanHandedOn { reason, to, .. } => format!("{kind} to {}: {reason}", to.words()),
        Event::PlanRevised {
            added,
            changed,
            removed,
            ..
        } => {
            format!("{kind} added {added:?} changed {changed:?} removed {removed:?}")
        }
        Event::ApprovalsRevised {
            retain,
            replace,
            clear,
        } => {
            format!("{kind} retain {retain:?} replace {replace:?} clear {clear:?}")
        }
        Event::ApprovalRequested { card, .. } => {
            format!("{kind} {}", shown(card))
        }
        Event::ApprovalGiven { by, complete, .. } => {
            format!(
                "{kind} by {by}{}",
                if *complete { "" } else { ", more are needed" }
            )
        }
        Event::ApprovalRejected { by, reason, .. } => format!("{kind} by {by}: {reason}"),
        Event::ListEvaluated { step, items, .. } => format!("{kind} {step} of {}", items.len()),
        Event::StepSkipped { slot, because } => format!("{kind} {slot} {because:?}"),
        Event::StepBlocked { step, on } => format!("{kind} {step} on {on}"),
        Event::AdmissionRefused { slot, limit, .. } => format!("{kind} {slot}: {limit}"),
        Event::AttemptStarted(a) => {
            let approved = if a.approval.is_some() {
                " approved"
            } else {
                ""
            };
            format!(
                "{kind} {}#{} {}{approved}{}",
                a.slot,
                a.attempt,
                a.verdict.decision.word(),
                before(&a.earlier)
            )
        }
        Event::AttemptEnded(a) => {
            let retry = a
                .retry_at
                .map_or_else(String::new, |at| format!(" again at {at}"));
            let not_yet = if a.not_yet { " not yet" } else { "" };
            let lost = if a.lost { " lost" } else { "" };
            let (class, landing) = (a.class.word(), a.landing.word());
            format!(
                "{kind} {}#{} {class} {landing}{not_yet}{retry}{lost}",
                a.slot, a.attempt
            )
        }
        Event::ObservationMade { slot, label, .. } => {
            format!("{kind} {slot} {}", label.integrity.word())
        }
        Event::StepSettled {
            slot,
            status,
            class,
            message,
            ..
        } => {
            let class = class.map_or_else(String::new, |class| format!(" {}", class.word()));
            let message = message
                .as_ref()
                .map_or_else(String::new, |m| format!(": {m}"));
            format!("{kind} {slot} {}{class}{message}", status.word())
        }
        Event::ReplanRequested { why } => {
            format!(
                "{kind} {}",
                serde_json::to_value(why).unwrap()["kind"].as_str().unwrap()
            )
        }
        Event::DoubtSettled {
            slot, settled, by, ..
        } => {
            let by = serde_json::to_value(by).unwrap();
            let who = by.get("id").or_else(|| by.get("tool")).unwrap();
            format!(
                "{kind} {slot} {} says {}",
                settled.word(),
                who.as_str().unwrap()
            )
        }
        Event::ReconcileGivenUp { slot, reason } => format!("{kind} {slot}: {reason}"),
        Event::UndoPlanned { steps, left } => {
            let left = left
                .iter()
                .map(|l| format!(", not {}: {}", l.slot, l.because));
            let by: Vec<&String> = steps.keys().collect();
            format!("{kind} {by:?}{}", left.collect::<String>())
        }
        Event::Deferred {
            slot,
            until,
            because,
        } => {
            let until = until.map_or(String::new(), |until| format!(" until {until}"));
            format!("{kind} {slot}{until}: {because}")
        }
        Event::Paused {
            what,
            missing: Some(missing),
            ..
        } => format!(
            "{kind} {what} lacks {} for {}",
            missing.secret, missing.slot
        ),
        Event::Paused {
            by, what, reason, ..
        } => format!("{kind} {what} by {by}: {reason}"),
        Event::Resumed { by: Some(by), .. } => format!("{kind} by {by}"),
        Event::Resumed { lost, .. } => format!("{kind}, {} lost", lost.len()),
        Event::RunEnded(ended) => {
            let message = ended
                .message
                .as_ref()
                .map_or_else(String::new, |m| format!(": {m}"));
            let answer: Vec<String> = ended.answer.iter().map(|part| part.text()).collect();
            let answer = if answer.is_empty() {
                String::new()
            } else {
                format!(" {answer:?}")
            };
            format!("{kind} {}{message}{answer}", ended.status.word())
        }
        _ => kind.to_owned(),
    }
}
