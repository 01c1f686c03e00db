//! What stands in a case for whoever its run was about.
//!
//! Owns which values are replaced and by what. Keeps no value that it replaced longer than the case
//! takes to make, and no key to come back by. INVARIANT: equal values become equal ones, of as many
//! characters, letters for letters and digits for digits; no replacement is a value that stood in
//! the run or a word of the rules.

use std::collections::{BTreeMap, BTreeSet};

use provost_wire::Redactor;
use serde_json::{Map, Number, Value};

use super::drawing::Drawing;
use super::pieces::{TextPiece, pieces};

/// Fewest digits of a number, and of a row of them in the rules, that is no amount.
const NUMBER_MIN: usize = 9;
/// Fewest digits of a number that is replaced where it is a secret: a smaller one tells little, and
/// stands for much else.
const SECRET_NUMBER_MIN: usize = 4;
/// Fewest bytes of a value that is looked for in all forms: a shorter one stands by chance.
const FORMS_MIN: usize = 6;
/// Fewest letters of a word that is looked for: of shorter ones there are too few for all.
const WORD_MIN: usize = 4;

/// How many different values were replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplacedCounts {
    /// People, by id.
    pub people: usize,
    /// Mail addresses.
    pub mails: usize,
    /// Long numbers.
    pub numbers: usize,
    /// Texts with a word that the rules do not have.
    pub texts: usize,
    /// Values that are secret.
    pub secrets: usize,
}

/// What a case is made of, as far as it may name somebody.
#[derive(Debug, Default)]
pub(super) struct Material {
    /// Everybody whom the rules name, or who said something.
    people: BTreeSet<String>,
    /// The words of their ids.
    names: BTreeSet<String>,
    /// Those of people whom the rules name.
    listed: BTreeSet<String>,
    /// People whom the rules do not name.
    unlisted: BTreeSet<String>,
    mails: BTreeSet<String>,
    mail_words: BTreeSet<String>,
    digits: BTreeSet<String>,
    words: BTreeSet<String>,
    /// Words of the rules, and of values that can be nothing else.
    kept: BTreeSet<String>,
    texts: BTreeSet<String>,
    /// Texts and numbers that are secret.
    secrets: BTreeSet<String>,
    /// The words of those texts.
    secret_words: BTreeSet<String>,
}

impl Material {
    /// Somebody; `listed` if the rules name them.
    pub(super) fn person(&mut self, id: &str, listed: bool) {
        let is_new = self.people.insert(id.to_owned());
        if is_new && !listed {
            self.unlisted.insert(id.to_owned());
        }
        for piece in pieces(id) {
            match piece {
                TextPiece::Mail { local, domain } => self.mail(local, domain),
                TextPiece::Digits(digits) => drop(self.digits.insert(only_digits(digits))),
                TextPiece::Word(word) if has_letter(word) => {
                    self.names.insert(lower(word));
                    if listed {
                        self.listed.insert(lower(word));
                    }
                }
                TextPiece::Word(_) | TextPiece::Domain(_) | TextPiece::Other(_) => {}
            }
        }
    }

    /// A file of the rules: its words stay.
    pub(super) fn rules(&mut self, text: &str) {
        for piece in pieces(text) {
            match piece {
                TextPiece::Word(word) => drop(self.kept.insert(lower(word))),
                TextPiece::Mail { local, domain } => self.mail(local, domain),
                TextPiece::Domain(domain) => self.mail_domain(domain),
                TextPiece::Digits(digits) => {
                    let digits = only_digits(digits);
                    if digits.len() >= NUMBER_MIN {
                        self.digits.insert(digits);
                    }
                }
                TextPiece::Other(_) => {}
            }
        }
    }

