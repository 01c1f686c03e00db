//! The corpus of verdicts: what `why` says of runs whose truth is known.
//!
//! `PROVOST_VARIANTS` sets how many worlds each template is played in (`scripts/full verdicts`);
//! without it two.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::OnceLock;

use provost_run::event::{Event, RunStatus};
use provost_run::outcome::Class;
use provost_run::read::why::{Certainty, Guilty, Judgment, Party, Witnesses, why};

use crate::rng::Rng;
use crate::verdicts::{Case, Outcome, Stratum, Truth, cases};

/// Worlds of each template in the whole corpus.
const WHOLE: usize = 6;

const STRATA: [Stratum; 4] = [
    Stratum::Journal,
    Stratum::Witness,
    Stratum::Reference,
    Stratum::Nothing,
];

/// What was counted of a stratum.
#[derive(Default)]
struct Tally {
    cases: usize,
    right: usize,
    open: usize,
    wrong: usize,
    steps: usize,
    steps_right: usize,
    candidates: usize,
}

struct Corpus {
    cases: Vec<(Case, Judgment)>,
    variants: usize,
}

impl Corpus {
    /// The corpus, played once for all tests.
    fn kept() -> &'static Self {
        static KEPT: OnceLock<Corpus> = OnceLock::new();
        KEPT.get_or_init(Self::play)
    }

    fn play() -> Self {
        let variants = std::env::var("PROVOST_VARIANTS").ok();
        let variants = variants.and_then(|text| text.parse().ok()).unwrap_or(2);
        let cases = cases(variants).unwrap();
        let judged = cases.into_iter().map(|case| {
            let judged = case.judged();
            (case, judged)
        });
        Self {
            cases: judged.collect(),
            variants,
        }
    }

    /// Whether it is as large as `scripts/full verdicts` wants it.
    fn is_whole(&self) -> bool {
        self.variants >= WHOLE
    }

    fn count(&self, stratum: Stratum) -> usize {
        let cases = self.cases.iter();
        cases.filter(|(case, _)| case.stratum == stratum).count()
    }

    fn of(&self, stratum: Stratum, held_out: bool) -> impl Iterator<Item = &(Case, Judgment)> {
        self.cases.iter().filter(move |(case, _)| {
            case.stratum == stratum && case.held_out == held_out && case.truths.len() == 1
        })
    }

    fn tally(&self, stratum: Stratum, held_out: bool) -> Tally {
        let mut tally = Tally::default();
        for (case, judged) in self.of(stratum, held_out) {
            tally.cases += 1;
            let outcome = case.outcome(judged);
            tally.right += usize::from(outcome == Outcome::Right);
            tally.open += usize::from(outcome == Outcome::Open);
            tally.wrong += usize::from(outcome == Outcome::Wrong);
            let planted = case.truths.iter().any(|truth| truth.step.is_some());
            tally.steps += usize::from(planted);
            tally.steps_right += usize::from(planted && case.names_step(judged));
            tally.candidates += usize::from(case.among_candidates(judged, 4));
        }
        tally
    }
}

/// The lower end of the Wilson 95 % interval of a rate.
fn lower(right: usize, of: usize) -> f64 {
    let (n, p, z) = (of as f64, right as f64 / of as f64, 1.959_964_f64);
    let middle = p + z * z / (2.0 * n);
    let half = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    (middle - half) / (1.0 + z * z / n)
}

fn table(corpus: &Corpus, held_out: bool) -> String {
    let mut out = String::from("stratum    cases right open wrong  step\n");
    for stratum in STRATA {
        let tally = corpus.tally(stratum, held_out);
        let name = format!("{stratum:?}").to_lowercase();
        let steps = match stratum {
            Stratum::Nothing => format!("{}/{} among 4", tally.candidates, tally.cases),
            _ => format!("{}/{}", tally.steps_right, tally.steps),
        };
        writeln!(
            out,
            "{name:10} {:5} {:5} {:4} {:5}  {steps}",
            tally.cases, tally.right, tally.open, tally.wrong
        )
        .unwrap();
    }
    out
}

