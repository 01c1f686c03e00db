//! A plan that somebody wrote into a file, as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, ready};
use provost_plan::label::Label;
use provost_plan::node::parse_yaml;
use provost_plan::plan::request::{PlanReply, PlanRequest, Planned, RequestKind};
use provost_plan::source::Source;

use crate::{Planner, Playbook, decline_findings};

/// Proposes one given plan document. Has no revision of its own: if a playbook made the plan, that
/// playbook revises it.
#[derive(Clone, Debug)]
pub struct FilePlanner {
    source: Source,
    playbook: Option<Arc<Playbook>>,
}

impl FilePlanner {
    /// A planner that proposes `source`.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self {
            source,
            playbook: None,
        }
    }

    /// Lets `playbook`, which made the plan, revise it.
    #[must_use]
    pub fn revised_by(mut self, playbook: Arc<Playbook>) -> Self {
        self.playbook = Some(playbook);
        self
    }

    /// The steps whose observation the playbook waits for.
    fn consult(&self) -> Vec<String> {
        let Some(playbook) = &self.playbook else {
            return Vec::new();
        };
        match parse_yaml(&self.source.text) {
            Ok(plan) => playbook.consult(&plan.to_value(), &BTreeMap::new()),
            Err(_) => Vec::new(),
        }
    }

    /// Who it is, in words.
    #[must_use]
    pub fn author(&self) -> String {
        format!("file {}", self.source.name)
    }
}

impl FilePlanner {
    /// A first plan for the goal.
    #[must_use]
    pub fn propose(&self, request: &PlanRequest) -> PlanReply {
        decline_findings(&self.author(), request).unwrap_or_else(|| PlanReply::Plan {
            text: self.source.text.to_string(),
            name: self.source.name.to_string(),
            author: self.author(),
            literals: Label::trusted(),
            control: Label::trusted(),
            consult: self.consult(),
            because: None,
        })
    }

    /// A new revision, from what was observed.
    #[must_use]
    pub fn revise(&self, request: &PlanRequest) -> PlanReply {
        match &self.playbook {
            Some(playbook) => playbook.revise(request),
            None => PlanReply::Decline(
                "a plan file has no revision: edit it and apply it again".to_owned(),
            ),
        }
    }
}

impl Planner for FilePlanner {
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned> {
        let reply = match request.kind {
            RequestKind::Propose => self.propose(request),
            RequestKind::Revise | RequestKind::Refine => self.revise(request),
        };
        ready(reply.into()).boxed()
    }
}
