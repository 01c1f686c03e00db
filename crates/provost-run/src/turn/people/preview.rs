//! Previews: the read whose result stands on the card that asks about a call.
//!
//! Owns when it is made, what of its answer is shown and what is said where there is none. Never
//! decides anything by it: one that fails neither keeps the question back nor answers it.
//! INVARIANT: what a card shows was read for the very arguments that the card asks about.

use provost_plan::catalog::Effect;
use provost_plan::check::StepRecord;
use provost_plan::plan::Step;
use serde_json::{Map, Value};

use super::gate::ask_for_step;
use crate::admission::Denial;
use crate::call::{PREVIEW_ATTEMPT, Purpose, Slot};
use crate::card::{CardPreview, PreviewResult, Shown};
use crate::event::{AttemptEnded, Event};
use crate::machine::StepError;
use crate::outcome::{Class, Landing, Reply};
use crate::state::{ItemState, State};
use crate::turn::basis::Basis;
use crate::turn::call::admit::put_off;
use crate::turn::call::beside::{AuxiliaryRead, Hindrance, begin_read, brought, permitted};
use crate::turn::call::dispatch::{Candidate, concrete};
use crate::turn::call::origin::origins;
use crate::turn::log::TurnLog;

/// Most of one output that a card shows: bytes in all, characters of a text, entries of a list or
/// a map, levels.
const SHOWN_BYTES_MAX: usize = 4_096;
const SHOWN_CHARS_MAX: usize = 240;
const SHOWN_ENTRIES_MAX: usize = 24;
const SHOWN_DEPTH_MAX: usize = 6;

/// What there is to show of a call.
enum PreviewSource {
    /// Its operation has no preview.
    Nothing,
    /// This.
    At(Box<CardPreview>),
    /// It is on its way, or has to wait for its place.
    Waits,
}

/// Asks about calls of a step, once there is what their previews show, or why there is none.
pub(crate) fn preview_and_ask(
    log: &mut TurnLog<'_>,
    step: &Step,
    record: &StepRecord,
    candidates: &[Candidate],
) -> Result<(), StepError> {
    // Why any: one card asks about every item of a list.
    let mut waits = is_any_previewing(log.state(), &step.id.value);
    let mut calls = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let mut call = concrete(candidate);
        call.origins = origins(log.basis(), candidate);
        match look(log, record, candidate)? {
            PreviewSource::Nothing => {}
            PreviewSource::At(preview) => call.preview = Some(*preview),
            PreviewSource::Waits => waits = true,
        }
        if log.state().ending.paused.is_some() {
            return Ok(());
        }
        calls.push(call);
    }
    if waits {
        return Ok(());
    }
    ask_for_step(log, step, record, candidates, calls)
}

fn is_any_previewing(state: &State, id: &str) -> bool {
    let items = state.steps.get(id).into_iter().flat_map(|s| &s.items);
    let mut flights = items.filter_map(ItemState::purpose);
    flights.any(Purpose::is_preview)
}

/// What is there to show of a call; begins the read if it has to be made.
fn look(
    log: &mut TurnLog<'_>,
    record: &StepRecord,
    candidate: &Candidate,
) -> Result<PreviewSource, StepError> {
    let Some(declared) = &candidate.operation.preview else {
        return Ok(PreviewSource::Nothing);
    };
    let asked = declared.request(&candidate.args);
    let mut preview = CardPreview {
        tool: declared.tool.clone(),
        args: match &asked {
            Ok(args) if candidate.secrets.is_empty() => args.clone(),
            _ => Value::Null,
        },
        at: None,
        evidence: None,
        came: PreviewResult::Failed(String::new()),
    };
    let known = log.state().item(&candidate.slot);
    let known = known.and_then(|item| item.consent.preview.as_ref());
    let of = (candidate.args_digest, record.closure);
    if let Some(known) = known.filter(|known| (known.of, known.closure) == of) {
        preview.at = Some(known.at);
        preview.evidence = known.evidence;
        preview.came = known.came.clone();
        return Ok(PreviewSource::At(Box::new(preview)));
    }
    let began = match asked.and_then(|args| reading_of(log.basis(), candidate, args)) {
        Ok(reading) => begin_preview(log, &candidate.slot, reading)?,
        Err(reason) => Err(reason),
    };
    Ok(match began {
        Ok(()) => PreviewSource::Waits,
        Err(reason) => {
            preview.came = PreviewResult::Failed(shortened(&reason).0);
            PreviewSource::At(Box::new(preview))
        }
    })
}

