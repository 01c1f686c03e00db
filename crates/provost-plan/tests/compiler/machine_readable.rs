//! What is offered to machines: SARIF valid under the standard's schema, fixes that only help, and
//! a schema of plans that agrees with the corpus.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::literate::{Case, Document};
use provost_plan::catalog::Effect;
use provost_plan::codes::Code;
use provost_plan::fix::{Editor, edited, mend};
use provost_plan::node::parse_yaml;
use provost_plan::plan::Plan;
use provost_plan::plan::read::{PLAN_JSON_SCHEMA, read_plan};
use provost_plan::render::{FileReport, Report, to_sarif};
use provost_plan::schema::Schema;
use provost_plan::source::Source;
use serde_json::{Value, json};

/// The schema of the standard, as OASIS publishes it.
const SARIF: &str = include_str!("fixtures/sarif-schema-2.1.0.json");

fn files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/plans");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root.join(folder))
        .expect("the corpus is there")
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    files.sort();
    files
}

/// Every document of the corpus and every page of `explain`, with its name.
fn documents() -> Vec<(String, String)> {
    let of_corpus = ["bad", "ok"].into_iter().flat_map(files).map(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, std::fs::read_to_string(path).unwrap())
    });
    let pages = Code::ALL
        .iter()
        .filter(|code| code.page().contains("```yaml fails"));
    let pages = pages.map(|code| {
        let text = code.page().replace("```yaml fails", "```yaml plan");
        (format!("the page of {code}"), text)
    });
    of_corpus.chain(pages).collect()
}

#[test]
fn every_log_is_valid_sarif() {
    let mut schema: Value = serde_json::from_str(SARIF).unwrap();
    for of in ["run", "toolComponent"] {
        // Why: its pattern has an unpaired bracket, which no strict engine takes.
        let language = schema.pointer_mut(&format!("/definitions/{of}/properties/language"));
        language.unwrap().as_object_mut().unwrap().remove("pattern");
    }
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut fixes = 0;
    for (name, text) in documents() {
        let case = Case::of(&Document::parse(&text));
        let (source, diagnostics, not_checked) = case.report();
        let file = FileReport {
            source,
            diagnostics,
            not_checked,
        };
        let log = to_sarif(&Report {
            files: &[file],
            version: "0.1.0",
            exit_code: 1,
        });
        let faults: Vec<String> = validator.iter_errors(&log).map(|e| e.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}");
        let run = &log["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let mut prints = BTreeSet::new();
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), diagnostics.len(), "{name}");
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"], "{name}");
            assert!(
                prints.insert(result["partialFingerprints"].to_string()),
                "{name}"
            );
            fixes += usize::from(result.get("fixes").is_some());
        }
        let unseen = run["invocations"][0]["toolExecutionNotifications"].as_array();
        assert_eq!(unseen.unwrap().len(), not_checked.len(), "{name}");
        // The control: the schema refuses a log that is none.
        let wrong = json!({ "version": "2.1.0", "runs": [{ "tool": 1 }] });
        assert!(!validator.is_valid(&wrong));
    }
    assert!(fixes > 5, "only {fixes} fixes were seen");
}

#[test]
fn every_code_describes_itself() {
    for code in Code::ALL {
        assert!(
            !code.finds().is_empty() && !code.family().is_empty(),
            "{code}"
        );
        assert!(code.name().starts_with(char::is_uppercase), "{code}");
    }
}

/// The calls of a plan that are no plain reads, by step and tool.
fn acts(plan: &Plan, case: &Case) -> BTreeSet<(String, String)> {
    let is_read = |tool: &str| {
        let known = case.catalog().get(tool);
        known.is_some_and(|operation| operation.effect == Effect::Read)
    };
    let tools = plan.steps.iter().filter_map(|step| {
        let tool = step.tool()?.value.clone();
        (!is_read(&tool)).then(|| (step.id.value.clone(), tool))
    });
    tools.collect()
}

