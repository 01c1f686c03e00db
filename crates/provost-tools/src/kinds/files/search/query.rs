//! The arguments of a search, read once.
//!
//! Owns what a search asks of a line. INVARIANT: a search asks for something; it never lists
//! whole files.

use provost_run::outcome::Class;
use serde_json::{Map, Value};

use super::condition::{Condition, FieldTest};
use crate::fault::Fault;
use crate::kinds::files::glob::Glob;
use crate::kinds::files::instant::Instant;
use crate::kinds::files::record::{FieldPaths, FieldValues};
use crate::limits::{MATCHES_DEFAULT, MATCHES_MAX};

/// What a search asks for.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    pub(crate) glob: Glob,
    pub(crate) texts: TextQuery,
    pub(crate) limit: usize,
    /// What is asked of records; without it lines are text.
    pub(crate) records: Option<RecordQuery>,
}

/// The texts to look for, and whether one line or file has to hold them all.
#[derive(Clone, Debug)]
pub(crate) struct TextQuery {
    pub(crate) wanted: Vec<String>,
    pub(crate) all: bool,
    ignore_case: bool,
}

/// What is asked of records.
#[derive(Clone, Debug)]
pub(crate) struct RecordQuery {
    fields: FieldPaths,
    conditions: Vec<Condition>,
    /// Texts of which every one stands in a raw line that can match.
    hints: Vec<String>,
    pub(crate) time: Option<usize>,
    pub(crate) group: Option<usize>,
    pub(crate) since: Option<Instant>,
    pub(crate) until: Option<Instant>,
    pub(crate) new_since: Option<Instant>,
    /// How many times as often a group that occurred before must come since, to be kept.
    pub(crate) rise_by: Option<f64>,
}

impl Query {
    pub(crate) fn parse(args: &Map<String, Value>) -> Result<Self, Fault> {
        let texts = TextQuery::parse(args);
        let records = RecordQuery::parse(args)?;
        if texts.wanted.is_empty() && records.is_none() {
            return Err(invalid(
                "there is nothing to look for; give `contains`, `where`, `since`, `until` or \
                 `group_by`",
            ));
        }
        let limit = args.get("limit").and_then(Value::as_u64);
        let limit = limit.unwrap_or(MATCHES_DEFAULT).min(MATCHES_MAX);
        Ok(Self {
            glob: Glob::parse(text(args, "glob").unwrap_or_default())?,
            texts,
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            records,
        })
    }
}

impl TextQuery {
    fn parse(args: &Map<String, Value>) -> Self {
        let ignore_case = args.get("ignore_case") == Some(&Value::Bool(true));
        let given = match args.get("contains") {
            Some(Value::String(text)) => vec![text.clone()],
            Some(Value::Array(items)) => items
                .iter()
                .filter_map(|item| item.as_str().map(str::to_owned))
                .collect(),
            _ => Vec::new(),
        };
        let wanted = given
            .into_iter()
            .map(|text| {
                if ignore_case {
                    text.to_lowercase()
                } else {
                    text
                }
            })
            .take(64)
            .collect();
        Self {
            wanted,
            all: text(args, "match") == Some("all"),
            ignore_case,
        }
    }

    /// Which of the texts occur, one bit each.
    pub(crate) fn found_in(&self, line: &str) -> u64 {
        if self.ignore_case {
            return self.bits(&line.to_lowercase());
        }
        self.bits(line)
    }

    fn bits(&self, line: &str) -> u64 {
        let mut bits = 0;
        for (index, text) in self.wanted.iter().enumerate() {
            if line.contains(text.as_str()) {
                bits |= 1 << index;
            }
        }
        bits
    }

    /// Which of the texts occur in a JSON line: as written, or in what its escapes stand for.
    pub(crate) fn found_in_record(&self, line: &str) -> u64 {
        let mut bits = self.found_in(line);
        if bits != self.every()
            && line.contains('\\')
            && let Ok(value) = serde_json::from_str::<Value>(line)
        {
            self.found_in_value(&value, &mut bits);
        }
        bits
    }

