//! Tools as the operator writes them: the tables `[tools.NAME]` of `provost.toml`.
//!
//! Owns the fields that all kinds of tool share and the choice of the kind. Opens no file but
//! schemas that an operation names. INVARIANT: every field of a tool is used or refused, and what
//! an operation depends on stands in its `endpoint`, so that the operation's digest covers it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{OPERATION_KEYS, Operation, Tags};
use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, has_errors};
use provost_plan::node::{Fields, Node};
use provost_plan::source::{Span, Spanned};
use provost_run::admission::ToolLimits;
use provost_wire::SecretName;
use provost_wire::http::{BaseUrl, Proxy};
use provost_wire::model::ModelConfig;

use crate::adapter::{Adapter, Overreach, ToolReach, ToolSettings};
use crate::kinds::custom::{CustomTool, Tool, read_custom};
use crate::kinds::mcp::Listings;
use crate::kinds::{command, files, http, mcp, model, sql};
use crate::limits::{RESULT_BYTES_DEFAULT, RESULT_BYTES_MAX, TIMEOUT_DEFAULT, TIMEOUT_MAX};
use crate::protected_paths::ProtectedPaths;

mod operation;
mod rate_limits;
mod sandbox;
mod schemas;
mod template_fields;

pub use operation::description_of;
pub(crate) use operation::{
    KeySupport, OperationFields, OperationParts, property_names, read_operations,
};
pub(crate) use sandbox::{SandboxSettings, media_with_sandbox};
pub(crate) use schemas::{input_schema, no_arguments, output_schema, schema, text_output};
pub(crate) use template_fields::{ResponseError, ResponseFormat, TemplateFields, check_references};

/// One tool of the workspace: how it is reached and the operations it has.
#[derive(Clone, Debug)]
pub struct ToolConfig {
    name: String,
    span: Span,
    settings: Arc<dyn ToolSettings>,
    operations: Vec<Operation>,
    limits: ToolLimits,
}

/// What the table of a tool may name that stands elsewhere in the workspace.
#[derive(Clone, Copy, Debug)]
pub struct ConfigScope<'a> {
    /// The folder of the workspace: paths of schemas are looked up below it.
    pub base: &'a Path,
    /// What `provost.lock` pins of each MCP server, by the name of the tool.
    pub listings: &'a Listings,
    /// The entries of `[models]`, by name.
    pub models: &'a BTreeMap<String, ModelConfig>,
    /// The proxy through which it reaches other hosts, if there is one.
    pub proxy: Option<&'a Arc<Proxy>>,
    /// The tags that its operations may have.
    pub tags: &'a Tags,
}

/// The table of one tool: what it may name, and what its operations take over from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToolScope<'a> {
    pub(crate) tool: &'a str,
    pub(crate) config: ConfigScope<'a>,
    pub(crate) timeout: Duration,
    pub(crate) max_bytes: u64,
}

/// What a kind of tool makes of its table.
pub(crate) type ReadTable = (Arc<dyn ToolSettings>, Vec<Operation>);

