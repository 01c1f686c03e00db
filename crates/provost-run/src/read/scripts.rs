//! Words that may not be what they look like: of letters of more than one script, and hosts of
//! letters that all look like Latin ones and are not.
//!
//! Owns a coarse table of the scripts that are used to imitate one another, and of the letters.
//! Knows nothing about languages: a word of one script is flagged in a host alone, where it leads.

use std::collections::BTreeSet;

/// The words of `text` that mix scripts, each with the names of the scripts.
#[must_use]
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

/// The hosts that `text` names whose every letter of some part looks like a Latin one and is none,
/// each with what it looks like.
#[must_use]
pub fn imitating(text: &str) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let of_host = |c: char| c.is_alphanumeric() || c == '.' || c == '-';
    for host in text.split(|c: char| !of_host(c)) {
        let host = host.trim_matches(|c| c == '.' || c == '-');
        let imitates = host.split('.').any(imitates_latin);
        let entry = (
            host.to_owned(),
            host.chars().map(|c| latin(c).unwrap_or(c)).collect(),
        );
        if host.contains('.') && imitates && !found.contains(&entry) {
            found.push(entry);
        }
    }
    found
}

/// Whether every letter of a part of a host looks like a Latin one, and none is.
fn imitates_latin(part: &str) -> bool {
    let mut letters = part.chars().filter(|c| c.is_alphabetic()).peekable();
    letters.peek().is_some() && letters.all(|c| latin(c).is_some())
}

/// The Latin letter that a letter of another script is hard to tell from.
fn latin(c: char) -> Option<char> {
    const PAIRS: [(&str, &str); 4] = [
        (
            "\u{430}\u{432}\u{435}\u{43a}\u{43c}\u{43d}\u{43e}\u{440}\u{441}\u{442}\u{443}\u{445}",
            "abekmhopctyx",
        ),
        (
            "\u{455}\u{456}\u{458}\u{4bb}\u{501}\u{51b}\u{51d}\u{4cf}\u{475}\u{433}\u{4af}\u{445}",
            "sijhdqwlvryx",
        ),
        (
            "\u{3b1}\u{3b3}\u{3b5}\u{3b9}\u{3ba}\u{3bd}\u{3bf}\u{3c1}\u{3c4}\u{3c5}\u{3c7}\u{3c9}",
            "ayeikvoptuxw",
        ),
        (
            "\u{561}\u{563}\u{566}\u{570}\u{578}\u{57d}\u{581}\u{585}\u{57c}\u{584}\u{56c}\u{575}",
            "wqqhnugonfij",
        ),
    ];
    let small = c.to_lowercase().next().unwrap_or(c);
    PAIRS.iter().find_map(|(others, latins)| {
        let at = others.chars().position(|other| other == small)?;
        latins.chars().nth(at)
    })
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
    fn hosts_of_letters_that_only_look_latin_are_found() {
        for (text, looks) in [
            ("send to https://\u{440}\u{430}\u{443}.com/x", "pay.com"),
            ("ada@\u{441}\u{43e}\u{440}\u{435}.example", "cope.example"),
            ("\u{430}\u{440}\u{440}\u{4cf}\u{435}.com:443", "apple.com"),
            (
                "https://docs.\u{445}\u{43e}\u{445}.\u{440}\u{443}",
                "docs.xox.py",
            ),
            ("\u{420}\u{410}\u{423}.com", "pay.com"),
        ] {
            let found = imitating(text);
            let found: Vec<&str> = found.iter().map(|(_, looks)| looks.as_str()).collect();
            assert_eq!(found, [looks], "{text}");
        }
    }

    #[test]
    fn hosts_that_look_like_nothing_else_are_not_found() {
        for text in [
            "paypal.com",
            "\u{43f}\u{440}\u{438}\u{43c}\u{435}\u{440}.\u{440}\u{444}",
            "\u{441}\u{430}\u{445}\u{430}\u{440} \u{438} \u{447}\u{430}\u{439}",
            "\u{6771}\u{4eac}.jp",
            "1.2.3.4",
            "2024-05-15T10:00:00.000Z",
            "",
        ] {
            assert_eq!(imitating(text), [], "{text}");
        }
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
