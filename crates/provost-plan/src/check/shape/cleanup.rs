//! Part of the pass `shape`: a step that takes back an earlier one, and that a failure stops.
//!
//! Owns S723. What is taken or stopped for a while is given back in any case, or the failure of a
//! step between leaves it as it is. INVARIANT: what is found takes back what the first did, at the
//! same target, and does not run where the named step fails.

use std::collections::BTreeSet;

use super::order::asks_for;
use crate::check::Pass;
use crate::check::effects::Opposites;
use crate::check::order::OrderNode;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Root};
use crate::plan::{Step, StepKind};

pub(super) fn run(pass: &Pass<'_>, found: &mut Vec<Diagnostic>) {
    let order = &pass.order;
    let opposites = Opposites::of(pass.plan);
    let backs = backs(pass, &opposites);
    for last in order.nodes() {
        if !last.operation.is_some_and(|op| backs.contains(&*op.name)) {
            continue;
        }
        let before = last.before.iter().filter_map(|at| order.node(at));
        let mut taken = before.filter(|first| takes_back(&opposites, first, last));
        let Some(first) = taken.next() else {
            continue;
        };
        let between = first.after.clone().and(&last.before);
        let between: Vec<&OrderNode<'_>> = between.iter().filter_map(|at| order.node(at)).collect();
        let goes_on = between.iter().find(|node| node.step.on_failure.may_go_on());
        let blocks = between.iter().find(|node| {
            let may_fail = node.operation.is_some() || node.step.assertion().is_some();
            may_fail && !node.step.on_failure.may_go_on() && last.step.rests_on(&node.step.id.value)
        });
        // Why no question: who says no wants nothing done, and nothing taken back.
        let asks = || {
            let mut calls = between.iter().filter(|node| node.operation.is_some());
            calls.find(|node| asks_for(last.step, &node.step.id.value))
        };
        if let Some(blocks) = blocks.or_else(asks) {
            found.push(finding(first.step, goes_on, blocks.step, last.step));
        }
    }
}

/// The operations that change something, and of which another that does is the opposite. Why first:
/// most have none, and then nothing is compared with all that stands before it.
fn backs<'p>(pass: &Pass<'p>, opposites: &Opposites<'_>) -> BTreeSet<&'p str> {
    let operations = pass.order.nodes().iter().filter_map(|node| node.operation);
    let acting = operations.filter(|op| !op.effect.is_read());
    let acting: BTreeSet<&str> = acting.map(|op| op.name.as_str()).collect();
    let is_back = |two: &&str| {
        acting
            .iter()
            .any(|one| one != two && opposites.are(one, two))
    };
    acting.iter().copied().filter(is_back).collect()
}

fn finding(
    first: &Step,
    goes_on: Option<&&OrderNode<'_>>,
    blocks: &Step,
    last: &Step,
) -> Diagnostic {
    let name = |step: &Step| step.id.value.clone();
    let message = format!(
        "`{}` takes back `{}`, and does not run where `{}` fails",
        name(last),
        name(first),
        name(blocks)
    );
    let mut finding = Diagnostic::new(Code::StoppedCleanup, last.id.span, message)
        .related(blocks.id.span, "a failure here stops it");
    if let Some(goes_on) = goes_on {
        finding = finding.related(goes_on.step.id.span, "the plan goes on if this fails");
    }
    finding
        .hint(format!(
            "write `on_failure: continue` at `{}` too",
            name(blocks)
        ))
        .step(&last.id.value)
}

/// Whether one call takes back what another does, at the same target.
fn takes_back(opposites: &Opposites<'_>, first: &OrderNode<'_>, last: &OrderNode<'_>) -> bool {
    let (
        StepKind::Tool { tool: one, args },
        StepKind::Tool {
            tool: two,
            args: back,
        },
    ) = (&first.step.kind, &last.step.kind)
    else {
        return false;
    };
    let acts = first.is_call_of(|op| !op.effect.is_read());
    if !acts || one.value == two.value || !opposites.are(&one.value, &two.value) {
        return false;
    }
    let made = Root::Step(first.step.id.value.clone());
    let reads = |tree: &ArgTree| {
        let mut read = tree.templates().into_iter().flat_map(|t| t.references());
        read.any(|read| read.root == made)
    };
    let mut entries = back.entries().iter();
    entries.any(|(name, tree)| {
        let same = args
            .get(name)
            .is_some_and(|(_, own)| own.form() == tree.form());
        same || reads(tree)
    })
}
