//! The expressions of a catalog entry against the schemas of what they read.
//!
//! Owns which expressions an entry has, and what each must come to. Their scope is the catalog's:
//! it is held before. INVARIANT: an expression is refused only if no value that fits the schemas
//! makes it usable, or if it misspells a field that they name.

use serde_json::Value;

use super::typing::{Typed, TypedPlace, type_of};
use crate::catalog::{Catalog, Operation};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, Severity, nearest};
use crate::expr::{Part, Root, Segment, Template};
use crate::schema::{Kinds, PathType, Schema, Type};
use crate::source::Span;

/// What is wrong with the expressions of an operation, each with the setting it stands in.
#[must_use]
pub fn faults(operation: &Operation, catalog: &Catalog) -> Vec<Diagnostic> {
    let mut entry = EntryTypes {
        args: &operation.input,
        output: None,
        found: Vec::new(),
    };
    if let Some(creates) = &operation.creates {
        entry.output = operation.output.as_ref();
        entry.kinds(
            "`id` of `creates`",
            &creates.id,
            Kinds::TEXT | Kinds::INTEGER,
        );
    }
    if let Some(reconcile) = &operation.reconcile
        && let Some(read) = catalog.get(&reconcile.tool)
    {
        entry.output = None;
        entry.given("`args` of `reconcile`", &reconcile.args, read);
        entry.output = read.output.as_ref();
        entry.kinds("`landed` of `reconcile`", &reconcile.landed, Kinds::BOOL);
        if let Some(output) = &reconcile.output {
            let wanted = operation.output.as_ref().map(Schema::ty);
            entry.fits("`output` of `reconcile`", output, wanted);
        }
    }
    if let Some(preview) = &operation.preview
        && let Some(read) = catalog.get(&preview.tool)
    {
        entry.output = None;
        entry.given("`args` of `preview`", &preview.args, read);
    }
    entry.found
}

struct EntryTypes<'s> {
    args: &'s Schema,
    /// What `output` is here, where that is declared.
    output: Option<&'s Schema>,
    found: Vec<Diagnostic>,
}

impl EntryTypes<'_> {
    /// An expression whose value is of one of some kinds.
    fn kinds(&mut self, place: &str, text: &str, wanted: Kinds) {
        if let Some(typed) = self.typed(place, text)
            && !typed.kinds.meets(wanted)
        {
            let (is, wanted) = (typed.kinds.words(), wanted.words());
            self.wrong(place, &format!("it is {is}, and {wanted} is wanted"), None);
        }
    }

    /// An expression whose value fits a type.
    fn fits(&mut self, place: &str, text: &str, wanted: Option<&Type>) {
        let typed = self.typed(place, text);
        if let (Some(typed), Some(wanted)) = (typed, wanted)
            && let Some(reason) = typed.to_type().never_fits(wanted)
        {
            self.wrong(place, &format!("it never fits: {reason}"), None);
        }
    }

    /// The arguments of a read that an entry names.
    fn given(&mut self, place: &str, args: &Value, read: &Operation) {
        let Value::Object(args) = args else {
            return;
        };
        let required = read.input.value().get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        for name in required.filter(|name| !args.contains_key(*name)) {
            let message = format!("`{}` needs the argument `{name}`", read.name);
            self.wrong(place, &message, None);
        }
        for (name, value) in args {
            let wanted = match read.input.at(&[Segment::Field(name.clone())]) {
                PathType::Known { ty, .. } => Some(ty),
                PathType::Unknown { .. } => None,
                PathType::Undeclared { known, .. } | PathType::Absent { known, .. } => {
                    let message = format!("`{}` takes no argument `{name}`", read.name);
                    let near = nearest(name, known.iter().map(String::as_str));
                    self.wrong(place, &message, near);
                    continue;
                }
            };
            match value {
                Value::String(text) => {
                    self.fits(&format!("{place}, `{name}`"), text, wanted.as_ref());
                }
                Value::Array(_) | Value::Object(_) => self.within(place, value),
                plain => {
                    let reason = wanted.and_then(|ty| Type::of_value(plain).never_fits(&ty));
                    if let Some(reason) = reason {
                        self.wrong(place, &format!("`{name}` never fits: {reason}"), None);
                    }
                }
            }
        }
    }

    /// The expressions somewhere in a value.
    fn within(&mut self, place: &str, value: &Value) {
        match value {
            Value::String(text) => {
                self.typed(place, text);
            }
            Value::Array(items) => items.iter().for_each(|item| self.within(place, item)),
            Value::Object(map) => map.values().for_each(|item| self.within(place, item)),
            _ => {}
        }
    }

    /// What a text comes to; none if it cannot be read, or an error in it is reported.
    fn typed(&mut self, place: &str, text: &str) -> Option<Typed> {
        let template = Template::parse(text, Span::default(), text).ok()?;
        let names = |root: &Root, path: &[Segment]| self.place(root, path);
        let mut found = Vec::new();
        let typed = match template.whole() {
            Some(expression) => type_of(expression.ast(), &names, &mut found),
            None => {
                for part in template.parts() {
                    if let Part::Expr(expression) = part {
                        type_of(expression.ast(), &names, &mut found);
                    }
                }
                Typed::ty(Type::of_kinds(Kinds::TEXT))
            }
        };
        let errors = found.into_iter();
        let mut errors = errors
            .filter(|one| one.severity() == Severity::Error)
            .peekable();
        if errors.peek().is_none() {
            return Some(typed);
        }
        for error in errors {
            let message = format!("{place}: {}", error.message);
            let mut wrong = Diagnostic::new(Code::BadWorkspace, Span::default(), message);
            wrong.hint = error.hint;
            self.found.push(wrong);
        }
        None
    }

    /// What a name holds; what the schema does not name is absent where a near name is there.
    fn place(&self, root: &Root, path: &[Segment]) -> TypedPlace {
        let schema = match root {
            Root::Args => Some(self.args),
            Root::Output => self.output,
            _ => None,
        };
        let Some(schema) = schema else {
            return TypedPlace::of(PathType::Unknown { depth: 0 });
        };
        match schema.at(path) {
            PathType::Undeclared { depth, known } if is_misspelt(path.get(depth), &known) => {
                TypedPlace::Absent {
                    reason: "the schema does not name it".to_owned(),
                    depth,
                    known,
                }
            }
            found => TypedPlace::of(found),
        }
    }

    fn wrong(&mut self, place: &str, message: &str, near: Option<&str>) {
        let message = format!("{place}: {message}");
        let wrong = Diagnostic::new(Code::BadWorkspace, Span::default(), message);
        self.found.push(match near {
            Some(near) => wrong.hint(format!("did you mean `{near}`?")),
            None => wrong,
        });
    }
}

fn is_misspelt(segment: Option<&Segment>, known: &[String]) -> bool {
    match segment {
        Some(Segment::Field(name)) => nearest(name, known.iter().map(String::as_str)).is_some(),
        _ => false,
    }
}
