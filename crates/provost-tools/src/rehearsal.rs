//! A rehearsal: tools that reach doubles on this machine and a scratch copy, or that only read.
//!
//! Owns which tools may take part, the faults that are planned for them, and the calls that nobody
//! could answer. Invents no answer: what has no double is a miss. INVARIANT: no adapter is opened
//! whose calls could leave the scratch copy but for the port of a double, except behind a door that
//! takes reads alone; so no eval changes anything real, whatever a plan says.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use provost_plan::digest::{Digest, Domain};
use provost_run::call::Call;
use provost_run::outcome::{Class, Landing, Reply};
use serde_json::Value;

use crate::adapter::ToolReach;
use crate::config::ToolConfig;
use crate::fault::Fault;
use crate::toolbox::{OpenError, Toolbox, ToolboxState};

mod reading;

use reading::{ReadCall, ReadingToolbox};

/// The ports of this machine on which doubles listen, by the tool that each stands for.
pub type Doubles = BTreeMap<String, u16>;

/// What a fault does to the effect of the call that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultLanding {
    /// The call is not made, and the caller knows.
    Nothing,
    /// The call is made, and its answer is lost.
    AnswerLost,
    /// The call is not made, and the caller does not know.
    Unknown,
}

/// A fault that is planned for one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFault {
    /// The operation, `tool.operation`.
    pub operation: String,
    /// Which call of it, from 1; none for every one.
    pub nth: Option<u64>,
    /// The class of the reply.
    pub class: Class,
    /// What becomes of the effect.
    pub landing: FaultLanding,
}

/// A call of an earlier run, with what came back.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedCall {
    /// The operation.
    pub operation: String,
    /// The arguments.
    pub args: Value,
    /// What came back.
    pub reply: Reply,
}

/// Why a call that changes something is a miss in a live world.
const ONLY_READS: &str = "a live world is only read";

/// Recorded replies by operation and arguments, in their order.
type Recordings = BTreeMap<(String, Digest), Vec<Reply>>;

/// A call that no double answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissedCall {
    /// The operation.
    pub operation: String,
    /// Why nobody answers it.
    pub reason: String,
}

/// The tools of a rehearsal.
#[derive(Debug)]
pub struct Rehearsal {
    answers: RehearsalAnswers,
    /// Tools that take no part, and why.
    absent: BTreeMap<String, &'static str>,
    faults: Vec<PlannedFault>,
    progress: Mutex<Progress>,
}

/// Who answers.
#[derive(Debug)]
enum RehearsalAnswers {
    /// Adapters that reach nothing real, and no others.
    Doubles(Toolbox),
    /// The tools as they are configured, as far as they read.
    Live(ReadingToolbox),
    /// The calls of an earlier run. No tool is open.
    Recorded(Recordings),
}

#[derive(Debug, Default)]
struct Progress {
    calls: BTreeMap<String, u64>,
    replayed: BTreeMap<(String, Digest), usize>,
    missed: Vec<MissedCall>,
}

impl Rehearsal {
    /// Opens the tools that reach nothing but the scratch copy at `base` and these doubles.
    ///
    /// # Errors
    /// [`OpenError`] if the copy cannot be reached.
    pub fn open(
        base: &Path,
        configs: Vec<ToolConfig>,
        doubles: &Doubles,
        faults: Vec<PlannedFault>,
    ) -> Result<Self, OpenError> {
        let mut absent = BTreeMap::new();
        let mut present = Vec::new();
        for config in configs {
            match refusal(base, &config, doubles) {
                None => present.push(config),
                Some(reason) => drop(absent.insert(config.name().to_owned(), reason)),
            }
        }
        let toolbox = Toolbox::open_with_private(base, present, &[], &[])?;
        Ok(Self::answering(
            RehearsalAnswers::Doubles(toolbox),
            absent,
            faults,
        ))
    }

    /// Opens the tools as they are configured, for reads alone: any other call is a miss, and
    /// nothing of it is sent.
    ///
    /// # Errors
    /// [`OpenError`] if the copy at `base` cannot be reached.
    pub fn read_only(
        base: &Path,
        configs: Vec<ToolConfig>,
        faults: Vec<PlannedFault>,
    ) -> Result<Self, OpenError> {
        let toolbox = Toolbox::open_with_private(base, configs, &[], &[])?;
        let answers = RehearsalAnswers::Live(ReadingToolbox::over(toolbox));
        Ok(Self::answering(answers, BTreeMap::new(), faults))
    }

    /// Answers from the calls of an earlier run. No tool is opened at all, and what was never
    /// recorded is a miss.
    #[must_use]
    pub fn replay(calls: Vec<RecordedCall>, faults: Vec<PlannedFault>) -> Self {
        let mut recordings = Recordings::new();
        for call in calls {
            let key = (call.operation, Digest::of_value(Domain::Args, &call.args));
            recordings.entry(key).or_default().push(call.reply);
        }
        Self::answering(
            RehearsalAnswers::Recorded(recordings),
            BTreeMap::new(),
            faults,
        )
    }

    fn answering(
        answers: RehearsalAnswers,
        absent: BTreeMap<String, &'static str>,
        faults: Vec<PlannedFault>,
    ) -> Self {
        Self {
            answers,
            absent,
            faults,
            progress: Mutex::default(),
        }
    }

