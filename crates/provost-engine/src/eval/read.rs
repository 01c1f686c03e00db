//! Reading an eval set: every field known or refused, every finding at its place.
//!
//! Owns the form `provost/eval/v1`. Looks at no workspace. INVARIANT: an expression that does not
//! parse, a class that does not exist, and two cases of one name are found here, before anything
//! runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, has_errors};
use provost_plan::digest::{Digest, Domain};
use provost_plan::expr::Template;
use provost_plan::node::{Fields, Kind, Node, parse_yaml};
use provost_plan::plan::request::PlanningMode;
use provost_plan::source::{Source, Span, Spanned};
use provost_run::event::{RunStatus, Settlement};

use super::case::{CALLS_FILE, CASE_FILE, CASE_SCHEMA, WORKSPACE_DIR};
use super::set::{CallPattern, Case, EvalSet, Expect, PersonRule, RuleSubject, World};

mod parts;

use parts::{class_of, compare_of, expect_cost, expect_plan, fault, gates_of, is_plain, planner};

/// The form.
const EVAL_SCHEMA: &str = "provost/eval/v1";
/// How long a repeat may take, unless its case says otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Most repeats of a case.
const REPEATS_MAX: u64 = 1_000;
/// What is said of an id that is none.
const BAD_ID: &str = "the id of a case has up to 60 letters, digits, `-` and `_`";
/// The words for who caused an end.
const GUILTY: [&str; 5] = ["nobody", "plan", "execution", "neither", "undecided"];

/// An eval set that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The file cannot be read.
    #[error("{} cannot be read: {reason}", path.display())]
    NotRead {
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// Something in it is wrong.
    #[error("{} is no eval set that can be used", file.name)]
    Refused {
        /// The text.
        file: Source,
        /// What was found.
        diagnostics: Vec<Diagnostic>,
    },
}

/// Reads the set at `path`.
///
/// # Errors
/// [`SetError`] with every finding in it.
pub fn read_set(path: &Path) -> Result<EvalSet, SetError> {
    let source = source_of(path)?;
    let mut diagnostics = Vec::new();
    let set = match parse_yaml(&source.text) {
        Ok(node) => {
            let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            let mut reader = Reader {
                text: &source.text,
                dir: absolute.parent().unwrap_or(&absolute),
                worlds: BTreeMap::new(),
            };
            reader.set(&node, path, &mut diagnostics)
        }
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    };
    match set {
        Some(set) if !has_errors(&diagnostics) => Ok(set),
        _ => Err(SetError::Refused {
            file: source,
            diagnostics,
        }),
    }
}

/// Reads the case in the folder `dir`, as `provost case from` makes it.
///
/// # Errors
/// [`SetError`] with every finding in it.
pub(super) fn read_case(dir: &Path) -> Result<Case, SetError> {
    let path = dir.join(CASE_FILE);
    let source = source_of(&path)?;
    let mut diagnostics = Vec::new();
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.to_owned());
    let reader = Reader {
        text: &source.text,
        dir: &dir,
        worlds: BTreeMap::new(),
    };
    let case = match parse_yaml(&source.text) {
        Ok(node) => reader.of_folder(&node, &mut diagnostics),
        Err(diagnostic) => {
            diagnostics.push(*diagnostic);
            None
        }
    };
    match case {
        Some(case) if !has_errors(&diagnostics) => Ok(case),
        _ => Err(SetError::Refused {
            file: source,
            diagnostics,
        }),
    }
}

