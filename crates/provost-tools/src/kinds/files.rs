//! Files below a root: list, read, search, write, edit, append, move, delete; and new folders.
//!
//! Owns the tool kind `files`. Every path is opened folder by folder from the root's own handle,
//! following no symbolic link, so there is no path that leaves the root and no moment at which
//! one could be swapped in. INVARIANT: a file that governs the workspace or holds a key is never
//! opened, under whatever name.
//!
//! Mapping (class × landing):
//!
//! | what happened | class | landing |
//! |---|---|---|
//! | a result, or a file that was written, grew, moved or went, and synced | `ok` | happened |
//! | the root is missing or cannot be read | `unavailable` | none |
//! | the root leads to another folder than when the workspace was opened | `drift` | none |
//! | no such file or folder, or no file fits `glob` | `not_found` | none |
//! | a path that leaves the root, a link, a protected file | `permission_denied` | none |
//! | a path or pattern that is none | `invalid_arguments` | none |
//! | what is to be written exists already, or a file has several names | `conflict` | none |
//! | the text to edit does not stand there once, or the file was changed meanwhile | `conflict` | none |
//! | a key that stands for another text or file | `conflict` | none |
//! | a key whose file others changed, so that it cannot be told | `conflict` | unknown |
//! | text that is no UTF-8, a result larger than `max_bytes` | `output_invalid` | happened |
//! | the time is over | `timeout` | none |
//! | the disk fails before a name was given or taken | `unavailable` | none |
//! | the disk fails after that | `unavailable` | unknown |

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use provost_run::outcome::Reply;
use provost_wire::Redactor;
use serde_json::{Value, json};

use crate::adapter::{Adapter, CallFuture};
use crate::deadline::{Deadline, blocking};
use crate::fault::{Fault, Request};
use crate::linked_path::LinkedPath;
use crate::protected_paths::ProtectedPaths;

mod append;
mod change;
mod glob;
mod instant;
mod path;
mod record;
mod root;
mod schemas;
mod search;
mod settings;
mod write;

pub(crate) use settings::FilesSettings;

use glob::Glob;
use path::RelativePath;
use root::OpenRoot;
use settings::{Action, FilesVerb};

/// An open files tool.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    place: Arc<RootPath>,
    actions: BTreeMap<String, Action>,
}

/// The root, by the name the operator gave it.
#[derive(Debug)]
pub(crate) struct RootPath {
    tool: String,
    shown: String,
    path: LinkedPath,
    protected: Arc<ProtectedPaths>,
}

impl Files {
    /// Opens the tool; an `Err` says which protected thing its root contains.
    pub(crate) fn open(
        tool: &str,
        settings: &FilesSettings,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Self, String> {
        let path = LinkedPath::open(protected.base(), &settings.root.value);
        if let Ok(real) = path.current()
            && let Some(name) = protected.reachable_from(&real)
        {
            return Err(name);
        }
        if let Some(name) = lexical(path.path()).and_then(|path| protected.overlapping(&path)) {
            return Err(name);
        }
        Ok(Self {
            place: Arc::new(RootPath {
                tool: tool.to_owned(),
                shown: settings.root.value.clone(),
                path,
                protected: Arc::clone(protected),
            }),
            actions: settings.actions.clone(),
        })
    }
}

impl Adapter for Files {
    fn trouble(&self) -> Option<String> {
        OpenRoot::open(&self.place).err().map(|fault| fault.message)
    }

    fn perform<'a>(&'a self, request: &'a Request, _: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async {
            let action = *request.find(&self.actions)?;
            let (timeout, place, request) =
                (request.timeout, Arc::clone(&self.place), request.clone());
            let work = move |deadline: &Deadline| {
                let root = OpenRoot::open(&place)?;
                match action.verb {
                    FilesVerb::List => list(&root, &request),
                    FilesVerb::Read => read(&root, &request),
                    FilesVerb::Search => search::search(&root, &request, deadline).map(json_reply),
                    FilesVerb::Write => {
                        write::write(&root, &request, action.overwrite).map(json_reply)
                    }
                    FilesVerb::Edit => write::edit(&root, &request).map(json_reply),
                    FilesVerb::Folder => write::make_folder(&root, &request).map(json_reply),
                    FilesVerb::Append => append::append(&root, &request, deadline).map(json_reply),
                    FilesVerb::Move => change::rename(&root, &request).map(json_reply),
                    FilesVerb::Delete => change::delete(&root, &request).map(json_reply),
                }
            };
            Ok(blocking(timeout, work).await)
        })
    }
}

/// The path with `.` and `..` taken out by name, for a root that is not there yet.
fn lexical(path: &std::path::Path) -> Option<PathBuf> {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    Some(clean).filter(|clean| clean.is_absolute())
}

fn json_reply(output: Value) -> Reply {
    let evidence = output.to_string().into_bytes();
    Reply::ok(output, evidence, "application/json")
}

fn list(root: &OpenRoot<'_>, request: &Request) -> Result<Reply, Fault> {
    let glob = Glob::parse(request.text("glob").unwrap_or("**"))?;
    let files = root.walk(&glob)?;
    let files = files
        .iter()
        .map(|file| json!({"path": file.path, "bytes": file.bytes}))
        .collect::<Vec<_>>();
    Ok(json_reply(json!({"files": files})))
}

fn read(root: &OpenRoot<'_>, request: &Request) -> Result<Reply, Fault> {
    let path = RelativePath::of(request, "path")?;
    let max = request.operation.max_bytes;
    let bytes = root.read(&path, max)?;
    let Ok(text) = std::str::from_utf8(&bytes) else {
        let message = format!("`{}` is not text in UTF-8", path.shown());
        return Err(Fault::bad_output(message));
    };
    if text.contains('\0') {
        let message = format!("`{}` is not text: it holds zero bytes", path.shown());
        return Err(Fault::bad_output(message));
    }
    let output = json!({"path": path.shown(), "text": text, "bytes": bytes.len()});
    Ok(Reply::ok(output, bytes, "text/plain; charset=utf-8"))
}
