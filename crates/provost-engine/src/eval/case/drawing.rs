//! Words and numbers that are drawn by a key.
//!
//! Owns their form: letters for letters, digits for digits. Knows nothing of cases. INVARIANT: no
//! two that one drawing gives are alike, and none is a value that it was told to leave out.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

/// Most draws for a replacement that nothing else has.
const DRAWS_MAX: u32 = 200;

/// Replacements that are drawn one after the other, no two alike.
pub(super) struct Drawing<'k> {
    key: &'k [u8],
    taken: BTreeSet<String>,
}

impl<'k> Drawing<'k> {
    /// Draws by a key, and none of these.
    pub(super) fn by(key: &'k [u8], taken: BTreeSet<String>) -> Self {
        Self { key, taken }
    }

    /// Draws none of these either.
    pub(super) fn leaves_out(&mut self, taken: impl IntoIterator<Item = String>) {
        self.taken.extend(taken);
    }

    pub(super) fn word(&mut self, word: &str) -> String {
        self.fresh(word, pronounced)
    }

    pub(super) fn digits(&mut self, digits: &str) -> String {
        self.fresh(digits, counted)
    }

    fn fresh(&mut self, old: &str, draw: fn(&str, &[u8]) -> String) -> String {
        let mut fresh = String::new();
        for n in 0..DRAWS_MAX {
            let count = old.chars().count();
            fresh = draw(old, &self.chance(old, n, count));
            if self.taken.insert(fresh.clone()) {
                break;
            }
        }
        // Why not for ever: of two letters there are few words, and the replay judges.
        fresh
    }

    fn chance(&self, old: &str, n: u32, most: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for block in 0_u32.. {
            if bytes.len() >= most {
                break;
            }
            let mut hash = Sha256::new();
            hash.update(self.key);
            hash.update(n.to_be_bytes());
            hash.update(block.to_be_bytes());
            hash.update(old.as_bytes());
            bytes.extend_from_slice(&hash.finalize());
        }
        bytes
    }
}

const VOWELS: &[u8] = b"aeiou";
const CONSONANTS: &[u8] = b"bcdfghjklmnpqrstvwxyz";
const HEX_LETTERS: &[u8] = b"abcdef";
const DIGITS: &[u8] = b"0123456789";

/// A word that can be spoken, digits where digits were. What may be hexadecimal stays so.
fn pronounced(word: &str, chance: &[u8]) -> String {
    let has_digit = word.contains(|letter: char| letter.is_ascii_digit());
    let is_hex = has_digit && word.chars().all(|letter| letter.is_ascii_hexdigit());
    let letters = word.chars().zip(chance).enumerate();
    let letters = letters.map(|(at, (letter, byte))| match letter {
        _ if letter.is_numeric() => of_set(DIGITS, *byte),
        _ if is_hex => of_set(HEX_LETTERS, *byte),
        _ if at % 2 == 0 => of_set(CONSONANTS, *byte),
        _ => of_set(VOWELS, *byte),
    });
    letters.collect()
}

/// A number of as many digits: a zero at its beginning stays, and nothing becomes one there.
fn counted(digits: &str, chance: &[u8]) -> String {
    // Why: the largest numbers of 64 bits begin with 1.
    let most = if digits.len() >= 19 { 1 } else { 9 };
    let all = digits.chars().zip(chance).enumerate();
    let all = all.map(|(at, (digit, byte))| match (at, digit) {
        (0, '0') => '0',
        (0, _) => of_set(DIGITS.get(1..=most).unwrap_or(DIGITS), *byte),
        _ => of_set(DIGITS, *byte),
    });
    all.collect()
}

fn of_set(set: &[u8], byte: u8) -> char {
    let at = usize::from(byte) % set.len().max(1);
    set.get(at).map_or('x', |letter| char::from(*letter))
}
