//! Rows as a picture in a page: a line over time, bars over names, as SVG.
//!
//! Owns pixels and paths. What is drawn is the run machine's reading of the rows, the same that the
//! terminal draws. Never writes a colour or a style: both themes and print choose by class.
//! INVARIANT: every text is escaped, and no more points are written than can be told apart.

use std::fmt::Write as _;

use provost_engine::run::read::plot::scale::{self, Scale};
use provost_engine::run::read::plot::{Axis, Line, Mark, Panel, Plot};

use crate::markup::{escape, shortened};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 58.0;
const RIGHT: f64 = 14.0;
const TOP: f64 = 24.0;
const HEIGHT: f64 = 150.0;
const BOTTOM: f64 = 26.0;
const MARK: f64 = 17.0;
const BAR: f64 = 22.0;
const NAMES: f64 = 180.0;
const NAME_MAX: usize = 26;

/// Most points of one line that are written, two for each column of pixels.
const POINTS_MAX: usize = 1400;

/// The picture of a step's rows; `step` names it for who cannot see it.
#[must_use]
pub fn svg(step: &str, plot: &Plot) -> String {
    let mut out = String::new();
    for panel in &plot.series.panels {
        match &plot.series.axis {
            Axis::Time(moments) => over_time(&mut out, step, panel, moments, &plot.marks),
            Axis::Names(names) => over_names(&mut out, step, panel, names),
        }
    }
    out
}

/// The words for who cannot see a panel: each line with its bounds.
fn told(step: &str, panel: &Panel) -> String {
    let line = |line: &Line| {
        let numbers = || line.values.iter().filter_map(|value| *value);
        let least = numbers().fold(f64::INFINITY, f64::min);
        let most = numbers().fold(f64::NEG_INFINITY, f64::max);
        format!("{} from {least} to {most}", line.name)
    };
    let lines: Vec<String> = panel.lines.iter().map(line).collect();
    let unit = panel.unit.as_deref();
    let unit = unit.map(|unit| format!(" in {unit}")).unwrap_or_default();
    format!("step {step}: {}{unit}", lines.join(", "))
}

fn begin(out: &mut String, height: f64, label: &str) {
    let label = escape(&shortened(label, 400));
    let _ = write!(
        out,
        "<svg class=\"plot\" role=\"img\" aria-label=\"{label}\" viewBox=\"0 0 {WIDTH} {height}\">"
    );
}

/// The names of the lines, in a row above the axis.
fn legend(out: &mut String, panel: &Panel) {
    let mut x = LEFT;
    for (number, line) in (1..).zip(&panel.lines) {
        let unit = panel.unit.as_deref();
        let unit = unit.map(|unit| format!(" ({unit})")).unwrap_or_default();
        let name = shortened(&format!("{}{unit}", line.name), NAME_MAX);
        let _ = write!(
            out,
            "<path class=\"line line-{number}\" d=\"M{x} 11h18\"/>\
             <text class=\"legend\" x=\"{}\" y=\"15\">{}</text>",
            x + 23.0,
            escape(&name)
        );
        x += 34.0 + name.chars().count() as f64 * 7.2;
    }
}

