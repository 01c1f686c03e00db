//! A sentence that a goal may mean: it has most of its words, in another order or another form.
//!
//! Owns the comparison word by word. Routes nothing: a sentence is offered, and a person takes it
//! or leaves it. INVARIANT: a value in an offered sentence has its parameter's type and stands in
//! the goal as it is; a goal that denies something is offered no sentence that does not.

use std::collections::BTreeMap;

use super::near::{begins_phrase, is_article};
use super::{GOAL_BYTES_MAX, ParamType, PatternPart, parts};

/// Words that say nothing of what is wanted, beside articles and prepositions.
const LITTLE: [&str; 31] = [
    "all", "and", "are", "be", "been", "can", "could", "did", "do", "does", "has", "have", "i",
    "i'd", "if", "is", "it", "its", "like", "me", "my", "or", "our", "please", "some", "thanks",
    "that", "we", "we'd", "would", "you",
];
/// Words that turn a sentence into its opposite.
const DENIALS: [&str; 8] = [
    "cannot", "except", "instead", "never", "no", "nobody", "not", "without",
];
/// Most words of one value.
const VALUE_WORDS_MAX: usize = 6;
/// Most words of a goal that is compared.
const GOAL_WORDS_MAX: usize = 60;
/// How much a goal and a sentence must have in common, in hundredths of the words of both.
const COMMON_MIN: usize = 50;
/// Shortest beginning that two forms of a word have in common, and the longest ends of them.
const STEM_MIN: usize = 5;
const ENDING_MAX: usize = 3;

/// A sentence that a goal may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Similar {
    /// The sentence with the values that the goal says; a hole for each that it does not.
    pub sentence: String,
    /// Whether every value is said.
    pub is_complete: bool,
    /// Whether the goal begins with a word of the sentence: its verb, as a rule. "Cancel the
    /// refund" has most of the words of a refund and means the opposite.
    pub begins_alike: bool,
    /// How much they have in common, in hundredths.
    pub common: usize,
}

/// A word of a goal.
struct Word<'g> {
    text: &'g str,
    key: String,
    /// Whether a word of the sentence or a value has it.
    used: bool,
}

/// A part of a sentence, in its order.
enum Piece<'p> {
    Word(&'p str),
    Hole {
        name: &'p str,
        /// The word before it.
        after: Option<String>,
    },
}

/// What of `sentence` a goal says, if it says most of it.
pub(super) fn similar(
    sentence: &str,
    goal: &str,
    params: &BTreeMap<String, ParamType>,
) -> Option<Similar> {
    if goal.len() > GOAL_BYTES_MAX {
        return None;
    }
    let mut words: Vec<Word<'_>> = goal.split_whitespace().filter_map(word).collect();
    if words.len() > GOAL_WORDS_MAX {
        return None;
    }
    let pieces = pieces(sentence)?;
    let literal = |piece: &Piece<'_>| match piece {
        Piece::Word(text) => Some(key(text)).filter(|key| !key.is_empty()),
        Piece::Hole { .. } => None,
    };
    let literals: Vec<String> = pieces.iter().filter_map(literal).collect();
    let denies = |key: &str| DENIALS.contains(&key) || key.ends_with("n't") || key.ends_with("n’t");
    let denied = words.iter().any(|word| denies(&word.key));
    if denied && !literals.iter().any(|key| denies(key)) {
        return None;
    }
    let telling: Vec<&String> = literals.iter().filter(|key| !is_little(key)).collect();
    let mut common = 0;
    for key in &telling {
        let found = words.iter_mut().find(|w| !w.used && is_same(&w.key, key));
        if let Some(word) = found {
            word.used = true;
            common += 1;
        }
    }
    let values = values(&pieces, &mut words, params);
    let rest = words.iter().filter(|w| !w.used && !is_little(&w.key));
    let both = telling.len() + common + rest.count();
    let common_of = common * 200 / both.max(1);
    if common < telling.len().min(2) || common_of < COMMON_MIN {
        return None;
    }
    let first = words.iter().find(|word| !is_little(&word.key));
    let begins_alike = first.is_some_and(|word| word.used);
    let said = |name: &str| match values.get(name) {
        Some(value) => value.clone(),
        None => format!("{{{name}}}"),
    };
    let parts = parts(sentence).ok()?;
    let text = parts.iter().map(|part| match part {
        PatternPart::Words(words) => (*words).to_owned(),
        PatternPart::Hole(name) => said(name),
    });
    let holes = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Hole { .. }));
    Some(Similar {
        sentence: text.collect(),
        is_complete: values.len() == holes.count(),
        begins_alike,
        common: common_of,
    })
}

