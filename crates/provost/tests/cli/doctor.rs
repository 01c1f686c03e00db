use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_fit_workspace_is_said_to_be_fit() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["doctor"]), @r"
    exit 0
    --- stdout
    ok  workspace  DIR: 3 tools, 3 playbooks
    ok  policy     loads; solo: `ada` may request and approve
    ok  lock       there is no provost.lock: tools are not pinned
    ok  tools      all are usable
    ok  journal    nothing has run here yet
    ok  pauses     nothing is paused

    not checked:
      whether tools changed: there is no provost.lock
      whether a journal can be written: there is none yet
      whether the tools do what they declare
      whether servers of `http` tools answer: nothing is called
    ");
    assert!(!place.path(".provost").exists());
}

#[test]
fn what_is_not_fit_is_named() {
    let place = Workplace::new();
    place.run(&["tools", "lock"]).exits(0);
    place.edit(
        "provost.toml",
        "op = \"read\"",
        "op = \"read\"\ntimeout = \"9s\"",
    );
    std::fs::remove_file(place.path("data/shop.db")).unwrap();
    assert_snapshot!(place.run(&["doctor"]), @r"
    exit 2
    --- stdout
    ok      workspace  DIR: 3 tools, 3 playbooks
    ok      policy     loads; solo: `ada` may request and approve
    not ok  lock       `notes.read` changed
    not ok  tools      `shop`: the database `data/shop.db` of the tool `shop` is not there; create it, or correct `database` in provost.toml
    ok      journal    nothing has run here yet
    ok      pauses     nothing is paused

    hint: check the change; `provost tools lock` accepts it

    hint: a plan that needs it is not run until then

    not checked:
      whether a journal can be written: there is none yet
      whether the tools do what they declare
      whether servers of `http` tools answer: nothing is called
    ");
}
