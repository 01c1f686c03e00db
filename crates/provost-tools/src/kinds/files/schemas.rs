//! The types of the built-in file operations.
//!
//! Owns input and output schemas and the words planners read about them. INVARIANT: what an
//! operation returns always fits the output schema given here.

use serde_json::{Value, json};

use super::settings::FilesVerb;
use crate::limits::{
    FILES_SHOWN_MAX, GLOB_BYTES_MAX, GROUPS_SHOWN_MAX, MATCHES_MAX, PATH_BYTES_MAX,
};

/// What a planner reads about the operation.
pub(super) fn description(verb: FilesVerb) -> &'static str {
    match verb {
        FilesVerb::List => "lists the files below the root, all or those that fit `glob`",
        FilesVerb::Read => "reads one text file",
        FilesVerb::Write => "writes one text file whole; its folder must exist",
        FilesVerb::Edit => {
            "replaces `old`, which must stand exactly once in one text file, by `new`"
        }
        FilesVerb::Folder => "makes one folder; the folder around it must exist",
        FilesVerb::Append => {
            "adds text at the end of one file, or begins it; its folder must exist"
        }
        FilesVerb::Move => "moves one file below the root; nothing may stand where it goes",
        FilesVerb::Delete => "deletes one file below the root",
        FilesVerb::Search => {
            "searches the files that fit `glob`. With `where`, `since`, `until`, `new_since` or \
             `group_by` every line is one JSON record: `where` holds conditions that all apply, \
             `since` is inclusive and `until` exclusive, `group_by` counts the records for each \
             value of a field with the first and last time, and `new_since` keeps only the groups \
             that never occur before that time; with `rise_by`, those too that come at least so \
             many times as often since then. Without them `contains` finds lines of text; \
             `match = \"all\"` then keeps the files in which every text occurs"
        }
    }
}

pub(super) fn input(verb: FilesVerb) -> Value {
    let path = json!({"type": "string", "minLength": 1, "maxLength": PATH_BYTES_MAX});
    let glob = json!({
        "type": "string", "minLength": 1, "maxLength": GLOB_BYTES_MAX,
        "description": "`*` and `?` within a name, `**` for any folders",
    });
    match verb {
        FilesVerb::List => closed(&json!({"glob": glob}), &[]),
        FilesVerb::Read | FilesVerb::Delete | FilesVerb::Folder => {
            closed(&json!({"path": path}), &["path"])
        }
        FilesVerb::Edit => closed(
            &json!({
                "path": path,
                "old": {"type": "string", "minLength": 1},
                "new": {"type": "string"},
            }),
            &["path", "old", "new"],
        ),
        FilesVerb::Move => closed(&json!({"path": path, "to": path}), &["path", "to"]),
        FilesVerb::Write | FilesVerb::Append => closed(
            &json!({"path": path, "text": {"type": "string"}}),
            &["path", "text"],
        ),
        FilesVerb::Search => search_input(&glob),
    }
}

fn search_input(glob: &Value) -> Value {
    let text = json!({"type": "string", "minLength": 1, "maxLength": 1_000});
    let field = json!({"type": "string", "minLength": 1, "maxLength": 200});
    let time = json!({"type": "string", "format": "date-time"});
    let condition = closed(
        &json!({
            "field": field,
            "op": {"enum": ["==", "!=", "<", "<=", ">", ">=", "contains", "exists"]},
            "value": {"type": ["string", "number", "boolean"]},
        }),
        &["field", "op"],
    );
    closed(
        &json!({
            "glob": glob,
            "contains": {"anyOf": [
                text,
                {"type": "array", "items": text, "minItems": 1, "maxItems": 50},
            ]},
            "match": {"enum": ["any", "all"], "description": "of several texts; default `any`"},
            "ignore_case": {"type": "boolean"},
            "where": {"type": "array", "items": condition, "maxItems": 20},
            "since": time,
            "until": time,
            "new_since": time,
            "rise_by": {"type": "number", "exclusiveMinimum": 1, "maximum": 1_000},
            "time_field": {"type": "string", "minLength": 1, "description": "default `ts`"},
            "group_by": field,
            "limit": {"type": "integer", "minimum": 0, "maximum": MATCHES_MAX},
        }),
        &["glob"],
    )
}

pub(super) fn output(verb: FilesVerb) -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    match verb {
        FilesVerb::List => {
            let file = closed(
                &json!({"path": {"type": "string"}, "bytes": count}),
                &["path", "bytes"],
            );
            closed(
                &json!({"files": {"type": "array", "items": file}}),
                &["files"],
            )
        }
        FilesVerb::Read => closed(
            &json!({"path": {"type": "string"}, "text": {"type": "string"}, "bytes": count}),
            &["path", "text", "bytes"],
        ),
        FilesVerb::Write | FilesVerb::Append => closed(
            &json!({"path": {"type": "string"}, "bytes": count, "created": {"type": "boolean"}}),
            &["path", "bytes", "created"],
        ),
        FilesVerb::Edit => closed(
            &json!({
                "path": {"type": "string"},
                "bytes": count,
                "line": {"type": "integer", "minimum": 1},
            }),
            &["path", "bytes", "line"],
        ),
        FilesVerb::Folder => closed(
            &json!({"path": {"type": "string"}, "created": {"type": "boolean"}}),
            &["path", "created"],
        ),
        FilesVerb::Move => closed(
            &json!({"path": {"type": "string"}, "to": {"type": "string"}, "bytes": count}),
            &["path", "to", "bytes"],
        ),
        FilesVerb::Delete => closed(
            &json!({"path": {"type": "string"}, "bytes": count}),
            &["path", "bytes"],
        ),
        FilesVerb::Search => search_output(&count),
    }
}

fn search_output(count: &Value) -> Value {
    let positive = json!({"type": "integer", "minimum": 1});
    let time = json!({"type": "string", "format": "date-time"});
    let group = closed(
        &json!({
            "value": {"type": "string"},
            "count": positive,
            "before": {"type": "integer", "minimum": 0, "description": "before `new_since`"},
            "first": time,
            "last": time,
        }),
        &["value", "count", "before", "first", "last"],
    );
    let found = closed(
        &json!({"file": {"type": "string"}, "line": positive, "text": {"type": "string"}}),
        &["file", "line", "text"],
    );
    let file = closed(
        &json!({"file": {"type": "string"}, "count": positive, "found": count}),
        &["file", "count", "found"],
    );
    closed(
        &json!({
            "total": count,
            "groups": {"type": "array", "items": group, "maxItems": GROUPS_SHOWN_MAX},
            "distinct": count,
            "matches": {"type": "array", "items": found, "maxItems": MATCHES_MAX},
            "files": {"type": "array", "items": file, "maxItems": FILES_SHOWN_MAX},
            "searched": {"type": "integer", "minimum": 1, "description": "files"},
            "lines": count,
            "skipped": {"type": "integer", "minimum": 0, "description": "unreadable lines"},
            "ungrouped": count,
            "truncated": {"type": "boolean"},
        }),
        &[
            "total",
            "groups",
            "distinct",
            "matches",
            "files",
            "searched",
            "lines",
            "skipped",
            "ungrouped",
            "truncated",
        ],
    )
}

fn closed(properties: &Value, required: &[&str]) -> Value {
    json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}
