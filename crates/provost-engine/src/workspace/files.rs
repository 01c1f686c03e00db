//! The files of a workspace: read under a limit, as text, or reported.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::SOURCE_BYTES_MAX;
use provost_plan::source::{Source, Span};
use provost_planner::Playbook;

use super::error::Collector;
use super::rules::PEOPLE_FILE;
use super::{CONFIG_FILE, LOCK_FILE, POLICIES_DIR};

/// How the names of playbooks end.
const PLAYBOOK_ENDS: &[&str] = &[".yaml", ".yml", ".json"];

/// Reads the text of a file; the finding if it is none. `Ok(None)` if there is no such file.
pub(super) fn read(root: &Path, name: &str) -> Result<Option<Source>, Box<Diagnostic>> {
    let unreadable = |error: io::Error| {
        let message = format!("the file cannot be read: {error}");
        Box::new(Diagnostic::new(
            Code::BadWorkspace,
            Span::default(),
            message,
        ))
    };
    let file = match fs::File::open(root.join(name)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(unreadable(io::Error::other("it is no plain file")));
    }
    let most = u64::try_from(SOURCE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() > SOURCE_BYTES_MAX {
        let message = format!("the file has more than the {SOURCE_BYTES_MAX} bytes allowed");
        return Err(Box::new(Diagnostic::new(
            Code::TooLarge,
            Span::default(),
            message,
        )));
    }
    match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => Ok(Some(Source::new(name, text))),
        _ => Err(Box::new(Diagnostic::new(
            Code::Syntax,
            Span::default(),
            "the file is not text in UTF-8",
        ))),
    }
}

/// [`read`], with the finding reported.
pub(super) fn optional(root: &Path, name: &str, found: &mut Collector) -> Option<Source> {
    match read(root, name) {
        Ok(source) => source,
        Err(diagnostic) => {
            found.add(&Source::new(name, ""), vec![*diagnostic]);
            None
        }
    }
}

/// [`optional`] for a file that must be there.
pub(super) fn required(root: &Path, name: &str, found: &mut Collector) -> Option<Source> {
    let before = found.is_empty();
    let source = optional(root, name, found);
    if source.is_none() && before == found.is_empty() {
        let message = "the file is not there";
        let diagnostic = Diagnostic::new(Code::BadWorkspace, Span::default(), message);
        found.add(&Source::new(name, ""), vec![diagnostic]);
    }
    source
}

/// The names of the files in `dir` whose names end in one of `ends`, in order; none if there is
/// no such directory.
pub(super) fn names(root: &Path, dir: &str, ends: &[&str], found: &mut Collector) -> Vec<String> {
    let entries = match fs::read_dir(root.join(dir)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let message = format!("the directory cannot be read: {error}");
            let diagnostic = Diagnostic::new(Code::BadWorkspace, Span::default(), message);
            found.add(&Source::new(dir, ""), vec![diagnostic]);
            return Vec::new();
        }
    };
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        // Why: editors leave hidden files beside the ones they edit.
        .filter(|name| !name.starts_with('.') && ends.iter().any(|end| name.ends_with(end)))
        .map(|name| format!("{dir}/{name}"))
        .collect();
    names.sort();
    names
}

/// Reads every playbook.
pub(super) fn playbooks(root: &Path, dir: &str, found: &mut Collector) -> Vec<Arc<Playbook>> {
    let mut playbooks = Vec::new();
    let mut files: BTreeMap<String, String> = BTreeMap::new();
    for name in names(root, dir, PLAYBOOK_ENDS, found) {
        let Some(source) = optional(root, &name, found) else {
            continue;
        };
        match Playbook::read(&source) {
            Ok(playbook) => {
                let earlier = files.insert(playbook.name().to_owned(), name);
                if let Some(earlier) = earlier {
                    let message = format!(
                        "a second playbook called `{}`: the other is {earlier}",
                        playbook.name()
                    );
                    let finding = Diagnostic::new(Code::BadPlaybook, Span::default(), message);
                    found.add(
                        &source,
                        vec![finding.hint("give one of the files another name")],
                    );
                }
                playbooks.push(Arc::new(playbook));
            }
            Err(diagnostics) => found.add(&source, diagnostics),
        }
    }
    playbooks
}

/// The texts of the files of a workspace; none of one that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkspaceTexts(BTreeMap<String, Option<Arc<str>>>);

impl WorkspaceTexts {
    pub(super) fn of<'s>(sources: impl Iterator<Item = &'s Source>) -> Self {
        let texts = sources.map(|one| (one.name.to_string(), Some(Arc::from(&*one.text))));
        Self(texts.collect())
    }

    pub(super) fn now(root: &Path, playbooks: &str) -> Self {
        let mut found = Collector::new();
        let mut listed = names(root, POLICIES_DIR, &[".cedar"], &mut found);
        listed.extend(names(root, playbooks, PLAYBOOK_ENDS, &mut found));
        let known = [CONFIG_FILE, LOCK_FILE, PEOPLE_FILE].map(str::to_owned);
        listed.extend(known);
        let texts = listed.into_iter().filter_map(|name| {
            let text = match read(root, &name) {
                Ok(source) => Some(Arc::from(&*source?.text)),
                Err(_) => None,
            };
            Some((name, text))
        });
        Self(texts.collect())
    }
}

/// Puts `text` in the place of a file, whole or not at all.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = Path::new(&beside);
    let mut file = fs::File::create(beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(beside, path)
}
