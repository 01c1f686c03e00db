//! The table of a tool of kind `mcp`.
//!
//! Owns where the server is (`command`, `env`, `cwd`, or `url`, `bearer`), and which tool of the
//! server an operation is. Starts nothing: schemas come from what `provost.lock` pins. INVARIANT:
//! no operation without an effect that the operator wrote, and none whose input is not pinned.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Idempotency, KeyCarrier, Operation};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Kind};
use provost_plan::schema::Schema;
use provost_plan::source::Spanned;
use provost_wire::http::BaseUrl;
use provost_wire::{EnvValue, SecretName};
use serde_json::{Map, Value, json};

use super::Mcp;
use super::definition::{Definition, Listing};
use super::form;
use crate::adapter::{Adapter, Overreach, ToolSettings};
use crate::config::{
    KeySupport, OperationFields, OperationParts, ReadTable, SandboxSettings, ToolScope,
    bad_setting, base_url, input_schema, output_schema, property_names, read_operations, schema,
    secret, text_output,
};
use crate::protected_paths::ProtectedPaths;

/// Words in the name of a variable whose value is a secret.
const SECRET_WORDS: [&str; 6] = ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "API_KEY", "APIKEY"];

/// What is needed to reach the server.
#[derive(Clone, Debug)]
pub(crate) struct McpSettings {
    pub(crate) transport: ServerTransport,
    pub(crate) protocol: Protocol,
    pub(crate) operations: BTreeMap<String, ServerTool>,
    /// The largest result that any operation may have.
    pub(crate) max_bytes: u64,
}

/// Where the server is.
#[derive(Clone, Debug)]
pub(crate) enum ServerTransport {
    /// A process of this machine, started by provost.
    Process {
        command: Vec<String>,
        cwd: Option<String>,
        env: Vec<(String, EnvValue)>,
        sandbox: Option<SandboxSettings>,
    },
    /// A server of another machine, over streamable HTTP.
    Remote {
        base: BaseUrl,
        bearer: Option<SecretName>,
    },
}

/// Which version of the protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The newest that both know.
    #[default]
    Newest,
    /// The one that begins with a handshake.
    Handshake,
    /// The version without a handshake.
    Stateless,
}

/// The tool of the server that an operation is.
#[derive(Clone, Debug)]
pub(crate) struct ServerTool {
    pub(crate) tool: String,
    pub(crate) result: ResultKind,
    pub(crate) pinned: Option<Definition>,
    /// The server's own word on its output, if the operator gave another.
    pub(crate) server_output: Option<Schema>,
    /// Whether a call may bring answers for a form of the server.
    pub(crate) answers: bool,
}

/// What of a result is the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultKind {
    /// The structured content of the result.
    Structured,
    /// Its text, as `{ text }`.
    Text,
    /// Its structured content if it has some, else its text read as JSON.
    Json,
}

impl McpSettings {
    pub(crate) fn read(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let transport = match fields.node("url") {
            Some(_) => remote(scope, fields),
            None => process(fields),
        };
        let protocol = fields.choice("protocol", &Protocol::WORDS);
        fields.required("ops");
        let listing = scope.config.listings.of(scope.tool);
        if listing.is_none() && !scope.config.listings.is_lenient() {
            let message = format!("the tool `{}` is not in provost.lock", scope.tool);
            let diagnostic = Diagnostic::new(Code::Drift, fields.span(), message)
                .hint("lock the tools: that asks its server what it can do, and pins the answer");
            fields.diagnostics().push(diagnostic);
        }
        let reader = McpReader {
            scope,
            listing,
            connection: transport
                .as_ref()
                .map(|transport| transport.connection(protocol))
                .unwrap_or_default(),
        };
        let tables = fields.map("ops").unwrap_or_default();
        let read = |short: &Spanned<String>, name, fields: &mut Fields<'_, '_>| {
            reader.read(short, name, fields)
        };
        let (server_tool, operations) =
            read_operations(scope.tool, tables, fields.diagnostics(), read);
        let largest = operations.iter().map(|operation| operation.max_bytes).max();
        let settings = Self {
            transport: transport?,
            protocol: protocol.unwrap_or_default(),
            operations: server_tool,
            max_bytes: largest.unwrap_or(scope.max_bytes),
        };
        Some((Arc::new(settings), operations))
    }
}

