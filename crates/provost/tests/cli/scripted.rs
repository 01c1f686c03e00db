//! The scripted MCP server, for verbs that speak to one.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::workplace::Workplace;

#[path = "../../../sim/tests/built/mcp.rs"]
mod mcp;

fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let provost = Path::new(env!("CARGO_BIN_EXE_provost"));
        mcp::server(provost.parent().unwrap())
    })
}

/// A workplace whose folder has the server in it under a short name.
pub fn workplace() -> Workplace {
    let place = Workplace::new();
    std::os::unix::fs::symlink(binary(), place.path("server")).unwrap();
    place
}

/// The same with three operations of the server.
pub fn with_operations() -> Workplace {
    let place = workplace();
    let toml = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let more = r#"
[tools.s]
kind = "mcp"
command = ["./server", "--state", "state"]
[tools.s.ops.add]
effect = "read"
[tools.s.ops.echo]
effect = "read"
[tools.s.ops.append]
effect = "write"
tags = ["production"]
"#;
    std::fs::write(place.path("provost.toml"), toml + more).unwrap();
    place
}
