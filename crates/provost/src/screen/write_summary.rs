//! What a run that did not succeed left behind: for whoever is woken by it.
//!
//! Owns the three lists of writes (happened, may have happened, did not start) and the command
//! that comes next. Decides nothing. INVARIANT: every write of the plan stands in exactly one
//! list.

use provost_engine::run::call::Slot;
use provost_engine::run::event::{RunStatus, StepStatus};
use provost_engine::run::outcome::Landing;
use provost_engine::run::shown;
use provost_engine::run::state::State;
use provost_plan::catalog::Catalog;
use serde_json::{Value, json};

use super::page::{Cell, Page, TextStyle};
use super::run::settlements;
use super::words::attempt_in_doubt;
use crate::workspace_path::WorkspacePath;

/// A write of a run.
struct UnfinishedWrite {
    slot: Slot,
    operation: String,
    target: String,
    key: Option<String>,
    note: String,
}

/// Where every write of a run stands.
pub struct WriteSummary {
    happened: Vec<UnfinishedWrite>,
    may_have: Vec<UnfinishedWrite>,
    did_not_start: Vec<UnfinishedWrite>,
    next: Option<(String, &'static str)>,
}

impl WriteSummary {
    /// Of a run that stopped without success; none of any other.
    /// Without a catalog nobody knows which steps write, nor what their arguments reach.
    pub fn of(state: &State, catalog: Option<&Catalog>, place: &WorkspacePath) -> Option<Self> {
        let concerns = !matches!(
            state.status(),
            RunStatus::Succeeded
                | RunStatus::Running
                | RunStatus::Planning
                | RunStatus::WaitingApproval
                | RunStatus::WaitingAnswer
        );
        if !concerns {
            return None;
        }
        let mut aftermath = Self {
            happened: Vec::new(),
            may_have: Vec::new(),
            did_not_start: Vec::new(),
            next: next(state, place),
        };
        let undone = state.undone();
        for effect in &state.writes.effects {
            let item = state.item(&effect.slot);
            let abandoned = item.is_some_and(|item| item.status() == Some(StepStatus::Failed));
            let write = UnfinishedWrite {
                slot: effect.slot.clone(),
                operation: effect.operation.clone(),
                target: catalog.map_or_else(String::new, |catalog| {
                    let args = shown::effect_args(state, effect);
                    target(&effect.operation, &args, catalog)
                }),
                key: item.and_then(|item| item.history.key.clone()),
                note: match effect.landing {
                    Landing::Unknown if abandoned => "abandoned".to_owned(),
                    Landing::None => "tried, without effect".to_owned(),
                    Landing::Happened if undone.contains(&effect.slot) => "undone".to_owned(),
                    Landing::Happened | Landing::Unknown => String::new(),
                },
            };
            match effect.landing {
                Landing::Happened => aftermath.happened.push(write),
                Landing::Unknown => aftermath.may_have.push(write),
                Landing::None => aftermath.did_not_start.push(write),
            }
        }
        aftermath.add_unattempted(state, catalog);
        Some(aftermath)
    }

    /// Writes of the plan in force that no attempt began of.
    fn add_unattempted(&mut self, state: &State, catalog: Option<&Catalog>) {
        let Some(approved) = &state.in_force.plan else {
            return;
        };
        for step in &approved.checked().plan().steps {
            let Some(tool) = step.tool() else { continue };
            let known = state.steps.get(&step.id.value);
            let writes = |catalog: &Catalog| {
                let operation = catalog.get(&tool.value);
                operation.is_some_and(|operation| !operation.effect.is_read())
            };
            if !catalog.is_none_or(writes) || known.is_some_and(|known| known.attempted()) {
                continue;
            }
            self.did_not_start.push(UnfinishedWrite {
                slot: Slot {
                    step: step.id.value.clone(),
                    item: None,
                },
                operation: tool.value.clone(),
                target: String::new(),
                key: None,
                note: known.map_or("", |known| known.status.word()).to_owned(),
            });
        }
    }

    /// The three lists and the next command.
    pub fn page(&self) -> Page {
        let mut page = Page::new();
        list(&mut page, "happened", TextStyle::Strong, &self.happened);
        list(
            &mut page,
            "may have happened",
            TextStyle::Bad,
            &self.may_have,
        );
        list(
            &mut page,
            "did not start",
            TextStyle::Faint,
            &self.did_not_start,
        );
        if let Some((command, who)) = &self.next {
            page.faint("next: ").strong(command).end();
            page.line(&format!("  {who}"));
        }
        page
    }

    /// The same as data.
    pub fn to_json(&self) -> Value {
        let all =
            |writes: &[UnfinishedWrite]| -> Vec<Value> { writes.iter().map(write_json).collect() };
        let next = self.next.as_ref();
        json!({
            "happened": all(&self.happened),
            "may_have_happened": all(&self.may_have),
            "did_not_start": all(&self.did_not_start),
            "next": next.map(|(command, who)| json!({ "command": command, "who": who })),
        })
    }
}

fn write_json(write: &UnfinishedWrite) -> Value {
    json!({
        "step": write.slot.to_string(),
        "operation": write.operation,
        "target": write.target,
        "key": write.key,
        "note": write.note,
    })
}

fn list(page: &mut Page, title: &str, look: TextStyle, writes: &[UnfinishedWrite]) {
    page.put(look, title);
    if writes.is_empty() {
        page.line(": no write");
        return;
    }
    page.line(":");
    let rows: Vec<Vec<Cell>> = writes
        .iter()
        .map(|write| {
            let key = write.key.as_ref().map(|key| format!("key {key}"));
            vec![
                Cell::new(TextStyle::Strong, write.slot.to_string()),
                Cell::plain(write.operation.clone()),
                Cell::plain(write.target.clone()),
                Cell::new(TextStyle::Faint, key.unwrap_or_default()),
                Cell::new(TextStyle::Faint, write.note.clone()),
            ]
        })
        .collect();
    page.table(2, &rows);
}

/// The values of a call that say what it reaches.
fn target(operation: &str, args: &Value, catalog: &Catalog) -> String {
    let entry = catalog.get(operation);
    let args = args.as_object().into_iter().flatten();
    let is_sink = |name: &String| entry.is_none_or(|entry| entry.is_sink(name));
    let (reached, content): (Vec<_>, Vec<_>) = args.partition(|(name, _)| is_sink(name));
    // Why content then: a call that names nobody is told apart by what it says.
    let told = if reached.is_empty() { content } else { reached };
    let shown = told.iter().map(|(name, value)| format!("{name}={value}"));
    let text = shown.collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}

/// What to type next, and who may.
fn next(state: &State, place: &WorkspacePath) -> Option<(String, &'static str)> {
    let run = &state.head.run;
    let doubtful = state
        .items()
        .find(|(_, item)| item.is_in_doubt())
        .map(|(slot, _)| slot);
    if let Some(slot) = doubtful {
        let meant = attempt_in_doubt(state, &slot);
        let said = settlements(state, &slot).join("|");
        let command = format!("provost settle {run} {meant} {said} --reason WHY");
        let who = "any person of this workspace, after a check of the system it writes to";
        return Some((place.command(&command), who));
    }
    if let Some(pause) = &state.ending.paused {
        let command = place.command(&format!("provost resume {run}"));
        let who = match &pause.missing {
            Some(_) => "any person of this workspace, once the secret is set",
            None => "any person of this workspace, once the stop is lifted",
        };
        return Some((command, who));
    }
    state.ending.ended.as_ref()?;
    Some((
        place.command(&format!("provost why {run}")),
        "says whether the plan was wrong or execution failed",
    ))
}
