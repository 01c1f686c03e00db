//! Tokens: how a program shows for whom it speaks.
//!
//! Owns reading `Authorization: Bearer`. INVARIANT: a token that is not known is a refusal, never
//! an anonymous request.

use axum::http::HeaderValue;

use super::{Login, Viewer, principal};
use crate::app::App;
use crate::problem::{Problem, ProblemKind};

pub(super) fn viewer(app: &App, bearer: &HeaderValue) -> Result<Viewer, Problem> {
    let refused = || {
        Problem::new(
            ProblemKind::NotSignedIn,
            "the token is not known, or has ended",
        )
        .hint("`provost token new NAME --for PERSON` makes one")
    };
    let text = bearer.to_str().map_err(|_| refused())?;
    let (scheme, secret) = text.split_once(' ').ok_or_else(refused)?;
    if !scheme.eq_ignore_ascii_case("bearer") || app.door.solo {
        return Err(refused());
    }
    let token = app.database.token(secret.trim())?.ok_or_else(refused)?;
    Ok(Viewer {
        principal: principal(app, &token.person, token.is_agent),
        login: Login::Token {
            name: token.name,
            made_ms: token.made_ms,
        },
    })
}
