//! `doctor --model NAME`: one small request to a model, and what came of it.
//!
//! Owns the request, the same for every model. Plans nothing and begins nothing; what it costs is
//! counted against no run.

use std::time::{Duration, Instant};

use provost_engine::planners::wire::{ModelReply, ModelRequest};
use provost_engine::workspace::{ModelConfig, Workspace};
use provost_plan::money::Money;
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use super::SetupFinding;
use crate::failure::Failure;

/// What a model is told.
const SYSTEM: &str = "You answer a program, in the form it asks for.";
const USER: &str = "Say that you are ready: `ready` is true, and `word` is the word plan.";

/// Asks the model called `name`.
pub fn look(workspace: &Workspace, name: &str) -> Result<Vec<SetupFinding>, Failure> {
    let models = workspace.models();
    let Some(model) = models.get(name) else {
        let known: Vec<&str> = models.keys().map(String::as_str).collect();
        let failure = Failure::usage(format!("there is no `[models.{name}]` in provost.toml"));
        return Err(if known.is_empty() {
            failure.hint("`[models.NAME]` is its table: docs/reference/provost-toml.md")
        } else {
            failure.hint(format!("the models are: {}", known.join(", ")))
        });
    };
    let schema = json!({
        "type": "object",
        "required": ["ready", "word"],
        "properties": {
            "ready": { "type": "boolean" },
            "word": { "type": "string", "enum": ["plan"] },
        },
        "additionalProperties": false,
    });
    let client = model.client(workspace.root());
    let client = client.map_err(|error| Failure::usage(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no model is available: {error}")))?;
    let begun = Instant::now();
    let asked = client.ask(ModelRequest {
        system: SYSTEM,
        user: USER,
        name: "ready",
        schema: &schema,
    });
    Ok(match runtime.block_on(asked) {
        Ok(reply) => answered(model, &reply, &schema, begun.elapsed()),
        Err(error) => vec![SetupFinding::unfit(
            "model",
            format!("`{name}` did not answer: {error}"),
            Some("check `kind`, `base_url`, `model` and `key` in provost.toml"),
        )],
    })
}

fn answered(
    model: &ModelConfig,
    reply: &ModelReply,
    schema: &Value,
    took: Duration,
) -> Vec<SetupFinding> {
    let said = format!("`{}` answered after {} ms", reply.model, took.as_millis());
    vec![
        SetupFinding::fit("model", said),
        form(model, reply, schema),
        SetupFinding::fit("tokens", tokens(reply)),
        SetupFinding::fit("cost", cost(model, reply)),
    ]
}

fn form(model: &ModelConfig, reply: &ModelReply, schema: &Value) -> SetupFinding {
    let form = model.settings.form.word();
    let fits = serde_json::from_str::<Value>(&reply.text).is_ok_and(|value| {
        Schema::compile(schema.clone()).is_ok_and(|schema| schema.admits(&value))
    });
    if fits {
        return SetupFinding::fit("form", format!("`{form}` is honoured"));
    }
    let hint = "another `schema_form` may be: json_schema, json_object, tool, prompt";
    SetupFinding::unfit("form", format!("`{form}` is not honoured"), Some(hint))
}

fn tokens(reply: &ModelReply) -> String {
    let usage = &reply.usage;
    if *usage == Default::default() {
        return "its server counts none: what is set aside for a request stays spent".to_owned();
    }
    format!(
        "{} in ({} cached), {} out",
        usage.input, usage.cached, usage.output
    )
}

fn cost(model: &ModelConfig, reply: &ModelReply) -> String {
    let cost = model.prices.map(|prices| prices.of(&reply.usage));
    match cost {
        Some(cost) if cost > Money::ZERO => cost.to_string(),
        Some(_) => "nothing that is known".to_owned(),
        None => "not known: the model has no `price`".to_owned(),
    }
}
