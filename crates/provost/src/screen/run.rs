//! A run as people read it: how far it is, what it waits for, how it ended.

use std::collections::BTreeMap;

use provost_engine::run::call::Slot;
use provost_engine::run::card::QuestionPurpose;
use provost_engine::run::concise;
use provost_engine::run::event::{Created, Missing, RunStatus};
use provost_engine::run::outcome::Landing;
use provost_engine::run::state::{ItemState, Pause, State, WaitKind, waiting as waiting_of};
use provost_plan::catalog::Catalog;
use provost_plan::digest::Digest;
use provost_plan::source::Spanned;
use serde_json::{Value, json};

use super::page::{Cell, Page, TextStyle};
use super::plan::{waves, what};
use super::words::{attempt_in_doubt, run_look, run_status, skipped, step_look, step_status};
use super::{answer, card, question, waits};
use crate::workspace_path::WorkspacePath;

/// How a drive left a run: the answer, or what it waits for and the commands to type.
pub fn end(state: &State, place: &WorkspacePath) -> Page {
    end_after(state, place, None)
}

/// The same, when the card or question `seen` stands on the screen already.
pub fn end_after(state: &State, place: &WorkspacePath, seen: Option<&Digest>) -> Page {
    let mut page = Page::new();
    match &state.ending.ended {
        Some(ended) => {
            page.put(run_look(ended.status), run_status(ended.status));
            page.text(": ").line(&state.goals.goal.text);
            if let Some(message) = &ended.message {
                page.line(message);
            }
            page.page(undoing(state));
            if !ended.answer.is_empty() {
                page.end().page(answer::page(ended));
            }
            let undone = !state.undone().is_empty();
            let criteria = answer::criteria(&state.goals.goal, ended, undone);
            if !criteria.is_empty() && !ended.criteria.is_empty() {
                page.end().page(criteria);
            }
            if ended.status != RunStatus::Succeeded {
                let command = place.command(&format!("provost why {}", state.head.run));
                page.end().faint("why: ").line(&command);
            }
        }
        None => {
            page.page(waiting_but(state, place, seen));
        }
    }
    page
}

/// What a run waits for, and the commands that give it.
pub fn waiting(state: &State, place: &WorkspacePath) -> Page {
    waiting_but(state, place, None)
}

/// The same, with nothing but the commands for what is `seen`.
fn waiting_but(state: &State, place: &WorkspacePath, seen: Option<&Digest>) -> Page {
    let mut page = Page::new();
    let all = waiting_of(state);
    let mut doubted: BTreeMap<&str, Vec<&Slot>> = BTreeMap::new();
    for one in &all {
        let give = place.command(&waits::command(&state.head.run, one));
        let is_new = one.digest.is_none() || one.digest.as_ref() != seen;
        match (one.kind, &one.digest, &one.slot) {
            (WaitKind::Answer, Some(digest), _) => {
                if let Some(known) = state.question(digest).filter(|_| is_new) {
                    page.page(question::page(digest, &known.question)).end();
                }
                asked(&mut page, state, digest, &give, place);
            }
            (WaitKind::Approval, Some(digest), _) => {
                if let Some(known) = state.card(digest).filter(|_| is_new) {
                    page.page(card::page(digest, &known.card)).end();
                }
                carded(&mut page, state, digest, &give, place);
            }
            (WaitKind::Settlement, _, Some(slot)) => {
                doubted.entry(&slot.step).or_default().push(slot);
            }
            _ => {}
        }
    }
    for (step, slots) in doubted {
        doubts(&mut page, state, step, &slots, place);
    }
    if let Some(pause) = &state.ending.paused {
        page.page(why_not(state));
        let text = format!("provost resume {}", state.head.run);
        command(&mut page, "resume", &place.command(&text));
        if pause.missing.is_some() {
            page.line("  (once the secret is set)");
        } else if pause.what != "the run" {
            page.line("  (once the stop is lifted)");
        }
    }
    page
}

/// The commands for a card that is open.
fn carded(page: &mut Page, state: &State, digest: &Digest, give: &str, place: &WorkspacePath) {
    let known = state.card(digest);
    if let Some(known) = known.filter(|known| !known.approved_by.is_empty()) {
        let by: Vec<&str> = known.approved_by.iter().map(String::as_str).collect();
        let quorum = known.card.terms.quorum;
        let approved = format!("{} of {quorum}: {}", by.len(), by.join(", "));
        page.put(TextStyle::Warn, "  approved   ").line(&approved);
    }
    command(page, "approve", give);
    let (run, id) = (&state.head.run, digest.in_command());
    let reject = format!("provost reject {run}@{id} --reason WHY");
    command(page, "reject", &place.command(&reject));
}

