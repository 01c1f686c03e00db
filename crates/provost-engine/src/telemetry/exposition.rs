//! Series, never more than a fixed number, and their text form in OpenMetrics 1.0.
//!
//! Owns names, types and labels of the families, and what is folded together where there would be
//! too many. INVARIANT: an operation keeps its series for as long as those that were seen before it
//! leave room, so a counter does not jump because of what came later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// What an answer in this form is labelled as.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Most series of one exposition.
pub const SERIES_MAX: usize = 2_000;
/// Room for the series of all operations that have none of their own.
const OTHER_SERIES: usize = 100;
/// Most models with series of their own.
const MODELS_MAX: usize = 20;
/// The value of a label that stands for all that have no room.
const OTHER: &str = "other";

const CALL_SECONDS: [f64; 10] = [0.001, 0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0];
const RUN_SECONDS: [f64; 8] = [0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 86_400.0, 604_800.0];

/// What kind of figures a family has.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum FamilyKind {
    Counter,
    Gauge,
    Histogram(&'static [f64]),
}

/// A family of series.
pub(super) struct Family {
    /// Its name, without `provost_` and `_total`; counts of runs are found by it.
    pub(super) name: &'static str,
    pub(super) kind: FamilyKind,
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

const fn counter(
    name: &'static str,
    labels: &'static [&'static str],
    help: &'static str,
) -> Family {
    Family {
        name,
        kind: FamilyKind::Counter,
        labels,
        help,
    }
}

const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Family {
    Family {
        name,
        kind: FamilyKind::Gauge,
        labels,
        help,
    }
}

const fn seconds(
    name: &'static str,
    labels: &'static [&'static str],
    buckets: &'static [f64],
    help: &'static str,
) -> Family {
    Family {
        name,
        kind: FamilyKind::Histogram(buckets),
        labels,
        help,
    }
}

/// All families, in the order in which they are written.
pub(super) static FAMILIES: [Family; 26] = [
    counter("runs", &["status", "planner"], "runs that ended"),
    gauge("runs_open", &["status"], "runs that are not over"),
    seconds(
        "run_seconds",
        &["status"],
        &RUN_SECONDS,
        "from the beginning of a run to its end",
    ),
    seconds(
        "run_busy_seconds",
        &[],
        &RUN_SECONDS,
        "the same without the time in which only a person could go on",
    ),
    counter("proposals", &["planner", "outcome"], "replies of planners"),
    counter("findings", &["code"], "findings of checks of plans"),
    counter("revisions", &["cause"], "revisions that changed a plan"),
    counter("steps", &["status"], "steps and items that settled"),
    counter("steps_unneeded", &[], "steps that no proof or claim needs"),
    counter("criteria", &["proven"], "criteria at the end of runs"),
    counter("clarifications", &["outcome"], "questions of planners"),
    counter("attempts", &["operation", "class"], "calls that ended"),
    seconds(
        "attempt_seconds",
        &["operation"],
        &CALL_SECONDS,
        "what calls took, as measured at the tool",
    ),
    counter(
        "retries",
        &["operation", "class"],
        "failures that were tried again",
    ),
    counter(
        "validation_failures",
        &["operation", "place"],
        "steps that failed by a check of arguments, output or acceptance",
    ),
    counter(
        "effects",
        &["operation", "landing"],
        "calls that change something, by whether they took effect",
    ),
    counter(
        "duplicate_effects",
        &["kind"],
        "equal effects that landed again, were held back, or may have landed twice",
    ),
    gauge(
        "in_doubt",
        &["operation"],
        "effects of which nobody knows whether they took place",
    ),
    counter(
        "verdicts",
        &["guilty", "party", "cause"],
        "runs that did not succeed, by what their journal speaks against",
    ),
    counter(
        "approvals",
        &["outcome"],
        "cards that were answered or expired",
    ),
    seconds(
        "approval_wait_seconds",
        &[],
        &RUN_SECONDS,
        "from a card to its answer",
    ),
    counter("tokens", &["model", "direction", "for"], "tokens of models"),
    counter(
        "cost",
        &["for"],
        "money spent on models, in the unit of the prices",
    ),
    counter("unpriced_calls", &[], "calls of models without a price"),
    gauge(
        "breaker_open",
        &["tool"],
        "whether the breaker of a tool lets nothing through",
    ),
    gauge(
        "export_behind_events",
        &["target"],
        "events that were not sent yet",
    ),
];

/// What is known of one series.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SeriesSample {
    Count(u64),
    /// Whole units and millionths, as money is kept.
    Amount(u64),
    Histogram {
        /// How many values lie at or below each bound, and how many there are.
        below: Vec<u64>,
        count: u64,
        micros: u64,
    },
}

