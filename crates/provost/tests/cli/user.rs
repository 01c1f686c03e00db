//! Who acts where no database knows the user: a container with any number, a directory that is out.

use std::process::{Command, Output};

use serde_json::{Map, json};

use super::workplace::{Ran, Workplace};

/// A user number that no database knows.
const UNKNOWN: &str = "54321";

/// What runs a program as the unknown user; none where this machine lets nobody be another user.
fn as_unknown() -> Option<Vec<String>> {
    let capabilities = "+dac_override,+dac_read_search";
    let ways = [
        vec![
            "unshare".to_owned(),
            "--user".to_owned(),
            format!("--map-user={UNKNOWN}"),
        ],
        // Why the capabilities: what is built need not be open to other users.
        vec![
            "setpriv".to_owned(),
            format!("--reuid={UNKNOWN}"),
            format!("--inh-caps={capabilities}"),
            format!("--ambient-caps={capabilities}"),
        ],
    ];
    let way = ways.into_iter().find(|way| {
        let tried = Command::new(&way[0])
            .args(&way[1..])
            .args(["id", "-u"])
            .output();
        tried.is_ok_and(|Output { stdout, .. }| stdout == format!("{UNKNOWN}\n").into_bytes())
    });
    if way.is_none() {
        eprintln!("left out: this machine lets nobody be another user");
    }
    way
}

/// Runs the binary as the unknown user, who says that they are `name`.
fn calling_itself(way: &[String], place: &Workplace, name: &str, args: &[&str]) -> Ran {
    let typed = place.command(args);
    let mut command = Command::new(&way[0]);
    command
        .args(&way[1..])
        .arg(typed.get_program())
        .args(typed.get_args());
    for (key, value) in typed.get_envs() {
        match value {
            Some(value) => command.env(key, value),
            None => command.env_remove(key),
        };
    }
    for variable in ["USER", "LOGNAME"] {
        command.env(variable, name);
    }
    command.env("HOME", place.path(name));
    command.current_dir(place.path(""));
    Ran::new(&command.output().unwrap(), &place.path(""))
}

/// The name that the user database has for who runs the tests.
fn name_of_tester() -> String {
    let said = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim().to_owned()
}

/// A workspace that names nobody who works there, and in which who asks may not approve.
fn shared() -> Workplace {
    let place = Workplace::new();
    place.edit("provost.toml", "[workspace]\nuser = \"ada\"\n", "");
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    let group = json!({ "groups": [] });
    let users =
        ["ada", "bo", "uid-54321", &name_of_tester()].map(|name| (name.to_owned(), group.clone()));
    place.people(&Map::from_iter(users));
    place
}

#[test]
fn a_user_whom_no_database_knows_is_a_number_whatever_the_environment_says() {
    let Some(way) = as_unknown() else { return };
    let place = shared();
    let as_ada = |args: &[&str]| calling_itself(&way, &place, "ada", args);
    as_ada(&["run", "Note the orders of ada"]).exits(3);
    let (run, card) = place.card();
    let inbox = as_ada(&["inbox"]).exits(0);
    assert!(inbox.stdout.contains("by uid-54321 at"), "{inbox}");

    // The same person under another name: the money must not move.
    let target = format!("{run}@{card}");
    let refused = calling_itself(&way, &place, "bo", &["approve", &target]).exits(2);
    let who = "`uid-54321` may not approve: `uid-54321` requested this run";
    assert!(refused.stderr.contains(who), "{refused}");
    assert!(!place.path("notes/orders.txt").exists());

    // The control: somebody else may, by the name that the database has for them.
    let done = calling_itself(
        &["env".to_owned()],
        &place,
        "uid-54321",
        &["approve", &target],
    );
    let done = done.exits(0);
    let who = format!("approved by {}", name_of_tester());
    assert!(done.stderr.contains(&who), "{done}");
    assert!(place.path("notes/orders.txt").exists());
}

/// Its variables hold secrets, and what it starts is told none of them.
#[test]
fn what_provost_starts_cannot_read_the_variables_of_provost() {
    let Some(way) = as_unknown() else { return };
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("notes")).unwrap();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let spy = r#"
[tools.spy]
kind = "command"
root = "notes"
[tools.spy.ops.look]
argv = ["sh", "-c", "cat /proc/$PPID/environ || cat /proc/self/environ"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "read"
"#;
    place.write("provost.toml", format!("{config}{spy}"));
    // What leaks is found by every test: `Ran` looks for the secrets that were planted.
    let looked = calling_itself(&way, &place, "ada", &["tools", "call", "spy.look"]).exits(0);
    // The control: the program runs, and can read variables that are its own.
    assert!(looked.stdout.contains("PATH="), "{looked}");
}
