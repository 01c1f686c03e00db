//! What cannot be written down outside: a call, an approved or checked plan, open commands.
//!
//! `passes.rs` is the control: the same names, used as they may be. It is a module here, so that
//! it compiles or the test does not.

#[path = "compile_fail/passes.rs"]
mod passes;

#[test]
#[ignore = "builds every dependency again, which takes minutes: scripts/full closed"]
fn nothing_makes_a_call_but_the_machine() {
    passes::main();
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/compile_fail/call_*.rs");
    cases.compile_fail("tests/compile_fail/plan_*.rs");
    cases.compile_fail("tests/compile_fail/sealed_*.rs");
}
