//! `stats`: how good planning was and how good execution, counted over the runs of a workspace.

use std::collections::BTreeMap;

use clap::{Args, ValueEnum};
use provost_engine::clock::now_ms;
use provost_engine::run::facts::{EXECUTION, FORMULAS, MEANS, PLANNING, Rates, RunFacts};
use provost_engine::run::grade::{Confidence, Interval, Rate};
use provost_engine::run::read::words::latency;
use provost_engine::stats::{GroupBy, GroupFacts, StoreFacts, nearest_rank, store_facts, verdicts};
use provost_engine::telemetry::openmetrics;
use provost_plan::duration;
use serde_json::{Map, Value, json};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::screen::words::count;
use crate::workspace_path::WorkspacePath;

/// Arguments of `stats`.
#[derive(Clone, Copy, Debug, Args)]
pub struct StatsArgs {
    /// only runs that began within this time, such as 7d
    #[arg(long, value_name = "TIME", value_parser = duration_of)]
    since: Option<i64>,
    /// figures for each
    #[arg(long, value_enum)]
    by: Option<By>,
    /// print the series of a monitoring system instead, in the text form of OpenMetrics
    #[arg(long, conflicts_with_all = ["since", "by", "json"])]
    openmetrics: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// The series where nothing ran yet.
const NO_SERIES: &str = "# EOF\n";

/// What figures are given for.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum By {
    // The kind of planner.
    Planner,
    // The model that planned.
    Model,
    // The version of the prompt.
    Prompt,
    // The playbook.
    Playbook,
    // The operation that was called.
    Operation,
    // The policy that plans were checked under.
    Policy,
    // The version of provost that began it.
    Version,
}

impl By {
    fn group(self) -> GroupBy {
        match self {
            Self::Planner => GroupBy::Planner,
            Self::Model => GroupBy::Model,
            Self::Prompt => GroupBy::Prompt,
            Self::Playbook => GroupBy::Playbook,
            Self::Operation => GroupBy::Operation,
            Self::Policy => GroupBy::Policy,
            Self::Version => GroupBy::Version,
        }
    }
}

fn duration_of(text: &str) -> Result<i64, String> {
    let time = duration::parse(text).map_err(|error| error.to_string())?;
    i64::try_from(time.as_millis()).map_err(|_| "that is too long".to_owned())
}

