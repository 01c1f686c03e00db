//! `runs`: what ran and runs in this workspace, once or as it changes.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clap::Args;
use provost_engine::history;
use provost_engine::run::event::RunStatus;
use provost_engine::run::state::Waiting;
use provost_engine::store::{RunFilter, RunRow, Store};
use provost_engine::summary::Summary;
use provost_plan::duration;
use serde_json::{Value, json};

use super::undriven::{Drivers, NO_DRIVER};
use crate::drive::halt::at_interrupt_or_end;
use crate::drive::runtime;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::region::{Region, Window};
use crate::screen::waits;
use crate::screen::words::{count, moment, now_ms, run_look, run_status};
use crate::workspace_path::WorkspacePath;

/// How often a listing that is watched is read again.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Arguments of `runs`.
#[derive(Clone, Debug, Args)]
pub struct RunsArgs {
    /// only runs of this status; may be repeated
    #[arg(long, value_name = "STATUS", value_parser = status)]
    status: Vec<RunStatus>,
    /// only runs that began within this age, such as `24h`
    #[arg(long, value_name = "AGE", value_parser = duration::parse)]
    since: Option<Duration>,
    /// only runs of this playbook
    #[arg(long, value_name = "NAME")]
    playbook: Option<String>,
    /// only runs for this person
    #[arg(long, value_name = "USER")]
    requester: Option<String>,
    /// only runs whose goal contains this text
    #[arg(long, value_name = "TEXT")]
    goal: Option<String>,
    /// go on until Ctrl-C, and show what changes
    #[arg(long)]
    watch: bool,
    /// print one JSON object; with `--watch` one a change, each on a line
    #[arg(long)]
    json: bool,
}

/// The status of a word as it is typed.
fn status(word: &str) -> Result<RunStatus, String> {
    RunStatus::of(&word.replace('-', "_")).ok_or_else(|| {
        let known = RunStatus::ALL.map(RunStatus::word);
        format!("there is no such status; it is one of {}", known.join(", "))
    })
}

/// A run of the listing.
struct Listed {
    row: RunRow,
    summary: Summary,
    waits: Vec<Waiting>,
    /// Whether it would go on, and no process drives it.
    undriven: bool,
}

/// Does it.
pub fn run(verb: &RunsArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    if verb.watch {
        return watch(verb, place);
    }
    let store = place.journal_if_any()?;
    let listed = store.map_or_else(|| Ok(Vec::new()), |store| list(verb, &store, place))?;
    if verb.json {
        let runs: Vec<Value> = listed.iter().map(|one| to_json(one, place)).collect();
        output::json(&json!({ "schema": "provost/runs/v1", "runs": runs }));
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        output::note(match verb.is_filtered() {
            true => "no run is like that\n",
            false => "nothing has run in this workspace yet\n",
        });
        return Ok(Exit::Done);
    }
    output::data(&page(&listed, place).finish());
    Ok(Exit::Done)
}

impl RunsArgs {
    fn is_filtered(&self) -> bool {
        !self.status.is_empty()
            || self.since.is_some()
            || self.playbook.is_some()
            || self.requester.is_some()
            || self.goal.is_some()
    }

    /// Whether a run is asked for; its status was looked at already.
    fn takes(&self, row: &RunRow, summary: &Summary) -> bool {
        let age = |age: Duration| i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        let from = self.since.map(|since| now_ms().saturating_sub(age(since)));
        let playbook = self
            .playbook
            .as_ref()
            .map(|name| format!("playbook {name}"));
        let goal = self.goal.as_ref().map(|text| text.to_lowercase());
        from.is_none_or(|from| row.created_at_ms >= from)
            && playbook.is_none_or(|name| summary.planner.as_ref() == Some(&name))
            && (self.requester.is_none() || self.requester == summary.requester)
            && goal.is_none_or(|text| row.goal.to_lowercase().contains(&text))
    }
}

fn list(verb: &RunsArgs, store: &Store, place: &WorkspacePath) -> Result<Vec<Listed>, Failure> {
    let drivers = Drivers::of(place)?;
    let filter = RunFilter {
        statuses: verb
            .status
            .iter()
            .map(|one| one.word().to_owned())
            .collect(),
        ..RunFilter::default()
    };
    let mut waiting = history::waits(store)?;
    let mut all = Vec::new();
    for row in store.runs(&filter)? {
        let summary = Summary::of_row(&row, store);
        if verb.takes(&row, &summary) {
            let waits = waiting.remove(&row.id).unwrap_or_default();
            all.push(Listed {
                undriven: drivers.lacks(&row),
                row,
                summary,
                waits,
            });
        }
    }
    Ok(all)
}

