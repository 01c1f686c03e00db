use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn tools_are_listed_and_shown() {
    let place = Workplace::new();
    let list = place.run(&["tools", "list"]).exits(0);
    let names: Vec<&str> = list
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["notes.read", "notes.write", "shop.orders"]);
    assert_snapshot!(place.run(&["tools", "show", "shop.orders"]), @r#"
    exit 0
    --- stdout
    shop.orders: runs the operator's query `shop.orders`
      effect     read, low risk
      retry      safe: it only reads
      breaker    closed; 5 failures of `shop` in a row open it for 30.0 s
      output     untrusted
      one call   up to 30s and 1048576 bytes
      digest     sha256:DIGEST
      input
        {
          "type": "object",
          "required": [
            "customer"
          ],
          "additionalProperties": false,
          "properties": {
            "customer": {
              "type": "string"
            }
          }
        }
      result
        {
          "type": "object",
          "required": [
            "row"
          ],
          "properties": {
            "row": {
              "type": "object",
              "required": [
                "total",
                "latest"
              ],
              "properties": {
                "total": {
                  "type": "integer"
                },
                "latest": {
                  "type": "string"
                }
              }
            }
          }
        }
    "#);
    assert_snapshot!(place.run(&["tools", "show", "shop.order"]), @r"
    exit 2
    --- stderr
    error: there is no tool `shop.order`

    hint: did you mean `shop.orders`?
    ");
    assert!(!place.path(".provost").exists());
}

#[test]
fn a_tool_that_differs_from_the_lock_is_not_called() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["tools", "lock"]), @r"
    exit 0
    --- stderr
    pinned 3 tools in DIR/provost.lock
    ");
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.edit(
        "provost.toml",
        "op = \"read\"",
        "op = \"read\"\ntimeout = \"9s\"",
    );
    assert_snapshot!(place.run(&["run", "Count the orders of ada"]), @r"
    exit 2
    --- stderr
    error[W806]: the tool `notes.read` differs from provost.lock: changed in timeout_ms
      --> provost.toml:18:1
       |
    18 | [tools.notes]
       | ^^^^^^^^^^^^^
       |
       = hint: check the change; locking the tools again accepts it

    error: the workspace cannot be used: one finding in provost.toml

    hint: `provost tools diff` shows the change, `provost tools lock` accepts it; `provost explain W806` tells more
    ");
    place.run(&["tools", "lock"]).exits(0);
    place.run(&["run", "Count the orders of ada"]).exits(0);
}

/// Who is told to accept a folder that is not there, accepts a slip. The control is a change of a
/// tool that works: see above.
#[test]
fn a_tool_that_cannot_work_is_told_before_its_change_is_to_be_accepted() {
    let place = Workplace::new();
    place.run(&["tools", "lock"]).exits(0);
    place.edit("provost.toml", "root = \"notes\"", "root = \"nots\"");
    let ran = place.run(&["run", "Note the orders of ada"]).exits(2);
    let said = "hint: first of all, the tool cannot work: the folder `nots` of the tool `notes` is not there";
    assert!(ran.stderr.contains(said), "{ran}");
    let ran = place.run(&["tools", "lock"]).exits(0);
    let said =
        "warning: the tool `notes` cannot work: the folder `nots` of the tool `notes` is not there";
    assert!(ran.stderr.contains(said), "{ran}");
    place.edit("provost.toml", "root = \"nots\"", "root = \"notes\"");
    let ran = place.run(&["tools", "lock"]).exits(0);
    assert!(!ran.stderr.contains("warning"), "{ran}");
}
