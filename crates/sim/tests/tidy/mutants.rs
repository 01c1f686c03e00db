//! Planted faults fit the source: a text that went stale plants nothing, and guards nothing.

use super::tree::Tree;

/// Where the sets of faults stand.
const SETS: &str = "crates/sim/mutants/";

/// The faults of all sets whose text does not stand exactly once in the file they name.
pub fn stale(tree: &Tree) -> Vec<String> {
    let sets = tree.files().filter(|f| f.path.starts_with(SETS));
    sets.flat_map(|set| {
        set.text
            .split("\n== ")
            .skip(1)
            .map(|fault| stands(tree, fault))
    })
    .flatten()
    .collect()
}

/// The lines of all sets that are no part of a fault: a set with one of them plants nothing.
pub fn stray(tree: &Tree) -> Vec<String> {
    const FIELDS: [&str; 4] = ["guards: ", "file: ", "test: ", "enabled: "];
    let sets = tree.files().filter(|f| f.path.starts_with(SETS));
    let belongs = |line: &str| {
        let is_text = ["", "-", "+"].contains(&line) || line.starts_with('#');
        let begins = |with: &&str| line.starts_with(with);
        is_text || ["== ", "- ", "+ "].iter().chain(&FIELDS).any(begins)
    };
    let mut found = Vec::new();
    for set in sets {
        for (at, line) in set.text.lines().enumerate() {
            if !belongs(line) {
                found.push(format!(
                    "{}:{}: `{line}` is no part of a fault",
                    set.path,
                    at + 1
                ));
            }
        }
    }
    found
}

fn stands(tree: &Tree, fault: &str) -> Option<String> {
    let name = fault.lines().next().unwrap_or_default();
    let path = fault.lines().find_map(|line| line.strip_prefix("file: "));
    let path = path.unwrap_or_default().trim();
    let text: Vec<&str> = fault
        .lines()
        .filter_map(|line| line.strip_prefix("- ").or((line == "-").then_some("")))
        .collect();
    let file = tree.files().find(|f| f.path == path);
    let times = file.map_or(0, |f| f.text.matches(&text.join("\n")).count());
    let fits = times == 1 && !text.is_empty();
    (!fits).then(|| format!("{SETS}: `{name}`: its text stands {times} times in `{path}`"))
}
