//! An eval: every repeat of every case under each planner, one after the other, then the gates.
//!
//! Owns the order, and which planners and cases take part. INVARIANT: a set whose tools or
//! workspaces cannot be used is refused before the first case runs.

use std::path::{Path, PathBuf};

use provost_run::grade::{BOOTSTRAP_DRAWS, CaseDifference, ComparisonRules, FLIP_DRAWS, compare};

use super::kept::{KeptReport, REPORT_FILE};
use super::own_playbooks;
use super::repeat::Repeat;
use super::report::{CaseReport, PlannerReport, REPORT_SCHEMA, RepeatReport, Report};
use super::set::{Case, EvalSet, PlannerEntry, matches};
use crate::clock::now_ms;
use crate::workspace::CONFIG_FILE;

/// What is run of a set.
#[derive(Clone, Debug, Default)]
pub struct SuiteOptions {
    /// The planner that is judged; the first of the set if absent.
    pub planner: Option<String>,
    /// The planner that it is held against.
    pub against: Option<String>,
    /// How often each case is repeated, whatever the set says.
    pub repeats: Option<u64>,
    /// The report of an earlier eval that it is held against.
    pub baseline: Option<PathBuf>,
    /// Only the cases that a pattern means.
    pub only: Vec<String>,
    /// Where the workspaces and journals of the repeats are kept.
    pub dir: PathBuf,
    /// Who works in the workspaces, where they do not say.
    pub user: String,
}

/// Somebody who watches an eval.
pub trait SuiteWatcher {
    /// A repeat of a case was judged.
    fn judged(&mut self, planner: &str, case: &str, repeat: &RepeatReport);
}

/// An eval that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The set names no such planner.
    #[error("the set names no planner `{name}`")]
    NoPlanner {
        /// Its name.
        name: String,
        /// Those that it names.
        known: Vec<String>,
    },
    /// No case is meant.
    #[error("no case of the set is called `{0}`")]
    NoCase(String),
    /// The workspace of a case is none.
    #[error("the case `{case}`: {} is no workspace, it has no provost.toml", root.display())]
    NoWorkspace {
        /// The case.
        case: String,
        /// The folder.
        root: PathBuf,
    },
    /// An earlier report cannot be read.
    #[error("{} is no report of an eval: {reason}", path.display())]
    NoReport {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The folder for the repeats cannot be used.
    #[error("{}: {reason}", path.display())]
    NotWritable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
}

/// Runs a set.
///
/// # Errors
/// [`EvalError`] if it cannot be begun; what goes wrong in a case is in the report.
pub async fn run_suite(
    set: &EvalSet,
    options: &SuiteOptions,
    watcher: &mut dyn SuiteWatcher,
) -> Result<Report, EvalError> {
    let baseline = options.baseline.as_deref().map(KeptReport::read);
    let baseline = baseline.transpose()?;
    let cases = chosen(set, &options.only)?;
    let mut planners = vec![planner(set, options.planner.as_deref())?];
    if let Some(against) = &options.against {
        planners.push(planner(set, Some(against))?);
    }
    for case in &cases {
        if !case.workspace.join(CONFIG_FILE).is_file() {
            return Err(EvalError::NoWorkspace {
                case: case.id.clone(),
                root: case.workspace.clone(),
            });
        }
    }
    let began_at = now_ms();
    let mut reports = Vec::new();
    for planner in planners {
        let name = planner.map_or("workspace", |planner| planner.name.as_str());
        let mut of_cases = Vec::new();
        for case in &cases {
            let suite = Suite {
                set,
                options,
                planner,
                name,
            };
            of_cases.push(suite.case(case, watcher).await?);
        }
        let sure = set.compare.confidence;
        reports.push(PlannerReport::of(name, of_cases, sure));
    }
    Ok(concluded(set, reports, began_at, baseline.as_ref()))
}

/// Grades the repeats of a report again, by the set as it is now: nothing runs, and nobody is
/// asked. `dir` is the folder of the report.
///
/// # Errors
/// [`EvalError::NoReport`] if there is none.
pub fn regrade(set: &EvalSet, dir: &Path, baseline: Option<&Path>) -> Result<Report, EvalError> {
    let baseline = baseline.map(KeptReport::read).transpose()?;
    let kept = KeptReport::read(&dir.join(REPORT_FILE))?;
    let reports = kept.regraded(set, dir);
    Ok(concluded(set, reports, kept.began_at, baseline.as_ref()))
}

