//! `trace`: a run's journal in two views, planning and execution, with counts.

use clap::Args;
use provost_engine::history::History;
use provost_engine::run::event::AttemptStarted;
use provost_engine::run::read::trace::{LineData, Metrics, TraceLine, line_data, trace};
use provost_engine::store::Store;
use provost_engine::workspace::Workspace;
use serde_json::{Value, json};

use super::target::Target;
use super::{evidence, validity};
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::{count, lasted, moment, run_look, run_status};
use crate::workspace_path::WorkspacePath;

/// Arguments of `trace`.
#[derive(Debug, Args)]
pub struct TraceArgs {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    run: Target,
    /// only planning events
    #[arg(long, conflicts_with = "execution")]
    planning: bool,
    /// only execution events
    #[arg(long)]
    execution: bool,
    /// print what the planner was sent in this request (1, 2, …), as it was sent
    #[arg(long, value_name = "N", conflicts_with_all = ["planning", "execution"])]
    request: Option<u64>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &TraceArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let store = place.journal()?;
    let history = verb.run.history(&store)?;
    if let Some(request) = verb.request {
        return sent(&store, &history, request, verb.json);
    }
    let workspace = place.unlocked().ok();
    let found = validity::contradiction(workspace.as_ref(), &store, &history);
    let History { events, state } = history;
    let traced = trace(&events);
    if verb.json {
        let data = line_data(&events, &|started| is_open(workspace.as_ref(), started));
        let mut shown = json!({
            "schema": "provost/trace/v2",
            "run": state.head.run,
            "status": state.status().word(),
            "contradiction": validity::to_json(found.as_deref()),
            "metrics": traced.metrics,
        });
        if !verb.execution {
            insert(&mut shown, "planning", with_data(&traced.planning, &data));
        }
        if !verb.planning {
            insert(&mut shown, "execution", with_data(&traced.execution, &data));
        }
        output::json(&shown);
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    validity::mark(&mut page, found.as_deref());
    let status = state.status();
    page.strong(&format!("run {}", state.head.run)).text(": ");
    page.put(run_look(status), run_status(status)).end();
    page.faint("times since ")
        .line(&moment(state.head.created_at));
    if !verb.execution {
        view(
            &mut page,
            "planning",
            &traced.planning,
            state.head.created_at,
        );
    }
    if !verb.planning {
        view(
            &mut page,
            "execution",
            &traced.execution,
            state.head.created_at,
        );
    }
    if !verb.planning && !verb.execution {
        counts(&mut page, &traced.metrics);
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

/// Prints what a planner was sent. Why whole: it is the operator's to read, and holds no secret.
fn sent(store: &Store, history: &History, number: u64, json: bool) -> Result<Exit, Failure> {
    let run = &history.state.head.run;
    let requests = history.requests();
    let Some(digest) = requests.get(&number) else {
        let hint = match requests.last_key_value() {
            Some((last, _)) => format!("its requests are 1 to {last}"),
            None => "it asked no planner: its plan was given".to_owned(),
        };
        let message = format!("run `{run}` has no request {number} to a planner");
        return Err(Failure::usage(message).hint(hint));
    };
    let Some(kept) = history.sent(store, number)? else {
        let message = format!("request {number} of run `{run}` was not kept");
        return Err(Failure::usage(message));
    };
    if !json {
        return evidence::print(&kept);
    }
    output::json(&json!({
        "schema": "provost/planner-request/v1",
        "run": run,
        "request": number,
        "digest": digest,
        "media": kept.media,
        "bytes": kept.bytes.len(),
        "text": std::str::from_utf8(&kept.bytes).ok(),
    }));
    Ok(Exit::Done)
}

/// Whether an operation is as it was called, and its output no secret. Why of the workspace: the
/// journal does not say it of every output.
fn is_open(workspace: Option<&Workspace>, started: &AttemptStarted) -> bool {
    let Some(workspace) = workspace else {
        return false;
    };
    let catalog = workspace.catalog();
    let is_same = catalog.digest(&started.operation) == Some(started.tool);
    let operation = catalog.get(&started.operation);
    is_same && operation.is_some_and(|operation| !operation.secret)
}

/// Every event of a run in its order, as a line of the trace with what it holds.
pub fn all_lines(
    history: &History,
    workspace: Option<&Workspace>,
) -> impl Iterator<Item = (TraceLine, LineData)> {
    let data = line_data(&history.events, &|started| is_open(workspace, started));
    let traced = trace(&history.events);
    let mut lines = traced.planning;
    lines.extend(traced.execution);
    lines.sort_by_key(|line| line.seq);
    lines.into_iter().zip(data)
}

/// The same of one event, as data.
pub fn line_json(line: &TraceLine, data: &LineData) -> Value {
    json!({
        "seq": line.seq, "at": moment(line.at_ms), "kind": line.kind, "text": line.text,
        "data": data.data,
    })
}

/// Lines with what their events hold.
fn with_data(lines: &[TraceLine], data: &[LineData]) -> Value {
    let lines = lines.iter().map(|line| {
        let mut shown = json!(line);
        let at = usize::try_from(line.seq.saturating_sub(1)).ok();
        if let Some(data) = at.and_then(|at| data.get(at)) {
            insert(&mut shown, "data", data.data.clone());
            if let Some(risk) = data.risk {
                insert(&mut shown, "risk", json!(risk));
            }
        }
        shown
    });
    lines.collect()
}

fn insert(object: &mut Value, name: &str, value: Value) {
    if let Value::Object(map) = object {
        map.insert(name.to_owned(), value);
    }
}

fn view(page: &mut Page, name: &str, lines: &[TraceLine], began: i64) {
    page.end().strong(name).end();
    let rows: Vec<Vec<Cell>> = lines
        .iter()
        .map(|line| {
            vec![
                Cell::new(TextStyle::Faint, format!("{:>4}", line.seq)),
                Cell::new(TextStyle::Faint, clock(line.at_ms - began)),
                Cell::new(TextStyle::Strong, line.kind),
                Cell::plain(line.text.clone()),
            ]
        })
        .collect();
    page.table(0, &rows);
}

/// A moment of a run, to the millisecond, of equal width for the first hundred minutes.
fn clock(ms: i64) -> String {
    let ms = ms.max(0);
    format!(
        "{:02}:{:02}.{:03}",
        ms / 60_000,
        ms / 1_000 % 60,
        ms % 1_000
    )
}

/// What planning took of a model or another process.
fn took(metrics: &Metrics) -> String {
    let cost = metrics.planner_cost.map(|cost| format!(", cost {cost}"));
    format!(
        "{} requests, {} tokens in ({} cached), {} out{}",
        metrics.planner_requests,
        metrics.planner_tokens_in,
        metrics.planner_tokens_cached,
        metrics.planner_tokens_out,
        cost.unwrap_or_default()
    )
}

fn counts(page: &mut Page, metrics: &Metrics) {
    let number = |n: u64, one: &str| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    page.end().strong("counts").end();
    let refined = match metrics.refinements {
        0 => String::new(),
        n => format!(", {}", number(n, "refinement")),
    };
    page.field(
        "planning",
        &format!(
            "{}, {} refused, {}, {}{refined}, {}",
            number(metrics.proposals, "proposal"),
            metrics.proposals_refused,
            number(metrics.diagnostics, "finding"),
            number(metrics.revisions, "revision"),
            number(metrics.clarifications, "clarification"),
        ),
    );
    if metrics.planner_requests > 0 {
        page.field("planner", &took(metrics));
    }
    page.field(
        "plan",
        &format!(
            "{} of {} proven, {} unneeded, {}",
            metrics.criteria_held,
            number(metrics.criteria, "criterion").replace("criterions", "criteria"),
            number(metrics.steps_unneeded, "step"),
            number(metrics.dependency_faults, "dependency fault"),
        ),
    );
    let by_status = metrics.steps_by_status.iter();
    let by_status: Vec<String> = by_status.map(|(word, n)| format!("{n} {word}")).collect();
    page.field(
        "steps",
        &format!("{}: {}", metrics.steps, by_status.join(", ")),
    );
    let failures = metrics.failures.iter();
    let failures: Vec<String> = failures.map(|(word, n)| format!("{n} {word}")).collect();
    let failures = if failures.is_empty() {
        "none failed".to_owned()
    } else {
        failures.join(", ")
    };
    let retries = match metrics.retries {
        1 => "1 retry".to_owned(),
        many => format!("{many} retries"),
    };
    let polls = match metrics.polls {
        0 => String::new(),
        many => format!("{}, ", number(many, "poll")),
    };
    page.field(
        "execution",
        &format!(
            "{}, {polls}{retries}, {failures}, {}, {} prevented",
            number(metrics.attempts, "attempt"),
            number(metrics.validation_failures, "validation failure"),
            number(metrics.duplicates_held, "duplicate"),
        ),
    );
    page.field(
        "time",
        &format!(
            "{}, of which {} waiting for people",
            lasted(metrics.elapsed_ms),
            lasted(metrics.waiting_for_people_ms)
        ),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_keeps_its_width() {
        assert_eq!(
            [0, 61_007, -3].map(clock),
            ["00:00.000", "01:01.007", "00:00.000"]
        );
    }

    #[test]
    fn counts_read_as_sentences() {
        let metrics = Metrics {
            criteria: 1,
            criteria_held: 1,
            retries: 1,
            attempts: 3,
            polls: 1,
            ..Metrics::default()
        };
        let mut page = Page::new();
        counts(&mut page, &metrics);
        let shown = anstream::adapter::strip_str(&page.finish()).to_string();
        assert!(shown.contains("1 of 1 criterion proven"), "{shown}");
        assert!(
            shown.contains("3 attempts, 1 poll, 1 retry, none failed"),
            "{shown}"
        );
    }
}
