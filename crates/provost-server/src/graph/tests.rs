#![expect(clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::*;

fn shape(count: usize, edges: impl IntoIterator<Item = (usize, usize)>) -> GraphShape {
    let boxes = (0..count).map(|at| StepBox {
        id: format!("s{at}"),
        name: format!("s{at}"),
        does: "tool.op".to_owned(),
        look: "pending",
        status: "waits".to_owned(),
        group: None,
        stands_for: 1,
    });
    GraphShape {
        boxes: boxes.collect(),
        edges: edges.into_iter().collect(),
    }
}

fn chain(count: usize) -> GraphShape {
    shape(count, (1..count).map(|at| (at - 1, at)))
}

fn fan(count: usize) -> GraphShape {
    shape(
        count + 2,
        (1..=count).flat_map(|at| [(0, at), (at, count + 1)]),
    )
}

/// `wide` columns of `deep` steps, each waiting for two of the column before.
fn grid(wide: usize, deep: usize) -> GraphShape {
    let edges = (1..wide).flat_map(|column| {
        (0..deep).flat_map(move |row| {
            let to = column * deep + row;
            let from = (column - 1) * deep;
            [(from + row, to), (from + (row + 1) % deep, to)]
        })
    });
    shape(wide * deep, edges)
}

/// A chain in which everything also waits for the first step.
fn context(count: usize) -> GraphShape {
    let mut shape = chain(count);
    shape.edges.extend((2..count).map(|at| (0, at)));
    shape
}

/// The picture as text: one line a layer, then the lines and stubs.
fn told(shape: &GraphShape, before: &[String]) -> String {
    let picture = layout(shape, before);
    let mut out = format!(
        "{} {}x{}\n",
        if picture.across { "across" } else { "down" },
        picture.size.0,
        picture.size.1
    );
    for row in &picture.layers {
        let places: Vec<String> = row
            .iter()
            .map(|place| match place {
                Place::Box(at) => shape.boxes[*at].id.clone(),
                Place::Bend(_) => "|".to_owned(),
            })
            .collect();
        let _ = writeln!(out, "{}", places.join(" "));
    }
    let _ = writeln!(
        out,
        "{} lines, {} stubs",
        picture.lines.len(),
        picture.stubs.len()
    );
    out
}

#[test]
fn shapes_are_laid_out() {
    for (name, shape, expected) in [
        (
            "chain",
            chain(4),
            "across 884x70\ns0\ns1\ns2\ns3\n3 lines, 0 stubs\n",
        ),
        ("long chain", chain(14), "down 200x1344\n"),
        (
            "fan",
            fan(3),
            "across 656x194\ns0\ns1 s2 s3\ns4\n6 lines, 0 stubs\n",
        ),
        (
            "context to all",
            context(5),
            "across 1112x70\ns0\ns1\ns2\ns3\ns4\n4 lines, 0 stubs\n",
        ),
        (
            "a line over two layers bends",
            shape(4, [(0, 1), (1, 2), (3, 2), (0, 3)]),
            "across 656x132\ns0\ns1 s3\ns2\n4 lines, 0 stubs\n",
        ),
        ("nothing", shape(0, []), "across -28x24\n0 lines, 0 stubs\n"),
    ] {
        let told = told(&shape, &[]);
        assert!(told.starts_with(expected), "{name}:\n{told}");
    }
}

#[test]
fn a_line_over_many_layers_is_a_stub() {
    // A second way of its own, so that the long line follows from no other.
    let mut long = chain(10);
    long.boxes.push(StepBox {
        id: "x".to_owned(),
        ..long.boxes[0].clone()
    });
    long.edges.push((10, 9));
    let told = told(&long, &[]);
    assert!(told.ends_with("9 lines, 1 stubs\n"), "{told}");
    let near = shape(4, [(0, 1), (1, 2), (3, 2)]);
    assert!(
        !self::told(&near, &[]).contains("1 stubs"),
        "the control: a short line is drawn"
    );
}

