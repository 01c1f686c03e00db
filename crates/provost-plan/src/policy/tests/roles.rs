//! Roles: what a policy sees of them, and what it comes to over those that are declared.

use super::*;
use crate::catalog::Role;
use crate::diagnostic::Diagnostic;

const ALL: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

fn loaded(text: &str) -> Policy {
    try_loaded(text).unwrap()
}

fn try_loaded(text: &str) -> Result<Policy, Vec<(Source, Diagnostic)>> {
    let role = |(name, tools): (&str, &str)| Role {
        name: name.to_owned(),
        description: String::new(),
        tools: tools.split(' ').map(str::to_owned).collect(),
    };
    let roles = [("reader", "db.look web.*"), ("clerk", "db.*")].map(role);
    let sources = [ALL, text].map(str::to_owned);
    let sources: Vec<Source> = (0..).zip(sources).map(named).collect();
    Policy::load(&catalog().with_roles(roles), &sources, &people())
}

fn named((n, text): (usize, String)) -> Source {
    Source::new(format!("policies/p{n}.cedar"), text)
}

/// A rule that forbids where a condition holds.
fn rule(when: &str) -> String {
    format!(
        "@id(\"rule\") forbid (principal, action in Action::\"call\", resource) when {{ {when} }};"
    )
}

#[test]
fn a_rule_sees_the_role_of_a_step() {
    let table = [
        (r#"resource.role == "clerk""#, "clerk", "forbid by rule"),
        (r#"resource.role == "clerk""#, "reader", "permit by all"),
        (r#"resource.role == "clerk""#, "", "permit by all"),
        (r#"resource.role == """#, "", "forbid by rule"),
        (r#"resource.role == """#, "clerk", "permit by all"),
        (
            r#"["clerk"].contains(resource.role)"#,
            "clerk",
            "forbid by rule",
        ),
        (
            r#"!resource.attended && resource.role != "reader""#,
            "clerk",
            "ask by rule",
        ),
    ];
    for (when, role, expected) in table {
        let policy = loaded(&rule(when));
        // Why twice: what is kept of one role must not be given for another.
        let other = Case::call("db.put").decide(&policy);
        let case = Case {
            role: role.to_owned(),
            ..Case::call("db.put")
        };
        assert_eq!(line(&case.decide(&policy)), expected, "{when}: `{role}`");
        let again = Case::call("db.put").decide(&policy);
        assert_eq!(other, again, "{when}");
    }
}

#[test]
fn a_rule_for_a_role_that_nobody_declared_does_not_load() {
    let found = |when: &str| -> Vec<String> {
        let found = match try_loaded(&rule(when)) {
            Ok(policy) => policy.survey(&people().principal("ada")).findings,
            Err(found) => found,
        };
        let line = |(_, found): &(Source, Diagnostic)| {
            let hint = found.hint.as_deref().unwrap_or_default();
            format!("{} {} [{hint}]", found.code, found.message)
        };
        found.iter().map(line).collect()
    };
    let none: [String; 0] = [];
    let of = |name: &str, hint: &str| {
        let message = format!("policy `rule` names the role that is not declared, `{name}`");
        [format!("W802 {message} [{hint}]")]
    };
    assert_eq!(found(r#"resource.role == "clerk""#), none);
    assert_eq!(found(r#"resource.role == """#), none);
    assert_eq!(
        found(r#"["reader", "clerk"].contains(resource.role)"#),
        none
    );
    assert_eq!(found(r#"resource.role like "re*""#), none);
    assert_eq!(
        found(r#"resource.role == "clark""#),
        of("clark", "did you mean `clerk`?")
    );
    assert_eq!(
        found(r#""auditor" != resource.role"#),
        of("auditor", "roles stand in provost.toml")
    );
    assert_eq!(
        found(r#"["reader", "auditor"].contains(resource.role)"#),
        of("auditor", "roles stand in provost.toml")
    );
    let never = found(r#"resource.role == "clerk" && resource.role == "reader""#);
    assert!(never.first().unwrap().starts_with("W807 "), "{never:?}");
}
