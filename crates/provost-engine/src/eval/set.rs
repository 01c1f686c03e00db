//! An eval set, as it was read: cases, what each runs in, and what must come of it.
//!
//! Owns the types. Runs and grades nothing.

use std::path::PathBuf;
use std::time::Duration;

use provost_plan::catalog::Catalog;
use provost_plan::diagnostic::nearest;
use provost_plan::digest::Digest;
use provost_plan::expr::Template;
use provost_plan::money::Money;
use provost_plan::plan::request::PlanningMode;
use provost_run::event::Settlement;
use provost_run::grade::Confidence;
use provost_tools::PlannedFault;
use serde_json::Value;

/// A file of cases.
#[derive(Clone, Debug)]
pub struct EvalSet {
    /// Its name: that of the file, without its extension.
    pub name: String,
    /// The folder that it stands in.
    pub dir: PathBuf,
    /// The digest of its bytes.
    pub digest: Digest,
    /// How often a case is repeated whose planner may propose something else each time.
    pub repeats: u64,
    /// The planners that it names.
    pub planners: Vec<PlannerEntry>,
    pub(super) cases: Vec<Case>,
    pub(super) gates: Gates,
    pub(super) compare: CompareSettings,
}

/// A planner that a set names.
#[derive(Clone, Debug)]
pub struct PlannerEntry {
    /// Its name in the set.
    pub name: String,
    /// What stands in `[planner]` for it.
    pub(super) settings: Value,
    /// Whether the planner of `[planner]` is asked before a playbook that matches.
    pub(super) first: bool,
    /// Whether it proposes the same every time.
    pub(super) deterministic: bool,
}

/// A case.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) workspace: PathBuf,
    pub(super) goal: String,
    pub(super) mode: Option<PlanningMode>,
    pub(super) world: World,
    pub(super) faults: Vec<PlannedFault>,
    pub(super) people: Vec<PersonRule>,
    pub(super) expect: Expect,
    /// Whether it is known to fail: it passes as long as it fails, and a pass is reported.
    pub(super) red: bool,
    pub(super) timeout: Duration,
}

impl Case {
    /// Refuses names that no operation of the workspace has: what must never happen, or must be
    /// asked about, would hold for the misspelt one.
    pub(super) fn refuse_unknown(&self, catalog: &Catalog) -> Result<(), String> {
        let expect = &self.expect;
        let patterns = |all: &'static str, of: Option<&Vec<CallPattern>>| {
            let names = of.into_iter().flatten().map(|one| one.operation.clone());
            names.map(|name| (all, name)).collect::<Vec<_>>()
        };
        let never = expect
            .never
            .iter()
            .map(|name| ("`effects.never`", name.clone()));
        let faults = self
            .faults
            .iter()
            .map(|one| ("`faults`", one.operation.clone()));
        let cards = self.people.iter().filter_map(|rule| match &rule.about {
            RuleSubject::Card { pattern, .. } => Some(("`people`", pattern.clone())),
            RuleSubject::Question { .. } | RuleSubject::Doubt { .. } => None,
        });
        let named = patterns("`effects`", expect.effects.as_ref())
            .into_iter()
            .chain(patterns("`asked`", expect.asked.as_ref()))
            .chain(never)
            .chain(faults)
            .chain(cards);
        for (at, name) in named {
            if !catalog.names().any(|known| matches(&name, known)) {
                let near = nearest(&name, catalog.names());
                let near =
                    near.map_or_else(String::new, |near| format!(" (did you mean `{near}`?)"));
                return Err(format!("{at} names `{name}`, which is no operation{near}"));
            }
        }
        Ok(())
    }
}

/// What stands for the services.
#[derive(Clone, Debug, Default)]
pub(super) struct World {
    /// The program and its arguments.
    pub(super) double: Vec<Template>,
    /// The path of its ledger.
    pub(super) ledger: Option<String>,
    /// The base URL of each tool that it stands for.
    pub(super) tools: Vec<(String, Template)>,
    /// Whether the services themselves are asked, and only read.
    pub(super) live: bool,
    /// The calls of an earlier run, which answer in the place of everything else.
    pub(super) recorded: Option<PathBuf>,
}

/// What a person says.
#[derive(Clone, Debug)]
pub(super) struct PersonRule {
    pub(super) about: RuleSubject,
    pub(super) when: Option<Template>,
    pub(super) by: Vec<String>,
}

/// What a rule is about, with what is said.
#[derive(Clone, Debug)]
pub(super) enum RuleSubject {
    /// A card of an operation.
    Card {
        pattern: String,
        yes: bool,
        reason: String,
    },
    /// A question.
    Question { pattern: String, answer: Value },
    /// A write in doubt.
    Doubt {
        pattern: String,
        settled: Settlement,
        reason: String,
    },
}

/// What must come of a case.
#[derive(Clone, Debug, Default)]
pub(super) struct Expect {
    pub(super) status: Option<String>,
    pub(super) class: Option<String>,
    pub(super) effects: Option<Vec<CallPattern>>,
    pub(super) ordered: bool,
    pub(super) never: Vec<String>,
    pub(super) asked: Option<Vec<CallPattern>>,
    pub(super) ledger: Vec<Template>,
    pub(super) check: Vec<Template>,
    pub(super) steps_max: Option<u64>,
    pub(super) unneeded_max: Option<u64>,
    pub(super) first_time: Option<bool>,
    pub(super) money_max: Option<Money>,
    pub(super) tokens_max: Option<u64>,
    pub(super) requests_max: Option<u64>,
    pub(super) busy_max: Option<Duration>,
    pub(super) guilty: Option<String>,
}

/// A call that is expected.
#[derive(Clone, Debug)]
pub(super) struct CallPattern {
    pub(super) operation: String,
    pub(super) args: Option<Value>,
    pub(super) when: Option<Template>,
}

/// What must hold of all cases together.
#[derive(Clone, Debug, Default)]
pub(super) struct Gates {
    pub(super) pass_all: bool,
    pub(super) pass_rate: Option<f64>,
    pub(super) pass_hat_k: Option<f64>,
    pub(super) effects: Option<f64>,
    pub(super) cost_per_success_max: Option<Money>,
}

/// How two planners are compared.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompareSettings {
    pub(super) regress_max: f64,
    pub(super) confidence: Confidence,
    pub(super) seed: u64,
}

impl Default for CompareSettings {
    fn default() -> Self {
        Self {
            regress_max: 0.0,
            confidence: Confidence::USUAL,
            seed: 1,
        }
    }
}

/// Whether the name of an operation, or of a question, is one that a pattern means: `*` at its end
/// stands for anything.
pub(super) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => pattern == name,
    }
}
