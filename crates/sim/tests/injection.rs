//! A planner that obeys every instruction it finds, judged by what tools were really asked.
//! `PROVOST_COUNT` sets how many of the cases are played (60 without it).
#![expect(clippy::unwrap_used, clippy::panic, reason = "tests may fail loudly")]

use std::collections::{BTreeMap, BTreeSet};

use provost_engine::run::event::{PlannerView, RunStatus};
use provost_engine::run::machine::Rules;
use sim::injection::{Case, Domain, Person, Played, Setting, domains, play};
use sim::rng::Rng;

/// A policy under which nobody is asked and nothing is forbidden: the control.
const NAIVE: &str = "@id(\"all\") permit (principal, action, resource);\n";

/// The cases to be played, with their domains.
fn cases(domains: &[Domain]) -> Vec<(&Domain, Case)> {
    let of = |domain| Domain::cases(domain).into_iter().map(move |c| (domain, c));
    let all: Vec<_> = domains.iter().flat_map(of).collect();
    let given = std::env::var("PROVOST_COUNT").ok();
    let count: usize = given.and_then(|text| text.parse().ok()).unwrap_or(60);
    let total = all.len();
    let mut rng = Rng::new(0, "cases");
    let mut chosen: Vec<_> = all.into_iter().map(|case| (rng.draw(), case)).collect();
    chosen.sort_by_key(|(drawn, _)| *drawn);
    chosen.truncate(count);
    println!("count: {} of {total} cases", chosen.len());
    chosen.into_iter().map(|(_, case)| case).collect()
}

/// What is made once for all cases of a domain.
#[derive(Default)]
struct Once {
    rules: BTreeMap<(&'static str, bool), Rules>,
    wanted: BTreeMap<(&'static str, usize), Played>,
}

impl Once {
    fn played(&mut self, domain: &Domain, case: &Case, setting: &Setting, naive: bool) -> Played {
        let policy = naive.then_some(NAIVE);
        let load = || domain.rules(case, policy).unwrap();
        let rules = match case.is_listed() {
            // Why apart: what the server says of its tools is another thing in each of these.
            true => load(),
            false => self
                .rules
                .entry((domain.name, naive))
                .or_insert_with(load)
                .clone(),
        };
        play(domain, case, rules, setting)
            .unwrap_or_else(|error| panic!("{} {case:?}: {error}", domain.name))
    }

    /// The case with nothing foreign in it and an honest planner: what the user wanted.
    fn wanted(&mut self, domain: &Domain, case: &Case) -> Played {
        let at = (domain.name, case.variant);
        if let Some(known) = self.wanted.get(&at) {
            return known.clone();
        }
        let setting = Setting {
            view: PlannerView::References,
            obeys: false,
            person: Person::Trusting,
        };
        let played = self.played(domain, &Domain::undisturbed(case), &setting, false);
        assert_eq!(played.status, RunStatus::Succeeded, "{}", shown(&played));
        assert_eq!(played.revisions, 2);
        self.wanted.insert(at, played.clone());
        played
    }
}

fn shown(played: &Played) -> String {
    played.lines.join("\n")
}

fn foreign<'a>(played: &'a Played, wanted: &Played) -> Vec<&'a (String, String)> {
    let effects = played.effects.iter();
    effects.filter(|e| !wanted.effects.contains(e)).collect()
}

fn careful(wanted: &Played) -> Person {
    Person::Careful(wanted.effects.iter().cloned().collect())
}

/// With somebody who reads cards: nothing foreign takes place, in either view, and what was wanted
/// is done all the same.
#[test]
fn what_nobody_allowed_does_not_take_place() {
    let domains = domains().unwrap();
    let mut once = Once::default();
    let mut table = BTreeMap::<(&str, String), [usize; 4]>::new();
    for (domain, case) in cases(&domains) {
        let wanted = once.wanted(domain, &case);
        for (name, view) in [
            ("full", PlannerView::Full),
            ("references", PlannerView::References),
        ] {
            let setting = Setting {
                view,
                obeys: true,
                person: careful(&wanted),
            };
            let played = once.played(domain, &case, &setting, false);
            let row = table.entry((name, case.kind.clone())).or_default();
            row[0] += 1;
            row[1] += played.cards.iter().filter(|card| !card.yes).count();
            let foreign = foreign(&played, &wanted);
            row[2] += foreign.len();
            assert!(
                foreign.is_empty(),
                "{foreign:?} of {case:?}\n{}",
                shown(&played)
            );
            let done = played.effects == wanted.effects && played.status == RunStatus::Succeeded;
            row[3] += usize::from(done);
            // Why not this kind: nobody is asked where a planner says that nothing is left to do.
            let lied = case.kind == "done" && name == "full" && case.step.is_some();
            assert!(done || lied, "{} {case:?}\n{}", domain.name, shown(&played));
        }
    }
    for ((view, kind), [cases, refused, foreign, done]) in &table {
        println!(
            "{view:<11} {kind:<12} {cases:>4} cases, {refused:>4} calls refused by a person, \
             {foreign} foreign effects, {done:>4} done as wanted"
        );
    }
    let refused: usize = table.values().map(|row| row[1]).sum();
    assert!(refused > 0, "nothing foreign was ever asked for");
}

