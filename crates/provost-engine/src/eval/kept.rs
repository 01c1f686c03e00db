//! A report that is read again: to hold an eval against it, or to grade its repeats anew.
//!
//! Owns what is believed of such a file. Runs nothing and asks nobody. INVARIANT: a repeat is
//! graded anew only by the journal that the report names, up to the link that it names; otherwise
//! it is not judged.

use std::path::{Component, Path, PathBuf};

use provost_plan::digest::Digest;
use provost_run::grade::{CaseDifference, Repeats};
use serde::Deserialize;
use serde_json::Value;

use super::repeat::{Unjudged, conclude, grade};
use super::report::{
    BaselineReport, CaseReport, JudgedBy, Outcome, PlannerReport, REPORT_SCHEMA, RepeatReport,
};
use super::set::{Case, EvalSet};
use super::suite::EvalError;
use crate::history::History;
use crate::store::Store;
use crate::workspace::STORE_DIR;

/// The file of a report, in its folder.
pub const REPORT_FILE: &str = "report.json";
/// The folder of the repeats, beside it.
pub const REPEATS_DIR: &str = "repeats";
/// What the double of a repeat said in the end, in the folder of the repeat.
pub(super) const LEDGER_FILE: &str = "ledger.json";

/// A report, as far as it is used again.
#[derive(Debug, Deserialize)]
pub(super) struct KeptReport {
    schema: String,
    set_digest: Digest,
    pub(super) began_at: i64,
    planners: Vec<KeptPlanner>,
}

#[derive(Debug, Deserialize)]
struct KeptPlanner {
    name: String,
    cases: Vec<KeptCase>,
}

#[derive(Debug, Deserialize)]
struct KeptCase {
    id: String,
    repeats: Vec<KeptRepeat>,
}

#[derive(Debug, Deserialize)]
struct KeptRepeat {
    n: u64,
    outcome: Outcome,
    by: JudgedBy,
    reason: Option<String>,
    run: Option<String>,
    head: Option<Digest>,
    workspace: String,
}

impl KeptCase {
    fn counts(&self) -> Repeats {
        let of = |outcome| {
            let repeats = self.repeats.iter();
            repeats.filter(move |one| one.outcome == outcome).count() as u64
        };
        let passed = of(Outcome::Pass);
        Repeats {
            passed,
            judged: passed + of(Outcome::Fail),
        }
    }
}

impl KeptReport {
    /// Reads the file.
    pub(super) fn read(path: &Path) -> Result<Self, EvalError> {
        let failed = |reason: String| EvalError::NoReport {
            path: path.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
        let kept: Self = serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?;
        match kept.schema == REPORT_SCHEMA && !kept.planners.is_empty() {
            true => Ok(kept),
            false => Err(failed(format!("it is no `{REPORT_SCHEMA}` with a planner"))),
        }
    }

    /// How the cases of a planner came out here and there, and which are only in one of the two.
    pub(super) fn beside(&self, judged: &PlannerReport) -> (Vec<CaseDifference>, BaselineReport) {
        let cases = self.planners.first().map_or(&[][..], |one| &one.cases);
        let mut pairs = Vec::new();
        let mut left_out = Vec::new();
        for case in &judged.cases {
            match cases.iter().find(|kept| kept.id == case.id) {
                Some(kept) => pairs.push(CaseDifference {
                    new: case.counts(),
                    old: kept.counts(),
                }),
                None => left_out.push(case.id.clone()),
            }
        }
        let here = |kept: &&KeptCase| judged.cases.iter().any(|case| case.id == kept.id);
        let gone = cases.iter().filter(|kept| !here(kept));
        left_out.extend(gone.map(|kept| kept.id.clone()));
        let planner = self.planners.first().map(|one| one.name.clone());
        let baseline = BaselineReport {
            planner: planner.unwrap_or_default(),
            set_digest: self.set_digest,
            began_at: self.began_at,
            compared: pairs.len(),
            left_out,
        };
        (pairs, baseline)
    }

    /// What comes of its repeats by the set as it is now; `dir` is the folder of the report.
    pub(super) fn regraded(&self, set: &EvalSet, dir: &Path) -> Vec<PlannerReport> {
        let of_planner = |planner: &KeptPlanner| {
            let cases = set.cases.iter().map(|case| planner.regraded(case, dir));
            PlannerReport::of(&planner.name, cases.collect(), set.compare.confidence)
        };
        self.planners.iter().map(of_planner).collect()
    }
}

impl KeptPlanner {
    fn regraded(&self, case: &Case, dir: &Path) -> CaseReport {
        let kept = self.cases.iter().find(|kept| kept.id == case.id);
        let repeats = kept.map_or(&[][..], |kept| &kept.repeats);
        let mut regraded: Vec<RepeatReport> =
            repeats.iter().map(|one| one.regraded(case, dir)).collect();
        if regraded.is_empty() {
            let mut none = RepeatReport::of(1, String::new());
            none.reason = Some("the report has no repeat of it".to_owned());
            regraded.push(none);
        }
        CaseReport {
            id: case.id.clone(),
            goal: case.goal.clone(),
            red: case.red,
            // Why none: what was judged are the journals, and not what stands there now.
            note: None,
            repeats: regraded,
        }
    }
}

impl KeptRepeat {
    fn regraded(&self, case: &Case, dir: &Path) -> RepeatReport {
        let mut report = RepeatReport::of(self.n, self.workspace.clone());
        (report.run, report.head) = (self.run.clone(), self.head);
        let said = || self.reason.clone().unwrap_or_default();
        let graded = match (self.outcome, self.by) {
            (Outcome::NotJudged, _) => Err(Unjudged::NotJudged(said())),
            // Why: that it did not end in time is in no journal.
            (_, JudgedBy::Time) => Err(Unjudged::Late(said())),
            _ => self.grade(case, dir, &mut report),
        };
        conclude(case, graded, &mut report);
        report
    }

    fn grade(
        &self,
        case: &Case,
        dir: &Path,
        report: &mut RepeatReport,
    ) -> Result<Vec<super::report::GraderResult>, Unjudged> {
        let place = Path::new(&self.workspace);
        let inside = place
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let (Some(run), true) = (&self.run, inside) else {
            return Err("the report names no journal of it".to_owned().into());
        };
        let root: PathBuf = dir.join(REPEATS_DIR).join(place);
        let failed = |error: &dyn std::fmt::Display| format!("its journal: {error}");
        let store = Store::open_read_only(&root.join(STORE_DIR));
        let store = store.map_err(|error| failed(&error))?;
        let last = store.load(run).map_err(|error| failed(&error))?;
        if last.last().map(|event| event.link) != self.head {
            return Err("its journal is another than the report names"
                .to_owned()
                .into());
        }
        let history = History::read(&store, run).map_err(|error| failed(&error))?;
        let ledger = root.parent().map(|dir| dir.join(LEDGER_FILE));
        let ledger = ledger.and_then(|path| std::fs::read(path).ok());
        let ledger: Option<Value> = ledger.and_then(|text| serde_json::from_slice(&text).ok());
        if !case.expect.ledger.is_empty() && ledger.is_none() {
            return Err("the ledger of its double was not kept".to_owned().into());
        }
        grade(case, &history, ledger, report)
    }
}
