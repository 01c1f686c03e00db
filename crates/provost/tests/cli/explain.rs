use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_code_has_a_page_anywhere() {
    assert_snapshot!(Workplace::empty().run(&["explain", "r101"]), @r#"
    exit 0
    --- stdout
    error R101: a step calls a tool that is not in the catalog

    What it finds

    A step calls a tool that is not in the catalog.

    Why it is bad

    The step can never run. provost reports this before the first call, not halfway through the run.

    A plan that fails

        steps:
          - { id: count, tool: tickets.cuont, args: { project: PAY } }
        answer: "${ steps.count.output.total } open"

    Repaired

        steps:
          - { id: count, tool: tickets.count, args: { project: PAY } }
        answer: "${ steps.count.output.total } open"
    "#);
}

#[test]
fn without_a_code_all_are_listed() {
    let ran = Workplace::empty().run(&["explain"]).exits(0);
    let listed = ran
        .stdout
        .lines()
        .filter(|line| line.starts_with("  "))
        .count();
    let codes = Workplace::empty().json(&["explain", "--json"]);
    assert_eq!(codes["codes"].as_array().unwrap().len(), listed);
    let head: Vec<&str> = ran.stdout.lines().take(3).collect();
    assert_snapshot!(head.join("\n"), @r"
    text and structure
      P001  error  the text is not readable as YAML, JSON or TOML
      P002  error  the text passes a limit of size, depth or count
    ");
}

#[test]
fn a_code_that_is_none_is_refused() {
    assert_snapshot!(Workplace::empty().run(&["explain", "R1001"]), @r"
    exit 2
    --- stderr
    error: there is no code `R1001`

    hint: did you mean R101?
    ");
    let ran = Workplace::empty().run(&["explain", "nonsense"]).exits(2);
    assert!(
        ran.stderr.contains("hint: the codes are P001 to P"),
        "{ran}"
    );
}
