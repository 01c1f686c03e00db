//! The workspace: everything a run is checked under, read once and passed on unchanged.
//!
//! Owns finding and reading `provost.toml`, `policies/`, `playbooks/` and `provost.lock`. Opens
//! no tool and no journal. INVARIANT: a workspace that exists has no finding of severity error;
//! opening one that has reports all of them at once.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::catalog::Catalog;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::{Limits, Step};
use provost_plan::policy::{Policy, Principal};
use provost_plan::source::Source;
use provost_planner::{Planner, Router};
use provost_run::admission::AdmissionRules;
use provost_run::event::{AskMode, PlannerChoice};
use provost_tools::{Listing, Listings, Tool, ToolConfig};
use provost_wire::http::Proxy;
use provost_wire::{Redactor, SecretName};

use crate::audit::AuditSettings;
use crate::notify::NotifyTarget;
use crate::people::RequiredCredential;
use crate::schedule::Schedule;
use crate::telemetry::TelemetrySettings;
use config::Damage;

mod audit;
mod config;
mod error;
mod files;
mod lock;
mod network;
mod notify;
mod planners;
mod roles;
mod rules;
mod scaffold;
mod schedules;
mod server;
mod servers;
mod statements;
mod tags;
mod telemetry;
#[cfg(test)]
mod tests;
mod tools;

pub use audit::audit_settings;
pub use error::{DamagedTool, Findings, WorkspaceError};
pub use files::WorkspaceTexts;
pub(crate) use files::replace as replace_file;
pub use lock::{Drift, LOCK_FILE, Lock};
pub use planners::{PlannerConfig, PlannerError};
pub use provost_plan::policy::People;
pub use provost_wire::model::ModelConfig;
pub(crate) use rules::{PEOPLE_FILE, people_now};
pub use scaffold::{Example, ScaffoldError, scaffold};
pub use server::{OidcSettings, ServerSettings, TlsSettings, VoucherSettings};
pub use servers::{
    ServerAnswers, ServerDrift, ServerError, append_to_config, list_servers, list_servers_of,
    open_tables, server_drift,
};
pub use statements::{StatementSettings, statement_settings};

/// The file that makes a directory a workspace.
pub const CONFIG_FILE: &str = "provost.toml";
/// The directory of policies.
pub const POLICIES_DIR: &str = "policies";
/// The directory of the journal.
pub const STORE_DIR: &str = ".provost";

/// A workspace.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    description: Option<String>,
    tools: Vec<ToolConfig>,
    damaged: Vec<DamagedTool>,
    catalog: Arc<Catalog>,
    policy: Arc<Policy>,
    people: People,
    solo: bool,
    user: Principal,
    limits: Limits,
    ask: AskMode,
    admission: AdmissionRules,
    audit: Option<AuditSettings>,
    notify: Arc<[NotifyTarget]>,
    telemetry: Option<TelemetrySettings>,
    schedules: Vec<Schedule>,
    server: ServerSettings,
    proxy: Option<Arc<Proxy>>,
    required: RequiredCredential,
    playbooks: Router,
    models: BTreeMap<String, ModelConfig>,
    planner: Option<PlannerConfig>,
    sources: Vec<Source>,
    not_checked: Vec<String>,
    warnings: Vec<(Source, Diagnostic)>,
    servers: BTreeMap<String, Listing>,
    playbooks_dir: String,
    lock_text: Option<Source>,
}

/// How a workspace is opened.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// Who works in it, if `provost.toml` does not say.
    pub user: &'a str,
    /// Whether `provost.lock` is held to.
    pub lock: LockUse,
}

/// What is made of `provost.lock`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockUse {
    /// A tool that differs is a finding, and one whose entry has errors is left out: for
    /// everything that may call a tool.
    Hold,
    /// It is no finding, and an entry with errors is: for whoever shows the tools or writes the
    /// lock anew. What it pins of MCP servers is taken for what they are.
    Ignore,
}

impl LockUse {
    /// What becomes of a tool whose entry has errors.
    fn damage(self) -> Damage {
        match self {
            LockUse::Hold => Damage::LeaveOut,
            LockUse::Ignore => Damage::Refuse,
        }
    }
}

/// Makes on a thread beside what schemas are judged by: it takes as long as opening a small
/// workspace does, and whoever checks a plan or makes a call waits for it.
pub fn prepare_to_judge() {
    let beside = std::thread::Builder::new().name("schemas".to_owned());
    // Why ignored: without the thread it is made when the first schema is compiled.
    let _ = beside.spawn(provost_plan::schema::prepare);
}

