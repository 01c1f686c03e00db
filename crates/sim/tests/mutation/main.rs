//! Mutants of the good plans of the corpus: the breaking ones get an error or a stricter verdict,
//! the harmless ones do not. The rules stand in [`sim::mutate`].
//!
//! `PROVOST_MUTANTS` says how many mutants each operator makes of one plan at most,
//! `PROVOST_WORLDS` in how many simulated worlds a run is judged, `PROVOST_PLANS=all` takes every
//! plan: without it, some are. `scripts/full mutations` takes all of all.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod fixes;
mod good;
#[allow(dead_code, reason = "the corpus uses the rest of it")]
#[path = "../../../provost-plan/tests/compiler/literate/mod.rs"]
mod literate;
mod playbooks;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use sim::mutate::judge::Judgment;
use sim::mutate::naive::Outcome;
use sim::mutate::{Change, Operator, Rule, operators, some};

use good::{Good, files};

fn number(name: &str, default: usize) -> usize {
    let given = std::env::var(name).ok().and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}

#[derive(Default)]
struct Row {
    mutants: usize,
    breaking: usize,
    caught: usize,
    harmless: usize,
    flagged: usize,
}

/// What went another way than it must, one line each.
#[derive(Default)]
struct Table {
    rows: Vec<(&'static str, Rule, Row)>,
    wrong: Vec<String>,
}

impl Table {
    fn of(goods: &[Good], most: usize) -> Self {
        let mut table = Self::default();
        for operator in operators() {
            let mut row = Row::default();
            for good in goods {
                table.try_all(&operator, good, most, &mut row);
            }
            table.rows.push((operator.name, operator.rule, row));
        }
        table
    }

    fn try_all(&mut self, operator: &Operator, good: &Good, most: usize, row: &mut Row) {
        let setting = if operator.allow_list {
            &good.allowing
        } else {
            &good.setting
        };
        let stream = format!("{} {}", good.subject.name, operator.name);
        let changes = some((operator.changes)(&good.subject), most, &stream);
        if changes.is_empty() {
            return;
        }
        let text = good.subject.plan.0.to_string();
        let (original, _) = setting.judge(&text);
        assert!(
            original.errors.is_empty(),
            "{}: {original:?}\n{text}",
            good.subject.name
        );
        let run = matches!(operator.rule, Rule::Run | Rule::Beside);
        let outcomes = if run {
            good.outcomes(&text)
        } else {
            Vec::new()
        };
        for change in changes {
            let (judgment, _) = setting.judge(&change.text);
            let breaking = match operator.rule {
                Rule::Breaks | Rule::Warns => true,
                Rule::Keeps => false,
                Rule::Run | Rule::Beside => breaks(&outcomes, &good.outcomes(&change.text)),
            };
            let warned = operator.rule == Rule::Warns && judgment.warns_more(&original);
            let stricter = warned || judgment.is_stricter(&original, &change.renamed);
            row.mutants += 1;
            row.breaking += usize::from(breaking);
            row.caught += usize::from(breaking && stricter);
            row.harmless += usize::from(!breaking);
            row.flagged += usize::from(!breaking && stricter);
            if breaking != stricter && operator.rule != Rule::Beside {
                self.note(operator, good, &change, &judgment, breaking);
            }
        }
    }

    fn note(
        &mut self,
        operator: &Operator,
        good: &Good,
        change: &Change,
        judgment: &Judgment,
        breaking: bool,
    ) {
        let word = if breaking { "missed" } else { "flagged" };
        let (name, what) = (&good.subject.name, &change.what);
        self.wrong.push(format!(
            "{word}: {name}: {}: {what}: {judgment:?}",
            operator.name
        ));
        if std::env::var_os("PROVOST_SHOW").is_some() {
            self.wrong.push(change.text.clone());
        }
    }

    fn total(&self) -> Row {
        let mut total = Row::default();
        for (_, _, row) in self
            .rows
            .iter()
            .filter(|(_, rule, _)| *rule != Rule::Beside)
        {
            total.mutants += row.mutants;
            total.breaking += row.breaking;
            total.caught += row.caught;
            total.harmless += row.harmless;
            total.flagged += row.flagged;
        }
        total
    }
}

/// Whether a mutant that can be read breaks the plan in any of the worlds.
fn breaks(original: &[Outcome], mutant: &[Outcome]) -> bool {
    mutant.is_empty()
        || original
            .iter()
            .zip(mutant)
            .any(|(one, other)| other.breaks(one))
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let line = |f: &mut std::fmt::Formatter<'_>, name: &str, row: &Row| {
            let Row {
                mutants,
                breaking,
                caught,
                harmless,
                flagged,
            } = row;
            writeln!(
                f,
                "{name:<38} {mutants:>7} {breaking:>8} {caught:>6} {harmless:>8} {flagged:>7}"
            )
        };
        writeln!(
            f,
            "operator                               mutants breaking caught harmless flagged"
        )?;
        for (name, rule, row) in &self.rows {
            if *rule == Rule::Beside {
                line(f, &format!("({name}: beside)"), row)?;
            } else {
                line(f, name, row)?;
            }
        }
        line(f, "all but those beside", &self.total())
    }
}

