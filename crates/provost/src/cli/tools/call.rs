//! `tools call`: one call, as a plan of one step: checked, asked about, journaled.

use clap::Args;
use provost_engine::engine::NewRun;
use provost_plan::catalog::Operation;
use provost_plan::digest::{Digest, Domain, canonical};
use provost_plan::expr::as_written;
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::{Map, Value, json};

use super::unknown;
use crate::cli::Watching;
use crate::cli::apply::of_plan;
use crate::cli::run::Beginning;
use crate::drive::{Start, drive};
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// The most characters of the arguments that a goal shows.
const GOAL_ARGS_MAX: usize = 120;

/// Arguments of `tools call`.
#[derive(Debug, Args)]
pub struct CallArgs {
    /// operation, such as `pager.notify`
    #[arg(value_name = "NAME")]
    name: String,
    /// arguments, such as `message=hello` or `count=3`
    #[arg(value_name = "ARG=VALUE")]
    given: Vec<String>,
    /// arguments as one JSON object
    #[arg(long, value_name = "JSON", conflicts_with = "given")]
    args: Option<String>,
    #[command(flatten)]
    begin: Beginning,
    #[command(flatten)]
    watching: Watching,
}

/// Does it.
pub fn run(verb: &CallArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let workspace = place.workspace()?;
    let Some(tool) = workspace.catalog().get(&verb.name) else {
        return Err(unknown(&workspace, &verb.name));
    };
    let args = match &verb.args {
        Some(text) => object(text)?,
        None => given(tool, &verb.given)?,
    };
    let goal = goal_of(tool, &args);
    let called = format!("{} was called and answered", verb.name);
    let plan = json!({
        "schema": "provost/plan/v1",
        "goal": {
            "text": goal,
            "success": [{ "id": "called", "text": called }],
        },
        "success": [{ "for": "called", "check": "${ steps.call.status == \"succeeded\" }" }],
        "steps": [{
            "id": "call", "tool": verb.name, "args": as_written(&Value::Object(args)),
            "description": format!("Call {} with the arguments that were typed", verb.name),
        }],
        "answer": [answer(tool)],
    });
    let text = serde_json::to_string_pretty(&plan).unwrap_or_default();
    let source = Source::new(format!("a call of {}", verb.name), text);
    let (goal, planner) = of_plan(&workspace, source)?;
    let new = NewRun {
        goal,
        interpreted_by: "tools call".to_owned(),
        planner,
        fallback: None,
        mode: None,
        ask: verb.begin.ask_mode(workspace.ask()),
        again: verb.begin.again,
        traceparent: verb.begin.traceparent,
    };
    let engine = place.engine(workspace)?;
    drive(place, &engine, Start::New(Box::new(new)), verb.watching)
}

/// The goal of a call. Why with its arguments: other arguments are another goal. Those of an
/// operation that takes secrets are told apart by their digest alone.
fn goal_of(tool: &Operation, args: &Map<String, Value>) -> String {
    let args = Value::Object(args.clone());
    let (text, digest) = (canonical(&args), Digest::of_value(Domain::Args, &args));
    let short: String = digest.hex().chars().take(8).collect();
    if tool.accepts_secrets {
        return format!("Call {} (arguments {short})", tool.name);
    }
    if text.chars().count() <= GOAL_ARGS_MAX {
        return format!("Call {} {text}", tool.name);
    }
    let cut: String = text.chars().take(GOAL_ARGS_MAX).collect();
    format!("Call {} {cut}… (arguments {short})", tool.name)
}

/// What is said of the call: its output, unless that is secret.
fn answer(tool: &Operation) -> Value {
    if tool.secret {
        let text = format!("{} gave a secret, which is not shown", tool.name);
        return json!({ "text": text, "cites": ["call"] });
    }
    json!({ "text": "${ json(steps.call.output) }", "cites": ["call"] })
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    match serde_json::from_str(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(Failure::usage("`--args` is JSON, but no object")),
        Err(error) => Err(Failure::usage(format!("`--args` is no JSON: {error}"))),
    }
}

/// What was typed, each value as the tool takes it: a text where it takes one, else JSON.
fn given(tool: &Operation, typed: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut args = Map::new();
    for one in typed {
        let Some((name, text)) = one.split_once('=') else {
            return Err(Failure::usage(format!("`{one}` is no argument"))
                .hint("an argument is written `name=value`"));
        };
        let schema = tool.input.value().pointer(&format!("/properties/{name}"));
        let schema = schema.and_then(|schema| Schema::compile(schema.clone()).ok());
        let as_text = Value::from(text);
        let value = match schema {
            Some(schema) if schema.admits(&as_text) => as_text,
            _ => serde_json::from_str(text).unwrap_or(as_text),
        };
        if args.insert(name.to_owned(), value).is_some() {
            return Err(Failure::usage(format!("`{name}` is given twice")));
        }
    }
    Ok(args)
}
