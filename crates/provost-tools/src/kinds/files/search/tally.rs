//! What a search has found so far: counts, groups, samples.
//!
//! Owns the memory a search may hold. INVARIANT: groups that occur before `new_since`, and have not
//! become more frequent by `rise_by`, leave no trace in what comes out, whatever order the lines
//! come in.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use provost_run::outcome::Class;
use serde_json::{Value, json};

use super::query::{Query, RecordQuery};
use crate::fault::Fault;
use crate::kinds::files::instant::Instant;
use crate::kinds::files::root::FileEntry;
use crate::limits::{
    FILES_SHOWN_MAX, GROUPS_MAX, GROUPS_SHOWN_MAX, MATCH_BYTES_MAX, MATCHES_BYTES_MAX,
};

/// Where a line stands: the file's number and the line's, from 1 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinePosition {
    pub(crate) file: usize,
    pub(crate) line: u64,
}

/// The state of a search.
#[derive(Debug)]
pub(crate) struct SearchTally<'q> {
    query: &'q Query,
    /// By value; a search without `group_by` has one group, called nothing.
    groups: BTreeMap<String, SearchGroup>,
    lines: u64,
    skipped: u64,
    ungrouped: u64,
    sample_bytes: usize,
    text_cut: bool,
    /// The first and the last time of the records that match, of all groups together.
    span: Option<(Instant, Instant)>,
}

#[derive(Debug, Default)]
struct SearchGroup {
    count: u64,
    /// How often it occurs before `new_since`.
    before: u64,
    first: Option<(Instant, String)>,
    last: Option<(Instant, String)>,
    samples: Vec<(LinePosition, String)>,
    files: BTreeMap<usize, FileCount>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FileCount {
    count: u64,
    /// Which of the texts occur, one bit each.
    found: u64,
}

impl<'q> SearchTally<'q> {
    pub(crate) fn new(query: &'q Query) -> Self {
        Self {
            query,
            groups: BTreeMap::new(),
            lines: 0,
            skipped: 0,
            ungrouped: 0,
            sample_bytes: 0,
            text_cut: false,
            span: None,
        }
    }

    /// Counts a line that is too long to look at.
    pub(crate) fn too_long(&mut self) {
        self.lines += 1;
        self.skipped += 1;
    }

    /// Takes in one line.
    pub(crate) fn line(&mut self, place: LinePosition, bytes: &[u8]) -> Result<(), Fault> {
        self.lines += 1;
        match &self.query.records {
            Some(records) => self.record_line(records, place, bytes),
            None => {
                let line = String::from_utf8_lossy(bytes);
                let found = self.query.texts.found_in(&line);
                if found != 0 {
                    self.count(String::new(), None, place, found, &line)?;
                }
                Ok(())
            }
        }
    }

    fn record_line(
        &mut self,
        records: &'q RecordQuery,
        place: LinePosition,
        bytes: &[u8],
    ) -> Result<(), Fault> {
        let line = std::str::from_utf8(bytes).map(str::trim).ok();
        if line == Some("") {
            return Ok(());
        }
        let values = match line {
            // Why: a line cut short might have matched; its braces show most of those.
            Some(line) if !records.may_match(line) => {
                self.skipped += u64::from(!(line.starts_with('{') && line.ends_with('}')));
                return Ok(());
            }
            Some(line) => records.pick(line).map(|values| (line, values)),
            None => None,
        };
        let Some((line, values)) = values else {
            self.skipped += 1;
            return Ok(());
        };
        if !records.conditions_hold(&values) {
            return Ok(());
        }
        let texts = &self.query.texts;
        let found = texts.found_in_record(line);
        if !texts.enough(found) {
            return Ok(());
        }
        let field = |slot: usize| values.get(slot).and_then(Option::as_ref);
        let time = match records.time {
            None => None,
            Some(slot) => {
                let text = field(slot).and_then(Value::as_str).unwrap_or_default();
                let Some(instant) = Instant::parse(text) else {
                    self.skipped += 1;
                    return Ok(());
                };
                Some((instant, text))
            }
        };
        let group = match records.group.map(|slot| field(slot).and_then(group_value)) {
            None => String::new(),
            Some(Some(value)) => value,
            Some(None) => {
                let in_window = time.is_none_or(|(time, _)| records.in_window(time));
                self.ungrouped += u64::from(in_window);
                return Ok(());
            }
        };
        if let (Some((time, _)), Some(new_since)) = (time, records.new_since) {
            let (first, last) = self.span.unwrap_or((time, time));
            self.span = Some((first.min(time), last.max(time)));
            if time < new_since {
                entry(&mut self.groups, group)?.before += 1;
                return Ok(());
            }
        }
        if time.is_none_or(|(time, _)| records.in_window(time)) {
            self.count(group, time, place, found, line)?;
        }
        Ok(())
    }

