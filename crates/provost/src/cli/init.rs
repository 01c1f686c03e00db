//! `init`: a workspace that works as it is.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use provost_engine::workspace::{Example, scaffold};
use serde_json::json;

use crate::advice::Advice as _;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;
use crate::user::user;
use crate::workspace_path::{WorkspacePath, quoted};

/// Arguments of `init`.
#[derive(Debug, Args)]
pub struct InitArgs {
    /// directory [default: the current one]
    #[arg(value_name = "DIR")]
    at: Option<PathBuf>,
    /// what the workspace does
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    example: ExampleName,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// A workspace to begin with, as it is typed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum ExampleName {
    /// searches a folder of notes
    #[default]
    Files,
    /// gives money back, once a person approves
    Refunds,
}

/// Does it.
pub fn run(verb: InitArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let dir = match (place.dir(), verb.at) {
        (Some(dir), at) => dir.join(at.unwrap_or_default()),
        (None, at) => at.unwrap_or_else(|| PathBuf::from(".")),
    };
    let example = match verb.example {
        ExampleName::Files => Example::Files,
        ExampleName::Refunds => Example::Refunds,
    };
    let written = scaffold(&dir, &user(), example)
        .map_err(|error| Failure::usage(error.to_string()).maybe_hint(error.advice()))?;
    if verb.json {
        let files: Vec<_> = written.iter().map(|path| path.to_string_lossy()).collect();
        output::json(&json!({ "schema": "provost/init/v1", "dir": dir, "files": files }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    for path in &written {
        page.line(&dir.join(path).to_string_lossy());
    }
    output::data(&page.finish());
    let mut next = Page::new();
    let here = dir.as_os_str() == ".";
    let at = if here {
        String::new()
    } else {
        format!(" -C {}", quoted(&dir.to_string_lossy()))
    };
    next.line("the workspace is solo: the requester may also approve (policies/solo.cedar)");
    next.line(&format!("try it: provost{at} run \"{}\"", example.goal()));
    output::note(&next.finish());
    Ok(Exit::Done)
}
