//! A plan before there is a run: the run machine asked in memory, up to the plan in force.
//!
//! Owns carrying requests to the planner and replies back; `route` says which planner, and
//! `checked_file` is a document by itself. Decides nothing: what is asked, mended and refused is
//! the machine's, so that `plan` asks what `run` asks. INVARIANT: nothing is stored and no call
//! leaves: the commands behind a plan in force are never opened.

use std::sync::Arc;

use provost_plan::check::Origin;
use provost_plan::plan::request::{PlanReply, PlanRequest, Planned};
use provost_plan::source::Source;
use provost_planner::Planner;
use provost_run::admission::Admission;
use provost_run::event::{Event, RunCreated};
use provost_run::machine::{Command, Input, Output, Receipt, Rules, Run};

use crate::clock::now_ms;
use crate::engine::{EngineError, NewRun};
use crate::owner::random_name;
use crate::session::DriveError;
use crate::workspace::Workspace;
use provost_run::statement::Credential;

mod checked_file;
mod playbook;
mod route;

pub use checked_file::{CheckedFile, moved, of_bundle, of_client, of_file};
pub use playbook::of_playbook;
pub use route::{Assignment, RouteError, RoutedGoal, planner_first, route};

use checked_file::judge;

/// What a planner has proposed so far.
#[derive(Debug, Default)]
struct Proposed {
    /// Its last plan document, mended as far as it was, and where it came from.
    document: Option<(Source, Origin)>,
    /// Why no plan is in force; none if the document is.
    refused: Option<Refused>,
}

/// No plan was proposed.
#[derive(Debug, thiserror::Error)]
pub enum ProposeError {
    /// The planner cannot be had.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// It has no plan.
    #[error("{0}")]
    Refused(Refused),
}

/// Why no plan is in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// What it wrote is no plan document.
    #[error("no plan document was returned: {0}")]
    Unreadable(String),
    /// It has no plan, or could not be asked.
    #[error("{0}")]
    Declined(String),
    /// It asks a person first.
    #[error("the planner has questions: {0}")]
    Asks(String),
    /// The machine took none of its plans, or asks it no more.
    #[error("{0}")]
    Ended(String),
}

/// Asks the planner of a goal for its plan, as a run would, and judges what it proposes; `given` is
/// that planner where the workspace does not hold it.
///
/// # Errors
/// [`ProposeError`] if the planner cannot be had, or has no plan document that could be judged.
pub async fn propose(
    workspace: &Workspace,
    routed: RoutedGoal,
    given: Option<Arc<dyn Planner>>,
) -> Result<CheckedFile, ProposeError> {
    let assignment = routed.assignment.clone();
    let new = routed.into_run(workspace.ask(), true);
    let proposed = ask(workspace, new, given).await?;
    proposed.judged(workspace, &assignment)
}

async fn ask(
    workspace: &Workspace,
    new: NewRun,
    given: Option<Arc<dyn Planner>>,
) -> Result<Proposed, EngineError> {
    let first = new.planner.clone();
    let created = RunCreated {
        run: random_name()?,
        principal: workspace.principal(&new.planner),
        goal: new.goal,
        planner: new.planner,
        fallback: new.fallback,
        mode: new.mode,
        limits: workspace.limits().clone(),
        ask: new.ask,
        solo: workspace.is_solo(),
        signed: workspace.required().least == Credential::Signature,
        vouched: workspace.required().least == Credential::Login,
        rights: None,
        provost: None,
        traceparent: None,
    };
    let rules = Rules {
        catalog: workspace.catalog().clone(),
        policy: workspace.policy().clone(),
        admission: workspace.admission().clone(),
    };
    let none = Admission::default();
    let (mut run, mut output) =
        Run::create_beside(created, &new.interpreted_by, rules, now_ms(), &none)
            .map_err(DriveError::from)?;
    let mut proposed = Proposed::default();
    loop {
        proposed.mended(&output.append);
        if run.state().in_force.plan.is_some() {
            proposed.refused = None;
            return Ok(proposed);
        }
        let Some(request) = request(&run, output)? else {
            proposed.end(&run);
            return Ok(proposed);
        };
        let planner = match &given {
            Some(given) if run.state().route.planner == first => Arc::clone(given),
            _ => workspace.planner(&run.state().route.planner)?,
        };
        let Planned { reply, usage } = planner.reply(&request).await;
        proposed.replied(&reply);
        let id = request.id;
        output = run
            .step(Input::Planned { id, reply, usage }, now_ms())
            .map_err(DriveError::from)?;
    }
}

