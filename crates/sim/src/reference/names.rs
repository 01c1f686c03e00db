//! Plans with a `let` and conditions per item, and the same plans with both written out by a
//! reading of its own.
//!
//! Owns where names and terms over items are put into a drawn plan, and how they are taken out
//! again. Judges nothing. INVARIANT: the check says the same of both, as far as it does not say
//! where.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::check::{Checked, StepRecord};
use provost_plan::node::parse_yaml;
use provost_plan::plan::Plan;
use provost_plan::plan::read::read_plan;
use provost_plan::source::Source;
use serde_json::{Map, Value, json};

use super::compare::Bench;
use super::plans::Drawn;
use crate::rng::Rng;

/// A plan in two forms.
#[derive(Clone, Debug)]
pub struct NamedPlan {
    /// With a `let`.
    pub named: String,
    /// With its names written out.
    pub written: String,
    /// How many names there are.
    pub count: usize,
    /// How many conditions read the items of their step.
    pub asked: usize,
}

/// How a name is written out: what a planted fault would do otherwise.
pub type WriteOut<'a> = dyn Fn(&str) -> String + 'a;

/// The list of which each item is asked a term, from a list and the term.
pub type AskItems<'a> = dyn Fn(&str, &str) -> String + 'a;

/// A filter of the list.
#[must_use]
pub fn in_a_filter(list: &str, term: &str) -> String {
    format!("({list}).filter(item, {term})")
}

/// In parentheses, unless no operator stands in it: the generator writes blanks around each.
#[must_use]
pub fn in_parentheses(expression: &str) -> String {
    let places = outside_quotes(expression);
    let has_operator = places.iter().any(|(_, c, depth)| *c == ' ' && *depth == 0);
    match has_operator || expression.starts_with(['!', '-']) {
        true => format!("({expression})"),
        false => expression.to_owned(),
    }
}

/// Names some of what a drawn plan holds.
#[must_use]
pub fn named(
    drawn: &Drawn,
    seed: u64,
    write_out: &WriteOut<'_>,
    ask_items: &AskItems<'_>,
) -> Option<NamedPlan> {
    let mut plan = parse_yaml(&drawn.text).ok()?.to_value();
    let mut naming = Naming {
        rng: Rng::new(seed, "names"),
        of_plan: Map::new(),
        of_step: Map::new(),
        is_in_step: false,
        count: 0,
    };
    for field in ["success", "answer"] {
        texts(plan.get_mut(field)?, &mut |text| naming.text(text));
    }
    naming.is_in_step = true;
    let mut terms = Vec::new();
    for step in plan.get_mut("steps")?.as_array_mut()? {
        let term = naming.term(step);
        fields(step, &mut |text| naming.text(text));
        let when = field(step, "when").map(str::to_owned);
        if let Some(term) = &term {
            step.as_object_mut()?
                .insert("when".to_owned(), term.beside(when.as_deref()).into());
        }
        terms.push((when, term));
        let own = std::mem::take(&mut naming.of_step);
        if !own.is_empty() {
            step.as_object_mut()?.insert("let".to_owned(), own.into());
        }
    }
    plan.as_object_mut()?
        .insert("let".to_owned(), naming.of_plan.into());
    let named = plan.to_string();
    let of_plan = taken(&mut plan);
    for field in ["success", "answer"] {
        let names = Names(&[&of_plan], write_out);
        texts(plan.get_mut(field)?, &mut |text| names.written(text));
    }
    let asked = terms.iter().filter(|(_, term)| term.is_some()).count();
    for (step, (when, term)) in plan.get_mut("steps")?.as_array_mut()?.iter_mut().zip(terms) {
        let own = taken(step);
        let names = Names(&[&own, &of_plan], write_out);
        if let Some(term) = &term {
            let list = ask_items(field(step, "for_each")?, &term.text);
            let step = step.as_object_mut()?;
            step.insert("for_each".to_owned(), whole(&list).into());
            match when {
                Some(when) => step.insert("when".to_owned(), whole(&when).into()),
                None => step.remove("when"),
            };
        }
        fields(step, &mut |text| names.written(text));
    }
    Some(NamedPlan {
        named,
        written: plan.to_string(),
        count: naming.count,
        asked,
    })
}

