//! The table of a tool of kind `command`.
//!
//! Owns `root`, `path`, the variables, and the lines of the operations. Never reads a secret.
//! INVARIANT: a line reads nothing but arguments that `input` declares, and the key where there is
//! one; the program in it is a constant.

use std::collections::BTreeMap;
use std::sync::Arc;

use provost_plan::catalog::{Idempotency, KeyCarrier, Operation};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::Template;
use provost_plan::node::{Fields, Kind, Node};
use provost_plan::source::Spanned;
use provost_run::outcome::Class;
use provost_wire::SecretName;
use serde_json::{Value, json};

use super::CommandTool;
use super::argv::Argv;
use super::pin::{Pin, PinScope, PinnedFiles};
use crate::adapter::{Adapter, Overreach, ToolSettings};
use crate::config::{
    KeySupport, OperationFields, OperationParts, ReadTable, ResponseFormat, SandboxSettings,
    TemplateFields, ToolScope, bad_setting, check_references, property_names, read_operations,
};
use crate::limits::COMMAND_MEMORY_BYTES_MIN;
use crate::linked_path::LinkedPath;
use crate::protected_paths::ProtectedPaths;

/// Where programs are looked for, unless the operator says.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// The classes that an exit code may stand for.
const EXIT_CLASSES: [(&str, Class); 7] = [
    ("ok", Class::Ok),
    ("not_found", Class::NotFound),
    ("conflict", Class::Conflict),
    ("invalid_arguments", Class::InvalidArguments),
    ("permission_denied", Class::PermissionDenied),
    ("rate_limited", Class::RateLimited),
    ("unavailable", Class::Unavailable),
];

/// What is needed to carry commands out.
#[derive(Clone, Debug)]
pub(crate) struct CommandSettings {
    pub(crate) root: Spanned<String>,
    pub(crate) path: String,
    pub(crate) env: Vec<(String, String)>,
    pub(crate) secret_env: Vec<(String, SecretName)>,
    pub(crate) memory_bytes_max: Option<u64>,
    pub(crate) sandbox: Option<SandboxSettings>,
    pub(crate) pin: Pin,
    pub(crate) lines: BTreeMap<String, CommandLine>,
}

/// One line of arguments, and how its end is read.
#[derive(Clone, Debug)]
pub(crate) struct CommandLine {
    pub(crate) argv: Argv,
    /// The argument that goes to the program's standard input.
    pub(crate) stdin: Option<String>,
    pub(crate) exit: BTreeMap<i32, Class>,
    pub(crate) answer: ResponseFormat,
    /// What it runs, as it was when the workspace was opened.
    pub(crate) pins: PinnedFiles,
}

impl CommandSettings {
    pub(crate) fn read(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let root = fields.required_text("root");
        let path = fields.text("path").map(|path| path.value);
        let path = path.unwrap_or_else(|| PATH_DEFAULT.to_owned());
        let nodes = ["env", "secrets"].map(|name| fields.node(name).map(Node::to_value));
        let env = constants(fields);
        let secret_env = secrets(fields);
        let memory_bytes_max = memory(fields);
        let sandbox = SandboxSettings::read(fields);
        let pin = fields.choice("pin", &Pin::WORDS).unwrap_or_default();
        let dir = scope
            .config
            .base
            .join(root.as_ref().map_or("", |root| &root.value));
        fields.required("ops");
        let [env_value, secrets_value] = nodes;
        let base = std::fs::canonicalize(scope.config.base)
            .unwrap_or_else(|_| scope.config.base.to_owned());
        let mut connection = json!({
            "root": root.as_ref().map(|root| &root.value),
            "path": path,
            "env": env_value,
            "secrets": secrets_value,
            "memory_bytes": memory_bytes_max,
        });
        if let (Value::Object(map), Some(root)) = (&mut connection, &root) {
            let target = LinkedPath::target(&base, &root.value);
            map.extend(target.map(|real| ("leads_to".to_owned(), real.into())));
        }
        if let (Value::Object(map), Some(sandbox)) = (&mut connection, &sandbox) {
            map.insert("sandbox".to_owned(), sandbox.value.clone());
        }
        let reader = CommandReader {
            scope,
            connection,
            pins: PinScope {
                base: &base,
                dir: &dir,
                path: &path,
                pin,
            },
        };
        let tables = fields.map("ops").unwrap_or_default();
        let read =
            |_: &Spanned<String>, name, fields: &mut Fields<'_, '_>| reader.read(name, fields);
        let (lines, operations) = read_operations(scope.tool, tables, fields.diagnostics(), read);
        let settings = Self {
            root: root?,
            path,
            env,
            secret_env,
            memory_bytes_max,
            sandbox,
            pin,
            lines,
        };
        Some((Arc::new(settings), operations))
    }
}

