//! A catalog that no model could read: the model chooses among a few, and they stay the same.

use std::fmt::Write as _;

use crate::place::{Place, says_the_truth};
use crate::plans::right;

/// Most bytes that a model is sent of a catalog of five hundred tools.
const PROMPT_BYTES_MAX: usize = 96 * 1024;

/// Commands of an office, so that the workspace has five hundred tools.
fn office(count: usize) -> String {
    let mut text = String::from("\n[tools.office]\nkind = \"command\"\nroot = \"data\"\n");
    for number in 0..count {
        let _ = writeln!(
            text,
            "[tools.office.ops.form_{number}]\nargv = [\"true\"]\neffect = \"read\"\n\
             description = \"Prints form {number} of the office\""
        );
    }
    text
}

#[test]
fn of_five_hundred_tools_a_model_chooses_among_twenty() {
    let place = Place::new(right());
    let listed = place
        .run(&["tools", "list"])
        .exits(0)
        .stdout
        .lines()
        .count();
    place.configure(&office(500 - listed));
    let ran = place.run(&["run", place.goal()]).exits(0);
    says_the_truth(&ran.stdout, &place.dataset.truth);

    let asked = place.asked();
    assert_eq!(asked.len(), 2);
    let texts: Vec<String> = asked
        .iter()
        .map(|asked| {
            let messages = asked.body["messages"].as_array().unwrap().iter();
            let texts = messages.map(|message| message["content"].as_str().unwrap());
            texts.collect::<Vec<_>>().join("\n")
        })
        .collect();
    let sizes: Vec<usize> = texts.iter().map(String::len).collect();
    let same = texts[0].bytes().zip(texts[1].bytes());
    let same = same.take_while(|(one, other)| one == other).count();
    let percent = same * 100 / sizes[0];
    println!("prompts of {sizes:?} bytes; {percent} % of the first begins the second");
    assert!(
        sizes.iter().all(|size| *size < PROMPT_BYTES_MAX),
        "{sizes:?}"
    );
    assert!(percent >= 90, "{percent}");

    let requested = place.stage.payloads("PlanRequested");
    for request in &requested {
        let candidates = &request["candidates"];
        assert_eq!(candidates["of"], 500);
        assert_eq!(candidates["tools"].as_array().unwrap().len(), 20);
    }
    assert_eq!(requested[0]["candidates"], requested[1]["candidates"]);
    let run = place.stage.only_run().unwrap();
    let trace = place.run(&["trace", &run, "--planning"]).exits(0).stdout;
    let flat = trace.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("20 of 500 tools by rank: 1 "), "{trace}");
}

/// The control: a catalog that can be read is given whole.
#[test]
fn a_small_catalog_is_given_whole() {
    let place = Place::new(right());
    place.run(&["run", place.goal()]).exits(0);
    assert!(
        place.stage.payloads("PlanRequested")[0]
            .get("candidates")
            .is_none()
    );
}

/// The control is the count: of sixty tools a run offers a few, so that a second way to ask would
/// show.
#[test]
fn plan_asks_a_model_what_run_asks_it_byte_for_byte() {
    let asked = |verb: &[&str]| {
        let place = Place::new(right());
        let listed = place.run(&["tools", "list"]).exits(0).stdout;
        place.configure(&office(60 - listed.lines().count()));
        let args: Vec<&str> = verb.iter().copied().chain([place.goal()]).collect();
        place.run(&args).exits(0);
        let asked = place.asked();
        asked.first().unwrap().body.to_string()
    };
    let (plan, run) = (asked(&["plan"]), asked(&["run"]));
    assert_eq!(plan, run);
    let offered = |number: usize| plan.contains(&format!("Prints form {number} of the office"));
    assert!(!(0..30).all(offered), "all are offered: {plan}");
}
