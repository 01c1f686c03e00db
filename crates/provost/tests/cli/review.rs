//! The review of a plan, against texts that were written before it: `corpus/reviews`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr as _;

use super::workplace::{Ran, Workplace};

/// The plans, with what each has of the language.
const PLANS: [&str; 4] = [
    // Ten steps: a question, items, `confirm`, `undo`, money.
    "late-orders",
    // A poll, a secret, an undo that asks, a short approval.
    "rollout",
    // A subgoal with its steps, untrusted text, approval by the plan.
    "newsletter",
    // What is asserted before money goes.
    "refund",
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/reviews")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &to),
            false => std::fs::copy(&path, &to).map(|_| ()).unwrap(),
        }
    }
}

fn place() -> Workplace {
    let place = Workplace::empty();
    copy(&corpus(), &place.path(""));
    place
}

fn shown(place: &Workplace, plan: &str, columns: usize) -> String {
    let plan = format!("{plan}.yaml");
    let mut command = place.command(&["show", &plan]);
    command.env("COLUMNS", columns.to_string());
    let ran = Ran::new(&command.output().unwrap(), &place.path("")).exits(0);
    ran.stdout
}

#[test]
fn plans_are_reviewed_as_written_before() {
    let place = place();
    let mut differing = Vec::new();
    for plan in PLANS {
        for columns in [100, 60] {
            let file = corpus().join(format!("{plan}.{columns}.txt"));
            let shown = shown(&place, plan, columns);
            if std::env::var_os("PROVOST_BLESS").is_some() {
                std::fs::write(&file, &shown).unwrap();
            }
            let expected = std::fs::read_to_string(&file).unwrap();
            if shown != expected {
                differing.push(format!("{plan} at {columns}:\n{shown}"));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[test]
fn a_plan_of_ten_steps_fits_one_screen() {
    let shown = shown(&place(), "late-orders", 100);
    assert!(shown.lines().count() <= 50, "{shown}");
    for line in shown.lines() {
        assert!(line.width() <= 100, "{line}");
    }
}

/// The words of a text, and what a word too long for its line may be broken into.
fn words(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.contains("sha256:"));
    let words = lines.flat_map(str::split_whitespace);
    words
        .flat_map(|word| word.split_inclusive(['.', ',', '(', '[', '/', '_', '-', '=']))
        .filter(|word| *word != "…")
        .collect()
}

#[test]
fn nothing_is_cut_in_a_word_on_a_narrow_screen() {
    let place = place();
    for plan in PLANS {
        let (wide, narrow) = (shown(&place, plan, 100), shown(&place, plan, 60));
        for line in narrow.lines() {
            assert!(line.width() <= 60, "{line}");
        }
        let unknown: Vec<&str> = words(&narrow).difference(&words(&wide)).copied().collect();
        assert_eq!(unknown, Vec::<&str>::new(), "{narrow}");
    }
    // The control: half a word is no word.
    assert!(!words("cancel each order").is_superset(&words("cancel each ord")));
}

/// Of each write everything that decides stands in one place, also as data.
#[test]
fn a_write_is_reviewed_in_one_place() {
    let place = place();
    for plan in PLANS {
        let data = place.json(&["show", &format!("{plan}.yaml"), "--json"]);
        let steps = data["review"].as_array().unwrap();
        let writes: Vec<_> = steps
            .iter()
            .filter(|step| step["kind"] == "write")
            .collect();
        assert!(!writes.is_empty());
        let text = shown(&place, plan, 100);
        for step in writes {
            let id = step["id"].as_str().unwrap();
            let block = text.split_once(&format!("  {id}  ")).unwrap().1;
            let end = block.find("\n  ").unwrap_or(block.len());
            let lines = block
                .lines()
                .skip(1)
                .take_while(|line| line.starts_with("     "));
            let block = format!(
                "{}\n{}",
                &block[..end],
                lines.collect::<Vec<_>>().join("\n")
            );
            for name in ["tool", "effect", "risk"] {
                assert!(
                    block.contains(step[name].as_str().unwrap()),
                    "{name}: {block}"
                );
            }
            for arg in step["args"].as_array().unwrap() {
                let name = arg["name"].as_str().unwrap();
                assert!(block.contains(&format!("{name}: ")), "{name}: {block}");
                assert!(arg["from"]["integrity"].is_string(), "{arg}");
            }
            for row in ["asks", "limits"] {
                assert!(
                    block.contains(&format!("\n     {row:<9}")),
                    "{row}: {block}"
                );
            }
            assert_eq!(
                block.contains("no undo"),
                step["reversible"] == false,
                "{block}"
            );
        }
    }
}

#[test]
fn a_write_as_data_has_documented_names() {
    let place = place();
    let data = place.json(&["show", "rollout.yaml", "--json"]);
    let steps = data["review"].as_array().unwrap();
    let roll = steps.iter().find(|step| step["id"] == "roll").unwrap();
    let text = serde_json::to_string_pretty(roll).unwrap();
    let names: Vec<&String> = roll.as_object().unwrap().keys().collect();
    let page = include_str!("../../../../docs/reference/findings.md");
    for name in names {
        assert!(
            page.contains(&format!("`{name}`")),
            "`{name}` is not documented: {text}"
        );
    }
    assert_snapshot!(serde_json::to_string(&roll["args"][2]).unwrap(), @r#"{"name":"token","sink":true,"value":"${ steps.token.output.token }","known":false,"from":{"integrity":"trusted","sources":["token"],"secret":true,"literal":false,"params":[],"steps":["token"],"answers":[],"untrusted":[]},"checked_at_run_time":null}"#);
    assert_snapshot!(serde_json::to_string(&roll["limits"]).unwrap(), @r#"{"calls":2,"attempts":3,"timeout_ms":5000,"money":null,"lost_reply":"person"}"#);
}

/// Whoever looks at a run that waits sees the whole write beside its card.
#[test]
fn a_run_that_waits_shows_what_is_still_to_come() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let waiting = place.run(&["show", &run]).exits(0);
    let (_, left) = waiting.stdout.split_once("still to come\n").unwrap();
    let (left, _) = left.split_once("\n\n").unwrap();
    assert_snapshot!(left, @r#"
    2  note  write  notes.write, high risk, no undo. Write the note
       to       path: "orders.txt"  ← literal
       with     text: "${ steps.count.output.row.total } orders of ${ params.customer }"
                ← untrusted data from count
       accept   output.bytes > 0
       asks     approval by one person (production-writes)
       limits   1 call, 3 attempts of 30s, then another plan; a lost reply needs a person
    "#);
    let data = place.json(&["show", &run, "--json"]);
    assert_eq!(data["review"][0]["id"], "note");
    assert_eq!(data["review"].as_array().unwrap().len(), 1);
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
    let over = place.run(&["show", &run]).exits(0);
    assert!(!over.stdout.contains("still to come"), "{over}");
}
