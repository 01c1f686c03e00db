//! Reading a workspace anew while runs are driven: another value for what begins from then on.
//!
//! Owns the change from one value to the next. Reads no file. INVARIANT: the old and the new never
//! drive the same run: a run has one driver in a process, and the old one lets go of it first.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Engine, EngineError, EngineTools, open_tools};
use crate::people::Inbox;
use crate::workspace::Workspace;

impl Engine {
    /// The same journal under a workspace that was read anew: a value for what begins from now on.
    /// Who signs heads stays as it was. What this one drives is this one's, until
    /// [`Engine::supersede`].
    ///
    /// # Errors
    /// [`EngineError::Tools`] if a tool cannot be opened; then nothing has changed.
    pub fn renewed(&self, workspace: Workspace) -> Result<Self, EngineError> {
        let toolbox = open_tools(&workspace)?;
        let inbox = Inbox::of(&workspace, &self.store)?;
        Ok(Self {
            workspace: Arc::new(workspace),
            store: Arc::clone(&self.store),
            tools: Arc::new(EngineTools::Live(toolbox)),
            audit: self.audit.clone(),
            inbox: Arc::new(inbox),
            commands: self.commands.clone(),
            nudged: Arc::clone(&self.nudged),
            generation: self.generation + 1,
            superseded: watch::Sender::new(false),
        })
    }

    /// Lets go of every run that is driven by this value, each at its next dispatch: whoever works
    /// on them takes them up with the value that stands now. Nothing is heard in between, because
    /// what people say is judged by the files of now.
    pub fn supersede(&self) {
        self.superseded.send_replace(true);
    }

    /// How often the files were read anew before this value: what was computed of another is not
    /// of this one.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }
}
