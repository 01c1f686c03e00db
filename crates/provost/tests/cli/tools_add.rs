use insta::assert_snapshot;

use super::scripted::workplace;

#[test]
fn a_server_is_added_with_a_reason_beside_each_guess() {
    let place = workplace();
    let command = [
        "tools", "add", "helper", "--", "./server", "--state", "state",
    ];
    assert_snapshot!(place.run(&command), @"
    exit 0
    --- stderr
    added helper to provost.toml: 25 operations, each with a guess of its effect and the reason
    read them, correct the effects, delete what no plan is to call; then pin them:
      provost tools lock
    ");
    let toml = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let entry = toml.split_once("# scripted 1.0").unwrap().1;
    let until = entry
        .split_once("\ndescription = \"Answers with what is no")
        .unwrap()
        .0;
    assert_snapshot!(until, @r#"
    , as it describes itself. Every effect below
    # is a guess with its reason: the server is not believed, you are. Planners read
    # each `description`: these are the server's words, make them yours.
    [tools.helper]
    kind = "mcp"
    command = ["./server","--state","state"]

    [tools.helper.ops.add]
    description = "Adds two numbers"
    effect = "read"  # a guess: the server says that it only reads

    [tools.helper.ops.append]
    description = "Lets a line take place"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.append_keyed]
    description = "Lets a line take place once a key"
    effect = "write"  # a guess: the server says that it only adds
    # idempotency = "natural"  # the server says so; do you know it too?

    [tools.helper.ops.ask]
    description = "Asks a person first"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.bare]
    description = "Answers against its own schema"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.change]
    description = "Makes another tool another"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.count]
    description = "Counts what took place"
    effect = "read"  # a guess: the server says that it only reads

    [tools.helper.ops.die]
    description = "Lets a line take place and ends without a word"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.die_first]
    description = "Ends at once"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.echo]
    description = "Says it back"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.fail]
    description = "Says that it failed with the words of the line"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.fail_after]
    description = "Lets a line take place and says that it failed"
    effect = "destructive"  # a guess: the server does not say what it does

    [tools.helper.ops.garbage]
    "#);
    // It is read as it was written.
    place.run(&["tools", "lock"]).exits(0);
    place
        .run(&["tools", "call", "helper.add", "a=2", "b=3"])
        .exits(0);
    // What the server did not say is asked about.
    place
        .run(&["tools", "call", "helper.echo", "text=x"])
        .exits(3);
    assert_snapshot!(place.run(&command), @"
    exit 2
    --- stderr
    error: there is a tool `helper` already

    hint: choose another name, or edit it in provost.toml
    ");
}

#[test]
fn servers_are_taken_from_the_file_of_a_client() {
    let place = workplace();
    let file = r#"{ "mcpServers": { "My Server": {
        "command": "./server", "args": ["--state", "state"],
        "env": { "LEVEL": "debug", "API_TOKEN": "hunter2hunter2", "PLACE": "a value with spaces" }
    } } }"#;
    std::fs::write(place.path("mcp.json"), file).unwrap();
    let ran = place
        .command(&["tools", "add", "--from", "mcp.json"])
        .env("API_TOKEN", "hunter2hunter2")
        .env("PLACE", "a value with spaces")
        .output()
        .unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let toml = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let table = toml.split_once("[tools.my_server]").unwrap().1;
    let table = table.split_once("\n\n").unwrap().0;
    assert_snapshot!(table, @r#"
    kind = "mcp"
    command = ["./server","--state","state"]
    env = { API_TOKEN = "env:API_TOKEN", LEVEL = "debug", PLACE = "env:PLACE" }
    "#);
    assert!(!toml.contains("hunter2"));
}

