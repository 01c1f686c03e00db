//! What the expressions of a step see.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use provost_plan::expr::{Reference, Root, Scope};
use provost_plan::work::WorkBudget;
use serde_json::{Value, json};

use crate::call::Slot;
use crate::state::{State, StepState};

/// Values an expression may read that are made anew for each evaluation, those of the run only
/// where they are read.
pub(crate) struct Roots<'p> {
    purse: &'p WorkBudget,
    run: OnceCell<Value>,
    params: OnceCell<Value>,
    item: Option<(Value, Value)>,
    output: Option<Value>,
    read: Option<Value>,
}

impl<'p> Roots<'p> {
    /// None but those of the run; evaluations over them are paid from `purse`.
    pub(crate) fn new(purse: &'p WorkBudget) -> Self {
        Self {
            purse,
            run: OnceCell::new(),
            params: OnceCell::new(),
            item: None,
            output: None,
            read: None,
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

    /// Adds what was read back.
    pub(crate) fn with_read(mut self, read: &Value) -> Self {
        self.read = Some(read.clone());
        self
    }

    /// The scope over these values and the steps of `state`.
    pub(crate) fn scope<'a>(&'a self, state: &'a State) -> Scope<'a> {
        self.over(state, state.steps.iter(), true, true)
    }

    /// The scope over these values and the steps of `state` that `references` name, for an
    /// expression that has no others.
    pub(crate) fn scope_for<'a, 'r>(
        &'a self,
        state: &'a State,
        references: impl Iterator<Item = &'r Reference>,
    ) -> Scope<'a> {
        let (mut named, mut run, mut params) = (Vec::new(), false, false);
        for reference in references {
            match &reference.root {
                Root::Step(id) => named.extend(state.steps.get_key_value(id)),
                Root::Run => run = true,
                Root::Params => params = true,
                _ => {}
            }
        }
        self.over(state, named.into_iter(), run, params)
    }

    fn over<'a>(
        &'a self,
        state: &'a State,
        steps: impl Iterator<Item = (&'a String, &'a StepState)>,
        run: bool,
        params: bool,
    ) -> Scope<'a> {
        let mut scope = Scope::new().paid_from(self.purse);
        if run {
            scope = scope.with("run", self.run.get_or_init(|| run_value(state)));
        }
        if params {
            let made = || Value::Object(state.goals.goal.params.clone());
            scope = scope.with("params", self.params.get_or_init(made));
        }
        for (id, step) in steps {
            scope = scope.with_step(id, &step.view);
        }
        if let Some((item, index)) = &self.item {
            scope = scope.with("item", item).with("index", index);
        }
        if let Some(output) = &self.output {
            scope = scope.with("output", output);
        }
        if let Some(read) = &self.read {
            scope = scope.with("read", read);
        }
        scope
    }
}

/// The item of a list that a slot stands for.
pub(super) fn item_value<'t>(state: &'t State, slot: &Slot) -> Option<(usize, &'t Value)> {
    let index = slot.item?;
    let list = &state.steps.get(&slot.step)?.list;
    list.get(index).map(|value| (index, value))
}

fn run_value(state: &State) -> Value {
    let started = jiff::Timestamp::from_millisecond(state.head.created_at)
        .map_or_else(|_| String::new(), |at| at.to_string());
    json!({ "id": state.head.run, "started_at": started })
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
