//! The refund workspace without its playbook, beside the real `world` service, and the plans that
//! a model would write for it.

use provost_plan::node::parse_yaml;
use serde_json::{Value, json};
use sim::world::Local;

use crate::place::with_key;
use crate::stage::{Ran, Stage};

const PLAYBOOK: &str = include_str!("../../../../examples/refund/playbooks/refund.yaml");

/// A shop, and a workspace that nobody plans for yet.
pub struct Shop {
    pub stage: Stage,
    /// Held for as long as it is called.
    _world: Local,
    state: tempfile::TempDir,
}

impl Shop {
    pub fn new() -> Self {
        let stage = Stage::of("refund", false);
        std::fs::remove_dir_all(stage.path().join("playbooks")).unwrap();
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let url = world.url();
        stage.edit("provost.toml", |text| {
            text.replace("http://127.0.0.1:4517", &url)
        });
        Self {
            stage,
            _world: world,
            state,
        }
    }

    /// Lets bo approve what a run asked, by the command that it printed.
    pub fn approved_by_bo(&self, asked: &Ran) {
        self.stage.edit("provost.toml", |text| {
            text.replace("user = \"ada\"", "user = \"bo\"")
        });
        let approve = asked.printed_command("approve");
        let words: Vec<&str> = approve.split_whitespace().skip(1).collect();
        let skip = if words[0] == "-C" { 2 } else { 0 };
        self.run(&words[skip..]).exits(0);
    }

    pub fn run(&self, args: &[&str]) -> Ran {
        Ran::from(with_key(self.stage.command(args)).output().unwrap())
    }

    /// What the shop gave back: payment, amount, account.
    pub fn refunds(&self) -> Value {
        let text = std::fs::read_to_string(self.state.path().join("world.json")).unwrap();
        let state: Value = serde_json::from_str(&text).unwrap();
        let refunds = state["refunds"].as_array().unwrap().iter();
        refunds
            .map(|refund| json!([refund["payment"], refund["amount"], refund["account"]]))
            .collect()
    }
}

/// What is typed.
pub fn goal(amount: u32, ticket: &str) -> String {
    format!("Refund {amount} cents of pay-1 for {ticket}")
}

/// The plan of the playbook, as a model would write it.
pub fn plan(amount: u32, ticket: &str) -> Value {
    let text = PLAYBOOK
        .replace("\"${ params.amount }\"", &amount.to_string())
        .replace("${ params.payment }", "pay-1")
        .replace("${ params.ticket }", ticket)
        .replace("params.amount", &amount.to_string());
    let mut plan = parse_yaml(&text).unwrap().to_value()["plan"].clone();
    plan.as_object_mut().unwrap().remove("schema");
    // Why: a goal that nobody broke down has one criterion, `goal`.
    let checks = plan["success"].as_array().unwrap().iter();
    let checks: Vec<String> = checks
        .map(|proof| {
            let check = proof["check"].as_str().unwrap();
            let inner = check.strip_prefix("${").unwrap().strip_suffix('}').unwrap();
            format!("({})", inner.trim())
        })
        .collect();
    let check = format!("${{ {} }}", checks.join(" && "));
    plan["success"] = json!([{ "for": "goal", "check": check }]);
    plan
}

/// The same without the refund: what it looks at first.
pub fn look(ticket: &str) -> Value {
    let mut plan = plan(2000, ticket);
    plan["steps"].as_array_mut().unwrap().truncate(2);
    let check =
        "${ steps.ticket.status == \"succeeded\" && steps.payment.status == \"succeeded\" }";
    plan["success"] = json!([{ "for": "goal", "check": check }]);
    plan["answer"] = json!([{ "text": "Both were looked at.", "cites": ["ticket", "payment"] }]);
    plan
}