/// Does it.
pub fn run(verb: StatsArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let Some(store) = place.journal_if_any()? else {
        if verb.openmetrics {
            output::data(NO_SERIES);
        } else if verb.json {
            output::json(&to_json(&StoreFacts::default()));
        } else {
            output::note("nothing has run in this workspace yet\n");
        }
        return Ok(Exit::Done);
    };
    if verb.openmetrics {
        output::data(&openmetrics(&store, now_ms())?);
        return Ok(Exit::Done);
    }
    let since = verb.since.map(|time| now_ms().saturating_sub(time));
    let by = verb.by.map_or(GroupBy::Nothing, By::group);
    let counted = store_facts(&store, since, by)?;
    for (run, reason) in &counted.unread {
        output::note(&format!("run {run} is not counted: {reason}\n"));
    }
    if verb.json {
        output::json(&to_json(&counted));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    if counted.groups.is_empty() {
        output::note("there is no such run\n");
    }
    for (at, (name, group)) in counted.groups.iter().enumerate() {
        if at > 0 {
            page.end();
        }
        of_group(&mut page, name, group);
    }
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn to_json(counted: &StoreFacts) -> Value {
    let groups = counted.groups.iter().map(|(name, group)| {
        let economy = &group.facts.economy;
        let tokens = economy.tokens_planning + economy.tokens_tools;
        json!({
            "group": name,
            "runs": group.runs,
            "statuses": group.statuses,
            "planning": rates_json(&group.facts.planning, &PLANNING),
            "revisions_by": group.facts.revisions_by,
            "execution": rates_json(&group.facts.execution, &EXECUTION),
            "failures": group.facts.failures,
            "verdicts": verdicts_json(&group.facts),
            "latency_us": latency_json(&group.facts.latency_us),
            "economy": {
                "cost_planning": economy.planning,
                "cost_tools": economy.tools,
                "cost_at_most": economy.at_most,
                "unpriced": economy.unpriced,
                "tokens_planning": economy.tokens_planning,
                "tokens_tools": economy.tokens_tools,
                "tokens_per_step": ratio(tokens, economy.settled),
                "elapsed_ms": economy.elapsed_ms,
                "busy_ms": economy.busy_ms,
                "run_ms": {
                    "p50": group.percentile(0.5),
                    "p95": group.percentile(0.95),
                    "p99": group.percentile(0.99),
                },
            },
        })
    });
    json!({
        "schema": "provost/stats/v1",
        "formulas": FORMULAS,
        "groups": groups.collect::<Vec<_>>(),
        "unread": counted.unread.iter().map(|(run, _)| run).collect::<Vec<_>>(),
    })
}

/// What runs that did not succeed speak against.
fn verdicts_json(facts: &RunFacts) -> Value {
    let known = verdicts(facts).into_iter();
    let known = known.map(|([guilty, party, cause], runs)| {
        json!({ "guilty": guilty, "party": party, "cause": cause, "runs": runs })
    });
    known.collect()
}

/// What tools took, by operation: calls that were measured, and where they lie.
fn latency_json(latencies: &BTreeMap<String, Vec<u64>>) -> Value {
    let known = latencies.iter().map(|(operation, took)| {
        let at = |share| nearest_rank(took, share);
        let shown = json!({
            "calls": took.len(),
            "p50": at(0.5),
            "p95": at(0.95),
            "p99": at(0.99),
        });
        (operation.clone(), shown)
    });
    known.collect::<Map<_, _>>().into()
}

fn ratio(numerator: u64, denominator: u64) -> Value {
    json!({ "numerator": numerator, "denominator": denominator })
}

fn rates_json(rates: &Rates, titles: &[(&str, &str)]) -> Value {
    let known = titles.iter().filter_map(|(key, _)| {
        let rate = rates.get(*key)?;
        let mut shown = ratio(rate.hits, rate.of);
        if let (Value::Object(map), Some(at)) = (&mut shown, interval(key, *rate)) {
            map.insert("low".to_owned(), json!(at.low));
            map.insert("high".to_owned(), json!(at.high));
        }
        Some(((*key).to_owned(), shown))
    });
    known.collect::<Map<_, _>>().into()
}

/// Where a share lies; of a mean there is none.
fn interval(key: &str, rate: Rate) -> Option<Interval> {
    let is_share = !MEANS.contains(&key);
    rate.wilson(Confidence::USUAL).filter(|_| is_share)
}

fn of_group(page: &mut Page, name: &str, group: &GroupFacts) {
    let statuses = group.statuses.iter();
    let statuses: Vec<String> = statuses.map(|(word, n)| format!("{n} {word}")).collect();
    page.strong(name)
        .text(": ")
        .line(&format!("{} ({})", runs(group.runs), statuses.join(", ")));
    for (title, rates, titles) in [
        ("planning", &group.facts.planning, PLANNING.as_slice()),
        ("execution", &group.facts.execution, EXECUTION.as_slice()),
    ] {
        let rows: Vec<Vec<Cell>> = titles
            .iter()
            .filter_map(|(key, title)| Some(row(key, title, *rates.get(*key)?)))
            .collect();
        if !rows.is_empty() {
            page.end().faint(title).end();
            page.table(2, &rows);
        }
    }
    let rows: Vec<Vec<Cell>> = verdicts(&group.facts)
        .into_iter()
        .map(|([guilty, party, cause], count)| {
            vec![
                Cell::plain(guilty),
                Cell::plain(format!("{party}, {cause}")),
                Cell::new(TextStyle::Strong, runs(count)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        page.end()
            .faint("what runs that did not succeed speak against")
            .end();
        page.table(2, &rows);
    }
    latencies(page, &group.facts.latency_us);
    economy(page, group);
}

fn latencies(page: &mut Page, known: &BTreeMap<String, Vec<u64>>) {
    if known.is_empty() {
        return;
    }
    let rows: Vec<Vec<Cell>> = known
        .iter()
        .map(|(operation, took)| {
            let at = |share| nearest_rank(took, share).map_or_else(String::new, latency);
            vec![
                Cell::plain(operation.clone()),
                Cell::new(TextStyle::Strong, format!("p50 {}", at(0.5))),
                Cell::plain(format!("p95 {}, p99 {}", at(0.95), at(0.99))),
                Cell::new(TextStyle::Faint, count(took.len(), "call")),
            ]
        })
        .collect();
    page.end().faint("latency of tools").end();
    page.table(2, &rows);
}

fn row(key: &str, title: &str, rate: Rate) -> Vec<Cell> {
    let value = rate.value().unwrap_or_default();
    // Why two forms: a mean per run is no share, and has no such interval.
    let (shown, range) = match interval(key, rate) {
        Some(at) => (
            format!("{:.1} %", value * 100.0),
            format!("{:.1} to {:.1} %", at.low * 100.0, at.high * 100.0),
        ),
        None => (format!("{value:.2}"), String::new()),
    };
    vec![
        Cell::plain(title),
        Cell::new(TextStyle::Strong, shown),
        Cell::plain(format!("{}/{}", rate.hits, rate.of)),
        Cell::new(TextStyle::Faint, range),
    ]
}

fn runs(number: u64) -> String {
    count(usize::try_from(number).unwrap_or(usize::MAX), "run")
}

fn economy(page: &mut Page, group: &GroupFacts) {
    let economy = &group.facts.economy;
    let mut rows = Vec::new();
    let mut put = |title: &str, value: String| {
        rows.push(vec![
            Cell::plain(title),
            Cell::new(TextStyle::Strong, value),
        ]);
    };
    if economy.tokens_planning + economy.tokens_tools > 0 {
        put("tokens of planners", economy.tokens_planning.to_string());
        put("tokens of model tools", economy.tokens_tools.to_string());
        put("cost of planning", economy.planning.to_string());
        put("cost of model tools", economy.tools.to_string());
        put("replies without a price", economy.unpriced.to_string());
    }
    if let Some(half) = group.percentile(0.5) {
        let shown = |ms: Option<i64>| format!("{} ms", ms.unwrap_or(half));
        let times = format!(
            "p50 {}, p95 {}, p99 {}",
            shown(Some(half)),
            shown(group.percentile(0.95)),
            shown(group.percentile(0.99))
        );
        put("time of a run", times);
    }
    if !rows.is_empty() {
        page.end().faint("economy").end();
        page.table(2, &rows);
    }
}
