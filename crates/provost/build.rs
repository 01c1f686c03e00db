//! What `provost --version` says of a build beside the version: commit, date, target and profile.
//!
//! `PROVOST_COMMIT` and `PROVOST_COMMIT_DATE` from outside win, for builds without a repository. A
//! debug build looks at no commit, so that a commit alone compiles nothing anew.

use std::env;
use std::process::Command;

fn main() {
    for name in ["PROVOST_COMMIT", "PROVOST_COMMIT_DATE"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    let is_debug = env::var("PROFILE").is_ok_and(|profile| profile == "debug");
    let set = |name: &str| env::var(name).unwrap_or_default();
    let (mut commit, mut date) = (set("PROVOST_COMMIT"), set("PROVOST_COMMIT_DATE"));
    let mut dirty = String::new();
    if commit.is_empty() && !is_debug {
        commit = git(&["rev-parse", "--short=8", "HEAD"]);
        date = git(&["log", "-1", "--format=%cs"]);
        let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
        if !commit.is_empty() {
            dirty = (!changed.is_empty()).to_string();
        }
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"]);
        if !log.is_empty() {
            println!("cargo:rerun-if-changed={log}");
        }
    }
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let about = match (commit.as_str(), date.as_str()) {
        ("", _) if is_debug => " (debug build)".to_owned(),
        ("", _) => String::new(),
        (commit, "") => format!(" ({commit})"),
        (commit, date) => format!(" ({commit} {date})"),
    };
    // Why from the path: cargo tells a build script `debug` or `release`, and no other profile.
    let out = env::var("OUT_DIR").unwrap_or_default();
    let profile = out.rsplit(['/', '\\']).nth(3).unwrap_or_default();
    for (name, value) in [
        ("VERSION", format!("{version}{about}").as_str()),
        ("COMMIT", &commit),
        ("DATE", &date),
        ("DIRTY", &dirty),
        ("TARGET", &env::var("TARGET").unwrap_or_default()),
        ("PROFILE", profile),
    ] {
        println!("cargo:rustc-env=PROVOST_BUILD_{name}={value}");
    }
}

/// One line of git; nothing where there is no git, or no repository.
fn git(args: &[&str]) -> String {
    let output = Command::new("git").args(args).output().ok();
    let output = output.filter(|output| output.status.success());
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    text.unwrap_or_default().trim().to_owned()
}