fn source_of(path: &Path) -> Result<Source, SetError> {
    let text = std::fs::read_to_string(path).map_err(|error| SetError::NotRead {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    Ok(Source::new(path.to_string_lossy().into_owned(), text))
}

struct Reader<'a> {
    text: &'a str,
    dir: &'a Path,
    /// The worlds that cases may name.
    worlds: BTreeMap<String, World>,
}

type Found = Vec<Diagnostic>;

fn bad(found: &mut Found, span: Span, message: impl Into<String>) {
    found.push(Diagnostic::new(Code::BadWorkspace, span, message));
}

impl Reader<'_> {
    fn set(&mut self, node: &Node, path: &Path, found: &mut Found) -> Option<EvalSet> {
        let mut fields = Fields::new("an eval set", node, found)?;
        let schema = fields.required_text("schema");
        let workspace = fields.text("workspace");
        let repeats = fields.count("repeats");
        let planners = fields.map("planners").unwrap_or_default();
        let worlds = fields.map("worlds").unwrap_or_default();
        fields.required("cases");
        let cases = fields.list("cases").unwrap_or_default();
        let gates = fields.node("gates");
        let compare = fields.node("compare");
        let span = fields.span();
        fields.finish();
        if let Some(schema) = schema.filter(|schema| schema.value != EVAL_SCHEMA) {
            bad(
                found,
                schema.span,
                format!("the schema must be `{EVAL_SCHEMA}`"),
            );
        }
        let shared = workspace.map_or_else(|| self.dir.to_owned(), |w| self.dir.join(w.value));
        let repeats = repeats.map_or(1, |count| self.repeats(&count, found));
        let planners = planners
            .iter()
            .filter_map(|(name, node)| planner(name, node, found))
            .collect();
        for (name, node) in worlds {
            if let Some(world) = self.world(node, found) {
                self.worlds.insert(name.value.clone(), world);
            }
        }
        let mut read: Vec<Case> = Vec::new();
        for node in cases {
            let Some(case) = self.case(node, &shared, found) else {
                continue;
            };
            if read.iter().any(|one| one.id == case.id) {
                let message = format!("two cases are called `{}`", case.id);
                bad(found, node.span, message);
            }
            read.push(case);
        }
        if read.is_empty() {
            bad(found, span, "there is no case in it");
        }
        let gates = gates.map(|node| gates_of(node, found));
        let compare = compare.map(|node| compare_of(node, found));
        Some(EvalSet {
            name: path
                .file_stem()
                .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
            dir: self.dir.to_owned(),
            digest: Digest::of_bytes(Domain::Evidence, self.text.as_bytes()),
            repeats,
            planners,
            cases: read,
            gates: gates.unwrap_or_default(),
            compare: compare.unwrap_or_default(),
        })
    }

    fn repeats(&self, count: &Spanned<u64>, found: &mut Found) -> u64 {
        if count.value == 0 || count.value > REPEATS_MAX {
            let message = format!("`repeats` must be from 1 to {REPEATS_MAX}");
            bad(found, count.span, message);
        }
        count.value
    }

    /// `case.yaml` of such a folder.
    fn of_folder(&self, node: &Node, found: &mut Found) -> Option<Case> {
        let mut fields = Fields::new("a case", node, found)?;
        let schema = fields.required_text("schema");
        let goal = fields.required_text("goal");
        // What they say is for people, and for whoever looks for the run.
        fields.text("run");
        fields.count("recorded_at");
        fields.map("replaced");
        let people = fields.list("people").unwrap_or_default();
        fields.required("expect");
        let expect = fields.node("expect");
        let red = fields.boolean("red").unwrap_or(false);
        let timeout = fields.duration("timeout");
        fields.finish();
        if let Some(schema) = schema.filter(|schema| schema.value != CASE_SCHEMA) {
            let message = format!("the schema must be `{CASE_SCHEMA}`");
            bad(found, schema.span, message);
        }
        let people = people.iter().filter_map(|node| self.rule(node, found));
        let people = people.collect();
        Some(Case {
            id: "case".to_owned(),
            workspace: self.dir.join(WORKSPACE_DIR),
            goal: goal?.value,
            mode: None,
            world: World {
                recorded: Some(self.dir.join(CALLS_FILE)),
                ..World::default()
            },
            faults: Vec::new(),
            people,
            expect: self.expect(expect?, found)?,
            red,
            timeout: timeout.map_or(TIMEOUT, |timeout| timeout.value),
        })
    }

    /// A case that was made from a run, in a folder of its own.
    fn recorded(&self, node: &Node, found: &mut Found) -> Option<Case> {
        let mut fields = Fields::new("a case", node, found)?;
        let id = fields.required_text("id");
        let dir = fields.required_text("case");
        fields.finish();
        let (id, dir) = (id?, dir?);
        match read_case(&self.dir.join(&dir.value)) {
            Ok(case) if is_plain(&id.value) => Some(Case {
                id: id.value,
                ..case
            }),
            Ok(_) => {
                bad(found, id.span, BAD_ID);
                None
            }
            Err(SetError::Refused { file, diagnostics }) => {
                let first = diagnostics.first().map(|finding| finding.message.as_str());
                let first = first.unwrap_or("it cannot be used");
                bad(found, dir.span, format!("{}: {first}", file.name));
                None
            }
            Err(error) => {
                bad(found, dir.span, error.to_string());
                None
            }
        }
    }

    fn case(&self, node: &Node, shared: &Path, found: &mut Found) -> Option<Case> {
        if node.get("case").is_some() {
            return self.recorded(node, found);
        }
        let mut fields = Fields::new("a case", node, found)?;
        let id = fields.required_text("id");
        let goal = fields.required_text("goal");
        let workspace = fields.text("workspace");
        let modes = [
            ("single", PlanningMode::Single),
            ("iterative", PlanningMode::Iterative),
        ];
        let mode = fields.choice("mode", &modes);
        let world = fields.node("world");
        let faults = fields.list("faults").unwrap_or_default();
        let people = fields.list("people").unwrap_or_default();
        fields.required("expect");
        let expect = fields.node("expect");
        let red = fields.boolean("red").unwrap_or(false);
        let timeout = fields.duration("timeout");
        fields.finish();
        let id = id?;
        if !is_plain(&id.value) {
            bad(found, id.span, BAD_ID);
        }
        let world = world.and_then(|node| self.world_of(node, found));
        let faults = faults.iter().filter_map(|node| fault(node, found));
        let faults = faults.collect();
        let people = people.iter().filter_map(|node| self.rule(node, found));
        let people = people.collect();
        Some(Case {
            id: id.value,
            workspace: workspace.map_or_else(|| shared.to_owned(), |w| self.dir.join(w.value)),
            goal: goal?.value,
            mode,
            world: world.unwrap_or_default(),
            faults,
            people,
            expect: self.expect(expect?, found)?,
            red,
            timeout: timeout.map_or(TIMEOUT, |timeout| timeout.value),
        })
    }

    fn template(&self, text: &Spanned<String>, found: &mut Found) -> Option<Template> {
        match Template::parse(&text.value, text.span, self.text) {
            Ok(template) => Some(template),
            Err(diagnostic) => {
                found.push(*diagnostic);
                None
            }
        }
    }

    /// A condition: one expression, and no text around it.
    fn condition(&self, text: &Spanned<String>, found: &mut Found) -> Option<Template> {
        let template = self.template(text, found)?;
        if template.whole().is_none() {
            let message = "a condition is one expression, such as `${ answer.text != \"\" }`";
            bad(found, text.span, message);
        }
        Some(template)
    }

    /// One condition, or a list of them.
    fn conditions(
        &self,
        node: Option<&Node>,
        texts: Vec<Spanned<String>>,
        found: &mut Found,
    ) -> Vec<Template> {
        let one = node.and_then(|node| match &node.kind {
            Kind::Text(text) => Some(Spanned::new(text.clone(), node.span)),
            _ => None,
        });
        let all = one.into_iter().chain(texts);
        all.filter_map(|text| self.condition(&text, found))
            .collect()
    }

    /// A world of the case alone, or the name of one that cases share.
    fn world_of(&self, node: &Node, found: &mut Found) -> Option<World> {
        let Kind::Text(name) = &node.kind else {
            return self.world(node, found);
        };
        if let Some(world) = self.worlds.get(name) {
            return Some(world.clone());
        }
        let message = format!("`worlds` has no `{name}`");
        let known = self.worlds.keys().map(String::as_str);
        let finding = Diagnostic::new(Code::BadWorkspace, node.span, message);
        found.push(finding.did_you_mean(name, known));
        None
    }

    fn world(&self, node: &Node, found: &mut Found) -> Option<World> {
        let mut fields = Fields::new("a world", node, found)?;
        let double = fields.texts("double");
        let ledger = fields.text("ledger");
        let tools = fields.map("tools").unwrap_or_default();
        let live = fields.choice("live", &[("read_only", true)]);
        let span = fields.span();
        fields.finish();
        if live.is_some() && !double.is_empty() {
            bad(found, span, "a world is `live` or a `double`");
        }
        if double.is_empty() && (ledger.is_some() || !tools.is_empty()) {
            let message = "`ledger` and `tools` belong to a `double`";
            bad(found, span, message);
        }
        let ledger = ledger.and_then(|text| match text.value.strip_prefix("GET ") {
            Some(path) if path.starts_with('/') => Some(path.to_owned()),
            _ => {
                let message = "a ledger is read by `GET` and a path, such as `GET /ledger`";
                bad(found, text.span, message);
                None
            }
        });
        let double = double.iter().filter_map(|text| self.template(text, found));
        let double = double.collect();
        let mut of_tools = Vec::new();
        for (name, node) in tools {
            let Kind::Text(text) = &node.kind else {
                bad(found, node.span, "the base URL of a tool is a text");
                continue;
            };
            let text = Spanned::new(text.clone(), node.span);
            if !text.value.starts_with("http://127.0.0.1:") {
                let message = "a double listens on this machine: its base URL begins with \
                               `http://127.0.0.1:`";
                bad(found, text.span, message);
            }
            if let Some(template) = self.template(&text, found) {
                of_tools.push((name.value.clone(), template));
            }
        }
        Some(World {
            double,
            ledger,
            tools: of_tools,
            live: live.unwrap_or(false),
            recorded: None,
        })
    }

    fn rule(&self, node: &Node, found: &mut Found) -> Option<PersonRule> {
        let mut fields = Fields::new("what a person says", node, found)?;
        let ask = fields.text("ask");
        let question = fields.text("question");
        let doubt = fields.text("doubt");
        let yes = fields.choice("say", &[("yes", true), ("no", false)]);
        let answer = fields.node("answer");
        let settlements = [
            Settlement::Happened,
            Settlement::DidNotHappen,
            Settlement::Abandoned,
        ];
        let settled = fields.choice("settle", &settlements.map(|one| (one.word(), one)));
        let reason = fields.text("reason");
        let when = fields.text("when");
        let by = fields.texts("by");
        let span = fields.span();
        fields.finish();
        let reason = reason.map_or_else(|| "an eval".to_owned(), |text| text.value);
        let about = match (ask, question, doubt, (yes, answer, settled)) {
            (Some(ask), None, None, (Some(yes), None, None)) => RuleSubject::Card {
                pattern: ask.value,
                yes,
                reason,
            },
            (None, Some(question), None, (None, Some(answer), None)) => RuleSubject::Question {
                pattern: question.value,
                answer: answer.to_value(),
            },
            (None, None, Some(doubt), (None, None, Some(settled))) => RuleSubject::Doubt {
                pattern: doubt.value,
                settled,
                reason,
            },
            _ => {
                let message = "what a person says is `ask` with `say`, `question` with `answer`, \
                               or `doubt` with `settle`";
                bad(found, span, message);
                return None;
            }
        };
        let when = when.and_then(|text| self.condition(&text, found));
        let by = by.into_iter().map(|name| name.value).collect();
        Some(PersonRule { about, when, by })
    }

    fn expect(&self, node: &Node, found: &mut Found) -> Option<Expect> {
        let mut fields = Fields::new("`expect`", node, found)?;
        let status = fields.text("status");
        let class = fields.text("class");
        let effects = fields.node("effects");
        let asked = fields.node("asked");
        let ledger = fields.node("ledger");
        let check = fields.node("check");
        let plan = fields.node("plan");
        let cost = fields.node("cost");
        let why = fields.node("why");
        let span = fields.span();
        fields.finish();
        let nodes = [effects, asked, ledger, check, plan, cost, why];
        if nodes.iter().all(Option::is_none) && status.is_none() && class.is_none() {
            bad(found, span, "`expect` expects nothing");
        }
        let mut expect = Expect {
            ledger: self.conditions(ledger, texts_of(ledger), found),
            check: self.conditions(check, texts_of(check), found),
            status: known(
                status,
                "status of a run",
                &|w| RunStatus::of(w).is_some(),
                found,
            ),
            class: known(class, "class", &|word| class_of(word).is_some(), found),
            ..Expect::default()
        };
        if let Some(node) = effects {
            self.effects(node, &mut expect, found);
        }
        if let Some(node) = asked {
            let mut fields = Fields::new("`asked`", node, found)?;
            let exactly = fields.list("exactly").unwrap_or_default();
            fields.finish();
            let patterns = exactly.iter().filter_map(|node| self.pattern(node, found));
            expect.asked = Some(patterns.collect());
        }
        if let Some(node) = plan {
            expect_plan(node, &mut expect, found);
        }
        if let Some(node) = cost {
            expect_cost(node, &mut expect, found);
        }
        if let Some(node) = why {
            let mut fields = Fields::new("`why`", node, found)?;
            let guilty = fields.choice("guilty", &GUILTY.map(|word| (word, word)));
            expect.guilty = guilty.map(str::to_owned);
            fields.finish();
        }
        Some(expect)
    }

    fn effects(&self, node: &Node, expect: &mut Expect, found: &mut Found) {
        let Some(mut fields) = Fields::new("`effects`", node, found) else {
            return;
        };
        let exactly = fields.list("exactly");
        let never = fields.texts("never");
        expect.ordered = fields.boolean("ordered").unwrap_or(false);
        fields.finish();
        expect.never = never.into_iter().map(|text| text.value).collect();
        expect.effects = exactly.map(|list| {
            let patterns = list.iter().filter_map(|node| self.pattern(node, found));
            patterns.collect()
        });
    }

    /// A call: its operation alone, or a map.
    fn pattern(&self, node: &Node, found: &mut Found) -> Option<CallPattern> {
        if let Kind::Text(operation) = &node.kind {
            return Some(CallPattern {
                operation: operation.clone(),
                args: None,
                when: None,
            });
        }
        let mut fields = Fields::new("a call", node, found)?;
        let operation = fields.required_text("operation");
        let args = fields.node("args").map(Node::to_value);
        let when = fields.text("when");
        fields.finish();
        let when = when.and_then(|text| self.condition(&text, found));
        Some(CallPattern {
            operation: operation?.value,
            args,
            when,
        })
    }
}

/// A word, reported unless it is one of those that are meant.
fn known(
    word: Option<Spanned<String>>,
    what: &str,
    is_one: &dyn Fn(&str) -> bool,
    found: &mut Found,
) -> Option<String> {
    let word = word?;
    if !is_one(&word.value) {
        let message = format!("`{}` is no {what}", word.value);
        bad(found, word.span, message);
    }
    Some(word.value)
}

/// The texts of a list.
fn texts_of(node: Option<&Node>) -> Vec<Spanned<String>> {
    let items = match node.map(|node| &node.kind) {
        Some(Kind::List(items)) => items.as_slice(),
        _ => &[],
    };
    let text = |node: &Node| match &node.kind {
        Kind::Text(text) => Some(Spanned::new(text.clone(), node.span)),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}
