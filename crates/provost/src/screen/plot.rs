//! Rows as a picture in the terminal: a line over time in braille, bars over names in blocks.
//!
//! Owns the columns and the dots. What is drawn is the run machine's reading of the rows, the same
//! that a page draws. INVARIANT: it can be read without colour, and is no wider than asked for.

use provost_engine::run::read::plot::scale::{self, Scale};
use provost_engine::run::read::plot::{Axis, Line, Mark, Panel, Plot};
use unicode_width::UnicodeWidthStr as _;

use super::page::{Page, TextStyle, cut};

/// Rows of a line.
const ROWS: usize = 9;

/// Columns before the axis.
const LABEL: usize = 9;

/// Narrowest picture.
const COLUMNS_MIN: usize = 24;

/// Widest: more columns say no more.
const COLUMNS_MAX: usize = 120;

/// Longest name beside a bar.
const NAME_MAX: usize = 28;

/// What a step's rows look like.
pub fn page(step: &str, plot: &Plot, width: usize) -> Page {
    let mut page = Page::new();
    let series = &plot.series;
    page.strong(step)
        .faint(&format!(" over {}", series.over))
        .end();
    let width = width.clamp(LABEL + COLUMNS_MIN, LABEL + COLUMNS_MAX);
    for panel in &series.panels {
        for line in &panel.lines {
            page.end();
            match &series.axis {
                Axis::Time(moments) => {
                    let marked = Marked {
                        moments,
                        marks: &plot.marks,
                    };
                    over_time(&mut page, panel, line, &marked, width);
                }
                Axis::Names(names) => over_names(&mut page, panel, line, names, width),
            }
        }
    }
    if series.left_out > 0 {
        page.faint(&format!("  and {} more, not drawn", series.left_out))
            .end();
    }
    if let (Axis::Time(moments), false) = (&series.axis, plot.marks.is_empty()) {
        page.end();
        for (number, mark) in (1..).zip(&plot.marks) {
            let at = scale::moment(mark.at);
            page.strong(&format!("{:>LABEL$} ", number))
                .text(&format!("{at}  "))
                .line(&mark.of);
        }
        page.faint(&format!("{:>LABEL$} ", ""))
            .faint(&format!("times are in UTC; {} rows", moments.len()));
        page.end();
    }
    page
}

/// The moments of an axis, and those of other steps.
struct Marked<'a> {
    moments: &'a [i64],
    marks: &'a [Mark],
}

impl Marked<'_> {
    /// Where a moment lies, from 0 to 1.
    fn place(&self, at: i64) -> f64 {
        let first = self.moments.first().copied().unwrap_or_default();
        let last = self.moments.last().copied().unwrap_or_default();
        (at - first) as f64 / (last - first).max(1) as f64
    }
}

fn title(page: &mut Page, panel: &Panel, line: &Line) {
    let unit = panel.unit.as_deref();
    let unit = unit.map(|unit| format!(" in {unit}")).unwrap_or_default();
    page.text("  ").strong(&line.name).faint(&unit).end();
}

fn over_time(page: &mut Page, panel: &Panel, line: &Line, marked: &Marked<'_>, width: usize) {
    title(page, panel, line);
    let columns = width - LABEL - 2;
    // Why of the panel: lines of one unit below one another compare.
    let numbers = panel.lines.iter().flat_map(|line| &line.values);
    let scale = Scale::of(numbers.filter_map(|value| *value), 5, false);
    let mut canvas = Canvas::new(columns, ROWS);
    let mut before = None;
    for (at, value) in marked.moments.iter().zip(&line.values) {
        let point = value.map(|value| {
            let x = canvas.across(marked.place(*at));
            (x, canvas.up(scale.place(value)))
        });
        if let Some(to) = point {
            canvas.line(before.unwrap_or(to), to);
        }
        before = point;
    }
    let labels: Vec<(usize, String)> = scale
        .ticks
        .iter()
        .map(|tick| (canvas.up(scale.place(*tick)) / 4, scale.label(*tick)))
        .collect();
    for (number, row) in canvas.rows().enumerate() {
        let label = labels.iter().find(|(at, _)| *at == number);
        let (label, rule) = match label {
            Some((_, label)) => (label.as_str(), "┤"),
            None => ("", "│"),
        };
        page.faint(&format!("{label:>LABEL$} {rule}"))
            .line(row.trim_end());
    }
    axis(page, marked, columns);
}

/// The axis of time: numbers where others have a moment, and round moments below.
fn axis(page: &mut Page, marked: &Marked<'_>, columns: usize) {
    let column = |at: i64| {
        let last = columns.saturating_sub(1);
        ((marked.place(at) * last as f64).round() as usize).min(last)
    };
    let mut rule = vec!['─'; columns];
    for (number, mark) in ('1'..='9').zip(marked.marks) {
        if let Some(place) = rule.get_mut(column(mark.at)) {
            // Why the first stays: the list below has them all.
            *place = if *place == '─' { number } else { *place };
        }
    }
    page.faint(&format!("{:>LABEL$} └", ""));
    for c in &rule {
        let look = match c {
            '─' => TextStyle::Faint,
            _ => TextStyle::Warn,
        };
        page.put(look, &c.to_string());
    }
    page.end();
    let (Some(first), Some(last)) = (marked.moments.first(), marked.moments.last()) else {
        return;
    };
    let mut below = String::new();
    for (at, words) in scale::moments(*first, *last, columns / 12) {
        let column = column(at);
        if below.width() < column + 1 && column + words.width() <= columns {
            let gap = column - below.width();
            below.push_str(&" ".repeat(gap));
            below.push_str(&words);
            below.push(' ');
        }
    }
    page.faint(&format!("{:>LABEL$}  {}", "", below.trim_end()))
        .end();
}

