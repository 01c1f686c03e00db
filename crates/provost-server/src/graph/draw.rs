//! The picture as SVG: boxes with links, lines, a view box, and no style of its own.
//!
//! Owns sizes and the escaping of what it writes. Never writes a colour: the style sheet has one
//! class for each status. INVARIANT: every text and every id is escaped.

use std::fmt::Write as _;

use super::{GraphShape, Picture, Place, StepBox};
use crate::markup::{escape, shortened};

const WIDTH: i32 = 176;
const HEIGHT: i32 = 46;
const GAP: i32 = 16;
const BETWEEN: i32 = 52;
const BEND: i32 = 14;
const MARGIN: i32 = 12;
const NAME_MAX: usize = 21;
const DOES_MAX: usize = 25;

/// Widest drawing that is made smaller to fit: of a wider one nobody could read the names.
const FITS_MAX: i32 = 1500;

/// The size of a drawing of these layers.
pub(super) fn size(layers: &[Vec<Place>], across: bool) -> (i32, i32) {
    let longest = layers.iter().map(|row| breadth(row, across)).max();
    let breadth = longest.unwrap_or(0) + 2 * MARGIN;
    let count = i32::try_from(layers.len()).unwrap_or(i32::MAX / 1000);
    let deep = if across { WIDTH } else { HEIGHT };
    let depth = count * (deep + BETWEEN) - BETWEEN + 2 * MARGIN;
    if across {
        (depth, breadth)
    } else {
        (breadth, depth)
    }
}

/// How much of the breadth a place takes.
fn takes(place: Place, across: bool) -> i32 {
    match place {
        Place::Box(_) if across => HEIGHT,
        Place::Box(_) => WIDTH,
        Place::Bend(_) => BEND,
    }
}

fn breadth(row: &[Place], across: bool) -> i32 {
    let all: i32 = row.iter().map(|place| takes(*place, across) + GAP).sum();
    (all - GAP).max(0)
}

/// The middle of each place, by layer and number.
fn middles(picture: &Picture) -> Vec<Vec<(i32, i32)>> {
    let across = picture.across;
    let (width, height) = picture.size;
    let whole = if across { height } else { width };
    let deep = if across { WIDTH } else { HEIGHT };
    let layers = picture.layers.iter().zip(0..);
    let of_layer = |(row, number): (&Vec<Place>, i32)| {
        let depth = MARGIN + number * (deep + BETWEEN) + deep / 2;
        let mut at = (whole - breadth(row, across)) / 2;
        let of_place = |place: &Place| {
            let takes = takes(*place, across);
            let middle = at + takes / 2;
            at += takes + GAP;
            if across {
                (depth, middle)
            } else {
                (middle, depth)
            }
        };
        row.iter().map(of_place).collect()
    };
    layers.map(of_layer).collect()
}

/// The picture as SVG; `link` makes the address of a box.
#[must_use]
pub fn svg(shape: &GraphShape, picture: &Picture, link: impl Fn(&StepBox) -> String) -> String {
    let (width, height) = picture.size;
    let middles = middles(picture);
    let wide = if width > FITS_MAX { " is-wide" } else { "" };
    let mut out = format!(
        "<svg class=\"graph{wide}\" role=\"group\" aria-label=\"the graph of the plan\" \
         viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\">"
    );
    out.push_str("<g class=\"edges\" aria-hidden=\"true\">");
    for way in &picture.lines {
        let points: Vec<(i32, i32)> = way
            .iter()
            .filter_map(|(layer, number)| middles.get(*layer)?.get(*number).copied())
            .collect();
        line(&mut out, &points, picture.across);
    }
    out.push_str("</g>");
    for (row, places) in picture.layers.iter().zip(&middles) {
        for (place, middle) in row.iter().zip(places) {
            if let Place::Box(at) = place
                && let Some(one) = shape.boxes.get(*at)
            {
                step(
                    &mut out,
                    one,
                    *middle,
                    &stubs(shape, picture, *at),
                    &link(one),
                );
            }
        }
    }
    out.push_str("</svg>");
    out
}