fn over_time(out: &mut String, step: &str, panel: &Panel, moments: &[i64], marks: &[Mark]) {
    let (Some(first), Some(last)) = (moments.first(), moments.last()) else {
        return;
    };
    let height = TOP + HEIGHT + BOTTOM;
    let floor = TOP + HEIGHT;
    let across = |at: i64| {
        let part = (at - first) as f64 / (last - first).max(1) as f64;
        LEFT + part * (WIDTH - LEFT - RIGHT)
    };
    let numbers = panel.lines.iter().flat_map(|line| &line.values);
    let scale = Scale::of(numbers.filter_map(|value| *value), 4, false);
    let up = |value: f64| floor - scale.place(value) * HEIGHT;
    begin(out, height, &told(step, panel));
    legend(out, panel);
    for tick in &scale.ticks {
        let y = up(*tick);
        let _ = write!(
            out,
            "<path class=\"rule\" d=\"M{LEFT} {y:.1}H{}\"/>\
             <text class=\"tick tick-y\" x=\"{}\" y=\"{:.1}\">{}</text>",
            WIDTH - RIGHT,
            LEFT - 7.0,
            y + 4.0,
            scale.label(*tick)
        );
    }
    for (at, words) in scale::moments(*first, *last, 8) {
        let x = across(at);
        let _ = write!(
            out,
            "<path class=\"axis\" d=\"M{x:.1} {floor}v5\"/>\
             <text class=\"tick tick-x\" x=\"{x:.1}\" y=\"{}\">{words}</text>",
            floor + 19.0
        );
    }
    for (number, line) in (1..).zip(&panel.lines) {
        let points: Vec<Option<(f64, f64)>> = moments
            .iter()
            .zip(&line.values)
            .map(|(at, value)| value.map(|value| (across(*at), up(value))))
            .collect();
        let _ = write!(
            out,
            "<path class=\"line line-{number}\" d=\"{}\"/>",
            path(&thinned(points))
        );
    }
    let mut before: Option<(f64, f64)> = None;
    for (number, mark) in (1..).zip(marks) {
        let x = across(mark.at);
        // Why lower: the digits of moments near one another would hide each other.
        let top = match before {
            Some((near, top)) if x - near < MARK => top + MARK,
            _ => TOP,
        };
        before = Some((x, top));
        let _ = write!(
            out,
            "<g class=\"mark\"><title>{number}: {of}, {at}</title>\
             <path d=\"M{x:.1} {TOP}V{floor}\"/>\
             <circle cx=\"{x:.1}\" cy=\"{top}\" r=\"8\"/>\
             <text x=\"{x:.1}\" y=\"{y}\">{number}</text></g>",
            of = escape(&mark.of),
            at = scale::moment(mark.at),
            y = top + 4.0
        );
    }
    out.push_str("</svg>");
}

/// A path through points; where one is missing, it is broken.
fn path(points: &[Option<(f64, f64)>]) -> String {
    let mut out = String::new();
    let mut draws = false;
    for (number, point) in points.iter().enumerate() {
        let Some((x, y)) = point else {
            draws = false;
            continue;
        };
        let letter = if draws { 'L' } else { 'M' };
        let _ = write!(out, "{letter}{x:.1} {y:.1}");
        // Why: a point between two that are missing would not be seen.
        if !draws && points.get(number + 1).is_none_or(Option::is_none) {
            out.push_str("h0.1");
        }
        draws = true;
    }
    out
}

/// Of many points in one place, the highest and the lowest: what stands out is kept.
fn thinned(points: Vec<Option<(f64, f64)>>) -> Vec<Option<(f64, f64)>> {
    if points.len() <= POINTS_MAX {
        return points;
    }
    let size = points.len().div_ceil(POINTS_MAX / 2);
    let of_part = |part: &[Option<(f64, f64)>]| {
        let known = || part.iter().flatten().copied().enumerate();
        let by =
            |one: &(usize, (f64, f64)), other: &(usize, (f64, f64))| one.1.1.total_cmp(&other.1.1);
        let mut kept: Vec<(usize, (f64, f64))> = known().min_by(by).into_iter().collect();
        kept.extend(known().max_by(by));
        kept.sort_by_key(|(at, _)| *at);
        kept.dedup_by_key(|(at, _)| *at);
        match kept.is_empty() {
            true => vec![None],
            false => kept.into_iter().map(|(_, point)| Some(point)).collect(),
        }
    };
    points.chunks(size).flat_map(of_part).collect()
}

