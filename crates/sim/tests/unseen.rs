//! How many faults of plans that its authors had not seen the check finds: `corpus/unseen`.
//!
//! A fault counts as caught if the plan with it has an error or a warning that the good plan has
//! not; a note does not count. Every good plan is checked as it stands, for what is said of it.
//!
//! `PROVOST_FAULTS=all` takes every fault; without it, each seventh. `PROVOST_DOMAINS` names the
//! domains, with commas. `PROVOST_LIST=1` writes, for each domain, what was missed and what is said
//! of good plans to `unseen-DOMAIN.txt` in the directory `tmp` of the target directory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use provost_engine::proposal::of_file;
use provost_engine::workspace::{LockUse, Opening, Workspace};
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::node::parse_yaml;
use provost_plan::source::Source;
use serde_json::Value;
use sim::mutate::edits::edited;

/// One of so many faults is tried where not all are asked for.
const EVERY: usize = 7;
/// Fewer decidable faults of a hundred caught are a step back.
const CAUGHT_LEAST: usize = 90;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/unseen")
}

fn value_of(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap();
    match parse_yaml(&text) {
        Ok(node) => node.to_value(),
        Err(finding) => panic!("{}: {}", path.display(), finding.message),
    }
}

/// A mistake that somebody planted in a good plan.
#[derive(Debug)]
struct Fault {
    id: String,
    class: String,
    decidable: bool,
    why: String,
    plan: Value,
}

impl Fault {
    fn read(entry: &Value, good: &Value) -> Self {
        let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
        let edits = &entry["edits"];
        let plan = edited(good, edits).unwrap_or_else(|| panic!("{}: {edits}", text("id")));
        assert_ne!(plan, *good, "{} changes nothing", text("id"));
        Self {
            id: text("id"),
            class: text("class"),
            decidable: text("decidable") == "yes",
            why: text("why"),
            plan,
        }
    }
}

/// What is said of a plan: each finding with how often.
type Findings = BTreeMap<(Severity, String), usize>;

fn findings(diagnostics: &[Diagnostic]) -> Findings {
    let mut all = Findings::new();
    for one in diagnostics {
        let step = one.step.as_deref().unwrap_or_default();
        let text = format!("{} {step}: {}", one.code, one.message);
        *all.entry((one.severity(), text)).or_default() += 1;
    }
    all
}

/// The weightiest finding of the second that the first has not, or not as often.
fn new_in<'a>(before: &Findings, after: &'a Findings) -> Option<&'a (Severity, String)> {
    let is_new = |(key, count): &(&(Severity, String), &usize)| {
        before.get(*key).is_none_or(|known| known < count)
    };
    let new = after.iter().filter(is_new).map(|(key, _)| key);
    new.max_by_key(|(severity, _)| *severity)
}