impl ToolSettings for McpSettings {
    fn open(
        &self,
        _: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        Ok(Arc::new(Mcp::open(self, protected.base().to_owned())))
    }

    fn secrets(&self) -> Vec<&SecretName> {
        let (env, bearer, proxy) = match &self.transport {
            ServerTransport::Process { env, .. } => (env.as_slice(), None, None),
            ServerTransport::Remote { base, bearer } => {
                (&[][..], bearer.as_ref(), base.proxy_secret())
            }
        };
        let of_env = env.iter().filter_map(|(_, variable)| variable.secret());
        of_env.chain(bearer).chain(proxy).collect()
    }

    fn sandbox(&self) -> Option<&SandboxSettings> {
        self.transport.sandbox()
    }

    fn server_tools(&self) -> Option<Vec<&str>> {
        let server_tool = self.operations.values();
        Some(
            server_tool
                .map(|server_tool| server_tool.tool.as_str())
                .collect(),
        )
    }
}

impl ServerTransport {
    pub(crate) fn sandbox(&self) -> Option<&SandboxSettings> {
        match self {
            Self::Process { sandbox, .. } => sandbox.as_ref(),
            Self::Remote { .. } => None,
        }
    }

    /// What of it stands in the digest of an operation.
    fn connection(&self, protocol: Option<Protocol>) -> Value {
        let protocol = protocol.map(Protocol::word);
        match self {
            Self::Process {
                command,
                cwd,
                env,
                sandbox,
            } => {
                let env: Map<String, Value> = env
                    .iter()
                    .map(|(name, variable)| (name.clone(), variable.to_string().into()))
                    .collect();
                let env = (!env.is_empty()).then_some(env);
                let mut value =
                    json!({ "command": command, "cwd": cwd, "env": env, "protocol": protocol });
                if let (Value::Object(map), Some(sandbox)) = (&mut value, sandbox) {
                    map.insert("sandbox".to_owned(), sandbox.value.clone());
                }
                value
            }
            Self::Remote { base, bearer } => {
                let (url, bearer) = (base.to_string(), bearer.as_ref().map(ToString::to_string));
                let mut value = json!({ "url": url, "bearer": bearer, "protocol": protocol });
                if let (Value::Object(map), true) = (&mut value, base.is_private()) {
                    map.insert("private".to_owned(), true.into());
                }
                value
            }
        }
    }
}

impl Protocol {
    pub(crate) const WORDS: [(&'static str, Self); 2] = [
        ("2025-11-25", Self::Handshake),
        ("2026-07-28", Self::Stateless),
    ];

    fn word(self) -> Option<&'static str> {
        let mut words = Self::WORDS.iter();
        words.find(|(_, one)| *one == self).map(|(word, _)| *word)
    }
}

fn process(fields: &mut Fields<'_, '_>) -> Option<ServerTransport> {
    if let Some(node) = fields.node("private") {
        bad_setting(
            fields,
            node.span,
            "`private` is for a server that `url` names",
        );
    }
    let command = command(fields);
    let cwd = fields.text("cwd").map(|text| text.value);
    let env = environment(fields);
    let sandbox = SandboxSettings::read(fields);
    if let Some(node) = fields.node("bearer") {
        let message = "`bearer` is for a server that `url` names; a process gets secrets in `env`";
        bad_setting(fields, node.span, message);
    }
    let command = command?;
    Some(ServerTransport::Process {
        command,
        cwd,
        env,
        sandbox,
    })
}

