use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_new_workspace_works_as_it_is() {
    let place = Workplace::empty();
    let ran = place.run(&["init", "here"]).exits(0);
    assert_snapshot!(ran, @r#"
    exit 0
    --- stdout
    here/.gitignore
    here/policies/default.cedar
    here/policies/statements.cedar
    here/policies/solo.cedar
    here/policies/entities.json
    here/notes/welcome.md
    here/playbooks/find.yaml
    here/provost.toml
    --- stderr
    the workspace is solo: the requester may also approve (policies/solo.cedar)
    try it: provost -C here run "Find welcome in my notes"
    "#);
    let goal = ran.raw_stderr.split('"').nth(1).unwrap();
    place.run(&["-C", "here", "run", goal]).exits(0);
    place.run(&["-C", "here", "doctor"]).exits(0);
}

/// From nothing to an approved write: every command as it is printed.
#[test]
fn an_example_makes_a_write_that_a_person_approves() {
    let place = Workplace::empty();
    let ran = place
        .run(&["init", "shop", "--example", "refunds"])
        .exits(0);
    assert_snapshot!(ran, @r#"
    exit 0
    --- stdout
    shop/.gitignore
    shop/policies/default.cedar
    shop/policies/statements.cedar
    shop/policies/solo.cedar
    shop/policies/entities.json
    shop/data/shop.db
    shop/schemas/payment.json
    shop/schemas/payment_row.json
    shop/schemas/refund.json
    shop/playbooks/refund.yaml
    shop/provost.toml
    --- stderr
    the workspace is solo: the requester may also approve (policies/solo.cedar)
    try it: provost -C shop run "Refund 2000 cents of pay-1"
    "#);
    let goal = ran.raw_stderr.split('"').nth(1).unwrap();
    let asked = place.run(&["-C", "shop", "run", goal]).exits(3);
    let approve = asked.raw_stdout.split("approve: provost ").nth(1).unwrap();
    let words: Vec<&str> = approve.lines().next().unwrap().split(' ').collect();
    let approved = place.run(&words).exits(0);
    let said = "Refunded 2000 cents of pay-1. [1]";
    assert!(approved.raw_stdout.contains(said), "{approved}");
    let refunded = |payment: &str| {
        let shop = rusqlite::Connection::open(place.path("shop/data/shop.db")).unwrap();
        let sql = "select refunded from payments where id = ?1";
        shop.query_row(sql, [payment], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(refunded("pay-1"), 2000);
    // What is given back already asks nobody.
    let ran = place
        .run(&["-C", "shop", "run", "Refund 10 cents of pay-2"])
        .exits(0);
    assert!(ran.raw_stdout.contains("pay-2 holds 0 cents"), "{ran}");
    assert_eq!(refunded("pay-2"), 4000);
    place.run(&["-C", "shop", "doctor"]).exits(0);
    place
        .run(&["-C", "shop", "check", "--deny-warnings"])
        .exits(0);
}

#[test]
fn a_workspace_is_not_made_twice() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["init"]), @r"
    exit 2
    --- stderr
    error: . is a workspace already

    hint: name another directory: `provost init DIR`
    ");
}

#[test]
fn files_count_from_the_directory_that_is_entered() {
    let place = Workplace::new();
    place.write("plan.yaml", super::workplace::PLAN);
    place.write("elsewhere/note", "");
    let code = |args: &[&str], variable: Option<&str>| {
        let mut command = place.command(args);
        command.current_dir(place.path("elsewhere"));
        command.envs(variable.map(|dir| ("PROVOST_DIR", dir)));
        command.output().unwrap().status.code().unwrap()
    };
    assert_eq!(code(&["-C", "..", "check", "plan.yaml"], None), 0);
    // The variable names the workspace, and enters nothing. `-C` goes before it.
    assert_eq!(code(&["check", "../plan.yaml"], Some("..")), 0);
    assert_eq!(code(&["check", "plan.yaml"], Some("..")), 2);
    assert_eq!(code(&["-C", "..", "runs"], Some("nowhere")), 0);
    assert_eq!(code(&["runs"], Some("nowhere")), 2);
    // The control: without either, the file is looked for here.
    assert_eq!(code(&["check", "plan.yaml"], None), 2);
}
