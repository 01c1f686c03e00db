//! Ed25519 keys: made, sealed under a passphrase, used to sign and to verify.
//!
//! Owns the form of a key file and of a public key in text. Never prints a secret and never
//! writes one unsealed. INVARIANT: what is signed names its domain, so that a signature of one
//! kind of thing is never one of another.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::pbkdf2::{self, PBKDF2_HMAC_SHA256};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

/// The schema of a key file.
pub const KEY_SCHEMA: &str = "provost/key/v1";
/// Rounds of PBKDF2 for a new key file, as OWASP recommends for HMAC-SHA-256.
const ROUNDS: u32 = 600_000;
/// Most rounds that a key file may ask for.
const ROUNDS_MAX: u32 = 10_000_000;
const SEED_BYTES: usize = 32;
const SALT_BYTES: usize = 16;
const PREFIX: &str = "ed25519:";

/// What a signature is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signed {
    /// What a person states about a run: an approval, a rejection, an answer.
    Statement,
    /// A head of the chain of commits.
    Head,
    /// The word of a server that who made a statement had signed in.
    Voucher,
}

impl Signed {
    fn tag(self) -> &'static str {
        match self {
            Self::Statement => "provost/statement/v1",
            Self::Head => "provost/head/v1",
            Self::Voucher => "provost/vouch/v1",
        }
    }

    /// What is signed: the tag, a zero byte, the bytes.
    fn message(self, bytes: &[u8]) -> Vec<u8> {
        let mut message = self.tag().as_bytes().to_vec();
        message.push(0);
        message.extend_from_slice(bytes);
        message
    }
}

/// A public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

/// A key that can sign.
pub struct PrivateKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrivateKey")
            .field("public", &self.public)
            .finish_non_exhaustive()
    }
}

/// A private key as it lies in a file: sealed under a passphrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyFile {
    schema: String,
    /// Whose it is.
    pub owner: String,
    public: String,
    kdf: String,
    rounds: u32,
    salt: String,
    cipher: String,
    nonce: String,
    sealed: String,
}

/// A key that cannot be made, read or used.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum KeyError {
    /// The text is no public key.
    #[error("`{0}` is no public key: one is `ed25519:` and 44 base64 characters")]
    NotPublic(String),
    /// The file is no key file.
    #[error("this is no key file: {0}")]
    NotFile(String),
    /// The passphrase is another, or the file was changed.
    #[error("the passphrase does not open this key")]
    Passphrase,
    /// The passphrase is empty.
    #[error("the passphrase is empty")]
    NoPassphrase,
    /// The system has no randomness.
    #[error("no randomness: {0}")]
    Random(String),
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", BASE64.encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = text
            .strip_prefix(PREFIX)
            .and_then(|text| BASE64.decode(text).ok());
        bytes
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or_else(|| KeyError::NotPublic(text.to_owned()))
    }
}

impl PublicKey {
    /// Whether `signature` (base64) is this key's over `bytes`.
    #[must_use]
    pub fn verifies(&self, what: Signed, bytes: &[u8], signature: &str) -> bool {
        let Ok(signature) = BASE64.decode(signature) else {
            return false;
        };
        UnparsedPublicKey::new(&ED25519, self.0)
            .verify(&what.message(bytes), &signature)
            .is_ok()
    }
}

impl PrivateKey {
    /// A new key, and the file that keeps it sealed.
    ///
    /// # Errors
    /// [`KeyError::NoPassphrase`], or [`KeyError::Random`] if the system has no randomness.
    pub fn generate(owner: &str, passphrase: &str) -> Result<(Self, KeyFile), KeyError> {
        if passphrase.is_empty() {
            return Err(KeyError::NoPassphrase);
        }
        let seed: [u8; SEED_BYTES] = random()?;
        let key = Self::from_seed(&seed)?;
        let (salt, nonce) = (random::<SALT_BYTES>()?, random::<NONCE_LEN>()?);
        let mut sealed = seed.to_vec();
        let secret = derive(passphrase, &salt, ROUNDS)?;
        secret
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(owner.as_bytes()),
                &mut sealed,
            )
            .map_err(|_| KeyError::Passphrase)?;
        let file = KeyFile {
            schema: KEY_SCHEMA.to_owned(),
            owner: owner.to_owned(),
            public: key.public.to_string(),
            kdf: "pbkdf2-hmac-sha256".to_owned(),
            rounds: ROUNDS,
            salt: BASE64.encode(salt),
            cipher: "chacha20-poly1305".to_owned(),
            nonce: BASE64.encode(nonce),
            sealed: BASE64.encode(sealed),
        };
        Ok((key, file))
    }

    /// The key of a 32-byte seed: for tests with fixed keys.
    ///
    /// # Errors
    /// [`KeyError::NotFile`] never occurs for 32 bytes.
    pub fn from_seed(seed: &[u8; SEED_BYTES]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed)
            .map_err(|error| KeyError::NotFile(error.to_string()))?;
        let public = pair.public_key().as_ref().try_into().map(PublicKey);
        let public = public.map_err(|_| KeyError::NotFile("its size is wrong".to_owned()))?;
        Ok(Self { pair, public })
    }

    /// The public half.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// The signature over `bytes`, in base64.
    #[must_use]
    pub fn sign(&self, what: Signed, bytes: &[u8]) -> String {
        BASE64.encode(self.pair.sign(&what.message(bytes)).as_ref())
    }
}

