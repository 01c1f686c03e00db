//! Markup: no way by which a text of a run could become markup or script in a page.

use crate::tree::Tree;

const CRATE: &str = "crates/provost-server/";

/// What must not stand in templates, scripts and the code of pages, and what it would do.
const BANNED: [(&str, &str); 9] = [
    ("|safe", "takes the escaping from a text"),
    ("| safe", "takes the escaping from a text"),
    ("innerHTML", "makes markup of a text"),
    ("outerHTML", "makes markup of a text"),
    ("insertAdjacentHTML", "makes markup of a text"),
    ("document.write", "makes markup of a text"),
    ("eval(", "makes a script of a text"),
    (" style=", "is refused by the policy of the pages"),
    ("javascript:", "is a script in an address"),
];

pub fn ways(tree: &Tree) -> Vec<String> {
    let shown = |path: &str| {
        path.starts_with(CRATE)
            && !path.contains("/tests")
            && [".html", ".js", ".rs"]
                .iter()
                .any(|end| path.ends_with(end))
    };
    let files = tree.files().filter(|file| shown(&file.path));
    files
        .flat_map(|file| faults(&file.path, &file.text))
        .collect()
}

fn faults(path: &str, text: &str) -> Vec<String> {
    // Why not of tests: they name what must not come out.
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found: Vec<String> = BANNED
        .iter()
        .filter(|(banned, _)| text.contains(banned))
        .map(|(banned, why)| format!("{path}: `{banned}` {why}"))
        .collect();
    if path.ends_with(".html") {
        let handler = text.split(" on").skip(1).any(|rest| {
            let name: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            !name.is_empty() && rest[name.len()..].starts_with('=')
        });
        if handler {
            found.push(format!("{path}: a handler in an attribute"));
        }
        let inline = text
            .split("<script")
            .skip(1)
            .any(|rest| !rest.contains(" src="));
        if inline {
            found.push(format!("{path}: a script of its own"));
        }
    }
    found
}

/// The control: each of them is found where it stands, and the like of it is not.
pub fn planted() -> Vec<String> {
    let mut missed: Vec<String> = BANNED
        .iter()
        .filter(|(banned, _)| faults("a.rs", &format!("x{banned}y")).len() != 1)
        .map(|(banned, _)| format!("`{banned}` is not found"))
        .collect();
    for (page, count) in [
        ("<a onclick=\"x\">", 1),
        ("<script>x</script>", 1),
        ("<script src=\"/a.js\"></script> on the page", 0),
        ("<p>safe | style</p>", 0),
    ] {
        if faults("a.html", page).len() != count {
            missed.push(format!("{page}: {:?}", faults("a.html", page)));
        }
    }
    missed
}
