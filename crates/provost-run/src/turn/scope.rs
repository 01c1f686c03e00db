//! What the expressions of a step see.

use std::collections::BTreeMap;

use provost_plan::expr::{Reference, Root, Scope};
use serde_json::{Value, json};

use crate::state::State;

/// Values an expression may read that are made anew for each evaluation.
pub(crate) struct Roots {
    run: Value,
    params: Value,
    item: Option<(Value, Value)>,
    output: Option<Value>,
}

impl Roots {
    pub(crate) fn of(state: &State) -> Self {
        let started = jiff::Timestamp::from_millisecond(state.created_at)
            .map_or_else(|_| String::new(), |at| at.to_string());
        Self {
            run: json!({ "id": state.run, "started_at": started }),
            params: Value::Object(state.goal.params.clone()),
            item: None,
            output: None,
        }
    }

    /// Adds the item of a list and its index.
    pub(crate) fn with_item(mut self, item: Option<(usize, &Value)>) -> Self {
        self.item = item.map(|(index, value)| (value.clone(), json!(index)));
        self
    }

    /// Adds the output that an acceptance looks at.
    pub(crate) fn with_output(mut self, output: &Value) -> Self {
        self.output = Some(output.clone());
        self
    }

    /// The scope over these values and the steps of `state`.
    pub(crate) fn scope<'a>(&'a self, state: &'a State) -> Scope<'a> {
        let mut scope = Scope::new()
            .with("run", &self.run)
            .with("params", &self.params);
        for (id, step) in &state.steps {
            scope = scope.with_step(id, &step.view);
        }
        if let Some((item, index)) = &self.item {
            scope = scope.with("item", item).with("index", index);
        }
        match &self.output {
            Some(output) => scope.with("output", output),
            None => scope,
        }
    }
}

/// The steps that references name, once each.
pub(crate) fn steps_named<'r>(
    references: impl Iterator<Item = &'r Reference>,
) -> BTreeMap<String, ()> {
    references
        .filter_map(|reference| match &reference.root {
            Root::Step(id) => Some((id.clone(), ())),
            _ => None,
        })
        .collect()
}