    /// A text of the run.
    pub(super) fn text(&mut self, text: &str) {
        self.texts.insert(text.to_owned());
        for piece in pieces(text) {
            match piece {
                TextPiece::Word(word) => drop(self.words.insert(lower(word))),
                TextPiece::Mail { local, domain } => self.mail(local, domain),
                TextPiece::Domain(domain) => self.mail_domain(domain),
                TextPiece::Digits(digits) => drop(self.digits.insert(only_digits(digits))),
                TextPiece::Other(_) => {}
            }
        }
    }

    /// A secret: each of its words, whatever it is, and each number that is no small one.
    ///
    /// # Errors
    /// A sentence, if nothing of its form can stand for it.
    pub(super) fn secret(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::String(text) => {
                self.text(text);
                self.secrets.insert(text.clone());
                for piece in pieces(text) {
                    if let TextPiece::Word(word) = piece {
                        self.secret_words.insert(lower(word));
                    }
                }
            }
            Value::Number(number) if number.is_f64() => {
                return Err("a secret is a fraction, for which nothing can stand".to_owned());
            }
            Value::Number(number) => {
                let digits = only_digits(&number.to_string());
                if digits.len() >= SECRET_NUMBER_MIN {
                    self.secrets.insert(digits.clone());
                    self.digits.insert(digits);
                }
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.secret(item))?,
            Value::Object(map) => map.values().try_for_each(|value| self.secret(value))?,
            Value::Null | Value::Bool(_) => {}
        }
        Ok(())
    }

    /// A text that can be no other than one of a set or form.
    pub(super) fn closed(&mut self, text: &str) {
        for piece in pieces(text) {
            if let TextPiece::Word(word) = piece {
                self.kept.insert(lower(word));
            }
        }
    }

    /// A number of the run.
    pub(super) fn number(&mut self, number: &Number) {
        let digits = only_digits(&number.to_string());
        if !number.is_f64() && digits.len() >= NUMBER_MIN {
            self.digits.insert(digits);
        }
    }

    /// An amount that a text holds as well: it stays what it is.
    pub(super) fn amount(&mut self, number: &Number) {
        let digits = only_digits(&number.to_string());
        if digits.len() < NUMBER_MIN {
            self.digits.remove(&digits);
        }
    }

    fn mail(&mut self, local: &str, domain: &str) {
        self.mails.insert(format!("{local}@{domain}"));
        self.mail_words.extend(words(local).map(lower));
        self.mail_domain(domain);
    }

    fn mail_domain(&mut self, domain: &str) {
        let (own, _) = without_end(domain);
        self.mail_words.extend(words(own).map(lower));
    }
}

/// The values that stand for others; without any it changes nothing.
#[derive(Debug, Default)]
pub(super) struct Anonymizer {
    /// Words of texts and of the ids of people.
    words: BTreeMap<String, String>,
    /// Those that are replaced in the rules as well.
    listed: BTreeSet<String>,
    /// People whom the rules do not name.
    unlisted: BTreeSet<String>,
    /// Words of mail addresses, wherever else they may stay.
    mail_words: BTreeMap<String, String>,
    digits: BTreeMap<String, String>,
    /// What must not be found in the case, in any form.
    gone: BTreeSet<String>,
    /// What was secret.
    secrets: BTreeSet<String>,
    counts: ReplacedCounts,
}