impl KeyFile {
    /// Reads the text of a key file.
    ///
    /// # Errors
    /// [`KeyError::NotFile`] says what does not fit.
    pub fn read(text: &str) -> Result<Self, KeyError> {
        let file: Self =
            serde_json::from_str(text).map_err(|error| KeyError::NotFile(error.to_string()))?;
        let known = file.schema == KEY_SCHEMA
            && file.kdf == "pbkdf2-hmac-sha256"
            && file.cipher == "chacha20-poly1305"
            && (1..=ROUNDS_MAX).contains(&file.rounds);
        if known {
            Ok(file)
        } else {
            Err(KeyError::NotFile("its form is not known".to_owned()))
        }
    }

    /// Its text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The public key, as the file claims it.
    ///
    /// # Errors
    /// [`KeyError::NotPublic`] if it is none.
    pub fn public(&self) -> Result<PublicKey, KeyError> {
        self.public.parse()
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`KeyError::Passphrase`] if the passphrase is another or the file was changed.
    pub fn open(&self, passphrase: &str) -> Result<PrivateKey, KeyError> {
        let bytes = |text: &str| BASE64.decode(text).map_err(|_| KeyError::Passphrase);
        let nonce: [u8; NONCE_LEN] = bytes(&self.nonce)?
            .try_into()
            .map_err(|_| KeyError::Passphrase)?;
        let mut sealed = bytes(&self.sealed)?;
        let opened = derive(passphrase, &bytes(&self.salt)?, self.rounds)?
            .open_in_place(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(self.owner.as_bytes()),
                &mut sealed,
            )
            .map_err(|_| KeyError::Passphrase)?;
        let seed: &[u8; SEED_BYTES] = (&*opened).try_into().map_err(|_| KeyError::Passphrase)?;
        let key = PrivateKey::from_seed(seed)?;
        if key.public == self.public()? {
            Ok(key)
        } else {
            Err(KeyError::Passphrase)
        }
    }
}

fn derive(passphrase: &str, salt: &[u8], rounds: u32) -> Result<LessSafeKey, KeyError> {
    let rounds = NonZeroU32::new(rounds).ok_or(KeyError::Passphrase)?;
    let mut key = [0u8; 32];
    pbkdf2::derive(
        PBKDF2_HMAC_SHA256,
        rounds,
        salt,
        passphrase.as_bytes(),
        &mut key,
    );
    let key = UnboundKey::new(&CHACHA20_POLY1305, &key).map_err(|_| KeyError::Passphrase)?;
    Ok(LessSafeKey::new(key))
}

fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0u8; N];
    getrandom::fill(&mut bytes).map_err(|error| KeyError::Random(error.to_string()))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_key_signs_for_its_domain_and_nothing_else() {
        let key = PrivateKey::from_seed(&[7; 32]).unwrap();
        let signature = key.sign(Signed::Statement, b"yes");
        assert!(key.public().verifies(Signed::Statement, b"yes", &signature));
        assert!(
            !key.public()
                .verifies(Signed::Statement, b"yes ", &signature)
        );
        assert!(!key.public().verifies(Signed::Head, b"yes", &signature));
        let other = PrivateKey::from_seed(&[8; 32]).unwrap();
        assert!(
            !other
                .public()
                .verifies(Signed::Statement, b"yes", &signature)
        );
        assert!(
            !key.public()
                .verifies(Signed::Statement, b"yes", "no base64")
        );
        assert_eq!(key.public().to_string().parse(), Ok(key.public()));
    }

    #[test]
    fn a_key_file_opens_with_its_passphrase_only() {
        let (key, file) = PrivateKey::generate("alice", "correct horse").unwrap();
        let mut file = KeyFile::read(&file.to_text()).unwrap();
        assert_eq!(file.open("correct horse").unwrap().public(), key.public());
        assert_eq!(
            file.open("correct house").unwrap_err(),
            KeyError::Passphrase
        );
        file.owner = "mallory".to_owned();
        assert_eq!(
            file.open("correct horse").unwrap_err(),
            KeyError::Passphrase
        );
        assert_eq!(
            PrivateKey::generate("a", "").unwrap_err(),
            KeyError::NoPassphrase
        );
    }
}
