//! Cases of runs that failed, made without the people they were about: what they come to is the
//! same, and nothing of anybody is left in any file, in any form.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sim::canary;
use sim::rng::Rng;
use sim::world::Local;

use crate::stage::{Stage, count};

const OPERATION: &str = r#"
[tools.shop.ops.OPERATION]
request.method = "POST"
request.path = "/tickets/${ args.id }/comments"
request.rest = "json"
input = "schemas/note.json"
effect = "EFFECT"
content = ["text", "author"]
"#;

const NOTE_INPUT: &str = r#"{
  "type": "object", "required": ["id", "text", "author"], "additionalProperties": false,
  "properties": {
    "id": { "type": "string" }, "text": { "type": "string" }, "author": { "type": "string" }
  }
}"#;

const PLAYBOOK: &str = r#"
schema: provost/playbook/v1
match: "MATCH on {ticket} about {payment}: {text}"
params:
  ticket: { type: string, pattern: "^[A-Z]+-[0-9]+$" }
  payment: { type: string, pattern: "^pay-[0-9]+$" }
  text: { type: string }
goal: { success: [ { id: noted, text: the note stands on a ticket about a refund } ] }
plan:
  schema: provost/plan/v1
  steps:
    - id: payment
      tool: shop.get_payment
      args: { id: "${ params.payment }" }
    - id: note
      tool: shop.OPERATION
      args:
        id: "${ params.ticket }"
        text: "${ params.text } (${ steps.payment.output.customer })"
        author: "${ steps.payment.output.customer }"
    - id: ticket
      tool: shop.get_ticket
      args: { id: "${ params.ticket }" }
      needs: [note]
  success:
    - for: noted
      check: CHECK
  answer: noted
"#;

/// What must not be found, by what it is.
#[derive(Default)]
struct Secrets {
    people: Vec<String>,
    mails: Vec<String>,
    numbers: Vec<String>,
    texts: Vec<String>,
}