#[derive(Clone, Copy, Debug, Default)]
struct Caught {
    decidable: usize,
    /// By an error or a warning.
    caught: usize,
    /// Of what is not caught: that has a note that the good plan has not.
    noted: usize,
    /// Faults that only somebody who knows the world can call mistakes.
    others: usize,
    others_caught: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Said {
    plans: usize,
    /// Plans that do not compile.
    refused: usize,
    warnings: usize,
    notes: usize,
}

#[derive(Debug, Default)]
struct Measured {
    domain: String,
    faults: Caught,
    classes: BTreeMap<String, Caught>,
    good: Said,
    list: String,
}

impl Measured {
    fn of(domain: &str, every: usize) -> Self {
        let dir = root().join(domain);
        let opening = Opening {
            user: "somebody",
            lock: LockUse::Ignore,
        };
        let workspace = Workspace::open(&dir, &opening)
            .unwrap_or_else(|refused| panic!("{domain}: {refused:?}"));
        let mut measured = Self {
            domain: domain.to_owned(),
            ..Self::default()
        };
        let mut plans: Vec<PathBuf> = std::fs::read_dir(dir.join("plans"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| !path.to_string_lossy().ends_with(".faults.yaml"))
            .collect();
        plans.sort();
        for path in plans {
            measured.plan(&workspace, &path, every);
        }
        measured
    }

    fn plan(&mut self, workspace: &Workspace, path: &Path, every: usize) {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let check =
            |text: String| findings(&of_file(workspace, Source::new("plan", text)).diagnostics);
        let said = check(std::fs::read_to_string(path).unwrap());
        let count = |severity| {
            let of = said.iter().filter(|((known, _), _)| *known == severity);
            of.map(|(_, count)| count).sum::<usize>()
        };
        self.good.plans += 1;
        self.good.refused += usize::from(count(Severity::Error) > 0);
        self.good.warnings += count(Severity::Warning);
        self.good.notes += count(Severity::Note);
        for ((severity, text), count) in &said {
            writeln!(self.list, "good {name} {} {count} {text}", severity.word()).unwrap();
        }
        let good = value_of(path);
        let before = check(good.to_string());
        let faults = value_of(&path.with_file_name(format!("{name}.faults.yaml")));
        for entry in faults.as_array().unwrap().iter().step_by(every) {
            let fault = Fault::read(entry, &good);
            let after = check(fault.plan.to_string());
            self.count(&fault, new_in(&before, &after));
        }
    }

    fn count(&mut self, fault: &Fault, new: Option<&(Severity, String)>) {
        let severity = new.map(|(severity, _)| *severity);
        let caught = severity.is_some_and(|severity| severity > Severity::Note);
        let class = self.classes.entry(fault.class.clone()).or_default();
        for counts in [&mut self.faults, class] {
            if fault.decidable {
                counts.decidable += 1;
                counts.caught += usize::from(caught);
                counts.noted += usize::from(severity == Some(Severity::Note));
            } else {
                counts.others += 1;
                counts.others_caught += usize::from(caught);
            }
        }
        if fault.decidable && !caught {
            let Fault { id, class, why, .. } = fault;
            let note = new.map_or("", |(_, text)| text.as_str());
            writeln!(self.list, "missed {class} {id}: {why} [{note}]").unwrap();
        }
    }

    fn list(&self) {
        let mut text = String::new();
        for (class, counts) in &self.classes {
            let Caught {
                decidable,
                caught,
                noted,
                ..
            } = counts;
            if caught < decidable {
                let missed = decidable - caught;
                writeln!(
                    text,
                    "class {class} {missed} of {decidable} missed, {noted} noted"
                )
                .unwrap();
            }
        }
        let file = format!("unseen-{}.txt", self.domain);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
        std::fs::write(path, text + &self.list).unwrap();
    }
}

fn percent(part: usize, whole: usize) -> f64 {
    #[allow(clippy::cast_precision_loss, reason = "counts of a few thousand")]
    let (part, whole) = (part as f64, whole.max(1) as f64);
    part * 100.0 / whole
}

fn line(name: &str, faults: Caught, good: Said) -> String {
    format!(
        "{name:<11} {:>9} {:>6} {:>6.2} {:>5} {:>6} {:>6} {:>6} {:>7} {:>8} {:>5}",
        faults.decidable,
        faults.caught,
        percent(faults.caught, faults.decidable),
        faults.noted,
        faults.others,
        faults.others_caught,
        good.plans,
        good.refused,
        good.warnings,
        good.notes
    )
}

fn domains() -> Vec<String> {
    if let Ok(named) = std::env::var("PROVOST_DOMAINS") {
        return named.split(',').map(str::to_owned).collect();
    }
    let mut all: Vec<String> = std::fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().unwrap().is_dir())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    all.sort();
    all
}

#[test]
fn faults_of_plans_of_others_are_caught() {
    let all = std::env::var_os("PROVOST_FAULTS").is_some();
    let every = if all { 1 } else { EVERY };
    println!(
        "domain      decidable caught      % noted others caught  plans refused warnings notes"
    );
    let (mut faults, mut good) = (Caught::default(), Said::default());
    for domain in domains() {
        let measured = Measured::of(&domain, every);
        println!("{}", line(&domain, measured.faults, measured.good));
        if std::env::var_os("PROVOST_LIST").is_some() {
            measured.list();
        }
        faults.decidable += measured.faults.decidable;
        faults.caught += measured.faults.caught;
        faults.noted += measured.faults.noted;
        faults.others += measured.faults.others;
        faults.others_caught += measured.faults.others_caught;
        good.plans += measured.good.plans;
        good.refused += measured.good.refused;
        good.warnings += measured.good.warnings;
        good.notes += measured.good.notes;
    }
    println!("{}", line("all", faults, good));
    assert!(
        faults.caught * 100 >= faults.decidable * CAUGHT_LEAST,
        "fewer than {CAUGHT_LEAST} % of the decidable faults are caught"
    );
    assert!(faults.decidable > 0 && good.plans > 0, "nothing was tried");
}

/// Control: a finding that the good plan has too catches nothing, one more of it does.
#[test]
fn only_what_is_new_is_caught() {
    let warning = (Severity::Warning, "S000 a: it is odd".to_owned());
    let note = (Severity::Note, "S001 a: it is so".to_owned());
    let once = Findings::from([(warning.clone(), 1)]);
    let twice = Findings::from([(warning.clone(), 2), (note.clone(), 1)]);
    assert_eq!(new_in(&once, &once), None);
    assert_eq!(new_in(&once, &twice), Some(&warning));
    assert_eq!(new_in(&twice, &once), None);
    let noted = Findings::from([(warning, 1), (note.clone(), 1)]);
    assert_eq!(new_in(&once, &noted), Some(&note));
}
