//! Evals: cases of a file, driven by the same loop as any run, over doubles, and graded.
//!
//! Owns the form of an eval set, what a repeat of a case runs in, its graders and the report.
//! Invents nothing: what no double answers is not judged, which is neither a pass nor a fail.
//! INVARIANT: a repeat runs in a scratch copy of the workspace with a journal of its own, and its
//! tools are a [`provost_tools::Rehearsal`].

mod against;
mod case;
mod double;
mod expect;
mod gates;
mod kept;
mod own_playbooks;
mod people;
mod read;
mod repeat;
mod report;
mod scope;
mod scratch;
mod set;
mod suite;

pub use against::{compare_effects, is_case};
pub use case::{
    CaseError, CaseExpects, CaseRequest, MadeCase, ReplacedCounts, case_check, case_from,
};
pub use gates::GateResult;
pub use kept::{REPEATS_DIR, REPORT_FILE};
pub use read::{SetError, read_set};
pub use report::{
    BaselineReport, CaseReport, GraderResult, JudgedBy, Outcome, PlannerReport, RepeatReport,
    Report, WhyReport,
};
pub use set::EvalSet;
pub use suite::{EvalError, SuiteOptions, SuiteWatcher, regrade, run_suite};
