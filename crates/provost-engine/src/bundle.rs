//! The bundle: a saved plan with the digests of everything it was checked under.
//!
//! Owns the file that `plan -o` writes and `apply` reads. Never trusts it: a bundle is a claim,
//! and the plan is checked again. INVARIANT: whatever moved since is named, and nothing runs.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::{PlanRecord, Terms, TermsRecord};
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
        let plan = (self.digest != now.digest).then(|| "the plan".to_owned());
        plan.into_iter().chain(self.differs(&now.terms)).collect()
    }

    /// The same as far as it can be told without a check: of what the plan was checked under.
    #[must_use]
    pub fn moved_terms(&self, now: &Terms) -> Vec<String> {
        let tool = |name: &String| Some((name.clone(), now.catalog.digest(name)?));
        let role = |name: &String| Some((name.clone(), now.catalog.role(name)?.digest()));
        self.differs(&TermsRecord {
            goal: now.goal.digest(),
            policy: now.policy.digest(),
            principal: now.principal.digest(),
            limits: now.limits.digest(),
            tools: self.terms.tools.keys().filter_map(tool).collect(),
            roles: self.terms.roles.keys().filter_map(role).collect(),
        })
    }

    fn differs(&self, now: &TermsRecord) -> Vec<String> {
        let was = &self.terms;
        let whole = [
            ("the goal", was.goal == now.goal),
            ("the policy or the people in it", was.policy == now.policy),
            ("who it is for", was.principal == now.principal),
            ("the limits", was.limits == now.limits),
        ];
        let whole = whole.iter().filter(|(_, same)| !same);
        let named = |kind: &'static str, was: &Digests, now: &Digests| {
            let names: BTreeSet<&String> = was.keys().chain(now.keys()).collect();
            let moved = names
                .into_iter()
                .filter(|name| was.get(*name) != now.get(*name));
            moved
                .map(|name| format!("the {kind} `{name}`"))
                .collect::<Vec<_>>()
        };
        let mut moved: Vec<String> = whole.map(|(what, _)| (*what).to_owned()).collect();
        moved.extend(named("role", &was.roles, &now.roles));
        moved.extend(named("tool", &was.tools, &now.tools));
        moved
    }
}

type Digests = BTreeMap<String, Digest>;
