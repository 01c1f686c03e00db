//! `[network]`: the way to servers elsewhere.
//!
//! Owns reading it. Opens nothing, and reads no variable of the environment for it. INVARIANT: the
//! password of a proxy is named and never written out.

use std::path::Path;
use std::sync::Arc;

use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::{Fields, Node};
use provost_wire::SecretName;
use provost_wire::http::Proxy;

use super::config::bad;

/// `proxy = "http://proxy.example.com:3128"`, `user`, `password` and `direct = ["…"]`.
pub(super) fn read(
    root: &Path,
    node: &Node,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Arc<Proxy>> {
    let mut fields = Fields::new("`[network]`", node, diagnostics)?;
    let proxy = fields.required_text("proxy");
    let user = fields.text("user");
    let password = fields.text("password");
    let direct = fields.texts("direct");
    fields.finish();
    for host in &direct {
        if host.value.is_empty() || host.value.contains(['/', ':', '*']) {
            let message = format!(
                "`{}` names no host: write `api.example.com`, or `.example.com` for all below it",
                host.value
            );
            bad(diagnostics, host.span, message);
        }
    }
    let proxy = proxy?;
    let read = match Proxy::parse(&proxy.value, root) {
        Ok(read) => read.without(direct.into_iter().map(|host| host.value)),
        Err(error) => {
            bad(diagnostics, proxy.span, error.to_string());
            return None;
        }
    };
    let read = match (user, password) {
        (None, None) => read,
        (Some(user), Some(password)) => match SecretName::parse(&password.value) {
            Ok(name) => read.with_auth(user.value, name),
            Err(error) => {
                bad(diagnostics, password.span, error.to_string());
                return None;
            }
        },
        (Some(one), None) | (None, Some(one)) => {
            bad(
                diagnostics,
                one.span,
                "`user` and `password` of a proxy go together",
            );
            return None;
        }
    };
    Some(Arc::new(read))
}
