//! What is drawn of a step's rows: numbers over time, or over names.
//!
//! Owns the one decision whether a value is drawn and as what, for every door; the scale of its
//! axes stands in [`scale`], the moments of other steps beside it in [`marks`]. Never draws, and
//! never reads what is labelled secret. INVARIANT: what is drawn stands in the value: nothing is
//! interpolated, averaged or left out without being counted.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use provost_plan::catalog::Catalog;
use serde_json::{Map, Value};

use crate::shown;
use crate::state::State;

pub mod marks;
pub mod scale;

pub use marks::Mark;

/// Most rows that are read; of more, none is drawn.
pub const ROWS_MAX: usize = 20_000;

/// Most names that bars are drawn for.
const NAMES_MAX: usize = 30;

/// Most panels below one another, and most lines in one.
const PANELS_MAX: usize = 3;
const LINES_MAX: usize = 6;

/// Fewest moments that make a line.
const MOMENTS_MIN: usize = 3;

/// Numbers over one axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The field that the axis is.
    pub over: String,
    /// Its places, in order.
    pub axis: Axis,
    /// What is drawn over it: one panel a unit.
    pub panels: Vec<Panel>,
    /// Rows that have no place on it.
    pub left_out: usize,
}

/// The places of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Moments, in milliseconds since the epoch, rising.
    Time(Vec<i64>),
    /// Names, as the rows have them.
    Names(Vec<String>),
}

/// Lines that share a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// What the numbers are in, where that is known.
    pub unit: Option<String>,
    /// Each with its name.
    pub lines: Vec<Line>,
}

/// One number for each place of the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The field.
    pub name: String,
    /// Its values; none where a row has none.
    pub values: Vec<Option<f64>>,
}

/// What is drawn of a step, with the moments of other steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// The numbers.
    pub series: Series,
    /// The moments, rising; none beside names.
    pub marks: Vec<Mark>,
}

/// What is drawn of a step of a run; none where its output is secret, or is no rows of numbers.
#[must_use]
pub fn of_step(state: &State, catalog: &Catalog, id: &str) -> Option<Plot> {
    let output = shown::step_output(state, catalog, id)?;
    let (step, _) = state.plan()?.checked().step(id)?;
    let tool = step.tool().and_then(|tool| catalog.get(&tool.value));
    let schema = tool.and_then(|tool| tool.output.as_ref());
    let series = read(output, schema.map(|schema| schema.value()))?;
    let marks = match &series.axis {
        Axis::Time(moments) => marks::within(state, catalog, id, moments),
        Axis::Names(_) => Vec::new(),
    };
    Some(Plot { series, marks })
}

/// The rows in a value: itself, or the one list of records in it.
#[must_use]
pub fn rows_of(value: &Value) -> Option<Vec<&Map<String, Value>>> {
    rows(value, None).map(|(rows, _)| rows)
}

/// What is drawn of a value; none if it is not rows of numbers over time or over names.
#[must_use]
pub fn read(value: &Value, schema: Option<&Value>) -> Option<Series> {
    let (rows, schema) = rows(value, schema)?;
    if rows.len() < 2 || rows.len() > ROWS_MAX {
        return None;
    }
    let fields = fields(&rows);
    over_time(&rows, &fields, schema).or_else(|| over_names(&rows, &fields, schema))
}

type Row = Map<String, Value>;

/// The rows in a value: itself, or the one list of records in it.
fn rows<'v>(
    value: &'v Value,
    schema: Option<&'v Value>,
) -> Option<(Vec<&'v Row>, Option<&'v Value>)> {
    let records = |value: &'v Value| -> Option<Vec<&'v Row>> {
        let items = value.as_array().filter(|items| !items.is_empty())?;
        items.iter().map(Value::as_object).collect()
    };
    if let Some(rows) = records(value) {
        return Some((rows, schema.and_then(|schema| schema.get("items"))));
    }
    let map = value.as_object()?;
    let mut lists = map
        .iter()
        .filter_map(|(name, value)| Some((name, records(value)?)));
    let (name, rows) = lists.next()?;
    if lists.next().is_some() {
        return None;
    }
    let items = schema.and_then(|schema| schema.get("properties")?.get(name)?.get("items"));
    Some((rows, items))
}

/// The fields of rows, in the order of their names.
fn fields<'v>(rows: &[&'v Row]) -> BTreeSet<&'v str> {
    let names = rows.iter().flat_map(|row| row.keys());
    names.map(String::as_str).collect()
}

fn over_time(rows: &[&Row], fields: &BTreeSet<&str>, schema: Option<&Value>) -> Option<Series> {
    let moments = |field: &str| -> Option<Vec<i64>> {
        let of_row = |row: &&Row| moment(field, row.get(field)?);
        rows.iter().map(of_row).collect()
    };
    let mut found = fields
        .iter()
        .filter_map(|field| Some((*field, moments(field)?)));
    let (over, moments) = found.next()?;
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| moments.get(*at).copied());
    let axis: Vec<i64> = order
        .iter()
        .filter_map(|at| moments.get(*at).copied())
        .collect();
    // Why none of several rows a moment: one line through all of them would join what is apart.
    let distinct = axis.windows(2).all(|pair| pair.first() != pair.last());
    if axis.len() < MOMENTS_MIN || !distinct {
        return None;
    }
    let rows: Vec<&Row> = order
        .iter()
        .filter_map(|at| rows.get(*at).copied())
        .collect();
    let panels = panels(&rows, fields, over, schema)?;
    Some(Series {
        over: over.to_owned(),
        axis: Axis::Time(axis),
        panels,
        left_out: 0,
    })
}

