//! The generated incidents against the queries of the example workspace: what the truth says can
//! be found, by nothing but what the workspace offers.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "tests may fail loudly"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension as _, ToSql};
use serde_json::Value;
use sim::incident::cause::CAUSES;
use sim::incident::service::SERVICES;
use sim::incident::{Dataset, Truth, Variant, generate, twenty};

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/incident")
}

fn query(name: &str) -> String {
    let text = fs::read_to_string(example().join("provost.toml")).unwrap();
    let workspace: toml::Value = toml::from_str(&text).unwrap();
    workspace["tools"]["metrics"]["ops"][name]["query"]
        .as_str()
        .unwrap()
        .to_owned()
}

/// The one row of a query, as text by column.
fn row(db: &Connection, name: &str, args: &[(&str, &dyn ToSql)]) -> BTreeMap<String, String> {
    let mut statement = db.prepare(&query(name)).unwrap();
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let found = statement
        .query_row(args, |row| {
            let mut cells = BTreeMap::new();
            for (index, column) in columns.iter().enumerate() {
                let cell: rusqlite::types::Value = row.get(index)?;
                cells.insert(
                    column.clone(),
                    match cell {
                        rusqlite::types::Value::Text(text) => text,
                        other => format!("{other:?}"),
                    },
                );
            }
            Ok(cells)
        })
        .optional()
        .unwrap();
    found.unwrap_or_default()
}

fn whole(cell: &str) -> i64 {
    let digits = cell.trim_start_matches("Integer(").trim_end_matches(')');
    digits.parse().unwrap()
}

fn integer(value: i64) -> String {
    format!("Integer({value})")
}

/// The messages of log lines that pass, with how often and since when.
fn groups(dataset: &Dataset, pass: impl Fn(&Value) -> bool) -> BTreeMap<String, (u64, String)> {
    let mut groups: BTreeMap<String, (u64, String)> = BTreeMap::new();
    for (path, bytes) in &dataset.files {
        if !path.starts_with("logs/") {
            continue;
        }
        for line in std::str::from_utf8(bytes).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            if pass(&line) {
                let ts = line["ts"].as_str().unwrap().to_owned();
                let msg = line["msg"].as_str().unwrap().to_owned();
                let group = groups.entry(msg).or_insert((0, ts));
                group.0 += 1;
            }
        }
    }
    groups
}

fn incidents_with(dataset: &Dataset, words: &str) -> Vec<String> {
    dataset
        .files
        .iter()
        .filter(|(path, _)| path.starts_with("incidents/"))
        .filter(|(_, bytes)| std::str::from_utf8(bytes).unwrap().contains(words))
        .map(|(path, _)| path.clone())
        .collect()
}

fn investigate(variant: &Variant) {
    let dataset = generate(variant).unwrap();
    let folder = tempfile::tempdir().unwrap();
    dataset.write(folder.path()).unwrap();
    let db = Connection::open(folder.path().join("metrics.db")).unwrap();
    let Truth { service, .. } = dataset.truth;
    let truth = &dataset.truth;

    let name = dataset.goal.strip_prefix("Investigate the ").unwrap();
    let name = name.strip_suffix(" latency spike").unwrap();
    let found = row(&db, "service", &[(":name", &name)]);
    assert_eq!(found["id"], service);
    let summary = row(&db, "summary", &[(":service", &service)]);
    assert_eq!(summary["minutes"], integer(1_440));

    let rise = row(&db, "rise", &[(":service", &service), (":ratio", &1.3)]);
    assert_eq!(rise.get("rose_at"), truth.rose_at.as_ref());
    let Some(rose_at) = &truth.rose_at else {
        assert!(truth.nothing_wrong && truth.deployment.is_none());
        assert!(truth.new_message.is_none() && truth.similar_incident.is_none());
        return;
    };
    assert!(rise["earliest_at"] <= *rose_at && rise["quiet_until"] < rise["earliest_at"]);
    // Why not equal: the half hour before ends where the interval begins, the other is the highest.
    let (from, to) = (whole(&rise["from_ms"]), whole(&rise["to_ms"]));
    assert!(
        (from - truth.from_ms).abs() * 20 <= truth.from_ms,
        "{rise:?}"
    );
    assert!(
        to * 20 >= truth.to_ms * 19 && to * 4 <= truth.to_ms * 5,
        "{rise:?}"
    );
    assert!(truth.to_ms > 2 * truth.from_ms);
    deployments(&db, truth, rose_at);
    messages(&dataset, rose_at);
}

fn deployments(db: &Connection, truth: &Truth, rose_at: &String) {
    let args: &[(&str, &dyn ToSql)] = &[
        (":service", &truth.service),
        (":at", rose_at),
        (":within_minutes", &120),
    ];
    let found = row(db, "deployment_before", args);
    let near = truth.deployment.as_ref();
    assert_eq!(found.get("version"), near.map(|near| &near.version));
    assert_eq!(found.get("deployed_at"), near.map(|near| &near.deployed_at));
    // The decoy: whoever does not ask for the service finds another one's deployment.
    let nearest: String = db
        .query_row(
            "select service from deployments where deployed_at <= ?1 order by deployed_at desc",
            [rose_at],
            |row| row.get(0),
        )
        .unwrap();
    assert_ne!(nearest, truth.service);
}

