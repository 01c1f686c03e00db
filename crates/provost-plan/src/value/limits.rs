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
pub const COMPREHENSION_DEPTH_MAX: usize = 3;
/// Longest list that an expression walks, in items.
pub const COMPREHENSION_ITEMS_MAX: usize = 10_000;
/// Most steps a plan may have, whatever the operator says.
pub const PLAN_STEPS_MAX: usize = 1_000;
/// Most steps that a subgoal may be refined into.
pub const SUBGOAL_STEPS_MAX: u64 = 50;
/// Most items of one `for_each`, whatever the plan says.
pub const FOR_EACH_ITEMS_MAX: usize = 1_000;
/// Most polls of one `until`, whatever the plan says.
pub const POLLS_MAX: u64 = 10_000;
/// Longest that a question may say it waits, in days.
pub const QUESTION_EXPIRES_DAYS_MAX: u64 = 366;
/// Largest integer that every JSON reader holds exactly: 2^53.
pub const INTEGER_MAX: i64 = 1 << 53;
/// Largest value of the arguments of one call, in bytes of canonical JSON.
pub const ARGS_BYTES_MAX: usize = 256 * 1024;
/// Most operations inside one another in a condition of a policy.
pub const POLICY_DEPTH_MAX: usize = 100;
/// Most policies of a workspace.
pub const POLICIES_MAX: usize = 5_000;
/// Largest output, list or result that a journal keeps in one event, in bytes.
pub const KEPT_BYTES_MAX: usize = 12 * 1024 * 1024;
/// Largest arguments of all calls that one card asks about, in bytes of canonical JSON.
pub const CARD_ARGS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Longest answer of a run, in bytes.
pub const ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most diagnostics reported for one text, the gravest first; the rest are counted.
pub const DIAGNOSTICS_MAX: usize = 100;
/// Most cycles that are shown of one plan; a plan with one cannot run.
pub const CYCLES_MAX: usize = 20;
/// Most times that one check looks for the name that was meant.
pub const SUGGESTIONS_MAX: usize = 300;
/// Most names among which the one that was meant is looked for.
pub const SUGGESTION_NAMES_MAX: usize = 1_000;
/// Longest name for which a near one is looked for, in bytes.
pub const SUGGESTION_BYTES_MAX: usize = 100;
/// Most sources that the labels of one plan name, each counted as often as it is joined.
pub const LABEL_SOURCES_MAX: usize = 500_000;
/// Most values in the schemas that one plan brings itself, all together.
pub const PLAN_SCHEMA_VALUES_MAX: usize = 10_000;
/// Most subschemas that those come to, each reference written out as often as it stands there.
pub const PLAN_SCHEMA_EXPANSION_MAX: u64 = 4_000;
/// Deepest nesting of the subschemas of one schema, references followed.
pub const SCHEMA_DEPTH_MAX: usize = 128;
/// Deepest nesting of schema and value together while a value is judged.
pub const VALIDATION_DEPTH_MAX: usize = 512;
/// Most work of judging one value by one schema, in units: a subschema, a keyword, or a few bytes.
pub const VALIDATION_WORK_MAX: u64 = 20_000_000;
/// Most such work after which all that does not fit is listed, and not only the first of it.
pub const VIOLATIONS_WORK_MAX: u64 = 100_000;
/// Most ranges of characters in the patterns of those schemas, repetitions written out.
pub const PLAN_PATTERNS_MAX: usize = 200_000;
/// Most work of one check on types, in values of the schemas it looks through.
pub const TYPE_WORK_MAX: usize = 500_000;
/// Most work of one check on comparing types; beyond it they are compared at run time.
pub const FIT_WORK_MAX: usize = 1_000_000;
/// Most guards of earlier steps that are taken to hold behind one guard.
pub const GUARDS_FOLLOWED_MAX: usize = 32;
/// Most facts after which no further guard is followed.
pub const GUARD_FACTS_MAX: usize = 200;
/// Most work of one evaluation, in units: a node, an item walked, or 16 bytes touched.
pub const EXPRESSION_WORK_MAX: u64 = 5_000_000;
/// Most work of one turn of a run, over all that it judges, in the same units.
pub const TURN_WORK_MAX: u64 = 40_000_000;
/// Most such work on the thread that drives the runs: beyond it, on one beside.
pub const TURN_WORK_LITTLE: u64 = 300_000;
/// Longest plan that is checked on the thread that drives the runs, in bytes.
pub const PLAN_PLAIN_BYTES_MAX: usize = 8 * 1024;
/// Items of a `for_each` that does not say how many it may have.
pub const FOR_EACH_ITEMS_DEFAULT: u64 = 100;

/// Times that a reading is taken again for one step with `fresh`.
pub const RETAKEN_MAX: u32 = 3;

/// How often a person may have the planner of a run asked again that failed.
pub const ASKED_AGAIN_MAX: u64 = 8;

/// Revisions in a row that a planner may make while nothing new becomes known.
pub const IDLE_REVISIONS_MAX: u32 = 2;

/// How long a yes counts where policy does not say, in milliseconds.
pub const APPROVAL_VALID_MS: u64 = 24 * 60 * 60 * 1_000;

/// Reads that ask in vain whether a write took place, before a person has to.
pub const RECONCILE_READS_MAX: u32 = 5;
