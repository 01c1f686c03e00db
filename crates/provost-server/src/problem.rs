//! Problems: why a request is not answered, as RFC 9457 has it.
//!
//! Owns the closed list of kinds with status and title. Decides none. INVARIANT: a problem quotes
//! nothing that its reader may not see, and a run that they may not see is one that is not there.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use provost_engine::engine::EngineError;
use provost_engine::people::StatementError;
use provost_engine::run::machine::StepError;
use provost_engine::session::DriveError;
use provost_engine::store::StoreError;
use serde_json::{Map, Value, json};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal $status:literal $title:literal;)*) => {
        /// The kind of a problem.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ProblemKind { $($(#[$doc])* $kind,)* }

        impl ProblemKind {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// Its name, as in `urn:provost:problem:NAME`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$kind => $name,)* }
            }

            /// Its status code.
            #[must_use]
            pub fn status(self) -> u16 {
                match self { $(Self::$kind => $status,)* }
            }

            /// Its title.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$kind => $title,)* }
            }
        }
    };
}

kinds! {
    /// The request cannot be read.
    BadRequest "bad-request" 400 "the request cannot be read";
    /// It came with a cookie and a token.
    TwoLogins "two-logins" 400 "a request has either a session or a token";
    /// Nobody is signed in.
    NotSignedIn "not-signed-in" 401 "nobody is signed in";
    /// Who signed in is not listed.
    Unlisted "unlisted" 403 "this person is not listed in the workspace";
    /// It comes from another site.
    CrossSite "cross-site" 403 "the request comes from another site";
    /// It comes through a proxy that nobody named.
    Proxied "proxied" 403 "the request comes through a proxy";
    /// The one-time link is spent or old.
    LinkSpent "link-spent" 403 "the link was used or has expired";
    /// The login does not count.
    LoginRefused "login-refused" 403 "the login does not count";
    /// Policy does not let them.
    NotAllowed "not-allowed" 403 "this person may not do that";
    /// It must be signed.
    Unsigned "unsigned" 403 "the statement is not signed as it must be";
    /// Nobody vouches for the login of who says it.
    Vouch "vouch" 403 "no server vouches for the login of who says this";
    /// It is secret.
    Secret "secret" 403 "the value is secret";
    /// It is not there, or not for them.
    NotFound "not-found" 404 "there is no such thing";
    /// It did not come in time.
    TooSlow "too-slow" 408 "the request did not come in time";
    /// The method is not one of the route's.
    Method "method" 405 "the route does not know this method";
    /// An unfinished run has the goal.
    SameGoal "same-goal" 409 "an unfinished run has the same goal";
    /// The saved plan is stale.
    StalePlan "stale-plan" 409 "the saved plan is stale";
    /// The key was used for another request.
    OtherRequest "other-request" 409 "the key was used for another request";
    /// Nothing waits for it.
    NotOpen "not-open" 409 "nothing waits for this";
    /// It is about another revision.
    OtherRevision "other-revision" 409 "the plan has another revision now";
    /// It was said before.
    Replayed "replayed" 409 "the statement was recorded before";
    /// It lapsed.
    Lapsed "lapsed" 410 "it has expired";
    /// The card was superseded.
    Superseded "superseded" 410 "another card has taken its place";
    /// The event's payload is gone.
    Erased "erased" 410 "the payload is gone";
    /// The evidence was pruned.
    Pruned "pruned" 410 "the evidence was pruned";
    /// The body is too large.
    TooLarge "too-large" 413 "the request is too large";
    /// The request was meant for another host.
    Misdirected "misdirected" 421 "this server has another name";
    /// A field or parameter does not fit.
    Unfit "unfit" 422 "a field does not fit";
    /// The answer does not fit the question.
    BadAnswer "bad-answer" 422 "the answer does not fit";
    /// The plan has errors, or a file of the workspace.
    Findings "findings" 422 "the plan or a file has errors";
    /// Nobody plans for the goal.
    NoPlanner "no-planner" 422 "no planner takes the goal";
    /// The stop binds nothing.
    BindsNothing "binds-nothing" 422 "the stop binds nothing";
    /// There are too many.
    TooMany "too-many" 429 "too many requests";
    /// The server cannot do it.
    Failed "failed" 500 "the server cannot do it";
    /// Who vouches for logins does not answer as it should.
    ProviderDown "provider-down" 502 "the login provider does not answer as it should";
    /// The process is ending, or the journal cannot be written.
    Halting "halting" 503 "nothing begins here now";
}

/// Why a request is not answered.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Its kind.
    pub kind: ProblemKind,
    /// What happened.
    pub detail: String,
    /// What else is said: `hint`, `run`, `findings` and the like.
    more: Option<Box<Map<String, Value>>>,
}