/// The commands for a question that is open.
fn asked(page: &mut Page, state: &State, digest: &Digest, give: &str, place: &WorkspacePath) {
    let Some(known) = state.question(digest) else {
        return;
    };
    command(page, "answer", give);
    if matches!(known.question.purpose, QuestionPurpose::Review { .. }) {
        let text = format!("provost amend {} --plan FILE", state.head.run);
        command(page, "or a plan of yours", &place.command(&text));
    }
}

/// Writes of a step in doubt about which no tool is asked.
fn doubts(page: &mut Page, state: &State, step: &str, slots: &[&Slot], place: &WorkspacePath) {
    page.bad("in doubt: ")
        .text(&doubted(state, step, slots.iter().copied()));
    let known = state.steps.get(step);
    if let Some(message) = known.and_then(|known| known.message.as_ref()) {
        page.text(": ").text(message);
    }
    page.end();
    page.line("check the system it writes to, then record what you found:");
    for slot in slots {
        let (run, meant) = (&state.head.run, attempt_in_doubt(state, slot));
        for said in settlements(state, slot) {
            let text = format!("provost settle {run} {meant} {said} --reason WHY");
            command(page, "settle", &place.command(&text));
        }
    }
}

/// What is not known of a step in doubt.
fn doubted<'s>(state: &State, step: &str, slots: impl Iterator<Item = &'s Slot>) -> String {
    let mut slots = slots;
    match slots.all(|slot| is_known_to_happen(state, slot)) {
        true => format!("what step `{step}` gave is not known"),
        false => format!("no answer shows whether the write of step `{step}` happened"),
    }
}

fn is_known_to_happen(state: &State, slot: &Slot) -> bool {
    let landing = state.item(slot).and_then(|item| item.history.landing);
    landing == Some(Landing::Happened)
}

/// What a person may say of a write in doubt, as the flags of `settle`.
pub fn settlements(state: &State, slot: &Slot) -> Vec<&'static str> {
    // Why: without its output nothing that reads it goes on.
    let happened = match state.is_output_read(&slot.step) {
        true => "--happened --output JSON",
        false => "--happened",
    };
    let not = (!is_known_to_happen(state, slot)).then_some("--did-not-happen");
    [happened]
        .into_iter()
        .chain(not)
        .chain(["--abandon"])
        .collect()
}

/// One sentence: why a run did not succeed.
pub fn why_not(state: &State) -> Page {
    let mut page = Page::new();
    if let Some(pause) = &state.ending.paused {
        page.put(TextStyle::Warn, "paused: ").line(&stopped(pause));
    } else if let Some(ended) = &state.ending.ended {
        let message = ended.message.clone().unwrap_or_default();
        page.put(run_look(ended.status), run_status(ended.status))
            .line(&format!(": {message}"));
    } else if let Some((step, known)) = state.doubts().next() {
        let message = known.message.clone().unwrap_or_default();
        let all: Vec<Slot> = state.items().map(|(slot, _)| slot).collect();
        let of_step = |slot: &&Slot| {
            slot.step == *step && state.item(slot).is_some_and(|item| item.is_in_doubt())
        };
        let what = doubted(state, step, all.iter().filter(of_step));
        page.bad("in doubt: ").line(&format!("{what}: {message}"));
    }
    page
}

/// What holds a paused run up.
fn stopped(pause: &Pause) -> String {
    let Pause {
        by,
        what,
        reason,
        missing,
        at: _,
    } = pause;
    match missing {
        Some(secret) => Missing::in_words(secret, what, reason),
        None => {
            let were = if what == "all runs" { "were" } else { "was" };
            format!("{what} {were} stopped by {by}: {reason}")
        }
    }
}

fn command(page: &mut Page, word: &str, command: &str) {
    page.faint(&format!("{word}: ")).strong(command).end();
}

