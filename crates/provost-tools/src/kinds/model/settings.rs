//! The table of a tool of kind `model`.
//!
//! Owns which model it is, the tasks of its operations and what they may cost. Never reads a key.
//! INVARIANT: an operation is `egress`, no heavier and no lighter, and its output is not trusted:
//! what a model says is no plain read, so it proves no write, settles no doubt and opens nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::catalog::{Cost, Effect, Operation, Tokens};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::Template;
use provost_plan::node::Fields;
use provost_plan::schema::Schema;
use provost_plan::source::Spanned;
use provost_wire::SecretName;
use provost_wire::http::BaseUrl;
use provost_wire::model::{ModelConfig, Prices};
use serde_json::{Value, json};

use super::prompt::{self, PROMPT_VERSION};
use super::task_kind::TaskKind;
use super::{ModelTool, Task};
use crate::adapter::{Adapter, Overreach, ToolSettings};
use crate::config::{
    KeySupport, OperationFields, OperationParts, ReadTable, ToolScope, bad_setting,
    check_references, input_schema, output_schema, property_names, read_operations,
};
use crate::limits::{MODEL_FRAME_TOKENS, TIMEOUT_MAX};
use crate::protected_paths::ProtectedPaths;

/// What is needed to ask.
#[derive(Clone, Debug)]
pub(crate) struct ModelToolSettings {
    key: Option<SecretName>,
    /// The password of the proxy that it is reached through.
    proxy: Option<SecretName>,
    pub(super) tasks: BTreeMap<String, Task>,
}

impl ModelToolSettings {
    pub(crate) fn read(scope: &ToolScope<'_>, fields: &mut Fields<'_, '_>) -> Option<ReadTable> {
        let has_timeout = fields.node("timeout").is_some();
        let model = model(scope, fields);
        fields.required("ops");
        let tables = fields.map("ops").unwrap_or_default();
        let model = model?;
        let timeout = if has_timeout {
            scope.timeout
        } else {
            model.settings.timeout.min(TIMEOUT_MAX)
        };
        let scope = ToolScope { timeout, ..*scope };
        let reader = ModelReader {
            scope: &scope,
            model,
        };
        let read =
            |_: &Spanned<String>, name, fields: &mut Fields<'_, '_>| reader.read(name, fields);
        let (tasks, operations) = read_operations(scope.tool, tables, fields.diagnostics(), read);
        let key = model.settings.key.clone();
        let base = model.settings.base_url.as_ref();
        let proxy = base.and_then(BaseUrl::proxy_secret).cloned();
        Some((Arc::new(Self { key, proxy, tasks }), operations))
    }
}

impl ToolSettings for ModelToolSettings {
    fn open(
        &self,
        _: &str,
        protected: &Arc<ProtectedPaths>,
    ) -> Result<Arc<dyn Adapter>, Overreach> {
        Ok(Arc::new(ModelTool::open(self, protected.base())))
    }

    fn secrets(&self) -> Vec<&SecretName> {
        self.key.iter().chain(self.proxy.as_ref()).collect()
    }
}

/// `model = "large"`: one of `[models]`.
fn model<'a>(scope: &ToolScope<'a>, fields: &mut Fields<'_, '_>) -> Option<&'a ModelConfig> {
    let name = fields.required_text("model")?;
    let found = scope.config.models.get(&name.value);
    if found.is_none() {
        let message = format!("there is no `[models.{}]`", name.value);
        let known = scope.config.models.keys().map(String::as_str);
        let finding = Diagnostic::new(Code::BadWorkspace, name.span, message)
            .did_you_mean(&name.value, known);
        fields.diagnostics().push(finding);
    }
    found
}

struct ModelReader<'a> {
    scope: &'a ToolScope<'a>,
    model: &'a ModelConfig,
}

