//! Where a command works: the workspace named with `-C` or `PROVOST_DIR`, or the nearest one above.
//!
//! Owns the ways to open it, each as little as its verb needs, and the spelling of commands to
//! type. INVARIANT: a verb that only looks creates nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_engine::engine::{Engine, EngineError};
use provost_engine::notify::NoticeSubject;
use provost_engine::reload::Reread;
use provost_engine::store::{JOURNAL_FILE, Store, StoreError};
use provost_engine::workspace::{
    CONFIG_FILE, LockUse, Opening, POLICIES_DIR, STORE_DIR, Workspace, WorkspaceError,
    prepare_to_judge,
};

use crate::failure::Failure;
use crate::screen::waits;
use crate::user;

/// The variable that names the workspace where `-C` does not.
const DIR_VARIABLE: &str = "PROVOST_DIR";

/// The workspace of a command, as typed.
#[derive(Clone, Debug)]
pub struct WorkspacePath {
    /// What `-C` says.
    dir: Option<PathBuf>,
    /// The directory that `-C` or the variable names, from wherever one looks.
    named: Option<PathBuf>,
}

impl WorkspacePath {
    /// The place that `-C` names, or the nearest workspace.
    pub fn new(dir: Option<PathBuf>) -> Self {
        let by_variable = || std::env::var_os(DIR_VARIABLE).filter(|dir| !dir.is_empty());
        let named = dir.clone().or_else(|| by_variable().map(PathBuf::from));
        let named = named.map(|named| std::path::absolute(&named).unwrap_or(named));
        Self { dir, named }
    }

    /// Goes into the directory that `-C` names, so that every other path counts from there. One
    /// that is not there is left to the verb, which says so or makes it.
    pub fn enter(&self) -> Result<(), Failure> {
        let Some(dir) = self.named.as_ref().filter(|_| self.dir.is_some()) else {
            return Ok(());
        };
        if !dir.is_dir() {
            return Ok(());
        }
        std::env::set_current_dir(dir).map_err(|error| {
            let reason = crate::document::reason(&error);
            Failure::usage(format!("`{}` cannot be entered: {reason}", dir.display()))
        })
    }

    /// The directory that was named.
    pub fn dir(&self) -> Option<&Path> {
        self.named.as_deref()
    }

    /// Reads the workspace; opens neither its journal nor its tools. What is wrong with the entry
    /// of one tool is shown, and the others work.
    pub fn workspace(&self) -> Result<Workspace, Failure> {
        Ok(self.found(LockUse::Hold)?.inspect(warn_of_damaged)?)
    }

    /// How the workspace at `root` is read anew, for who has it open and goes on.
    pub fn reread(root: &Path) -> Arc<Reread> {
        let root = root.to_owned();
        Arc::new(move || {
            let (user, lock) = (user::user(), LockUse::Hold);
            Workspace::open(&root, &Opening { user: &user, lock })
        })
    }

    /// [`WorkspacePath::workspace`], to check a plan or to make a call.
    pub fn to_judge(&self) -> Result<Workspace, Failure> {
        Ok(self.try_to_judge()??)
    }

    /// [`WorkspacePath::to_judge`], with what is wrong with the workspace as it was found.
    pub fn try_to_judge(&self) -> Result<Result<Workspace, WorkspaceError>, Failure> {
        prepare_to_judge();
        Ok(self.found(LockUse::Hold)?.inspect(warn_of_damaged))
    }

    /// Reads the workspace whatever `provost.lock` says, to look at tools and runs.
    pub fn unlocked(&self) -> Result<Workspace, Failure> {
        Ok(self.found(LockUse::Ignore)??)
    }

    fn found(&self, lock: LockUse) -> Result<Result<Workspace, WorkspaceError>, Failure> {
        let user = user::user();
        let opening = Opening { user: &user, lock };
        Ok(Workspace::open(&self.root()?, &opening))
    }

    /// The directory of the workspace.
    pub fn root(&self) -> Result<PathBuf, Failure> {
        if let Some(dir) = &self.named {
            return Ok(dir.clone());
        }
        let here = std::env::current_dir().map_err(|error| {
            let reason = crate::document::reason(&error);
            Failure::usage(format!("the current directory cannot be read: {reason}"))
        })?;
        Ok(Workspace::find(&here)?)
    }

