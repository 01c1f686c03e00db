//! Who may say what to a run, under which policies: the table of `corpus/rights`, and that it is
//! what the machine decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::case::{Case, failed, ok, person, rules_of};
use provost_plan::policy::{
    DEFAULT_POLICY, People, Principal, PrincipalKind, Rights, SOLO_FILE, SOLO_POLICY,
    STATEMENTS_POLICY,
};
use provost_plan::source::Source;
use provost_run::call::Slot;
use provost_run::event::{Event, Settlement};
use provost_run::machine::{Input, Rules};
use provost_run::outcome::{Class, Landing};
use provost_run::state::{Objection, State};
use provost_run::statement::{Statement, StatementRecord};
use serde_json::{Value, json};

const PLAN: &str = r#"
schema: provost/plan/v1
success:
  - { for: goal, check: '${ steps.put.status == "succeeded" }' }
steps:
  - { id: put, tool: note.put, args: { to: box }, accept: ['${ output.done }'] }
  - { id: which, question: { text: "how many?", answer: { type: integer } } }
  - { id: look, tool: look.up, needs: [which] }
answer: done
"#;

/// A run of ada's with a question, and a write in doubt.
fn open() -> Case {
    Case::under(DEFAULT_POLICY, PLAN)
        .started()
        .ends("put", failed(Class::Timeout, Landing::Unknown))
        .quietly()
}

fn agent(name: &str) -> Principal {
    Principal {
        kind: PrincipalKind::Agent,
        ..person(name)
    }
}

fn statements(case: &Case) -> Vec<Statement> {
    let slot = Slot {
        step: "put".to_owned(),
        item: None,
    };
    let reason = || "why not".to_owned();
    vec![
        Statement::Answer {
            question: *case.state().open_questions().next().unwrap().0,
            value: json!(3),
        },
        Statement::Settle {
            attempt: case.state().attempt_in_doubt(&slot),
            slot,
            settled: Settlement::Abandoned,
            output: None,
            reason: reason(),
        },
        Statement::Amend {
            plan: None,
            goal: Some("another".to_owned()),
            reason: reason(),
        },
        Statement::Pause { reason: reason() },
        Statement::Cancel {
            reason: None,
            undo: true,
        },
        Statement::Cancel {
            reason: None,
            undo: false,
        },
    ]
}

/// What each may say, of everything that can be said to the open run.
fn heard(by: &Principal) -> String {
    let mut taken = Vec::new();
    for statement in statements(&open()) {
        let undo = matches!(statement, Statement::Cancel { undo: true, .. });
        let word = if undo { "undo" } else { statement.verb() };
        let case = open();
        let before = case.journal.len();
        let case = case.give(Input::unsigned(by.clone(), statement));
        if case.journal.len() > before {
            taken.push(word);
        }
    }
    // A pause of bob's, and who may let it go on.
    let case = open().pause();
    let before = case.journal.len();
    let case = case.give(Input::unsigned(by.clone(), Statement::Resume));
    if case.journal.len() > before {
        taken.push("resume");
    }
    taken.join(" ")
}

#[test]
fn who_is_not_listed_can_say_nothing_to_a_run() {
    assert_eq!(heard(&person("mallory")), "");
    assert_eq!(heard(&agent("bob")), "");
    // The controls: who asked for it, and somebody else who is listed.
    assert_eq!(
        heard(&person("ada")),
        "answer amend pause undo cancel resume"
    );
    assert_eq!(
        heard(&person("eve")),
        "answer settle amend pause undo cancel resume"
    );
}

/// In a solo workspace whoever is at the machine is its one person.
#[test]
fn in_a_solo_workspace_everybody_may_stop_a_run() {
    let case = Case::new(PLAN).started().quietly();
    let cancel = Statement::Cancel {
        reason: None,
        undo: false,
    };
    let case = case
        .says("somebody", cancel)
        .ends("put", ok(json!({ "done": true })));
    assert_eq!(case.status(), "cancelled");
}

const TABLE: &str = include_str!("../../../../corpus/rights/decisions.txt");
const APPROVERS: &str = include_str!("../../../../corpus/rights/approvers.cedar");
const OWN: &str = include_str!("../../../../corpus/rights/own.cedar");
const NARROW: &str = include_str!("../../../../corpus/rights/narrow.cedar");
const BROAD: &str = include_str!("../../../../corpus/rights/broad.cedar");
const LOOSENED: &str = include_str!("../../../../corpus/rights/loosened.cedar");

