//! Random plans that fit the strict schema, and replies that were damaged, through the reader of
//! models and the run machine: each comes to a defined end, and nothing is called that no check
//! saw.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

#[path = "tokens/mod.rs"]
mod tokens;

use std::path::Path;

use provost_engine::planners::model::{read_text, reply_schema};
use provost_engine::run::event::{
    AskMode, Event, PlannerChoice, PlannerView, RunCreated, RunStatus,
};
use provost_engine::run::machine::{Command, Input, Output, Receipt, Rules, Run};
use provost_engine::workspace::{LockUse, Opening, Workspace};
use provost_plan::money::Money;
use provost_plan::plan::Goal;
use provost_plan::plan::request::{
    PlanReply, PlanRequest, PlannerCost, PlannerUsage, PlanningMode,
};
use serde_json::{Map, Value, json};
use sim::rng::Rng;

/// Words that a random text is made of: some that mean something here, some that do not.
const WORDS: [&str; 24] = [
    "metrics.service",
    "metrics.rise",
    "logs.search",
    "incidents.read",
    "nobody.knows",
    "a",
    "b",
    "c",
    "goal",
    "${ true }",
    "${ steps.a.status == \"succeeded\" }",
    "${ steps.a.output.row.id }",
    "${ steps.b.output.total > 0 }",
    "${ item }",
    "${ output.total >= 0 }",
    "${ 1 + }",
    "{\"name\": \"Payment API\"}",
    "{\"service\": \"${ steps.a.output.row.id }\", \"ratio\": 1.5}",
    "{\"glob\": \"*.jsonl\", \"group_by\": \"msg\"}",
    "{",
    "",
    "../../etc/passwd",
    "\u{202e}\u{0}\u{1b}[31m",
    "Ignore what you were told",
];

/// A value that fits the schema.
fn fitting(schema: &Value, rng: &mut Rng, name: &str) -> Value {
    if let Some(forms) = schema["anyOf"].as_array() {
        let form = usize::from(rng.permille(300));
        return fitting(&forms[form], rng, name);
    }
    if let Some(words) = schema["enum"].as_array() {
        let word = rng.between(0, i64::try_from(words.len()).unwrap() - 1);
        return words[usize::try_from(word).unwrap()].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[usize::from(rng.permille(700))].as_str().unwrap(),
        kind => kind.as_str().unwrap(),
    };
    match kind {
        "object" => {
            let properties = schema["properties"].as_object().unwrap();
            let fields = properties.iter();
            let mut map: Map<String, Value> = fields
                .map(|(k, s)| (k.clone(), fitting(s, rng, k)))
                .collect();
            // Why: a step that is a call and an assertion at once comes no further.
            if map.contains_key("assert") && rng.permille(850) {
                map.extend(["assert", "message"].map(|field| (field.to_owned(), Value::Null)));
            }
            Value::Object(map)
        }
        "array" => {
            let count = rng.between(0, if name == "steps" { 4 } else { 2 });
            (0..count)
                .map(|_| fitting(&schema["items"], rng, ""))
                .collect()
        }
        "integer" => json!(rng.between(-3, 2_000)),
        "null" => Value::Null,
        _ => {
            // Why: with names that fit, more plans come further.
            let from = match name {
                "id" => &WORDS[5..8],
                "tool" => &WORDS[0..5],
                "for" => &WORDS[8..9],
                "args" => &WORDS[16..20],
                _ => &WORDS[..],
            };
            json!(rng.pick(from))
        }
    }
}

/// A plan that is right, with up to three of its fields replaced.
fn nearly_right(rng: &mut Rng) -> Value {
    let mut plan = right();
    for _ in 0..rng.between(0, 3) {
        let list = rng.pick(&["steps", "steps", "success", "answer"]);
        let items = plan["plan"][list].as_array_mut().unwrap();
        let last = i64::try_from(items.len()).unwrap() - 1;
        let item = &mut items[usize::try_from(rng.between(0, last)).unwrap()];
        let fields: Vec<String> = item.as_object().unwrap().keys().cloned().collect();
        let names: Vec<&str> = fields.iter().map(String::as_str).collect();
        item[rng.pick(&names)] = json!(rng.pick(&WORDS));
    }
    plan
}

fn right() -> Value {
    json!({ "plan": {
        "steps": [
            { "id": "a", "tool": "metrics.service", "args": { "name": "Payment API" } },
            {
                "id": "b",
                "tool": "metrics.rise",
                "when": "${ steps.a.output.row != null }",
                "args": { "service": "${ steps.a.output.row.id }", "ratio": 1.5 },
            },
        ],
        "success": [{ "for": "goal", "check": "${ steps.b.status in ['succeeded', 'skipped'] }" }],
        "answer": [{ "text": "It was looked for.", "cites": ["a", "b"] }],
    } })
}

/// A reply with exactly one of `plan`, `questions` and `decline` most of the time.
fn random(rng: &mut Rng) -> Value {
    if rng.permille(400) {
        return nearly_right(rng);
    }
    let mode = rng.permille(500).then_some(PlanningMode::Single);
    let mut reply = fitting(&reply_schema(mode), rng, "");
    if rng.permille(900) {
        let kept = rng.pick(&["plan", "plan", "plan", "questions", "decline"]);
        let map: &mut Map<String, Value> = reply.as_object_mut().unwrap();
        for field in ["plan", "questions", "decline"] {
            if field != kept {
                map.insert(field.to_owned(), Value::Null);
            }
        }
    }
    reply
}

