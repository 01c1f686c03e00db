//! Which planner serves a run.
//!
//! Owns the choice as the journal keeps it. Knows no planner: a name is looked up by whoever opens
//! the workspace.

use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::Plan;
use provost_plan::plan::request::{PlannerCost, PlanningMode};
use provost_plan::plan::subgoal::left_open;
use serde::{Deserialize, Serialize};

use super::Prover;

/// How a planner is shown untrusted text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PlannerView {
    /// As the expression that names it.
    #[default]
    References,
    /// In clear: whatever it plans from then on counts as text.
    Full,
}

impl PlannerView {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "the shape serde wants")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Which planner serves a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum PlannerChoice {
    /// A playbook, by name.
    Playbook {
        /// Its name in the workspace.
        name: String,
    },
    /// One of these playbooks, as soon as it is known which, and with what parameters.
    Interpreter {
        /// The names of the playbooks that may match.
        playbooks: Vec<String>,
    },
    /// A plan somebody wrote or saved.
    File {
        /// The name shown in diagnostics.
        name: String,
        /// The text of the plan, as it was written.
        text: String,
        /// The playbook that revises it, if a playbook made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        playbook: Option<String>,
    },
    /// A plan that a client of the planning server submitted.
    Client {
        /// What the client calls itself.
        client: String,
        /// The text of the plan, as it was written.
        text: String,
    },
    /// A model, by the name the workspace gives it.
    Model {
        /// Its name in the workspace.
        name: String,
        /// The most that one request may take.
        cost: PlannerCost,
        /// How it is shown text.
        #[serde(default, skip_serializing_if = "PlannerView::is_default")]
        view: PlannerView,
    },
    /// Another process: somebody else's planner.
    Process {
        /// The program, as `[planner]` names it.
        program: String,
        /// How it is shown text.
        #[serde(default, skip_serializing_if = "PlannerView::is_default")]
        view: PlannerView,
    },
}

/// Who is next where a planner failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum NextPlanner {
    /// Another planner.
    Planner {
        /// The planner, with what it needs to be opened again.
        planner: PlannerChoice,
    },
    /// A person: what they are asked follows.
    Person,
}

impl NextPlanner {
    /// Who it is, in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Self::Person => "a person".to_owned(),
            Self::Planner {
                planner: PlannerChoice::Interpreter { playbooks },
            } => format!("playbook {}", playbooks.join(", ")),
            Self::Planner { planner } => planner.author(),
        }
    }
}

/// The tools that a planner may choose from, of a catalog with more than it can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Candidates {
    /// How many the catalog has.
    pub of: u64,
    /// Their names, the likeliest first.
    pub tools: Vec<String>,
}

impl PlannerChoice {
    /// Who it is, in words.
    #[must_use]
    pub fn author(&self) -> String {
        match self {
            Self::Playbook { name } => format!("playbook {name}"),
            Self::Interpreter { .. } => "the rules of the workspace".to_owned(),
            Self::File { name, .. } => format!("file {name}"),
            Self::Client { client, .. } => format!("client {client}"),
            Self::Model { name, .. } => format!("model {name}"),
            Self::Process { program, .. } => format!("process {program}"),
        }
    }

    /// The plan that somebody handed in, as it was written: the journal keeps it.
    #[must_use]
    pub fn plan_text(&self) -> Option<&str> {
        match self {
            Self::File { text, .. } | Self::Client { text, .. } => Some(text),
            Self::Playbook { .. }
            | Self::Interpreter { .. }
            | Self::Model { .. }
            | Self::Process { .. } => None,
        }
    }

    /// Its kind, in the one word that series, statistics and traces know it by.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Playbook { .. } => "playbook",
            Self::Interpreter { .. } => "rules",
            Self::File { .. } => "file",
            Self::Client { .. } => "client",
            Self::Model { .. } => "model",
            Self::Process { .. } => "process",
        }
    }

    /// The name that the workspace gives it, else its kind: never what a client calls itself, or
    /// where a file lies.
    #[must_use]
    pub fn label(&self) -> &str {
        match self {
            Self::Playbook { name } | Self::Model { name, .. } => name,
            Self::Interpreter { .. }
            | Self::File { .. }
            | Self::Client { .. }
            | Self::Process { .. } => self.kind(),
        }
    }

    /// Whose proofs its plans hold; `user` is who supplies a plan file.
    #[must_use]
    pub fn prover(&self, user: &str) -> Prover {
        match self {
            Self::Playbook { name } => Prover::Playbook { name: name.clone() },
            Self::File {
                playbook: Some(name),
                ..
            } => Prover::Playbook { name: name.clone() },
            Self::File { playbook: None, .. } => Prover::Person {
                id: user.to_owned(),
            },
            Self::Interpreter { .. }
            | Self::Client { .. }
            | Self::Model { .. }
            | Self::Process { .. } => Prover::Planner {
                author: self.author(),
            },
        }
    }

    /// The playbook that has a part in it.
    #[must_use]
    pub fn playbook(&self) -> Option<&str> {
        match self {
            Self::Playbook { name } => Some(name),
            Self::File { playbook, .. } => playbook.as_deref(),
            Self::Interpreter { .. }
            | Self::Client { .. }
            | Self::Model { .. }
            | Self::Process { .. } => None,
        }
    }

    /// Who plans, in words, where that is no person and nobody's playbook.
    #[must_use]
    pub fn outsider(&self) -> Option<String> {
        match self {
            Self::Playbook { .. } | Self::Interpreter { .. } | Self::File { .. } => None,
            Self::Client { .. } | Self::Model { .. } | Self::Process { .. } => Some(self.author()),
        }
    }

    /// Whether it is a model or another process. It takes time, it reads what it is shown, and it
    /// may fail or run out of proposals where it might have succeeded: then its proposals are
    /// repaired, and others are asked after it. The rest reply at once, and the same every time.
    #[must_use]
    pub fn may_fail(&self) -> bool {
        match self {
            Self::Model { .. } | Self::Process { .. } => true,
            Self::Playbook { .. }
            | Self::Interpreter { .. }
            | Self::File { .. }
            | Self::Client { .. } => false,
        }
    }

    /// A subgoal of a plan of which nobody would say what it comes to: this planner refines none,
    /// or is to leave none open in this mode.
    #[must_use]
    pub fn never_refined(&self, plan: &Plan, mode: Option<PlanningMode>) -> Option<Diagnostic> {
        if mode == Some(PlanningMode::Single) {
            return left_open(plan, "the mode single wants the whole plan");
        }
        if self.may_fail() {
            return None;
        }
        left_open(plan, &format!("{} plans this run", self.author()))
    }

    /// How it is shown text.
    #[must_use]
    pub fn view(&self) -> PlannerView {
        match self {
            Self::Model { view, .. } | Self::Process { view, .. } => *view,
            Self::Playbook { .. }
            | Self::Interpreter { .. }
            | Self::File { .. }
            | Self::Client { .. } => PlannerView::References,
        }
    }

    /// The most that one request to it may take; none if nobody knows, or nothing.
    #[must_use]
    pub fn cost(&self) -> Option<&PlannerCost> {
        match self {
            Self::Model { cost, .. } => Some(cost),
            Self::Playbook { .. }
            | Self::Interpreter { .. }
            | Self::File { .. }
            | Self::Client { .. }
            | Self::Process { .. } => None,
        }
    }
}