const PEOPLE: &str = r#"{ "users": { "ada": {}, "bo": {}, "fay": { "groups": ["finance"] },
    "olga": { "groups": ["operators"] } } }"#;

/// The policies of a row of the table.
fn policies(name: &str) -> Vec<(&'static str, &'static str)> {
    let common = [
        ("default.cedar", DEFAULT_POLICY),
        ("approvers.cedar", APPROVERS),
    ];
    let several = |more: &[(&'static str, &'static str)]| [&common[..], more].concat();
    match name {
        "silent" => several(&[]),
        "init" => several(&[("statements.cedar", STATEMENTS_POLICY)]),
        "loosened" => several(&[
            ("statements.cedar", STATEMENTS_POLICY),
            ("l.cedar", LOOSENED),
        ]),
        "own" => several(&[("own.cedar", OWN)]),
        "narrow" => several(&[("narrow.cedar", NARROW)]),
        "open" => several(&[("open.cedar", OPEN)]),
        "broad" => several(&[("broad.cedar", BROAD)]),
        "solo" => vec![
            ("default.cedar", DEFAULT_POLICY),
            (SOLO_FILE, SOLO_POLICY),
            ("statements.cedar", STATEMENTS_POLICY),
        ],
        other => panic!("no such policies: {other}"),
    }
}

fn rules_under(name: &str) -> Rules {
    let files = policies(name);
    let sources: Vec<Source> = files
        .iter()
        .map(|(n, text)| Source::new(*n, *text))
        .collect();
    rules_of(&sources, PEOPLE, |_| {})
}

/// Who a name of the table is, with their groups.
fn speaker(name: &str) -> Principal {
    let people = People::read(&Source::new("entities.json", PEOPLE)).unwrap();
    match name.strip_suffix("'s-agent") {
        Some(of) => people.principal(of).agent(),
        None => people.principal(name),
    }
}

/// A run of ada's with a question for `of`, and a write in doubt, that was begun under `rules`.
fn asking(rules: Rules, of: Option<&str>) -> Case {
    let of = of.map_or_else(String::new, |of| format!("of: {of}, "));
    let plan = PLAN.replace("question: { ", &format!("question: {{ {of}"));
    let case = Case::of(rules, &plan).signed().started();
    case.ends("put", failed(Class::Timeout, Landing::Unknown))
        .quietly()
}

/// A run that somebody paused while nobody kept them from it.
fn paused(name: &str, by: &Principal) -> Case {
    let reason = "wait".to_owned();
    let silent = if name == "solo" { "solo" } else { "silent" };
    let case = asking(rules_under(silent), None);
    let case = case.give(Input::unsigned(by.clone(), Statement::Pause { reason }));
    case.crash_into(rules_under(name)).quietly()
}

/// A run that lacks a secret.
fn lacking(name: &str) -> Case {
    let case = Case::of(rules_under(name), PLAN).signed().started();
    let mut missing = failed(Class::Unavailable, Landing::None);
    missing.lacks = Some("TOKEN".to_owned());
    case.ends("put", missing).quietly()
}

/// The run in which a column of the table is tried, and what is said to it.
fn tried(policies: &str, column: &str, by: &Principal) -> (Case, Statement) {
    let asked = |of| {
        let case = asking(rules_under(policies), of);
        let question = *case.state().open_questions().next().unwrap().0;
        let value = json!(3);
        (case, Statement::Answer { question, value })
    };
    let cancel = |undo| Statement::Cancel { reason: None, undo };
    let open = || asking(rules_under(policies), None);
    match column {
        "ask" => asked(None),
        "ask-bo" => asked(Some("bo")),
        "ask-fin" => asked(Some("finance")),
        "settle" => {
            let case = open();
            let statement = statements(&case).remove(1);
            (case, statement)
        }
        "amend" => {
            let case = open();
            let statement = statements(&case).remove(2);
            (case, statement)
        }
        "undo" => (open(), cancel(true)),
        "pause" => {
            let reason = "wait".to_owned();
            (open(), Statement::Pause { reason })
        }
        "cancel" => (open(), cancel(false)),
        "resume" => (paused(policies, by), Statement::Resume),
        "res-bo" => (paused(policies, &speaker("bo")), Statement::Resume),
        "res-key" => (lacking(policies), Statement::Resume),
        other => panic!("no such column: {other}"),
    }
}

