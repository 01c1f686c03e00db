//! The page on which somebody signs in.
//!
//! Owns its form. Spends nothing. INVARIANT: the code of a link reaches the form in the browser,
//! from the fragment of the address, and no request before the button is pressed.

use askama::Template;
use axum::extract::State;
use axum::response::{Redirect, Response};

use super::{Frame, html};
use crate::app::App;
use crate::markup::{Seen, seen};
use crate::problem::Problem;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    frame: Frame,
    provider: Option<Seen>,
}

/// `GET /login`.
pub(crate) async fn show(State(app): State<App>) -> Result<Response, Problem> {
    html(&LoginPage {
        frame: Frame::open("login"),
        provider: app.provider.as_ref().map(|one| seen(one.host())),
    })
}

/// `GET /login/link`: who loads the answer to a used link again signs in anew.
pub(crate) async fn begin() -> Redirect {
    Redirect::to("/login")
}
