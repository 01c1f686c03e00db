//! Signing in with a provider: a small one of our own that tells every lie there is.
//!
//! It signs with ES256; a real one, with RS256 and a browser, is `scripts/full oidc`.

use serde_json::{Value, json};

use super::provider::{Provider, Signer, Token, query};
use super::served::{Answer, Served, team};
use super::workplace::Workplace;

const ADA: &str = "ada@acme.example";
const BO: &str = "bo@acme.example";
const EVE: &str = "eve@acme.example";

fn place(provider: &Provider, more: &str) -> Workplace {
    let place = team();
    let people = json!({ ADA: {}, BO: {}, "ada": {} });
    place.people(people.as_object().unwrap());
    let server = format!(
        "[server]\nproxies = [\"127.0.0.1\"]\nsession = {{ lasts = \"1h\", idle = \"5m\" }}\n\
         [server.login]\nkind = \"oidc\"\nissuer = \"{}\"\nclient = \"provost\"\n\
         secret = \"env:PROVOST_CANARY_KEY\"\nname = \"email\"\n{more}[tools.shop]",
        provider.url
    );
    place.edit("provost.toml", "[tools.shop]", &server);
    place
}

/// A browser on its way through a login.
struct Browser<'s> {
    server: &'s Served,
    /// Its address, as the proxy in front says: tries are counted for each.
    address: String,
    cookie: String,
    /// Where the provider was asked to send it, with what.
    asked: Vec<(String, String)>,
}

impl<'s> Browser<'s> {
    fn sent(server: &'s Served, address: usize) -> Self {
        let mut browser = Self {
            server,
            address: format!("192.0.2.{address}"),
            cookie: String::new(),
            asked: Vec::new(),
        };
        let sent = browser.get("/login/oidc").is(303);
        browser.cookie = cookie(&sent, "provost-login");
        browser.asked = query(&sent.heads["location"]);
        browser
    }

    fn asked(&self, name: &str) -> &str {
        let found = self.asked.iter().find(|(known, _)| known == name);
        found.unwrap_or_else(|| panic!("no `{name}`")).1.as_str()
    }

    fn get(&self, path: &str) -> Answer {
        let heads = [
            ("Host", self.server.host.as_str()),
            ("X-Forwarded-For", self.address.as_str()),
            ("Cookie", self.cookie.as_str()),
        ];
        let without = if self.cookie.is_empty() { 2 } else { 3 };
        self.server
            .send(&format!("GET {path}"), &heads[..without], "")
    }

    /// Comes back with a code for this token.
    fn back(&self, provider: &Provider, token: &Token) -> Answer {
        self.back_with(provider, token, "")
    }

    fn back_with(&self, provider: &Provider, token: &Token, more: &str) -> Answer {
        provider.gives(
            token,
            self.asked("code_challenge"),
            self.asked("redirect_uri"),
        );
        let state = self.asked("state");
        self.get(&format!("/login/oidc/back?code=a-code&state={state}{more}"))
    }

    fn token(&self, provider: &Provider, email: &str) -> Token {
        provider.token(self.asked("nonce"), email)
    }
}

/// A cookie that an answer sets, as it is sent back.
fn cookie(answer: &Answer, name: &str) -> String {
    let set = answer
        .cookies
        .iter()
        .find(|set| set.starts_with(&format!("{name}=")));
    let set = set.unwrap_or_else(|| panic!("no `{name}`: {answer:?}"));
    set.split(';').next().unwrap().to_owned()
}

fn me(server: &Served, cookie: &str) -> Value {
    let heads = [("Host", server.host.as_str()), ("Cookie", cookie)];
    server.send("GET /v1/me", &heads, "").is(200).json()
}

