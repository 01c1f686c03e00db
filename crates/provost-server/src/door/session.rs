//! Sessions: a browser that somebody signed in with.
//!
//! Owns the cookie, and when a session ends. INVARIANT: its secret is new at every login, stands in
//! the cookie alone, and is of no use once the session ended.

use axum::http::{HeaderMap, HeaderValue, header};
use provost_engine::clock::now_ms;

use super::database::DatabaseError;
use super::oidc::LoginAccount;
use super::{Login, Viewer, after, principal};
use crate::app::App;
use crate::limits::SESSION_SEEN_EVERY;
use crate::problem::{Problem, ProblemKind};

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        Self::new(ProblemKind::Failed, error.to_string())
    }
}

fn name(secure: bool) -> &'static str {
    // Why another: the prefix asks for https, which a page on this machine has not.
    if secure { "__Host-provost" } else { "provost" }
}

/// The secret in the cookie of a request.
pub(super) fn cookie_of(headers: &HeaderMap, secure: bool) -> Option<String> {
    named_cookie(headers, name(secure))
}

/// The cookie of this name. Two of them are none: one could be put there by another name of the
/// same site.
pub(super) fn named_cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    // Why bytes: what another name put beside ours may be no text, and signs nobody out. And a
    // blank that only Unicode knows is no blank: browsers take a name with one for another name.
    let texts = headers.get_all(header::COOKIE).iter();
    let pairs = texts.flat_map(|text| text.as_bytes().split(|byte| *byte == b';'));
    let mut ours = pairs.filter_map(|pair| {
        let mut parts = pair.splitn(2, |byte| *byte == b'=');
        let (key, value) = (parts.next()?, parts.next()?);
        (key.trim_ascii() == name.as_bytes()).then(|| value.trim_ascii())
    });
    let first = ours.next()?;
    if ours.next().is_some() {
        return None;
    }
    std::str::from_utf8(first).ok().map(str::to_owned)
}

/// Who the session of this secret is of.
pub(super) fn viewer(app: &App, cookie: &str) -> Result<Option<Viewer>, Problem> {
    let Some(session) = app.database.session(cookie)? else {
        return Ok(None);
    };
    let ms = |length: std::time::Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    let silent = now_ms().saturating_sub(session.seen_ms);
    if silent > ms(app.door.idle) {
        app.database.end(None, Some(&session.digest))?;
        return Ok(None);
    }
    if silent > ms(SESSION_SEEN_EVERY) {
        app.database.see(&session.digest)?;
    }
    Ok(Some(Viewer {
        principal: principal(app, &session.person, false),
        login: Login::Session {
            digest: session.digest,
            kind: session.login,
            began_ms: session.began_ms,
            ends_ms: session.ends_ms,
        },
    }))
}

/// Begins a session of a person, by a link or with an account of the provider: the value of the
/// cookie that is set.
pub(crate) fn begin(
    app: &App,
    person: &str,
    account: Option<&LoginAccount>,
) -> Result<HeaderValue, Problem> {
    app.door.refuse_unlisted(app, person)?;
    let login = if account.is_some() { "oidc" } else { "link" };
    let lasts = app.door.lasts;
    let secret = app.database.begin(person, login, after(lasts))?;
    app.database
        .note(person, &format!("signed in by {login}"))?;
    cookie(app, &secret, lasts.as_secs())
}

/// Ends the session of whoever asks: the value of the cookie that takes it away.
pub(crate) fn end(app: &App, viewer: &Viewer) -> Result<HeaderValue, Problem> {
    if let Login::Session { digest, .. } = &viewer.login {
        app.database.end(None, Some(digest))?;
        app.database.note(&viewer.principal.id, "signed out")?;
    }
    cookie(app, "", 0)
}

fn cookie(app: &App, secret: &str, seconds: u64) -> Result<HeaderValue, Problem> {
    let secure = app.door.is_secure();
    // Why lax where others lead here: a link in a mail is to open its page, and a provider sends
    // a browser back that is to be signed in then.
    let lax = secure || app.provider.is_some();
    let rest = match (secure, lax) {
        (true, _) => "; Secure; SameSite=Lax",
        (false, true) => "; SameSite=Lax",
        (false, false) => "; SameSite=Strict",
    };
    header_value(&format!(
        "{}={secret}; Path=/; HttpOnly; Max-Age={seconds}{rest}",
        name(secure)
    ))
}

pub(super) fn header_value(text: &str) -> Result<HeaderValue, Problem> {
    HeaderValue::from_str(text)
        .map_err(|_| Problem::new(ProblemKind::Failed, "no cookie could be made"))
}