impl Bench {
    /// What the check says of one form of a plan and not of the other.
    ///
    /// # Errors
    /// The difference, in words.
    pub fn compare_names(&self, drawn: &Drawn, plan: &NamedPlan) -> Result<(), String> {
        let read = |text: &str| {
            let plan = read_plan(&Source::new("plan.json", text));
            plan.map_err(|found| format!("unreadable: {found:?}"))
        };
        let (named, written) = (read(&plan.named)?, read(&plan.written)?);
        let said = |plan: &Plan| said(plan, &self.check(plan, drawn));
        let all = [said(&named), said(&written)];
        match all {
            [named, written] if named == written => Ok(()),
            [named, written] => Err(format!("with names:\n{named}\nwithout:\n{written}")),
        }
    }
}

/// What the check says of a plan, without digests and places, and what decides its steps.
fn said(plan: &Plan, checked: &Checked) -> String {
    let decide = plan.steps.iter().map(|step| {
        let lists = step.for_each.iter().map(|each| &each.list);
        step.when
            .iter()
            .chain(lists)
            .map(|text| text.form() + "\n")
            .collect::<String>()
    });
    let decide: String = decide.collect();
    let codes: BTreeSet<&str> = checked
        .diagnostics
        .iter()
        .map(|finding| finding.code.as_str())
        .collect();
    let without_digest = |(id, step): (&String, &StepRecord)| {
        let mut step = json!(step);
        if let Some(step) = step.as_object_mut() {
            step.remove("closure");
            step.remove("run_checks");
        }
        (id.clone(), step)
    };
    let steps = checked.plan.as_ref().map(|plan| &plan.record().steps);
    let steps: BTreeMap<String, Value> = steps.into_iter().flatten().map(without_digest).collect();
    format!("{codes:?}\n{}\n{:?}\n{decide}", json!(steps), checked.worst)
}

fn whole(expression: &str) -> String {
    format!("${{ {expression} }}")
}

/// The expression that a field of a step is.
fn field<'v>(step: &'v Value, field: &str) -> Option<&'v str> {
    let text = step.get(field)?.as_str()?;
    Some(text.strip_prefix("${")?.strip_suffix('}')?.trim())
}

/// A term of a condition that each item is asked.
struct ItemTerm {
    text: String,
    is_first: bool,
}

impl ItemTerm {
    /// The condition that asks it beside `when`.
    fn beside(&self, when: Option<&str>) -> String {
        whole(&match (when, self.is_first) {
            (None, _) => self.text.clone(),
            (Some(when), true) => format!("{} && {}", self.text, in_parentheses(when)),
            (Some(when), false) => format!("{} && {}", in_parentheses(when), self.text),
        })
    }
}

fn taken(holder: &mut Value) -> Map<String, Value> {
    let names = holder.as_object_mut().and_then(|map| map.remove("let"));
    match names {
        Some(Value::Object(names)) => names,
        _ => Map::new(),
    }
}

/// The texts of a step that hold expressions.
fn fields(step: &mut Value, change: &mut dyn FnMut(&str) -> String) {
    for field in [
        "when", "for_each", "args", "accept", "until", "confirm", "undo",
    ] {
        if let Some(value) = step.get_mut(field) {
            texts(value, change);
        }
    }
    if let Some(text) = step.pointer_mut("/question/text") {
        texts(text, change);
    }
}