impl Workspace {
    /// The nearest directory with a `provost.toml`, from `start` upwards.
    ///
    /// # Errors
    /// [`WorkspaceError::NotFound`] if there is none.
    pub fn find(start: &Path) -> Result<PathBuf, WorkspaceError> {
        let absolute = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
        absolute
            .ancestors()
            .find(|dir| dir.join(CONFIG_FILE).is_file())
            .map(Path::to_owned)
            .ok_or_else(|| WorkspaceError::NotFound {
                start: start.to_owned(),
            })
    }

    /// Who works in the workspace at `root`, if its `provost.toml` can be read and says so. Looks
    /// at nothing else: whoever only stops something needs no more.
    #[must_use]
    pub fn user_of(root: &Path) -> Option<String> {
        let source = files::read(root, CONFIG_FILE).ok().flatten()?;
        config::user(&source)
    }

    /// Opens the workspace whose directory is `root`.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] with every finding in every file.
    pub fn open(root: &Path, opening: &Opening<'_>) -> Result<Self, WorkspaceError> {
        Self::open_with(root, opening, &[])
    }

    /// Opens the workspace whose directory is `root`, with tools of the program's own beside those
    /// of `provost.toml`: policy, lock and checks hold for them as for any other.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] with every finding in every file, and in the tools.
    pub fn open_with(
        root: &Path,
        opening: &Opening<'_>,
        own: &[Arc<dyn Tool>],
    ) -> Result<Self, WorkspaceError> {
        let absolute = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        let listings = Listings::new(lock::servers(&absolute));
        let listings = match opening.lock {
            LockUse::Hold => listings,
            LockUse::Ignore => listings.lenient(),
        };
        Self::open_listed(root, opening, own, &listings)
    }

    /// Opens the workspace whose directory is `root` as it is if its MCP servers can do what
    /// `listings` says.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] with every finding in every file, and in the tools.
    pub fn open_listed(
        root: &Path,
        opening: &Opening<'_>,
        own: &[Arc<dyn Tool>],
        listings: &Listings,
    ) -> Result<Self, WorkspaceError> {
        let root = std::path::absolute(root).unwrap_or_else(|_| root.to_owned());
        if !root.join(CONFIG_FILE).is_file() {
            return Err(WorkspaceError::NoConfig { root });
        }
        let mut found = error::Collector::new();
        let text = files::required(&root, CONFIG_FILE, &mut found);
        let given = config::ToolSources::new(own, listings, opening.lock.damage());
        let config = text.and_then(|source| config::read(&root, &source, given, &mut found));
        let dir = config.as_ref().map(|config| config.playbooks_dir.clone());
        let dir = dir.as_deref().unwrap_or(config::PLAYBOOKS_DIR);
        let playbooks = files::playbooks(&root, dir, &mut found);
        let policies = rules::Texts::read(&root, &mut found);
        let lock_text = files::read(&root, LOCK_FILE).ok().flatten();
        let Some(config) = config else {
            if opening.lock == LockUse::Hold {
                lock::report(&root, &mut found);
            }
            return Err(found.refused());
        };
        let mut not_checked = Vec::new();
        if opening.lock == LockUse::Hold {
            lock::hold(&root, &config, &mut found, &mut not_checked);
        }
        let rules = rules::load(&config.catalog, &policies, &mut found, &mut not_checked);
        let Some(rules) = rules.filter(|_| found.is_empty()) else {
            return Err(found.with(config.damaged).refused());
        };
        let tags = config.catalog.tags();
        let warnings = tags::unseen(&config.source, tags, &config.tools, &rules.policy);
        let user = config.user.as_deref().unwrap_or(opening.user);
        let mut sources = vec![config.source];
        sources.extend(policies.sources().cloned());
        sources.extend(playbooks.iter().map(|playbook| playbook.source().clone()));
        Ok(Self {
            user: rules.people.principal(user),
            servers: servers::pinned(&config.tools, listings),
            root,
            description: config.description,
            tools: config.tools,
            damaged: config.damaged,
            catalog: Arc::new(config.catalog),
            solo: rules.policy.is_solo(),
            policy: Arc::new(rules.policy),
            people: rules.people,
            limits: config.limits,
            ask: config.ask,
            admission: config.admission,
            audit: config.audit,
            notify: config.notify.into(),
            telemetry: config.telemetry,
            schedules: config.schedules,
            server: config.server,
            proxy: config.proxy,
            required: config.required,
            playbooks: Router::new(playbooks),
            models: config.models,
            planner: config.planner,
            sources,
            not_checked,
            warnings,
            playbooks_dir: dir.to_owned(),
            lock_text,
        })
    }

