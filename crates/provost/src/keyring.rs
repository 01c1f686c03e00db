//! Key files: where they lie, how they are opened, and what a person says with them.
//!
//! Owns passphrases while they are typed. Never writes one, never shows one. INVARIANT: a statement
//! is signed with the key of the person who makes it, or it is not signed at all.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::Args;
use provost_engine::clock::now_ms;
use provost_engine::keys::{KeyFile, PrivateKey};
use provost_engine::people::{Statement, StatementEnvelope, StatementSubject};
use provost_engine::run::state::State;
use provost_engine::workspace::Workspace;

use crate::document::reason;
use crate::failure::Failure;
use crate::output;
use provost_engine::people::Credential;

/// Names the key file, where nothing is typed.
const KEY_VARIABLE: &str = "PROVOST_KEY";
/// Names the file with the passphrase, where nothing is typed.
const PASSPHRASE_VARIABLE: &str = "PROVOST_PASSPHRASE_FILE";
/// Most bytes of a key file or a passphrase file.
const KEY_BYTES_MAX: u64 = 64 * 1024;

/// Which key a statement is signed with.
#[derive(Clone, Debug, Default, Args)]
pub struct KeyChoice {
    /// sign with this key file, as its owner
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// read the passphrase from env:NAME or file:PATH
    #[arg(long, value_name = "env:NAME|file:PATH")]
    pub passphrase: Option<Passphrase>,
}

/// Where a passphrase is.
#[derive(Clone, Debug)]
pub enum Passphrase {
    /// In a variable of the environment.
    Variable(String),
    /// On the first line of a file.
    File(PathBuf),
}

impl FromStr for Passphrase {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("env", name)) if !name.is_empty() => Ok(Self::Variable(name.to_owned())),
            Some(("file", path)) if !path.is_empty() => Ok(Self::File(path.into())),
            _ => Err("give the passphrase as `env:NAME` or `file:PATH`, not here".to_owned()),
        }
    }
}

impl Passphrase {
    /// The source typed, or the one that the environment names.
    pub fn source(typed: Option<&Self>) -> Option<Self> {
        let named = || std::env::var_os(PASSPHRASE_VARIABLE).map(|path| Self::File(path.into()));
        typed.cloned().or_else(named)
    }

    /// The passphrase.
    pub fn read(&self) -> Result<String, Failure> {
        match self {
            Self::Variable(name) => std::env::var(name).map_err(|_| {
                Failure::usage(format!("the variable `{name}` contains no passphrase"))
            }),
            Self::File(path) => {
                let text = small_text(path)?;
                Ok(text.lines().next().unwrap_or_default().to_owned())
            }
        }
    }
}

/// The passphrase of a key: from its source, else typed.
fn passphrase_of(choice: &KeyChoice, owner: &str) -> Result<String, Failure> {
    if let Some(source) = Passphrase::source(choice.passphrase.as_ref()) {
        return source.read();
    }
    let prompt = format!("passphrase of the key of {owner}: ");
    output::typed_secretly(&prompt)?.ok_or_else(|| {
        Failure::usage("the key needs its passphrase, and there is no terminal to ask at")
            .hint("`--passphrase env:NAME` or `file:PATH` says where it is")
    })
}

/// Where the key of a person lies unless it is named.
pub fn default_path(owner: &str) -> Result<PathBuf, Failure> {
    let config = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".config")));
    let Some(config) = config else {
        return Err(Failure::usage("there is no home directory for keys")
            .hint("`-o FILE` or `--key FILE` names the key file"));
    };
    Ok(config.join("provost/keys").join(format!("{owner}.json")))
}

/// Writes a new key file that only its user may read; an old one is never replaced.
pub fn write_new(path: &Path, file: &KeyFile) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        let shown = path.display();
        if error.kind() == std::io::ErrorKind::AlreadyExists {
            return Failure::usage(format!("`{shown}` already exists"))
                .hint("a key is never written over: `-o FILE` names another file");
        }
        Failure::usage(format!("`{shown}` cannot be written: {}", reason(&error)))
    };
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir).map_err(failed)?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = options.open(path).map_err(failed)?;
    out.write_all(file.to_text().as_bytes())
        .and_then(|()| out.sync_all())
        .map_err(failed)
}

