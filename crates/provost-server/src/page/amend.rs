//! Where a run is amended: its goal, its plan, or both.
//!
//! Owns the form, and what of it was changed. Checks nothing: the machine does, and what it finds
//! is shown beside what was typed. INVARIANT: a plan that was read at one revision is never put in
//! the place of another.

use askama::Template;
use axum::extract::{Path, RawForm, State};
use axum::response::Response;
use provost_engine::people::{PlanText, Statement};
use provost_engine::run::state::State as RunState;
use serde_json::Value;

use super::card::is_about_rights;
use super::form::FormFields;
use super::head::RunHeadView;
use super::run::found;
use super::say::{Form, back_to, said};
use super::waits::nonce;
use super::{Frame, Person, html};
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::markup::{Seen, seen, spelled};
use crate::problem::{Problem, ProblemKind};
use crate::view::SeenRun;

#[derive(Template)]
#[template(path = "amend.html")]
struct AmendPage {
    frame: Frame,
    run: String,
    head: RunHeadView,
    goal_now: Seen,
    why_not: Option<Seen>,
    problem: Option<(Seen, Option<Seen>)>,
    findings: Vec<(Seen, Seen, Seen)>,
    nonce: String,
    revision: u32,
    // Why as they are: what is changed is sent back whole, so nothing of it is cut or spelled out.
    goal: String,
    plan: Option<String>,
    reason: String,
}

/// What somebody typed.
#[derive(Clone, Default)]
struct Typed {
    goal: String,
    plan: Option<String>,
    reason: String,
}

/// `GET /runs/{run}/amend`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        html(&page(shared, &viewer, &run, None))
    });
    drawn.await
}

/// `POST /runs/{run}/amend`.
pub(crate) async fn post(
    State(app): State<App>,
    Person(viewer): Person,
    Path(id): Path<String>,
    RawForm(body): RawForm,
) -> Result<Response, Problem> {
    let mut fields = FormFields::read(&body)?;
    let nonce = fields.take("nonce");
    let revision = fields.need("revision")?;
    let typed = Typed {
        goal: fields.take("goal").unwrap_or_default(),
        plan: fields.take("plan"),
        reason: fields.take("reason").unwrap_or_default(),
    };
    fields.end()?;
    let (reader, read, kept) = (viewer.clone(), id.clone(), typed.clone());
    let meant = app.read(move |shared| {
        let run = shared.desk.run(&shared.engine(), &reader, &read)?;
        let statement = changed(run.state(), &revision, kept)?;
        Ok((run.state().head.run.clone(), statement))
    });
    let heard = match meant.await {
        Ok((run, statement)) => {
            let form = Form { statement, nonce };
            let word = said(&app, viewer.clone(), run.clone(), form).await;
            word.map(|word| (run, word))
        }
        Err(problem) => Err(problem),
    };
    match heard {
        Ok((run, word)) => Ok(back_to(&format!("/runs/{run}"), word)),
        Err(problem) if problem.kind == ProblemKind::NotFound => Err(problem),
        Err(problem) => {
            let status = problem.status();
            let refused = (problem, typed);
            let drawn = app.read(move |shared| {
                let run = shared.desk.run(&shared.engine(), &viewer, &id)?;
                html(&page(shared, &viewer, &run, Some(&refused)))
            });
            let mut answer = drawn.await?;
            *answer.status_mut() = status;
            Ok(answer)
        }
    }
}

/// What of the form is another than the run has it.
fn changed(state: &RunState, revision: &str, typed: Typed) -> Result<Statement, Problem> {
    let stands = state.in_force.revision;
    if revision != stands.to_string() {
        let detail = format!("the plan has revision {stands} now, and you had read another");
        return Err(Problem::new(ProblemKind::OtherRevision, detail)
            .hint("look at the plan that stands, and amend that one"));
    }
    let as_it_was = plan_of(state);
    let text = typed.plan.filter(|text| {
        let was = as_it_was.as_deref();
        was.is_none_or(|was| was.trim() != text.trim())
    });
    let goal = typed.goal.trim();
    let goal = (goal != state.goals.goal.text.trim()).then(|| goal.to_owned());
    if text.is_none() && goal.is_none() {
        let detail = "neither the goal nor the plan was changed";
        return Err(Problem::new(ProblemKind::Unfit, detail));
    }
    if typed.reason.is_empty() {
        return Err(Problem::new(ProblemKind::Unfit, "the reason is missing"));
    }
    let plan = text.map(|text| PlanText {
        name: PlanText::AMENDED.to_owned(),
        text,
    });
    Ok(Statement::Amend {
        plan,
        goal,
        reason: typed.reason,
    })
}

/// The plan in force as it is amended; none while there is none.
fn plan_of(state: &RunState) -> Option<String> {
    state.plan()?;
    let document = PlanText::to_amend(&state.in_force.document);
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    Some(spelled(&text))
}

fn page(
    shared: &Shared,
    viewer: &Viewer,
    run: &SeenRun,
    refused: Option<&(Problem, Typed)>,
) -> AmendPage {
    let state = run.state();
    let as_it_is = Statement::Amend {
        plan: None,
        goal: Some(state.goals.goal.text.clone()),
        reason: "?".to_owned(),
    };
    let would = shared
        .desk
        .would_take(&shared.engine(), run, viewer, as_it_is);
    // Why not all of it: that nothing is changed yet is no reason against who may.
    let not = |kind| is_about_rights(kind) || kind == ProblemKind::NotOpen;
    let why_not = would.err().filter(|problem| not(problem.kind));
    let problem = refused.map(|(problem, _)| problem);
    let findings = problem.and_then(|problem| problem.to_json().get("findings").cloned());
    let typed = match refused {
        // Why not then: what was typed was about another plan.
        Some((problem, typed)) if problem.kind != ProblemKind::OtherRevision => typed.clone(),
        _ => Typed {
            goal: state.goals.goal.text.clone(),
            plan: plan_of(state),
            reason: String::new(),
        },
    };
    AmendPage {
        frame: Frame::of(viewer, "runs").on(&state.head.run),
        run: state.head.run.clone(),
        head: RunHeadView::of(run, "run"),
        goal_now: seen(&state.goals.goal.text),
        why_not: why_not.map(|problem| seen(problem.detail)),
        problem: problem.map(|problem| (seen(&problem.detail), problem.hint_text().map(seen))),
        findings: findings.as_ref().map_or_else(Vec::new, listed),
        nonce: nonce(),
        revision: state.in_force.revision,
        goal: typed.goal,
        plan: typed.plan.or_else(|| plan_of(state)),
        reason: typed.reason,
    }
}

/// What the check finds in what was typed: code, place, message with its hint.
fn listed(findings: &Value) -> Vec<(Seen, Seen, Seen)> {
    let text = |one: &Value, name: &str| {
        let text = one.get(name).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let all = findings.as_array().into_iter().flatten();
    all.map(|one| {
        let place = format!("{} {}", text(one, "step"), text(one, "path"));
        let message = [text(one, "message"), text(one, "hint")].join("\n");
        (
            seen(text(one, "code")),
            seen(place.trim()),
            seen(message.trim()),
        )
    })
    .collect()
}
