//! The pass `refs`: every name in a plan leads somewhere, and what may be absent is guarded.
//!
//! Owns names, cycles, the goal and the facts a revision stands on. Which reads are guarded is in
//! [`super::guards`]. INVARIANT: after this pass without errors every path begins at something
//! that the run puts into scope.

use std::collections::{BTreeMap, BTreeSet};

use super::graph::{Edge, all_references, step_of};
use super::scope::Site;
use super::{CheckedPlan, Pass};
use crate::catalog::Effect;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::expr::{Reference, Root, Segment, Template};
use crate::fix::Fix;
use crate::plan::read::bad_id;
use crate::plan::subgoal::parent_of;
use crate::plan::undo::undone_by;
use crate::plan::{Field, Goal, Step};
use crate::source::{Span, Spanned};

pub(crate) fn run(pass: &mut Pass<'_>) {
    let mut refs = Refs {
        pass,
        found: Vec::new(),
    };
    refs.duplicates();
    refs.goal();
    refs.facts();
    refs.names();
    for step in &refs.pass.plan.steps {
        refs.step(step);
    }
    refs.end();
    refs.cycles();
    let found = refs.found;
    pass.diagnostics.extend(found);
}

struct Refs<'p, 'a> {
    pass: &'p Pass<'a>,
    found: Vec<Diagnostic>,
}

impl Refs<'_, '_> {
    fn ids(&self) -> impl Iterator<Item = &str> {
        self.pass.plan.steps.iter().map(|s| s.id.value.as_str())
    }

    fn duplicates(&mut self) {
        let mut first: BTreeMap<&str, Span> = BTreeMap::new();
        for step in &self.pass.plan.steps {
            let id = step.id.value.as_str();
            if let Some(before) = first.get(id) {
                let message = format!("two steps are called `{id}`");
                self.found.push(
                    Diagnostic::new(Code::DuplicateStep, step.id.span, message)
                        .related(*before, "the first one")
                        .hint("an id names one step, in this plan and in all its revisions")
                        .step(id),
                );
            } else {
                first.insert(id, step.id.span);
            }
        }
    }

    fn goal(&mut self) {
        let plan = self.pass.plan;
        let goal = &self.pass.terms.goal;
        // Why: a goal that names no criteria has the one its text says, and means the user's.
        let names_none = |own: &Goal| own.success == Goal::of_text(&own.text).success;
        if let Some(own) = &plan.goal
            && (own.value.text != goal.text
                || (own.value.success != goal.success && !names_none(&own.value)))
        {
            let what = if own.value.text == goal.text {
                "the plan changes the criteria of its goal"
            } else {
                "the plan is for another goal"
            };
            self.found.push(
                Diagnostic::new(Code::GoalChanged, own.span, what)
                    .note(format!("the goal is: {}", goal.text))
                    .hint("leave `goal` out: it is the user's"),
            );
        }
        let criteria = || goal.success.iter().map(|c| c.id.as_str());
        for proof in &plan.success {
            let id = &proof.criterion;
            if !criteria().any(|known| known == id.value) {
                let message = format!("the goal has no criterion `{}`", id.value);
                let finding = Diagnostic::new(Code::UnknownCriterion, id.span, message)
                    .did_you_mean(&id.value, criteria())
                    .fix_only_if(Fix::is_of_own_name);
                self.found.push(with_list(finding, "it has", criteria()));
            }
        }
        let proven: BTreeSet<&str> = plan
            .success
            .iter()
            .map(|p| p.criterion.value.as_str())
            .collect();
        for criterion in &goal.success {
            if !proven.contains(criterion.id.as_str()) {
                let dropped = self.pass.base.previous.is_some_and(|before| {
                    let mut proofs = before.plan().success.iter();
                    proofs.any(|p| p.criterion.value == criterion.id)
                });
                let message = if dropped {
                    format!("the revision drops the proof of `{}`", criterion.id)
                } else {
                    format!("nothing proves the criterion `{}`", criterion.id)
                };
                let span = plan.steps.first().map_or(Span::default(), |s| s.id.span);
                let span = plan.success.first().map_or(span, |p| p.criterion.span);
                self.found.push(
                    Diagnostic::new(Code::UnprovenCriterion, span, message)
                        .note(format!("`{}`: {}", criterion.id, criterion.text))
                        .hint(format!(
                            "add to `success`: {{ for: {}, check: \"${{ … }}\" }}",
                            criterion.id
                        )),
                );
            }
        }
    }

