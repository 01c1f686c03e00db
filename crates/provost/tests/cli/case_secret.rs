//! A case of a run with a secret: none as it is, and one without it.

use sim::canary;

use super::workplace::Workplace;

/// A secret that a tool gives.
const GIVEN: &str = "goshawk-of-a-vault+Jm02yc 7712";

/// A secret is read, and the run fails, as it is not what the plan expects.
const PLAYBOOK: &str = r#"schema: provost/playbook/v1
match: "Look at the vault"
goal: { success: [ { id: seen, text: the vault is empty } ] }
plan:
  steps:
    - { id: token, tool: vault.read, args: { path: token.txt } }
  success:
    - { for: seen, check: '${ size(steps.token.output.text) == 0 }' }
  answer: nothing
"#;

fn place() -> (Workplace, String) {
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    let vault = "\n[tools.vault]\nkind = \"files\"\nroot = \"vault\"\n\
                 [tools.vault.ops.read]\nop = \"read\"\neffect = \"read\"\nsecret = true\n";
    place.write("provost.toml", format!("{config}{vault}"));
    place.write("vault/token.txt", GIVEN);
    place.write("playbooks/vault.yaml", PLAYBOOK);
    place.run(&["run", "Look at the vault"]).exits(1);
    let runs = place.json(&["runs", "--json"]);
    let run = runs["runs"][0]["id"].as_str().unwrap().to_owned();
    (place, run)
}

#[test]
fn a_secret_stands_in_no_case_and_an_anonymized_one_comes_to_the_same() {
    let (place, run) = place();
    let refused = place.run(&["case", "from", &run, "-o", "naive"]).exits(1);
    assert!(
        refused.stderr.contains("takes or gives a secret"),
        "{refused}"
    );
    assert!(!place.path("naive").exists());
    let made = place.run(&["case", "from", &run, "-o", "kept", "--anonymize"]);
    let made = made.exits(0);
    assert!(made.stdout.contains("secrets; "), "{made}");
    let parts = [GIVEN, "goshawk", "Jm02yc", "7712"];
    let left = canary::leaks_below_of(&parts, &place.path("kept"));
    assert!(left.is_empty(), "{left:?}");
    // The control: the search finds it where it is.
    assert!(!canary::leaks_below_of(&parts, &place.path("vault")).is_empty());
    let calls = std::fs::read_to_string(place.path("kept/calls.jsonl")).unwrap();
    let call: serde_json::Value = serde_json::from_str(&calls).unwrap();
    let text = call["output"]["text"].as_str().unwrap();
    let form = |text: &str| -> String {
        let one = |c: char| match c {
            c if c.is_ascii_digit() => '9',
            c if c.is_alphabetic() => 'a',
            c => c,
        };
        text.chars().map(one).collect()
    };
    assert_eq!(form(text), form(GIVEN));
    let checked = place.json(&["case", "check", "kept", "--json"]);
    assert_eq!(checked["repeat"]["outcome"], "pass", "{checked}");
}
