//! The goal interpreter: what a goal leaves open is asked, and nothing else.
//!
//! Owns the questions: which of several playbooks, and the values that a goal with the words of
//! one does not say. Plans nothing, and guesses nothing. INVARIANT: what it comes to is a function
//! of the goal's text and of people's answers alone, so that it can be asked any number of times.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use provost_plan::plan::request::{
    PlanReply, PlanRequest, Planned, PlannerQuestion, RequestKind, Why,
};
use serde_json::{Value, json};

use crate::pattern::Near;
use crate::{Planner, Playbook, Route, Router};

/// The question that asks for a playbook.
const WHICH: &str = "playbook";

/// Reads a goal for one of several playbooks.
#[derive(Clone, Debug)]
pub struct Interpreter {
    among: Among,
}

/// Which playbooks a goal may be for.
#[derive(Clone, Debug)]
enum Among {
    /// One of these.
    These(Vec<Arc<Playbook>>),
    /// Whichever of all matches it.
    All(Router),
}

impl Interpreter {
    /// An interpreter for goals that are for one of `playbooks`.
    #[must_use]
    pub fn new(playbooks: Vec<Arc<Playbook>>) -> Self {
        Self {
            among: Among::These(playbooks),
        }
    }

    /// An interpreter for goals that any playbook of a workspace may match.
    #[must_use]
    pub fn of_all(router: Router) -> Self {
        Self {
            among: Among::All(router),
        }
    }

    /// The goal as it is meant, or what must be asked first.
    #[must_use]
    pub fn read(&self, request: &PlanRequest) -> PlanReply {
        let amended = matches!(request.why, Some(Why::Amended { .. }));
        if request.kind != RequestKind::Propose && !amended {
            return PlanReply::Decline("no playbook was chosen that could revise".to_owned());
        }
        let answers = answers(&request.answers);
        let text = &request.goal.text;
        let playbooks = match &self.among {
            Among::These(playbooks) => playbooks.clone(),
            Among::All(router) => match router.route(text, false) {
                Route::Playbook { playbook, goal } => {
                    return PlanReply::Interpreted {
                        goal,
                        playbook: playbook.name().to_owned(),
                        by: playbook.author(),
                    };
                }
                Route::Ask { playbooks, .. } => {
                    let found = playbooks.iter().filter_map(|name| router.get(name));
                    found.map(Arc::clone).collect()
                }
                Route::NoMatch(none) => return PlanReply::Decline(none.to_string()),
            },
        };
        let playbook = match chosen(&playbooks, &answers) {
            Ok(playbook) => playbook,
            Err(question) => return PlanReply::Questions(vec![question]),
        };
        let near = match (playbook.matches(text), playbook.near(text)) {
            (Some(params), _) => Near {
                params,
                ..Near::default()
            },
            (None, Some(near)) => near,
            (None, None) => {
                let name = playbook.name();
                return PlanReply::Decline(format!("the goal is not for playbook `{name}`"));
            }
        };
        let mut params = near.params.clone();
        let mut questions = Vec::new();
        for name in near.missing.iter().chain(near.unfit.keys()) {
            let Some(param) = playbook.param(name) else {
                continue;
            };
            let id = format!("params.{name}");
            match answers
                .get(id.as_str())
                .and_then(|value| param.answered(value))
            {
                Some(value) => {
                    params.insert(name.clone(), value);
                }
                None => questions.push(PlannerQuestion {
                    text: asks_for(name, near.unfit.get(name), param.description.as_deref()),
                    answer: param.schema(),
                    id,
                }),
            }
        }
        if !questions.is_empty() {
            return PlanReply::Questions(questions);
        }
        let asked = answers.keys().copied().collect::<Vec<_>>().join(", ");
        PlanReply::Interpreted {
            goal: playbook.goal(text, &params),
            playbook: playbook.name().to_owned(),
            by: format!("{}, with answers to: {asked}", playbook.author()),
        }
    }
}

impl Planner for Interpreter {
    fn reply<'a>(&'a self, request: &'a PlanRequest) -> BoxFuture<'a, Planned> {
        ready(self.read(request).into()).boxed()
    }
}

/// The playbook, or the question which it is.
fn chosen<'p>(
    playbooks: &'p [Arc<Playbook>],
    answers: &BTreeMap<&str, &Value>,
) -> Result<&'p Arc<Playbook>, PlannerQuestion> {
    if let [only] = playbooks {
        return Ok(only);
    }
    let named = answers.get(WHICH).and_then(|name| name.as_str());
    let named = named.and_then(|name| playbooks.iter().find(|one| one.name() == name));
    named.ok_or_else(|| {
        let line = |playbook: &Arc<Playbook>| {
            let sentence = playbook.sentences().next().unwrap_or_default();
            format!("{} ({sentence})", playbook.name())
        };
        let lines: Vec<String> = playbooks.iter().map(line).collect();
        let names: Vec<&str> = playbooks.iter().map(|one| one.name()).collect();
        PlannerQuestion {
            id: WHICH.to_owned(),
            text: format!("which playbook is the goal for: {}?", lines.join(", ")),
            answer: json!({ "enum": names }),
        }
    })
}

/// The answers of people, by the ids of the questions; the last to each.
fn answers(given: &[Value]) -> BTreeMap<&str, &Value> {
    given.iter().filter_map(answer).collect()
}

fn answer(given: &Value) -> Option<(&str, &Value)> {
    Some((given.get("id")?.as_str()?, given.get("value")?))
}

fn asks_for(name: &str, unfit: Option<&String>, description: Option<&str>) -> String {
    let asked = match unfit {
        None => format!("the goal does not say which {}: which is it?", words(name)),
        Some(text) => format!("`{text}` cannot be the {}: which is it?", words(name)),
    };
    match description {
        Some(description) => format!("{asked} ({description})"),
        None => asked,
    }
}

/// The name of a parameter in words.
fn words(name: &str) -> String {
    name.replace('_', " ")
}
