//! A sentence that a goal may mean: it has most of its words, in another order or another form.
//!
//! Owns the comparison word by word. Routes nothing: a sentence is offered, and a person takes it
//! or leaves it. INVARIANT: a value in an offered sentence has its parameter's type and stands in
//! the goal as it is; a goal that denies something is offered no sentence that does not.

use std::collections::{BTreeMap, BTreeSet};

use provost_plan::plan::Params;

use super::near::{begins_phrase, is_article};
use super::{GOAL_BYTES_MAX, ParamKind, ParamType, PatternPart, parts};

/// Words that say nothing of what is wanted, beside articles, prepositions and adverbs.
const LITTLE: [&str; 38] = [
    "all", "and", "are", "be", "been", "can", "could", "did", "do", "does", "has", "have", "i",
    "i'd", "if", "is", "it", "its", "like", "me", "my", "need", "or", "our", "please", "some",
    "thanks", "that", "them", "this", "us", "want", "we", "we'd", "what", "which", "would", "you",
];
/// Those of them that wish for what follows.
const WISHES: [&str; 3] = ["like", "need", "want"];
/// Words between a thing and what is said of it, which are no part of either.
const ADVERBS: [&str; 13] = [
    "again",
    "always",
    "currently",
    "even",
    "just",
    "now",
    "often",
    "quite",
    "really",
    "so",
    "still",
    "too",
    "very",
];
/// Words that turn a sentence into its opposite.
const DENIALS: [&str; 16] = [
    "cancel", "cannot", "delete", "except", "instead", "never", "no", "nobody", "not", "remove",
    "reverse", "revert", "stop", "undo", "unless", "without",
];
/// Marks around a word that are no part of a value: `$20` is not twenty of anything.
const MARKS: &str = ".,;:!?()[]{}<>\"'`‘’“”…–—-";
/// Most words of one value.
const VALUE_WORDS_MAX: usize = 6;
/// Most words of a goal that is compared.
const GOAL_WORDS_MAX: usize = 60;
/// What a goal and a sentence must have more than in common, in hundredths of what both say.
const COMMON_OVER: usize = 50;
/// Shortest beginning that two forms of a word have in common, and the longest ends of them.
const STEM_MIN: usize = 5;
const ENDING_MAX: usize = 3;
/// The same where one word is the whole beginning of the other: `slow`, `slowness`.
const WHOLE_STEM_MIN: usize = 4;
const WHOLE_ENDING_MAX: usize = 4;

/// A sentence that a goal may mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Similar {
    /// The sentence with the values that the goal says; a hole for each that it does not.
    pub sentence: String,
    /// The values that the goal says.
    pub params: Params,
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
    /// Whether a clause begins with it.
    begins: bool,
    /// Whether the playbook has it in one of its sentences.
    known: bool,
}

/// A part of a sentence, in its order.
enum Piece<'p> {
    Word(&'p str),
    Hole(Hole<'p>),
}

/// A hole of a sentence.
struct Hole<'p> {
    name: &'p str,
    /// The word before it.
    after: Option<String>,
    /// The word right behind it.
    unit: Option<String>,
}

/// Words of a goal that a hole may take.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
    /// Whether the word before them is the one before the hole.
    is_after: bool,
}

/// The words of all sentences of a playbook, as they are compared.
pub(crate) fn words_of<'s>(sentences: impl Iterator<Item = &'s str>) -> BTreeSet<String> {
    let pieces = sentences.filter_map(pieces).flatten();
    let keys = pieces.filter_map(|piece| match piece {
        Piece::Word(text) => Some(key(text)),
        Piece::Hole(_) => None,
    });
    keys.filter(|key| !key.is_empty() && !is_little(key))
        .collect()
}

