//! After a person's yes something moves: plan, catalog, policy, principal, limits or stored rows.
//! No call is made that nobody saw and no policy permits. The rules stand in
//! [`sim::mutate::approval`].
//!
//! `PROVOST_CUTS` says at how many boundaries of the journal each mutation is tried. Without it
//! every sixth mutation is tried at one; `scripts/full approvals` tries all at all.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod bundles;
mod rows;

use std::collections::BTreeMap;

use bundles::{applies, saved, terms};
use provost_engine::bundle::Bundle;
use provost_plan::node::parse_yaml;
use provost_plan::plan::read::{plan_from_value, read_plan};
use provost_plan::policy::{DEFAULT_POLICY, Principal, PrincipalKind};
use provost_plan::source::Source;
use provost_run::event::{AskMode, Event};
use provost_run::machine::Rules;
use serde_json::{Value, json};
use sim::mutate::approval::{
    Covered, Made, PEOPLE, PLAN, Session, first_rules, operations, person, rules,
};
use sim::mutate::text::{Form, write};
use sim::mutate::{document, fields};

fn cuts_max() -> usize {
    let given = std::env::var("PROVOST_CUTS")
        .ok()
        .and_then(|text| text.parse().ok());
    given.unwrap_or(1)
}

fn is_full() -> bool {
    std::env::var_os("PROVOST_CUTS").is_some()
}

/// All mutations, or every sixth.
fn chosen<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    all.into_iter().step_by(if is_full() { 1 } else { 6 })
}

/// What became of the trials of one kind of mutation.
#[derive(Default)]
struct Row {
    mutations: usize,
    trials: usize,
    refused: usize,
    asked: usize,
    covered: usize,
    unapproved: Vec<String>,
}

