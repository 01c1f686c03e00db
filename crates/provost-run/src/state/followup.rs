//! What a person or a planner has still to do, or did, about a step.
//!
//! Owns three things a step: whether the planner is shown it, what became of its failure, and the
//! forms in which the plan was approved without it. Decides nothing. INVARIANT: each outlives the
//! step, because a later plan may have one of the same name again.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::digest::Digest;

/// The followups of all steps, by their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Followups(BTreeMap<String, Followup>);

/// What is still to do about one step, or was done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Followup {
    /// Whether the planner is shown what it came to.
    pub report: Report,
    /// What became of its failure.
    pub failure: FailureReview,
    /// The closure digests under which a person approved the plan without it.
    pub left_out: BTreeSet<Digest>,
}

/// Whether a planner is shown what a step came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Report {
    /// It did not ask for it.
    #[default]
    Unwanted,
    /// Once the step is over.
    ToShow,
    /// It was.
    Shown,
}

/// What becomes of the failure of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FailureReview {
    /// Nobody was asked about one.
    #[default]
    Open,
    /// A planner or a person was asked.
    Asked,
    /// A person let it pass.
    Excused,
    /// A person sent it back to the planner.
    SentBack,
}

impl Followups {
    /// What is known about a step.
    #[must_use]
    pub fn of(&self, id: &str) -> Option<&Followup> {
        self.0.get(id)
    }

    /// What became of the failure of a step.
    #[must_use]
    pub fn failure(&self, id: &str) -> FailureReview {
        self.of(id).map(|known| known.failure).unwrap_or_default()
    }

    /// Whether the planner still wants to see a step.
    #[must_use]
    pub fn is_to_show(&self, id: &str) -> bool {
        self.of(id)
            .is_some_and(|known| known.report == Report::ToShow)
    }

    /// The steps that the planner still wants to see.
    pub fn to_show(&self) -> impl Iterator<Item = &String> {
        let wanted = self
            .0
            .iter()
            .filter(|(_, known)| known.report == Report::ToShow);
        wanted.map(|(id, _)| id)
    }

    /// Whether a person approved the plan without a step of this form.
    #[must_use]
    pub fn is_left_out(&self, id: &str, closure: Digest) -> bool {
        self.of(id)
            .is_some_and(|known| known.left_out.contains(&closure))
    }

    /// Whether the planner is to be shown a step, or a failure was sent back to it.
    pub(crate) fn any_for_planner(&self) -> bool {
        self.0
            .values()
            .any(|known| known.report == Report::ToShow || known.failure == FailureReview::SentBack)
    }

    fn entry(&mut self, id: &str) -> &mut Followup {
        self.0.entry(id.to_owned()).or_default()
    }

    /// The planner of the plan in force wants to see these steps, and no others.
    pub(super) fn show_only(&mut self, wanted: &[String]) {
        self.forget_to_show();
        for id in wanted {
            let report = &mut self.entry(id).report;
            if *report == Report::Unwanted {
                *report = Report::ToShow;
            }
        }
    }

    pub(super) fn forget_to_show(&mut self) {
        for known in self.0.values_mut() {
            if known.report == Report::ToShow {
                known.report = Report::Unwanted;
            }
        }
    }

    pub(super) fn shown(&mut self, id: &str) {
        self.entry(id).report = Report::Shown;
    }

    /// Somebody is asked about the failure of a step.
    pub(super) fn ask(&mut self, id: &str) {
        let failure = &mut self.entry(id).failure;
        if *failure == FailureReview::Open {
            *failure = FailureReview::Asked;
        }
    }

    /// The planner is asked about the failure of a step, whoever sent it back.
    pub(super) fn ask_planner(&mut self, id: &str) {
        let failure = &mut self.entry(id).failure;
        if *failure != FailureReview::Excused {
            *failure = FailureReview::Asked;
        }
    }

    pub(super) fn excuse(&mut self, id: &str) {
        self.entry(id).failure = FailureReview::Excused;
    }

    pub(super) fn send_back(&mut self, id: &str) {
        self.entry(id).failure = FailureReview::SentBack;
    }

    /// What was sent back to a planner is overtaken by an amendment.
    pub(super) fn overtake(&mut self) {
        for known in self.0.values_mut() {
            if known.failure == FailureReview::SentBack {
                known.failure = FailureReview::Asked;
            }
        }
    }

    pub(super) fn leave_out(&mut self, id: &str, closure: Digest) {
        self.entry(id).left_out.insert(closure);
    }

    /// Takes back what people said: whom they excused, sent back or left out.
    pub(super) fn forget_people(&mut self) {
        for known in self.0.values_mut() {
            known.left_out.clear();
            if known.failure != FailureReview::Open {
                known.failure = FailureReview::Asked;
            }
        }
    }
}
