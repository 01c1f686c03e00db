//! `provost.toml`: what the operator says, every key known or refused.

use std::path::{Component, Path};

use provost_plan::catalog::Catalog;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::PLAN_STEPS_MAX;
use provost_plan::node::{Fields, Node, parse_toml};
use provost_plan::plan::Limits;
use provost_plan::source::{Source, Span, Spanned};
use provost_run::event::AskMode;
use provost_tools::ToolConfig;

use super::error::Collector;
use crate::limits::CONCURRENT_CALLS_MAX;

/// Where playbooks lie unless the operator says otherwise.
pub(super) const PLAYBOOKS_DIR: &str = "playbooks";

/// What `provost.toml` says.
pub(super) struct Config {
    pub(super) source: Source,
    pub(super) description: Option<String>,
    pub(super) user: Option<String>,
    pub(super) limits: Limits,
    pub(super) ask: AskMode,
    pub(super) playbooks_dir: String,
    pub(super) tools: Vec<ToolConfig>,
    pub(super) catalog: Catalog,
}

/// Reads the file. `None` if it is not readable at all, or its tools are not: without the whole
/// catalog, a policy cannot be judged.
pub(super) fn read(root: &Path, source: &Source, found: &mut Collector) -> Option<Config> {
    let mut diagnostics = Vec::new();
    let config = match parse_toml(&source.text) {
        Ok(node) => fields(root, source, &node, &mut diagnostics),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    };
    found.add(source, diagnostics);
    config
}

fn fields(
    root: &Path,
    source: &Source,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Config> {
    let mut fields = Fields::new("provost.toml", node, diagnostics)?;
    let workspace = fields.node("workspace");
    let limits = fields.node("limits");
    let approvals = fields.node("approvals");
    let planner = fields.node("planner");
    let tools = fields.map("tools").unwrap_or_default();
    fields.later("models", "no model is called");
    fields.later("notify", "nobody is notified");
    fields.later("store", "the journal lies in `.provost/`");
    fields.finish();

    let (description, user) = workspace.map_or((None, None), |node| about(node, diagnostics));
    let limits = limits.map_or_else(Limits::default, |node| read_limits(node, diagnostics));
    let ask = approvals.map_or_else(AskMode::default, |node| read_approvals(node, diagnostics));
    let playbooks_dir = planner.and_then(|node| read_planner(node, diagnostics));
    let read: Vec<_> = tools
        .iter()
        .map(|(name, node)| ToolConfig::read(&name.value, node, root, diagnostics))
        .collect();
    let tools: Vec<ToolConfig> = read.into_iter().collect::<Option<_>>()?;
    Some(Config {
        source: source.clone(),
        description,
        user,
        limits,
        ask,
        playbooks_dir: playbooks_dir.unwrap_or_else(|| PLAYBOOKS_DIR.to_owned()),
        catalog: Catalog::new(tools.iter().flat_map(ToolConfig::operations)),
        tools,
    })
}

fn bad(diagnostics: &mut Vec<Diagnostic>, span: Span, message: impl Into<String>) {
    diagnostics.push(Diagnostic::new(Code::BadWorkspace, span, message));
}

fn about(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> (Option<String>, Option<String>) {
    let Some(mut fields) = Fields::new("`[workspace]`", node, diagnostics) else {
        return (None, None);
    };
    let description = fields.text("description").map(|text| text.value);
    let user = fields.text("user");
    fields.finish();
    if let Some(user) = user.as_ref().filter(|user| user.value.trim().is_empty()) {
        bad(diagnostics, user.span, "`user` is empty");
    }
    (description, user.map(|user| user.value))
}

fn read_limits(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Limits {
    let mut limits = Limits::default();
    let Some(mut fields) = Fields::new("`[limits]`", node, diagnostics) else {
        return limits;
    };
    let most_steps = u64::try_from(PLAN_STEPS_MAX).unwrap_or(u64::MAX);
    let mut take = |name: &'static str, place: &mut u64, least: u64, most: u64| {
        let Some(count) = fields.count(name) else {
            return;
        };
        if count.value < least || count.value > most {
            let message = if most == u64::MAX {
                format!("`{name}` must be at least {least}")
            } else {
                format!("`{name}` must be from {least} to {most}")
            };
            bad(fields.diagnostics(), count.span, message);
        }
        *place = count.value;
    };
    take("steps", &mut limits.steps, 1, most_steps);
    take("calls", &mut limits.calls, 1, u64::MAX);
    take("attempts", &mut limits.attempts, 1, u64::MAX);
    take("revisions", &mut limits.revisions, 0, u64::MAX);
    take("proposals", &mut limits.proposals, 1, u64::MAX);
    take(
        "concurrency",
        &mut limits.concurrency,
        1,
        CONCURRENT_CALLS_MAX,
    );
    if let Some(wall) = fields.duration("wall") {
        limits.wall_ms = u64::try_from(wall.value.as_millis()).unwrap_or(u64::MAX);
        if limits.wall_ms == 0 {
            bad(
                fields.diagnostics(),
                wall.span,
                "`wall` must be longer than nothing",
            );
        }
    }
    limits.money = fields.money("money").map(|money| money.value);
    limits.tokens = fields.count("tokens").map(|tokens| tokens.value);
    fields.finish();
    limits
}

fn read_approvals(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> AskMode {
    let Some(mut fields) = Fields::new("`[approvals]`", node, diagnostics) else {
        return AskMode::default();
    };
    let words = [("step", AskMode::Step), ("plan", AskMode::Plan)];
    let ask = fields.choice("ask", &words).unwrap_or_default();
    fields.finish();
    ask
}

fn read_planner(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<String> {
    let mut fields = Fields::new("`[planner]`", node, diagnostics)?;
    let dir = fields.text("playbooks");
    fields.later("model", "no model plans");
    fields.later("command", "no other process plans");
    fields.finish();
    let dir = dir?;
    if is_inside(&dir) {
        return Some(dir.value);
    }
    let message = "`playbooks` must name a directory inside the workspace";
    bad(diagnostics, dir.span, message);
    None
}

/// Whether a path stays below the directory that it starts from.
fn is_inside(path: &Spanned<String>) -> bool {
    let path = Path::new(&path.value);
    path.components().next().is_some()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}