    fn found_in_value(&self, value: &Value, bits: &mut u64) {
        match value {
            Value::String(text) => *bits |= self.found_in(text),
            Value::Array(items) => items
                .iter()
                .for_each(|item| self.found_in_value(item, bits)),
            Value::Object(map) => map
                .values()
                .for_each(|item| self.found_in_value(item, bits)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// The bits of all texts together.
    pub(crate) fn every(&self) -> u64 {
        (0..self.wanted.len()).fold(0, |bits, index| bits | (1 << index))
    }

    /// Whether these bits are enough.
    pub(crate) fn enough(&self, bits: u64) -> bool {
        self.wanted.is_empty()
            || if self.all {
                bits == self.every()
            } else {
                bits != 0
            }
    }
}

impl RecordQuery {
    fn parse(args: &Map<String, Value>) -> Result<Option<Self>, Fault> {
        let mut fields = FieldPaths::default();
        let (conditions, hints) = conditions(args, &mut fields)?;
        let [since, until, new_since] = [
            instant(args, "since")?,
            instant(args, "until")?,
            instant(args, "new_since")?,
        ];
        let group = text(args, "group_by").map(|field| fields.add(field));
        if new_since.is_some() && group.is_none() {
            return Err(invalid(
                "`new_since` needs `group_by`: groups are new, lines are not",
            ));
        }
        let rise_by = args.get("rise_by").and_then(Value::as_f64);
        if rise_by.is_some() && new_since.is_none() {
            return Err(invalid(
                "`rise_by` needs `new_since`: it compares how often a group comes before and since",
            ));
        }
        let timed = since.is_some() || until.is_some() || group.is_some();
        let time = timed.then(|| fields.add(text(args, "time_field").unwrap_or("ts")));
        let asked = timed || !conditions.is_empty();
        Ok(asked.then_some(Self {
            fields,
            conditions,
            hints,
            time,
            group,
            since,
            until,
            new_since,
            rise_by,
        }))
    }

    /// Whether the raw line can be a record that matches, or has to be read to tell.
    pub(crate) fn may_match(&self, line: &str) -> bool {
        // Why: an escape can write any text in another way.
        self.hints.iter().all(|hint| line.contains(hint.as_str())) || line.contains('\\')
    }

    /// The wanted fields of the line; `None` if it is no record.
    pub(crate) fn pick(&self, line: &str) -> Option<FieldValues> {
        self.fields.pick(line)
    }

    pub(crate) fn conditions_hold(&self, values: &FieldValues) -> bool {
        self.conditions.iter().all(|condition| {
            let field = values.get(condition.slot).and_then(Option::as_ref);
            condition.test.holds(field)
        })
    }

    pub(crate) fn in_window(&self, time: Instant) -> bool {
        self.since.is_none_or(|since| since <= time) && self.until.is_none_or(|until| time < until)
    }
}

fn conditions(
    args: &Map<String, Value>,
    fields: &mut FieldPaths,
) -> Result<(Vec<Condition>, Vec<String>), Fault> {
    let mut conditions = Vec::new();
    let mut hints = Vec::new();
    let given = args.get("where").and_then(Value::as_array);
    for condition in given.into_iter().flatten() {
        let get = |name: &str| condition.get(name).and_then(Value::as_str);
        let field = get("field").unwrap_or_default();
        let test = FieldTest::parse(get("op").unwrap_or_default(), condition.get("value"))
            .map_err(|reason| invalid(&format!("the condition on `{field}`: {reason}")))?;
        hints.extend(test.raw_hint());
        let slot = fields.add(field);
        conditions.push(Condition { slot, test });
    }
    Ok((conditions, hints))
}

fn text<'a>(args: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    args.get(name).and_then(Value::as_str)
}

fn instant(args: &Map<String, Value>, name: &str) -> Result<Option<Instant>, Fault> {
    let Some(given) = text(args, name) else {
        return Ok(None);
    };
    match Instant::parse(given) {
        Some(instant) => Ok(Some(instant)),
        None => Err(invalid(&format!(
            "`{name}` is `{given}`, which is no time such as 2026-11-20T14:05:00Z"
        ))),
    }
}

fn invalid(message: &str) -> Fault {
    Fault::no_effect(Class::InvalidArguments, message)
}
