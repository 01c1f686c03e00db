//! Where a database is: a file, or a PostgreSQL server.
//!
//! Owns `database`, `url`, `password` and `ca`. Never reads a secret, and takes none that is
//! written out. INVARIANT: what leaves the machine is encrypted, unless the operator wrote
//! otherwise.

use std::net::IpAddr;
use std::path::Path;

use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::node::Fields;
use provost_plan::source::{Span, Spanned};
use provost_wire::SecretName;
use serde_json::{Value, json};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::effects;
use super::parameters::Dialect;
use crate::config::bad_setting;
use crate::linked_path::LinkedPath;

/// Where a database is.
#[derive(Clone, Debug)]
pub(crate) enum DatabaseAddress {
    /// A file of SQLite below the workspace.
    File(Spanned<String>),
    /// A server of PostgreSQL.
    Server(Box<PostgresServer>),
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub(crate) struct PostgresServer {
    /// As the operator wrote it; there is no password in it.
    pub(crate) url: Spanned<String>,
    pub(crate) config: Config,
    pub(crate) password: Option<SecretName>,
    /// The file with the certificates of who vouches for it; without one this machine's do.
    pub(crate) ca: Option<String>,
}

impl DatabaseAddress {
    /// Takes `database`, or `url` with `password`.
    pub(crate) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let database = fields.text("database");
        let url = fields.text("url");
        let password = fields.text("password");
        let ca = fields.text("ca");
        let secret = password
            .as_ref()
            .map(|text| (SecretName::parse(&text.value), text.span));
        match (database, url) {
            (Some(file), None) => {
                if let Some((_, span)) = secret {
                    bad_setting(fields, span, "`password` belongs to `url`");
                }
                if let Some(ca) = ca {
                    bad_setting(fields, ca.span, "`ca` belongs to `url`");
                }
                Some(Self::File(file))
            }
            (None, Some(url)) => {
                let password = match secret {
                    Some((Ok(name), _)) => Some(name),
                    Some((Err(error), span)) => {
                        bad_setting(fields, span, error.to_string());
                        return None;
                    }
                    None => None,
                };
                match config(&url.value, ca.is_some()) {
                    Ok(config) => Some(Self::Server(Box::new(PostgresServer {
                        url,
                        config,
                        password,
                        ca: ca.map(|ca| ca.value),
                    }))),
                    Err(message) => {
                        bad_setting(fields, url.span, message);
                        None
                    }
                }
            }
            _ => {
                let span = Span::new(fields.span().start, fields.span().start);
                let message = "a database needs one of `database`, a file, and `url`, a server";
                let diagnostic = Diagnostic::new(Code::MissingField, span, message)
                    .hint("such as `database = \"data/shop.db\"` or `url = \"postgres://…\"`");
                fields.diagnostics().push(diagnostic);
                None
            }
        }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::File(_) => Dialect::Sqlite,
            Self::Server(_) => Dialect::Postgres,
        }
    }

    /// What an operation's digest covers of it.
    pub(crate) fn endpoint(&self) -> (&'static str, Value) {
        match self {
            Self::File(file) => ("database", json!(file.value)),
            Self::Server(server) => {
                let password = server.password.as_ref().map(ToString::to_string);
                let mut value = json!({"url": server.url.value, "password": password});
                if let (Value::Object(map), Some(ca)) = (&mut value, &server.ca) {
                    map.insert("ca".to_owned(), ca.as_str().into());
                }
                ("server", value)
            }
        }
    }

    /// Where the file of a database, or that of the certificates, really is, if a link leads there.
    pub(crate) fn link_target(&self, base: &Path) -> Option<String> {
        match self {
            Self::File(file) => LinkedPath::target(base, &file.value),
            Self::Server(server) => LinkedPath::target(base, server.ca.as_ref()?),
        }
    }

    pub(crate) fn span(&self) -> Span {
        match self {
            Self::File(file) => file.span,
            Self::Server(server) => server.url.span,
        }
    }

    /// The SQL that makes the table for keys.
    pub(crate) fn preparation(&self) -> &'static str {
        match self {
            Self::File(_) => effects::SQLITE,
            Self::Server(_) => effects::POSTGRES,
        }
    }

    pub(crate) fn secret(&self) -> Option<&SecretName> {
        match self {
            Self::File(_) => None,
            Self::Server(server) => server.password.as_ref(),
        }
    }
}

/// Reads the address of a server; an `Err` says what is wrong with it.
fn config(url: &str, has_ca: bool) -> Result<Config, String> {
    if !(url.starts_with("postgres://") || url.starts_with("postgresql://")) {
        return Err("`url` begins with `postgres://`".to_owned());
    }
    let mut config: Config = url
        .parse()
        .map_err(|error| format!("`url` cannot be read: {error}"))?;
    if config.get_password().is_some() {
        let message = "a password stands in `url`; name it with `password = \"env:NAME\"`, and \
                       change it if this file was seen by others";
        return Err(message.to_owned());
    }
    let [host] = config.get_hosts() else {
        return Err("`url` names one host".to_owned());
    };
    if config.get_user().is_none() || config.get_dbname().is_none() {
        return Err("`url` names a user and a database".to_owned());
    }
    let near = is_local(host) && config.get_hostaddrs().iter().all(IpAddr::is_loopback);
    let said = url.contains("sslmode=");
    match (said, config.get_ssl_mode()) {
        (true, SslMode::Disable) if has_ca => {
            return Err("`ca` is for TLS, which `sslmode=disable` turns off".to_owned());
        }
        (true, SslMode::Disable | SslMode::Require) => {}
        (true, _) => return Err("`sslmode` is `require` or `disable`".to_owned()),
        (false, _) if near && !has_ca => {
            config.ssl_mode(SslMode::Disable);
        }
        (false, _) => {
            config.ssl_mode(SslMode::Require);
        }
    }
    config.application_name("provost");
    Ok(config)
}

/// Whether a host is this machine.
fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost"
                || name
                    .parse::<IpAddr>()
                    .is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}
