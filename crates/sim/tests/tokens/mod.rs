//! Tokens that ten tasks send in `single`, in `iterative` and in a plain loop that reasons and
//! acts, all by one scripted model: text sent, not quality.
//!
//! Every task comes to its right end in all three ways, by what the world remembers. Counted is the
//! text of every request as the model's server got it: messages, and the schema of the reply where
//! one is sent. The vocabulary is inside the crate that counts; nothing is loaded at run time.

use std::collections::BTreeSet;
use std::path::Path;

use provost_engine::engine::{Engine, NewRun};
use provost_engine::run::event::RunStatus;
use provost_engine::session::{DriveEnd, Unwatched};
use provost_engine::workspace::{LockUse, Opening, Workspace};
use provost_plan::plan::Goal;
use provost_plan::plan::request::PlanningMode;
use serde_json::{Value, json};
use sim::model::{Local, Scripted};
use tiktoken_rs::CoreBPE;

mod plain;
mod tasks;

use tasks::{Op, Task, ops, tasks, world};

/// What one task sent in one way.
#[derive(Clone, Copy, Default)]
struct Sent {
    requests: usize,
    tokens: usize,
}

/// A world of its own, a model with a script, and a folder for the rest.
struct Harness {
    dir: tempfile::TempDir,
    world: sim::world::Local,
    model: Local,
}

impl Harness {
    fn new(script: impl IntoIterator<Item = Scripted>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let state = dir.path().join("world.json");
        std::fs::write(&state, world().to_string()).unwrap();
        Self {
            world: sim::world::Local::start(&state).unwrap(),
            model: Local::start(script).unwrap(),
            dir,
        }
    }

    /// What the world remembers that it did not know at the start.
    fn effects(&self) -> BTreeSet<String> {
        let text = std::fs::read_to_string(self.dir.path().join("world.json")).unwrap();
        let state: Value = serde_json::from_str(&text).unwrap();
        let list = |name: &str| state[name].as_array().cloned().unwrap_or_default();
        let mut effects = BTreeSet::new();
        for page in list("pages") {
            effects.insert(format!("page {} {}", page["team"], page["message"]));
        }
        for refund in list("refunds") {
            effects.insert(format!("refund {} {}", refund["payment"], refund["amount"]));
        }
        for draft in state["drafts"].as_object().into_iter().flatten() {
            let draft = draft.1;
            effects.insert(format!("draft {} {}", draft["title"], draft["body"]));
            for _ in 0..draft["publications"].as_u64().unwrap() {
                effects.insert(format!("publish {}", draft["id"]));
            }
        }
        for (id, ticket) in state["tickets"].as_object().unwrap() {
            for comment in ticket["comments"].as_array().unwrap().iter().skip(1) {
                effects.insert(format!("comment {id} {}", comment["text"]));
            }
        }
        effects
    }

    /// The text of all that the model was sent.
    fn sent(&self, counter: &CoreBPE) -> Sent {
        let asked = self.model.model().ledger();
        let of = |body: &Value| -> usize {
            let messages = body["messages"].as_array().unwrap().iter();
            let texts = messages.map(|message| message["content"].as_str().unwrap().to_owned());
            let schema = body.pointer("/response_format/json_schema/schema");
            let texts = texts.chain(schema.map(Value::to_string));
            texts.map(|text| counter.encode_ordinary(&text).len()).sum()
        };
        Sent {
            requests: asked.len(),
            tokens: asked.iter().map(|asked| of(&asked.body)).sum(),
        }
    }
}

/// What a task is to bring about, by its calls.
fn wanted(task: &Task) -> BTreeSet<String> {
    let effect = |act: &tasks::Act| {
        let args = &act.args;
        let text = |name: &str| args[name].as_str().unwrap_or_default().to_owned();
        match act.tool {
            "pager.notify" => Some(format!("page {} {}", args["team"], args["message"])),
            "payments.refund" => Some(format!("refund {} {}", args["payment"], args["amount"])),
            "drafts.create" => Some(format!("draft {} {}", args["title"], args["body"])),
            "drafts.publish" => Some(format!("publish {}", args["id"])),
            "tickets.comment" => Some(format!("comment {} {}", text("id"), args["text"])),
            _ => None,
        }
    };
    task.acts.iter().filter_map(effect).collect()
}

