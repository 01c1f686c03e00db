//! Plans drawn at random, and revisions of them.
//!
//! Owns what a drawn plan is made of. Draws every feature of a step that this version carries out.
//! INVARIANT: every write of a plan has a target of its own, but for those that a revision repeats
//! on purpose, so the world can count effects by target.

use std::fmt::Write as _;

use provost_plan::plan::Limits;

use super::scenario::{READS, WRITES};
use crate::rng::Rng;

/// The id of the subgoal of a drawn plan that has one.
const SUBGOAL: &str = "g0";
/// How many steps it may be refined into.
pub(super) const CHILDREN_MAX: u64 = 3;

/// The text that a polled read is called with.
pub(super) const POLLED: &str = "poll";
/// The most polls of a drawn step.
const POLLS_MAX: u64 = 6;

/// A step as text, with what others must know of it.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) id: String,
    /// What it calls; empty for a question.
    pub(super) tool: String,
    pub(super) target: String,
    /// The other half of what it reaches.
    pub(super) place: String,
    text: String,
    /// Whether its output is there whenever something that needs it runs.
    certain: bool,
    guarded: bool,
    items: u64,
    attempts: u64,
}

/// A drawn plan.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    pub(super) steps: Vec<Step>,
    success: String,
    answer: String,
    limits: String,
}

/// Draws a plan of 5 to 20 steps.
pub(super) fn draw(rng: &mut Rng) -> Sketch {
    let count = 5 + rng.draw() % 16;
    let mut steps: Vec<Step> = Vec::new();
    for index in 0..count {
        let step = draw_step(rng, index, &steps);
        steps.push(step);
    }
    let success = success(rng, &steps);
    let answer = answer(rng, &steps);
    let limits = if rng.permille(250) {
        format!("limits: {{ concurrency: {} }}\n", 1 + rng.draw() % 4)
    } else {
        String::new()
    };
    Sketch {
        steps,
        success,
        answer,
        limits,
    }
}

fn draw_step(rng: &mut Rng, index: u64, before: &[Step]) -> Step {
    let id = format!("s{index}");
    if rng.permille(70) {
        return question(id, index % 2 == 1);
    }
    let reads = rng.permille(400) || index == 0;
    let tool = if reads {
        rng.pick(&READS)
    } else {
        rng.pick(&WRITES)
    };
    let mut text = format!("  - id: {id}\n    tool: {tool}\n");
    let certain: Vec<String> = before
        .iter()
        .filter(|step| step.certain)
        .map(|step| step.id.clone())
        .collect();
    let feeds = |rng: &mut Rng| -> Option<String> {
        let at = usize::try_from(rng.draw()).unwrap_or(0) % certain.len().max(1);
        certain.get(at).cloned()
    };
    let from = feeds(rng);
    let guarded = rng.permille(200) && guard(rng, &mut text, from, before);
    let from = feeds(rng);
    let (items, target) = list(rng, &mut text, &id, from);
    let mut args = format!("to: {target}, place: {id}");
    if let Some(from) = feeds(rng).filter(|_| rng.permille(300)) {
        let _ = write!(args, ", n: '${{ steps.{from}.output.total }}'");
        if !reads {
            text.push_str("    fresh: 500ms\n");
        }
    }
    let polls = reads && rng.permille(120);
    if polls {
        polling(rng, &mut text, &mut args);
    } else if rng.permille(150) {
        args.push_str(", text: hello");
    }
    let _ = writeln!(text, "    args: {{ {args} }}");
    needs(rng, &mut text, before);
    if !reads && items == 0 && rng.permille(400) {
        let _ = writeln!(
            text,
            "    undo: {{ tool: note.put, args: {{ to: u-{id}, place: u-{id} }} }}"
        );
    }
    if !reads {
        text.push_str("    accept: ['${ output.done }']\n");
    } else if rng.permille(300) {
        text.push_str("    accept: ['${ output.total >= 0 }']\n");
    }
    let (attempts, passes) = failure(rng, &mut text);
    Step {
        place: id.clone(),
        id,
        tool: tool.to_owned(),
        target,
        text,
        certain: !guarded && items == 0 && !passes,
        guarded,
        items: items.max(1),
        attempts: if polls {
            attempts * POLLS_MAX
        } else {
            attempts
        },
    }
}

/// `until`, with a call to which the tool says now and then that it is done.
fn polling(rng: &mut Rng, text: &mut String, args: &mut String) {
    let _ = write!(args, ", text: {POLLED}");
    let every = rng.pick(&[300, 1_000, 4_000]);
    let at_most = every * (POLLS_MAX - 1);
    let _ = writeln!(
        text,
        "    until: '${{ output.done }}'\n    every: {every}ms\n    at_most: {at_most}ms"
    );
}

