//! The MCP servers, asked from the command line.

use std::collections::BTreeMap;
use std::time::Duration;

use provost_engine::tools::Listing;
use provost_engine::workspace::{ServerError, list_servers};

use crate::failure::Failure;
use crate::place::Place;

/// How long a server may take to say what it can do: a first start may fetch it.
const TIME: Duration = Duration::from_secs(60);

/// What every server of the workspace can do.
pub fn listings(place: &Place) -> Result<BTreeMap<String, Listing>, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Failure::usage(format!("no thread could be started: {error}")))?;
    let root = place.root()?;
    let listed = runtime.block_on(list_servers(&root, TIME))?;
    listed.map_err(|errors| {
        let lines: Vec<String> = errors.iter().map(ServerError::to_string).collect();
        Failure::failed(lines.join("\n"))
            .hint("start its `command` by hand to see what is wrong with it")
    })
}