impl Secrets {
    fn kinds(&self) -> [(&'static str, &[String]); 4] {
        [
            ("people", &self.people),
            ("mails", &self.mails),
            ("numbers", &self.numbers),
            ("texts", &self.texts),
        ]
    }

    /// The kinds of which something stands below a folder, with what it is.
    fn left(&self, dir: &Path) -> Vec<(&'static str, Vec<String>)> {
        let found = self.kinds().into_iter().map(|(kind, values)| {
            let values: Vec<&str> = values.iter().map(String::as_str).collect();
            (kind, canary::leaks_below_of(&values, dir))
        });
        found.filter(|(_, leaks)| !leaks.is_empty()).collect()
    }
}

fn word(rng: &mut Rng, syllables: usize) -> String {
    let one = |rng: &mut Rng| {
        let begin = rng.pick(&["zw", "kr", "pf", "qu", "vl", "gn", "sk", "tr"]);
        let end = rng.pick(&["ax", "ev", "oz", "uk", "yd", "im"]);
        format!("{begin}{end}")
    };
    (0..syllables).map(|_| one(rng)).collect()
}

fn title(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

fn digits(rng: &mut Rng, count: usize) -> String {
    let rest = (1..count).map(|_| rng.between(0, 9).to_string());
    std::iter::once("4".to_owned()).chain(rest).collect()
}

/// A workspace of its own people over a world of its own, in which a run fails.
struct FailedWorld {
    stage: Stage,
    out: tempfile::TempDir,
    run: String,
    secrets: Secrets,
    _world: Local,
    _state: tempfile::TempDir,
}

const WAYS: u64 = 6;

impl FailedWorld {
    fn of(seed: u64) -> Self {
        Self::with(
            seed,
            "'${ steps.ticket.output.title.contains(\"refund\") }'",
        )
    }

    fn with(seed: u64, check: &str) -> Self {
        let rng = &mut Rng::new(seed, "anonymous");
        let mut secrets = Secrets::default();
        let (user, approver) = (word(rng, 2), word(rng, 3));
        let (first, last) = (word(rng, 2), word(rng, 3));
        let mail = format!("{first}.{last}@{}.example", word(rng, 3));
        let (card, phone) = (digits(rng, 16), digits(rng, 9));
        let words = [word(rng, 3), word(rng, 2), word(rng, 4)];
        let groups: Vec<&str> = (0..4).map(|at| &card[at * 4..at * 4 + 4]).collect();
        let groups = groups.join(" ");
        let text = format!(
            "{} {} says the card {groups} was charged {} times, call {phone}; {} {}",
            title(&first),
            title(&last),
            rng.between(2, 9),
            words[0],
            words[1]
        );
        secrets.people = vec![user.clone(), approver.clone(), first, last];
        secrets.mails = vec![mail.clone()];
        secrets.numbers = vec![card, groups, phone];
        secrets.texts = [words.to_vec(), vec![text.clone()]].concat();
        let status = if seed % WAYS == 1 { "odd" } else { "open" };
        let state = tempfile::tempdir().unwrap();
        let at = "2026-01-05T10:00:00Z";
        let comment = json!({ "id": "c-1", "text": text, "author": mail, "key": null, "at": at });
        let ticket = json!({
            "id": "PAY-1", "project": "PAY", "title": title(&words[2]), "status": status,
            "comments": [comment],
        });
        let payment = json!({
            "id": "pay-1", "customer": mail, "amount": 12_900, "currency": "EUR", "refunded": 0,
        });
        let kept = json!({ "tickets": { "PAY-1": ticket }, "payments": { "pay-1": payment } });
        let path = state.path().join("world.json");
        std::fs::write(&path, kept.to_string()).unwrap();
        let world = Local::start(&path).unwrap();
        let stage = workspace(&world.url(), &user, &approver, check);
        let goal = match seed % WAYS {
            0 => "Refund 2000 cents of pay-1 for PAY-9".to_owned(),
            1 => "Refund 2000 cents of pay-1 for PAY-1".to_owned(),
            2 => "Refund 9000 cents of pay-1 for PAY-1".to_owned(),
            3 => format!("Note on PAY-9 about pay-1: {text}"),
            4 => format!("Letter on PAY-1 about pay-1: {text}"),
            _ => format!("Note on PAY-1 about pay-1: {text}"),
        };
        stage.run(&["run", &goal]);
        let runs: Value = serde_json::from_str(&stage.run(&["runs", "--json"]).stdout).unwrap();
        let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
        let inbox = stage.run(&["inbox", "--json"]);
        let inbox: Value = serde_json::from_str(&inbox.stdout).unwrap();
        if let Some(card) = inbox["waiting"][0]["waits"][0]["digest"].as_str() {
            become_user(&stage, &user, &approver);
            stage.run(&["reject", &format!("{run}@{card}"), "--reason", &text]);
            become_user(&stage, &approver, &user);
        }
        Self {
            stage,
            out: tempfile::tempdir().unwrap(),
            run,
            secrets,
            _world: world,
            _state: state,
        }
    }

    fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.stage.run(args).stdout).unwrap()
    }

    /// Makes a case; its folder, and whether it was made.
    fn case(&self, name: &str, more: &[&str]) -> (PathBuf, Option<i32>, String) {
        let dir = self.out.path().join(name);
        let args = ["case", "from", &self.run, "-o", dir.to_str().unwrap()];
        let ran = self.stage.run(&[&args, more].concat());
        (dir, ran.code, ran.stdout + &ran.stderr)
    }
}

fn workspace(url: &str, user: &str, approver: &str, check: &str) -> Stage {
    let stage = Stage::of("refund", false);
    let operation = |name: &str, effect: &str| {
        let text = OPERATION.replace("OPERATION", name);
        text.replace("EFFECT", effect)
    };
    stage.edit("provost.toml", |text| {
        let text = text.replace("http://127.0.0.1:4517", url);
        let text = text.replace("\"ada\"", &format!("\"{user}\""));
        text + &operation("comment", "write") + &operation("letter", "external")
    });
    let path = stage.path();
    let people = json!({ "users": { user: {}, approver: { "groups": ["finance"] } } });
    std::fs::write(path.join("policies/entities.json"), people.to_string()).unwrap();
    std::fs::remove_dir_all(path.join("policies/tests")).unwrap();
    std::fs::write(path.join("schemas/note.json"), NOTE_INPUT).unwrap();
    for (name, begins, operation) in [("note", "Note", "comment"), ("letter", "Letter", "letter")] {
        let text = PLAYBOOK.replace("MATCH", begins);
        let text = text.replace("OPERATION", operation).replace("CHECK", check);
        std::fs::write(path.join(format!("playbooks/{name}.yaml")), text).unwrap();
    }
    stage
}

