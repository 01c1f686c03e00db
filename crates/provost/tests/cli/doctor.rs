use insta::assert_snapshot;

use super::scripted::with_operations;
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
      whether servers of `http` tools answer: `provost doctor --probe` reaches them
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
      whether servers of `http` tools answer: `provost doctor --probe` reaches them
    ");
}

/// Each tool is reached, or what mends it is said: a database, one without its table for keys, a
/// host that answers, one that does not, a secret that is missing.
#[test]
fn each_tool_is_reached_or_what_mends_it_is_said() {
    let place = Workplace::new();
    let answers = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = |listener: &std::net::TcpListener| listener.local_addr().unwrap().port();
    let (up, down) = (port(&answers), port(&silent));
    drop(silent);
    let mut config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    for (name, port) in [("up", up), ("down", down)] {
        config += &format!(
            "[tools.{name}]\nkind = \"http\"\nbase_url = \"http://127.0.0.1:{port}\"\n\
             [tools.{name}.ops.get]\nrequest = {{ method = \"GET\", path = \"/\" }}\n\
             effect = \"read\"\n"
        );
    }
    config += "
[tools.log]
kind = \"sql\"
database = \"data/shop.db\"
[tools.log.ops.note]
execute = \"insert into orders values ('x')\"
idempotency = { key = \"table\" }
[tools.far]
kind = \"http\"
base_url = \"http://127.0.0.1:9\"
auth = { bearer = \"env:NOT_THERE\" }
[tools.far.ops.get]
request = { method = \"GET\", path = \"/\" }
effect = \"read\"
";
    place.write("provost.toml", config);
    let ran = place.run(&["doctor", "--probe"]).to_string();
    assert_snapshot!(ran.replace(&down.to_string(), "PORT"), @"
    exit 2
    --- stdout
    ok      workspace  DIR: 7 tools, 3 playbooks
    ok      policy     loads; solo: `ada` may request and approve
    ok      lock       there is no provost.lock: tools are not pinned
    not ok  tools      `far`: the secret `env:NOT_THERE` is not set; export it before you start
    ok      journal    nothing has run here yet
    ok      pauses     nothing is paused
    ok      reached    `shop`: connected
    ok      reached    `up`: 127.0.0.1 answers
    not ok  reached    `down`: 127.0.0.1:PORT cannot be reached: Connection refused (os error 111)
    not ok  reached    `log`: the database has no table for keys
    not ok  reached    `far`: the secret `env:NOT_THERE` is not set; export it before you start

    hint: a plan that needs it is not run until then

    hint: start what `down` stands for, or correct its address in provost.toml

    hint: `provost tools prepare log` makes it

    hint: give `far` its secret: export the variable, or write the file

    not checked:
      whether tools changed: there is no provost.lock
      whether a journal can be written: there is none yet
      whether the tools do what they declare
      whether `notes` is reached: only a call would tell
    ");
    // The control: without the flag nothing is reached.
    let ran = place.run(&["doctor"]).to_string();
    assert!(!ran.contains("reached"), "{ran}");
    // The command that it names mends it.
    place.run(&["tools", "prepare", "log", "--yes"]).exits(0);
    let ran = place.run(&["doctor", "--probe"]).to_string();
    assert!(
        ran.contains("`log`: connected, with its table for keys"),
        "{ran}"
    );
}

/// An MCP server is started and asked what it can do; one that does not start is named, with what
/// mends it. Nothing is called, and nothing is left running.
#[test]
fn a_server_of_mcp_is_started_and_asked() {
    let place = with_operations();
    place.run(&["tools", "lock"]).exits(0);
    let reached = |ran: &str| {
        let lines = ran.lines().filter(|line| line.contains("reached"));
        lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    let ran = place.run(&["doctor", "--probe"]).exits(0);
    let said = reached(&ran.stdout);
    assert!(
        said.iter()
            .any(|line| line == "ok  reached    `s`: answers, with 25 tools"),
        "{ran}"
    );
    assert!(!place.path(".provost").exists(), "a probe is no run");
    // The controls: a server that is not there, and one that never answers.
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let at = config.find("command = [").unwrap();
    let end = at + config[at..].find('\n').unwrap();
    for (command, why) in [
        ("[\"no-such-server\"]", "no-such-server"),
        (
            "[\"sh\", \"-c\", \"exit 3\"]",
            "it ended before it answered",
        ),
    ] {
        let broken = format!("{}command = {command}{}", &config[..at], &config[end..]);
        place.write("provost.toml", broken);
        let ran = place.run(&["doctor", "--probe"]).exits(2);
        let said = reached(&ran.stdout).join("\n");
        assert!(
            said.contains("not ok  reached    `s`: ") && said.contains(why),
            "{ran}"
        );
        assert!(
            ran.stdout.contains("start the `command` of `s` by hand"),
            "{ran}"
        );
    }
}

/// What would stop a run or a call later is found before: programs and scripts that are not there,
/// SQL that does not fit, goals that nobody plans, approvals that nobody can complete.
#[test]
fn what_no_run_could_do_is_found_before_one() {
    let command = |argv: &str| {
        format!(
            "[tools.sh]\nkind = \"command\"\nroot = \"notes\"\n[tools.sh.ops.x]\nargv = {argv}\n\
             effect = \"read\"\ninput = {{ type = \"object\", additionalProperties = false }}\n"
        )
    };
    let sql = |query: &str| {
        format!(
            "[tools.log]\nkind = \"sql\"\ndatabase = \"data/shop.db\"\n[tools.log.ops.x]\n\
             query = \"{query}\"\neffect = \"read\"\n"
        )
    };
    let planner = |command: &str| format!("[planner]\nkind = \"process\"\ncommand = {command}\n");
    let schedule =
        |goal: &str| format!("[schedule.nightly]\ngoal = \"{goal}\"\ncron = \"0 2 * * *\"\n");
    let quorum = |n: u32| {
        format!(
            "@id(\"several\")\n@quorum(\"{n}\")\nforbid (principal, action == \
             Action::\"notes.write\", resource) when {{ !resource.attended }};\n"
        )
    };
    for (what, more, policy, said) in [
        (
            "tools",
            command("[\"shh\", \"-c\", \"ls\"]"),
            None,
            "there is no program `shh`",
        ),
        (
            "tools",
            command("[\"sh\", \"no.sh\"]"),
            None,
            "there is no file `no.sh`",
        ),
        ("tools", command("[\"sh\", \"-c\", \"ls\"]"), None, ""),
        (
            "tools",
            sql("select nte from orders"),
            None,
            "`x` does not fit the database",
        ),
        ("tools", sql("select customer from orders"), None, ""),
        (
            "planner",
            planner("[\"sh\", \"planer.sh\"]"),
            None,
            "there is no file `planer.sh`",
        ),
        (
            "planner",
            planner("[\"no-such-planner\"]"),
            None,
            "no program `no-such-planner`",
        ),
        ("planner", planner("[\"sh\", \"-c\", \"cat\"]"), None, ""),
        (
            "schedules",
            schedule("Nobody plans this"),
            None,
            "`nightly`: no playbook matches",
        ),
        ("schedules", schedule("Count the orders of ada"), None, ""),
        (
            "approvals",
            String::new(),
            Some(quorum(2)),
            "only `ada` may give it",
        ),
        ("approvals", String::new(), Some(quorum(1)), ""),
    ] {
        let place = Workplace::new();
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        place.write("provost.toml", format!("{config}\n{more}"));
        if let Some(policy) = policy {
            place.write("policies/several.cedar", policy);
            let listed = serde_json::json!({ "ada": { "groups": [] } });
            place.people(listed.as_object().unwrap());
            place.write("policies/solo.cedar", provost_plan::policy::SOLO_POLICY);
        }
        let ran = place.run(&["doctor", "--json"]);
        let value: serde_json::Value = serde_json::from_str(&ran.raw_stdout).unwrap();
        let checks = value["checks"].as_array().unwrap().iter();
        let unfit: Vec<_> = checks.filter(|check| check["fit"] == false).collect();
        if said.is_empty() {
            assert!(unfit.is_empty(), "{what} {more}: {ran}");
            ran.exits(0);
            continue;
        }
        assert_eq!(unfit.len(), 1, "{what} {more}: {ran}");
        assert_eq!(unfit[0]["what"], what, "{ran}");
        assert!(unfit[0]["text"].as_str().unwrap().contains(said), "{ran}");
        assert!(unfit[0]["hint"].is_string(), "{ran}");
        ran.exits(2);
    }
}

/// Tools are said to be as pinned only where their server was asked.
#[test]
fn a_server_that_drifted_is_found_by_the_probe() {
    let place = with_operations();
    place.run(&["tools", "lock"]).exits(0);
    let ran = place.run(&["doctor", "--probe"]).exits(0);
    assert!(ran.stdout.contains("the tools are as pinned"), "{ran}");
    std::fs::write(place.path("state"), "changed\n").unwrap();
    let ran = place.run(&["doctor"]).exits(0);
    assert!(!ran.stdout.contains("the tools are as pinned"), "{ran}");
    let line = "whether `s` still offers what is pinned: `provost doctor --probe` asks it";
    assert!(ran.stdout.contains(line), "{ran}");
    let ran = place.run(&["doctor", "--probe"]).exits(2);
    let line = "not ok  lock       `echo` of the server `s` changed in description";
    assert!(ran.stdout.contains(line), "{ran}");
    assert!(ran.stdout.contains("`provost tools diff` shows"), "{ran}");
    place.run(&["tools", "lock"]).exits(0);
    place.run(&["doctor", "--probe"]).exits(0);
}
