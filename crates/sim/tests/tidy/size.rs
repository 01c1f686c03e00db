//! Sizes: of files, functions and lines.

use crate::tree::{File, before_tests};

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;
const LINE_CHARS_MAX: usize = 100;

/// Functions that are one uniform match or list, by the file and the line they begin with.
const UNIFORM: [(&str, &str); 3] = [
    (
        "crates/provost-run/src/state/fold.rs",
        "pub(super) fn apply(",
    ),
    ("crates/sim/src/incident/cause.rs", "pub fn facts("),
    ("crates/sim/src/incident/variant.rs", "pub fn twenty("),
];

pub fn file_lines(file: &File) -> Vec<String> {
    let lines = before_tests(&file.text).count();
    let fault = format!("{}: {lines} lines, at most {FILE_LINES_MAX}", file.path);
    if lines > FILE_LINES_MAX {
        vec![fault]
    } else {
        Vec::new()
    }
}

pub fn function_lines(file: &File) -> Vec<String> {
    let lines: Vec<(usize, &str)> = before_tests(&file.text).collect();
    let mut faults = Vec::new();
    for (index, (number, line)) in lines.iter().enumerate() {
        let Some(indent) = function_indent(line) else {
            continue;
        };
        let close = format!("{}}}", " ".repeat(indent));
        let rest = &lines[index + 1..];
        // Why: a declaration or a function on one line has no closing line of its own.
        let end = rest.iter().find(|(_, line)| {
            *line == close || function_indent(line).is_some_and(|other| other <= indent)
        });
        let uniform = UNIFORM
            .iter()
            .any(|(path, begin)| *path == file.path && line.trim_start().starts_with(begin));
        if let Some((end, line)) = end
            && !uniform
            && *line == close
            && end - number + 1 > FUNCTION_LINES_MAX
        {
            let length = end - number + 1;
            faults.push(format!(
                "{}:{number}: a function of {length} lines, at most {FUNCTION_LINES_MAX}",
                file.path
            ));
        }
    }
    faults
}

/// The indent of a line that begins a function.
fn function_indent(line: &str) -> Option<usize> {
    let trimmed = line.trim_start();
    let words: Vec<&str> = trimmed.split_whitespace().take(5).collect();
    let at = words.iter().position(|word| *word == "fn")?;
    let modifiers = words[..at].iter();
    let all = modifiers
        .copied()
        .all(|word| matches!(word, "async" | "const" | "unsafe") || word.starts_with("pub"));
    all.then_some(line.len() - trimmed.len())
}

pub fn line_width(file: &File) -> Vec<String> {
    before_tests(&file.text)
        .filter(|(_, line)| line.chars().count() > LINE_CHARS_MAX)
        .filter(|(_, line)| !line.trim_start().starts_with("//! |"))
        .map(|(number, _)| {
            format!(
                "{}:{number}: wider than {LINE_CHARS_MAX} characters",
                file.path
            )
        })
        .collect()
}
