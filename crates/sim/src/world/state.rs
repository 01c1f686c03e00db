//! What the world remembers, and the file it remembers it in.
//!
//! Owns the state's shape and its durability. Never answers a call. INVARIANT: `save` returns
//! only when the whole state is on disk under its name; a kill at any moment leaves either the
//! state before or the state after, never a part.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::Draft;
use super::exports::Export;
use super::pager::Page;
use super::payments::{Payment, Refund, payments_at_start};
use super::tickets::{Ticket, tickets_at_start};

/// Everything the world knows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    pub pages: Vec<Page>,
    pub tickets: BTreeMap<String, Ticket>,
    pub exports: BTreeMap<String, Export>,
    pub exports_started: u32,
    pub drafts: BTreeMap<String, Draft>,
    pub payments: BTreeMap<String, Payment>,
    pub refunds: Vec<Refund>,
    /// First answers by idempotency key.
    pub answers: BTreeMap<String, FirstAnswer>,
    pub faults: Vec<Fault>,
    pub ledger: Vec<LedgerEntry>,
}

impl State {
    /// Reads the state from `path`, or begins a new world where there is no such file.
    pub fn load(path: &Path) -> io::Result<Self> {
        match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self {
                tickets: tickets_at_start(),
                payments: payments_at_start(),
                ..Self::default()
            }),
            Err(error) => Err(error),
        }
    }

    /// Writes the whole state to `path` and waits until it is on disk.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let folder = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".next");
        let next = folder.join(name);
        let mut file = File::create(&next)?;
        file.write_all(&serde_json::to_vec(self).map_err(io::Error::other)?)?;
        file.sync_all()?;
        fs::rename(&next, path)?;
        // Why: the rename itself lasts only once the folder is synced.
        File::open(folder)?.sync_all()
    }
}

/// The answer a key was first given, for whoever asks again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FirstAnswer {
    pub method: String,
    pub path: String,
    pub body_digest: String,
    pub status: u16,
    pub body: Value,
}

/// One call as the world saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LedgerEntry {
    pub seq: u64,
    pub at: String,
    pub method: String,
    pub path: String,
    /// The route that took the call, `None` where no route did.
    pub route: Option<String>,
    pub key: Option<String>,
    /// SHA-256 of the body's bytes.
    pub body_digest: String,
    pub effect: bool,
    /// How often the effect happened in this call: 2 under the fault `twice`.
    pub effects: u32,
    /// The status answered, `None` where the caller got no answer.
    pub status: Option<u16>,
    pub replayed: bool,
    pub fault: Option<FaultKind>,
}

/// A fault switched on for one route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fault {
    /// As in the ledger, `POST /pages`, or `*` for every route.
    pub route: String,
    pub kind: FaultKind,
    /// How many calls it strikes.
    #[serde(default = "once")]
    pub times: u32,
    /// For `slow` the delay, for `hang` the longest wait (0: for ever).
    #[serde(default)]
    pub ms: u64,
    /// Whether a call that hangs takes effect.
    #[serde(default)]
    pub effect: bool,
}

fn once() -> u32 {
    1
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FaultKind {
    /// 503 before the effect.
    Before,
    /// 500 after the effect.
    After,
    /// No answer.
    Hang,
    /// The connection is closed after the effect, without an answer.
    Drop,
    /// The effect happens twice.
    Twice,
    /// The answer is late.
    Slow,
    /// The answer to one effect is sent twice.
    Stutter,
    /// The answer of a success, without the effect.
    Lie,
}
