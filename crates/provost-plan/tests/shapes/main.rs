//! Plans of every bad shape end soon: within the limits of size, count and work that have names.
//!
//! Each shape is a text no larger than a text may be. What it must come to is a count (findings,
//! steps, a code); the time is generous, and a tenth of it in a release build.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::disallowed_macros,
    reason = "tests: they measure"
)]

mod dear;
#[path = "../generated/mod.rs"]
mod generated;
mod room;
mod schemas;

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use generated::{checked, since, source, spent, terms};
use provost_plan::check::Terms;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::limits::{
    CYCLES_MAX, DIAGNOSTICS_MAX, EXPRESSION_BYTES_MAX, SOURCE_BYTES_MAX, SOURCE_DEPTH_MAX,
    SOURCE_NODES_MAX,
};
use provost_plan::plan::read::read_plan;
use provost_plan::render::{Style, render};

/// How much smaller the heaviest texts are where nothing is optimised.
const SLOWER: usize = if cfg!(debug_assertions) { 16 } else { 1 };
/// The most that reading and checking one text may take on a processor, whatever is in it.
const TIME_MAX: Duration = if cfg!(debug_assertions) {
    Duration::from_secs(60)
} else {
    Duration::from_secs(3)
};

const HEAD: &str = "schema: provost/plan/v1\nsteps:\n";
const LIST: &str = "tool: docs.list, args: { project: PAY }";

/// What a text comes to.
#[derive(Debug)]
struct Outcome {
    found: Vec<Diagnostic>,
    checked: bool,
}

impl Outcome {
    fn count(&self, code: Code) -> usize {
        self.found.iter().filter(|d| d.code == code).count()
    }

    /// What the last finding says of the rest.
    fn rest(&self) -> Option<&str> {
        let last = self.found.last()?.notes.last()?;
        last.ends_with("more findings are not shown")
            .then_some(last)
    }
}

/// Reads, checks and draws a text, within the time.
#[track_caller]
fn outcome(name: &str, text: &str, terms: &Terms) -> Outcome {
    assert!(
        text.len() <= SOURCE_BYTES_MAX,
        "{name}: {} bytes",
        text.len()
    );
    let source = source(text);
    let (cpu, wall) = (spent(), Instant::now());
    let outcome = match read_plan(&source) {
        Err(found) => Outcome {
            found,
            checked: false,
        },
        Ok(plan) => {
            let checked = generated::check_plan(plan, terms);
            Outcome {
                found: checked.diagnostics,
                checked: checked.plan.is_some(),
            }
        }
    };
    let drawn = render(&source, &outcome.found, Style::default());
    let took = since(cpu, wall);
    println!(
        "{name}: {} KiB, {} findings, {} KiB drawn, {:.1} ms",
        text.len() / 1024,
        outcome.found.len(),
        drawn.len() / 1024,
        took.as_secs_f64() * 1_000.0
    );
    assert!(outcome.found.len() <= DIAGNOSTICS_MAX, "{name}");
    assert!(
        drawn.len() <= 4 * SOURCE_BYTES_MAX,
        "{name}: {} bytes drawn",
        drawn.len()
    );
    assert!(took <= TIME_MAX, "{name}: {took:?}");
    outcome
}

/// A plan of these steps, each on a line.
fn plan(steps: impl IntoIterator<Item = String>) -> String {
    let mut text = HEAD.to_owned();
    for step in steps {
        let _ = writeln!(text, "  - {{ {step} }}");
    }
    text
}

/// The ids of the first `count` steps, as a list.
fn ids(count: usize) -> String {
    let ids: Vec<String> = (0..count).map(|at| format!("s{at}")).collect();
    ids.join(", ")
}

#[test]
fn deepest_nesting() {
    let deep = |levels: usize| {
        let nested = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        plan([format!(
            "id: a, tool: docs.list, args: {{ project: {nested} }}"
        )])
    };
    let outer = 4;
    let held = outcome(
        "nesting, deepest",
        &deep(SOURCE_DEPTH_MAX - outer),
        &terms(),
    );
    assert_eq!(held.count(Code::TooLarge), 0);
    let beyond = outcome("nesting, beyond", &deep(SOURCE_DEPTH_MAX), &terms());
    assert_eq!(beyond.count(Code::TooLarge), 1);
    let far = outcome("nesting, far beyond", &deep(400_000), &terms());
    assert!(!far.found.is_empty());
    let indented: String = (0..700).fold(String::new(), |text, at| {
        text + &format!("{}a:\n", " ".repeat(at))
    });
    let blocks = outcome("nesting of blocks", &indented, &terms());
    assert!(!blocks.found.is_empty());
}