fn over_names(out: &mut String, step: &str, panel: &Panel, names: &[String]) {
    let lines = panel.lines.len().max(1) as f64;
    let row = BAR * lines + 8.0;
    let height = TOP + row * names.len() as f64 + 8.0;
    let numbers = panel.lines.iter().flat_map(|line| &line.values);
    let scale = Scale::of(numbers.filter_map(|value| *value), 4, true);
    let across = |value: f64| NAMES + scale.place(value) * (WIDTH - NAMES - RIGHT - 60.0);
    begin(out, height, &told(step, panel));
    legend(out, panel);
    for (at, name) in names.iter().enumerate() {
        let top = TOP + row * at as f64 + 4.0;
        let _ = write!(
            out,
            "<text class=\"tick tick-y\" x=\"{}\" y=\"{:.1}\">{}</text>",
            NAMES - 8.0,
            top + BAR * lines / 2.0 + 4.0,
            escape(&shortened(name, NAME_MAX))
        );
        for (number, line) in panel.lines.iter().enumerate() {
            let y = top + BAR * number as f64;
            let Some(value) = line.values.get(at).copied().flatten() else {
                continue;
            };
            let (from, to) = (across(value.min(0.0)), across(value.max(0.0)));
            let _ = write!(
                out,
                "<rect class=\"bar bar-{}\" x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" \
                 height=\"{}\" rx=\"2\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{value}</text>",
                number + 1,
                y + 2.0,
                (to - from).max(1.0),
                BAR - 4.0,
                to + 6.0,
                y + BAR / 2.0 + 4.0
            );
        }
    }
    out.push_str("</svg>");
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use provost_engine::run::read::plot::read;
    use serde_json::{Value, json};

    use super::*;

    fn drawn(rows: &Value, marks: Vec<Mark>) -> String {
        let series = read(rows, None).unwrap();
        svg("<latency>", &Plot { series, marks })
    }

    #[test]
    fn a_line_has_its_marks_and_no_style_of_its_own() {
        let rows: Vec<Value> = (10..14)
            .map(|minute| json!({ "ts": format!("2026-05-12T09:{minute}:00Z"), "p95_ms": minute }))
            .collect();
        let mark = Mark {
            at: 1_778_577_060_000,
            of: "deployment.\"><script>".to_owned(),
        };
        let svg = drawn(&json!(rows), vec![mark]);
        assert_eq!(svg.matches("class=\"line line-1\"").count(), 2, "{svg}");
        assert_eq!(svg.matches("class=\"mark\"").count(), 1);
        assert!(
            svg.contains("M58.0 174.0L287.3 136.5") || svg.contains("L287.3"),
            "{svg}"
        );
        for raw in ["<script", "<latency", "style=", "fill=", "stroke="] {
            assert!(!svg.contains(raw), "{raw} in {svg}");
        }
    }

    #[test]
    fn a_gap_breaks_the_line_and_bars_begin_at_nought() {
        let at = |minute: u32| format!("2026-05-12T09:{minute}:00Z");
        let rows = json!([
            { "ts": at(10), "n": 1 }, { "ts": at(11), "n": null }, { "ts": at(12), "n": 3 },
            { "ts": at(13), "n": 4 },
        ]);
        let svg = drawn(&rows, Vec::new());
        let line = svg.rsplit("class=\"line line-1\" d=\"").next().unwrap();
        let line = line.split('"').next().unwrap();
        assert_eq!(line.matches('M').count(), 2, "{line}");
        let bars = drawn(
            &json!([{ "q": "<b>", "n": 2 }, { "q": "y", "n": -2 }]),
            Vec::new(),
        );
        assert_eq!(bars.matches("class=\"bar bar-1\"").count(), 2, "{bars}");
        assert!(bars.contains("&lt;b&gt;"), "{bars}");
    }

    #[test]
    fn of_very_many_points_those_that_stand_out_are_kept() {
        let mut points: Vec<Option<(f64, f64)>> =
            (0..20_000).map(|n| Some((f64::from(n), 5.0))).collect();
        *points.get_mut(7_777).unwrap() = Some((7_777.0, 0.0));
        let kept = thinned(points);
        assert!(kept.len() <= POINTS_MAX + 2, "{}", kept.len());
        assert!(kept.contains(&Some((7_777.0, 0.0))));
    }
}
