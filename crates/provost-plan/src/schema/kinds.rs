//! What a JSON Schema says: a canonical form, and the kinds of value it admits.
//!
//! Owns [`Type`] and [`Kinds`]. Knows nothing of plans. INVARIANT: every type is canonicalised
//! with the draft and format flags of [`super::Schema::compile`], so any two can be compared.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::BitOr;
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

use jsonschema::canonical::{self, CanonicalSchema, CanonicalView, Satisfiability};
use jsonschema::{JsonType, JsonTypeSet};
use serde_json::{Value, json};

/// How deep references are followed.
const DEPTH_MAX: usize = 16;
/// Most types that are kept once they are made: making one compiles its patterns.
const MADE_MAX: usize = 1_024;
/// Longest schema whose type is kept, in bytes.
const MADE_BYTES_MAX: usize = 4_096;

/// A set of kinds of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds(u16);

impl Kinds {
    /// No value.
    pub const NONE: Self = Self(0);
    /// `null`.
    pub const NULL: Self = Self(1);
    /// A boolean.
    pub const BOOL: Self = Self(1 << 1);
    /// A whole number.
    pub const INTEGER: Self = Self(1 << 2);
    /// Any other number.
    pub const FRACTION: Self = Self(1 << 3);
    /// Any number.
    pub const NUMBER: Self = Self(0b1100);
    /// A text.
    pub const TEXT: Self = Self(1 << 4);
    /// A list.
    pub const LIST: Self = Self(1 << 5);
    /// A map.
    pub const MAP: Self = Self(1 << 6);
    /// A point in time, inside an expression.
    pub const TIME: Self = Self(1 << 7);
    /// A length of time, inside an expression.
    pub const DURATION: Self = Self(1 << 8);
    /// Anything a JSON document can hold.
    pub const JSON: Self = Self(0b111_1111);
    /// Anything.
    pub const ANY: Self = Self(0b1_1111_1111);

    /// The kinds in both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// The kinds in this and not in `other`.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether some kind is in both.
    #[must_use]
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether every kind of this is in `other`.
    #[must_use]
    pub fn within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether no kind is in it.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    /// With both kinds of number where one is: `1` equals `1.0`.
    #[must_use]
    pub fn as_numbers(self) -> Self {
        if self.meets(Self::NUMBER) {
            self | Self::NUMBER
        } else {
            self
        }
    }

    /// The kinds in words: `a text or null`.
    #[must_use]
    pub fn words(self) -> String {
        if Self::JSON.within(self) {
            return "anything".to_owned();
        }
        let words: Vec<&str> = [
            (Self::BOOL, "a boolean"),
            (Self::NUMBER, "a number"),
            (Self::TEXT, "a text"),
            (Self::LIST, "a list"),
            (Self::MAP, "a map"),
            (Self::TIME, "a point in time"),
            (Self::DURATION, "a length of time"),
            (Self::NULL, "null"),
        ]
        .into_iter()
        .filter(|(kind, _)| self.meets(*kind))
        .map(|(kind, word)| {
            if kind == Self::NUMBER && !self.meets(Self::FRACTION) {
                "a whole number"
            } else {
                word
            }
        })
        .collect();
        match words.split_last() {
            None => "nothing".to_owned(),
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        }
    }
}

impl BitOr for Kinds {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The values that a place may hold.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Type {
    pub(super) schema: CanonicalSchema,
    /// The same with every map closed that names its fields, where that is another schema.
    pub(super) named: Option<CanonicalSchema>,
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Type({})", self.to_json())
    }
}

static ANY: LazyLock<Option<CanonicalSchema>> = LazyLock::new(|| canonicalize(&Value::Bool(true)));

/// The canonical form; `None` where it cannot be made (which no caller mistakes for "nothing").
fn canonicalize(schema: &Value) -> Option<CanonicalSchema> {
    canonical::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .offline()
        .canonicalize(schema)
        .ok()
}

impl Type {
    /// The type of a JSON Schema; one that cannot be reasoned about admits anything.
    ///
    /// # Panics
    /// Never: `true` has a canonical form.
    #[must_use]
    pub fn of_json(schema: &Value) -> Self {
        static MADE: Mutex<BTreeMap<String, Type>> = Mutex::new(BTreeMap::new());
        let key = crate::digest::canonical(schema);
        if key.len() > MADE_BYTES_MAX {
            return Self::made_of_json(schema);
        }
        // Why: nothing panics while the lock is held, and what is kept is whole in any case.
        let kept = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = kept.get(&key) {
            return made.clone();
        }
        drop(kept);
        let made = Self::made_of_json(schema);
        let mut kept = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MADE_MAX {
            kept.clear();
        }
        kept.insert(key, made.clone());
        made
    }

