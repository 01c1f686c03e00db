//! OpenAPI 3.0 and 3.1: what a document says of an HTTP API, as entries of a tool of kind `http`.
//!
//! Owns reading the document. Calls nothing, and decides nothing: it proposes, with a reason beside
//! each guess, and a person commits what they believe. INVARIANT: what an entry would send wrongly
//! is left out and said to be; an effect that the document does not settle is `destructive`.

use serde_json::Value;

mod entries;
mod operation;
mod request;
mod schemas;

use operation::ImportedOperation;
use schemas::ApiDocument;

/// What to propose from an OpenAPI document, and under which name.
#[derive(Clone, Debug)]
pub struct ImportRequest<'a> {
    /// The name that the tool gets in `provost.toml`.
    pub tool: &'a str,
    /// Where the document came from, as a person calls it.
    pub source: &'a str,
    /// The address of the API; without it the first server of the document.
    pub base_url: Option<&'a str>,
    /// Ids of operations and tags; every operation if there are none.
    pub only: &'a [String],
    /// The name of the secret that is its bearer token; without it the document says how a caller
    /// names itself.
    pub bearer: Option<&'a str>,
}

/// Entries that a person reads, corrects and commits.
#[derive(Clone, Debug, Default)]
pub struct Proposal {
    /// The entries as TOML, to be appended to `provost.toml`.
    pub entries: String,
    /// JSON Schemas that the entries name, by path below the workspace.
    pub schemas: Vec<(String, Value)>,
    /// How many operations the entries have.
    pub operations: usize,
    /// The operations that have no entry, by method and path, and why.
    pub left_out: Vec<(String, String)>,
}

/// A document from which nothing can be proposed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenApiError {
    /// It is no OpenAPI document.
    #[error("it is no OpenAPI document: it has no text `openapi`")]
    NotOpenApi,
    /// It is written for a version that is not supported.
    #[error("it is of version {found}; 3.0 and 3.1 are read")]
    Version {
        /// The value of `openapi` or `swagger` in the document.
        found: String,
    },
    /// It names no server, and the caller named none either.
    #[error("it names no server with a whole address")]
    NoServer,
    /// None of its operations can be used, or none was selected.
    #[error("none of its operations can be called; {left_out} were left out")]
    Nothing {
        /// How many of the selected operations cannot be used.
        left_out: usize,
    },
    /// None of its operations has a name or a tag that was selected.
    #[error(
        "it has no operation and no tag `{}`; its operations are {}",
        wanted.join("`, `"),
        known.join(", ")
    )]
    NotThere {
        /// What was selected.
        wanted: Vec<String>,
        /// The first of the names that its operations have.
        known: Vec<String>,
    },
}

/// How many names of operations are told where none of them was selected.
const KNOWN_MAX: usize = 20;

/// Proposes entries for the operations of an OpenAPI document.
///
/// # Errors
/// [`OpenApiError`] if it is no such document, or nothing of it can be used.
pub fn propose(document: &Value, wanted: &ImportRequest<'_>) -> Result<Proposal, OpenApiError> {
    let document = ApiDocument::of(document)?;
    let base = match wanted.base_url {
        Some(url) => url.trim_end_matches('/').to_owned(),
        None => document.server().ok_or(OpenApiError::NoServer)?,
    };
    let mut names = operation::OperationNames::default();
    let mut found: Vec<ImportedOperation<'_>> = Vec::new();
    let mut left_out = Vec::new();
    for listed in operation::listed(&document) {
        if !listed.is_selected(wanted.only) {
            continue;
        }
        match listed.read(&document, &mut names) {
            Ok(operation) => found.push(operation),
            Err(reason) => left_out.push((listed.title(), reason)),
        }
    }
    if found.is_empty() && left_out.is_empty() && !wanted.only.is_empty() {
        let known = operation::listed(&document)
            .into_iter()
            .filter_map(|listed| listed.id());
        return Err(OpenApiError::NotThere {
            wanted: wanted.only.to_vec(),
            known: known.take(KNOWN_MAX).map(|id| format!("`{id}`")).collect(),
        });
    }
    if found.is_empty() {
        let left_out = left_out.len();
        return Err(OpenApiError::Nothing { left_out });
    }
    let (entries, schemas) = entries::write(&document, wanted, &base, &found);
    Ok(Proposal {
        entries,
        schemas,
        operations: found.len(),
        left_out,
    })
}
