//! Sessions: a browser that somebody signed in with.
//!
//! Owns the cookie, and when a session ends. INVARIANT: its secret is new at every login, stands in
//! the cookie alone, and is of no use once the session ended.

use axum::http::{HeaderMap, HeaderValue, header};
use provost_engine::clock::now_ms;

use super::database::DatabaseError;
use super::{Login, Viewer, after, principal};
use crate::app::App;
use crate::limits::{SESSION_IDLE, SESSION_LASTS, SESSION_SEEN_EVERY};
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

/// The secret in the cookie of a request. Two of them are none: one could be put there by another
/// name of the same site.
pub(super) fn cookie_of(headers: &HeaderMap, secure: bool) -> Option<String> {
    let texts = headers.get_all(header::COOKIE).iter();
    let texts = texts.filter_map(|text| text.to_str().ok());
    let pairs = texts.flat_map(|text| text.split(';'));
    let mut ours = pairs.filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        (key.trim() == name(secure)).then(|| value.trim().to_owned())
    });
    let first = ours.next()?;
    ours.next().is_none().then_some(first)
}

/// Who the session of this secret is of.
pub(super) fn viewer(app: &App, cookie: &str) -> Result<Option<Viewer>, Problem> {
    let Some(session) = app.database.session(cookie)? else {
        return Ok(None);
    };
    let ms = |length: std::time::Duration| i64::try_from(length.as_millis()).unwrap_or(i64::MAX);
    let silent = now_ms().saturating_sub(session.seen_ms);
    if silent > ms(SESSION_IDLE) {
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
            ends_ms: session.ends_ms,
        },
    }))
}

/// Begins a session of a person: the value of the cookie that is set.
pub(crate) fn begin(app: &App, person: &str, login: &str) -> Result<HeaderValue, Problem> {
    app.door.refuse_unlisted(app, person)?;
    let secret = app.database.begin(person, login, after(SESSION_LASTS))?;
    app.database
        .note(person, &format!("signed in by {login}"))?;
    cookie(&secret, app.door.is_secure(), SESSION_LASTS.as_secs())
}

/// Ends the session of whoever asks: the value of the cookie that takes it away.
pub(crate) fn end(app: &App, viewer: &Viewer) -> Result<HeaderValue, Problem> {
    if let Login::Session { digest, .. } = &viewer.login {
        app.database.end(None, Some(digest))?;
        app.database.note(&viewer.principal.id, "signed out")?;
    }
    cookie("", app.door.is_secure(), 0)
}

fn cookie(secret: &str, secure: bool, seconds: u64) -> Result<HeaderValue, Problem> {
    // Why lax by https: a link in a mail is to open its page.
    let rest = if secure {
        "; Secure; SameSite=Lax"
    } else {
        "; SameSite=Strict"
    };
    let text = format!(
        "{}={secret}; Path=/; HttpOnly; Max-Age={seconds}{rest}",
        name(secure)
    );
    HeaderValue::from_str(&text)
        .map_err(|_| Problem::new(ProblemKind::Failed, "no cookie could be made"))
}
