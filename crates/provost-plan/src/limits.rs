//! Every fixed limit of the plan language, in one place, with the unit last in the name.
//!
//! Owns numbers only. A limit that an operator may move stands in [`crate::plan::Limits`] instead.

/// Largest plan, playbook or configuration text, in bytes.
pub const SOURCE_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of lists and maps in a text.
pub const SOURCE_DEPTH_MAX: usize = 64;
/// Most values in one text.
pub const SOURCE_NODES_MAX: usize = 50_000;
/// Longest expression, in bytes (longer chains overflow a stack in evaluation).
pub const EXPRESSION_BYTES_MAX: usize = 1024;
/// Deepest nesting inside an expression.
pub const EXPRESSION_DEPTH_MAX: usize = 32;
/// Most nodes in the tree of an expression.
pub const EXPRESSION_NODES_MAX: usize = 2_000;
/// Deepest nesting of comprehensions (`all`, `exists`, `map`, `filter`) in an expression.
pub const COMPREHENSION_DEPTH_MAX: usize = 2;
/// Longest list that an expression walks, in items.
pub const COMPREHENSION_ITEMS_MAX: usize = 10_000;
/// Most steps a plan may have, whatever the operator says.
pub const PLAN_STEPS_MAX: usize = 1_000;
/// Most items of one `for_each`, whatever the plan says.
pub const FOR_EACH_ITEMS_MAX: usize = 1_000;
/// Largest integer that every JSON reader holds exactly: 2^53.
pub const INTEGER_MAX: i64 = 1 << 53;
/// Largest value of the arguments of one call, in bytes of canonical JSON.
pub const ARGS_BYTES_MAX: usize = 256 * 1024;
/// Most diagnostics reported for one text; the rest are counted.
pub const DIAGNOSTICS_MAX: usize = 100;
/// Most work of one evaluation, in units: a node, an item walked, or 16 bytes touched.
pub const EXPRESSION_WORK_MAX: u64 = 5_000_000;
/// Items of a `for_each` that does not say how many it may have.
pub const FOR_EACH_ITEMS_DEFAULT: u64 = 100;
