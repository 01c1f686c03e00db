//! Tidy: the style of the whole tree, as a test.
//!
//! Owns the rules that no compiler and no lint holds: sizes, names, pages, words, paths. Every
//! rule is a function from text to faults, and every rule has a control that plants a fault and
//! wants to see it found.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "tests: the tree is this repository's"
)]

mod doors;
mod markup;
mod mutants;
mod names;
mod owners;
mod pages;
mod prose;
mod rooms;
mod size;
mod systems;
mod tree;
mod types;
mod words;

use tree::{Tree, file};

/// Fails with every fault on a line of its own.
#[track_caller]
fn none(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        faults.join("\n")
    );
}

#[test]
fn no_text_becomes_markup() {
    none(markup::planted());
    none(markup::ways(&Tree::of_repository()));
}

#[test]
fn files_are_at_most_600_lines() {
    none(Tree::of_repository().sources().flat_map(size::file_lines));
    let long = file("crates/a/src/b.rs", &"let a = 1;\n".repeat(601));
    assert_eq!(size::file_lines(&long).len(), 1);
    let tested = "let a = 1;\n".repeat(599) + "#[cfg(test)]\nmod tests {\n" + &"a\n".repeat(99);
    assert_eq!(
        size::file_lines(&file("crates/a/src/b.rs", &tested)),
        [""; 0]
    );
}

#[test]
fn functions_are_at_most_70_lines() {
    none(
        Tree::of_repository()
            .sources()
            .flat_map(size::function_lines),
    );
    let of = |lines: usize| {
        let body = "        a();\n".repeat(lines - 2);
        let text = format!("impl A {{\n    pub(crate) async fn a(\n{body}    }}\n}}\n");
        size::function_lines(&file("crates/a/src/b.rs", &text)).len()
    };
    assert_eq!((of(70), of(71)), (0, 1));
    let declared = "    fn a();\n".to_owned() + &"    // b\n".repeat(90) + "    fn c() {\n    }\n";
    assert_eq!(
        size::function_lines(&file("crates/a/src/b.rs", &declared)).len(),
        0
    );
}

#[test]
fn lines_are_at_most_100_wide() {
    none(Tree::of_repository().sources().flat_map(size::line_width));
    let of = |text: String| size::line_width(&file("crates/a/src/b.rs", &text)).len();
    assert_eq!((of("é".repeat(100)), of("é".repeat(101))), (0, 1));
    assert_eq!(of(format!("//! | {} |", "a table ".repeat(20))), 0);
}

#[test]
fn every_source_file_says_what_it_owns() {
    none(Tree::of_repository().sources().flat_map(names::module_docs));
    let of = |text: &str| names::module_docs(&file("crates/a/src/b.rs", text)).len();
    assert_eq!(
        (of("//! A thing.\nuse a;\n"), of("use a;\n//! Late.\n")),
        (0, 1)
    );
}

#[test]
fn every_source_file_is_a_module_of_another() {
    let tree = Tree::of_repository();
    none(names::dead_files(&tree));
    let with = |root: &str| {
        let files = [("crates/a/src/lib.rs", root), ("crates/a/src/b.rs", "")];
        names::dead_files(&Tree::of(&files)).len()
    };
    assert_eq!((with("pub mod b;"), with("//! Nothing.")), (0, 1));
}

#[test]
fn no_name_says_nothing() {
    none(Tree::of_repository().rust().flat_map(names::banned));
    let of = |path: &str, text: &str| names::banned(&file(path, text)).len();
    assert_eq!(of("crates/a/src/run_util.rs", ""), 1);
    assert_eq!(of("crates/a/src/common.rs", ""), 1);
    for name in [
        "RunManager",
        "Context",
        "PlanHelper",
        "CommonThing",
        "Utils",
        "Workflow",
    ] {
        let text = format!("pub(crate) struct {name} {{}}");
        assert_eq!(of("crates/a/src/b.rs", &text), 1, "{name}");
    }
    assert_eq!(
        of(
            "crates/a/src/b.rs",
            "use cel::Context;\nstruct Commonality;"
        ),
        0
    );
}

