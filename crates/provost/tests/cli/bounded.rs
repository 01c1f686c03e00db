//! The bounds of a program where there is no control group to hold it.

use std::process::Command;
use std::time::{Duration, Instant};

use super::workplace::{Ran, Workplace};

/// Programs that ask for more memory than they may, and that flee from their call.
const JOB: &str = r#"
[tools.job]
kind = "command"
root = "notes"
memory_bytes = 268435456
[tools.job.ops.mark]
argv = ["sh", "-c", "echo mark-$PROVOST_CALL"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "read"
[tools.job.ops.hoard]
argv = ["sh", "-c", "head -c 300000000 /dev/zero | tail -c 300000000 2>/dev/null | wc -c"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "read"
[tools.job.ops.flee]
argv = ["sh", "-c", "(setsid sh -c 'echo $$ >new; mv new fled; exec sleep 600' &); exec sleep 600"]
input = { type = "object", properties = {}, additionalProperties = false }
effect = "write"
timeout = "2s"
"#;

/// What runs a program with an empty folder in the place of the control groups.
const WITHOUT: &str = r#"
for place in $(sed -n 's/^[^ ]* [^ ]* [^ ]* [^ ]* \([^ ]*\) .* - cgroup2 .*/\1/p' /proc/self/mountinfo)
do mount -t tmpfs none "$place" || exit 9; done
exec "$@"
"#;

/// The ways to run a program without control groups, the first for machines that have none.
const WAYS: [&[&str]; 3] = [
    &["env"],
    &["unshare", "--mount", "sh", "-c", WITHOUT, "sh"],
    &[
        "unshare",
        "--user",
        "--map-root-user",
        "--mount",
        "sh",
        "-c",
        WITHOUT,
        "sh",
    ],
];

fn place() -> Workplace {
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("notes")).unwrap();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write("provost.toml", format!("{config}{JOB}"));
    place
}

/// Calls an operation of the job, in one of the ways.
fn call(place: &Workplace, way: &[&str], operation: &str) -> Ran {
    let typed = place.command(&["tools", "call", operation]);
    let mut command = Command::new(way[0]);
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
    command.current_dir(place.path(""));
    Ran::new(&command.output().unwrap(), &place.path(""))
}

/// A way in which programs are found by their mark, since there is no group.
fn without_group(place: &Workplace) -> Option<&'static [&'static str]> {
    let way = WAYS.into_iter().find(|way| {
        let marked = call(place, way, "job.mark");
        let marked = marked.raw_stdout.split_once("mark-");
        marked.is_some_and(|(_, mark)| mark.starts_with(|c: char| c.is_ascii_digit()))
    });
    // Why: without the way that needs no rights, nothing of this was looked at.
    call(place, WAYS[0], "job.mark").exits(0);
    if way.is_none() {
        eprintln!("left out: this machine lets nobody take its control groups away");
    }
    way
}

#[test]
fn without_a_control_group_no_program_gets_more_memory_than_it_may() {
    let place = place();
    let Some(way) = without_group(&place) else {
        return;
    };
    for _ in 0..10 {
        let hoarded = call(&place, way, "job.hoard").exits(0);
        assert!(!hoarded.stdout.contains("300000000"), "{hoarded}");
    }
    // The control: without the limit, it gets it.
    place.edit("provost.toml", "memory_bytes = 268435456\n", "");
    let hoarded = call(&place, way, "job.hoard").exits(0);
    assert!(hoarded.stdout.contains("300000000"), "{hoarded}");
}

#[test]
fn without_a_control_group_what_fled_ends_with_its_time() {
    let place = place();
    let Some(way) = without_group(&place) else {
        return;
    };
    // A write that did not end in time: nobody knows whether it took place.
    call(&place, way, "job.flee").exits(4);
    let fled = std::fs::read_to_string(place.path("notes/fled")).unwrap();
    let stat = format!("/proc/{}/stat", fled.trim());
    let lives = || {
        let stat = std::fs::read_to_string(&stat).unwrap_or_default();
        let rest = stat
            .rsplit_once(") ")
            .map(|(_, rest)| rest.starts_with('Z'));
        rest == Some(false)
    };
    let begun = Instant::now();
    while lives() {
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "it outlives its call"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
