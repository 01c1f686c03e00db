//! The name of the host: the defence against names that are made to point at this machine.
//!
//! Owns the comparison. Asks no resolver. INVARIANT: a request under another name is answered
//! before anything of it is read but its head.

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Uri, Version, header};

use crate::problem::{Problem, ProblemKind};

/// The names of a server.
#[derive(Clone, Debug)]
pub(crate) struct HostNames {
    /// As requests name it, in small letters.
    pub(crate) names: Vec<String>,
    /// Whether a name without a port fits with any: a server in front may listen at another one.
    pub(crate) any_port: bool,
}

impl HostNames {
    fn has(&self, host: &str) -> bool {
        let is = |name: &str| self.names.iter().any(|known| known == name);
        let digits = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let bare = host.rsplit_once(':').filter(|(_, port)| digits(port));
        is(host) || self.any_port && bare.is_some_and(|(name, _)| is(name))
    }
}

/// Whoever looks finds the name where HTTP/1.1 has it: HTTP/2 names it beside the method, and may
/// leave it out of the headers.
pub(super) fn name_in_headers(request: &mut Request) {
    if request.version() != Version::HTTP_2 || request.headers().contains_key(header::HOST) {
        return;
    }
    let named = request.uri().authority();
    let named = named.and_then(|name| HeaderValue::from_str(name.as_str()).ok());
    if let Some(named) = named {
        request.headers_mut().insert(header::HOST, named);
    }
}

/// Refuses a request that is not for one of these names.
pub(super) fn check(hosts: &HostNames, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
    let mut named = headers.get_all(header::HOST).iter();
    let (first, second) = (named.next(), named.next());
    let host = match (first, second) {
        (Some(host), None) => host.to_str().ok().map(str::to_ascii_lowercase),
        _ => None,
    };
    let in_line = uri
        .authority()
        .map(|name| name.as_str().to_ascii_lowercase());
    let fits = |name: &String| hosts.has(name);
    let known = host.as_ref().is_some_and(fits) && in_line.as_ref().is_none_or(fits);
    if known {
        return Ok(());
    }
    Err(
        Problem::new(ProblemKind::Misdirected, "the request names another host")
            .hint("use the address that the server printed"),
    )
}

/// Refuses what came through a proxy.
pub(super) fn refuse_proxies(headers: &HeaderMap) -> Result<(), Problem> {
    let of_proxy = |name: &str| name == "forwarded" || name.starts_with("x-forwarded-");
    if headers.keys().any(|name| of_proxy(name.as_str())) {
        let detail = "a solo workspace is served to one browser of this machine alone";
        return Err(Problem::new(ProblemKind::Proxied, detail)
            .hint("remove policies/solo.cedar and list the people to serve a team"));
    }
    Ok(())
}