#[test]
fn a_test_is_ignored_only_for_a_reason() {
    none(Tree::of_repository().rust().flat_map(names::ignored));
    let of = |text: &str| names::ignored(&file("crates/a/src/b.rs", text)).len();
    let attribute = ["#[", "ignore]"].concat();
    assert_eq!(
        (of(&attribute), of("#[ignore = \"needs a server\"]")),
        (1, 0)
    );
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    none(pages::codes(&Tree::of_repository()));
    let with = |page: &str| {
        let table = "    Syntax = \"P001\", Error, \"unreadable\";\n";
        let files = [
            ("crates/provost-plan/src/text/codes.rs", table),
            (page, "# P001\n\nText.\n"),
        ];
        pages::codes(&Tree::of(&files)).len()
    };
    assert_eq!(with("crates/provost-plan/explain/P001.md"), 0);
    // Why two: the code has no page, and the page has no code.
    assert_eq!(with("crates/provost-plan/explain/P002.md"), 2);
}

#[test]
fn no_page_links_to_what_is_not_there() {
    none(pages::links(&Tree::of_repository()));
    let with = |link: &str| {
        let text = format!("See [it]({link}).");
        let files = [
            ("docs/guides/a.md", text.as_str()),
            ("docs/concepts/b.md", ""),
        ];
        pages::links(&Tree::of(&files)).len()
    };
    assert_eq!(
        (with("../concepts/b.md#c"), with("https://example.org")),
        (0, 0)
    );
    assert_eq!(with("../concepts/c.md"), 1);
}

#[test]
fn no_path_of_a_machine_is_committed() {
    none(Tree::of_repository().files().flat_map(words::machine_paths));
    let of = |text: &str| words::machine_paths(&file("docs/a.md", text)).len();
    for path in ["work", "root", "home/ada", "Users/ada"] {
        assert_eq!(of(&format!("in `/{path}/src`")), 1, "{path}");
    }
    assert_eq!(
        of("the workspaces/work directory, GET /workers, src/root"),
        0
    );
}

#[test]
fn the_glossary_has_every_word_of_a_status_class_and_landing() {
    none(words::glossary(&Tree::of_repository()));
    let with = |glossary: &str| {
        let words = "            Self::Timeout => \"timeout\",\n";
        let files = [
            ("crates/provost-run/src/journal/outcome.rs", words),
            ("GLOSSARY.md", glossary),
        ];
        words::glossary(&Tree::of(&files)).len()
    };
    assert_eq!(
        (with("| `timeout` | late |"), with("| `late` | timeout |")),
        (0, 1)
    );
}

#[test]
fn one_word_stands_for_one_concept() {
    none(Tree::of_repository().pages().flat_map(words::synonyms));
    let of = |text: &str| words::synonyms(&file("docs/a.md", text)).len();
    assert_eq!(
        (of("A workflow is"), of("A DAG is"), of("the plan is")),
        (1, 1, 0)
    );
}

#[test]
fn sentences_are_short_and_plain() {
    let tree = Tree::of_repository();
    assert!(prose::pages(&tree).count() > 20);
    none(prose::pages(&tree).flat_map(prose::faults));
    none(prose::mean(prose::pages(&tree)));
    let of = |text: &str| prose::faults(&file("docs/a.md", text)).len();
    let long = |count: usize| "word ".repeat(count - 1) + "end.";
    assert_eq!((of(&long(25)), of(&long(26))), (0, 1));
    // A list, a code and a link begin and count as a reader sees them.
    let item = format!("- {}\n  {}\n", "word ".repeat(20), "word ".repeat(20));
    let twice = format!("{}\n- {}\n", "word ".repeat(20), "word ".repeat(20));
    assert_eq!((of(&item), of(&twice)), (1, 0));
    let code = format!("{} `a b c d e f g` end.", "word ".repeat(23));
    let link = format!("{} [end](a%20 b c d e).", "word ".repeat(24));
    assert_eq!((of(&code), of(&link)), (0, 0));
    let hidden = format!("```text\n{0}\n```\n<!-- run\n{0}\n-->\n| {0} |\n", long(30));
    assert_eq!((of(&hidden), of(&long(30))), (0, 1));
    for (phrase, faults) in [("It simply runs.", 1), ("Simplyfied.", 0), ("E.g. one.", 1)] {
        assert_eq!(of(phrase), faults, "{phrase}");
    }
    let mean = |count| prose::mean([file("docs/a.md", &long(count))].iter()).len();
    assert_eq!((mean(13), mean(14)), (0, 1));
}

