//! What a server lets people and their agents do: by the rules of ours, and by those of a workspace.

use super::*;

/// Two who ask and approve, and one who looks after the server.
const TEAM: &str = r#"{"users": {"ada": {"groups": ["interns"]}, "bo": {},
    "olga": {"groups": ["operators"]}}}"#;

fn team(texts: &[&str]) -> Policy {
    let people = People::read(&Source::new("entities.json", TEAM)).unwrap();
    load_for(texts, &people).unwrap()
}

/// The cases that a policy does not decide as they say.
fn differing(policy: &Policy, cases: &str) -> Vec<String> {
    let strangers = match policy.people().names().next() {
        Some(_) => "strangers: [eve]\n",
        None => "",
    };
    let text = format!("schema: provost/policy-test/v1\n{strangers}cases:\n{cases}");
    let cases = Source::new("cases.yaml", text);
    let cases = Cases::read(&cases, &catalog(), policy.people()).unwrap();
    let judged = cases.judge(policy, &catalog());
    assert!(!judged.is_empty());
    let differs = judged.into_iter().filter(|case| !case.passed());
    differs.map(|case| format!("{case:?}")).collect()
}

/// Where no policy names them.
const SILENT: &str = r#"
  - { name: people see all, by: ada, may: see, requester: bo, expect: permit, because: ["provost:see-if-listed"] }
  - { name: and what it gave, by: ada, may: reveal, requester: bo, expect: permit, because: ["provost:reveal-if-listed"] }
  - { name: an agent sees its own, by: ada, agent: true, may: see, own: true, expect: permit, because: ["provost:see-if-own"] }
  - { name: and nothing of its person, by: ada, agent: true, may: see, requester: ada, expect: forbid }
  - { name: and no value, by: ada, agent: true, may: reveal, own: true, expect: forbid }
  - { name: people begin, by: ada, may: begin, expect: permit, because: ["provost:begin-if-listed"] }
  - { name: and their agents, by: ada, agent: true, may: begin, expect: permit }
  - { name: an operator governs, by: olga, may: govern, expect: permit, because: ["provost:govern-if-operator"] }
  - { name: and nobody else, by: bo, may: govern, expect: forbid }
  - { name: nor their agent, by: olga, agent: true, may: govern, expect: forbid }
  - { name: a stranger does not see, by: eve, may: see, own: true, expect: forbid }
  - { name: nor does their agent, by: eve, agent: true, may: see, own: true, expect: forbid }
  - { name: nor begin, by: eve, may: begin, expect: forbid }
  - { name: nor does their agent, by: eve, agent: true, may: begin, expect: forbid }
"#;

#[test]
fn without_a_policy_people_see_agents_see_their_own_and_operators_govern() {
    let policy = team(&[DEFAULT_POLICY, STATEMENTS_POLICY]);
    assert_eq!(differing(&policy, SILENT), [""; 0]);
    // The controls: each verdict turned round differs.
    let turned = SILENT
        .replace("expect: permit", "expect: ask")
        .replace("expect: forbid", "expect: permit");
    let all = SILENT.matches("expect").count();
    assert_eq!(differing(&policy, &turned).len(), all);
}

/// A workspace of its own mind: people see what they asked for or may approve, interns begin
/// nothing, agents see what others of their person began, and everybody governs.
const OWN: &str = r#"
@id("see-own") permit (principal is User, action == Action::"see", resource)
when { context.own || context.may_approve };
@id("see-of-person") permit (principal is Agent, action == Action::"see", resource)
when { principal in resource.requester };
@id("reveal-own") permit (principal, action == Action::"reveal", resource) when { context.own };
@id("no-interns") forbid (principal in Group::"interns", action == Action::"begin", resource);
@id("govern") permit (principal, action == Action::"govern", resource);
@id("nobody-approves-for-bo") forbid (principal, action == Action::"approve", resource)
when { resource.requester == User::"bo" };
"#;

const OWN_CASES: &str = r#"
  - { name: ones own, by: ada, may: see, own: true, expect: permit, because: [see-own] }
  - { name: what one approves, by: bo, may: see, requester: ada, expect: permit, because: [see-own] }
  - { name: and no other, by: ada, may: see, requester: bo, expect: forbid, because: [see-own] }
  - { name: an agent what its person asked for, by: ada, agent: true, may: see, requester: ada, expect: permit }
  - { name: and nobody else, by: ada, agent: true, may: see, requester: bo, expect: forbid }
  - { name: values of ones own, by: ada, may: reveal, own: true, expect: permit }
  - { name: and of no other, by: bo, may: reveal, requester: ada, expect: forbid }
  - { name: to no agent, by: bo, agent: true, may: reveal, own: true, expect: forbid }
  - { name: interns begin nothing, by: ada, may: begin, expect: forbid, because: [no-interns] }
  - { name: nor their agents, by: ada, agent: true, may: begin, expect: forbid, because: [no-interns] }
  - { name: others do, by: bo, may: begin, expect: permit, because: ["provost:begin-if-listed"] }
  - { name: everybody governs, by: bo, may: govern, expect: permit, because: [govern] }
  - { name: but no agent, by: bo, agent: true, may: govern, expect: forbid }
  - { name: and no stranger, by: eve, may: govern, expect: forbid }
