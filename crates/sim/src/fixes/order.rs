//! What each step waits for, by the text of a document alone.
//!
//! Owns a second reading of the order of a plan, without the graph of the check. Knows what the
//! pages say: a step waits for what it needs or reads; a step of a subgoal for what that needs and
//! what its `when` reads; a subgoal goes on once its steps have ended, however they did.
//! INVARIANT: what is waited for only through the steps of a subgoal is not counted.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::mutate::document::{Document, id_of, references, walk};

/// For each step, and for the steps that a subgoal stands for, all that ended well before.
pub type Waits = BTreeMap<String, BTreeSet<String>>;

/// The plans of a document: its own, and of a playbook that of each of its rules.
#[must_use]
pub fn plans(document: &Value) -> Vec<Document> {
    let Some(plan) = document.get("plan") else {
        return vec![Document(document.clone())];
    };
    let own = Document(plan.clone());
    let rules = document.get("revise").and_then(Value::as_array);
    let after = |rule: &Value| {
        let list = |key: &str| rule.get(key).and_then(Value::as_array).cloned();
        let dropped = list("drop").unwrap_or_default();
        let new = list("steps").unwrap_or_default();
        let is_new = |step: &Value| new.iter().any(|other| id_of(other) == id_of(step));
        let kept = own
            .steps()
            .iter()
            .filter(|step| !dropped.contains(&Value::String(id_of(step))) && !is_new(step));
        own.with_steps(kept.chain(&new).cloned().collect())
    };
    let revised: Vec<Document> = rules.into_iter().flatten().map(after).collect();
    std::iter::once(own.clone()).chain(revised).collect()
}

/// What the steps of a plan wait for.
#[must_use]
pub fn waits(plan: &Document) -> Waits {
    let ids: BTreeSet<String> = plan.ids().into_iter().collect();
    let mut direct: Waits = BTreeMap::new();
    let mut inner: Waits = BTreeMap::new();
    for step in plan.steps() {
        let id = id_of(step);
        let own = named(step, &ids, &|_| true);
        if step.get("subgoal").is_some() {
            let of_steps = |place: &str| place.starts_with("/needs") || place.starts_with("/when");
            inner.insert(id.clone(), named(step, &ids, &of_steps));
        }
        direct.insert(id, own);
    }
    for (id, own) in &mut direct {
        let prefix = format!("{id}/");
        own.retain(|other| other != id && !other.starts_with(&prefix));
        if let Some((parent, _)) = id.split_once('/')
            && let Some(more) = inner.get(parent)
        {
            own.extend(more.iter().cloned());
        }
    }
    let mut all: Waits = BTreeMap::new();
    for (id, own) in &direct {
        all.insert(id.clone(), through(own, &direct));
    }
    for (id, own) in &inner {
        all.insert(format!("the steps of {id}"), through(own, &direct));
    }
    all
}

/// The steps that a step names in the fields of which something holds.
fn named(step: &Value, ids: &BTreeSet<String>, holds: &dyn Fn(&str) -> bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    walk(step, "", &mut |place, value| {
        let Some(text) = value.as_str().filter(|_| holds(place)) else {
            return;
        };
        if place.starts_with("/needs") && ids.contains(text) {
            found.insert(text.to_owned());
        }
        if text.contains("${") {
            let reads = |id: &&String| {
                let by_key = [format!("steps[\"{id}\"]"), format!("steps['{id}']")];
                !references(text, id).is_empty() || by_key.iter().any(|key| text.contains(key))
            };
            found.extend(ids.iter().filter(reads).cloned());
        }
    });
    found
}

/// A set of steps with all that these wait for.
fn through(own: &BTreeSet<String>, direct: &Waits) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut open: Vec<&String> = own.iter().collect();
    while let Some(id) = open.pop() {
        if all.insert(id.clone()) {
            open.extend(direct.get(id).into_iter().flatten());
        }
    }
    all
}

/// What a step no longer waits for; steps that one of both does not have are left out.
#[must_use]
pub fn lost(before: &Document, after: &Document) -> Vec<String> {
    let (was, is) = (waits(before), waits(after));
    let mut lost = Vec::new();
    for (id, had) in &was {
        let Some(has) = is.get(id) else {
            lost.push(format!("`{id}` is gone"));
            continue;
        };
        let gone = had.difference(has);
        lost.extend(gone.map(|other| format!("`{id}` no longer waits for `{other}`")));
    }
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_waited_for_through_others_is_no_loss() {
        let plan = |needs: Value| {
            Document(json!({ "steps": [
                { "id": "a" },
                { "id": "b", "args": { "x": "${ steps.a.output.n }" } },
                { "id": "c", "needs": needs },
                { "id": "s", "subgoal": "more", "needs": ["a"], "when": "${ steps.b.output.n }" },
                { "id": "s/x", "needs": ["c"] },
                { "id": "t", "needs": ["s"] },
            ] }))
        };
        let waits = waits(&plan(json!(["a", "b"])));
        let of = |id: &str| -> Vec<&str> {
            let before = waits.get(id).into_iter().flatten();
            before.map(String::as_str).collect()
        };
        assert_eq!(of("c"), ["a", "b"]);
        assert_eq!(of("s/x"), ["a", "b", "c"]);
        assert_eq!(of("the steps of s"), ["a", "b"]);
        assert_eq!(
            of("t"),
            ["a", "b", "s"],
            "not `c`, for which a step of `s` alone waits"
        );
        let losses = |needs: Value| lost(&plan(json!(["a", "b"])), &plan(needs)).len();
        assert_eq!(losses(json!(["b"])), 0);
        assert_eq!(losses(json!(["a"])), 1);
    }
}
