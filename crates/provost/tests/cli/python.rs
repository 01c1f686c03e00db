//! The module for Python: run, approve, reject, answer, errors and a time-out.

use std::process::Command;

use super::interrupt::slow;
use super::workplace::Workplace;

fn python(place: &Workplace, what: &str) {
    let here = env!("CARGO_MANIFEST_DIR");
    let command = place.command(&[]);
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let ran = Command::new("python3")
        .args([&format!("{here}/tests/cli/python.py"), what])
        .current_dir(command.get_current_dir().unwrap())
        .envs(set)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONPATH", format!("{here}/../../packaging/python"))
        .env("PROVOST_BIN", env!("CARGO_BIN_EXE_provost"))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.stdout, b"ok\n", "{err}");
}

#[test]
fn a_program_in_python_runs_approves_and_hears_of_errors() {
    python(&Workplace::new(), "all");
}

#[test]
fn a_call_from_python_that_takes_too_long_ends() {
    python(&slow("60000000"), "slow");
}
