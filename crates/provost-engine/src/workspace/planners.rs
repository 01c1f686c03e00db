//! `[models]` and `[planner]`: who plans where no playbook matches.
//!
//! Owns their keys, and the way from a choice to a planner. Starts and asks nobody. INVARIANT: a
//! planner that is configured names a model that is there, or a command.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::money::Money;
use provost_plan::node::{Fields, Kind, Node};
use provost_plan::source::{Source, Spanned};
use provost_planner::process::ProcessSettings;
use provost_planner::{
    ClientPlanner, FilePlanner, Interpreter, ModelPlanner, Planner, Playbook, ProcessPlanner,
};
use provost_run::event::{PlannerChoice, PlannerView};
use provost_wire::http::{BaseUrl, Proxy};
use provost_wire::model::{
    ModelClientError, ModelConfig, ModelKind, ModelSettings, Prices, SchemaForm,
};
use provost_wire::process::command_lacks;
use provost_wire::{EnvValue, SecretName};

use super::Workspace;
use super::config::{bad, is_inside};

/// Most tokens of an answer, unless the operator says otherwise.
const MAX_TOKENS: u64 = 8_192;
/// How long a planner may take, unless the operator says otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Who plans where no playbook matches.
#[derive(Clone, Debug, PartialEq)]
pub enum PlannerConfig {
    /// A model.
    Model {
        /// Its name.
        name: String,
        /// The most that planning of one run may cost.
        money: Option<Money>,
        /// How it is shown text.
        view: PlannerView,
    },
    /// A program.
    Process {
        /// How it is started.
        settings: ProcessSettings,
        /// How it is shown text.
        view: PlannerView,
    },
}

/// A planner that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlannerError {
    /// The playbook of a run is gone.
    #[error("the playbook `{name}` of the run is not in this workspace")]
    NoPlaybook {
        /// Its name.
        name: String,
    },
    /// The model of a run is gone.
    #[error("the model `{name}` of the run is not in this workspace")]
    NoModel {
        /// Its name.
        name: String,
    },
    /// The program of a run is gone.
    #[error("the planner `{program}` of the run is not in this workspace")]
    NoProgram {
        /// The program.
        program: String,
    },
    /// The client does not start.
    #[error(transparent)]
    Client(#[from] ModelClientError),
}