    /// Steps that ran stand in a revision as they ran.
    fn facts(&mut self) {
        let Some(previous) = self.pass.base.previous else {
            return;
        };
        for id in &self.pass.base.settled {
            let Some(ran) = previous.plan().step(id) else {
                continue;
            };
            let now = self.pass.plan.step(id);
            if now.is_some_and(|now| now.value == ran.value) {
                continue;
            }
            let first = self.pass.plan.steps.first();
            let finding = match now {
                Some(now) => Diagnostic::new(
                    Code::FactChanged,
                    now.id.span,
                    format!("`{id}` has run, and the revision changes it"),
                ),
                None => Diagnostic::new(
                    Code::FactChanged,
                    first.map_or(Span::default(), |s| s.id.span),
                    format!("`{id}` has run, and the revision leaves it out"),
                ),
            };
            self.found.push(
                finding
                    .hint("keep it as it was, and give the new step another id")
                    .step(id),
            );
        }
    }

    fn step(&mut self, step: &Step) {
        let own = step.id.value.as_str();
        let from = self.found.len();
        self.placed(step);
        self.refining(step);
        step.tools().for_each(|tool| self.tool(tool));
        let envelope = step.subgoal().into_iter().flat_map(|s| &s.tools);
        envelope.for_each(|pattern| self.pattern(pattern));
        step.role.iter().for_each(|role| self.role(role));
        for need in &step.needs {
            self.step_name(&need.value, need.span);
        }
        for (field, template) in step.templates() {
            let site = Site::of(self.pass, step, field);
            let asked = match field {
                Field::Accept(role) => role.field().or(Some("accept")),
                Field::Args(role) => role.field(),
                Field::Until => Some("until"),
                Field::When
                | Field::ForEach
                | Field::Question
                | Field::Result
                | Field::Assert
                | Field::Message => None,
            };
            for reference in template.references() {
                if let (true, Some(asked)) = (step_of(reference) == Some(own), asked) {
                    self.found.push(
                        Diagnostic::new(
                            Code::UnknownRoot,
                            reference.span,
                            format!("`{own}` has not ended when its `{asked}` is asked"),
                        )
                        .hint("write `output` for what it came back with"),
                    );
                    continue;
                }
                self.reference(&site, reference);
            }
        }
        for finding in self.found.iter_mut().skip(from) {
            finding.step = Some(own.to_owned());
        }
    }

    /// A step that undoes another is placed by the run, and stays as it was placed.
    fn placed(&mut self, step: &Step) {
        let id = &step.id;
        let previous = self.pass.base.previous.map(CheckedPlan::plan);
        let was = previous.and_then(|plan| plan.step(&id.value));
        let stands = was.is_some_and(|was| was.value == step.value);
        if undone_by(&id.value).is_some() && !self.pass.base.undoes && !stands {
            self.found.push(bad_id(id));
        }
    }

