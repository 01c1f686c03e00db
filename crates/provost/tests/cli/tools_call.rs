use insta::assert_snapshot;

use super::scripted::with_operations;
use super::workplace::Workplace;

#[test]
fn a_call_is_a_plan_of_one_step() {
    let place = with_operations();
    place.run(&["tools", "lock"]).exits(0);
    assert_snapshot!(place.run(&["tools", "call", "s.add", "a=2", "b=3"]), @r#"
    exit 0
    --- stdout
    succeeded: Call s.add {"a":2,"b":3}

    ‹{"sum":5}› [1]

    [1] step `call`, evidence sha256:DIGEST
    ‹…› marks text from a tool or an untrusted planner

    proven: s.add was called and answered
    --- stderr
    run RUN: Call s.add {"a":2,"b":3}
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 read; no approval needed
      1  call  s.add  read  permit  by plain-reads

    call: calls s.add
    call: succeeded after TIME
    "#);
    // A text is a text, whatever it looks like.
    let echoed = |given: &str| {
        let ran = place
            .run(&["tools", "call", "s.echo", given, "--again"])
            .exits(0);
        ran.stdout.lines().nth(2).unwrap().to_owned()
    };
    assert_snapshot!(echoed("text=5"), @r#"‹{"text":"5"}› [1]"#);
    assert_snapshot!(echoed("text=${ steps.call.id } $${ x }"), @r#"‹{"text":"${ steps.call.id } $${ x }"}› [1]"#);
    // What is not a read waits for a person, and nothing took place.
    place
        .run(&["tools", "call", "s.append", "--args", r#"{"line": "x"}"#])
        .exits(3);
    assert!(!place.path("state").exists());
    let (run, digest) = place.card();
    place.run(&["approve", &format!("{run}@{digest}")]).exits(0);
    assert_eq!(std::fs::read_to_string(place.path("state")).unwrap(), "x\n");
}

/// Which of two values under one name is meant nobody can tell, and none of them is taken.
#[test]
fn an_answer_in_which_a_name_stands_twice_is_not_taken() {
    let place = with_operations();
    let toml = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let more = "[tools.s.ops.two_things]\neffect = \"read\"\nresult = \"json\"\n";
    place.write("provost.toml", toml + more);
    place.run(&["tools", "lock"]).exits(0);
    let ran = place.run(&["tools", "call", "s.two_things", "line=flat"]);
    assert!(
        ran.stderr.contains("the name `sum` stands twice in a map"),
        "{ran}"
    );
    assert_eq!(ran.code, Some(1), "{ran}");
    // The control: one value under one name is.
    place
        .run(&["tools", "call", "s.add", "a=2", "b=3"])
        .exits(0);
}

#[test]
fn a_call_that_is_wrong_does_not_begin() {
    let place = with_operations();
    place.run(&["tools", "lock"]).exits(0);
    assert_snapshot!(place.run(&["tools", "call", "s.ad"]), @"
    exit 2
    --- stderr
    error: there is no tool `s.ad`

    hint: did you mean `s.add`?
    ");
    assert_snapshot!(place.run(&["tools", "call", "s.add", "a"]), @"
    exit 2
    --- stderr
    error: `a` is no argument

    hint: an argument is written `name=value`
    ");
    assert_snapshot!(place.run(&["tools", "call", "s.add", "a=1", "b=two"]), @r#"
    exit 1
    --- stderr
    error[T201]: `b` of `s.add`: value is not of type "integer"
      --> a call of s.add:24:14
       |
    24 |         "b": "two"
       |              ^^^^^

    error: the plan `a call of s.add` is not admissible: 1 error

    hint: `provost explain T201` tells more
    "#);
    assert_snapshot!(place.run(&["tools", "call", "s.add", "--args", "[1]"]), @"
    exit 2
    --- stderr
    error: `--args` is JSON, but no object
    ");
    assert!(!place.path(".provost").exists());
}

/// A call that waits keeps only the same call from beginning.
#[test]
fn other_arguments_are_another_goal() {
    let place = Workplace::new();
    let write = |text: &str| {
        let text = format!("text={text}");
        place.run(&["tools", "call", "notes.write", "path=a.txt", &text])
    };
    write("one").exits(3);
    write("two").exits(3);
    let again = write("one").exits(2);
    assert!(again.stderr.contains("has the same goal"), "{again}");
    // Long arguments that differ behind what is shown differ all the same.
    let long = "long ".repeat(60);
    write(&format!("{long}a")).exits(3);
    write(&format!("{long}b")).exits(3);
    write(&format!("{long}b")).exits(2);
}