#[test]
fn who_signs_in_with_the_provider_is_there() {
    let provider = Provider::new();
    let place = place(&provider, "");
    let server = Served::of(&place);
    let page = server
        .send("GET /login", &[("Host", &server.host)], "")
        .is(200);
    assert!(
        page.body.contains("Sign in with 127.0.0.1"),
        "{}",
        page.body
    );
    let browser = Browser::sent(&server, 1);
    let back = format!("http://{}/login/oidc/back", server.host);
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "provost"),
        ("redirect_uri", back.as_str()),
        ("scope", "openid email"),
        ("code_challenge_method", "S256"),
    ] {
        assert_eq!(browser.asked(name), value);
    }
    let back = browser
        .back(&provider, &browser.token(&provider, ADA))
        .is(303);
    assert_eq!(back.heads["location"], "/");
    let session = back.cookies.iter().find(|set| set.starts_with("provost="));
    let session = session.unwrap();
    assert!(
        session.contains("Max-Age=3600") && session.ends_with("SameSite=Lax"),
        "{session}"
    );
    let me = me(&server, &cookie(&back, "provost"));
    assert_eq!(me["person"], ADA);
    assert_eq!(me["login"], "oidc");
    // The same answer once more, as whoever saw its address would send it.
    let again = browser
        .back(&provider, &browser.token(&provider, ADA))
        .is(403);
    assert!(again.body.contains("was used before"), "{}", again.body);
    assert_eq!(
        provider.redeemed(),
        1,
        "a state that counts no more redeems no code"
    );
    // Nobody else's browser takes it back, and the login stays that of the browser that began it.
    let ours = Browser::sent(&server, 2);
    let mut theirs = Browser::sent(&server, 3);
    theirs.asked.clone_from(&ours.asked);
    let stolen = theirs.back(&provider, &ours.token(&provider, ADA)).is(403);
    assert!(
        stolen.body.contains("not begun in this browser"),
        "{}",
        stolen.body
    );
    theirs.cookie = String::new();
    theirs.back(&provider, &ours.token(&provider, ADA)).is(403);
    ours.back(&provider, &ours.token(&provider, BO)).is(303);
    // The secret of the client is in nothing that was kept or answered: the canaries see to it.
    let secret = provider.basic();
    assert_eq!(secret, "provost:canary%2Fof-a-key%2BWp47tq");
}

/// What a lie changes of a token that would count.
type Lie = (&'static str, fn(&Provider, &mut Token), &'static str);

#[expect(clippy::too_many_lines, reason = "a table")]
fn lies() -> Vec<Lie> {
    const CLIENT: &str = "is for another client";
    const ALGORITHM: &str = "an algorithm that is not taken";
    vec![
        ("aud", |_, t| t.claims["aud"] = json!("another"), CLIENT),
        ("no aud", |_, t| t.without("aud"), CLIENT),
        (
            "aud of two",
            |_, t| t.claims["aud"] = json!(["provost", "x"]),
            CLIENT,
        ),
        ("azp", |_, t| t.claims["azp"] = json!("another"), CLIENT),
        (
            "iss",
            |_, t| t.claims["iss"] = json!("https://accounts.example.com"),
            "another issuer",
        ),
        ("exp", |_, t| t.later("exp", -3_600), "has ended"),
        ("no exp", |_, t| t.without("exp"), "has ended"),
        ("iat", |_, t| t.later("iat", 3_600), "not valid yet"),
        ("nbf", |_, t| t.later("nbf", 3_600), "not valid yet"),
        (
            "nonce",
            |_, t| t.claims["nonce"] = json!("another"),
            "of another login",
        ),
        ("no nonce", |_, t| t.without("nonce"), "of another login"),
        ("no sub", |_, t| t.without("sub"), "no subject"),
        (
            "not verified",
            |_, t| t.claims["email_verified"] = json!(false),
            "not verified",
        ),
        (
            "verified as text",
            |_, t| t.claims["email_verified"] = json!("true"),
            "not verified",
        ),
        (
            "no email",
            |_, t| t.without("email"),
            "the claim of the name",
        ),
        (
            "alg none",
            |_, t| (t.head["alg"], t.signer) = (json!("none"), Signer::Nobody),
            ALGORITHM,
        ),
        (
            "alg nONE",
            |_, t| (t.head["alg"], t.signer) = (json!("nONE"), Signer::Nobody),
            ALGORITHM,
        ),
        (
            "alg HS256",
            |_, t| (t.head["alg"], t.signer) = (json!("HS256"), Signer::Mac),
            ALGORITHM,
        ),
        (
            "alg ES384",
            |_, t| t.head["alg"] = json!("ES384"),
            ALGORITHM,
        ),
        (
            "alg RS256",
            |_, t| t.head["alg"] = json!("RS256"),
            "a key that the provider does not",
        ),
        (
            "kid",
            |_, t| t.head["kid"] = json!("other"),
            "a key that the provider does not",
        ),
        (
            "key",
            |_, t| t.signer = Signer::Stranger,
            "not signed by the provider",
        ),
        (
            "unsigned",
            |_, t| t.signer = Signer::Nobody,
            "not signed by the provider",
        ),
        ("crit", |_, t| t.head["crit"] = json!(["b64"]), "extensions"),
        (
            "changed",
            |_, t| t.changed = true,
            "not signed by the provider",
        ),
        (
            "two parts",
            |_, t| t.signer = Signer::Cut,
            "has not three parts",
        ),
        (
            "a key of no kid, of two",
            |provider, t| {
                provider.add_key();
                t.head.as_object_mut().unwrap().remove("kid");
            },
            "which key",
        ),
    ]
}

