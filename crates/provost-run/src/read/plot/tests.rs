#![expect(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;
use serde_json::json;

use super::scale::{Scale, moments};
use super::*;

/// A series in short: axis, and the lines of each panel.
fn told(value: &Value) -> String {
    told_under(value, None)
}

fn told_under(value: &Value, schema: Option<&Value>) -> String {
    let Some(series) = read(value, schema) else {
        return "nothing".to_owned();
    };
    let panels: Vec<String> = series
        .panels
        .iter()
        .map(|panel| {
            let lines: Vec<String> = panel
                .lines
                .iter()
                .map(|line| format!("{} {:?}", line.name, line.values))
                .collect();
            let unit = panel.unit.as_deref().unwrap_or("-");
            format!("[{unit}: {}]", lines.join("; "))
        })
        .collect();
    format!("{} {:?} {}", series.over, series.axis, panels.join(" "))
}

#[test]
fn rows_over_time_are_a_line_for_each_number_and_a_panel_for_each_unit() {
    let value = json!({ "count": 3, "rows": [
        { "at": "2026-05-12T00:02:00Z", "p95_ms": 3, "p50_ms": 1, "errors": 0.5, "id": 9 },
        { "at": "2026-05-12 00:00", "p95_ms": 1, "p50_ms": null, "errors": 0.25, "id": 7 },
        { "at": "2026-05-12T02:01:00+02:00", "p95_ms": 2.5, "errors": 0, "id": 8 },
    ]});
    assert_eq!(
        told(&value),
        "at Time([1778544000000, 1778544060000, 1778544120000]) \
         [-: errors [Some(0.25), Some(0.0), Some(0.5)]] \
         [ms: p50_ms [None, None, Some(1.0)]; p95_ms [Some(1.0), Some(2.5), Some(3.0)]]"
    );
}

#[test]
fn rows_over_names_are_bars() {
    let value = json!([
        { "queue": "PAY", "open": 17, "late": 4 },
        { "queue": "WEB", "open": 3, "late": null },
    ]);
    assert_eq!(
        told(&value),
        "queue Names([\"PAY\", \"WEB\"]) [-: late [Some(4.0), None]] \
         [-: open [Some(17.0), Some(3.0)]]"
    );
}

#[test]
fn a_unit_is_what_the_schema_says_before_what_the_name_ends_with() {
    let value = json!({ "rows": [
        { "name": "a", "spend": 1, "cost_s": 3 }, { "name": "b", "spend": 2, "cost_s": 4 },
    ]});
    let unit = json!({ "x-unit": "EUR" });
    let schema = json!({ "properties": { "rows": { "items": { "properties": {
        "spend": unit, "cost_s": unit,
    }}}}});
    assert_eq!(
        told_under(&value, Some(&schema)),
        "name Names([\"a\", \"b\"]) \
         [EUR: cost_s [Some(3.0), Some(4.0)]; spend [Some(1.0), Some(2.0)]]"
    );
}

#[test]
fn what_is_not_rows_of_numbers_is_not_drawn() {
    let moment = |minute: u32| format!("2026-05-12T00:{minute:02}:00Z");
    for (value, why) in [
        (json!(7), "a number"),
        (json!({ "total": 7, "share": 0.5 }), "one record"),
        (json!([{ "n": 1 }]), "one row"),
        (json!([{ "n": 1 }, { "n": 2 }]), "no axis"),
        (json!([{ "name": "a" }, { "name": "b" }]), "no number"),
        (
            json!([{ "name": "a", "n": 1 }, { "name": "a", "n": 2 }]),
            "a name twice",
        ),
        (
            json!([{ "name": "a", "n": 1 }, { "name": "b", "n": "2" }]),
            "a text among numbers",
        ),
        (
            json!([{ "name": "a", "id": 1 }, { "name": "b", "id": 2 }]),
            "an id",
        ),
        (json!([{ "name": "a", "n": 1 }, 2]), "not only records"),
        (
            json!({ "a": [{ "name": "x", "n": 1 }], "b": [{ "name": "x", "n": 1 }] }),
            "two lists",
        ),
        (
            json!([{ "at": moment(1), "n": 1 }, { "at": moment(1), "n": 2 },
                { "at": moment(2), "n": 2 }]),
            "several rows a moment",
        ),
    ] {
        assert_eq!(told(&value), "nothing", "{why}");
    }
    // The control: the same rows with what each lacks are drawn.
    let value = json!([{ "at": moment(1), "n": 1 }, { "at": moment(3), "n": 2 },
        { "at": moment(2), "n": 2 }]);
    assert!(told(&value).starts_with("at Time"), "{}", told(&value));
    assert!(told(&json!([{ "name": "a", "n": 1 }, { "name": "b", "n": 2 }])).starts_with("name"));
}

