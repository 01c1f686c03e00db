//! The corpus of plans and the pages of `explain`, run through the reader and the check.
//!
//! A file of `corpus/plans` holds a plan, what it is checked under, and every finding with its
//! place. `PROVOST_BLESS=1` rewrites the wording of findings whose code and place are as expected,
//! and nothing else.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::literate::{Case, Document, Expected};
use provost_plan::codes::Code;
use provost_plan::diagnostic::Severity;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/plans")
}

fn files(folder: &str) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(corpus().join(folder))
        .expect("the corpus is there")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    files.sort();
    files
}

/// Compares what a file expects with what the check says; the text of the difference.
fn compare(path: &Path, bless: bool) -> Result<(), String> {
    let text = std::fs::read_to_string(path).unwrap();
    let document = Document::parse(&text);
    let case = Case::of(&document);
    let wanted = document.expected();
    let given: Vec<Expected> = case.findings();
    let places = |list: &[Expected]| -> Vec<(String, String)> {
        let mut places: Vec<(String, String)> = list
            .iter()
            .map(|e| (e.code.clone(), e.place.clone()))
            .collect();
        places.sort();
        places
    };
    if wanted == given {
        return Ok(());
    }
    if bless && places(&wanted) == places(&given) {
        let blessed = document.with_expected(&text, &given);
        std::fs::write(path, blessed).unwrap();
        return Ok(());
    }
    let mut difference = format!("{}\n", path.file_name().unwrap().to_string_lossy());
    for line in wanted.iter().filter(|e| !given.contains(e)) {
        let _ = writeln!(difference, "  - {line}");
    }
    for line in given.iter().filter(|e| !wanted.contains(e)) {
        let _ = writeln!(difference, "  + {line}");
    }
    if wanted.len() == given.len() && difference.lines().count() == 1 {
        let _ = writeln!(difference, "  the same findings in another order");
    }
    Err(difference)
}

/// What `look` finds in the files, in their order; looked at on all processors.
fn each<T: Send>(files: &[PathBuf], look: impl Fn(&Path) -> Option<T> + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let size = files.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let look = &look;
        let parts: Vec<_> = files
            .chunks(size)
            .map(|part| scope.spawn(move || part.iter().filter_map(|path| look(path)).collect()))
            .collect();
        let found = parts.into_iter().map(|part| part.join().unwrap());
        found.flat_map(|part: Vec<T>| part).collect()
    })
}

fn run(folder: &str) {
    let bless = std::env::var_os("PROVOST_BLESS").is_some();
    let failures: Vec<String> = each(&files(folder), |path| compare(path, bless).err());
    let count = failures.len();
    assert!(
        failures.is_empty(),
        "{count} files differ:\n{}",
        failures.join("\n")
    );
}

#[test]
fn good_plans() {
    run("ok");
    for path in files("ok") {
        let text = std::fs::read_to_string(&path).unwrap();
        let document = Document::parse(&text);
        let errors = document
            .expected()
            .into_iter()
            .filter(|e| severity(&e.code) == Severity::Error)
            .count();
        assert_eq!(errors, 0, "{} expects an error", path.display());
        assert!(Case::of(&document).is_checked(), "{}", path.display());
    }
}

#[test]
fn bad_plans() {
    run("bad");
}

fn severity(code: &str) -> Severity {
    Code::from_text(code).expect("a known code").severity()
}

/// Whether the reader and the check of one plan can report a code: not what is about a workspace,
/// nor what only the history of a run shows.
fn is_of_plans(code: Code) -> bool {
    let of_runs = [
        Code::RepeatsFailure,
        Code::BeyondRefinement,
        Code::NeverRefined,
    ];
    !code.as_str().starts_with('W') && !of_runs.contains(&code)
}

#[test]
fn every_code_of_a_plan_has_five_bad_plans() {
    assert!(files("bad").len() >= 400 && files("ok").len() >= 200);
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    for path in files("bad") {
        let text = std::fs::read_to_string(&path).unwrap();
        let mut codes: Vec<String> = Document::parse(&text)
            .expected()
            .into_iter()
            .map(|e| e.code)
            .collect();
        codes.sort();
        codes.dedup();
        for code in codes {
            *count.entry(code).or_default() += 1;
        }
    }
    let missing: Vec<String> = Code::ALL
        .iter()
        .filter(|code| is_of_plans(**code))
        .filter(|code| count.get(code.as_str()).copied().unwrap_or(0) < 5)
        .map(|code| {
            format!(
                "{code} ({})",
                count.get(code.as_str()).copied().unwrap_or(0)
            )
        })
        .collect();
    assert!(
        missing.is_empty(),
        "fewer than five bad plans: {}",
        missing.join(", ")
    );
}