#[test]
fn of_many_servers_those_are_added_that_start() {
    let place = workplace();
    let file = r#"{ "mcpServers": {
        "helper": { "command": "./server", "args": ["--state", "state"] },
        "absent": { "command": "./no-such-server" }
    } }"#;
    std::fs::write(place.path("mcp.json"), file).unwrap();
    assert_snapshot!(place.run(&["tools", "add", "--from", "mcp.json"]), @"
    exit 1
    --- stderr
    added helper to provost.toml: 25 operations, each with a guess of its effect and the reason
    read them, correct the effects, delete what no plan is to call; then pin them:
      provost tools lock
    error: the server `absent` does not say what it can do: `./no-such-server` cannot be started: No such file or directory (os error 2)

    hint: start its `command` by hand to see what is wrong with it
    ");
    let toml = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    assert!(toml.contains("[tools.helper]") && !toml.contains("absent"));
    place.run(&["tools", "lock"]).exits(0);
    // The same command again: what was added is left alone, what is missing is tried.
    assert_snapshot!(place.run(&["tools", "add", "--from", "mcp.json"]), @"
    exit 1
    --- stderr
    error: the server `absent` does not say what it can do: `./no-such-server` cannot be started: No such file or directory (os error 2)

    hint: start its `command` by hand to see what is wrong with it
    ");
    assert_eq!(
        toml,
        std::fs::read_to_string(place.path("provost.toml")).unwrap()
    );
    let file = r#"{ "mcpServers": { "helper": { "command": "./server", "args": ["--state", "state"] } } }"#;
    std::fs::write(place.path("mcp.json"), file).unwrap();
    assert_snapshot!(place.run(&["tools", "add", "--from", "mcp.json"]), @"
    exit 0
    --- stderr
    helper is in provost.toml already: left as it is
    ");
}

#[test]
fn a_secret_of_a_clients_file_is_asked_for_by_its_name() {
    let place = workplace();
    let file = r#"{ "mcpServers": { "shrimp": { "command": "./server", "env": { "API_TOKEN": "abcd1234" } } } }"#;
    std::fs::write(place.path("mcp.json"), file).unwrap();
    assert_snapshot!(place.run(&["tools", "add", "--from", "mcp.json"]), @"
    exit 1
    --- stderr
    error: the server `shrimp` does not say what it can do: the secret `env:API_TOKEN` is not set; export it before you start

    hint: a value that may be secret is not copied: export it under that name
    ");
}

#[test]
fn nothing_is_written_of_a_server_that_does_not_answer() {
    let place = workplace();
    let before = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let none = ["tools", "add", "helper", "--", "./no-such-server"];
    assert_snapshot!(place.run(&none), @"
    exit 1
    --- stderr
    error: the server `helper` does not say what it can do: `./no-such-server` cannot be started: No such file or directory (os error 2)

    hint: start its `command` by hand to see what is wrong with it
    ");
    let mut dying = vec![
        "tools", "add", "helper", "--", "./server", "--state", "state",
    ];
    dying.extend(["--start", "exit"]);
    assert_snapshot!(place.run(&dying), @"
    exit 1
    --- stderr
    error: the server `helper` does not say what it can do: no session with the server: it ended before it answered: cannot find what I need: state

    hint: start its `command` by hand to see what is wrong with it
    ");
    assert_snapshot!(place.run(&["tools", "add", "notes", "--", "./server"]), @"
    exit 2
    --- stderr
    error: there is a tool `notes` already

    hint: choose another name, or edit it in provost.toml
    ");
    assert_snapshot!(place.run(&["tools", "add", "helper"]), @"
    exit 2
    --- stderr
    error: no server is named

    hint: `provost tools add NAME -- CMD …`, `NAME --url URL`, `NAME --openapi FILE`, `NAME --sql DATABASE`, or `--from mcp.json`
    ");
    std::fs::write(
        place.path("mcp.json"),
        r#"{"mcpServers": {"a": {"type": "sse"}}}"#,
    )
    .unwrap();
    assert_snapshot!(place.run(&["tools", "add", "--from", "mcp.json"]), @"
    exit 2
    --- stderr
    error: the server `a` of `mcp.json` has no `command` and no `url`

    hint: add what is missing, or remove it from the file
    ");
    assert_eq!(
        before,
        std::fs::read_to_string(place.path("provost.toml")).unwrap()
    );
}

#[test]
fn an_api_is_added_by_its_document() {
    let place = workplace();
    let world = include_str!("../../../sim/src/world/openapi.json");
    std::fs::write(place.path("openapi.json"), world).unwrap();
    let add = |more: &[&str]| {
        let mut words = vec!["tools", "add"];
        words.extend(more);
        place.run(&words)
    };
    assert_snapshot!(add(&["pay", "--openapi", "openapi.json", "--only", "payments"]), @"
    exit 0
    --- stderr
    added pay to provost.toml: 4 operations, each with a guess of its effect and the reason
    read them, correct the effects, delete what no plan is to call; then pin them:
      provost tools lock
    ");
    assert_snapshot!(add(&["pay", "--openapi", "openapi.json"]), @"
    exit 2
    --- stderr
    error: there is a tool `pay` already

    hint: choose another name, or edit it in provost.toml
    ");
    assert_snapshot!(add(&["Shop", "--openapi", "openapi.json"]), @"
    exit 2
    --- stderr
    error: `Shop` cannot name a tool

    hint: a name has up to 40 lower-case letters, digits and `_`, and begins with a letter
    ");
    assert_snapshot!(add(&["other", "--openapi", "openapi.json", "--only", "nothing"]), @"
    exit 2
    --- stderr
    error: nothing can be imported from `openapi.json`: it has no operation and no tag `nothing`; its operations are `listPages`, `sendPage`, `pageByKey`, `pageByMessage`, `listTickets`, `getTicket`, `commentTicket`, `createDraft`, `getDraft`, `changeDraft`, `publishDraft`, `getPayment`, `createRefund`, `getRefund`, `refundByKey`
    ");
    assert_snapshot!(add(&["other", "--openapi", "provost.toml"]), @"
    exit 2
    --- stderr
    error: `provost.toml` is neither JSON nor YAML that is read: did not find expected <document start>
    ");
    assert_snapshot!(place.run(&["tools", "show", "pay.create_refund"]), @r##"
    exit 0
    --- stdout
    pay.create_refund: Gives money back, by default to where it came from.
      effect     destructive, high risk
      retry      safe for 1d, by an idempotency key in the header Idempotency-Key
      breaker    closed; 5 failures of `pay` in a row open it for 30.0 s
      output     untrusted
      one call   up to 30s and 1048576 bytes
      digest     sha256:DIGEST
      input
        {
          "type": "object",
          "properties": {
            "payment": {
              "type": "string"
            },
            "amount": {
              "type": "integer",
              "minimum": 1
            },
            "account": {
              "type": "string",
              "description": "another account than that of the payment"
            },
            "reason": {
              "type": "string"
            }
          },
          "required": [
            "payment",
            "amount"
          ],
          "additionalProperties": false
        }
      result
        {
          "$ref": "#/$defs/Refund",
          "$defs": {
            "Refund": {
              "type": "object",
              "properties": {
                "id": {
                  "type": "string"
                },
                "payment": {
                  "type": "string"
                },
                "amount": {
                  "type": "integer",
                  "minimum": 0
                },
                "account": {
                  "type": [
                    "string",
                    "null"
                  ]
                },
                "reason": {
                  "type": [
                    "string",
                    "null"
                  ]
                },
                "status": {
                  "type": "string",
                  "enum": [
                    "done"
                  ]
                },
                "key": {
                  "type": [
                    "string",
                    "null"
                  ]
                },
                "at": {
                  "type": "string"
                }
              },
              "required": [
                "id",
                "payment",
                "amount",
                "status",
                "at"
              ]
            }
          }
        }
    "##);
}
