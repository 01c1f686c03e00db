//! The series of a store, and what its spans measure, as metrics of OTLP.
//!
//! Owns their names there: those of the series with dots, and those of the GenAI conventions.
//! Counts nothing of a run itself. INVARIANT: every point is the sum since the beginning, so that
//! one that is sent twice, or not at all, falsifies no later one.

use std::collections::BTreeMap;

use provost_run::read::spans::{SpanValue, TraceSpan};
use provost_wire::Redactor;
use serde::{Deserialize, Serialize};

use super::message::{
    OtlpAttribute, OtlpGauge, OtlpHistogram, OtlpHistogramPoint, OtlpMetric, OtlpMetricData,
    OtlpMetrics, OtlpNumber, OtlpPoint, OtlpSum, OtlpValue, ResourceMetrics, ScopeMetrics,
};
use super::{attribute, nanos, resource, scope};
use crate::engine::EngineError;
use crate::store::Store;
use crate::telemetry::exposition::{DROPPED_HELP, Family, FamilyKind, SeriesSample};
use crate::telemetry::openmetrics::series;

/// The temporality of sums since the beginning.
const CUMULATIVE: i32 = 2;
/// Most series of what spans measure; beyond, their tool, planner or model is `other`.
const MEASURED_MAX: usize = 500;
/// As the conventions advise.
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];
/// As the conventions advise.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const TOKEN_USAGE: &str = "gen_ai.client.token.usage";

/// A metric of the conventions: the operation of the spans that it measures, its name, and the
/// attribute that says who or what it is about.
const MEASURES: [(&str, &str, &str); 3] = [
    (
        "invoke_workflow",
        "gen_ai.invoke_agent.duration",
        "gen_ai.agent.name",
    ),
    (
        "execute_tool",
        "gen_ai.execute_tool.duration",
        "gen_ai.tool.name",
    ),
    (
        "chat",
        "gen_ai.client.operation.duration",
        "gen_ai.request.model",
    ),
];

/// What the spans of a journal measured so far.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::telemetry) struct MeasuredSpans(Vec<MeasuredSeries>);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct MeasuredSeries {
    name: String,
    attributes: BTreeMap<String, String>,
    /// How many values lie in each bucket.
    buckets: Vec<u64>,
    /// Microseconds, or tokens.
    sum: u64,
}

impl MeasuredSpans {
    /// Adds a span that is over.
    pub(super) fn add(&mut self, span: &TraceSpan) {
        let of = |key: &str| {
            let found = span.attributes.iter().find(|(name, _)| *name == key);
            found.map(|(_, value)| value)
        };
        let Some(SpanValue::Text(operation)) = of("gen_ai.operation.name") else {
            return;
        };
        let measure = MEASURES.iter().find(|(kind, ..)| kind == operation);
        let Some((_, name, about)) = measure else {
            return;
        };
        let operation = ("gen_ai.operation.name".to_owned(), operation.clone());
        let mut attributes = BTreeMap::from([operation]);
        if let Some(SpanValue::Text(whom)) = of(about) {
            attributes.insert((*about).to_owned(), whom.clone());
        }
        for (key, kind) in [
            ("gen_ai.usage.input_tokens", "input"),
            ("gen_ai.usage.output_tokens", "output"),
        ] {
            if let Some(SpanValue::Number(count)) = of(key) {
                let mut attributes = attributes.clone();
                attributes.insert("gen_ai.token.type".to_owned(), kind.to_owned());
                self.put(TOKEN_USAGE, attributes, *count);
            }
        }
        if let Some(class) = &span.error {
            attributes.insert("error.type".to_owned(), class.clone());
        }
        let took = u64::try_from(span.end_ms - span.begin_ms).unwrap_or(0);
        self.put(name, attributes, took.saturating_mul(1_000));
    }

    /// Adds what others measured.
    pub(in crate::telemetry) fn merge(&mut self, other: &Self) {
        for series in &other.0 {
            self.change(&series.name, series.attributes.clone(), |mine| {
                let pairs = mine.buckets.iter_mut().zip(&series.buckets);
                pairs.for_each(|(mine, theirs)| *mine += theirs);
                mine.sum = mine.sum.saturating_add(series.sum);
            });
        }
    }

    fn put(&mut self, name: &str, attributes: BTreeMap<String, String>, value: u64) {
        let (bounds, unit) = form(name);
        let at = bounds
            .iter()
            .position(|bound| value as f64 / unit <= *bound);
        self.change(name, attributes, |series| {
            if let Some(bucket) = series.buckets.get_mut(at.unwrap_or(bounds.len())) {
                *bucket += 1;
            }
            series.sum = series.sum.saturating_add(value);
        });
    }

    fn change(
        &mut self,
        name: &str,
        mut attributes: BTreeMap<String, String>,
        change: impl FnOnce(&mut MeasuredSeries),
    ) {
        let is_known = self.0.iter().any(|one| one.is(name, &attributes));
        if !is_known && self.0.len() >= MEASURED_MAX {
            for (_, _, about) in MEASURES {
                if let Some(whom) = attributes.get_mut(about) {
                    "other".clone_into(whom);
                }
            }
        }
        if let Some(series) = self.0.iter_mut().find(|one| one.is(name, &attributes)) {
            return change(series);
        }
        let mut series = MeasuredSeries {
            name: name.to_owned(),
            attributes,
            buckets: vec![0; form(name).0.len() + 1],
            sum: 0,
        };
        change(&mut series);
        self.0.push(series);
    }
}

impl MeasuredSeries {
    fn is(&self, name: &str, attributes: &BTreeMap<String, String>) -> bool {
        self.name == name && self.attributes == *attributes
    }
}

