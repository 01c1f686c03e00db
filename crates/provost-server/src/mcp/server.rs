//! What an MCP client sees: five tools and two documents.
//!
//! Owns the protocol's side: names, schemas, results, progress. Judges nothing. INVARIANT: the
//! list of tools is closed, and none of them approves, answers, settles or calls.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use provost_plan::plan::read::PLAN_JSON_SCHEMA;
use provost_plan::schema::Schema;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerCapabilities,
    ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::requests::{
    Caller, Check, ListRuns, ListTools, RequestRefusal, Requests, RunMoment, Status, Submit,
};
use crate::door::Viewer;

const TOOLS: &str = include_str!("tools.json");
const LANGUAGE: &str = include_str!("plan-language.md");
const INSTRUCTIONS: &str = "provost runs plans against real systems without trusting who wrote \
    them. You plan: `list_tools` says what a plan may call, `check_plan` compiles a plan and says \
    what is wrong with it, `submit_plan` begins a run of it, `run_status` follows it. You cannot \
    call a tool, approve a step or answer for a person: where policy asks, a person is asked, and \
    the run goes on when they have answered. The plan language is described by the resources \
    `provost://plan.md` and `provost://plan.schema.json`.";
/// How often somebody who waits looks for changes.
const LOOK: Duration = Duration::from_millis(100);

/// One document a client may read.
struct ResultPage {
    uri: &'static str,
    name: &'static str,
    title: &'static str,
    mime: &'static str,
    text: &'static str,
}

const PAGES: [ResultPage; 2] = [
    ResultPage {
        uri: "provost://plan.schema.json",
        name: "plan.schema.json",
        title: "The plan language as a JSON Schema",
        mime: "application/schema+json",
        text: PLAN_JSON_SCHEMA,
    },
    ResultPage {
        uri: "provost://plan.md",
        name: "plan.md",
        title: "The plan language, described",
        mime: "text/markdown",
        text: LANGUAGE,
    },
];

/// The server of one client; each further client gets a clone.
#[derive(Clone)]
pub struct McpServer {
    requests: Arc<Requests>,
    /// Who asks where no door looked at it.
    local: Option<Caller>,
    tools: Vec<Tool>,
    /// What the arguments of each tool must be, by its name.
    inputs: Arc<BTreeMap<String, Schema>>,
}

/// The list of tools that this program carries cannot be read.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the list of the server's tools is broken: {0}")]
pub struct BrokenToolList(String);

impl McpServer {
    /// A server of these requests; `local` is who asks where no door looked at it.
    pub(super) fn new(requests: Requests, local: Option<Caller>) -> Result<Self, BrokenToolList> {
        let broken = BrokenToolList;
        let tools: Vec<Tool> =
            serde_json::from_str(TOOLS).map_err(|error| broken(error.to_string()))?;
        let input = |tool: &Tool| {
            let schema = Schema::compile(Value::Object((*tool.input_schema).clone()));
            let schema = schema.map_err(|error| broken(error.to_string()))?;
            Ok::<_, BrokenToolList>((tool.name.to_string(), schema))
        };
        let inputs = tools.iter().map(input).collect::<Result<_, _>>()?;
        Ok(Self {
            requests: Arc::new(requests),
            local,
            tools,
            inputs: Arc::new(inputs),
        })
    }

    /// The arguments of a call of `tool`, if they are what the list of tools asks for.
    fn read<T: DeserializeOwned>(&self, tool: &str, args: &Value) -> Result<T, RequestRefusal> {
        let unfit = |what: &str| {
            RequestRefusal::new(&format!("the arguments do not fit: {what}"))
                .hint("`tools/list` has the schema of each tool's arguments")
        };
        let read = T::deserialize(args).map_err(|error| unfit(&error.to_string()))?;
        let schema = self.inputs.get(tool);
        let wrong = schema.and_then(|schema| schema.violations(args).into_iter().next());
        match wrong {
            None => Ok(read),
            Some(wrong) => Err(unfit(&format!("`{}`: {}", wrong.pointer, wrong.message))),
        }
    }

