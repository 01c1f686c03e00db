//! Findings as SARIF 2.1.0, which code hosts and editors read.
//!
//! Owns the mapping of a finding to a SARIF result. Never decides what a finding is. INVARIANT: the
//! log is valid under the schema of the standard, and what was not looked at stands in it.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity};
use crate::digest::{Digest, Domain};
use crate::fix::{AppliedFix, Editor};
use crate::source::{Source, Span};

/// The schema of the standard.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
/// The name under which fingerprints are kept; a new way to make them gets a new one.
const FINGERPRINT: &str = "provostFinding/v2";

/// What a log tells of.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// The files that were looked at.
    pub files: &'a [FileReport<'a>],
    /// The version of the program.
    pub version: &'a str,
    /// How the command ends.
    pub exit_code: u8,
}

/// What a log tells of one file.
#[derive(Clone, Copy, Debug)]
pub struct FileReport<'a> {
    /// The text.
    pub source: &'a Source,
    /// What was found in it.
    pub diagnostics: &'a [Diagnostic],
    /// What was not looked at.
    pub not_checked: &'a [String],
}

/// The log of one check.
#[must_use]
pub fn to_sarif(report: &Report<'_>) -> Value {
    let found = report.files.iter().flat_map(|file| file.diagnostics);
    let mut codes: Vec<Code> = found.map(|finding| finding.code).collect();
    codes.sort_by_key(|code| code.as_str());
    codes.dedup();
    let mut results: Vec<Value> = Vec::new();
    for (index, file) in report.files.iter().enumerate() {
        let mut log = Log {
            source: file.source,
            index,
            editor: &Editor::new(file.source),
            codes: &codes,
            seen: BTreeMap::new(),
        };
        results.extend(file.diagnostics.iter().map(|finding| log.result(finding)));
    }
    let unseen = report.files.iter().flat_map(|file| file.not_checked);
    let unseen: Vec<Value> = unseen.map(|what| self::unseen(what)).collect();
    let artifact = |file: &FileReport<'_>| {
        json!({
            "location": { "uri": uri(&file.source.name) },
            "roles": ["analysisTarget"],
            "sourceLanguage": "yaml",
        })
    };
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "provost",
                "semanticVersion": report.version,
                "rules": codes.iter().map(|code| rule(*code)).collect::<Value>(),
                "notifications": [{
                    "id": "not-checked",
                    "name": "NotChecked",
                    "shortDescription": { "text": "something the check did not look at" },
                    "defaultConfiguration": { "level": "note" },
                }],
            }},
            "columnKind": "unicodeCodePoints",
            "artifacts": report.files.iter().map(artifact).collect::<Value>(),
            "invocations": [{
                "executionSuccessful": true,
                "exitCode": report.exit_code,
                "toolExecutionNotifications": unseen,
            }],
            "results": results,
        }],
    })
}

fn level(severity: Severity) -> &'static str {
    // Why: the words happen to be SARIF's own.
    severity.word()
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "name": code.name(),
        "shortDescription": { "text": code.title() },
        "fullDescription": { "text": code.finds() },
        "help": {
            "text": code.page(),
            "markdown": code.page(),
        },
        "defaultConfiguration": { "level": level(code.severity()) },
        "properties": { "tags": [code.family()] },
    })
}

fn unseen(what: &str) -> Value {
    json!({
        "descriptor": { "id": "not-checked", "index": 0 },
        "level": "note",
        "message": { "text": format!("not checked: {what}") },
    })
}

struct Log<'a> {
    source: &'a Source,
    /// Its place among the artifacts.
    index: usize,
    editor: &'a Editor<'a>,
    codes: &'a [Code],
    /// How often a finding came before, for its fingerprint.
    seen: BTreeMap<(Code, String), u64>,
}

impl Log<'_> {
    fn result(&mut self, finding: &Diagnostic) -> Value {
        let mut text = finding.message.clone();
        if let Some(label) = &finding.label {
            text.push_str(&format!(" ({label})"));
        }
        for note in &finding.notes {
            text.push_str(&format!("\nnote: {note}"));
        }
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        let mut location = self.location(finding.span);
        if let (Some(step), Value::Object(map)) = (&finding.step, &mut location) {
            let logical = json!([{ "name": step, "fullyQualifiedName": format!("steps.{step}"),
                                   "kind": "object" }]);
            map.insert("logicalLocations".to_owned(), logical);
        }
        let mut result = Map::new();
        let mut put = |key: &str, value: Value| result.insert(key.to_owned(), value);
        put("ruleId", json!(finding.code));
        let index = self.codes.iter().position(|code| *code == finding.code);
        put("ruleIndex", json!(index));
        put("level", json!(level(finding.severity())));
        put("message", json!({ "text": text }));
        put("locations", json!([location]));
        if !finding.related.is_empty() {
            let related = finding.related.iter().enumerate().map(|(at, related)| {
                let mut location = self.location(related.span);
                if let Value::Object(map) = &mut location {
                    map.insert("id".to_owned(), json!(at + 1));
                    map.insert("message".to_owned(), json!({ "text": related.label }));
                }
                location
            });
            put("relatedLocations", related.collect());
        }
        if let Some(fix) = self.editor.fix(finding) {
            put("fixes", json!([self.fix(&fix)]));
        }
        put("partialFingerprints", self.fingerprint(finding));
        Value::Object(result)
    }

    fn location(&self, span: Span) -> Value {
        json!({ "physicalLocation": {
            "artifactLocation": self.artifact(),
            "region": self.region(span),
        }})
    }

    fn artifact(&self) -> Value {
        json!({ "uri": uri(&self.source.name), "index": self.index })
    }

    fn region(&self, span: Span) -> Value {
        let (start_line, start_column) = self.source.position(span.start);
        let (end_line, end_column) = self.source.position(span.end);
        json!({ "startLine": start_line, "startColumn": start_column,
                "endLine": end_line, "endColumn": end_column })
    }

    fn fix(&self, fix: &AppliedFix) -> Value {
        let replacements = fix.edits.iter().map(|edit| {
            json!({ "deletedRegion": self.region(edit.span),
                    "insertedContent": { "text": edit.text } })
        });
        json!({
            "description": { "text": fix.title },
            "artifactChanges": [{
                "artifactLocation": self.artifact(),
                "replacements": replacements.collect::<Value>(),
            }],
        })
    }

    /// Of what is found and in which step, but not of its line: it stays when text moves.
    fn fingerprint(&mut self, finding: &Diagnostic) -> Value {
        let count = self
            .seen
            .entry((finding.code, finding.message.clone()))
            .or_default();
        let nth = *count;
        *count += 1;
        let of = json!({ "file": &*self.source.name, "code": finding.code,
                         "message": finding.message, "step": finding.step, "nth": nth });
        json!({ FINGERPRINT: Digest::of_value(Domain::Finding, &of).hex() })
    }
}

/// A path as a reference by RFC 3986: what is not plain is percent-encoded.
fn uri(name: &str) -> String {
    let mut out = String::new();
    if name.starts_with('/') {
        out.push_str("file://");
    }
    for byte in name.replace('\\', "/").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::uri;

    #[test]
    fn names_become_references() {
        for (name, reference) in [
            ("plans/a.yaml", "plans/a.yaml"),
            ("/tmp/my plan.yaml", "file:///tmp/my%20plan.yaml"),
            ("<playbook é>", "%3Cplaybook%20%C3%A9%3E"),
            ("c:/a#b?", "c%3A/a%23b%3F"),
        ] {
            assert_eq!(uri(name), reference);
        }
    }
}
