//! The tool of the benchmark: a step that does nothing, or next to nothing.
//!
//! Owns what a step's body is: it notes when it began, appends a line to a file of effects where
//! there is one, and may sleep. INVARIANT: a line is written with one call, before the reply.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use provost_engine::run::outcome::{Class, Landing, Reply};
use provost_engine::tools::{ReplyFuture, Request, Tool};
use provost_plan::catalog::{Effect, Operation, Reconcile};
use provost_plan::schema::Schema;
use serde_json::{Value, json};

use crate::Failure;
use crate::figures::now_ns;

/// The tool `bench`.
#[derive(Debug)]
pub struct Bench {
    operations: Vec<Operation>,
    effects: Option<(PathBuf, File)>,
    began: Mutex<Vec<u64>>,
}

impl Bench {
    /// With READ=1 in the environment a step is a plain read, otherwise a plain write.
    pub fn new(effects: Option<&Path>) -> Result<Self, Failure> {
        let effects = match effects {
            None => None,
            Some(path) => {
                let file = OpenOptions::new().create(true).append(true).open(path)?;
                Some((path.to_owned(), file))
            }
        };
        let read = std::env::var_os("READ").is_some_and(|word| word == "1");
        Ok(Self {
            operations: operations(read, effects.is_some())?,
            effects,
            began: Mutex::default(),
        })
    }

    /// When the steps began since this was asked last, in order.
    pub fn take_began(&self) -> Vec<u64> {
        std::mem::take(&mut *self.began.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn step(&self, request: &Request) -> io::Result<Value> {
        let now = now_ns();
        self.began
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(now);
        if let Some((_, file)) = &self.effects {
            let of = |name| number(request, name);
            let line = format!("{} {} {now}\n", of("run"), of("step"));
            let mut file: &File = file;
            file.write_all(line.as_bytes())?;
        }
        Ok(done())
    }

    /// Whether the line of a step is there.
    fn find(&self, request: &Request) -> io::Result<Value> {
        let of = |name| number(request, name);
        let line = format!("{} {} ", of("run"), of("step"));
        let found = match &self.effects {
            None => false,
            Some((path, _)) => std::fs::read_to_string(path)?
                .lines()
                .any(|one| one.starts_with(&line)),
        };
        Ok(json!({ "found": found, "output": done() }))
    }
}

impl Tool for Bench {
    fn describe(&self) -> Vec<Operation> {
        self.operations.clone()
    }

    fn call<'a>(&'a self, request: &'a Request) -> ReplyFuture<'a> {
        Box::pin(async move {
            let output = match request.operation().name.as_str() {
                "bench.find" => self.find(request),
                "bench.sleep" => {
                    let ms = Duration::from_millis(number(request, "ms"));
                    tokio::time::sleep(ms).await;
                    Ok(done())
                }
                _ => self.step(request),
            };
            match output {
                Ok(output) => {
                    let bytes = output.to_string().into_bytes();
                    Reply::ok(output, bytes, "application/json")
                }
                Err(error) => {
                    Reply::failed(Class::Unavailable, Landing::Unknown, error.to_string())
                }
            }
        })
    }
}

fn number(request: &Request, name: &str) -> u64 {
    request
        .args()
        .get(name)
        .and_then(Value::as_u64)
        .unwrap_or(0)
}

fn done() -> Value {
    json!({ "ok": true, "result": "noop" })
}

fn operations(read: bool, has_effects: bool) -> Result<Vec<Operation>, Failure> {
    let count = json!({ "type": "integer", "minimum": 0 });
    let place = closed(&json!({ "run": count, "step": count }))?;
    let sleeping = closed(&json!({ "run": count, "step": count, "ms": count }))?;
    let outcome = json!({ "ok": { "type": "boolean" }, "result": { "type": "string" } });
    let of = |name: &str, effect, input: &Schema| -> Result<Operation, Failure> {
        Ok(Operation {
            output: Some(closed(&outcome)?),
            trusted: true,
            // Why: a thousand of them fit into the wall time that the workspace allows.
            timeout: Duration::from_secs(5),
            ..Operation::new(name, effect, input.clone())
        })
    };
    let effect = if read { Effect::Read } else { Effect::Write };
    let asks_back = has_effects && !read;
    let step = Operation {
        description: "do next to nothing".to_owned(),
        creates: None,
        values: std::collections::BTreeMap::new(),
        reconcile: asks_back.then(|| Reconcile {
            tool: "bench.find".to_owned(),
            args: json!({ "run": "${ args.run }", "step": "${ args.step }" }),
            landed: "${ output.found }".to_owned(),
            output: Some("${ output.output }".to_owned()),
            final_after_ms: 0,
        }),
        preview: None,
        ..of("bench.step", effect, &place)?
    };
    let inner = json!({ "type": "object", "required": ["ok", "result"], "properties": outcome,
        "additionalProperties": false });
    let find = Operation {
        description: "look whether a step has left its line".to_owned(),
        output: Some(closed(
            &json!({ "found": { "type": "boolean" }, "output": inner }),
        )?),
        ..of("bench.find", Effect::Read, &place)?
    };
    let sleep = Operation {
        description: "sleep".to_owned(),
        ..of("bench.sleep", effect, &sleeping)?
    };
    // Why external: the default policy asks a person about it.
    let gate = Operation {
        description: "do next to nothing, once a person said yes".to_owned(),
        ..of("bench.gate", Effect::External, &place)?
    };
    Ok(vec![step, find, sleep, gate])
}

/// A map of exactly these fields.
fn closed(properties: &Value) -> Result<Schema, Failure> {
    let names: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flat_map(|map| map.keys())
        .collect();
    Ok(Schema::compile(json!({
        "type": "object", "required": names, "properties": properties,
        "additionalProperties": false,
    }))?)
}
