//! Secrets: named in configuration, read where they are used.
//!
//! Owns `env:NAME` and `file:PATH`. Never keeps a value longer than the call that needs it.
//! INVARIANT: an error about a secret names it and never shows a part of it.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret as _, SecretString};

use crate::limits::{SECRET_BYTES_MAX, SECRET_BYTES_MIN};

/// Where a secret is read from: a variable of the environment, or a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName(Source);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    Env(String),
    File(PathBuf),
}

/// The value of a secret, which nothing prints or serialises.
pub struct Secret(SecretString);

/// A text that names no secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a secret is named by `env:NAME` or `file:PATH`, never written out")]
pub struct SecretNameError {
    _private: (),
}

/// A secret that cannot be read now.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the secret `{name}` {reason}")]
pub struct SecretError {
    name: SecretName,
    reason: String,
}

impl SecretName {
    /// Reads `env:NAME` or `file:PATH`.
    ///
    /// # Errors
    /// [`SecretNameError`] for anything else; it does not repeat the text, which may be a secret.
    pub fn parse(text: &str) -> Result<Self, SecretNameError> {
        let error = SecretNameError { _private: () };
        let source = match text.split_once(':') {
            Some(("env", name)) => {
                let good = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
                good.then(|| Source::Env(name.to_owned()))
                    .filter(|_| !name.is_empty())
            }
            Some(("file", path)) => (!path.is_empty()).then(|| Source::File(path.into())),
            _ => None,
        };
        source.map(Self).ok_or(error)
    }

    /// The file that holds it, if a file does.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match &self.0 {
            Source::File(path) => Some(path),
            Source::Env(_) => None,
        }
    }

    /// Reads the value; a path is below `base` unless it is absolute.
    ///
    /// # Errors
    /// [`SecretError`] if it is absent, too short, or no single line of text.
    pub fn resolve(&self, base: &Path) -> Result<Secret, SecretError> {
        let error = |reason: &str| SecretError {
            name: self.clone(),
            reason: reason.to_owned(),
        };
        let text = match &self.0 {
            Source::Env(name) => {
                std::env::var(name).map_err(|_| error("is not set; export it before you start"))?
            }
            Source::File(path) => read(&base.join(path)).map_err(|reason| error(&reason))?,
        };
        let text = text.trim_end_matches(['\r', '\n']);
        if text.len() < SECRET_BYTES_MIN {
            let reason = format!(
                "has fewer than {SECRET_BYTES_MIN} bytes, so it could not be kept out of records"
            );
            return Err(error(&reason));
        }
        if text.chars().any(char::is_control) {
            return Err(error("holds a line end or another control character"));
        }
        Ok(Secret::new(text))
    }
}

/// The value of a variable of a child's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EnvValue {
    /// The text itself, which is no secret.
    Plain(String),
    /// A secret, read when the child is started.
    Secret(SecretName),
}

impl EnvValue {
    /// The value that a text stands for: the name of a secret, or itself.
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        SecretName::parse(text).map_or_else(|_| Self::Plain(text.to_owned()), Self::Secret)
    }

    /// The secret, if it is one.
    #[must_use]
    pub fn secret(&self) -> Option<&SecretName> {
        match self {
            Self::Plain(_) => None,
            Self::Secret(name) => Some(name),
        }
    }
}

/// Prints the text, or the name of the secret, as `provost.toml` has it.
impl fmt::Display for EnvValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(text) => f.write_str(text),
            Self::Secret(name) => name.fmt(f),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let mut text = String::new();
    let file = File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    file.take(SECRET_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if text.len() as u64 > SECRET_BYTES_MAX {
        return Err(format!("has more than {SECRET_BYTES_MAX} bytes"));
    }
    Ok(text)
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::Env(name) => write!(f, "env:{name}"),
            Source::File(path) => write!(f, "file:{}", path.display()),
        }
    }
}

impl Secret {
    pub(crate) fn new(text: &str) -> Self {
        Self(SecretString::from(text))
    }

    /// The value, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use std::path::Path;

    use super::SecretName;

    #[test]
    fn a_secret_is_named_never_written() {
        for good in [
            "env:TOKEN",
            "env:A_1",
            "file:token",
            "file:/run/secrets/a b",
        ] {
            assert_eq!(SecretName::parse(good).unwrap().to_string(), good);
        }
        for wrong in [
            "",
            "hunter2hunter2",
            "env:",
            "env:A B",
            "file:",
            "vault:x",
            "Env:X",
        ] {
            let error = SecretName::parse(wrong).unwrap_err().to_string();
            assert!(
                wrong.is_empty() || !error.contains(&format!("`{wrong}`")),
                "{error}"
            );
        }
    }

    #[test]
    fn values_are_read_when_they_are_used() {
        let dir = tempfile::tempdir().unwrap();
        let name = SecretName::parse("file:token").unwrap();
        let resolve = || {
            name.resolve(dir.path())
                .map(|secret| secret.expose().to_owned())
        };
        let write = |text: &str| std::fs::write(dir.path().join("token"), text).unwrap();
        assert!(
            resolve()
                .unwrap_err()
                .to_string()
                .starts_with("the secret `file:token` cannot")
        );
        write("first-value\n");
        assert_eq!(resolve().unwrap(), "first-value");
        write("second-value\r\n");
        assert_eq!(resolve().unwrap(), "second-value");
        for (text, reason) in [("short", "fewer than 8"), ("two\nlines-of-it", "line end")] {
            write(text);
            let error = resolve().unwrap_err().to_string();
            assert!(error.contains(reason) && !error.contains(text), "{error}");
        }
        let path = SecretName::parse("env:PATH")
            .unwrap()
            .resolve(Path::new("."));
        assert!(path.is_ok());
        let unset = SecretName::parse("env:PROVOST_NO_SUCH_SECRET").unwrap();
        let error = unset.resolve(Path::new(".")).err().unwrap().to_string();
        assert_eq!(
            error,
            "the secret `env:PROVOST_NO_SUCH_SECRET` is not set; export it before you start"
        );
    }
}
