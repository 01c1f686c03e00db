//! The real binary in small workspaces: stdout, stderr and exit code of every verb.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests"
)]

#[path = "../examples/pager.rs"]
mod pager;
mod workplace;

mod amend;
mod answer;
mod apply;
mod approve;
mod audit;
mod backup;
mod bounded;
mod canaries;
mod canary;
mod cancel;
mod case_secret;
mod check;
mod clients;
mod command;
mod damage;
mod diff;
mod docs;
mod doctor;
mod drift;
mod ended;
mod escape;
mod evidence;
mod explain;
mod export;
mod foreign;
mod fresh;
mod guide;
mod help;
mod inbox;
mod init;
mod interrupt;
mod json_contract;
mod key;
mod links;
mod live;
mod log;
mod lsp;
mod mcp;
mod mcp_http;
mod metrics;
mod notify;
#[cfg(target_os = "linux")]
mod openings;
mod pause;
mod plan;
mod policy;
mod prune;
mod prune_payloads;
mod python;
mod recheck;
mod record;
mod reject;
mod repeats;
mod resume;
mod review;
mod rights;
mod roles;
mod run;
mod runs;
mod sandbox;
mod schedules;
mod scripted;
mod secret;
mod settle;
mod show;
mod stats;
mod supervised;
mod telemetry;
mod tools;
mod tools_add;
mod tools_call;
mod tools_diff;
mod tools_prepare;
mod tools_sql;
mod tools_unused;
mod undo;
mod user;
mod work;
mod wrong;