/// The values that the words of the goal say, by hole; the hole that few words fit chooses first.
fn values(
    pieces: &[Piece<'_>],
    words: &mut [Word<'_>],
    params: &BTreeMap<String, ParamType>,
) -> BTreeMap<String, String> {
    let mut open: Vec<(&str, Option<&str>)> = pieces
        .iter()
        .filter_map(|piece| match piece {
            Piece::Word(_) => None,
            Piece::Hole { name, after } => Some((*name, after.as_deref())),
        })
        .collect();
    let mut found = BTreeMap::new();
    while !open.is_empty() {
        let fitting = |(name, after): &(&str, Option<&str>)| {
            let spans = params.get(*name).map(|param| spans(words, name, param));
            let spans = spans.unwrap_or_default();
            // Why what stands before it first: two holes may be of one type.
            let best = spans.iter().max_by_key(|(from, to)| {
                let before = from.checked_sub(1).and_then(|at| words.get(at));
                let is_after = before.is_some_and(|word| *after == Some(word.key.as_str()));
                (is_after, to - from, std::cmp::Reverse(*from))
            });
            let is_after = best.is_some_and(|(from, _)| {
                let before = from.checked_sub(1).and_then(|at| words.get(at));
                before.is_some_and(|word| *after == Some(word.key.as_str()))
            });
            (!is_after, spans.len(), best.copied())
        };
        let ranked = open.iter().enumerate();
        let ranked = ranked.map(|(at, hole)| (fitting(hole), at));
        let Some(((_, _, best), at)) = ranked.min_by_key(|((late, count, _), at)| {
            // Why those that nothing fits last: they take nothing from the others.
            (*count == 0, *late, *count, *at)
        }) else {
            break;
        };
        let (name, _) = open.remove(at);
        let Some((from, to)) = best else { continue };
        let Some(span) = words.get_mut(from..to) else {
            continue;
        };
        let text: Vec<&str> = span.iter().map(|word| word.text).collect();
        found.insert(name.to_owned(), text.join(" "));
        span.iter_mut().for_each(|word| word.used = true);
    }
    found
}

/// The runs of words that nothing uses and that a parameter takes as its value.
fn spans(words: &[Word<'_>], name: &str, param: &ParamType) -> Vec<(usize, usize)> {
    // Why: of "the customer ada", the first word names the hole.
    let ends = |word: &Word<'_>| word.used || is_little(&word.key) || word.key == name;
    let mut all = Vec::new();
    for from in 0..words.len() {
        let most = words.len().min(from + VALUE_WORDS_MAX);
        for to in from + 1..=most {
            let span = words.get(from..to).unwrap_or_default();
            if span.iter().any(ends) {
                break;
            }
            let text: Vec<&str> = span.iter().map(|word| word.text).collect();
            if param.value(&text.join(" ")).is_some() {
                all.push((from, to));
            }
        }
    }
    all
}

fn pieces(sentence: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut before = None;
    for part in parts(sentence).ok()? {
        match part {
            PatternPart::Words(words) => {
                pieces.extend(words.split_whitespace().map(Piece::Word));
                before = words.split_whitespace().last().map(key);
            }
            PatternPart::Hole(name) => pieces.push(Piece::Hole {
                name,
                after: before.take(),
            }),
        }
    }
    Some(pieces)
}

/// A word of a goal without the marks around it.
fn word(text: &str) -> Option<Word<'_>> {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let owner = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s"));
    let text = owner.unwrap_or(text);
    let key = key(text);
    (!key.is_empty()).then_some(Word {
        text,
        key,
        used: false,
    })
}

fn key(text: &str) -> String {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    // Why without: `on-call` is written `oncall` too.
    text.to_lowercase().replace('-', "")
}

fn is_little(key: &str) -> bool {
    LITTLE.contains(&key) || is_article(key) || begins_phrase(key)
}

/// Whether two words are one, or two forms of one.
fn is_same(left: &str, right: &str) -> bool {
    let same = left.chars().zip(right.chars());
    let stem = same.take_while(|(left, right)| left == right).count();
    let rest = |word: &str| word.chars().count() - stem;
    let (left_rest, right_rest) = (rest(left), rest(right));
    let plural = |word: &str, rest: usize| rest == 0 || (rest == 1 && word.ends_with('s'));
    (stem >= STEM_MIN && left_rest <= ENDING_MAX && right_rest <= ENDING_MAX)
        || (plural(left, left_rest) && plural(right, right_rest))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::pattern::ParamKind;

    fn offered(sentence: &str, goal: &str) -> Option<String> {
        let text = |pattern: &str| ParamType {
            pattern: Some(ParamType::whole(pattern).unwrap()),
            ..ParamType::default()
        };
        let params = BTreeMap::from([
            ("service".to_owned(), text("[A-Za-z][A-Za-z0-9 -]{1,20}")),
            ("new".to_owned(), text("v[0-9.]{1,9}")),
            ("old".to_owned(), text("v[0-9.]{1,9}")),
            (
                "amount".to_owned(),
                ParamType {
                    kind: ParamKind::Integer,
                    ..ParamType::default()
                },
            ),
        ]);
        similar(sentence, goal, &params).map(|one| one.sentence)
    }

    #[test]
    fn most_of_the_words_in_any_order_are_enough() {
        let sentence = "Investigate the {service} latency spike";
        let whole = Some("Investigate the payment API latency spike".to_owned());
        for goal in [
            "Investigate payment API latency spike",
            "please investigate the spike in latency of the payment API.",
            "Investigating payment API latency spikes",
        ] {
            assert_eq!(offered(sentence, goal), whole, "{goal}");
        }
        let open = Some("Investigate the {service} latency spike".to_owned());
        assert_eq!(offered(sentence, "investigate a latency spike"), open);
        for goal in [
            "",
            "do not investigate the payment API latency spike",
            "Don't investigate the payment API latency spike",
            "drop the payment API table",
            "delete every latency metric of the payment API for good and for ever now",
        ] {
            assert_eq!(offered(sentence, goal), None, "{goal}");
        }
    }

    #[test]
    fn values_stand_where_the_words_before_them_do() {
        let sentence = "Write the release notes of {new} since {old}";
        let whole = Some("Write the release notes of v1.2 since v1.1".to_owned());
        for goal in [
            "write release notes since v1.1 for v1.2",
            "release notes of v1.2 since v1.1 please",
        ] {
            assert_eq!(offered(sentence, goal), whole, "{goal}");
        }
        let sentence = "Refund {amount} cents";
        assert_eq!(
            offered(sentence, "refund some cents"),
            Some(sentence.to_owned())
        );
    }
}
