//! The text of an enumerated plan.
//!
//! Owns how each part of a sketch is written. Never decides what a plan is made of. INVARIANT:
//! equal parts give equal text.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::super::asked::{self, FirstQuestion};
use super::super::catalog::{FIND, FRESH_MS, Kind, POLL_AT_MOST_MS, POLL_EVERY_MS};
use super::{AGAIN, Asserted, HELD, MINE, Place, Sketch};

/// What the text of a plan is made of.
#[derive(Clone, Copy)]
pub(super) struct Form<'p> {
    pub steps: &'p [Sketch],
    /// The only ones of them that it has, if not all.
    pub only: Option<&'p BTreeSet<String>>,
    pub asked: FirstQuestion,
    pub asserted: Option<Asserted>,
    pub mine: Option<Kind>,
    pub again: Option<&'p Place>,
}

impl<'p> Form<'p> {
    pub fn of(steps: &'p [Sketch]) -> Self {
        Self {
            steps,
            only: None,
            asked: FirstQuestion::None,
            asserted: None,
            mine: None,
            again: None,
        }
    }

    fn has(&self, index: usize) -> bool {
        self.only
            .is_none_or(|only| only.contains(&format!("s{index}")))
    }

    fn check(&self) -> String {
        let kept = (0..self.steps.len()).filter(|index| self.has(*index));
        let done = |id: &str| format!("steps.{id}.status == \"succeeded\"");
        let all: Vec<String> = kept.map(|index| done(&format!("s{index}"))).collect();
        let all = all.join(" && ");
        let more = match (self.mine, self.again) {
            (Some(_), _) => Some(done(MINE)),
            (None, Some(_)) => Some(done(AGAIN)),
            (None, None) => None,
        };
        match more {
            Some(more) if all.is_empty() => more,
            Some(more) => format!("({all}) || {more}"),
            None => all,
        }
    }

    pub fn text(&self) -> String {
        let check = self.check();
        let mut text = format!(
            "schema: provost/plan/v1\nsuccess:\n  - for: goal\n    check: '${{ {check} }}'\n"
        );
        if self.steps.iter().any(|step| step.same) {
            text.push_str("limits: { concurrency: 1 }\n");
        }
        text.push_str("steps:\n");
        text.push_str(&self.asked.step());
        for (index, step) in self.steps.iter().enumerate() {
            if self.has(index) {
                self.push(&mut text, index, step);
            }
        }
        if let Some(asserted) = self.asserted {
            let is = if asserted.holds { "!=" } else { "==" };
            let _ = writeln!(
                text,
                "  - id: {HELD}\n    assert: '${{ run.started_at {is} \"\" }}'\n    \
                 needs: [s0]\n    on_failure: stop"
            );
        }
        if let Some(kind) = self.mine {
            push_step(&mut text, MINE, kind, MINE);
        }
        if let Some(place) = self.again {
            // Why: the check refuses the same literals; what is known at run time only, it cannot
            // see.
            let target = format!("'${{ run.id != \"\" ? \"{}\" : \"\" }}'", place.target);
            push_step(&mut text, AGAIN, place.kind, &target);
            let _ = writeln!(text, "    needs: [{}]", place.step);
        }
        text.push_str("answer: done\n");
        text
    }

    fn push(&self, text: &mut String, index: usize, step: &Sketch) {
        let target = match step.items {
            0 => format!("s{index}"),
            _ if step.same => format!("s{index}, n: '${{ item }}'"),
            _ => "'${ item }'".to_owned(),
        };
        push_step(text, &format!("s{index}"), step.kind, &target);
        if step.polled {
            let _ = writeln!(
                text,
                "    until: '${{ output.done }}'\n    every: {POLL_EVERY_MS}ms\n    \
                 at_most: {POLL_AT_MOST_MS}ms"
            );
        }
        if step.confirmed {
            let _ = writeln!(
                text,
                "    confirm: {{ tool: {FIND}, args: {{ to: {target} }}, \
                 accept: ['${{ read.found }}'] }}"
            );
        }
        if step.undone {
            let tool = step.kind.operation();
            let _ = writeln!(
                text,
                "    undo: {{ tool: {tool}, args: {{ to: u{index} }} }}"
            );
        }
        if step.items > 0 {
            let items: Vec<_> = (0..step.items)
                .map(|i| format!("\"s{index}-{i}\""))
                .collect();
            let _ = writeln!(text, "    for_each: '${{ [{}] }}'", items.join(", "));
        }
        let mut needs: Vec<_> = step.needs.iter().map(|need| format!("s{need}")).collect();
        if step.fresh {
            let read = |need: &usize| format!("steps.s{need}.output.done");
            let reads: Vec<_> = step.needs.iter().map(read).collect();
            let _ = writeln!(text, "    when: '${{ {} }}'", reads.join(" && "));
            let _ = writeln!(text, "    fresh: {FRESH_MS}ms");
            return;
        }
        if needs.is_empty() && self.asked != FirstQuestion::None {
            needs.push(asked::QUESTION.to_owned());
        }
        if index > 0 && self.asserted.is_some_and(|asserted| asserted.heeded) {
            needs.push(HELD.to_owned());
        }
        if !needs.is_empty() {
            let _ = writeln!(text, "    needs: [{}]", needs.join(", "));
        }
    }
}

fn push_step(text: &mut String, id: &str, kind: Kind, target: &str) {
    let _ = writeln!(
        text,
        "  - id: {id}\n    description: changes what is counted\n    tool: {}\n    \
         args: {{ to: {target} }}\n    accept: ['${{ output.done }}']",
        kind.operation()
    );
}