#[test]
fn names_that_are_too_many_are_counted() {
    let rows: Vec<Value> = (0..40)
        .map(|n| json!({ "name": format!("n{n}"), "n": n }))
        .collect();
    let series = read(&json!(rows), None).unwrap();
    assert_eq!(series.left_out, 10);
    assert!(matches!(&series.axis, Axis::Names(names) if names.len() == 30));
}

#[test]
fn moments_are_round() {
    let words = |first: i64, last: i64| {
        let moments = moments(first, last, 6).into_iter().map(|(_, words)| words);
        moments.collect::<Vec<_>>().join(" ")
    };
    let day = 1_778_544_000_000;
    assert_eq!(
        words(day - 3_600_000, day + 7_200_000),
        "23:00 23:30 12 May 00:30 01:00 01:30 02:00"
    );
    assert_eq!(words(day, day + 3_000), "12 May 00:00:01 00:00:02 00:00:03");
    assert_eq!(
        words(day, day + 86_400_000 * 3),
        "12 May 13 May 14 May 15 May"
    );
    assert_eq!(words(day + 1, day + 1), "00:00:00.001");
}

#[test]
fn numbers_are_round() {
    let scale = |values: &[f64], bars| {
        let scale = Scale::of(values.iter().copied(), 4, bars);
        let labels: Vec<String> = scale.ticks.iter().map(|at| scale.label(*at)).collect();
        labels.join(" ")
    };
    assert_eq!(scale(&[103.0, 240.0], false), "0 100 200 300");
    assert_eq!(scale(&[203.0, 240.0], false), "200 210 220 230 240");
    assert_eq!(scale(&[203.0, 240.0], true), "0 100 200 300");
    assert_eq!(scale(&[-3.0, 2.0], true), "-4 -2 0 2");
    assert_eq!(
        scale(&[0.0002, 0.0011], false),
        "0.0000 0.0005 0.0010 0.0015"
    );
    assert_eq!(scale(&[5.0], false), "4 6 8 10");
    assert_eq!(scale(&[], false), "0.0 0.5 1.0");
}

proptest! {
    #[test]
    fn a_scale_holds_what_it_is_of(values in prop::collection::vec(-1e12f64..1e12, 1..40), bars: bool) {
        let scale = Scale::of(values.iter().copied(), 5, bars);
        prop_assert!(scale.ticks.windows(2).all(|pair| pair.first() < pair.last()));
        for value in values {
            prop_assert!(value >= scale.least - 1e-3 && value <= scale.most + 1e-3);
        }
        prop_assert!(scale.ticks.len() <= 12, "{:?}", scale.ticks);
    }

    #[test]
    fn whatever_is_read_has_a_value_a_place(
        rows in prop::collection::vec(("[a-c]{1,3}", prop::option::of(-9i32..9), 0i64..9), 0..9)
    ) {
        let rows: Vec<Value> = rows.iter()
            .map(|(name, n, at)| json!({ "name": name, "n": n, "at": at + 1_700_000_000 }))
            .collect();
        if let Some(series) = read(&json!(rows), None) {
            let places = match &series.axis {
                Axis::Time(moments) => moments.len(),
                Axis::Names(names) => names.len(),
            };
            for line in series.panels.iter().flat_map(|panel| &panel.lines) {
                prop_assert_eq!(line.values.len(), places);
            }
        }
    }
}