fn over_names(rows: &[&Row], fields: &BTreeSet<&str>, schema: Option<&Value>) -> Option<Series> {
    let names = |field: &str| -> Option<Vec<String>> {
        let of_row = |row: &&Row| Some(row.get(field)?.as_str()?.to_owned());
        let names: Vec<String> = rows.iter().map(of_row).collect::<Option<_>>()?;
        let distinct: BTreeSet<&String> = names.iter().collect();
        (distinct.len() == names.len()).then_some(names)
    };
    let mut found = fields
        .iter()
        .filter_map(|field| Some((*field, names(field)?)));
    let (over, mut names) = found.next()?;
    let left_out = names.len().saturating_sub(NAMES_MAX);
    names.truncate(NAMES_MAX);
    let rows = rows.get(..names.len())?;
    let panels = panels(rows, fields, over, schema)?;
    Some(Series {
        over: over.to_owned(),
        axis: Axis::Names(names),
        panels,
        left_out,
    })
}

/// The numbers of rows, those of one unit together; none if there is none.
fn panels(
    rows: &[&Row],
    fields: &BTreeSet<&str>,
    over: &str,
    schema: Option<&Value>,
) -> Option<Vec<Panel>> {
    let mut panels: Vec<Panel> = Vec::new();
    for name in fields.iter().filter(|name| **name != over) {
        let Some(values) = numbers(rows, name) else {
            continue;
        };
        let unit = unit(name, schema);
        let line = Line {
            name: (*name).to_owned(),
            values,
        };
        let same = panels
            .iter_mut()
            .find(|panel| panel.unit.is_some() && panel.unit == unit);
        match same {
            Some(panel) if panel.lines.len() < LINES_MAX => panel.lines.push(line),
            Some(_) => {}
            None => panels.push(Panel {
                unit,
                lines: vec![line],
            }),
        }
    }
    panels.truncate(PANELS_MAX);
    (!panels.is_empty()).then_some(panels)
}

/// The numbers in a field; none if a row has something else there, none has a number, or the field
/// only names the row.
fn numbers(rows: &[&Row], field: &str) -> Option<Vec<Option<f64>>> {
    if field == "id" || field.ends_with("_id") {
        return None;
    }
    let of_row = |row: &&Row| match row.get(field) {
        None | Some(Value::Null) => Some(None),
        Some(Value::Number(number)) => {
            let number = number.as_f64().filter(|number| number.is_finite());
            number.map(Some)
        }
        Some(_) => None,
    };
    let values: Vec<Option<f64>> = rows.iter().map(of_row).collect::<Option<_>>()?;
    values.iter().any(Option::is_some).then_some(values)
}

/// What a field is in: as its schema says, or as its name ends.
fn unit(field: &str, schema: Option<&Value>) -> Option<String> {
    let told = schema.and_then(|schema| schema.get("properties")?.get(field)?.get("x-unit"));
    if let Some(told) = told.and_then(Value::as_str) {
        return Some(told.to_owned());
    }
    let unit = match field.rsplit_once('_')?.1 {
        "ms" => "ms",
        "s" | "seconds" => "s",
        "minutes" => "min",
        "percent" => "%",
        "bytes" => "bytes",
        _ => return None,
    };
    Some(unit.to_owned())
}

/// The moment that a value is, in milliseconds since the epoch; of a number, where its field is
/// named as one.
fn moment(field: &str, value: &Value) -> Option<i64> {
    match value {
        Value::String(text) => moment_of(text),
        Value::Number(number) => {
            let is_named = matches!(field, "at" | "at_ms" | "ts" | "time" | "timestamp")
                || field.ends_with("_at")
                || field.ends_with("_at_ms");
            let number = number.as_i64().filter(|_| is_named)?;
            match number {
                1_000_000_000..4_000_000_000 => Some(number * 1000),
                1_000_000_000_000..4_000_000_000_000 => Some(number),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A moment as text: with its offset, or in UTC where it has none.
fn moment_of(text: &str) -> Option<i64> {
    // Why: `jiff` reads years alone and dates of weeks too, which rows name other things with.
    let begins = text.as_bytes();
    let is_date = begins.len() >= 10
        && begins
            .iter()
            .take(10)
            .enumerate()
            .all(|(at, byte)| match at {
                4 | 7 => *byte == b'-',
                _ => byte.is_ascii_digit(),
            });
    if !is_date {
        return None;
    }
    let told: Option<Timestamp> = text.parse().ok();
    let told = told.or_else(|| {
        let civil: DateTime = text.parse().ok()?;
        TimeZone::UTC.to_timestamp(civil).ok()
    });
    told.map(Timestamp::as_millisecond)
}

#[cfg(test)]
mod tests;
