//! Delivery: each notice at least once, under its id, until it was taken.
//!
//! Owns the tries, their waits and the two ways to tell. INVARIANT: a try is noted, durably,
//! before it is made, and a delivery after; between the two a notice belongs to nobody for good.

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use provost_wire::http::{BaseUrl, Client, Method, Request};
use provost_wire::process::ChildCommand;
use serde_json::Value;

use super::body::{Sent, Told, event, sent};
use super::compose::{next_reminder, still_stands};
use super::{DeliveryMethod, NotifyTarget};
use crate::clock::now_ms;
use crate::engine::Engine;
use crate::limits::{
    NOTICE_ANSWER_BYTES_MAX, NOTICE_SAID_CHARS_MAX, NOTICES_AT_ONCE_MAX, NOTIFY_WAIT_MAX,
    NOTIFY_WAIT_MIN,
};
use crate::store::{DueNotice, StoreError};

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
        let told = Told {
            notice,
            store: self.inbox().store(),
            commands: self.commands(),
            url: self.workspace().server().url.as_deref(),
        };
        let root = self.workspace().root();
        match &target.by {
            DeliveryMethod::Command(argv) => ChildCommand {
                argv,
                dir: root,
                stdin: event(told).to_string().as_bytes(),
                timeout: target.timeout,
            }
            .run()
            .await
            .map_err(|error| error.to_string()),
            DeliveryMethod::Webhook {
                base,
                path,
                secret,
                body,
            } => {
                let secret = secret.resolve(root).map_err(|error| error.to_string())?;
                let sent = sent(told, *body, path, secret.expose(), now_ms() / 1_000)?;
                let posted = post(base, sent, target.timeout).await;
                // Why: the secret of a chat service is a part of the address, and why it could not
                // be reached is kept.
                posted.map_err(|why| why.replace(secret.expose(), "…"))
            }
        }
    }
}

async fn post(base: &BaseUrl, sent: Sent, timeout: Duration) -> Result<(), String> {
    let client = Client::new(base.clone()).map_err(|error| error.to_string())?;
    let request = Request {
        method: Method::Post,
        path: sent.path,
        query: Vec::new(),
        headers: sent.headers,
        auth: None,
        body: Some((sent.body, sent.media)),
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