/// The models.
pub(super) fn read_models(
    nodes: &[(Spanned<String>, Node)],
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> BTreeMap<String, ModelConfig> {
    let mut models = BTreeMap::new();
    for (name, node) in nodes {
        if let Some(model) = read_model(node, proxy, diagnostics) {
            models.insert(name.value.clone(), model);
        }
    }
    models
}

fn read_model(
    node: &Node,
    proxy: Option<&Arc<Proxy>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ModelConfig> {
    let mut fields = Fields::new("a model", node, diagnostics)?;
    fields.required("kind");
    let kind = fields.choice("kind", &ModelKind::WORDS);
    let model = fields.required_text("model");
    let key = fields.text("key").and_then(|text| {
        let name = SecretName::parse(&text.value);
        name.map_err(|error| bad(fields.diagnostics(), text.span, error.to_string()))
            .ok()
    });
    let private = fields.boolean("private").unwrap_or(false);
    let base_url = fields.text("base_url").and_then(|text| {
        let base = BaseUrl::parse(&text.value);
        base.map(|base| base.with_private(private).through(proxy.cloned()))
            .map_err(|error| bad(fields.diagnostics(), text.span, error.to_string()))
            .ok()
    });
    let form = fields.choice("schema_form", &SchemaForm::WORDS);
    let temperature = fields.node("temperature");
    let temperature = temperature.and_then(|node| number(node, &mut fields));
    let seed = fields.count("seed").map(|seed| seed.value);
    let max_tokens = fields.count("max_tokens");
    let timeout = timeout_of(&mut fields);
    let prices = fields.node("price");
    let span = fields.span();
    if let (Some(ModelKind::Anthropic | ModelKind::Gemini), None, None) = (kind, &key, &base_url) {
        let message = "the model has no `key`: name it, such as `key = \"env:NAME_OF_IT\"`";
        bad(fields.diagnostics(), span, message);
    }
    if let Some(name) = model.as_ref().filter(|name| name.value.trim().is_empty()) {
        bad(fields.diagnostics(), name.span, "`model` is empty");
    }
    fields.finish();
    let prices = prices.and_then(|node| read_prices(node, diagnostics));
    let wanted = max_tokens.as_ref().map_or(MAX_TOKENS, |count| count.value);
    let most = u32::try_from(wanted).ok().filter(|most| *most > 0);
    if let (None, Some(count)) = (most, &max_tokens) {
        let message = "`max_tokens` must be from 1 to 4294967295";
        bad(diagnostics, count.span, message);
    }
    Some(ModelConfig {
        settings: ModelSettings {
            kind: kind?,
            model: model?.value,
            key,
            base_url: base_url.or_else(|| home(kind?, proxy)),
            form: form.unwrap_or_default(),
            temperature,
            seed,
            max_tokens: most?,
            timeout,
        },
        prices,
    })
}

/// Where a model of a provider is served, on the way through the proxy if there is one.
fn home(kind: ModelKind, proxy: Option<&Arc<Proxy>>) -> Option<BaseUrl> {
    let base = BaseUrl::parse(kind.home()).ok()?;
    Some(base.through(Some(proxy?.clone())))
}

fn number(node: &Node, fields: &mut Fields<'_, '_>) -> Option<f64> {
    let number = node.to_value().as_f64().filter(|number| *number >= 0.0);
    if number.is_none() {
        let message = "`temperature` is a number, zero or more";
        bad(fields.diagnostics(), node.span, message);
    }
    number
}

fn timeout_of(fields: &mut Fields<'_, '_>) -> Duration {
    let Some(timeout) = fields.duration("timeout") else {
        return TIMEOUT;
    };
    if timeout.value.is_zero() {
        let message = "`timeout` must be longer than nothing";
        bad(fields.diagnostics(), timeout.span, message);
    }
    timeout.value
}

/// `{ input = "3.00", output = "15.00", cached = "0.30" }`, of a million tokens each.
fn read_prices(node: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Prices> {
    let mut fields = Fields::new("`price`", node, diagnostics)?;
    fields.required("input");
    fields.required("output");
    let input = fields.money("input");
    let output = fields.money("output");
    let cached = fields.money("cached");
    fields.finish();
    let input = input?.value;
    Some(Prices {
        input,
        output: output?.value,
        cached: cached.map_or(input, |cached| cached.value),
    })
}

/// `[planner]`: where playbooks lie, and who plans where none matches.
pub(super) fn read(
    node: &Node,
    models: &BTreeMap<String, ModelConfig>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(Option<String>, Option<PlannerConfig>)> {
    let mut fields = Fields::new("`[planner]`", node, diagnostics)?;
    let dir = fields.text("playbooks");
    let kind = fields.choice("kind", &[("model", true), ("process", false)]);
    let views = [
        ("references", PlannerView::References),
        ("full", PlannerView::Full),
    ];
    let view = fields.choice("view", &views).unwrap_or_default();
    let planner = match kind {
        None => None,
        Some(true) => model_planner(&mut fields, models, view),
        Some(false) => {
            process_planner(&mut fields).map(|settings| PlannerConfig::Process { settings, view })
        }
    };
    if fields.node("kind").is_none() {
        let other = ["model", "command", "view"].map(|name| fields.node(name));
        if let Some(node) = other.into_iter().flatten().next() {
            let message = "`[planner]` has no `kind`: it is `model` or `process`";
            bad(fields.diagnostics(), node.span, message);
        }
    }
    fields.finish();
    let dir = dir.and_then(|dir| {
        if is_inside(&dir) {
            return Some(dir.value);
        }
        let message = "`playbooks` must name a directory inside the workspace";
        bad(diagnostics, dir.span, message);
        None
    });
    Some((dir, planner))
}

fn model_planner(
    fields: &mut Fields<'_, '_>,
    models: &BTreeMap<String, ModelConfig>,
    view: PlannerView,
) -> Option<PlannerConfig> {
    let name = fields.required_text("model")?;
    let money = fields.money("money");
    let Some(model) = models.get(&name.value) else {
        let message = format!("there is no `[models.{}]`", name.value);
        let mut diagnostic = Diagnostic::new(Code::BadWorkspace, name.span, message);
        let near = models
            .keys()
            .min_by_key(|known| distance(known, &name.value));
        if let Some(near) = near {
            diagnostic = diagnostic.hint(format!("the nearest is `{near}`"));
        }
        fields.diagnostics().push(diagnostic);
        return None;
    };
    if let Some(money) = &money
        && model.prices.is_none()
    {
        let message = format!("`money` needs the `price` of `[models.{}]`", name.value);
        bad(fields.diagnostics(), money.span, message);
    }
    Some(PlannerConfig::Model {
        name: name.value,
        money: money.map(|money| money.value),
        view,
    })
}

/// How many characters stand differently.
fn distance(a: &str, b: &str) -> usize {
    let differs = a.chars().zip(b.chars()).filter(|(a, b)| a != b).count();
    differs + a.chars().count().abs_diff(b.chars().count())
}

fn process_planner(fields: &mut Fields<'_, '_>) -> Option<ProcessSettings> {
    let mut env = Vec::new();
    for (name, node) in fields.map("env").unwrap_or_default() {
        let Kind::Text(text) = &node.kind else {
            bad(fields.diagnostics(), node.span, "a variable is a text");
            continue;
        };
        let variable = EnvValue::of_text(text);
        env.push((name.value.clone(), variable));
    }
    let timeout = timeout_of(fields);
    let node = fields.required("command")?;
    let command: Vec<String> = fields
        .texts("command")
        .into_iter()
        .map(|text| text.value)
        .collect();
    if command.first().is_none_or(String::is_empty) {
        let message =
            "`command` is a program and its arguments, such as `[\"python3\", \"plan.py\"]`";
        bad(fields.diagnostics(), node.span, message);
        return None;
    }
    Some(ProcessSettings {
        command,
        env,
        timeout,
    })
}

/// The choice that `[planner]` makes.
pub(super) fn configured(workspace: &Workspace) -> Option<PlannerChoice> {
    match workspace.planner.as_ref()? {
        PlannerConfig::Model { name, money, view } => {
            let model = workspace.models.get(name)?;
            let tokens = model.settings.max_tokens;
            Some(PlannerChoice::Model {
                name: name.clone(),
                cost: ModelPlanner::cost(tokens, model.prices.as_ref(), *money),
                view: *view,
            })
        }
        PlannerConfig::Process { settings, view } => Some(PlannerChoice::Process {
            program: settings.program().to_owned(),
            view: *view,
        }),
    }
}

/// Why the planner of `[planner]` cannot be asked, as far as files tell.
pub(super) fn defect(workspace: &Workspace) -> Option<String> {
    match workspace.planner.as_ref()? {
        PlannerConfig::Model { name, .. } => {
            let key = workspace.models.get(name)?.settings.key.as_ref()?;
            Some(key.resolve(workspace.root()).err()?.to_string())
        }
        PlannerConfig::Process { settings, .. } => {
            command_lacks(&settings.command, &settings.env, workspace.root())
        }
    }
}

/// The secrets that planners need.
pub(super) fn secrets(workspace: &Workspace) -> Vec<SecretName> {
    let keys = workspace.models.values();
    let keys = keys.flat_map(|model| {
        let settings = &model.settings;
        let proxy = settings.base_url.as_ref().and_then(BaseUrl::proxy_secret);
        settings.key.iter().chain(proxy).cloned()
    });
    let env = match &workspace.planner {
        Some(PlannerConfig::Process { settings, .. }) => settings.env.as_slice(),
        _ => &[],
    };
    let of_programs = env
        .iter()
        .filter_map(|(_, variable)| variable.secret().cloned());
    keys.chain(of_programs).collect()
}

/// The planner of a choice.
pub(super) fn of_choice(
    workspace: &Workspace,
    choice: &PlannerChoice,
) -> Result<Arc<dyn Planner>, PlannerError> {
    let playbook = |name: &str| {
        let found = workspace.playbooks.get(name).map(Arc::<Playbook>::clone);
        found.ok_or_else(|| PlannerError::NoPlaybook {
            name: name.to_owned(),
        })
    };
    Ok(match choice {
        PlannerChoice::Playbook { name } => playbook(name)?,
        // Why all: a goal that was amended is for whichever playbook matches it.
        PlannerChoice::Interpreter { playbooks } if playbooks.is_empty() => {
            Arc::new(Interpreter::of_all(workspace.playbooks.clone()))
        }
        PlannerChoice::Interpreter { playbooks } => {
            let found: Result<Vec<_>, _> = playbooks.iter().map(|name| playbook(name)).collect();
            Arc::new(Interpreter::new(found?))
        }
        PlannerChoice::File {
            name,
            text,
            playbook: reviser,
        } => {
            let file = FilePlanner::new(Source::new(name.as_str(), text.as_str()));
            Arc::new(match reviser {
                Some(reviser) => file.revised_by(playbook(reviser)?),
                None => file,
            })
        }
        PlannerChoice::Client { client, text } => {
            let source = Source::new(client.as_str(), text.as_str());
            Arc::new(ClientPlanner::new(source))
        }
        PlannerChoice::Model { name, .. } => Arc::new(model_of(workspace, name)?),
        PlannerChoice::Process { program, .. } => match &workspace.planner {
            Some(PlannerConfig::Process { settings, .. }) if settings.program() == program => {
                let root = workspace.root().to_owned();
                Arc::new(ProcessPlanner::new(settings.clone(), root))
            }
            _ => {
                let program = program.clone();
                return Err(PlannerError::NoProgram { program });
            }
        },
    })
}

fn model_of(workspace: &Workspace, name: &str) -> Result<ModelPlanner, PlannerError> {
    let model = workspace.models.get(name);
    let model = model.ok_or_else(|| PlannerError::NoModel {
        name: name.to_owned(),
    })?;
    let client = model.client(workspace.root())?;
    Ok(ModelPlanner::new(name.to_owned(), client, model.prices))
}
