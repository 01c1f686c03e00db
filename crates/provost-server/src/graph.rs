//! The graph of a plan: where its steps stand, and the lines between them.
//!
//! Owns the layout: lines that follow from others are left out ([`reduce`]), layers by the longest
//! path ([`layer`]), order in a layer by barycentre ([`order`]), steps alike folded ([`fold`]), and
//! the SVG ([`draw`]). [`of_run`] alone knows a run. Never decides anything of a run. INVARIANT:
//! the same shape and the same order before give the same picture, to the byte.

pub mod draw;
pub mod fold;
pub mod layer;
pub mod of_run;
pub mod order;
pub mod reduce;

/// What is drawn: boxes in the order of the plan, and which waits for which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphShape {
    /// The boxes.
    pub boxes: Vec<StepBox>,
    /// From what is waited for to what waits, by place in `boxes`.
    pub edges: Vec<(usize, usize)>,
}

/// A step, or several alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepBox {
    /// The id of the step; of several alike, the first one's.
    pub id: String,
    /// What it is called in the picture.
    pub name: String,
    /// What it calls, or does instead.
    pub does: String,
    /// Its status, as one word for the style sheet: `waiting_approval`.
    pub look: &'static str,
    /// Its status in words, with how far its items are.
    pub status: String,
    /// The subgoal that it is a part of.
    pub group: Option<String>,
    /// How many steps it stands for.
    pub stands_for: usize,
}

/// Where everything stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    /// Whether layers follow one another from left to right; else downwards.
    pub across: bool,
    /// The layers, each with its boxes and bends in order.
    pub layers: Vec<Vec<Place>>,
    /// The lines that are drawn: from box to box by way of bends, each as layer and place.
    pub lines: Vec<Vec<(usize, usize)>>,
    /// Lines over too many layers: a stub with a name at both ends.
    pub stubs: Vec<(usize, usize)>,
    /// The size of the drawing.
    pub size: (i32, i32),
}

/// What stands in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A box.
    Box(usize),
    /// Where a line goes through.
    Bend(usize),
}

/// Lays a shape out. `before` is the order in which boxes were drawn last, by id: it is kept.
#[must_use]
pub fn layout(shape: &GraphShape, before: &[String]) -> Picture {
    let count = shape.boxes.len();
    let edges = reduce::reduced(count, &shape.edges);
    let layers = layer::longest_path(count, &edges);
    let kept = order::ranks(shape, before);
    order::arranged(&layers, &edges, &kept)
}

#[cfg(test)]
mod tests;
