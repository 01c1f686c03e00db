//! Tools that are functions of the program.
//!
//! Owns what an error of a function means. INVARIANT: unless the function says that nothing
//! happened, an error or a panic of anything but a read leaves it unknown whether it took place.

use std::collections::BTreeSet;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use provost_engine::run::outcome::{Class, Landing, Reply};
use provost_engine::tools::{ReplyFuture, Request, Tool};
use provost_plan::catalog::{Effect, Idempotency, KeyCarrier, Operation};
use provost_plan::schema::Schema;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::Error;

/// A call of a tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call<A> {
    /// The arguments, which policy admitted and people approved as they are.
    pub args: A,
    key: String,
}

impl<A> Call<A> {
    /// The same for every attempt at this call, and of no other call. Empty unless the tool
    /// recognises repetitions: see [`OwnTool::recognises_repetitions`].
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// Why a tool has no output.
#[derive(Debug)]
pub struct ToolError {
    message: String,
    happened: Option<bool>,
}

impl ToolError {
    /// It failed, and nothing took place: it may be tried again.
    #[must_use]
    pub fn nothing_happened(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            happened: Some(false),
        }
    }

    /// It failed, and it is unknown whether it took place.
    #[must_use]
    pub fn unknown(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            happened: None,
        }
    }
}

/// What `?` makes of any error.
impl<E: std::error::Error> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self::unknown(error.to_string())
    }
}

type Made = Pin<Box<dyn Future<Output = Result<Value, ToolError>> + Send>>;
type Function = dyn Fn(Value, String) -> Made + Send + Sync;

/// A tool that is a function: see [`tool`].
#[derive(Clone)]
pub struct OwnTool {
    name: String,
    effect: Effect,
    description: String,
    content: BTreeSet<String>,
    version: String,
    trusted: bool,
    idempotency: Idempotency,
    input: Value,
    output: Value,
    function: Arc<Function>,
}

/// A tool `TOOL.OPERATION` that calls a function. Its schemas are those of the function's types.
pub fn tool<A, O, F, Fut>(name: impl Into<String>, effect: Effect, function: F) -> OwnTool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    O: Serialize + JsonSchema,
    F: Fn(Call<A>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
{
    let function = move |args: Value, key: String| -> Made {
        // Why it cannot fail but by a bug: the arguments fit the schema of this very type.
        let made = serde_json::from_value(args).map(|args| function(Call { args, key }));
        Box::pin(async move {
            match made {
                Ok(made) => Ok(serde_json::to_value(made.await?)?),
                Err(error) => Err(ToolError::nothing_happened(error.to_string())),
            }
        })
    };
    OwnTool {
        name: name.into(),
        effect,
        description: String::new(),
        content: BTreeSet::new(),
        version: String::new(),
        trusted: false,
        idempotency: Idempotency::None,
        input: schema_of::<A>(),
        output: schema_of::<O>(),
        function: Arc::new(function),
    }
}

/// The schema of a type, in one piece; an object has no fields but those of the type.
fn schema_of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        if object.get("type") == Some(&json!("object")) {
            object.entry("additionalProperties").or_insert(json!(false));
        }
    }
    schema
}

impl OwnTool {
    /// What it does, in a sentence: planners read this.
    #[must_use]
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = description.into();
        self
    }

    /// The arguments that are mere content: they decide nobody who is reached.
    #[must_use]
    pub fn content<const N: usize>(mut self, names: [&str; N]) -> Self {
        self.content = names.into_iter().map(str::to_owned).collect();
        self
    }

    /// The version of the code behind it: approvals and `provost.lock` notice that it changed.
    #[must_use]
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = version.into();
        self
    }

    /// Its output may be believed.
    #[must_use]
    pub fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }

    /// The function does nothing a second time for a [`Call::key`] that it saw within `remembered`:
    /// a call whose outcome is unknown is repeated under its key, and no doubt.
    #[must_use]
    pub fn recognises_repetitions(mut self, remembered: Duration) -> Self {
        self.idempotency = Idempotency::Key {
            // Why a name that nobody reads: the call itself carries the key.
            carrier: KeyCarrier::Meta("key".to_owned()),
            ttl_ms: u64::try_from(remembered.as_millis()).unwrap_or(u64::MAX),
        };
        self
    }

    pub(crate) fn into_tool(self) -> Result<Arc<dyn Tool>, Error> {
        let compile = |schema: &Value| {
            Schema::compile(schema.clone()).map_err(|error| Error::Tool {
                tool: self.name.clone(),
                reason: error.to_string(),
            })
        };
        let operation = Operation {
            description: self.description.clone(),
            output: Some(compile(&self.output)?),
            content: self.content.clone(),
            trusted: self.trusted,
            idempotency: self.idempotency.clone(),
            endpoint: json!({ "version": self.version }),
            ..Operation::new(self.name.clone(), self.effect, compile(&self.input)?)
        };
        Ok(Arc::new(FunctionTool {
            operation,
            function: self.function,
        }))
    }
}

impl fmt::Debug for OwnTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OwnTool").field(&self.name).finish()
    }
}

/// The function among the adapters of the engine.
struct FunctionTool {
    operation: Operation,
    function: Arc<Function>,
}

impl fmt::Debug for FunctionTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.operation.name)
    }
}

impl Tool for FunctionTool {
    fn describe(&self) -> Vec<Operation> {
        vec![self.operation.clone()]
    }

    fn call<'a>(&'a self, request: &'a Request) -> ReplyFuture<'a> {
        let args = Value::Object(request.args().clone());
        let key = request.key().unwrap_or_default().to_owned();
        Box::pin(async move {
            match (self.function)(args, key).await {
                Ok(output) => {
                    let evidence = output.to_string().into_bytes();
                    Reply::ok(output, evidence, "application/json")
                }
                Err(ToolError { message, happened }) => {
                    let landing = match (self.operation.effect, happened) {
                        (Effect::Read, _) | (_, Some(false)) => Landing::None,
                        (_, Some(true)) => Landing::Happened,
                        (_, None) => Landing::Unknown,
                    };
                    Reply::failed(Class::Unavailable, landing, message)
                }
            }
        })
    }
}