/// The workspace of a stage: the world's operations, the model, and a policy that lets all pass.
fn workspace(stage: &Harness) -> Workspace {
    let dir = stage.dir.path().join("place");
    let write = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(
        "policies/default.cedar",
        "@id(\"all\")\npermit (principal, action, resource);\n",
    );
    write("policies/entities.json", r#"{ "users": { "ada": {} } }"#);
    let mut config = String::from("[workspace]\nuser = \"ada\"\n");
    let servers: BTreeSet<&str> = ops()
        .iter()
        .map(|op| op.name.split('.').next().unwrap())
        .collect();
    for server in servers {
        let url = stage.world.url();
        config.push_str(&format!(
            "[tools.{server}]\nkind = \"http\"\nbase_url = \"{url}\"\n"
        ));
    }
    for op in ops() {
        write(
            &format!("schemas/{}.in.json", op.name),
            &op.input.to_string(),
        );
        write(
            &format!("schemas/{}.out.json", op.name),
            &op.output.to_string(),
        );
        config.push_str(&entry(&op));
    }
    config.push_str(&format!(
        "[models.m]\nkind = \"openai\"\nmodel = \"scripted\"\nbase_url = \"{}\"\n\
         [planner]\nkind = \"model\"\nmodel = \"m\"\n",
        stage.model.url()
    ));
    write("provost.toml", &config);
    let opening = Opening {
        user: "ada",
        lock: LockUse::Ignore,
    };
    Workspace::open(&dir, &opening).unwrap_or_else(|error| {
        let found = error.findings().iter().flat_map(|one| &one.diagnostics);
        let found: Vec<&str> = found.map(|finding| finding.message.as_str()).collect();
        panic!("{error}: {found:?}")
    })
}

fn entry(op: &Op) -> String {
    let (server, name) = op.name.split_once('.').unwrap();
    let (path, query) = op.path.split_once('?').unwrap_or((op.path, ""));
    let query: Vec<String> = query
        .split('&')
        .filter_map(|part| part.split_once('='))
        .map(|(name, value)| format!("{name} = \"{value}\""))
        .collect();
    let mut request = format!("method = \"{}\", path = \"{path}\"", op.method);
    if !query.is_empty() {
        request.push_str(&format!(", query = {{ {} }}", query.join(", ")));
    }
    if op.method == "POST" {
        request.push_str(", rest = \"json\"");
    }
    format!(
        "[tools.{server}.ops.{name}]\ndescription = \"{}\"\nrequest = {{ {request} }}\n\
         input = \"schemas/{1}.in.json\"\noutput = {{ schema = \"schemas/{1}.out.json\" }}\n\
         effect = \"{2}\"\n",
        op.description, op.name, op.effect
    )
}

/// Runs a task in a mode; the plans are said by the script.
fn planned(task: &Task, mode: PlanningMode, plans: Vec<Value>, counter: &CoreBPE) -> Sent {
    let script = plans
        .into_iter()
        .map(|plan| Scripted::json(json!({ "plan": plan })));
    let stage = Harness::new(script);
    let workspace = workspace(&stage);
    let new = NewRun {
        goal: Goal::of_text(task.goal),
        interpreted_by: "tokens".to_owned(),
        planner: workspace.other_planner().unwrap(),
        fallback: None,
        mode: Some(mode),
        ask: workspace.ask(),
        again: false,
        traceparent: None,
    };
    let engine = Engine::open(workspace).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let stop = runtime.block_on(async {
        let mut session = engine.begin(new, &mut Unwatched).await.unwrap();
        let (_keep, mut halt) = tokio::sync::watch::channel(false);
        session.drive(&mut Unwatched, &mut halt).await.unwrap()
    });
    let DriveEnd::Ended(ended) = stop else {
        panic!("{}: it stopped with {stop:?}", task.goal);
    };
    assert_eq!(
        ended.status,
        RunStatus::Succeeded,
        "{}: {ended:?}",
        task.goal
    );
    let answer: Vec<String> = ended.answer.iter().map(|part| part.text()).collect();
    assert_eq!(answer, [task.said], "{}", task.goal);
    assert_eq!(stage.effects(), wanted(task), "{}", task.goal);
    stage.sent(counter)
}

fn plan(steps: &[Value], proof: &str, answer: &str, cites: &[&str]) -> Value {
    json!({
        "steps": steps,
        "success": [{ "for": "goal", "check": format!("${{ {proof} }}") }],
        "answer": [{ "text": format!("${{ {answer} }}"), "cites": cites }],
    })
}

/// The whole plan at once.
fn single(task: &Task) -> Vec<Value> {
    let steps: Vec<Value> = task
        .certain
        .iter()
        .chain(task.rest.iter().flatten())
        .cloned()
        .collect();
    let last = steps.last().unwrap()["id"].as_str().unwrap();
    let proof = format!("steps.{last}.status == \"succeeded\"");
    vec![plan(&steps, &proof, task.answer, &[last])]
}

/// What is certain, then the rest as it can be known, then what it comes to.
fn iterative(task: &Task) -> Vec<Value> {
    if task.rest.is_empty() {
        return single(task);
    }
    let moved: Vec<&str> = task
        .rest
        .iter()
        .flatten()
        .map(|step| step["id"].as_str().unwrap())
        .collect();
    let inside = |text: &str| {
        moved.iter().fold(text.to_owned(), |text, id| {
            text.replace(&format!("steps.{id}."), &format!("steps[\"rest/{id}\"]."))
        })
    };
    let refining = |step: &Value| -> Value {
        let escaped = |id: &str| format!("steps[\\\"rest/{id}\\\"].");
        let text = moved.iter().fold(step.to_string(), |text, id| {
            text.replace(&format!("steps.{id}."), &escaped(id))
        });
        let mut step: Value = serde_json::from_str(&text).unwrap();
        step["id"] = json!(format!("rest/{}", step["id"].as_str().unwrap()));
        step
    };
    let (tools, effect) = task.envelope;
    let needs: Vec<&Value> = task.certain.iter().map(|step| &step["id"]).collect();
    let subgoal = |result: Option<String>| {
        let mut step = json!({
            "id": "rest", "description": "The rest", "subgoal": task.goal, "needs": needs,
            "tools": tools, "effect_max": effect, "steps_max": moved.len(),
            "output": { "type": "string" },
        });
        if let Some(result) = result {
            step["result"] = json!(format!("${{ {result} }}"));
        }
        step
    };
    let whole = |result: Option<String>, more: &[Value]| {
        let mut steps = task.certain.clone();
        steps.push(subgoal(result));
        steps.extend(more.iter().cloned());
        plan(
            &steps,
            "steps.rest.status == \"succeeded\"",
            "steps.rest.output",
            &["rest"],
        )
    };
    let mut plans = vec![whole(None, &[])];
    let mut there: Vec<Value> = Vec::new();
    for (at, part) in task.rest.iter().enumerate() {
        there.extend(part.iter().map(refining));
        // Why with the last part: what it comes to can be said as soon as its steps are known.
        let result = (at + 1 == task.rest.len()).then(|| inside(task.answer));
        plans.push(whole(result, &there));
    }
    plans
}

/// The table, as it stands in the guide.
fn table(rows: &[(&str, [Sent; 3])]) -> String {
    let mut text =
        String::from("| task | `single` | `iterative` | reason-act loop |\n|---|---|---|---|\n");
    let mut sums = [Sent::default(); 3];
    let cell = |sent: &Sent| format!("{} ({})", sent.tokens, sent.requests);
    for (goal, ways) in rows {
        let cells: Vec<String> = ways.iter().map(cell).collect();
        text.push_str(&format!("| {goal} | {} |\n", cells.join(" | ")));
        for (sum, way) in sums.iter_mut().zip(ways) {
            sum.tokens += way.tokens;
            sum.requests += way.requests;
        }
    }
    let cells: Vec<String> = sums.iter().map(cell).collect();
    text.push_str(&format!("| all ten | {} |\n", cells.join(" | ")));
    text
}

#[test]
fn the_table_of_the_guide_is_what_is_sent() {
    let counter = tiktoken_rs::o200k_base().unwrap();
    let tasks = tasks();
    assert_eq!(tasks.len(), 10);
    let mut rows = Vec::new();
    for task in &tasks {
        let ways = [
            planned(task, PlanningMode::Single, single(task), &counter),
            planned(task, PlanningMode::Iterative, iterative(task), &counter),
            plain::reasoned(task, &counter),
        ];
        assert_eq!(ways[0].requests, 1, "single is one call: {}", task.goal);
        assert_eq!(ways[1].requests, 1 + task.rest.len(), "{}", task.goal);
        assert_eq!(ways[2].requests, task.acts.len() + 1, "{}", task.goal);
        rows.push((task.goal, ways));
    }
    let table = table(&rows);
    println!("{table}");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guides/planners.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    assert!(
        guide.contains(&table),
        "the guide says something else than:\n{table}"
    );
}

/// The control: what is compared tells one right end from another.
#[test]
fn a_task_that_does_something_else_is_noticed() {
    let tasks = tasks();
    let (ask, page) = (&tasks[3], &tasks[2]);
    assert!(!wanted(ask).is_empty());
    assert_ne!(wanted(ask), wanted(page));
    assert!(
        wanted(&tasks[0]).is_empty(),
        "a task that only looks changes nothing"
    );
    let stage = Harness::new([]);
    assert!(stage.effects().is_empty(), "a new world remembers nothing");
    plain::act_alone(&stage, &ask.acts[1]);
    assert_eq!(stage.effects(), wanted(ask));
}
