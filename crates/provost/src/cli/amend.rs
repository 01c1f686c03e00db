//! `amend`: a person puts a plan, arguments or a goal of their own in the place of what is there.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use provost_engine::people::{PlanText, Statement};
use provost_engine::run::state::State;
use provost_plan::digest::canonical;
use provost_plan::expr::Key;
use serde_json::Value;

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::Target;
use crate::document::{Document, text};
use crate::failure::{Exit, Failure};
use crate::workspace_path::WorkspacePath;

/// Arguments of `amend`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(true))]
pub struct AmendArgs {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    target: Target,
    /// file with the new plan
    #[arg(long, value_name = "FILE", group = "what", conflicts_with = "set")]
    plan: Option<PathBuf>,
    /// new value of an argument: JSON or plain text
    #[arg(long, value_name = "STEP.ARG=VALUE", group = "what")]
    set: Vec<Setting>,
    /// new goal
    #[arg(long, value_name = "TEXT", group = "what")]
    goal: Option<String>,
    /// reason, recorded in the journal
    #[arg(long, value_name = "WHY", default_value = "no reason was given")]
    reason: String,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

/// `STEP.ARG=VALUE`.
#[derive(Clone, Debug)]
struct Setting {
    step: String,
    arg: String,
    value: Value,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let form = || "it is written STEP.ARG=VALUE".to_owned();
        let (name, value) = text.split_once('=').ok_or_else(form)?;
        let (step, arg) = name.split_once('.').ok_or_else(form)?;
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        Ok(Self {
            step: step.to_owned(),
            arg: arg.to_owned(),
            value,
        })
    }
}

/// Does it.
pub fn run(verb: AmendArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let run = verb.target.open(place)?;
    let plan = match &verb.plan {
        Some(path) => Some(of_file(path)?),
        None if verb.set.is_empty() => None,
        None => Some(with_settings(run.state(), &verb.set)?),
    };
    let statement = Statement::Amend {
        plan,
        goal: verb.goal,
        reason: verb.reason,
    };
    statement::say(run, statement, &verb.signing, verb.watching, place)
}

fn of_file(path: &std::path::Path) -> Result<PlanText, Failure> {
    let name = path.to_string_lossy().into_owned();
    match Document::read(path)? {
        Document::Plan(_) => Ok(PlanText {
            name,
            text: text(path)?,
        }),
        Document::Bundle(bundle, _) => Ok(PlanText {
            name,
            text: canonical(&bundle.plan),
        }),
        Document::Playbook(_) => Err(
            Failure::usage(format!("`{name}` is a playbook, not a plan"))
                .hint("`provost plan \"GOAL\" -o FILE` saves the plan that a playbook makes"),
        ),
    }
}

/// The plan in force with other arguments.
fn with_settings(state: &State, settings: &[Setting]) -> Result<PlanText, Failure> {
    let mut document = PlanText::to_amend(&state.in_force.document);
    for setting in settings {
        let steps = document.get_mut("steps").and_then(Value::as_array_mut);
        let step = steps
            .into_iter()
            .flatten()
            .find(|step| step.get("id").and_then(Value::as_str) == Some(setting.step.as_str()));
        let Some(step) = step.and_then(Value::as_object_mut) else {
            return Err(
                Failure::usage(format!("the current plan has no step `{}`", setting.step))
                    .hint(format!("`provost show {}` lists its steps", state.head.run)),
            );
        };
        let args = step
            .entry("args")
            .or_insert_with(|| Value::Object(Default::default()));
        match args.as_object_mut() {
            Some(args) => {
                // Why: what is set takes the place of an argument that may be left out.
                let (name, _) = Key::parts(&setting.arg);
                args.retain(|written, _| Key::parts(written).0 != name);
                args.insert(setting.arg.clone(), setting.value.clone());
            }
            None => {
                let message = format!("the arguments of `{}` are no map", setting.step);
                return Err(Failure::usage(message).hint("`--plan FILE` takes a whole plan"));
            }
        };
    }
    Ok(PlanText {
        name: PlanText::AMENDED.to_owned(),
        text: canonical(&document),
    })
}
