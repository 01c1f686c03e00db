//! Whoever only wants to stop or to look never needs a flawless workspace: each verb that does no
//! more works with each damage. The control is a verb that drives, which is refused.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::interrupt::{slow, until_it_runs};
use super::workplace::{Ran, Workplace};

/// What is wrong with a workspace, and how it came to be so.
type Damage = (&'static str, fn(&Workplace));

const DAMAGES: [Damage; 9] = [
    ("a lock that is one edit behind", |place| {
        place.run(&["tools", "lock"]).exits(0);
        place.edit(
            "provost.toml",
            "effect = \"write\"",
            "effect = \"external\"",
        );
    }),
    ("a typo in provost.toml", |place| {
        place.edit("provost.toml", "[workspace]", "[workspaec]");
    }),
    ("half a provost.toml", |place| {
        place.edit("provost.toml", "op = \"write\"", "op = \"wri");
    }),
    ("an empty provost.toml", |place| {
        place.write("provost.toml", "")
    }),
    ("a damaged policy", |place| {
        place.write("policies/broken.cedar", "permit (principal,");
    }),
    ("damaged people", |place| {
        place.write("policies/entities.json", "{ \"users\": ");
    }),
    ("half a playbook", |place| {
        place.write("playbooks/half.yaml", "schema: provost/playbook/v1\nmatch:");
    }),
    ("a damaged entry of a tool", |place| {
        place.edit("provost.toml", "root = \"notes\"", "rot = \"notes\"");
    }),
    ("an empty key in the root of a tool", |place| {
        place.write("notes/x.key", "");
    }),
];

/// A workspace with a run that waits, damaged.
fn damaged(damage: fn(&Workplace)) -> (Workplace, String) {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    damage(&place);
    (place, run)
}

/// What a verb that drives says of the same workspace.
fn control(place: &Workplace, what: &str) {
    let ran = place.run(&["run", "--again", "Note the orders of ada"]);
    assert!(
        matches!(ran.code, Some(1 | 2)),
        "{what}: nothing is damaged: {ran}"
    );
}

#[test]
fn whoever_only_looks_needs_the_journal_alone() {
    let verbs: [(&[&str], i32); 8] = [
        (&["runs"], 0),
        (&["runs", "--json"], 0),
        (&["inbox"], 0),
        (&["inbox", "--check"], 3),
        (&["show", "RUN"], 0),
        (&["trace", "RUN"], 0),
        (&["why", "RUN"], 0),
        (&["audit", "verify"], 0),
    ];
    let look = |place: &Workplace, run: &str, verb: &[&str]| -> Ran {
        let args: Vec<&str> = verb
            .iter()
            .map(|word| if *word == "RUN" { run } else { word })
            .collect();
        place.run(&args)
    };
    for (what, damage) in DAMAGES {
        let place = Workplace::new();
        let (run, _) = place.waiting();
        let before: Vec<Ran> = verbs.map(|(verb, _)| look(&place, &run, verb)).into();
        damage(&place);
        for ((verb, code), before) in verbs.iter().zip(before) {
            let ran = look(&place, &run, verb);
            assert_eq!(ran.code, Some(*code), "{what}, {verb:?}: {ran}");
            // Why not of these: they say what they could not look at.
            if !["show", "audit"].contains(&verb[0]) {
                assert_eq!(ran.stdout, before.stdout, "{what}, {verb:?}");
            }
        }
        control(&place, what);
    }
}

#[test]
fn a_run_is_shown_without_what_may_be_secret_where_nobody_knows_what_is() {
    for (text, said) in [("[workspace", "from the journal alone"), ("", "")] {
        let (place, run) = damaged(|_| {});
        place.write("provost.toml", text);
        let ran = place.run(&["show", &run]).exits(0);
        assert!(ran.stderr.contains(said), "{ran}");
        assert!(ran.stdout.contains("waits for approval"), "{ran}");
        assert!(!ran.stdout.contains("observed"), "{ran}");
    }
    let (whole, run) = damaged(|_| {});
    let ran = whole.run(&["show", &run]).exits(0);
    assert!(
        ran.stdout.contains("observed") && ran.stderr.is_empty(),
        "{ran}"
    );
}

#[test]
fn an_audit_says_that_it_could_not_look_for_heads() {
    let (place, _) = damaged(|place| place.edit("provost.toml", "[workspace]", "[workspace"));
    let ran = place.run(&["audit", "verify"]).exits(0);
    assert!(ran.stdout.contains("the journal is valid"), "{ran}");
    assert!(
        ran.stdout.contains("though heads may be signed here"),
        "{ran}"
    );
}

/// The control is the run that needs the tool: it is refused, and says why.
#[test]
fn a_damaged_tool_stops_that_tool_and_no_other() {
    let damages: [Damage; 2] = [DAMAGES[7], DAMAGES[8]];
    for (what, damage) in damages {
        let place = Workplace::new();
        damage(&place);
        let ran = place.run(&["run", "Count the orders of ada"]);
        assert_eq!(ran.code, Some(0), "{what}: {ran}");
        let ran = place.run(&["run", "Note the orders of ada"]).exits(2);
        assert!(
            ran.stderr.contains("error: the tool `notes` cannot work: "),
            "{what}: {ran}"
        );
    }
    let place = Workplace::new();
    place.edit("provost.toml", "root = \"notes\"", "rot = \"notes\"");
    let ran = place.run(&["run", "Count the orders of ada"]).exits(0);
    for said in [
        "the tool `notes` has no field `rot`",
        "warning: the tool `notes` is not loaded until its entry is fixed",
    ] {
        assert!(ran.stderr.contains(said), "{said}: {ran}");
    }
    place.run(&["tools", "lock"]).exits(2);
}

/// The control is the same policy where the tool is whole.
#[test]
fn a_tool_that_is_left_out_is_told_before_the_policy_that_names_it() {
    let place = Workplace::new();
    let policy = "@id(\"notes\") forbid (principal, action == Action::\"notes.write\", resource)\n\
                  when { context.opaque.contains(\"text\") };\n";
    place.write("policies/notes.cedar", policy);
    place.write("plan.yaml", super::workplace::PLAN);
    place.run(&["check", "plan.yaml"]).exits(0);
    place.edit("provost.toml", "root = \"notes\"", "rot = \"notes\"");
    let ran = place.run(&["check", "plan.yaml"]).exits(2);
    let at = |text: &str| {
        ran.stderr
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {ran}"))
    };
    assert!(at("has no field `rot`") < at("error[W802]"), "{ran}");
}

/// How many rows of the journal a query counts.
fn rows(place: &Workplace, query: &str) -> i64 {
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    journal.query_row(query, [], |row| row.get(0)).unwrap()
}

#[test]
fn whoever_only_stops_needs_the_journal_alone() {
    for (what, damage) in DAMAGES {
        let (place, run) = damaged(damage);
        for (scope, name) in [("--all", ""), ("--tool", "notes"), ("--principal", "ada")] {
            let mut args = vec!["pause", scope];
            args.extend((!name.is_empty()).then_some(name));
            args.extend(["--reason", "x"]);
            let ran = place.run(&args);
            // Why: a workspace without the tool says so, and it can be read.
            let empty = what == "an empty provost.toml" && scope == "--tool";
            assert_eq!(
                ran.code,
                Some(if empty { 2 } else { 0 }),
                "{what} {scope}: {ran}"
            );
        }
        let stops = 3 - i64::from(what == "an empty provost.toml");
        assert_eq!(rows(&place, "SELECT count(*) FROM stops"), stops, "{what}");
        let ran = place.run(&["resume", "--all"]);
        let judged = !["a damaged policy", "damaged people"].contains(&what);
        assert_eq!(ran.code, Some(if judged { 0 } else { 2 }), "{what}: {ran}");
        // Why not of that: a plan whose tools are gone is over as soon as it is looked at.
        let gone = what == "an empty provost.toml";
        let ran = place.run(&["pause", &run, "--reason", "x"]);
        assert!(ran.code == Some(0) || gone, "{what}: {ran}");
        let paused = "SELECT (SELECT count(*) FROM runs WHERE status = 'paused') \
                      + (SELECT count(*) FROM posted_statements WHERE taken IS NULL)";
        assert_eq!(rows(&place, paused), i64::from(!gone), "{what}");
        let ran = place.run(&["cancel", &run, "--reason", "x"]);
        let posted = rows(
            &place,
            "SELECT count(*) FROM posted_statements WHERE taken IS NULL",
        );
        let over = "SELECT count(*) FROM runs WHERE status IN ('cancelled', 'failed')";
        let ended = rows(&place, over);
        assert!(posted == 2 || ended == 1, "{what}: {posted} {ended} {ran}");
        assert!(ran.code == Some(0) || gone, "{what}: {ran}");
        assert_eq!(
            ran.stderr.contains("recorded: the process that works on"),
            posted == 2,
            "{ran}"
        );
        control(&place, what);
    }
}

/// The control is the same run without the statement: it waits for its card again.
#[test]
fn what_was_posted_to_a_damaged_workspace_is_heard_before_anything_begins() {
    for stop in [true, false] {
        let (place, run) = damaged(|_| {});
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        place.write("provost.toml", "[workspace");
        if stop {
            let ran = place.run(&["cancel", &run, "--undo"]).exits(2);
            assert!(ran.stderr.contains("nothing can be undone now"), "{ran}");
            place.run(&["cancel", &run]).exits(0);
            assert_eq!(place.status(), "waiting_approval");
        }
        place.write("provost.toml", config);
        place.run(&["resume", &run]).exits(if stop { 1 } else { 3 });
        let status = if stop {
            "cancelled"
        } else {
            "waiting_approval"
        };
        assert_eq!(place.status(), status);
    }
}

/// The control is the run that was not over: it is paused.
#[test]
fn a_run_that_is_over_is_not_stopped_and_no_run_leaves_a_stop() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let ran = place.run(&["pause", &run, "--reason", "x"]).exits(2);
    assert!(ran.stderr.contains("the run is over"), "{ran}");
    let stops = "SELECT count(*) FROM stops";
    assert_eq!(rows(&place, stops), 0);
    let (run, _) = place.waiting();
    place.run(&["pause", &run, "--reason", "x"]).exits(0);
    let paused = "SELECT count(*) FROM runs WHERE status = 'paused'";
    assert_eq!((rows(&place, paused), rows(&place, stops)), (1, 0));
    place.run(&["cancel", &run]).exits(0);
    assert_eq!((rows(&place, paused), rows(&place, stops)), (0, 0));
}

