//! A sentence that is almost said: its words are there, the values of some holes are not.
//!
//! Owns the loose comparison, in which a hole may stay empty, or hold what its type refuses, and
//! the phrase around an empty hole ("for the order …") may stay away as a whole. Decides nothing
//! about a goal that matches: that is the strict comparison's. INVARIANT: a value that is found has
//! its parameter's type; what is not found is named, so that somebody can be asked.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::plan::Params;
use regex::Regex;

use super::{GOAL_BYTES_MAX, ParamType, PatternPart, build, spaced};

/// Words that begin a phrase, which goes away with its value.
const PHRASES: [&str; 19] = [
    "about", "at", "between", "by", "called", "for", "from", "in", "into", "named", "of", "on",
    "since", "to", "until", "via", "whose", "with", "without",
];
/// Words right before a value, which go away with it.
const ARTICLES: [&str; 5] = ["a", "an", "any", "every", "the"];

/// The loose form of a sentence.
#[derive(Clone, Debug)]
pub(super) struct Loose {
    regex: Regex,
}

/// How far a goal says what a sentence wants to know.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Near {
    /// The values that it says.
    pub params: Params,
    /// The parameters that it says nothing about.
    pub missing: BTreeSet<String>,
    /// What it says of a parameter that cannot be its value.
    pub unfit: BTreeMap<String, String>,
}

impl Loose {
    /// The loose form of a sentence that was read already.
    pub(super) fn of(sentence: &str) -> Result<Self, String> {
        let words: Vec<&str> = ended(sentence).split(' ').collect();
        let mut regex = String::from("^");
        for (at, phrase) in phrases(&words).into_iter().enumerate() {
            let read = of_phrase(phrase)?;
            let is_optional = at > 0 && phrase.iter().any(|word| word.contains('{'));
            regex.push_str(&if is_optional {
                format!("(?:{read})?")
            } else {
                read
            });
        }
        regex.push('$');
        Ok(Self {
            regex: build(&regex, true)?,
        })
    }

    /// What a goal says of the holes; none if other words stand in it, or everything is said.
    pub(super) fn matches(
        &self,
        goal: &str,
        holes: &[String],
        params: &BTreeMap<String, ParamType>,
    ) -> Option<Near> {
        if goal.len() > GOAL_BYTES_MAX {
            return None;
        }
        let goal = format!(" {}", ended(&spaced(goal)));
        let found = self.regex.captures(&goal)?;
        let mut near = Near::default();
        for (at, name) in holes.iter().enumerate() {
            let Some(text) = found.get(at + 1) else {
                near.missing.insert(name.clone());
                continue;
            };
            let text = text.as_str();
            // Why: words of the sentence, said otherwise, may have been taken for a value.
            let is_plain = !text
                .split(' ')
                .any(|word| begins_phrase(word) || is_article(word));
            match params.get(name)?.value(text).filter(|_| is_plain) {
                Some(value) => {
                    near.params.insert(name.clone(), value);
                }
                None => {
                    near.unfit.insert(name.clone(), text.to_owned());
                }
            }
        }
        let is_all_said = near.missing.is_empty() && near.unfit.is_empty();
        (!is_all_said).then_some(near)
    }
}

/// A sentence without the mark at its end.
pub(super) fn ended(sentence: &str) -> &str {
    sentence.trim_end_matches(['.', '!', '?'])
}

pub(super) fn begins_phrase(word: &str) -> bool {
    PHRASES.contains(&word.to_lowercase().as_str())
}

pub(super) fn is_article(word: &str) -> bool {
    ARTICLES.contains(&word.to_lowercase().as_str())
}

/// The words up to the first that begins a phrase, then each phrase.
fn phrases<'w>(words: &'w [&'w str]) -> Vec<&'w [&'w str]> {
    let begins = words.iter().enumerate().skip(1);
    let begins = begins
        .filter(|(_, word)| begins_phrase(word))
        .map(|(at, _)| at);
    let ends = begins.clone().chain([words.len()]);
    let pairs = std::iter::once(0).chain(begins).zip(ends);
    pairs.filter_map(|(from, to)| words.get(from..to)).collect()
}

/// The words of a phrase, in which a value and the article before it may be missing.
fn of_phrase(words: &[&str]) -> Result<String, String> {
    let mut regex = String::new();
    for (at, word) in words.iter().enumerate() {
        let before_hole = words.get(at + 1).is_some_and(|next| next.contains('{'));
        if word.contains('{') {
            regex.push_str(&format!("(?: {})?", held(word)?));
        } else if is_article(word) && before_hole {
            regex.push_str(&format!("(?: {})?", regex::escape(word)));
        } else {
            regex.push_str(&format!(" {}", regex::escape(word)));
        }
    }
    Ok(regex)
}

/// A word with holes in it, as a regular expression with a group for each.
fn held(word: &str) -> Result<String, String> {
    let part = |part: &PatternPart<'_>| match part {
        PatternPart::Words(words) => regex::escape(words),
        PatternPart::Hole(_) => r"(\S|\S.*?\S)".to_owned(),
    };
    Ok(parts_of_word(word)?.iter().map(part).collect())
}

/// The parts of one word of a sentence: as those of a sentence, but a word may be all hole.
fn parts_of_word(word: &str) -> Result<Vec<PatternPart<'_>>, String> {
    let (before, rest) = word
        .split_once('{')
        .ok_or_else(|| "no hole in it".to_owned())?;
    let (hole, after) = rest
        .split_once('}')
        .ok_or_else(|| "a `{` without its `}`".to_owned())?;
    let mut all = vec![PatternPart::Words(before), PatternPart::Hole(hole)];
    if after.contains('{') {
        all.extend(parts_of_word(after)?);
    } else {
        all.push(PatternPart::Words(after));
    }
    Ok(all)
}
