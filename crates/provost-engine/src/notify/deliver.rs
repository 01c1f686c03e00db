//! Delivery: each notice at least once, under its id, until it was taken.
//!
//! Owns the tries, their waits and the two ways to tell. INVARIANT: a try is noted, durably,
//! before it is made, and a delivery after; between the two a notice belongs to nobody for good.

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use provost_wire::http::{BaseUrl, Client, Method, Request};
use provost_wire::process::ChildCommand;
use ring::hmac;
use serde_json::{Value, json};

use super::compose::{next_reminder, still_stands, subject};
use super::{CommandOf, DeliveryMethod, NotifyTarget};
use crate::clock::now_ms;
use crate::engine::Engine;
use crate::limits::{
    NOTICE_ANSWER_BYTES_MAX, NOTICE_SAID_CHARS_MAX, NOTICES_AT_ONCE_MAX, NOTIFY_WAIT_MAX,
    NOTIFY_WAIT_MIN,
};
use crate::store::{DueNotice, StoreError};

const MEDIA: &str = "application/cloudevents+json";
/// What a secret of Standard Webhooks begins with; the rest of it is base64.
const SECRET_PREFIX: &str = "whsec_";

/// What became of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// Its id.
    pub id: String,
    /// Its run.
    pub run: String,
    /// Who was told.
    pub target: String,
    /// What was told, in one line.
    pub text: String,
    /// What became of it.
    pub told: DeliveryStatus,
}

/// Whether somebody was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryStatus {
    /// They were.
    Yes,
    /// They need not be any more: what it was about is over.
    Over,
    /// They were not; it is tried again.
    No {
        /// Why.
        why: String,
    },
}

impl Engine {
    /// Delivers the notices that are due, a few at once, and says what became of each.
    ///
    /// # Errors
    /// [`StoreError`] if the journal fails; a notice that cannot be delivered is no error.
    pub async fn deliver_due(&self) -> Result<Vec<Delivered>, StoreError> {
        let due = self.store().due_notices(now_ms(), NOTICES_AT_ONCE_MAX)?;
        let mut tries: FuturesUnordered<_> =
            due.iter().map(|notice| self.deliver(notice)).collect();
        let mut all = Vec::new();
        while let Some(delivered) = tries.next().await {
            all.extend(delivered?);
        }
        Ok(all)
    }

    /// Tries to deliver one; none if somebody else does.
    async fn deliver(&self, notice: &DueNotice) -> Result<Option<Delivered>, StoreError> {
        let targets = self.workspace().notify();
        let target = targets.iter().find(|target| target.name == notice.target);
        let until = now_ms().saturating_add(wait(notice.tries, target));
        if !self.store().take_notice(notice, until).await? {
            return Ok(None);
        }
        let told = match target {
            None => DeliveryStatus::No {
                why: format!("there is no [notify.{}] in provost.toml", notice.target),
            },
            Some(_) if self.is_over(notice) => DeliveryStatus::Over,
            Some(target) => match self.tell(target, notice).await {
                Ok(()) => DeliveryStatus::Yes,
                Err(why) => DeliveryStatus::No {
                    why: why.chars().take(NOTICE_SAID_CHARS_MAX).collect(),
                },
            },
        };
        let now = now_ms();
        match &told {
            DeliveryStatus::Yes => {
                let every = target.and_then(|target| target.remind);
                let next = every.and_then(|every| next_reminder(notice, now, every));
                self.store().notice_done(notice.n, now, None, next).await?;
            }
            DeliveryStatus::Over => {
                let said = Some("it was over before the notice was sent".to_owned());
                self.store().notice_done(notice.n, now, said, None).await?;
            }
            DeliveryStatus::No { why } => {
                self.store().notice_failed(notice.n, why.clone()).await?;
            }
        }
        let text = notice.notice.get("text").and_then(Value::as_str);
        Ok(Some(Delivered {
            id: notice.id.clone(),
            run: notice.run.clone(),
            target: notice.target.clone(),
            text: text.unwrap_or_default().to_owned(),
            told,
        }))
    }

    /// Whether what it is about is over, and nobody was told or may have been.
    fn is_over(&self, notice: &DueNotice) -> bool {
        // Why: of what was tried, somebody may have half heard; they hear it whole.
        notice.tries == 0
            && self
                .read(&notice.run)
                .is_ok_and(|record| !still_stands(&notice.notice, record.run.state()))
    }