type ReadKind = fn(&ToolScope<'_>, &mut Fields<'_, '_>) -> Option<ReadTable>;

const KINDS: [(&str, ReadKind); 6] = [
    ("sql", sql::SqlSettings::read),
    ("files", files::FilesSettings::read),
    ("http", http::HttpSettings::read),
    ("command", command::CommandSettings::read),
    ("mcp", mcp::McpSettings::read),
    ("model", model::ModelToolSettings::read),
];

impl ToolConfig {
    /// Reads the table of the tool called `name`. Returns `None` if the table has errors, which are
    /// in `diagnostics`.
    pub fn read(
        name: &str,
        node: &Node,
        config: ConfigScope<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let mut found = Vec::new();
        let config = Self::read_into(name, node, config, &mut found);
        let failed = has_errors(&found);
        diagnostics.append(&mut found);
        config.filter(|_| !failed)
    }

    fn read_into(
        name: &str,
        node: &Node,
        config: ConfigScope<'_>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        check_name("a tool", name, node.span, diagnostics);
        let mut fields = Fields::new(format!("the tool `{name}`"), node, diagnostics)?;
        fields.required("kind");
        let Some(read_kind) = fields.choice("kind", &KINDS) else {
            fields.finish_misspelt();
            return None;
        };
        let scope = ToolScope {
            tool: name,
            config,
            timeout: timeout(&mut fields, TIMEOUT_DEFAULT),
            max_bytes: max_bytes(&mut fields, RESULT_BYTES_DEFAULT),
        };
        let limits = rate_limits::read(&mut fields);
        let read = read_kind(&scope, &mut fields);
        fields.finish_with(|key| {
            let is_of_operation = OPERATION_KEYS.contains(&key);
            is_of_operation.then(|| {
                format!("`{key}` belongs to an operation: write it in `[tools.{name}.ops.NAME]`")
            })
        });
        let (settings, operations) = read?;
        Some(Self {
            name: name.to_owned(),
            span: node.span,
            settings,
            operations,
            limits,
        })
    }

    /// A tool that is code of the program around the engine. Returns `None` if its description has
    /// errors, which are in `diagnostics`.
    pub fn custom(
        tool: Arc<dyn Tool>,
        tags: &Tags,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<Self> {
        let (name, operations) = read_custom(tool.as_ref(), tags, diagnostics)?;
        Some(Self {
            name,
            span: Span::default(),
            settings: Arc::new(CustomTool(tool)),
            operations,
            limits: ToolLimits::default(),
        })
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where its table stands in `provost.toml`.
    #[must_use]
    pub fn span(&self) -> Span {
        self.span
    }

    /// The operations it has, as the catalog holds them.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.operations.clone()
    }

    /// Its limits of concurrency and rate, and its breaker.
    #[must_use]
    pub fn limits(&self) -> &ToolLimits {
        &self.limits
    }

    /// The names of the secrets that its settings hold: keys, passwords, variables.
    pub fn secrets(&self) -> impl Iterator<Item = &SecretName> {
        self.settings.secrets().into_iter()
    }

    /// Whether it is an MCP server.
    #[must_use]
    pub fn is_server(&self) -> bool {
        self.settings.server_tools().is_some()
    }

    /// Whether the tool is asked before a run of its operations begins: a server may have changed,
    /// and a database may lack the table for keys.
    #[must_use]
    pub fn needs_preflight(&self) -> bool {
        self.is_server() || self.preparation().is_some()
    }

    /// Of an MCP server, the names of the server's tools that operations call.
    pub fn server_tools(&self) -> impl Iterator<Item = &str> {
        self.settings.server_tools().unwrap_or_default().into_iter()
    }

    /// Of a program in a sandbox, in words, which files it may reach and how much of that this
    /// kernel enforces.
    #[must_use]
    pub fn sandbox(&self) -> Option<String> {
        self.settings.sandbox().map(SandboxSettings::words)
    }

    /// Of a database, the SQL that makes its table for keys; `None` where no operation keeps one.
    #[must_use]
    pub fn preparation(&self) -> Option<&'static str> {
        self.settings.preparation(&self.operations)
    }

    pub(crate) fn reach(&self) -> ToolReach {
        self.settings.reach()
    }

    pub(crate) fn open(
        &self,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        let sandbox = self.settings.sandbox();
        if let Some((span, what)) = sandbox.and_then(|sandbox| sandbox.reached(protected)) {
            let setting = "sandbox";
            return Err(Overreach {
                setting,
                span,
                what,
            });
        }
        self.settings.open(&self.name, protected)
    }
}

/// Reports a name that cannot be a part of `server.operation`.
pub(crate) fn check_name(
    what: &str,
    name: &str,
    span: Span,
    diagnostics: &mut Vec<Diagnostic>,
) -> bool {
    let first = name.chars().next().is_some_and(|c| c.is_ascii_lowercase());
    let rest = name
        .chars()
        .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let good = first && rest && name.len() <= 40;
    if !good {
        let message = format!("`{name}` cannot name {what}");
        diagnostics.push(Diagnostic::new(Code::BadName, span, message).hint(
            "a name has up to 40 lower-case letters, digits and `_`, and begins with a letter",
        ));
    }
    good
}

/// Reports a setting that reads well but cannot be used.
pub(crate) fn bad_setting(fields: &mut Fields<'_, '_>, span: Span, message: impl Into<String>) {
    fields
        .diagnostics()
        .push(Diagnostic::new(Code::BadWorkspace, span, message));
}

fn timeout(fields: &mut Fields<'_, '_>, default: Duration) -> Duration {
    let Some(given) = fields.duration("timeout") else {
        return default;
    };
    if given.value.is_zero() || given.value > TIMEOUT_MAX {
        bad_setting(fields, given.span, "`timeout` must lie between 1ms and 1h");
    }
    given.value
}

fn max_bytes(fields: &mut Fields<'_, '_>, default: u64) -> u64 {
    bounded(fields, "max_bytes", default, RESULT_BYTES_MAX)
}

/// The address of a server, and with `private` that its name may stand for a private one.
pub(crate) fn base_url(
    scope: &ToolScope<'_>,
    fields: &mut Fields<'_, '_>,
    name: &'static str,
) -> Option<Spanned<BaseUrl>> {
    let text = fields.required_text(name)?;
    let private = fields.boolean("private").unwrap_or(false);
    match BaseUrl::parse(&text.value) {
        Ok(base) => {
            let base = base
                .with_private(private)
                .through(scope.config.proxy.cloned());
            Some(Spanned::new(base, text.span))
        }
        Err(error) => {
            bad_setting(fields, text.span, error.to_string());
            None
        }
    }
}

/// Where a secret is.
pub(crate) fn secret(fields: &mut Fields<'_, '_>, name: &'static str) -> Option<SecretName> {
    let text = fields.text(name)?;
    SecretName::parse(&text.value)
        .map_err(|error| bad_setting(fields, text.span, error.to_string()))
        .ok()
}

/// Takes a count from 1 up to `max`.
pub(crate) fn bounded(
    fields: &mut Fields<'_, '_>,
    name: &'static str,
    default: u64,
    max: u64,
) -> u64 {
    let Some(Spanned { value, span }) = fields.count(name) else {
        return default;
    };
    if value == 0 || value > max {
        bad_setting(
            fields,
            span,
            format!("`{name}` must lie between 1 and {max}"),
        );
    }
    value
}
