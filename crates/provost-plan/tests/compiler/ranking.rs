//! The search over a large catalog: what real servers list, and goals in people's own words.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use provost_plan::catalog::{Catalog, Effect, Operation};
use provost_plan::plan::Goal;
use provost_plan::plan::ranking::{CANDIDATE_BYTES_MAX, CANDIDATES_MAX, candidates, rank};
use provost_plan::plan::request::ToolSignature;
use provost_plan::schema::Schema;
use serde_json::{Value, json};

/// Of a hundred goals, how many must find what they need among the candidates.
const FOUND_MIN: usize = 95;

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus")
}

fn operation(name: &str, description: &str, input: Value) -> Option<Operation> {
    let mut operation = Operation::new(name, Effect::Read, Schema::compile(input).ok()?);
    operation.description = description.to_owned();
    Some(operation)
}

/// Everything that the real servers of the corpus list.
fn listed() -> Vec<Operation> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(corpus().join("catalogs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let server = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let listing: Value = serde_json::from_str(&text).unwrap();
        for tool in listing["tools"].as_array().unwrap() {
            let name = format!("{server}.{}", tool["name"].as_str().unwrap());
            let description = tool["description"].as_str().unwrap_or_default();
            all.extend(operation(&name, description, tool["inputSchema"].clone()));
        }
    }
    all
}

/// Five hundred: what is listed, and beside it systems of the same kind that no goal needs.
fn five_hundred() -> Catalog {
    let mut all = listed();
    let things = [
        "shipment",
        "warehouse",
        "order",
        "supplier",
        "vehicle",
        "driver",
        "route",
        "employee",
        "payslip",
        "vacation",
        "course",
        "student",
        "lecture",
        "meeting",
        "room_booking",
        "visitor",
        "contract",
        "lawsuit",
        "asset",
        "licence",
        "patient",
        "prescription",
        "recipe",
        "campaign",
        "survey",
        "coupon",
        "product",
        "category",
        "sensor",
        "reading",
        "playlist",
        "photo",
    ];
    let verbs = [
        ("list", "List all"),
        ("get", "Get one"),
        ("create", "Create a new"),
        ("update", "Update a"),
        ("delete", "Delete a"),
        ("search", "Search for a"),
        ("export", "Export every"),
    ];
    for (thing, (verb, says)) in things.iter().flat_map(|t| verbs.map(|verb| (t, verb))) {
        let words = thing.replace('_', " ");
        let input = json!({ "type": "object", "properties": {
            (format!("{thing}_id")): { "type": "string" }, "limit": { "type": "integer" },
        } });
        let name = format!("office.{verb}_{thing}");
        all.extend(operation(&name, &format!("{says} {words}"), input));
    }
    all.truncate(500);
    let catalog = Catalog::new(all);
    assert_eq!(catalog.names().count(), 500);
    catalog
}

/// A goal in somebody's words, and the operations any of which would do.
fn cases() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(corpus().join("goals/search.txt")).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let of = |line: &str| {
        let (goal, needs) = line.split_once("=>").unwrap();
        let needs = needs.split_whitespace().map(str::to_owned);
        (goal.trim().to_owned(), needs.collect())
    };
    lines.map(of).collect()
}

/// Words that are in any sentence.
const COMMON: &str = "a about again all an and any are as at back be by did do does for from give \
    has have her how i in into is it its me my not of off on once one or our out say so some \
    somebody still that the their them then they this to under up us was we what when where which \
    while who whom with without would yet you look tell open get";

/// The words of a text that say something, as they are written.
fn words(text: &str) -> BTreeSet<String> {
    let mut spaced = String::new();
    for c in text.chars() {
        if c.is_uppercase() {
            spaced.push(' ');
        }
        spaced.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    let lower = format!("{} {}", spaced.to_lowercase(), text.to_lowercase());
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words = words.filter(|word| word.len() > 1);
    let common: BTreeSet<&str> = COMMON.split_whitespace().collect();
    words
        .filter(|word| !common.contains(word))
        .map(str::to_owned)
        .collect()
}

/// Whether a word of the goal stands in the name, description or arguments of an operation.
fn shares_a_word(goal: &str, operation: &Operation) -> bool {
    let properties = operation.input.value()["properties"].as_object().cloned();
    let arguments: Vec<String> = properties
        .into_iter()
        .flat_map(|map| map.into_iter().map(|(name, _)| name))
        .collect();
    let all = format!(
        "{} {} {}",
        operation.name,
        operation.description,
        arguments.join(" ")
    );
    !words(goal).is_disjoint(&words(&all))
}

fn goal(text: &str) -> Goal {
    Goal::of_text(text)
}

#[test]
fn what_a_goal_needs_is_among_its_candidates() {
    let catalog = five_hundred();
    let cases = cases();
    assert_eq!(cases.len(), 100);
    let (mut missed, mut sharing, mut bytes_most) = (Vec::new(), 0, 0);
    for (text, needs) in &cases {
        let needed: Vec<_> = needs
            .iter()
            .map(|name| catalog.get(name).unwrap())
            .collect();
        sharing += usize::from(needed.iter().all(|one| shares_a_word(text, one)));
        let chosen = candidates(&catalog, &goal(text)).unwrap();
        assert!(chosen.len() <= CANDIDATES_MAX);
        let signatures: Vec<_> = chosen.iter().map(|one| ToolSignature::of(one)).collect();
        bytes_most = bytes_most.max(serde_json::to_vec(&signatures).unwrap().len());
        if !chosen.iter().any(|one| needs.contains(&one.name)) {
            missed.push(text.as_str());
        }
    }
    let found = cases.len() - missed.len();
    println!("{found} of 100 goals find what they need among {CANDIDATES_MAX} of 500 tools");
    println!("{sharing} of 100 share a word with all that would do");
    println!("the largest list of candidates has {bytes_most} bytes");
    println!("missed: {missed:#?}");
    assert!(sharing <= 50, "{sharing}");
    assert!(found >= FOUND_MIN, "{found}: {missed:#?}");
    assert!(bytes_most <= CANDIDATE_BYTES_MAX + CANDIDATES_MAX + 1);
}

#[test]
fn words_in_a_name_count_more_and_ties_go_by_name() {
    let empty = || json!({ "type": "object", "properties": {} });
    let all = [
        operation("b.other", "creates an invoice when asked", empty()).unwrap(),
        operation("c.create_invoice", "makes a bill", empty()).unwrap(),
        operation("a.weather", "the weather of a city", empty()).unwrap(),
    ];
    let names = |query: &str| -> Vec<&str> {
        let hits = rank(&all, query).into_iter();
        hits.map(|hit| hit.operation.name.as_str()).collect()
    };
    assert_eq!(names("creating invoices"), ["c.create_invoice", "b.other"]);
    assert_eq!(names("bill"), ["c.create_invoice", "b.other"]);
    assert_eq!(names("the of and"), [""; 0]);
    assert_eq!(names("CreateInvoice"), names("create invoice"));
}

/// A small catalog is given whole, and a goal that says nothing still gets as many as fit.
#[test]
fn few_operations_are_not_chosen_among() {
    let few = Catalog::new(listed().into_iter().take(CANDIDATES_MAX));
    assert!(candidates(&few, &goal("anything")).is_none());
    let chosen = candidates(&five_hundred(), &goal("xyzzy")).map(|chosen| chosen.len());
    assert_eq!(chosen, Some(CANDIDATES_MAX));
}