/// How long a question waits that lapses, in milliseconds.
pub(super) const QUESTION_MS: i64 = 3_600_000;

fn question(id: String, lapses: bool) -> Step {
    let lapse = match lapses {
        true => format!(", expires: {QUESTION_MS}ms, default: {{ total: 0 }}"),
        false => String::new(),
    };
    let text = format!(
        "  - id: {id}\n    question: {{ text: \"how many?\", answer: {{ type: object, \
         properties: {{ total: {{ type: integer }} }}, required: [total], \
         additionalProperties: false }}{lapse} }}\n"
    );
    Step {
        id,
        tool: String::new(),
        target: String::new(),
        place: String::new(),
        text,
        certain: true,
        guarded: false,
        items: 0,
        attempts: 0,
    }
}

/// A `when`; says whether there is one.
fn guard(rng: &mut Rng, text: &mut String, feeds: Option<String>, before: &[Step]) -> bool {
    let at = usize::try_from(rng.draw()).unwrap_or(0) % before.len().max(1);
    let guard = match (feeds, before.get(at)) {
        (Some(from), _) if rng.permille(600) => {
            format!("steps.{from}.output.total > {}", rng.between(0, 8))
        }
        (_, Some(other)) if rng.permille(700) => {
            format!("steps.{}.status == \"succeeded\"", other.id)
        }
        (_, Some(other)) => format!("steps.{}.status != \"succeeded\"", other.id),
        (_, None) => return false,
    };
    let _ = writeln!(text, "    when: '${{ {guard} }}'");
    true
}

/// A `for_each`, and the target; the items it may have.
fn list(rng: &mut Rng, text: &mut String, id: &str, feeds: Option<String>) -> (u64, String) {
    if !rng.permille(170) {
        return (0, format!("t-{id}"));
    }
    let list = match feeds {
        Some(from) if rng.permille(300) => format!("[steps.{from}.output.total]"),
        _ => rng.pick(&["[1, 2]", "[1, 2, 3]", "[]", "[4]"]).to_owned(),
    };
    let _ = writeln!(text, "    for_each: '${{ {list} }}'\n    max_items: 4");
    (4, format!("'t-{id}-${{ item }}'"))
}

fn needs(rng: &mut Rng, text: &mut String, before: &[Step]) {
    let mut needs: Vec<&str> = Vec::new();
    for _ in 0..rng.draw() % 3 {
        let at = usize::try_from(rng.draw()).unwrap_or(0) % before.len().max(1);
        if let Some(other) = before
            .get(at)
            .filter(|other| !needs.contains(&other.id.as_str()))
        {
            needs.push(&other.id);
        }
    }
    if !needs.is_empty() {
        let _ = writeln!(text, "    needs: [{}]", needs.join(", "));
    }
}

/// What a failure leads to; the attempts, and whether the plan may go on without an output.
fn failure(rng: &mut Rng, text: &mut String) -> (u64, bool) {
    let mut attempts = 3;
    if rng.permille(400) {
        attempts = 1 + rng.draw() % 4;
        let backoff = rng.pick(&["100ms", "500ms", "2s"]);
        let _ = writeln!(
            text,
            "    retry: {{ attempts: {attempts}, backoff: {backoff} }}"
        );
    }
    if rng.permille(150) {
        text.push_str("    timeout: 1s\n");
    }
    if rng.permille(80) {
        text.push_str("    approval: required\n");
    }
    let wanted = rng.pick(&["replan", "replan", "stop", "continue", "escalate"]);
    let _ = writeln!(text, "    on_failure: {wanted}");
    (attempts, ["continue", "escalate"].contains(&wanted))
}

fn success(rng: &mut Rng, steps: &[Step]) -> String {
    let mut parts: Vec<String> = Vec::new();
    for step in steps {
        let done = format!("steps.{}.status == \"succeeded\"", step.id);
        if step.certain && rng.permille(300) {
            parts.push(done);
        } else if step.guarded && rng.permille(200) {
            parts.push(format!(
                "({done} || steps.{}.status == \"skipped\")",
                step.id
            ));
        }
    }
    if parts.is_empty() {
        parts.push("steps.s0.status == \"succeeded\"".to_owned());
    }
    parts.truncate(8);
    parts.join(" && ")
}

fn answer(rng: &mut Rng, steps: &[Step]) -> String {
    let certain: Vec<&Step> = steps.iter().filter(|step| step.certain).collect();
    let at = usize::try_from(rng.draw()).unwrap_or(0) % certain.len().max(1);
    let mut text = String::from("answer:\n  - text: it is over\n");
    if let Some(step) = certain.get(at) {
        let id = &step.id;
        let _ = writeln!(
            text,
            "  - {{ when: '${{ steps.{id}.status == \"succeeded\" }}', \
             text: \"found ${{ steps.{id}.output.total }}\" }}"
        );
    }
    text
}

