//! The shape of types: how many methods one has.

use std::collections::BTreeMap;

use crate::tree::{File, Tree, before_tests};

const METHODS_MAX: usize = 60;

/// Types that have more methods, until they are parted.
const LARGE: [(&str, &str); 1] = [("provost-engine", "Store")];

/// The types of each crate with more methods than one may have, trait implementations excepted.
pub fn many_methods(tree: &Tree) -> Vec<String> {
    let mut counts: BTreeMap<(&str, String), usize> = BTreeMap::new();
    for file in tree.sources() {
        let Some(of) = crate_of(file) else {
            continue;
        };
        for name in methods(file) {
            *counts.entry((of, name)).or_default() += 1;
        }
    }
    let many = counts.into_iter().filter(|((of, name), count)| {
        *count > METHODS_MAX && !LARGE.contains(&(*of, name.as_str()))
    });
    many.map(|((of, name), count)| {
        format!("{of}: `{name}` has {count} methods, at most {METHODS_MAX}")
    })
    .collect()
}

fn crate_of(file: &File) -> Option<&str> {
    file.path.strip_prefix("crates/")?.split('/').next()
}

/// The type of each method in a file, once for each.
fn methods(file: &File) -> Vec<String> {
    let mut of: Option<String> = None;
    let mut found = Vec::new();
    for (_, line) in before_tests(&file.text) {
        if line.starts_with("impl") {
            of = type_of(line);
        } else if line == "}" {
            of = None;
        }
        if let Some(name) = &of
            && is_method(line)
        {
            found.push(name.clone());
        }
    }
    found
}

/// The type that an `impl` is of, unless it is of a trait.
fn type_of(line: &str) -> Option<String> {
    let rest = line.strip_prefix("impl")?;
    let rest = match rest.strip_prefix('<') {
        Some(generics) => generics.split_once("> ")?.1,
        None => rest.trim_start(),
    };
    let is_trait = rest.contains(" for ");
    let name = rest.split(['<', ' ', '{']).next()?;
    let name = name.rsplit("::").next()?;
    (!is_trait && !name.is_empty()).then(|| name.to_owned())
}

fn is_method(line: &str) -> bool {
    let Some(item) = line.strip_prefix("    ").filter(|l| !l.starts_with(' ')) else {
        return false;
    };
    let item = match item.strip_prefix("pub(") {
        Some(rest) => rest.split_once(") ").map_or("", |(_, item)| item),
        None => item,
    };
    let mut words = item.split_whitespace();
    let word = words.find(|word| !["pub", "const", "async", "unsafe"].contains(word));
    word == Some("fn")
}
