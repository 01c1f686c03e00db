//! Who says something to a run: a user by name, or with their key.

use std::fmt;
use std::sync::Arc;

use provost_engine::keys::{KeyFile, PrivateKey};

use crate::error::{Error, Result};

/// Who says something: a name, or a [`Signer`] where the workspace requires signatures.
#[derive(Clone)]
pub struct Speaker {
    pub(crate) name: String,
    pub(crate) key: Option<Arc<PrivateKey>>,
}

/// A user with their key.
#[derive(Clone)]
pub struct Signer {
    name: String,
    key: Arc<PrivateKey>,
}

impl Signer {
    /// The user of this name, with the text of the file that `provost key new` wrote.
    ///
    /// # Errors
    /// [`Error::Key`] if the file or the passphrase is another.
    pub fn open(user: impl Into<String>, file: &str, passphrase: &str) -> Result<Self> {
        let opened = KeyFile::read(file).and_then(|file| file.open(passphrase));
        Ok(Self {
            name: user.into(),
            key: Arc::new(opened.map_err(Error::Key)?),
        })
    }
}

impl From<&str> for Speaker {
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            key: None,
        }
    }
}

impl From<&Signer> for Speaker {
    fn from(signer: &Signer) -> Self {
        Self {
            name: signer.name.clone(),
            key: Some(Arc::clone(&signer.key)),
        }
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Signer").field(&self.name).finish()
    }
}
