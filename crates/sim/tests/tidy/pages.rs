//! Pages: one for every code, and links that lead somewhere.

use std::collections::BTreeSet;

use crate::tree::Tree;

const TABLE: &str = "crates/provost-plan/src/text/codes.rs";
const FOLDER: &str = "crates/provost-plan/explain/";

pub fn codes(tree: &Tree) -> Vec<String> {
    let table = tree
        .files()
        .find(|file| file.path == TABLE)
        .map_or("", |file| &file.text);
    let codes: BTreeSet<&str> = table.lines().filter_map(code_of_row).collect();
    let pages: BTreeSet<&str> = tree
        .files()
        .filter(|file| file.text.lines().count() > 1)
        .filter_map(|file| file.path.strip_prefix(FOLDER)?.strip_suffix(".md"))
        .collect();
    let without = codes
        .difference(&pages)
        .map(|code| format!("{code}: no page in {FOLDER}"));
    let dead = pages
        .difference(&codes)
        .map(|page| format!("{FOLDER}{page}.md: no such code"));
    without.chain(dead).collect()
}

/// The code in a row `Name = "P001", Severity, "title";`.
fn code_of_row(line: &str) -> Option<&str> {
    let (name, rest) = line.trim().split_once(" = \"")?;
    let (code, rest) = rest.split_once('"')?;
    let row = name.chars().all(char::is_alphanumeric) && rest.starts_with(", ");
    row.then_some(code)
}

pub fn links(tree: &Tree) -> Vec<String> {
    let mut faults = Vec::new();
    for page in tree.pages() {
        for link in page.text.split("](").skip(1) {
            let link = link.split([')', ' ']).next().unwrap_or_default();
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            let path = resolved(&page.path, target);
            if !tree.has(path.trim_end_matches('/')) {
                faults.push(format!(
                    "{}: a link to `{link}`, which is not there",
                    page.path
                ));
            }
        }
    }
    faults
}

/// A relative link as a path from the root.
fn resolved(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}
