//! The incident workspace: the committed case, and twenty seeded ones whose truth only the
//! generator knows.

use crate::described::{Answer, interval_said, levels_said};
use crate::stage::Stage;
use sim::incident::description::Time;
use sim::incident::{Dataset, Truth, Variant, generate, twenty};

fn staged(dataset: &Dataset) -> Stage {
    let stage = Stage::of("incident", false);
    dataset.write(&stage.data()).unwrap();
    stage
}

/// What the answer must say, and what it must not.
fn expected(truth: &Truth) -> (Vec<String>, Vec<&'static str>) {
    if truth.nothing_wrong {
        return (
            vec!["Nothing unusual".to_owned()],
            vec![" rose from ", "since then: \""],
        );
    }
    let mut says = Vec::new();
    says.push(match &truth.deployment {
        Some(found) => format!("minutes before, at {}", found.deployed_at),
        None => "Deployment in the two hours before it: none found".to_owned(),
    });
    if let Some(message) = &truth.new_message {
        says.push(format!(
            "New or far more frequent since then: \"{message}\""
        ));
        says.push(format!("{} times", truth.new_message_count.unwrap()));
    }
    says.push(match &truth.similar_incident {
        Some(found) => found.title.clone(),
        None => "A past incident with the same message: none found".to_owned(),
    });
    (says, vec!["Nothing unusual"])
}

/// The interval holds the minute, and the levels are those of the half hours beside it.
fn began_and_rose(truth: &Truth, answer: &Answer) -> Result<(), String> {
    let Some(rose_at) = &truth.rose_at else {
        return Ok(());
    };
    let time = rose_at.split(['T', 'Z']).nth(1).unwrap_or_default();
    let minute = Time::try_from(time.to_owned())?.minute();
    match interval_said(answer) {
        Some([from, to]) if from <= minute && minute <= to && to - from <= 10 => {}
        other => return Err(format!("{other:?} is said, {minute} is true")),
    }
    let near = |said: i64, is: i64| (said - is).abs() * 50 <= is;
    match levels_said(answer) {
        Some([from, to]) if near(from, truth.from_ms) && to * 50 >= truth.to_ms * 49 => {}
        other => {
            return Err(format!(
                "{other:?} ms, not {} to {}",
                truth.from_ms, truth.to_ms
            ));
        }
    }
    Ok(())
}

/// Runs the goal and compares the answer with the truth. Words, not line breaks, count.
fn investigate(dataset: &Dataset) -> Result<(), String> {
    let stage = staged(dataset);
    let ran = stage.run(&["run", &dataset.goal]);
    if ran.code != Some(0) {
        return Err(format!("exit {:?}\n{}", ran.code, ran.all()));
    }
    // Why: untrusted words stand between marks, which are not part of what is said.
    let said = ran.stdout.replace(['‹', '›'], "");
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let (says, not) = expected(&dataset.truth);
    for phrase in &says {
        let phrase = phrase.split_whitespace().collect::<Vec<_>>().join(" ");
        if !said.contains(&phrase) {
            return Err(format!("not said: {phrase}\n{}", ran.stdout));
        }
    }
    for phrase in not {
        if said.contains(phrase) {
            return Err(format!("wrongly said: {phrase}\n{}", ran.stdout));
        }
    }
    began_and_rose(&dataset.truth, &Answer::new(&ran.stdout))?;
    let revised = !dataset.truth.nothing_wrong;
    let revisions = stage.count("PlanRevised");
    if revisions != i64::from(revised) {
        return Err(format!("{revisions} revisions"));
    }
    Ok(())
}

#[test]
fn the_committed_case_is_revised_once_and_answered() {
    investigate(&generate(&Variant::base()).unwrap()).unwrap();
}

#[test]
fn twenty_seeded_variants_get_the_right_answer() {
    let mut wrong = Vec::new();
    let variants = twenty();
    let total = variants.len();
    for (number, variant) in variants.iter().enumerate() {
        if let Err(problem) = investigate(&generate(variant).unwrap()) {
            wrong.push(format!("variant {}: {problem}", number + 1));
        }
    }
    println!("right answers: {} of {total}", total - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert_eq!(total, 20);
}

/// The control: with the truth of another variant the comparison must fail.
#[test]
fn a_wrong_truth_is_noticed() {
    let mut dataset = generate(&Variant::base()).unwrap();
    dataset.truth.to_ms += dataset.truth.to_ms / 4;
    assert!(investigate(&dataset).is_err());
}