fn texts(value: &mut Value, change: &mut dyn FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = change(text),
        Value::Array(items) => items.iter_mut().for_each(|item| texts(item, change)),
        Value::Object(map) => map.values_mut().for_each(|item| texts(item, change)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The text with each of its expressions changed.
fn expressions(text: &str, change: &mut dyn FnMut(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("${") {
        let end = balanced(inside);
        let expression = inside.get(..end).unwrap_or(inside).trim();
        out.push_str(before);
        out.push_str(&format!("${{ {} }}", change(expression)));
        rest = inside.get(end + 1..).unwrap_or_default();
    }
    out + rest
}

/// Where the brace stands that ends an expression.
fn balanced(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c, _) in outside_quotes(text) {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// The characters that stand in no string, with their place and the depth of brackets.
fn outside_quotes(text: &str) -> Vec<(usize, char, usize)> {
    let mut out = Vec::new();
    let mut quote = None;
    let mut depth = 0_usize;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) => {
                quote = (escaped || c != open).then_some(open);
                escaped = !escaped && c == '\\';
            }
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {
                depth = match c {
                    ')' | ']' | '}' => depth.saturating_sub(1),
                    _ => depth,
                };
                out.push((at, c, depth));
                depth += usize::from(matches!(c, '(' | '[' | '{'));
            }
        }
    }
    out
}

/// Puts names into a plan.
struct Naming {
    rng: Rng,
    of_plan: Map<String, Value>,
    of_step: Map<String, Value>,
    is_in_step: bool,
    count: usize,
}

impl Naming {
    fn text(&mut self, text: &str) -> String {
        expressions(text, &mut |expression| self.expression(expression))
    }

    fn expression(&mut self, expression: &str) -> String {
        match self.rng.between(0, 3) {
            0 => expression.to_owned(),
            1 => self.name(expression),
            2 => match split(expression) {
                Some((left, operator, right)) => {
                    let right = self.name(right);
                    let left = match self.rng.permille(500) {
                        true => self.name(left),
                        false => left.to_owned(),
                    };
                    format!("{left}{operator}{right}")
                }
                None => self.name(expression),
            },
            _ => self.paths(expression),
        }
    }

    /// A term over the items of a step: over something that its arguments read of them.
    fn term(&mut self, step: &mut Value) -> Option<ItemTerm> {
        field(step, "for_each")?;
        // Why: two terms of items are one filter, and written out one after the other they are two.
        if field(step, "when").is_some_and(|when| item_path(when).is_some()) {
            return None;
        }
        let mut paths = BTreeSet::new();
        texts(step.get_mut("args")?, &mut |text| {
            let mut found = |expression: &str| {
                paths.extend(item_path(expression));
                expression.to_owned()
            };
            expressions(text, &mut found);
            text.to_owned()
        });
        paths.insert("item".to_owned());
        let paths: Vec<String> = paths.into_iter().collect();
        let last = i64::try_from(paths.len()).ok()? - 1;
        let path = paths.get(usize::try_from(self.rng.between(0, last)).ok()?)?;
        let term = match self.rng.between(0, 2) {
            0 => format!("{path} != null"),
            1 => format!("({path} == null || 1 == 2)"),
            _ if path.contains('.') => format!("has({path})"),
            _ => format!("!({path} == null)"),
        };
        let text = match self.rng.permille(300) {
            true => self.name(&term),
            false => term,
        };
        let is_first = self.rng.permille(500);
        Some(ItemTerm { text, is_first })
    }

    /// Names the paths of an expression that begin at a step.
    fn paths(&mut self, expression: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        for (place, _, _) in outside_quotes(expression) {
            let here = expression.get(place..).unwrap_or_default();
            let before = expression.get(..place).and_then(|t| t.chars().next_back());
            if place < at || before.is_some_and(is_word) || !here.starts_with("steps.") {
                continue;
            }
            let length = here.find(|c| !is_word(c)).unwrap_or(here.len());
            let path = here.get(..length).unwrap_or_default();
            // Why: the last word in front of a parenthesis is a function.
            let path = match here.get(length..).is_some_and(|rest| rest.starts_with('(')) {
                true => path.rsplit_once('.').map_or("", |(path, _)| path),
                false => path,
            };
            if path.matches('.').count() >= 2 {
                out.push_str(expression.get(at..place).unwrap_or_default());
                out.push_str(&self.name(path));
                at = place + path.len();
            }
        }
        out + expression.get(at..).unwrap_or_default()
    }

    /// A name for an expression, sometimes through another name.
    fn name(&mut self, expression: &str) -> String {
        let is_of_step = reads_of_step(expression);
        let is_own = self.is_in_step && (is_of_step || self.rng.permille(250));
        if !is_own && is_of_step {
            return expression.to_owned();
        }
        let name = format!("n{}", self.count);
        self.count += 1;
        let inner = match self.rng.permille(250) {
            true => self.name(expression),
            false => expression.to_owned(),
        };
        // Why: a name of the plan sees none of a step.
        let names_own = self.of_step.keys().any(|own| inner == format!("let.{own}"));
        let into = match is_own || names_own {
            true => &mut self.of_step,
            false => &mut self.of_plan,
        };
        into.insert(name.clone(), format!("${{ {inner} }}").into());
        format!("let.{name}")
    }
}

/// The first path of an expression that begins at an item.
fn item_path(expression: &str) -> Option<String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    outside_quotes(expression)
        .into_iter()
        .find_map(|(at, _, _)| {
            let here = expression.get(at..)?;
            let before = expression.get(..at)?.chars().next_back();
            let length = here.find(|c| !is_word(c)).unwrap_or(here.len());
            let path = here.get(..length)?;
            let is_item = path == "item" || path.starts_with("item.");
            let is_call = here.get(length..)?.starts_with('(');
            (is_item && !is_call && !before.is_some_and(is_word)).then(|| path.to_owned())
        })
}

