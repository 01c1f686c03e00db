//! `audit`: whether the journal is as it was written, and signed heads that bear witness of it.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use provost_engine::audit::{Audit as Auditor, AuditError, AuditSettings};
use provost_engine::keys::PublicKey;
use provost_engine::people::{Inbox, JournalStatements, JournalStatementsError};
use provost_engine::store::heads::{self, Agreement, Head, HeadsError, HeadsFile};
use provost_engine::store::{Store, StoreError, Verified};
use provost_engine::workspace::{StatementSettings, audit_settings, statement_settings};
use provost_plan::policy::People;
use provost_plan::source::Source;
use serde_json::{Value, json};

use crate::advice::Advice as _;
use crate::failure::{Exit, Failure};
use crate::output;
use crate::screen::page::{Page, TextStyle};
use crate::screen::words::count;
use crate::user::user;
use crate::workspace_path::WorkspacePath;
use provost_engine::people::RequiredCredential;

mod export;

/// Arguments of `audit`.
#[derive(Debug, Args)]
pub struct AuditArgs {
    #[command(subcommand)]
    verb: AuditVerb,
}

#[derive(Debug, Subcommand)]
enum AuditVerb {
    /// verify all links, digests, signatures and signed heads
    Verify(Verify),
    /// write a run as one file: its events, who said what, what it came to
    Export(export::Export),
    /// sign the current head
    Sign {
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
    /// accept a journal that contradicts a signed head
    Accept {
        /// reason, recorded and signed
        #[arg(long, value_name = "WHY")]
        reason: String,
        /// print one JSON object
        #[arg(long)]
        json: bool,
    },
}

/// Arguments of `audit verify`.
#[derive(Debug, Args)]
struct Verify {
    /// copy of `.provost` or a backup [default: this workspace]
    #[arg(value_name = "COPY")]
    copy: Option<PathBuf>,
    /// file of signed heads [default: as in provost.toml]
    #[arg(long, value_name = "FILE")]
    heads: Option<PathBuf>,
    /// public key of the heads [default: as in provost.toml]
    #[arg(long, value_name = "KEY")]
    public: Option<String>,
    /// entities.json of the copy [default: this workspace's]
    #[arg(long, value_name = "FILE")]
    people: Option<PathBuf>,
    /// public key of a server whose logins count, with --people
    #[arg(long, value_name = "KEY", requires = "people")]
    voucher: Vec<String>,
    /// print one JSON object
    #[arg(long)]
    json: bool,
}

/// Does it.
pub fn run(verb: AuditArgs, place: &WorkspacePath) -> Result<Exit, Failure> {
    match verb.verb {
        AuditVerb::Verify(verb) => verify(&verb, place),
        AuditVerb::Export(verb) => export::run(&verb, place),
        AuditVerb::Sign { json } => sign(place, json),
        AuditVerb::Accept { reason, json } => accept(place, &reason, json),
    }
}

/// What a journal is held against, beside itself.
enum Witness {
    /// Signed heads.
    Heads {
        file: HeadsFile,
        known: Vec<PublicKey>,
    },
    /// The workspace has no `[audit]`.
    Nobody,
    /// It may have one, but cannot be read.
    Unread(String),
}

impl Witness {
    /// What is not looked at without heads.
    fn not_checked(&self) -> Option<String> {
        const HEADS: &str = "whether the last commits were cut off, or all of them written anew";
        match self {
            Self::Heads { .. } => None,
            Self::Nobody => Some(format!(
                "{HEADS}: only signed heads, kept elsewhere, show that"
            )),
            Self::Unread(why) => Some(format!(
                "{HEADS}, though heads may be signed here: {why}; `--heads` and `--public` name \
                 them without provost.toml"
            )),
        }
    }
}

/// Why a journal does not hold.
enum AuditFault {
    Store(StoreError),
    Heads(HeadsError),
    JournalStatements(JournalStatementsError),
}

impl AuditFault {
    /// Whether it says something about the journal, and not only that nobody could look.
    fn is_found(&self) -> bool {
        match self {
            Self::Store(error)
            | Self::Heads(HeadsError::Store(error))
            | Self::JournalStatements(JournalStatementsError::Store(error)) => matches!(
                error,
                StoreError::ChainBroken { .. }
                    | StoreError::CommitBroken { .. }
                    | StoreError::EvidenceBroken { .. }
                    | StoreError::EvidenceMissing { .. }
                    | StoreError::RowBroken { .. }
                    | StoreError::TablesDiffer { .. }
                    | StoreError::Erased { .. }
                    | StoreError::Damaged { .. }
                    | StoreError::NotAJournal { .. }
                    | StoreError::Failed { .. }
            ),
            Self::Heads(HeadsError::File { .. }) => false,
            Self::Heads(_) | Self::JournalStatements(_) => true,
        }
    }