/// Runs `provost` where no file may grow past 45 KiB: less than the journal has. The index of its log
/// takes 32, and a cancel writes ten pages of 4 KiB to the log.
fn on_a_full_disk(place: &Workplace, args: &[&str]) -> Ran {
    let whole = place.command(args);
    let mut command = Command::new("bash");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 45; exec \"$@\"", "bash"])
        .arg(whole.get_program())
        .args(whole.get_args())
        .current_dir(place.path("."))
        .stdin(Stdio::null());
    Ran::new(&command.output().unwrap(), &place.path("."))
}

/// The control is a run on the same disk: it cannot be kept.
#[test]
fn everything_is_stopped_on_a_disk_that_takes_no_more_than_a_few_pages() {
    let (place, run) = damaged(|place| place.write("policies/broken.cedar", "permit ("));
    let size = std::fs::metadata(place.path(".provost/journal.db")).unwrap();
    assert!(size.len() > 45 * 1024, "{size:?}");
    for args in [
        &["pause", "--all", "--reason", "x"][..],
        &["cancel", &run],
        &["runs"],
        &["inbox"],
        &["show", &run],
    ] {
        let ran = on_a_full_disk(&place, args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran}");
    }
    assert_eq!(rows(&place, "SELECT count(*) FROM stops"), 1);
    std::fs::remove_file(place.path("policies/broken.cedar")).unwrap();
    let ran = on_a_full_disk(&place, &["run", "Count the orders of ada"]);
    assert_ne!(ran.code, Some(0), "{ran}");
    assert!(ran.stderr.contains("error: "), "{ran}");
}

