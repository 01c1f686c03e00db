//! Lines of arguments, and filling them.
//!
//! Owns the places that a call fills. Never splits a value, and never joins two. INVARIANT: a
//! filled line has as many arguments as its template, and what begins with `-` or `@` there began
//! with it in the template, or stands behind a `--` of the template.

use provost_plan::digest::canonical;
use provost_plan::expr::{Part, Reference, Scope, Template};
use provost_run::outcome::Class;
use serde_json::Value;

use crate::fault::Fault;

/// Behind it no argument is an option.
const END_OF_OPTIONS: &str = "--";

/// A line of arguments, the program first.
#[derive(Clone, Debug)]
pub(crate) struct Argv(pub(super) Vec<Template>);

impl Argv {
    /// Everything that expressions in it read.
    pub(super) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.0.iter().flat_map(Template::references)
    }

    /// The arguments that no call fills anything into, each at its place.
    pub(super) fn constants(&self) -> Vec<Option<&str>> {
        self.0.iter().map(literal).collect()
    }

    /// What is wrong with the argument at `index`, whatever a call fills in.
    pub(super) fn problem(&self, index: usize) -> Option<String> {
        let template = self.0.get(index)?;
        let text = template.text();
        if index == 0 {
            return program_problem(template);
        }
        let Some(Part::Text(begins)) = template.parts().first() else {
            return None;
        };
        let is_dashes = begins.chars().all(|c| c == '-');
        (!template.is_constant() && is_dashes && !self.is_behind_end(index))
            .then(|| format!("`{text}` would let a call choose the option; write the option out"))
    }

    /// Whether an argument before this one says that no options follow.
    fn is_behind_end(&self, index: usize) -> bool {
        let before = self.0.iter().take(index);
        before
            .skip(1)
            .any(|template| literal(template) == Some(END_OF_OPTIONS))
    }

    /// Fills in the arguments of a call and the key.
    pub(super) fn fill(&self, args: &Value, key: &Value) -> Result<Vec<String>, Fault> {
        let scope = Scope::new().with("args", args).with("key", key);
        let filled = self.0.iter().enumerate();
        filled
            .map(|(index, template)| self.argument(index, template, &scope))
            .collect()
    }

    fn argument(
        &self,
        index: usize,
        template: &Template,
        scope: &Scope<'_>,
    ) -> Result<String, Fault> {
        let mut text = String::new();
        for part in template.parts() {
            match part {
                Part::Text(literal) => text.push_str(literal),
                Part::Expr(expression) => {
                    let value = expression
                        .eval(scope)
                        .map_err(|error| refused(&error.to_string()))?;
                    let source = expression.source();
                    let value = scalar(&value)
                        .ok_or_else(|| refused(&format!("`{source}` is no text or number")))?;
                    let never = |what: &str| {
                        let message = unbuilt(&format!("`{source}` {what}"));
                        Fault::refused_value(expression, Class::InvalidArguments, message)
                    };
                    if value.contains('\0') {
                        return Err(never("holds a zero byte"));
                    }
                    let begins = value.chars().next().filter(|_| text.is_empty());
                    if let (Some(meaning), false) = (meaning(begins), self.is_behind_end(index)) {
                        return Err(never(&format!("begins with {meaning}")));
                    }
                    text.push_str(&value);
                }
            }
        }
        Ok(text)
    }
}

/// What many programs take an argument for that begins so, where the operator wrote a value.
fn meaning(begins: Option<char>) -> Option<&'static str> {
    match begins? {
        '-' => Some("`-` and would be an option"),
        '@' => Some("`@` and would name a file to read arguments from"),
        _ => None,
    }
}

fn program_problem(template: &Template) -> Option<String> {
    let Some(name) = literal(template) else {
        return Some("the program is the operator's: no call fills in a part of it".to_owned());
    };
    if name.is_empty() {
        return Some("the program has no name".to_owned());
    }
    // Why absolute: what lies where a tool works may be written by a tool.
    (name.contains('/') && !name.starts_with('/'))
        .then(|| format!("`{name}` must be an absolute path, or a name that `path` leads to"))
}

/// The text of a template without expressions.
fn literal(template: &Template) -> Option<&str> {
    match template.parts() {
        [Part::Text(text)] => Some(text),
        [] => Some(""),
        _ => None,
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(canonical(value)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn refused(reason: &str) -> Fault {
    Fault::no_effect(Class::InvalidArguments, unbuilt(reason))
}

fn unbuilt(reason: &str) -> String {
    format!("the command cannot be built: {reason}")
}
