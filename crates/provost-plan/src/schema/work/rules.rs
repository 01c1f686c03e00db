//! A schema as a list of subschemas, with what each costs and where each leads.
//!
//! Owns following references inside a document. Never looks at a value. INVARIANT: every
//! subschema stands in the list once, however often it is referred to; a reference that is not
//! found inside the document costs as much as all of it.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::limits::SCHEMA_DEPTH_MAX;
use crate::pattern;

/// What one subschema costs by itself, and which others it leads to.
#[derive(Debug, Default)]
pub(crate) struct Rule {
    /// For any value.
    pub(super) own: u64,
    /// The places of its patterns over a text, and of those over the names of fields.
    pub(super) places: u64,
    pub(super) name_places: u64,
    /// Whether one of them looks around or refers back.
    pub(super) irregular: bool,
    /// Whether one of several branches has to hold.
    pub(super) chooses: bool,
    /// Whether it tells the items of a list apart.
    pub(super) unique: bool,
    /// How often what stands beside it is judged again, to know what it leaves over.
    pub(super) again: u64,
    /// Those that hold for the same value.
    pub(super) beside: Vec<usize>,
    fields: BTreeMap<String, usize>,
    /// Of every field: what its pattern says of the name is not looked at.
    every_field: Vec<usize>,
    /// Of a field that has none by its name.
    other_fields: Vec<usize>,
    pub(super) names: Option<usize>,
    pub(super) first_items: Vec<usize>,
    pub(super) items: Vec<usize>,
}

/// A schema that leads back to itself over the same value, or is nested too deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it is nested deeper than {SCHEMA_DEPTH_MAX}, or leads back to itself without end")]
pub(crate) struct Unbounded;

impl Rule {
    /// All others that it leads to.
    pub(super) fn below(&self) -> impl Iterator<Item = usize> + '_ {
        let fields = self.fields.values().chain(&self.every_field);
        let fields = fields.chain(&self.other_fields).chain(&self.names);
        let items = self.first_items.iter().chain(&self.items);
        self.beside.iter().chain(fields).chain(items).copied()
    }

    /// Those of the field of this name.
    pub(super) fn of_field(&self, name: &str) -> impl Iterator<Item = usize> + '_ {
        let own = self.fields.get(name);
        let others: &[usize] = if own.is_some() {
            &[]
        } else {
            &self.other_fields
        };
        own.into_iter()
            .chain(others)
            .chain(&self.every_field)
            .copied()
    }

    /// Whether the names of fields are searched.
    pub(super) fn looks_at_names(&self) -> bool {
        !self.every_field.is_empty()
    }

    /// Whether what it costs is more than so much for each node.
    pub(super) fn grows_with_the_value(&self) -> bool {
        self.irregular || self.unique || self.again > 0
    }
}

/// The subschemas of a document, itself first.
pub(super) fn of(schema: &Value) -> Result<Vec<Rule>, Unbounded> {
    let mut reading = Reading {
        root: schema,
        anchors: BTreeMap::new(),
        known: BTreeMap::new(),
        rules: Vec::new(),
    };
    reading.find_anchors(schema);
    reading.rule(schema, 0)?;
    let mut rules = reading.rules;
    let heights = heights(&rules)?;
    for (rule, height) in rules.iter_mut().zip(heights) {
        rule.again = rule.again.saturating_mul(height);
    }
    Ok(rules)
}

/// How many subschemas stand beside one another below each, over the same value.
fn heights(rules: &[Rule]) -> Result<Vec<u64>, Unbounded> {
    let mut heights = vec![1_u64; rules.len()];
    loop {
        let mut grew = false;
        for (at, rule) in rules.iter().enumerate() {
            let below = rule.beside.iter().filter_map(|next| heights.get(*next));
            let height = below.max().map_or(1, |below| below + 1);
            if height > SCHEMA_DEPTH_MAX as u64 {
                return Err(Unbounded);
            }
            if let Some(known) = heights.get_mut(at).filter(|known| **known < height) {
                (*known, grew) = (height, true);
            }
        }
        if !grew {
            return Ok(heights);
        }
    }
}

struct Reading<'s> {
    root: &'s Value,
    /// The subschemas that have a name of their own.
    anchors: BTreeMap<&'s str, Vec<&'s Value>>,
    /// Those that stand in the list, by where they stand in memory.
    known: BTreeMap<usize, usize>,
    rules: Vec<Rule>,
}

