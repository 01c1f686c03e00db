//! A workspace of ada, bo, eve and dan, in which a note is written after a yes.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use provost_engine::clock::now_ms;
use provost_engine::engine::{Engine, NewRun};
use provost_engine::keys::PrivateKey;
use provost_engine::people::{Statement, StatementEnvelope, StatementSubject};
use provost_engine::session::{DriveEnd, Session, Unwatched, Watcher};
use provost_engine::workspace::{LockUse, Opening, Workspace};
use provost_plan::digest::Digest;
use provost_plan::plan::Goal;
use provost_plan::policy::DEFAULT_POLICY;
use provost_run::event::{AskMode, Event, PlannerChoice};
use provost_run::state::State;
use tokio::runtime::Runtime;

pub const PEOPLE: [&str; 4] = ["ada", "bo", "eve", "dan"];

/// Whose key vouches for who signed in.
pub const SERVER: &str = "server";

const CONFIG: &str = r#"
[workspace]
user = "ada"
[tools.notes]
kind = "files"
root = "notes"
[tools.notes.ops.read]
op = "read"
effect = "read"
[tools.notes.ops.write]
op = "write"
effect = "write"
tags = ["production"]
"#;

pub const PLAN: &str = r#"schema: provost/plan/v1
goal: { text: Write a note, success: [ { id: noted, text: the note is written } ] }
steps:
  - id: note
    tool: notes.write
    args: { path: note.txt, text: hello }
    accept: ['${ output.bytes > 0 }']
success:
  - { for: noted, check: '${ steps.note.status == "succeeded" }' }
answer:
  - { text: The note is written., cites: [note] }
"#;

pub struct Place {
    dir: tempfile::TempDir,
}

/// The key of a person, always the same.
pub fn key(person: &str) -> PrivateKey {
    let mut seed = [0; 32];
    seed[..person.len()].copy_from_slice(person.as_bytes());
    PrivateKey::from_seed(&seed).unwrap()
}

impl Place {
    /// Several people; `require` stands in `[approvals]`.
    pub fn new(require: &str) -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        // Why always: whose word counts is said before it is required, and goes on being said.
        let server = key(SERVER).public();
        let approvals =
            format!("[approvals]\nrequire = \"{require}\"\nvouchers = [\"{server}\"]\n");
        place.write("provost.toml", &format!("{approvals}{CONFIG}"));
        place.write("policies/default.cedar", DEFAULT_POLICY);
        place.people(&PEOPLE);
        std::fs::create_dir_all(place.path("notes")).unwrap();
        std::fs::create_dir_all(place.path("playbooks")).unwrap();
        place
    }

    /// Equal calls of other runs are not shown: an approval stands whatever they did meanwhile.
    pub fn without_repeats(self) -> Self {
        let text = std::fs::read_to_string(self.path("provost.toml")).unwrap();
        self.write(
            "provost.toml",
            &format!("{text}\n[limits]\nrepeats_shown = \"0d\"\n"),
        );
        self
    }

    /// These people have a key from here on; the others have none.
    pub fn people(&self, with_key: &[&str]) {
        let users: serde_json::Map<_, _> = PEOPLE
            .iter()
            .map(|person| {
                let mut user = serde_json::json!({});
                if with_key.contains(person) {
                    user["key"] = key(person).public().to_string().into();
                }
                ((*person).to_owned(), user)
            })
            .collect();
        let text = serde_json::json!({ "users": users }).to_string();
        self.write("policies/entities.json", &text);
    }

    /// Asks about writes in this way, in place of the default policy's.
    pub fn asks(&self, annotations: &str) {
        let policy = format!(
            "permit (principal, action, resource);\n@id(\"writes\") {annotations}\n\
             forbid (principal, action in Action::\"call\", resource)\n\
             when {{ !resource.attended && resource.effect == \"write\" }};\n"
        );
        self.write("policies/default.cedar", &policy);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("."))).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The engine of a new process.
    pub fn engine(&self) -> Engine {
        Engine::open(self.workspace()).unwrap()
    }

    /// The files as they are now.
    pub fn workspace(&self) -> Workspace {
        let opening = Opening {
            user: "ada",
            lock: LockUse::Ignore,
        };
        Workspace::open(self.dir.path(), &opening).unwrap()
    }

    /// A run that waits for a yes, and that nobody drives; its id.
    pub fn waiting(&self) -> String {
        let engine = self.engine();
        runtime().block_on(async {
            let session = begin(&engine).await;
            let run = session.state().head.run.clone();
            session.release().await.unwrap();
            run
        })
    }

    /// How many events of a kind the journal holds.
    pub fn count(&self, kind: &str) -> usize {
        let journal = self.journal();
        let sql = "SELECT count(*) FROM events WHERE kind = ?1";
        journal.query_row(sql, [kind], |row| row.get(0)).unwrap()
    }

    pub fn journal(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.path(".provost/journal.db")).unwrap()
    }
}

