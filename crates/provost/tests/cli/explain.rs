use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn a_code_has_a_page_anywhere() {
    let ran = Workplace::empty().run(&["explain", "r101"]).exits(0);
    assert!(
        ran.stdout.starts_with("# R101: a step calls a tool"),
        "{ran}"
    );
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
