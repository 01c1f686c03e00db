use insta::assert_snapshot;

use super::workplace::{Workplace, public};

/// Signatures are required; ada asks, and bo, whose key lies in `bo.json`, may approve.
fn signed() -> Workplace {
    let place = Workplace::new();
    sign(&place);
    place
}

/// Has a workspace require signatures, of the keys of ada and bo.
pub fn sign(place: &Workplace) {
    let mut users = serde_json::Map::new();
    for person in ["ada", "bo"] {
        let file = format!("{person}.json");
        let args = [
            "key",
            "new",
            "--name",
            person,
            "-o",
            &file,
            "--passphrase",
            "file:token.canary",
        ];
        let ran = place.run(&args).exits(0);
        let key = ran.raw_stdout.trim().to_owned();
        users.insert(person.to_owned(), serde_json::json!({ "key": key }));
    }
    place.people(&users);
    std::fs::remove_file(place.path("policies/solo.cedar")).unwrap();
    place.edit(
        "provost.toml",
        "[tools.shop]",
        "[approvals]\nrequire = \"signature\"\n[tools.shop]",
    );
}

pub const BO: [&str; 4] = ["--key", "bo.json", "--passphrase", "file:token.canary"];

pub fn with<'a>(args: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [args, more].concat()
}

#[test]
fn a_card_goes_out_as_a_file_and_comes_back_signed() {
    let place = signed();
    let (run, _) = place.waiting();
    assert_snapshot!(place.run(&["approve", &run, "--card", "card.json"]), @"
    exit 0
    --- stderr
    the card is in card.json; an approver signs it with:
      provost approve card.json -o yes.json
    ");
    // Why elsewhere: the key and the card are all it takes.
    let elsewhere = Workplace::empty();
    for file in ["card.json", "bo.json", "token.canary"] {
        std::fs::copy(place.path(file), elsewhere.path(file)).unwrap();
    }
    let sign = with(&["approve", "card.json", "-o", "yes.json"], &BO);
    assert_snapshot!(elsewhere.run(&sign), @r#"
    exit 0
    --- stderr
    approve step `note`?
      goal       Note the orders of ada
      run        RUN, revision 1 of the plan
      purpose    Write the note
      tool       notes.write
      effect     write, high risk
      policy     production-writes
      argument   text: "2 orders of ada"  (untrusted data from count)
      argument   path: "orders.txt"
      needs      approval by one person
      requested  by ada at MOMENT
      digest     sha256:DIGEST
    signed by bo in yes.json; it counts once it is recorded:
      provost record yes.json
    "#);
    std::fs::copy(elsewhere.path("yes.json"), place.path("yes.json")).unwrap();
    assert_snapshot!(place.run(&["record", "yes.json"]), @r"
    exit 0
    --- stderr
    run RUN: resumed
    approved by bo, signed
    recorded; continue the run with: provost resume RUN
    ");
    assert_eq!(place.status(), "running");
    let again = place.run(&["record", "yes.json"]).exits(2);
    assert!(
        again
            .stderr
            .contains("was recorded before: a statement counts once"),
        "{again}"
    );
    place.run(&["resume", &run]).exits(0);
    // Also after the end: whoever was not answered is told that it counts.
    let again = place.run(&["record", "yes.json"]).exits(2);
    assert!(
        again
            .stderr
            .contains("was recorded before: a statement counts once"),
        "{again}"
    );
}

#[test]
fn a_no_comes_back_signed_too() {
    let place = signed();
    let (run, _) = place.waiting();
    place.run(&["inbox", "--cards", "cards"]).exits(0);
    let card = std::fs::read_dir(place.path("cards"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let card = format!("cards/{}", card.file_name().to_string_lossy());
    let sign = ["reject", &card, "-o", "no.json", "--reason", "not today"];
    place.run(&with(&sign, &BO)).exits(0);
    place.run(&["record", "no.json"]).exits(0);
    place.run(&["resume", &run]).exits(1);
    assert_eq!(place.status(), "rejected");
}

#[test]
fn a_card_or_a_word_that_was_changed_is_refused() {
    let place = signed();
    let (run, _) = place.waiting();
    place
        .run(&["approve", &run, "--card", "card.json"])
        .exits(0);
    let card = std::fs::read_to_string(place.path("card.json")).unwrap();
    place.write(
        "other.json",
        card.replace("\"orders.txt\"", "\"others.txt\""),
    );
    let ran = place
        .run(&with(&["approve", "other.json", "-o", "yes.json"], &BO))
        .exits(2);
    assert!(
        ran.stderr
            .contains("its content is not what its digest says"),
        "{ran}"
    );
    place.write(
        "other.json",
        card.replacen("\"store\"", "\"more\": 1, \"store\"", 1),
    );
    let ran = place
        .run(&with(&["approve", "other.json", "-o", "yes.json"], &BO))
        .exits(2);
    assert!(
        ran.stderr
            .contains("it has what this version does not know"),
        "{ran}"
    );
    // The text beside the card binds nobody, and who signs is told.
    place.write(
        "other.json",
        card.replace("2 orders of ada\\", "0 orders of ada\\"),
    );
    let ran = place
        .run(&with(&["approve", "other.json", "-o", "yes.json"], &BO))
        .exits(0);
    assert!(
        ran.stderr
            .contains("look twice the text in the file is another"),
        "{ran}"
    );
    let word = std::fs::read_to_string(place.path("yes.json")).unwrap();
    for (from, to, why) in [
        (
            "\"by\":\"bo\"",
            "\"by\":\"ada\"",
            "this statement is not signed with the key of `ada`",
        ),
        (
            "\"by\":\"bo\"",
            "\"by\":\"eve\"",
            "`eve` has no key in policies/entities.json",
        ),
        (
            "\"revision\":1",
            "\"revision\":2",
            "the signature on this statement of `bo` does not match",
        ),
        (
            "\"store\":\"",
            "\"store\":\"x",
            "this statement is for a run of another workspace",
        ),
        (
            "\"signed\":",
            "\"sealed\":",
            "it has what this version does not know",
        ),
    ] {
        place.write("changed.json", word.replace(from, to));
        let ran = place.run(&["record", "changed.json"]).exits(2);
        assert!(ran.stderr.contains(why), "{to}: {ran}");
    }
    assert_eq!(place.status(), "waiting_approval");
}

#[test]
fn where_signatures_are_required_the_key_decides_who_speaks() {
    let place = signed();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    assert_snapshot!(place.run(&["approve", &target]), @"
    exit 2
    --- stderr
    error: what is said here must be signed, and `ada` has no key in DIR/config/provost/keys/ada.json

    hint: `provost key new` makes one; `--key FILE` names one elsewhere
    ");
    let adas = [
        "approve",
        &target,
        "--key",
        "ada.json",
        "--passphrase",
        "file:token.canary",
    ];
    assert_snapshot!(place.run(&adas), @"
    exit 2
    --- stderr
    error: `ada` may not approve: `ada` requested this run, and another person must approve it

    hint: who may answer this card: `bo`
    ");
    assert_snapshot!(public(&place.run(&with(&["approve", &target], &BO))), @r"
    exit 0
    --- stdout
    succeeded: Note the orders of ada

    The note is written. [1] (said, not shown)

    [1] step `note`, evidence sha256:DIGEST

    proven: the number of orders stands in the note
    --- stderr
    run RUN: resumed
    approved by bo, signed
    note: calls notes.write
    note: succeeded after TIME
    ");
}

#[test]
fn a_key_that_is_taken_out_of_the_list_of_people_counts_no_more() {
    let place = signed();
    let (run, _) = place.waiting();
    place
        .run(&["approve", &run, "--card", "card.json"])
        .exits(0);
    place
        .run(&with(&["approve", "card.json", "-o", "yes.json"], &BO))
        .exits(0);
    place.write(
        "policies/entities.json",
        r#"{ "users": { "ada": {}, "bo": {} } }"#,
    );
    let ran = place.run(&["record", "yes.json"]).exits(2);
    assert!(
        ran.stderr
            .contains("`bo` has no key in policies/entities.json"),
        "{ran}"
    );
}

/// The control is the run as it stood before: nothing is marked.
#[test]
fn a_run_that_is_not_believed_is_marked_where_it_is_shown() {
    let place = signed();
    let (run, card) = place.waiting();
    let target = format!("{run}@{card}");
    place.run(&with(&["approve", &target], &BO)).exits(0);
    let mark = "not believed: event";
    for verb in ["show", "trace"] {
        let ran = place.run(&[verb, &run]).exits(0);
        assert!(!ran.stdout.contains(mark), "{verb}: {ran}");
        assert!(place.json(&[verb, &run, "--json"])["contradiction"].is_null());
    }
    let users = serde_json::json!({ "ada": {}, "bo": {} });
    place.people(users.as_object().unwrap());
    for verb in ["show", "trace"] {
        let ran = place.run(&[verb, &run]).exits(0);
        assert!(ran.stdout.starts_with(mark), "{verb}: {ran}");
        let json = place.json(&[verb, &run, "--json"]);
        assert_eq!(json["contradiction"]["kind"], "ApprovalGiven", "{json}");
    }
}
