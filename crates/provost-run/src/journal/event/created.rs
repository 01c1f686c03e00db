//! The first event of a run: what it is created with, for good.

use provost_plan::digest::Digest;
use provost_plan::plan::request::PlanningMode;
use provost_plan::plan::{Goal, Limits};
use provost_plan::policy::Principal;
use serde::{Deserialize, Serialize};

use super::PlannerChoice;
use crate::statement::Credential;
use crate::trace_parent::TraceParent;

/// How a run begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunCreated {
    /// The id of the run: twelve characters of base32.
    pub run: String,
    /// The goal, as typed.
    pub goal: Goal,
    /// Which planner.
    pub planner: PlannerChoice,
    /// The playbook that matches the goal and is asked if that planner fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<String>,
    /// How planning proceeds, where somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<PlanningMode>,
    /// Who it is for.
    pub principal: Principal,
    /// The operator's limits.
    pub limits: Limits,
    /// When a person is asked.
    pub ask: AskMode,
    /// Whether requester and approver may be one person.
    pub solo: bool,
    /// Whether what people say to it has to be signed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub signed: bool,
    /// Whether what people say to it counts only from who signed in, where it need not be signed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub vouched: bool,
    /// The digest of the rights that it begins under, where statements need a credential: who may
    /// say what, as evidence. The machine fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rights: Option<Digest>,
    /// The version of provost that began it; journals of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provost: Option<String>,
    /// Where it began in a trace of whoever began it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<TraceParent>,
}

impl RunCreated {
    /// What statements to it need to count.
    #[must_use]
    pub fn required(&self) -> Credential {
        match (self.signed, self.vouched) {
            (true, _) => Credential::Signature,
            (false, true) => Credential::Login,
            (false, false) => Credential::Nothing,
        }
    }
}

/// When a person is asked about steps that policy asks about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AskMode {
    /// When the step is ready, with its values.
    #[default]
    Step,
    /// Before anything runs, about the whole plan; steps that cannot be judged yet ask again.
    Plan,
}
