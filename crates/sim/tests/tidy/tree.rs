//! The files of the repository, as text.

use std::fs;
use std::path::Path;

/// A file.
pub struct File {
    /// Its path from the root, with `/`.
    pub path: String,
    pub text: String,
}

/// All files that are committed or could be.
pub struct Tree {
    files: Vec<File>,
}

/// A file for a control.
pub fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

impl Tree {
    pub fn of_repository() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        walk(&root, "", &mut files);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files }
    }

    /// A tree for a control.
    pub fn of(files: &[(&str, &str)]) -> Self {
        Self {
            files: files.iter().map(|(path, text)| file(path, text)).collect(),
        }
    }

    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// Every Rust file.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".rs"))
    }

    /// Rust files that ship, without files of tests alone.
    pub fn sources(&self) -> impl Iterator<Item = &File> {
        self.rust().filter(|file| {
            file.path.contains("/src/")
                && !file.path.ends_with("/tests.rs")
                && !file.path.contains("/tests/")
        })
    }

    /// Pages for people.
    pub fn pages(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.path.ends_with(".md"))
    }

    pub fn has(&self, path: &str) -> bool {
        self.files
            .iter()
            .any(|file| file.path == path || file.path.starts_with(&format!("{path}/")))
    }
}

fn walk(root: &Path, at: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(root.join(at)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if at.is_empty() {
            name.clone()
        } else {
            format!("{at}/{name}")
        };
        let kind = entry.file_type().unwrap();
        // Why: what git ignores is nobody's style, and the data of the examples is generated.
        let ignored = matches!(name.as_str(), ".git" | "target" | ".provost" | "data");
        if kind.is_dir() && !ignored {
            walk(root, &path, files);
        } else if kind.is_file()
            && name != "Cargo.lock"
            && !ignored
            && let Ok(text) = text_of(&entry.path())
        {
            files.push(File { path, text });
        }
    }
}

/// The text of a file; a picture has none, and is there all the same.
fn text_of(path: &Path) -> std::io::Result<String> {
    if path.extension().is_some_and(|end| end == "png") {
        return Ok(String::new());
    }
    fs::read_to_string(path)
}

/// The part of a source file before its tests.
pub fn before_tests(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let tests = lines.windows(2).position(|pair| {
        pair[0].starts_with("#[cfg(test)]") && pair[1].starts_with("mod ") && pair[1].ends_with('{')
    });
    let end = tests.unwrap_or(lines.len());
    lines
        .into_iter()
        .take(end)
        .enumerate()
        .map(|(index, line)| (index + 1, line))
}
