//! A login provider in a thread: discovery, keys, and the one token that it was told to give.
//!
//! It holds the server to its part: client, secret, redirect and PKCE are looked at for each code.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::digest::{SHA256, digest};
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};

/// Who signs a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signer {
    /// The provider.
    Provider,
    /// Somebody with a key of their own, under the provider's name.
    Stranger,
    /// Whoever knows the public key, as if it were a secret.
    Mac,
    /// Nobody.
    Nobody,
    /// Nobody, without the last part.
    Cut,
}

/// A token that would count, until something of it is changed.
pub struct Token {
    pub head: Value,
    pub claims: Value,
    pub signer: Signer,
    /// Whether a claim is changed after it was signed.
    pub changed: bool,
}

impl Token {
    pub fn without(&mut self, claim: &str) {
        self.claims.as_object_mut().unwrap().remove(claim);
    }

    /// Sets a moment so many seconds from now.
    pub fn later(&mut self, claim: &str, seconds: i64) {
        self.claims[claim] = json!(now() + seconds);
    }
}

fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    since.as_secs().try_into().unwrap()
}

#[derive(Default)]
struct Told {
    issuer: String,
    keys: Vec<Value>,
    token: String,
    challenge: String,
    back: String,
    basic: String,
    redeemed: u32,
    refuses: bool,
    /// What it says of somebody beside the token.
    beside: Option<Value>,
}

pub struct Provider {
    pub url: String,
    key: EcdsaKeyPair,
    stranger: EcdsaKeyPair,
    told: Arc<Mutex<Told>>,
    over: Arc<AtomicBool>,
}

fn key() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let way = &ECDSA_P256_SHA256_FIXED_SIGNING;
    let drawn = EcdsaKeyPair::generate_pkcs8(way, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(way, drawn.as_ref(), &random).unwrap()
}

fn public(key: &EcdsaKeyPair, kid: &str) -> Value {
    let point = key.public_key().as_ref();
    let part = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    json!({
        "kty": "EC", "crv": "P-256", "use": "sig", "alg": "ES256", "kid": kid,
        "x": part(&point[1..33]), "y": part(&point[33..]),
    })
}

impl Provider {
    pub fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let key = key();
        let told = Told {
            issuer: url.clone(),
            // Why a strange one beside it: providers have keys of kinds that nobody here knows.
            keys: vec![
                public(&key, "one"),
                json!({ "kty": "lattice", "kid": "one" }),
            ],
            ..Told::default()
        };
        let provider = Self {
            url: url.clone(),
            key,
            stranger: self::key(),
            told: Arc::new(Mutex::new(told)),
            over: Arc::default(),
        };
        let (told, over) = (Arc::clone(&provider.told), Arc::clone(&provider.over));
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                if over.load(Ordering::SeqCst) {
                    break;
                }
                answer(stream, &url, &mut told.lock().unwrap());
            }
        });
        provider
    }

    /// A token for this login that counts.
    pub fn token(&self, nonce: &str, email: &str) -> Token {
        Token {
            head: json!({ "alg": "ES256", "kid": "one", "typ": "JWT" }),
            claims: json!({
                "iss": self.url, "sub": format!("subject of {email}"), "aud": "provost",
                "exp": now() + 300, "iat": now(), "nonce": nonce,
                "email": email, "email_verified": true,
            }),
            signer: Signer::Provider,
            changed: false,
        }
    }

    /// Gives this token for the next code, to who can show what hashes to the challenge.
    pub fn gives(&self, token: &Token, challenge: &str, back: &str) {
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let (head, mut body) = (part(&token.head), part(&token.claims));
        let signed = format!("{head}.{body}");
        let random = SystemRandom::new();
        let by = |key: &EcdsaKeyPair| {
            key.sign(&random, signed.as_bytes())
                .unwrap()
                .as_ref()
                .to_vec()
        };
        let signature = match token.signer {
            Signer::Provider => by(&self.key),
            Signer::Stranger => by(&self.stranger),
            Signer::Mac => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, self.key.public_key().as_ref());
                hmac::sign(&key, signed.as_bytes()).as_ref().to_vec()
            }
            Signer::Nobody | Signer::Cut => Vec::new(),
        };
        if token.changed {
            let mut claims = token.claims.clone();
            claims["admin"] = json!(true);
            body = part(&claims);
        }
        let mut told = self.told.lock().unwrap();
        told.token = match token.signer {
            Signer::Cut => format!("{head}.{body}"),
            _ => format!("{head}.{body}.{}", URL_SAFE_NO_PAD.encode(signature)),
        };
        challenge.clone_into(&mut told.challenge);
        back.clone_into(&mut told.back);
    }

    /// Adds a second key, of another name.
    pub fn add_key(&self) {
        let key = public(&self.stranger, "two");
        self.told.lock().unwrap().keys.push(key);
    }

    /// From now on its document names another issuer.
    pub fn claims_to_be(&self, issuer: &str) {
        issuer.clone_into(&mut self.told.lock().unwrap().issuer);
    }

    /// From now on it says this of whoever signs in, beside the token.
    pub fn says_beside(&self, claims: Value) {
        self.told.lock().unwrap().beside = Some(claims);
    }

    /// From now on it gives no token.
    pub fn refuses(&self) {
        self.told.lock().unwrap().refuses = true;
    }

    /// How many codes it gave a token for.
    pub fn redeemed(&self) -> u32 {
        self.told.lock().unwrap().redeemed
    }

    /// Who the client last said it was.
    pub fn basic(&self) -> String {
        self.told.lock().unwrap().basic.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Why ignored: it only wakes the thread.
        let _ = TcpStream::connect(self.url.trim_start_matches("http://"));
    }
}

