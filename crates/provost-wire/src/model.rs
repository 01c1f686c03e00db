//! The model client: one request to a language model, one answer.
//!
//! Owns the form of the request for each kind of provider, the class of every failure and the
//! counts of tokens. Repeats nothing, follows no redirect, keeps no conversation. Knows no plan:
//! the schema that it sends is its caller's. INVARIANT: the key stands in the request alone, in no
//! error and in no answer. The answer is bounded in time and in tokens; its bytes are counted once
//! it is whole.

use std::path::{Path, PathBuf};
use std::time::Duration;

use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatResponse, JsonSpec, StopReason};
use genai::chat::{ChatResponseFormat, Tool, ToolChoice};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::Value;

use crate::http::{BaseUrl, BaseUrlError, ClientError, streaming_client};
use crate::limits::MODEL_TEXT_BYTES_MAX;
use crate::redact::Redactor;
use crate::secret::SecretName;

mod error;
mod prices;

pub use error::ModelError;
pub use prices::{ModelConfig, Prices};

/// The protocol that the server of a model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// OpenAI's, as most local servers do.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini.
    Gemini,
}

impl ModelKind {
    /// How `kind` in `provost.toml` spells each of them.
    pub const WORDS: [(&'static str, Self); 3] = [
        ("openai", Self::OpenAi),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
    ];

    /// The address at which the provider itself serves its models.
    #[must_use]
    pub fn home(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1/",
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
        }
    }

    fn adapter(self) -> AdapterKind {
        match self {
            Self::OpenAi => AdapterKind::OpenAI,
            Self::Anthropic => AdapterKind::Anthropic,
            Self::Gemini => AdapterKind::Gemini,
        }
    }
}

/// How a model is told which form its answer has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SchemaForm {
    /// The schema constrains what it writes.
    #[default]
    JsonSchema,
    /// It must write JSON; the schema stands in the text.
    JsonObject,
    /// It must call a tool whose input has the schema.
    Tool,
    /// The schema stands in the text, and nothing else.
    Prompt,
}

impl SchemaForm {
    /// How `schema_form` in `provost.toml` spells each of them.
    pub const WORDS: [(&'static str, Self); 4] = [
        ("json_schema", Self::JsonSchema),
        ("json_object", Self::JsonObject),
        ("tool", Self::Tool),
        ("prompt", Self::Prompt),
    ];

    /// How `provost.toml` spells it.
    #[must_use]
    pub fn word(self) -> &'static str {
        let mut words = Self::WORDS.iter();
        words
            .find(|(_, form)| *form == self)
            .map_or("", |(word, _)| word)
    }
}

/// A model, as the operator configures it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSettings {
    /// The protocol that its server speaks.
    pub kind: ModelKind,
    /// The name by which its server knows it.
    pub model: String,
    /// Its key; a server of this machine may want none.
    pub key: Option<SecretName>,
    /// Where it is served, if not by its provider.
    pub base_url: Option<BaseUrl>,
    /// How it is told the form of its answer.
    pub form: SchemaForm,
    /// The sampling temperature; without one the server's default.
    pub temperature: Option<f64>,
    /// The seed of its sampling; without one every answer may differ.
    pub seed: Option<u64>,
    /// Most tokens that an answer may have.
    pub max_tokens: u32,
    /// How long an answer may take.
    pub timeout: Duration,
}

/// One question to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelRequest<'a> {
    /// What stays the same from one request to the next.
    pub system: &'a str,
    /// The question itself, which differs from one request to the next.
    pub user: &'a str,
    /// The name of the form of its answer.
    pub name: &'a str,
    /// The JSON Schema that its answer has to fit.
    pub schema: &'a Value,
}

/// The answer of a model, which nobody has checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelReply {
    /// What it wrote: JSON, if it did as it was asked.
    pub text: String,
    /// The model, as its server names it.
    pub model: String,
    /// The tokens that the request and its answer took.
    pub usage: ModelUsage,
    /// Why the answer ended where it does.
    pub finish: FinishReason,
}

/// Tokens of one request and its answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ModelUsage {
    /// Sent, those that were kept included.
    pub input: u64,
    /// Of these, those that the server had kept.
    pub cached: u64,
    /// Tokens of the answer.
    pub output: u64,
}

/// Why an answer ended where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model had nothing to add: the answer is whole.
    Stop,
    /// It reached the most tokens allowed.
    Length,
    /// The model or its server refused to answer.
    Refused,
}

/// A client that asks one model.
#[derive(Clone)]
pub struct ModelClient {
    settings: ModelSettings,
    base: BaseUrl,
    root: PathBuf,
    inner: Client,
}

impl std::fmt::Debug for ModelClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelClient")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// A client that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelClientError {
    /// Its address cannot be used.
    #[error(transparent)]
    Base(#[from] BaseUrlError),
    /// The HTTP client does not start.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The library that speaks the protocol does not start.
    #[error("the model client cannot start: {0}")]
    Build(String),
}

/// The name of the key that is sent to a server that wants none.
const NO_KEY: &str = "none";

