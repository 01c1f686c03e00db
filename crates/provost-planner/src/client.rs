//! A plan that a client of the planning server submitted, as it is.
//!
//! Owns the labels of what such a client writes. INVARIANT: a client can read elsewhere, so that
//! nothing it writes or chooses counts as more than untrusted text.

use std::future::ready;

use futures::future::{BoxFuture, FutureExt as _};
use provost_plan::check::Origin;
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::request::{PlanReply, PlanRequest, Planned, RequestKind};
use provost_plan::source::Source;

use crate::{Planner, decline_findings};

/// Proposes the plan that a client submitted. The source is named after the client.
#[derive(Clone, Debug)]
pub struct ClientPlanner {
    source: Source,
}

impl ClientPlanner {
    /// A planner that proposes `source`.
    #[must_use]
    pub fn new(source: Source) -> Self {
        Self { source }
    }

    /// What the words of a client are worth.
    #[must_use]
    pub fn origin(client: &str) -> Origin {
        let text = Label {
            integrity: Integrity::Text,
            ..Label::trusted()
        };
        Origin {
            author: format!("client {client}"),
            literals: text.clone(),
            control: text,
        }
    }
}

impl Planner for ClientPlanner {
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned> {
        let reply = match request.kind {
            RequestKind::Propose => self.propose(request),
            RequestKind::Revise | RequestKind::Refine => PlanReply::Decline(
                "the client that planned this run revises no plan: it may submit another"
                    .to_owned(),
            ),
        };
        ready(reply.into()).boxed()
    }
}

impl ClientPlanner {
    fn propose(&self, request: &PlanRequest) -> PlanReply {
        let Origin {
            author,
            literals,
            control,
        } = Self::origin(&self.source.name);
        decline_findings(&author, request).unwrap_or_else(|| PlanReply::Plan {
            text: self.source.text.to_string(),
            name: self.source.name.to_string(),
            author,
            literals,
            control,
            consult: Vec::new(),
            because: None,
        })
    }
}
