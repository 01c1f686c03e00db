//! Signing in with a provider: OpenID Connect, the code flow with PKCE.
//!
//! Owns the two ends of a login: sending a browser to the provider, and taking it back. Keeps no
//! key and believes no group of the provider. INVARIANT: a login counts once, in the browser that
//! began it, and only for the account of the provider that first bore the person's name.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::hmac;
use serde::Deserialize;

use self::provider::{CodeGrant, LoginProvider};
use self::token::{ExpectedToken, IdToken, TokenFault};
use super::{Door, secret, session};
use crate::api::input::Parameters;
use crate::app::App;
use crate::limits::LOGIN_TIME;
use crate::problem::{Problem, ProblemKind};
use crate::serve::Peer;

pub(crate) mod provider;
mod token;

/// Where the provider sends a browser back to.
pub(crate) const BACK: &str = "/login/oidc/back";
/// How long an address may be that a browser is sent to: the provider wrote most of it.
const ADDRESS_MAX: usize = 8_192;

/// The account of a provider that somebody signed in with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginAccount {
    /// Who vouches for it.
    pub issuer: String,
    /// What the provider calls it; never given to another person.
    pub subject: String,
}

/// One login under way. All of it follows from the secret in the browser's cookie and from the
/// state, so that nothing of it need be kept but their digests.
struct LoginAttempt {
    browser: String,
    state: String,
}

impl LoginAttempt {
    fn draw() -> Result<Self, Problem> {
        let draw = || secret::draw().map_err(|error| Problem::new(ProblemKind::Failed, error));
        Ok(Self {
            browser: draw()?,
            state: draw()?,
        })
    }

    /// What is kept of it.
    fn digests(&self) -> [String; 2] {
        [&self.state, &self.browser].map(|text| secret::digest(text))
    }

    fn derived(&self, what: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.browser.as_bytes());
        let text = format!("{what}\n{}", self.state);
        URL_SAFE_NO_PAD.encode(hmac::sign(&key, text.as_bytes()))
    }

    /// What the token must repeat.
    fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// What only this server can show to the provider (RFC 7636).
    fn verifier(&self) -> String {
        self.derived("verifier")
    }

    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier().as_bytes()))
    }
}

fn provider(app: &App) -> Result<&LoginProvider, Problem> {
    let provider = app.provider.as_ref();
    provider.ok_or_else(|| Problem::not_found("login"))
}

/// `GET /login/oidc`: sends a browser to the provider.
pub(crate) async fn begin(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let provider = provider(&app)?;
    app.logins.take(app.door.address(peer, &headers))?;
    let found = provider.discover().await?;
    let attempt = LoginAttempt::draw()?;
    app.database
        .expect_login(attempt.digests(), super::after(LOGIN_TIME))?;
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs([
        ("response_type", "code"),
        ("scope", provider.scope()),
        ("client_id", &provider.settings.client),
        ("redirect_uri", &provider.back),
        ("state", &attempt.state),
        ("nonce", &attempt.nonce()),
        ("code_challenge", &attempt.challenge()),
        ("code_challenge_method", "S256"),
    ]);
    let at = &found.authorization_endpoint;
    let joint = if at.contains('?') { '&' } else { '?' };
    let address = format!("{at}{joint}{}", query.finish());
    if address.len() > ADDRESS_MAX {
        return Err(provider.wrong("its address is too long"));
    }
    let cookie = cookie(&app.door, &attempt.browser, LOGIN_TIME.as_secs())?;
    Ok(([(header::SET_COOKIE, cookie)], Redirect::to(&address)).into_response())
}

/// What the provider sends a browser back with. Other parameters are the provider's own.
#[derive(Deserialize)]
pub(crate) struct ReturnQuery {
    state: String,
    code: Option<String>,
    iss: Option<String>,
    error: Option<String>,
}

/// `GET /login/oidc/back`: takes a browser back, and begins its session.
pub(crate) async fn back(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Parameters(back): Parameters<ReturnQuery>,
) -> Result<Response, Problem> {
    let entered = match begun_here(&app, &headers, &back.state)? {
        Some(attempt) => enter(&app, attempt, back).await,
        None => {
            // Why counted: one that was begun here was counted then.
            app.logins.take(app.door.address(peer, &headers))?;
            Err(refused(
                "this login was not begun in this browser, was used before, or took too long",
            ))
        }
    };
    if let Err(problem) = &entered {
        app.database
            .note("", &format!("a login was refused: {}", problem.detail))?;
    }
    let begun = entered?;
    let cookies = [begun, cookie(&app.door, "", 0)?];
    let cookies = AppendHeaders(cookies.map(|cookie| (header::SET_COOKIE, cookie)));
    Ok((cookies, Redirect::to("/")).into_response())
}

