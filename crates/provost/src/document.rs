//! A file somebody names: a plan, a saved plan or a playbook.
//!
//! Owns reading it under a limit and telling what it is. Judges nothing inside it.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use provost_engine::bundle::{BUNDLE_SCHEMA, Bundle};
use provost_plan::limits::SOURCE_BYTES_MAX;
use provost_plan::node::{Kind, parse_yaml};
use provost_plan::source::Source;

use crate::failure::Failure;

/// The marker of a playbook.
const PLAYBOOK_SCHEMA: &str = "provost/playbook/v1";

/// A file that was read.
#[derive(Debug)]
pub enum Document {
    /// A plan, or something that claims to be nothing else.
    Plan(Source),
    /// A plan that `plan -o` saved.
    Bundle(Box<Bundle>, Source),
    /// A playbook.
    Playbook(Source),
}

impl Document {
    /// Reads the file at `path`.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        Self::of(Source::new(path.to_string_lossy(), text(path)?))
    }

    /// Tells what a text is that was read, or is not saved yet.
    pub fn of(source: Source) -> Result<Self, Failure> {
        let schema =
            parse_yaml(&source.text)
                .ok()
                .and_then(|node| match &node.get("schema")?.kind {
                    Kind::Text(schema) => Some(schema.clone()),
                    _ => None,
                });
        match schema.as_deref() {
            Some(BUNDLE_SCHEMA) => {
                let bundle = bundle(&source)?;
                Ok(Self::Bundle(Box::new(bundle), source))
            }
            Some(PLAYBOOK_SCHEMA) => Ok(Self::Playbook(source)),
            // Why: whatever else is wrong with it, the reader of plans says where.
            _ => Ok(Self::Plan(source)),
        }
    }
}

/// The text of a file.
pub fn text(path: &Path) -> Result<String, Failure> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error)))
            .hint("a path is relative to the current directory, or starts with `/`")
    };
    let mut bytes = Vec::new();
    let limit = SOURCE_BYTES_MAX as u64 + 1;
    let file = File::open(path).map_err(unreadable)?;
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > SOURCE_BYTES_MAX {
        return Err(Failure::usage(format!(
            "`{shown}` is larger than the {SOURCE_BYTES_MAX} bytes that a plan may have"
        ))
        .hint("keep data out of a plan: let a step read it"));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::usage(format!("`{shown}` is not text: byte {at} is not UTF-8"))
            .hint("a plan is YAML or JSON, in UTF-8")
    })?;
    if text.trim().is_empty() {
        return Err(Failure::usage(format!("`{shown}` is empty"))
            .hint("a plan begins with `schema: provost/plan/v1`"));
    }
    Ok(text)
}

/// The system's word, without the number of the error.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = words.chars();
    let first = chars
        .next()
        .map(|c| c.to_lowercase().to_string())
        .unwrap_or_default();
    format!("{first}{}", chars.as_str())
}

fn bundle(source: &Source) -> Result<Bundle, Failure> {
    serde_json::from_str(&source.text).map_err(|error| {
        let place = match (error.line(), error.column()) {
            (0, _) => String::new(),
            (line, column) => format!(" at line {line}, column {column}"),
        };
        Failure::usage(format!(
            "the saved plan `{}` cannot be read{place}",
            source.name
        ))
        .hint("save it again: `provost plan \"GOAL\" -o FILE`")
    })
}
