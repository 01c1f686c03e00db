//! ID tokens: whether what a provider says of somebody is its own word, and for us.
//!
//! Owns their verification (OpenID Connect Core 1.0, 3.1.3.7). Asks nobody. INVARIANT: a token that
//! is read was signed by a key of the provider under an algorithm of this list, for this client and
//! this login, and has not ended.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PSS_2048_8192_SHA256,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// How far the clocks of provider and server may differ, in seconds.
const SKEW_S: i64 = 60;
/// The longest subject and name, in bytes.
const TEXT_MAX: usize = 255;

/// Why a token does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider's token {0}")]
pub(super) struct TokenFault(&'static str);

/// A key of the provider (RFC 7517).
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct ProviderKey {
    kty: String,
    kid: Option<String>,
    r#use: Option<String>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// What a token must say.
pub(super) struct ExpectedToken<'a> {
    pub(super) issuer: &'a str,
    pub(super) client: &'a str,
    pub(super) nonce: &'a str,
    pub(super) now_s: i64,
}

/// A token that counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct IdToken {
    /// Who it is about, as the provider calls them.
    pub(super) subject: String,
    claims: Map<String, Value>,
}

#[derive(Deserialize)]
struct TokenHead {
    alg: String,
    kid: Option<String>,
    crit: Option<Value>,
}

/// How tokens may be signed: `none`, and a secret that both sides know, are not in the list.
#[derive(Clone, Copy)]
enum SignatureAlgorithm {
    Rsa(&'static RsaParameters),
    EcP256,
    Ed25519,
}

impl SignatureAlgorithm {
    fn of(name: &str) -> Option<Self> {
        match name {
            "RS256" => Some(Self::Rsa(&RSA_PKCS1_2048_8192_SHA256)),
            "PS256" => Some(Self::Rsa(&RSA_PSS_2048_8192_SHA256)),
            "ES256" => Some(Self::EcP256),
            "EdDSA" => Some(Self::Ed25519),
            _ => None,
        }
    }

    fn fits(self, key: &ProviderKey) -> bool {
        let curve = key.crv.as_deref();
        match self {
            Self::Rsa(_) => key.kty == "RSA",
            Self::EcP256 => key.kty == "EC" && curve == Some("P-256"),
            Self::Ed25519 => key.kty == "OKP" && curve == Some("Ed25519"),
        }
    }

    /// Whether this key signed it; a key that cannot be read signed nothing.
    fn signed(self, key: &ProviderKey, text: &[u8], signature: &[u8]) -> bool {
        let part = |text: &Option<String>| URL_SAFE_NO_PAD.decode(text.as_ref()?).ok();
        let verified = || match self {
            Self::Rsa(parameters) => {
                let (n, e) = (part(&key.n)?, part(&key.e)?);
                let key = RsaPublicKeyComponents { n, e };
                key.verify(parameters, text, signature).ok()
            }
            Self::EcP256 => {
                let point = [vec![4], part(&key.x)?, part(&key.y)?].concat();
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(text, signature).ok()
            }
            Self::Ed25519 => {
                let key = UnparsedPublicKey::new(&ED25519, part(&key.x)?);
                key.verify(text, signature).ok()
            }
        };
        verified().is_some()
    }
}

impl IdToken {
    /// Reads a token that counts.
    pub(super) fn verify(
        text: &str,
        keys: &[ProviderKey],
        expected: &ExpectedToken<'_>,
    ) -> Result<Self, TokenFault> {
        let mut parts = text.split('.');
        let (Some(head), Some(body), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(TokenFault("has not three parts"));
        };
        let read: TokenHead = decode(head)?;
        if read.crit.is_some() {
            return Err(TokenFault("has extensions that must be understood"));
        }
        let algorithm = SignatureAlgorithm::of(&read.alg);
        let algorithm =
            algorithm.ok_or(TokenFault("is signed by an algorithm that is not taken"))?;
        let key = key_of(keys, &read, algorithm)?;
        let signature = URL_SAFE_NO_PAD.decode(signature);
        let signature = signature.map_err(|_| TokenFault("cannot be read"))?;
        let signed = format!("{head}.{body}");
        if !algorithm.signed(key, signed.as_bytes(), &signature) {
            return Err(TokenFault("is not signed by the provider"));
        }
        let claims: Map<String, Value> = decode(body)?;
        hold(&claims, expected)?;
        let subject = short_text(&claims, "sub").ok_or(TokenFault("names no subject"))?;
        Ok(Self { subject, claims })
    }