#[derive(Default)]
struct Table(BTreeMap<&'static str, Row>);

impl Table {
    fn row(&mut self, kind: &'static str) -> &mut Row {
        self.0.entry(kind).or_default()
    }

    /// One trial that came to an end: nothing called, people asked, or calls made.
    fn count(&mut self, kind: &'static str, what: &str, session: &Session, covered: &Covered) {
        let row = self.row(kind);
        row.trials += 1;
        for made in session.uncovered(covered) {
            let args = &made.args;
            row.unapproved
                .push(format!("{kind}: {what}: {} {args}", made.operation.name));
        }
        if !session.open().is_empty() {
            row.asked += 1;
        } else if session.made.is_empty() {
            row.refused += 1;
        } else {
            row.covered += 1;
        }
    }

    fn refuse(&mut self, kind: &'static str) {
        let row = self.row(kind);
        row.trials += 1;
        row.refused += 1;
    }

    fn print(&self) {
        println!("mutated        mutations trials refused asked covered unapproved");
        for (kind, row) in &self.0 {
            println!(
                "{kind:<14} {:>9} {:>6} {:>7} {:>5} {:>7} {:>10}",
                row.mutations,
                row.trials,
                row.refused,
                row.asked,
                row.covered,
                row.unapproved.len()
            );
        }
        let mutations: usize = self.0.values().map(|row| row.mutations).sum();
        let trials: usize = self.0.values().map(|row| row.trials).sum();
        println!("in all {mutations} mutations, {trials} trials");
    }

    fn unapproved(&self) -> Vec<&String> {
        self.0.values().flat_map(|row| &row.unapproved).collect()
    }

    fn mutations(&self) -> usize {
        self.0.values().map(|row| row.mutations).sum()
    }
}

/// A whole run in which nothing moved.
struct History {
    session: Session,
    /// The boundaries between the first card and the end.
    cuts: Vec<usize>,
    covered: Covered,
}

impl History {
    fn of(ask: AskMode, revision: Option<String>) -> Self {
        let rules = first_rules().unwrap();
        let mut session = Session::begin(&rules, ask, revision).unwrap();
        session.finish().unwrap();
        let status = session.run.state().status().word();
        assert_eq!(
            status,
            "succeeded",
            "{:?}",
            session.run.state().ending.ended
        );
        let asked = |(event, _): &(Event, i64)| matches!(event, Event::ApprovalRequested { .. });
        let first = session.journal.iter().position(asked).unwrap() + 1;
        let whole = session.journal.len();
        let cuts = session
            .cuts
            .iter()
            .copied()
            .filter(|cut| (first..whole).contains(cut));
        Self {
            cuts: cuts.collect(),
            covered: Covered {
                calls: session.made.clone(),
                policy: rules.policy.digest(),
            },
            session,
        }
    }

    /// The boundaries at which mutation number `number` is tried.
    fn some(&self, number: usize) -> Vec<usize> {
        let count = self.cuts.len();
        (0..cuts_max().min(count))
            .map(|more| self.cuts[(number + more) % count])
            .collect()
    }

    /// The process ends at `cut`; another takes the run up under `rules`. Whoever saw a card says
    /// yes to it as they saw it, and to nothing else.
    fn taken_up(&self, cut: usize, rules: &Rules) -> Result<Session, String> {
        let journal = self.session.journal[..cut].to_vec();
        let before = Session::resume(journal.clone(), &first_rules().unwrap())?.open();
        let mut session = Session::resume(journal, rules)?;
        session.go()?;
        for card in before {
            // Why ignored: a card that is gone or that this person may not answer opens nothing.
            let _ = session.approve(card, person("bob"));
        }
        session.go()?;
        Ok(session)
    }
}

fn both() -> [History; 2] {
    [
        History::of(AskMode::Step, None),
        History::of(AskMode::Plan, None),
    ]
}

fn under_moved_rules(table: &mut Table, kind: &'static str, moved: &[(String, Option<Rules>)]) {
    let histories = both();
    for (number, (what, rules)) in moved.iter().enumerate() {
        let row = table.row(kind);
        row.mutations += 1;
        let Some(rules) = rules else {
            // What does not load stops every command before anything runs.
            table.refuse(kind);
            continue;
        };
        for history in &histories {
            for cut in history.some(number) {
                match history.taken_up(cut, rules) {
                    Ok(session) => {
                        table.count(
                            kind,
                            &format!("{what} at {cut}"),
                            &session,
                            &history.covered,
                        );
                    }
                    Err(_) => table.refuse(kind),
                }
            }
        }
    }
}

fn catalogs() -> Vec<(String, Option<Rules>)> {
    let base = operations().unwrap();
    let mut moved = Vec::new();
    for (index, operation) in base.iter().enumerate() {
        let mut all = base.clone();
        all.remove(index);
        moved.push((format!("{} gone", operation.name), all));
        for (what, changed) in fields::operations(operation) {
            let mut all = base.clone();
            all[index] = changed;
            moved.push((what, all));
        }
    }
    chosen(moved)
        .map(|(what, all)| (what, rules(all, DEFAULT_POLICY, PEOPLE)))
        .collect()
}

fn policies() -> Vec<(String, Option<Rules>)> {
    let with = |(what, text): (String, String)| {
        let rules = rules(operations().unwrap(), &text, PEOPLE);
        (what, rules)
    };
    let mut all: Vec<_> = chosen(fields::policies(DEFAULT_POLICY)).map(with).collect();
    let people: Value = serde_json::from_str(PEOPLE).unwrap();
    for (what, people) in chosen(fields::documents(&people)) {
        let rules = rules(operations().unwrap(), DEFAULT_POLICY, &people.to_string());
        all.push((format!("people {what}"), rules));
    }
    all
}

/// Somebody else, or bob as somebody else, says yes.
fn of_principals(table: &mut Table) {
    let kind = "principal";
    for history in both() {
        let journal = history.session.journal[..history.cuts[0]].to_vec();
        let bob = serde_json::to_value(person("bob")).unwrap();
        let mut others: Vec<Value> = fields::documents(&bob)
            .into_iter()
            .map(|(_, p)| p)
            .collect();
        for id in ["ada", "mallory", "", "Bob", "bob "] {
            others.push(serde_json::to_value(person(id)).unwrap());
        }
        for other in others {
            table.row(kind).mutations += 1;
            let Ok(by) = serde_json::from_value::<Principal>(other.clone()) else {
                table.refuse(kind);
                continue;
            };
            let is_bob = by.id == "bob" && by.kind == PrincipalKind::User;
            let rules = first_rules().unwrap();
            let mut session = Session::resume(journal.clone(), &rules).unwrap();
            let card = session.open()[0];
            let yes = session.approve(card, by).is_ok();
            session.go().unwrap();
            if yes && !is_bob && other["id"] != json!("eve") {
                table.row(kind).unapproved.push(format!("a yes of {other}"));
            }
            table.count(kind, &other.to_string(), &session, &history.covered);
        }
    }
}

/// After the yes to the whole plan, the planner revises it by one field.
fn of_revisions(table: &mut Table) {
    let kind = "plan, revised";
    let document = parse_yaml(PLAN).unwrap().to_value();
    let rules = first_rules().unwrap();
    let covered = History::of(AskMode::Plan, None).covered;
    for (what, changed) in chosen(fields::documents(&document)) {
        table.row(kind).mutations += 1;
        let text = changed.to_string();
        let mut session = Session::begin(&rules, AskMode::Plan, Some(text)).unwrap();
        session.go().unwrap();
        let before = session.clone();
        let card = session.open()[0];
        session.approve(card, person("bob")).unwrap();
        session.go().unwrap();
        assert!(before.made.is_empty(), "nothing is called before the yes");
        table.count(kind, &what, &session, &covered);
    }
}

/// The plan that the journal keeps is changed, and the chain of the journal made to fit.
fn of_kept_plans(table: &mut Table) {
    let kind = "plan, kept";
    let rules = first_rules().unwrap();
    for history in both() {
        let at = history.session.journal.iter();
        let at = at
            .into_iter()
            .position(|(e, _)| matches!(e, Event::PlanChecked { .. }))
            .unwrap();
        let Event::PlanChecked { document, .. } = &history.session.journal[at].0 else {
            continue;
        };
        for (number, (what, changed)) in chosen(fields::documents(document)).enumerate() {
            table.row(kind).mutations += 1;
            for cut in history.some(number) {
                let mut journal = history.session.journal[..cut].to_vec();
                if let Event::PlanChecked { document, .. } = &mut journal[at].0 {
                    *document = changed.clone().into();
                }
                match Session::resume(journal, &rules) {
                    Ok(mut session) => {
                        session.go().unwrap();
                        table.count(kind, &what, &session, &history.covered);
                    }
                    Err(_) => table.refuse(kind),
                }
            }
        }
    }
}

#[test]
fn nothing_that_moves_after_a_yes_makes_an_unapproved_call() {
    let mut table = Table::default();
    under_moved_rules(&mut table, "catalog", &catalogs());
    under_moved_rules(&mut table, "policy", &policies());
    of_principals(&mut table);
    of_revisions(&mut table);
    of_kept_plans(&mut table);
    bundles::of_bundles(&mut table);
    rows::of_rows(&mut table);
    table.print();
    for (kind, row) in &table.0 {
        assert!(row.mutations > 0, "{kind}");
    }
    let least = if is_full() { 1_000 } else { 200 };
    assert!(table.mutations() >= least, "too few mutations");
    assert_eq!(table.unapproved(), Vec::<&String>::new());
    let row = |kind| table.0.get(kind).expect(kind);
    assert!(
        row("catalog").asked > 0 && row("policy").asked > 0,
        "people are asked anew"
    );
    assert!(
        row("catalog").covered > 0,
        "what does not matter changes nothing"
    );
}

/// Control: an executor that goes by the name of a step alone calls what nobody saw.
#[test]
fn an_approval_without_digests_is_noticed() {
    let rules = first_rules().unwrap();
    let covered = History::of(AskMode::Step, None).covered;
    let document = parse_yaml(PLAN).unwrap().to_value();
    let mut unapproved = 0;
    for (_, changed) in fields::documents(&document) {
        let Ok(plan) = plan_from_value(&changed, "naive") else {
            continue;
        };
        for step in &plan.steps {
            let operation = step.tool().and_then(|tool| rules.catalog.get(&tool.value));
            let (Some(operation), Some(args)) = (operation, step.value.get("args")) else {
                continue;
            };
            let made = Made {
                step: step.id.value.clone(),
                operation: operation.clone(),
                args: args.clone(),
            };
            unapproved += usize::from(!covered.covers(&made, true, &rules));
        }
    }
    let paid = covered
        .calls
        .iter()
        .find(|made| made.step == "pay")
        .unwrap();
    for (_, changed) in fields::operations(&paid.operation) {
        let made = Made {
            operation: changed.into(),
            ..paid.clone()
        };
        unapproved += usize::from(!covered.covers(&made, true, &rules));
    }
    println!("a naive executor makes {unapproved} unapproved calls");
    assert!(unapproved > 20);
}

/// Control: with the yes taken back, the same calls are unapproved.
#[test]
fn a_call_without_a_yes_is_noticed() {
    let rules = first_rules().unwrap();
    let covered = History::of(AskMode::Step, None).covered;
    let asked = |made: &&Made| made.operation.effect != provost_plan::catalog::Effect::Read;
    let calls: Vec<&Made> = covered.calls.iter().filter(asked).collect();
    assert_eq!(calls.len(), 3, "a mail, again, and a payment");
    for made in calls {
        assert!(covered.covers(made, true, &rules));
        assert!(!covered.covers(made, false, &rules));
    }
}

#[test]
fn two_hundred_neutral_edits_are_not_refused() {
    let original = saved();
    let rules = first_rules().unwrap();
    let base = terms(&rules);
    let document = parse_yaml(PLAN).unwrap().to_value();
    let calls = History::of(AskMode::Plan, None).covered.calls;
    let mut texts = std::collections::BTreeSet::new();
    for number in 0..240 {
        let text = write(&document, Form::of(number), number);
        let plan = read_plan(&Source::new("plan", text.as_str())).unwrap();
        let bundle = Bundle {
            plan: Value::clone(&plan.value),
            ..original.clone()
        };
        assert!(applies(&bundle, &base), "a saved plan is stale:\n{text}");
        if number < 12 || is_full() {
            let revision = Some(text.clone());
            let mut session = Session::begin(&rules, AskMode::Plan, revision).unwrap();
            session.go().unwrap();
            let card = session.open()[0];
            session.approve(card, person("bob")).unwrap();
            session.go().unwrap();
            assert_eq!(session.open(), Vec::new(), "asked again:\n{text}");
            assert_eq!(session.made, calls, "{text}");
        }
        texts.insert(text);
    }
    println!("{} neutral edits, none refused", texts.len());
    assert!(texts.len() >= 200, "{}", texts.len());
    let changed = document::Document(document).with_field("answer", json!("another"));
    let bundle = Bundle {
        plan: changed.0,
        ..original
    };
    assert!(
        !applies(&bundle, &base),
        "control: an edit that is not neutral is refused"
    );
}
