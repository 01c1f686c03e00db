//! What findings of the corpus say beside their message: notes, labels and hints.

use crate::literate::{Case, Document};
use provost_plan::render::{Style, render};

/// The findings of a bad plan as a person reads them.
fn shown(name: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/plans/bad");
    let text = std::fs::read_to_string(format!("{root}/{name}.md")).unwrap();
    let case = Case::of(&Document::parse(&text));
    let (source, found, _) = case.report();
    render(source, found, Style::default())
}

#[test]
fn findings_name_what_helps_and_nothing_else() {
    for (name, says, lacks) in [
        (
            "untrusted-control-of-one-source",
            "it comes from `issues`",
            "`prod`",
        ),
        (
            "time-passed-poll",
            "lower `at_most` of `finished`, or raise `wall` in the limits of the plan",
            "set `timeout`",
        ),
        ("time-passed", "one attempt of 30s", "`at_most`"),
        (
            "calls-read-again",
            "`fresh` may call `level` 3 times more",
            "`order` 3 times",
        ),
        (
            "asserted-and-read-again",
            "`any` asserted it of what was read before",
            "= hint: leave",
        ),
        ("early-effect", "so that it comes last", "let them go on"),
        (
            "reads-prove-effect",
            "none of them follows a call that does something",
            "looks at reads alone, and its",
        ),
    ] {
        let shown = shown(name);
        assert!(shown.contains(says), "{name} lacks {says:?}:\n{shown}");
        assert!(!shown.contains(lacks), "{name} says {lacks:?}:\n{shown}");
    }
}