/// The concrete read, or why there is none.
fn reading_of(at: Basis<'_>, candidate: &Candidate, args: Value) -> Result<AuxiliaryRead, String> {
    if !candidate.secrets.is_empty() {
        return Err("the call carries a secret, which no card may show".to_owned());
    }
    let declared = candidate.operation.preview.as_ref();
    let operation = declared.and_then(|declared| at.rules.catalog.get(&declared.tool));
    let operation = operation
        .filter(|read| read.effect == Effect::Read && !read.secret)
        .ok_or_else(|| "the catalog has no such read".to_owned())?;
    let of = candidate.args_digest;
    permitted(
        at,
        &candidate.slot,
        Purpose::Preview { of },
        operation,
        args,
    )
}

/// Begins the read, unless it has to wait for what this run has under way; or says why it
/// cannot be made now.
fn begin_preview(
    log: &mut TurnLog<'_>,
    slot: &Slot,
    reading: AuxiliaryRead,
) -> Result<Result<(), String>, StepError> {
    let busy = log.state().in_flight() as u64;
    if busy >= log.state().limits_in_force().concurrency {
        return Ok(Ok(()));
    }
    let denial = match begin_read(log, reading)? {
        Ok(()) => return Ok(Ok(())),
        Err(Hindrance::Limit(limit)) => {
            return Ok(Err(format!("no read may begin: {}", limit.words)));
        }
        Err(Hindrance::NotInPlan) => {
            return Ok(Err("the current plan has no such call".to_owned()));
        }
        Err(Hindrance::Denied(denial)) => denial,
    };
    match denial {
        Denial::Full { .. } if busy > 0 => Ok(Ok(())),
        Denial::Full { because } | Denial::Later { because, .. } | Denial::Budget { because } => {
            Ok(Err(because))
        }
        denial @ (Denial::Stopped(_) | Denial::Doubt { .. }) => put_off(log, slot, denial).map(Ok),
    }
}

/// Takes what a preview brought, or why it brought nothing.
pub(crate) fn previewed(log: &mut TurnLog<'_>, slot: &Slot, reply: Reply) -> Result<(), StepError> {
    let Reply {
        class,
        output,
        evidence,
        media,
        message,
        lacks,
        used,
        time,
        ..
    } = reply;
    let digest = log.keep(media, evidence);
    let flight = log.state().item(slot).and_then(|i| i.in_flight.as_ref());
    let known = flight.and_then(|flight| log.rules().catalog.get(&flight.operation));
    let untrusted = known.is_none_or(|operation| !operation.trusted);
    let (class, message, shows) = match brought(log.basis(), slot, class, output, message) {
        Ok(output) => (Class::Ok, None, Some(shown(&output, untrusted))),
        Err((class, message)) => (class, Some(shortened(&message).0), None),
    };
    log.emit(Event::AttemptEnded(AttemptEnded {
        message,
        evidence: Some(digest),
        unsent: lacks.is_some(),
        used,
        shows,
        ..AttemptEnded::new(slot, PREVIEW_ATTEMPT, class, Landing::None).timed(time)
    }))
}

/// As much of an output as a card has room for.
fn shown(output: &Value, untrusted: bool) -> Shown {
    let mut room = CardSpace {
        bytes: SHOWN_BYTES_MAX,
        cut: false,
    };
    Shown {
        value: room.take(output, SHOWN_DEPTH_MAX),
        cut: room.cut,
        untrusted,
    }
}

/// The beginning of a text, and whether that is not all of it.
fn shortened(text: &str) -> (String, bool) {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => (text.get(..end).unwrap_or_default().to_owned(), true),
        None => (text.to_owned(), false),
    }
}

/// What is left of the room on a card, and whether something did not find any.
struct CardSpace {
    bytes: usize,
    cut: bool,
}

impl CardSpace {
    fn take(&mut self, value: &Value, depth: usize) -> Value {
        match value {
            Value::String(text) => {
                let (text, cut) = shortened(text);
                self.bytes = self.bytes.saturating_sub(text.len());
                self.cut |= cut;
                Value::String(text)
            }
            Value::Array(items) => {
                let mut kept = Vec::new();
                for item in items {
                    if !self.has_more(kept.len(), depth) {
                        break;
                    }
                    kept.push(self.take(item, depth - 1));
                }
                Value::Array(kept)
            }
            Value::Object(map) => {
                let mut kept = Map::new();
                for (key, item) in map {
                    let (name, cut) = shortened(key);
                    if cut || !self.has_more(kept.len(), depth) {
                        self.cut = true;
                        break;
                    }
                    self.bytes = self.bytes.saturating_sub(name.len());
                    kept.insert(name, self.take(item, depth - 1));
                }
                Value::Object(kept)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                self.bytes = self.bytes.saturating_sub(8);
                value.clone()
            }
        }
    }

    /// Whether another entry finds room.
    fn has_more(&mut self, entries: usize, depth: usize) -> bool {
        let more = entries < SHOWN_ENTRIES_MAX && depth > 0 && self.bytes > 0;
        self.cut |= !more;
        more
    }
}