/// Whether the machine takes it; what it says if not.
fn is_taken(policies: &str, column: &str, by: &Principal) -> Result<(), String> {
    let (case, statement) = tried(policies, column, by);
    let before = case.journal.len();
    let case = case.give(recorded(by, statement));
    if case.journal.len() > before {
        return Ok(());
    }
    Err(case.transcript())
}

/// A statement that came in an envelope.
fn recorded(by: &Principal, statement: Statement) -> Input {
    let record = StatementRecord {
        nonce: "n".to_owned(),
        revision: 1,
        at: 0,
        expires_at: 1_000_000,
        key: None,
        signature: None,
        rights: None,
        operation: None,
        via: None,
        vouched: None,
    };
    Input::Statement {
        by: by.clone(),
        statement,
        record: Some(record),
    }
}

/// The policies, who acts, and what is expected of each statement.
type Row = (
    &'static str,
    &'static str,
    Vec<(&'static str, &'static str)>,
);

/// The rows of the table: policies, who, and what is said of each column.
fn rows() -> Vec<Row> {
    let blank = |line: &&str| !line.is_empty() && !line.starts_with('#');
    let mut lines = TABLE.lines().filter(blank);
    let columns: Vec<&str> = lines.next().unwrap().split_whitespace().collect();
    lines
        .map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            assert_eq!(words.len(), columns.len(), "{line}");
            let cells = columns.iter().copied().zip(words.iter().copied()).skip(2);
            (words[0], words[1], cells.collect())
        })
        .collect()
}