impl Anonymizer {
    /// Draws a replacement for each value by a key that nobody keeps.
    pub(super) fn of(material: &Material, key: &[u8]) -> Self {
        let of_texts = material.words.iter().filter(|word| {
            has_letter(word) && word.chars().count() > 1 && !material.kept.contains(*word)
        });
        // Why also digits and single letters: of a secret every part is one.
        let secret = material.secret_words.difference(&material.kept);
        let of_texts: BTreeSet<String> = of_texts.chain(secret).cloned().collect();
        let mut drawing = Drawing::by(key, material.kept.clone());
        let known = [&material.words, &material.names, &material.mail_words];
        let known = known.into_iter().flatten().chain(&material.digits);
        drawing.leaves_out(known.cloned());
        let mut made = Self {
            listed: material.listed.clone(),
            unlisted: material.unlisted.clone(),
            ..Self::default()
        };
        for word in material.names.union(&of_texts) {
            let fresh = drawing.word(word);
            made.words.insert(word.clone(), fresh);
        }
        for word in &material.mail_words {
            if !made.words.contains_key(word) {
                let fresh = drawing.word(word);
                made.mail_words.insert(word.clone(), fresh);
            }
        }
        for digits in &material.digits {
            let fresh = drawing.digits(digits);
            made.digits.insert(digits.clone(), fresh);
        }
        // Why several words: a single one may be a word of the case's own.
        let several = |text: &&String| text.contains(char::is_whitespace);
        let is_long = |text: &&String| text.len() >= FORMS_MIN;
        let texts = material.texts.iter();
        let texts: Vec<&String> = texts.filter(|text| made.text(text) != **text).collect();
        made.counts = ReplacedCounts {
            people: material.people.len(),
            mails: material.mails.len(),
            numbers: material.digits.len(),
            texts: texts.len(),
            secrets: material.secrets.len(),
        };
        let gone = texts.into_iter().filter(several).chain(&material.people);
        let gone = gone.chain(&material.mails).chain(&material.digits);
        let gone = gone.chain(&material.secrets);
        made.gone = gone.filter(is_long).cloned().collect();
        made.secrets.clone_from(&material.secrets);
        made
    }

    /// What was replaced.
    pub(super) fn counts(&self) -> ReplacedCounts {
        self.counts
    }

    /// A text of the run with what stands for it.
    pub(super) fn text(&self, text: &str) -> String {
        self.rewritten(text, &|word| self.words.get(word))
    }

    /// Who said something, for a replay; none if the rules name none of them, and it was whoever
    /// worked there.
    pub(super) fn speakers(&self, by: &[String]) -> Option<Vec<String>> {
        let by = by.iter().filter(|id| !self.unlisted.contains(*id));
        let by: Vec<String> = by.map(|id| self.text(id)).collect();
        (!by.is_empty()).then_some(by)
    }

    /// A file of the rules: of its words only those that are people.
    pub(super) fn rules(&self, text: &str) -> String {
        let listed = |word: &str| self.words.get(word).filter(|_| self.listed.contains(word));
        self.rewritten(text, &listed)
    }

