//! A client in Python, made from `/openapi.json` by a generator that others wrote.

use std::process::Command;

use super::served::{Served, team, token};

#[test]
#[ignore = "needs openapi-python-client of PyPI: scripts/full python-client"]
fn a_generated_client_drives_a_run_to_its_end() {
    let client = std::env::var("PROVOST_PYTHON_CLIENT").unwrap();
    let place = team();
    let server = Served::of(&place);
    let [ada, bo] = ["ada", "bo"].map(|name| token(&place, name, name, &[]));
    let here = env!("CARGO_MANIFEST_DIR");
    let ran = Command::new(format!("{client}/venv/bin/python"))
        .arg(format!("{here}/tests/serve/python_client.py"))
        .args([&format!("http://{}", server.host), &ada, &bo])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PYTHONPATH", &client)
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(String::from_utf8_lossy(&ran.stdout), "ok\n", "{err}");
}