#[test]
fn a_thousand_steps_that_read_all_before() {
    // As dense as a text may be: each expression reads as many as it can hold.
    let steps = (0..1_000usize).map(|at| {
        let from = at.saturating_sub(45);
        let reads: Vec<String> = (from..at).map(|to| format!("steps.s{to}.status")).collect();
        let size = format!("size([{}])", reads.join(","));
        let limit: String = size.chars().take(EXPRESSION_BYTES_MAX - 8).collect();
        let limit = limit.rsplit_once(',').map_or(limit.clone(), |(kept, _)| {
            if size.len() > EXPRESSION_BYTES_MAX - 8 {
                format!("{kept}])")
            } else {
                size.clone()
            }
        });
        format!("id: s{at}, tool: docs.list, args: {{ project: a, limit: '${{ {limit} }}' }}")
    });
    let text = plan(steps);
    let held = outcome("reads of all before", &text, &terms());
    assert!(
        held.count(Code::UnknownStep) == 0,
        "{:?}",
        held.found.first()
    );
    let needs = plan((0..300).map(|at| format!("id: s{at}, {LIST}, needs: [{}]", ids(at))));
    outcome("needs of all before", &needs, &terms());
}

#[test]
fn a_thousand_writes_in_no_order() {
    let steps = (0..1_000).map(|at| {
        let args = format!("{{ id: PAY-1, state: open, note: n{at} }}");
        format!("id: s{at}, tool: docs.update, args: {args}, accept: '${{ output.ok }}'")
    });
    let held = outcome("writes in no order", &plan(steps), &terms());
    assert!(held.count(Code::ConcurrentWrites) >= DIAGNOSTICS_MAX - 1);
    // Every pair is counted: 1,000 × 999 / 2, less those that are shown.
    assert!(
        held.rest().is_some_and(|rest| {
            let count: usize = rest.split(' ').next().unwrap().parse().unwrap();
            count >= 499_400
        }),
        "{:?}",
        held.rest()
    );
    let same = (0..1_000)
        .map(|at| format!("id: s{at}, tool: docs.update, args: {{ id: PAY-1, state: open }}"));
    let held = outcome("the same write again", &plan(same), &terms());
    assert!(held.count(Code::RepeatedCall) >= DIAGNOSTICS_MAX - 1);
    let chained = (0..1_000usize).map(|at| {
        let before = at.saturating_sub(1);
        let args = format!("{{ id: PAY-1, state: open, note: n{at} }}");
        let needs = if at == 0 {
            String::new()
        } else {
            format!(", needs: [s{before}]")
        };
        format!("id: s{at}, tool: docs.update, args: {args}, accept: '${{ output.ok }}'{needs}")
    });
    let held = outcome("writes in a chain", &plan(chained), &terms());
    assert_eq!(held.count(Code::ConcurrentWrites), 0);
}

#[test]
fn long_lists_of_needs() {
    let many = "a, ".repeat(48_000);
    let known = plan([
        format!("id: a, {LIST}"),
        format!("id: b, {LIST}, needs: [{many}]"),
    ]);
    outcome("one long list of needs", &known, &terms());
    let unknown: Vec<String> = (0..40_000).map(|at| format!("x{at}")).collect();
    let mut steps: Vec<String> = (0..900)
        .map(|at| format!("id: step_{at}, {LIST}"))
        .collect();
    steps.push(format!("id: b, {LIST}, needs: [{}]", unknown.join(", ")));
    let held = outcome("needs of steps that are not there", &plan(steps), &terms());
    assert!(held.count(Code::UnknownStep) >= DIAGNOSTICS_MAX - 1);
}