    /// Its directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of its journal.
    #[must_use]
    pub fn store_dir(&self) -> PathBuf {
        self.root.join(STORE_DIR)
    }

    /// What it is for, as its owner wrote it.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The tools, as configured.
    #[must_use]
    pub fn tools(&self) -> &[ToolConfig] {
        &self.tools
    }

    /// The tools that are left out because their entries have errors.
    #[must_use]
    pub fn damaged(&self) -> &[DamagedTool] {
        &self.damaged
    }

    /// The operations.
    #[must_use]
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The policy.
    #[must_use]
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    /// The people, their groups and roles.
    #[must_use]
    pub fn people(&self) -> &People {
        &self.people
    }

    /// Whether who asks may also approve, because one person works here.
    #[must_use]
    pub fn is_solo(&self) -> bool {
        self.solo
    }

    /// Who works in it.
    #[must_use]
    pub fn user(&self) -> &Principal {
        &self.user
    }

    /// The limits of its runs.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// When a person is asked.
    #[must_use]
    pub fn ask(&self) -> AskMode {
        self.ask
    }

    /// What the operator says of what runs share.
    #[must_use]
    pub fn admission(&self) -> &AdmissionRules {
        &self.admission
    }

    /// Who signs heads of its journal, and where they are kept; none if nobody does.
    #[must_use]
    pub fn audit(&self) -> Option<&AuditSettings> {
        self.audit.as_ref()
    }

    /// Who is told of what, and how.
    #[must_use]
    pub fn notify(&self) -> &Arc<[NotifyTarget]> {
        &self.notify
    }

    /// Where traces are sent; none if nobody asked.
    #[must_use]
    pub fn telemetry(&self) -> Option<&TelemetrySettings> {
        self.telemetry.as_ref()
    }

    /// The goals that the clock begins.
    #[must_use]
    pub fn schedules(&self) -> &[Schedule] {
        &self.schedules
    }

    /// How it is served.
    #[must_use]
    pub fn server(&self) -> &ServerSettings {
        &self.server
    }

    /// The schedule of this name.
    #[must_use]
    pub fn schedule(&self, name: &str) -> Option<&Schedule> {
        self.schedules.iter().find(|schedule| schedule.name == name)
    }

    /// The proxy through which it reaches others, if there is one.
    #[must_use]
    pub fn proxy(&self) -> Option<&Proxy> {
        self.proxy.as_deref()
    }

    /// What a statement of a person needs to count.
    #[must_use]
    pub fn required(&self) -> &RequiredCredential {
        &self.required
    }

    /// The playbooks.
    #[must_use]
    pub fn playbooks(&self) -> &Router {
        &self.playbooks
    }

    /// The planner of a run.
    ///
    /// # Errors
    /// [`PlannerError`] if it is not in this workspace, or cannot start.
    pub fn planner(&self, choice: &PlannerChoice) -> Result<Arc<dyn Planner>, PlannerError> {
        planners::of_choice(self, choice)
    }

    /// The models, by name.
    #[must_use]
    pub fn models(&self) -> &BTreeMap<String, ModelConfig> {
        &self.models
    }

    /// The secrets of planners, of the server and of who is sent traces: no tool may reach them,
    /// and no record holds them.
    pub(crate) fn own_secrets(&self) -> Vec<SecretName> {
        let mut secrets = planners::secrets(self);
        secrets.extend(self.server.login.iter().map(|login| login.secret.clone()));
        let voucher = self.server.voucher.iter();
        secrets.extend(voucher.map(|voucher| voucher.passphrase.clone()));
        let headers = self.telemetry.iter().flat_map(|to| &to.headers);
        secrets.extend(headers.map(|(_, secret)| secret.clone()));
        secrets
    }

    /// Knows every secret of the workspace as it is now: of tools, models and planners.
    pub(crate) fn redactor(&self) -> Redactor {
        let of_tools = self.tools.iter().flat_map(ToolConfig::secrets).cloned();
        let names = of_tools.chain(self.own_secrets());
        let values: Vec<_> = names
            .filter_map(|name| name.resolve(&self.root).ok())
            .collect();
        Redactor::new(&values)
    }

