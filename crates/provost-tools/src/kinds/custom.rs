//! Tools that the program around the engine carries out itself.
//!
//! Owns the trait that a builder implements, and what is asked of every such tool. Never looks
//! inside one. INVARIANT: a tool of the program's own gets what any adapter gets, arguments that
//! were checked and a time that ends, and its reply is judged like any other.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;

use futures::FutureExt as _;
use provost_plan::catalog::{Operation, Tags};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::duration;
use provost_plan::source::Span;
use provost_run::outcome::{Class, Landing, Reply};
use provost_wire::Redactor;

use crate::adapter::{Adapter, CallFuture, Overreach, ToolSettings};
use crate::config::check_name;
use crate::fault::{Fault, Request};
use crate::protected_paths::ProtectedPaths;

/// What [`Tool::call`] returns: the reply of one call, once it is there.
pub type ReplyFuture<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// A tool that is code of the program around the engine. The program vouches for it as the operator
/// does for an entry of `provost.toml`, and `provost.lock` pins it like one.
///
/// ```
/// use provost_plan::catalog::{Effect, Operation};
/// use provost_plan::schema::{Schema, SchemaError};
/// use provost_run::outcome::Reply;
/// use provost_tools::{ReplyFuture, Request, Tool};
/// use serde_json::json;
///
/// #[derive(Debug)]
/// struct Clock {
///     now: Operation,
/// }
///
/// impl Clock {
///     fn new() -> Result<Self, SchemaError> {
///         let nothing = json!({ "type": "object", "additionalProperties": false });
///         let text = json!({ "type": "string", "format": "date-time" });
///         Ok(Self {
///             now: Operation {
///                 output: Some(Schema::compile(text)?),
///                 ..Operation::new("clock.now", Effect::Read, Schema::compile(nothing)?)
///             },
///         })
///     }
/// }
///
/// impl Tool for Clock {
///     fn describe(&self) -> Vec<Operation> {
///         vec![self.now.clone()]
///     }
///
///     fn call<'a>(&'a self, _: &'a Request) -> ReplyFuture<'a> {
///         Box::pin(async {
///             let now = "2026-11-21T09:00:00Z";
///             Reply::ok(json!(now), now.as_bytes().to_vec(), "text/plain")
///         })
///     }
/// }
/// # Clock::new().unwrap();
/// ```
pub trait Tool: fmt::Debug + Send + Sync {
    /// Its operations, `TOOL.OPERATION` each, all of one tool. Asked once, when the workspace is
    /// opened. What their `endpoint` says is part of their digest: a version there makes approvals
    /// and `provost.lock` notice that the code behind them is another.
    fn describe(&self) -> Vec<Operation>;

    /// Makes one call and returns its outcome. Landing `none` promises that nothing happened. The
    /// future is dropped when its time is over; what it did by then counts as unknown.
    fn call<'a>(&'a self, request: &'a Request) -> ReplyFuture<'a>;
}

/// The name of such a tool and its operations, as it describes them.
pub(crate) fn read_custom(
    tool: &dyn Tool,
    tags: &Tags,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<(String, Vec<Operation>)> {
    let operations = tool.describe();
    let Some(name) = operations.first().map(|first| first.server().to_owned()) else {
        let message = format!("the tool {tool:?} has no operation");
        diagnostics.push(bad(message));
        return None;
    };
    let before = diagnostics.len();
    check_name("a tool", &name, Span::default(), diagnostics);
    for operation in &operations {
        let borne = operation.tags.iter();
        diagnostics.extend(borne.filter_map(|tag| tags.finding(tag, Span::default())));
        match operation.name.split_once('.') {
            Some((server, short)) if server == name => {
                check_name("an operation", short, Span::default(), diagnostics);
            }
            _ => diagnostics.push(bad(format!(
                "the operation `{}` is none of the tool `{name}`",
                operation.name
            ))),
        }
    }
    (diagnostics.len() == before).then_some((name, operations))
}

fn bad(message: String) -> Diagnostic {
    Diagnostic::new(Code::BadWorkspace, Span::default(), message)
}

/// A tool of the program's own, among the others.
#[derive(Clone, Debug)]
pub(crate) struct CustomTool(pub(crate) Arc<dyn Tool>);

impl ToolSettings for CustomTool {
    fn open(&self, _: &str, _: &Arc<ProtectedPaths>) -> Result<Arc<dyn Adapter>, Overreach> {
        Ok(Arc::new(self.clone()))
    }
}

impl Adapter for CustomTool {
    fn trouble(&self) -> Option<String> {
        None
    }

    /// Within its time, and whatever it does.
    fn perform<'a>(&'a self, request: &'a Request, _: &'a Redactor) -> CallFuture<'a> {
        Box::pin(async {
            let reply = AssertUnwindSafe(self.0.call(request)).catch_unwind();
            let lost = |class, message| Fault::new(class, Landing::Unknown, message);
            match tokio::time::timeout(request.timeout, reply).await {
                // Why none: who refused is told by adapters of provost alone.
                Ok(Ok(reply)) => Ok(Reply {
                    refused_args: Vec::new(),
                    ..reply
                }),
                Ok(Err(_)) => Err(lost(
                    Class::ToolBug,
                    "the tool stopped unexpectedly".to_owned(),
                )),
                Err(_) => {
                    let time = duration::print(request.timeout);
                    Err(lost(Class::Timeout, format!("no result within {time}")))
                }
            }
        })
    }
}
