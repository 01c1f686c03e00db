use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn help_lists_what_works() {
    assert_snapshot!(Workplace::empty().run(&["--help"]), @"
    exit 0
    --- stdout
    Executes only plans that your policy admits and, where it says so, a person approved

    Usage: provost [OPTIONS] <COMMAND>

    Start:
      init         create a workspace
      run          plan, check and execute a goal
      apply        execute a plan file or a saved plan

    Plan:
      plan         propose and check a plan without calling a tool
      check        check a plan, a saved plan or a playbook
      show         show a plan or a run
      diff         compare two revisions of a run's plan, or two plan files
      lsp          serve an editor: findings, hover and completion
      explain      explain a finding code

    People:
      inbox        list what waits for a person
      approve      approve a waiting step or plan
      reject       reject a waiting step or plan
      answer       answer a question of a run
      settle       record whether an in-doubt write happened
      amend        change a run's plan, arguments or goal
      record       import a signed statement
      cancel       cancel a run, and undo it on request
      undo         undo what a run did that has ended
      pause        pause a run, a tool, a playbook, a principal or everything
      resume       resume a run, or lift a pause

    Look:
      runs         list runs
      trace        show the events of a run: planning and execution
      why          explain why a run ended: plan, execution or neither
      stats        count how good planning and execution were
      eval         judge planners by the cases of a set, over doubles
      case         make a case from a run, and replay it
      evidence     print the stored bytes that an answer or a card cites
      export       write runs in the form of another tool

    Set up:
      tools        manage and call tools
      policy       check and test policies
      key          create a signing key
      doctor       check the workspace setup
      completions  print completions for a shell
      schema       print the JSON Schema of a plan, or of what `--json` prints
      help         show the help of a command

    Operate:
      work         execute all runs as a service
      schedules    list what the clock begins: when next, and when last
      serve        serve a page for people and an API for programs
      invite       make a one-time link for a person to sign in with
      token        manage tokens of programs
      mcp          serve an MCP client that plans but cannot act
      audit        verify the journal, export a run, sign its head
      backup       copy the journal while runs continue
      restore      put a copy of the journal in its place
      prune        delete old evidence or texts, keeping their digests

    Global options:
      -C <DIR>          workspace; files count from it [default: $PROVOST_DIR or the nearest
                        provost.toml]
          --log <FORM>  form of messages and progress on stderr, text or json [default: text]
      -h, --help        print help
      -V, --version     print the version

    Exit codes:
      0  succeeded, or the command is done
      1  failed, rejected, expired, refused or cancelled
      2  usage or configuration error
      3  waiting for a person, or paused
      4  in doubt whether a write happened

    `provost COMMAND --help` shows examples.
    ");
    assert_snapshot!(Workplace::empty().run(&["run", "--help"]), @r#"
    exit 0
    --- stdout
    plan, check and execute a goal

    Usage: provost run [OPTIONS] <GOAL>

    Arguments:
      <GOAL>  goal, in quotes

    Options:
          --mode <MODE>          planning mode; `auto` prefers a matching playbook [default: auto]
                                 [possible values: single, iterative, auto]
          --planner-first        ask `[planner]` first; use a matching playbook if it fails
          --detach               begin the run, print its id and exit; `provost work` executes it
          --again                start even if an unfinished run has the same goal
          --ask <ASK>            approve each step with its values, or the plan first [possible values:
                                 step, plan]
          --traceparent <VALUE>  W3C trace context of the caller; the run's trace links to it
          --json                 print the result as one JSON object
          --events               print journal events as JSON lines

    Global options:
      -C <DIR>          workspace; files count from it [default: $PROVOST_DIR or the nearest
                        provost.toml]
          --log <FORM>  form of messages and progress on stderr, text or json [default: text]
      -h, --help        print help

    Examples:
      provost run "Find welcome in my notes"              use the playbook that matches, or [planner]
      provost run --ask plan "Find welcome in my notes"   approve the whole plan first
      provost run --detach "Find welcome in my notes"     print the id; `provost work` executes it
    "#);
}

#[test]
fn the_help_of_a_command_has_examples() {
    assert_snapshot!(Workplace::empty().run(&["approve", "--help"]), @"
    exit 0
    --- stdout
    approve a waiting step or plan

    Usage: provost approve [OPTIONS] <RUN[@DIGEST]|CARD.json> [STEP]...

    Arguments:
      <RUN[@DIGEST]|CARD.json>  run id with @DIGEST of the card, or a card file
      [STEP]...                 steps to approve on a plan's card; others are skipped

    Options:
          --card <FILE>
              write the card to a file and approve nothing
      -o, --output <FILE>
              write the signed approval of a card file, for `provost record`
          --only-goal-values
              refuse unless all values come from the goal, answers or trusted output
          --key <FILE>
              sign with this key file, as its owner
          --passphrase <env:NAME|file:PATH>
              read the passphrase from env:NAME or file:PATH
          --record
              record the statement; the run does not continue here
          --json
              print the result as one JSON object
          --events
              print journal events as JSON lines

    Global options:
      -C <DIR>          workspace; files count from it [default: $PROVOST_DIR or the nearest
                        provost.toml]
          --log <FORM>  form of messages and progress on stderr, text or json [default: text]
      -h, --help        print help

    Examples:
      provost approve k3q7@6e242e3b           approve the card with this digest and continue
      provost approve card.json -o yes.json   sign a card elsewhere, for `provost record`
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