    /// Whether it has a claim.
    pub(super) fn has(&self, claim: &str) -> bool {
        self.claims.contains_key(claim)
    }

    /// The token with what the provider says of the same subject elsewhere (5.3.2); what the token
    /// says itself stands.
    pub(super) fn and(mut self, more: Map<String, Value>) -> Result<Self, TokenFault> {
        if more.is_empty() {
            return Ok(self);
        }
        if more.get("sub").and_then(Value::as_str) != Some(self.subject.as_str()) {
            return Err(TokenFault(
                "and what the provider says beside it are of two subjects",
            ));
        }
        for (name, value) in more {
            self.claims.entry(name).or_insert(value);
        }
        Ok(self)
    }

    /// The name of the person, as this claim has it; an address only if the provider verified it.
    pub(super) fn name(&self, claim: &str) -> Result<String, TokenFault> {
        let verified = self.claims.get("email_verified") == Some(&Value::Bool(true));
        if claim == "email" && !verified {
            return Err(TokenFault("has an address that is not verified"));
        }
        short_text(&self.claims, claim).ok_or(TokenFault("does not have the claim of the name"))
    }
}

fn decode<T: DeserializeOwned>(part: &str) -> Result<T, TokenFault> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok();
    let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    read.ok_or(TokenFault("cannot be read"))
}

/// The one key that the head means.
fn key_of<'k>(
    keys: &'k [ProviderKey],
    head: &TokenHead,
    algorithm: SignatureAlgorithm,
) -> Result<&'k ProviderKey, TokenFault> {
    let signs = |key: &&ProviderKey| {
        let use_fits = key.r#use.as_deref().is_none_or(|word| word == "sig");
        let alg_fits = key.alg.as_ref().is_none_or(|alg| *alg == head.alg);
        // Why without a name too: a provider with one key need not name it.
        let named = head.kid.is_none() || key.kid == head.kid;
        use_fits && alg_fits && named && algorithm.fits(key)
    };
    let mut found = keys.iter().filter(signs);
    match (found.next(), found.next()) {
        (Some(key), None) => Ok(key),
        (None, _) => Err(TokenFault(
            "is signed with a key that the provider does not have",
        )),
        (Some(_), Some(_)) => Err(TokenFault("does not say which key it is signed with")),
    }
}

fn hold(claims: &Map<String, Value>, expected: &ExpectedToken<'_>) -> Result<(), TokenFault> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("iss") != Some(expected.issuer) {
        return Err(TokenFault("is of another issuer"));
    }
    let (is_ours, is_shared) = match claims.get("aud") {
        Some(Value::String(one)) => (one == expected.client, false),
        Some(Value::Array(all)) => {
            let ours = all.iter().any(|one| one.as_str() == Some(expected.client));
            (ours, all.len() > 1)
        }
        _ => (false, false),
    };
    let party = claims.get("azp");
    let party_fits = match party {
        None => !is_shared,
        Some(party) => party.as_str() == Some(expected.client),
    };
    if !is_ours || !party_fits {
        return Err(TokenFault("is for another client"));
    }
    let moment = |name: &str| claims.get(name).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "moments are far below 2^53")]
    let (now, skew) = (expected.now_s as f64, SKEW_S as f64);
    if moment("exp").is_none_or(|exp| exp + skew <= now) {
        return Err(TokenFault("has ended"));
    }
    let early = |name| moment(name).is_some_and(|at| at - skew > now);
    if early("iat") || early("nbf") {
        return Err(TokenFault("is not valid yet"));
    }
    if text("nonce") != Some(expected.nonce) {
        return Err(TokenFault("is of another login"));
    }
    Ok(())
}

fn short_text(claims: &Map<String, Value>, name: &str) -> Option<String> {
    let text = claims.get(name)?.as_str()?;
    let fits = !text.trim().is_empty() && text.len() <= TEXT_MAX;
    fits.then(|| text.to_owned())
}
