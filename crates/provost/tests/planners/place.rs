//! The incident workspace without its playbook, and a model in its place.

use std::process::Command;
use std::time::{Duration, Instant};

use sim::canary;
use sim::incident::{Dataset, Truth, Variant, generate};
use sim::model::{Asked, Local, Scripted};

use crate::stage::{Ran, Stage};

/// What the key of the model is.
pub const KEY: &str = canary::KEY;

/// What says in `provost.toml` that a model at this address plans.
pub fn planned_by(kind: &str, url: &str, more: &str) -> String {
    format!(
        "\n[models.large]\nkind = \"{kind}\"\nmodel = \"scripted-1\"\n\
         key = \"env:SCRIPTED_KEY\"\nbase_url = \"{url}\"\n\
         price = {{ input = \"2.00\", output = \"10.00\", cached = \"0.20\" }}\n{more}\n\
         [planner]\nkind = \"model\"\nmodel = \"large\"\n"
    )
}

/// The command with the key of the model, and no other.
pub fn with_key(mut command: Command) -> Command {
    command
        .env("SCRIPTED_KEY", KEY)
        .env_remove("OPENAI_API_KEY")
        .env_remove("ANTHROPIC_API_KEY")
        .env_remove("GEMINI_API_KEY");
    command
}

/// A workspace, its data and its model.
pub struct Place {
    pub stage: Stage,
    pub dataset: Dataset,
    pub model: Local,
}

impl Place {
    /// The committed case, planned by a model that says `script`.
    pub fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        Self::of_kind("openai", "", script)
    }

    pub fn of_kind(kind: &str, more: &str, script: impl IntoIterator<Item = Scripted>) -> Self {
        let place = Self::without_planner(script);
        place.configure(&planned_by(kind, &place.model.url(), more));
        place
    }

    /// The same with nobody to plan.
    pub fn without_planner(script: impl IntoIterator<Item = Scripted>) -> Self {
        let dataset = generate(&Variant::base()).unwrap();
        let stage = Stage::of("incident", false);
        dataset.write(&stage.data()).unwrap();
        std::fs::remove_dir_all(stage.path().join("playbooks")).unwrap();
        let model = Local::start(script).unwrap();
        Self {
            stage,
            dataset,
            model,
        }
    }

    /// Adds to `provost.toml`.
    pub fn configure(&self, more: &str) {
        self.stage.edit("provost.toml", |text| text + more);
    }

    pub fn command(&self, args: &[&str]) -> Command {
        with_key(self.stage.command(args))
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// The planner failed, and `ran` left a question: a person lets the run end.
    #[track_caller]
    pub fn stopped(&self, ran: &Ran) -> Ran {
        assert_eq!(ran.code, Some(3), "{}", ran.all());
        assert_eq!(self.status(), "waiting_answer", "{}", ran.all());
        let run = self.stage.only_run().unwrap();
        let stopped = self.run(&["answer", &run, "stop"]);
        assert_eq!(stopped.code, Some(1), "{}", stopped.all());
        assert_eq!(self.status(), "refused");
        stopped
    }

    pub fn goal(&self) -> &str {
        &self.dataset.goal
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.model.model().ledger()
    }

    /// Waits until the model was asked `times`.
    #[track_caller]
    pub fn until_asked(&self, times: usize) {
        let begun = Instant::now();
        while self.asked().len() < times {
            assert!(begun.elapsed() < Duration::from_secs(20), "nobody asks");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn status(&self) -> String {
        let query = "select status from runs";
        let journal = self.stage.journal();
        journal.query_row(query, [], |row| row.get(0)).unwrap()
    }
}

/// No prompt holds a canary.
impl Drop for Place {
    fn drop(&mut self) {
        for asked in self.asked() {
            let sent = format!("{} {}", asked.path, asked.body);
            assert!(std::thread::panicking() || canary::leaks(sent.as_bytes()).is_empty());
        }
    }
}

/// What must be said at the end.
#[track_caller]
pub fn says_the_truth(said: &str, truth: &Truth) {
    let said = said.replace(['‹', '›'], "");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let rose_at = truth.rose_at.clone().unwrap();
    for phrase in [
        rose_at,
        format!("from {} ms to {} ms", truth.from_ms, truth.to_ms),
        truth.deployment.as_ref().unwrap().version.clone(),
        truth.new_message.clone().unwrap(),
    ] {
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&phrase), "not said: {phrase}\n{said}");
    }
}
