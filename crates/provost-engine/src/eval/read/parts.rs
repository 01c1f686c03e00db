//! Parts of an eval set that need no expression: planners, faults, gates and the comparison.

use provost_plan::node::{Fields, Node};
use provost_plan::source::Spanned;
use provost_run::grade::Confidence;
use provost_run::outcome::Class;
use provost_tools::{FaultLanding, PlannedFault};
use serde_json::Value;

use super::{Found, bad};
use crate::eval::set::{CompareSettings, Expect, Gates, PlannerEntry};

/// Whether a name can be that of a folder in the report.
pub(super) fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.len() <= 60 && name.chars().all(plain)
}

pub(super) fn planner(
    name: &Spanned<String>,
    node: &Node,
    found: &mut Found,
) -> Option<PlannerEntry> {
    if !is_plain(&name.value) {
        let message = "the name of a planner has up to 60 letters, digits, `-` and `_`";
        bad(found, name.span, message);
    }
    let mut fields = Fields::new("a planner", node, found)?;
    let settings = fields.node("planner").map(Node::to_value);
    let first = fields.boolean("first").unwrap_or(false);
    let deterministic = fields.boolean("deterministic");
    fields.finish();
    let settings = settings.unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let only_playbooks = settings.get("kind").is_none();
    Some(PlannerEntry {
        name: name.value.clone(),
        settings,
        first,
        deterministic: deterministic.unwrap_or(only_playbooks),
    })
}

pub(super) fn fault(node: &Node, found: &mut Found) -> Option<PlannedFault> {
    let mut fields = Fields::new("a fault", node, found)?;
    let operation = fields.required_text("tool");
    let nth = fields.count("nth");
    let class = fields.required_text("class");
    let landings = [
        ("none", FaultLanding::Nothing),
        ("happened", FaultLanding::AnswerLost),
        ("unknown", FaultLanding::Unknown),
    ];
    let landing = fields.choice("landing", &landings);
    fields.finish();
    let class = class?;
    let Some(known) = class_of(&class.value).filter(|class| *class != Class::Ok) else {
        let message = format!("`{}` is no class of a failure", class.value);
        bad(found, class.span, message);
        return None;
    };
    Some(PlannedFault {
        operation: operation?.value,
        nth: nth.map(|count| count.value),
        class: known,
        landing: landing.unwrap_or(FaultLanding::Nothing),
    })
}

/// The class of this word.
pub(super) fn class_of(word: &str) -> Option<Class> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

pub(super) fn gates_of(node: &Node, found: &mut Found) -> Gates {
    let mut gates = Gates::default();
    let Some(mut fields) = Fields::new("`gates`", node, found) else {
        return gates;
    };
    gates.pass_all = fields.boolean("pass_all").unwrap_or(false);
    let shares = ["pass_rate", "pass_hat_k", "effects"].map(|name| fields.node(name));
    gates.cost_per_success_max = fields
        .money("cost_per_success_max")
        .map(|money| money.value);
    fields.finish();
    let [rate, hat, effects] = shares.map(|node| node.and_then(|node| share(node, found)));
    (gates.pass_rate, gates.pass_hat_k, gates.effects) = (rate, hat, effects);
    gates
}

fn share(node: &Node, found: &mut Found) -> Option<f64> {
    let share = node.to_value().as_f64();
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    if share.is_none() {
        bad(found, node.span, "a share is a number from 0 to 1");
    }
    share
}

pub(super) fn compare_of(node: &Node, found: &mut Found) -> CompareSettings {
    let mut settings = CompareSettings::default();
    let Some(mut fields) = Fields::new("`compare`", node, found) else {
        return settings;
    };
    let regress = fields.node("regress_max");
    let confidence = fields.node("confidence");
    let seed = fields.count("seed");
    fields.finish();
    if let Some(most) = regress.and_then(|node| share(node, found)) {
        settings.regress_max = most;
    }
    if let Some(node) = confidence {
        match node.to_value().as_f64().and_then(Confidence::of) {
            Some(confidence) => settings.confidence = confidence,
            None => bad(
                found,
                node.span,
                "`confidence` lies between 0.5 and 1, such as 0.95",
            ),
        }
    }
    settings.seed = seed.map_or(settings.seed, |seed| seed.value);
    settings
}

pub(super) fn expect_plan(node: &Node, expect: &mut Expect, found: &mut Found) {
    let Some(mut fields) = Fields::new("`plan`", node, found) else {
        return;
    };
    expect.steps_max = fields.count("steps_max").map(|count| count.value);
    expect.unneeded_max = fields.count("unneeded_max").map(|count| count.value);
    expect.first_time = fields.boolean("first_time");
    fields.finish();
}

pub(super) fn expect_cost(node: &Node, expect: &mut Expect, found: &mut Found) {
    let Some(mut fields) = Fields::new("`cost`", node, found) else {
        return;
    };
    expect.money_max = fields.money("money_max").map(|money| money.value);
    expect.tokens_max = fields.count("tokens_max").map(|count| count.value);
    expect.requests_max = fields.count("requests_max").map(|count| count.value);
    expect.busy_max = fields.duration("busy_max").map(|time| time.value);
    fields.finish();
}