impl ModelReader<'_> {
    fn read(&self, name: String, fields: &mut Fields<'_, '_>) -> Option<(Task, Operation)> {
        let declared = OperationFields::read(self.scope, fields, KeySupport::None);
        self.check_declared(&declared, fields);
        fields.required("does");
        let kind = fields.choice("does", &TaskKind::WORDS);
        let mut model = self.model.clone();
        model.settings.max_tokens = max_tokens(fields).unwrap_or(model.settings.max_tokens);
        // Why: a step may allow an answer less time, and never more than an operation ever has.
        model.settings.timeout = TIMEOUT_MAX;
        let output = self.output(kind, fields);
        let input = fields
            .required("input")
            .and_then(|_| input_schema(fields, self.scope.config.base));
        let text = kind.and_then(|kind| task(kind, fields));
        let (kind, text, output, input) = (kind?, text?, output?, input?);
        let known = property_names(&input);
        let what = kind.task_word();
        check_references(what, text.references().collect(), &known, false, fields);
        let cost = cost(self.model.prices.as_ref(), model.settings.max_tokens);
        let declared = declared.with(content(&text, &known), cost);
        let parts = OperationParts {
            description: format!("asks a model to {}", kind.word()),
            name,
            effect: Effect::Egress,
            endpoint: self.endpoint(kind, &text, output.value(), &model),
            input,
            output: Some(output.clone()),
            errors_no_effect: false,
        };
        let operation = declared.operation(fields, parts);
        let task = Task {
            kind,
            text,
            answer: output.value().clone(),
            model,
        };
        Some((task, operation))
    }

    /// Everything that the answer hangs on. What is sent around the arguments stands in it whole:
    /// its bytes count for the worst case.
    fn endpoint(
        &self,
        kind: TaskKind,
        text: &Template,
        answer: &Value,
        model: &ModelConfig,
    ) -> Value {
        let settings = &model.settings;
        json!({
            "kind": "model",
            "does": kind.word(),
            "prompt": PROMPT_VERSION,
            "system": prompt::SYSTEM,
            "task": text.text(),
            "answer": answer,
            "protocol": format!("{:?}", settings.kind).to_lowercase(),
            "model": settings.model,
            "base_url": settings.base_url.as_ref().map(ToString::to_string),
            "key": settings.key.as_ref().map(ToString::to_string),
            "schema_form": settings.form.word(),
            "temperature": settings.temperature,
            "seed": settings.seed,
            "max_tokens": settings.max_tokens,
        })
    }

    /// What no operation of a model may be.
    fn check_declared(&self, declared: &OperationFields, fields: &mut Fields<'_, '_>) {
        let span = fields.span();
        if declared.effect(fields, Effect::Egress, Effect::Egress) > Effect::Egress {
            let message = "a model writes nothing: its operations are `egress`";
            bad_setting(fields, span, message);
        }
        if declared.trusted {
            let message = "what a model says is never trusted: leave `trusted` out";
            bad_setting(fields, span, message);
        }
        if let Some(node) = fields.node("cost") {
            let message = "what a model costs is the `price` of its table in `[models]`";
            bad_setting(fields, node.span, message);
        }
    }

    /// The form of the answer: the operator's for `extract`, else its own.
    fn output(&self, kind: Option<TaskKind>, fields: &mut Fields<'_, '_>) -> Option<Schema> {
        let given = fields.node("output").map(|node| node.span);
        let read = output_schema(fields, self.scope.config.base);
        let span = given.unwrap_or_else(|| fields.span());
        if read.trusted {
            let message = "what a model says is never trusted: leave `trusted` out";
            bad_setting(fields, span, message);
        }
        if let Some(own) = kind?.answer() {
            if given.is_some() {
                let word = kind?.word();
                let message = format!("`output` belongs to `extract`: of `{word}` it is known");
                bad_setting(fields, span, message);
            }
            return Schema::compile(own).ok();
        }
        fields.required("output")?;
        let schema = read.schema?;
        if schema.value().get("type").and_then(Value::as_str) != Some("object") {
            let message = "the `output` of a model must have `type: object`";
            bad_setting(fields, span, message);
            return None;
        }
        Some(schema)
    }
}

/// The operator's word: `instructions`, or the `criterion` of a judge.
fn task(kind: TaskKind, fields: &mut Fields<'_, '_>) -> Option<Template> {
    let name = kind.task_field();
    let text = fields.required_text(name)?;
    if text.value.trim().is_empty() {
        bad_setting(fields, text.span, format!("`{name}` is empty"));
        return None;
    }
    match Template::parse(&text.value, text.span, "") {
        Ok(template) => Some(template),
        Err(diagnostic) => {
            fields.diagnostics().push(*diagnostic);
            None
        }
    }
}

fn max_tokens(fields: &mut Fields<'_, '_>) -> Option<u32> {
    let count = fields.count("max_tokens")?;
    let most = u32::try_from(count.value).ok().filter(|most| *most > 0);
    if most.is_none() {
        let message = "`max_tokens` must be from 1 to 4294967295";
        bad_setting(fields, count.span, message);
    }
    most
}

/// The arguments that are mere material. What the task names steers the model, and stays a sink.
fn content(text: &Template, known: &[&str]) -> Vec<String> {
    let named: BTreeSet<&str> = prompt::named(text).collect();
    let material = known.iter().filter(|name| !named.contains(**name));
    material.map(|name| (*name).to_owned()).collect()
}

/// The most that one request takes, at the dearest price of its direction.
fn cost(prices: Option<&Prices>, max_tokens: u32) -> Cost {
    let sent = prices.map(|prices| prices.input.max(prices.cached));
    let received = prices.map(|prices| prices.output);
    Cost {
        money: None,
        tokens_in: Some(Tokens {
            max: None,
            price: sent,
        }),
        tokens_out: Some(Tokens {
            // Why here: what the protocol puts around a request is no byte of its arguments.
            max: Some(u64::from(max_tokens) + MODEL_FRAME_TOKENS),
            price: received.max(sent),
        }),
    }
}