impl SeriesSample {
    fn add(&mut self, other: &Self) {
        match (self, other) {
            (Self::Count(mine), Self::Count(theirs))
            | (Self::Amount(mine), Self::Amount(theirs)) => *mine = mine.saturating_add(*theirs),
            (
                Self::Histogram {
                    below,
                    count,
                    micros,
                },
                Self::Histogram {
                    below: more,
                    count: n,
                    micros: sum,
                },
            ) => {
                below
                    .iter_mut()
                    .zip(more)
                    .for_each(|(mine, theirs)| *mine += theirs);
                *count += n;
                *micros = micros.saturating_add(*sum);
            }
            _ => {}
        }
    }

    /// How many series it is for a scraper.
    fn series(&self) -> usize {
        match self {
            Self::Count(_) | Self::Amount(_) => 1,
            // The buckets, that without a bound, the sum and the count.
            Self::Histogram { below, .. } => below.len() + 3,
        }
    }
}

/// The values of the labels of a family, in their order.
pub(super) type SeriesLabels = Vec<String>;

/// The series of the families that have any, in the order of [`FAMILIES`], and how many were folded
/// into others.
pub(super) struct FoldedSeries {
    pub(super) families: Vec<(&'static Family, BTreeMap<SeriesLabels, SeriesSample>)>,
    pub(super) dropped: usize,
}

/// What is said of the count of series that were folded into others.
pub(super) const DROPPED_HELP: &str = "series without room, counted as `other`";

/// Series on their way to a text.
#[derive(Default)]
pub(super) struct Exposition {
    families: BTreeMap<&'static str, BTreeMap<SeriesLabels, SeriesSample>>,
    /// Operations in the order in which they were seen.
    operations: Vec<String>,
    models: Vec<String>,
    seen: BTreeSet<String>,
}

impl Exposition {
    /// Adds to a counter or a gauge; of an unknown family nothing.
    pub(super) fn count(&mut self, family: &str, labels: &[&str], count: u64) {
        self.put(family, labels, SeriesSample::Count(count));
    }

    /// Adds money, in millionths.
    pub(super) fn amount(&mut self, family: &str, labels: &[&str], millionths: u64) {
        self.put(family, labels, SeriesSample::Amount(millionths));
    }

    /// Adds a value, in microseconds, to a histogram of seconds.
    pub(super) fn time(&mut self, family: &str, labels: &[&str], micros: u64) {
        let found = FAMILIES.iter().find(|known| known.name == family);
        let Some(FamilyKind::Histogram(bounds)) = found.map(|family| family.kind) else {
            return;
        };
        let seconds = micros as f64 / 1e6;
        let below = bounds.iter().map(|bound| u64::from(seconds <= *bound));
        let sample = SeriesSample::Histogram {
            below: below.collect(),
            count: 1,
            micros,
        };
        self.put(family, labels, sample);
    }

    fn put(&mut self, family: &str, labels: &[&str], sample: SeriesSample) {
        let Some(family) = FAMILIES.iter().find(|known| known.name == family) else {
            return;
        };
        for (name, value) in family.labels.iter().zip(labels) {
            let order = match *name {
                "operation" => &mut self.operations,
                "model" => &mut self.models,
                _ => continue,
            };
            if self.seen.insert(format!("{name} {value}")) {
                order.push((*value).to_owned());
            }
        }
        let labels = labels.iter().map(|value| (*value).to_owned()).collect();
        let series = self.families.entry(family.name).or_default();
        match series.get_mut(&labels) {
            Some(known) => known.add(&sample),
            None => drop(series.insert(labels, sample)),
        }
    }

    /// The series, with what has no room folded together.
    pub(super) fn folded(mut self) -> FoldedSeries {
        let models = self.models.split_off(self.models.len().min(MODELS_MAX));
        let mut dropped = self.fold("model", &models.into_iter().collect());
        let late = self.late();
        dropped += self.fold("operation", &late);
        let families = FAMILIES.iter().filter_map(|family| {
            let series = self.families.remove(family.name)?;
            Some((family, series))
        });
        let families = families.collect();
        FoldedSeries { families, dropped }
    }

    /// The text, with what was folded together counted in it.
    pub(super) fn text(self) -> String {
        let FoldedSeries { families, dropped } = self.folded();
        let mut text = String::new();
        for (family, series) in &families {
            family.write(&mut text, series);
        }
        let name = "provost_series_dropped";
        let _ = writeln!(text, "# TYPE {name} counter");
        let _ = writeln!(text, "# HELP {name} {DROPPED_HELP}");
        let _ = writeln!(text, "{name}_total {dropped}\n# EOF");
        text
    }