impl Problem {
    /// A problem of this kind, with what happened.
    #[must_use]
    pub fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self {
            kind,
            detail: detail.into(),
            more: None,
        }
    }

    /// What is not there, or is not for whoever asks: the two are one.
    #[must_use]
    pub fn not_found(what: &str) -> Self {
        Self::new(ProblemKind::NotFound, format!("there is no such {what}"))
    }

    /// Says what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        self.with("hint", Value::String(hint.into()))
    }

    /// What to do, if there is something.
    #[must_use]
    pub fn hint_text(&self) -> Option<&str> {
        self.more.as_ref()?.get("hint")?.as_str()
    }

    /// What is wrong with a plan or a file, a line each: where, the code, and what.
    pub(crate) fn findings(&self) -> Vec<String> {
        let more = self.more.as_ref().and_then(|more| more.get("findings"));
        let all = more.and_then(Value::as_array).into_iter().flatten();
        let text = |one: &Value, at: &str| match one.pointer(at) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        let lines = all.map(|one| {
            let [file, line] = ["/place/file", "/place/start/line"].map(|at| text(one, at));
            let [code, message] = ["/code", "/message"].map(|at| text(one, at));
            format!("{file}:{line}: {code}: {message}")
        });
        lines.collect()
    }

    /// Says after how many seconds to come again.
    #[must_use]
    pub fn wait(self, seconds: u64) -> Self {
        self.with("retry_after", json!(seconds))
    }

    /// Names the run.
    #[must_use]
    pub fn of_run(self, run: impl Into<String>) -> Self {
        self.with("run", Value::String(run.into()))
    }

    /// Says more.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        let more = self.more.get_or_insert_default();
        more.insert(name.to_owned(), value);
        self
    }

    /// Its status.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// As JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut object = self.more.as_deref().cloned().unwrap_or_default();
        let mut put = |name: &str, value: Value| object.insert(name.to_owned(), value);
        put(
            "type",
            json!(format!("urn:provost:problem:{}", self.kind.name())),
        );
        put("title", json!(self.kind.title()));
        put("status", json!(self.kind.status()));
        put("detail", json!(self.detail));
        Value::Object(object)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(self.to_json())).into_response();
        let media = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, media);
        let wait = self.more.as_ref().and_then(|more| more.get("retry_after"));
        if let Some(seconds) = wait.and_then(Value::as_u64) {
            let headers = response.headers_mut();
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.kind == ProblemKind::NotSignedIn {
            let scheme = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, scheme);
        }
        // Why kept: a page says the same words in its own form.
        response.extensions_mut().insert(self);
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        let kind = match &error {
            StoreError::UnknownRun { .. } => return Self::not_found("run"),
            StoreError::SameGoal { run, .. } => {
                let run = run.clone();
                return Self::new(ProblemKind::SameGoal, error.to_string()).of_run(run);
            }
            StoreError::Erased { .. } | StoreError::PayloadsPruned { .. } => ProblemKind::Erased,
            StoreError::EvidencePruned { .. } => ProblemKind::Pruned,
            StoreError::Busy | StoreError::QueueFull | StoreError::Closed => ProblemKind::Halting,
            _ => ProblemKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<StatementError> for Problem {
    fn from(error: StatementError) -> Self {
        let kind = match &error {
            StatementError::Malformed(_) | StatementError::OtherStore => ProblemKind::Unfit,
            StatementError::OtherRun { .. } => ProblemKind::Unfit,
            StatementError::OtherRevision { .. } => ProblemKind::OtherRevision,
            StatementError::Lapsed { .. } => ProblemKind::Lapsed,
            StatementError::Early { .. }
            | StatementError::TooLong { .. }
            | StatementError::HoldsSecret => ProblemKind::Unfit,
            StatementError::Unvouched { .. } | StatementError::ForgedVoucher { .. } => {
                ProblemKind::Vouch
            }
            StatementError::Unsigned { .. }
            | StatementError::NoKey { .. }
            | StatementError::OtherKey { .. }
            | StatementError::Forged { .. } => ProblemKind::Unsigned,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<StepError> for Problem {
    fn from(error: StepError) -> Self {
        let kind = match &error {
            StepError::Over { .. }
            | StepError::NotOpen { .. }
            | StepError::NotInDoubt { .. }
            | StepError::OtherAttempt { .. }
            | StepError::TooEarly { .. }
            | StepError::NotPaused
            | StepError::NotEnded
            | StepError::NothingToUndo { .. } => ProblemKind::NotOpen,
            StepError::Lapsed { .. } => ProblemKind::Lapsed,
            StepError::Denied(_) | StepError::NotAllowed { .. } => ProblemKind::NotAllowed,
            StepError::NotOnCard { .. }
            | StepError::BadAnswer { .. }
            | StepError::BadOutput { .. } => ProblemKind::BadAnswer,
            StepError::Replayed { .. } => ProblemKind::Replayed,
            StepError::Amendment { findings, .. } => {
                let findings = json!(findings);
                return Self::new(ProblemKind::Findings, error.to_string())
                    .with("findings", findings);
            }
            StepError::NoRequest { .. }
            | StepError::NoAttempt { .. }
            | StepError::Laborious
            | StepError::Fold(_) => ProblemKind::Failed,
        };
        Self::new(kind, error.to_string())
    }
}

impl From<DriveError> for Problem {
    fn from(error: DriveError) -> Self {
        match error {
            DriveError::Statement(error) => error.into(),
            DriveError::Step(error) => error.into(),
            DriveError::Store(error) => error.into(),
            other => Self::new(ProblemKind::Failed, other.to_string()),
        }
    }
}

impl From<EngineError> for Problem {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Store(error) => error.into(),
            EngineError::Drive(error) => error.into(),
            EngineError::Find(_) => Self::not_found("run"),
            EngineError::SameGoal { ref run, .. } => {
                let run = run.clone();
                Self::new(ProblemKind::SameGoal, error.to_string())
                    .of_run(run)
                    .hint("say `again` to begin another run with this goal")
            }
            EngineError::Planner(_)
            | EngineError::Trouble { .. }
            | EngineError::Drifted { .. }
            | EngineError::Unprepared { .. } => {
                Self::new(ProblemKind::NoPlanner, error.to_string())
            }
            other => Self::new(ProblemKind::Failed, other.to_string()),
        }
    }
}