/// The login that this browser began, once.
fn begun_here(
    app: &App,
    headers: &HeaderMap,
    state: &str,
) -> Result<Option<LoginAttempt>, Problem> {
    let Some(browser) = session::named_cookie(headers, name(&app.door)) else {
        return Ok(None);
    };
    let state = state.to_owned();
    let attempt = LoginAttempt { browser, state };
    let is_ours = app.database.take_login(attempt.digests())?;
    Ok(is_ours.then_some(attempt))
}

/// The cookie of the session of whoever comes back.
async fn enter(
    app: &App,
    attempt: LoginAttempt,
    back: ReturnQuery,
) -> Result<HeaderValue, Problem> {
    let provider = provider(app)?;
    let found = provider.discover().await?;
    let named = back.iss.as_deref();
    if named.is_some_and(|iss| iss != provider.settings.issuer)
        || (found.names_itself && named.is_none())
    {
        return Err(refused(
            "the answer is not from the provider that was asked",
        ));
    }
    if let Some(error) = back.error {
        let plain = |c: &char| c.is_ascii_lowercase() || *c == '_';
        let error: String = error.chars().filter(plain).take(40).collect();
        return Err(refused(format!("the provider says `{error}`")));
    }
    let code = back.code.ok_or_else(|| refused("the answer has no code"))?;
    let grant = CodeGrant {
        code: &code,
        verifier: &attempt.verifier(),
    };
    let redeemed = provider.redeem(&found, grant).await?;
    let keys = provider.keys(&found).await?;
    let expected = ExpectedToken {
        issuer: &provider.settings.issuer,
        client: &provider.settings.client,
        nonce: &attempt.nonce(),
        now_s: provost_engine::clock::now_ms() / 1_000,
    };
    let untold = |fault: TokenFault| refused(fault.to_string());
    let mut token = IdToken::verify(&redeemed.id_token, &keys, &expected).map_err(untold)?;
    let claim = &provider.settings.name;
    if !token.has(claim) {
        // Why asked: a provider need not put into the token what only its scope asks for.
        let more = provider.more(&found, &redeemed).await?;
        token = token.and(more).map_err(untold)?;
    }
    let person = token.name(claim).map_err(untold)?;
    app.door.refuse_unlisted(app, &person)?;
    let account = LoginAccount {
        issuer: provider.settings.issuer.clone(),
        subject: token.subject,
    };
    hold_to_account(app, &person, &account)?;
    session::begin(app, &person, Some(&account))
}

/// A name belongs to the account that first bore it: a provider may give an address to somebody
/// else, and an account may be given another address.
fn hold_to_account(app: &App, person: &str, account: &LoginAccount) -> Result<(), Problem> {
    if let Some(other) = app.database.person_of(account)?
        && other != person
    {
        if app.workspace().people().is_listed(&other) {
            let detail = format!("this account of the provider signed in as `{other}` before");
            return Err(refused(detail).hint(ANOTHER_ACCOUNT));
        }
        app.database.forget_account(&other)?;
    }
    if app.database.bind_account(person, account)? {
        return Ok(());
    }
    let detail = format!("`{person}` signed in with another account of the provider before");
    Err(refused(detail).hint(ANOTHER_ACCOUNT))
}

const ANOTHER_ACCOUNT: &str = "if that is right, who keeps the workspace says so: \
                               `provost invite NAME --new-account`";

fn refused(detail: impl Into<String>) -> Problem {
    Problem::new(ProblemKind::LoginRefused, detail).hint("sign in again at /login")
}

fn name(door: &Door) -> &'static str {
    if door.is_secure() {
        "__Host-provost-login"
    } else {
        "provost-login"
    }
}

fn cookie(door: &Door, value: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let secure = if door.is_secure() { "; Secure" } else { "" };
    // Why lax: it is the provider's page that sends the browser back.
    let text = format!(
        "{}={value}; Path=/; HttpOnly; Max-Age={seconds}{secure}; SameSite=Lax",
        name(door)
    );
    session::header_value(&text)
}