    /// The planner of goals that no playbook matches, if the operator names one.
    #[must_use]
    pub fn other_planner(&self) -> Option<PlannerChoice> {
        planners::configured(self)
    }

    /// Why the planner of `[planner]` cannot be asked, as far as files tell. It is not started.
    #[must_use]
    pub fn planner_defect(&self) -> Option<String> {
        planners::defect(self)
    }

    /// Whom a run of this planner acts for: the user, or an agent of theirs.
    #[must_use]
    pub fn principal(&self, choice: &PlannerChoice) -> Principal {
        match choice {
            PlannerChoice::Client { .. } => self.user.agent(),
            PlannerChoice::Playbook { .. }
            | PlannerChoice::Interpreter { .. }
            | PlannerChoice::File { .. }
            | PlannerChoice::Model { .. }
            | PlannerChoice::Process { .. } => self.user.clone(),
        }
    }

    /// The tools that a planner's plans may call, as far as they are written down.
    #[must_use]
    pub fn tools_named(&self, choice: &PlannerChoice) -> BTreeSet<String> {
        let of_playbook = |name: &str| {
            self.playbooks
                .get(name)
                .map_or_else(BTreeSet::new, |p| p.tools())
        };
        match choice {
            PlannerChoice::Playbook { name } => of_playbook(name),
            PlannerChoice::File {
                name,
                text,
                playbook,
            } => {
                let mut named = tools_of_plan(name, text);
                named.extend(playbook.iter().flat_map(|name| of_playbook(name)));
                named
            }
            PlannerChoice::Client { client, text } => tools_of_plan(client, text),
            // Why none: what it will propose is not known before it is asked.
            PlannerChoice::Interpreter { .. }
            | PlannerChoice::Model { .. }
            | PlannerChoice::Process { .. } => BTreeSet::new(),
        }
    }

    /// The texts it was read from.
    #[must_use]
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The texts of its own files as they were when it was read.
    #[must_use]
    pub fn texts(&self) -> WorkspaceTexts {
        WorkspaceTexts::of(self.sources.iter().chain(&self.lock_text))
    }

    /// The texts of its own files as they are now, whether they can be used or not: other ones than
    /// [`Workspace::texts`] are a reason to read it anew. Files that tools name are not among them.
    #[must_use]
    pub fn texts_now(&self) -> WorkspaceTexts {
        WorkspaceTexts::now(&self.root, &self.playbooks_dir)
    }

    /// The tables of `provost.toml` that differ in another reading and count only for a process
    /// that starts under it.
    #[must_use]
    pub fn differs_at_start(&self, other: &Self) -> Vec<&'static str> {
        let tables = [
            ("[server]", self.server == other.server),
            ("[audit]", self.audit == other.audit),
            ("[telemetry]", self.telemetry == other.telemetry),
        ];
        let differ = tables.into_iter().filter(|(_, same)| !same);
        differ.map(|(table, _)| table).collect()
    }

    /// What is probably a mistake in its files, each with the file it stands in.
    #[must_use]
    pub fn warnings(&self) -> &[(Source, Diagnostic)] {
        &self.warnings
    }

    /// What was not looked at when it was opened, in words.
    #[must_use]
    pub fn not_checked(&self) -> &[String] {
        &self.not_checked
    }

    /// What `provost.lock` holds of the tools as they are now.
    #[must_use]
    pub fn lock(&self) -> Lock {
        Lock::of(&self.catalog, self.servers.clone())
    }

    /// What `provost.lock` pins, if there is one.
    ///
    /// # Errors
    /// [`WorkspaceError::Refused`] with every finding in it.
    pub fn locked(&self) -> Result<Option<Lock>, WorkspaceError> {
        lock::of_workspace(&self.root)
    }

    /// Writes `provost.lock` anew, whole or not at all.
    ///
    /// # Errors
    /// The system's, if it cannot be written.
    pub fn write_lock(&self) -> std::io::Result<PathBuf> {
        let path = self.root.join(LOCK_FILE);
        files::replace(&path, &self.lock().to_text())?;
        Ok(path)
    }
}

/// The tools that the text of a plan names; none if it cannot be read.
fn tools_of_plan(name: &str, text: &str) -> BTreeSet<String> {
    let plan = read_plan(&Source::new(name, text));
    let steps = plan.map(|plan| plan.steps).unwrap_or_default();
    let named = steps.iter().flat_map(Step::tools);
    named.map(|tool| tool.value.clone()).collect()
}