fn remote(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ServerTransport> {
    for name in ["command", "cwd", "env", "sandbox"] {
        if let Some(node) = fields.node(name) {
            let message = format!("`url` names a server that runs elsewhere: it has no `{name}`");
            bad_setting(fields, node.span, message);
        }
    }
    let base = base_url(scope, fields, "url");
    let bearer = secret(fields, "bearer");
    Some(ServerTransport::Remote {
        base: base?.value,
        bearer,
    })
}

fn command(fields: &mut Fields<'_, '_>) -> Option<Vec<String>> {
    let node = fields.required("command")?;
    let argv: Vec<String> = fields
        .texts("command")
        .into_iter()
        .map(|text| text.value)
        .collect();
    if argv.first().is_none_or(String::is_empty) {
        let message = "`command` is a program and its arguments, such as `[\"npx\", \"-y\", …]`";
        bad_setting(fields, node.span, message);
        return None;
    }
    Some(argv)
}

/// `{ LOG_LEVEL = "debug", API_TOKEN = "env:API_TOKEN" }`
fn environment(fields: &mut Fields<'_, '_>) -> Vec<(String, EnvValue)> {
    let mut env = Vec::new();
    for (name, node) in fields.map("env").unwrap_or_default() {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.value.is_empty() || !name.value.chars().all(plain) {
            let message = format!("`{}` cannot be the name of a variable", name.value);
            bad_setting(fields, name.span, message);
        }
        let Kind::Text(text) = &node.kind else {
            bad_setting(fields, node.span, "a variable of a server is a text");
            continue;
        };
        let variable = EnvValue::of_text(text);
        let upper = name.value.to_ascii_uppercase();
        let secret = SECRET_WORDS.iter().any(|word| upper.contains(word));
        if secret && matches!(variable, EnvValue::Plain(_)) {
            let message = format!("the value of `{}` may be a secret", name.value);
            let diagnostic = Diagnostic::new(Code::BadWorkspace, name.span, message)
                .hint("a secret is named by `env:NAME` or `file:PATH`, never written out");
            fields.diagnostics().push(diagnostic);
        }
        env.push((name.value.clone(), variable));
    }
    env
}

struct McpReader<'a> {
    scope: &'a ToolScope<'a>,
    listing: Option<&'a Listing>,
    connection: Value,
}

impl McpReader<'_> {
    fn read(
        &self,
        short: &Spanned<String>,
        name: String,
        fields: &mut Fields<'_, '_>,
    ) -> Option<(ServerTool, Operation)> {
        let keys = KeySupport::InCall("a call of an MCP server", &["meta", "arg"]);
        let mut declared = OperationFields::read(self.scope, fields, keys);
        let effect = declared.required_effect(fields);
        let errors_no_effect = fields
            .choice("errors", &[("no_effect", true)])
            .unwrap_or(false);
        let words = [("text", ResultKind::Text), ("json", ResultKind::Json)];
        let result = fields.choice("result", &words);
        let tool = fields.text("tool").unwrap_or_else(|| short.clone());
        let given_input = input_schema(fields, self.scope.config.base);
        let given_output = output_schema(fields, self.scope.config.base);
        declared.trusted |= given_output.trusted;
        let pinned = self.pinned(&tool, fields)?;
        if pinned.is_none() {
            declared.forget_schemas();
        }
        let input = given_input.or_else(|| pinned_input(pinned, fields))?;
        let input = without_key(input, declared.idempotency(), fields)?;
        let answers = self.answers(fields);
        let input = match &answers {
            Some(answers) => with_answers(&input, answers, fields)?,
            None => input,
        };
        let own = pinned.and_then(|one| one.schema("outputSchema"));
        let server_output = own.and_then(|value| compiled(value, "output", fields));
        let result = result.unwrap_or(match server_output {
            Some(_) => ResultKind::Structured,
            None => ResultKind::Text,
        });
        if result == ResultKind::Text && given_output.schema.is_some() {
            let message = "the output of `result = \"text\"` is `{ text }`: leave `output` out, or \
                           write `result = \"json\"`";
            bad_setting(fields, tool.span, message);
        }
        let output = match result {
            ResultKind::Text => Schema::compile(text_output()).ok(),
            _ => given_output.schema.or_else(|| server_output.clone()),
        };
        let parts = OperationParts {
            name,
            // Why not the server's: what it says of itself is pinned, and shown to no planner.
            description: String::new(),
            effect,
            input,
            output,
            errors_no_effect,
            endpoint: json!({
                "kind": "mcp",
                "connection": self.connection,
                "tool": tool.value,
                "result": result.word(),
                "definition": pinned.map(|one| one.digest().to_string()),
            }),
        };
        let server_tool = ServerTool {
            tool: tool.value,
            result,
            pinned: pinned.cloned(),
            server_output: server_output.filter(|_| result == ResultKind::Structured),
            answers: answers.is_some(),
        };
        Some((server_tool, declared.operation(fields, parts)))
    }

    /// `answers`: the schema of what a form of the server is filled from.
    fn answers(&self, fields: &mut Fields<'_, '_>) -> Option<Schema> {
        let node = fields.node(form::ANSWERS)?;
        let read = schema(node, self.scope.config.base, fields.diagnostics())?;
        if read.value().get("type").and_then(Value::as_str) != Some("object") {
            let message = "`answers` must have `type: object`: a form has fields";
            bad_setting(fields, node.span, message);
        }
        Some(read)
    }

    /// What is pinned of the tool. The outer `None` is a finding.
    fn pinned(
        &self,
        tool: &Spanned<String>,
        fields: &mut Fields<'_, '_>,
    ) -> Option<Option<&Definition>> {
        let Some(listing) = self.listing else {
            return self.scope.config.listings.is_lenient().then_some(None);
        };
        if let Some(definition) = listing.tools.get(&tool.value) {
            return Some(Some(definition));
        }
        if self.scope.config.listings.is_lenient() {
            return Some(None);
        }
        let server = self.scope.tool;
        let (message, hint) = match listing.unused.contains_key(&tool.value) {
            true => (
                format!(
                    "what the server `{server}` says of `{}` is not pinned",
                    tool.value
                ),
                "locking the tools again pins it",
            ),
            false => (
                format!("the server `{server}` has no tool `{}`", tool.value),
                "locking the tools again asks it anew",
            ),
        };
        let known = listing.tools.keys().chain(listing.unused.keys());
        let diagnostic = Diagnostic::new(Code::Drift, tool.span, message)
            .hint(hint)
            .did_you_mean(&tool.value, known.map(String::as_str));
        fields.diagnostics().push(diagnostic);
        None
    }
}

