//! Which name was surely meant where another stands.
//!
//! Owns the judgment between a slip of the hand and another word. Never looks at what a name stands
//! for. INVARIANT: a name that could be a word of its own is not taken for another one misspelt.

use std::collections::BTreeSet;

use crate::limits::SUGGESTION_BYTES_MAX;

/// How many letters another name may differ in for it to be a rival of the one that is meant.
const RIVAL: usize = 2;
/// Fewest letters of what is written and of what is meant, if one letter is too many or missing.
const LETTERS_MIN: (usize, usize) = (3, 4);
/// Fewest letters of a word in which two neighbours are exchanged: `form` is not `from`.
const EXCHANGED_MIN: usize = 5;
/// Fewest letters of a word in which one stands for another: `data` is not `date`.
const REPLACED_MIN: usize = 6;

/// The one of `known` that `given` surely means: nothing else is near, and the two differ only in
/// case, `_` and `-`, or in one slip inside one of their words.
///
/// Why so strict: a fix is written without a person's word. `v1` is not `v2` misspelt, `user_a` not
/// `user_b`, nor `cc` `bcc`: digits and first letters must agree, and short words are left alone.
#[must_use]
pub(crate) fn surely<'a>(given: &str, known: &[&'a str]) -> Option<&'a str> {
    // Why: a name of that length is no slip of anything, and comparing takes long.
    if given.len() > SUGGESTION_BYTES_MAX {
        return None;
    }
    let distance = |name: &str| strsim::damerau_levenshtein(given, name);
    let near: BTreeSet<&str> = known
        .iter()
        .copied()
        .filter(|name| *name != given && (distance(name) <= RIVAL || alike(given, name)))
        .collect();
    let mut near = near.into_iter();
    let (Some(only), None) = (near.next(), near.next()) else {
        return None;
    };
    let digits = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    let sure = alike(given, only) || is_slip(given, only);
    (sure && digits(given) == digits(only)).then_some(only)
}

fn alike(a: &str, b: &str) -> bool {
    let bare = |name: &str| -> String {
        let letters = name.chars().filter(|c| !matches!(c, '_' | '-'));
        letters.flat_map(char::to_lowercase).collect()
    };
    bare(a) == bare(b)
}

/// Whether two names differ in one word, and there in one letter.
fn is_slip(given: &str, meant: &str) -> bool {
    let whole = (given.chars().count(), meant.chars().count());
    let (given, meant) = (words(given), words(meant));
    if given.len() != meant.len() {
        return false;
    }
    let mut differ = given.iter().zip(&meant).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differ.next(), differ.next()) else {
        return false;
    };
    let letters = match is_doubled(a, b) {
        true => whole,
        false => (a.chars().count(), b.chars().count()),
    };
    let long = match letters.0.cmp(&letters.1) {
        std::cmp::Ordering::Equal if is_exchange(a, b) => letters.0 >= EXCHANGED_MIN,
        std::cmp::Ordering::Equal => letters.0 >= REPLACED_MIN,
        _ => letters.0 >= LETTERS_MIN.0 && letters.1 >= LETTERS_MIN.1,
    };
    long && a.chars().next() == b.chars().next() && strsim::damerau_levenshtein(a, b) == 1
}

/// Whether one word is the other with a letter twice: that makes hardly ever another word.
fn is_doubled(a: &str, b: &str) -> bool {
    let single = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.dedup();
        letters
    };
    a.len() != b.len() && single(a) == single(b)
}

/// Whether one name is the other in the plural.
pub(super) fn is_plural(one: &str, two: &str) -> bool {
    let (one, two) = (words(one), words(two));
    let mut differ = one.iter().zip(&two).filter(|(a, b)| a != b);
    let (Some((a, b)), None) = (differ.next(), differ.next()) else {
        return false;
    };
    one.len() == two.len() && [(a, b), (b, a)].iter().any(|(a, b)| format!("{a}s") == **b)
}

/// Whether two words of one length have the same letters.
fn is_exchange(a: &str, b: &str) -> bool {
    let sorted = |word: &str| {
        let mut letters: Vec<char> = word.chars().collect();
        letters.sort_unstable();
        letters
    };
    sorted(a) == sorted(b)
}

/// The words of a name: of `open_issues`, `open-issues` and `openIssues` the same.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_small = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || (before_is_small && c.is_uppercase()) {
            words.push(String::new());
        }
        before_is_small = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_surely_meant() {
        for (given, known, meant) in [
            ("totl", vec!["total", "max"], Some("total")),
            ("Total", vec!["total"], Some("total")),
            ("openIssues", vec!["open_issues"], Some("open_issues")),
            ("open_isues", vec!["open_issues"], Some("open_issues")),
            ("arg", vec!["args", "accept"], Some("args")),
            ("totla", vec!["total"], Some("total")),
            ("look.upp", vec!["look.up"], Some("look.up")),
            ("recipuent", vec!["recipient"], Some("recipient")),
            // Two are near.
            ("user_c", vec!["user_a", "user_b"], None),
            ("reads", vec!["read", "ready"], None),
            // Another number, another field, two letters off, nothing near.
            ("page2", vec!["page1"], None),
            ("cc", vec!["bcc"], None),
            ("increase", vec!["decrease"], None),
            ("zebra", vec!["total"], None),
            ("total", vec!["total"], None),
            // A short word of a longer name is another word, not a slip.
            ("user_b", vec!["user_a"], None),
            ("read_eu", vec!["read_us"], None),
            ("order_id", vec!["order_ids"], None),
            // Another word of the language.
            ("data", vec!["date"], None),
            ("from", vec!["form"], None),
            ("weight", vec!["height"], None),
            ("typical", vec!["atypical"], None),
        ] {
            assert_eq!(surely(given, &known), meant, "{given} of {known:?}");
        }
    }

    #[test]
    fn a_plural_is_known() {
        for (one, two, plural) in [
            ("move", "moves", true),
            ("moves", "move", true),
            ("read_issue", "read_issues", true),
            ("count", "cont", false),
            ("page", "page", false),
        ] {
            assert_eq!(is_plural(one, two), plural, "{one} {two}");
        }
    }
}
