//! `provost.toml`: what the operator says, every key known or refused.

use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::Arc;

use provost_plan::catalog::Catalog;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::PLAN_STEPS_MAX;
use provost_plan::node::{Fields, Node, parse_toml};
use provost_plan::plan::Limits;
use provost_plan::source::{Source, Span, Spanned};
use provost_run::admission::{AdmissionRules, Budget, Period};
use provost_run::event::AskMode;
use provost_tools::{ConfigScope, Listings, Tool, ToolConfig};
use provost_wire::http::Proxy;

use super::error::{Collector, DamagedTool};
use super::{ModelConfig, PlannerConfig};
use super::{
    ServerSettings, audit, network, notify, planners, roles, schedules, server, tags, telemetry,
    tools,
};
use crate::audit::AuditSettings;
use crate::keys::PublicKey;
use crate::limits::{CONCURRENT_CALLS_MAX, REPEATS_SHOWN_MS};
use crate::notify::NotifyTarget;
use crate::people::{Credential, RequiredCredential};
use crate::schedule::Schedule;
use crate::telemetry::TelemetrySettings;

/// Where playbooks lie unless the operator says otherwise.
pub(super) const PLAYBOOKS_DIR: &str = "playbooks";

/// What `provost.toml` says.
pub(super) struct Config {
    pub(super) source: Source,
    pub(super) description: Option<String>,
    pub(super) user: Option<String>,
    pub(super) limits: Limits,
    pub(super) ask: AskMode,
    pub(super) audit: Option<AuditSettings>,
    pub(super) notify: Vec<NotifyTarget>,
    pub(super) telemetry: Option<TelemetrySettings>,
    pub(super) schedules: Vec<Schedule>,
    pub(super) server: ServerSettings,
    pub(super) proxy: Option<Arc<Proxy>>,
    pub(super) required: RequiredCredential,
    pub(super) playbooks_dir: String,
    pub(super) models: BTreeMap<String, ModelConfig>,
    pub(super) planner: Option<PlannerConfig>,
    pub(super) tools: Vec<ToolConfig>,
    /// Tools that are left out because of their entries.
    pub(super) damaged: Vec<DamagedTool>,
    pub(super) catalog: Catalog,
    pub(super) admission: AdmissionRules,
}

/// What becomes of a tool whose entry has errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// It is left out, and the others work: a policy is judged by what can be called.
    LeaveOut,
    /// Its errors are those of the workspace.
    Refuse,
}

/// What the entries of the tools are read with.
#[derive(Clone, Copy)]
pub(super) struct ToolSources<'a> {
    /// The program's own tools.
    own: &'a [Arc<dyn Tool>],
    /// What servers list.
    listings: &'a Listings,
    /// What becomes of a tool whose entry has errors.
    damage: Damage,
}

impl<'a> ToolSources<'a> {
    pub(super) fn new(own: &'a [Arc<dyn Tool>], listings: &'a Listings, damage: Damage) -> Self {
        Self {
            own,
            listings,
            damage,
        }
    }
}

