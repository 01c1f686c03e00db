//! What verbs by which a person speaks to a run have in common.
//!
//! Owns making the word, and whether it is driven by, recorded or handed to who drives the run.

use std::path::{Path, PathBuf};

use clap::Args;
use provost_engine::audit::AuditError;
use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, EngineError};
use provost_engine::history::History;
use provost_engine::people::{CardFile, Statement, StatementEnvelope, StatementSubject};
use provost_engine::run::card::Card;
use provost_engine::run::machine::StepError;
use provost_engine::run::state::State;
use provost_engine::store::Store;
use provost_plan::digest::Digest;
use serde_json::json;

use super::Watching;
use super::target::TargetRun;
use crate::document::reason;
use crate::drive::{Start, TakeUp, drive, record, typed_yes};
use crate::failure::{self, Exit, Failure};
use crate::keyring::{KeyChoice, LocalSigner};
use crate::output;
use crate::screen::card;
use crate::screen::page::{Page, TextStyle};
use crate::user::user;
use crate::workspace_path::{self, WorkspacePath};

/// How a person speaks.
#[derive(Clone, Debug, Args)]
pub struct SigningArgs {
    #[command(flatten)]
    pub key: KeyChoice,
    /// record the statement; the run does not continue here
    #[arg(long)]
    pub record: bool,
}

/// The word that `engine`'s workspace takes for this.
fn envelope(
    engine: &Engine,
    state: &State,
    statement: Statement,
    how: &SigningArgs,
) -> Result<StatementEnvelope, Failure> {
    let needs = statement.needs_credential();
    let signer = LocalSigner::here(engine.workspace(), &how.key, needs)?;
    signer.envelope(engine.inbox().store(), state, statement)
}

/// Makes a statement to a run: drives it where nobody does, or only records it.
pub fn say(
    run: TargetRun,
    statement: Statement,
    how: &SigningArgs,
    watching: Watching,
    place: &WorkspacePath,
) -> Result<Exit, Failure> {
    let who = who_may(&run.engine, run.state(), &statement);
    let asked = statement
        .card()
        .map(|card| (run.state().head.run.clone(), card));
    let envelope = envelope(&run.engine, run.state(), statement, how)?;
    let engine = place.driving(run.engine)?;
    let spoken = TakeUp {
        folded: Box::new(run.folded),
        envelope: Some(Box::new(envelope)),
    };
    let done = match how.record {
        true => record(place, &engine, spoken, watching),
        false => drive(place, &engine, Start::TakeUp(spoken), watching),
    };
    done.map_err(|failure| match (failure.hint_text(), who, asked) {
        (Some(failure::OTHERS_MUST_ANSWER), Some(who), _) => failure.hint(who),
        (Some(failure::NOTHING_OPEN), _, Some((run, card))) => {
            overtaken(&run, card, place).unwrap_or(failure)
        }
        _ => failure,
    })
}

/// What is said of a card that the journal has open, and that is not once the run was checked
/// against the files of now.
fn overtaken(run: &str, card: Digest, place: &WorkspacePath) -> Option<Failure> {
    let history = History::read(&place.journal().ok()?, run).ok()?;
    let is_open = history.state.open_cards().any(|(open, _)| *open == card);
    let message = format!(
        "card `{}` counts no more: policies, people or tools changed since it was made",
        card.in_command()
    );
    let resume = place.command(&format!("provost resume {run}"));
    is_open.then(|| Failure::usage(message).hint(format!("to get the card of now: {resume}")))
}

