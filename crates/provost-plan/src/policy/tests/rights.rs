//! Who may say what to a run: how the policies about it load, and what is kept of them.

use super::*;

const SILENT: &str = include_str!("../silent.cedar");

fn only(action: &str, when: &str) -> String {
    format!(
        "@id(\"p\") permit (principal, action == Action::\"{action}\", resource) when {{ {when} }};"
    )
}

/// The built-in rules are typed like those of any workspace, and so are those that `init` writes.
#[test]
fn the_rules_of_ours_load_as_files() {
    let declared = r#"{"users": {"ada": {}}, "groups": ["operators"]}"#;
    let people = People::read(&Source::new("entities.json", declared)).unwrap();
    for text in [SILENT, STATEMENTS_POLICY] {
        let policy = load_for(&[DEFAULT_POLICY, text], &people).unwrap();
        assert_eq!(policy.survey(&people.principal("ada")).findings.len(), 0);
    }
}

#[test]
fn a_misspelt_action_or_fact_is_refused() {
    let lines: Vec<String> = [
        only("stopp", "true"),
        only("settel", "context.may_approve"),
        only("stop", "context.names_principal"),
        only("answer", "context.names_principle"),
        only("resume", "principal == context.stopped_by"),
        only("resume", "context has stoped_by"),
        only("settle", "resource.effect == \"wirte\""),
        only("amend", "resource.requestor == principal"),
        "@id(\"p\") permit (principal is Agent, action == Action::\"stop\", resource);".to_owned(),
        "@id(\"p\") @quorum(\"2\") permit (principal, action == Action::\"stop\", resource);"
            .to_owned(),
    ]
    .iter()
    .map(|text| match load(&[text]) {
        Ok(_) => "loads".to_owned(),
        Err(lines) => lines.join("\n"),
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    W802 p0.cedar `Action::"stopp"`: policy `p`: unrecognized action `Action::"stopp"` [did you mean `Action::"stop"`?]
    W802 p0.cedar `Action::"settel"`: policy `p`: unrecognized action `Action::"settel"` [did you mean `Action::"settle"`?]
    W802 p0.cedar `context.names_principal`: policy `p`: attribute `names_principal` in context for Action::"stop" not found [did you mean `may_approve`?]
    W802 p0.cedar `context.names_principle`: policy `p`: attribute `names_principle` in context for Action::"answer" not found [did you mean `names_principal`?]
    W802 p0.cedar `context.stopped_by`: policy `p`: unable to guarantee safety of access to optional attribute `stopped_by` in context for Action::"resume" [try testing for the attribute's presence with `context has stopped_by && ..`]
    W802 p0.cedar `has stoped_by`: policy `p` asks whether `context` has `stoped_by`, which nothing in its scope has [did you mean `stopped_by`?]
    W802 p0.cedar `"wirte"`: policy `p` compares `resource.effect` with `wirte`, which it never is [did you mean `write`?]
    W802 p0.cedar `resource.requestor`: policy `p`: attribute `requestor` on entity type `Run` not found [did you mean `requester`?]
    W802 p0.cedar `@id("p") permit (principal is Agent, action == Action::"stop", resource);`: policy `p` can never apply
    W802 p0.cedar `@quorum`: policy `p` asks nobody, so `@quorum` says nothing [an ask looks at `resource.attended`: `forbid (…) when { !resource.attended && … }`]
    "#);
}

/// Which policies decide: a `permit` that names the action takes the place of the built-in rule, a
/// `forbid` that names it narrows, and a rule about any action does neither.
#[test]
fn a_permit_replaces_and_a_forbid_narrows() {
    let table = [
        ("", "provost:stop-if-listed"),
        (
            r#"@id("p") permit (principal, action == Action::"stop", resource);"#,
            "p",
        ),
        (
            r#"@id("p") permit (principal, action in [Action::"stop", Action::"amend"], resource);"#,
            "p",
        ),
        (
            r#"@id("p") permit (principal, action, resource) when { action == Action::"stop" };"#,
            "p",
        ),
        (
            r#"@id("p") forbid (principal, action == Action::"stop", resource);"#,
            "p provost:stop-if-listed",
        ),
        (
            r#"@id("p") permit (principal, action, resource);"#,
            "provost:stop-if-listed",
        ),
        (
            r#"@id("p") forbid (principal, action, resource);"#,
            "provost:stop-if-listed",
        ),
        (
            r#"@id("p") permit (principal, action == Action::"stop", resource);
               @id("q") forbid (principal == User::"bo", action, resource);"#,
            "p q",
        ),
    ];
    for (text, expected) in table {
        let policy = policy(&[DEFAULT_POLICY, text]);
        let found = policy.rights().deciding(RunAction::Stop);
        assert_eq!(found.join(" "), expected, "{text}");
    }
}

/// An error in the decision is a no, as for a yes to a card.
#[test]
fn an_error_lets_nobody() {
    let policy = policy(&[&only(
        "stop",
        "resource.tags.contains(resource.effect) || 9223372036854775807 + 1 > 3",
    )]);
    let bo = people().principal("bo");
    let ada = people().principal("ada");
    let facts = ActionFacts::of(RunAction::Stop, &bo, &ada);
    let denied = policy.judge(&facts).unwrap_err();
    assert!(matches!(denied, ActionDenied::Failed { .. }), "{denied}");
}

/// What a journal keeps reads back as what was kept.
#[test]
fn rights_read_back_are_the_same() {
    let policy = policy(&[DEFAULT_POLICY, STATEMENTS_POLICY]);
    let kept = policy.rights();
    let read = Rights::read(kept.text().as_bytes()).unwrap();
    assert_eq!((read.text(), read.digest()), (kept.text(), kept.digest()));
    assert_eq!(
        Digest::of_bytes(Domain::Evidence, kept.text().as_bytes()),
        kept.digest()
    );
    for broken in [
        "",
        "{}",
        r#"{"schema":"provost/rights/v2","files":{},"people":{}}"#,
    ] {
        assert!(Rights::read(broken.as_bytes()).is_err(), "{broken}");
    }
}

const CASES: &str = r#"
schema: provost/policy-test/v1
strangers: [eve]
cases:
  - { name: whom it names, by: bo, may: answer, of: finance, expect: permit, because: [answer-if-named] }
  - { name: somebody else, by: ada, may: answer, of: bo, expect: forbid }
  - { name: who asked, by: ada, requester: ada, may: amend, expect: permit }
  - { name: a call of money, by: bo, requester: ada, may: settle, call: bank.pay, expect: permit }
  - { name: ones own, by: ada, requester: ada, may: settle, call: bank.pay, expect: forbid }
  - { name: everybody stops, by: ada, may: stop, expect: permit }
  - { name: who stopped it, by: ada, requester: ada, may: resume, stopped_by: ada, expect: permit }
  - { name: what another stopped, by: ada, requester: ada, may: resume, stopped_by: bo, expect: forbid }
  - { name: an agent, by: bo, agent: true, may: stop, expect: forbid }
  - { name: a stranger, by: eve, may: stop, expect: forbid }
"#;

#[test]
fn cases_say_who_may_say_what() {
    let policy = policy(&[DEFAULT_POLICY, STATEMENTS_POLICY]);
    let read = |text: &str| Cases::read(&Source::new("cases.yaml", text), &catalog(), &people());
    let judged = read(CASES).unwrap().judge(&policy, &catalog());
    let differs: Vec<_> = judged.iter().filter(|case| !case.passed()).collect();
    assert_eq!((judged.len(), differs), (10, Vec::new()));
    // The controls: another verdict differs, and a fact of another action is no key of the case.
    let other = CASES.replace("may: stop, expect: permit", "may: stop, expect: forbid");
    let judged = read(&other).unwrap().judge(&policy, &catalog());
    assert_eq!(judged.iter().filter(|case| !case.passed()).count(), 1);
    for (from, to) in [
        (
            "may: stop, expect: permit",
            "may: stop, of: bo, expect: permit",
        ),
        ("may: stop, expect: permit", "may: halt, expect: permit"),
        (
            "may: settle, call: bank.pay, expect: permit",
            "may: settle, expect: permit",
        ),
    ] {
        assert!(read(&CASES.replace(from, to)).is_err(), "{to}");
    }
}