/// The key that signs heads, and what provost.toml says of it.
const AUDIT_KEY: &str = include_str!("../../../../corpus/audit/audit.key");
const AUDIT: &str = include_str!("../../../../corpus/audit/audit.toml");

/// A workspace that signs heads.
pub fn audited(require: &str) -> Place {
    let place = Place::new(require);
    place.write("kept/audit.key", AUDIT_KEY);
    place.write("kept/passphrase", "correct horse");
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", &(config + AUDIT));
    place
}

/// The second verifier's verdict on the journal, with the people and their keys.
pub fn second(place: &Place, args: &[&str]) -> (bool, String) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/verify.py");
    let ran = Command::new("python3")
        .arg(script)
        .arg(place.path(".provost/journal.db"))
        .args(args)
        .arg("--people")
        .arg(place.path("policies/entities.json"))
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(said).unwrap())
}

/// A run that this engine drives, and that waits for a yes.
pub async fn begin(engine: &Engine) -> Session {
    let mut session = begin_plan(engine, PLAN).await;
    assert_eq!(drive(&mut session).await, DriveEnd::Waiting);
    session
}

/// A run of this plan, in which nothing was driven yet.
pub async fn begin_plan(engine: &Engine, plan: &str) -> Session {
    let new = NewRun {
        goal: Goal {
            success: vec![provost_plan::plan::Criterion {
                id: "noted".to_owned(),
                text: "the note is written".to_owned(),
            }],
            ..Goal::of_text("Write a note")
        },
        interpreted_by: "test".to_owned(),
        planner: PlannerChoice::File {
            name: "plan".to_owned(),
            text: plan.to_owned(),
            playbook: None,
        },
        fallback: None,
        mode: None,
        ask: AskMode::Step,
        again: true,
        traceparent: None,
    };
    engine.begin(new, &mut Unwatched).await.unwrap()
}

pub async fn drive(session: &mut Session) -> DriveEnd {
    let (_keep, mut halt) = tokio::sync::watch::channel(false);
    session.drive(&mut Unwatched, &mut halt).await.unwrap()
}

pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

pub fn card(state: &State) -> Digest {
    *state.open_cards().next().unwrap().0
}

/// An unsigned yes to the open card.
pub fn yes(engine: &Engine, state: &State, by: &str) -> StatementEnvelope {
    let card = card(state);
    let asked = &state.people.cards[&card].card;
    let statement = Statement::Approve {
        card,
        steps: Vec::new(),
    };
    let about = StatementSubject {
        store: engine.inbox().store(),
        run: &state.head.run,
        revision: asked.revision,
    };
    StatementEnvelope::new(about, statement, by, now_ms(), asked.expires_at).unwrap()
}

/// Keeps why words were ignored.
#[derive(Default)]
pub struct RecordingWatcher {
    pub ignored: Vec<String>,
    pub kinds: Vec<&'static str>,
}

impl Watcher for RecordingWatcher {
    fn kept(&mut self, _: u64, events: &[Event], _: &State) {
        self.kinds.extend(events.iter().map(Event::kind));
    }
    fn tick(&mut self, _: &State) {}
    fn ignored(&mut self, why: &str) {
        self.ignored.push(why.to_owned());
    }
}

/// How often a test repeats: the variable, else `default`. Printed.
pub fn count(default: usize) -> usize {
    let typed = std::env::var("PROVOST_COUNT").ok();
    let count = typed.and_then(|text| text.parse().ok()).unwrap_or(default);
    println!("count: {count}");
    count
}

pub fn shared(place: Place) -> Arc<Place> {
    Arc::new(place)
}