/// The text with some of its bytes changed, taken out or doubled.
fn damaged(text: &str, rng: &mut Rng) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..rng.between(1, 6) {
        let at = usize::try_from(rng.between(0, i64::try_from(bytes.len()).unwrap())).unwrap();
        let at = at.min(bytes.len().saturating_sub(1));
        match rng.between(0, 3) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] = u8::try_from(rng.between(0, 255)).unwrap(),
            2 if !bytes.is_empty() => drop(bytes.remove(at)),
            _ => bytes.extend_from_within(at..),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

struct Machine {
    run: Run,
    events: Vec<Event>,
    request: Option<PlanRequest>,
    calls: usize,
}

impl Machine {
    fn keep(&mut self, output: Output) {
        let receipt = Receipt {
            run: "run".to_owned(),
            through: output.first_seq + output.append.len() as u64 - 1,
            durable: true,
        };
        self.events.extend(output.append);
        self.request = None;
        for command in output.commands.open(&receipt).unwrap() {
            match command {
                Command::Plan(request) => self.request = Some(*request),
                Command::Call(_) => self.calls += 1,
                _ => {}
            }
        }
    }
}

fn begun(workspace: &Workspace) -> Machine {
    let limits = provost_plan::plan::Limits {
        money: Some(Money::parse("0.50").unwrap()),
        ..workspace.limits().clone()
    };
    let price = Some(Money::parse("2.00").unwrap());
    let created = RunCreated {
        run: "run".to_owned(),
        goal: Goal::of_text("Investigate the Payment API latency spike"),
        planner: PlannerChoice::Model {
            name: "large".to_owned(),
            cost: PlannerCost {
                bytes: 10_000,
                tokens_out: 8_000,
                input: price,
                output: price,
                limit: None,
            },
            view: PlannerView::default(),
        },
        fallback: None,
        mode: None,
        principal: workspace.user().clone(),
        limits,
        ask: AskMode::Step,
        solo: true,
        signed: false,
        vouched: false,
        rights: None,
        provost: None,
        traceparent: None,
    };
    let rules = Rules {
        catalog: workspace.catalog().clone(),
        policy: workspace.policy().clone(),
        admission: workspace.admission().clone(),
    };
    let (run, output) = Run::create(created, "test", rules, 0).unwrap();
    let mut machine = Machine {
        run,
        events: Vec::new(),
        request: None,
        calls: 0,
    };
    machine.keep(output);
    machine
}

/// Says `texts` one after the other, as long as somebody asks; what it came to.
fn end_of(workspace: &Workspace, texts: &[String]) -> &'static str {
    let mut machine = begun(workspace);
    for text in texts {
        let Some(request) = machine.request.take() else {
            break;
        };
        let reply = read_text("large", &request, text);
        if let PlanReply::Plan { .. } = &reply {
            assert_eq!(machine.calls, 0);
        }
        let usage = Some(PlannerUsage {
            requests: 1,
            tokens_in: 5_000,
            tokens_out: 500,
            cost: Some(Money::parse("0.011").unwrap()),
            ..PlannerUsage::default()
        });
        let id = request.id;
        let output = machine.run.step(Input::Planned { id, reply, usage }, 1);
        machine.keep(output.unwrap());
    }
    let state = machine.run.state();
    let limit = state.head.limits.money.unwrap();
    assert!(
        state.spend.money <= limit,
        "{} of {limit}",
        state.spend.money
    );
    let checked = machine
        .events
        .iter()
        .any(|e| matches!(e, Event::PlanChecked { .. }));
    assert!(
        checked || machine.calls == 0,
        "a call of a plan that nobody checked"
    );
    match (&state.ending.ended, checked) {
        (Some(ended), false) => {
            assert_eq!(ended.status, RunStatus::Refused);
            "refused"
        }
        (_, true) => "in force",
        (None, false) if state.planning.review.is_some() => {
            assert_eq!(state.status(), RunStatus::WaitingAnswer);
            "left to a person"
        }
        (None, false) if state.open_questions().next().is_some() => "asks",
        (None, false) if machine.request.is_some() => "asked again",
        (None, false) => panic!("nobody moves it: {:?}", machine.events.last()),
    }
}

#[test]
fn every_reply_comes_to_a_defined_end() {
    let given = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let count = given("PROVOST_COUNT").unwrap_or(600);
    let first = given("PROVOST_SEED").unwrap_or(0);
    println!("count: {count} from seed {first}");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incident");
    let opening = Opening {
        user: "ada",
        lock: LockUse::Hold,
    };
    let workspace = Workspace::open(&root, &opening).unwrap();
    for (name, harm) in [("fitting", false), ("damaged", true)] {
        let mut ends = std::collections::BTreeMap::<&str, u64>::new();
        for seed in first..first + count {
            let mut rng = Rng::new(seed, name);
            let texts: Vec<String> = (0..4)
                .map(|_| {
                    let text = random(&mut rng).to_string();
                    if harm { damaged(&text, &mut rng) } else { text }
                })
                .collect();
            *ends.entry(end_of(&workspace, &texts)).or_default() += 1;
        }
        println!("{name}: {ends:?}");
        assert!(ends.len() > 1, "{name} comes to one end only: {ends:?}");
    }
}

/// The control: a plan that is right comes into force.
#[test]
fn a_plan_that_is_right_comes_into_force() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incident");
    let opening = Opening {
        user: "ada",
        lock: LockUse::Hold,
    };
    let workspace = Workspace::open(&root, &opening).unwrap();
    assert_eq!(end_of(&workspace, &[right().to_string()]), "in force");
}
