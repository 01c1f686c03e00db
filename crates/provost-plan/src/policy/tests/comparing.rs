//! Cases of a policy, read and compared.

use super::*;

fn judged(cases: &str) -> Vec<String> {
    let text = format!("schema: provost/policy-test/v1\ncases:\n{cases}");
    let source = Source::new("cases.yaml", text);
    let policy = policy(&[DEFAULT_POLICY, TWO, BO_PAGES_NOBODY]);
    match Cases::read(&source, &catalog(), &people()) {
        Ok(cases) => cases
            .judge(&policy, &catalog())
            .into_iter()
            .map(|case| match case.passed() {
                true => format!("{}: {}", case.name, case.given.word()),
                false => format!("{}: {}", case.name, case.differs.join("; ")),
            })
            .collect(),
        Err(found) => found
            .into_iter()
            .map(|f| format!("{} {}", f.code, f.message))
            .collect(),
    }
}

const TWO: &str = r#"@id("large") @quorum("2") @approver("finance")
forbid (principal, action == Action::"bank.pay", resource)
when { !resource.attended && context.args has amount && context.args.amount > 500 };"#;

const BO_PAGES_NOBODY: &str = r#"@id("bo-pages-nobody")
forbid (principal == User::"bo", action == Action::"approve", resource)
when { resource.operation == "pager.notify" };"#;

#[test]
fn what_policy_says_is_compared_with_what_was_expected() {
    let table = [
        ("{ name: a, call: db.look, expect: permit }", "a: permit"),
        (
            "{ name: a, call: db.look, expect: ask }",
            "a: expected ask, got permit",
        ),
        (
            "{ name: a, call: db.put, args: { to: x }, labels: { to: data }, expect: ask, because: [untrusted-sink] }",
            "a: ask",
        ),
        (
            "{ name: a, call: db.put, args: { to: x }, expect: permit, because: [money] }",
            "a: not because of money",
        ),
        (
            "{ name: a, call: db.put, control: text, expect: ask }",
            "a: ask",
        ),
        (
            "{ name: a, call: pager.notify, validated: false, expect: forbid }",
            "a: forbid",
        ),
        (
            "{ name: a, call: bank.pay, args: { amount: 900 }, expect: ask, quorum: 2, approvers: [finance] }",
            "a: ask",
        ),
        (
            "{ name: a, call: bank.pay, args: { amount: 9 }, expect: ask, quorum: 2, approvers: [finance] }",
            "a: 1 must say yes, not 2; anybody who may approve approves",
        ),
        (
            "{ name: a, by: bo, approve: bank.pay, requester: ada, expect: permit }",
            "a: permit",
        ),
        (
            "{ name: a, by: ada, approve: bank.pay, requester: ada, expect: permit }",
            "a: expected permit, got forbid",
        ),
        (
            "{ name: a, by: bo, agent: true, approve: bank.pay, requester: ada, expect: forbid }",
            "a: forbid",
        ),
        (
            "{ name: a, by: bo, approve: bank.pay, expect: permit, because: [others-approve] }",
            "a: permit",
        ),
        (
            "{ name: a, by: bo, approve: bank.pay, expect: permit, because: [money] }",
            "a: not because of money",
        ),
        (
            "{ name: a, by: bo, approve: pager.notify, expect: forbid, because: [bo-pages-nobody] }",
            "a: forbid",
        ),
        (
            "{ name: a, by: ada, approve: bank.pay, requester: ada, expect: forbid, because: [bo-pages-nobody] }",
            "a: not because of bo-pages-nobody",
        ),
    ];
    for (case, expected) in table {
        assert_eq!(judged(&format!("  - {case}\n")), [expected], "{case}");
    }
}

#[test]
fn a_case_that_could_not_happen_is_a_finding() {
    let table = [
        (
            "{ name: a, call: db.lok, expect: permit }",
            "R101 no tool is called `db.lok`",
        ),
        (
            "{ name: a, call: db.look, args: { too: x }, expect: permit }",
            "T203 `db.look` takes no argument `too`",
        ),
        (
            "{ name: a, call: db.look, args: { amount: x }, expect: permit }",
            "T201 `amount`: value is not of type \"integer\"",
        ),
        (
            "{ name: a, call: db.look, labels: { to: text }, expect: permit }",
            "T203 the case gives no argument `to`",
        ),
        (
            "{ name: a, call: db.look, args: { to: x }, labels: { to: bad }, expect: permit }",
            "P006 `label` must be one of `trusted`, `data`, `text`",
        ),
        (
            "{ name: a, call: db.look, expects: permit }",
            "P005 a case needs the field `expect`",
        ),
        (
            "{ call: db.look, expect: permit }",
            "P005 a case needs the field `name`",
        ),
        (
            "{ name: a, by: boo, approve: bank.pay, expect: forbid }",
            "W802 `by` names `boo`, who is not listed",
        ),
        (
            "{ name: a, by: eve, may: see, expect: forbid }",
            "W802 `by` names `eve`, who is not listed",
        ),
        (
            "{ name: a, by: bo, may: amend, requester: adda, expect: forbid }",
            "W802 `requester` names `adda`, who is not listed",
        ),
        (
            "{ name: a, by: bo, may: resume, stopped_by: adda, expect: forbid }",
            "W802 `stopped_by` names `adda`, who is not listed",
        ),
        (
            "{ name: a, by: bo, may: answer, of: financ, expect: forbid }",
            "W802 `of` names `financ`, who is not listed",
        ),
        (
            "{ name: a, by: bo, approve: bank.pay, approvers: [financ], expect: forbid }",
            "W802 `approvers` names `financ`, a group that nobody is in",
        ),
        (
            "{ name: a, by: ada, may: see, own: true, requester: ada, expect: permit }",
            "P006 `own: true` says who asked for the run, and `requester` says so again",
        ),
    ];
    for (case, expected) in table {
        let found = judged(&format!("  - {case}\n"));
        assert!(found.contains(&expected.to_owned()), "{case}: {found:?}");
    }
}

/// Who is meant not to be listed is said, and nobody who is listed is a stranger.
#[test]
fn a_stranger_is_named_as_one() {
    let read = |strangers: &str, by: &str| {
        let text = format!(
            "schema: provost/policy-test/v1\n{strangers}cases:\n\
             - {{ name: a, by: {by}, approve: bank.pay, requester: ada, expect: forbid }}\n"
        );
        let found = Cases::read(&Source::new("cases.yaml", text), &catalog(), &people());
        found.map(|_| ()).map_err(|found| {
            let said = found.into_iter().map(|one| one.message);
            said.collect::<Vec<_>>().join("; ")
        })
    };
    assert_eq!(read("strangers: [eve]\n", "eve"), Ok(()));
    let listed = read("strangers: [bo]\n", "bo").unwrap_err();
    assert!(listed.contains("`bo` is listed"), "{listed}");
    assert!(read("strangers: [eve]\n", "evee").is_err());
    // Control: while nobody is listed, any name will do.
    let nobody = People::default();
    let text = "schema: provost/policy-test/v1\ncases:\n\
                - { name: a, by: me, call: db.look, expect: permit }\n";
    assert!(Cases::read(&Source::new("cases.yaml", text), &catalog(), &nobody).is_ok());
}
