//! Statements: the one way in for what people say, from a page or a program.
//!
//! Owns making the statement of a session, trying it on the machine, posting it and waiting for
//! what becomes of it. Decides nothing: the machine refuses. INVARIANT: a statement that is
//! answered as taken is in the journal; one that the machine refuses at once is not stored.

use std::time::{Duration, Instant};

use provost_engine::clock::now_ms;
use provost_engine::people::{Statement, StatementEnvelope, StatementSubject};
use provost_engine::run::state::State;
use provost_engine::run::statement::StatementVia;
use provost_engine::session::{IGNORED, TAKEN};
use serde_json::{Map, Value};

use crate::app::{App, Shared};
use crate::door::{Login, Viewer};
use crate::problem::{Problem, ProblemKind};

/// How long whoever spoke waits to see what becomes of it.
const PATIENCE: Duration = Duration::from_secs(3);
/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(15);

/// Where something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SaidAt {
    /// A form of a page.
    Page,
    /// A request of a program.
    Api,
}

/// What became of a statement so far.
pub(crate) struct Heard {
    /// Whether the run took it; else it is posted, and whoever drives the run hears it first.
    pub(crate) taken: bool,
    /// The last event of the run then.
    pub(crate) seq: u64,
    /// Its nonce.
    pub(crate) nonce: String,
}

/// Says something to a run: a whole statement, or the parts that only its speaker knows.
///
/// # Errors
/// [`Problem`] says why it does not count; then nothing was stored, or it was not taken.
pub(crate) async fn say(
    app: &App,
    viewer: Viewer,
    run: String,
    (door, body): (SaidAt, Value),
) -> Result<Heard, Problem> {
    app.statements.take(viewer.rated())?;
    let envelope = app
        .read(move |shared| {
            let envelope = envelope(shared, &viewer, &run, body)?;
            let envelope = shared.vouched(envelope, &viewer, door)?;
            shared.engine().rehearse(&envelope)?;
            Ok(envelope)
        })
        .await?;
    let text = envelope.to_text();
    app.engine()
        .store()
        .post(&envelope.run, &text, now_ms())
        .await?;
    app.engine().nudge();
    let until = Instant::now() + PATIENCE;
    let run = envelope.run.clone();
    loop {
        let (of, said) = (run.clone(), text.clone());
        let (became, seq) = app
            .read(move |shared| {
                let store = shared.desk.store()?;
                Ok((store.became(&of, &said)?, store.run(&of)?.head_seq))
            })
            .await?;
        let heard = |taken| Heard {
            taken,
            seq,
            nonce: envelope.nonce.clone(),
        };
        match became.as_deref() {
            Some(TAKEN) => return Ok(heard(true)),
            Some(became) => return Err(not_taken(app, envelope.clone(), became).await),
            None if Instant::now() >= until => return Ok(heard(false)),
            None => tokio::time::sleep(LOOK).await,
        }
    }
}

/// Why a statement was not taken, as the machine says it now; else in the words that were kept.
async fn not_taken(app: &App, envelope: StatementEnvelope, became: &str) -> Problem {
    let run = envelope.run.clone();
    let asked = app
        .read(move |shared| Ok(shared.engine().rehearse(&envelope)?))
        .await;
    let why = became.strip_prefix(IGNORED).unwrap_or(became).to_owned();
    let problem = asked
        .err()
        .unwrap_or_else(|| Problem::new(ProblemKind::NotOpen, why));
    problem.of_run(run)
}

/// The statement that a request brings, or that is made for who is signed in.
fn envelope(
    shared: &Shared,
    viewer: &Viewer,
    run: &str,
    body: Value,
) -> Result<StatementEnvelope, Problem> {
    let seen = shared.desk.run(&shared.engine(), viewer, run)?;
    viewer.speaks()?;
    let state = seen.state();
    let unfit = |detail: String| Problem::new(ProblemKind::Unfit, detail);
    if body.get("schema").is_some() {
        let envelope = StatementEnvelope::read_given(&body.to_string());
        let envelope = envelope.map_err(|error| unfit(error.to_string()))?;
        if envelope.run != state.head.run {
            let run = &envelope.run;
            return Err(unfit(format!("this statement is for run `{run}`")));
        }
        if envelope.signed.is_none() && envelope.by != viewer.principal.id {
            let detail = format!("this statement names `{}` and is not signed", envelope.by);
            return Err(Problem::new(ProblemKind::NotAllowed, detail));
        }
        return Ok(envelope);
    }
    let Value::Object(mut parts) = body else {
        return Err(unfit("a statement is an object".to_owned()));
    };
    let nonce = parts.remove("nonce");
    let statement = statement(state, parts)?;
    let mut envelope = make(shared, viewer, state, statement)?;
    if let Some(nonce) = nonce {
        let fits = |text: &&str| (8..=64).contains(&text.len());
        let text = nonce.as_str().filter(fits);
        let text = text.ok_or_else(|| unfit("a `nonce` is a text of 8 to 64".to_owned()))?;
        text.clone_into(&mut envelope.nonce);
    }
    Ok(envelope)
}

