//! `check --fix` over all corpora and mutants of them: never less order, fewer approvals, weaker
//! conditions or another meaning. What that is stands in [`sim::fixes`].
//!
//! `PROVOST_SLIPS` says how many slips of each plan are tried, `PROVOST_MUTANTS` how many mutants
//! of each operator, `PROVOST_EVERY` that one of so many plans and faults is, `PROVOST_NAMED` of
//! which names plans are, all of each, `PROVOST_WORLDS` in how many worlds plans are compared.
//! `scripts/full fixes` takes all.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use provost_engine::proposal::{CheckedFile, of_file, of_playbook};
use provost_engine::workspace::{LockUse, Opening, Workspace};
use provost_plan::catalog::Catalog;
use provost_plan::fix::mend;
use provost_plan::node::parse_yaml;
use provost_plan::plan::Goal;
use provost_plan::plan::read::read_plan;
use provost_plan::source::Source;
use serde_json::{Value, json};
use sim::fixes::{Checkup, Meant, Tally, Trial};
use sim::mutate::document::id_of;
use sim::mutate::edits;
use sim::mutate::slips::slips;
use sim::mutate::text::{Form, write};
use sim::mutate::{Change, Document, operators, some};

use super::good::{Good, files};
use super::{literate, number};

/// One of so many plans is taken where not all are asked for.
const EVERY: usize = 48;
/// The good plan whose names are words of which another is the plural.
const PLURALS: &str = "support-transition-checked";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn every() -> usize {
    match named() {
        Some(_) => 1,
        None => number("PROVOST_EVERY", EVERY).max(1),
    }
}

/// The names of the plans that are asked for; none for any.
fn named() -> Option<Vec<String>> {
    let given = std::env::var("PROVOST_NAMED").ok()?;
    Some(given.split(',').map(str::to_owned).collect())
}

fn is_asked_for(path: &Path) -> bool {
    named().is_none_or(|names| names.contains(&name_of(path)))
}

fn listed(dir: &Path, ext: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|e| panic!("{}: {e}", dir.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == ext))
        .filter(|path| is_asked_for(path))
        .collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap().to_string_lossy().into_owned()
}

/// What is tried of one corpus.
struct Corpus<'c> {
    name: &'c str,
    tally: Tally,
}

impl<'c> Corpus<'c> {
    fn new(name: &'c str) -> Self {
        let tally = Tally::default();
        Self { name, tally }
    }

    fn text(&mut self, trial: &Trial<'_>, name: &str, text: &str) {
        let name = format!("{} {name}", self.name);
        trial.run(&name, &Source::new("plan", text), &mut self.tally);
    }

    /// Mutants of a plan that is good, each in a form of its own.
    fn mutants(&mut self, trial: &Trial<'_>, name: &str, changes: Vec<Change>) {
        for (at, change) in changes.into_iter().enumerate() {
            let text = match serde_json::from_str::<Value>(&change.text) {
                Ok(value) => write(&value, Form::of(at as u64), at as u64),
                Err(_) => change.text,
            };
            self.text(trial, &format!("{name}: {}", change.what), &text);
        }
    }
}

fn slips_of(plan: &Value, name: &str) -> Vec<Change> {
    let most = number("PROVOST_SLIPS", 4);
    some(slips(&Document(plan.clone())), most, name)
}

/// The plan with all that it waits for written out, and with `fresh` at each call: most of that is
/// needless, and some is not.
fn loaded(plan: &Document, settled: &dyn Fn(&str) -> bool) -> Document {
    let steps = plan.steps().iter().enumerate().map(|(at, step)| {
        let (mut step, id) = (step.clone(), id_of(step));
        let Some(map) = step.as_object_mut().filter(|_| !settled(&id)) else {
            return step;
        };
        let before = plan.before(at);
        let before = before.into_iter().filter(|other| *other != id);
        let needs: Vec<Value> = before.map(Value::from).collect();
        if !needs.is_empty() {
            map.insert("needs".to_owned(), needs.into());
        }
        if map.contains_key("tool") {
            map.insert("fresh".to_owned(), json!("10m"));
        }
        step
    });
    plan.with_steps(steps.collect())
}

/// What the check says of a text in the place of a document's plan.
fn checkup(document: &literate::Document, source: &Source) -> Checkup {
    let case = literate::Case::of_text(document, &source.text);
    let plan = case.is_checked().then(|| case.plan().clone());
    Checkup::of(case.report().1.to_vec(), plan)
}

