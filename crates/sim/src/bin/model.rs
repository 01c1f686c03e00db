//! `model`: the scripted model server in its own process.
//!
//! Owns the command line of [`sim::model`]. Exits 2 where the address or the script cannot be used.
//! INVARIANT: the address is printed only once the script is read and connections are queued.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use sim::model::{Model, Scripted};
use tokio::net::TcpListener;

/// Replies of a language model, as a script says.
#[derive(Parser)]
struct Args {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4518")]
    listen: String,
    /// A JSON list of replies; more can be posted to `/script`.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(&Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

async fn run(args: &Args) -> io::Result<()> {
    let model = Model::default();
    if let Some(path) = &args.script {
        let script: Vec<Scripted> = serde_json::from_slice(&std::fs::read(path)?)?;
        model.add(script);
    }
    let listener = TcpListener::bind(&args.listen).await?;
    let mut out = io::stdout().lock();
    writeln!(out, "listening on http://{}", listener.local_addr()?)?;
    out.flush()?;
    drop(out);
    sim::model::serve(listener, Arc::new(model)).await
}