fn over_names(page: &mut Page, panel: &Panel, line: &Line, names: &[String], width: usize) {
    title(page, panel, line);
    let names: Vec<String> = names.iter().map(|name| cut(name, NAME_MAX)).collect();
    let widest = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let numbers = line.values.iter().filter_map(|value| *value);
    let scale = Scale::of(numbers, 4, true);
    let columns = width.saturating_sub(widest + 16).max(10);
    for (name, value) in names.iter().zip(&line.values) {
        let pad = " ".repeat(widest - name.width());
        page.text(&format!("  {pad}{name} "));
        match value {
            Some(value) => {
                let (nought, place) = (scale.place(0.0), scale.place(*value));
                let eighths = |place: f64| (place * (columns * 8) as f64).round() as usize;
                let (from, to) = (eighths(nought.min(place)), eighths(nought.max(place)));
                page.text(&bar(from, to)).text(&format!(" {value}"));
            }
            None => {
                page.faint("-");
            }
        }
        page.end();
    }
}

/// A bar from one eighth of a column to another.
fn bar(from: usize, to: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let whole = (to / 8).saturating_sub(from / 8);
    let part = PARTS.get(to % 8).copied().unwrap_or_default();
    let bar = format!("{}{}{part}", " ".repeat(from / 8), "█".repeat(whole));
    if to > from && bar.trim().is_empty() {
        return format!("{bar}▏");
    }
    bar
}

/// Dots, eight a column and row.
struct Canvas {
    columns: usize,
    rows: usize,
    dots: Vec<u8>,
}

impl Canvas {
    fn new(columns: usize, rows: usize) -> Self {
        Self {
            columns,
            rows,
            dots: vec![0; columns * rows],
        }
    }

    /// The dot at this part of the width.
    fn across(&self, place: f64) -> usize {
        (place.clamp(0.0, 1.0) * (self.columns * 2 - 1) as f64).round() as usize
    }

    /// The dot at this part of the height, counted from the top.
    fn up(&self, place: f64) -> usize {
        ((1.0 - place.clamp(0.0, 1.0)) * (self.rows * 4 - 1) as f64).round() as usize
    }

    fn dot(&mut self, x: usize, y: usize) {
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let bit = BITS.get(x % 2).and_then(|bits| bits.get(y % 4));
        let cell = self.dots.get_mut(y / 4 * self.columns + x / 2);
        if let (Some(cell), Some(bit)) = (cell, bit) {
            *cell |= bit;
        }
    }

    fn line(&mut self, (x, y): (usize, usize), (to_x, to_y): (usize, usize)) {
        let steps = x.abs_diff(to_x).max(y.abs_diff(to_y)).max(1);
        for step in 0..=steps {
            let between = |from: usize, to: usize| {
                let part = step as f64 / steps as f64;
                (from as f64 + (to as f64 - from as f64) * part).round() as usize
            };
            self.dot(between(x, to_x), between(y, to_y));
        }
    }

    fn rows(&self) -> impl Iterator<Item = String> {
        self.dots.chunks(self.columns.max(1)).map(|row| {
            // Why a space for none: the braille sign for it is not seen, and so is escaped.
            let dot = |bits: &u8| match bits {
                0 => ' ',
                bits => char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' '),
            };
            row.iter().map(dot).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use provost_engine::run::read::plot::read;
    use serde_json::{Value, json};

    use super::*;

    fn drawn(value: &Value, marks: Vec<Mark>) -> String {
        let series = read(value, None).unwrap();
        let plot = Plot { series, marks };
        let text = page("latency", &plot, 50).finish();
        anstream::adapter::strip_str(&text).to_string()
    }

    #[test]
    fn a_line_stands_over_its_moments_with_those_of_others() {
        let rows: Vec<Value> = (0..60)
            .map(|minute| {
                let p95 = if minute < 40 { 100 + minute % 3 } else { 290 };
                json!({ "ts": format!("2026-05-12T09:{minute:02}:00Z"), "p95_ms": p95 })
            })
            .collect();
        let at = 1_778_578_380_000;
        let of = "deployment.deployed_at".to_owned();
        insta::assert_snapshot!(drawn(&json!(rows), vec![Mark { at, of }]), @r"
        latency over ts

          p95_ms in ms
              300 ┤                          ⡖⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒⠒
                  │                          ⡇
                  │                          ⡇
              200 ┤                         ⢰⠁
                  │                         ⢸
              100 ┤⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣀⣸
                  │
                  │
                0 ┤
                  └─────────────────────1─────────────────
                   09:00     09:15    09:30     09:45

                1 2026-05-12 09:33:00  deployment.deployed_at
                  times are in UTC; 60 rows
        ");
    }

    #[test]
    fn bars_stand_beside_their_names() {
        let rows = json!([
            { "queue": "PAY", "open": 17 },
            { "queue": "a\u{1b}[31mb", "open": 4.5 },
            { "queue": "WEB", "open": null },
            { "queue": "NONE", "open": 0 },
        ]);
        let text = drawn(&rows, Vec::new());
        assert!(!text.contains('\u{1b}'), "{text}");
        insta::assert_snapshot!(text, @r"
        latency over queue

          open
                   PAY ██████████████████▊ 17
          a\u{1b}[31mb █████ 4.5
                   WEB -
                  NONE  0
        ");
    }
}
