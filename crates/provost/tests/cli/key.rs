use std::os::unix::fs::PermissionsExt as _;

use insta::assert_snapshot;

use super::workplace::{Workplace, public};

#[test]
fn a_key_is_made_sealed_and_printed() {
    let place = Workplace::new();
    let new = ["key", "new", "--passphrase", "file:token.canary"];
    assert_snapshot!(public(&place.run(&new)), @r#"
    exit 0
    --- stdout
    ed25519:KEY
    --- stderr
    the key of ada is in DIR/config/provost/keys/ada.json
    to make it known, add it to policies/entities.json:
      "ada": { "key": "ed25519:KEY" }
    "#);
    let path = place.path("config/provost/keys/ada.json");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only its user reads it");
    assert_snapshot!(place.run(&new), @"
    exit 2
    --- stderr
    error: `DIR/config/provost/keys/ada.json` already exists

    hint: a key is never written over: `-o FILE` names another file
    ");
}

#[test]
fn a_key_needs_a_name_and_a_passphrase() {
    let place = Workplace::new();
    place.write("short", "1234567\n");
    for (args, why) in [
        (vec!["--name", "a/b"], "error: `a/b` is no name of a person"),
        (
            vec![],
            "error: a key needs a passphrase, and there is no terminal to ask at",
        ),
        (
            vec!["--passphrase", "hunter22"],
            "error: invalid value 'hunter22'",
        ),
        (
            vec!["--passphrase", "file:short"],
            "error: a passphrase has at least 8 characters",
        ),
        (
            vec!["--passphrase", "file:none"],
            "error: `none` cannot be read",
        ),
        (
            vec!["--passphrase", "env:NOT_THERE"],
            "error: the variable `NOT_THERE` contains no",
        ),
    ] {
        let ran = place
            .run(&[&["key", "new"], args.as_slice()].concat())
            .exits(2);
        assert!(ran.stderr.starts_with(why), "{args:?}: {ran}");
    }
    assert!(!place.path("config").exists());
}
