//! `explain`: the page of a code.

use clap::Args;
use provost_plan::codes::Code;
use provost_plan::diagnostic::nearest;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::Page;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct Explain {
    /// the code of a finding, such as R101
    #[arg(value_name = "CODE")]
    code: String,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &Explain) -> Result<Exit, Failure> {
    let Some(code) = Code::from_text(&verb.code) else {
        let typed = verb.code.to_ascii_uppercase();
        let near = nearest(&typed, Code::ALL.iter().map(|code| code.as_str()));
        let hint = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the codes are {}", families()),
        };
        return Err(Failure::usage(format!("there is no code `{}`", verb.code)).hint(hint));
    };
    if verb.json {
        output::json(&json!({
            "schema": "provost/explain/v1",
            "code": code,
            "severity": code.severity(),
            "title": code.title(),
            "page": code.page(),
        }));
        return Ok(Exit::Done);
    }
    let mut page = Page::new();
    page.lines(code.page(), 0);
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn families() -> String {
    let mut families: Vec<String> = Vec::new();
    let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
    for family in codes.chunk_by(|a, b| a.chars().next() == b.chars().next()) {
        if let (Some(first), Some(last)) = (family.iter().min(), family.iter().max()) {
            families.push(format!("{first} to {last}"));
        }
    }
    families.join(", ")
}
