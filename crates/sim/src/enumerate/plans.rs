//! Every plan of up to three steps: all dependency shapes, all classes of operation.

use std::sync::Arc;
use std::time::Duration;

use provost_plan::catalog::{Catalog, Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::schema::Schema;
use serde_json::{Value, json};

/// The classes of operation a step may call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A read.
    Read,
    /// A write whose tool honours a key.
    Keyed,
    /// A write whose tool recognises no repetition.
    Plain,
    /// A plain write that policy asks about.
    Asked,
}

impl Kind {
    /// All classes.
    pub const ALL: [Self; 4] = [Self::Read, Self::Keyed, Self::Plain, Self::Asked];

    fn operation(self) -> &'static str {
        match self {
            Self::Read => "world.read",
            Self::Keyed => "world.keyed",
            Self::Plain => "world.plain",
            Self::Asked => "world.asked",
        }
    }
}

/// A plan with what it is made of.
#[derive(Clone, Debug)]
pub struct PlanCase {
    /// The class of each step.
    pub kinds: Vec<Kind>,
    /// The text.
    pub text: String,
}

/// Every plan of exactly `size` steps over `kinds`.
#[must_use]
pub fn all(size: usize, kinds: &[Kind]) -> Vec<PlanCase> {
    let pairs: Vec<(usize, usize)> = (0..size)
        .flat_map(|after| (0..after).map(move |before| (before, after)))
        .collect();
    let shapes = 1usize << pairs.len();
    let mut choices: Vec<Vec<Kind>> = vec![Vec::new()];
    for _ in 0..size {
        choices = choices
            .into_iter()
            .flat_map(|chosen| {
                kinds.iter().map(move |kind| {
                    let mut next = chosen.clone();
                    next.push(*kind);
                    next
                })
            })
            .collect();
    }
    let mut plans = Vec::new();
    for chosen in &choices {
        for shape in 0..shapes {
            let edges: Vec<(usize, usize)> = pairs
                .iter()
                .enumerate()
                .filter(|(bit, _)| shape & (1 << bit) != 0)
                .map(|(_, edge)| *edge)
                .collect();
            plans.push(PlanCase {
                kinds: chosen.clone(),
                text: text(chosen, &edges),
            });
        }
    }
    plans
}

fn text(kinds: &[Kind], edges: &[(usize, usize)]) -> String {
    let mut text =
        String::from("schema: provost/plan/v1\nsuccess:\n  - for: goal\n    check: '${ ");
    let done: Vec<String> = (0..kinds.len())
        .map(|i| format!("steps.s{i}.status == \"succeeded\""))
        .collect();
    text.push_str(&done.join(" && "));
    text.push_str(" }'\nsteps:\n");
    for (index, kind) in kinds.iter().enumerate() {
        text.push_str(&format!(
            "  - id: s{index}\n    description: step number {index} of the plan\n    \
             tool: {}\n    args: {{ to: s{index} }}\n    accept: ['${{ output.done }}']\n",
            kind.operation()
        ));
        let needs: Vec<String> = edges
            .iter()
            .filter(|(_, after)| *after == index)
            .map(|(before, _)| format!("s{before}"))
            .collect();
        if !needs.is_empty() {
            text.push_str(&format!("    needs: [{}]\n", needs.join(", ")));
        }
    }
    text.push_str("answer: done\n");
    text
}

/// The catalog of the enumerated plans. `naive` lies about the plain operations: it calls them
/// repeatable, as an executor that retries blindly would.
///
/// # Errors
/// A sentence, if a schema does not load.
pub fn catalog(naive: bool) -> Result<Arc<Catalog>, String> {
    let of = |kind: Kind| {
        let plain = if naive {
            Idempotency::Natural
        } else {
            Idempotency::None
        };
        let idempotency = match kind {
            Kind::Read => Idempotency::Natural,
            Kind::Keyed => Idempotency::Key {
                carrier: KeyCarrier::Header("Idempotency-Key".to_owned()),
                ttl_ms: 86_400_000,
            },
            Kind::Plain | Kind::Asked => plain,
        };
        operation(kind, idempotency)
    };
    let operations: Result<Vec<Operation>, String> = Kind::ALL.into_iter().map(of).collect();
    Ok(Arc::new(Catalog::new(operations?)))
}

fn operation(kind: Kind, idempotency: Idempotency) -> Result<Operation, String> {
    let schema = |value: Value| Schema::compile(value).map_err(|error| error.to_string());
    Ok(Operation {
        name: kind.operation().to_owned(),
        description: "changes the counted world".to_owned(),
        effect: match kind {
            Kind::Read => Effect::Read,
            Kind::Keyed | Kind::Plain => Effect::Write,
            Kind::Asked => Effect::Destructive,
        },
        tags: Default::default(),
        input: schema(json!({
            "type": "object",
            "properties": { "to": { "type": "string" } },
            "required": ["to"],
            "additionalProperties": false,
        }))?,
        output: Some(schema(json!({
            "type": "object",
            "properties": { "done": { "type": "boolean" } },
            "required": ["done"],
        }))?),
        trusted: true,
        secret: false,
        content: Default::default(),
        idempotency,
        errors_no_effect: false,
        timeout: Duration::from_secs(5),
        max_bytes: 1_000,
        reconcile: None,
        cost: None,
        endpoint: json!({ "world": true }),
    })
}