    /// A step with the id of a child refines a subgoal of this plan, or ran when there was one.
    fn refining(&mut self, step: &Step) {
        let id = &step.id;
        let Some(parent) = parent_of(&id.value) else {
            return;
        };
        let finding = |message: String| Diagnostic::new(Code::NoSubgoal, id.span, message);
        if step.subgoal().is_some() {
            let message = format!("`{}` refines a subgoal, and is one itself", id.value);
            let finding = finding(message).hint("a subgoal is refined into calls and questions");
            self.found.push(finding);
        }
        let was = self.pass.base.previous.map(CheckedPlan::plan);
        let was = was.and_then(|plan| plan.step(&id.value));
        let ran = self.pass.base.settled.contains(&id.value)
            && was.is_some_and(|was| was.value == step.value);
        if ran || self.pass.plan.parent(&id.value).is_some() {
            return;
        }
        self.found.push(match self.pass.plan.step(parent) {
            Some(other) => finding(format!("`{parent}` is no subgoal that a step refines"))
                .related(other.id.span, "this is no subgoal"),
            None => finding(format!("the plan has no subgoal `{parent}`")),
        });
    }

    /// An entry of the list of an envelope.
    fn pattern(&mut self, pattern: &Spanned<String>) {
        let catalog = &self.pass.terms.catalog;
        if catalog.has_any(&pattern.value) {
            return;
        }
        let message = format!("no tool is called `{}`", pattern.value);
        let finding = Diagnostic::new(Code::UnknownTool, pattern.span, message);
        if !self.pass.suggests() {
            self.found.push(finding);
            return;
        }
        let known: Vec<String> = catalog.patterns().collect();
        let known = || known.iter().map(String::as_str);
        // Why nothing is put there: how far a refinement reaches is its author's to say.
        let near = finding.did_you_mean(&pattern.value, known());
        let near = near.fix_only_if(|_| false);
        self.found
            .push(with_list(near, "the catalog holds", known()));
    }

    fn tool(&mut self, tool: &Spanned<String>) {
        let catalog = &self.pass.terms.catalog;
        if catalog.get(&tool.value).is_some() {
            return;
        }
        let message = format!("no tool is called `{}`", tool.value);
        let finding = Diagnostic::new(Code::UnknownTool, tool.span, message);
        if !self.pass.suggests() {
            self.found.push(finding);
            return;
        }
        let finding = finding
            .did_you_mean(&tool.value, catalog.names())
            // Why: a plan reaches further than its author wrote only by its author's hand.
            .fix_only_if(|fix| {
                let meant = fix.renamed_to().and_then(|name| catalog.get(name));
                meant.is_some_and(|operation| operation.effect == Effect::Read)
            });
        let server = tool.value.split('.').next().unwrap_or_default();
        let siblings: Vec<&str> = catalog
            .names()
            .filter(|name| name.split('.').next() == Some(server))
            .collect();
        self.found.push(if finding.hint.is_some() {
            finding
        } else if siblings.is_empty() {
            with_list(finding, "the catalog holds", catalog.names())
        } else {
            let has = format!("`{server}` has");
            with_list(finding, &has, siblings.into_iter())
        });
    }

    fn role(&mut self, role: &Spanned<String>) {
        let catalog = &self.pass.terms.catalog;
        if catalog.role(&role.value).is_some() {
            return;
        }
        let names = || catalog.roles().map(|role| role.name.as_str());
        let message = format!("no role is called `{}`", role.value);
        let finding = Diagnostic::new(Code::UnknownRole, role.span, message);
        let finding = if self.pass.suggests() {
            // Why nothing is put there: which tools a step may call is its author's to say.
            let near = finding
                .did_you_mean(&role.value, names())
                .fix_only_if(|_| false);
            with_list(near, "the roles are", names())
        } else {
            finding
        };
        self.found.push(if finding.hint.is_none() {
            finding.hint("roles stand in provost.toml: `[roles.NAME] tools = […]`")
        } else {
            finding
        });
    }

    fn step_name(&mut self, id: &str, span: Span) {
        if self.pass.plan.step(id).is_none() {
            let message = format!("no step is called `{id}`");
            let finding = Diagnostic::new(Code::UnknownStep, span, message);
            let finding = if self.pass.suggests() {
                let near = finding
                    .did_you_mean(id, self.ids())
                    .fix_only_if(Fix::is_of_own_name);
                with_list(near, "the steps are", self.ids())
            } else {
                finding
            };
            self.found.push(finding);
        }
    }

