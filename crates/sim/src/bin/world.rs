//! `world`: the simulated systems as one real HTTP service in its own process.
//!
//! Owns the command line of [`sim::world`]. Exits 2 where the address or the state file cannot be
//! used. INVARIANT: the address is printed only once
//! the state is read and connections are queued.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sim::world::World;
use tokio::net::TcpListener;

/// Pager, tickets, content and payments for provost to act on.
#[derive(Parser)]
struct Args {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:4517")]
    listen: String,
    /// The file that keeps the state.
    #[arg(long, value_name = "FILE")]
    state: PathBuf,
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
    let listener = TcpListener::bind(&args.listen)
        .await
        .map_err(named(&args.listen))?;
    let address = listener.local_addr()?;
    let world = World::open(&args.state).map_err(named(&args.state.to_string_lossy()))?;
    announce(&address.to_string())?;
    sim::world::serve(listener, world).await
}

fn announce(address: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "listening on http://{address}")?;
    out.flush()
}

/// Says in an error which argument it is about.
fn named(what: &str) -> impl Fn(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("`{what}`: {error}"))
}