    /// A value of the run, its keys as well.
    pub(super) fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(map) => {
                let entries = map.iter();
                let entries = entries.map(|(key, value)| (self.text(key), self.value(value)));
                Value::Object(entries.collect::<Map<_, _>>())
            }
            Value::Number(number) => Value::Number(self.number(number)),
            other => other.clone(),
        }
    }

    /// Bytes as a tool sent them: JSON stays JSON.
    pub(super) fn bytes(&self, bytes: &[u8]) -> Vec<u8> {
        if self.gone.is_empty() && self.words.is_empty() {
            return bytes.to_vec();
        }
        match serde_json::from_slice::<Value>(bytes) {
            Ok(value) => self.value(&value).to_string().into_bytes(),
            Err(_) => self.text(&String::from_utf8_lossy(bytes)).into_bytes(),
        }
    }

    fn number(&self, number: &Number) -> Number {
        let digits = only_digits(&number.to_string());
        let fresh = self.digits.get(&digits).filter(|_| !number.is_f64());
        let fresh = fresh.and_then(|fresh| match number.is_i64() && number.as_i64() < Some(0) {
            true => format!("-{fresh}").parse::<i64>().ok().map(Number::from),
            false => fresh.parse::<u64>().ok().map(Number::from),
        });
        fresh.unwrap_or_else(|| number.clone())
    }

    fn rewritten<'m>(&'m self, text: &str, of: &dyn Fn(&str) -> Option<&'m String>) -> String {
        let in_mail = |word: &str| self.words.get(word).or_else(|| self.mail_words.get(word));
        let mut written = String::with_capacity(text.len());
        for piece in pieces(text) {
            match piece {
                TextPiece::Word(word) => written.push_str(&worn(word, of(&lower(word)))),
                TextPiece::Mail { local, domain } => {
                    written.push_str(&each_word(local, &in_mail));
                    written.push_str(&in_domain(domain, &in_mail));
                }
                TextPiece::Domain(domain) => written.push_str(&in_domain(domain, &in_mail)),
                TextPiece::Digits(digits) => {
                    let fresh = self.digits.get(&only_digits(digits));
                    written.push_str(&grouped(digits, fresh));
                }
                TextPiece::Other(other) => written.push_str(other),
            }
        }
        written
    }

    /// What finds the values that were replaced, in any form that it knows. What is a part of
    /// `rules`, the files in which words stay, is not looked for.
    pub(super) fn remains(&self, rules: &str) -> Redactor {
        let stands = |value: &&String| !rules.contains(value.as_str());
        let gone = self.gone.iter().filter(stands);
        Redactor::of_values(gone.map(String::as_str))
    }

    /// Whether a secret would stand there as it was: of its words all stand in `rules`, and it does
    /// not itself.
    pub(super) fn keeps_secret(&self, rules: &str) -> bool {
        let mut secrets = self.secrets.iter();
        secrets.any(|secret| !rules.contains(secret) && self.text(secret) == *secret)
    }

    /// Whether a text of the case still has a word, an address or a number that was replaced.
    pub(super) fn remains_in(&self, text: &str) -> bool {
        pieces(text).into_iter().any(|piece| match piece {
            TextPiece::Word(word) => {
                word.chars().count() >= WORD_MIN && self.words.contains_key(&lower(word))
            }
            TextPiece::Mail { local, domain } => self.gone.contains(&format!("{local}@{domain}")),
            TextPiece::Digits(digits) => self.digits.contains_key(&only_digits(digits)),
            TextPiece::Domain(_) | TextPiece::Other(_) => false,
        })
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| !word.is_empty())
}

/// A domain without its end, and the end.
fn without_end(domain: &str) -> (&str, &str) {
    domain.rsplit_once('.').unwrap_or((domain, ""))
}

/// `@` and a domain with each word but its end replaced.
fn in_domain<'m>(domain: &str, of: &dyn Fn(&str) -> Option<&'m String>) -> String {
    let (own, end) = without_end(domain);
    format!("@{}.{end}", each_word(own, of))
}

/// A part of a mail address with each word replaced.
fn each_word<'m>(part: &str, of: &dyn Fn(&str) -> Option<&'m String>) -> String {
    let mut written = String::with_capacity(part.len());
    let mut rest = part;
    while let Some(first) = rest.chars().next() {
        let is_word = first.is_alphanumeric();
        let end = rest.find(|letter: char| letter.is_alphanumeric() != is_word);
        let (here, after) = rest
            .split_at_checked(end.unwrap_or(rest.len()))
            .unwrap_or_default();
        match is_word {
            true => written.push_str(&worn(here, of(&lower(here)))),
            false => written.push_str(here),
        }
        rest = after;
    }
    written
}

/// A replacement in the capitals of what it stands for.
fn worn(word: &str, fresh: Option<&String>) -> String {
    let Some(fresh) = fresh else {
        return word.to_owned();
    };
    let pairs = word.chars().zip(fresh.chars());
    let pairs = pairs.map(|(old, new)| match old.is_uppercase() {
        true => new.to_ascii_uppercase(),
        false => new,
    });
    pairs.collect()
}

/// A replacement of digits in the groups of what it stands for.
fn grouped(digits: &str, fresh: Option<&String>) -> String {
    let Some(fresh) = fresh else {
        return digits.to_owned();
    };
    let mut fresh = fresh.chars();
    let all = digits.chars().map(|letter| match letter.is_ascii_digit() {
        true => fresh.next().unwrap_or(letter),
        false => letter,
    });
    all.collect()
}

