//! The hosts and mail domains that a text names.
//!
//! Owns reading URLs and mail addresses the way the most gullible client would. A text that two
//! readers may read differently is reported as ambiguous.
//! INVARIANT: an ambiguity never removes a host from the result.

use std::collections::BTreeSet;

/// What a text names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HostMatch {
    /// Hosts of URLs and domains of mail addresses, in lower case.
    pub hosts: BTreeSet<String>,
    /// Whether some reader might find another host in it.
    pub ambiguous: bool,
}

/// Finds the hosts in one value.
pub(super) fn hosts_in(text: &str) -> HostMatch {
    let mut found = HostMatch::default();
    // Why: readers differ on spaces and controls inside a URL.
    let odd = text
        .trim()
        .contains(|c: char| c.is_whitespace() || c.is_control());
    let separators = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '<' | '>' | '"' | '|');
    for token in text.split(separators).filter(|token| !token.is_empty()) {
        if let Some(rest) = after_scheme(token) {
            found.ambiguous |= odd;
            found.add_url(rest);
        } else if let Some((local, rest)) = token.split_once('@') {
            // Why: `ada%other.test@relay.test` is routed through a relay by some readers.
            found.ambiguous |= local.contains(['%', '!']);
            found.add_mail(rest);
        }
    }
    found
}

/// What follows `scheme://`, `//`, or `http:` with any number of slashes of either kind.
fn after_scheme(token: &str) -> Option<&str> {
    let slashes = |c: char| c == '/' || c == '\\';
    let lower = token.to_ascii_lowercase();
    for scheme in ["https:", "http:", "wss:", "ws:", "ftp:"] {
        if lower.starts_with(scheme) {
            return token
                .get(scheme.len()..)
                .map(|rest| rest.trim_start_matches(slashes));
        }
    }
    if let Some((_, rest)) = token.split_once("://") {
        return Some(rest.trim_start_matches(slashes));
    }
    let begins = token.starts_with("//") || token.starts_with("\\\\");
    begins.then(|| token.trim_start_matches(slashes))
}

impl HostMatch {
    fn add_url(&mut self, rest: &str) {
        let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or(rest);
        let has_user = authority.contains('@');
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.split(']').next().unwrap_or(inner),
            None => host.split(':').next().unwrap_or(host),
        };
        // Why: readers differ on backslashes and on what stands before an `@`.
        self.ambiguous |= has_user || rest.contains('\\');
        self.add(host);
    }

    fn add_mail(&mut self, rest: &str) {
        self.ambiguous |= rest.contains(['@', '%', '!']);
        for domain in rest.split('@') {
            self.add(
                domain
                    .split(['?', '&', '=', '/', '#', ')', ']', '\''])
                    .next()
                    .unwrap_or(domain),
            );
        }
    }

    fn add(&mut self, host: &str) {
        let host = host.trim_end_matches('.').to_lowercase();
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
        self.ambiguous |= host.is_empty() || !host.chars().all(plain);
        if !host.is_empty() {
            self.hosts.insert(host);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn finds_every_host_a_client_might_reach() {
        let table = [
            ("https://example.com/a?b=c", "example.com", false),
            ("HTTPS://Example.COM:8443", "example.com", false),
            ("http:evil.test/x", "evil.test", false),
            ("//cdn.test/x", "cdn.test", false),
            ("https://good.test@evil.test/", "evil.test", true),
            ("https://evil.test\\@good.test/", "evil.test", true),
            ("http://[::1]:80/", "::1", false),
            ("postgres://u:p@db.test:5432/x", "db.test", true),
            ("ada@example.com", "example.com", false),
            (
                "Ada <ada@Example.com>, bo@b.test",
                "b.test example.com",
                false,
            ),
            (
                "mailto:ada@example.com?cc=eve@evil.test",
                "evil.test example.com",
                true,
            ),
            ("ada%evil.test@relay.test", "relay.test", true),
            ("https://exämple.com/", "exämple.com", true),
            ("https://example.com. ", "example.com", false),
            (
                "see https://a.test and\nhttps://b.test",
                "a.test b.test",
                true,
            ),
            ("C-1041", "", false),
            ("12:30", "", false),
            ("https://", "", true),
        ];
        for (text, hosts, ambiguous) in table {
            let found = hosts_in(text);
            let names = found
                .hosts
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(" ");
            assert_eq!(
                (names.as_str(), found.ambiguous),
                (hosts, ambiguous),
                "{text}"
            );
        }
        let named = hosts_in("a@b.test").hosts;
        assert_eq!(named.iter().next().unwrap(), "b.test");
    }
}