/// A key file that was read, still sealed.
fn read(path: &Path) -> Result<KeyFile, Failure> {
    KeyFile::read(&small_text(path)?).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", path.display()))
            .hint("`provost key new` makes a key file")
    })
}

fn small_text(path: &Path) -> Result<String, Failure> {
    use std::io::Read as _;
    let failed = |error: std::io::Error| {
        let shown = path.display();
        Failure::usage(format!("`{shown}` cannot be read: {}", reason(&error)))
    };
    let mut text = String::new();
    let file = fs::File::open(path).map_err(failed)?;
    file.take(KEY_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(text)
}

/// What else there is where a login is enough.
const BY_LOGIN: &str = "say it on the page of `provost serve`, or sign it: `provost key new` makes \
                        a key, `--key FILE` names one elsewhere";

/// Who speaks, with the key they sign with.
#[derive(Debug)]
pub struct LocalSigner {
    by: String,
    key: Option<PrivateKey>,
}

impl LocalSigner {
    /// Who speaks in a workspace: the owner of the key that is typed; else who works there, who
    /// signs what `needs` it where that is required.
    pub fn here(workspace: &Workspace, choice: &KeyChoice, needs: bool) -> Result<Self, Failure> {
        let least = workspace.required().least;
        if choice.key.is_some() || (needs && least != Credential::Nothing) {
            let signer = Self::with_key(&workspace.user().id, choice);
            return match least {
                Credential::Login => signer.map_err(|failure| failure.hint(BY_LOGIN)),
                Credential::Nothing | Credential::Signature => signer,
            };
        }
        Ok(Self {
            by: workspace.user().id.clone(),
            key: None,
        })
    }

    /// Who speaks where nobody knows what a workspace requires: with a key if one is named.
    pub fn of_user(user: &str, choice: &KeyChoice) -> Result<Self, Failure> {
        if choice.key.is_some() {
            return Self::with_key(user, choice);
        }
        Ok(Self {
            by: user.to_owned(),
            key: None,
        })
    }

    /// Who speaks with a key, that of `user` if none is named.
    pub fn with_key(user: &str, choice: &KeyChoice) -> Result<Self, Failure> {
        let path = match named(choice) {
            Some(path) => path,
            None => {
                let path = default_path(user)?;
                if !path.exists() {
                    return Err(Failure::usage(format!(
                        "what is said here must be signed, and `{user}` has no key in {}",
                        path.display()
                    ))
                    .hint("`provost key new` makes one; `--key FILE` names one elsewhere"));
                }
                path
            }
        };
        let file = read(&path)?;
        let opened = file.open(&passphrase_of(choice, &file.owner)?);
        let key = opened.map_err(|error| {
            Failure::usage(format!("`{}` was not opened: {error}", path.display()))
        })?;
        Ok(Self {
            by: file.owner,
            key: Some(key),
        })
    }

    /// Who speaks.
    pub fn by(&self) -> &str {
        &self.by
    }

    /// What they say now to a run that stands so.
    pub fn envelope(
        &self,
        store: &str,
        state: &State,
        statement: Statement,
    ) -> Result<StatementEnvelope, Failure> {
        let (about, lapses_at) = StatementSubject::of(store, state, &statement);
        self.sign(about, statement, lapses_at)
    }

    /// What they say now about this revision of this run of this store.
    pub fn sign(
        &self,
        about: StatementSubject<'_>,
        statement: Statement,
        lapses_at: Option<i64>,
    ) -> Result<StatementEnvelope, Failure> {
        let envelope = StatementEnvelope::new(about, statement, &self.by, now_ms(), lapses_at);
        let envelope = envelope.map_err(|error| Failure::usage(error.to_string()))?;
        Ok(match &self.key {
            Some(key) => envelope.signed_with(key),
            None => envelope,
        })
    }
}

fn named(choice: &KeyChoice) -> Option<PathBuf> {
    let variable = || std::env::var_os(KEY_VARIABLE).map(PathBuf::from);
    choice.key.clone().or_else(variable)
}