#[test]
fn the_machine_decides_as_the_table_of_rights_says() {
    let (mut wrong, mut tally) = (Vec::new(), BTreeMap::new());
    for (policies, who, cells) in rows() {
        for (column, expected) in cells {
            let taken = is_taken(policies, column, &speaker(who));
            let found = if taken.is_ok() { "yes" } else { "no" };
            *tally.entry(found).or_insert(0) += 1;
            if found != expected {
                wrong.push(format!("{policies} {who} {column}: {found} {taken:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(tally["yes"] > 100 && tally["no"] > 100, "{tally:?}");
}

/// What anybody who is listed may say.
const OPEN: &str = r#"@id("open") permit (principal, action in [Action::"answer", Action::"settle",
    Action::"amend", Action::"stop", Action::"resume"], resource);"#;

/// The event that follows from a statement which ada was free to make, as if `who` had made it; and
/// the state before it.
fn written_in(policies: &str, column: &str, who: &str) -> (State, Event) {
    let open = if policies == "solo" { "solo" } else { "open" };
    let (case, statement) = tried(open, column, &speaker(who));
    let (state, before) = (case.state().clone(), case.journal.len());
    // Why whom it names: in a solo workspace too a question is for them.
    let speaker = match column {
        "ask-bo" => person("bo"),
        "ask-fin" => speaker("fay"),
        _ => person("ada"),
    };
    let case = case.give(recorded(&speaker, statement));
    let Some((event, _)) = case.journal.get(before) else {
        panic!("{policies} {who} {column}: {}", case.transcript());
    };
    let (kind, version, mut payload) = event.to_stored();
    payload["by"] = match &payload["by"] {
        Value::String(_) => json!(who),
        _ => json!({ "kind": "person", "id": who }),
    };
    (state, Event::from_stored(&kind, version, &payload).unwrap())
}

/// Whoever reads a journal asks the rights that it keeps, and they say what the machine said.
#[test]
fn a_journal_is_judged_by_the_rights_it_keeps_as_the_machine_judges() {
    let (mut wrong, mut tally) = (Vec::new(), BTreeMap::new());
    for (policies, who, cells) in rows() {
        let kept = rules_under(policies).policy.rights().text().to_owned();
        let rights = Rights::read(kept.as_bytes()).unwrap();
        for (column, expected) in cells {
            // An agent bears the name of a person, and nobody paused as somebody who is not listed.
            if who.ends_with("agent") || (who == "mallory" && column == "resume") {
                continue;
            }
            let (state, event) = written_in(policies, column, who);
            let judged = state.object_by_rights(&event, who, &rights);
            let found = if judged.is_ok() { "yes" } else { "no" };
            *tally.entry(found).or_insert(0) += 1;
            if found != expected {
                wrong.push(format!("{policies} {who} {column}: {found} {judged:?}"));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(tally["yes"] > 100 && tally["no"] > 100, "{tally:?}");
}

/// A settlement is judged by the call that its step makes, and by no other that it names.
#[test]
fn a_settlement_of_another_call_may_not_stand() {
    let (state, event) = written_in("own", "settle", "fay");
    let rights = Arc::clone(rules_under("own").policy.rights());
    assert_eq!(state.object_by_rights(&event, "fay", &rights), Ok(()));
    for other in [
        json!(null),
        json!({"name": "look.up", "effect": "read", "risk": "low"}),
    ] {
        let (kind, version, mut payload) = event.to_stored();
        payload["said"]["operation"] = other;
        let event = Event::from_stored(&kind, version, &payload).unwrap();
        let judged = state.object_by_rights(&event, "fay", &rights);
        assert!(
            matches!(judged, Err(Objection::OtherCall { .. })),
            "{judged:?}"
        );
    }
}

/// The rights stand in the first event, and in a statement where they are others by then.
#[test]
fn a_run_that_has_to_be_signed_records_the_rights_it_is_judged_by() {
    let rights = |name: &str| json!(rules_under(name).policy.rights().digest());
    let said = |case: &Case, n: usize| case.journal[n].0.to_stored().2["said"]["rights"].clone();
    let pause = || Statement::Pause {
        reason: "wait".to_owned(),
    };
    let case = asking(rules_under("silent"), None);
    assert_eq!(case.journal[0].0.to_stored().2["rights"], rights("silent"));
    let n = case.journal.len();
    let case = case.give(recorded(&person("ada"), pause()));
    assert_eq!(said(&case, n), Value::Null);
    let case = case.crash_into(rules_under("init"));
    let n = case.journal.len();
    let case = case.give(recorded(&person("ada"), Statement::Resume));
    assert!(case.transcript().contains("`n` was recorded before"));
    let mut other = recorded(&person("ada"), Statement::Resume);
    if let Input::Statement {
        record: Some(record),
        ..
    } = &mut other
    {
        record.nonce = "m".to_owned();
    }
    let case = case.give(other);
    assert_eq!(said(&case, n), rights("init"));
    assert_eq!(
        case.state().people.rights,
        Some(rules_under("init").policy.rights().digest())
    );
    // The control: where nothing has to be signed, a name proves nothing, and nothing is kept.
    let bare = Case::of(rules_under("silent"), PLAN).started();
    assert_eq!(bare.journal[0].0.to_stored().2["rights"], Value::Null);
}

/// The refusal says what was refused and which policies have the word.
#[test]
fn a_refusal_names_the_action_and_the_policies() {
    let said = |policies: &str, column: &str, who: &str| {
        is_taken(policies, column, &speaker(who)).unwrap_err()
    };
    let lines = [
        said("own", "settle", "bo"),
        said("own", "pause", "ada"),
        said("narrow", "settle", "fay"),
        said("narrow", "cancel", "bo"),
        said("silent", "amend", "bo"),
        said("init", "res-bo", "mallory"),
        said("init", "ask-bo", "fay"),
        said("init", "undo", "bo's-agent"),
    ];
    insta::assert_snapshot!(lines.join(""), @r"
    ! `bo` may not settle: policy lets only others (writes-are-settled)
    ! `ada` may not stop: policy lets only others (operators-act)
    ! `fay` may not settle: policy forbids it (finance-settles-nothing)
    ! `bo` may not stop: policy forbids it (bo-stops-nothing)
    ! `bo` may not amend: policy lets only others (provost:amend-if-requester-or-approver)
    ! `mallory` may not resume: `mallory` is not listed in policies/entities.json
    ! `fay` may not answer: the question is for `bo` (answer-if-approver, answer-if-named)
    ! `bo` may not amend: `bo` is an agent, and only people say something to a run
    ");
}