    fn made_of_json(schema: &Value) -> Self {
        match canonicalize(schema).or_else(|| ANY.clone()) {
            Some(schema) => Self::plain(schema),
            // Why: the form of `true` always exists; recursion would end here only if it did not.
            None => Self::of_json(&Value::Bool(true)),
        }
    }

    /// The type of a schema that somebody wrote: what it names and does not say to be open is read
    /// as all there is.
    pub(super) fn declared(schema: &Value) -> Self {
        let named = super::named::closed(schema);
        Self {
            named: named.and_then(|named| canonicalize(&named)),
            ..Self::of_json(schema)
        }
    }

    pub(super) fn plain(schema: CanonicalSchema) -> Self {
        let named = None;
        Self { schema, named }
    }

    /// What it names, as far as it is known.
    pub(super) fn named(&self) -> &CanonicalSchema {
        self.named.as_ref().unwrap_or(&self.schema)
    }

    /// The canonical form, for rules that look into it.
    pub(crate) fn canonical(&self) -> &CanonicalSchema {
        &self.schema
    }

    /// Anything.
    #[must_use]
    pub fn any() -> Self {
        Self::of_kinds(Kinds::JSON)
    }

    /// Exactly this value.
    #[must_use]
    pub fn of_value(value: &Value) -> Self {
        Self::of_json(&json!({ "const": value }))
    }

    /// Every value of some kinds. Points in time and lengths of time leave an expression as text, a
    /// point in time as that of RFC 3339.
    #[must_use]
    pub fn of_kinds(kinds: Kinds) -> Self {
        static MADE: [OnceLock<Type>; 1 << 9] = [const { OnceLock::new() }; 1 << 9];
        match MADE.get(usize::from(kinds.0)) {
            Some(made) => made.get_or_init(|| Self::made_of_kinds(kinds)).clone(),
            None => Self::made_of_kinds(kinds),
        }
    }

    fn made_of_kinds(kinds: Kinds) -> Self {
        if Kinds::JSON.within(kinds) {
            return Self::of_json(&Value::Bool(true));
        }
        let mut types = Vec::new();
        let mut put = |kind: Kinds, name: &'static str| {
            if kinds.meets(kind) {
                types.push(name);
            }
        };
        put(Kinds::NULL, "null");
        put(Kinds::BOOL, "boolean");
        put(Kinds::FRACTION, "number");
        put(Kinds::INTEGER, "integer");
        put(Kinds::TEXT | Kinds::DURATION, "string");
        put(Kinds::LIST, "array");
        put(Kinds::MAP, "object");
        let time = json!({ "type": "string", "format": "date-time" });
        let is_time = kinds.meets(Kinds::TIME);
        Self::of_json(&match (is_time, types.is_empty()) {
            (false, _) => json!({ "type": types }),
            (true, true) => time,
            (true, false) => json!({ "anyOf": [time, { "type": types }] }),
        })
    }

    /// A list of items of a type.
    #[must_use]
    pub fn list_of(item: &Self) -> Self {
        let list = |item: &CanonicalSchema| json!({ "type": "array", "items": bare(item) });
        Self {
            named: item
                .named
                .as_ref()
                .and_then(|item| canonicalize(&list(item))),
            ..Self::of_json(&list(&item.schema))
        }
    }

    /// The values of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let named = (self.named.is_some() || other.named.is_some())
            .then(|| self.named().union(other.named()).ok());
        match self.schema.union(&other.schema) {
            Ok(schema) => Self {
                schema,
                named: named.flatten(),
            },
            Err(_) => Self::of_kinds(self.kinds() | other.kinds()),
        }
    }

    /// The values of both, where that has a form.
    #[must_use]
    pub fn both(&self, other: &Self) -> Option<Self> {
        let with_other = |schema: &CanonicalSchema| schema.intersect(&other.schema).ok();
        Some(Self {
            schema: with_other(&self.schema)?,
            named: match &self.named {
                Some(named) => Some(with_other(named)?),
                None => None,
            },
        })
    }

    /// Whether a value is certainly not of this type.
    #[must_use]
    pub fn excludes(&self, value: &Value) -> bool {
        if !self.kinds().as_numbers().meets(of_value(value)) {
            return true;
        }
        // Why: texts are equal only as they are written, so a list of them needs no algebra.
        if let (Value::String(_), CanonicalView::Enum(values)) = (value, self.schema.view()) {
            return !values.contains(value);
        }
        self.schema
            .intersect(&Self::of_value(value).schema)
            .is_ok_and(|both| both.satisfiability() == Satisfiability::No)
    }

    /// The values, if the schema lists them.
    #[must_use]
    pub fn values(&self) -> Vec<Value> {
        match self.schema.view() {
            CanonicalView::Const(value) => vec![value],
            CanonicalView::Enum(values) => values,
            _ => Vec::new(),
        }
    }

    /// Whether no value is of this type, as far as that can be proven.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.schema.satisfiability() == Satisfiability::No
    }

    /// Whether it says nothing at all.
    #[must_use]
    pub fn is_any(&self) -> bool {
        matches!(
            self.schema.view(),
            CanonicalView::True | CanonicalView::Raw(_)
        )
    }

    /// The kinds of value it admits; a kind that is not here is never there.
    #[must_use]
    pub fn kinds(&self) -> Kinds {
        kinds(&self.schema, 0)
    }

    /// As a JSON Schema without the mark of its draft.
    #[must_use]
    pub fn to_json(&self) -> Value {
        bare(&self.schema)
    }
}