/// The report of what came of the planners: how they compare, and whether the gates hold.
fn concluded(
    set: &EvalSet,
    reports: Vec<PlannerReport>,
    began_at: i64,
    baseline: Option<&KeptReport>,
) -> Report {
    let (pairs, baseline) = match (reports.as_slice(), baseline) {
        ([judged, against], _) => (Some(differences(judged, against)), None),
        ([judged, ..], Some(kept)) => {
            let (pairs, baseline) = kept.beside(judged);
            (Some(pairs), Some(baseline))
        }
        _ => (None, None),
    };
    let rules = ComparisonRules {
        sure: set.compare.confidence,
        regress_max: set.compare.regress_max,
        draws: BOOTSTRAP_DRAWS,
        flips: FLIP_DRAWS,
        seed: set.compare.seed,
    };
    let comparison = pairs.map(|pairs| compare(&pairs, rules));
    let gates = reports
        .first()
        .map(|judged| set.gates.hold(judged, comparison.as_ref()));
    Report {
        schema: REPORT_SCHEMA,
        set: set.name.clone(),
        set_digest: set.digest,
        provost: env!("CARGO_PKG_VERSION"),
        began_at,
        planners: reports,
        comparison,
        baseline,
        gates: gates.unwrap_or_default(),
    }
}

struct Suite<'a> {
    set: &'a EvalSet,
    options: &'a SuiteOptions,
    planner: Option<&'a PlannerEntry>,
    name: &'a str,
}

impl Suite<'_> {
    async fn case(
        &self,
        case: &Case,
        watcher: &mut dyn SuiteWatcher,
    ) -> Result<CaseReport, EvalError> {
        // Why once: what proposes the same every time comes to the same.
        let is_same = self.planner.is_none_or(|planner| planner.deterministic);
        let usual = if is_same { 1 } else { self.set.repeats };
        let mut repeats = Vec::new();
        for n in 1..=self.options.repeats.unwrap_or(usual) {
            let shown = format!("{}/{}/{n}", self.name, case.id);
            let dir = self.options.dir.join(&shown);
            renew(&dir)?;
            let repeat = Repeat {
                case,
                planner: self.planner,
                set_dir: &self.set.dir,
                dir,
                n,
                user: &self.options.user,
            };
            let judged = repeat.judge(format!("{shown}/workspace")).await;
            watcher.judged(self.name, &case.id, &judged);
            repeats.push(judged);
        }
        Ok(CaseReport {
            id: case.id.clone(),
            goal: case.goal.clone(),
            red: case.red,
            note: own_playbooks::note(case, &self.set.dir),
            repeats,
        })
    }
}

/// Makes a folder that is empty: what an earlier eval left there would be driven again.
fn renew(dir: &Path) -> Result<(), EvalError> {
    let failed = |error: std::io::Error| EvalError::NotWritable {
        path: dir.to_owned(),
        reason: error.to_string(),
    };
    if dir.exists() {
        std::fs::remove_dir_all(dir).map_err(failed)?;
    }
    std::fs::create_dir_all(dir).map_err(failed)
}

fn chosen<'s>(set: &'s EvalSet, only: &[String]) -> Result<Vec<&'s Case>, EvalError> {
    let missing = only
        .iter()
        .find(|pattern| !set.cases.iter().any(|case| matches(pattern, &case.id)));
    if let Some(missing) = missing {
        return Err(EvalError::NoCase(missing.clone()));
    }
    let is_chosen = |case: &&Case| only.is_empty() || only.iter().any(|one| matches(one, &case.id));
    Ok(set.cases.iter().filter(is_chosen).collect())
}

/// The planner of this name; the first of the set without one, and that of each workspace if the
/// set names none.
fn planner<'s>(
    set: &'s EvalSet,
    name: Option<&str>,
) -> Result<Option<&'s PlannerEntry>, EvalError> {
    let Some(name) = name else {
        return Ok(set.planners.first());
    };
    let found = set.planners.iter().find(|planner| planner.name == name);
    found.map(Some).ok_or_else(|| EvalError::NoPlanner {
        name: name.to_owned(),
        known: set.planners.iter().map(|one| one.name.clone()).collect(),
    })
}

fn differences(judged: &PlannerReport, against: &PlannerReport) -> Vec<CaseDifference> {
    let pairs = judged.cases.iter().zip(&against.cases);
    pairs
        .map(|(new, old)| CaseDifference {
            new: new.counts(),
            old: old.counts(),
        })
        .collect()
}
