//! `settle`: a person says what became of a write that is in doubt.

use clap::{ArgGroup, Args};
use provost_engine::inbox::Statement;
use provost_engine::run::call::Slot;
use provost_engine::run::event::Settlement;
use serde_json::Value;

use super::Watching;
use super::say::{self, SigningArgs};
use super::target::Target;
use crate::failure::{Exit, Failure};
use crate::place::Place;

/// Arguments of `settle`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("settled").required(true)))]
pub struct Settle {
    /// the run
    #[arg(value_name = "RUN")]
    target: Target,
    /// the step in doubt, or one of its items: `page` or `page[2]`
    #[arg(value_name = "STEP")]
    step: String,
    /// it took place: it is never made again
    #[arg(long, group = "settled")]
    happened: bool,
    /// it did not take place: it is made again
    #[arg(long, group = "settled")]
    did_not_happen: bool,
    /// nobody will know: the step failed, and nothing waits for it any more
    #[arg(long, group = "settled")]
    abandon: bool,
    /// what it gave, as JSON, where that is known
    #[arg(long, value_name = "JSON", requires = "happened")]
    output: Option<String>,
    /// how you know; it is recorded
    #[arg(long, value_name = "WHY")]
    reason: String,
    #[command(flatten)]
    signing: SigningArgs,
    #[command(flatten)]
    watching: Watching,
}

impl Settle {
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
pub fn run(verb: &Settle, place: &Place) -> Result<Exit, Failure> {
    let slot = slot(&verb.step)?;
    let output = match &verb.output {
        Some(text) => Some(serde_json::from_str::<Value>(text).map_err(|error| {
            Failure::usage(format!("`--output` is no JSON: {error}"))
                .hint("quote it for the shell: --output '{\"delivered\": true}'")
        })?),
        None => None,
    };
    let envelope = {
        let engine = place.to_read()?;
        let record = verb.target.read(&engine)?;
        let statement = Statement::Settle {
            slot,
            settled: verb.settled(),
            output,
            reason: verb.reason.clone(),
        };
        say::envelope(&engine, record.run.state(), statement, &verb.signing)?
    };
    say::say(envelope, &verb.signing, verb.watching, place)?;
    // Why whatever the run came to: what was said is recorded.
    Ok(Exit::Done)
}

/// `step` or `step[2]`.
fn slot(text: &str) -> Result<Slot, Failure> {
    let (step, item) = match text.strip_suffix(']').and_then(|text| text.split_once('[')) {
        Some((step, index)) => (step, Some(index)),
        None => (text, None),
    };
    let item = item.map(str::parse).transpose().map_err(|_| {
        Failure::usage(format!("`{text}` names no step or item"))
            .hint("a step is `page`, an item of it `page[2]`")
    })?;
    Ok(Slot {
        step: step.to_owned(),
        item,
    })
}