/// A schema as JSON without the mark of its draft.
fn bare(schema: &CanonicalSchema) -> Value {
    let mut value = schema.to_json_schema();
    if let Value::Object(map) = &mut value {
        map.remove("$schema");
    }
    value
}

fn kinds(schema: &CanonicalSchema, depth: usize) -> Kinds {
    if depth > DEPTH_MAX {
        return Kinds::JSON;
    }
    let each = |schemas: &[CanonicalSchema]| {
        schemas
            .iter()
            .fold(Kinds::NONE, |all, s| all | kinds(s, depth + 1))
    };
    match schema.view() {
        CanonicalView::MultiType(set) => of_set(set),
        CanonicalView::TypedGroup(group) => of_type(group.ty),
        CanonicalView::String(_) => Kinds::TEXT,
        CanonicalView::Integer(_) => Kinds::INTEGER,
        CanonicalView::Number(_) => Kinds::NUMBER,
        CanonicalView::Array(_) => Kinds::LIST,
        CanonicalView::Object(_) => Kinds::MAP,
        CanonicalView::Const(value) => of_value(&value),
        CanonicalView::Enum(values) => values
            .iter()
            .fold(Kinds::NONE, |all, value| all | of_value(value)),
        CanonicalView::AllOf(schemas) => schemas
            .iter()
            .fold(Kinds::JSON, |all, s| all.and(kinds(s, depth + 1))),
        CanonicalView::AnyOf(schemas) | CanonicalView::OneOf(schemas) => each(&schemas),
        CanonicalView::Reference(uri) => schema
            .definition(&uri)
            .map_or(Kinds::JSON, |target| kinds(&target, depth + 1)),
        CanonicalView::False => Kinds::NONE,
        CanonicalView::True | CanonicalView::Not(_) | CanonicalView::Raw(_) => Kinds::JSON,
    }
}

fn of_set(set: JsonTypeSet) -> Kinds {
    set.iter().fold(Kinds::NONE, |all, ty| all | of_type(ty))
}

fn of_type(ty: JsonType) -> Kinds {
    match ty {
        JsonType::Null => Kinds::NULL,
        JsonType::Boolean => Kinds::BOOL,
        JsonType::Integer => Kinds::INTEGER,
        JsonType::Number => Kinds::NUMBER,
        JsonType::String => Kinds::TEXT,
        JsonType::Array => Kinds::LIST,
        JsonType::Object => Kinds::MAP,
    }
}

/// The kind of one value.
fn of_value(value: &Value) -> Kinds {
    match value {
        Value::Null => Kinds::NULL,
        Value::Bool(_) => Kinds::BOOL,
        Value::Number(number) if number.is_f64() => Kinds::NUMBER,
        Value::Number(_) => Kinds::INTEGER,
        Value::String(_) => Kinds::TEXT,
        Value::Array(_) => Kinds::LIST,
        Value::Object(_) => Kinds::MAP,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_of_schemas() {
        for (schema, words) in [
            (json!(true), "anything"),
            (json!(false), "nothing"),
            (json!({"type": "integer"}), "a whole number"),
            (json!({"type": ["string", "null"]}), "a text or null"),
            (json!({"enum": ["a", 1]}), "a whole number or a text"),
            (json!({"const": 1.5}), "a number"),
            (
                json!({"anyOf": [{"type": "array"}, {"type": "object"}]}),
                "a list or a map",
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "boolean"}}}),
                "a boolean",
            ),
            (json!({"type": "string", "format": "uuid"}), "a text"),
            (
                json!({"properties": {"a": true}, "type": "object"}),
                "a map",
            ),
        ] {
            assert_eq!(Type::of_json(&schema).kinds().words(), words, "{schema}");
        }
    }

    #[test]
    fn unions_keep_what_they_can() {
        let text = Type::of_kinds(Kinds::TEXT);
        let both = text.union(&Type::of_value(&json!(1)));
        assert_eq!(both.kinds(), Kinds::TEXT | Kinds::INTEGER);
        assert!(Type::of_json(&json!({"type": "integer", "minimum": 2, "maximum": 1})).is_empty());
    }
}
