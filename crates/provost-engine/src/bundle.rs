//! The bundle: a saved plan with the digests of everything it was checked under.
//!
//! Owns the file that `plan -o` writes and `apply` reads. Never trusts it: a bundle is a claim,
//! and the plan is checked again. INVARIANT: whatever moved since is named, and nothing runs.

use std::collections::BTreeSet;

use provost_plan::check::{PlanRecord, TermsRecord};
use provost_plan::digest::Digest;
use provost_plan::plan::Goal;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The marker of a bundle.
pub const BUNDLE_SCHEMA: &str = "provost/bundle/v1";

/// A saved plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// [`BUNDLE_SCHEMA`].
    pub schema: String,
    /// The goal.
    pub goal: Goal,
    /// The playbook that made the plan and revises it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub playbook: Option<String>,
    /// The plan's digest.
    pub digest: Digest,
    /// What it was checked under.
    pub terms: TermsRecord,
    /// The plan.
    pub plan: Value,
}

impl Bundle {
    /// The bundle of a checked plan.
    #[must_use]
    pub fn new(goal: Goal, playbook: Option<String>, plan: Value, record: &PlanRecord) -> Self {
        Self {
            schema: BUNDLE_SCHEMA.to_owned(),
            goal,
            playbook,
            digest: record.digest,
            terms: record.terms.clone(),
            plan,
        }
    }

    /// What moved between the bundle and a fresh check of its plan, in words; empty if nothing.
    #[must_use]
    pub fn moved(&self, now: &PlanRecord) -> Vec<String> {
        let mut moved = Vec::new();
        let mut compare = |what: &str, same: bool| {
            if !same {
                moved.push(what.to_owned());
            }
        };
        compare("the plan", self.digest == now.digest);
        compare("the goal", self.terms.goal == now.terms.goal);
        compare(
            "the policy or the people in it",
            self.terms.policy == now.terms.policy,
        );
        compare("who it is for", self.terms.principal == now.terms.principal);
        compare("the limits", self.terms.limits == now.terms.limits);
        let names = self.terms.roles.keys().chain(now.terms.roles.keys());
        for name in names.collect::<BTreeSet<&String>>() {
            let same = self.terms.roles.get(name) == now.terms.roles.get(name);
            compare(&format!("the role `{name}`"), same);
        }
        let names: BTreeSet<&String> = self
            .terms
            .tools
            .keys()
            .chain(now.terms.tools.keys())
            .collect();
        for name in names {
            let same = self.terms.tools.get(name) == now.terms.tools.get(name);
            compare(&format!("the tool `{name}`"), same);
        }
        moved
    }
}