/// Reads the file. `None` if it is not readable at all, or its tools are not.
pub(super) fn read(
    root: &Path,
    source: &Source,
    given: ToolSources<'_>,
    found: &mut Collector,
) -> Option<Config> {
    let mut diagnostics = Vec::new();
    let config = match parse_toml(&source.text) {
        Ok(node) => fields(root, source, &node, given, &mut diagnostics),
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
    given: ToolSources<'_>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Config> {
    let mut fields = Fields::new("provost.toml", node, diagnostics)?;
    let [workspace, limits, approvals, planner, budget] =
        ["workspace", "limits", "approvals", "planner", "budget"].map(|name| fields.node(name));
    let [audit, network, server, telemetry] =
        ["audit", "network", "server", "telemetry"].map(|name| fields.node(name));
    let tools = fields.map("tools").unwrap_or_default();
    let [tags, roles] = ["tags", "roles"].map(|name| fields.map(name).unwrap_or_default());
    let [notify, schedules, models] =
        ["notify", "schedule", "models"].map(|name| fields.map(name).unwrap_or_default());
    fields.later("store", "the journal is in `.provost/`");
    fields.finish();
    let (description, user) = workspace.map_or((None, None), |node| about(node, diagnostics));
    let (limits, repeats_ms, limited) = limits_of(limits, diagnostics);
    let (ask, required) =
        approvals.map_or_else(Default::default, |node| read_approvals(node, diagnostics));
    let proxy = network.and_then(|node| network::read(root, node, diagnostics));
    let models = planners::read_models(models, proxy.as_ref(), diagnostics);
    let (playbooks_dir, planner) = planner_of(planner, &models, diagnostics);
    let audit = audit.and_then(|node| audit::read(root, node, diagnostics));
    let notify = notify::read(notify, proxy.as_ref(), diagnostics);
    let telemetry = telemetry.and_then(|node| telemetry::read(node, proxy.as_ref(), diagnostics));
    let schedules = schedules::read(schedules, diagnostics);
    let server = server::read(server, proxy.as_ref(), diagnostics);
    let tags = tags::read(tags, diagnostics);
    let scope = ConfigScope {
        base: root,
        listings: given.listings,
        models: &models,
        proxy: proxy.as_ref(),
        tags: &tags,
    };
    let (tools, damaged) = tools::usable(tools, given.own, scope, diagnostics)?;
    let damaged = tools::left_out(damaged, given.damage, source, diagnostics)?;
    let catalog = Catalog::new(tools.iter().flat_map(ToolConfig::operations));
    let is_left_out = |server: &str| damaged.iter().any(|one| one.tool == server);
    let over = roles::RoleScope::new(&catalog, &is_left_out, given.listings);
    let roles = roles::read(roles, &over, diagnostics);
    hold_values(&limited, &catalog, &damaged, diagnostics);
    let catalog = catalog.with_roles(roles).with_tags(tags);
    let admission = read_admission(&tools, budget, repeats_ms, diagnostics);
    Some(Config {
        source: source.clone(),
        description,
        user,
        limits,
        ask,
        audit,
        notify,
        telemetry,
        schedules,
        server,
        proxy,
        required,
        playbooks_dir: playbooks_dir.unwrap_or_else(|| PLAYBOOKS_DIR.to_owned()),
        models,
        planner,
        catalog,
        admission,
        damaged,
        tools,
    })
}

/// What [`read_limits`] says of the table, where there is one.
fn limits_of(
    node: Option<&Node>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Limits, i64, Vec<Spanned<String>>) {
    match node {
        Some(node) => read_limits(node, diagnostics),
        None => (Limits::default(), REPEATS_SHOWN_MS, Vec::new()),
    }
}

/// Where playbooks lie, and the planner of `[planner]`.
fn planner_of(
    node: Option<&Node>,
    models: &BTreeMap<String, ModelConfig>,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Option<String>, Option<PlannerConfig>) {
    let planner = node.and_then(|node| planners::read(node, models, diagnostics));
    planner.unwrap_or_default()
}

fn read_admission(
    tools: &[ToolConfig],
    budget: Option<&Node>,
    repeats_ms: i64,
    diagnostics: &mut Vec<Diagnostic>,
) -> AdmissionRules {
    let limits_of = |tool: &ToolConfig| (tool.name().to_owned(), tool.limits().clone());
    AdmissionRules {
        tools: Arc::new(tools.iter().map(limits_of).collect()),
        budget: budget.and_then(|node| read_budget(node, diagnostics)),
        repeats_ms,
    }
}

pub(super) fn bad(diagnostics: &mut Vec<Diagnostic>, span: Span, message: impl Into<String>) {
    diagnostics.push(Diagnostic::new(Code::BadWorkspace, span, message));
}

/// The user that the file names, whatever else is wrong with it.
pub(super) fn user(source: &Source) -> Option<String> {
    let node = parse_toml(&source.text).ok()?;
    let mut nobody = Vec::new();
    about(node.get("workspace")?, &mut nobody).1
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

/// The limits of a run, for how long calls are remembered that a later one may equal, and the
/// values that are limited.
fn read_limits(
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> (Limits, i64, Vec<Spanned<String>>) {
    let mut limits = Limits::default();
    let Some(mut fields) = Fields::new("`[limits]`", node, diagnostics) else {
        return (limits, REPEATS_SHOWN_MS, Vec::new());
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
    let values = fields.amounts("values");
    let limited = values.iter().map(|(name, _)| name.clone()).collect();
    let values = values.into_iter();
    limits.values = values.map(|(name, most)| (name.value, most)).collect();
    let shown = fields.duration("repeats_shown");
    fields.finish();
    let repeats_ms = shown.map_or(REPEATS_SHOWN_MS, |shown| {
        i64::try_from(shown.value.as_millis()).unwrap_or(i64::MAX)
    });
    (limits, repeats_ms, limited)
}

/// A limit of what no tool counts would hold nothing back.
fn hold_values(
    limited: &[Spanned<String>],
    catalog: &Catalog,
    damaged: &[DamagedTool],
    diagnostics: &mut Vec<Diagnostic>,
) {
    // Why not otherwise: a tool that is left out may be the one that counts it.
    if !damaged.is_empty() {
        return;
    }
    let known = catalog.values();
    for name in limited
        .iter()
        .filter(|name| !known.contains_key(&name.value))
    {
        let message = format!("no tool counts `{}`", name.value);
        let finding = Diagnostic::new(Code::UnknownValue, name.span, message)
            .did_you_mean(&name.value, known.keys().map(String::as_str));
        diagnostics.push(finding);
    }
}

/// `[budget]`: what all runs share.
fn read_budget(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Budget> {
    let mut fields = Fields::new("`[budget]`", node, diagnostics)?;
    let budget = Budget {
        money: fields.money("money").map(|money| money.value),
        tokens: fields.count("tokens").map(|tokens| tokens.value),
        per: fields.choice("per", &Period::WORDS).unwrap_or_default(),
    };
    let span = fields.span();
    if budget.money.is_none() && budget.tokens.is_none() {
        let message = "`[budget]` limits nothing: give `money`, `tokens` or both";
        bad(fields.diagnostics(), span, message);
    }
    fields.finish();
    Some(budget)
}

/// When a person is asked, and what they say needs to count.
pub(super) fn read_approvals(
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> (AskMode, RequiredCredential) {
    let Some(mut fields) = Fields::new("`[approvals]`", node, diagnostics) else {
        return Default::default();
    };
    let words = [("step", AskMode::Step), ("plan", AskMode::Plan)];
    let ask = fields.choice("ask", &words).unwrap_or_default();
    let words = Credential::ALL.map(|one| (one.word(), one));
    let least = fields.choice("require", &words).unwrap_or_default();
    let named = fields.texts("vouchers");
    let span = fields.span();
    fields.finish();
    let vouchers = keys(&named, "vouchers", diagnostics);
    if least == Credential::Login && named.is_empty() {
        let message = "`require = \"login\"` names no server: `vouchers` lists the public keys of \
                       the servers whose logins count";
        bad(diagnostics, span, message);
    }
    (ask, RequiredCredential { least, vouchers })
}

/// Public keys, as the list called `name` has them.
pub(super) fn keys(
    texts: &[Spanned<String>],
    name: &str,
    diagnostics: &mut Vec<Diagnostic>,
) -> Vec<PublicKey> {
    let mut known = Vec::new();
    for text in texts {
        match text.value.parse() {
            Ok(key) => known.push(key),
            Err(error) => bad(diagnostics, text.span, format!("`{name}`: {error}")),
        }
    }
    known
}

/// Whether a path stays below the directory that it starts from.
pub(super) fn is_inside(path: &Spanned<String>) -> bool {
    let path = Path::new(&path.value);
    path.components().next().is_some()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}