    /// The operations for which there is no room, after those that were seen before them.
    fn late(&self) -> BTreeSet<String> {
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        let mut room = SERIES_MAX - OTHER_SERIES - 1;
        for family in &FAMILIES {
            let series = self.families.get(family.name).into_iter().flatten();
            for (labels, sample) in series {
                match family.value(labels, "operation") {
                    Some(operation) => *sizes.entry(operation).or_default() += sample.series(),
                    None => room = room.saturating_sub(sample.series()),
                }
            }
        }
        let mut late = BTreeSet::new();
        for operation in &self.operations {
            let size = sizes.get(operation.as_str()).copied().unwrap_or_default();
            // Why all later ones too: else a small one would come and go with what grows before it.
            if !late.is_empty() || size > room {
                late.insert(operation.clone());
            } else {
                room -= size;
            }
        }
        late
    }

    /// Counts the series with one of these values as `other`; how many there were.
    fn fold(&mut self, label: &str, values: &BTreeSet<String>) -> usize {
        let mut folded = 0;
        if values.is_empty() {
            return folded;
        }
        for family in &FAMILIES {
            let Some(at) = family.labels.iter().position(|name| *name == label) else {
                continue;
            };
            let Some(series) = self.families.get_mut(family.name) else {
                continue;
            };
            for (mut labels, sample) in std::mem::take(series) {
                if let Some(value) = labels.get_mut(at).filter(|value| values.contains(*value)) {
                    OTHER.clone_into(value);
                    folded += sample.series();
                }
                match series.get_mut(&labels) {
                    Some(known) => known.add(&sample),
                    None => drop(series.insert(labels, sample)),
                }
            }
        }
        folded
    }
}

impl Family {
    fn value<'l>(&self, labels: &'l SeriesLabels, label: &str) -> Option<&'l str> {
        let at = self.labels.iter().position(|name| *name == label)?;
        labels.get(at).map(String::as_str)
    }

    fn write(&self, text: &mut String, series: &BTreeMap<SeriesLabels, SeriesSample>) {
        let name = format!("provost_{}", self.name);
        let (kind, unit) = match self.kind {
            FamilyKind::Counter => ("counter", false),
            FamilyKind::Gauge => ("gauge", false),
            FamilyKind::Histogram(_) => ("histogram", true),
        };
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if unit {
            let _ = writeln!(text, "# UNIT {name} seconds");
        }
        let _ = writeln!(text, "# HELP {name} {}", self.help);
        for (labels, sample) in series {
            self.write_sample(text, labels, sample);
        }
    }

    fn write_sample(&self, text: &mut String, labels: &SeriesLabels, sample: &SeriesSample) {
        let name = format!("provost_{}", self.name);
        let pairs: Vec<String> = self
            .labels
            .iter()
            .zip(labels)
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        let with = |more: Option<String>| {
            let all: Vec<String> = pairs.iter().cloned().chain(more).collect();
            match all.is_empty() {
                true => String::new(),
                false => format!("{{{}}}", all.join(",")),
            }
        };
        let suffix = match self.kind {
            FamilyKind::Counter => "_total",
            FamilyKind::Gauge | FamilyKind::Histogram(_) => "",
        };
        let _ = match sample {
            SeriesSample::Count(count) => writeln!(text, "{name}{suffix}{} {count}", with(None)),
            SeriesSample::Amount(millionths) => {
                writeln!(
                    text,
                    "{name}{suffix}{} {}",
                    with(None),
                    decimal(*millionths)
                )
            }
            SeriesSample::Histogram {
                below,
                count,
                micros,
            } => {
                let FamilyKind::Histogram(bounds) = self.kind else {
                    return;
                };
                for (bound, below) in bounds.iter().zip(below) {
                    let le = with(Some(format!("le=\"{bound:?}\"")));
                    let _ = writeln!(text, "{name}_bucket{le} {below}");
                }
                let le = with(Some("le=\"+Inf\"".to_owned()));
                let _ = writeln!(text, "{name}_bucket{le} {count}");
                let _ = writeln!(text, "{name}_sum{} {}", with(None), decimal(*micros));
                writeln!(text, "{name}_count{} {count}", with(None))
            }
        };
    }
}

/// Millionths as a decimal number.
fn decimal(millionths: u64) -> String {
    format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000)
}

fn escaped(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for letter in value.chars() {
        match letter {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            other => escaped.push(other),
        }
    }
    escaped
}