impl ResultKind {
    fn word(self) -> &'static str {
        match self {
            Self::Structured => "structured",
            Self::Text => "text",
            Self::Json => "json",
        }
    }
}

fn compiled(value: Value, which: &str, fields: &mut Fields<'_, '_>) -> Option<Schema> {
    let compiled = Schema::compile(value);
    if let Err(error) = &compiled {
        let message = format!("the server's own schema of the {which} cannot be used: {error}");
        let span = fields.span();
        let diagnostic = Diagnostic::new(Code::BadSchema, span, message)
            .hint("give one of your own in `provost.toml`");
        fields.diagnostics().push(diagnostic);
    }
    compiled.ok()
}

fn pinned_input(pinned: Option<&Definition>, fields: &mut Fields<'_, '_>) -> Option<Schema> {
    match pinned.and_then(|one| one.schema("inputSchema")) {
        Some(value) => compiled(closed(value), "input", fields),
        None => Schema::compile(json!({"type": "object"})).ok(),
    }
}

/// The same schema without arguments that it does not name: nobody reviewed those.
fn closed(mut closed: Value) -> Value {
    if let Value::Object(map) = &mut closed {
        let open = [
            "additionalProperties",
            "patternProperties",
            "unevaluatedProperties",
        ];
        if !open.iter().any(|keyword| map.contains_key(*keyword)) {
            map.insert("additionalProperties".to_owned(), Value::Bool(false));
        }
    }
    closed
}

/// The same input with the argument for answers beside those of the tool.
fn with_answers(input: &Schema, answers: &Schema, fields: &mut Fields<'_, '_>) -> Option<Schema> {
    let mut value = input.value().clone();
    let span = fields.span();
    if property_names(input).contains(&form::ANSWERS) {
        let message = "the tool takes an argument `answers` of its own";
        bad_setting(fields, span, message);
        return None;
    }
    let map = value.as_object_mut()?;
    let properties = map.entry("properties").or_insert_with(|| json!({}));
    let properties = properties.as_object_mut()?;
    properties.insert(form::ANSWERS.to_owned(), answers.value().clone());
    Schema::compile(value).ok()
}

/// A key is provost's: no argument of the plan may set it, so the plan does not see it.
fn without_key(
    input: Schema,
    idempotency: &Idempotency,
    fields: &mut Fields<'_, '_>,
) -> Option<Schema> {
    let Idempotency::Key {
        carrier: KeyCarrier::Arg(name),
        ..
    } = idempotency
    else {
        return Some(input);
    };
    let span = fields.span();
    if !property_names(&input).contains(&name.as_str()) {
        let message = format!("the tool takes no `{name}`, which is to carry the key");
        bad_setting(fields, span, message);
        return None;
    }
    let mut value = input.value().clone();
    if let Some(Value::Object(properties)) = value.get_mut("properties") {
        properties.remove(name);
    }
    if let Some(Value::Array(required)) = value.get_mut("required") {
        required.retain(|one| one != name);
    }
    Schema::compile(value).ok()
}