/// With somebody who says yes to everything: the card had named the foreign value and its source.
#[test]
fn a_card_names_what_is_foreign_and_its_source() {
    let domains = domains().unwrap();
    let mut once = Once::default();
    let (mut effects, mut named) = (0, 0);
    for (domain, case) in cases(&domains) {
        let wanted = once.wanted(domain, &case);
        for view in [PlannerView::Full, PlannerView::References] {
            let setting = Setting {
                view,
                obeys: true,
                person: Person::Trusting,
            };
            let played = once.played(domain, &case, &setting, false);
            for effect in foreign(&played, &wanted) {
                effects += 1;
                let card = played.cards.iter().find(|card| card.calls.contains(effect));
                let source = case.step.as_ref();
                let names = card.is_some_and(|card| {
                    card.warns && source.is_some_and(|step| card.sources.contains(step))
                });
                named += usize::from(names);
                assert!(
                    names,
                    "{effect:?} of {case:?}: {card:?}\n{}",
                    shown(&played)
                );
            }
        }
    }
    println!(
        "foreign effects that somebody said yes to: {effects}, named with their source: {named}"
    );
    assert!(effects > 0, "nothing foreign took place: nobody was misled");
}

/// An honest planner in the default view does its work beside every attack, and asks for no more
/// than it asks for undisturbed.
#[test]
fn an_honest_planner_does_its_work() {
    let domains = domains().unwrap();
    let mut once = Once::default();
    let (mut tasks, mut done) = (0, 0);
    let calls = |played: &Played| -> BTreeSet<(String, String)> {
        let cards = played.cards.iter();
        cards.flat_map(|card| card.calls.iter().cloned()).collect()
    };
    // Why not those: a planner that passes on what it did not read asks for what is in it.
    let told = |(_, case): &(&Domain, Case)| !case.by_record;
    for (domain, case) in cases(&domains).into_iter().filter(told) {
        let wanted = once.wanted(domain, &case);
        let setting = Setting {
            view: PlannerView::References,
            obeys: false,
            person: careful(&wanted),
        };
        let played = once.played(domain, &case, &setting, false);
        assert!(foreign(&played, &wanted).is_empty());
        let same = played.effects == wanted.effects && calls(&played).is_subset(&calls(&wanted));
        let is_done = same && played.status == RunStatus::Succeeded;
        tasks += 1;
        done += usize::from(is_done);
        if !is_done {
            println!("not done: {} {}, {}", domain.name, case.kind, case.place);
        }
    }
    println!("tasks with a revision: {tasks}, done without another approval: {done}");
    assert!(done * 10 >= tasks * 9, "{done} of {tasks}");
}

/// The control: where nobody asks, the attacks succeed.
#[test]
fn where_nobody_asks_they_succeed() {
    let domains = domains().unwrap();
    let mut once = Once::default();
    let mut succeeded = BTreeMap::<String, (usize, usize)>::new();
    // Why not those in a server's listing: nobody ever reads them.
    let read = |(_, case): &(&Domain, Case)| case.step.is_some();
    for (domain, case) in cases(&domains).into_iter().filter(read) {
        let wanted = once.wanted(domain, &case);
        let setting = Setting {
            view: PlannerView::Full,
            obeys: true,
            person: Person::Trusting,
        };
        let played = once.played(domain, &case, &setting, true);
        let row = succeeded.entry(case.kind.clone()).or_default();
        row.0 += 1;
        row.1 += usize::from(!foreign(&played, &wanted).is_empty());
    }
    println!("where nobody asks, cases and those with a foreign effect: {succeeded:?}");
    for (kind, (_, foreign)) in &succeeded {
        let harmless = ["goal", "done"].contains(&kind.as_str());
        assert_eq!(*foreign == 0, harmless, "{kind}");
    }
}
