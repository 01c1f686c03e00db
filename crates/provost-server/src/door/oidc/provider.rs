//! The provider: what it says of itself, the code for a token, and its keys.
//!
//! Owns the requests, all through the guarded client that the engine lends. Verifies no token.
//! INVARIANT: an answer is bounded in time and size, and nobody is sent where the provider's own
//! document does not say.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use provost_engine::outside::{Client, Method, Request, Response};
use provost_engine::workspace::OidcSettings;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::token::ProviderKey;
use crate::problem::{Problem, ProblemKind};

/// How long one request to the provider may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer of the provider, in bytes.
const ANSWER_MAX: u64 = 256 * 1024;
/// How long what the provider says of itself is kept.
const KEPT: Duration = Duration::from_secs(5 * 60);

type Headers = Vec<(String, String)>;

/// The provider of the workspace.
pub(crate) struct LoginProvider {
    pub(super) settings: OidcSettings,
    /// The one address that it sends browsers back to.
    pub(super) back: String,
    root: std::path::PathBuf,
    found: Mutex<Option<(Instant, Arc<ProviderDocument>)>>,
}

/// What a provider says of itself (OpenID Connect Discovery 1.0).
#[derive(Clone, Debug, Deserialize)]
pub(super) struct ProviderDocument {
    issuer: String,
    pub(super) authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    userinfo_endpoint: Option<String>,
    #[serde(default, rename = "authorization_response_iss_parameter_supported")]
    pub(super) names_itself: bool,
    #[serde(default, rename = "token_endpoint_auth_methods_supported")]
    client_auth: Option<Vec<String>>,
}

/// What a provider gives for a code.
#[derive(Deserialize)]
pub(super) struct RedeemedCode {
    pub(super) id_token: String,
    access_token: Option<String>,
}

/// What a token is given for.
pub(super) struct CodeGrant<'a> {
    pub(super) code: &'a str,
    pub(super) verifier: &'a str,
}

impl LoginProvider {
    /// A provider whose secret can be read now. Why not at the first login only: whoever signs in
    /// could do nothing about it.
    ///
    /// # Errors
    /// The reason, if the secret cannot be read or is none.
    pub(crate) fn open(
        settings: OidcSettings,
        back: String,
        root: std::path::PathBuf,
    ) -> Result<Self, String> {
        let secret = settings.secret.resolve(&root);
        secret.map_err(|error| error.to_string())?;
        Ok(Self {
            settings,
            back,
            root,
            found: Mutex::default(),
        })
    }

    /// The issuer that it is.
    pub(crate) fn issuer(&self) -> &str {
        &self.settings.issuer
    }

    /// Its host, as people know it.
    pub(crate) fn host(&self) -> String {
        let way = self.settings.way_to(&self.settings.issuer);
        way.map_or_else(|_| String::new(), |(base, _)| base.host().to_owned())
    }

