//! Words: of the glossary, and of one machine.

use crate::tree::{File, Tree};

/// Words in pages for which the glossary has another.
const SYNONYMS: [&str; 5] = ["workflow", "workflows", "dag", "taint", "tainted"];
/// Files whose `Self::X => "word"` rows are words that people see.
const SPOKEN: [&str; 2] = [
    "crates/provost-run/src/journal/outcome.rs",
    "crates/provost-run/src/journal/event.rs",
];

pub fn machine_paths(file: &File) -> Vec<String> {
    let folders = ["work", "root", "home", "Users"].map(|folder| format!("/{folder}"));
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let found = folders.iter().any(|folder| {
            line.match_indices(folder.as_str()).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let after = line[at + folder.len()..].chars().next();
                let begins = before.is_none_or(|c| !c.is_alphanumeric() && !"/._-}~*".contains(c));
                begins && after == Some('/')
            })
        });
        if found {
            faults.push(format!(
                "{}:{}: a path of one machine",
                file.path,
                index + 1
            ));
        }
    }
    faults
}

pub fn glossary(tree: &Tree) -> Vec<String> {
    let Some(glossary) = tree.files().find(|file| file.path == "GLOSSARY.md") else {
        return vec!["GLOSSARY.md is not there".to_owned()];
    };
    let spoken = tree
        .files()
        .filter(|file| SPOKEN.contains(&file.path.as_str()));
    spoken
        .flat_map(|file| file.text.lines())
        .filter_map(word_of_row)
        .filter(|word| !glossary.text.contains(&format!("`{word}`")))
        .map(|word| format!("GLOSSARY.md does not have `{word}`"))
        .collect()
}

/// The word in a row `Self::X => "word",`; kinds of events are names, not words.
fn word_of_row(line: &str) -> Option<&str> {
    let (_, rest) = line.trim().strip_prefix("Self::")?.split_once(" => \"")?;
    let word = rest.strip_suffix("\",")?;
    word.starts_with(|c: char| c.is_ascii_lowercase())
        .then_some(word)
}

pub fn synonyms(file: &File) -> Vec<String> {
    // Why the second: it is the page that says what the words of others are here.
    if ["GLOSSARY.md", "docs/concepts/words.md"].contains(&file.path.as_str()) {
        return Vec::new();
    }
    let mut faults = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        let words = line
            .split(|c: char| !c.is_alphanumeric())
            .map(str::to_lowercase);
        for word in words.filter(|word| SYNONYMS.contains(&word.as_str())) {
            faults.push(format!(
                "{}:{}: `{word}`: see GLOSSARY.md",
                file.path,
                index + 1
            ));
        }
    }
    faults
}