    /// For whom a request is answered: over HTTP for who sent this very one.
    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, RequestRefusal> {
        let head = context.extensions.get::<axum::http::request::Parts>();
        let viewer = head.and_then(|head| head.extensions.get::<Viewer>());
        let caller = viewer.map(Caller::of).or_else(|| self.local.clone());
        caller.ok_or_else(|| RequestRefusal::new("nobody is signed in"))
    }

    async fn answer(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, RequestRefusal> {
        let name = request.name.as_ref();
        let args = Value::Object(request.arguments.unwrap_or_default());
        let client = client_of(context);
        let caller = self.caller(context)?;
        match name {
            "list_tools" => self
                .requests
                .list_tools(&self.read::<ListTools>(name, &args)?),
            "check_plan" => self
                .requests
                .check(self.read::<Check>(name, &args)?, &client, &caller),
            "submit_plan" => {
                let submit: Submit = self.read(name, &args)?;
                let wait = submit.wait_seconds;
                let run = self.requests.submit(submit, &client, &caller).await?;
                self.follow(&run, wait, RunMoment::is_at_rest, context)
                    .await
            }
            "run_status" => {
                let status: Status = self.read(name, &args)?;
                let run = self.requests.find(&status.run, &caller)?;
                let before = self.requests.moment(&run)?;
                let changed = |now: &RunMoment| now.seq != before.seq || now.is_over();
                self.follow(&run, status.wait_seconds, changed, context)
                    .await
            }
            "list_runs" => self
                .requests
                .list_runs(&self.read::<ListRuns>(name, &args)?, &caller),
            other => Err(RequestRefusal::new(&format!("there is no tool `{other}`"))
                .hint("`tools/list` names those there are")),
        }
    }

    /// The run, once `until` holds of it, the client calls it off or the time is over.
    async fn follow(
        &self,
        run: &str,
        wait_seconds: u64,
        until: impl Fn(&RunMoment) -> bool,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, RequestRefusal> {
        let now = tokio::time::Instant::now();
        let deadline = now
            .checked_add(Duration::from_secs(wait_seconds))
            .unwrap_or(now);
        let token = context.meta.get_progress_token();
        let mut told = None;
        loop {
            let now = self.requests.moment(run)?;
            if until(&now) || tokio::time::Instant::now() >= deadline {
                return self.requests.run(run);
            }
            if let Some(token) = token.as_ref().filter(|_| told != Some(now.seq)) {
                told = Some(now.seq);
                let (done, all) = self.requests.progress(run)?;
                let progress = ProgressNotificationParam::new(token.clone(), done)
                    .with_total(all)
                    .with_message(now.status);
                // Why ignored: a client that does not read has gone, and its request with it.
                let _ = context.peer.notify_progress(progress).await;
            }
            tokio::select! {
                () = context.ct.cancelled() => return self.requests.run(run),
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("provost", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.clone()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let result = match self.answer(request, &context).await {
            Ok(value) => CallToolResult::structured(value),
            Err(refusal) => CallToolResult::structured_error(refusal.into_json()),
        };
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let listed = PAGES.iter().map(|page| {
            Resource::new(page.uri, page.name)
                .with_title(page.title)
                .with_mime_type(page.mime)
        });
        Ok(ListResourcesResult::with_all_items(listed.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some(page) = PAGES.iter().find(|page| page.uri == request.uri) else {
            let message = format!("there is no resource `{}`", request.uri);
            return Err(ErrorData::resource_not_found(message, None));
        };
        let contents = ResourceContents::text(page.text, page.uri).with_mime_type(page.mime);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

/// What the client calls itself, in a form that is safe to show.
fn client_of(context: &RequestContext<RoleServer>) -> String {
    const NAME_MAX: usize = 40;
    let plain = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let info = context.client_info();
    let name = info.map_or_else(String::new, |info| info.name);
    let name: String = name.chars().filter(plain).take(NAME_MAX).collect();
    if name.is_empty() {
        return "unnamed".to_owned();
    }
    name
}
