//! Expressions of every kind, over the steps made so far.

use serde_json::Value;

use super::{Generator, Item, Made};

/// The kinds of value an expression is wanted of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Flag,
}

impl Generator<'_> {
    /// A read of some output of this kind, guarded where it has to be, mostly.
    fn read(&mut self, kind: Kind) -> Option<String> {
        let mut found = Vec::new();
        for step in &self.steps {
            for path in self.paths(step, kind) {
                found.push((step.clone(), path));
            }
        }
        if self.faulty && self.rng.permille(60) {
            let id = self.some_id();
            return Some(format!("steps.{id}.output.total"));
        }
        let places: Vec<usize> = (0..found.len()).collect();
        let (step, path) = found.get(self.rng.pick(&places))?.clone();
        let bare = match self.rng.permille(if self.faulty { 250 } else { 40 }) {
            true => step.may_be_absent,
            false => false,
        };
        if !step.may_be_absent || bare {
            return Some(path);
        }
        let other = match kind {
            Kind::Number => "0",
            Kind::Text => "'none'",
            Kind::Flag => "false",
        };
        let id = &step.id;
        Some(match self.rng.between(0, 4) {
            0 if kind == Kind::Flag => format!("(steps.{id}.status == 'succeeded' && {path})"),
            1 if kind == Kind::Flag => {
                format!("(steps.{id}.status != 'succeeded' || {path})")
            }
            2 => format!("(steps.{id}.status != 'succeeded' ? {other} : {path})"),
            3 => format!("(steps.{id}.status in ['succeeded'] ? {path} : {other})"),
            _ => format!("(steps.{id}.status == 'succeeded' ? {path} : {other})"),
        })
    }

    /// The reads of a step's output that are of this kind.
    fn paths(&self, step: &Made, kind: Kind) -> Vec<String> {
        let out = format!("steps.{}.output", step.id);
        let texts: &[&str] = match (step.tool.as_deref(), step.is_list, kind) {
            (None, _, Kind::Text) => &["{}"],
            (None, ..) => &[],
            (_, true, Kind::Number) => &["size({})"],
            (_, true, Kind::Text) => &["json({})"],
            (_, true, Kind::Flag) => &["size({}) > 1"],
            (Some(tool), false, kind) => fields(tool, kind),
        };
        texts.iter().map(|text| text.replace("{}", &out)).collect()
    }

    /// A read of a step of which a guard said that it succeeded.
    pub(crate) fn read_of(&mut self, id: &str) -> String {
        let step = self.steps.iter().find(|step| step.id == id).cloned();
        let Some(step) = step else {
            return format!("steps.{id}.status");
        };
        let mut paths = self.paths(&step, Kind::Number);
        paths.extend(self.paths(&step, Kind::Text));
        let places: Vec<usize> = (0..paths.len()).collect();
        let path = paths.get(self.rng.pick(&places));
        path.cloned()
            .unwrap_or_else(|| format!("steps.{id}.status"))
    }

    pub(crate) fn number(&mut self, depth: u32) -> String {
        match self.rng.between(0, 9) {
            0 => self.rng.between(0, 900).to_string(),
            1 if depth > 0 => format!("{} + {}", self.number(depth - 1), self.number(depth - 1)),
            2 if depth > 0 => {
                let test = self.condition(depth - 1);
                format!("({test} ? {} : 3)", self.number(depth - 1))
            }
            3 if self.in_item.is_some() => "index".to_owned(),
            _ => self.read(Kind::Number).unwrap_or_else(|| "4".to_owned()),
        }
    }

    /// An amount, mostly one that a step knows the unit of.
    pub(crate) fn money(&mut self, depth: u32) -> String {
        let known = |step: &&Made| {
            let is_rate = step.tool.as_deref() == Some("rates.get");
            is_rate && !step.may_be_absent && !step.is_list
        };
        let rates = self.steps.iter().filter(known);
        let rates: Vec<String> = rates.map(|step| step.id.clone()).collect();
        let places: Vec<usize> = (0..rates.len()).collect();
        let Some(id) = rates.get(self.rng.pick(&places)).cloned() else {
            return self.rng.pick(&["12", "60", "170", "450"]).to_owned();
        };
        let out = format!("steps.{id}.output");
        let inner = depth.saturating_sub(1);
        match self.rng.between(0, 13) {
            0 if depth > 0 => format!("{} + {}", self.money(inner), self.money(inner)),
            1 if depth > 0 => format!("{out}.eur - {}", self.money(inner)),
            2 if depth > 0 => format!("min({}, {})", self.money(inner), self.money(inner)),
            3 if depth > 0 => format!("max({}, {})", self.money(inner), self.money(inner)),
            4 if depth > 0 => {
                let test = self.condition(inner);
                format!("({test} ? {} : {})", self.money(inner), self.money(inner))
            }
            5 => format!("{out}.usd * 2"),
            6 => format!("{out}.eur * {out}.eur"),
            7 => format!("sum({out}.rows.map(q, q.price))"),
            8 => format!("math.abs({out}.usd)"),
            9 => self.rng.pick(&["25", "80", "300"]).to_owned(),
            10 => format!("{out}.usd"),
            _ => format!("{out}.eur"),
        }
    }

    /// A guard beside another one: its opposite, another range, or one that goes with it.
    pub(crate) fn beside(&mut self, other: &str) -> String {
        let swapped = [
            (" > ", " <= "),
            (" < ", " >= "),
            (" >= ", " < "),
            (" != ", " == "),
            (" == ", " != "),
        ];
        let found = swapped.iter().find(|(from, _)| other.contains(from));
        match self.rng.between(0, 6) {
            0 => format!("!({other})"),
            1 => format!("!({other}) && {}", self.condition(1)),
            2 => other.to_owned(),
            3 => format!("({other}) && {}", self.condition(1)),
            4 => format!("({} ? !({other}) : false)", self.condition(0)),
            _ => match found {
                Some((from, to)) => other.replacen(from, to, 1),
                None => format!("!({other})"),
            },
        }
    }

    pub(crate) fn text(&mut self, depth: u32) -> String {
        match self.rng.between(0, 13) {
            0 => "'PAY-1'".to_owned(),
            1 => "'ada@example.org' + 'x'".to_owned(),
            2 if depth > 0 => {
                let test = self.condition(depth - 1);
                format!("({test} ? {} : 'b')", self.text(depth - 1))
            }
            3 => format!("string({})", self.number(depth.saturating_sub(1))),
            4 if !self.steps.is_empty() => format!("steps.{}.status", self.some_id()),
            5 if !self.steps.is_empty() => {
                let id = self.some_id();
                format!("{{'succeeded': 'a', 'skipped': 'b', 'failed': 'c'}}[steps.{id}.status]")
            }
            6 if self.faulty => "params.tem".to_owned(),
            6 => "params.team".to_owned(),
            7 => "run.id".to_owned(),
            8 if self.faulty && self.rng.permille(400) => "string(item)".to_owned(),
            9 if self.faulty && self.rng.permille(200) => "string(outputs)".to_owned(),
            10 if !self.steps.is_empty() && self.rng.permille(300) => {
                let id = self.some_id();
                format!("(steps.{id}.status == 'failed' ? json(steps.{id}.error) : 'fine')")
            }
            _ => match self.in_item {
                Some(item) if self.rng.permille(600) => self.item(item),
                _ => self.read(Kind::Text).unwrap_or_else(|| "'c'".to_owned()),
            },
        }
    }

    fn item(&mut self, item: Item) -> String {
        match item {
            Item::Text => "item".to_owned(),
            Item::Ticket => {
                let reads = [
                    "item.id",
                    "item.subject",
                    "item.priority",
                    "(has(item.due) ? item.due : 'never')",
                    "(item.owner != null ? string(item.owner) : 'nobody')",
                ];
                match self.faulty && self.rng.permille(150) {
                    true => "item.due".to_owned(),
                    false => self.rng.pick(&reads).to_owned(),
                }
            }
        }
    }

    /// What prints inside a text.
    pub(crate) fn printable(&mut self, depth: u32) -> String {
        match self.rng.permille(500) {
            true => self.number(depth),
            false => self.text(depth),
        }
    }

    pub(crate) fn condition(&mut self, depth: u32) -> String {
        match self.rng.between(0, 11) {
            0 | 1 if !self.steps.is_empty() => self.status_test(),
            2 if self.rng.permille(150) => {
                let operator = self.rng.pick(&["<", ">=", "=="]);
                format!("{} {operator} {}", self.money(1), self.money(1))
            }
            2 | 3 => {
                let operator = self.rng.pick(&["<", ">", "==", ">=", "!="]);
                format!("{} {operator} {}", self.number(0), self.rng.between(0, 9))
            }
            4 => format!("({} + '') == 'x'", self.text(0)),
            5 if depth > 0 => {
                format!(
                    "({} && {})",
                    self.condition(depth - 1),
                    self.condition(depth - 1)
                )
            }
            6 if depth > 0 => {
                format!(
                    "({} || {})",
                    self.condition(depth - 1),
                    self.condition(depth - 1)
                )
            }
            7 if depth > 0 => format!("!({})", self.condition(depth - 1)),
            8 => format!("{}.contains('x')", self.plain_text()),
            9 => format!("({} + '') in ['x', 'y']", self.text(0)),
            10 if self.rng.permille(150) => self.rng.pick(&["true", "false"]).to_owned(),
            _ => self
                .read(Kind::Flag)
                .unwrap_or_else(|| "params.team == 'x'".to_owned()),
        }
    }

    fn plain_text(&mut self) -> String {
        let text = self.text(0);
        format!("({text})")
    }

    fn status_test(&mut self) -> String {
        let id = self.some_id();
        let word = self
            .rng
            .pick(&["succeeded", "succeeded", "skipped", "failed"]);
        match self.rng.between(0, 5) {
            0 => format!("steps.{id}.status != '{word}'"),
            1 => format!("steps.{id}.status in ['{word}', 'failed']"),
            2 => format!("'{word}' == steps.{id}.status"),
            _ => format!("steps.{id}.status == '{word}'"),
        }
    }

    /// A guard, and the step that surely succeeded where it holds, if there is one.
    pub(crate) fn guard(&mut self) -> (String, Option<String>) {
        if self.steps.is_empty() || self.rng.permille(450) {
            return (self.condition(2), None);
        }
        let id = self.some_id();
        let test = format!("steps.{id}.status == 'succeeded'");
        let (text, holds) = match self.rng.between(0, 6) {
            0 => (format!("{test} && {}", self.condition(1)), true),
            1 => (format!("{} && {test}", self.condition(1)), true),
            2 => (
                format!("{test} || {}", self.condition(1)),
                self.rng.permille(200),
            ),
            3 => (format!("!(steps.{id}.status != 'succeeded')"), true),
            4 => (format!("!({test})"), self.rng.permille(100)),
            _ => (test, true),
        };
        (text, holds.then_some(id))
    }

    /// A list to walk, and what is in it.
    pub(crate) fn list(&mut self) -> (String, Item) {
        let lists: Vec<Made> = self
            .steps
            .iter()
            .filter(|step| step.tool.as_deref() == Some("tickets.list") && !step.is_list)
            .cloned()
            .collect();
        let sure = lists.iter().find(|step| !step.may_be_absent || self.faulty);
        let Some(id) = sure.map(|step| step.id.clone()) else {
            return ("['PAY-1', 'b']".to_owned(), Item::Text);
        };
        let items = format!("steps.{id}.output.items");
        match self.rng.between(0, 5) {
            0 => (format!("{items}.map(t, t.id)"), Item::Text),
            1 => (
                format!("{items}.filter(t, t.priority == 'high')"),
                Item::Ticket,
            ),
            2 => (
                format!("{items}.filter(t, t.subject.contains('x'))"),
                Item::Ticket,
            ),
            3 => (
                format!("{items}.map(t, t.priority == 'low', t.subject)"),
                Item::Text,
            ),
            4 => (
                format!("{items}.filter(t, has(t.due)).map(t, t.due)"),
                Item::Text,
            ),
            _ => (items, Item::Ticket),
        }
    }

    /// What must hold over an operation's own output.
    pub(crate) fn acceptance(&mut self, operation: &provost_plan::catalog::Operation) -> String {
        let output = operation
            .output
            .as_ref()
            .map(|schema| schema.value().clone());
        let fields = output.as_ref().and_then(|value| value.get("properties"));
        let first = fields
            .and_then(Value::as_object)
            .and_then(|fields| fields.iter().next());
        let Some((name, field)) = first else {
            return "true".to_owned();
        };
        match field.get("type").and_then(Value::as_str) {
            Some("boolean") => format!("output.{name}"),
            Some("integer") if name != "peak" => format!("output.{name} >= 1"),
            _ => format!("has(output.{name})"),
        }
    }
}

