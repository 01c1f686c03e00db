//! Prose of the pages for people: short sentences, and none of the phrases that say nothing.

use crate::tree::{File, Tree};

/// The most words of a sentence, and the most of the mean of all pages.
pub const WORDS_MAX: usize = 25;
const MEAN_MAX: usize = 13;

/// Phrases for which there is a plainer one.
const BANNED: [&str; 36] = [
    "albeit",
    "as well as",
    "basically",
    "best-in-class",
    "blazing",
    "come to nothing",
    "comes to nothing",
    "culprit",
    "cutting-edge",
    "due to the fact",
    "e.g.",
    "easily",
    "effortless",
    "etc.",
    "golden run",
    "i.e.",
    "in order to",
    "is heard of",
    "is told",
    "kill switch",
    "leverage",
    "look whether",
    "note that",
    "nobody vouches",
    "obviously",
    "of course",
    "out of the box",
    "please",
    "powerful",
    "prior to",
    "robust",
    "seamless",
    "simply",
    "under the hood",
    "utilize",
    "whoever",
];

/// The pages that the style holds for: what is generated, and records of decisions, are others.
pub fn pages(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.pages().filter(|file| {
        let path = file.path.as_str();
        let is_doc = path.starts_with("docs/") && !path.starts_with("docs/design/");
        path == "README.md" || is_doc
    })
}

pub fn faults(file: &File) -> Vec<String> {
    let mut faults = Vec::new();
    for sentence in sentences(&file.text) {
        let count = words(&sentence);
        if count > WORDS_MAX {
            faults.push(format!("{}: {count} words: {sentence}", file.path));
        }
        let lower = format!(" {} ", sentence.to_lowercase());
        for phrase in BANNED {
            let found = lower.match_indices(phrase).any(|(at, _)| {
                let letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
                let before = lower.get(..at).and_then(|text| text.chars().next_back());
                let after = lower.get(at + phrase.len()..);
                !letter(before) && !letter(after.and_then(|text| text.chars().next()))
            });
            if found {
                faults.push(format!("{}: `{phrase}`: {sentence}", file.path));
            }
        }
    }
    faults
}

/// The mean of a page's words a sentence is bounded over all pages, not of each.
pub fn mean<'a>(files: impl Iterator<Item = &'a File>) -> Vec<String> {
    let counts: Vec<usize> = files
        .flat_map(|file| sentences(&file.text))
        .map(|sentence| words(&sentence))
        .collect();
    let sum: usize = counts.iter().sum();
    let too_long = sum > MEAN_MAX * counts.len();
    let found = too_long.then(|| format!("{sum} words in {} sentences", counts.len()));
    found.into_iter().collect()
}

fn words(sentence: &str) -> usize {
    let words = sentence.split_whitespace();
    words
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .count()
}

/// The sentences outside of blocks, tables and headings; code counts as one word.
fn sentences(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut paragraph = String::new();
    let mut ends: Option<&str> = None;
    for line in text.lines().chain([""]) {
        let line = line.trim();
        if let Some(end) = ends {
            if line == end || (end == "-->" && line.ends_with(end)) {
                ends = None;
            }
            continue;
        }
        if line.starts_with("```") {
            ends = Some("```");
        } else if line.starts_with("<!--") && !line.ends_with("-->") {
            ends = Some("-->");
        }
        let other = ["```", "<!--", "#", "|", "!["];
        let is_over = line.is_empty() || other.iter().any(|start| line.starts_with(start));
        let item = item(line);
        if is_over || item.is_some() {
            split(&plain(&paragraph), &mut all);
            paragraph.clear();
        }
        if !is_over {
            paragraph += item.unwrap_or(line);
            paragraph.push(' ');
        }
    }
    all
}

/// The text of an item of a list.
fn item(line: &str) -> Option<&str> {
    let number = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let marked = line.strip_prefix("- ").or(line.strip_prefix("* "));
    marked.or(number.strip_prefix(". ").filter(|_| number != line))
}

/// Without markup: `code` is one word, and of a link its text is left.
fn plain(paragraph: &str) -> String {
    let mut text = String::new();
    for (index, part) in paragraph.split('`').enumerate() {
        text += if index % 2 == 0 { part } else { "CODE" };
    }
    let mut links = text.split("](");
    let mut plain = links.next().unwrap_or_default().to_owned();
    for link in links {
        plain += link.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain.replace(['[', ']', '*'], "")
}

/// Ends a sentence at `.`, `!`, `?` and `:` before a space, and an item of a line of links at `·`.
fn split(paragraph: &str, into: &mut Vec<String>) {
    let mut sentence = String::new();
    for word in paragraph.split_whitespace() {
        let bare = word.trim_end_matches(['"', '”', ')', '›']);
        sentence += word;
        sentence.push(' ');
        if bare.ends_with(['.', '!', '?', ':', '·']) {
            into.push(std::mem::take(&mut sentence));
        }
    }
    if !sentence.is_empty() {
        into.push(sentence);
    }
}
