//! Traces of runs as messages of OTLP.
//!
//! Owns what becomes of a span and a record there, for the file that is exported and for what is
//! sent. Sends nothing. INVARIANT: the same journal gives the same messages, and no secret that the
//! workspace knows stands in one.

use provost_plan::digest::{Digest, Domain, canonical};
use provost_run::read::spans::{
    Attributes, RunSpans, SpanContent, SpanKind, SpanRecord, SpanValue, TraceSpan, spans,
};
use provost_run::trace_parent::TraceParent;
use provost_wire::Redactor;

use crate::engine::EngineError;
use crate::history;
use crate::limits::EXPORT_CONTENT_BYTES_MAX;
use crate::store::Store;

mod message;
mod metrics;

use message::{
    OtlpAnyValue, OtlpAttribute, OtlpLink, OtlpRecord, OtlpResource, OtlpScope, OtlpSpan,
    OtlpStatus, OtlpValue, ResourceLogs, ResourceSpans, ScopeLogs, ScopeSpans,
};
pub(super) use message::{OtlpLogs, OtlpTraces};
pub(super) use metrics::{MeasuredSpans, MetricSpan, metrics};

/// The lines of a run in the JSON of the protocol: its spans, and what happened in them, if
/// anything did. Each is a whole message, so that a file of them is what a collector reads.
///
/// # Errors
/// [`EngineError`] if the journal cannot be read.
pub fn otlp_lines(store: &Store, run: &str) -> Result<Vec<String>, EngineError> {
    let mut told = OtlpBatch::of(store)?;
    let telling = Telling {
        redactor: &Redactor::new([]),
        content: SpanContent::None,
    };
    told.add(store, run, (0, u64::MAX), telling)?;
    let lines = [json(told.traces()), json(told.logs())];
    Ok(lines.into_iter().flatten().collect())
}

pub(super) fn json(message: Option<impl serde::Serialize>) -> Option<String> {
    serde_json::to_string(&message?).ok()
}

/// How runs are told.
#[derive(Clone, Copy)]
pub(super) struct Telling<'a> {
    /// What takes the secrets out that a workspace knows.
    pub(super) redactor: &'a Redactor,
    /// How much is told of what they were about.
    pub(super) content: SpanContent,
}

/// What is told of some runs of a store.
pub(super) struct OtlpBatch {
    store: String,
    spans: Vec<OtlpSpan>,
    records: Vec<OtlpRecord>,
    measured: MeasuredSpans,
}

impl OtlpBatch {
    /// One that tells nothing yet.
    pub(super) fn of(store: &Store) -> Result<Self, EngineError> {
        Ok(Self {
            store: store.name()?,
            spans: Vec::new(),
            records: Vec::new(),
            measured: MeasuredSpans::default(),
        })
    }

    /// Adds what the events of a run tell whose numbers are from the first to the last of `which`.
    /// Of a span that is its end, so that a span is told once it is over.
    pub(super) fn add(
        &mut self,
        store: &Store,
        run: &str,
        which: (u64, u64),
        telling: Telling<'_>,
    ) -> Result<(), EngineError> {
        let (first, last) = which;
        let mut events = history::events(store, run)?;
        events.truncate(usize::try_from(last).unwrap_or(usize::MAX));
        let told = spans(&self.store, run, &events, telling.content);
        let of_run = OfRun {
            told: &told,
            run,
            redactor: telling.redactor,
        };
        for span in told.spans.iter().filter(|span| span.end >= first) {
            self.measured.add(span);
            self.spans.push(of_run.span(span));
        }
        let new = told.records.iter().filter(|record| record.seq >= first);
        self.records.extend(new.map(|record| of_run.record(record)));
        Ok(())
    }

    /// What its spans measure.
    pub(super) fn measured(&self) -> &MeasuredSpans {
        &self.measured
    }

