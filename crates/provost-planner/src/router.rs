//! Which playbook a goal is for.

use std::sync::Arc;

use provost_plan::plan::Goal;

use crate::Playbook;
use crate::pattern::Similar;

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
    /// To one of these playbooks, once the user has said which, or what the goal leaves out.
    Ask {
        /// Their names.
        playbooks: Vec<String>,
        /// Why a question is needed, in words.
        because: String,
    },
    /// Nowhere.
    NoMatch(NoMatch),
}

/// No playbook matches.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no playbook matches the goal")]
pub struct NoMatch {
    /// The name and the sentences of each there is.
    pub playbooks: Vec<(String, Vec<String>)>,
    /// Sentences that the goal may mean, the likeliest first.
    pub similar: Vec<Similar>,
}

/// Most sentences that are offered.
const SIMILAR_MAX: usize = 3;
/// How much less than the likeliest they may have in common with the goal, in hundredths.
const COMMON_GAP_MAX: usize = 20;

impl NoMatch {
    /// What there is and what to do, in words.
    #[must_use]
    pub fn hint(&self) -> String {
        let lines = self.playbooks.iter().map(|(name, sentences)| {
            let first = sentences.first().map_or("", String::as_str);
            let more = match sentences.len().saturating_sub(1) {
                0 => String::new(),
                1 => " (or 1 other wording)".to_owned(),
                more => format!(" (or {more} other wordings)"),
            };
            format!("\n  {name}: {first}{more}")
        });
        let list: String = lines.collect();
        if list.is_empty() {
            return "this workspace has no playbook: write one into `playbooks/`, or give a plan \
                    of your own"
                .to_owned();
        }
        format!(
            "the playbooks are:{list}\nword the goal as one of them, write another playbook, or \
             give a plan of your own"
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

    /// Finds the playbook for the text of a goal. Where somebody else could plan it, a value that
    /// a parameter refuses counts as another goal; else as a slip that the user is asked about.
    #[must_use]
    pub fn route(&self, text: &str, others_plan: bool) -> Route {
        let mut found: Vec<_> = self
            .playbooks
            .iter()
            .filter_map(|playbook| Some((playbook, playbook.matches(text)?)))
            .collect();
        let Some((playbook, params)) = found.pop() else {
            return self.near(text, others_plan);
        };
        if found.is_empty() {
            return Route::Playbook {
                playbook: Arc::clone(playbook),
                goal: playbook.goal(text, &params),
            };
        }
        let names = found.iter().map(|(playbook, _)| playbook.name());
        Route::Ask {
            playbooks: names.chain([playbook.name()]).map(str::to_owned).collect(),
            because: "several playbooks match the goal".to_owned(),
        }
    }

    fn near(&self, text: &str, others_plan: bool) -> Route {
        let is_near = |playbook: &&Arc<Playbook>| {
            let near = playbook.near(text);
            near.is_some_and(|near| near.unfit.is_empty() || !others_plan)
        };
        let near: Vec<String> = self
            .playbooks
            .iter()
            .filter(is_near)
            .map(|playbook| playbook.name().to_owned())
            .collect();
        if !near.is_empty() {
            return Route::Ask {
                playbooks: near,
                because: "the goal has the words of a playbook and not all of its values"
                    .to_owned(),
            };
        }
        let of = |playbook: &Arc<Playbook>| {
            let sentences = playbook.sentences().map(str::to_owned).collect();
            (playbook.name().to_owned(), sentences)
        };
        let similar = self.playbooks.iter().filter_map(|one| one.similar(text));
        let mut similar: Vec<Similar> = similar.collect();
        similar.sort_by_key(|one| std::cmp::Reverse((one.is_complete, one.common)));
        similar.truncate(SIMILAR_MAX);
        let best = similar.first().map_or(0, |one| one.common);
        similar.retain(|one| one.common + COMMON_GAP_MAX >= best);
        Route::NoMatch(NoMatch {
            playbooks: self.playbooks.iter().map(of).collect(),
            similar,
        })
    }
}