    fn count(
        &mut self,
        group: String,
        time: Option<(Instant, &str)>,
        place: LinePosition,
        found: u64,
        line: &str,
    ) -> Result<(), Fault> {
        let limit = self.query.limit;
        let budget = MATCHES_BYTES_MAX.saturating_sub(self.sample_bytes);
        let group = entry(&mut self.groups, group)?;
        group.count += 1;
        if let Some((instant, text)) = time {
            group.observe(instant, text);
        }
        let in_file = group.files.entry(place.file).or_default();
        in_file.count += 1;
        in_file.found |= found;
        let dropped = group.before > 0
            && (self.query.records.as_ref()).is_none_or(|records| records.rise_by.is_none());
        if dropped || group.samples.len() >= limit || budget < MATCH_BYTES_MAX {
            return Ok(());
        }
        let (text, cut) = shortened(line);
        self.sample_bytes += text.len();
        self.text_cut |= cut;
        group.samples.push((place, text));
        Ok(())
    }

    /// Forgets a file of text in which not every text occurs, where all are asked for.
    pub(crate) fn end_of_file(&mut self, file: usize) {
        if self.query.records.is_some() {
            return;
        }
        let texts = &self.query.texts;
        let Some(group) = self.groups.get_mut("") else {
            return;
        };
        let Some(in_file) = group.files.get(&file).copied() else {
            return;
        };
        if !texts.enough(in_file.found) {
            group.count -= in_file.count;
            group.files.remove(&file);
            group.samples.retain(|(place, _)| place.file != file);
        }
    }

    /// What a group that occurred before `new_since` is held to.
    fn growth(&self) -> RiseRule {
        let records = self.query.records.as_ref();
        let new_since = records.and_then(|records| records.new_since);
        let (Some((first, last)), Some(new_since)) = (self.span, new_since) else {
            return RiseRule::default();
        };
        let until = records.and_then(|records| records.until).unwrap_or(last);
        RiseRule {
            rise_by: records.and_then(|records| records.rise_by),
            before_s: new_since.seconds_since(first),
            since_s: until.min(last.max(new_since)).seconds_since(new_since),
        }
    }

