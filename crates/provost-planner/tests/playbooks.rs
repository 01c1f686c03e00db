//! The corpus of playbooks: each page holds a playbook and what must come of it.
//!
//! A page of `bad/` ends with its findings. A page of `ok/` goes on with goals and outcomes, each
//! followed by what the planner says to it. `PROVOST_CORPUS=write` writes what came out instead
//! of comparing it: read the difference before it is committed.
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::plan::read::read_plan;
use provost_plan::plan::request::{ObservationView, PlanReply, PlanRequest, RequestKind, Why};
use provost_plan::plan::{Goal, Limits};
use provost_plan::source::Source;
use provost_planner::{FilePlanner, Interpreter, Planner, Playbook, Route, Router};
use serde_json::{Value, json};

fn pages(kind: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../corpus/playbooks")
        .join(kind);
    let mut pages: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    pages.sort();
    assert!(!pages.is_empty());
    pages
}

/// A fenced block of a page.
struct Block {
    info: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block {
                    info: info.trim().to_owned(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

/// Compares the blocks called `said` with what was said, or writes it there.
fn settle(path: &Path, page: &str, said: &[String]) {
    let mut said = said.iter();
    let mut written = String::new();
    let mut inside = false;
    for line in page.lines() {
        if inside && line != "```" {
            continue;
        }
        inside = line == "```said";
        written.push_str(line);
        written.push('\n');
        if inside {
            written.push_str(said.next().unwrap());
        }
    }
    if std::env::var("PROVOST_CORPUS").is_ok_and(|word| word == "write") {
        fs::write(path, written).unwrap();
    } else {
        assert_eq!(page, written, "{}", path.display());
    }
}

fn reply_of(planner: &dyn Planner, request: &PlanRequest) -> PlanReply {
    futures::executor::block_on(planner.reply(request)).reply
}

fn findings(source: &Source, diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for finding in diagnostics {
        let (line, column) = source.position(finding.span.start);
        text.push_str(&format!(
            "{} {line}:{column} {}\n",
            finding.code, finding.message
        ));
        if let Some(hint) = &finding.hint {
            text.push_str(&format!("  hint: {}\n", hint.replace('\n', " ")));
        }
    }
    text
}

#[test]
fn bad_playbooks_are_refused_with_every_finding() {
    for path in pages("bad") {
        let page = fs::read_to_string(&path).unwrap();
        let found = blocks(&page);
        let text = &found
            .iter()
            .find(|block| block.info == "yaml")
            .unwrap()
            .text;
        let source = Source::new("playbooks/bad.yaml", text.as_str());
        let diagnostics = match Playbook::read(&source) {
            Ok(_) => panic!("{} is good", path.display()),
            Err(diagnostics) => diagnostics,
        };
        assert!(
            diagnostics
                .iter()
                .all(|finding| finding.span.end <= source.text.len())
        );
        settle(&path, &page, &[findings(&source, &diagnostics)]);
    }
}

#[test]
fn good_playbooks_say_what_they_should() {
    for path in pages("ok") {
        let page = fs::read_to_string(&path).unwrap();
        let mut talk = Talk::default();
        let said: Vec<_> = blocks(&page)
            .iter()
            .filter(|block| block.info != "said")
            .filter_map(|block| talk.hear(block))
            .collect();
        settle(&path, &page, &said);
    }
}

/// A conversation with the playbooks of a page.
#[derive(Default)]
struct Talk {
    playbooks: Vec<Arc<Playbook>>,
    at_work: Option<(Arc<Playbook>, Goal)>,
    plan: Option<Value>,
    observations: BTreeMap<String, ObservationView>,
    asking: Option<(Interpreter, Goal, Vec<Value>)>,
    others_plan: bool,
}

impl Talk {
    fn hear(&mut self, block: &Block) -> Option<String> {
        match block.info.as_str() {
            "goal" => Some(self.goal(block.text.trim())),
            // With a planner for goals that are for no playbook.
            "goal others" => {
                self.others_plan = true;
                Some(self.goal(block.text.trim()))
            }
            "answers" => Some(self.answers(&block.text)),
            "outcome" => Some(self.outcome(&block.text)),
            info => {
                let name = info.strip_prefix("yaml ").unwrap_or("playbook.yaml");
                let source = Source::new(name, block.text.as_str());
                let playbook = Playbook::read(&source)
                    .unwrap_or_else(|found| panic!("{}", findings(&source, &found)));
                self.playbooks.push(Arc::new(playbook));
                None
            }
        }
    }

    fn goal(&mut self, text: &str) -> String {
        match Router::new(self.playbooks.clone()).route(text, self.others_plan) {
            Route::Playbook { playbook, goal } => {
                let head = format!("goal {}\n", json!(goal));
                self.at_work = Some((Arc::clone(&playbook), goal));
                (self.plan, self.observations) = (None, BTreeMap::new());
                let reply = reply_of(&*playbook, &self.request(RequestKind::Propose, None));
                head + &self.print(reply)
            }
            Route::NoMatch(none) => format!("{none}\n{}\n", none.hint()),
            Route::Ask { playbooks, because } => {
                let named = |name: &String| {
                    let found = self.playbooks.iter().find(|one| one.name() == name);
                    Arc::clone(found.unwrap())
                };
                let interpreter = Interpreter::new(playbooks.iter().map(named).collect());
                self.asking = Some((interpreter, Goal::of_text(text), Vec::new()));
                format!("{because}\n{}", self.interpret())
            }
        }
    }

    /// Answers, by the ids of the questions.
    fn answers(&mut self, text: &str) -> String {
        let answers: BTreeMap<String, Value> = serde_json::from_str(text).unwrap();
        let given = answers
            .into_iter()
            .map(|(id, value)| json!({ "id": id, "value": value }));
        self.asking.as_mut().unwrap().2.extend(given);
        self.interpret()
    }

    fn interpret(&mut self) -> String {
        let (interpreter, goal, answers) = self.asking.clone().unwrap();
        let request = PlanRequest {
            goal,
            answers,
            ..request(RequestKind::Propose, 0)
        };
        let reply = reply_of(&interpreter, &request);
        // Why twice: what was asked and lost may be asked again.
        assert_eq!(reply, reply_of(&interpreter, &request));
        self.print(reply)
    }

    /// `why` and the observations made since the last one.
    fn outcome(&mut self, text: &str) -> String {
        let Value::Object(mut outcome) = provost_plan::node::parse_yaml(text).unwrap().to_value()
        else {
            panic!("no map: {text}");
        };
        let why: Why = serde_json::from_value(outcome.remove("why").unwrap()).unwrap();
        for (step, view) in outcome {
            self.observations
                .insert(step, serde_json::from_value(view).unwrap());
        }
        let (playbook, _) = self.at_work.clone().unwrap();
        let reply = reply_of(&*playbook, &self.request(RequestKind::Revise, Some(why)));
        self.print(reply)
    }

    fn request(&self, kind: RequestKind, why: Option<Why>) -> PlanRequest {
        PlanRequest {
            id: 1,
            kind,
            goal: self.at_work.as_ref().unwrap().1.clone(),
            tools: Vec::new(),
            roles: Vec::new(),
            plan: self.plan.clone().map(Into::into),
            observations: self.observations.clone(),
            diagnostics: Vec::new(),
            proposal: None,
            answers: Vec::new(),
            why,
            envelope: None,
            mode: None,
            limits: Limits::default(),
        }
    }

    fn print(&mut self, reply: PlanReply) -> String {
        let (text, name, literals, control, consult, because) = match reply {
            PlanReply::Plan {
                text,
                name,
                literals,
                control,
                consult,
                because,
                ..
            } => (text, name, literals, control, consult, because),
            PlanReply::Decline(reason) | PlanReply::Failed { reason, .. } => {
                return format!("decline: {reason}\n");
            }
            PlanReply::Questions(questions) => {
                let lines = questions.iter().map(|asked| format!("{}\n", json!(asked)));
                return lines.collect();
            }
            PlanReply::Interpreted { goal, playbook, by } => {
                return format!("goal {}\nfor playbook {playbook}, by {by}\n", json!(goal));
            }
            PlanReply::Unreadable { findings, .. } => return format!("{}\n", json!(findings)),
        };
        let source = Source::new(name, text);
        let plan = read_plan(&source).unwrap_or_else(|found| {
            panic!("{}\n{}", source.text, findings(&source, &found));
        });
        let mut said = format!("plan {}\n", source.name);
        said.push_str(&format!(
            "literals {}, control {}\n",
            json!(literals),
            json!(control)
        ));
        said.push_str(&format!("consult {}\n", json!(consult)));
        if let Some(because) = because {
            said.push_str(&format!("because {because}\n"));
        }
        let old = self.plan.take().unwrap_or_default();
        for key in ["steps", "success", "answer"] {
            let list = |plan: &Value| plan.get(key).and_then(Value::as_array).cloned();
            let (old, new) = (list(&old).unwrap_or_default(), list(&plan.value));
            for item in new.iter().flatten() {
                let mark = if old.contains(item) { ' ' } else { '+' };
                let id = item.get("id").or(item.get("for")).and_then(Value::as_str);
                let item = if mark == '+' {
                    item.to_string()
                } else {
                    id.unwrap_or("…").to_owned()
                };
                said.push_str(&format!("{mark} {key} {item}\n"));
            }
        }
        self.plan = Some(Value::clone(&plan.value));
        said
    }
}

const SMALL: &str = "\
schema: provost/playbook/v1
match: Look at {what}
params: { what: { type: string } }
plan:
  # what stands before the first field is not of the plan
  steps:
    - { id: look, tool: files.read, args: { path: '${ params.what }' } }
  answer: done
revise:
  - { after: look, because: there is more, drop: [look], answer: [{ text: more }] }
";

fn request(kind: RequestKind, findings: usize) -> PlanRequest {
    let finding = provost_plan::plan::request::FindingView {
        code: "R101".to_owned(),
        message: "no tool `files.read`".to_owned(),
        step: None,
        path: None,
        hint: None,
    };
    PlanRequest {
        id: 1,
        kind,
        goal: Goal::of_text("Look at it"),
        tools: Vec::new(),
        roles: Vec::new(),
        plan: None,
        observations: BTreeMap::new(),
        diagnostics: vec![finding; findings],
        proposal: None,
        answers: Vec::new(),
        why: None,
        envelope: None,
        mode: None,
        limits: Limits::default(),
    }
}

#[test]
fn a_proposal_is_the_authors_own_text() {
    let playbook = Playbook::read(&Source::new("playbooks/small.yaml", SMALL)).unwrap();
    let PlanReply::Plan { text, author, .. } =
        reply_of(&playbook, &request(RequestKind::Propose, 0))
    else {
        panic!("no plan");
    };
    assert_eq!(author, "playbook small");
    assert_eq!(
        text,
        "\n\n\n\n  schema: provost/plan/v1\n  steps:\n    - { id: look, tool: files.read, args: { path: \
         '${ params.what }' } }\n  answer: done\n"
    );
    // The control: a plan in one line does not stand alone, and is printed anew.
    let line = "plan: { steps: [{ id: look, tool: files.read }], answer: done }\n";
    let start = SMALL.find("plan:").unwrap();
    let end = SMALL.find("revise:").unwrap();
    let flow = format!(
        "{}{line}{}",
        SMALL.get(..start).unwrap(),
        SMALL.get(end..).unwrap()
    );
    let playbook = Playbook::read(&Source::new("small.yaml", flow)).unwrap();
    let PlanReply::Plan { text, .. } = reply_of(&playbook, &request(RequestKind::Propose, 0))
    else {
        panic!("no plan");
    };
    assert!(
        text.starts_with("{\n  \"schema\": \"provost/plan/v1\",\n  \"steps\": ["),
        "{text}"
    );
}

#[test]
fn nobody_repeats_what_was_refused() {
    let playbook = Arc::new(Playbook::read(&Source::new("small.yaml", SMALL)).unwrap());
    let file = FilePlanner::new(Source::new("plan.yaml", "steps: []"));
    let declined =
        |planner: &dyn Planner, kind, findings| match reply_of(planner, &request(kind, findings)) {
            PlanReply::Decline(reason) => reason,
            other => panic!("{other:?}"),
        };
    assert_eq!(
        declined(&*playbook, RequestKind::Propose, 1),
        "playbook small has no other plan to offer than the one that was refused: R101: no tool \
         `files.read`"
    );
    assert_eq!(
        declined(&file, RequestKind::Propose, 3),
        "file plan.yaml has no other plan to offer than the one that was refused: R101: no tool \
         `files.read` (and 2 more)"
    );
    assert_eq!(
        declined(&file, RequestKind::Revise, 0),
        "a plan file has no revision: edit it and apply it again"
    );
    let of_playbook = file.revised_by(playbook);
    assert_eq!(
        declined(&of_playbook, RequestKind::Revise, 0),
        "playbook small has no rule for a revision without a reason"
    );
}

#[test]
fn a_plan_file_is_proposed_as_it_is() {
    let text = "steps: [{ id: look, tool: files.read }]";
    let playbook = Arc::new(Playbook::read(&Source::new("small.yaml", SMALL)).unwrap());
    let file = FilePlanner::new(Source::new("plan.yaml", text));
    for (planner, consulted) in [
        (file.clone(), vec![]),
        (file.revised_by(playbook), vec!["look"]),
    ] {
        let reply = reply_of(&planner, &request(RequestKind::Propose, 0));
        let PlanReply::Plan {
            text: said,
            name,
            consult,
            ..
        } = reply
        else {
            panic!("no plan");
        };
        assert_eq!((said.as_str(), name.as_str()), (text, "plan.yaml"));
        assert_eq!(consult, consulted);
    }
}

#[test]
fn the_playbooks_of_the_examples_are_good() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut count = 0;
    for example in fs::read_dir(root).unwrap() {
        let Ok(entries) = fs::read_dir(example.unwrap().path().join("playbooks")) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let source = Source::new(
                path.display().to_string(),
                fs::read_to_string(&path).unwrap(),
            );
            if let Err(found) = Playbook::read(&source) {
                panic!("{}:\n{}", path.display(), findings(&source, &found));
            }
            count += 1;
        }
    }
    assert!(count >= 2);
}
