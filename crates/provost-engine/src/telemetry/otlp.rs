//! Traces of runs in the JSON form of OTLP.
//!
//! Owns that form. Sends nothing. INVARIANT: a line is a whole message, so a file of them is what a
//! collector reads, and it is the same bytes for the same journal.

use provost_run::read::spans::{
    Attributes, RunSpans, SpanKind, SpanRecord, SpanValue, TraceSpan, spans,
};
use serde_json::{Value, json};

use crate::engine::EngineError;
use crate::history;
use crate::store::Store;

/// The lines of a run: its spans, and what happened in them, if anything did.
///
/// # Errors
/// [`EngineError`] if the journal cannot be read.
pub fn otlp_lines(store: &Store, run: &str) -> Result<Vec<String>, EngineError> {
    let name = store.name()?;
    let events = history::events(store, run)?;
    let told = spans(&name, run, &events);
    let resource = json!({ "attributes": [
        attribute("service.name", &SpanValue::Text("provost".to_owned())),
        attribute("service.version", &SpanValue::Text(env!("CARGO_PKG_VERSION").to_owned())),
        attribute("provost.store", &SpanValue::Text(name)),
    ]});
    let scope = json!({ "name": "provost", "version": env!("CARGO_PKG_VERSION") });
    let of_run = ("provost.run.id", SpanValue::Text(run.to_owned()));
    let all: Vec<Value> = told
        .spans
        .iter()
        .map(|one| span(&told, one, &of_run))
        .collect();
    let mut lines = vec![
        json!({ "resourceSpans": [
            { "resource": resource, "scopeSpans": [{ "scope": scope, "spans": all }] },
        ]})
        .to_string(),
    ];
    if !told.records.is_empty() {
        let all: Vec<Value> = told
            .records
            .iter()
            .map(|one| record(&told, one, &of_run))
            .collect();
        let logs = json!({ "resourceLogs": [
            { "resource": resource, "scopeLogs": [{ "scope": scope, "logRecords": all }] },
        ]});
        lines.push(logs.to_string());
    }
    Ok(lines)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Why a text: JSON has no whole numbers of 64 bits.
fn nanos(ms: i64) -> String {
    (i128::from(ms.max(0)) * 1_000_000).to_string()
}

fn attribute(key: &str, value: &SpanValue) -> Value {
    let value = match value {
        SpanValue::Text(text) => json!({ "stringValue": text }),
        SpanValue::Number(number) => json!({ "intValue": number.to_string() }),
        SpanValue::Flag(flag) => json!({ "boolValue": flag }),
    };
    json!({ "key": key, "value": value })
}

fn attributes(of_run: &(&'static str, SpanValue), own: &Attributes) -> Vec<Value> {
    let all = std::iter::once(of_run).chain(own);
    all.map(|(key, value)| attribute(key, value)).collect()
}

fn span(told: &RunSpans, span: &TraceSpan, of_run: &(&'static str, SpanValue)) -> Value {
    let mut shown = json!({
        "traceId": hex(&told.trace.0),
        "spanId": hex(&span.id.0),
        "name": span.name,
        // As the protocol numbers them.
        "kind": match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Client => 3,
        },
        "startTimeUnixNano": nanos(span.begin_ms),
        "endTimeUnixNano": nanos(span.end_ms),
        "attributes": attributes(of_run, &span.attributes),
        "status": match span.error {
            Some(_) => json!({ "code": 2 }),
            None => json!({}),
        },
    });
    if let (Some(parent), Value::Object(map)) = (&span.parent, &mut shown) {
        map.insert("parentSpanId".to_owned(), hex(&parent.0).into());
    }
    shown
}

fn record(told: &RunSpans, record: &SpanRecord, of_run: &(&'static str, SpanValue)) -> Value {
    json!({
        "traceId": hex(&told.trace.0),
        "spanId": hex(&record.span.0),
        "timeUnixNano": nanos(record.at_ms),
        "observedTimeUnixNano": nanos(record.at_ms),
        // Informational, as the protocol numbers it.
        "severityNumber": 9,
        "eventName": record.name,
        "attributes": attributes(of_run, &record.attributes),
    })
}
