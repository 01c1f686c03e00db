use insta::assert_snapshot;
use provost_engine::engine::Engine;
use provost_engine::run::event::RunStatus;
use provost_engine::session::{DriveEnd, Unwatched};
use provost_engine::workspace::{LockUse, Opening, Workspace};

use super::workplace::{Ran, Workplace};

#[test]
fn a_yes_to_the_card_drives_the_run_to_its_end() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}")]), @r"
    exit 0
    --- stdout
    succeeded: Note the orders of ada

    The note is written. [1] (said, not shown)

    [1] step `note`, evidence sha256:DIGEST

    proven: the number of orders stands in the note
    --- stderr
    run RUN: resumed
    approved by ada
    note: calls notes.write
    note: succeeded after TIME
    ");
    let note = std::fs::read_to_string(place.path("notes/orders.txt")).unwrap();
    assert_eq!(note, "2 orders of ada");
}

#[test]
fn a_yes_counts_once() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    place.run(&["approve", &target]).exits(0);
    assert_snapshot!(place.run(&["approve", &target]), @r"
    exit 2
    --- stderr
    error: run `RUN` has no open card: it succeeded

    hint: `provost inbox` lists what waits, with commands
    ");
}

#[test]
fn without_a_digest_and_a_terminal_nothing_is_approved() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    assert_snapshot!(place.run(&["approve", &run]), @r#"
    exit 2
    --- stderr
    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "2 orders of ada"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      solo       this workspace is solo: the requester may also approve
      digest     sha256:DIGEST
    error: an approval needs the digest of the card, or a terminal

    hint: read the card, then type:
      provost approve RUN@CARD
    "#);
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn a_stale_digest_is_refused_and_the_open_one_named() {
    let place = Workplace::new();
    let (run, _) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@0123456789abcdef")]), @r"
    exit 2
    --- stderr
    error: no open card of run `RUN` has the digest `0123456789abcdef`

    hint: the open card is sha256:DIGEST:
      provost approve RUN@CARD
    ");
    assert_snapshot!(place.run(&["approve", &format!("{run}@01234")]), @r"
    exit 2
    --- stderr
    error: `01234` is too short for a digest: type at least 8 digits

    hint: the open card is sha256:DIGEST:
      provost approve RUN@CARD
    ");
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn steps_of_a_plan_that_are_not_named_do_not_run() {
    let place = Workplace::new();
    place
        .run(&["run", "Note the orders of ada", "--ask", "plan"])
        .exits(3);
    let (run, card) = place.card();
    let target = format!("{run}@{card}");
    assert_snapshot!(place.run(&["approve", &target, "count"]), @"
    exit 2
    --- stderr
    error: the card does not ask about step `count`

    hint: `provost inbox` shows the steps on the card; an item of a step is `STEP[0]`
    ");
    place.run(&["approve", &target, "note"]).exits(0);
}

#[test]
fn who_asks_may_not_approve_unless_the_workspace_is_solo() {
    let place = Workplace::new();
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}")]), @"
    exit 2
    --- stderr
    error: `ada` may not approve: `ada` requested this run, and another person must approve it

    hint: nobody who is listed in policies/entities.json may answer this card: list another person there
    ");
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn recorded_it_is_a_yes_and_nothing_is_called() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}"), "--record"]), @r"
    exit 0
    --- stderr
    run RUN: resumed
    approved by ada
    recorded; continue the run with: provost resume RUN
    ");
    assert!(!place.path("notes/orders.txt").exists());
    place.run(&["resume", &run]).exits(0);
    assert!(place.path("notes/orders.txt").exists());
}

/// This process drives the run, as `provost run` does at its prompt.
#[test]
fn a_yes_reaches_the_process_that_drives_the_run() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let root = place.path("");
    let (driven, holds) = std::sync::mpsc::channel();
    let driver = std::thread::spawn({
        let run = run.clone();
        move || {
            let opening = Opening {
                user: "ada",
                lock: LockUse::Ignore,
            };
            let engine = Engine::open(Workspace::open(&root, &opening).unwrap()).unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let mut session = engine.take_up(&run, &mut Unwatched).await.unwrap();
                driven.send(()).unwrap();
                let (_keep, mut halt) = tokio::sync::watch::channel(false);
                loop {
                    session.words_come().await.unwrap();
                    session.hear_posted(&mut Unwatched).await.unwrap();
                    if let DriveEnd::Ended(ended) =
                        session.drive(&mut Unwatched, &mut halt).await.unwrap()
                    {
                        return ended.status;
                    }
                }
            })
        }
    });
    holds.recv().unwrap();
    let ran = place
        .run(&["approve", &format!("{run}@0123456789")])
        .exits(2);
    assert!(ran.stderr.starts_with("error: no open card"), "{ran}");
    assert_snapshot!(place.run(&["approve", &format!("{run}@{card}")]), @r"
    exit 0
    --- stderr
    received: process PID works on run RUN and continues it
    ");
    assert_eq!(driver.join().unwrap(), RunStatus::Succeeded);
}