/// What of `sentence` a goal says, if it says most of it. `known` are the words of all sentences
/// of the playbook: one that stands in another of them is no other job's.
pub(super) fn similar(
    sentence: &str,
    goal: &str,
    params: &BTreeMap<String, ParamType>,
    known: &BTreeSet<String>,
) -> Option<Similar> {
    if goal.len() > GOAL_BYTES_MAX {
        return None;
    }
    let mut words = words(goal, known);
    if words.len() > GOAL_WORDS_MAX {
        return None;
    }
    let pieces = pieces(sentence)?;
    let literal = |piece: &Piece<'_>| match piece {
        Piece::Word(text) => Some(key(text)).filter(|key| !key.is_empty()),
        Piece::Hole(_) => None,
    };
    let literals: Vec<String> = pieces.iter().filter_map(literal).collect();
    join_denials(&mut words, &literals);
    let denied = words.iter().any(|word| denies(&word.key));
    if denied && !literals.iter().any(|key| denies(key)) {
        return None;
    }
    let telling: Vec<&String> = literals.iter().filter(|key| !is_little(key)).collect();
    let mut shared = 0;
    for key in &telling {
        let found = words.iter_mut().find(|w| !w.used && is_same(&w.key, key));
        if let Some(word) = found {
            word.used = true;
            shared += 1;
        }
    }
    let holes: Vec<&Hole<'_>> = pieces.iter().filter_map(Piece::hole).collect();
    let Values { found, unclear } = values(&holes, &mut words, params);
    let rest = words.iter().filter(|word| {
        let names = holes.iter().any(|hole| is_same(&word.key, hole.name));
        !word.used && !word.known && !names && !is_little(&word.key)
    });
    let rest = rest.count();
    // Why values count: `pay-1` tells more of what is meant than a verb does.
    let telling_values = holes.iter().filter(|hole| is_telling(hole.name, params));
    let (asked, said) = telling_values.fold((0, 0), |(asked, said), hole| {
        let is_said = found.contains_key(hole.name) || unclear.contains(hole.name);
        (asked + 1, said + usize::from(is_said))
    });
    let common = shared + said;
    let all = telling.len() + asked;
    let common_of = common * 200 / (all + common + rest).max(1);
    // Why no other word: one word in common is little to go by, but for a wish in both.
    let wishes = |key: &str| WISHES.contains(&key);
    let wished = literals.iter().any(|key| wishes(key)) && words.iter().any(|w| wishes(&w.key));
    let by_one = all == 1 && rest > 0 && !wished;
    if shared == 0 || by_one || common < all.min(2) || common_of <= COMMON_OVER {
        return None;
    }
    let first = words.iter().find(|word| !is_little(&word.key));
    let begins_alike = first.is_some_and(|word| word.used);
    let read = found.iter();
    let read = read.filter_map(|(name, text)| Some((name.clone(), params.get(name)?.value(text)?)));
    Some(Similar {
        sentence: filled(sentence, &found)?,
        params: read.collect(),
        is_complete: found.len() == holes.len(),
        begins_alike,
        common: common_of,
    })
}

/// The sentence with these values; a hole without one stays.
fn filled(sentence: &str, found: &BTreeMap<String, String>) -> Option<String> {
    let parts = parts(sentence).ok()?;
    let text = parts.iter().map(|part| match part {
        PatternPart::Words(words) => (*words).to_owned(),
        PatternPart::Hole(name) => match found.get(*name) {
            Some(value) => value.clone(),
            None => format!("{{{name}}}"),
        },
    });
    Some(text.collect())
}

/// What a goal says of the holes.
struct Values {
    found: BTreeMap<String, String>,
    /// The holes whose values are said, and not which is whose.
    unclear: BTreeSet<String>,
}