/// The request that the machine makes next, if it makes one.
fn request(run: &Run, output: Output) -> Result<Option<Box<PlanRequest>>, DriveError> {
    // Why as if it were kept: nothing is, and nothing leaves but a request to a planner.
    let receipt = Receipt {
        run: run.state().head.run.clone(),
        through: run.seq(),
        durable: true,
    };
    let commands = output.commands.open(&receipt)?;
    Ok(commands.into_iter().find_map(|command| match command {
        Command::Plan(request) => Some(request),
        _ => None,
    }))
}

impl Proposed {
    /// The last document, checked again with its places, or why there is none.
    fn judged(
        self,
        workspace: &Workspace,
        assignment: &Assignment,
    ) -> Result<CheckedFile, ProposeError> {
        let nothing = || Refused::Ended("no plan was proposed".to_owned());
        let readable = !matches!(self.refused, Some(Refused::Unreadable(_)));
        let document = self.document.filter(|_| readable);
        let judged = document.map(|(source, origin)| judge(workspace, source, origin, assignment));
        match (judged, self.refused) {
            (Some(judged), None) => Ok(judged),
            // Why: the findings say more than that there is no plan.
            (Some(judged), Some(_)) if judged.plan.is_none() => Ok(judged),
            (Some(_), Some(Refused::Asks(why))) => Err(ProposeError::Refused(Refused::Ended(why))),
            (_, refused) => Err(ProposeError::Refused(refused.unwrap_or_else(nothing))),
        }
    }

    /// The document as the machine mended it.
    fn mended(&mut self, events: &[Event]) {
        for event in events {
            if let (Event::ProposalMended { text, .. }, Some((source, _))) =
                (event, &mut self.document)
            {
                *source = Source::new(source.name.to_string(), text.as_str());
            }
        }
    }

    fn replied(&mut self, reply: &PlanReply) {
        match reply {
            PlanReply::Plan {
                text,
                name,
                author,
                literals,
                control,
                ..
            } => {
                let origin = Origin {
                    author: author.clone(),
                    literals: literals.clone(),
                    control: control.clone(),
                };
                self.document = Some((Source::new(name.as_str(), text.as_str()), origin));
                self.refused = None;
            }
            PlanReply::Unreadable { findings, .. } => {
                let said = findings.first().map_or("", |first| first.message.as_str());
                self.refused = Some(Refused::Unreadable(said.to_owned()));
            }
            PlanReply::Decline(reason) | PlanReply::Failed { reason, .. } => {
                self.refused = Some(Refused::Declined(reason.clone()));
            }
            PlanReply::Questions(asked) => {
                let first = asked.first().map_or("", |first| first.text.as_str());
                self.refused = Some(Refused::Asks(first.to_owned()));
            }
            PlanReply::Interpreted { .. } => {}
        }
    }

    /// Why the machine asks no more.
    fn end(&mut self, run: &Run) {
        if self.refused.is_some() {
            return;
        }
        let state = run.state();
        let question = state.open_questions().next();
        let ended = state
            .ending
            .ended
            .as_ref()
            .and_then(|ended| ended.message.clone());
        self.refused = Some(match (question, ended) {
            (Some((_, question)), _) => Refused::Asks(question.text.clone()),
            (None, Some(message)) => Refused::Ended(message),
            (None, None) => Refused::Ended("no plan was proposed".to_owned()),
        });
    }
}
