//! `settle`: a person says what became of a write that is in doubt.

use clap::{ArgGroup, Args};
use provost_engine::people::Statement;
use provost_engine::run::call::Slot;
use provost_engine::run::event::Settlement;
use provost_engine::run::state::State;
use provost_plan::digest::Digest;
use serde_json::Value;

use super::Watching;
use super::statement::{self, SigningArgs};
use super::target::{Target, TargetRun};
use super::undriven::Drivers;
use crate::failure::{Exit, Failure};
use crate::screen::words::attempt_in_doubt;
use crate::workspace_path::WorkspacePath;

/// Arguments of `settle`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("settled").required(true)))]
pub struct SettleArgs {
    /// run id, or a unique prefix
    #[arg(value_name = "RUN")]
    target: Target,
    /// step in doubt, with item and attempt digest: `page[2]@DIGEST`
    #[arg(value_name = "STEP[@DIGEST]")]
    step: String,
    /// the write happened; it is not repeated
    #[arg(long, group = "settled")]
    happened: bool,
    /// the write did not happen; it is retried
    #[arg(long, group = "settled")]
    did_not_happen: bool,
    /// the outcome stays unknown; the step fails
    #[arg(long, group = "settled")]
    abandon: bool,
    /// output of the write as JSON, if known
    #[arg(long, value_name = "JSON", requires = "happened")]
    output: Option<String>,
    /// how you know, recorded in the journal
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

impl SettleArgs {
    fn settled(&self) -> Settlement {
        if self.happened {
            Settlement::Happened
        } else if self.did_not_happen {
            Settlement::DidNotHappen
        } else {
            Settlement::Abandoned
        }
    }
}

/// Does it.
pub fn run(verb: &SettleArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    let meant = SettleTarget::read(&verb.step)?;
    let output = match &verb.output {
        Some(text) => Some(serde_json::from_str::<Value>(text).map_err(|error| {
            Failure::usage(format!("`--output` is no JSON: {error}"))
                .hint("quote it for the shell: --output '{\"delivered\": true}'")
        })?),
        None => None,
    };
    let run = verb.target.open(place)?;
    not_lost(&run, &meant.slot, place)?;
    let (slot, attempt) = meant.find(run.state(), place)?;
    let statement = Statement::Settle {
        slot,
        attempt,
        settled: verb.settled(),
        output,
        reason: verb.reason.clone(),
    };
    statement::say(run, statement, &verb.signing, verb.watching, place)?;
    // Why whatever the run came to: what was said is recorded.
    Ok(Exit::Done)
}

/// Refuses what is no doubt yet: a call in flight, whose process is gone.
fn not_lost(run: &TargetRun, slot: &Slot, place: &WorkspacePath) -> Result<(), Failure> {
    let flying = run.state().item(slot);
    if flying.is_none_or(|item| item.in_flight.is_none()) {
        return Ok(());
    }
    let row = run.engine.store().run(&run.state().head.run)?;
    if !Drivers::of(place)?.lacks(&row) {
        return Ok(());
    }
    let message = format!("the process that called `{slot}` is gone, and nothing is in doubt yet");
    Err(Failure::usage(message).hint(format!(
        "`provost resume {}` records the call as lost, and reads what became of it if it can",
        row.id
    )))
}

/// `STEP`, `STEP[ITEM]`, and the attempt that is meant: `STEP@DIGEST`.
struct SettleTarget {
    slot: Slot,
    attempt: Option<String>,
}

impl SettleTarget {
    fn read(text: &str) -> Result<Self, Failure> {
        let (slot, attempt) = match text.split_once('@') {
            Some((slot, attempt)) => (slot, Some(attempt.to_owned())),
            None => (text, None),
        };
        let (step, item) = match slot.strip_suffix(']').and_then(|slot| slot.split_once('[')) {
            Some((step, index)) => (step, Some(index)),
            None => (slot, None),
        };
        let item = item.map(str::parse).transpose().map_err(|_| {
            Failure::usage(format!("`{text}` names no step or item"))
                .hint("a step is `page`, an item of it `page[2]`")
        })?;
        let step = step.to_owned();
        let slot = Slot { step, item };
        Ok(Self { slot, attempt })
    }

    /// The slot, and the attempt of it that is in doubt. Who names no attempt means the only one
    /// there ever was; where there were several, they have to say which they looked at.
    fn find(self, state: &State, place: &WorkspacePath) -> Result<(Slot, Option<Digest>), Failure> {
        let doubts: Vec<(Slot, Digest)> = state
            .items()
            .filter(|(slot, _)| slot.step == self.slot.step)
            .filter_map(|(slot, _)| Some((slot.clone(), state.attempt_in_doubt(&slot)?)))
            .collect();
        if doubts.is_empty() {
            return Ok((self.slot, None));
        }
        let named = |digest: &Digest| match &self.attempt {
            Some(text) => digest.matches(text),
            None => true,
        };
        let found = doubts
            .iter()
            .find(|(slot, digest)| *slot == self.slot && named(digest));
        let only = |slot: &Slot| state.effect(slot).is_some_and(|effect| effect.attempt == 1);
        match found {
            Some((slot, digest)) if self.attempt.is_some() || only(slot) => {
                Ok((slot.clone(), Some(*digest)))
            }
            _ => Err(self.ambiguous(&doubts, state, place)),
        }
    }

    fn ambiguous(
        &self,
        doubts: &[(Slot, Digest)],
        state: &State,
        place: &WorkspacePath,
    ) -> Failure {
        let slot = &self.slot;
        let message = match &self.attempt {
            Some(attempt) => format!("attempt `{attempt}` of `{slot}` is not in doubt now"),
            None => format!("`{slot}` does not name an attempt"),
        };
        let run = &state.head.run;
        let commands = doubts.iter().map(|(slot, _)| {
            let meant = attempt_in_doubt(state, slot);
            let text = format!("provost settle {run} {meant} … --reason WHY");
            format!("\n  {}", place.command(&text))
        });
        let commands: String = commands.collect();
        Failure::usage(message).hint(format!(
            "check the system it writes to again; in doubt now:{commands}"
        ))
    }
}