    /// A name of the plan is the same everywhere, so it reads nothing that one step has.
    fn names(&mut self) {
        let of_plan = self.pass.plan.names.all().iter();
        for name in of_plan.filter(|name| name.step.is_none()) {
            let references = name.references.iter();
            for reference in references.filter(|r| of_step_alone(&r.root)) {
                let message = format!("`{}` is not in scope here", reference.root.name());
                let finding = Diagnostic::new(Code::UnknownRoot, reference.span, message);
                let hint = "a name of the plan is the same in each step: put it in the `let` of \
                            the step";
                self.found.push(finding.hint(hint));
            }
        }
    }

    fn reference(&mut self, site: &Site<'_>, reference: &Reference) {
        match &reference.root {
            Root::Step(id) => self.step_name(id, reference.span),
            Root::Params => self.param(reference),
            root if site.knows(root) => {}
            root => {
                let finding = match root {
                    Root::Unknown(name) if name.starts_with("let.") => {
                        self.unknown_name(site, name, reference.span)
                    }
                    _ => unknown_root(site, root, reference.span),
                };
                self.found.push(finding);
            }
        }
    }

    /// `name` is `let.NAME`.
    fn unknown_name(&self, site: &Site<'_>, name: &str, span: Span) -> Diagnostic {
        let names = &self.pass.plan.names;
        let finding = Diagnostic::new(Code::UnknownRoot, span, format!("there is no `{name}`"));
        let own = name.strip_prefix("let.").unwrap_or(name);
        let mut others = names.all().iter();
        let of_other = others.find(|other| other.name.value == own && other.step.is_some());
        if let Some(other) = of_other {
            let step = other.step.as_deref().unwrap_or_default();
            let label = "a name of a step is for this step";
            let hint = format!("put it in the `let` of the plan if more than `{step}` uses it");
            return finding.related(other.name.span, label).hint(hint);
        }
        let step = site.step().map(|step| step.id.value.as_str());
        let known: Vec<String> = names.visible(step).map(|n| format!("let.{n}")).collect();
        // Why of a used name alone: where nothing else uses it, it may be the one that is misspelt.
        let is_used = |meant: &str| {
            let own = meant.strip_prefix("let.").unwrap_or(meant);
            names.all().iter().any(|n| n.is_used && n.name.value == own)
        };
        let finding = finding
            .did_you_mean(name, known.iter().map(String::as_str))
            .fix_only_if(|fix| fix.renamed_to().is_some_and(is_used));
        with_list(finding, "the names are", known.iter().map(String::as_str))
    }

    fn param(&mut self, reference: &Reference) {
        let params: BTreeSet<&str> = match &self.pass.open.params {
            Some(types) => types.keys().map(String::as_str).collect(),
            None => self
                .pass
                .terms
                .goal
                .params
                .keys()
                .map(String::as_str)
                .collect(),
        };
        let known = || params.iter().copied();
        match reference.path.first() {
            Some(Segment::Field(name)) if params.contains(name.as_str()) => {}
            Some(Segment::Field(name)) => {
                let message = format!("the goal has no parameter `{name}`");
                let finding = Diagnostic::new(Code::UnknownParam, reference.span, message);
                let finding = if self.pass.suggests() {
                    finding
                        .did_you_mean(name, known())
                        .fix_only_if(|fix| fix.is_of_own_name() && self.reads_its_params())
                } else {
                    finding
                };
                self.found.push(if params.is_empty() {
                    finding.hint("declare it in `params` of the goal")
                } else {
                    with_list(finding, "it has", known())
                });
            }
            _ if params.is_empty() => {
                let message = "the goal has no parameters";
                self.found
                    .push(Diagnostic::new(Code::UnknownParam, reference.span, message));
            }
            _ => {}
        }
    }