/// Who may approve or reject the card of a statement, in words.
fn who_may(engine: &Engine, state: &State, statement: &Statement) -> Option<String> {
    let known = state.card(&statement.card()?)?;
    let (card, workspace) = (&known.card, engine.workspace());
    let plan = state.in_force.plan.as_ref();
    let step = card
        .step()
        .and_then(|step| Some(plan?.checked().step(step)?.0));
    let tool = step.and_then(|step| step.tool());
    let operation = tool.and_then(|tool| workspace.catalog().get(&tool.value));
    let authors = || std::iter::once(&card.requester).chain(&card.amended_by);
    let may = |name: &&str| {
        let person = workspace.people().principal(name);
        let others = authors().all(|author| {
            let author = workspace.people().principal(author);
            let operation = operation.map(AsRef::as_ref);
            let policy = workspace.policy();
            policy
                .may_approve(&person, &author, operation, &card.terms)
                .is_ok()
        });
        let shown = engine.inbox().may_show(name, statement, state);
        others && !known.approved_by.contains(*name) && shown.is_ok()
    };
    let names: Vec<String> = workspace
        .people()
        .names()
        .filter(may)
        .map(|name| format!("`{name}`"))
        .collect();
    let who = match names.as_slice() {
        [] => "nobody who is listed in policies/entities.json may answer this card: list another \
               person there"
            .to_owned(),
        names => format!("who may answer this card: {}", names.join(", ")),
    };
    let cancel = match statement {
        Statement::Reject { .. } => "; the requester ends the run with `provost cancel RUN`",
        _ => "",
    };
    Some(format!("{who}{cancel}"))
}

/// Says to a run what only stops it. Where the workspace can be driven it is said as anything else;
/// otherwise it is posted from the journal alone, for whoever drives the run next: stopping never
/// waits for a flawless workspace.
pub fn stop(
    run: &str,
    statement: Statement,
    how: &SigningArgs,
    watching: Watching,
    place: &WorkspacePath,
) -> Result<Exit, Failure> {
    let history = History::read(&place.journal()?, run)?;
    if history.state.ending.ended.is_some() {
        let status = history.state.status().word();
        let over = Failure::from(StepError::Over { status });
        return Err(match statement {
            Statement::Cancel { undo: true, .. } => {
                over.hint("`provost undo RUN` takes back what a run did that has ended")
            }
            _ => over,
        });
    }
    let opened = place
        .workspace()
        .and_then(|workspace| match place.engine(workspace) {
            // Why no stop: nothing drives a journal that a signed head contradicts, and nothing is
            // written into it.
            Err(error @ EngineError::Audit(AuditError::Heads(_))) => Ok(Err(error)),
            opened => {
                let engine = opened?;
                engine.refuse_damaged(&history.state)?;
                Ok(Ok(engine))
            }
        });
    let engine = match opened {
        Ok(engine) => engine?,
        Err(failure) => {
            let store = place.journal_to_stop()?;
            let signer = LocalSigner::of_user(&place.user(), &how.key);
            let envelope = alone(&store, &history.state, statement, signer, &failure)?;
            return post_alone(&store, &envelope, watching, &failure);
        }
    };
    let folded = engine.fold(run)?;
    say(
        TargetRun { engine, folded },
        statement,
        how,
        watching,
        place,
    )
}

/// The word that stops a run, made from the journal alone.
fn alone(
    store: &Store,
    state: &State,
    statement: Statement,
    signer: Result<LocalSigner, Failure>,
    failure: &Failure,
) -> Result<StatementEnvelope, Failure> {
    // Why: what is undone is called, and whether that needs a signature is not known.
    if statement.needs_credential() {
        return Err(
            Failure::usage(format!("nothing can be undone now: {}", failure.message()))
                .hint("without `--undo` the run is cancelled and nothing is undone"),
        );
    }
    signer?.envelope(&store.name()?, state, statement)
}

/// Posts what stops a run from the journal alone, and says that nothing else was done.
fn post_alone(
    store: &Store,
    envelope: &StatementEnvelope,
    watching: Watching,
    failure: &Failure,
) -> Result<Exit, Failure> {
    let run = &envelope.run;
    store.post(run, &envelope.to_text(), now_ms()).wait()?;
    if watching.json {
        output::json(&json!({
            "schema": "provost/statement/v1", "run": run, "nonce": envelope.nonce,
            "received": false, "held_by": null,
        }));
    }
    let mut page = Page::new();
    page.put(TextStyle::Warn, "recorded").line(&format!(
        ": the process that works on run {run} receives it first and verifies it; this command \
         runs nothing: {}",
        failure.message()
    ));
    output::note(&page.finish());
    Ok(Exit::Done)
}

/// Whether a target is a file and no run.
pub fn card_path(target: &str) -> Option<PathBuf> {
    let is_path = target.contains('/') || target.ends_with(".json");
    is_path.then(|| PathBuf::from(target))
}

