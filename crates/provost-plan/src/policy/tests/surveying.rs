//! What a policy comes to over all tools.

use super::*;
use crate::diagnostic::Diagnostic;

fn findings(texts: &[&str]) -> Vec<String> {
    let policy = policy(texts);
    let survey = policy.survey(&people().principal("ada"));
    let line = |(source, found): &(Source, Diagnostic)| {
        let marked = source.text.get(found.span.start..found.span.end);
        format!(
            "{} `{}` {}{}",
            found.code,
            marked.unwrap_or("?"),
            found.message,
            found
                .hint
                .iter()
                .map(|h| format!(" [{h}]"))
                .collect::<String>()
        )
    };
    survey.findings.iter().map(line).collect()
}

const ALL: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

#[test]
fn the_default_policy_has_no_finding_here_and_one_idle_rule() {
    let policy = policy(&[DEFAULT_POLICY]);
    let survey = policy.survey(&people().principal("ada"));
    assert!(survey.findings.is_empty(), "{:?}", survey.findings);
    // No operation here bears its tag.
    assert_eq!(survey.idle, ["compliance"]);
    let verdict = |name: &str| {
        let all = &survey.operations;
        let outlook = all.iter().find(|o| o.operation == name).unwrap();
        (outlook.trusted.decision, outlook.untrusted.decision)
    };
    assert_eq!(verdict("db.look"), (Decision::Permit, Decision::Permit));
    assert_eq!(verdict("bank.pay"), (Decision::Ask, Decision::Ask));
}

#[test]
fn a_rule_for_a_tag_that_no_tool_bears_yet_is_idle_and_no_mistake() {
    let text = r#"@id("later")
        forbid (principal, action == Action::"db.put", resource)
        when { !resource.attended && resource.tags.contains("deploy") };"#;
    let policy = policy(&[ALL, text]);
    let survey = policy.survey(&people().principal("ada"));
    assert!(survey.findings.is_empty(), "{:?}", survey.findings);
    assert_eq!(survey.idle, ["later"]);
}

#[test]
fn rules_that_contradict_themselves_are_named() {
    let table = [
        r#"resource.effect == "read" && resource.effect == "write""#,
        r#"resource.attended && !resource.attended"#,
        r#"resource.untrusted_sink && resource.sink_integrity == "trusted""#,
        r#"resource.effect == "read" && resource.risk == "critical""#,
    ];
    for when in table {
        let text = format!(
            "@id(\"never\") forbid (principal, action in Action::\"call\", resource) \
             when {{ {when} }};"
        );
        let found = findings(&[ALL, &text]);
        assert_eq!(
            found,
            [
                "W807 `\"never\"` policy `never` can never apply [no call meets all its conditions: \
              one of them contradicts another]"
            ],
            "{when}"
        );
    }
}

#[test]
fn rules_that_hang_on_arguments_or_people_are_not_called_impossible() {
    let table = [
        r#"context.args has amount && context.args.amount > 500"#,
        r#"context.hosts.contains("example.org")"#,
        r#"principal in Group::"finance""#,
        r#"resource.secret_args && resource.untrusted_control"#,
        r#"principal is Agent && resource.effect == "external""#,
    ];
    for when in table {
        let text = format!(
            "@id(\"sometimes\") forbid (principal, action in Action::\"call\", resource) \
             when {{ {when} }};"
        );
        assert_eq!(findings(&[ALL, &text]), Vec::<String>::new(), "{when}");
    }
}

#[test]
fn tools_that_nothing_permits_are_named() {
    let text = r#"@id("some") permit (principal, action in Action::"call", resource)
        when { resource.effect != "destructive" && !(resource.effect == "external") };"#;
    let found = findings(&[text]);
    let names: Vec<&str> = found
        .iter()
        .map(|line| line.split('`').nth(3).unwrap())
        .collect();
    assert_eq!(
        names,
        ["bank.wire", "disk.wipe_live", "disk.wipe", "pager.notify"],
        "{found:?}"
    );
    assert!(found.iter().all(|line| line.starts_with("W808")));
}

/// While nobody is listed, no name can be told from a misspelt one: a rule that permits too little
/// because of it is a warning.
#[test]
fn names_of_nothing_are_found_where_they_stand() {
    let text = r#"
@id("live") @approver("oncal")
forbid (principal, action in Action::"call", resource)
when { !resource.attended && resource.tags.contains("production") };
@id("chef")
permit (principal == User::"eve", action in Action::"call", resource);
"#;
    let sources = [ALL, text].map(|text| Source::new("p.cedar", text));
    let policy = Policy::load(&catalog(), &sources, &People::default()).unwrap();
    let found = policy.survey(&people().principal("ada")).findings;
    let found: Vec<&str> = found.iter().map(|(_, f)| f.message.as_str()).collect();
    assert_eq!(
        found,
        [
            "policy `live` names the group that nobody is in, `oncal`",
            "policy `chef` names somebody who is not listed, `eve`",
        ]
    );
}