/// Every plan of the corpus as it stands, good and bad.
fn corpus_plans() -> Tally {
    let mut corpus = Corpus::new("corpus");
    for dir in ["ok", "bad"] {
        for path in listed(&root().join("corpus/plans").join(dir), "md") {
            let document = literate::Document::parse(&fs::read_to_string(&path).unwrap());
            let text = document.block("yaml plan").unwrap();
            let empty = read_plan(&Source::new("empty", "steps: []")).unwrap();
            let terms = literate::Setting::of(&document, &empty).terms;
            let check = |source: &Source| checkup(&document, source);
            let trial = Trial {
                check: &check,
                catalog: &terms.catalog,
                goal: &terms.goal,
                meant: None,
                seeds: number("PROVOST_WORLDS", 4) as u64,
            };
            corpus.text(&trial, &name_of(&path), text);
        }
    }
    corpus.tally
}

/// Mutants of the good plans, and of the same plans with all order written out.
fn mutants() -> Tally {
    let mut corpus = Corpus::new("mutants");
    let all = files().into_iter().filter(|path| is_asked_for(path));
    let all = all.enumerate();
    let taken = all.filter(|(at, path)| at % every() == 0 || name_of(path) == PLURALS);
    for path in taken.map(|(_, path)| path) {
        let good = Good::read(&path);
        let check = |source: &Source| match read_plan(source) {
            Err(found) => Checkup::of(found, None),
            Ok(plan) => {
                let checked = good.setting.check(plan);
                Checkup::of(checked.diagnostics, checked.plan)
            }
        };
        let settled = |id: &str| good.subject.settled.contains(id);
        let full = loaded(&good.subject.plan, &settled);
        for plan in [&good.subject.plan, &full] {
            let mut subject = good.subject.clone();
            subject.plan = plan.clone();
            let text = plan.0.to_string();
            let meant = Meant {
                value: plan.0.clone(),
                checkup: check(&Source::new("plan", text.as_str())),
            };
            if !meant.checkup.compiles() {
                continue;
            }
            let trial = Trial {
                check: &check,
                catalog: &subject.catalog,
                goal: &subject.goal,
                meant: Some(&meant),
                seeds: number("PROVOST_WORLDS", 4) as u64,
            };
            corpus.text(&trial, &subject.name, &text);
            corpus.mutants(&trial, &subject.name, slips_of(&plan.0, &subject.name));
            for operator in operators() {
                let stream = format!("{} {}", subject.name, operator.name);
                let most = number("PROVOST_MUTANTS", 1);
                let changes = some((operator.changes)(&subject), most, &stream);
                corpus.mutants(
                    &trial,
                    &format!("{}: {}", subject.name, operator.name),
                    changes,
                );
            }
        }
    }
    corpus.tally
}

type Judge = fn(&Workspace, Source) -> CheckedFile;

/// A workspace whose files are tried.
struct Place<'w> {
    workspace: &'w Workspace,
    judge: Judge,
}

impl Place<'_> {
    fn check(&self, source: &Source) -> Checkup {
        let judged = (self.judge)(self.workspace, source.clone());
        Checkup::of(judged.diagnostics, judged.plan)
    }

    fn with_trial(&self, meant: Option<&Meant>, run: impl FnOnce(&Trial<'_>)) {
        let check = |source: &Source| self.check(source);
        let catalog: &Catalog = self.workspace.catalog();
        run(&Trial {
            check: &check,
            catalog,
            goal: &Goal::of_text("a goal"),
            meant,
            seeds: number("PROVOST_WORLDS", 4) as u64,
        });
    }

    /// A file as it stands; if it is good, slips in it, and mistakes that somebody planted.
    fn file(&self, corpus: &mut Corpus<'_>, path: &Path, faults: Option<&Path>) {
        let (name, text) = (name_of(path), fs::read_to_string(path).unwrap());
        self.with_trial(None, |trial| corpus.text(trial, &name, &text));
        let Ok(node) = parse_yaml(&text) else { return };
        let value = node.to_value();
        let meant = Meant {
            checkup: self.check(&Source::new("plan", value.to_string())),
            value,
        };
        if !meant.checkup.compiles() {
            return;
        }
        let mut changes = slips_of(&meant.value, &name);
        let planted = faults.map(|path| fs::read_to_string(path).unwrap());
        let planted = planted.map(|text| parse_yaml(&text).unwrap().to_value());
        let planted = planted.as_ref().and_then(Value::as_array);
        for fault in planted.into_iter().flatten().step_by(every()) {
            let changed = edits::edited(&meant.value, &fault["edits"]).unwrap();
            changes.push(Change::of(fault["id"].to_string(), &Document(changed)));
        }
        self.with_trial(Some(&meant), |trial| corpus.mutants(trial, &name, changes));
    }
}

fn open(dir: &Path) -> Workspace {
    let opening = Opening {
        user: "somebody",
        lock: LockUse::Ignore,
    };
    let opened = Workspace::open(dir, &opening);
    opened.unwrap_or_else(|refused| panic!("{}: {refused:?}", dir.display()))
}

