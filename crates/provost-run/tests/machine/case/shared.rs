//! The rows that guard effects and bound what runs spend together, as a store keeps them by the
//! entries of a run; after every output they are what the events alone tell.

use std::collections::BTreeMap;

use provost_run::admission::{AdmissionEntry, Spent};
use provost_run::call::Slot;
use provost_run::event::{Event, RunStatus};
use provost_run::open_effects::{OpenEffectStatus, OpenEffects};
use provost_run::spending::Spending;

/// The open effects, and what was reserved and spent with what was given back.
#[derive(Default)]
pub struct Shared(BTreeMap<Slot, OpenEffectStatus>, Vec<Spent>);

impl Shared {
    pub fn take(&mut self, entries: &[AdmissionEntry]) {
        for entry in entries {
            match entry {
                AdmissionEntry::Begin(begin) if begin.sinks.is_some() => {
                    let standing = OpenEffectStatus::of_begun(begin.plain);
                    self.0.insert(begin.slot.clone(), standing);
                }
                AdmissionEntry::Doubt { slot } => {
                    if let Some(standing) = self.0.get_mut(slot) {
                        *standing = OpenEffectStatus::Doubtful;
                    }
                }
                AdmissionEntry::Settled { slot }
                | AdmissionEntry::End {
                    slot, known: true, ..
                } => {
                    self.0.remove(slot);
                }
                AdmissionEntry::Spent(spent) => self.1.push(spent.clone()),
                _ => {}
            }
        }
    }

    pub fn check(&self, journal: &[(Event, i64)]) {
        let (mut told, mut spending, mut spent) =
            (OpenEffects::default(), Spending::default(), Vec::new());
        for (event, at) in journal {
            told.apply(event, *at);
            spent.extend(spending.apply(event, *at));
        }
        assert_eq!(spent, self.1, "what the events count, and the entries");
        let told: BTreeMap<Slot, OpenEffectStatus> = told
            .open()
            .iter()
            .map(|(slot, open)| (slot.clone(), open.standing))
            .collect();
        assert_eq!(told, self.0, "what the events tell, and the rows");
        if let Some((Event::RunEnded(ended), _)) = journal.last()
            && ended.status == RunStatus::Succeeded
        {
            assert!(told.is_empty(), "a run succeeded with an open effect");
        }
    }
}
