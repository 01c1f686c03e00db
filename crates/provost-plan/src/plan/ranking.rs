//! Which operations of a large catalog a goal may need, ranked by its words.
//!
//! Owns one ranking for everybody who chooses among operations by words: candidates of a model
//! planner, and the listing that a client asks for. Reads names, the operator's descriptions, the
//! names of arguments, and tags. Decides nothing: what is not found may still be planned with by
//! whoever knows its name. INVARIANT: the same words over the same operations give the same order,
//! on every machine: it counts in integers.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::Goal;
use super::request::ToolSignature;
use crate::catalog::{Catalog, Operation};

mod words;

use words::{akin, terms};

/// Most operations that a planner is given to choose from.
pub const CANDIDATES_MAX: usize = 20;
/// Most bytes of their signatures, unless the first alone has more.
pub const CANDIDATE_BYTES_MAX: usize = 64 * 1024;

/// One in fixed point.
const ONE: u64 = 1 << 10;
/// What a word counts that only means the same.
const AKIN: u64 = ONE * 6 / 10;
/// How many words a text has that is neither long nor short.
const USUAL_WORDS: u64 = 16;

/// An operation that fits, and how well.
#[derive(Clone, Copy, Debug)]
pub struct Hit<'a> {
    /// An operation of the catalog.
    pub operation: &'a Operation,
    /// How well it fits the query: comparable within one query, higher is better.
    pub score: u64,
}

/// What is written of an operation, as words with the weight of where they stand.
struct RankedDocument<'a> {
    operation: &'a Operation,
    weights: BTreeMap<String, u64>,
    length: u64,
}

impl<'a> RankedDocument<'a> {
    fn of(operation: &'a Operation) -> Self {
        let mut document = Self {
            operation,
            weights: BTreeMap::new(),
            length: 0,
        };
        document.add(&operation.name, 3);
        document.add(&operation.description, 1);
        for tag in &operation.tags {
            document.add(tag, 2);
        }
        if let Some(Value::Object(properties)) = operation.input.value().get("properties") {
            for name in properties.keys() {
                document.add(name, 1);
            }
        }
        document
    }

    fn add(&mut self, text: &str, weight: u64) {
        for term in terms(text) {
            self.length += 1;
            let sum = self.weights.entry(term).or_default();
            *sum = (*sum).max(weight);
        }
    }

    /// How much a word counts here: more in a name than in an argument, less in a long text.
    fn weight(&self, term: &str) -> u64 {
        let Some(weight) = self.weights.get(term) else {
            return 0;
        };
        let length = self.length.min(4 * USUAL_WORDS) + USUAL_WORDS;
        weight * ONE * 2 * USUAL_WORDS / length
    }
}

/// The operations in which words of `query` stand, or words that mean the same, best first.
#[must_use]
pub fn rank<'a>(operations: impl IntoIterator<Item = &'a Operation>, query: &str) -> Vec<Hit<'a>> {
    let documents: Vec<RankedDocument<'a>> =
        operations.into_iter().map(RankedDocument::of).collect();
    let total = documents.len() as u64;
    let mut holding: BTreeMap<&str, u64> = BTreeMap::new();
    for term in documents
        .iter()
        .flat_map(|document| document.weights.keys())
    {
        *holding.entry(term).or_default() += 1;
    }
    let asked: BTreeSet<String> = terms(query).collect();
    let mut scores = vec![0; documents.len()];
    for term in &asked {
        let own = (term.as_str(), ONE);
        let same = [own]
            .into_iter()
            .chain(akin(term).map(|other| (other, AKIN)));
        let known: Vec<(&str, u64)> = same
            .filter_map(|(word, share)| {
                let worth = rarity(total, *holding.get(word)?) * share / ONE;
                Some((word, worth))
            })
            .collect();
        for (score, document) in scores.iter_mut().zip(&documents) {
            let worths = known.iter();
            let best = worths.map(|(word, worth)| document.weight(word) * worth / ONE);
            // Why the root: an operation that several words mean fits better than one that a
            // single word names.
            *score += (best.max().unwrap_or(0) * ONE).isqrt();
        }
    }
    let pairs = documents.iter().zip(scores).filter(|(_, score)| *score > 0);
    let mut hits: Vec<Hit<'a>> = pairs
        .map(|(document, score)| Hit {
            operation: document.operation,
            score,
        })
        .collect();
    hits.sort_by(|a, b| {
        let by_name = a.operation.name.cmp(&b.operation.name);
        b.score.cmp(&a.score).then(by_name)
    });
    hits
}

/// How telling a word is that stands in so many of `total`: about the logarithm of its rarity.
fn rarity(total: u64, holding: u64) -> u64 {
    let ratio = (total + 1) * ONE / (holding + 1);
    let whole = u64::from(ratio.max(1).ilog2());
    let rest = ratio * ONE / (1 << whole) - ONE;
    (whole * ONE + rest).saturating_sub(10 * ONE) + ONE / 4
}

/// The operations that a planner of this goal is given, best first, where the catalog has more
/// than it can read; none where it is given all. What nothing is found for is filled up in the
/// order of names.
#[must_use]
pub fn candidates<'a>(catalog: &'a Catalog, goal: &Goal) -> Option<Vec<&'a Operation>> {
    let all: Vec<&Operation> = catalog.iter().map(std::sync::Arc::as_ref).collect();
    if all.len() <= CANDIDATES_MAX {
        return None;
    }
    let criteria = goal.success.iter().map(|criterion| criterion.text.as_str());
    let words: Vec<&str> = criteria.chain([goal.text.as_str()]).collect();
    let ranked = rank(all.iter().copied(), &words.join(" "));
    let mut chosen: Vec<&Operation> = Vec::new();
    let mut bytes = 0;
    for operation in ranked.iter().map(|hit| hit.operation).chain(all) {
        if chosen.iter().any(|known| known.name == operation.name) {
            continue;
        }
        bytes += serde_json::to_vec(&ToolSignature::of(operation)).map_or(0, |text| text.len());
        let full = chosen.len() >= CANDIDATES_MAX || bytes > CANDIDATE_BYTES_MAX;
        if full && !chosen.is_empty() {
            break;
        }
        chosen.push(operation);
    }
    Some(chosen)
}