#[test]
fn the_corpus_can_fail() {
    // The control: with a wrong code, a wrong place or a missing finding the comparison says so.
    let path = &files("bad")[0];
    let text = std::fs::read_to_string(path).unwrap();
    let document = Document::parse(&text);
    let given = Case::of(&document).findings();
    assert!(!given.is_empty());
    let mut other = given.clone();
    other[0].place = "99:1-99:2".to_owned();
    assert_ne!(document.expected(), other);
    other.remove(0);
    assert_ne!(document.expected(), other);
}

#[test]
fn every_code_stands_in_the_docs_with_its_severity() {
    let page = corpus().join("../../docs/reference/findings.md");
    let text = std::fs::read_to_string(page).unwrap();
    let rows: Vec<&str> = text.lines().filter(|line| is_row(line)).collect();
    let wanted: Vec<String> = Code::ALL
        .iter()
        .map(|code| format!("| {code} | {} | {} |", code.severity().word(), code.title()))
        .collect();
    assert_eq!(rows, wanted);
}

/// Whether a line is a row of the table of codes.
fn is_row(line: &str) -> bool {
    let code = line
        .strip_prefix("| ")
        .and_then(|rest| rest.split(' ').next());
    code.is_some_and(|code| Code::from_text(code).is_some()) && line.matches(" | ").count() == 2
}

#[test]
fn every_page_says_what_it_does() {
    let mut failures = String::new();
    for code in Code::ALL {
        let page = code.page();
        let mut need = |holds: bool, what: &str| {
            if !holds {
                let _ = writeln!(failures, "{code}: {what}");
            }
        };
        need(
            page.starts_with(&format!("# {code}: {}\n", code.title())),
            "the first line is `# CODE: title`",
        );
        for heading in [
            "## What it finds",
            "## Why it is bad",
            "## A plan that fails",
            "## Repaired",
        ] {
            let heading = if is_of_plans(*code) {
                heading.to_owned()
            } else {
                heading.replace("A plan that fails", "An example that fails")
            };
            need(
                page.contains(&format!("\n{heading}\n")),
                &format!("`{heading}` is missing"),
            );
        }
        if is_of_plans(*code) {
            failures.push_str(&page_examples(*code, page));
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// Checks that the first example of a page has the finding and the second has not.
fn page_examples(code: Code, page: &str) -> String {
    let document = Document::parse(page);
    let mut failures = String::new();
    let found = |info: &str| -> Option<Vec<Expected>> {
        let case = Case::example(&document, info)?;
        Some(case.findings())
    };
    let has = |list: &[Expected]| list.iter().any(|e| e.code == code.as_str());
    let errors = |list: &[Expected]| -> Vec<String> {
        list.iter()
            .filter(|e| severity(&e.code) == Severity::Error)
            .map(ToString::to_string)
            .collect()
    };
    match (found("fails"), found("repaired")) {
        (Some(fails), Some(repaired)) => {
            if !has(&fails) {
                let _ = writeln!(
                    failures,
                    "{code}: the first example does not fail: {fails:?}"
                );
            }
            if has(&repaired) || !errors(&repaired).is_empty() {
                let _ = writeln!(failures, "{code}: not repaired: {:?}", errors(&repaired));
            }
            let others: Vec<String> = errors(&fails)
                .into_iter()
                .filter(|e| !e.starts_with(code.as_str()))
                .collect();
            if !others.is_empty() {
                let _ = writeln!(failures, "{code}: the example has other errors: {others:?}");
            }
        }
        _ => {
            let _ = writeln!(
                failures,
                "{code}: needs the blocks `yaml fails`, `yaml repaired`"
            );
        }
    }
    failures
}

#[test]
fn nothing_in_the_corpus_panics_the_renderer() {
    for folder in ["ok", "bad"] {
        for path in files(folder) {
            let text = std::fs::read_to_string(&path).unwrap();
            let case = Case::of(&Document::parse(&text));
            let drawn = case.drawn();
            assert!(!drawn.contains('\u{1b}'), "{drawn}");
        }
    }
}
