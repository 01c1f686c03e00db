//! Tests of whole tools: a table of `provost.toml` in, replies out.
//!
//! They stand beside the crate's source and are compiled into it: only the run machine makes a
//! `Call`, so they make their requests at the door behind it, which is the crate's own.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use provost_plan::catalog::Operation;
use provost_plan::diagnostic::Diagnostic;
use provost_run::outcome::{Class, Landing, Reply};
use provost_run::trace_parent::TraceParent;
use serde_json::{Value, json};

use crate::fault::Request;
use crate::{Listing, Listings, ToolConfig, Toolbox};

mod append;
mod command;
mod conformance;
mod custom;
mod definitions;
mod files;
mod http;
mod injections;
mod links;
mod mcp;
mod mcp_http;
mod model;
mod openapi;
mod postgres;
mod protected_paths;
mod search;
mod server;
mod sql;
#[path = "../support/mod.rs"]
mod support;

use support::*;

impl Bench {
    async fn call(&self, name: &str, args: Value) -> Reply {
        self.call_with_key(name, args, None).await
    }

    async fn call_with_key(&self, name: &str, args: Value, key: Option<&str>) -> Reply {
        self.call_keyed(self.operation(name).clone(), args, key)
            .await
    }

    async fn call_operation(&self, operation: Operation, args: Value) -> Reply {
        self.call_keyed(operation, args, None).await
    }

    async fn call_keyed(&self, operation: Operation, args: Value, key: Option<&str>) -> Reply {
        let operation = Arc::new(operation);
        let Value::Object(args) = args else {
            panic!("arguments are a map");
        };
        let request = Request {
            timeout: operation.timeout,
            operation,
            args,
            key: key.map(str::to_owned),
            trace: Some(TraceParent::recorded([7; 16], [9; 8])),
        };
        let reply = self.toolbox.perform_request(&request).await;
        well_formed(&reply);
        reply
    }

    async fn output(&self, name: &str, args: Value) -> Value {
        let reply = self.call(name, args).await;
        assert_eq!(reply.class, Class::Ok, "{reply:#?}");
        reply.output.unwrap()
    }
}

/// What holds for every reply of every adapter.
fn well_formed(reply: &Reply) {
    if !reply.refused_args.is_empty() {
        let of_refusal = [Class::PermissionDenied, Class::InvalidArguments].contains(&reply.class);
        let is_before = reply.landing == Landing::None && reply.evidence.is_empty();
        assert!(of_refusal && is_before, "{reply:#?}");
    }
    assert_eq!(
        reply.class == Class::Ok,
        reply.output.is_some(),
        "{reply:#?}"
    );
    assert_eq!(
        reply.class == Class::Ok,
        reply.message.is_none(),
        "{reply:#?}"
    );
    if reply.class == Class::Ok {
        assert_eq!(reply.landing, Landing::Happened);
    }
    let message = reply.message.as_deref().unwrap_or("fine");
    assert!(
        !message.is_empty() && message.chars().count() <= 500,
        "{message}"
    );
    assert!(!message.chars().any(char::is_control), "{message:?}");
}

/// Class and landing as two words, and the message.
fn said(reply: &Reply) -> (String, String) {
    let words = format!("{} {}", reply.class.word(), reply.landing.word());
    (words, reply.message.clone().unwrap_or_default())
}

/// Makes the calls of a table: a line `operation {arguments}`, then a line
/// `class landing: part of the message`.
async fn check_calls(bench: &Bench, table: &str) {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines = lines.collect::<Vec<_>>();
    for pair in lines.chunks_exact(2) {
        let (name, args) = pair[0].split_once(' ').unwrap();
        let (expected, part) = pair[1].split_once(": ").unwrap();
        let args = serde_json::from_str(args).unwrap_or_else(|e| panic!("{}: {e}", pair[0]));
        let (words, text) = said(&bench.call(name, args).await);
        assert_eq!(words, expected, "{}: {text}", pair[0]);
        assert!(text.contains(part), "{}: {text}", pair[0]);
    }
}
