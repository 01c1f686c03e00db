//! `tools prepare`: the table in which a database keeps the keys of its writes.

use std::time::Duration;

use clap::Args;
use provost_engine::engine::open_tools;
use provost_engine::tools::ToolConfig;
use provost_plan::diagnostic::nearest;
use serde_json::json;

use crate::drive::typed_yes;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::workspace_path::WorkspacePath;

/// How long a database may take to make one small table.
const TIME: Duration = Duration::from_secs(30);

/// Arguments of `tools prepare`.
#[derive(Debug, Args)]
pub struct Prepare {
    /// tool of kind `sql`
    #[arg(value_name = "NAME")]
    name: String,
    /// do not ask for confirmation
    #[arg(long)]
    yes: bool,
    /// print the SQL without running it
    #[arg(long, conflicts_with = "yes")]
    print: bool,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &Prepare, place: &WorkspacePath) -> Result<Exit, Failure> {
    let workspace = place.unlocked()?;
    let name = verb.name.as_str();
    let Some(config) = workspace.tools().iter().find(|tool| tool.name() == name) else {
        let known = workspace.tools().iter().map(ToolConfig::name);
        let failure = Failure::usage(format!("there is no tool `{name}` in provost.toml"));
        return Err(match nearest(name, known) {
            Some(near) => failure.hint(format!("did you mean `{near}`?")),
            None => failure,
        });
    };
    let Some(sql) = config.preparation() else {
        let message = format!("`{name}` has nothing to prepare");
        return Err(Failure::usage(message).hint(
            "only a database needs a table, for an `execute` with \
             `idempotency = { key = \"table\" }`",
        ));
    };
    let told = |made: bool, text: &str| {
        if verb.json {
            output::json(&json!({
                "schema": "provost/tools-prepared/v1",
                "tool": name,
                "sql": sql,
                "made": made,
            }));
        } else {
            output::note(text);
        }
        Ok(Exit::Done)
    };
    if verb.print && verb.json {
        return told(false, "");
    }
    if verb.print {
        output::data(&format!("{sql};\n"));
        return Ok(Exit::Done);
    }
    let toolbox = open_tools(&workspace)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))?;
    let failed = |message: Option<String>| Failure::failed(message.unwrap_or_default());
    let prepared = runtime.block_on(toolbox.is_prepared(name, TIME));
    if prepared.map_err(|reply| failed(reply.message))? {
        return told(
            false,
            &format!("the database of `{name}` has its table already\n"),
        );
    }
    output::note(&format!(
        "to run in the database of `{name}`:\n\n{sql};\n\n"
    ));
    if !verb.yes {
        if !output::is_attended() {
            let message = "there is no terminal to ask at";
            return Err(Failure::usage(message).hint("`--yes` runs it, `--print` only prints it"));
        }
        if !typed_yes("run it? [y/N] ")? {
            return told(false, "nothing was run\n");
        }
    }
    let made = runtime.block_on(toolbox.prepare(name, TIME));
    made.map_err(|reply| failed(reply.message))?;
    told(true, &format!("the database of `{name}` is prepared\n"))
}