    fn into_failure(self) -> Failure {
        let found = self.is_found();
        let (message, hint) = match self {
            Self::Store(error) => (error.to_string(), error.advice()),
            Self::Heads(error) => (error.to_string(), error.advice()),
            Self::JournalStatements(error) => (error.to_string(), error.advice()),
        };
        let failure = if found {
            Failure::failed(message)
        } else {
            Failure::usage(message)
        };
        failure.maybe_hint(hint)
    }

    /// The failure where a copy was named, which is not to be put right.
    fn of_copy(self, copy: &std::path::Path) -> Failure {
        let hint = "name a file that `provost backup` wrote, or a copied `.provost` directory";
        let shown = copy.display();
        match self {
            Self::Store(StoreError::Missing { .. }) => {
                let what = match copy.exists() {
                    true => "there is no journal in",
                    false => "there is no",
                };
                Failure::usage(format!("{what} `{shown}`")).hint(hint)
            }
            Self::Store(
                error @ (StoreError::NotAJournal { .. }
                | StoreError::Damaged { .. }
                | StoreError::Failed { .. }),
            ) => Failure::failed(error.to_string()).hint(hint),
            other => other.into_failure(),
        }
    }
}

fn verify(verb: &Verify, place: &WorkspacePath) -> Result<Exit, Failure> {
    let witness = witness(verb, place)?;
    let path = match &verb.copy {
        Some(copy) => copy.clone(),
        None => place.root()?.join(provost_engine::workspace::STORE_DIR),
    };
    let held_to = held_to(verb, place)?;
    match look(&path, &witness, held_to) {
        Ok(found) => {
            if verb.json {
                output::json(&to_json(&found));
            } else {
                output::data(&page(&found).finish());
            }
            Ok(Exit::Done)
        }
        Err(fault) => {
            let failure = match &verb.copy {
                Some(copy) => fault.of_copy(copy),
                None => fault.into_failure(),
            }
            .at(place);
            if verb.json && failure.exit() == Exit::Failed {
                output::json(&json!({
                    "schema": "provost/audit/v1",
                    "valid": false,
                    "error": failure.message(),
                    "hint": failure.hint_text(),
                }));
                return Ok(Exit::Failed);
            }
            Err(failure)
        }
    }
}

/// What was found of a journal that holds.
struct AuditReport {
    verified: Verified,
    testimony: Option<JournalStatements>,
    agreement: Option<Agreement>,
}

fn look(
    path: &std::path::Path,
    witness: &Witness,
    held_to: Result<StatementSettings, String>,
) -> Result<AuditReport, AuditFault> {
    let store = if path.is_file() {
        Store::open_file_read_only(path)
    } else {
        Store::open_read_only(path)
    };
    let store = store.map_err(AuditFault::Store)?;
    let mut verified = store.verify().map_err(AuditFault::Store)?;
    let testimony = match held_to {
        Ok(settings) => {
            let inbox = inbox(&store, settings).map_err(AuditFault::Store)?;
            let heard = inbox
                .verify_journal(&store, 0)
                .and_then(JournalStatements::refuse);
            Some(heard.map_err(AuditFault::JournalStatements)?)
        }
        Err(why) => {
            verified.not_checked.insert(0, why);
            None
        }
    };
    if let Some(testimony) = testimony.as_ref().filter(|found| found.unsigned > 0) {
        let runs = count(testimony.unsigned, "run");
        verified.not_checked.insert(
            0,
            format!("who said what to {runs} that ended before statements needed a credential"),
        );
    }
    let agreement = match witness {
        Witness::Heads { file, known } => {
            Some(heads::hold(&store, file, known).map_err(AuditFault::Heads)?)
        }
        Witness::Nobody | Witness::Unread(_) => None,
    };
    if let Some(not_checked) = witness.not_checked() {
        verified.not_checked.insert(0, not_checked);
    }
    Ok(AuditReport {
        verified,
        testimony,
        agreement,
    })
}

/// What the statements of a journal are held to; otherwise why nobody can tell.
fn held_to(
    verb: &Verify,
    place: &WorkspacePath,
) -> Result<Result<StatementSettings, String>, Failure> {
    if let Some(path) = &verb.people {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
        let source = Source::new(path.display().to_string(), text);
        let people = People::read(&source).map_err(|_| {
            Failure::usage(format!("{} is no list of people", path.display()))
                .hint("name the `policies/entities.json` of the workspace")
        })?;
        let vouchers = verb.voucher.iter().map(|key| key.parse::<PublicKey>());
        let vouchers = vouchers.collect::<Result<_, _>>().map_err(|error| {
            Failure::usage(error.to_string()).hint("`vouchers` of `[approvals]` lists them")
        })?;
        return Ok(Ok(StatementSettings {
            people,
            required: RequiredCredential {
                vouchers,
                ..RequiredCredential::default()
            },
            ..StatementSettings::default()
        }));
    }
    if verb.copy.is_some() {
        let why = "who said what: the people and their keys are not in the journal; `--people` \
                   names them";
        return Ok(Err(why.to_owned()));
    }
    let unread = |_| "who said what: provost.toml or the people cannot be read".to_owned();
    Ok(statement_settings(&place.root()?).map_err(unread))
}

pub(super) fn inbox(store: &Store, settings: StatementSettings) -> Result<Inbox, StoreError> {
    let StatementSettings {
        people,
        required,
        solo,
    } = settings;
    Ok(Inbox::new(store.name()?, people, required).in_solo(solo))
}

/// The heads and keys that were named.
fn witness(verb: &Verify, place: &WorkspacePath) -> Result<Witness, Failure> {
    let public = verb.public.as_deref().map(str::parse::<PublicKey>);
    let public = public.transpose().map_err(|error| {
        Failure::usage(error.to_string()).hint("`public` in the key file is one")
    })?;
    // Why not of the workspace around: a copy may be of any store, and tells nothing of its own.
    let root = match (&verb.copy, place.root()) {
        (_, Ok(root)) => Some(root),
        (Some(_), Err(_)) => None,
        (None, Err(failure)) => return Err(failure),
    };
    let settings = match &root {
        Some(root) if verb.copy.is_none() || public.is_none() => audit_settings(root),
        _ => Ok(None),
    };
    // Why no end: the journal can be held against itself whatever is wrong with provost.toml.
    let (settings, unread) = match (settings, &verb.copy) {
        (Ok(settings), _) => (settings, None),
        (Err(_), Some(_)) => (None, None),
        (Err(error), None) => (None, Some(error)),
    };
    let of_workspace = || {
        let (root, settings) = (root.as_ref()?, settings.as_ref()?);
        verb.copy.is_none().then(|| root.join(&settings.heads))
    };
    let Some(path) = verb.heads.clone().or_else(of_workspace) else {
        return Ok(match unread {
            Some(error) => Witness::Unread(error.to_string()),
            None => Witness::Nobody,
        });
    };
    let known = match (public, &root, &settings) {
        (Some(public), ..) => vec![public],
        (None, Some(root), Some(settings)) => settings.known(root)?,
        _ => {
            return Err(
                Failure::usage("no key is known that could have signed the heads")
                    .hint("name it with `--public`, or in `[audit]` of provost.toml"),
            );
        }
    };
    Ok(Witness::Heads {
        file: HeadsFile::new(path),
        known,
    })
}

fn page(found: &AuditReport) -> Page {
    let (verified, agreement) = (&found.verified, found.agreement.as_ref());
    let n = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let mut page = Page::new();
    page.put(TextStyle::Good, "the journal is valid")
        .line(&format!(
            ": {} in {}, {}, {} of evidence",
            count(n(verified.events), "event"),
            count(n(verified.runs), "run"),
            count(n(verified.commits), "commit"),
            count(n(verified.evidence), "piece"),
        ));
    page.field("store", &verified.store);
    page.field(
        "head",
        &format!("commit {}, {}", verified.commits, verified.head),
    );
    if let Some(testimony) = found.testimony.as_ref().filter(|found| found.runs > 0) {
        let runs = count(testimony.runs, "run");
        page.field("statements", &format!("of people to {runs}: all are valid"));
    }
    if verified.pruned > 0 {
        let pieces = count(n(verified.pruned), "piece");
        let said = format!("{pieces} of evidence; their digests remain");
        page.field("pruned", &said);
    }
    if verified.pruned_runs > 0 {
        let runs = count(n(verified.pruned_runs), "run");
        let said = format!("the texts of {runs}; their chains hold");
        page.field("pruned", &said);
    }
    for row in &verified.restored {
        page.field("repaired", row);
    }
    if let Some(agreement) = agreement {
        let newest = &agreement.newest;
        let heads = count(agreement.agree, "signed head");
        let verb = if agreement.agree == 1 {
            "agrees"
        } else {
            "agree"
        };
        let said = format!(
            "{heads} {verb}, the newest of commit {}, {}",
            newest.commit, newest.at
        );
        page.field("heads", &said);
        if agreement.set_aside > 0 {
            let said = format!(
                "{} contradicted it before",
                count(agreement.set_aside, "head")
            );
            page.field("set aside", &said);
        }
        for head in &agreement.accepted {
            if let Some(accepted) = &head.accepted {
                let said = format!("{} by {}: {}", head.at, accepted.by, accepted.reason);
                page.field("accepted", &said);
            }
        }
    }
    page.end();
    super::check::not_checked(&mut page, &verified.not_checked);
    page
}

fn to_json(found: &AuditReport) -> Value {
    let verified = &found.verified;
    let heads = found.agreement.as_ref().map(|agreement| {
        json!({
            "agree": agreement.agree,
            "set_aside": agreement.set_aside,
            "newest": agreement.newest,
            "accepted": agreement.accepted,
        })
    });
    json!({
        "schema": "provost/audit/v1",
        "valid": true,
        "store": verified.store,
        "events": verified.events,
        "commits": verified.commits,
        "runs": verified.runs,
        "evidence": verified.evidence,
        "pruned": verified.pruned,
        "pruned_runs": verified.pruned_runs,
        "put_right": verified.restored,
        "statements": found.testimony.as_ref().map(|testimony| json!({
            "runs": testimony.runs,
            "unsigned_runs": testimony.unsigned,
            "pruned_runs": testimony.pruned,
        })),
        "head": verified.head,
        "heads": heads,
        "not_checked": verified.not_checked,
    })
}

/// The auditor of the workspace, and its journal open to be signed.
fn auditor(place: &WorkspacePath) -> Result<(Auditor, Store, Inbox), Failure> {
    let root = place.root()?;
    let settings = audit_settings(&root)?;
    let settings: AuditSettings = settings.ok_or_else(|| {
        Failure::usage("this workspace signs no heads: provost.toml has no `[audit]`")
            .hint("`[audit]` names `key`, `passphrase` and `heads`, a file kept elsewhere")
    })?;
    if settings.key.is_none() {
        return Err(AuditError::NoKey.into());
    }
    let auditor = Auditor::open(&root, &settings)?;
    let dir = root.join(provost_engine::workspace::STORE_DIR);
    // Why a look first: opening to write would make a journal where there is none.
    drop(Store::open_read_only(&dir)?);
    let store = Store::open(&dir)?;
    let inbox = inbox(&store, statement_settings(&root)?)?;
    Ok((auditor, store, inbox))
}

fn sign(place: &WorkspacePath, is_json: bool) -> Result<Exit, Failure> {
    let (auditor, store, inbox) = auditor(place)?;
    store
        .verify()
        .map_err(|error| AuditFault::Store(error).into_failure())?;
    match auditor.sign(&store, &inbox)? {
        Some(head) => said(&auditor, Some(&head), is_json),
        None if is_json => said(&auditor, None, is_json),
        None => output::note("nothing happened since the newest head: there is nothing to sign\n"),
    }
    Ok(Exit::Done)
}

fn accept(place: &WorkspacePath, reason: &str, is_json: bool) -> Result<Exit, Failure> {
    let (auditor, store, inbox) = auditor(place)?;
    let head = auditor.accept(&store, &inbox, &user(), reason)?;
    said(&auditor, Some(&head), is_json);
    Ok(Exit::Done)
}

/// Shows the head that was signed; none if there was nothing to sign.
fn said(auditor: &Auditor, head: Option<&Head>, is_json: bool) {
    let path = auditor.heads().path().display().to_string();
    if is_json {
        output::json(&json!({ "schema": "provost/head-signed/v1", "head": head, "file": path }));
        return;
    }
    let Some(head) = head else { return };
    let mut page = Page::new();
    page.line(&format!("signed: commit {}, {}", head.commit, head.link));
    page.field("in", &path);
    if let Some(accepted) = &head.accepted {
        page.field(
            "accepted",
            &format!("by {}: {}", accepted.by, accepted.reason),
        );
    }
    output::data(&page.finish());
}
