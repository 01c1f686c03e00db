//! The words of cards, questions and statements.

use provost_plan::digest::Digest;

use super::{Tone, Words, also, by, counted, settler};
use crate::call::Slot;
use crate::card::{Card, CardSubject, Question, QuestionPurpose};
use crate::event::{Event, Missing};

fn card_of(digest: &Digest) -> String {
    format!("card {}", digest.short())
}

pub(super) fn asked(card: &Card, digest: &Digest) -> Words {
    let words = Words::new(card.step().unwrap_or("plan"), "waits for approval")
        .tone(Tone::Attention)
        .detail(card_of(digest));
    let words = match &card.subject {
        CardSubject::Plan { steps } => words.details(also("steps", steps.keys())),
        CardSubject::Step { ask, calls, .. } => {
            let repeats = calls.iter().find_map(|call| call.repeats.as_deref());
            let before = calls.iter().map(|call| call.earlier.count).max();
            words
                .detail(format!(
                    "{} of `{}`, {}, {} risk",
                    counted(calls.len(), "call"),
                    ask.operation,
                    ask.effect.word(),
                    ask.risk.word()
                ))
                .details(repeats.map(|of| format!("repeats `{of}`")))
                .details(before.and_then(made_before))
        }
    };
    let quorum = card.terms.quorum;
    words.details((quorum > 1).then(|| format!("{quorum} approvals")))
}

fn made_before(count: u64) -> Option<String> {
    match count {
        0 => None,
        1 => Some("made before by another run".to_owned()),
        many => Some(format!("made {many} times before by other runs")),
    }
}

pub(super) fn approved(event: &Event) -> Words {
    let Event::ApprovalGiven {
        card,
        by: person,
        steps,
        complete,
        record,
        ..
    } = event
    else {
        return Words::default();
    };
    Words::new(&steps.join(", "), "approved")
        .tone(Tone::Good)
        .rest(by(person, record.as_ref()))
        .rest(if *complete {
            ""
        } else {
            ", more approvals needed"
        })
        .detail(card_of(card))
}

pub(super) fn rejected(event: &Event) -> Words {
    let Event::ApprovalRejected {
        card,
        by: person,
        reason,
        all,
        record,
    } = event
    else {
        return Words::default();
    };
    Words::new("", "rejected")
        .tone(Tone::Bad)
        .rest(by(person, record.as_ref()))
        .rest(if *all {
            ", with the rest of the run"
        } else {
            ""
        })
        .detail(card_of(card))
        .text(Some(reason))
}

pub(super) fn expired(card: &Digest) -> Words {
    Words::new("approval", "expired")
        .tone(Tone::Bad)
        .rest(", nobody answered in time")
        .detail(card_of(card))
}

pub(super) fn revised(event: &Event) -> Words {
    let Event::ApprovalsRevised {
        retain,
        replace,
        clear,
    } = event
    else {
        return Words::default();
    };
    let changes = [
        also("kept", retain),
        also("needed again", replace),
        also("withdrawn", clear),
    ];
    let changes: Vec<String> = changes.into_iter().flatten().collect();
    match changes.as_slice() {
        [] => Words::new("approvals", "not affected"),
        changes => Words::new("approvals", changes.join(", ")),
    }
}

pub(super) fn question(question: &Question, digest: &Digest) -> Words {
    let purpose = match &question.purpose {
        QuestionPurpose::Step { step } => format!("of step `{step}`"),
        QuestionPurpose::Planner { id, .. } => format!("of the planner, `{id}`"),
        QuestionPurpose::Escalation { step } => format!("about step `{step}`"),
        QuestionPurpose::Review { .. } => "about a run without a plan".to_owned(),
    };
    Words::new("", "question")
        .tone(Tone::Attention)
        .detail(digest.short())
        .detail(purpose)
        .text(Some(&question.text))
}

pub(super) fn answered(event: &Event) -> Words {
    let Event::QuestionAnswered {
        question,
        value,
        by: person,
        record,
    } = event
    else {
        return Words::default();
    };
    Words::new("", "answered")
        .rest(by(person, record.as_ref()))
        .detail(format!("question {}", question.short()))
        .text(Some(value))
}

pub(super) fn unanswered(question: &Digest) -> Words {
    Words::new("question", "expired")
        .tone(Tone::Bad)
        .rest(", nobody answered in time")
        .detail(question.short())
}

pub(super) fn amended(event: &Event) -> Words {
    let words =
        |subject, person: &str, record| Words::new(subject, "changed").rest(by(person, record));
    match event {
        Event::GoalAmended {
            goal,
            by,
            reason,
            record,
            ..
        } => words("goal", by, record.as_ref()).text(Some(format!("{} ({reason})", goal.text))),
        Event::PlanAmended {
            by, reason, record, ..
        } => words("plan", by, record.as_ref()).text(Some(reason)),
        _ => Words::default(),
    }
}

pub(super) fn cancelled(event: &Event) -> Words {
    let Event::CancelRequested {
        by: person,
        reason,
        undo,
        record,
    } = event
    else {
        return Words::default();
    };
    let undo = if *undo {
        ", its writes are undone first"
    } else {
        ""
    };
    Words::new("", "cancelled")
        .rest(by(person, record.as_ref()))
        .rest(undo)
        .text(reason.as_ref())
}

pub(super) fn undone(event: &Event) -> Words {
    let Event::UndoRequested {
        by: person,
        reason,
        record,
    } = event
    else {
        return Words::default();
    };
    Words::new("undo", "requested")
        .tone(Tone::Attention)
        .rest(by(person, record.as_ref()))
        .rest(" after the end")
        .text(reason.as_ref())
}

pub(super) fn paused(event: &Event) -> Words {
    let Event::Paused {
        by: person,
        what,
        reason,
        missing,
        record,
    } = event
    else {
        return Words::default();
    };
    let words = Words::new("", "paused").tone(Tone::Attention);
    match missing {
        Some(missing) => {
            let missing = Missing::in_words(&missing.secret, what, reason);
            words.rest(format!(", {missing}"))
        }
        None => words
            .rest(format!(", {what} stopped{}", by(person, record.as_ref())))
            .text(Some(reason)),
    }
}

pub(super) fn resumed(event: &Event) -> Words {
    let Event::Resumed {
        lost,
        by: person,
        record,
    } = event
    else {
        return Words::default();
    };
    let words = Words::new("run", "resumed");
    let lost: Vec<String> = lost.iter().map(Slot::to_string).collect();
    match (person, also("interrupted calls:", &lost)) {
        (Some(person), _) => words.rest(by(person, record.as_ref())),
        (None, Some(lost)) => words.rest(format!(", {lost}")),
        (None, None) => words.detail("no call was in flight"),
    }
}

pub(super) fn settled(event: &Event) -> Words {
    let Event::DoubtSettled {
        slot,
        settled,
        by: source,
        reason,
        record,
        ..
    } = event
    else {
        return Words::default();
    };
    Words::new(slot, "settled")
        .tone(Tone::Good)
        .rest(format!(" as `{}`", settled.word()))
        .rest(by(settler(source), record.as_ref()))
        .text(reason.as_ref())
}
