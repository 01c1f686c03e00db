//! `explain`: the page of a code, or the list of all of them.

use clap::Args;
use provost_plan::codes::{Code, FAMILIES};
use provost_plan::diagnostic::{Severity, nearest};
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// finding code, such as R101 [default: list all codes]
    #[arg(value_name = "CODE")]
    code: Option<String>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: &ExplainArgs) -> Result<Exit, Failure> {
    let Some(typed) = &verb.code else {
        if verb.json {
            let codes: Value = Code::ALL.iter().map(|code| row(*code)).collect();
            output::json(&json!({ "schema": "provost/codes/v1", "codes": codes }));
        } else {
            output::data(&list().finish());
        }
        return Ok(Exit::Done);
    };
    let Some(code) = Code::from_text(typed) else {
        let upper = typed.to_ascii_uppercase();
        let near = nearest(&upper, Code::ALL.iter().map(|code| code.as_str()));
        let hint = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("the codes are {}", families()),
        };
        return Err(Failure::usage(format!("there is no code `{typed}`")).hint(hint));
    };
    if verb.json {
        let mut value = row(code);
        if let Value::Object(map) = &mut value {
            map.insert("schema".to_owned(), json!("provost/explain/v1"));
            map.insert("page".to_owned(), json!(code.page()));
        }
        output::json(&value);
        return Ok(Exit::Done);
    }
    output::data(&page(code).finish());
    Ok(Exit::Done)
}

fn row(code: Code) -> Value {
    json!({
        "code": code,
        "name": code.name(),
        "family": code.family(),
        "severity": code.severity(),
        "title": code.title(),
    })
}

/// Every code, family by family.
fn list() -> Page {
    let mut page = Page::new();
    let mut all = Code::ALL.to_vec();
    all.sort_by_key(|code| code.as_str());
    for (number, (letter, family)) in FAMILIES.iter().enumerate() {
        if number > 0 {
            page.end();
        }
        page.strong(family).end();
        let of_family = all.iter().filter(|code| code.as_str().starts_with(*letter));
        let row = |code: &Code| {
            vec![
                Cell::new(TextStyle::Strong, code.as_str()),
                Cell::new(look(code.severity()), code.severity().word()),
                Cell::plain(code.title()),
            ]
        };
        page.table(2, &of_family.map(row).collect::<Vec<_>>());
    }
    page.end()
        .line("`provost explain CODE` tells what it is, why it is bad and how to mend it");
    page
}

fn look(severity: Severity) -> TextStyle {
    match severity {
        Severity::Error => TextStyle::Bad,
        Severity::Warning => TextStyle::Warn,
        Severity::Note => TextStyle::Faint,
    }
}

/// The page of a code: its headings stand out, the marks of the text format are left out.
fn page(code: Code) -> Page {
    let mut page = Page::new();
    let mut example = false;
    for line in code.page().lines() {
        if line.starts_with("```") {
            example = !example;
        } else if example {
            page.text("    ").line(line);
        } else if let Some(title) = line.strip_prefix("# ") {
            page.put(look(code.severity()), code.severity().word())
                .text(" ");
            page.strong(title).end();
        } else if let Some(heading) = line.strip_prefix("## ") {
            page.strong(heading).end();
        } else {
            page.wrapped_line(line, output::width());
        }
    }
    page
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