    /// Its spans; none if there is none.
    pub(super) fn traces(&self) -> Option<OtlpTraces> {
        let spans = ScopeSpans {
            scope: Some(scope()),
            spans: self.spans.clone(),
        };
        let traces = OtlpTraces {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource(&self.store)),
                scope_spans: vec![spans],
            }],
        };
        (!self.spans.is_empty()).then_some(traces)
    }

    /// Its records; none if there is none.
    pub(super) fn logs(&self) -> Option<OtlpLogs> {
        let records = ScopeLogs {
            scope: Some(scope()),
            log_records: self.records.clone(),
        };
        let logs = OtlpLogs {
            resource_logs: vec![ResourceLogs {
                resource: Some(resource(&self.store)),
                scope_logs: vec![records],
            }],
        };
        (!self.records.is_empty()).then_some(logs)
    }
}

fn resource(store: &str) -> OtlpResource {
    let of = |key: &str, value: &str| attribute(key, OtlpValue::Text(value.to_owned()));
    OtlpResource {
        attributes: vec![
            of("service.name", "provost"),
            of("service.version", env!("CARGO_PKG_VERSION")),
            of("provost.store", store),
        ],
    }
}

fn scope() -> OtlpScope {
    OtlpScope {
        name: "provost".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn attribute(key: &str, value: OtlpValue) -> OtlpAttribute {
    OtlpAttribute {
        key: key.to_owned(),
        value: Some(OtlpAnyValue { value: Some(value) }),
    }
}

fn link(place: &TraceParent) -> OtlpLink {
    OtlpLink {
        trace_id: place.trace.to_vec(),
        span_id: place.span.to_vec(),
    }
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)
}

/// What is told of one run.
struct OfRun<'a> {
    told: &'a RunSpans,
    run: &'a str,
    redactor: &'a Redactor,
}

impl OfRun<'_> {
    fn span(&self, span: &TraceSpan) -> OtlpSpan {
        let parent = span.parent.as_ref();
        OtlpSpan {
            trace_id: self.told.trace.0.to_vec(),
            span_id: span.id.0.to_vec(),
            parent_span_id: parent.map_or_else(Vec::new, |parent| parent.0.to_vec()),
            name: self.redactor.redact_text(&span.name),
            kind: match span.kind {
                SpanKind::Internal => 1,
                SpanKind::Client => 3,
            },
            start_time_unix_nano: nanos(span.begin_ms),
            end_time_unix_nano: nanos(span.end_ms),
            attributes: self.attributes(&span.attributes),
            links: span.link.iter().map(link).collect(),
            status: span.error.as_ref().map(|_| OtlpStatus { code: 2 }),
        }
    }

    fn record(&self, record: &SpanRecord) -> OtlpRecord {
        OtlpRecord {
            time_unix_nano: nanos(record.at_ms),
            severity_number: 9,
            attributes: self.attributes(&record.attributes),
            trace_id: self.told.trace.0.to_vec(),
            span_id: record.span.0.to_vec(),
            observed_time_unix_nano: nanos(record.at_ms),
            event_name: record.name.clone(),
        }
    }

    fn attributes(&self, own: &Attributes) -> Vec<OtlpAttribute> {
        let run = OtlpValue::Text(self.run.to_owned());
        let mut all = vec![attribute("provost.run.id", run)];
        for (key, value) in own {
            let value = match value {
                SpanValue::Text(text) => OtlpValue::Text(self.redactor.redact_text(text)),
                SpanValue::Number(n) => OtlpValue::Number(i64::try_from(*n).unwrap_or(i64::MAX)),
                SpanValue::Flag(flag) => OtlpValue::Flag(*flag),
                SpanValue::Content(value) => {
                    let shown = self.redactor.redact_value(value.clone());
                    let (text, digest) = cut(canonical(&shown));
                    let digest = digest
                        .map(|digest| attribute(&format!("{key}.digest"), OtlpValue::Text(digest)));
                    all.extend(digest);
                    OtlpValue::Text(text)
                }
            };
            all.push(attribute(key, value));
        }
        all
    }
}

/// A text of at most so many bytes as are sent; where it was longer, with its digest. Why after
/// secrets are taken out: half of one would not be found, and a digest would confirm a guess.
fn cut(mut text: String) -> (String, Option<String>) {
    if text.len() <= EXPORT_CONTENT_BYTES_MAX {
        return (text, None);
    }
    let digest = Digest::of_bytes(Domain::Trace, text.as_bytes()).to_string();
    let most = text.floor_char_boundary(EXPORT_CONTENT_BYTES_MAX);
    text.truncate(most);
    text.push('…');
    (text, Some(digest))
}
