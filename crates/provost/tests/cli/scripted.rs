//! The scripted MCP server, for verbs that speak to one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use super::workplace::Workplace;

/// The server's binary: of another package, so this test sees to it that it is there.
fn binary() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let provost = Path::new(env!("CARGO_BIN_EXE_provost"));
        let binary = provost.with_file_name("mcp");
        if is_new(&binary) {
            return binary;
        }
        let mut build = Command::new(env!("CARGO"));
        // Why not inherited: build scripts that look at them would run again, with all that follows.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let looked_at = ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"];
            if looked_at.iter().any(|begins| text.starts_with(begins)) {
                build.env_remove(&name);
            }
        }
        build.args([
            "build",
            "--locked",
            "--offline",
            "--quiet",
            "--workspace",
            "--bin",
            "mcp",
        ]);
        // Why the name of the folder: it is that of the profile, but for the tests.
        let folder = provost
            .parent()
            .and_then(Path::file_name)
            .unwrap()
            .to_string_lossy();
        let profile = if folder == "debug" { "test" } else { &*folder };
        assert!(
            build
                .args(["--profile", profile])
                .status()
                .unwrap()
                .success()
        );
        binary
    })
}

/// Whether it was built since the files it is made of were changed.
fn is_new(binary: &Path) -> bool {
    let changed = |path: &Path| path.metadata().and_then(|meta| meta.modified()).ok();
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../sim/src");
    let files = ["mcp.rs", "mcp/faults.rs", "mcp/tools.rs", "bin/mcp.rs"];
    let built = changed(binary);
    built.is_some()
        && files
            .iter()
            .all(|file| changed(&sources.join(file)) <= built)
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
