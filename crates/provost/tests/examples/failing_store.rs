//! The real process on a disk that takes no more: no file may grow past a limit that rises from
//! test to test, until the command passes. One page is sent, and `resume` works afterwards.

use std::process::Command;

use crate::pager::pages;
use crate::stage::{Ran, Stage};
use sim::world::Local;

const GOAL: &str = "Page the on-call engineer if open PAY tickets exceed the SLA threshold";

/// Runs `provost` where a write that would make a file longer than `most` KiB fails.
fn limited(stage: &Stage, args: &[&str], most: u64) -> Ran {
    let whole = stage.command(args);
    // Why the trap: the signal that comes with the failed write would end the process.
    let script = format!("trap '' XFSZ; ulimit -f {most}; exec \"$@\"");
    let mut command = Command::new("bash");
    command
        .args(["-c", &script, "bash"])
        .arg(whole.get_program())
        .args(whole.get_args())
        .env("NO_COLOR", "1");
    Ran::from(command.output().unwrap())
}

fn new_stage(world: &Local) -> Stage {
    let stage = Stage::of("sla", true);
    let url = world.url().to_owned();
    stage.edit("provost.toml", |text| {
        text.replace("http://127.0.0.1:4517", &url)
    });
    stage
}

#[test]
fn a_full_disk_ends_the_process_with_a_hint_and_the_run_goes_on() {
    // Why so few: each takes four commands; `scripts/full failing-store` takes every page.
    let step = if std::env::var_os("PROVOST_FULL").is_some() {
        4
    } else {
        24
    };
    let (mut failed, mut more) = (0, 0);
    loop {
        let state = tempfile::tempdir().unwrap();
        let world = Local::start(&state.path().join("world.json")).unwrap();
        let stage = new_stage(&world);
        let command = stage
            .run(&["run", GOAL])
            .exits(3)
            .printed_command("approve");
        let words: Vec<&str> = command.split_whitespace().skip(3).collect();
        let ran = limited(&stage, &words, more);
        if ran.code == Some(0) {
            assert_eq!(pages(&world), 1);
            break;
        }
        failed += 1;
        let said = &ran.stderr;
        assert!(
            said.contains("error: the journal cannot be written any more")
                || said.contains("error: the store "),
            "{more} KiB more: {said}"
        );
        assert!(said.contains("hint: "), "{said}");
        assert!(!said.contains("panicked"), "{said}");
        let before = pages(&world);
        let intents = stage.payloads("AttemptStarted");
        let intended = intents
            .iter()
            .any(|intent| intent["slot"]["step"] == "page");
        assert!(
            before == 0 || intended,
            "{more} KiB more: a page without an intent"
        );
        stage.run(&["audit", "verify"]).exits(0);
        let run = stage.only_run().unwrap();
        if stage.run(&["resume", &run]).code == Some(3) {
            stage.run(&words).exits(0);
        }
        assert_eq!(pages(&world), 1, "{more} KiB more");
        stage.run(&["audit", "verify"]).exits(0);
        more += step;
        assert!(more < 2_000, "the command never passes");
    }
    println!("failed {failed} times, {step} KiB apart, before it passed");
    assert!(failed > 1, "no write ever failed");
}
