//! `doctor --model`: one small request, and what it says of the model.

use serde_json::json;
use sim::model::Scripted;

use crate::place::{KEY, Place};

#[test]
fn it_says_how_a_model_answers() {
    let place = Place::new([Scripted::json(json!({ "ready": true, "word": "plan" }))]);
    let said = place.run(&["doctor", "--model", "large"]).exits(0).stdout;
    for words in [
        "`scripted-1` answered after",
        "`json_schema` is honoured",
        "1000 in (600 cached), 200 out",
        "0.00292",
        "whether what it plans is any good",
    ] {
        assert!(said.contains(words), "{words}\n{said}");
    }
    assert_eq!(place.asked().len(), 1);
    assert_eq!(place.stage.only_run(), None);
}

#[test]
fn it_says_what_is_wrong_with_it() {
    let fence = "```json\n{\"ready\": true, \"word\": \"plan\"}\n```";
    for (reply, said) in [
        (Scripted::text(fence), "`json_schema` is not honoured"),
        (
            Scripted::json(json!({ "ready": true, "word": "run" })),
            "is not honoured",
        ),
        (Scripted::status(401), "does not take the key"),
        (
            Scripted::status(503),
            "its server cannot be reached: status 503",
        ),
    ] {
        let place = Place::new([reply]);
        let ran = place.run(&["doctor", "--model", "large"]).exits(2);
        assert!(ran.stdout.contains(said), "{said}\n{}", ran.all());
        assert!(!ran.all().contains(KEY));
    }
    let place = Place::new([]);
    let mut command = place.command(&["doctor", "--model", "large"]);
    let output = command.env_remove("SCRIPTED_KEY").output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("`env:SCRIPTED_KEY` is not set"), "{said}");
    let ran = place.run(&["doctor", "--model", "small"]).exits(2);
    assert!(
        ran.stderr.contains("the models are: large"),
        "{}",
        ran.stderr
    );
}