impl ToolSettings for CommandSettings {
    fn open(
        &self,
        _: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        let commands = CommandTool::open(self, protected).map_err(|what| Overreach {
            setting: "root",
            span: self.root.span,
            what,
        })?;
        Ok(Arc::new(commands))
    }

    fn secrets(&self) -> Vec<&SecretName> {
        self.secret_env.iter().map(|(_, secret)| secret).collect()
    }

    fn sandbox(&self) -> Option<&SandboxSettings> {
        self.sandbox.as_ref()
    }
}

fn memory(fields: &mut Fields<'_, '_>) -> Option<u64> {
    let most = fields.count("memory_bytes")?;
    if most.value < COMMAND_MEMORY_BYTES_MIN {
        let message = format!("`memory_bytes` must be at least {COMMAND_MEMORY_BYTES_MIN}");
        bad_setting(fields, most.span, message);
    }
    Some(most.value)
}

fn constants(fields: &mut Fields<'_, '_>) -> Vec<(String, String)> {
    let mut env = Vec::new();
    for (name, node) in fields.map("env").unwrap_or_default() {
        check_variable(name, fields);
        match &node.kind {
            Kind::Text(text) => env.push((name.value.clone(), text.clone())),
            _ => bad_setting(fields, node.span, "a variable is a text"),
        }
    }
    env
}

fn secrets(fields: &mut Fields<'_, '_>) -> Vec<(String, SecretName)> {
    let mut env = Vec::new();
    for (name, node) in fields.map("secrets").unwrap_or_default() {
        check_variable(name, fields);
        let Kind::Text(text) = &node.kind else {
            bad_setting(fields, node.span, "a secret is named by a text: `env:NAME`");
            continue;
        };
        match SecretName::parse(text) {
            Ok(secret) => env.push((name.value.clone(), secret)),
            Err(error) => bad_setting(fields, node.span, error.to_string()),
        }
    }
    env
}

/// Reports what cannot name a variable, and `PATH`, which is `path`.
fn check_variable(name: &Spanned<String>, fields: &mut Fields<'_, '_>) {
    let text = &name.value;
    let first = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let message = if text == "PATH" {
        "the variable `PATH` is set by `path`".to_owned()
    } else if !first || !plain {
        format!("`{text}` cannot name a variable")
    } else {
        return;
    };
    bad_setting(fields, name.span, message);
}

struct CommandReader<'a> {
    scope: &'a ToolScope<'a>,
    connection: Value,
    pins: PinScope<'a>,
}