fn messages(dataset: &Dataset, rose_at: &String) {
    let truth = &dataset.truth;
    let of_service = |line: &Value| line["service"] == truth.service;
    let is_5xx = |line: &Value| line["status"].as_u64().is_some_and(|status| status >= 500);
    let since = |line: &Value| line["ts"].as_str().unwrap() >= rose_at.as_str();

    let errors = groups(dataset, |line| {
        of_service(line) && is_5xx(line) && since(line)
    });
    assert_eq!(
        errors.values().map(|group| group.0).sum::<u64>(),
        truth.count_5xx
    );
    assert_eq!(truth.count_5xx > 0, truth.has_5xx);

    let alarming = groups(dataset, |line| {
        of_service(line)
            && if truth.has_5xx {
                is_5xx(line)
            } else {
                line["level"] == "warn"
            }
    });
    let new: Vec<(String, u64)> = alarming
        .into_iter()
        .filter(|(_, (_, first))| first >= rose_at)
        .map(|(msg, (count, _))| (msg, count))
        .collect();
    let message = truth.new_message.clone().unwrap();
    assert_eq!(new, [(message.clone(), truth.new_message_count.unwrap())]);
    assert!(truth.new_message_count.unwrap() > 20);

    let similar = truth.similar_incident.as_ref();
    let paths: Vec<String> = similar
        .iter()
        .map(|similar| format!("incidents/{}.md", similar.id))
        .collect();
    assert_eq!(incidents_with(dataset, &message), paths);
    // The decoy: the same service and symptom, another cause.
    let name = SERVICES
        .iter()
        .find(|service| service.id == truth.service)
        .unwrap()
        .name;
    let decoys = incidents_with(dataset, &format!("p95 latency of the {name} rose"));
    assert_eq!(decoys.len(), 1);
    assert_ne!(decoys, paths);
}

#[test]
fn the_base_example_can_be_found_out() {
    investigate(&Variant::base());
    let dataset = generate(&Variant::base()).unwrap();
    assert!(groups(&dataset, |line| line["status"].as_u64() >= Some(500)).is_empty());
    assert!(dataset.truth.deployment.is_some() && dataset.truth.similar_incident.is_some());
}

#[test]
fn every_variant_can_be_found_out() {
    let variants = twenty();
    assert_eq!(variants.len(), 20);
    for variant in &variants {
        investigate(variant);
    }
}

#[test]
fn the_variants_cover_what_can_happen() {
    let variants = twenty();
    let rises: Vec<_> = variants.iter().filter_map(Variant::rise).collect();
    assert_eq!(variants.len() - rises.len(), 3);
    assert!(rises.iter().filter(|rise| !rise.deployed).count() >= 3);
    assert!(rises.iter().filter(|rise| rise.with_5xx).count() >= 3);
    assert!(rises.iter().filter(|rise| !rise.known).count() >= 3);
    assert!(
        CAUSES
            .iter()
            .all(|cause| rises.iter().any(|rise| rise.cause == *cause))
    );
    let services: BTreeSet<&str> = variants.iter().map(|variant| variant.service).collect();
    assert_eq!(services.len(), SERVICES.len());
}

#[test]
fn the_committed_data_is_what_the_generator_makes() {
    let dataset = generate(&Variant::base()).unwrap();
    let data = example().join("data");
    for (path, bytes) in &dataset.files {
        assert!(
            fs::read(data.join(path)).unwrap() == *bytes,
            "{path}: scripts/regenerate"
        );
    }
    let tickets = fs::read(example().join("../sla/data/tickets.db")).unwrap();
    let generated = sim::sla::database(sim::sla::OPEN_IN_EXAMPLE).unwrap();
    assert!(tickets == generated, "tickets.db: scripts/regenerate");
}

/// The workspace would prove nothing if it knew the answer.
#[test]
fn the_workspace_names_nothing_of_the_data() {
    let mut words: Vec<String> = Vec::new();
    words.extend(
        SERVICES
            .iter()
            .flat_map(|service| [service.id, service.name].map(str::to_owned)),
    );
    words.extend(CAUSES.iter().map(|cause| cause.facts().message.to_owned()));
    let Truth {
        rose_at,
        deployment,
        similar_incident,
        ..
    } = generate(&Variant::base()).unwrap().truth;
    let (deployment, similar) = (deployment.unwrap(), similar_incident.unwrap());
    words.extend([rose_at.unwrap(), deployment.version, deployment.deployed_at]);
    words.extend([
        similar.id,
        similar.title,
        "INC-".to_owned(),
        "2026".to_owned(),
    ]);
    let mut files = vec![example().join("provost.toml")];
    for folder in ["playbooks", "schemas"] {
        let entries = fs::read_dir(example().join(folder)).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    for file in files {
        let text = fs::read_to_string(&file).unwrap().to_lowercase();
        for word in &words {
            assert!(
                !text.contains(&word.to_lowercase()),
                "{} has `{word}`",
                file.display()
            );
        }
    }
}
