//! The equal calls of other runs, as a store knows them: it refuses a turn that knows others.

use std::collections::BTreeMap;

use provost_plan::digest::{Digest, Domain};
use provost_run::admission::{Admission, AdmissionEntry};
use provost_run::call::Slot;
use provost_run::earlier::{CallKey, EarlierCall, EarlierCalls};
use provost_run::machine::{Input, Output, Run, StepError};
use provost_run::outcome::Landing;
use serde_json::Value;

use super::Case;

/// A month, in milliseconds.
const MONTH_MS: i64 = 30 * 24 * 3_600_000;

#[derive(Default)]
pub struct Others(BTreeMap<CallKey, EarlierCalls>);

impl Others {
    /// One step, made again as often as the store refuses it.
    pub fn step(
        &self,
        before: &Run,
        mut said: Admission,
        input: &Input,
        now: i64,
    ) -> (Run, Result<Output, StepError>) {
        for _ in 0..10 {
            let mut run = before.clone();
            let result = run.step_beside(input.clone(), now, &said);
            let entries = result.iter().flat_map(|output| &output.admission);
            let looks = entries.filter_map(|entry| match entry {
                AdmissionEntry::Earlier(look) => Some(look),
                _ => None,
            });
            let others: Vec<(CallKey, EarlierCalls)> = looks
                .filter_map(|look| {
                    let calls = self.0.get(&look.call).cloned().unwrap_or_default();
                    (calls != look.known).then(|| (look.call.clone(), calls))
                })
                .collect();
            if others.is_empty() {
                return (run, result);
            }
            said.earlier.extend(others);
        }
        panic!("the machine does not take what the store knows");
    }
}

impl Case {
    /// Equal calls of other runs are looked at.
    pub fn remembering(mut self) -> Self {
        self.rules.admission.repeats_ms = MONTH_MS;
        self
    }

    /// From here on these runs made the call before, and it landed so.
    pub fn made_before(mut self, operation: &str, args: &Value, by: &[(&str, Landing)]) -> Self {
        let key = CallKey {
            operation: operation.to_owned(),
            args: Digest::of_value(Domain::Args, args),
        };
        let mut calls = EarlierCalls::default();
        for (run, landing) in by {
            calls.push(EarlierCall {
                run: (*run).to_owned(),
                slot: Slot {
                    step: "put".to_owned(),
                    item: None,
                },
                at: 500,
                landing: *landing,
            });
        }
        self.others.0.insert(key, calls);
        self
    }
}
