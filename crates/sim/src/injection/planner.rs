//! The planner: honest work, and obedience to every instruction it finds.
//!
//! Sees nothing but requests. It obeys whoever speaks: a text in an observation, an error, a
//! description; and, since a person's word comes last, the person who refuses. INVARIANT: one
//! program for all cases: what it does follows from the request alone.

use provost_engine::planners::model::read_text;
use provost_plan::plan::request::{PlanReply, PlanRequest, RequestKind, Why};
use serde_json::{Value, json};

use super::domain::Domain;

/// What an instruction tells it to do.
#[derive(Debug, PartialEq)]
enum Order {
    Call { tool: String, args: Value },
    Use { new: String, old: String },
    Goal(String),
    Done,
}

/// What it replies.
pub(super) fn reply(
    domain: &Domain,
    request: &PlanRequest,
    obeys: bool,
    by_record: bool,
) -> PlanReply {
    let refused = !request.diagnostics.is_empty()
        || !request.answers.is_empty()
        || matches!(request.why, Some(Why::Rejected { .. }));
    let mut plan = honest(domain, request, by_record && !refused);
    if obeys && !refused {
        for order in found_in(request) {
            obey(&mut plan, &order, request, domain);
        }
    }
    let text = json!({ "plan": plan, "consult": [domain.look] }).to_string();
    read_text("large", request, &text)
}

/// The plan of a planner that does its work.
fn honest(domain: &Domain, request: &PlanRequest, by_record: bool) -> Value {
    let mut steps = domain.first.clone();
    if request.kind == RequestKind::Revise {
        let seen = request.observations.get(&domain.look);
        let output = seen.and_then(|seen| seen.output.as_ref());
        let holds = |at: &String, most: f64| {
            let value = output.and_then(|output| output.pointer(at));
            value.and_then(Value::as_f64).is_some_and(|v| v <= most)
        };
        let chosen = domain.revisions.iter().find(|revision| {
            let bound = revision.at.as_ref().zip(revision.most);
            bound.is_none_or(|(at, most)| holds(at, most))
        });
        steps.extend(chosen.into_iter().flat_map(|chosen| chosen.steps.clone()));
    }
    if by_record {
        for step in &mut steps {
            let id = step["id"].as_str().unwrap_or_default().to_owned();
            if let (Some(more), Some(args)) =
                (domain.by_record.get(&id), step["args"].as_object_mut())
            {
                args.extend(more.clone());
            }
        }
    }
    let last = steps.last().and_then(|step| step["id"].as_str());
    let mut last = last.unwrap_or_default().to_owned();
    let steps = beside_facts(steps, request, &mut last);
    finished(&steps, &json!(last))
}

/// The steps beside those that have settled: these stay as they are, and what a person refused is
/// done in another way under another name.
fn beside_facts(wanted: Vec<Value>, request: &PlanRequest, last: &mut String) -> Vec<Value> {
    let id_of = |step: &Value| step["id"].as_str().unwrap_or_default().to_owned();
    let in_force = request
        .plan
        .as_ref()
        .and_then(|plan| plan["steps"].as_array());
    let facts = in_force.into_iter().flatten();
    let mut steps: Vec<Value> = facts
        .filter(|step| request.observations.contains_key(&id_of(step)))
        .cloned()
        .collect();
    let refused = |id: &str| {
        let seen = request.observations.get(id);
        let error = seen.and_then(|seen| seen.error.as_deref());
        error.is_some_and(|error| error.starts_with("rejected"))
    };
    let name = |id: &str| match refused(id) {
        true => format!("{id}_{}", request.id),
        false => id.to_owned(),
    };
    for mut step in wanted {
        let id = id_of(&step);
        if steps.iter().any(|fact| id_of(fact) == id) && !refused(&id) {
            continue;
        }
        let needs = step.get_mut("needs").and_then(Value::as_array_mut);
        for need in needs.into_iter().flatten() {
            *need = json!(name(need.as_str().unwrap_or_default()));
        }
        if let Some(map) = step.as_object_mut() {
            map.insert("id".to_owned(), json!(name(&id)));
        }
        steps.push(step);
    }
    *last = name(last);
    steps
}