#[test]
fn planted_faults_fit_the_source() {
    none(mutants::stale(&Tree::of_repository()));
    none(mutants::stray(&Tree::of_repository()));
    let of = |source: &str| {
        let set = "# a set\n\n== a fault\nguards: P1\nfile: a.rs\ntest: t\n- let a;\n-\n- let b;\n";
        let files = [("crates/sim/mutants/a.txt", set), ("a.rs", source)];
        mutants::stale(&Tree::of(&files)).len()
    };
    let fits = "let a;\n\nlet b;\n";
    assert_eq!((of(fits), of("let a;\n"), of(&fits.repeat(2))), (0, 1, 1));
    let left = [(
        "crates/sim/mutants/a.txt",
        "== a fault\nfile: a.rs\n=======\n- let a;\n",
    )];
    assert_eq!(mutants::stray(&Tree::of(&left)).len(), 1);
}

/// The control of the walk itself: a tree that sees nothing would hold every rule.
#[test]
fn the_tree_is_really_walked() {
    let tree = Tree::of_repository();
    assert!(tree.sources().count() > 100, "{}", tree.sources().count());
    for path in [
        "crates/provost-run/src/machine.rs",
        "README.md",
        "scripts/test",
    ] {
        assert!(tree.files().any(|file| file.path == path), "{path}");
    }
}

#[test]
fn values_of_a_run_are_shown_by_one_way_out() {
    none(Tree::of_repository().sources().flat_map(doors::raw_values));
    let faults = |path: &str, text: &str| doors::raw_values(&file(path, text)).len();
    for text in [
        "let payload = event.to_stored();",
        "Event::ObservationMade {\n    slot,\n    output,\n    ..\n} => page.line(output),",
        "page.line(&effect.args.to_string());",
        "store.evidence(&digest)",
    ] {
        assert_eq!(faults("crates/provost/src/cli/new.rs", text), 1, "{text}");
        assert_eq!(
            faults("crates/provost-engine/src/store/sqlite/read.rs", text),
            0,
            "{text}"
        );
    }
    let label = "Event::ObservationMade { slot, label, .. } => page.line(label),";
    assert_eq!(faults("crates/provost/src/cli/new.rs", label), 0);
}

#[test]
fn only_the_command_line_spells_commands() {
    none(doors::verbs(&Tree::of_repository()));
    let cli = (
        "crates/provost/src/cli.rs",
        "enum Verb {\n    /// x\n    Approve(a::A),\n}\n",
    );
    let of = |path, text| doors::verbs(&Tree::of(&[cli, (path, text)])).len();
    let command = "    let hint = \"`provost approve RUN` does it\";";
    assert_eq!(of("crates/provost-engine/src/a.rs", command), 1);
    assert_eq!(of("crates/provost/src/a.rs", command), 0);
    assert_eq!(
        of("crates/provost-engine/src/a.rs", "// provost approve"),
        0
    );
    assert_eq!(
        of("crates/provost-engine/src/a.rs", "\"provost knows it\""),
        0
    );
    assert_eq!(doors::verbs(&Tree::of(&[])).len(), 1);
}

/// How many type names may stand twice: each of them is a concept with two names or a name with
/// two concepts, until somebody looks.
const NAMES_TWICE_MAX: usize = 20;

#[test]
fn few_types_share_a_name() {
    let twice = owners::names_twice(&Tree::of_repository());
    assert!(twice.len() <= NAMES_TWICE_MAX, "{twice:#?}");
    let of = |second: &str| {
        let files = [
            ("crates/provost-a/src/a.rs", "pub struct Entry {\n"),
            ("crates/provost-b/src/b.rs", second),
        ];
        owners::names_twice(&Tree::of(&files)).len()
    };
    assert_eq!(
        (of("pub(crate) enum Entry {\n"), of("pub struct Row {\n")),
        (1, 0)
    );
    assert_eq!(of("enum Entry {\n"), 0);
    assert_eq!(of("#[cfg(test)]\nmod tests {\npub struct Entry;\n}\n"), 0);
}

