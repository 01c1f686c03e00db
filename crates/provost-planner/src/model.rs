//! The model planner: a request as messages, an answer as a plan.
//!
//! Owns the prompt and its version, the strict form of the reply, prices, and how often a server
//! that did not answer is asked again. What the model proposes is as untrusted as anybody's and
//! meets the same check; findings come back to it with the next request, so that it repairs.
//!
//! Labels (DESIGN §6: a literal is as trusted as what its author had seen). In the planner's view
//! text stands as a reference only, so before anything ran the model has seen what the person and
//! the operator wrote: its literals and its choice are trusted. Once steps have settled it has seen
//! their `data` values: literals and choice are `data`, from all of these steps. At a sink such a
//! literal counts as untrusted; as control it does not, for only text does there.
//!
//! INVARIANT: whatever comes back ends as a plan, questions, a decline or findings.

use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use provost_plan::codes::Code;
use provost_plan::label::{Integrity, Label};
use provost_plan::money::Money;
use provost_plan::plan::request::{
    NoPlan, PlanReply, PlanRequest, Planned, PlannerCost, PlannerUsage,
};
use provost_wire::model::{
    FinishReason, ModelClient, ModelError, ModelReply, ModelRequest, ModelUsage, Prices,
};

use crate::Planner;
use crate::limits::{ASK_AGAIN_AFTER, ASK_AGAIN_MAX, ASKED_TIMES_MAX, REQUEST_FRAME_BYTES};
use crate::reply::{ReplyAuthor, of_text, unreadable, words};

mod prompt;
mod schema;

pub use prompt::PROMPT_VERSION;
pub use schema::strict as reply_schema;

/// The name under which the form of a reply is sent.
pub const REPLY_NAME: &str = "provost_reply";

/// A model that plans.
#[derive(Clone, Debug)]
pub struct ModelPlanner {
    name: String,
    client: ModelClient,
    prices: Option<Prices>,
}

impl ModelPlanner {
    /// The model that the workspace calls `name`.
    #[must_use]
    pub fn new(name: String, client: ModelClient, prices: Option<Prices>) -> Self {
        Self {
            name,
            client,
            prices,
        }
    }

    /// The most that one request to a model of these settings may take.
    #[must_use]
    pub fn cost(tokens_out: u32, prices: Option<&Prices>, limit: Option<Money>) -> PlannerCost {
        // Why twice: a library rewrites the schema in the dialect of its provider.
        let schema = 2 * schema::strict(None).to_string().len() as u64;
        PlannerCost {
            bytes: prompt::fixed_bytes() + schema + REQUEST_FRAME_BYTES,
            tokens_out: u64::from(tokens_out),
            input: prices.map(|prices| prices.input.max(prices.cached)),
            output: prices.map(|prices| prices.output),
            limit,
        }
    }

    async fn ask(&self, request: &PlanRequest) -> Planned {
        let user = prompt::user(request);
        let schema = schema::strict(request.mode);
        let mut requests = 0;
        loop {
            requests += 1;
            let asked = self.client.ask(ModelRequest {
                system: prompt::SYSTEM,
                user: &user,
                name: REPLY_NAME,
                schema: &schema,
            });
            match asked.await {
                Ok(reply) => {
                    return Planned {
                        usage: Some(self.usage(&reply, requests)),
                        reply: self.read(request, &reply),
                    };
                }
                Err(error) => match again(&error, requests) {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => return self.failed(&error, requests),
                },
            }
        }
    }

    fn read(&self, request: &PlanRequest, reply: &ModelReply) -> PlanReply {
        match reply.finish {
            FinishReason::Stop => read_text(&self.name, request, &reply.text),
            FinishReason::Length => {
                let most = self.client.settings().max_tokens;
                let what =
                    format!("the reply was cut off after {most} tokens: write a shorter one");
                let author = author_of(&self.name, request);
                unreadable(&reply.text, &author, Code::TooLarge, &what)
            }
            FinishReason::Refused => PlanReply::Failed {
                class: NoPlan::Declined,
                reason: format!(
                    "model {} would not answer: {}",
                    self.name,
                    words(&reply.text)
                ),
            },
        }
    }

    fn usage(&self, reply: &ModelReply, requests: u32) -> PlannerUsage {
        let usage = &reply.usage;
        PlannerUsage {
            model: Some(words(&reply.model)),
            prompt: Some(PROMPT_VERSION.to_owned()),
            requests: u64::from(requests),
            tokens_in: usage.input,
            tokens_cached: usage.cached,
            tokens_out: usage.output,
            cost: self.prices.map(|prices| prices.of(usage)),
            // Why: a server that counts nothing does not say that it was free.
            unknown: *usage == ModelUsage::default(),
        }
    }

    fn failed(&self, error: &ModelError, requests: u32) -> Planned {
        let times = match requests {
            1 => String::new(),
            many => format!(" (asked {many} times)"),
        };
        let unknown = error.may_be_paid();
        let free = self.prices.filter(|_| !unknown).map(|_| Money::ZERO);
        Planned {
            reply: PlanReply::Failed {
                class: class_of(error),
                reason: format!("model {}: {error}{times}", self.name),
            },
            usage: Some(PlannerUsage {
                prompt: Some(PROMPT_VERSION.to_owned()),
                requests: u64::from(requests),
                cost: free,
                unknown,
                ..PlannerUsage::default()
            }),
        }
    }
}

impl Planner for ModelPlanner {
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned> {
        self.ask(request).boxed()
    }
}

/// What a whole answer of the model called `name` comes to: a function of both texts alone.
#[must_use]
pub fn read_text(name: &str, request: &PlanRequest, text: &str) -> PlanReply {
    of_text(text, &author_of(name, request))
}

fn author_of(name: &str, request: &PlanRequest) -> ReplyAuthor {
    let seen = seen(request);
    ReplyAuthor {
        words: format!("model {name}"),
        literals: seen.clone(),
        control: seen,
    }
}

/// How long to wait until it is asked again; none if it is not.
fn again(error: &ModelError, requests: u32) -> Option<Duration> {
    if !error.may_repeat() || requests >= ASKED_TIMES_MAX {
        return None;
    }
    let own = ASK_AGAIN_AFTER * 2_u32.saturating_pow(requests - 1);
    let wait = error.retry_after().unwrap_or(own);
    (wait <= ASK_AGAIN_MAX).then_some(wait)
}

/// The join of what a planner with the default view was shown.
fn seen(request: &PlanRequest) -> Label {
    if request.observations.is_empty() {
        return Label::trusted();
    }
    Label {
        integrity: Integrity::Data,
        sources: request.observations.keys().cloned().collect(),
        secret: false,
    }
}

/// The word for what kept a model from answering.
fn class_of(error: &ModelError) -> NoPlan {
    match error {
        ModelError::NoKey(_)
        | ModelError::Unauthorised(_)
        | ModelError::RateLimited { .. }
        | ModelError::Unavailable(_)
        | ModelError::Refused(_) => NoPlan::Unreachable,
        ModelError::Lost(_) => NoPlan::Crashed,
        ModelError::Timeout(_) => NoPlan::Timeout,
        ModelError::Garbage(_) => NoPlan::Unreadable,
    }
}
