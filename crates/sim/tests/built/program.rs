//! Programs of the simulator, for tests of other packages: cargo gives these no path of them.
//!
//! Owns how they are built: as the tests were, from what the tests have built already. INVARIANT:
//! what is built next outside of a test is not built anew because of it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of this name, built in the folder in which the programs of the tests are.
pub fn program(folder: &Path, name: &str) -> PathBuf {
    let mut build = Command::new(env!("CARGO"));
    // Why not inherited: build scripts that look at them would run again, with all that follows.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let looked_at = ["CARGO_PKG_", "CARGO_MANIFEST_", "OUT_DIR"];
        if looked_at.iter().any(|begins| text.starts_with(begins)) {
            build.env_remove(&name);
        }
    }
    // Why the name of the folder: it is that of the profile, but for the tests.
    let profile = folder.file_name().unwrap().to_string_lossy();
    let profile = if profile == "debug" {
        "test"
    } else {
        &*profile
    };
    build.args(["build", "--locked", "--offline", "--quiet", "--workspace"]);
    build.args(["--bin", name, "--profile", profile]);
    assert!(build.status().unwrap().success());
    folder.join(name)
}
