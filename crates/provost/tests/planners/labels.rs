//! How far a planner's own words are believed: by what it was shown.

use serde_json::{Value, json};
use sim::model::Scripted;

use crate::place::Place;

const NOTES: &str = "\n[tools.notes]\nkind = \"files\"\nroot = \"notes\"\n\
                     [tools.notes.ops.write]\nop = \"write\"\neffect = \"write\"\n";

/// A plan that writes to a path of its author's choice, after it looked or at once.
fn plan(looks: bool, writes: bool) -> Value {
    let look = json!({
        "id": "look", "description": "Look for the service", "tool": "metrics.service",
        "args": { "name": "Payment API" },
    });
    let write = json!({
        "id": "note", "description": "Write down that somebody looked", "tool": "notes.write",
        "args": { "path": "looked.txt", "text": "somebody looked" },
        "accept": ["${ output.bytes > 0 }"],
    });
    let steps: Vec<Value> = [looks.then_some(look), writes.then_some(write)]
        .into_iter()
        .flatten()
        .collect();
    let last = steps.last().unwrap()["id"].as_str().unwrap().to_owned();
    json!({
        "steps": steps,
        "success": [{ "for": "goal", "check": format!("${{ steps.{last}.status == \"succeeded\" }}") }],
        "answer": [{ "text": "done", "cites": [last] }],
    })
}

fn place(script: impl IntoIterator<Item = Scripted>) -> Place {
    let place = Place::new(script);
    std::fs::create_dir(place.stage.path().join("notes")).unwrap();
    place.configure(NOTES);
    place
}

/// Before anything ran a model has seen what people and the operator wrote, and nothing else.
#[test]
fn a_first_plan_of_a_model_is_as_trusted_as_the_goal() {
    let place = place([Scripted::json(json!({ "plan": plan(false, true) }))]);
    place
        .run(&["run", "Write down that somebody looked"])
        .exits(0);
    assert!(place.stage.path().join("notes/looked.txt").exists());
}

/// After a result it has seen data of a tool, so a path it writes out may be that tool's choice.
#[test]
fn a_revision_of_a_model_asks_where_its_words_reach() {
    let place = place([
        Scripted::json(json!({ "plan": plan(true, false), "consult": ["look"] })),
        Scripted::json(json!({ "plan": plan(true, true) })),
    ]);
    let ran = place
        .run(&["run", "Write down that somebody looked"])
        .exits(3);
    assert!(ran.all().contains("looked.txt"), "{}", ran.all());
    assert!(!place.stage.path().join("notes/looked.txt").exists());
    let revised = &place.stage.payloads("PlanProposed")[1]["reply"]["plan"]["literals"];
    assert_eq!(
        revised,
        &json!({ "integrity": "data", "sources": ["look"] })
    );
}

/// A program can read elsewhere: the same first plan asks.
#[test]
fn a_first_plan_of_a_program_asks() {
    let place = Place::without_planner([]);
    std::fs::create_dir(place.stage.path().join("notes")).unwrap();
    let program = format!(
        "import json, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n    \
         print(json.dumps(m if m.get('kind') == 'hello' else \
         {{'id': m['id'], 'plan': json.loads({:?})}}), flush=True)\n",
        plan(false, true).to_string()
    );
    std::fs::write(place.stage.path().join("planner.py"), program).unwrap();
    place.configure(NOTES);
    place.configure("\n[planner]\nkind = \"process\"\ncommand = [\"python3\", \"planner.py\"]\n");
    let ran = place
        .run(&["run", "Write down that somebody looked"])
        .exits(3);
    assert!(ran.all().contains("looked.txt"), "{}", ran.all());
    assert!(!place.stage.path().join("notes/looked.txt").exists());
}

/// The key of a model stands in no record, wherever it turns up.
#[test]
fn a_key_that_a_tool_reads_is_taken_out() {
    let place = Place::new([Scripted::json(json!({ "plan": {
        "steps": [{
            "id": "read", "description": "Read the note", "tool": "incidents.read",
            "args": { "path": "key.md" },
        }],
        "success": [{ "for": "goal", "check": "${ steps.read.status == \"succeeded\" }" }],
        "answer": [{ "text": "${ steps.read.output.text }" }],
    } }))]);
    let note = place.stage.data().join("incidents/key.md");
    std::fs::write(&note, format!("the key is {}", crate::place::KEY)).unwrap();
    let ran = place.run(&["run", "Read the note"]).exits(0);
    assert!(ran.stdout.contains("the key is"), "{}", ran.all());
    assert!(!ran.all().contains(crate::place::KEY), "{}", ran.all());
    // Why: when the stage is dropped, no other file may hold it.
    std::fs::remove_file(&note).unwrap();
}
