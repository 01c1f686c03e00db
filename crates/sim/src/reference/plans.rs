//! Plans drawn at random, as text.
//!
//! Owns the generator: names, guards, references and effects, each right most of the time and
//! wrong some of the time. INVARIANT: a plan is a function of its seed.

use provost_plan::catalog::Operation;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Trust;
use crate::rng::Rng;

pub mod catalog;
mod expressions;

/// The goal of every plan.
pub const GOAL: &str = "Write to ada@example.org about PAY-1, then tell oncall.";

/// The parameters of every goal.
#[must_use]
pub fn params() -> serde_json::Map<String, Value> {
    let pairs = [("team", json!("PAY-1")), ("most", json!(700))];
    pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// A plan with what its author had seen.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The text.
    pub text: String,
    /// How far the author's literals may be believed.
    pub literals: Trust,
    /// How far the author's choice may be believed.
    pub control: Trust,
}

/// A step as it is being made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    /// The id.
    pub id: String,
    /// The operation; none for a question.
    pub tool: Option<String>,
    /// Whether its output may be absent.
    pub may_be_absent: bool,
    /// Whether its output is a list of outputs.
    pub is_list: bool,
}

/// Draws plans.
pub(crate) struct Generator<'a> {
    pub rng: Rng,
    pub operations: &'a BTreeMap<String, Operation>,
    pub steps: Vec<Made>,
    /// Whether mistakes are made on purpose.
    pub faulty: bool,
    /// Whether `item` and `index` are in scope.
    pub in_item: Option<Item>,
    /// Assertions, each with the step that it makes sure of.
    pub asserted: Vec<(String, Option<String>)>,
    /// The operation and the arguments of the step before.
    pub last: Option<(&'static str, String)>,
    /// The guard of the step before.
    pub last_when: Option<String>,
    /// A part of the step's own output, where that is in scope.
    pub own_output: Option<String>,
}

/// What a `for_each` walks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// Tickets.
    Ticket,
    /// Texts.
    Text,
}

/// The plan of a seed.
#[must_use]
pub fn draw(seed: u64, operations: &BTreeMap<String, Operation>) -> Drawn {
    let mut rng = Rng::new(seed, "reference");
    let faulty = rng.permille(380);
    let mut generator = Generator {
        rng,
        operations,
        steps: Vec::new(),
        faulty,
        in_item: None,
        asserted: Vec::new(),
        last: None,
        last_when: None,
        own_output: None,
    };
    let trust = |rng: &mut Rng| match rng.between(0, 19) {
        0 => Trust::Data,
        1 => Trust::Text,
        _ => Trust::Trusted,
    };
    let literals = trust(&mut generator.rng);
    let control = trust(&mut generator.rng);
    Drawn {
        text: generator.plan(),
        literals,
        control,
    }
}

