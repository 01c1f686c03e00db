//! What every kind of tool is to the rest of the crate: settings, and an open tool.
//!
//! Owns the two traits that a kind implements. Knows no kind. INVARIANT: whoever reads, opens or
//! calls a tool does it through these traits, so that a new kind changes no other.

use std::fmt;
use std::sync::Arc;

use futures::future::BoxFuture;
use provost_plan::catalog::Operation;
use provost_plan::source::Span;
use provost_run::outcome::Reply;
use provost_wire::http::BaseUrl;
use provost_wire::{Redactor, SecretName};

use crate::config::SandboxSettings;
use crate::fault::{Fault, Request};
use crate::kinds::mcp::Mcp;
use crate::kinds::sql::Sql;
use crate::protected_paths::ProtectedPaths;

/// A reply on its way, or why there is no output.
pub(crate) type CallFuture<'a> = BoxFuture<'a, Result<Reply, Fault>>;

/// What the table of a tool says.
pub(crate) trait ToolSettings: fmt::Debug + Send + Sync {
    /// Opens the tool. Sends nothing and starts nothing.
    ///
    /// # Errors
    /// [`Overreach`] if the tool would reach what governs the workspace, or a key.
    fn open(
        &self,
        tool: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach>;

    /// The secrets that it names.
    fn secrets(&self) -> Vec<&SecretName> {
        Vec::new()
    }

    /// Of a program in a sandbox, which files it may reach.
    fn sandbox(&self) -> Option<&SandboxSettings> {
        None
    }

    /// How far its calls reach. Why elsewhere unless a kind says otherwise: what nobody judged
    /// never takes part in a rehearsal.
    fn reach(&self) -> ToolReach {
        ToolReach::Elsewhere
    }

    /// Of an MCP server, the tools of the server that operations call.
    fn server_tools(&self) -> Option<Vec<&str>> {
        None
    }

    /// Of a database, the SQL that makes its table for keys, if one of its `operations` needs it.
    fn preparation(&self, _operations: &[Operation]) -> Option<&'static str> {
        None
    }
}

/// How far the calls of a tool reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ToolReach {
    /// This file or folder, as the operator names it below the workspace.
    Below(String),
    /// This port of this machine.
    Loopback(u16),
    /// Whatever it reaches, nobody holds it back.
    Elsewhere,
}

/// A tool that is open.
pub(crate) trait Adapter: fmt::Debug + Send + Sync {
    /// Why the tool cannot work now, if so. Looks at files only.
    fn trouble(&self) -> Option<String>;

    /// What in its operations no call could do as it is declared, as far as files tell: a program
    /// that is not there, a statement that does not fit the database.
    fn defects(&self) -> Vec<String> {
        Vec::new()
    }

    /// What [`Adapter::defects`] leaves out, in words.
    fn unseen(&self) -> Option<&'static str> {
        None
    }

    /// Makes one call. What it says of a failure holds no secret that `redactor` knows.
    fn perform<'a>(&'a self, request: &'a Request, redactor: &'a Redactor) -> CallFuture<'a>;

    /// The MCP server, if the tool is one.
    fn as_server(&self) -> Option<&Mcp> {
        None
    }

    /// Whether its requests say where they stand in the trace of their run.
    fn propagates(&self) -> bool {
        false
    }

    /// The address that its calls go to, if it is an HTTP API.
    fn base_url(&self) -> Option<&BaseUrl> {
        None
    }

    /// The database, if the tool is one.
    fn as_database(&self) -> Option<&Sql> {
        None
    }
}

/// A setting through which a tool would reach what it must not.
#[derive(Debug)]
pub(crate) struct Overreach {
    /// The name of the setting.
    pub(crate) setting: &'static str,
    pub(crate) span: Span,
    /// What it would reach, as the operator names it.
    pub(crate) what: String,
}