    /// Opens everything, to begin or take up a run.
    pub fn to_drive(&self) -> Result<Engine, Failure> {
        Ok(self.engine(self.to_judge()?)?)
    }

    /// Opens the journal to look at a run that is then driven: see [`WorkspacePath::driving`].
    pub fn to_speak(&self) -> Result<Engine, Failure> {
        Ok(Engine::open_to_read(self.workspace()?)?)
    }

    /// Opens for driving what was opened to look at.
    pub fn driving(&self, engine: Engine) -> Result<Engine, EngineError> {
        Ok(self.with_commands(engine.into_driving()?))
    }

    /// Opens the journal and the tools of a workspace; its notices carry commands for this place.
    pub fn engine(&self, workspace: Workspace) -> Result<Engine, EngineError> {
        Ok(self.with_commands(Engine::open(workspace)?))
    }

    fn with_commands(&self, engine: Engine) -> Engine {
        let place = self.clone();
        let commands = move |subject: &NoticeSubject<'_>| place.command(&waits::about(subject));
        engine.with_commands(Arc::new(commands))
    }

    /// Opens the journal to look at runs.
    pub fn to_read(&self) -> Result<Engine, Failure> {
        Ok(Engine::open_to_read(self.unlocked()?)?)
    }

    /// Opens the journal alone, to look at runs: whatever is wrong with the files around it.
    pub fn journal(&self) -> Result<Store, Failure> {
        Ok(Store::open_read_only(&self.store_dir()?)?)
    }

    /// The same, if there is one.
    pub fn journal_if_any(&self) -> Result<Option<Store>, Failure> {
        match Store::open_read_only(&self.store_dir()?) {
            Ok(store) => Ok(Some(store)),
            Err(StoreError::Missing { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the journal alone, to stop something: whatever is wrong with the files around it.
    pub fn journal_to_stop(&self) -> Result<Store, Failure> {
        Ok(Store::open(&self.store_dir()?)?)
    }

    /// Refuses to let anything go on where the policies cannot be read: nobody can judge who may.
    pub fn refuse_without_policies(&self) -> Result<(), Failure> {
        let user = user::user();
        let lock = LockUse::Ignore;
        let opened = Workspace::open(&self.root()?, &Opening { user: &user, lock });
        let Err(error) = opened else { return Ok(()) };
        let is_policy = |name: &str| name.starts_with(POLICIES_DIR);
        if error
            .findings()
            .iter()
            .any(|one| is_policy(&one.source.name))
        {
            return Err(Failure::from(error));
        }
        Ok(())
    }

    /// Who works here, as far as provost.toml can be read.
    pub fn user(&self) -> String {
        let root = self.root().ok();
        let named = root.and_then(|root| Workspace::user_of(&root));
        named.unwrap_or_else(user::user)
    }

    /// The directory of the journal. Where there is none, there has to be a workspace at least:
    /// a directory that was mistyped holds nothing, and says so.
    pub fn store_dir(&self) -> Result<PathBuf, Failure> {
        let root = self.root()?;
        let dir = root.join(STORE_DIR);
        if dir.join(JOURNAL_FILE).is_file() || root.join(CONFIG_FILE).is_file() {
            return Ok(dir);
        }
        Err(WorkspaceError::NoConfig {
            root: std::path::absolute(&root).unwrap_or(root),
        }
        .into())
    }

    /// A command to type, for this workspace.
    pub fn command(&self, command: &str) -> String {
        match (&self.dir, command.strip_prefix("provost ")) {
            (Some(dir), Some(rest)) => {
                format!("provost -C {} {rest}", quoted(&dir.to_string_lossy()))
            }
            _ => command.to_owned(),
        }
    }
}

/// A word as a shell reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./@:=+,%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Shows what is wrong with the entries of single tools.
fn warn_of_damaged(workspace: &Workspace) {
    for one in workspace.damaged() {
        let message = format!(
            "the tool `{}` is not loaded until its entry is fixed",
            one.tool
        );
        Failure::usage(message)
            .findings(&one.findings.source, &one.findings.diagnostics)
            .show_as("warning");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_name_the_workspace_as_it_was_typed() {
        let here = WorkspacePath::new(None);
        assert_eq!(here.command("provost approve x@1"), "provost approve x@1");
        let there = WorkspacePath::new(Some("my work/it's".into()));
        assert_eq!(
            there.command("provost approve x@1"),
            r"provost -C 'my work/it'\''s' approve x@1"
        );
    }
}