impl CommandReader<'_> {
    fn read(&self, name: String, fields: &mut Fields<'_, '_>) -> Option<(CommandLine, Operation)> {
        let mut declared = OperationFields::read(
            self.scope,
            fields,
            KeySupport::InCall("a command", &["env"]),
        );
        let exchange =
            TemplateFields::read(self.scope, &mut declared, fields, ResponseFormat::Text);
        let exit_value = fields.node("exit").map(Node::to_value);
        let exit = exit(fields);
        let argv_value = fields.required("argv").map(Node::to_value);
        let argv = argv(fields);
        let stdin = fields.text("stdin");
        let (input, argv) = (exchange.input?, argv?);
        check_key(declared.idempotency(), fields);
        let keyed = matches!(declared.idempotency(), Idempotency::Key { .. });
        let known = property_names(&input);
        check_references(
            "command",
            argv.references().collect(),
            &known,
            keyed,
            fields,
        );
        if let Some(name) = &stdin {
            check_stdin(name, &known, fields);
        }
        let pins = PinnedFiles::read(&self.pins, &argv.constants()).unwrap_or_else(|message| {
            let span = fields.span();
            bad_setting(fields, span, message);
            PinnedFiles::default()
        });
        let mut endpoint = json!({
            "kind": "command",
            "surroundings": self.connection,
            "argv": argv_value,
            "exit": exit_value,
            "response": exchange.answer.word(),
        });
        if let Value::Object(map) = &mut endpoint {
            let stdin = stdin.as_ref().map(|name| name.value.clone().into());
            map.extend(stdin.map(|name: Value| ("stdin".to_owned(), name)));
            map.extend(pins.value().map(|files| ("files".to_owned(), files)));
        }
        let parts = OperationParts {
            description: format!("carries out the operator's command `{name}`"),
            name,
            effect: exchange.effect,
            input,
            output: exchange.output,
            errors_no_effect: exchange.errors_no_effect,
            endpoint,
        };
        let operation = declared.operation(fields, parts);
        let line = CommandLine {
            argv,
            stdin: stdin.map(|name| name.value),
            exit,
            answer: exchange.answer,
            pins,
        };
        Some((line, operation))
    }
}

/// Reports a standard input that no argument of the call fills.
fn check_stdin(name: &Spanned<String>, known: &[&str], fields: &mut Fields<'_, '_>) {
    if !known.contains(&name.value.as_str()) {
        let message = format!("`stdin` names `{}`, which `input` lacks", name.value);
        let finding = Diagnostic::new(Code::BadWorkspace, name.span, message)
            .did_you_mean(&name.value, known.iter().copied());
        fields.diagnostics().push(finding);
    }
}

/// `["git", "log", "--max-count=${ args.count }", "--", "${ args.path }"]`
fn argv(fields: &mut Fields<'_, '_>) -> Option<Argv> {
    let nodes = fields.list("argv")?;
    let mut templates = Vec::new();
    for node in nodes {
        let Kind::Text(text) = &node.kind else {
            bad_setting(fields, node.span, "an argument is a text");
            return None;
        };
        match Template::parse(text, node.span, "") {
            Ok(template) => templates.push(template),
            Err(diagnostic) => {
                fields.diagnostics().push(*diagnostic);
                return None;
            }
        }
    }
    let argv = Argv(templates);
    if nodes.is_empty() {
        let span = fields.span();
        bad_setting(fields, span, "`argv` names no program");
        return None;
    }
    for (index, node) in nodes.iter().enumerate() {
        if let Some(problem) = argv.problem(index) {
            bad_setting(fields, node.span, problem);
        }
    }
    Some(argv)
}

/// `{ 1 = "not_found", 75 = "unavailable" }`
fn exit(fields: &mut Fields<'_, '_>) -> BTreeMap<i32, Class> {
    let mut codes = BTreeMap::new();
    for (code, node) in fields.map("exit").unwrap_or_default() {
        let number = code.value.parse().ok().filter(|n| (1..=255).contains(n));
        let Some(number) = number else {
            let message = format!("`{}` is no exit code from 1 to 255", code.value);
            bad_setting(fields, code.span, message);
            continue;
        };
        let word = match &node.kind {
            Kind::Text(word) => word.as_str(),
            _ => "",
        };
        match EXIT_CLASSES.iter().find(|(known, _)| *known == word) {
            Some((_, class)) => {
                codes.insert(number, *class);
            }
            None => {
                let known = EXIT_CLASSES.map(|(known, _)| known);
                let message = format!("an exit code stands for one of {}", known.join(", "));
                let finding = Diagnostic::new(Code::BadWorkspace, node.span, message)
                    .did_you_mean(word, known);
                fields.diagnostics().push(finding);
            }
        }
    }
    codes
}

/// A key is provost's, and travels in a variable.
fn check_key(idempotency: &Idempotency, fields: &mut Fields<'_, '_>) {
    if let Idempotency::Key {
        carrier: KeyCarrier::Env(name),
        ..
    } = idempotency
    {
        check_variable(&Spanned::new(name.clone(), fields.span()), fields);
    }
}