    async fn tell(&self, target: &NotifyTarget, notice: &DueNotice) -> Result<(), String> {
        let body = event(notice, self.inbox().store(), self.commands());
        let body = body.to_string().into_bytes();
        let root = self.workspace().root();
        match &target.by {
            DeliveryMethod::Command(argv) => ChildCommand {
                argv,
                dir: root,
                stdin: &body,
                timeout: target.timeout,
            }
            .run()
            .await
            .map_err(|error| error.to_string()),
            DeliveryMethod::Webhook { base, path, secret } => {
                let secret = secret.resolve(root).map_err(|error| error.to_string())?;
                let headers = signed(&notice.id, now_ms() / 1_000, &body, secret.expose())?;
                post(base, path, headers, body, target.timeout).await
            }
        }
    }
}

/// The notice as a CloudEvent.
fn event(notice: &DueNotice, store: &str, commands: Option<&CommandOf>) -> Value {
    let occasion = notice.notice.get("occasion").and_then(Value::as_str);
    let at = notice.notice.get("at_ms").and_then(Value::as_i64);
    let time = jiff::Timestamp::from_millisecond(at.unwrap_or_default()).unwrap_or_default();
    let command = commands.and_then(|of| Some(Value::from(of(&subject(&notice.notice)?))));
    let data: BTreeMap<&str, &Value> = notice
        .notice
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| !value.is_null() && *name != "at_ms")
        .map(|(name, value)| (name.as_str(), value))
        .chain(command.as_ref().map(|command| ("command", command)))
        .collect();
    json!({
        "specversion": "1.0",
        "id": notice.id,
        "source": format!("urn:provost:{store}"),
        "type": format!("provost.{}", occasion.unwrap_or_default()),
        "subject": notice.run,
        "time": time.to_string(),
        "datacontenttype": "application/json",
        "data": data,
    })
}

/// The headers of Standard Webhooks.
fn signed(
    id: &str,
    seconds: i64,
    body: &[u8],
    secret: &str,
) -> Result<Vec<(String, String)>, String> {
    let key = match secret.strip_prefix(SECRET_PREFIX) {
        Some(text) => STANDARD
            .decode(text)
            .map_err(|_| format!("what follows `{SECRET_PREFIX}` in the secret is no base64"))?,
        None => secret.as_bytes().to_vec(),
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
    let mut text = format!("{id}.{seconds}.").into_bytes();
    text.extend_from_slice(body);
    let signature = STANDARD.encode(hmac::sign(&key, &text));
    let headers = [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", format!("v1,{signature}")),
    ];
    Ok(headers
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect())
}

async fn post(
    base: &BaseUrl,
    path: &str,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    timeout: Duration,
) -> Result<(), String> {
    let client = Client::new(base.clone()).map_err(|error| error.to_string())?;
    let request = Request {
        method: Method::Post,
        path: path.to_owned(),
        query: Vec::new(),
        headers,
        auth: None,
        body: Some((body, MEDIA)),
        timeout,
        max_bytes: NOTICE_ANSWER_BYTES_MAX,
    };
    let answer = client
        .send(request)
        .await
        .map_err(|error| error.to_string())?;
    if answer.is_success() {
        return Ok(());
    }
    Err(format!("the server answered {}", answer.status))
}

/// How long a notice that was tried so often is nobody else's: the try itself, and a rest that
/// doubles.
fn wait(tries: u32, target: Option<&NotifyTarget>) -> i64 {
    let rest = match target {
        None => NOTIFY_WAIT_MAX,
        Some(_) => NOTIFY_WAIT_MIN
            .saturating_mul(2_u32.saturating_pow(tries))
            .min(NOTIFY_WAIT_MAX),
    };
    let itself = target.map_or(Duration::ZERO, |target| target.timeout);
    i64::try_from((rest + itself).as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::signed;

    /// The example of the specification's reference libraries.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
        let body = br#"{"test": 2432232314}"#;
        let headers = signed("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, body, secret).unwrap();
        let signature = headers.last().map(|(_, value)| value.as_str());
        let wanted = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature, Some(wanted));
        assert!(signed("a", 1, body, "whsec_no base64!").is_err());
    }
}
