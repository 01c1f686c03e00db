//! `tools`: what a plan may call, and the lock that pins it.

use clap::{Args, Subcommand};
use provost_engine::engine::overreaches;
use provost_engine::run::admission::{ToolLimits, tool_of};
use provost_engine::store::ToolStatus;
use provost_engine::tools::ToolConfig;
use provost_engine::workspace::Workspace;
use provost_plan::catalog::{Idempotency, KeyCarrier, Operation};
use provost_plan::diagnostic::nearest;
use provost_plan::duration;
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Cell, Page, TextStyle};
use crate::workspace_path::WorkspacePath;

mod add;
mod call;
mod database;
mod diff;
mod import;
mod lock;
mod prepare;
mod rate_limits;
mod servers;
mod unused;

/// Arguments of `tools`.
#[derive(Debug, Args)]
pub struct ToolsArgs {
    #[command(subcommand)]
    verb: ToolsVerb,
}

#[derive(Debug, Subcommand)]
enum ToolsVerb {
    /// list operations with their effects
    List {
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// show the definition of an operation
    Show {
        /// operation, such as `pager.notify`
        #[arg(value_name = "NAME")]
        name: String,
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// add a server, an API or a database to provost.toml
    Add(add::Add),
    /// call an operation as a plan of one step
    Call(call::CallArgs),
    /// create a database's table of idempotency keys
    Prepare(prepare::Prepare),
    /// pin all definitions in provost.lock
    Lock {
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// compare the servers' tools with provost.lock
    Diff {
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// list operations that no run has called
    Unused {
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Does it.
pub fn run(verb: ToolsArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    match verb.verb {
        ToolsVerb::List { json } => list(&place.unlocked()?, json),
        ToolsVerb::Show { name, json } => return show(&place.unlocked()?, place, &name, json),
        ToolsVerb::Add(verb) => return add::run(&verb, place),
        ToolsVerb::Call(verb) => return call::run(&verb, place),
        ToolsVerb::Prepare(verb) => return prepare::run(&verb, place),
        ToolsVerb::Lock { json } => return lock::run(place, json),
        ToolsVerb::Diff { json } => return diff::run(place, json),
        ToolsVerb::Unused { json } => return unused::run(place, json),
    }
    Ok(Exit::Done)
}

/// Says on stderr which tools stay closed: what is listed of them cannot be called.
fn warn_of_closed(workspace: &Workspace) {
    for (source, finding) in overreaches(workspace) {
        Failure::usage("this tool stays closed until its entry is fixed")
            .findings(&source, &[finding])
            .show_as("warning");
    }
}

fn list(workspace: &Workspace, json: bool) {
    warn_of_closed(workspace);
    if json {
        let tools: Vec<Value> = workspace
            .catalog()
            .iter()
            .map(|tool| to_json(tool))
            .collect();
        output::json(&json!({ "schema": "provost/tools/v1", "tools": tools }));
        return;
    }
    let rows: Vec<Vec<Cell>> = workspace
        .catalog()
        .iter()
        .map(|tool| {
            vec![
                Cell::new(TextStyle::Strong, tool.name.clone()),
                Cell::plain(tool.effect.word()),
                Cell::new(TextStyle::Faint, tool.description.clone()),
            ]
        })
        .collect();
    if rows.is_empty() {
        output::note("this workspace has no tools: provost.toml declares none\n");
    }
    let mut page = Page::new();
    page.table(0, &rows);
    output::data(&page.finish());
}

fn to_json(tool: &Operation) -> Value {
    json!({
        "name": tool.name,
        "description": tool.description,
        "effect": tool.effect,
        "tags": tool.tags,
        "trusted": tool.trusted,
        "secret": tool.secret,
        "accepts_secrets": tool.accepts_secrets,
        "content": tool.content,
        "idempotency": tool.idempotency,
        "reconcile": tool.reconcile,
        "preview": tool.preview,
        "creates": tool.creates,
        "input": tool.input.value(),
        "output": tool.output.as_ref().map(Schema::value),
        "timeout_ms": u64::try_from(tool.timeout.as_millis()).unwrap_or(u64::MAX),
        "max_bytes": tool.max_bytes,
        "digest": tool.digest(),
    })
}

fn show(
    workspace: &Workspace,
    place: &WorkspacePath,
    name: &str,
    json: bool,
) -> Result<Exit, Failure> {
    let Some(tool) = workspace.catalog().get(name) else {
        return Err(unknown(workspace, name));
    };
    warn_of_closed(workspace);
    let server = tool_of(name);
    let limits = workspace.admission().of_tool(server);
    let known = match place.journal_if_any()? {
        Some(store) => store.remembered(server)?,
        None => ToolStatus::default(),
    };
    let config = workspace.tools().iter().find(|one| one.name() == server);
    let sandbox = config.and_then(ToolConfig::sandbox);
    if json {
        let mut value = to_json(tool);
        if let Value::Object(map) = &mut value {
            map.insert("schema".to_owned(), json!("provost/tool/v1"));
            map.insert(
                "admission".to_owned(),
                rate_limits::to_json(&limits, &known),
            );
            if let Some(sandbox) = sandbox {
                map.insert("sandbox".to_owned(), json!(sandbox));
            }
        }
        output::json(&value);
        return Ok(Exit::Done);
    }
    let page = described(tool, server, &limits, &known, sandbox.as_deref());
    output::data(&page.finish());
    Ok(Exit::Done)
}

fn unknown(workspace: &Workspace, name: &str) -> Failure {
    let hint = match nearest(name, workspace.catalog().names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => "`provost tools list` lists them".to_owned(),
    };
    Failure::usage(format!("there is no tool `{name}`")).hint(hint)
}

/// All that is declared of a tool, and how it stands.
fn described(
    tool: &Operation,
    server: &str,
    limits: &ToolLimits,
    known: &ToolStatus,
    sandbox: Option<&str>,
) -> Page {
    let mut page = Page::new();
    page.strong(&tool.name).text(": ");
    page.line(match tool.description.as_str() {
        "" => "(no description)",
        said => said,
    });
    page.field(
        "effect",
        &format!("{}, {} risk", tool.effect.word(), tool.risk().word()),
    );
    let tags: Vec<&str> = tool.tags.iter().map(String::as_str).collect();
    if !tags.is_empty() {
        page.field("tags", &tags.join(", "));
    }
    page.field("retry", &repeated(tool));
    if let Some(reconcile) = &tool.reconcile {
        let wait = std::time::Duration::from_millis(reconcile.final_after_ms);
        let wait = duration::print(wait);
        let text = format!(
            "`{}` tells whether it took place, after {wait}",
            reconcile.tool
        );
        page.field("in doubt", &text);
    }
    if let Some(preview) = &tool.preview {
        let text = format!("`{}` shows what a call is about", preview.tool);
        page.field("on a card", &text);
    }
    if let Some(creates) = &tool.creates {
        let text = format!("a {}, its id by {}", creates.kind, creates.id);
        page.field("creates", &text);
    }
    rate_limits::fields(&mut page, server, limits, known);
    if let Some(sandbox) = sandbox {
        page.field("sandbox", sandbox);
    }
    page.field("output", worth(tool));
    let content: Vec<&str> = tool.content.iter().map(String::as_str).collect();
    if !content.is_empty() {
        page.field(
            "content",
            &format!("{} (reaches nobody)", content.join(", ")),
        );
    }
    page.field(
        "one call",
        &format!(
            "up to {} and {} bytes",
            duration::print(tool.timeout),
            tool.max_bytes
        ),
    );
    page.field("digest", &tool.digest().to_string());
    schema(&mut page, "input", tool.input.value());
    match &tool.output {
        Some(output) => schema(&mut page, "result", output.value()),
        None => {
            page.field("result", "no schema");
        }
    }
    page
}

/// How far its output may be believed.
fn worth(tool: &Operation) -> &'static str {
    match (tool.trusted, tool.secret) {
        _ if tool.accepts_secrets && !tool.secret => "secret if the call is given a secret",
        (true, false) => "trusted",
        (true, true) => "trusted, and secret",
        (false, false) => "untrusted",
        (false, true) => "untrusted, and secret",
    }
}

fn repeated(tool: &Operation) -> String {
    match &tool.idempotency {
        _ if tool.effect.is_read() => "safe: it only reads".to_owned(),
        Idempotency::Natural => "safe: a repetition changes nothing".to_owned(),
        Idempotency::None => "unsafe: if the outcome is unknown, a person settles it".to_owned(),
        Idempotency::Key { carrier, ttl_ms } => {
            let lasts = duration::print(std::time::Duration::from_millis(*ttl_ms));
            let carrier = match carrier {
                KeyCarrier::Header(name) => format!("the header {name}"),
                KeyCarrier::Meta(name) => format!("the metadata {name}"),
                KeyCarrier::Arg(name) => format!("the argument {name}"),
                KeyCarrier::Env(name) => format!("the variable {name}"),
                KeyCarrier::Table => "its table provost_effects".to_owned(),
            };
            format!("safe for {lasts}, by an idempotency key in {carrier}")
        }
    }
}

fn schema(page: &mut Page, word: &str, schema: &Value) {
    page.faint(&format!("  {word}")).end();
    let text = serde_json::to_string_pretty(schema).unwrap_or_default();
    for line in text.lines() {
        page.line(&format!("    {line}"));
    }
}
