//! The plan language and its compiler: goal, plan, expressions, catalog, labels, policy, check.
//!
//! The idea: a plan is a program written by somebody untrusted, so it is compiled before anything
//! runs. The check types every reference, follows where values come from, asks policy about every
//! call and bounds the cost; what passes is a value that no other way can make.
//!
//! Owns every judgment about a plan: what it means, whether it is admissible, what an approval of
//! it covers. Never does I/O, reads a clock or draws a random number; all of those come in as
//! arguments. INVARIANT: a [`check::CheckedPlan`] exists only for a plan without errors.
//!
//! # Floors
//!
//! From the top down; a floor uses those below it:
//!
//! - [`reach`], [`approve`]: what a checked plan touches, and what an approval of it covers
//! - [`check`]: a plan under its terms, stage by stage, to a [`check::CheckedPlan`] or findings
//! - [`policy`]: what the Cedar policies say of a call, and beside it the tools of their authors
//! - [`plan`]: goal, plan, steps and their calls; how they are read, and how a planner is asked
//! - [`catalog`]: the operations that a plan may call, with effect, cost and schemas
//! - [`schema`]: JSON Schemas as types: what fits, and the type at a path
//! - [`expr`]: expressions and templates: parsed, evaluated, analysed
//! - [`value`]: digests, money, amounts, durations, labels, limits
//! - [`text`]: sources, trees with places, findings, fixes
//!
//! # Where to start
//!
//! Read [`plan::Plan`] and [`plan::Step`] for what is compiled, then [`check::check`], whose body
//! is the list of the stages; each stage is one file beside it. [`check::StepRecord`] is what a
//! run keeps of the result.
#![deny(missing_docs)]

pub mod text;
pub mod value;

pub mod expr;
pub mod schema;

pub mod catalog;
pub mod plan;
pub mod policy;

pub mod check;

pub mod approve;
pub mod reach;

pub use text::{codes, diagnostic, fix, json, node, render, source};
pub use value::pattern;
pub use value::{amount, digest, duration, label, limits, money, work};
