//! Policies that must not load, each with the line its author reads.

use super::*;

fn refused(text: &str) -> String {
    match load(&[text]) {
        Ok(_) => "loads".to_owned(),
        Err(lines) => lines.join("\n"),
    }
}

#[test]
fn typos_are_refused_with_a_readable_line() {
    let call = |head: &str, when: &str| {
        format!(
            "@id(\"p\") {head} (principal, action in Action::\"call\", resource) when {{ {when} }};"
        )
    };
    let lines: Vec<String> = [
        call("permit", "context.cost > 3"),
        call("permit", "resource.efect == \"read\""),
        call("permit", "resource.effect == \"raed\""),
        call("permit", "[\"read\", \"wirte\"].contains(resource.effect)"),
        call("forbid", "resource.risk != \"hihg\""),
        call(
            "forbid",
            "context.args has amuont && context.args.amuont > 3",
        ),
        call("forbid", "context has arguments"),
        call("forbid", "resource has attendet"),
        call("forbid", "principal has name"),
        call(
            "forbid",
            "context.args has order.lines && context.args.order.lines > 3",
        ),
        call(
            "forbid",
            "context.args has order.line && context.args.order.line > 3",
        ),
        call("forbid", "context.args.amount > 3"),
        call(
            "forbid",
            "context.args has amount && context.args.amount > \"3\"",
        ),
        call("forbid", "context.args has free"),
        call("forbid", "!resource.attended && false"),
        call("@qourum(\"2\") forbid", "!resource.attended"),
        call("@quorum(\"0\") forbid", "!resource.attended"),
        call("@expires(\"soon\") forbid", "!resource.attended"),
        call("@on_expiry(\"stop\") forbid", "!resource.attended"),
        call("@approver(\" \") forbid", "!resource.attended"),
        call("@quorum(\"2\") forbid", "resource.untrusted_sink"),
        "@id(\"p\") permit (principal, action == Action::\"db.lok\", resource);".to_owned(),
        "@id(\"p\") permit (principal, action in Action::\"server:dbs\", resource);".to_owned(),
        "@id(\"p\") permit (principal is Usr, action in Action::\"call\", resource);".to_owned(),
        "@id(\"p\") permit (principal, action in Action::\"call\", resource)".to_owned(),
        "@id(\"p\") permit (principal == ?principal, action, resource);".to_owned(),
        "@id(\"p\") permit (principal, action, resource);\n\
         @id(\"p\") permit (principal, action, resource);"
            .to_owned(),
        "@id(\"provost:x\") permit (principal, action, resource);".to_owned(),
        "@id(\"p\") permit (principal is Agent, action == Action::\"approve\", resource);"
            .to_owned(),
    ]
    .iter()
    .map(|text| {
        let found = refused(text).replace('\n', "\n    ");
        format!("{}\n    {found}", text.replace('\n', " "))
    })
    .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

/// What looks unusual and is right.
#[test]
fn these_load() {
    let call = |head: &str, tail: &str| {
        format!("@id(\"a\") {head} (principal, action in Action::\"call\", resource) {tail};")
    };
    let table = [
        "permit (principal, action, resource);".to_owned(),
        r#"@doc("why") permit (principal, action == Action::"db.put", resource);"#.to_owned(),
        r#"permit (principal, action in [Action::"db.put", Action::"server:bank"], resource);"#
            .to_owned(),
        r#"permit (principal in Group::"oncall", action, resource);"#.to_owned(),
        call("@quorum(\"2\") permit", "when { resource.attended }"),
        call("forbid", "unless { context.args has order.id }"),
        call(
            "forbid",
            "when { context.args has price && \
             context.args.price.greaterThan(decimal(\"1.5\")) }",
        ),
        String::new(),
        "// nothing\n".to_owned(),
    ];
    for text in &table {
        assert_eq!(refused(text), "loads", "{text}");
    }
    assert_eq!(
        policy(&["permit (principal, action, resource);"])
            .ids()
            .next(),
        Some("p0.cedar#1")
    );
}

/// The shipped policies load for an empty catalog, alone and together.
#[test]
fn the_shipped_policies_load_without_tools() {
    let files = [
        Source::new("default.cedar", DEFAULT_POLICY),
        Source::new(SOLO_FILE, SOLO_POLICY),
    ];
    let policy = Policy::load(&Catalog::default(), &files, &People::default());
    assert!(policy.is_ok_and(|policy| policy.is_solo()));
}

#[test]
fn an_operation_cannot_take_a_name_of_policy() {
    for name in ["approve", "call", "server:x"] {
        let mut operation = operation("db.put write");
        operation.name = name.to_owned();
        let refused = Policy::load(&Catalog::new([operation]), &[], &People::default());
        let line = refused
            .err()
            .map(|all| all.into_iter().map(|(_, d)| d.message).collect::<String>());
        assert_eq!(
            line,
            Some(format!(
                "no operation can be called `{name}`: policy uses the name"
            ))
        );
    }
}