#[test]
fn of_many_who_type_it_at_once_one_counts() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    let children: Vec<_> = (0..12)
        .map(|_| place.spawn(&["approve", &target]))
        .collect();
    let ended: Vec<_> = children
        .into_iter()
        .map(|child| Ran::new(&child.wait_with_output().unwrap(), &place.path("")))
        .collect();
    // Why not these: where the machine is slow, the process that drives takes a word late.
    let told = |ran: &&Ran| !ran.stderr.contains("has yet to take it");
    let yes = ended.iter().filter(told).filter(|ran| ran.code == Some(0));
    assert!(yes.count() <= 1, "more than one was told that it counts");
    for ran in &ended {
        assert!(matches!(ran.code, Some(0 | 2)), "{ran}");
    }
    let journal = rusqlite::Connection::open(place.path(".provost/journal.db")).unwrap();
    let words = |which: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM posted_statements WHERE {which}");
        journal.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    // Why not none: who was told so went away, and the run may have ended before it was looked at.
    let late = ended.iter().filter(|ran| !told(ran)).count();
    let lying = usize::try_from(words("taken IS NULL")).unwrap();
    assert!(
        lying <= late,
        "{lying} words are left lying, {late} were told so"
    );
    assert!(words("taken = 'taken'") <= 1);
    let trace = place.run(&["trace", &run]).exits(0).stdout;
    assert_eq!(trace.matches("ApprovalGiven").count(), 1, "{trace}");
    assert_eq!(trace.matches("note: calls").count(), 1, "{trace}");
}

#[test]
fn a_card_that_some_have_approved_says_who() {
    let place = Workplace::new();
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    let people = serde_json::json!({ "ada": {}, "bo": {}, "chi": {} });
    place.people(people.as_object().unwrap());
    place.write(
        "policies/two.cedar",
        "@id(\"two\") @quorum(\"2\") forbid (principal, action == Action::\"notes.write\", resource) \
         when { !resource.attended };\n",
    );
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    let untouched = place.run(&["inbox"]).exits(0);
    assert!(!untouched.to_string().contains("  approved"), "{untouched}");
    place.edit("provost.toml", "user = \"ada\"", "user = \"bo\"");
    let half = place.run(&["approve", &target]).exits(3);
    for told in [half, place.run(&["inbox"]).exits(0)] {
        let said = format!("{}{}", told.stdout, told.stderr);
        assert!(said.contains("  approved   1 of 2: bo\n"), "{told}");
    }
    place.edit("provost.toml", "user = \"bo\"", "user = \"chi\"");
    place.run(&["approve", &target]).exits(0);
}

#[test]
fn a_card_of_a_workspace_that_became_a_team_is_no_solo_card() {
    let place = Workplace::new();
    place.waiting();
    let solo = "this workspace is solo";
    assert!(place.run(&["inbox"]).exits(0).stdout.contains(solo));
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    let people = serde_json::json!({ "ada": {}, "bo": {} });
    place.people(people.as_object().unwrap());
    let (run, _) = place.card();
    place.run(&["resume", &run]).exits(3);
    let (_, card) = place.card();
    let shown = place.run(&["inbox"]).exits(0);
    assert!(!shown.stdout.contains(solo), "{shown}");
    let target = format!("{run}@{card}");
    let own = place.run(&["approve", &target]).exits(2);
    assert!(own.stderr.contains("another person must approve"), "{own}");
    place.edit("provost.toml", "user = \"ada\"", "user = \"bo\"");
    place.run(&["approve", &target]).exits(0);
}

#[test]
fn a_card_that_the_files_overtook_says_how_to_get_the_card_of_now() {
    let place = Workplace::new();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    let people = serde_json::json!({ "ada": {}, "bo": {} });
    place.people(people.as_object().unwrap());
    let overtaken = place.run(&["approve", &target]);
    assert_snapshot!(overtaken.to_string().replace(&card, "CARD"), @r"
    exit 2
    --- stderr
    error: card `CARD` counts no more: policies, people or tools changed since it was made

    hint: to get the card of now: provost resume RUN
    ");
    let no = place.run(&["reject", &target, "--reason", "no"]).exits(2);
    assert!(no.stderr.contains("counts no more"), "{no}");
    place.run(&["resume", &run]).exits(3);
    let (run, card) = place.card();
    place.run(&["approve", &format!("{run}@{card}")]).exits(0);
}