/// The truth of each case against what was said of it.
fn confusion(corpus: &Corpus) -> String {
    let mut counts: BTreeMap<(Guilty, Party, Guilty), usize> = BTreeMap::new();
    for (case, judged) in corpus.cases.iter().filter(|(case, _)| !case.held_out) {
        if let [truth] = case.truths.as_slice() {
            let key = (truth.guilty, truth.party, judged.guilty);
            *counts.entry(key).or_default() += 1;
        }
    }
    let mut out = String::new();
    for ((guilty, party, said), count) in counts {
        let (guilty, party, said) = (guilty.word(), party.word(), said.word());
        writeln!(out, "{guilty:10} {party:9} -> {said:10} {count:5}").unwrap();
    }
    out
}

/// What was not said rightly, by fault.
fn missed(corpus: &Corpus) -> String {
    let mut missed: BTreeMap<(Stratum, &str, String), (usize, String)> = BTreeMap::new();
    for (case, judged) in corpus.cases.iter().filter(|(case, _)| !case.held_out) {
        let bad = match case.stratum {
            Stratum::Nothing => {
                judged.certainty != Certainty::Open || !case.among_candidates(judged, 4)
            }
            _ if case.truths.len() > 1 => !case.names_all(judged),
            _ => {
                let planted = case.truths.iter().any(|truth| truth.step.is_some());
                case.outcome(judged) != Outcome::Right || planted && !case.names_step(judged)
            }
        };
        if bad {
            let said = format!(
                "{} {:?} {:?}",
                judged.guilty.word(),
                judged.party,
                judged.cause
            );
            let key = (case.stratum, case.fault, said);
            let one = missed.entry(key).or_insert_with(|| {
                let last = case
                    .journal
                    .last()
                    .map(|(event, _)| format!("{:?}", event.to_stored()));
                (0, format!("{}: {} | {last:?}", case.name, judged.sentence))
            });
            one.0 += 1;
        }
    }
    let lines = missed
        .into_iter()
        .map(|((stratum, fault, said), (count, first))| {
            format!("{stratum:?} {fault}: {count} × {said}; {first}\n")
        });
    lines.collect()
}

/// What `scripts/full verdicts` prints.
fn report(corpus: &Corpus) -> String {
    format!(
        "{}\nheld out\n{}\ntruth -> said\n{}\nclass of the last failure: {} of {} right\n\
         labels shuffled: {} of {} right\n{}",
        table(corpus, false),
        table(corpus, true),
        confusion(corpus),
        by_class(corpus),
        corpus.cases.len(),
        shuffled(corpus),
        corpus.cases.len(),
        missed(corpus)
    )
}

/// How many a judge gets right who takes the class of the end for the cause.
fn by_class(corpus: &Corpus) -> usize {
    let naive = |case: &Case| {
        let ended = case
            .journal
            .iter()
            .rev()
            .find_map(|(event, _)| match event {
                Event::RunEnded(ended) => Some(ended),
                _ => None,
            });
        match ended.map(|ended| (ended.status, ended.class)) {
            Some((RunStatus::Refused, _)) => Guilty::Plan,
            Some((RunStatus::Rejected | RunStatus::Expired | RunStatus::Cancelled, _)) => {
                Guilty::Neither
            }
            Some((_, Some(class))) => match class {
                Class::InvalidArguments | Class::Expression | Class::NotFound | Class::Unmet => {
                    Guilty::Plan
                }
                Class::Drift => Guilty::Neither,
                _ => Guilty::Execution,
            },
            _ => Guilty::Execution,
        }
    };
    let right = |case: &&Case| case.truths.iter().any(|truth| truth.guilty == naive(case));
    corpus
        .cases
        .iter()
        .map(|(case, _)| case)
        .filter(right)
        .count()
}

/// How many verdicts would be right, had every case the truth of another.
fn shuffled(corpus: &Corpus) -> usize {
    let mut truths: Vec<&[Truth]> = corpus
        .cases
        .iter()
        .map(|(case, _)| &case.truths[..])
        .collect();
    Rng::new(1, "shuffled").shuffle(&mut truths);
    let pairs = corpus.cases.iter().zip(truths);
    let right = pairs
        .filter(|((case, judged), truths)| case.outcome_beside(judged, truths) == Outcome::Right);
    right.count()
}