"#;

#[test]
fn a_policy_that_names_them_decides() {
    let policy = team(&[DEFAULT_POLICY, OWN]);
    assert_eq!(differing(&policy, OWN_CASES), [""; 0]);
    assert_ne!(
        differing(&team(&[DEFAULT_POLICY]), OWN_CASES),
        [""; 0],
        "the control"
    );
}

/// One person is everybody, and an agent is not that person.
#[test]
fn in_a_solo_workspace_the_one_person_does_everything() {
    let sources = [("default.cedar", DEFAULT_POLICY), (SOLO_FILE, SOLO_POLICY)];
    let sources = sources.map(|(name, text)| Source::new(name, text));
    let policy = Policy::load(&catalog(), &sources, &People::default()).unwrap();
    let cases = r#"
  - { name: sees, by: me, may: see, requester: eve, expect: permit }
  - { name: is shown, by: me, may: reveal, requester: eve, expect: permit }
  - { name: begins, by: me, may: begin, expect: permit }
  - { name: governs, by: me, may: govern, expect: permit }
  - { name: an agent begins, by: me, agent: true, may: begin, expect: permit }
  - { name: and sees its own, by: me, agent: true, may: see, own: true, expect: permit }
  - { name: and no other, by: me, agent: true, may: see, requester: me, expect: forbid }
  - { name: and is shown nothing, by: me, agent: true, may: reveal, own: true, expect: forbid }
"#;
    assert_eq!(differing(&policy, cases), [""; 0]);
}

/// A policy about every action that loaded before the server's were there still loads.
#[test]
fn policies_about_every_action_still_load() {
    for text in [
        r#"@id("p") forbid (principal, action, resource) when { resource.effect == "external" };"#,
        r#"@id("p") permit (principal, action, resource) when { resource.risk == "low" && resource.tags.contains("money") };"#,
        r#"@id("p") permit (principal, action, resource) when { resource is Run && principal == resource.requester };"#,
        r#"@id("p") permit (principal, action, resource) when { resource is Run && context.may_approve };"#,
        r#"@id("p") permit (principal, action, resource is Run) when { resource.operation == "" };"#,
    ] {
        assert!(load(&[text]).is_ok(), "{text}: {:?}", load(&[text]).err());
    }
}

#[test]
fn what_is_misspelt_or_can_never_be_is_refused() {
    let only = |principal: &str, action: &str, when: &str| {
        format!(
            "@id(\"p\") permit ({principal}, action == Action::\"{action}\", resource) \
             when {{ {when} }};"
        )
    };
    let quorum = "@id(\"p\") @quorum(\"2\") permit (principal, action == Action::\"govern\", \
                  resource);";
    let table = [
        (
            only("principal", "seee", "true"),
            "did you mean `Action::\"see\"`?",
        ),
        (
            only("principal", "reveel", "true"),
            "did you mean `Action::\"reveal\"`?",
        ),
        (
            only("principal", "beginn", "true"),
            "did you mean `Action::\"begin\"`?",
        ),
        (
            only("principal", "govren", "true"),
            "did you mean `Action::\"govern\"`?",
        ),
        (
            only("principal", "see", "context.owns"),
            "`owns` in context for Action::\"see\" not found",
        ),
        (
            only("principal", "see", "context has owns"),
            "which nothing in its scope has",
        ),
        (
            only("principal", "see", "resource.owner == principal"),
            "`owner` on entity type `Run`",
        ),
        (
            only("principal", "govern", "context.own"),
            "in context for Action::\"govern\" not found",
        ),
        (
            only("principal", "begin", "resource.effect == \"wirte\""),
            "did you mean `write`?",
        ),
        (
            only("principal is Agent", "reveal", "true"),
            "can never apply",
        ),
        (
            only("principal is Agent", "govern", "true"),
            "can never apply",
        ),
        (
            only("principal in Group::\"operatrs\"", "govern", "true"),
            "names the group that nobody is in, `operatrs`",
        ),
        (quorum.to_owned(), "asks nobody, so `@quorum` says nothing"),
    ];
    for (text, expected) in table {
        let found = load(&[&text]).err().unwrap_or_default().join("\n");
        assert!(found.contains(expected), "{text}: {found}");
    }
    // The control: what is written as it should be loads.
    assert!(load(&[&only("principal", "see", "context.own")]).is_ok());
}
