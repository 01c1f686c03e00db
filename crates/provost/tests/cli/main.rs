//! The real binary in small workspaces: stdout, stderr and exit code of every verb.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod workplace;

mod answer;
mod apply;
mod approve;
mod cancel;
mod check;
mod diff;
mod doctor;
mod escape;
mod explain;
mod help;
mod inbox;
mod init;
mod interrupt;
mod plan;
mod policy;
mod reject;
mod resume;
mod run;
mod runs;
mod show;
mod tools;
mod wrong;