/// A line through points, with a head at its end.
fn line(out: &mut String, points: &[(i32, i32)], across: bool) {
    let (half_x, half_y) = (WIDTH / 2, HEIGHT / 2);
    let last = points.len().saturating_sub(1);
    let mut before = None;
    out.push_str("<path class=\"edge\" d=\"");
    for (number, (x, y)) in points.iter().copied().enumerate() {
        // Why: a line begins and ends at the rim of a box, and goes through a bend.
        let (x, y) = match (number, across) {
            (0, true) => (x + half_x, y),
            (0, false) => (x, y + half_y),
            (at, true) if at == last => (x - half_x - 5, y),
            (at, false) if at == last => (x, y - half_y - 5),
            _ => (x, y),
        };
        let _ = match before {
            None => write!(out, "M{x} {y}"),
            Some((bx, by)) if across => {
                let half = (bx + x) / 2;
                write!(out, "C{half} {by} {half} {y} {x} {y}")
            }
            Some((bx, by)) => {
                let half = (by + y) / 2;
                write!(out, "C{bx} {half} {x} {half} {x} {y}")
            }
        };
        before = Some((x, y));
    }
    out.push_str("\"/>");
    if let Some((x, y)) = before {
        let _ = match across {
            true => write!(out, "<path class=\"head\" d=\"M{} {y}l-6 -4v8z\"/>", x + 5),
            false => write!(out, "<path class=\"head\" d=\"M{x} {}l-4 -6h8z\"/>", y + 5),
        };
    }
}

/// The names at the ends of lines that are not drawn.
fn stubs(shape: &GraphShape, picture: &Picture, at: usize) -> String {
    let name = |at: &usize| shape.boxes.get(*at).map(|one| one.name.as_str());
    let into = picture.stubs.iter().filter(|(_, to)| *to == at);
    let out_of = picture.stubs.iter().filter(|(from, _)| *from == at);
    let into: Vec<&str> = into.filter_map(|(from, _)| name(from)).collect();
    let out_of: Vec<&str> = out_of.filter_map(|(_, to)| name(to)).collect();
    let mut words = Vec::new();
    if !into.is_empty() {
        words.push(format!("after {}", into.join(", ")));
    }
    if !out_of.is_empty() {
        words.push(format!("before {}", out_of.join(", ")));
    }
    words.join("; ")
}

fn step(out: &mut String, one: &StepBox, (x, y): (i32, i32), stubs: &str, link: &str) {
    let (left, top) = (x - WIDTH / 2, y - HEIGHT / 2);
    let far = match stubs {
        "" => String::new(),
        stubs => format!("; {stubs}"),
    };
    let title = format!("{} {}, {}{far}", one.name, one.does, one.status);
    let many = if one.stands_for > 1 { " is-many" } else { "" };
    let group = if one.group.is_some() { " is-part" } else { "" };
    let _ = write!(
        out,
        "<a class=\"node is-{look}{many}{group}\" id=\"node-{id}\" href=\"{link}\">\
         <title>{title}</title>\
         <rect x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"8\"/>\
         <text class=\"glyph\" aria-hidden=\"true\" x=\"{glyph_x}\" y=\"{glyph_y}\">{glyph}</text>\
         <text class=\"name\" x=\"{text_x}\" y=\"{name_y}\">{name}</text>\
         <text class=\"does\" x=\"{text_x}\" y=\"{does_y}\">{does}</text>",
        look = one.look,
        id = escape(&one.id),
        link = escape(link),
        title = escape(&shortened(&title, 200)),
        glyph_x = left + 15,
        glyph_y = y + 5,
        glyph = glyph(one.look),
        text_x = left + 29,
        name_y = y - 3,
        does_y = y + 14,
        name = escape(&shortened(&one.name, NAME_MAX)),
        does = escape(&shortened(&one.does, DOES_MAX)),
    );
    if !stubs.is_empty() {
        let _ = write!(
            out,
            "<text class=\"stub\" x=\"{x}\" y=\"{}\">{}</text>",
            y + HEIGHT / 2 + 12,
            escape(&shortened(stubs, 30))
        );
    }
    out.push_str("</a>");
}

/// The shape of a status, beside its colour and its word.
#[must_use]
pub fn glyph(look: &str) -> &'static str {
    match look {
        "succeeded" | "undone" => "✓",
        "failed" | "refused" | "rejected" | "undo_failed" => "✗",
        "in_doubt" | "partly_undone" => "?",
        "waiting_approval" | "waiting_answer" | "paused" | "expired" => "‖",
        "running" | "planning" => "▸",
        "skipped" | "cancelled" => "–",
        "blocked" => "⊘",
        _ => "○",
    }
}
