//! What fields are called in other forms, and what they are in a plan.
//!
//! Owns the vocabulary. INVARIANT: a field that says when, in which order, under whose approval or
//! up to which limit something happens is never among the silent ones.

/// What a field of a step is in a plan, by its names elsewhere.
const FIELDS: [(&str, &str); 19] = [
    (
        "needs",
        "needs depends_on dependencies dep deps after runs_after requires context \
         dependent_task_ids",
    ),
    (
        "when",
        "if when condition run_if only_if precondition guard",
    ),
    ("when (not)", "unless skip_if"),
    ("for_each", "for_each foreach loop with_items each"),
    (
        "approval",
        "approval requires_approval require_approval approval_needed needs_approval \
         approval_required human_input human_in_the_loop",
    ),
    ("on_failure", "on_failure on_error on_fail"),
    (
        "on_failure: continue",
        "ignore_errors continue_on_error continue_on_fail",
    ),
    ("on_failure: stop", "catch"),
    ("retry", "retry retries max_attempts"),
    ("retry.backoff", "delay retry_delay interval backoff"),
    ("timeout", "timeout timeout_seconds timeout_minutes"),
    ("accept", "accept acceptance success_when"),
    ("accept (not)", "failed_when fail_when"),
    ("undo", "undo rollback compensate compensation"),
    ("next", "next next_step goto"),
    ("needs, whatever became of it", "always run_always"),
    (
        "description",
        "description thought title instruction prompt display_name details",
    ),
    (
        "steps.ID.output",
        "register save_as store_result_in store_as result_path output output_var assign_to \
         output_key",
    ),
    (
        "id",
        "id step_id task_id key step name task_name action_id call_id task label",
    ),
];

/// Fields of a step that say nothing of what happens.
const SILENT: &str = "type reasoning thoughts criticism speak expected_output agent jsonrpc _meta \
    gather_facts hosts runs_on position credentials type_version rationale role content version \
    schema_version status tags icon notes comment backstory end runs incoming outgoing args";

/// Fields around the steps that say nothing of what happens.
const SILENT_ABOVE: &str = "schema api_version kind metadata process settings active on agents \
    start_at entrypoint is_executable workspace defaults spec date author created_at model \
    definitions start end start_event end_event stop_reason stop_sequence usage object \
    finish_reason index created";

/// Fields that say what kind of thing something is, who made it and how it is drawn: what stands
/// below them need not be found again in a plan.
const STRUCTURE: &str = "type kind schema schema_version api_version version jsonrpc _meta \
    metadata position credentials type_version role tags icon agent agents date author \
    created_at created model usage object finish_reason stop_reason stop_sequence index \
    runs_on hosts gather_facts on entrypoint start_at is_executable active workspace \
    environment process status incoming outgoing reasoning thoughts criticism speak rationale \
    expected_output";

/// Lists whose entries are steps, even if no entry names a call.
const LISTS: &str = "steps tasks plan actions todo subtasks calls";

/// Fields that say what a plan is for, the most proper first.
const GOALS: &str = "goal objective user_request query comment description task workflow name";

/// Fields with constants.
const VARIABLES: &str = "vars variables inputs constants parameters env";

/// What a field of a step is in a plan.
pub(super) fn means(name: &str) -> Option<&'static str> {
    let found = FIELDS.iter().find(|(_, names)| is_in(names, name));
    found.map(|(plays, _)| *plays)
}

/// Whether a field of a step says nothing of what happens.
pub(super) fn is_silent(name: &str) -> bool {
    is_in(SILENT, name)
}

/// Whether a field around the steps says nothing of what happens.
pub(super) fn is_silent_above(name: &str) -> bool {
    is_silent(name) || is_in(SILENT_ABOVE, name)
}

/// Whether nothing below a field has to be found again in a plan.
pub(super) fn is_structure(name: &str) -> bool {
    is_in(STRUCTURE, name)
}

/// Whether the entries under a field are steps.
pub(super) fn is_list(name: &str) -> bool {
    is_in(LISTS, name)
}

/// Whether a field holds constants.
pub(super) fn holds_variables(name: &str) -> bool {
    is_in(VARIABLES, name)
}

/// How proper a field is to say what a plan is for; less is more.
pub(super) fn goal_rank(name: &str) -> Option<usize> {
    GOALS.split_whitespace().position(|goal| goal == name)
}

/// Whether a word is one of some.
pub(super) fn is_in(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}