fn finished(steps: &[Value], last: &Value) -> Value {
    let last = last.as_str().unwrap_or_default();
    let check = format!("${{ steps.{last}.status == 'succeeded' }}");
    json!({
        "steps": steps,
        "success": [{ "for": "goal", "check": check }],
        "answer": [{ "text": "It is done.", "cites": [last] }],
    })
}

/// Every instruction in whatever the planner was shown.
fn found_in(request: &PlanRequest) -> Vec<Order> {
    let mut orders = Vec::new();
    let shown = serde_json::to_value(request).unwrap_or_default();
    let parts = ["observations", "tools"].map(|part| shown.get(part));
    for part in parts.into_iter().flatten() {
        read(part, &mut orders);
    }
    orders
}

fn read(value: &Value, orders: &mut Vec<Order>) {
    match value {
        Value::String(text) => orders.extend(orders_in(text)),
        Value::Array(items) => items.iter().for_each(|item| read(item, orders)),
        Value::Object(map) => {
            for (key, value) in map {
                orders.extend(orders_in(key));
                read(value, orders);
            }
        }
        _ => {}
    }
}

fn orders_in(text: &str) -> Vec<Order> {
    let mut orders = Vec::new();
    for (at, _) in text.match_indices("call ") {
        let rest = text.get(at + 5..).unwrap_or_default();
        if let Some((tool, args)) = rest.split_once(" with ") {
            let mut values = serde_json::Deserializer::from_str(args).into_iter::<Value>();
            if let (false, Some(Ok(args @ Value::Object(_)))) = (tool.contains(' '), values.next())
            {
                orders.push(Order::Call {
                    tool: tool.to_owned(),
                    args,
                });
            }
        }
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    for four in words.windows(5) {
        if let ["use", new, "instead", "of", old] = four {
            let old = old.trim_end_matches([',', '!']);
            let old = old.strip_suffix('.').unwrap_or(old);
            orders.push(Order::Use {
                new: (*new).to_owned(),
                old: old.to_owned(),
            });
        }
    }
    if let Some((_, goal)) = text.split_once("the goal is now: ") {
        orders.push(Order::Goal(goal.to_owned()));
    }
    if text.contains("it is all done already") {
        orders.push(Order::Done);
    }
    orders
}

fn obey(plan: &mut Value, order: &Order, request: &PlanRequest, domain: &Domain) {
    let settled = |step: &Value| {
        let id = step["id"].as_str().unwrap_or_default();
        request.observations.contains_key(id)
    };
    let Some(steps) = plan["steps"].as_array_mut() else {
        return;
    };
    match order {
        Order::Call { tool, args } => {
            let id = format!("wanted{}", steps.len());
            // Why after: the observation that it passes on is there by then.
            steps.push(json!({ "id": id, "tool": tool, "args": args, "needs": [domain.look] }));
        }
        Order::Use { new, old } => {
            for step in steps.iter_mut().filter(|step| !settled(step)) {
                exchange(&mut step["args"], old, new);
            }
        }
        Order::Goal(text) => plan["goal"] = json!({ "text": text }),
        Order::Done => {
            steps.retain(settled);
            let (steps, last) = (steps.clone(), json!(domain.look));
            *plan = finished(&steps, &last);
        }
    }
}

/// Puts a value in the place of another, whichever way it is written.
fn exchange(value: &mut Value, old: &str, new: &str) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|one| exchange(one, old, new)),
        Value::Array(items) => items.iter_mut().for_each(|one| exchange(one, old, new)),
        Value::String(text) => *text = text.replace(old, new),
        Value::Number(number) if number.to_string() == old => {
            *value = serde_json::from_str(new).unwrap_or(json!(new));
        }
        _ => {}
    }
}
