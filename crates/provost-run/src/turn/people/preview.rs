//! Previews: the read whose result stands on the card that asks about a call.
//!
//! Owns when it is made, what of its answer is shown and what is said where there is none. Never
//! decides anything by it: one that fails neither keeps the question back nor answers it.
//! INVARIANT: what a card shows was read for the very arguments that the card asks about.

use provost_plan::catalog::Effect;
use provost_plan::check::StepRecord;
use provost_plan::plan::Step;
use serde_json::{Map, Value};

use crate::admission::Denial;
use crate::call::{PREVIEW_ATTEMPT, Purpose, Slot};
use crate::card::{CardPreview, PreviewResult, Shown};
use crate::event::{AttemptEnded, Event};
use crate::machine::StepError;
use crate::outcome::{Class, Landing, Reply};
use crate::state::ItemState;
use crate::turn::Turn;
use crate::turn::call::beside::{AuxiliaryRead, Hindrance};
use crate::turn::call::dispatch::Candidate;

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

impl Turn<'_> {
    /// Asks about calls of a step, once there is what their previews show, or why there is none.
    pub(in crate::turn) fn preview_and_ask(
        &mut self,
        step: &Step,
        record: &StepRecord,
        candidates: &[Candidate],
    ) -> Result<(), StepError> {
        // Why any: one card asks about every item of a list.
        let mut waits = self.is_any_previewing(&step.id.value);
        let mut calls = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            let mut call = Self::concrete(candidate);
            call.origins = self.origins(candidate);
            match self.look(record, candidate)? {
                PreviewSource::Nothing => {}
                PreviewSource::At(preview) => call.preview = Some(*preview),
                PreviewSource::Waits => waits = true,
            }
            if self.state.ending.paused.is_some() {
                return Ok(());
            }
            calls.push(call);
        }
        if waits {
            return Ok(());
        }
        self.ask_for_step(step, record, candidates, calls)
    }

    fn is_any_previewing(&self, id: &str) -> bool {
        let items = self.state.steps.get(id).into_iter().flat_map(|s| &s.items);
        let mut flights = items.filter_map(ItemState::purpose);
        flights.any(Purpose::is_preview)
    }

    /// What is there to show of a call; begins the read if it has to be made.
    fn look(
        &mut self,
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
        let known = self.state.item(&candidate.slot);
        let known = known.and_then(|item| item.preview.as_ref());
        let of = (candidate.args_digest, record.closure);
        if let Some(known) = known.filter(|known| (known.of, known.closure) == of) {
            preview.at = Some(known.at);
            preview.evidence = known.evidence;
            preview.came = known.came.clone();
            return Ok(PreviewSource::At(Box::new(preview)));
        }
        let began = match asked.and_then(|args| self.reading_of(candidate, args)) {
            Ok(reading) => self.begin_preview(&candidate.slot, reading)?,
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
    fn reading_of(&self, candidate: &Candidate, args: Value) -> Result<AuxiliaryRead, String> {
        if !candidate.secrets.is_empty() {
            return Err("the call carries a secret, which no card may show".to_owned());
        }
        let declared = candidate.operation.preview.as_ref();
        let operation = declared.and_then(|declared| self.rules.catalog.get(&declared.tool));
        let operation = operation
            .filter(|read| read.effect == Effect::Read && !read.secret)
            .ok_or_else(|| "the catalog has no such read".to_owned())?;
        let of = candidate.args_digest;
        self.permitted(&candidate.slot, Purpose::Preview { of }, operation, args)
    }

    /// Begins the read, unless it has to wait for what this run has under way; or says why it
    /// cannot be made now.
    fn begin_preview(
        &mut self,
        slot: &Slot,
        reading: AuxiliaryRead,
    ) -> Result<Result<(), String>, StepError> {
        let busy = self.state.in_flight() as u64;
        if busy >= self.state.limits_in_force().concurrency {
            return Ok(Ok(()));
        }
        let denial = match self.begin_read(reading)? {
            Ok(()) => return Ok(Ok(())),
            Err(Hindrance::Limit(limit)) => return Ok(Err(format!("no read may begin: {limit}"))),
            Err(Hindrance::NotInPlan) => {
                return Ok(Err("the current plan has no such call".to_owned()));
            }
            Err(Hindrance::Denied(denial)) => denial,
        };
        match denial {
            Denial::Full { .. } if busy > 0 => Ok(Ok(())),
            Denial::Full { because }
            | Denial::Later { because, .. }
            | Denial::Budget { because } => Ok(Err(because)),
            denial @ (Denial::Stopped(_) | Denial::Doubt { .. }) => {
                self.put_off(slot, denial).map(Ok)
            }
        }
    }

    /// Takes what a preview brought, or why it brought nothing.
    pub(in crate::turn) fn previewed(
        &mut self,
        slot: &Slot,
        reply: Reply,
    ) -> Result<(), StepError> {
        let Reply {
            class,
            output,
            evidence,
            media,
            message,
            lacks,
            used,
            ..
        } = reply;
        let digest = self.keep(media, evidence);
        let flight = self.state.item(slot).and_then(|i| i.in_flight.as_ref());
        let known = flight.and_then(|flight| self.rules.catalog.get(&flight.operation));
        let untrusted = known.is_none_or(|operation| !operation.trusted);
        let (class, message, shows) = match self.brought(slot, class, output, message) {
            Ok(output) => (Class::Ok, None, Some(shown(&output, untrusted))),
            Err((class, message)) => (class, Some(shortened(&message).0), None),
        };
        self.emit(Event::AttemptEnded(AttemptEnded {
            message,
            evidence: Some(digest),
            unsent: lacks.is_some(),
            used,
            shows,
            ..AttemptEnded::new(slot, PREVIEW_ATTEMPT, class, Landing::None)
        }))
    }
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
