//! One owner for each concept, and one type for each name.
//!
//! Owns the list of concepts with the marks by which a second owner shows itself. The same table,
//! for readers, is in ARCHITECTURE.md; a test compares the two.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::{File, Tree, before_tests};

/// A concept, the file that owns it, and texts that stand in no other product file.
pub struct Owned {
    pub concept: &'static str,
    pub owner: &'static str,
    pub marks: &'static [&'static str],
}

const fn owned(
    concept: &'static str,
    owner: &'static str,
    marks: &'static [&'static str],
) -> Owned {
    Owned {
        concept,
        owner,
        marks,
    }
}

/// Every concept that was once written more than once.
pub const OWNED: [Owned; 12] = [
    owned(
        "status of a step",
        "crates/provost-plan/src/expr/status.rs",
        &["\"waiting_answer\" =>", "Self::Ready => \"ready\""],
    ),
    owned(
        "status of a run",
        "crates/provost-run/src/journal/event/status.rs",
        &["Self::Planning => \"planning\""],
    ),
    owned(
        "short form of a digest",
        "crates/provost-plan/src/value/digest.rs",
        &[".take(12).collect", ".take(16).collect", "hex()[.."],
    ),
    owned(
        "model or process",
        "crates/provost-run/src/journal/event/planner.rs",
        &[
            "Model { .. } | PlannerChoice::Process { .. }",
            "Process { .. } | PlannerChoice::Model { .. }",
            "Self::Model { .. } | Self::Process { .. } => true",
        ],
    ),
    owned(
        "ranking of tools",
        "crates/provost-plan/src/plan/ranking.rs",
        &["fn rank<", "fn rank(", "fn score("],
    ),
    owned(
        "what a run waits for",
        "crates/provost-run/src/state/waiting.rs",
        &["Vec<Waiting> {", "Waiting::new("],
    ),
    owned(
        "command for what waits",
        "crates/provost/src/screen/waits.rs",
        &["WaitKind::Approval => format!(\"provost", "{run} VALUE"],
    ),
    owned(
        "what changed since the check",
        "crates/provost-engine/src/bundle.rs",
        &[
            "was.policy == now.policy",
            ".terms.policy !=",
            ".terms.tools !=",
        ],
    ),
    owned(
        "planner of a goal",
        "crates/provost-engine/src/proposal/route.rs",
        &["\"rules: ", "was requested\""],
    ),
    owned(
        "sentence of an event",
        "crates/provost-run/src/read/words.rs",
        &[
            "Why::Unmet { criteria } =>",
            "SkipReason::Proven => \"",
            "StepStatus::InDoubt => \"",
            "RunStatus::InDoubt => \"",
            "60_000..=3_599_999",
            "60_000..3_600_000",
        ],
    ),
    owned(
        "credential of a statement",
        "crates/provost-engine/src/people/inbox.rs",
        &[".is_vouched_by(", ".is_signed_by("],
    ),
    owned(
        "token of a request",
        "crates/provost-server/src/door/token.rs",
        &["get_all(header::AUTHORIZATION)", "case(\"bearer\")"],
    ),
];

/// Product files: the simulated world may say everything twice, to compare.
fn is_product(file: &File) -> bool {
    file.path.starts_with("crates/provost")
}

/// Marks of a concept outside of its owner, and owners without any.
pub fn second_owners(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for owned in &OWNED {
        let mut own = 0;
        for file in tree.sources().filter(|file| is_product(file)) {
            let lines = before_tests(&file.text);
            let found = lines.filter(|(_, line)| owned.marks.iter().any(|m| line.contains(m)));
            for (number, line) in found {
                if file.path == owned.owner {
                    own += 1;
                } else if !line.trim_start().starts_with("//") {
                    faults.push(format!(
                        "{}:{number}: {} is owned by {}: `{}`",
                        file.path,
                        owned.concept,
                        owned.owner,
                        line.trim()
                    ));
                }
            }
        }
        if own == 0 {
            faults.push(format!("{}: no mark of {}", owned.owner, owned.concept));
        }
    }
    faults
}

/// Concepts whose row of the architecture's table is missing or names another file.
pub fn unlisted(tree: &Tree) -> Vec<String> {
    let page = tree.files().find(|file| file.path == "ARCHITECTURE.md");
    let page = page.map_or("", |file| file.text.as_str());
    let missing = OWNED.iter().filter(|owned| {
        let row = |line: &str| line.contains(owned.concept) && line.contains(owned.owner);
        !page.lines().any(row)
    });
    missing
        .map(|owned| {
            format!(
                "ARCHITECTURE.md: no row `{}`, `{}`",
                owned.concept, owned.owner
            )
        })
        .collect()
}

/// Names that more than one shared type of the product has, each with its files.
pub fn names_twice(tree: &Tree) -> Vec<String> {
    let mut types: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    // Why without it: who embeds provost reads the names of this crate, and of no other.
    let of_programs = |file: &&File| file.path.starts_with("crates/provost-sdk/");
    let sources = tree.sources().filter(|file| is_product(file));
    for file in sources.filter(|file| !of_programs(file)) {
        for (_, line) in before_tests(&file.text) {
            // Why only `pub`: a private name is read in one file alone. Indented stands a trait's.
            if let Some(name) = crate::names::defined_type(line)
                && line.starts_with("pub")
            {
                types.entry(name).or_default().insert(&file.path);
            }
        }
    }
    let twice = types.into_iter().filter(|(_, files)| files.len() > 1);
    twice
        .map(|(name, files)| format!("{name}: {}", Vec::from_iter(files).join(", ")))
        .collect()
}
