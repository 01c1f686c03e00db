//! Who may say yes.

use super::*;

fn asked(policy: &Policy, approver: &Principal, operation: Option<&str>, ask: &AskTerms) -> String {
    let operation = operation.map(self::operation);
    let requester = people().principal("ada");
    match policy.may_approve(approver, &requester, operation.as_ref(), ask) {
        Ok(()) => "yes".to_owned(),
        Err(denied) => denied.to_string(),
    }
}

fn load_files(texts: &[(&str, &str)], people: &People) -> Policy {
    let sources: Vec<Source> = texts
        .iter()
        .map(|(name, text)| Source::new(*name, *text))
        .collect();
    Policy::load(&catalog(), &sources, people).unwrap()
}

#[test]
fn the_requester_may_not_and_others_may() {
    let policy = policy(&[DEFAULT_POLICY]);
    assert!(!policy.is_solo());
    let table = [
        (
            "ada",
            "",
            "`ada` requested this run, and another person must approve it",
        ),
        ("bo", "", "yes"),
        ("bo", "finance", "yes"),
        (
            "bo",
            "oncall finance",
            "this needs a person in `oncall`, and `bo` is not",
        ),
        ("eve", "", "`eve` is not listed in policies/entities.json"),
    ];
    for (id, roles, expected) in table {
        let approvers = roles.split_whitespace().map(str::to_owned).collect();
        let ask = AskTerms {
            approvers,
            ..AskTerms::default()
        };
        for operation in [None, Some("bank.wire external money")] {
            let found = asked(&policy, &people().principal(id), operation, &ask);
            assert_eq!(found, expected, "{id} {roles} {operation:?}");
        }
    }
    let agent = Principal {
        kind: PrincipalKind::Agent,
        ..people().principal("bo")
    };
    let found = asked(&policy, &agent, None, &AskTerms::default());
    assert_eq!(found, "`bo` is an agent, and only people approve");
}

/// In a solo workspace the requester may, listed or not; a role must still be held.
#[test]
fn a_solo_workspace_says_so() {
    let files = [
        ("policies/default.cedar", DEFAULT_POLICY),
        ("policies/solo.cedar", SOLO_POLICY),
    ];
    let policy = load_files(&files, &People::default());
    assert!(policy.is_solo());
    let ada = People::default().principal("ada");
    assert_eq!(asked(&policy, &ada, None, &AskTerms::default()), "yes");
    let ask = AskTerms {
        approvers: ["boss".to_owned()].into(),
        ..AskTerms::default()
    };
    let found = asked(&policy, &ada, None, &ask);
    assert_eq!(found, "this needs a person in `boss`, and `ada` is not");
}

/// No policy file lifts the rules that are ours: only a file called `solo.cedar` makes it solo.
#[test]
fn permission_to_oneself_needs_the_solo_file() {
    let all = r#"@id("anybody") permit (principal, action == Action::"approve", resource);"#;
    let ada = people().principal("ada");
    let other = load_files(&[("policies/mine.cedar", all)], &people());
    let found = asked(&other, &ada, None, &AskTerms::default());
    assert_eq!(
        found,
        "`ada` requested this run, and another person must approve it"
    );
    // The control: the same text in the file of that name.
    let named = load_files(&[("policies/solo.cedar", all)], &people());
    assert_eq!(asked(&named, &ada, None, &AskTerms::default()), "yes");
    // And the file without the text.
    let empty = load_files(&[("policies/solo.cedar", "")], &people());
    let found = asked(&empty, &ada, None, &AskTerms::default());
    assert_eq!(found, "policy does not let `ada` approve this");
}

/// Policies decide by the operation, by groups and by how many are asked.
#[test]
fn policies_narrow_who_approves() {
    let narrower = r#"
        @id("money-by-finance") forbid (principal, action == Action::"approve", resource)
        when { resource.tags.contains("money") && !(principal in Group::"finance") };
        @id("critical-by-two") forbid (principal, action == Action::"approve", resource)
        when { resource.risk == "critical" && resource.quorum < 2 };"#;
    let listed = r#"{"users": {"bo": {"roles": ["finance"]}, "cy": {}}}"#;
    let people = People::read(&Source::new("entities.json", listed)).unwrap();
    let policy = load_files(
        &[("p.cedar", DEFAULT_POLICY), ("q.cedar", narrower)],
        &people,
    );
    let two = AskTerms {
        quorum: 2,
        ..AskTerms::default()
    };
    let one = AskTerms::default();
    let table = [
        ("bo", "bank.pay write money", &one, "yes"),
        (
            "cy",
            "bank.pay write money",
            &one,
            "policy does not let `cy` approve this (money-by-finance)",
        ),
        ("cy", "db.put write", &one, "yes"),
        (
            "bo",
            "bank.wire external money",
            &one,
            "policy does not let `bo` approve this (critical-by-two)",
        ),
        ("bo", "bank.wire external money", &two, "yes"),
    ];
    for (id, operation, ask, expected) in table {
        let found = asked(&policy, &people.principal(id), Some(operation), ask);
        assert_eq!(found, expected, "{id} {operation}");
    }
}

/// An error in the decision is a no, although Cedar would answer yes.
#[test]
fn an_error_denies() {
    let policy = policy(&[
        DEFAULT_POLICY,
        r#"@id("errs") forbid (principal, action == Action::"approve", resource)
           when { resource.quorum * 9223372036854775807 > 3 };"#,
    ]);
    let bo = people().principal("bo");
    assert_eq!(
        asked(
            &policy,
            &bo,
            None,
            &AskTerms {
                quorum: 1,
                ..AskTerms::default()
            }
        ),
        "policy does not let `bo` approve this (errs)"
    );
    let found = asked(
        &policy,
        &bo,
        None,
        &AskTerms {
            quorum: 2,
            ..AskTerms::default()
        },
    );
    assert!(
        found.starts_with("policy could not be asked whether `bo` may approve: "),
        "{found}"
    );
}