/// Reads a card file.
pub fn read_card(path: &Path) -> Result<CardFile, Failure> {
    CardFile::read(&super::record::text(path)?).map_err(|error| {
        Failure::usage(format!("`{}`: {error}", path.display()))
            .hint("`provost approve RUN --card FILE` writes the card of a run")
    })
}

/// Signs a word about a card that came as a file: without the workspace, with the key alone.
pub fn sign_offline(
    path: &Path,
    to: Option<&Path>,
    statement: impl FnOnce(&CardFile) -> Statement,
    how: &SigningArgs,
    watching: Watching,
) -> Result<Exit, Failure> {
    let Some(to) = to else {
        return Err(
            Failure::usage("an answer to a card file needs a file to write")
                .hint("`-o FILE` names it; `provost record FILE` imports it"),
        );
    };
    let file = read_card(path)?;
    let shown = card::page(&file.digest, &file.card).finish();
    output::note(&shown);
    if plain(&shown) != file.text {
        let mut page = Page::new();
        page.bad("look twice ")
            .line("the text in the file is another than the card above, which is what counts");
        output::note(&page.finish());
    }
    let statement = statement(&file);
    let verb = statement.verb();
    if output::is_attended() && !typed_yes(&format!("{verb}? y = yes, anything else = no: "))? {
        return Err(Failure::usage("nothing was signed"));
    }
    let signer = LocalSigner::with_key(&user(), &how.key)?;
    let about = StatementSubject {
        store: &file.store,
        run: &file.card.run,
        revision: file.card.revision,
    };
    let envelope = signer.sign(about, statement, file.card.expires_at)?;
    write(to, &format!("{}\n", envelope.to_text()))?;
    if watching.json {
        output::json(&json!({
            "schema": "provost/signed/v1", "run": envelope.run, "verb": verb, "by": signer.by(),
            "file": to.to_string_lossy(),
        }));
    }
    let mut page = Page::new();
    page.put(TextStyle::Good, "signed").line(&format!(
        " by {} in {}; it counts once it is recorded:",
        signer.by(),
        to.display()
    ));
    let command = format!(
        "provost record {}",
        workspace_path::quoted(&to.to_string_lossy())
    );
    page.line(&format!("  {command}"));
    output::note(&page.finish());
    Ok(Exit::Done)
}

/// `-o` says where a word about a card in a file goes, and nothing else.
pub fn refuse_output(output: Option<&Path>) -> Result<(), Failure> {
    match output {
        None => Ok(()),
        Some(_) => Err(Failure::usage("`-o` needs a card file").hint(
            "`--card FILE` writes the card of a run; `--record` records what you say to a run",
        )),
    }
}

/// Writes the card that is meant to a file.
pub fn save_card(
    path: &Path,
    engine: &Engine,
    state: &State,
    picked: Option<Digest>,
    watching: Watching,
) -> Result<Exit, Failure> {
    let found = state
        .open_cards()
        .find(|(digest, _)| Some(**digest) == picked);
    let Some((_, asked)) = found else {
        return Err(Failure::usage(format!(
            "several cards of run `{}` are open",
            state.head.run
        ))
        .hint("`provost inbox --cards DIR` writes each to a file"));
    };
    write_card(path, engine.inbox().store(), asked)?;
    if watching.json {
        output::json(&json!({
            "schema": "provost/card-saved/v1", "run": state.head.run,
            "digest": asked.digest(), "file": path.to_string_lossy(),
        }));
    }
    let shown = path.display().to_string();
    let command = format!(
        "provost approve {} -o yes.json",
        workspace_path::quoted(&shown)
    );
    let mut page = Page::new();
    page.line(&format!(
        "the card is in {shown}; an approver signs it with:"
    ))
    .line(&format!("  {command}"));
    output::note(&page.finish());
    Ok(Exit::Done)
}

/// Writes a card to a file.
pub fn write_card(path: &Path, store: &str, asked: &Card) -> Result<(), Failure> {
    let text = plain(&card::page(&asked.digest(), asked).finish());
    write(path, &CardFile::new(store, asked.clone(), text).to_text())
}

/// A page without its styles.
fn plain(page: &str) -> String {
    anstream::adapter::strip_str(page).to_string()
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        let shown = path.display();
        Failure::usage(format!("`{shown}` cannot be written: {}", reason(&error)))
            .hint("name a file in a directory that you may write to")
    })
}