/// Who is in a group, who is listed, which tools there are: a rule that names something else is
/// refused wherever policies load, whatever it permits or forbids.
#[test]
fn a_misspelt_name_does_not_load_in_any_policy() {
    let call =
        |rest: &str| format!("permit (principal, action in Action::\"call\", resource){rest};");
    let approve = |when: &str| {
        format!("permit (principal, action == Action::\"approve\", resource) when {{ {when} }};")
    };
    let table = [
        (
            call(r#" when { principal in Group::"finanec" }"#),
            "finanec",
            "`finance`",
        ),
        (
            r#"permit (principal in Group::"oncal", action in Action::"call", resource);"#
                .to_owned(),
            "oncal\"",
            "`oncall`",
        ),
        (
            call(r#" when { principal == User::"adda" }"#),
            "adda",
            "`ada`",
        ),
        (
            r#"@approver("finanec") forbid (principal, action in Action::"call", resource)
               when { !resource.attended };"#
                .to_owned(),
            "finanec",
            "`finance`",
        ),
        (
            approve(r#"principal in Group::"oncal""#),
            "oncal\"",
            "`oncall`",
        ),
        (
            approve(r#"resource.operation == "bank.pya""#),
            "bank.pya",
            "`bank.pay`",
        ),
        (
            approve(r#"["db.put", "bank.pya"].contains(resource.operation)"#),
            "bank.pya",
            "`bank.pay`",
        ),
        (approve(r#"resource.operation like "bnk.*""#), "bnk", ""),
        (
            r#"permit (principal, action == Action::"bank.pya", resource);"#.to_owned(),
            "bank.pya",
            r#"`Action::"bank.pay"`"#,
        ),
        (
            r#"forbid (principal, action in Action::"server:bnak", resource);"#.to_owned(),
            "bnak",
            r#"`Action::"server:bank"`"#,
        ),
        (
            call(r#" unless { context.sinks.contains("to") }"#),
            "\"to\"",
            "`context.args.to`",
        ),
    ];
    let right = [
        ("finanec", "finance"),
        ("oncal\"", "oncall\""),
        ("adda", "ada"),
        ("bank.pya", "bank.pay"),
        ("bnk", "bank"),
        ("bnak", "bank"),
        ("\"to\"", "\"ada@example.org\""),
    ];
    for (text, wrong, near) in table {
        let refused = load(&[ALL, &text]).map(|_| ()).unwrap_err().join("\n");
        assert!(
            refused.contains("W802") && refused.contains(near),
            "{text}: {refused}"
        );
        let (_, meant) = right.iter().find(|(other, _)| *other == wrong).unwrap();
        // The control: the name that is meant loads.
        policy(&[ALL, &text.replace(wrong, meant)]);
    }
}

/// What is called like a fact of the call, and is an argument of it, is no name.
#[test]
fn an_argument_that_is_called_role_or_operation_may_be_anything() {
    let schema = serde_json::json!({
        "type": "object", "required": ["role", "operation"],
        "properties": { "role": { "type": "string" }, "operation": { "type": "string" } },
    });
    let tool = Operation {
        input: JsonSchema::compile(schema).unwrap(),
        ..operation("iam.set write")
    };
    let text = r#"forbid (principal, action == Action::"iam.set", resource)
        when { context.args.role == "admin" && context.args.operation like "drop*" };"#;
    let source = Source::new("p.cedar", text);
    assert!(Policy::load(&Catalog::new([tool]), &[source], &people()).is_ok());
}

/// The values that a closed sink can have are known, and so is one that it cannot have.
#[test]
fn a_value_that_no_sink_has_is_refused() {
    let schema = serde_json::json!({
        "type": "object", "properties": { "room": { "enum": ["north", "south"] } },
    });
    let tool = Operation {
        input: JsonSchema::compile(schema).unwrap(),
        ..operation("hall.open write")
    };
    let catalog = Catalog::new([tool]);
    let load = |text: &str| {
        let text = format!(
            "forbid (principal, action in Action::\"call\", resource) \
             when {{ context.sinks.contains(\"{text}\") }};"
        );
        let loaded = Policy::load(&catalog, &[Source::new("p.cedar", text)], &people());
        loaded.map_err(|found| {
            let (_, first) = found.first().unwrap();
            format!(
                "{} [{}]",
                first.message,
                first.hint.as_deref().unwrap_or_default()
            )
        })
    };
    assert_eq!(
        load("nroth").unwrap_err(),
        "policy `p.cedar#1` looks for `nroth` among `context.sinks`, where it never is [did you \
         mean `north`?]"
    );
    assert!(load("north").is_ok());
    // The control: while no tool has a sink, nothing is known of those to come.
    let text = r#"forbid (principal, action in Action::"call", resource)
        when { context.sinks.contains("nroth") };"#;
    let reads = Catalog::new([operation("db.look read")]);
    assert!(Policy::load(&reads, &[Source::new("p.cedar", text)], &people()).is_ok());
}

/// A rule that guards nothing because of a misspelt name is refused wherever policies load.
#[test]
fn a_misspelt_name_that_takes_a_guard_away_does_not_load() {
    let forbid = |when: &str| {
        format!("forbid (principal, action in Action::\"call\", resource) when {{ {when} }};")
    };
    let table = [
        (
            forbid(r#"!resource.attended && resource.tags.contains("prodution")"#),
            "`production`",
        ),
        (
            forbid(r#"resource.tags.containsAny(["money", "emial"])"#),
            "`email`",
        ),
        (forbid(r#"principal in Group::"finanec""#), "`finance`"),
        (forbid(r#"principal == User::"adda""#), "`ada`"),
        (
            r#"forbid (principal in Group::"oncal", action in Action::"call", resource);"#
                .to_owned(),
            "`oncall`",
        ),
        (
            r#"permit (principal, action in Action::"call", resource)
               unless { principal in Group::"finanec" };"#
                .to_owned(),
            "`finance`",
        ),
        (
            r#"permit (principal, action in Action::"call", resource)
               when { !resource.tags.contains("prodution") };"#
                .to_owned(),
            "`production`",
        ),
    ];
    for (text, near) in table {
        let refused = load(&[ALL, &text]).map(|_| ()).unwrap_err().join("\n");
        assert!(
            refused.contains("W802") && refused.contains(near),
            "{text}: {refused}"
        );
        // The control: the name that is meant loads.
        let meant = ["prodution", "emial", "finanec", "adda", "oncal\""]
            .iter()
            .zip(["production", "email", "finance", "ada", "oncall\""])
            .fold(text, |text, (wrong, right)| text.replace(wrong, right));
        policy(&[ALL, &meant]);
    }
}

#[test]
fn a_group_that_is_declared_may_be_empty_and_a_tag_may_be_ones_own() {
    let text = r#"forbid (principal, action in Action::"call", resource)
        when { principal in Group::"guests" && resource.tags.contains("books") };"#;
    let sources = [Source::new("p.cedar", text)];
    let load = |catalog: &Catalog, people: &str| {
        let people = People::read(&Source::new("entities.json", people)).unwrap();
        Policy::load(catalog, &sources, &people).map_err(|found| found.len())
    };
    let catalog = catalog();
    let tags = crate::catalog::Tags::declared([("books".to_owned(), Span::default())]);
    let tagged = catalog.clone().with_tags(tags);
    let declared = r#"{"users": {"ada": {}}, "groups": ["guests"]}"#;
    assert!(load(&tagged, declared).is_ok());
    // The controls: each declaration is needed.
    assert_eq!(load(&catalog, declared).map(|_| ()).unwrap_err(), 1);
    assert_eq!(
        load(&tagged, r#"{"users": {"ada": {}}}"#)
            .map(|_| ())
            .unwrap_err(),
        1
    );
}

#[test]
fn tags_that_no_policy_looks_at_are_known() {
    let tags = ["books", "seen"].map(|tag| (tag.to_owned(), Span::default()));
    let catalog = Catalog::new(["a.b write books money", "a.c write email"].map(operation))
        .with_tags(crate::catalog::Tags::declared(tags));
    let unseen = |when: &str| {
        let text = format!("permit (principal, action, resource) when {{ {when} }};");
        let policy = Policy::load(&catalog, &[Source::new("p.cedar", text)], &people()).unwrap();
        let unseen: Vec<String> = policy
            .unseen_tags()
            .into_iter()
            .map(str::to_owned)
            .collect();
        unseen.join(" ")
    };
    assert_eq!(
        unseen(r#"resource.effect == "read""#),
        "books email money seen"
    );
    assert_eq!(
        unseen(r#"resource.tags.contains("books")"#),
        "email money seen"
    );
    let risk = r#"resource.effect == "read" && resource.risk == "low""#;
    assert_eq!(unseen(risk), "books email seen");
    assert_eq!(unseen("resource.tags.isEmpty()"), "");
}

#[test]
fn a_value_that_no_schema_has_is_refused_at_once() {
    let schema = serde_json::json!({
        "type": "object",
        "properties": { "status": { "enum": ["open", "closed"] }, "note": { "type": "string" } },
    });
    let tool = Operation {
        input: JsonSchema::compile(schema).unwrap(),
        ..operation("desk.set write")
    };
    let catalog = Catalog::new([tool]);
    let load = |when: &str| {
        let text = format!(
            "permit (principal, action == Action::\"desk.set\", resource) when {{ {when} }};"
        );
        let source = Source::new("p.cedar", text);
        Policy::load(&catalog, &[source], &people()).map_err(|found| {
            let (_, first) = found.first().unwrap();
            first.message.clone()
        })
    };
    let wrong = load(r#"context.args has status && context.args.status == "opne""#);
    assert_eq!(
        wrong.unwrap_err(),
        "policy `p.cedar#1` compares the argument `status` with `opne`, which it never is"
    );
    for right in [
        r#"context.args has status && context.args.status == "open""#,
        r#"context.args has note && ["anything", "else"].contains(context.args.note)"#,
    ] {
        assert!(load(right).is_ok(), "{right}");
    }
}
