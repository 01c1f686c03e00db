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
    here/notes/welcome.md
    here/playbooks/find.yaml
    here/policies/default.cedar
    here/policies/statements.cedar
    here/policies/solo.cedar
    here/policies/entities.json
    here/provost.toml
    --- stderr
    the workspace is solo: the requester may also approve (policies/solo.cedar)
    try it: provost -C here run "Find welcome in my notes"
    "#);
    let goal = ran.raw_stderr.split('"').nth(1).unwrap();
    place.run(&["-C", "here", "run", goal]).exits(0);
    place.run(&["-C", "here", "doctor"]).exits(0);
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