#[test]
fn cycles_of_every_size() {
    let ring = (0..1_000).map(|at| format!("id: s{at}, {LIST}, needs: [s{}]", (at + 1) % 1_000));
    let held = outcome("one ring", &plan(ring), &terms());
    assert_eq!(held.count(Code::Cycle), 1);
    let pairs = (0..1_000).map(|at| format!("id: s{at}, {LIST}, needs: [s{}]", at ^ 1));
    let held = outcome("rings of two", &plan(pairs), &terms());
    assert_eq!(held.count(Code::Cycle), CYCLES_MAX);
    let all = (0..200).map(|at| format!("id: s{at}, {LIST}, needs: [{}]", ids(200)));
    let held = outcome("all wait for all", &plan(all), &terms());
    assert_eq!(held.count(Code::Cycle), CYCLES_MAX);
    let behind = (0..1_000).map(|at| {
        let to = if at == 0 { 999 } else { at - 1 };
        format!("id: s{at}, {LIST}, needs: [s{to}, s0]")
    });
    let held = outcome("all behind one ring", &plan(behind), &terms());
    assert!((1..=CYCLES_MAX).contains(&held.count(Code::Cycle)));
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "most of a minute without optimization: `scripts/full shapes` runs it"
)]
fn guards_that_rest_on_guards() {
    let chain = (0..1_000usize).map(|at| {
        let when = match at {
            0 => String::new(),
            _ => format!(
                ", when: '${{ steps.s{b}.status == \"succeeded\" && steps.s{b}.output.total > 0 }}'",
                b = at - 1
            ),
        };
        format!("id: s{at}, {LIST}{when}")
    });
    let held = outcome("a chain of guards", &plan(chain), &terms());
    assert_eq!(held.count(Code::UnguardedRead), 0);
    let wide = (0..1_000usize).map(|at| {
        let of = |b: usize| format!("steps.s{b}.status == \"succeeded\"");
        let terms: Vec<String> = (at.saturating_sub(25)..at).map(of).collect();
        let when = match at {
            0 => String::new(),
            _ => format!(", when: '${{ {} }}'", terms.join(" && ")),
        };
        format!("id: s{at}, {LIST}{when}")
    });
    let held = outcome("guards of many guards", &plan(wide), &terms());
    assert!(
        held.checked || held.count(Code::TooLarge) == 1,
        "{:?}",
        held.found.first()
    );
}

#[test]
fn labels_with_more_sources_than_are_named() {
    let chain = (0..1_000usize).map(|at| {
        if at == 0 {
            return format!("id: s0, {LIST}");
        }
        let b = at - 1;
        let read = format!("${{ steps.s{b}.status }}");
        let text = read.repeat(30);
        format!(
            "id: s{at}, tool: docs.list, args: {{ project: '{text}' }}, \
             when: '${{ steps.s{b}.status != \"failed\" }}'"
        )
    });
    let held = outcome("labels of a long chain", &plan(chain), &terms());
    assert_eq!(held.count(Code::TooLarge), 1, "{:?}", held.found.first());
    assert!(!held.checked);
}

#[test]
fn as_many_values_as_a_text_may_hold() {
    let values = |count: usize| {
        let list = vec!["1"; count].join(",");
        plan([format!(
            "id: a, tool: docs.list, args: {{ project: [{list}] }}"
        )])
    };
    let held = outcome("values", &values(SOURCE_NODES_MAX - 100), &terms());
    assert_eq!(held.count(Code::TooLarge), 0);
    let beyond = outcome("too many values", &values(SOURCE_NODES_MAX), &terms());
    assert_eq!(beyond.count(Code::TooLarge), 1);
    let keys: Vec<String> = (0..24_000).map(|at| format!("key_{at}: 1")).collect();
    let wide = plan([format!(
        "id: a, tool: docs.list, args: {{ {} }}",
        keys.join(", ")
    )]);
    let held = outcome("keys in one map", &wide, &terms());
    assert_eq!(held.found.len(), DIAGNOSTICS_MAX);
    assert!(held.count(Code::UnknownArgument) >= DIAGNOSTICS_MAX / 2 - 1);
    let fields = plan([format!("id: a, {LIST}, {}", keys.join(", "))]);
    let held = outcome("fields in one step", &fields, &terms());
    assert_eq!(held.count(Code::UnknownField), DIAGNOSTICS_MAX);
}

#[test]
#[cfg_attr(
    debug_assertions,
    ignore = "most of a minute without optimization: `scripts/full shapes` runs it"
)]
fn huge_texts() {
    let long = "x".repeat(1_000_000);
    for (name, text) in [
        (
            "an argument",
            plan([format!(
                "id: a, tool: docs.list, args: {{ project: {long} }}"
            )]),
        ),
        ("a need", plan([format!("id: a, {LIST}, needs: [{long}]")])),
        ("a tool", plan([format!("id: a, tool: {long}")])),
        ("an id", plan([format!("id: {long}, {LIST}")])),
        ("a field", plan([format!("id: a, {LIST}, {long}: 1")])),
        (
            "a description",
            plan([format!("id: a, {LIST}, description: {long}")]),
        ),
        (
            "an expression",
            plan([format!("id: a, {LIST}, when: '${{ {long} }}'")]),
        ),
        (
            "an open expression",
            plan([format!("id: a, {LIST}, when: '${{ {long}'")]),
        ),
        (
            "a text in an expression",
            plan([format!("id: a, {LIST}, when: \"${{ '{long}' }}\"")]),
        ),
        (
            "a comment in an expression",
            plan([format!("id: a, {LIST}, when: \"${{ 1 // {long}\"")]),
        ),
        (
            "a number",
            plan([format!("id: a, {LIST}, retry: {}", "9".repeat(1_000_000))]),
        ),
        (
            "dollars",
            plan([format!("id: a, {LIST}, when: '{}'", "$".repeat(1_000_000))]),
        ),
        (
            "openings",
            plan([format!("id: a, {LIST}, when: '{}'", "${".repeat(500_000))]),
        ),
        ("line ends", "\n".repeat(1_000_000)),
        ("spaces", " ".repeat(1_000_000)),
        ("dashes", "- ".repeat(500_000)),
        ("colons", ": ".repeat(500_000)),
        ("questions", "? ".repeat(500_000)),
        ("quotes", "\"".repeat(1_000_000)),
        ("braces", "{".repeat(1_000_000)),
        ("keys", "a: ".repeat(300_000)),
    ] {
        outcome(name, &text, &terms());
    }
}