/// The bounds of a metric, and how much of what is kept is one of its unit.
fn form(name: &str) -> (&'static [f64], f64) {
    match name == TOKEN_USAGE {
        true => (&TOKENS, 1.0),
        false => (&SECONDS, 1e6),
    }
}

/// Between which moments points count, and what takes secrets out of their attributes.
#[derive(Clone, Copy)]
pub(in crate::telemetry) struct MetricSpan<'a> {
    pub(in crate::telemetry) since_ms: i64,
    pub(in crate::telemetry) now_ms: i64,
    pub(in crate::telemetry) redactor: &'a Redactor,
}

/// All that is counted of a store, and what its spans measured.
pub(in crate::telemetry) fn metrics(
    store: &Store,
    measured: &MeasuredSpans,
    span: MetricSpan<'_>,
) -> Result<OtlpMetrics, EngineError> {
    let counted = series(store, span.now_ms)?.folded();
    let mut metrics: Vec<OtlpMetric> = counted
        .families
        .iter()
        .map(|(family, series)| span.family(family, series))
        .collect();
    let dropped = span.point(Vec::new(), OtlpNumber::AsInt(whole(counted.dropped as u64)));
    let dropped = sum(vec![dropped]);
    metrics.push(named("provost.series.dropped", DROPPED_HELP, "", dropped));
    metrics.extend(span.measured(measured));
    let scoped = ScopeMetrics {
        scope: Some(scope()),
        metrics,
    };
    Ok(OtlpMetrics {
        resource_metrics: vec![ResourceMetrics {
            resource: Some(resource(&store.name()?)),
            scope_metrics: vec![scoped],
        }],
    })
}

impl MetricSpan<'_> {
    fn family(self, family: &Family, series: &BTreeMap<Vec<String>, SeriesSample>) -> OtlpMetric {
        let (mut points, mut histograms) = (Vec::new(), Vec::new());
        for (values, sample) in series {
            let labels = family.labels.iter().zip(values);
            let attributes = labels
                .map(|(name, value)| self.label(name, value))
                .collect();
            match sample {
                SeriesSample::Count(count) => {
                    points.push(self.point(attributes, OtlpNumber::AsInt(whole(*count))));
                }
                SeriesSample::Amount(millionths) => {
                    let amount = *millionths as f64 / 1e6;
                    points.push(self.point(attributes, OtlpNumber::AsDouble(amount)));
                }
                SeriesSample::Histogram {
                    below,
                    count,
                    micros,
                } => {
                    let FamilyKind::Histogram(bounds) = family.kind else {
                        continue;
                    };
                    let all = below.iter().chain([count]);
                    let before = std::iter::once(&0).chain(below);
                    let buckets = all.zip(before).map(|(upto, before)| upto - before);
                    let sum = *micros as f64 / 1e6;
                    histograms.push(self.histogram(attributes, buckets.collect(), bounds, sum));
                }
            }
        }
        let (data, unit) = match family.kind {
            FamilyKind::Counter => (sum(points), ""),
            FamilyKind::Gauge => {
                let gauge = OtlpGauge {
                    data_points: points,
                };
                (OtlpMetricData::Gauge(gauge), "")
            }
            FamilyKind::Histogram(_) => (distribution(histograms), "s"),
        };
        let name = format!("provost.{}", family.name.replace('_', "."));
        named(&name, family.help, unit, data)
    }

    fn measured(self, measured: &MeasuredSpans) -> Vec<OtlpMetric> {
        let mut by_name: BTreeMap<&str, Vec<OtlpHistogramPoint>> = BTreeMap::new();
        for series in &measured.0 {
            let (bounds, unit) = form(&series.name);
            let attributes = series.attributes.iter();
            let attributes = attributes.map(|(name, value)| self.label(name, value));
            let sum = series.sum as f64 / unit;
            let buckets = series.buckets.clone();
            let point = self.histogram(attributes.collect(), buckets, bounds, sum);
            by_name.entry(&series.name).or_default().push(point);
        }
        let all = by_name.into_iter().map(|(name, points)| {
            let unit = if name == TOKEN_USAGE { "{token}" } else { "s" };
            named(name, "", unit, distribution(points))
        });
        all.collect()
    }

    fn label(self, name: &str, value: &str) -> OtlpAttribute {
        attribute(name, OtlpValue::Text(self.redactor.redact_text(value)))
    }

    fn point(self, attributes: Vec<OtlpAttribute>, value: OtlpNumber) -> OtlpPoint {
        OtlpPoint {
            start_time_unix_nano: nanos(self.since_ms),
            time_unix_nano: nanos(self.now_ms),
            value: Some(value),
            attributes,
        }
    }

    fn histogram(
        self,
        attributes: Vec<OtlpAttribute>,
        bucket_counts: Vec<u64>,
        bounds: &[f64],
        sum: f64,
    ) -> OtlpHistogramPoint {
        OtlpHistogramPoint {
            start_time_unix_nano: nanos(self.since_ms),
            time_unix_nano: nanos(self.now_ms),
            count: bucket_counts.iter().sum(),
            sum: Some(sum),
            bucket_counts,
            explicit_bounds: bounds.to_vec(),
            attributes,
        }
    }
}

fn named(name: &str, description: &str, unit: &str, data: OtlpMetricData) -> OtlpMetric {
    OtlpMetric {
        name: name.to_owned(),
        description: description.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
    }
}

fn sum(data_points: Vec<OtlpPoint>) -> OtlpMetricData {
    OtlpMetricData::Sum(OtlpSum {
        data_points,
        aggregation_temporality: CUMULATIVE,
        is_monotonic: true,
    })
}

fn distribution(data_points: Vec<OtlpHistogramPoint>) -> OtlpMetricData {
    OtlpMetricData::Histogram(OtlpHistogram {
        data_points,
        aggregation_temporality: CUMULATIVE,
    })
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
