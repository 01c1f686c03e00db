//! The scripted MCP server, for tests of other packages.
//!
//! Owns which files it is made of: it is built if it is older than one of them. INVARIANT: as
//! [`program`].

use std::path::{Path, PathBuf};

#[path = "program.rs"]
mod program;

/// The server in the folder in which the programs of the tests are.
pub fn server(folder: &Path) -> PathBuf {
    let binary = folder.join("mcp");
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/src");
    let files = ["mcp.rs", "mcp/faults.rs", "mcp/tools.rs", "bin/mcp.rs"];
    let built = changed(&binary);
    let is_new = files
        .iter()
        .all(|file| changed(&sources.join(file)) <= built);
    if built.is_some() && is_new {
        return binary;
    }
    program::program(folder, "mcp")
}