/// Plans in which there is something for each operator.
const ALWAYS: [&str; 18] = [
    "assert-guards-a-row",
    "assert-stock",
    "attached-lab",
    "lapses-release",
    "totals-charity",
    "undone-items",
    "units-power",
    "content-post-corrected-once",
    "calls-that-exclude-each-other-bakery",
    "guards",
    "operators",
    "nested-args",
    "ordered-writes",
    "sla",
    "known-literals",
    "ordered-writes-opposite-tills",
    "question",
    "warnings",
];
/// How many others are taken.
const OTHERS: usize = 12;

fn goods() -> Vec<Good> {
    let all = std::env::var_os("PROVOST_PLANS").is_some();
    let files = files();
    let every = (files.len() / OTHERS).max(1);
    let taken = files.iter().enumerate().filter(|(index, path)| {
        let name = path.file_stem().unwrap().to_string_lossy();
        all || ALWAYS.contains(&name.as_ref()) || index % every == 0
    });
    taken.map(|(_, path)| Good::read(path)).collect()
}

#[test]
fn breaking_mutants_are_caught_and_harmless_ones_are_not() {
    let goods = goods();
    let table = Table::of(&goods, number("PROVOST_MUTANTS", 1));
    println!("{table}");
    for line in &table.wrong {
        println!("{line}");
    }
    let total = table.total();
    assert!(
        total.caught * 100 >= total.breaking * 99,
        "fewer than 99 % are caught"
    );
    assert!(
        total.flagged * 100 <= total.harmless,
        "more than 1 % are flagged"
    );
    let rows: BTreeMap<&str, &Row> = table.rows.iter().map(|(n, _, row)| (*n, row)).collect();
    for (name, row) in rows {
        assert!(row.mutants > 0, "`{name}` made no mutant");
    }
    // Why: a fault in one pass shows in one row, which may be a small part of the whole.
    for (name, rule, row) in table
        .rows
        .iter()
        .filter(|(_, rule, _)| *rule != Rule::Beside)
    {
        let half = row.caught * 2 > row.breaking || row.breaking == 0;
        assert!(
            half,
            "`{name}` ({rule:?}): {} of {} caught",
            row.caught, row.breaking
        );
    }
}

/// Control: a check that finds nothing catches nothing, and one that is never content flags all.
#[test]
fn a_judge_that_looks_at_nothing_is_noticed() {
    let nothing = Judgment::default();
    let strict = Judgment {
        errors: BTreeSet::from(["X".to_owned()]),
        ..Judgment::default()
    };
    assert!(!nothing.is_stricter(&nothing, &BTreeMap::new()));
    assert!(strict.is_stricter(&nothing, &BTreeMap::new()));
    let asks = |policies: &[&str]| Judgment {
        verdicts: BTreeMap::from([(
            "a".to_owned(),
            (1, policies.iter().map(|p| (*p).to_owned()).collect()),
        )]),
        ..Judgment::default()
    };
    let none = BTreeMap::new();
    assert!(asks(&["x"]).is_stricter(&nothing, &none), "a new ask");
    assert!(
        asks(&["x", "y"]).is_stricter(&asks(&["x"]), &none),
        "one more asks"
    );
    assert!(
        !asks(&["x"]).is_stricter(&asks(&["x", "y"]), &none),
        "one asks no longer"
    );
    assert!(!asks(&["x"]).is_stricter(&asks(&["x"]), &none), "the same");
}

/// Control: the simulated run tells a plan that works from one that does not.
#[test]
fn a_run_says_what_breaks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/plans/ok/guards.md");
    let good = Good::read(&path);
    let text = good.subject.plan.0.to_string();
    let before = good.outcomes(&text);
    assert!(
        !breaks(&before, &good.outcomes(&text)),
        "a plan does not break itself"
    );
    let unguarded = text.replace("steps.list.status == \\\"succeeded\\\" && ", "");
    assert_ne!(unguarded, text);
    assert!(
        breaks(&before, &good.outcomes(&unguarded)),
        "a guard is missed"
    );
    let other = text.replace("first of", "second of");
    assert!(
        breaks(&before, &good.outcomes(&other)),
        "another page is noticed"
    );
    assert!(
        before.iter().any(|outcome| !outcome.effects.is_empty()),
        "a page is sent"
    );
    assert!(
        before.iter().any(|outcome| outcome.failed.is_empty()),
        "a run succeeds"
    );
}
