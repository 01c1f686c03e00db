//! Tokens: how a program shows for whom it speaks.
//!
//! Owns reading `Authorization: Bearer`, and the one token that a server without a database of them
//! is given. INVARIANT: a token that is not known is a refusal, never an anonymous request.

use axum::http::{HeaderMap, header};
use provost_plan::policy::Principal;
use ring::hmac;

use super::{Login, Viewer, principal};
use crate::app::App;
use crate::limits::TOKEN_CHARS_MIN;
use crate::problem::{Problem, ProblemKind};

/// The name of the token that was given with the command.
const GIVEN: &str = "--token";

/// A token that the server is given, for one agent. Why as a key: it is compared without telling
/// how much of it fits.
#[derive(Clone, Debug)]
pub struct GivenToken(hmac::Key);

/// A token that somebody could guess, or that no header bears.
#[derive(Clone, Copy, Debug, thiserror::Error, PartialEq, Eq)]
#[error("a token has at least {TOKEN_CHARS_MIN} characters, letters, digits and signs of ASCII")]
pub struct WeakToken;

impl GivenToken {
    /// What is signed to compare two tokens.
    const WORD: &[u8] = b"provost mcp";

    /// The token of this text.
    ///
    /// # Errors
    /// [`WeakToken`] if it is none.
    pub fn new(text: &str) -> Result<Self, WeakToken> {
        if text.len() < TOKEN_CHARS_MIN || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WeakToken);
        }
        Ok(Self::of(text))
    }

    fn of(text: &str) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()))
    }

    fn is(&self, sent: &str) -> bool {
        let signed = hmac::sign(&Self::of(sent).0, Self::WORD);
        hmac::verify(&self.0, Self::WORD, signed.as_ref()).is_ok()
    }
}

/// Whose token is the one that a server was given.
#[derive(Clone, Debug)]
pub(crate) struct GivenLogin {
    pub(crate) token: GivenToken,
    pub(crate) agent: Principal,
    pub(crate) since_ms: i64,
}

fn refused() -> Problem {
    Problem::new(
        ProblemKind::NotSignedIn,
        "the token is not known, or has ended",
    )
    .hint("`provost token new NAME --for PERSON` makes one")
}

/// The token that a request bears. Two of them are none: which one counted would be the choice of
/// whoever added one.
pub(super) fn sent(headers: &HeaderMap) -> Option<Result<&str, Problem>> {
    let mut sent = headers.get_all(header::AUTHORIZATION).iter();
    let first = sent.next()?;
    let text = match (first.to_str(), sent.next()) {
        (Ok(text), None) => text,
        _ => return Some(Err(refused())),
    };
    let token = match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token),
        _ => Err(refused()),
    };
    Some(token)
}

pub(super) fn viewer(app: &App, secret: &str) -> Result<Viewer, Problem> {
    if let Some(given) = &app.door.given {
        return given.viewer(secret);
    }
    if app.door.solo {
        return Err(refused());
    }
    let token = app.database.token(secret)?.ok_or_else(refused)?;
    Ok(Viewer {
        principal: principal(app, &token.person, token.is_agent),
        login: Login::Token {
            name: token.name,
            made_ms: token.made_ms,
        },
    })
}

impl GivenLogin {
    fn viewer(&self, secret: &str) -> Result<Viewer, Problem> {
        if !self.token.is(secret) {
            let detail = "the token is not the one that the server was given";
            return Err(Problem::new(ProblemKind::NotSignedIn, detail));
        }
        Ok(Viewer {
            principal: self.agent.clone(),
            login: Login::Token {
                name: GIVEN.to_owned(),
                made_ms: self.since_ms,
            },
        })
    }
}