impl Generator<'_> {
    fn mistake(&mut self, permille: i64) -> bool {
        self.faulty && self.rng.permille(permille)
    }

    fn plan(&mut self) -> String {
        let count = self.rng.between(1, 8);
        let mut text = String::from("steps:\n");
        for number in 0..count {
            let step = self.step(number);
            text.push_str(&step);
        }
        self.limits(&mut text);
        let proofs = self.rng.between(1, 2);
        text.push_str("success:\n");
        for _ in 0..proofs {
            let id = self.some_id();
            let check = match self.rng.permille(600) {
                true => format!("steps.{id}.status == 'succeeded'"),
                false => format!("steps.{id}.status != 'failed' && {}", self.condition(2)),
            };
            let _ = writeln!(text, "  - {{ for: goal, check: {} }}", whole(&check));
        }
        text.push_str("answer:\n");
        // Why often nothing: an answer that reads anything would tell most secrets, an error beside
        // which the labels of the rest are not compared.
        let claims = match self.rng.permille(650) {
            true => 0,
            false => self.rng.between(1, 3),
        };
        if claims == 0 {
            text.push_str("  - { text: done }\n");
        }
        for _ in 0..claims {
            let claim = self.claim();
            text.push_str(&claim);
        }
        text
    }

    fn limits(&mut self, text: &mut String) {
        if self.rng.permille(220) {
            let name = match self.mistake(160) {
                true => "spend",
                false => self.rng.pick(&["spent", "posted"]),
            };
            let most = self.rng.pick(&["40", "500", "900", "2000", "9000"]);
            let _ = writeln!(text, "limits: {{ values: {{ {name}: {most} }} }}");
        }
    }

    fn claim(&mut self) -> String {
        let mut guarded = None;
        let mut text = String::from("  - { ");
        if self.rng.permille(400) {
            let (when, step) = self.guard();
            guarded = step;
            let _ = write!(text, "when: {}, ", whole(&when));
        }
        let value = match guarded {
            Some(id) => self.read_of(&id),
            None => self.printable(2),
        };
        let _ = write!(text, "text: {}", quoted(&format!("so ${{ {value} }}")));
        if self.rng.permille(200) {
            let id = self.some_id();
            let _ = write!(text, ", cites: [{id}]");
        }
        text.push_str(" }\n");
        text
    }

    /// The id of a step that is there, or, by mistake, is not.
    pub(crate) fn some_id(&mut self) -> String {
        if self.mistake(80) {
            return "ghost".to_owned();
        }
        if self.mistake(60) {
            return format!("s{}", self.rng.between(0, 7));
        }
        let ids: Vec<&str> = self.steps.iter().map(|step| step.id.as_str()).collect();
        let id = self.rng.pick(&ids);
        if id.is_empty() {
            "s0".to_owned()
        } else {
            id.to_owned()
        }
    }

    fn step(&mut self, number: i64) -> String {
        let id = match self.mistake(40) {
            true => format!("s{}", self.rng.between(0, number)),
            false => format!("s{number}"),
        };
        let mut text = format!("  - id: {id}\n");
        if self.rng.permille(70) {
            self.question(&id, &mut text);
            return text;
        }
        if !self.steps.is_empty() && self.rng.permille(110) {
            self.assertion(&id, &mut text);
            return text;
        }
        let again = self.last.take().filter(|_| self.rng.permille(170));
        let name = match &again {
            Some((name, _)) => name,
            None if self.rng.permille(200) => {
                self.rng.pick(&["ledger.post", "notes.add", "vault.read"])
            }
            None if self.rng.permille(180) => {
                let counting = ["rates.get", "card.charge", "card.refund", "desk.trade"];
                self.rng.pick(&counting)
            }
            None => self.rng.pick(&catalog::names()),
        };
        let shown = if self.mistake(30) {
            "tickets.cuont"
        } else {
            name
        };
        let _ = writeln!(text, "    tool: {shown}");
        self.role(name, &mut text);
        let mut guarded = self.order(&mut text);
        let when = self.when(again.is_some());
        let has_when = when.is_some();
        if let Some((when, step)) = when {
            guarded = step.or(guarded);
            let _ = writeln!(text, "    when: {}", whole(&when));
            self.last_when = Some(when);
        }
        let is_list = self.for_each(&mut text);
        let goes_on = self.rng.permille(120);
        if goes_on {
            text.push_str("    on_failure: continue\n");
        }
        if let Some(operation) = self.operations.get(name).cloned() {
            let args = match again {
                Some((_, args)) if self.rng.permille(500) => args,
                _ => self.arguments(&operation, guarded.as_deref()),
            };
            text.push_str(&args);
            self.caution(&operation, &mut text);
            if !operation.effect.is_read() || self.mistake(40) {
                self.side_calls(&operation, &args, &mut text);
            }
            self.last = Some((name, args));
        }
        self.in_item = None;
        self.steps.push(Made {
            id,
            tool: Some(name.to_owned()),
            may_be_absent: has_when || goes_on,
            is_list,
        });
        text
    }

    /// A guard, if there is one, and the step that surely succeeded where it holds; of a call like
    /// the one before mostly one beside the guard of that.
    fn when(&mut self, again: bool) -> Option<(String, Option<String>)> {
        let beside = self.last_when.take().filter(|_| again);
        let has_when = match &beside {
            Some(_) => self.rng.permille(800),
            None => !self.steps.is_empty() && self.rng.permille(380),
        };
        has_when.then(|| match beside {
            Some(other) if self.rng.permille(800) => (self.beside(&other), None),
            _ => self.guard(),
        })
    }

    /// Mostly none or one that admits the tool.
    fn role(&mut self, tool: &str, text: &mut String) {
        let server = tool.split('.').next().unwrap_or(tool);
        let role = if self.mistake(25) {
            "nobodys"
        } else if self.mistake(25) {
            self.rng.pick(&["nothing", "notes", "one_read"])
        } else if self.rng.permille(120) {
            server
        } else {
            return;
        };
        let _ = writeln!(text, "    as: {role}");
    }

    fn question(&mut self, id: &str, text: &mut String) {
        let what = match self.rng.permille(500) {
            true => self.printable(1),
            false => "'which?'".to_owned(),
        };
        let what = quoted(&format!("Say ${{ {what} }}"));
        let answer = match self.rng.permille(300) {
            true => "{ enum: [go, stay] }",
            false => "{ type: string }",
        };
        let lapse = if self.rng.permille(400) {
            let default = match self.mistake(200) {
                true => "3",
                false => "go",
            };
            match self.rng.permille(700) {
                true => format!(", expires: 2h, default: {default}"),
                false => ", expires: 2h".to_owned(),
            }
        } else {
            String::new()
        };
        let _ = writeln!(
            text,
            "    question: {{ text: {what}, answer: {answer}{lapse} }}"
        );
        let has_when = !self.steps.is_empty() && self.rng.permille(400);
        if has_when {
            let when = self.condition(2);
            let _ = writeln!(text, "    when: {}", whole(&when));
        }
        self.steps.push(Made {
            id: id.to_owned(),
            tool: None,
            may_be_absent: has_when,
            is_list: false,
        });
    }

    /// A step that asserts, mostly something that makes a read of another step sure.
    fn assertion(&mut self, id: &str, text: &mut String) {
        let (condition, of) = match self.rng.permille(700) {
            true => self.guard(),
            false => (self.condition(2), None),
        };
        let _ = writeln!(text, "    assert: {}", whole(&condition));
        if self.rng.permille(150) {
            let when = self.condition(1);
            let _ = writeln!(text, "    when: {}", whole(&when));
        }
        let after = match self.rng.between(0, 7) {
            0 => "    on_failure: continue\n",
            1 => "    on_failure: escalate\n",
            2 => "    on_failure: stop\n",
            _ => "",
        };
        text.push_str(after);
        self.asserted.push((id.to_owned(), of));
    }

    /// What it waits for; the step that is surely there by an assertion among that.
    fn order(&mut self, text: &mut String) -> Option<String> {
        if !self.asserted.is_empty() && self.rng.permille(450) {
            let last = self.asserted.len() as i64 - 1;
            let at = usize::try_from(self.rng.between(0, last)).unwrap_or(0);
            let (id, of) = self.asserted.get(at).cloned().unwrap_or_default();
            let _ = writeln!(text, "    needs: [{id}]");
            return of;
        }
        if !self.rng.permille(if self.faulty { 450 } else { 350 }) || self.steps.is_empty() {
            return None;
        }
        let count = self.rng.between(1, 2);
        let mut ids: Vec<String> = (0..count).map(|_| self.some_id()).collect();
        ids.sort();
        ids.dedup();
        let _ = writeln!(text, "    needs: [{}]", ids.join(", "));
        None
    }

    fn for_each(&mut self, text: &mut String) -> bool {
        if !self.rng.permille(130) {
            return false;
        }
        let (list, item) = self.list();
        let _ = writeln!(text, "    for_each: {}\n    max_items: 5", whole(&list));
        self.in_item = Some(item);
        true
    }

    fn arguments(&mut self, operation: &Operation, guarded: Option<&str>) -> String {
        let schema = operation.input.value().clone();
        let fields = schema.get("properties").and_then(Value::as_object);
        let required = schema.get("required").and_then(Value::as_array);
        let mut args = Vec::new();
        for (name, field) in fields.into_iter().flatten() {
            let is_required = required.is_some_and(|names| names.contains(&json!(name)));
            if is_required || self.rng.permille(500) {
                args.push(match !is_required && self.rng.permille(400) {
                    true => self.left_out(name, field),
                    false => format!("{name}: {}", self.argument(field, guarded)),
                });
            }
        }
        match args.as_slice() {
            [] => String::new(),
            args => format!("    args: {{ {} }}\n", args.join(", ")),
        }
    }

    /// An entry that is left out where its value is null: by what a step gave, or by the goal.
    fn left_out(&mut self, name: &str, field: &Value) -> String {
        let is = |word: &str| field.get("type") == Some(&json!(word));
        let test = match self.rng.between(0, 4) {
            0 => "params.most > 700".to_owned(),
            1 => "params.most > 1".to_owned(),
            _ => self.condition(1),
        };
        let value = match () {
            () if field.get("enum").is_some() => "'high'".to_owned(),
            () if is("integer") => self.number(1),
            () if is("object") => "{'a': 1}".to_owned(),
            () if self.rng.permille(300) => "'eve'".to_owned(),
            () => self.text(1),
        };
        let value = match self.rng.permille(500) {
            true => format!("{test} ? {value} : null"),
            false => format!("{test} ? null : {value}"),
        };
        format!("\"?{name}\": {}", whole(&value))
    }

    fn argument(&mut self, field: &Value, guarded: Option<&str>) -> String {
        let is = |word: &str| field.get("type") == Some(&json!(word));
        if let Some(words) = field.get("enum").and_then(Value::as_array) {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            let (one, two) = (self.rng.pick(&words), self.rng.pick(&words));
            return match self.rng.between(0, 3) {
                0 => whole(&format!("{} ? '{one}' : '{two}'", self.condition(1))),
                _ => one.to_owned(),
            };
        }
        if field.get("x-unit").is_some() && self.rng.permille(700) {
            return whole(&self.money(2));
        }
        if is("integer") {
            return match self.rng.between(0, 5) {
                0 | 1 => whole(&self.number(2)),
                2 => quoted("${ params.most }"),
                _ => self.rng.pick(&["1", "7", "501", "20000"]).to_owned(),
            };
        }
        if is("object") {
            return "{ a: 1 }".to_owned();
        }
        if let Some(output) = self.own_output.clone()
            && self.rng.permille(400)
        {
            return whole(&output);
        }
        match self.rng.between(0, 9) {
            0..=3 => {
                let plain = ["PAY-1", "eve", "ada@example.org", "b"];
                quoted(self.rng.pick(&plain))
            }
            4 => quoted("${ params.team }"),
            5 => quoted("to ${ params.team }"),
            6 => quoted(&format!("x ${{ {} }}", self.printable(2))),
            7 if guarded.is_some() => {
                let read = self.read_of(guarded.unwrap_or_default());
                quoted(&format!("y ${{ {read} }}"))
            }
            _ => whole(&self.text(2)),
        }
    }

    /// The read that proves a write, and the call that takes it back.
    fn side_calls(&mut self, operation: &Operation, own: &str, text: &mut String) {
        let fields = operation.output.as_ref().map(|output| output.value());
        let fields = fields.and_then(|output| output.get("properties")?.as_object());
        let first = fields.and_then(|fields| fields.keys().next());
        let output = first.map(|name| format!("string(output.{name})"));
        if self.rng.permille(150) {
            let reads = [
                "tickets.count",
                "config.sla",
                "metrics.latency",
                "rates.get",
            ];
            let tool = match self.mistake(120) {
                true => self.rng.pick(&["db.update", "web.fetch", "tickets.list"]),
                false => self.rng.pick(&reads),
            };
            self.own_output.clone_from(&output);
            let args = self.side_args(tool);
            self.own_output = None;
            let accept = match self.operations.get(tool) {
                Some(read) if !self.mistake(150) => {
                    let accept = self.acceptance(read);
                    accept.replace("output.", "read.")
                }
                _ => "read.peak > 3 && read.total > 1".to_owned(),
            };
            let accept = whole(&accept);
            let call = format!("tool: {tool}, args: {args}, accept: [{accept}]");
            let _ = writeln!(text, "    confirm: {{ {call} }}");
        }
        if self.rng.permille(130) {
            let is_other = |name: &&str| {
                let other = self.operations.get(*name);
                let changes = other.is_some_and(|op| !op.effect.is_read() && op.values.is_empty());
                changes && name.split('.').next() != Some(operation.server())
            };
            let others: Vec<&str> = catalog::names().into_iter().filter(is_other).collect();
            let (tool, args) = if operation.values.is_empty() && self.mistake(80) {
                let own = own.trim().strip_prefix("args: ").unwrap_or("{}");
                (operation.name.clone(), own.to_owned())
            } else {
                let tool = match self.mistake(100) {
                    true => "tickets.count",
                    false => self.rng.pick(&others),
                };
                self.own_output = output;
                let args = self.side_args(tool);
                self.own_output = None;
                (tool.to_owned(), args)
            };
            let _ = writeln!(text, "    undo: {{ tool: {tool}, args: {args} }}");
        }
    }

    fn side_args(&mut self, tool: &str) -> String {
        let operation = self.operations.get(tool).cloned();
        let args = operation.map(|operation| self.arguments(&operation, None));
        let args = args.unwrap_or_default();
        let args = args.trim().strip_prefix("args: ").unwrap_or("{}");
        args.to_owned()
    }

    fn caution(&mut self, operation: &Operation, text: &mut String) {
        let changes = !operation.effect.is_read();
        let has_output = operation.output.is_some();
        let polls = if changes { 5 } else { 80 };
        if has_output && self.rng.permille(polls) {
            let until = match self.mistake(100) {
                true => self.condition(1),
                false => self.acceptance(operation),
            };
            let at_most = if self.mistake(50) { "1s" } else { "1m" };
            let until = whole(&until);
            let _ = writeln!(
                text,
                "    until: {until}\n    every: 20s\n    at_most: {at_most}"
            );
        }
        if has_output && self.rng.permille(if changes { 850 } else { 60 }) {
            let accept = match self.mistake(100) {
                true => self.condition(1),
                false => self.acceptance(operation),
            };
            let _ = writeln!(text, "    accept: [{}]", whole(&accept));
        }
        let word = match self.rng.between(0, 19) {
            0 => "critical",
            1 => "high",
            2 if self.faulty => "medium",
            3 if self.faulty => "low",
            _ => "",
        };
        if !word.is_empty() {
            let _ = writeln!(text, "    risk: {word}");
        }
        if self.rng.permille(90) {
            text.push_str("    approval: required\n");
        }
    }
}

/// A YAML text that is one expression.
pub(crate) fn whole(expression: &str) -> String {
    quoted(&format!("${{ {expression} }}"))
}

/// A YAML text: JSON's form of it is one.
pub(crate) fn quoted(text: &str) -> String {
    json!(text).to_string()
}