fn answer(mut stream: TcpStream, url: &str, told: &mut Told) {
    let request = whole(&mut stream);
    let line = request.lines().next().unwrap_or_default();
    let beside = told.beside.as_ref().map(|_| format!("{url}/userinfo"));
    let (status, body) = match line.split(' ').nth(1).unwrap_or_default() {
        "/.well-known/openid-configuration" => (
            200,
            json!({
                "issuer": told.issuer,
                "authorization_endpoint": format!("{url}/authorize"),
                "token_endpoint": format!("{url}/token"),
                "jwks_uri": format!("{url}/keys"),
                "userinfo_endpoint": beside,
            }),
        ),
        "/keys" => (200, json!({ "keys": told.keys })),
        "/token" => match redeem(&request, told) {
            Ok(()) => {
                told.redeemed += 1;
                {
                    let token = &told.token;
                    (200, json!({ "access_token": "at", "id_token": token }))
                }
            }
            Err(why) => (
                400,
                json!({ "error": "invalid_grant", "error_description": why }),
            ),
        },
        "/userinfo"
            if request
                .to_lowercase()
                .contains("\r\nauthorization: bearer at\r\n") =>
        {
            (200, told.beside.clone().unwrap_or_default())
        }
        _ => (404, json!({})),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    // Why ignored: who asked may have gone away.
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

fn redeem(request: &str, told: &mut Told) -> Result<(), String> {
    if told.refuses {
        return Err("refused".to_owned());
    }
    let (heads, body) = request.split_once("\r\n\r\n").unwrap();
    let authorization = heads.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("authorization").then_some(value)
    });
    let basic = authorization.and_then(|value| value.strip_prefix("Basic "));
    let basic = STANDARD.decode(basic.ok_or("no secret")?).unwrap();
    told.basic = String::from_utf8(basic).unwrap();
    let form = query(&format!("?{body}"));
    let field = |name: &str| {
        let found = form.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let shown = digest(&SHA256, field("code_verifier").as_bytes());
    let holds = [
        ("grant_type", field("grant_type") == "authorization_code"),
        ("code", field("code") == "a-code"),
        ("redirect_uri", field("redirect_uri") == told.back),
        (
            "code_verifier",
            URL_SAFE_NO_PAD.encode(shown) == told.challenge,
        ),
    ];
    match holds.iter().find(|(_, holds)| !holds) {
        Some((name, _)) => Err(format!("{name}: {form:?}")),
        None => Ok(()),
    }
}

fn whole(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.parse().unwrap())
            });
            if body.len() >= length.unwrap_or(0) {
                return text;
            }
        }
        match stream.read(&mut chunk) {
            Ok(0) | Err(_) => return text,
            Ok(read) => bytes.extend_from_slice(&chunk[..read]),
        }
    }
}

/// The names and values in the query of an address.
pub fn query(address: &str) -> Vec<(String, String)> {
    let address = reqwest::Url::parse("http://here")
        .unwrap()
        .join(address)
        .unwrap();
    let pairs = address.query_pairs();
    pairs
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}