/// The control is in the clock: whoever waited for the process would wait for ever.
#[test]
fn a_process_that_hangs_keeps_nobody_from_stopping_and_looking() {
    let place = slow("4000000000");
    let mut child = place.spawn(&["run", "Count the orders of ada"]);
    until_it_runs(&place);
    let signal = |name: &str| {
        let id = child.id().to_string();
        Command::new("kill").args([name, &id]).status().unwrap();
    };
    signal("-STOP");
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    let begun = Instant::now();
    for args in [
        &["runs"][..],
        &["inbox"],
        &["show", &run],
        &["trace", &run],
        &["why", &run],
        &["audit", "verify"],
        &["pause", "--all", "--reason", "x"],
        &["resume", "--all"],
        &["pause", &run, "--reason", "x"],
        &["cancel", &run],
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(0), "{args:?}: {ran}");
    }
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert_eq!(
        rows(
            &place,
            "SELECT count(*) FROM posted_statements WHERE taken IS NULL"
        ),
        2
    );
    signal("-KILL");
    child.wait().unwrap();
}

/// The control is the end: with the entry mended, the same command goes through.
#[test]
fn a_run_under_way_waits_for_the_entry_of_its_tool_to_be_mended() {
    for (what, damage) in [DAMAGES[7], DAMAGES[8]] {
        let place = Workplace::new();
        let (run, card) = place.waiting();
        let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
        damage(&place);
        let approve = ["approve", &format!("{run}@{card}")].map(str::to_owned);
        let approve: Vec<&str> = approve.iter().map(String::as_str).collect();
        for verb in [&["resume", &run][..], &approve] {
            place.run(verb).exits(2);
            assert_eq!(place.status(), "waiting_approval", "{what}");
        }
        place.write("provost.toml", config);
        let _ = std::fs::remove_file(place.path("notes/x.key"));
        place.run(&approve).exits(0);
        assert_eq!(place.status(), "succeeded", "{what}");
    }
}