#[test]
fn what_follows_from_others_is_left_out_and_nothing_else() {
    let reach = |count: usize, edges: &[(usize, usize)]| {
        let mut all: BTreeSet<(usize, usize)> = edges.iter().copied().collect();
        loop {
            let more: Vec<(usize, usize)> = all
                .iter()
                .flat_map(|(a, b)| {
                    all.iter()
                        .filter(move |(c, _)| c == b)
                        .map(move |(_, d)| (*a, *d))
                })
                .filter(|edge| !all.contains(edge))
                .collect();
            if more.is_empty() {
                return (count, all);
            }
            all.extend(more);
        }
    };
    let mut seed = 7u64;
    for _ in 0..60 {
        let mut next = |below: usize| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        let edges: Vec<(usize, usize)> = (0..25)
            .map(|_| (next(9), next(9)))
            .filter(|(a, b)| a < b)
            .collect();
        let left = reduce::reduced(9, &edges);
        assert_eq!(reach(9, &left), reach(9, &edges), "{edges:?}");
        for at in 0..left.len() {
            let mut fewer = left.clone();
            fewer.remove(at);
            assert_ne!(
                reach(9, &fewer),
                reach(9, &edges),
                "{edges:?}: {at} follows from others"
            );
        }
    }
}

#[test]
fn a_revision_keeps_the_order_of_what_was_drawn() {
    let first = fan(5);
    let drawn: Vec<String> = ["s3", "s1", "s5", "s2", "s4"].map(str::to_owned).to_vec();
    assert!(
        told(&first, &drawn).contains("\ns3 s1 s5 s2 s4\n"),
        "{}",
        told(&first, &drawn)
    );
    assert!(
        told(&first, &[]).contains("\ns1 s2 s3 s4 s5\n"),
        "the control: else by the plan"
    );
    let mut second = fan(5);
    second.boxes.push(StepBox {
        id: "new".to_owned(),
        ..second.boxes[0].clone()
    });
    second.edges.push((0, 7));
    let again = told(&second, &drawn);
    let row = again.lines().nth(2).unwrap_or_default();
    let kept: Vec<&str> = row.split(' ').filter(|id| *id != "new").collect();
    assert_eq!(kept, ["s3", "s1", "s5", "s2", "s4"], "{again}");
}

#[test]
fn large_plans_fold_what_is_alike_and_nothing_that_waits() {
    let mut large = fan(400);
    large.boxes[7].look = "waiting_approval";
    let folded = fold::folded(large.clone(), &["s9"]);
    let names: Vec<&str> = folded.boxes.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["s0", "398 like s1", "s7", "s9", "s401"]);
    let stand: usize = folded.boxes.iter().map(|one| one.stands_for).sum();
    assert_eq!(stand, 402);
    assert_eq!(folded.edges.len(), 6);
    let small = fan(9);
    assert_eq!(
        fold::folded(small.clone(), &[]),
        small,
        "the control: a small plan is not folded"
    );
}

#[test]
fn a_drawing_is_links_and_lines_without_style_and_escapes_all_it_is_given() {
    let mut hostile = chain(2);
    hostile.boxes[1].id = "\"><script>alert(1)</script>".to_owned();
    hostile.boxes[1].name = "<svg onload=x>".to_owned();
    hostile.boxes[1].status = "\u{202e}'".to_owned();
    let picture = layout(&hostile, &[]);
    let svg = draw::svg(&hostile, &picture, |one| {
        format!("/runs/r/steps/{}", one.id)
    });
    for raw in ["<script", "<svg onload", "\u{202e}", "style=", "fill="] {
        let found = svg.match_indices(raw).count();
        assert_eq!(found, 0, "{raw} in {svg}");
    }
    assert_eq!(svg.matches("<a ").count(), 2);
    assert_eq!(svg.matches("class=\"edge\"").count(), 1);
    assert!(svg.contains("viewBox=\"0 0 428 70\""), "{svg}");
}

#[test]
fn large_shapes_are_quick_and_always_the_same() {
    let random = {
        let mut seed = 1u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let edges: Vec<(usize, usize)> = (0..3000)
            .map(|_| {
                let to = 1 + next(999);
                (to - 1 - next(to.min(60)), to)
            })
            .collect();
        shape(1000, edges)
    };
    for (name, shape) in [
        ("chain", chain(1000)),
        ("fan", fan(998)),
        ("grid", grid(40, 25)),
        ("context", context(1000)),
        ("random", random),
    ] {
        let first = layout(&shape, &[]);
        // Why the best of several: whatever else is busy only ever adds to it.
        let took = (0..7).map(|_| {
            let began = std::time::Instant::now();
            assert_eq!(first, layout(&shape, &[]), "{name}");
            began.elapsed()
        });
        let took = took.min().unwrap_or_default();
        println!("{name}: {took:?}");
        // Why so much: this is built without optimising, and shares its machine; an optimised
        // build is held to 5 ms by `scripts/full pages`.
        let most = if cfg!(debug_assertions) { 2000 } else { 5 };
        assert!(took.as_millis() < most, "{name}: {took:?}");
    }
}