impl ModelClient {
    /// A client for a model; a key in a file lies below `root`. Nothing is sent.
    ///
    /// # Errors
    /// [`ModelClientError`] if the HTTP client does not start.
    pub fn new(settings: ModelSettings, root: &Path) -> Result<Self, ModelClientError> {
        let base = match &settings.base_url {
            Some(base) => base.clone(),
            None => BaseUrl::parse(settings.kind.home())?,
        };
        let inner = Client::builder()
            .with_reqwest(streaming_client(&base)?)
            .build()
            .map_err(|error| ModelClientError::Build(error.to_string()))?;
        Ok(Self {
            settings,
            base,
            root: root.to_owned(),
            inner,
        })
    }

    /// The settings that it was made with.
    #[must_use]
    pub fn settings(&self) -> &ModelSettings {
        &self.settings
    }

    /// Asks it once.
    ///
    /// # Errors
    /// [`ModelError`], by class.
    pub async fn ask(&self, request: ModelRequest<'_>) -> Result<ModelReply, ModelError> {
        let named = self.settings.key.as_ref();
        let secret = named
            .map(|name| name.resolve(&self.root))
            .transpose()
            .map_err(|error| ModelError::NoKey(error.to_string()))?;
        let redactor = Redactor::new(&secret);
        let key = secret.as_ref().map_or(NO_KEY, |secret| secret.expose());
        // Why one slash: an adapter puts its path behind what stands there.
        let base = format!("{}/", self.base.to_string().trim_end_matches('/'));
        let target = ServiceTarget {
            endpoint: Endpoint::from_owned(base),
            auth: AuthData::from_single(key),
            model: ModelIden::new(self.settings.kind.adapter(), self.settings.model.as_str()),
        };
        let (chat, options) = self.prepare(request);
        let asked = self.inner.exec_chat(target, chat, Some(&options));
        let answer = match tokio::time::timeout(self.settings.timeout, asked).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return Err(ModelError::of(&error, &redactor)),
            Err(_) => return Err(ModelError::Timeout(self.settings.timeout)),
        };
        read(&answer, &redactor)
    }

    fn prepare(&self, request: ModelRequest<'_>) -> (ChatRequest, ChatOptions) {
        let settings = &self.settings;
        let mut options = ChatOptions::default()
            .with_max_tokens(settings.max_tokens)
            .with_capture_raw_body(true);
        if let Some(temperature) = settings.temperature {
            options = options.with_temperature(temperature);
        }
        if let Some(seed) = settings.seed {
            options = options.with_seed(seed);
        }
        let mut chat = ChatRequest::from_system(request.system);
        let mut user = request.user.to_owned();
        match settings.form {
            SchemaForm::JsonSchema => {
                let spec = JsonSpec::new(request.name, request.schema.clone());
                options = options.with_response_format(spec);
            }
            SchemaForm::Tool => {
                let tool = Tool::new(request.name)
                    .with_description("Gives the answer.")
                    .with_schema(request.schema.clone());
                chat = chat.with_tools([tool]);
                options = options.with_tool_choice(ToolChoice::tool(request.name));
            }
            SchemaForm::JsonObject => {
                options = options.with_response_format(ChatResponseFormat::JsonMode);
                user = with_schema(&user, request.schema);
            }
            SchemaForm::Prompt => user = with_schema(&user, request.schema),
        }
        (chat.append_message(ChatMessage::user(user)), options)
    }
}

/// The text of a request, with the schema of its answer.
fn with_schema(user: &str, schema: &Value) -> String {
    format!(
        "{user}\n\nAnswer with one JSON object of this JSON Schema, and nothing else:\n{schema}"
    )
}

fn read(answer: &ChatResponse, redactor: &Redactor) -> Result<ModelReply, ModelError> {
    let calls = answer.tool_calls();
    let text = match calls.first() {
        Some(call) => match &call.fn_arguments {
            Value::String(text) => text.clone(),
            arguments => arguments.to_string(),
        },
        None => answer.texts().concat(),
    };
    let body = answer.captured_raw_body.as_ref();
    let refusal = body
        .and_then(|body| body.pointer("/choices/0/message/refusal"))
        .and_then(Value::as_str);
    let finish = match &answer.stop_reason {
        _ if refusal.is_some() => FinishReason::Refused,
        Some(StopReason::ContentFilter(_)) => FinishReason::Refused,
        Some(StopReason::MaxTokens(_)) => FinishReason::Length,
        _ => FinishReason::Stop,
    };
    let text = match (refusal, text.is_empty()) {
        (Some(refusal), true) => refusal.to_owned(),
        _ => text,
    };
    if text.len() > MODEL_TEXT_BYTES_MAX {
        let reason = format!("it has more than the {MODEL_TEXT_BYTES_MAX} bytes allowed");
        return Err(ModelError::Garbage(reason));
    }
    let count = |count: Option<i32>| count.and_then(|c| u64::try_from(c).ok()).unwrap_or(0);
    let details = answer.usage.prompt_tokens_details.as_ref();
    Ok(ModelReply {
        text: redactor.redact_text(&text),
        model: answer.provider_model_iden.model_name.to_string(),
        usage: ModelUsage {
            input: count(answer.usage.prompt_tokens),
            cached: details.map_or(0, |details| count(details.cached_tokens)),
            output: count(answer.usage.completion_tokens),
        },
        finish,
    })
}