/// The values that the words of the goal say, by hole; the hole that few words fit chooses first.
fn values(
    holes: &[&Hole<'_>],
    words: &mut [Word<'_>],
    params: &BTreeMap<String, ParamType>,
) -> Values {
    let mut open = holes.to_vec();
    let mut found = BTreeMap::new();
    let mut unclear = BTreeSet::new();
    while !open.is_empty() {
        let fitting = |hole: &&Hole<'_>| {
            let param = params.get(hole.name);
            let spans = param.map(|param| spans(words, (hole, holes), param));
            let spans = spans.unwrap_or_default();
            // Why what stands before it first: two holes may be of one type.
            let rank = |span: &&Span| (span.is_after, span.to - span.from, !span.from);
            let best = spans.iter().max_by_key(rank).copied();
            (spans, best)
        };
        let ranked = open.iter().map(fitting).enumerate();
        let Some((at, (spans, best))) = ranked.min_by_key(|(at, (spans, best))| {
            // Why those that nothing fits last: they take nothing from the others.
            let late = best.is_none_or(|best| !best.is_after);
            (spans.is_empty(), late, spans.len(), *at)
        }) else {
            break;
        };
        let hole = open.remove(at);
        let Some(best) = best else { continue };
        let Some(text) = text(words, best) else {
            continue;
        };
        let fits_another = holes.iter().any(|other| {
            let param = params.get(other.name);
            let takes = param.is_some_and(|param| param.value(&text).is_some());
            other.name != hole.name && !found.contains_key(other.name) && takes
        });
        let apart = |span: &Span| span.from >= best.to || span.to <= best.from;
        if !best.is_after && fits_another && spans.iter().any(apart) {
            // Why left open: which of two values is whose would be a guess.
            unclear.insert(hole.name.to_owned());
            continue;
        }
        found.insert(hole.name.to_owned(), text);
        if let Some(taken) = words.get_mut(best.from..best.to) {
            taken.iter_mut().for_each(|word| word.used = true);
        }
    }
    Values { found, unclear }
}

fn text(words: &[Word<'_>], span: Span) -> Option<String> {
    let taken = words.get(span.from..span.to)?;
    let texts: Vec<&str> = taken.iter().map(|word| word.text).collect();
    Some(texts.join(" "))
}

/// The runs of words that nothing uses and that a parameter takes as its value.
fn spans(words: &[Word<'_>], of: (&Hole<'_>, &[&Hole<'_>]), param: &ParamType) -> Vec<Span> {
    let (hole, holes) = of;
    let names = |key: &str| holes.iter().any(|hole| hole.name == key);
    // Why: of "the customer ada", the first word names the hole.
    let ends = |word: &Word<'_>| word.used || is_little(&word.key) || word.key == hole.name;
    let is_number = matches!(param.kind, ParamKind::Integer | ParamKind::Number);
    let unit = hole.unit.as_ref().filter(|_| is_number);
    let mut all = Vec::new();
    for from in 0..words.len() {
        // Why: "of version v2" says of what it is a value, and then its name.
        let before = words.get(..from).unwrap_or_default().iter();
        let before = before.rev().find(|word| !names(&word.key));
        let is_after = before.is_some_and(|word| hole.after.as_ref() == Some(&word.key));
        let is_marked = is_after && !hole.after.as_deref().is_some_and(is_article);
        let most = words.len().min(from + VALUE_WORDS_MAX);
        for to in from + 1..=most {
            let taken = words.get(from..to).unwrap_or_default();
            if taken.iter().any(ends) {
                break;
            }
            let span = Span { from, to, is_after };
            // Why: "research pools and write" has two verbs, and "the API slowdown" a symptom.
            let begins = taken.first().is_some_and(|word| word.known && word.begins);
            let closes = taken.last().is_some_and(|word| word.known);
            // Why: of "20 euros", 20 are no cents.
            let in_unit = unit.is_none_or(|unit| {
                let next = words.get(to);
                next.is_some_and(|word| is_same(&word.key, unit))
            });
            let fits = |text: String| param.value(&text).is_some();
            if (is_marked || !(begins || closes)) && in_unit && text(words, span).is_some_and(fits)
            {
                all.push(span);
            }
        }
    }
    all
}

/// Whether a value of this parameter can be told from any other word.
fn is_telling(name: &str, params: &BTreeMap<String, ParamType>) -> bool {
    let param = params.get(name);
    param.is_some_and(|param| param.value("words").is_none())
}

fn denies(key: &str) -> bool {
    DENIALS.contains(&key) || key.ends_with("n't") || key.ends_with("n’t")
}

/// Makes one word of a denial and what it denies, where the sentence has the two as one: tickets
/// "without an answer" are unanswered.
fn join_denials(words: &mut [Word<'_>], literals: &[String]) {
    for at in 0..words.len() {
        let (head, tail) = words.split_at_mut(at + 1);
        let Some(denial) = head.last_mut().filter(|word| denies(&word.key)) else {
            continue;
        };
        let Some(denied) = tail.iter_mut().find(|word| !is_article(&word.key)) else {
            continue;
        };
        let joined = format!("un{}", denied.key);
        if literals.iter().any(|key| is_same(key, &joined)) {
            denial.used = true;
            denial.key.clear();
            denied.key = joined;
        }
    }
}

impl<'p> Piece<'p> {
    fn hole(&self) -> Option<&Hole<'p>> {
        match self {
            Self::Word(_) => None,
            Self::Hole(hole) => Some(hole),
        }
    }
}

fn pieces(sentence: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    let mut before = None;
    for part in parts(sentence).ok()? {
        match part {
            PatternPart::Words(words) => {
                if let Some(Piece::Hole(hole)) = pieces.last_mut() {
                    let next = words.split_whitespace().next().map(key);
                    hole.unit = next.filter(|key| !key.is_empty() && !is_little(key));
                }
                pieces.extend(words.split_whitespace().map(Piece::Word));
                before = words.split_whitespace().last().map(key);
            }
            PatternPart::Hole(name) => pieces.push(Piece::Hole(Hole {
                name,
                after: before.take(),
                unit: None,
            })),
        }
    }
    Some(pieces)
}

/// The words of a goal without the marks around them.
fn words<'g>(goal: &'g str, known: &BTreeSet<String>) -> Vec<Word<'g>> {
    let mut begins = true;
    let mut words = Vec::new();
    // Why at dots too: `v1..v2` is two values.
    let all = goal.split_whitespace();
    for whole in all.flat_map(|whole| whole.split("..")) {
        let text = whole.trim_matches(|c: char| MARKS.contains(c));
        let owner = text.strip_suffix("'s").or_else(|| text.strip_suffix("’s"));
        let text = owner.unwrap_or(text);
        let key = key(text);
        let ends = whole.ends_with([',', ';', ':', '.', '!', '?']);
        if key.is_empty() {
            begins |= ends;
            continue;
        }
        let is_known = || known.iter().any(|one| is_same(one, &key));
        let leads_on = is_little(&key) && (begins || key == "and");
        words.push(Word {
            text,
            known: !is_little(&key) && is_known(),
            used: false,
            begins,
            key,
        });
        begins = ends || leads_on;
    }
    words
}

fn key(text: &str) -> String {
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    // Why without: `on-call` is written `oncall` too.
    text.to_lowercase().replace('-', "")
}

fn is_little(key: &str) -> bool {
    LITTLE.contains(&key) || is_article(key) || begins_phrase(key) || is_adverb(key)
}

/// Whether a word stands between a thing and what is said of it.
pub(super) fn is_adverb(word: &str) -> bool {
    ADVERBS.contains(&word.to_lowercase().as_str())
}

/// Whether two words are one, or two forms of one.
fn is_same(left: &str, right: &str) -> bool {
    let same = left.chars().zip(right.chars());
    let stem = same.take_while(|(left, right)| left == right).count();
    let rest = |word: &str| word.chars().count() - stem;
    let (left_rest, right_rest) = (rest(left), rest(right));
    let plural = |word: &str, rest: usize| rest == 0 || (rest == 1 && word.ends_with('s'));
    let whole = left_rest.min(right_rest) == 0 && left_rest.max(right_rest) <= WHOLE_ENDING_MAX;
    (stem >= STEM_MIN && left_rest <= ENDING_MAX && right_rest <= ENDING_MAX)
        || (stem >= WHOLE_STEM_MIN && whole)
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
        let known = words_of([sentence].into_iter());
        similar(sentence, goal, &params, &known).map(|one| one.sentence)
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

    #[test]
    fn a_value_is_not_guessed() {
        let sentence = "Refund {amount} cents";
        for (goal, said) in [
            ("please refund 20 cents", "Refund 20 cents"),
            ("please refund $20, in cents", sentence),
            ("please refund 20 euros, in cents", sentence),
        ] {
            assert_eq!(offered(sentence, goal), Some(said.to_owned()), "{goal}");
        }
        // Which of the two is the new one is not said.
        let sentence = "Write the release notes of {new} since {old}";
        let both = offered(sentence, "write release notes, v1.1 and v1.2");
        assert_eq!(both, Some(sentence.to_owned()));
    }

    #[test]
    fn a_denial_is_one_with_the_word_that_the_sentence_denies() {
        let sentence = "Label the unanswered tickets";
        for goal in [
            "label tickets without an answer",
            "label tickets not answered",
        ] {
            assert_eq!(offered(sentence, goal), Some(sentence.to_owned()), "{goal}");
        }
        for goal in [
            "do not label unanswered tickets",
            "label tickets without a priority",
            "undo: label the unanswered tickets",
        ] {
            assert_eq!(offered(sentence, goal), None, "{goal}");
        }
    }
}