/// The steps of a run with what they came to.
pub fn steps(page: &mut Page, state: &State, catalog: Option<&Catalog>) {
    let Some(approved) = &state.in_force.plan else {
        return;
    };
    let rows: Vec<Vec<Cell>> = waves(approved.checked())
        .into_iter()
        .filter_map(|(_, step, _)| {
            let known = state.steps.get(&step.id.value)?;
            let effect = catalog.and_then(|catalog| super::plan::effect(step, catalog));
            let effect = effect.map_or("-", |effect| effect.word());
            let mut note = Vec::new();
            if known.is_list {
                note.push(match known.items.len() {
                    1 => "1 item".to_owned(),
                    count => format!("{count} items"),
                });
            }
            if let Some(class) = known.class {
                note.push(class.word().to_owned());
            }
            if let Some(message) = known.message.clone().filter(|message| !message.is_empty()) {
                note.push(message);
            }
            if known.skipped.is_some() {
                note.push(skipped(known.skipped).to_owned());
            }
            Some(vec![
                Cell::new(TextStyle::Strong, step.id.value.clone()),
                Cell::plain(what(step)),
                Cell::plain(effect),
                Cell::new(step_look(known.status), step_status(known.status)),
                Cell::new(TextStyle::Faint, note.join(": ")),
            ])
        })
        .collect();
    page.table(2, &rows);
}

/// What the steps of a run came to, each in short.
pub fn observed(page: &mut Page, state: &State, catalog: &Catalog) {
    let Some(approved) = &state.in_force.plan else {
        return;
    };
    let mut rows = Vec::new();
    for (_, step, _) in waves(approved.checked()) {
        let id = &step.id.value;
        // Why not: of a tool that is gone nobody knows whether what it gave back is secret.
        let gone = |tool: &Spanned<String>| catalog.get(&tool.value).is_none();
        if step.tool().is_some_and(gone) {
            continue;
        }
        if let Some(shown) = concise::of_step(state, catalog, id) {
            let shown = Cell::plain(shown.to_string());
            rows.push(vec![Cell::new(TextStyle::Faint, id.clone()), shown]);
        }
    }
    if !rows.is_empty() {
        page.end().strong("observed").end();
        page.table(2, &rows);
    }
}

/// What the steps of a run made, as far as it was told.
pub fn created(page: &mut Page, state: &State) {
    for (slot, item) in state.items() {
        if let Some(created) = made_by(item) {
            page.field("created", &format!("{created} by step {slot}"));
        }
    }
}

/// What an item made.
fn made_by(item: &ItemState) -> Option<&Created> {
    item.success()?.created.as_ref()
}

/// What was taken back of what a cancelled run did, and what was not.
fn undoing(state: &State) -> Page {
    let mut page = Page::new();
    for slot in state.undone() {
        page.field("undone", &slot.to_string());
    }
    for left in state.not_undone() {
        page.bad("  not undone ")
            .strong(&left.slot.to_string())
            .line(&format!(": {}", left.because));
    }
    page
}

/// The run as data.
pub fn to_json(state: &State, place: &WorkspacePath) -> Value {
    let mut value = json!({
        "schema": "provost/run/v1",
        "id": state.head.run,
        "goal": state.goals.goal.text,
        "status": state.status().word(),
        "revision": state.in_force.revision,
        "solo": state.head.solo,
        "waiting_for": waits::first(&state.head.run, &waiting_of(state), place),
        "waits": waits::all(&state.head.run, &waiting_of(state), place),
        "steps": state.steps.iter().map(|(id, step)| {
            (id.clone(), json!({
                "status": step.status.word(),
                "class": step.class.map(provost_engine::run::outcome::Class::word),
                "message": step.message,
            }))
        }).collect::<serde_json::Map<_, _>>(),
    });
    let created: Vec<Value> = state
        .items()
        .filter_map(|(slot, item)| {
            let created = made_by(item)?;
            let step = slot.to_string();
            Some(json!({ "kind": created.kind, "id": created.id, "step": step }))
        })
        .collect();
    if let (Value::Object(map), false) = (&mut value, created.is_empty()) {
        map.insert("created".to_owned(), Value::Array(created));
    }
    if let (Value::Object(map), Some(_)) = (&mut value, state.ending.undo.placed()) {
        let slots = state.undone();
        let undone: Vec<String> = slots.iter().map(ToString::to_string).collect();
        let left: Vec<Value> = state
            .not_undone()
            .iter()
            .map(|left| json!({ "step": left.slot.to_string(), "because": left.because }))
            .collect();
        map.insert("undone".to_owned(), json!(undone));
        map.insert("not_undone".to_owned(), json!(left));
    }
    if let (Value::Object(map), Some(ended)) = (&mut value, &state.ending.ended) {
        map.insert("message".to_owned(), json!(ended.message));
        map.insert("class".to_owned(), json!(ended.class));
        map.insert("step".to_owned(), json!(ended.step));
        map.insert("criteria".to_owned(), json!(ended.criteria));
        map.insert("proven_by".to_owned(), json!(ended.proven_by));
        map.insert("answer".to_owned(), json!(ended.answer));
    }
    value
}