fn only_digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}

fn has_letter(word: &str) -> bool {
    word.contains(char::is_alphabetic)
}

/// The word as it is looked up, of as many characters.
fn lower(word: &str) -> String {
    let small = |letter: char| letter.to_lowercase().next().unwrap_or(letter);
    word.chars().map(small).collect()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str =
        "Zoë Kühn <zoe.kuehn@nord.example> of ada paid 4111 1111 1111 1111 on 2026-11-27, refund";

    fn of(key: &[u8]) -> Anonymizer {
        let mut found = Material::default();
        found.rules("ada may refund, says kuehn@nord.example");
        found.person("ada", true);
        // Whom the rules do not name: what they have of that name is something else.
        found.person("may", false);
        found.text(TEXT);
        Anonymizer::of(&found, key)
    }

    #[test]
    fn equal_values_become_equal_ones_of_the_same_form() {
        let shown = of(b"one");
        let text = shown.text(TEXT);
        assert_eq!(text.chars().count(), TEXT.chars().count());
        for (old, new) in TEXT.chars().zip(text.chars()) {
            let form = |letter: char| {
                let is_digit = letter.is_ascii_digit();
                (letter.is_alphanumeric(), is_digit, letter.is_uppercase())
            };
            assert_eq!(form(old), form(new), "{text}");
        }
        assert!(text.ends_with(" 2026-11-27, refund"), "{text}");
        for gone in ["Zoë", "Kühn", "zoe", "kuehn", "nord", "ada", "paid", "4111"] {
            assert!(!text.contains(gone), "{gone}: {text}");
        }
        let small = text.to_lowercase();
        assert!(small.starts_with(&shown.text("zoë kühn")), "{text}");
        let rules = shown.rules("ada may refund, says kuehn@nord.example");
        let (who, _) = rules.split_once(' ').unwrap();
        assert!(rules.ends_with(".example") && rules.contains(" may refund, says "));
        assert!(who != "ada" && text.contains(&format!(" {who} ")), "{text}");
        let (_, mail) = rules.rsplit_once(' ').unwrap();
        assert!(text.contains(&format!(".{mail}>")), "{text}, {rules}");
        let card = shown.value(&json!(4_111_111_111_111_111_u64)).to_string();
        assert!(only_digits(&text).starts_with(&card), "{text}");
        assert!(!shown.remains_in(&text));
        // The controls: what was there is found, another key draws others, and nothing without one.
        assert!(shown.remains_in(TEXT));
        assert_ne!(of(b"two").text(TEXT), text);
        assert_eq!(Anonymizer::default().text(TEXT), TEXT);
    }
    #[test]
    fn values_that_differ_become_values_that_differ() {
        let mut found = Material::default();
        let pairs = "aeiou"
            .chars()
            .flat_map(|one| "bcdfghjk".chars().map(move |two| (one, two)));
        let words: Vec<String> = pairs.map(|(one, two)| format!("{one}{two}")).collect();
        words.iter().for_each(|word| found.text(word));
        let shown = Anonymizer::of(&found, b"key");
        let fresh: BTreeSet<String> = words.iter().map(|word| shown.text(word)).collect();
        assert_eq!(fresh.len(), words.len());
        assert!(words.iter().all(|word| !fresh.contains(word)));
    }
    #[test]
    fn an_amount_stays_and_a_number_of_an_account_does_not() {
        let of = |amount: bool| {
            let mut found = Material::default();
            found.rules("pay");
            found.text("pay 2000000, 41111111, 4111111100");
            if amount {
                found.amount(&Number::from(2_000_000));
                found.amount(&Number::from(4_111_111_100_u64));
            }
            Anonymizer::of(&found, b"key").text("pay 2000000, 41111111, 4111111100")
        };
        let shown = of(true);
        assert!(shown.starts_with("pay 2000000, ") && !shown.contains("411111"));
        assert!(!of(false).contains("2000000"), "the control");
    }
}
