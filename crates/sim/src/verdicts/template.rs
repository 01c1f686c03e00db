//! The plans of the corpus: what each is for, what it calls, and how its planner may slip.
//!
//! Owns the plans of `plans/`, with `{P}` for a project or area, `{A}` and `{B}` for records that
//! are there and `{X}` for one that is not. INVARIANT: each plan, as it stands, succeeds in its
//! world.

/// A plan with what belongs to it.
pub(super) struct Template {
    pub(super) name: &'static str,
    /// Whether it was kept apart while rules were written.
    pub(super) held_out: bool,
    pub(super) goal: &'static str,
    pub(super) params: &'static [(&'static str, &'static str)],
    pub(super) plan: &'static str,
    /// Plans that follow it, of a planner that sees `consult` or refines.
    pub(super) more: &'static [&'static str],
    pub(super) consult: &'static [&'static str],
    pub(super) answers: &'static [(&'static str, &'static str)],
    pub(super) program: bool,
    pub(super) asks_plan: bool,
    /// Steps that read.
    pub(super) reads: &'static [&'static str],
    /// Steps that write.
    pub(super) writes: &'static [&'static str],
    pub(super) slips: &'static [Slip],
}

/// How a planner slips: what stands in the plan, and what it writes in its place.
#[derive(Clone, Copy)]
pub(super) enum Slip {
    /// A proof that no answer of a tool makes true.
    Constant(&'static str, &'static str),
    /// A proof that wants another thing than the goal.
    Proof(&'static str, &'static str),
    /// A step that names a record that is not there.
    Names(&'static str, &'static str, &'static str),
    /// An acceptance that right answers do not meet.
    Accepts(&'static str, &'static str, &'static str),
    /// Arguments that the schema allows and the tool refuses.
    Refused(&'static str, &'static str, &'static str),
}

const BLANK: Template = Template {
    name: "",
    held_out: false,
    goal: "",
    params: &[],
    plan: "",
    more: &[],
    consult: &[],
    answers: &[],
    program: false,
    asks_plan: false,
    reads: &[],
    writes: &[],
    slips: &[],
};

use Slip::{Accepts, Constant, Names, Proof, Refused};

/// Every template.
pub(super) const TEMPLATES: &[Template] = &[
    Template {
        name: "chain",
        goal: "Write down that the first open ticket was seen",
        plan: include_str!("plans/chain.yaml"),
        reads: &["list", "get"],
        writes: &["note"],
        slips: &[
            Accepts(
                "note",
                "accept: ['${ output.done }']",
                "accept: ['${ !output.done }']",
            ),
            Refused(
                "note",
                "text: seen",
                "text: seen and looked at and written down",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "count",
        goal: "Show that there are open tickets",
        plan: include_str!("plans/count.yaml"),
        reads: &["list"],
        slips: &[
            Proof("total > 0", "total > 7"),
            Proof("total > 0", "total == 0"),
            Constant(
                "steps.list.output.total > 0",
                "steps.list.status == \"failed\"",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "list",
        goal: "Put a note on every open ticket",
        plan: include_str!("plans/list.yaml"),
        reads: &["list"],
        writes: &["each"],
        slips: &[
            Proof("total > 0", "total > 3"),
            Refused(
                "each",
                "text: seen",
                "text: seen and looked at and written down",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "guard",
        goal: "Page somebody while tickets are open",
        plan: include_str!("plans/guard.yaml"),
        reads: &["list"],
        writes: &["page"],
        slips: &[
            Proof(
                "when: '${ steps.list.output.total > 0 }'",
                "when: '${ steps.list.output.total > 9 }'",
            ),
            Constant(
                "steps.page.status == \"succeeded\"",
                "steps.page.status == \"failed\"",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "parallel",
        goal: "Compare two tickets",
        plan: include_str!("plans/parallel.yaml"),
        reads: &["one", "two"],
        slips: &[
            Names(
                "one",
                "id: one, tool: desk.get, args: { id: \"{A}\" }",
                "id: one, tool: desk.get, args: { id: \"{X}\" }",
            ),
            Names("two", "\"{B}\"", "\"{X}\""),
            Proof("amount > steps", "amount == steps"),
        ],
        ..BLANK
    },
    Template {
        name: "literal",
        goal: "Give back what is left",
        plan: include_str!("plans/literal.yaml"),
        reads: &["get"],
        writes: &["pay"],
        slips: &[
            Names("get", "\"{A}\"", "\"{X}\""),
            Proof(
                "steps.get.output.amount > 0",
                "steps.get.output.amount > 900",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "param",
        goal: "Look a ticket up and note it",
        params: &[("ticket", "{A}")],
        plan: include_str!("plans/param.yaml"),
        reads: &["get"],
        writes: &["note"],
        slips: &[
            Names("get", "${ params.ticket }", "{X}"),
            Accepts(
                "get",
                "args: { id: \"${ params.ticket }\" }",
                "args: { id: \"${ params.ticket }\" }, accept: ['${ output.amount > 900 }']",
            ),
            Refused(
                "note",
                "text: seen",
                "text: seen and looked at and written down",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "question",
        goal: "Note the ticket that a person names",
        answers: &[("which", "{A}")],
        plan: include_str!("plans/question.yaml"),
        reads: &["get"],
        writes: &["note"],
        slips: &[Refused(
            "note",
            "text: seen",
            "text: seen and looked at and written down",
        )],
        ..BLANK
    },
    Template {
        name: "aside",
        goal: "Note what a person says on a ticket",
        answers: &[("which", "seen")],
        plan: include_str!("plans/aside.yaml"),
        reads: &["seen"],
        writes: &["note"],
        ..BLANK
    },
    Template {
        name: "confirm",
        goal: "Give ten back and see it",
        plan: include_str!("plans/confirm.yaml"),
        writes: &["pay"],
        slips: &[
            Names(
                "pay",
                "id: pay, tool: pay.refund, args: { id: \"{A}\"",
                "id: pay, tool: pay.refund, args: { id: \"{X}\"",
            ),
            Accepts("pay", "read.left < 900", "read.left > 900"),
            Accepts(
                "pay",
                "accept: ['${ output.done }'], confirm",
                "accept: ['${ !output.done }'], confirm",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "fresh",
        goal: "Give back what is left, as it is then",
        plan: include_str!("plans/fresh.yaml"),
        reads: &["left"],
        writes: &["pay"],
        slips: &[
            Names(
                "left",
                "id: left, tool: desk.left, args: { id: \"{A}\"",
                "id: left, tool: desk.left, args: { id: \"{X}\"",
            ),
            Constant(
                "steps.pay.status == \"succeeded\"",
                "steps.pay.status == \"skipped\"",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "revision",
        goal: "Look first, then decide",
        program: true,
        consult: &["list"],
        plan: include_str!("plans/revision.yaml"),
        more: &[include_str!("plans/revision-2.yaml")],
        reads: &["list", "then"],
        slips: &[
            Names(
                "then",
                "id: then, tool: desk.get, args: { id: \"{A}\"",
                "id: then, tool: desk.get, args: { id: \"{X}\"",
            ),
            Proof("amount > 0", "amount > 900"),
        ],
        ..BLANK
    },
    Template {
        name: "subgoal",
        goal: "Find out how much is left",
        program: true,
        plan: include_str!("plans/subgoal.yaml"),
        more: &[include_str!("plans/subgoal-2.yaml")],
        reads: &["find/a"],
        slips: &[
            Names("find/a", "\"{A}\"", "\"{X}\""),
            Proof("steps.find.output > 0", "steps.find.output > 900"),
        ],
        ..BLANK
    },
    Template {
        name: "whole",
        goal: "Note and page, after one look at the plan",
        asks_plan: true,
        plan: include_str!("plans/whole.yaml"),
        reads: &["get"],
        writes: &["page"],
        slips: &[
            Names("get", "\"{B}\"", "\"{X}\""),
            Proof("amount > 0", "amount > 900"),
        ],
        ..BLANK
    },
    Template {
        name: "memo",
        goal: "Put a fixed note on a fixed ticket",
        plan: include_str!("plans/memo.yaml"),
        writes: &["note"],
        slips: &[
            Refused(
                "note",
                "text: seen",
                "text: seen and looked at and written down",
            ),
            Names("note", "\"{B}\"", "\"{X}\""),
        ],
        ..BLANK
    },
    Template {
        name: "shelf",
        held_out: true,
        goal: "Send the first parcel of the area on its way",
        plan: include_str!("plans/shelf.yaml"),
        reads: &["look", "weigh"],
        writes: &["load"],
        slips: &[
            Proof("found) >= 1", "found) >= 4"),
            Accepts(
                "load",
                "accept: [\"${ output.ok }\"]",
                "accept: [\"${ output.ok == false }\"]",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "label",
        held_out: true,
        goal: "Print a label for the parcel in hand",
        params: &[("parcel", "{B}")],
        plan: include_str!("plans/label.yaml"),
        reads: &["weigh"],
        writes: &["print"],
        slips: &[
            Proof("grams < 5000", "grams < 2"),
            Refused(
                "print",
                "text: fragile",
                "text: fragile and to be kept upright",
            ),
        ],
        ..BLANK
    },
    Template {
        name: "ask",
        held_out: true,
        goal: "Weigh what the clerk points at",
        answers: &[("point", "{B}")],
        plan: include_str!("plans/ask.yaml"),
        reads: &["weigh"],
        slips: &[Proof("grams > 1", "grams > 5000")],
        ..BLANK
    },
    Template {
        name: "both",
        held_out: true,
        goal: "See that two parcels are in the area",
        plan: include_str!("plans/both.yaml"),
        reads: &["here", "heavy"],
        slips: &[
            Names("heavy", "\"{A}\"", "\"{X}\""),
            Proof("found) > 1", "found) > 3"),
            Constant(
                "size(steps.here.output.found) > 1 && steps.heavy.output.grams > 0",
                "steps.here.status == \"blocked\"",
            ),
        ],
        ..BLANK
    },
];
