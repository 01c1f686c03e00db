//! The messages of OTLP 1 that are written: their fields, numbers and JSON names.
//!
//! Owns both codings of one value: protobuf by the numbers here, and the protocol's own JSON, in
//! which ids are hexadecimal and whole numbers of 64 bits are texts. Knows no run. INVARIANT: a
//! number of a field never changes; the published definition is `opentelemetry-proto` 1.

use prost::{Message, Oneof};
use serde::{Serialize, Serializer};

/// Spans of any number of resources: the body of a request to `/v1/traces`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::telemetry) struct OtlpTraces {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

/// Records of any number of resources: the body of a request to `/v1/logs`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::telemetry) struct OtlpLogs {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct OtlpResource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<OtlpAttribute>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct OtlpScope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<OtlpSpan>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) log_records: Vec<OtlpRecord>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpSpan {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "hex")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "hex")]
    pub(super) span_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    #[serde(serialize_with = "hex", skip_serializing_if = "Vec::is_empty")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    /// 1 is internal, 3 is a client.
    #[prost(int32, tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    #[serde(serialize_with = "digits")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    #[serde(serialize_with = "digits")]
    pub(super) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<OtlpAttribute>,
    #[prost(message, repeated, tag = "13")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) links: Vec<OtlpLink>,
    #[prost(message, optional, tag = "15")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<OtlpStatus>,
}

/// A span of another trace.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpLink {
    #[prost(bytes = "vec", tag = "1")]
    #[serde(serialize_with = "hex")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    #[serde(serialize_with = "hex")]
    pub(super) span_id: Vec<u8>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct OtlpStatus {
    /// 2 is an error.
    #[prost(int32, tag = "3")]
    pub(super) code: i32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpRecord {
    #[prost(fixed64, tag = "1")]
    #[serde(serialize_with = "digits")]
    pub(super) time_unix_nano: u64,
    /// 9 is informational.
    #[prost(int32, tag = "2")]
    pub(super) severity_number: i32,
    #[prost(message, repeated, tag = "6")]
    pub(super) attributes: Vec<OtlpAttribute>,
    #[prost(bytes = "vec", tag = "9")]
    #[serde(serialize_with = "hex")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    #[serde(serialize_with = "hex")]
    pub(super) span_id: Vec<u8>,
    #[prost(fixed64, tag = "11")]
    #[serde(serialize_with = "digits")]
    pub(super) observed_time_unix_nano: u64,
    #[prost(string, tag = "12")]
    pub(super) event_name: String,
}

/// Metrics of any number of resources: the body of a request to `/v1/metrics`.
#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::telemetry) struct OtlpMetrics {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_metrics: Vec<ResourceMetrics>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<OtlpResource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<OtlpScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) metrics: Vec<OtlpMetric>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct OtlpMetric {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) description: String,
    #[prost(string, tag = "3")]
    pub(super) unit: String,
    #[prost(oneof = "OtlpMetricData", tags = "5, 7, 9")]
    #[serde(flatten)]
    pub(super) data: Option<OtlpMetricData>,
}

#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum OtlpMetricData {
    #[prost(message, tag = "5")]
    Gauge(OtlpGauge),
    #[prost(message, tag = "7")]
    Sum(OtlpSum),
    #[prost(message, tag = "9")]
    Histogram(OtlpHistogram),
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpGauge {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<OtlpPoint>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpSum {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<OtlpPoint>,
    /// 2 is since the beginning.
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    pub(super) is_monotonic: bool,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpHistogram {
    #[prost(message, repeated, tag = "1")]
    pub(super) data_points: Vec<OtlpHistogramPoint>,
    /// 2 is since the beginning.
    #[prost(int32, tag = "2")]
    pub(super) aggregation_temporality: i32,
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpPoint {
    #[prost(fixed64, tag = "2")]
    #[serde(serialize_with = "digits")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    #[serde(serialize_with = "digits")]
    pub(super) time_unix_nano: u64,
    #[prost(oneof = "OtlpNumber", tags = "4, 6")]
    #[serde(flatten)]
    pub(super) value: Option<OtlpNumber>,
    #[prost(message, repeated, tag = "7")]
    pub(super) attributes: Vec<OtlpAttribute>,
}

#[derive(Clone, PartialEq, Oneof, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum OtlpNumber {
    #[prost(double, tag = "4")]
    AsDouble(f64),
    #[prost(sfixed64, tag = "6")]
    AsInt(#[serde(serialize_with = "digits")] i64),
}

#[derive(Clone, PartialEq, Message, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OtlpHistogramPoint {
    #[prost(fixed64, tag = "2")]
    #[serde(serialize_with = "digits")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    #[serde(serialize_with = "digits")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    #[serde(serialize_with = "digits")]
    pub(super) count: u64,
    #[prost(double, optional, tag = "5")]
    pub(super) sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    #[serde(serialize_with = "all_digits")]
    pub(super) bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    pub(super) explicit_bounds: Vec<f64>,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<OtlpAttribute>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct OtlpAttribute {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<OtlpAnyValue>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub(super) struct OtlpAnyValue {
    #[prost(oneof = "OtlpValue", tags = "1, 2, 3")]
    #[serde(flatten)]
    pub(super) value: Option<OtlpValue>,
}

#[derive(Clone, PartialEq, Oneof, Serialize)]
pub(super) enum OtlpValue {
    #[prost(string, tag = "1")]
    #[serde(rename = "stringValue")]
    Text(String),
    #[prost(bool, tag = "2")]
    #[serde(rename = "boolValue")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    #[serde(rename = "intValue")]
    Number(#[serde(serialize_with = "digits")] i64),
}

/// Bytes as the protocol's JSON has ids: not base64, as protobuf's JSON would.
fn hex<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    to.serialize_str(&text)
}

/// Why a text: JSON has no whole numbers of 64 bits.
fn digits<S: Serializer>(number: &impl ToString, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&number.to_string())
}

fn all_digits<S: Serializer>(numbers: &[u64], to: S) -> Result<S::Ok, S::Error> {
    to.collect_seq(numbers.iter().map(u64::to_string))
}