impl<'s> Reading<'s> {
    fn find_anchors(&mut self, value: &'s Value) {
        match value {
            Value::Object(map) => {
                for key in ["$anchor", "$dynamicAnchor"] {
                    if let Some(Value::String(name)) = map.get(key) {
                        self.anchors.entry(name).or_default().push(value);
                    }
                }
                map.values().for_each(|value| self.find_anchors(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.find_anchors(item)),
            _ => {}
        }
    }

    /// Where a subschema stands in the list.
    fn rule(&mut self, schema: &'s Value, depth: usize) -> Result<usize, Unbounded> {
        if depth > SCHEMA_DEPTH_MAX {
            return Err(Unbounded);
        }
        let address = std::ptr::from_ref(schema).addr();
        if let Some(known) = self.known.get(&address) {
            return Ok(*known);
        }
        let place = self.rules.len();
        self.known.insert(address, place);
        self.rules.push(Rule::default());
        let mut rule = Rule {
            own: 1,
            ..Rule::default()
        };
        if let Value::Object(map) = schema {
            for (keyword, value) in map {
                self.keyword(&mut rule, keyword, value, depth + 1)?;
            }
        }
        if let Some(empty) = self.rules.get_mut(place) {
            *empty = rule;
        }
        Ok(place)
    }

    fn keyword(
        &mut self,
        rule: &mut Rule,
        keyword: &str,
        value: &'s Value,
        depth: usize,
    ) -> Result<(), Unbounded> {
        rule.own += 1;
        rule.chooses |= matches!(keyword, "anyOf" | "oneOf");
        match keyword {
            "$ref" | "$dynamicRef" | "$recursiveRef" => self.reference(rule, value, depth)?,
            "allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else" => {
                rule.beside.extend(self.each(value, depth)?);
            }
            "dependentSchemas" | "dependencies" => {
                let schemas = fields(value).filter(|(_, schema)| schema.is_object());
                for (_, schema) in schemas {
                    rule.beside.push(self.rule(schema, depth)?);
                }
            }
            "properties" => {
                for (name, schema) in fields(value) {
                    rule.fields.insert(name.clone(), self.rule(schema, depth)?);
                }
            }
            "patternProperties" => {
                for (pattern, schema) in fields(value) {
                    let places = places(pattern, &mut rule.irregular);
                    rule.name_places = rule.name_places.saturating_add(places);
                    rule.every_field.push(self.rule(schema, depth)?);
                }
            }
            "additionalProperties" => rule.other_fields.push(self.rule(value, depth)?),
            "unevaluatedProperties" => {
                rule.again = 1;
                rule.other_fields.push(self.rule(value, depth)?);
            }
            "propertyNames" => rule.names = Some(self.rule(value, depth)?),
            "prefixItems" => rule.first_items.extend(self.each(value, depth)?),
            "items" | "additionalItems" | "contains" => rule.items.extend(self.each(value, depth)?),
            "unevaluatedItems" => {
                rule.again = 1;
                rule.items.push(self.rule(value, depth)?);
            }
            _ => rule.assertion(keyword, value),
        }
        Ok(())
    }

    /// The subschemas of a list of them, or the one that is none.
    fn each(&mut self, value: &'s Value, depth: usize) -> Result<Vec<usize>, Unbounded> {
        match value {
            Value::Array(items) => items.iter().map(|item| self.rule(item, depth)).collect(),
            one => Ok(vec![self.rule(one, depth)?]),
        }
    }

    fn reference(
        &mut self,
        rule: &mut Rule,
        target: &'s Value,
        depth: usize,
    ) -> Result<(), Unbounded> {
        let target = target.as_str().unwrap_or_default();
        let inside = target.strip_prefix('#').unwrap_or_default();
        let found: Vec<&'s Value> = if target == "#" {
            vec![self.root]
        } else if let Some(named) = self.anchors.get(inside) {
            named.clone()
        } else {
            self.root.pointer(&unescaped(inside)).into_iter().collect()
        };
        if found.is_empty() {
            rule.own = rule.own.saturating_add(weight(self.root));
        }
        for schema in found {
            rule.beside.push(self.rule(schema, depth)?);
        }
        Ok(())
    }
}

impl Rule {
    /// Takes a keyword that leads to no other subschema.
    fn assertion(&mut self, keyword: &str, value: &Value) {
        let places_of_format = if value == "regex" { 512 } else { 8 };
        match keyword {
            "pattern" => {
                let pattern = value.as_str().unwrap_or_default();
                let places = places(pattern, &mut self.irregular);
                self.places = self.places.saturating_add(places);
            }
            "format" => self.places = self.places.saturating_add(places_of_format),
            "minLength" | "maxLength" => self.places = self.places.saturating_add(1),
            "uniqueItems" => self.unique = value.as_bool() != Some(false),
            "multipleOf" => self.own += 20,
            "enum" | "const" | "required" | "dependentRequired" => {
                self.own = self.own.saturating_add(weight(value) / 8);
            }
            _ => {}
        }
    }
}

/// The places of a pattern; one that looks around or refers back has as many as letters.
fn places(pattern: &str, irregular: &mut bool) -> u64 {
    let size = pattern::size(pattern);
    *irregular |= size.is_none();
    let places = size.map_or(pattern.len(), |size| size.places);
    u64::try_from(places).unwrap_or(u64::MAX)
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

/// A fragment of a reference without its percent signs.
fn unescaped(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..2).filter(|_| *first == b'%');
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many values a value is made of.
pub(in crate::schema) fn weight(value: &Value) -> u64 {
    match value {
        Value::Array(items) => items.iter().map(weight).sum::<u64>() + 1,
        Value::Object(map) => map.values().map(weight).sum::<u64>() + 1,
        _ => 1,
    }
}