#[test]
fn expressions_as_long_as_they_may_be_in_every_field() {
    let fill = |text: &str, between: &str| {
        let count = (EXPRESSION_BYTES_MAX - 40) / (text.len() + between.len());
        vec![text; count.max(1)].join(between)
    };
    let sums = fill("steps.s0.output.total", " + ");
    let ands = fill("steps.s0.output.total > 0", " && ");
    let ors = fill("steps.s0.status == \"failed\"", " || ");
    let choices = fill("steps.s0.output.total > 1 ? 1 ", ": ") + ": 2";
    let nested = format!("{}1{}", "(".repeat(30), ")".repeat(30));
    let negations = format!("{}true", "!".repeat(30));
    let lists = fill("steps.s0.output.items", " + ");
    let walks = "steps.s0.output.items.map(x, steps.s0.output.items.filter(y, y.id == x.id))";
    let walks = fill(walks, " + ");
    for (name, expression) in [
        ("sums", &sums),
        ("ands", &ands),
        ("ors", &ors),
        ("choices", &choices),
        ("parentheses", &nested),
        ("negations", &negations),
        ("lists", &lists),
        ("walks", &walks),
    ] {
        let count = 900_000 / SLOWER / (expression.len() * 4 + 200);
        let first = format!("id: s0, {LIST}");
        let rest = (1..=count.min(999)).map(|at| {
            format!(
                "id: s{at}, tool: docs.list, args: {{ project: '${{ {expression} }}', \
                 limit: '${{ {expression} }}' }}, when: '${{ {expression} }}', \
                 accept: '${{ {expression} }}'"
            )
        });
        outcome(name, &plan(std::iter::once(first).chain(rest)), &terms());
    }
    let many = "${a}".repeat(200_000);
    outcome(
        "expressions in one text",
        &plan([format!("id: a, {LIST}, when: '{many}'")]),
        &terms(),
    );
    let many = "${steps.a.status}".repeat(50_000);
    let said = format!("{}answer: '{many}'\n", plan([format!("id: a, {LIST}")]));
    outcome("expressions in an answer", &said, &terms());
}

#[test]
fn as_many_calls_as_can_be_written() {
    let steps = (0..1_000).map(|at| {
        let each = "for_each: '${ steps.s0.output.items }', max_items: 1000, retry: { attempts: 100, backoff: 8760h }";
        if at == 0 {
            format!("id: s0, {LIST}")
        } else {
            format!("id: s{at}, {LIST}, {each}")
        }
    });
    let held = outcome("lists times attempts", &plan(steps), &terms());
    assert_eq!(held.count(Code::TooManyAttempts), 1);
    assert!(
        held.found
            .iter()
            .any(|d| d.message.starts_with("up to 99900003 attempts"))
    );
}

#[test]
fn findings_beyond_counting() {
    let steps = (0..1_000).map(|at| {
        format!(
            "id: s{at}, tool: dcos.list, needs: [a, b, c, d, e], args: {{ x: '${{ steps.q.z }}' }}"
        )
    });
    let held = outcome("wrong everywhere", &plan(steps), &terms());
    assert_eq!(held.found.len(), DIAGNOSTICS_MAX);
    assert!(held.rest().is_some());
    // Warnings and notes give way to errors.
    let mut steps: Vec<String> = (0..400).map(|at| format!("id: s{at}, {LIST}")).collect();
    steps.push("id: z, tool: nothing.here".to_owned());
    let held = outcome("one error behind many warnings", &plan(steps), &terms());
    assert_eq!(held.count(Code::UnknownTool), 1);
    assert_eq!(held.found.len(), DIAGNOSTICS_MAX);
}

#[test]
fn generated_plans_are_without_errors() {
    let terms = terms();
    for steps in [10, 100, 1_000] {
        let text = generated::plan_text(steps);
        let held = checked(&text, &terms);
        assert!(held.plan.is_some(), "{:#?}", held.diagnostics);
        assert_eq!(held.plan.unwrap().plan().steps.len(), steps);
    }
}