#[test]
fn no_lie_of_a_provider_signs_anybody_in() {
    let provider = Provider::new();
    let place = place(&provider, "");
    let server = Served::of(&place);
    for (at, (name, lie, words)) in lies().into_iter().enumerate() {
        let browser = Browser::sent(&server, at + 1);
        let mut token = browser.token(&provider, ADA);
        lie(&provider, &mut token);
        let refused = browser.back(&provider, &token);
        assert_eq!(refused.status, 403, "{name}: {refused:?}");
        assert!(refused.body.contains(words), "{name}: {}", refused.body);
        assert!(refused.cookies.is_empty(), "{name}: {refused:?}");
    }
    // The control: what is not changed counts, and so does what may differ.
    let changes: [fn(&mut Token); 4] = [
        |_| {},
        |t| t.claims["aud"] = json!(["provost"]),
        |t| t.later("exp", -30),
        |t| {
            t.claims["aud"] = json!(["provost", "x"]);
            t.claims["azp"] = json!("provost");
        },
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let browser = Browser::sent(&server, at + 100);
        let mut token = browser.token(&provider, ADA);
        change(&mut token);
        let entered = browser.back(&provider, &token);
        assert_eq!(entered.status, 303, "{at}: {entered:?}");
    }
}

#[test]
fn who_is_not_listed_or_bears_a_name_of_another_stays_out() {
    let provider = Provider::new();
    let place = place(&provider, "");
    let server = Served::of(&place);
    let mut address = 0;
    let mut enter = |subject: &str, email: &str, more: &str| {
        address += 1;
        let browser = Browser::sent(&server, address);
        let mut token = browser.token(&provider, email);
        token.claims["sub"] = json!(subject);
        browser.back_with(&provider, &token, more)
    };
    let unlisted = enter("e", EVE, "").is(403);
    assert!(unlisted.body.contains("is not listed"), "{}", unlisted.body);
    assert!(unlisted.cookies.is_empty());
    enter("a", ADA, "").is(303);
    enter("a", ADA, "").is(303);
    // The address was given to somebody else; an account was given another's address.
    let words = |answer: Answer| answer.is(403).body;
    assert!(words(enter("a2", ADA, "")).contains("with another account"));
    assert!(words(enter("a", BO, "")).contains("signed in as"));
    // Who keeps the workspace says that it is right; one who left holds no account.
    place.run(&["invite", ADA, "--new-account"]).exits(0);
    enter("a2", ADA, "").is(303);
    assert!(words(enter("a", ADA, "")).contains("with another account"));
    // What the provider says beside the code.
    let named = format!("&iss={}", provider.url);
    enter("b", BO, &named).is(303);
    assert!(words(enter("b", BO, "&iss=https://other.example")).contains("not from the provider"));
    let denied = words(enter("b", BO, "&error=access_denied"));
    assert!(denied.contains("access_denied"), "{denied}");
}