    /// What is asked for beside the login itself.
    pub(super) fn scope(&self) -> &'static str {
        match self.settings.name.as_str() {
            "email" => "openid email",
            "sub" => "openid",
            _ => "openid profile",
        }
    }

    /// The provider answers otherwise than it should.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> Problem {
        let detail = format!("the login provider `{}`: {what}", self.settings.issuer);
        Problem::new(ProblemKind::ProviderDown, detail)
            .hint("try again, or ask for a one-time link")
    }

    /// What it says of itself, as kept for some minutes.
    pub(super) async fn discover(&self) -> Result<Arc<ProviderDocument>, Problem> {
        let kept = self
            .found
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        if let Some((since, document)) = kept
            && since.elapsed() < KEPT
        {
            return Ok(document);
        }
        let issuer = &self.settings.issuer;
        let at = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let document: ProviderDocument = self.get(&at).await?;
        if document.issuer != *issuer {
            return Err(self.wrong("its document names another issuer"));
        }
        let needed = [
            &document.authorization_endpoint,
            &document.token_endpoint,
            &document.jwks_uri,
        ];
        for at in needed.into_iter().chain(&document.userinfo_endpoint) {
            let plain = at.split(['?', '#']).next().unwrap_or_default();
            if let Err(why) = self.settings.way_to(plain) {
                return Err(self.wrong(why));
            }
        }
        let document = Arc::new(document);
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        *found = Some((Instant::now(), Arc::clone(&document)));
        Ok(document)
    }

    /// Its keys, as they are now: one that it took back counts no more.
    pub(super) async fn keys(
        &self,
        document: &ProviderDocument,
    ) -> Result<Vec<ProviderKey>, Problem> {
        #[derive(Deserialize)]
        struct Keys {
            keys: Vec<Value>,
        }
        let Keys { keys } = self.get(&document.jwks_uri).await?;
        // Why not refused: a provider has keys of kinds that are of no use here.
        let read = keys
            .into_iter()
            .filter_map(|key| serde_json::from_value(key).ok());
        Ok(read.collect())
    }

    /// The token for a code.
    pub(super) async fn redeem(
        &self,
        document: &ProviderDocument,
        grant: CodeGrant<'_>,
    ) -> Result<RedeemedCode, Problem> {
        let (headers, body) = self.redemption(document, &grant)?;
        let body = Some((body, "application/x-www-form-urlencoded"));
        let answer = self.ask(&document.token_endpoint, Method::Post, headers, body);
        self.read(&answer.await?)
    }

    /// What it says beside the token of whom the token is about: nothing, where it has no such
    /// place.
    pub(super) async fn more(
        &self,
        document: &ProviderDocument,
        redeemed: &RedeemedCode,
    ) -> Result<Map<String, Value>, Problem> {
        let (Some(at), Some(token)) = (&document.userinfo_endpoint, &redeemed.access_token) else {
            return Ok(Map::new());
        };
        let bearer = ("authorization".to_owned(), format!("Bearer {token}"));
        let headers = vec![accept_json(), bearer];
        let answer = self.ask(at, Method::Get, headers, None).await?;
        self.read(&answer)
    }

    /// The headers and the body of the request for a token.
    fn redemption(
        &self,
        document: &ProviderDocument,
        grant: &CodeGrant<'_>,
    ) -> Result<(Headers, Vec<u8>), Problem> {
        let secret = self.settings.secret.resolve(&self.root);
        let secret = secret.map_err(|error| self.wrong(error))?;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs([
            ("grant_type", "authorization_code"),
            ("code", grant.code),
            ("redirect_uri", &self.back),
            ("code_verifier", grant.verifier),
        ]);
        let mut headers = vec![accept_json()];
        let by_post = document.client_auth.as_ref().is_some_and(|ways| {
            let knows = |way: &str| ways.iter().any(|known| known == way);
            knows("client_secret_post") && !knows("client_secret_basic")
        });
        if by_post {
            form.append_pair("client_id", &self.settings.client);
            form.append_pair("client_secret", secret.expose());
        } else {
            // Why encoded twice: RFC 6749 puts both through the encoding of forms first.
            let part = |text: &str| -> String {
                form_urlencoded::byte_serialize(text.as_bytes()).collect()
            };
            let pair = format!("{}:{}", part(&self.settings.client), part(secret.expose()));
            let basic = format!("Basic {}", STANDARD.encode(pair));
            headers.push(("authorization".to_owned(), basic));
        }
        Ok((headers, form.finish().into_bytes()))
    }

    async fn get<T: DeserializeOwned>(&self, at: &str) -> Result<T, Problem> {
        let answer = self.ask(at, Method::Get, vec![accept_json()], None).await?;
        self.read(&answer)
    }

    fn read<T: DeserializeOwned>(&self, answer: &Response) -> Result<T, Problem> {
        if !answer.is_success() {
            return Err(self.wrong(format!("it answers {}", answer.status)));
        }
        let read = serde_json::from_slice(&answer.body);
        // Why without the reason: it would quote what it cannot read.
        read.map_err(|_| self.wrong("its answer cannot be read"))
    }

    async fn ask(
        &self,
        at: &str,
        method: Method,
        headers: Headers,
        body: Option<(Vec<u8>, &'static str)>,
    ) -> Result<Response, Problem> {
        let (base, path) = self.settings.way_to(at).map_err(|why| self.wrong(why))?;
        let client = Client::new(base).map_err(|error| self.wrong(error))?;
        let request = Request {
            method,
            path,
            query: Vec::new(),
            headers,
            auth: None,
            body,
            timeout: TIMEOUT,
            max_bytes: ANSWER_MAX,
        };
        client
            .send(request)
            .await
            .map_err(|error| self.wrong(error))
    }
}

fn accept_json() -> (String, String) {
    ("accept".to_owned(), "application/json".to_owned())
}