    /// How the tools that take part stand.
    #[must_use]
    pub fn state(&self) -> ToolboxState<'_> {
        match &self.answers {
            RehearsalAnswers::Doubles(toolbox) => toolbox.state(),
            RehearsalAnswers::Live(reading) => reading.state(),
            RehearsalAnswers::Recorded(_) => ToolboxState::default(),
        }
    }

    /// The tools that take no part, each with the reason.
    pub fn absent(&self) -> impl Iterator<Item = (&str, &str)> {
        let named = self.absent.iter();
        named.map(|(tool, reason)| (tool.as_str(), *reason))
    }

    /// The calls that nobody answered: what came of such a run is not judged.
    #[must_use]
    pub fn missed(&self) -> Vec<MissedCall> {
        self.progress().missed.clone()
    }

    /// Makes one call, with the fault that is planned for it.
    pub async fn perform(&self, call: &Call) -> Reply {
        let name = call.operation().name.clone();
        if let Some(reason) = self.absent.get(call.operation().server()) {
            return self.miss(name, (*reason).to_owned());
        }
        let nth = {
            let mut progress = self.progress();
            let calls = progress.calls.entry(name.clone()).or_default();
            *calls += 1;
            *calls
        };
        let planned = self
            .faults
            .iter()
            .find(|fault| fault.operation == name && fault.nth.is_none_or(|at| at == nth));
        let Some(fault) = planned else {
            return self.answer(call).await;
        };
        let landing = match fault.landing {
            FaultLanding::Nothing => Landing::None,
            FaultLanding::Unknown => Landing::Unknown,
            FaultLanding::AnswerLost => {
                // Why dropped: the double did it, and nobody hears of it.
                drop(self.answer(call).await);
                Landing::Unknown
            }
        };
        let message = format!("a fault of the eval: {}", fault.class.word());
        Reply::failed(fault.class, landing, message)
    }

    async fn answer(&self, call: &Call) -> Reply {
        match &self.answers {
            RehearsalAnswers::Doubles(toolbox) => toolbox.perform(call).await,
            RehearsalAnswers::Live(reading) => match ReadCall::of(call) {
                Some(read) => reading.perform(read).await,
                None => self.miss(call.operation().name.clone(), ONLY_READS.to_owned()),
            },
            RehearsalAnswers::Recorded(recordings) => self.recorded(recordings, call),
        }
    }

    fn recorded(&self, recordings: &Recordings, call: &Call) -> Reply {
        let operation = call.operation().name.clone();
        let key = (operation, Digest::of_value(Domain::Args, call.args()));
        let nth = {
            let mut progress = self.progress();
            let nth = progress.replayed.entry(key.clone()).or_default();
            *nth += 1;
            *nth - 1
        };
        let reply = recordings.get(&key).and_then(|replies| replies.get(nth));
        if let Some(reply) = reply {
            return reply.clone();
        }
        let reason = match recordings.get(&key).map_or(0, Vec::len) {
            0 => "it was never called with these arguments".to_owned(),
            n => format!("with these arguments it was called {n} times, and not once more"),
        };
        self.miss(key.0, reason)
    }

    /// Notes a call that nobody answers, and what the run is told of it.
    fn miss(&self, operation: String, reason: String) -> Reply {
        let message = format!("nothing answers `{operation}`: {reason}");
        let missed = MissedCall { operation, reason };
        self.progress().missed.push(missed);
        Fault::no_effect(Class::Unavailable, message).into()
    }

    fn progress(&self) -> std::sync::MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a tool must not take part, if it must not.
fn refusal(base: &Path, config: &ToolConfig, doubles: &Doubles) -> Option<&'static str> {
    match config.reach() {
        ToolReach::Below(path) => {
            let lies_inside = is_below(base, &path);
            (!lies_inside).then_some("it lies outside the scratch copy of the workspace")
        }
        ToolReach::Loopback(port) if doubles.get(config.name()) == Some(&port) => None,
        ToolReach::Loopback(_) | ToolReach::Elsewhere => Some("no double stands for its tool"),
    }
}

/// Whether a path leads below `base`, links followed; one that is not there yet leads nowhere else
/// as long as it has no way up.
fn is_below(base: &Path, path: &str) -> bool {
    let Ok(base) = base.canonicalize() else {
        return false;
    };
    let mut place = base.join(path);
    loop {
        match place.canonicalize() {
            Ok(real) => return real.starts_with(&base),
            Err(_) if path.split('/').any(|part| part == "..") => return false,
            Err(_) if !place.pop() => return false,
            Err(_) => {}
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_leads_out_of_the_copy_lies_outside() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().join("copy");
        std::fs::create_dir_all(base.join("data")).unwrap();
        std::fs::write(dir.path().join("real.db"), "").unwrap();
        std::os::unix::fs::symlink(dir.path(), base.join("out")).unwrap();
        for inside in ["data", "data/new.db", "."] {
            assert!(is_below(&base, inside), "{inside}");
        }
        for outside in [
            "../real.db",
            "out/real.db",
            "out/new",
            "/etc",
            "data/../../x",
        ] {
            assert!(!is_below(&base, outside), "{outside}");
        }
    }
}