#[test]
fn types_have_few_methods() {
    none(types::many_methods(&Tree::of_repository()));
    let of = |methods: usize, head: &str| {
        let half = "    fn a(&self) {}\n".repeat(methods / 2);
        let rest = "    pub(in crate::a) const fn b() {}\n".repeat(methods - methods / 2);
        let one = format!("impl<'a> {head} {{\n{half}}}\n");
        let other = format!("impl {head} {{\n{rest}    // no fn here\n}}\nfn free() {{}}\n");
        let files = [
            ("crates/a/src/b.rs", one.as_str()),
            ("crates/a/src/b/c.rs", other.as_str()),
        ];
        types::many_methods(&Tree::of(&files)).len()
    };
    assert_eq!(
        (of(60, "A<'_>"), of(61, "A<'_>"), of(61, "B for A")),
        (0, 1, 0)
    );
}

#[test]
fn rooms_of_a_turn_call_one_way() {
    none(rooms::back_calls(&Tree::of_repository()));
    let of = |path: &str, line: &str| rooms::back_calls(&Tree::of(&[(path, line)])).len();
    let call = "crates/provost-run/src/turn/call/a.rs";
    let people = "crates/provost-run/src/turn/people/a.rs";
    let up = "use crate::turn::people::gate::approve;\n";
    let down = "use crate::turn::call::settle::settle_failed;\n";
    assert_eq!((of(call, up), of(people, down)), (1, 0));
    assert_eq!(of(call, "    super::super::plan::a();\n"), 1);
}

#[test]
fn a_room_of_a_turn_records_its_own_events() {
    none(rooms::strange_events(&Tree::of_repository()));
    let of = |line: &str| {
        let path = "crates/provost-run/src/turn/end/a.rs";
        rooms::strange_events(&Tree::of(&[(path, line)])).len()
    };
    let own = "    log.emit(Event::RunEnded(ended))\n";
    let strange = "    log.emit(Event::ApprovalGiven {\n";
    assert_eq!((of(own), of(strange)), (0, 1));
}

#[test]
fn a_concept_has_one_owner() {
    let tree = Tree::of_repository();
    none(owners::second_owners(&tree));
    none(owners::unlisted(&tree));
    for planted in &owners::OWNED {
        for mark in planted.marks {
            let text = format!("    let _ = {mark};\n");
            let comment = format!("    // {mark}\n");
            let faults = |text: &str| {
                let files: Vec<(&str, &str)> = owners::OWNED
                    .iter()
                    .map(|owned| (owned.owner, owned.marks[0]))
                    .chain([("crates/provost/src/second.rs", text)])
                    .collect();
                owners::second_owners(&Tree::of(&files)).len()
            };
            assert_eq!((faults(&text), faults(&comment)), (1, 0), "{mark}");
        }
    }
    // Why all: neither a file nor a page of that tree names an owner.
    let empty = Tree::of(&[("ARCHITECTURE.md", "")]);
    assert_eq!(owners::second_owners(&empty).len(), owners::OWNED.len());
    assert_eq!(owners::unlisted(&empty).len(), owners::OWNED.len());
}

#[test]
fn what_only_linux_has_is_guarded() {
    let tree = Tree::of_repository();
    let shipped = tree
        .sources()
        .filter(|file| !file.path.starts_with("crates/sim/"));
    none(shipped.flat_map(systems::unguarded));
    let of = |text: &str| systems::unguarded(&file("crates/a/src/b.rs", text)).len();
    assert_eq!(of("use landlock::ABI;\n"), 1);
    assert_eq!(of("    use rustix::process::{Pid, prlimit};\n"), 1);
    let guarded = "#[cfg(target_os = \"linux\")]\nuse landlock::ABI;\n";
    assert_eq!((of(guarded), of("// landlock::ABI\n")), (0, 0));
    assert_eq!(of(&guarded.replace('\n', &"\n".repeat(9))), 1);
}

#[test]
fn a_crate_includes_only_what_lies_in_it() {
    let tree = Tree::of_repository();
    let shipped = tree
        .sources()
        .filter(|file| !file.path.starts_with("crates/sim/"));
    none(shipped.flat_map(systems::included_from_outside));
    let of = |text: &str| systems::included_from_outside(&file("crates/a/src/b/c.rs", text)).len();
    assert_eq!(of("include_str!(\"../../text/a.md\")"), 0);
    assert_eq!(of("include_str!(\"../../../docs/a.md\")"), 1);
}
