//! Which playbook a goal is for.

use std::sync::Arc;

use provost_plan::plan::Goal;
use provost_plan::plan::request::PlannerQuestion;
use serde_json::json;

use crate::Playbook;

/// All playbooks of a workspace, by name.
#[derive(Clone, Debug, Default)]
pub struct Router {
    playbooks: Vec<Arc<Playbook>>,
}

/// Where a goal goes.
#[derive(Clone, Debug)]
pub enum Route {
    /// To the one playbook that matches, with its criteria and parameters.
    Playbook {
        /// The playbook.
        playbook: Arc<Playbook>,
        /// The goal.
        goal: Goal,
    },
    /// Nowhere.
    NoMatch(NoMatch),
    /// To one of several: the user is asked which.
    Ambiguous(PlannerQuestion),
}

/// No playbook matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no playbook matches the goal")]
pub struct NoMatch {
    /// The name and the sentences of each there is.
    pub playbooks: Vec<(String, Vec<String>)>,
}

impl NoMatch {
    /// What there is and what to do, in words.
    #[must_use]
    pub fn hint(&self) -> String {
        let lines = self.playbooks.iter().flat_map(|(name, sentences)| {
            sentences
                .iter()
                .map(move |sentence| format!("\n  {name}: {sentence}"))
        });
        let list: String = lines.collect();
        if list.is_empty() {
            return "this workspace has no playbook: write one into `playbooks/`, or give a plan \
                    of your own with `provost apply FILE`"
                .to_owned();
        }
        format!(
            "the playbooks are:{list}\nword the goal as one of them, write another playbook, or \
             give a plan of your own with `provost apply FILE`"
        )
    }
}

impl Router {
    /// A router over `playbooks`.
    #[must_use]
    pub fn new(mut playbooks: Vec<Arc<Playbook>>) -> Self {
        playbooks.sort_by(|a, b| a.name().cmp(b.name()));
        Self { playbooks }
    }

    /// The playbooks, by name.
    pub fn playbooks(&self) -> impl Iterator<Item = &Arc<Playbook>> {
        self.playbooks.iter()
    }

    /// The playbook called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Playbook>> {
        self.playbooks
            .iter()
            .find(|playbook| playbook.name() == name)
    }

    /// Finds the playbook for the text of a goal.
    #[must_use]
    pub fn route(&self, text: &str) -> Route {
        let mut found: Vec<_> = self
            .playbooks
            .iter()
            .filter_map(|playbook| Some((playbook, playbook.matches(text)?)))
            .collect();
        let Some((playbook, params)) = found.pop() else {
            let of = |playbook: &Arc<Playbook>| {
                let sentences = playbook.sentences().map(str::to_owned).collect();
                (playbook.name().to_owned(), sentences)
            };
            return Route::NoMatch(NoMatch {
                playbooks: self.playbooks.iter().map(of).collect(),
            });
        };
        if found.is_empty() {
            return Route::Playbook {
                playbook: Arc::clone(playbook),
                goal: playbook.goal(text, &params),
            };
        }
        let names: Vec<_> = found
            .iter()
            .map(|(playbook, _)| playbook.name())
            .chain([playbook.name()])
            .collect();
        Route::Ambiguous(PlannerQuestion {
            id: "playbook".to_owned(),
            text: format!(
                "several playbooks match this goal: which one? ({})",
                names.join(", ")
            ),
            answer: json!({ "type": "string", "enum": names }),
        })
    }

    /// The route once the user has said which playbook.
    #[must_use]
    pub fn route_to(&self, name: &str, text: &str) -> Option<Route> {
        let playbook = self.get(name)?;
        let params = playbook.matches(text)?;
        Some(Route::Playbook {
            playbook: Arc::clone(playbook),
            goal: playbook.goal(text, &params),
        })
    }
}
