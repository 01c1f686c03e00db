//! Words whose letters come from more than one script: they may not be what they look like.
//!
//! Owns a coarse table of the scripts that are used to imitate one another. Knows nothing about
//! languages: a word of one script is never flagged, whatever the script.

use std::collections::BTreeSet;

/// The words of `text` that mix scripts, each with the names of the scripts.
pub fn mixed(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let scripts: BTreeSet<&str> = word.chars().filter_map(script).collect();
        let entry = (
            word.to_owned(),
            scripts.iter().copied().collect::<Vec<_>>().join(" and "),
        );
        if is_suspect(&scripts) && !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// Whether scripts together in one word are unusual; Japanese and Korean mix theirs.
fn is_suspect(scripts: &BTreeSet<&str>) -> bool {
    let east_asian = ["Han", "Hiragana", "Katakana", "Hangul"];
    scripts.len() > 1 && !scripts.iter().all(|script| east_asian.contains(script))
}

fn script(c: char) -> Option<&'static str> {
    let name = match u32::from(c) {
        0x41..=0x5a | 0x61..=0x7a | 0xaa | 0xba | 0xc0..=0x24f | 0x1e00..=0x1eff => "Latin",
        0x250..=0x2af => "phonetic",
        0x370..=0x3ff | 0x1f00..=0x1fff => "Greek",
        0x400..=0x52f | 0x1c80..=0x1c8f | 0x2de0..=0x2dff | 0xa640..=0xa69f => "Cyrillic",
        0x530..=0x58f => "Armenian",
        0x590..=0x5ff => "Hebrew",
        0x600..=0x6ff | 0x750..=0x77f | 0x8a0..=0x8ff => "Arabic",
        0x900..=0x97f => "Devanagari",
        0xe00..=0xe7f => "Thai",
        0x10a0..=0x10ff | 0x2d00..=0x2d2f => "Georgian",
        0x13a0..=0x13ff | 0xab70..=0xabbf => "Cherokee",
        0x3040..=0x309f => "Hiragana",
        0x30a0..=0x30ff => "Katakana",
        0x3400..=0x4dbf | 0x4e00..=0x9fff => "Han",
        0x1100..=0x11ff | 0xac00..=0xd7af => "Hangul",
        0x2100..=0x214f => "letterlike",
        0xff21..=0xff3a | 0xff41..=0xff5a => "full-width",
        0x1d400..=0x1d7ff => "mathematical",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_mixed_scripts_are_found() {
        let found = mixed("pay p\u{430}ypal.com and \u{3b1}dmin today");
        let words: Vec<String> = found
            .into_iter()
            .map(|(w, s)| format!("{w}: {s}"))
            .collect();
        assert_eq!(
            words,
            [
                "p\u{430}ypal: Cyrillic and Latin",
                "\u{3b1}dmin: Greek and Latin"
            ]
        );
    }

    #[test]
    fn words_of_one_script_are_not() {
        for text in [
            "naïve café",
            "привет мир",
            "東京タワー",
            "abc123",
            "a/б",
            "x_у",
        ] {
            assert_eq!(mixed(text), [], "{text}");
        }
    }
}