#[test]
fn fixes_help_and_reach_no_further() {
    let mut mended: BTreeMap<String, usize> = BTreeMap::new();
    for (name, text) in documents() {
        let document = Document::parse(&text);
        let judge = |source: &Source| Case::of_text(&document, &source.text).report().1.to_vec();
        let case = Case::of(&document);
        let (source, before, _) = case.report();
        let codes = |found: &[provost_plan::diagnostic::Diagnostic]| -> BTreeSet<Code> {
            found.iter().map(|d| d.code).collect()
        };
        let repair = mend(source, judge);
        if repair.fixed.is_empty() {
            assert_eq!(repair.source.text, source.text, "{name}");
            continue;
        }
        for fixed in &repair.fixed {
            *mended.entry(fixed.finding.code.to_string()).or_default() += 1;
        }
        let after = read_plan(&repair.source).unwrap_or_else(|found| panic!("{name}: {found:?}"));
        // What could not be read was not looked at: only then may something else be found now.
        if let Ok(plan) = read_plan(source) {
            let new: Vec<Code> = codes(&repair.findings)
                .difference(&codes(before))
                .copied()
                .filter(|code| code.severity() == provost_plan::diagnostic::Severity::Error)
                .collect();
            assert_eq!(new, Vec::<Code>::new(), "{name}");
            let grown: Vec<_> = acts(&after, &case)
                .difference(&acts(&plan, &case))
                .cloned()
                .collect();
            assert_eq!(grown, Vec::<(String, String)>::new(), "{name}");
        }
        let again = mend(&repair.source, judge);
        assert!(again.fixed.is_empty(), "{name}: {:?}", again.fixed);
        assert_eq!(again.source.text, repair.source.text, "{name}");
        let comments = |text: &str| text.matches('#').count();
        assert_eq!(
            comments(&repair.source.text),
            comments(&source.text),
            "{name}"
        );
    }
    println!("fixes made, by code: {mended:?}");
    for code in ["R101", "R102", "T203", "T204", "E301", "P004"] {
        assert!(
            mended.contains_key(code),
            "no fix of {code} was made: {mended:?}"
        );
    }
}

/// A misspelt limit is not renamed to one that the plan has: the text would be no document.
#[test]
fn no_limit_is_written_twice() {
    let offered = |limits: &str| {
        let text = format!(
            "# Fuel\n\n```yaml catalog\nfuel.book:\n  effect: write\n  \
             args: {{ litres: {{ type: integer, maximum: 9 }} }}\n  gives: {{ done: boolean }}\n  \
             idempotency: key\n  values: {{ litres: litres }}\n```\n\n\
             ```yaml plan\nlimits: {{ values: {{ {limits} }} }}\nsteps:\n  \
             - {{ id: a, tool: fuel.book, args: {{ litres: 1 }}, accept: ['${{ output.done }}'] }}\n\
             answer: done\n```\n"
        );
        let case = Case::of(&Document::parse(&text));
        let (_, found, _) = case.report();
        let of_value = found.iter().find(|one| one.code == Code::UnknownValue);
        of_value.map(|one| one.fix.is_some())
    };
    assert_eq!(offered("litres: 30, liters: 10"), Some(false));
    // The control.
    assert_eq!(offered("liters: 10"), Some(true));
}

/// The control: a fix that is taken without being judged does harm that this test can see.
#[test]
fn an_unjudged_fix_is_noticed() {
    let source = Source::new("p", "{ steps: [{ id: a, risk: low, tool: b }] }");
    let place = source.text.find("low").unwrap();
    let span = provost_plan::source::Span::new(place, place + 3);
    let finding = provost_plan::diagnostic::Diagnostic::new(Code::Cycle, span, "m")
        .fix(provost_plan::fix::Fix::LeaveOut);
    let fix = Editor::new(&source).fix(&finding).unwrap();
    let text = edited(&source.text, &fix.edits).unwrap();
    assert_eq!(text, "{ steps: [{ id: a, tool: b }] }");
    let repair = mend(&source, |_| vec![finding.clone()]);
    assert_eq!((repair.fixed.len(), repair.left.len()), (0, 1));
}

/// Codes of what a schema can see: the shape of a document.
const STRUCTURAL: [&str; 6] = ["P004", "P005", "P006", "P008", "P010", "P011"];

#[test]
fn the_schema_agrees_with_the_corpus() {
    let schema = Schema::compile(serde_json::from_str(PLAN_JSON_SCHEMA).unwrap()).unwrap();
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    for path in ["bad", "ok"].into_iter().flat_map(files) {
        let text = std::fs::read_to_string(&path).unwrap();
        let document = Document::parse(&text);
        let plan = document.block("yaml plan").expect("a plan");
        let codes: BTreeSet<String> = document.expected().into_iter().map(|e| e.code).collect();
        let Ok(node) = parse_yaml(plan) else { continue };
        let mut value = node.to_value();
        without_nulls(&mut value);
        let faults = schema.violations(&value);
        let structural = codes.iter().find(|c| STRUCTURAL.contains(&c.as_str()));
        let name = path.display();
        match structural {
            Some(code) => {
                assert!(!faults.is_empty(), "{name}: {code} passes the schema");
                *refused.entry(code.clone()).or_default() += 1;
            }
            None => assert!(faults.is_empty(), "{name}: {faults:?}"),
        }
    }
    println!("refused by the schema, by code: {refused:?}");
    for code in STRUCTURAL {
        assert!(
            refused.contains_key(code),
            "no plan with {code}: {refused:?}"
        );
    }
}

/// A field that is null is as if it were not there.
fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|name, value| name == "args" || !value.is_null());
            let inner = map.iter_mut().filter(|(name, _)| name.as_str() != "args");
            inner.for_each(|(_, value)| without_nulls(value));
        }
        Value::Array(items) => items.iter_mut().for_each(without_nulls),
        _ => {}
    }
}