/// Plans, mistakes and first drafts by authors who had not seen the check.
fn unseen() -> Tally {
    let mut corpus = Corpus::new("unseen");
    let mut domains: Vec<PathBuf> = fs::read_dir(root().join("corpus/unseen"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .collect();
    domains.sort();
    for dir in domains {
        let workspace = open(&dir);
        let place = Place {
            workspace: &workspace,
            judge: of_file,
        };
        let plans = listed(&dir.join("plans"), "yaml").into_iter();
        let plans = plans.filter(|path| !path.to_string_lossy().ends_with(".faults.yaml"));
        for path in plans {
            let faults = path.with_file_name(format!("{}.faults.yaml", name_of(&path)));
            place.file(&mut corpus, &path, Some(&faults));
        }
        let drafts = root().join("corpus/drafts").join(dir.file_name().unwrap());
        let drafts = if drafts.is_dir() {
            listed(&drafts, "yaml")
        } else {
            Vec::new()
        };
        for path in drafts {
            place.file(&mut corpus, &path, None);
        }
    }
    corpus.tally
}

/// Playbooks of the corpus and of the examples.
fn playbooks() -> Tally {
    let mut corpus = Corpus::new("playbooks");
    let compiled = root().join("corpus/playbooks/compiled");
    let scratch = tempfile::tempdir().unwrap();
    fs::copy(
        compiled.join("provost.toml"),
        scratch.path().join("provost.toml"),
    )
    .unwrap();
    let workspace = open(scratch.path());
    let place = Place {
        workspace: &workspace,
        judge: of_playbook,
    };
    for dir in ["ok", "bad"] {
        for path in listed(&compiled.join(dir), "yaml") {
            place.file(&mut corpus, &path, None);
        }
    }
    for name in ["incident", "refund", "sla"] {
        let dir = root().join("examples").join(name);
        let workspace = open(&dir);
        let place = Place {
            workspace: &workspace,
            judge: of_playbook,
        };
        for path in listed(&dir.join("playbooks"), "yaml") {
            place.file(&mut corpus, &path, None);
        }
    }
    corpus.tally
}

/// What is tried of a corpus, and its name.
type Named = (&'static str, fn() -> Tally);

const CORPORA: [Named; 4] = [
    ("corpus", corpus_plans),
    ("playbooks", playbooks),
    ("unseen", unseen),
    ("mutants", mutants),
];

#[test]
fn a_fix_leaves_order_approvals_conditions_and_meaning_as_they_were() {
    let mut codes: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let (mut texts, mut mended) = (0, 0);
    println!("corpus        texts mended offered helped still run");
    // Why beside each other: one processor takes two minutes for them.
    let tallies = std::thread::scope(|scope| {
        let trying = CORPORA.map(|(name, tried)| (name, scope.spawn(tried)));
        trying.map(|(name, trying)| (name, trying.join().unwrap()))
    });
    for (name, tally) in tallies {
        println!(
            "{name:<12} {:>6} {:>6} {:>7} {:>6} {:>9}",
            tally.texts, tally.mended, tally.offered, tally.helped, tally.ran
        );
        texts += tally.texts;
        mended += tally.mended;
        for (code, count) in tally.codes {
            *codes.entry(code).or_default() += count;
        }
        wrong.extend(tally.wrong);
        assert!(
            named().is_some() || tally.helped > 0,
            "{name}: no fix was tried"
        );
    }
    println!("{texts} texts, {mended} mended; fixes that help, by code: {codes:?}");
    for line in &wrong {
        println!("{line}");
    }
    for code in ["E301", "E308", "P004", "R102", "S709", "T203", "T204"] {
        assert!(
            named().is_some() || codes.contains_key(code),
            "no fix of {code} was tried: {codes:?}"
        );
    }
    assert!(
        wrong.is_empty(),
        "{} faults of fixes, of {texts} texts",
        wrong.len()
    );
}

const PLAN: &str = r#"goal: { text: Tell ada, success: [{ id: told, text: ada was told }] }
steps:
  - { id: list, tool: tickets.list, args: { project: PAY } }
  - { id: sla, tool: config.sla_threshold }
  - id: mail
    description: Tell ada how many there are
    tool: mail.send
    needs: [sla, list]
    fresh: 10m
    approval: required
    when: ${ steps.list.output.total > steps.sla.output.max }
    args: { to: ada@example.org, subject: Tickets, body: "${ steps.list.output.total } open" }
    accept: ["${ output.id != '' }"]
  - id: page
    description: Page the one on duty
    tool: pager.notify
    needs: [mail]
    risk: high
    args: { message: done }
    accept: ["${ output.delivered }"]
success:
  - for: told
    check: ${ steps.mail.status == "succeeded" || steps.mail.status == "skipped" }
answer: "${ steps.list.output.total } open"
"#;

/// Control: what a fix may not do is noticed, and what it may do is not.
#[test]
fn what_no_fix_may_do_is_noticed() {
    let document = literate::Document::of(&[("yaml plan", PLAN)]);
    let terms =
        literate::Setting::of(&document, &read_plan(&Source::new("plan", PLAN)).unwrap()).terms;
    let check = |source: &Source| checkup(&document, source);
    let trial = Trial {
        check: &check,
        catalog: &terms.catalog,
        goal: &terms.goal,
        meant: None,
        seeds: 40,
    };
    assert!(check(&Source::new("plan", PLAN)).compiles());
    let faults = |from: &str, to: &str| {
        let after = PLAN.replacen(from, to, 1);
        assert_ne!(after, PLAN, "{from}");
        trial.compare(&Source::new("plan", PLAN), &Source::new("plan", after))
    };
    assert_eq!(
        faults("    needs: [sla, list]\n", "    needs: [sla]\n"),
        Vec::<String>::new()
    );
    for (from, to, fault) in [
        ("    needs: [mail]\n", "", "no longer waits for `mail`"),
        ("    approval: required\n", "", "`approval` is gone"),
        (
            "output.total > steps",
            "output.total >= steps",
            "lets pass what it did not",
        ),
        (
            "output.total > steps",
            "output.total >= steps",
            "does something else",
        ),
        (
            "    accept: [\"${ output.delivered }\"]\n",
            "",
            "lets pass what it did not",
        ),
        ("    fresh: 10m\n", "", "`fresh` had an effect"),
        ("    risk: high\n", "", "`risk` was not below"),
        ("output.id != ''", "output.id != 'x'", "became"),
        ("ada@example.org", "eve@example.org", "does something else"),
        ("status == \"skipped\"", "status != \"failed\"", "became"),
        (
            "    description: Page the one on duty\n",
            "",
            "`description` is gone",
        ),
    ] {
        let found = faults(from, to);
        assert!(
            found.iter().any(|one| one.contains(fault)),
            "{fault}: {found:?}"
        );
    }
}

/// Control: a name that is another word, and not the one its author wrote, is noticed.
#[test]
fn another_name_than_the_author_wrote_is_noticed() {
    let meant = PLAN.replace("fresh: 10m", "fresh: 1h");
    let value = |text: &str| parse_yaml(text).unwrap().to_value();
    let document = literate::Document::of(&[("yaml plan", PLAN)]);
    let check = |source: &Source| checkup(&document, source);
    let meant = Meant {
        checkup: check(&Source::new("plan", meant.as_str())),
        value: value(&meant),
    };
    let trial = Trial {
        check: &check,
        catalog: &Catalog::default(),
        goal: &Goal::of_text("x"),
        meant: Some(&meant),
        seeds: 4,
    };
    let broken = PLAN.replace("> steps.sla.output", "> steps.slaa.output");
    let mended = |with: &str| {
        let mended = broken.replace("slaa", with);
        trial.compare(
            &Source::new("plan", broken.as_str()),
            &Source::new("plan", mended),
        )
    };
    assert_eq!(mended("sla"), Vec::<String>::new());
    let found = mended("slas");
    assert!(
        found
            .iter()
            .any(|one| one.contains("not what its author wrote")),
        "{found:?}"
    );
}

/// A name is written only where a slip of it stands: another word is left to the author.
#[test]
fn another_word_is_no_slip() {
    let document = literate::Document::of(&[("yaml plan", PLAN)]);
    let judge = |source: &Source| {
        let case = literate::Case::of_text(&document, &source.text);
        case.report().1.to_vec()
    };
    for (from, to, is_fixed) in [
        ("needs: [sla, list]", "needs: [sla, lisst]", true),
        ("needs: [sla, list]", "needs: [sla, lists]", false),
        ("needs: [sla, list]", "needs: [sla, lost]", false),
        ("needs: [sla, list]", "needs: [sl, list]", false),
        ("> steps.sla.output", "> steps.sle.output", false),
        ("tool: tickets.list,", "tool: tickets.lists,", true),
        ("tool: tickets.list,", "tool: tickets.lost,", false),
        ("tool: pager.notify", "tool: pager.notfy", false),
        ("output.delivered", "output.deliverd", true),
        ("output.delivered", "output.relivered", false),
        ("project: PAY", "projects: PAY", true),
        ("for: told", "for: tolds", false),
    ] {
        let text = PLAN.replacen(from, to, 1);
        assert_ne!(text, PLAN, "{from}");
        let repair = mend(&Source::new("plan", text), judge);
        assert_eq!(
            !repair.fixed.is_empty(),
            is_fixed,
            "{to}: {:?}",
            repair.fixed
        );
    }
}