impl Shared {
    /// A statement with how it came, and this server's word on it where it has a key: that its
    /// speaker is who signed in here. Of what somebody else signed, only they can say that.
    fn vouched(
        &self,
        mut envelope: StatementEnvelope,
        viewer: &Viewer,
        door: SaidAt,
    ) -> Result<StatementEnvelope, Problem> {
        let via = self.via(viewer, door)?;
        let theirs = envelope.by == viewer.principal.id;
        if let Some(key) = self.voucher.as_ref().filter(|_| theirs) {
            return Ok(envelope.vouched_with(via, key));
        }
        envelope.via = Some(Box::new(via));
        Ok(envelope)
    }

    /// How a statement of this viewer comes.
    fn via(&self, viewer: &Viewer, door: SaidAt) -> Result<StatementVia, Problem> {
        let (account, since) = match &viewer.login {
            Login::Session { kind, began_ms, .. } => {
                let by_provider = self.provider.as_ref().filter(|_| kind == "oidc");
                let issuer = by_provider.map(|one| one.issuer());
                let account =
                    issuer.map(|issuer| self.database.account_of(&viewer.principal.id, issuer));
                (account.transpose()?.flatten(), *began_ms)
            }
            Login::Token { made_ms, .. } => (None, *made_ms),
        };
        let account = account.map(|account| (account.issuer, account.subject));
        let (issuer, subject) = account.unzip();
        let door = match door {
            SaidAt::Page => "page",
            SaidAt::Api => "api",
        };
        Ok(StatementVia {
            door: door.to_owned(),
            login: viewer.login_word(),
            issuer,
            subject,
            since,
        })
    }
}

fn make(
    shared: &Shared,
    viewer: &Viewer,
    state: &State,
    statement: Statement,
) -> Result<StatementEnvelope, Problem> {
    let engine = shared.engine();
    let store = engine.inbox().store();
    let (about, lapses_at) = StatementSubject::of(store, state, &statement);
    let by = &viewer.principal.id;
    StatementEnvelope::new(about, statement, by, now_ms(), lapses_at)
        .map_err(|error| Problem::new(ProblemKind::Unfit, error.to_string()))
}

/// The statement in the parts of a request; a field that is not known is refused.
fn statement(state: &State, mut parts: Map<String, Value>) -> Result<Statement, Problem> {
    let unfit = |detail: String| Problem::new(ProblemKind::Unfit, detail);
    if parts.get("kind").and_then(Value::as_str) == Some("settle") {
        complete_settlement(state, &mut parts)?;
    }
    let given = Value::Object(parts);
    let read: Statement =
        serde_json::from_value(given.clone()).map_err(|error| unfit(error.to_string()))?;
    let known = serde_json::to_value(&read).map_err(|error| unfit(error.to_string()))?;
    let names = |value: &Value| -> Vec<String> {
        let map = value.as_object();
        map.map(|map| map.keys().cloned().collect())
            .unwrap_or_default()
    };
    let known = names(&known);
    // Why these: what is left out of a statement as empty may be written out.
    let empty = [
        "steps", "all", "undo", "reason", "plan", "goal", "output", "attempt",
    ];
    let strange = names(&given)
        .into_iter()
        .find(|name| !known.contains(name) && !empty.contains(&name.as_str()));
    match strange {
        None => Ok(read),
        Some(name) => Err(unfit(format!("a statement of this kind has no `{name}`"))),
    }
}

/// A settlement names the attempt that it is about; whoever sees the run means the one in doubt.
fn complete_settlement(state: &State, parts: &mut Map<String, Value>) -> Result<(), Problem> {
    let slot = parts.get("slot").cloned().unwrap_or(Value::Null);
    let slot = serde_json::from_value(slot)
        .map_err(|error| Problem::new(ProblemKind::Unfit, format!("`slot`: {error}")))?;
    if let (false, Some(attempt)) = (parts.contains_key("attempt"), state.attempt_in_doubt(&slot)) {
        parts.insert("attempt".to_owned(), Value::String(attempt.to_string()));
    }
    Ok(())
}