#[test]
fn verdicts_are_right_where_something_decides_and_open_where_nothing_does() {
    let corpus = Corpus::kept();
    println!("{}", report(corpus));
    for held_out in [false, true] {
        for stratum in STRATA {
            let tally = corpus.tally(stratum, held_out);
            assert_eq!(tally.wrong, 0, "{stratum:?}: no verdict is wrong");
            if stratum == Stratum::Nothing {
                assert_eq!(tally.open, tally.cases, "what nothing decides is open");
                assert!(tally.candidates * 100 >= tally.cases * 95);
                continue;
            }
            let least = if held_out { 90 } else { 95 };
            assert!(tally.right * 100 >= tally.cases * least, "{stratum:?}");
            assert!(tally.steps_right * 100 >= tally.steps * 90, "{stratum:?}");
            // Why not of the rest: a share of a few cases has no close lower end.
            if tally.cases >= 100 && !held_out {
                assert!(lower(tally.right, tally.cases) >= 0.92, "{stratum:?}");
            }
        }
    }
    let all = corpus.cases.len();
    assert!(shuffled(corpus) * 100 < all * 40, "labels say something");
    assert!(by_class(corpus) * 100 < all * 90, "a class is no cause");
    if corpus.is_whole() {
        let wanted = [300, 120, 120, 100];
        for (stratum, least) in STRATA.into_iter().zip(wanted) {
            let count = corpus.count(stratum);
            assert!(count >= least, "{stratum:?}: {count} cases");
        }
    }
}

#[test]
fn two_causes_are_both_named_in_their_order() {
    let corpus = Corpus::kept();
    let pairs = corpus
        .cases
        .iter()
        .filter(|(case, _)| case.truths.len() > 1);
    let (mut all, mut named) = (0, 0);
    for (case, judged) in pairs {
        all += 1;
        named += usize::from(case.names_all(judged));
    }
    println!("two causes: {named} of {all}");
    assert!(all >= 24 && named * 100 >= all * 90, "{named} of {all}");
}

/// Runs that cannot be told apart by their journals and have different truths: nobody may say of
/// any of them that it is proven.
#[test]
fn what_is_proven_has_no_twin_with_another_truth() {
    let corpus = Corpus::kept();
    let groups = twins(corpus);
    println!("groups with two truths: {}", groups.len());
    let least = if corpus.is_whole() { 60 } else { 20 };
    assert!(groups.len() >= least, "{} groups", groups.len());
    for group in groups {
        for (case, judged) in group {
            assert_ne!(judged.certainty, Certainty::Proven, "{}", case.name);
        }
    }
}

/// The control: who guesses must fail it.
#[test]
fn a_guess_at_twins_is_found() {
    let corpus = Corpus::kept();
    let guessed = twins(corpus).into_iter().flatten().filter(|(_, judged)| {
        judged
            .candidates
            .first()
            .is_some_and(|first| first.guilty == Guilty::Plan)
    });
    assert!(guessed.count() > 0, "the first candidate would be a guess");
}

/// Cases with one journal and more than one truth, judged by their journals alone.
fn twins(corpus: &Corpus) -> Vec<Vec<(&Case, Judgment)>> {
    let mut groups: BTreeMap<String, Vec<&Case>> = BTreeMap::new();
    for (case, _) in &corpus.cases {
        groups
            .entry(case.twin_digest().to_string())
            .or_default()
            .push(case);
    }
    let differ = |group: &Vec<&Case>| {
        let parties: BTreeSet<(Guilty, Party)> = group
            .iter()
            .flat_map(|case| case.truths.iter().map(|truth| (truth.guilty, truth.party)))
            .collect();
        parties.len() > 1 && group.iter().all(|case| case.truths.len() == 1)
    };
    let alone = |case: &&'_ Case| why(&case.journal, &[], &Witnesses::default());
    let groups = groups.into_values().filter(differ);
    groups
        .map(|group| group.into_iter().map(|case| (case, alone(&case))).collect())
        .collect()
}