#[test]
fn a_name_that_is_not_in_the_token_is_asked_for() {
    let provider = Provider::new();
    provider.says_beside(json!({ "sub": "a", "email": ADA, "email_verified": true }));
    let place = place(&provider, "");
    let server = Served::of(&place);
    let enter = |address: usize, subject: &str, email: Option<&str>| {
        let browser = Browser::sent(&server, address);
        let mut token = browser.token(&provider, email.unwrap_or_default());
        token.claims["sub"] = json!(subject);
        if email.is_none() {
            token.without("email");
            token.without("email_verified");
        }
        browser.back(&provider, &token)
    };
    let entered = enter(1, "a", None).is(303);
    assert_eq!(me(&server, &cookie(&entered, "provost"))["person"], ADA);
    let other = enter(2, "b", None).is(403);
    assert!(other.body.contains("two subjects"), "{}", other.body);
    // What the token says stands: it is signed.
    let entered = enter(3, "b", Some(BO)).is(303);
    assert_eq!(me(&server, &cookie(&entered, "provost"))["person"], BO);
}

#[test]
fn a_provider_that_fails_signs_nobody_in_and_harms_nobody() {
    let provider = Provider::new();
    let place = place(&provider, "");
    let server = Served::of(&place);
    let browser = Browser::sent(&server, 1);
    provider.refuses();
    let failed = browser
        .back(&provider, &browser.token(&provider, ADA))
        .is(502);
    assert!(failed.body.contains("it answers 400"), "{}", failed.body);
    drop(provider);
    let link = place.run(&["invite", ADA]).exits(0).raw_stdout;
    server.sign_in(Served::code(&link)).is(303);
    // A provider that says it is another is not asked.
    let other = Provider::new();
    other.claims_to_be("https://accounts.example.com");
    let place = self::place(&other, "");
    let server = Served::of(&place);
    let host = [("Host", server.host.as_str())];
    let refused = server.send("GET /login/oidc", &host, "").is(502);
    assert!(
        refused.body.contains("names another issuer"),
        "{}",
        refused.body
    );
    // Without `[server.login]` there is no such way.
    let server = Served::of(&team());
    let host = [("Host", server.host.as_str())];
    server.send("GET /login/oidc", &host, "").is(404);
}

#[test]
fn the_address_of_a_client_is_a_proxys_word_only_where_it_is_named() {
    let provider = Provider::new();
    let named = place(&provider, "");
    let unnamed = team();
    for (place, refused) in [(&named, 0), (&unnamed, 2)] {
        let server = Served::of(place);
        let tries = (0..12).map(|at| {
            let from = format!("203.0.113.9, 192.0.2.{at}");
            let heads = [
                ("Host", server.host.as_str()),
                ("X-Forwarded-For", from.as_str()),
                ("Sec-Fetch-Site", "same-origin"),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ];
            server.send("POST /login/link", &heads, "code=nonsense")
        });
        let tries: Vec<Answer> = tries.collect();
        let late: Vec<&Answer> = tries.iter().filter(|one| one.status == 429).collect();
        assert_eq!(late.len(), refused, "{tries:?}");
        let waits = late
            .iter()
            .map(|one| one.heads["retry-after"].parse::<u64>().unwrap());
        assert!(waits.into_iter().all(|wait| (1..=61).contains(&wait)));
    }
}

#[test]
fn a_login_that_cannot_be_is_a_finding() {
    let provider = Provider::new();
    for (from, to, words) in [
        (
            "kind = \"oidc\"",
            "kind = \"saml\"",
            "`kind` of a login is `oidc`",
        ),
        ("env:PROVOST_CANARY_KEY", "s3cret", "never written out"),
        (
            "http://127.0.0.1",
            "http://accounts.example.com",
            "is not `https`",
        ),
        ("client = \"provost\"", "client = \" \"", "are not empty"),
        (
            "lasts = \"1h\"",
            "lasts = \"1s\"",
            "from one minute to 30 days",
        ),
        (
            "[\"127.0.0.1\"]",
            "[\"proxy\"]",
            "`proxies` lists addresses",
        ),
        (
            "session =",
            "tls = {}\nsession =",
            "`tls` needs the field `cert`",
        ),
    ] {
        let place = place(&provider, "");
        place.edit("provost.toml", from, to);
        let ran = place.run(&["serve", "--listen", "127.0.0.1:0"]).exits(2);
        assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr);
    }
    let solo = place(&provider, "");
    solo.write("policies/solo.cedar", "");
    let ran = solo.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(
        ran.code == Some(2) || ran.stderr.contains("solo"),
        "{}",
        ran.stderr
    );
}