    /// Whether the plan reads every parameter that its own goal declares. Why it matters: where one
    /// is not read, the name that is declared may be the misspelt one.
    fn reads_its_params(&self) -> bool {
        let plan = self.pass.plan;
        let Some(goal) = &plan.goal else {
            return true;
        };
        let read: BTreeSet<&str> = all_references(plan)
            .filter(|read| read.root == Root::Params)
            .filter_map(|read| match read.path.first()? {
                Segment::Field(name) => Some(name.as_str()),
                _ => None,
            })
            .collect();
        goal.value
            .params
            .keys()
            .all(|name| read.contains(name.as_str()))
    }

    fn end(&mut self) {
        let plan = self.pass.plan;
        let site = Site::end();
        let templates = |template: &Template, refs: &mut Self| {
            for reference in template.references() {
                refs.reference(&site, reference);
            }
        };
        for proof in &plan.success {
            templates(&proof.check, self);
        }
        for claim in &plan.answer {
            claim.when.iter().for_each(|when| templates(when, self));
            templates(&claim.text, self);
            for cite in &claim.cites {
                self.step_name(&cite.value, cite.span);
            }
        }
        for condition in &self.pass.open.conditions {
            templates(condition, self);
        }
    }

    fn cycles(&mut self) {
        for cycle in &self.pass.graph.cycles {
            let Some(first) = cycle.first() else { continue };
            let way: Vec<&str> = cycle
                .iter()
                .map(|edge| edge.from.as_str())
                .chain([first.from.as_str()])
                .collect();
            let message = if cycle.len() == 1 {
                format!("`{}` waits for itself", first.from)
            } else {
                format!("these steps wait for each other: {}", way.join(" → "))
            };
            let says = |edge: &Edge| format!("`{}` waits for `{}`", edge.from, edge.to);
            let mut finding = Diagnostic::new(Code::Cycle, first.span, message).label(says(first));
            for edge in cycle.iter().skip(1) {
                finding = finding.related(edge.span, says(edge));
            }
            self.found.push(finding.step(&first.from));
        }
    }
}

/// Whether only a step has it.
fn of_step_alone(root: &Root) -> bool {
    matches!(
        root,
        Root::Item | Root::Index | Root::Output | Root::Read | Root::Args | Root::Key
    )
}

/// Where `item` and `index` are in scope.
fn scope_of_items(site: &Site<'_>, root: &Root) -> &'static str {
    let has_items = site.step().is_some_and(|step| step.for_each.is_some());
    match (root, has_items) {
        (_, false) => "only a step with `for_each` has items",
        (Root::Index, true) => {
            "`index` counts the items that are left: it is in scope in `args`, `accept`, `confirm` \
             and `undo`"
        }
        (_, true) => {
            "`item` is in scope in `when`, `args`, `accept`, `confirm` and `undo`; not in the \
             list, and in `when` not beside `index`"
        }
    }
}

fn unknown_root(site: &Site<'_>, root: &Root, span: Span) -> Diagnostic {
    let name = root.name();
    let finding = Diagnostic::new(
        Code::UnknownRoot,
        span,
        format!("`{name}` is not in scope here"),
    );
    match root {
        Root::Item | Root::Index => finding.hint(scope_of_items(site, root)),
        Root::Output => finding
            .hint("only `accept`, `confirm` and `undo` see it; elsewhere write `steps.ID.output`"),
        Root::Read => finding.hint("only `accept` of `confirm` sees what was read back"),
        Root::Args | Root::Key => finding.hint("only templates of the catalog see it"),
        _ => {
            let finding = finding.did_you_mean(name, site.names());
            with_list(finding, "in scope are", site.names().into_iter())
        }
    }
}

/// Lists what there is, if nothing near was found and the list is short.
fn with_list<'n>(
    finding: Diagnostic,
    says: &str,
    names: impl Iterator<Item = &'n str>,
) -> Diagnostic {
    let names: Vec<&str> = names.collect();
    if finding.hint.is_some() || names.is_empty() || names.len() > 12 {
        return finding;
    }
    finding.hint(format!("{says} {}", names.join(", ")))
}