    /// The output of the search over `files`.
    pub(crate) fn output(self, files: &[FileEntry]) -> Value {
        let grouped = self
            .query
            .records
            .as_ref()
            .is_some_and(|r| r.group.is_some());
        let growth = self.growth();
        let mut kept = self
            .groups
            .into_iter()
            .filter(|(_, group)| growth.keeps(group))
            .collect::<Vec<_>>();
        kept.sort_by_key(|(_, group)| Reverse(group.count));
        let total: u64 = kept.iter().map(|(_, group)| group.count).sum();
        let distinct = if grouped { kept.len() } else { 0 };
        let name = |index: usize| files.get(index).map_or("", |file| file.path.as_str());
        let matches = matches(&kept, self.query.limit, &name);
        let per_file = per_file(&kept, &name);
        let groups = kept
            .iter()
            .filter(|_| grouped)
            .take(GROUPS_SHOWN_MAX)
            .filter_map(|(value, group)| group.shown(value))
            .collect::<Vec<_>>();
        let truncated = self.text_cut
            || matches.len() as u64 != total
            || groups.len() != distinct
            || per_file.len() > FILES_SHOWN_MAX;
        json!({
            "total": total,
            "groups": groups,
            "distinct": distinct,
            "matches": matches,
            "files": per_file.into_iter().take(FILES_SHOWN_MAX).collect::<Vec<_>>(),
            "searched": files.len(),
            "lines": self.lines,
            "skipped": self.skipped,
            "ungrouped": self.ungrouped,
            "truncated": truncated,
        })
    }
}

/// How long the records before and since `new_since` reach, and by how much a group must have
/// become more frequent to be kept although it occurred before.
#[derive(Clone, Copy, Debug, Default)]
struct RiseRule {
    rise_by: Option<f64>,
    before_s: i64,
    since_s: i64,
}

impl RiseRule {
    fn keeps(self, group: &SearchGroup) -> bool {
        if group.count == 0 || group.before == 0 {
            return group.count > 0;
        }
        let count = |of: u64| f64::from(u32::try_from(of).unwrap_or(u32::MAX));
        // Why at least a minute: two lines a second apart are no rate.
        let minutes = |seconds: i64| count(u64::try_from(seconds).unwrap_or(0).max(60)) / 60.0;
        self.rise_by.is_some_and(|rise_by| {
            let before = count(group.before) / minutes(self.before_s);
            let since = count(group.count) / minutes(self.since_s);
            // Why the count too: a line that came once an hour may come twice by chance.
            since >= rise_by * before && count(group.count) >= rise_by
        })
    }
}

/// The group of this value, made if there is room for it.
fn entry(
    groups: &mut BTreeMap<String, SearchGroup>,
    value: String,
) -> Result<&mut SearchGroup, Fault> {
    if groups.len() >= GROUPS_MAX && !groups.contains_key(&value) {
        let message = format!(
            "`group_by` makes more than {GROUPS_MAX} groups; group by another field, or narrow \
             the search"
        );
        return Err(Fault::no_effect(Class::InvalidArguments, message));
    }
    Ok(groups.entry(value).or_default())
}

impl SearchGroup {
    fn observe(&mut self, instant: Instant, text: &str) {
        if self
            .first
            .as_ref()
            .is_none_or(|(first, _)| instant < *first)
        {
            self.first = Some((instant, text.to_owned()));
        }
        if self.last.as_ref().is_none_or(|(last, _)| instant > *last) {
            self.last = Some((instant, text.to_owned()));
        }
    }

    fn shown(&self, value: &str) -> Option<Value> {
        let (_, first) = self.first.as_ref()?;
        let (_, last) = self.last.as_ref()?;
        Some(json!({
            "value": value,
            "count": self.count,
            "before": self.before,
            "first": first.to_ascii_uppercase(),
            "last": last.to_ascii_uppercase(),
        }))
    }
}

/// The first matches by file and line, of all groups together.
fn matches<'f>(
    groups: &[(String, SearchGroup)],
    limit: usize,
    name: &impl Fn(usize) -> &'f str,
) -> Vec<Value> {
    let mut samples = groups
        .iter()
        .flat_map(|(_, group)| &group.samples)
        .collect::<Vec<_>>();
    samples.sort_by_key(|(place, _)| *place);
    samples
        .into_iter()
        .take(limit)
        .map(|(place, text)| json!({"file": name(place.file), "line": place.line, "text": text}))
        .collect()
}

/// The files with matches: those with most of the texts first, then those with most matches.
fn per_file<'f>(groups: &[(String, SearchGroup)], name: &impl Fn(usize) -> &'f str) -> Vec<Value> {
    let mut files: BTreeMap<usize, FileCount> = BTreeMap::new();
    for (index, in_file) in groups.iter().flat_map(|(_, group)| &group.files) {
        let sum = files.entry(*index).or_default();
        sum.count += in_file.count;
        sum.found |= in_file.found;
    }
    let mut files = files.into_iter().collect::<Vec<_>>();
    files.sort_by_key(|(_, in_file)| Reverse((in_file.found.count_ones(), in_file.count)));
    files
        .into_iter()
        .map(|(index, in_file)| {
            let found = in_file.found.count_ones();
            json!({"file": name(index), "count": in_file.count, "found": found})
        })
        .collect()
}

/// The value of the grouping field as a text: texts as they are, other scalars as JSON.
fn group_value(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn shortened(line: &str) -> (String, bool) {
    let mut end = line.len().min(MATCH_BYTES_MAX);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    match line.get(..end) {
        Some(text) if end < line.len() => (format!("{text}…"), true),
        _ => (line.to_owned(), false),
    }
}