/// Whether an expression reads what only a step has.
fn reads_of_step(expression: &str) -> bool {
    const OF_STEPS: [&str; 4] = ["item", "index", "output", "read"];
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    outside_quotes(expression).into_iter().any(|(at, _, _)| {
        let here = expression.get(at..).unwrap_or_default();
        let before = expression.get(..at).and_then(|t| t.chars().next_back());
        let word = here.split(|c| !is_word(c) || c == '.').next();
        !before.is_some_and(is_word) && word.is_some_and(|word| OF_STEPS.contains(&word))
    })
}

/// An expression in two, at an operator outside of all brackets.
fn split(expression: &str) -> Option<(&str, &str, &str)> {
    if expression.contains(" ? ") {
        return None;
    }
    const OPERATORS: [&str; 8] = [" && ", " || ", " == ", " != ", " > ", " < ", " + ", " - "];
    let places = outside_quotes(expression).into_iter();
    let mut places = places.filter(|(_, _, depth)| *depth == 0);
    places.find_map(|(at, _, _)| {
        let here = expression.get(at..)?;
        let operator = OPERATORS
            .iter()
            .find(|operator| here.starts_with(**operator))?;
        let right = here.get(operator.len()..)?;
        Some((expression.get(..at)?, *operator, right))
    })
}

/// Takes names out of a plan.
struct Names<'a>(&'a [&'a Map<String, Value>], &'a WriteOut<'a>);

impl Names<'_> {
    fn written(&self, text: &str) -> String {
        expressions(text, &mut |expression| self.expression(expression))
    }

    fn expression(&self, expression: &str) -> String {
        let mut out = String::new();
        let mut at = 0;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for (place, _, _) in outside_quotes(expression) {
            let here = expression.get(place..).unwrap_or_default();
            let before = expression.get(..place).and_then(|t| t.chars().next_back());
            let is_part = before.is_some_and(|c| is_word(c) || c == '.');
            let Some(name) = here
                .strip_prefix("let.")
                .filter(|_| !is_part && place >= at)
            else {
                continue;
            };
            let length = name.find(|c| !is_word(c)).unwrap_or(name.len());
            let name = name.get(..length).unwrap_or_default();
            let meant = self.0.iter().find_map(|names| names.get(name)?.as_str());
            let meant = meant.and_then(|text| text.strip_prefix("${ ")?.strip_suffix(" }"));
            out.push_str(expression.get(at..place).unwrap_or_default());
            let meant = self.expression(meant.unwrap_or("null"));
            let is_alone = expression.len() == "let.".len() + length;
            out.push_str(&match is_alone {
                true => meant,
                false => (self.1)(&meant),
            });
            at = place + "let.".len() + length;
        }
        out + expression.get(at..).unwrap_or_default()
    }
}