fn become_user(stage: &Stage, from: &str, to: &str) {
    let (from, to) = (format!("user = \"{from}\""), format!("user = \"{to}\""));
    stage.edit("provost.toml", |text| text.replace(&from, &to));
}

#[test]
fn a_case_without_its_people_comes_to_the_same_and_names_nobody() {
    let all = u64::from(count(6));
    let mut leaked: std::collections::BTreeMap<&str, u64> = Default::default();
    let mut classes: std::collections::BTreeMap<String, u64> = Default::default();
    for seed in 0..all {
        let world = FailedWorld::of(seed);
        let why = world.json(&["why", &world.run, "--json"]);
        let status = why["status"].as_str().unwrap_or_default().to_owned();
        assert_ne!(status, "succeeded", "{seed}: {why}");
        // The control: without `--anonymize` it names them.
        let (naive, code, said) = world.case("naive", &[]);
        assert_eq!(code, Some(0), "{seed}: {said}");
        for (kind, _) in world.secrets.left(&naive) {
            *leaked.entry(kind).or_default() += 1;
        }
        let (dir, code, said) = world.case("anonymous", &["--anonymize"]);
        assert_eq!(code, Some(0), "{seed}: {said}");
        assert_eq!(world.secrets.left(&dir), [], "{seed}");
        let case = std::fs::read_to_string(dir.join("case.yaml")).unwrap();
        assert!(case.contains("replaced: { people: "), "{case}");
        let expected = |case: &str| {
            let expected = case.lines().filter(|line| line.ends_with("# was"));
            expected.map(str::to_owned).collect::<Vec<_>>()
        };
        let shown = std::fs::read_to_string(naive.join("case.yaml")).unwrap();
        let lines = |case: &str| {
            let lines = expected(case).into_iter();
            let lines = lines.filter(|line| !line.contains("effects"));
            lines.collect::<Vec<_>>()
        };
        assert_eq!(lines(&case), lines(&shown), "{seed}");
        let checked = world.json(&["case", "check", dir.to_str().unwrap(), "--json"]);
        let repeat = &checked["repeat"];
        assert_eq!(repeat["outcome"], "pass", "{seed}: {checked}");
        assert_eq!(repeat["why"]["guilty"], why["guilty"], "{seed}: {checked}");
        let cause = format!("{status}, {}, {}", why["guilty"], why["cause"]);
        *classes.entry(cause).or_default() += 1;
    }
    println!("{all} of {all} the same, and nothing left; without it: {leaked:?}");
    println!("{classes:#?}");
    assert!(
        leaked.len() == 4 && classes.len() >= 3,
        "{leaked:?}, {classes:?}"
    );
}

#[test]
fn a_case_whose_rules_look_at_a_value_that_is_replaced_is_refused() {
    // Half a word of the title: what stands for it begins otherwise.
    let first = title(&{
        let world = FailedWorld::of(5);
        world.secrets.texts[2].clone()
    });
    let check = |begin: &str| format!("'${{ steps.ticket.output.title.startsWith(\"{begin}\") }}'");
    let world = FailedWorld::with(5, &check(&first[..3]));
    assert_eq!(world.case("plain", &[]).1, Some(0));
    let (dir, code, said) = world.case("case", &["--anonymize"]);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("with its values replaced"), "{said}");
    assert!(!dir.exists());
    // The control: a condition that no value of it has a say in.
    let world = FailedWorld::with(5, &check("no"));
    let (_, code, said) = world.case("case", &["--anonymize"]);
    assert_eq!(code, Some(0), "{said}");
}