/// The reads of an operation's output; `{}` stands for the output.
fn fields(tool: &str, kind: Kind) -> &'static [&'static str] {
    match (tool, kind) {
        ("tickets.count" | "tickets.list", Kind::Number) => &["{}.total"],
        ("tickets.list", Kind::Text) => &[
            "{}.items.map(t, t.subject).join(',')",
            "{}.items.map(t, t.id).join(',')",
            "{}.items[0].id",
            "(size({}.items) > 0 ? {}.items[0].subject : 'none')",
            "(size({}.items) == 0 ? 'none' : first({}.items).id)",
            "{}.items.filter(t, has(t.due)).map(t, t.due).join(',')",
            "{}.items.map(t, has(t.due) ? t.due : 'never').join(',')",
            "{}.items.map(t, t.due).join(',')",
            "json({})",
        ],
        ("tickets.list", Kind::Flag) => &[
            "{}.items.exists(t, t.subject == 'x')",
            "{}.items.exists(t, t.subject.contains('x'))",
            "{}.items.all(t, t.priority == 'high')",
            "size({}.items) > 0",
            "({}.items != [] && {}.total > 1)",
        ],
        ("tickets.close", Kind::Flag) => &["{}.closed"],
        ("config.sla", Kind::Number) => &["{}.max"],
        ("rates.get", Kind::Number) => &["{}.most", "{}.eur"],
        ("config.sla", Kind::Text) => &["{}.mode", "{}.contact"],
        ("pager.notify", Kind::Flag) => &["{}.delivered"],
        ("mail.send", Kind::Text) => &["{}.id"],
        ("db.update" | "db.delete" | "db.purge", Kind::Number) => &["{}.rows"],
        ("bank.pay" | "bank.move", Kind::Text) => &["{}.receipt"],
        (
            "access.grant" | "deploy.start" | "prod.set" | "notes.add" | "ledger.post" | "free.put"
            | "old.drop" | "card.charge" | "card.refund" | "desk.trade",
            Kind::Flag,
        ) => &["{}.ok"],
        ("web.fetch" | "web.ping", Kind::Number) => &["{}.code"],
        ("web.fetch", Kind::Text) => &["{}.body"],
        ("vault.read", Kind::Text) => &["{}.value"],
        ("vault.read", Kind::Number) => &["{}.uses"],
        ("vault.read", Kind::Flag) => &["{}.value == 'x'"],
        ("metrics.latency", Kind::Number) => &[
            "(has({}.peak) ? {}.peak : 0)",
            "{}.peak",
            "({}.meta != null ? {}.meta.k : 1)",
            "({}.meta == null ? 2 : {}.meta.k)",
            "{}.meta.k",
            "sum({}.points.map(p, p.p95))",
            "size({}.points)",
        ],
        ("metrics.latency", Kind::Text) => &["{}.day", "{}.slug", "{}.long"],
        ("metrics.latency", Kind::Flag) => {
            &["{}.flag", "has({}.peak)", "has({}.peak) && {}.peak > 3"]
        }
        ("free.get" | "raw.get", Kind::Text) => &["json({})"],
        _ => &[],
    }
}
