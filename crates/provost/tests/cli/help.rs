use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn help_lists_what_works() {
    assert_snapshot!(Workplace::empty().run(&["--help"]), @"
    exit 0
    --- stdout
    planner decides intent, executor enforces reality: plans are proposed, checked, approved and
    executed, with evidence

    Usage: provost [OPTIONS] <COMMAND>

    Commands:
      init     make a workspace
      run      plan, check, ask, execute and answer
      plan     propose and check only: nothing is called
      check    check a plan, a saved plan or a playbook
      show     show a plan, or a run and what it came to
      diff     show what grew between two revisions of a run's plan, or two plan files
      apply    run a plan file or a saved plan, exactly
      approve  say yes to what waits, and go on
      reject   say no to what waits
      answer   answer a question, and go on
      settle   say what became of a write that is in doubt, and go on
      amend    put another plan, other arguments or another goal in the place of a run's
      record   take in what somebody signed elsewhere
      runs     list the runs
      inbox    list what waits for a person, with the commands to type
      cancel   end a run
      pause    stop a run, all runs, a tool, a playbook or a principal
      resume   go on with a run that was halted, paused or whose process ended; lift a stop
      work     drive every run that can go on, without a person at a terminal
      mcp      serve a client that plans over MCP, and never acts
      trace    show how a run was planned and what was done, apart
      why      say who is guilty of how a run ended, with the events that prove it
      tools    list, show, add, pin, compare or call tools
      policy   look at what the policies say, and hold them to cases
      audit    check the journal, offline, and sign heads of it
      prune    drop the bytes of old evidence, and keep their digests
      backup   copy the journal while others write
      key      make the key that your words are signed with
      explain  explain the code of a finding
      doctor   look whether the workspace is fit to work in

    Options:
      -C <DIR>       the workspace; otherwise the nearest parent with a provost.toml
      -h, --help     print this help
      -V, --version  print the version

    exit codes: 0 succeeded or done · 1 failed, rejected, expired, refused or cancelled · 2 usage or
    configuration · 3 waits for a person, or paused · 4 in doubt
    ");
    assert_snapshot!(Workplace::empty().run(&["run", "--help"]), @"
    exit 0
    --- stdout
    plan, check, ask, execute and answer

    Usage: provost run [OPTIONS] <GOAL>

    Arguments:
      <GOAL>  what you want, in quotes

    Options:
      -C <DIR>             the workspace; otherwise the nearest parent with a provost.toml
          --mode <MODE>    how planning proceeds; `auto` takes the playbook that matches, else as the
                           planner sees fit [default: auto] [possible values: single, iterative, auto]
      -h, --help           print this help
          --planner-first  ask `[planner]` first, and the playbook that matches only if it comes to
                           nothing
          --again          begin even while an unfinished run has the same goal
          --ask <ASK>      when a person is asked: about each step with its values, or about the plan
                           first [possible values: step, plan]
          --json           print the result as one JSON object
          --events         print the events of the journal as JSON, one a line, as they are kept
    ");
}

#[test]
fn a_verb_that_is_none_is_refused() {
    let ran = Workplace::empty().run(&["aprove"]).exits(2);
    assert!(ran.stderr.starts_with("error: "), "{ran}");
}

#[test]
fn colours_are_only_for_terminals() {
    let place = Workplace::new();
    let ran = place.run(&["run", "Count the orders of ada"]);
    assert!(!ran.raw_stdout.contains('\u{1b}') && !ran.raw_stderr.contains('\u{1b}'));
    // The control: asked for, they are there; and `NO_COLOR` takes them away again.
    let mut command = place.command(&["runs"]);
    let forced = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(forced.stdout.contains(&0x1b));
    let mut command = place.command(&["runs"]);
    let plain = command.env("NO_COLOR", "1").output().unwrap();
    assert!(!plain.stdout.contains(&0x1b));
}
