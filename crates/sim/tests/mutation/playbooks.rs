//! Mutants of good playbooks: each kind of fault in a rule or a parameter gets an error or a
//! warning that the good playbook has not.

use std::fs;
use std::path::{Path, PathBuf};

use provost_engine::proposal::of_playbook;
use provost_engine::workspace::{LockUse, Opening, Workspace};
use provost_plan::node::parse_yaml;
use provost_plan::source::Source;
use serde_json::{Map, Value, json};
use sim::mutate::judge::Judgment;

/// A kind of fault, and what it makes of a part; nothing where it does not apply.
type Kind = (&'static str, fn(&Map<String, Value>) -> Option<Value>);

fn with(map: &Map<String, Value>, key: &str, value: Value) -> Option<Value> {
    let mut map = map.clone();
    map.insert(key.to_owned(), value);
    Some(map.into())
}

fn without(map: &Map<String, Value>, key: &str) -> Option<Value> {
    let mut map = map.clone();
    map.remove(key)?;
    Some(map.into())
}

/// Faults in a rule.
const OF_RULES: [Kind; 13] = [
    ("a rule waits for no step", |rule| {
        with(rule, "after", json!("no_step"))
    }),
    // Why beside the others: in their place, it is the condition that waits for nothing.
    ("a rule waits for one step more, which is none", |rule| {
        let mut after = match rule.get("after")? {
            Value::Array(all) => all.clone(),
            one => vec![one.clone()],
        };
        after.push(json!("no_step"));
        with(rule, "after", after.into())
    }),
    ("a rule drops no step", |rule| {
        with(rule, "drop", json!(["no_step"]))
    }),
    ("a rule that never applies", |rule| {
        with(rule, "when", json!("${ 1 > 2 }"))
    }),
    ("a rule reads what it does not wait for", |rule| {
        with(rule, "when", json!("${ steps.no_step.output.x }"))
    }),
    ("a rule reads no parameter", |rule| {
        with(rule, "when", json!("${ params.no_param == 1 }"))
    }),
    ("a rule without its reason", |rule| without(rule, "because")),
    ("a rule that changes nothing", |rule| {
        let kept = rule
            .iter()
            .filter(|(key, _)| ["after", "when", "because"].contains(&key.as_str()));
        Some(
            kept.map(|(k, v)| (k.clone(), v.clone()))
                .collect::<Map<_, _>>()
                .into(),
        )
    }),
    ("a step of a rule calls no tool", |rule| {
        first_step(rule, "tool", json!("no.such_tool"))
    }),
    ("a step of a rule waits for itself", |rule| {
        let id = rule.get("steps")?.get(0)?.get("id")?.clone();
        first_step(rule, "needs", json!([id]))
    }),
    ("a step of a rule reads no step", |rule| {
        first_step(rule, "when", json!("${ steps.no_step.output.x > 1 }"))
    }),
    ("a step of a rule takes no such argument", |rule| {
        first_step(rule, "args", json!({ "not_taken": 1 }))
    }),
    ("a step of a rule has no such field", |rule| {
        first_step(rule, "cc", json!("x"))
    }),
];

/// The rule with a field of the first call that it adds.
fn first_step(rule: &Map<String, Value>, key: &str, value: Value) -> Option<Value> {
    let mut changed = rule.clone();
    let step = changed.get_mut("steps")?.get_mut(0)?.as_object_mut()?;
    step.get("tool")?;
    step.insert(key.to_owned(), value);
    Some(changed.into())
}

/// Faults in a parameter.
const OF_PARAMS: [Kind; 3] = [
    ("a parameter of no type", |param| {
        with(param, "type", json!("no_type"))
    }),
    ("a parameter without a value", |param| {
        let _ = param.get("minimum")?;
        with(param, "maximum", json!(-1_000_000))
    }),
    ("a parameter with no such field", |param| {
        with(param, "not_known", json!(1))
    }),
];

fn good() -> (tempfile::TempDir, Workspace, Vec<PathBuf>) {
    let compiled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/playbooks/compiled");
    let scratch = tempfile::tempdir().unwrap();
    fs::copy(
        compiled.join("provost.toml"),
        scratch.path().join("provost.toml"),
    )
    .unwrap();
    let opening = Opening {
        user: "somebody",
        lock: LockUse::Ignore,
    };
    let workspace = Workspace::open(scratch.path(), &opening).unwrap();
    let entries = fs::read_dir(compiled.join("ok")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    (scratch, workspace, paths)
}

#[test]
fn faults_of_playbooks_are_caught() {
    let (_scratch, workspace, paths) = good();
    let judge = |value: &Value| {
        let judged = of_playbook(&workspace, Source::new("playbook", value.to_string()));
        Judgment::of(&judged.diagnostics, judged.plan.as_ref())
    };
    let (mut caught, mut total) = (0, 0);
    let mut missed = String::new();
    for (name, change, of) in OF_RULES
        .iter()
        .map(|(name, change)| (name, change, "/revise"))
        .chain(
            OF_PARAMS
                .iter()
                .map(|(name, change)| (name, change, "/params")),
        )
    {
        let (mut own, mut all) = (0, 0);
        for path in &paths {
            let text = fs::read_to_string(path).unwrap();
            let value = parse_yaml(&text).unwrap().to_value();
            let before = judge(&value);
            assert!(before.errors.is_empty(), "{}: {before:?}", path.display());
            let keys: Vec<String> = match value.pointer(of) {
                Some(Value::Array(items)) => (0..items.len()).map(|at| at.to_string()).collect(),
                Some(Value::Object(map)) => map.keys().cloned().collect(),
                _ => Vec::new(),
            };
            for key in keys {
                let mut changed = value.clone();
                let part = changed.pointer_mut(&format!("{of}/{key}")).unwrap();
                let Some(other) = part.as_object().and_then(change) else {
                    continue;
                };
                *part = other;
                let after = judge(&changed);
                let found = !after.errors.is_empty() || after.warns_more(&before);
                all += 1;
                own += usize::from(found);
                if !found {
                    missed.push_str(&format!("{name}: {} {key}\n", path.display()));
                }
            }
        }
        println!("{name:<44} {own:>3} of {all:>3}");
        assert!(all > 0, "{name}: no mutant");
        // Why: a fault in one check shows in one row, which is a small part of the whole.
        assert!(own * 2 > all, "{name}: {own} of {all} caught");
        caught += own;
        total += all;
    }
    println!("all {caught} of {total}\n{missed}");
    assert!(
        caught * 100 >= total * 99,
        "fewer than 99 % are caught:\n{missed}"
    );
}
