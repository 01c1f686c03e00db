//! Names and what a file says of itself.

use crate::tree::{File, Tree};

/// Parts of names that say nothing.
const EMPTY: [&str; 6] = ["Manager", "Util", "Utils", "Common", "Helper", "Context"];
/// Words for which the glossary has another.
const OTHERS: [&str; 8] = [
    "Workflow",
    "Dag",
    "Todo",
    "Taint",
    "Strategy",
    "Plugin",
    "Skill",
    "Confirmation",
];
const FILES: [&str; 7] = [
    "util.rs",
    "utils.rs",
    "common.rs",
    "helper.rs",
    "helpers.rs",
    "misc.rs",
    "manager.rs",
];

pub fn module_docs(file: &File) -> Vec<String> {
    let said = file.text.trim_start().starts_with("//! ");
    let fault = format!("{}: does not begin with what it owns (`//! …`)", file.path);
    if said { Vec::new() } else { vec![fault] }
}

pub fn banned(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    let name = file.path.rsplit('/').next().unwrap_or_default();
    if FILES.contains(&name) || name.ends_with("_util.rs") || name.ends_with("_utils.rs") {
        faults.push(format!("{}: a file name that says nothing", file.path));
    }
    for (index, line) in file.text.lines().enumerate() {
        let Some(name) = defined_type(line) else {
            continue;
        };
        let words = camel_words(name);
        let bad = words
            .iter()
            .any(|word| EMPTY.contains(&word.as_str()) || OTHERS.contains(&word.as_str()));
        if bad {
            faults.push(format!("{}:{}: the name `{name}`", file.path, index + 1));
        }
    }
    faults
}

/// The name of the type that a line defines.
pub fn defined_type(line: &str) -> Option<&str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let kind = |word: &&str| matches!(*word, "struct" | "enum" | "trait" | "type");
    let at = words.iter().position(kind)?;
    if !words[..at]
        .iter()
        .all(|word| word.starts_with("pub") || *word == "unsafe")
    {
        return None;
    }
    let name = words.get(at + 1)?;
    name.split(|c: char| !c.is_alphanumeric()).next()
}

fn camel_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for c in name.chars() {
        match words.last_mut() {
            Some(word) if !c.is_uppercase() => word.push(c),
            _ => words.push(c.to_string()),
        }
    }
    words
}

pub fn ignored(file: &File) -> Vec<String> {
    let bare = ["#[", "ignore]"].concat();
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| line.trim() == bare)
        .map(|(index, _)| format!("{}:{}: ignored without a reason", file.path, index + 1))
        .collect()
}

/// Source files that no other file names as its module.
pub fn dead_files(tree: &Tree) -> Vec<String> {
    tree.sources()
        .filter(|file| {
            let (folder, name) = file.path.rsplit_once('/').unwrap_or_default();
            let root = ["lib.rs", "main.rs"].contains(&name) || folder.ends_with("/bin");
            !root && !is_named(tree, folder, name)
        })
        .map(|file| format!("{}: no `mod` names it", file.path))
        .collect()
}

fn is_named(tree: &Tree, folder: &str, name: &str) -> bool {
    let (module, parents) = match name {
        "mod.rs" => {
            let (above, module) = folder.rsplit_once('/').unwrap_or_default();
            (
                module,
                [
                    format!("{above}/lib.rs"),
                    format!("{above}/main.rs"),
                    format!("{above}.rs"),
                ],
            )
        }
        _ => {
            let main = if tree.has(&format!("{folder}/main.rs")) {
                "main"
            } else {
                "mod"
            };
            let module = name.trim_end_matches(".rs");
            let parents = [
                format!("{folder}/lib.rs"),
                format!("{folder}/{main}.rs"),
                format!("{folder}.rs"),
            ];
            (module, parents)
        }
    };
    let wanted = format!("mod {module};");
    let mut files = tree.files().filter(|file| parents.contains(&file.path));
    files.any(|file| {
        file.text
            .lines()
            .any(|line| line.trim_end().ends_with(&wanted))
    })
}