/// Shows the listing until somebody interrupts: in place on a terminal, else a line a change.
fn watch(verb: &RunsArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let runtime = runtime(1)?;
    runtime.block_on(async {
        let mut halt = at_interrupt_or_end("");
        let mut region = Region::default();
        let mut seen = BTreeMap::new();
        let mut looks = tokio::time::interval(WATCH_EVERY);
        loop {
            // Why opened each time: a workspace may have no journal yet.
            let store = place.journal_if_any()?;
            let listed = store.map_or_else(|| Ok(Vec::new()), |store| list(verb, &store, place))?;
            if output::is_live() && !verb.json {
                region.draw(Page::new(), shown(&listed));
            } else {
                changes(verb, &listed, &mut seen, place);
            }
            tokio::select! {
                _ = looks.tick() => {}
                _ = halt.changed() => break,
            }
        }
        if output::is_live() && !verb.json {
            output::note("\n");
        }
        Ok(Exit::Done)
    })
}

/// The listing as far as the window holds it.
fn shown(listed: &[Listed]) -> Page {
    let window = Window::of_notes();
    let room = window.lines.saturating_sub(3).max(1);
    let rows: Vec<Vec<Cell>> = listed.iter().take(room).map(cells).collect();
    let mut shown = Page::new();
    shown.table_within(0, &rows, window.columns);
    match listed.len().saturating_sub(room) {
        0 if listed.is_empty() => shown.faint("no run yet").end(),
        0 => &mut shown,
        more => shown
            .faint(&format!("and {} more", count(more, "run")))
            .end(),
    };
    shown
}

/// Tells of the runs that are new or changed.
fn changes(
    verb: &RunsArgs,
    listed: &[Listed],
    seen: &mut BTreeMap<String, (String, usize)>,
    place: &WorkspacePath,
) {
    for one in listed.iter().rev() {
        let now = (one.row.status.clone(), one.waits.len());
        let before = seen.insert(one.row.id.clone(), now.clone());
        if before.is_none_or(|before| before != now) {
            if verb.json {
                output::json_line(&to_json(one, place));
            } else {
                output::data(&page(std::slice::from_ref(one), place).finish());
            }
        }
    }
}

fn to_json(one: &Listed, place: &WorkspacePath) -> Value {
    let (row, summary) = (&one.row, &one.summary);
    let over = RunStatus::of(&row.status).is_some_and(RunStatus::is_ended);
    json!({
        "id": row.id,
        "goal": row.goal,
        "status": row.status,
        "created_at": moment(row.created_at_ms),
        "updated_at": moment(row.updated_at_ms),
        "undriven": one.undriven,
        "ended_at": over.then(|| moment(row.updated_at_ms)),
        "requester": summary.requester,
        "planner": summary.planner,
        "tools": summary.tools,
        "message": summary.message,
        "waiting_for": waits::first(&row.id, &one.waits, place),
        "waits": waits::all(&row.id, &one.waits, place),
    })
}

fn page(listed: &[Listed], place: &WorkspacePath) -> Page {
    let mut page = Page::new();
    let cells: Vec<Vec<Cell>> = listed.iter().map(cells).collect();
    page.table(0, &cells);
    for one in listed.iter().filter(|one| one.undriven) {
        let command = place.command(&format!("provost resume {}", one.row.id));
        page.faint(&format!("{NO_DRIVER}; go on with: "))
            .line(&command);
    }
    page
}

fn cells(one: &Listed) -> Vec<Cell> {
    let row = &one.row;
    let slots = one.waits.iter().filter_map(|waiting| waiting.slot.as_ref());
    let steps: BTreeSet<&str> = slots.map(|slot| slot.step.as_str()).collect();
    let steps: Vec<&str> = steps.into_iter().collect();
    let waits = match steps.as_slice() {
        [] => String::new(),
        [step] => format!("step {step}"),
        several => format!("steps {}", several.join(", ")),
    };
    let status = RunStatus::of(&row.status);
    let look = status.map_or(TextStyle::Bad, run_look);
    let words = status.map_or_else(
        || row.status.clone(),
        |status| run_status(status).to_owned(),
    );
    let words = match one.undriven {
        true => format!("{words}, undriven"),
        false => words,
    };
    vec![
        Cell::new(TextStyle::Strong, row.id.clone()),
        Cell::new(TextStyle::Faint, moment(row.created_at_ms)),
        Cell::new(look, words),
        Cell::plain(row.goal.clone()),
        Cell::new(TextStyle::Faint, waits),
    ]
}
