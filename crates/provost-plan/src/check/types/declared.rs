//! What an input schema declares of its arguments: which are needed, which are known.
//!
//! Owns reading the keywords at the top of a schema, and what is said of a field that it does not
//! name. Judges no value: that is the schema's own.
//! INVARIANT: an argument is said to be unknown only where the schema cannot mean it to be there.

use serde_json::Value;

use super::Types;
use crate::catalog::{OPERATION_KEYS, Operation};
use crate::check::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Key, Segment};
use crate::schema::{PathType, Schema, Type};
use crate::source::Span;

/// The names of a schema.
pub(super) struct Declared<'s> {
    pub(super) required: Vec<&'s str>,
    pub(super) known: Vec<&'s str>,
    /// Whether it says by itself that further arguments may be there.
    pub(super) open: bool,
}

impl<'s> Declared<'s> {
    /// Why one walk over the keywords: each call of a plan is looked at, and most schemas have few.
    pub(super) fn of(input: &'s Schema) -> Self {
        let (mut required, mut properties) = (None, None);
        let (mut closed, mut says_open) = (false, false);
        for (keyword, value) in input.value().as_object().into_iter().flatten() {
            match keyword.as_str() {
                "required" => required = names(value),
                "properties" => properties = names(value),
                "additionalProperties" => {
                    closed = *value == Value::Bool(false);
                    says_open |= !closed;
                }
                "patternProperties" | "$ref" | "allOf" | "anyOf" | "oneOf" => says_open = true,
                _ => {}
            }
        }
        Self {
            required: required.unwrap_or_default(),
            open: says_open || (properties.is_none() && !closed),
            known: properties.unwrap_or_default(),
        }
    }
}

/// The names in a map or in a list.
fn names(value: &Value) -> Option<Vec<&str>> {
    match value {
        Value::Object(map) => Some(map.keys().map(String::as_str).collect()),
        Value::Array(names) => Some(names.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

impl Types {
    /// Arguments that are missing or that the tool does not have.
    pub(super) fn names(&mut self, pass: &Pass<'_>, operation: &Operation, args: &ArgTree) {
        let given: Vec<&str> = args.entries().iter().map(|(name, _)| &**name).collect();
        let declared = Declared::of(&operation.input);
        for name in &declared.required {
            if !given.contains(name) {
                let message = format!("`{}` needs the argument `{name}`", operation.name);
                self.report(
                    Diagnostic::new(Code::MissingArgument, args.span(), message)
                        .label(format!("`{name}` is missing")),
                );
            }
        }
        for (name, _) in args.entries() {
            let unknown: Option<Vec<String>> = if declared.open {
                unnamed(&operation.input, name)
            } else {
                let is_known = declared.known.contains(&&**name);
                (!is_known).then(|| declared.known.iter().map(|&name| name.to_owned()).collect())
            };
            let Some(known) = unknown else { continue };
            let message = format!("`{}` takes no argument `{}`", operation.name, &**name);
            let finding = Diagnostic::new(Code::UnknownArgument, name.span(), message);
            if !pass.suggests() {
                self.report(finding);
                continue;
            }
            let named = named_instead(finding, name, &known);
            let takes = match known.as_slice() {
                [] => "it takes none".to_owned(),
                known => format!("it takes {}", known.join(", ")),
            };
            self.report(if named.hint.is_some() {
                named
            } else if OPERATION_KEYS.contains(&&**name) {
                let key = &**name;
                named.hint(format!(
                    "{takes}; `{key}` is a key of the operation in provost.toml"
                ))
            } else if known.is_empty() {
                named
            } else {
                named.hint(takes)
            });
        }
    }

    /// Fields inside the arguments that the schema does not name.
    pub(super) fn undeclared(&mut self, tree: &ArgTree, ty: &Type, pointer: &str) {
        match tree {
            ArgTree::Value(..) | ArgTree::Template(_) => {}
            ArgTree::List(items, _) => {
                for (at, item) in items.iter().enumerate() {
                    if let PathType::Known { ty, .. } = ty.at(&[Segment::Index(at)]) {
                        self.undeclared(item, &ty, &format!("{pointer}/{at}"));
                    }
                }
            }
            ArgTree::Map(entries, _) => {
                for (name, value) in entries {
                    let is_leaf = matches!(value, ArgTree::Value(..) | ArgTree::Template(_));
                    // Why: of the arguments themselves `names` says it, and a leaf has no fields.
                    if pointer.is_empty() && is_leaf {
                        continue;
                    }
                    let inner = format!("{pointer}/{}", &**name);
                    match ty.at(&[Segment::Field(name.to_string())]) {
                        PathType::Known { ty, .. } => self.undeclared(value, &ty, &inner),
                        PathType::Undeclared { known, .. } if !pointer.is_empty() => {
                            self.report(cannot_stand(name, NOT_NAMED, &known));
                        }
                        PathType::Absent { known, reason, .. }
                            if !pointer.is_empty() && !known.is_empty() =>
                        {
                            self.report(cannot_stand(name, &reason, &known));
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

/// The names that a schema has instead of `name`, if it is certain that it has no such field.
pub(super) fn unnamed(input: &Schema, name: &str) -> Option<Vec<String>> {
    match input.at(&[Segment::Field(name.to_owned())]) {
        PathType::Undeclared { known, .. } => Some(known),
        PathType::Absent { known, .. } if !known.is_empty() => Some(known),
        PathType::Absent { .. } | PathType::Known { .. } | PathType::Unknown { .. } => None,
    }
}

/// Whether a schema has no rule between fields: what every field fits, the whole fits.
pub(super) fn has_only_fields(schema: &Schema) -> bool {
    let plain = [
        "$comment",
        "$id",
        "$schema",
        "additionalProperties",
        "description",
        "examples",
        "properties",
        "required",
        "title",
        "type",
    ];
    let keys = schema.value().as_object();
    keys.is_some_and(|keys| keys.keys().all(|key| plain.contains(&key.as_str())))
}

/// Why a field that a schema does not name is refused: a tool drops it, or refuses it itself.
pub(super) const NOT_NAMED: &str = "the schema does not name it";

pub(super) fn cannot_stand(name: &Key, reason: &str, known: &[String]) -> Diagnostic {
    cannot_stand_at(name.span(), name, reason, known)
}

pub(super) fn cannot_stand_at(
    span: Span,
    name: &str,
    reason: &str,
    known: &[String],
) -> Diagnostic {
    let message = format!("`{name}` cannot stand here: {reason}");
    named_instead(
        Diagnostic::new(Code::UnknownArgument, span, message),
        name,
        known,
    )
}

/// The finding with the name that is meant, if one is near: the mark of an entry that may be left
/// out is often written behind the name.
pub(super) fn named_instead(finding: Diagnostic, name: &str, known: &[String]) -> Diagnostic {
    let marked = name.strip_suffix('?');
    match marked.filter(|name| known.iter().any(|known| known == name)) {
        Some(name) => finding.hint(format!(
            "write `?{name}`: the mark of what may be left out stands in front"
        )),
        None => finding.did_you_mean(name, known.iter().map(String::as_str)),
    }
}
