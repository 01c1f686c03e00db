//! What a check takes, a journal gives back: the canonical form of a plan is read as it was.

use proptest::prelude::*;
use provost_plan::codes::Code;
use provost_plan::json;
use provost_plan::plan::read::{
    document_read_back, is_surely_read_back, plan_from_value, read_plan,
};
use provost_plan::source::Source;
use serde_json::{Value, json as value};

use super::generated::{check_plan, plan_text, terms};

/// A plan with this text as an argument, a key, a description and in an expression, as JSON.
fn plan(text: &str) -> Value {
    let words = text.replace("${", "{");
    value!({ "schema": "provost/plan/v1", "steps": [{
        "id": "a", "tool": "t.none", "description": words,
        "args": { "project": words, (format!("k{words}")): [words] },
    }], "answer": words })
}

fn reads_back(text: &str) -> Result<(), String> {
    // Why escaped: so it can be written whatever it is.
    let escaped: String = plan(text)
        .to_string()
        .chars()
        .map(|c| match u32::from(c) {
            code @ (0x7f..=0xffff) => format!("\\u{code:04x}"),
            _ => c.to_string(),
        })
        .collect();
    let Ok(read) = read_plan(&Source::new("plan.json", escaped.as_str())) else {
        return Ok(());
    };
    let again =
        plan_from_value(&read.value, "<journal>").map_err(|d| format!("{text:?}: {d:?}"))?;
    let document = document_read_back(&read.value).map_err(|d| d.message)?;
    if is_surely_read_back(&read.value) && document != *read.value {
        return Err(format!("{text:?}: not as sure as it seems"));
    }
    if again.value == read.value && again.digest() == read.digest() {
        Ok(())
    } else {
        Err(format!("{text:?}: another plan"))
    }
}

#[test]
fn every_letter_is_read_back() {
    let letters = (0..=0xffff_u32).filter_map(char::from_u32);
    let odd = letters.filter(|c| !c.is_alphanumeric());
    for c in odd.chain(['\u{1f600}', '\u{e0001}', '\u{10ffff}', '\u{1fffe}']) {
        reads_back(&format!("a{c}b")).unwrap();
    }
    for text in [
        "\u{7f}",
        "\u{feff}",
        "\u{85}\u{85}",
        "\u{fffe}'\"",
        "\u{9f}: # -",
        "\r\n\u{2028}",
    ] {
        reads_back(text).unwrap();
    }
}

proptest! {
    #[test]
    fn any_text_is_read_back(text in any::<String>()) {
        prop_assert_eq!(reads_back(&text), Ok(()));
    }

    #[test]
    fn texts_of_odd_letters_are_read_back(
        text in prop::collection::vec(prop::sample::select(vec![
            '\u{7f}', '\u{80}', '\u{85}', '\u{9f}', '\u{a0}', '\u{2028}', '\u{2029}', '\u{feff}',
            '\u{fffe}', '\u{ffff}', '\u{0}', '\u{1b}', '\t', '\n', '\r', ' ', ':', '#', '-', '"',
            '\'', '\\', '{', '}', '[', ',', 'a', 'ü', '\u{1f600}',
        ]), 0..12)
    ) {
        let text: String = text.into_iter().collect();
        prop_assert_eq!(reads_back(&text), Ok(()));
    }
}

#[test]
fn a_plan_that_a_journal_cannot_give_back_is_refused_by_the_check() {
    let codes = |text: &str| {
        let plan = read_plan(&Source::new("plan.yaml", text)).unwrap();
        let checked = check_plan(plan, &terms());
        let codes: Vec<Code> = checked.diagnostics.iter().map(|d| d.code).collect();
        (checked.plan.is_some(), codes.contains(&Code::TooLarge))
    };
    let answering =
        |answer: &str| plan_text(1).replace("answer:\n", &format!("answer: {answer}\n"));
    assert_eq!(codes(&answering("done")), (true, false));
    // Each line end of a block is one byte there, and two in canonical form.
    let lines = answering(&format!("|\n  x{}  y", "\n".repeat(600_000)));
    assert_eq!(codes(&lines), (false, true));
}

/// Most plans are known to be found again without being written and read.
#[test]
fn a_plain_plan_is_surely_read_back() {
    for steps in [1, 100] {
        let plan = read_plan(&Source::new("plan.yaml", plan_text(steps))).unwrap();
        assert!(is_surely_read_back(&plan.value));
        assert_eq!(document_read_back(&plan.value).unwrap(), *plan.value);
    }
    let sure = |value: Value| is_surely_read_back(&value);
    assert!(sure(value!({ "a": ["\n\t\"ü\u{1f600}", 1, null, true] })));
    for odd in ["\u{7f}", "\u{85}", "\r", "\u{2028}", "\u{0}"] {
        assert!(!sure(value!({ "a": odd })), "{odd:?}");
        assert!(!sure(value!({ odd: 1 })), "{odd:?}");
    }
    assert!(!sure(value!(0.5)));
    assert!(!sure(value!("\n".repeat(600_000))));
    assert!(!sure(value!("x".repeat(1_100_000))));
    assert!(!sure(value!(vec![1; 30_000])));
}

#[test]
fn json_of_others_is_read_as_it_stands_or_not_at_all() {
    for (text, says) in [
        (r#"{"paid": false, "paid": true}"#, "`paid` stands twice"),
        ("[1e-400]", "`1e-400` is too close to zero"),
    ] {
        let error = json::read(text).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert_eq!(
        json::read("[0e-400, 1e-300]").unwrap(),
        value!([0.0, 1e-300])
    );
}

#[test]
fn a_number_that_would_become_zero_is_refused_in_a_plan() {
    for number in ["1e-400", "-0.5E-999"] {
        for text in [
            format!("steps: [{{ id: a, tool: t, args: {{ n: {number} }} }}]"),
            format!("{{\"steps\":[{{\"id\":\"a\",\"tool\":\"t\",\"args\":{{\"n\":{number}}}}}]}}"),
        ] {
            let found = read_plan(&Source::new("plan.yaml", text.as_str())).unwrap_err();
            assert_eq!(
                found.first().map(|d| d.code),
                Some(Code::BadNumber),
                "{text}"
            );
        }
    }
}
