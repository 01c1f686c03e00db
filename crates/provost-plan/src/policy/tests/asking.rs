//! How a person is asked: annotations, joined by the strictest.

use super::*;

fn rule(id: &str, annotations: &str, when: &str) -> String {
    format!(
        "@id(\"{id}\") {annotations} forbid (principal, action in Action::\"call\", resource) \
         when {{ !resource.attended && ({when}) }};\n"
    )
}

fn ask_of(policy: &Policy, name: &str) -> String {
    let verdict = Case::call(name).decide(policy);
    let ask = verdict
        .ask
        .clone()
        .unwrap_or_else(|| panic!("{name}: {}", line(&verdict)));
    let roles: Vec<&str> = ask.approvers.iter().map(String::as_str).collect();
    format!(
        "{} | {} of {} in {:?}, {:?}",
        verdict.policies.join(" "),
        ask.quorum,
        roles.join("+"),
        ask.expires_ms,
        ask.on_expiry
    )
}

/// Several asks: the highest quorum, all roles, the shortest time, `replan` only if all say so.
#[test]
fn the_strictest_of_several_asks() {
    let text = [
        "@id(\"all\") permit (principal, action in Action::\"call\", resource);\n".to_owned(),
        rule("plain", "", "resource.tags.contains(\"email\")"),
        rule(
            "two",
            "@quorum(\"2\") @expires(\"4h\") @on_expiry(\"replan\")",
            "resource.tags.contains(\"money\")",
        ),
        rule(
            "oncall",
            "@approver(\"oncall\") @expires(\"30m\") @on_expiry(\"replan\")",
            "resource.effect == \"external\"",
        ),
        rule(
            "boss",
            "@approver(\"finance, boss\") @quorum(\"1\") @on_expiry(\"fail\")",
            "resource.risk == \"critical\"",
        ),
    ]
    .concat();
    let policy = policy(&[&text]);
    let table = [
        ("mail.queue", "plain | 1 of  in None, Fail"),
        ("bank.pay", "two | 2 of  in Some(14400000), Replan"),
        (
            "pager.notify",
            "oncall | 1 of oncall in Some(1800000), Replan",
        ),
        ("disk.wipe_live", "boss | 1 of boss+finance in None, Fail"),
        (
            "bank.wire",
            "boss oncall two | 2 of boss+finance+oncall in Some(1800000), Fail",
        ),
    ];
    for (name, expected) in table {
        assert_eq!(ask_of(&policy, name), expected, "{name}");
    }
}

/// Where nothing permits unattended, the permits that need attendance say how to ask.
#[test]
fn permits_that_need_attendance_ask() {
    let policy = policy(&[
        r#"@id("attended") @quorum("3") @approver("boss")
           permit (principal, action in Action::"call", resource) when { resource.attended };"#,
        r#"@id("own") permit (principal, action == Action::"db.put", resource);"#,
        &rule(
            "money",
            "@quorum(\"2\")",
            "resource.tags.contains(\"money\") || resource.tags.contains(\"email\")",
        ),
        r#"@id("queue") permit (principal, action == Action::"mail.queue", resource);"#,
    ]);
    let table = [
        // Nothing but the attended permit.
        ("db.drop", "attended | 3 of boss in None, Fail"),
        // A forbid asks, and nothing permits unattended either: both.
        ("bank.pay", "attended money | 3 of boss in None, Fail"),
        // A forbid asks, and something permits unattended: the forbid alone.
        ("mail.queue", "money | 2 of  in None, Fail"),
    ];
    for (name, expected) in table {
        assert_eq!(ask_of(&policy, name), expected, "{name}");
    }
    assert_eq!(line(&Case::call("db.put").decide(&policy)), "permit by own");
}

#[test]
fn both_decisions_must_allow() {
    let policy = policy(&[
        r#"@id("alone") permit (principal, action == Action::"db.put", resource)
           when { !resource.attended };"#,
        r#"@id("all") permit (principal, action == Action::"db.look", resource);
           @id("never") forbid (principal, action == Action::"db.look", resource)
           when { resource.attended };"#,
    ]);
    assert_eq!(line(&Case::call("db.put").decide(&policy)), "forbid");
    assert_eq!(
        line(&Case::call("db.look").decide(&policy)),
        "forbid by never"
    );
}

/// An agent is in the groups of the person it acts for, and can be told from them.
#[test]
fn principals_and_groups() {
    let policy = policy(&[
        r#"@id("oncall") permit (principal in Group::"oncall", action in Action::"call", resource);
           @id("bo") permit (principal in User::"bo", action in Action::"call", resource);
           @id("no-agent")
           forbid (principal is Agent, action in Action::"server:bank", resource);"#,
    ]);
    let table = [
        ("ada", PrincipalKind::User, "db.put", "permit by oncall"),
        ("ada", PrincipalKind::Agent, "db.put", "permit by oncall"),
        ("bo", PrincipalKind::User, "db.put", "permit by bo"),
        ("bo", PrincipalKind::Agent, "db.put", "permit by bo"),
        ("bo", PrincipalKind::Agent, "bank.pay", "forbid by no-agent"),
        ("bo", PrincipalKind::User, "bank.pay", "permit by bo"),
        ("eve", PrincipalKind::User, "db.put", "forbid"),
    ];
    for (id, kind, name, expected) in table {
        let principal = Principal {
            kind,
            ..people().principal(id)
        };
        let case = Case {
            principal,
            ..Case::call(name)
        };
        assert_eq!(
            line(&case.decide(&policy)),
            expected,
            "{id} {kind:?} {name}"
        );
    }
}