impl Sketch {
    /// The plan as a planner writes it.
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "schema: provost/plan/v1\nsuccess:\n  - for: goal\n    check: '${{ {} }}'\n{}steps:\n",
            self.success, self.limits
        );
        self.steps.iter().for_each(|step| text.push_str(&step.text));
        text.push_str(&self.answer);
        text
    }

    /// Limits that the worst case of the plan just meets, with a little room.
    pub(super) fn limits(&self, rng: &mut Rng) -> Limits {
        let calls: u64 = self.steps.iter().map(|step| step.items).sum();
        let attempts: u64 = self.steps.iter().map(|s| s.items * s.attempts).sum();
        let mut limits = Limits {
            revisions: rng.draw() % 4,
            proposals: 1 + rng.draw() % 3,
            wall_ms: 36_000_000,
            ..Limits::default()
        };
        if rng.permille(300) {
            limits.calls = calls + rng.draw() % 4;
            limits.attempts = attempts + rng.draw() % 4;
        }
        if rng.permille(300) {
            limits.concurrency = 1 + rng.draw() % 4;
        }
        limits
    }

    /// Adds a step that calls `tool` on `target`; with `alone`, success hangs on it alone.
    pub(super) fn add(&mut self, tool: &str, (target, place): (&str, &str), alone: bool) {
        let id = format!("r{}", self.steps.len());
        let text = format!(
            "  - id: {id}\n    tool: {tool}\n    args: {{ to: {target}, place: {place} }}\n    \
             accept: ['${{ output.done }}']\n"
        );
        let done = format!("steps.{id}.status == \"succeeded\"");
        self.success = if alone {
            done
        } else {
            format!("({}) || {done}", self.success)
        };
        self.steps.push(Step {
            id,
            tool: tool.to_owned(),
            target: target.to_owned(),
            place: place.to_owned(),
            text,
            certain: true,
            guarded: false,
            items: 1,
            attempts: 3,
        });
    }

    /// Adds a subgoal that nobody has refined.
    pub(super) fn coarse(&mut self) {
        let text = format!(
            "  - id: {SUBGOAL}\n    subgoal: whatever is left\n    tools: [{}, {}]\n    \
             effect_max: destructive\n    steps_max: {CHILDREN_MAX}\n    \
             output: {{ type: integer, maximum: 5 }}\n",
            READS.join(", "),
            WRITES.join(", ")
        );
        self.steps.push(Step {
            id: SUBGOAL.to_owned(),
            tool: String::new(),
            target: String::new(),
            place: String::new(),
            text,
            certain: false,
            guarded: false,
            items: CHILDREN_MAX,
            attempts: 3,
        });
    }

    /// Refines the subgoal: by a step more, or by what it comes to, which now and then is more than
    /// it promised.
    pub(super) fn refine(&mut self, rng: &mut Rng) {
        let is_child = |step: &&Step| step.id.starts_with("g0/");
        let children = self.steps.iter().filter(is_child).count();
        let full = u64::try_from(children).unwrap_or(CHILDREN_MAX) >= CHILDREN_MAX;
        if !full && rng.permille(600) {
            let tool = if rng.permille(500) {
                rng.pick(&READS)
            } else {
                rng.pick(&WRITES)
            };
            let id = format!("{SUBGOAL}/c{children}");
            let target = format!("g{}", self.steps.len());
            let text = format!(
                "  - id: {id}\n    tool: {tool}\n    \
                 args: {{ to: {target}, place: {target} }}\n    \
                 accept: ['${{ output.done }}']\n    on_failure: {}\n",
                rng.pick(&["replan", "continue"])
            );
            self.steps.push(Step {
                id,
                tool: tool.to_owned(),
                place: target.clone(),
                target,
                text,
                certain: false,
                guarded: false,
                items: 1,
                attempts: 3,
            });
            return;
        }
        let result = rng.pick(&["1", "2", "size(run.id)"]);
        let open = self.steps.iter_mut().find(|step| step.id == SUBGOAL);
        if let Some(step) = open.filter(|step| !step.text.contains("result:")) {
            let _ = writeln!(step.text, "    result: '${{ {result} }}'");
        }
    }

    /// Claims that everything is done, whatever came of it.
    pub(super) fn lie(&mut self) {
        self.success = "steps.s0.status != \"pending\" || true".to_owned();
        self.answer = "answer: everything was done\n".to_owned();
    }
}
