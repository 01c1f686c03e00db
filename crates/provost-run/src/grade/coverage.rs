//! Held by simulation: the intervals hold the truth as often as they say, whatever is compared.

use super::{CaseDifference, Comparison, ComparisonRules, Draws, Finding, Repeats, compare};

/// What a share of simulated comparisons came to.
struct Simulated {
    held: f64,
    /// The same of the interval of the textbook, which is the control.
    wald: f64,
    worse: f64,
}

/// Comparisons of two planners that pass each repeat of each case with these chances.
struct World {
    cases: usize,
    repeats: u64,
    old: f64,
    new: f64,
}

impl World {
    fn simulate(&self, comparisons: u32) -> Simulated {
        let mut random = Draws::of(17);
        let (mut held, mut wald, mut worse) = (0_u32, 0_u32, 0_u32);
        for seed in 0..comparisons {
            let cases: Vec<CaseDifference> =
                (0..self.cases).map(|_| self.case(&mut random)).collect();
            let rules = ComparisonRules {
                // Fewer than in a report: what is simulated is how often, and not how finely.
                draws: 600,
                flips: 600,
                seed: u64::from(seed),
                ..ComparisonRules::default()
            };
            let found = compare(&cases, rules);
            let truth = self.new - self.old;
            held += u32::from(found.interval.unwrap().holds(truth));
            wald += u32::from(within_wald(&cases, truth));
            worse += u32::from(found.finding == Finding::Worse);
        }
        let share = |count: u32| f64::from(count) / f64::from(comparisons);
        Simulated {
            held: share(held),
            wald: share(wald),
            worse: share(worse),
        }
    }

    fn case(&self, random: &mut Draws) -> CaseDifference {
        let mut repeats = |chance: f64| Repeats {
            passed: (0..self.repeats)
                .filter(|_| random.share() < chance)
                .count() as u64,
            judged: self.repeats,
        };
        CaseDifference {
            new: repeats(self.new),
            old: repeats(self.old),
        }
    }
}

fn within_wald(cases: &[CaseDifference], truth: f64) -> bool {
    let share = |one: &CaseDifference| one.new.share().unwrap() - one.old.share().unwrap();
    let n = cases.len() as f64;
    let mean = cases.iter().map(share).sum::<f64>() / n;
    let spread = cases
        .iter()
        .map(|one| (share(one) - mean).powi(2))
        .sum::<f64>()
        / (n - 1.0);
    (mean - truth).abs() <= 1.96 * (spread / n).sqrt() + 1e-12
}

#[test]
#[ignore = "two minutes: `scripts/full statistics` runs it"]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let mut least_wald = 1.0_f64;
    for repeats in [1, 4] {
        for old in [0.5, 0.9, 0.98] {
            for cases in [20, 50, 200] {
                for worse_by in [0.0, 0.1, 0.3] {
                    let world = World {
                        cases,
                        repeats,
                        old,
                        new: old - worse_by,
                    };
                    let found = world.simulate(2_000);
                    println!(
                        "repeats {repeats}, pass {old}, cases {cases}, worse by {worse_by}: \
                         held {:.3}, wald {:.3}, found worse {:.3}",
                        found.held, found.wald, found.worse
                    );
                    assert!(found.held >= 0.93, "too narrow");
                    // Above, only where so few cases differ that no interval can be exact.
                    let differ = cases as f64 * (old * (1.0 - world.new) + world.new * (1.0 - old));
                    assert!(found.held <= 0.985 || differ < 10.0, "too wide");
                    least_wald = least_wald.min(found.wald);
                }
            }
        }
    }
    assert!(least_wald < 0.93, "the control: Wald's falls short");
}

#[test]
fn equal_planners_are_seldom_called_worse_and_a_worse_one_is_found() {
    let world = |new| World {
        cases: 200,
        repeats: 4,
        old: 0.9,
        new,
    };
    let equal = world(0.9).simulate(200);
    assert!(equal.worse <= 0.05, "{}", equal.worse);
    let worse = world(0.8).simulate(20);
    assert!(worse.worse >= 0.8, "{}", worse.worse);
}

#[test]
fn few_cases_give_no_interval_whatever_they_show() {
    let lost = CaseDifference {
        new: Repeats {
            passed: 0,
            judged: 4,
        },
        old: Repeats {
            passed: 4,
            judged: 4,
        },
    };
    let found = |cases: usize| -> Comparison { compare(&vec![lost; cases], Default::default()) };
    assert_eq!(found(19).finding, Finding::TooFew);
    assert_eq!(found(19).interval, None);
    assert!(!found(19).regressed);
    assert_eq!(found(20).finding, Finding::Worse);
    assert!(found(20).regressed, "the control: one case more tells");
    assert!(
        found(19)
            .sentence()
            .starts_with("too few to tell: 19 cases")
    );
    assert_eq!(compare(&[], Default::default()).p, None);
}

#[test]
fn what_regressed_must_lie_beyond_what_is_let_pass() {
    let case = |new| CaseDifference {
        new: Repeats {
            passed: new,
            judged: 1,
        },
        old: Repeats {
            passed: 1,
            judged: 1,
        },
    };
    // 10 of 60 lost: the interval ends near -0.09.
    let cases: Vec<CaseDifference> = (0..60).map(|at| case(u64::from(at >= 10))).collect();
    let held_to = |regress_max| {
        let rules = ComparisonRules {
            regress_max,
            ..Default::default()
        };
        compare(&cases, rules)
    };
    assert_eq!(held_to(0.2).finding, Finding::Worse);
    assert!(!held_to(0.2).regressed);
    assert!(held_to(0.02).regressed);
    let text = held_to(0.02).sentence();
    assert!(text.starts_with("worse by 16.7 % ("), "{text}");
}
