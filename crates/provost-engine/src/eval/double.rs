//! The double of a case: a program that plays the services for one repeat.
//!
//! Owns its port, its start, its ledger and its end. Speaks to nothing but it. INVARIANT: it is
//! there for one repeat, with a state of its own, and does not outlive it.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use provost_wire::http::{BaseUrl, Client, Method, Request};
use provost_wire::process::{ServerCommand, ServerProcess};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How long a double may take until it listens.
const START: Duration = Duration::from_secs(20);
/// How often it is looked for until then.
const LOOK: Duration = Duration::from_millis(20);
/// How long its ledger may take.
const LEDGER: Duration = Duration::from_secs(10);
/// Most bytes of a ledger.
const LEDGER_BYTES_MAX: u64 = 4 << 20;

/// A double that listens.
pub(super) struct Double {
    port: u16,
    // Why kept: dropped, it ends the program with all that it started.
    _process: ServerProcess,
    /// Dropped, it tells the program that nobody is there any more.
    _stdin: tokio::process::ChildStdin,
    reading: tokio::task::JoinHandle<()>,
}

/// A port of this machine that nobody listens on.
pub(super) async fn free_port() -> io::Result<u16> {
    // Why no race that matters: the system hands out other ports before it comes back to this one,
    // and a double that cannot take it is not judged.
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    Ok(listener.local_addr()?.port())
}

impl Double {
    /// Starts the program and waits until it listens on `port`.
    ///
    /// # Errors
    /// In words for people.
    pub(super) async fn start(argv: &[String], dir: &Path, port: u16) -> Result<Self, String> {
        let command = ServerCommand {
            argv,
            dir,
            env: &[],
            sandbox: None,
        };
        let started = ServerProcess::start(command);
        let (process, pipes) = started.map_err(|error| format!("the double: {error}"))?;
        let double = Self {
            port,
            _process: process,
            _stdin: pipes.stdin,
            reading: tokio::spawn(forget(pipes.stdout)),
        };
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            if double.reading.is_finished() {
                let said = double._process.last_stderr_lines().await;
                let said = said.map_or_else(String::new, |line| format!(": {line}"));
                return Err(format!("the double ended before it listened{said}"));
            }
            if began.elapsed() > START {
                return Err(format!(
                    "the double does not listen on port {port} after {} s",
                    START.as_secs()
                ));
            }
            tokio::time::sleep(LOOK).await;
        }
        Ok(double)
    }

    /// What it says that it did.
    ///
    /// # Errors
    /// In words for people.
    pub(super) async fn ledger(&self, path: &str) -> Result<Value, String> {
        let base = BaseUrl::parse(&format!("http://127.0.0.1:{}", self.port));
        let base = base.map_err(|error| error.to_string())?;
        let client = Client::new(base).map_err(|error| error.to_string())?;
        let request = Request {
            method: Method::Get,
            path: path.to_owned(),
            query: Vec::new(),
            headers: Vec::new(),
            auth: None,
            body: None,
            timeout: LEDGER,
            max_bytes: LEDGER_BYTES_MAX,
        };
        let answer = client.send(request).await;
        let answer = answer.map_err(|error| format!("the ledger of the double: {error}"))?;
        if !answer.is_success() {
            return Err(format!(
                "the ledger of the double: it answers {}",
                answer.status
            ));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| format!("the ledger of the double is no JSON: {error}"))
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

/// Reads what it says to nobody: a full pipe would hold it up.
async fn forget(mut pipe: impl AsyncRead + Unpin) {
    let mut part = [0; 4096];
    while let Ok(1..) = pipe.read(&mut part).await {}
}
