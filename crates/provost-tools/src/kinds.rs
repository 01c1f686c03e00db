//! The kinds of tools, each in a room of its own.
//!
//! Owns what is one kind's alone: its settings, and how it makes a call. Never names another kind.
//! INVARIANT: a kind is known to the rest of the crate by its `ToolSettings` and its `Adapter`; its
//! module doc has the table of what can happen, by class and landing.

pub(crate) mod command;
pub(crate) mod custom;
pub(crate) mod files;
pub(crate) mod http;
pub(crate) mod mcp;
pub(crate) mod model;
pub(crate) mod sql;
