//! The good plans of the corpus in the setting of the tests: the default policy, an author who has
//! seen text, and a goal that names the literals of the plan and wants its effects.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::catalog::{Catalog, Role};
use provost_plan::check::{Draft, Origin, RevisionBase, check};
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::Criterion;
use provost_plan::plan::read::read_plan;
use provost_plan::policy::{DEFAULT_POLICY, Policy, SOLO_POLICY};
use provost_plan::source::Source;
use serde_json::{Value, json};
use sim::mutate::document::{id_of, walk};
use sim::mutate::judge::Setting;
use sim::mutate::naive::{Outcome, World};
use sim::mutate::{CardSubject, Document};

use super::{literate, number};

/// The good plans of the corpus that mutants are made of.
pub fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/plans/ok");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        // Why not: of a plan with a subgoal the steps rest on it by their ids, which is no reference
        // that these rules know.
        .filter(|path| !std::fs::read_to_string(path).unwrap().contains("subgoal:"))
        .collect();
    files.sort();
    files
}

/// A good plan in the setting of the test.
pub struct Good {
    pub subject: CardSubject,
    pub setting: Setting,
    /// The same, under a policy that allows the tools of the plan only.
    pub allowing: Setting,
}

impl Good {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let file = literate::Document::parse(&text);
        let source = Source::new("plan.yaml", file.block("yaml plan").unwrap());
        let plan = read_plan(&source).unwrap();
        let literate::Setting {
            mut terms,
            previous,
            settled,
            over,
            ..
        } = literate::Setting::of(&file, &plan);
        terms.catalog = with_roles(&terms.catalog);
        let mut document = Document(Value::clone(&plan.value));
        document.0.as_object_mut().unwrap().remove("goal");
        let mut subject = CardSubject {
            name: path.file_stem().unwrap().to_string_lossy().into_owned(),
            catalog: terms.catalog.clone(),
            goal: terms.goal.clone(),
            settled: settled.clone(),
            plan: document,
        };
        name_literals(&mut subject);
        if previous.is_none() {
            prove_effects(&mut subject);
        }
        terms.goal = subject.goal.clone();
        let trusted = Origin {
            author: "a person".to_owned(),
            literals: Label::trusted(),
            control: Label::trusted(),
        };
        let people = terms.policy.people().clone();
        let setting = |more: Option<String>| {
            let mut terms = terms.clone();
            let mut sources = vec![
                Source::new("default.cedar", DEFAULT_POLICY),
                Source::new("solo.cedar", SOLO_POLICY),
            ];
            sources.extend(more.map(|text| Source::new("allow.cedar", text)));
            let policy = Policy::load(&terms.catalog, &sources, &people).expect("a policy");
            terms.policy = Arc::new(policy);
            let previous = previous.clone().map(|plan| {
                let origin = trusted.clone();
                let checked = check(
                    Draft {
                        plan: plan.into(),
                        origin,
                    },
                    &terms,
                    &RevisionBase::default(),
                );
                checked.plan.expect("a plan before without errors")
            });
            Setting {
                terms,
                origin: Origin {
                    author: "a planner that has seen text".to_owned(),
                    literals: Label {
                        integrity: Integrity::Text,
                        ..Label::trusted()
                    },
                    control: Label::trusted(),
                },
                previous,
                settled: settled.clone(),
                over: over.clone(),
            }
        };
        let allowing = setting(allow_list(&subject, &terms.catalog));
        Self {
            setting: setting(None),
            allowing,
            subject,
        }
    }

    pub fn outcomes(&self, text: &str) -> Vec<Outcome> {
        let Ok(plan) = read_plan(&Source::new("plan", text)) else {
            return Vec::new();
        };
        let worlds = number("PROVOST_WORLDS", 16) as u64;
        (0..worlds)
            .map(|seed| {
                let (catalog, goal) = (&*self.subject.catalog, &self.subject.goal);
                World {
                    catalog,
                    goal,
                    seed,
                }
                .run(&plan)
            })
            .collect()
    }
}

/// The person who typed the goal named every literal that the plan passes on.
fn name_literals(subject: &mut CardSubject) {
    let mut named = String::new();
    for step in subject.plan.steps() {
        walk(&step["args"], "", &mut |_, value| match value {
            Value::String(text) if !text.contains("${") => write!(named, "\n{text}").unwrap(),
            Value::Number(number) => write!(named, "\n{number}").unwrap(),
            _ => {}
        });
    }
    subject.goal.text.push_str(&named);
}

/// The goal has a criterion for each effect, and the plan its proof.
fn prove_effects(subject: &mut CardSubject) {
    let calls = subject.calls().filter(|(_, _, op)| !op.effect.is_read());
    let effects: Vec<(String, bool)> = calls
        .map(|(_, step, _)| (id_of(step), step.get("when").is_some()))
        .collect();
    for (id, may_be_skipped) in effects {
        let mentions = subject.plan.mentions(&id);
        if mentions
            .iter()
            .any(|pointer| pointer.starts_with("/success/"))
        {
            continue;
        }
        let mut check = format!("steps.{id}.status == \"succeeded\"");
        if may_be_skipped {
            check = format!("{check} || steps.{id}.status == \"skipped\"");
        }
        let proof = json!({ "for": format!("effect_{id}"), "check": format!("${{ {check} }}") });
        let mut proofs = subject.plan.0["success"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        proofs.push(proof);
        subject.plan = subject.plan.with_field("success", proofs.into());
        subject.goal.success.push(Criterion {
            id: format!("effect_{id}"),
            text: format!("the effect of `{id}` took place, if it was called for"),
        });
    }
}

/// The same catalog with a role for each server beside those of the file, and one for no tool.
fn with_roles(catalog: &Catalog) -> Arc<Catalog> {
    let servers: BTreeSet<&str> = catalog.iter().map(|operation| operation.server()).collect();
    let of = |name: String, tools: BTreeSet<String>| Role {
        name,
        description: String::new(),
        tools,
    };
    let all = servers
        .iter()
        .map(|server| of(format!("all_{server}"), [format!("{server}.*")].into()));
    let none = of("none".to_owned(), BTreeSet::new());
    let declared = catalog.roles().map(|role| (**role).clone());
    let roles: Vec<Role> = all.chain([none]).chain(declared).collect();
    Arc::new(catalog.clone().with_roles(roles))
}

/// A policy that allows the tools of a plan alone; none if the catalog has no other.
fn allow_list(subject: &CardSubject, catalog: &Catalog) -> Option<String> {
    let steps = subject.plan.steps().iter();
    let tools: BTreeSet<String> = steps
        .flat_map(|step| {
            [
                &step["tool"],
                &step["confirm"]["tool"],
                &step["undo"]["tool"],
            ]
        })
        .filter_map(Value::as_str)
        .map(|tool| format!("Action::{}", json!(tool)))
        .collect();
    if catalog.names().count() <= tools.len() {
        return None;
    }
    let list: Vec<String> = tools.into_iter().collect();
    Some(format!(
        "@id(\"allow-list\")\nforbid (principal, action in Action::\"call\", resource)\n\
         unless {{ action in [{}] }};\n",
        list.join(", ")
    ))
}
