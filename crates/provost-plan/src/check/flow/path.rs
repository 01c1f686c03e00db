//! The way of a value: from the step whose output it came from to where it is used.
//!
//! Owns how a finding of `flow` shows it, one place for each hop. Assigns no label: it asks which
//! reference gave the label that was found. INVARIANT: a way is followed over no more than
//! [`HOPS_MAX`] steps, whatever the plan.

use std::collections::BTreeSet;

use super::Labels;
use crate::diagnostic::Diagnostic;
use crate::expr::{ArgTree, Expression, Reference, Root, Segment, Template};
use crate::label::{Integrity, Label};
use crate::plan::{Step, StepKind};
use crate::source::Span;

/// The most steps that a way is followed over.
const HOPS_MAX: usize = 8;
/// The most steps that are looked at for where something came from.
const ORIGINS_MAX: usize = 32;

/// What is looked for in a label.
#[derive(Clone, Copy)]
pub(super) enum Want {
    Secret,
    AtLeast(Integrity),
}

impl Want {
    fn is_in(self, label: &Label) -> bool {
        match self {
            Self::Secret => label.secret,
            Self::AtLeast(integrity) => label.integrity >= integrity,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Secret => "a secret",
            Self::AtLeast(Integrity::Text) => "text that nobody vouches for",
            Self::AtLeast(_) => "data that nobody vouches for",
        }
    }
}

/// One place on the way.
struct Hop {
    span: Span,
    label: String,
}

/// Follows values back to their sources.
pub(super) struct Provenance<'a> {
    labels: &'a Labels<'a>,
    want: Want,
    /// Found from the end of the way to its source.
    hops: Vec<Hop>,
    steps: usize,
}

impl<'a> Provenance<'a> {
    pub(super) fn new(labels: &'a Labels<'a>, want: Want) -> Self {
        Self {
            labels,
            want,
            hops: Vec::new(),
            steps: 0,
        }
    }

    /// Adds the way into the argument `tree` of `step` to a finding.
    pub(super) fn into_argument(
        mut self,
        finding: Diagnostic,
        step: &Step,
        tree: &ArgTree,
    ) -> Diagnostic {
        let templates = tree.templates();
        let found = templates
            .into_iter()
            .find_map(|t| self.culprit(Some(step), t));
        if let Some(reference) = found {
            self.follow(step, &reference);
        }
        self.draw(finding)
    }

    /// Adds the way into a text to a finding; no step, of a claim.
    pub(super) fn into_template(
        mut self,
        finding: Diagnostic,
        step: Option<&Step>,
        text: &Template,
    ) -> Diagnostic {
        match (self.culprit(step, text), step) {
            (Some(reference), Some(step)) => self.follow(step, &reference),
            (Some(reference), None) => {
                if let Root::Step(id) = &reference.root {
                    self.follow_step(id, &reference.path);
                }
            }
            (None, _) => {}
        }
        self.draw(finding)
    }

    /// Adds the way into what decides whether `step` runs to a finding.
    pub(super) fn into_control(mut self, finding: Diagnostic, step: &Step) -> Diagnostic {
        if let Some((_, reference)) = self.deciding(step) {
            self.follow(step, &reference);
        }
        self.draw(finding)
    }

    fn draw(mut self, finding: Diagnostic) -> Diagnostic {
        self.hops.reverse();
        let more = self.steps >= HOPS_MAX;
        let finding = self
            .hops
            .into_iter()
            .fold(finding, |f, hop| f.related(hop.span, hop.label));
        if more {
            finding.note(format!(
                "only the last {HOPS_MAX} steps of the way are shown"
            ))
        } else {
            finding
        }
    }

    fn hop(&mut self, span: Span, label: String) {
        self.hops.push(Hop { span, label });
    }

    /// The reference that by itself gives a template what is looked for.
    fn culprit(&self, step: Option<&Step>, template: &Template) -> Option<Reference> {
        self.culprits(step, template).into_iter().next()
    }

    /// The references that by themselves give a template what is looked for.
    fn culprits(&self, step: Option<&Step>, template: &Template) -> Vec<Reference> {
        let trusted = Label::trusted();
        let of = |expression: &Expression| -> Vec<Reference> {
            let gives = |reference: &&Reference| {
                let label = expression.label(&trusted, &|read| {
                    let same = read.root == reference.root && read.path == reference.path;
                    if same {
                        self.labels.of(step, read)
                    } else {
                        Label::trusted()
                    }
                });
                self.want.is_in(&label)
            };
            expression
                .references()
                .iter()
                .filter(gives)
                .cloned()
                .collect()
        };
        template.expressions().flat_map(of).collect()
    }

    /// The steps from whose own outputs, errors and outcomes what is looked for came into these
    /// templates of `step`. Why not the sources of a label: those name what was trusted too.
    pub(super) fn origins(&self, step: &Step, into: Vec<&Template>) -> BTreeSet<String> {
        let plan = self.labels.plan;
        let mut open: Vec<(Option<&Step>, &Template)> = into
            .into_iter()
            .map(|template| (Some(step), template))
            .collect();
        let (mut found, mut seen) = (BTreeSet::new(), BTreeSet::new());
        while let Some((at, template)) = open.pop() {
            for reference in self.culprits(at, template) {
                match &reference.root {
                    Root::Item | Root::Index => {
                        let list = at.and_then(|at| at.for_each.as_ref());
                        open.extend(list.map(|each| (None, &each.list)));
                    }
                    Root::Step(id) => {
                        let Some(source) = plan.step(id) else {
                            continue;
                        };
                        let (own, _) = self.own_of(source, &reference.path);
                        if self.want.is_in(&own) {
                            found.insert(id.clone());
                        } else if found.len() + seen.len() < ORIGINS_MAX && seen.insert(id.clone())
                        {
                            let deciding = source.when.iter();
                            let list = source.for_each.iter().map(|each| &each.list);
                            let deciding = deciding.chain(list);
                            open.extend(deciding.map(|template| (Some(source), template)));
                        }
                    }
                    _ => {}
                }
            }
        }
        found
    }

    /// The label of what is read of a step without what decided about it, and what that is.
    fn own_of(&self, source: &Step, path: &[Segment]) -> (Label, &'static str) {
        let rest = path.get(1..).unwrap_or_default();
        match path.first() {
            Some(Segment::Field(field)) if field == "status" => {
                (self.labels.status_alone(source), "outcome")
            }
            Some(Segment::Field(field)) if field != "output" => {
                let id = source.id.value.as_str();
                (Label::from_step(id, Integrity::Text), "error")
            }
            _ => (self.labels.output_alone(source, rest), "output"),
        }
    }

    /// The guard or list of a step that gives what is looked for.
    fn deciding<'s>(&self, step: &'s Step) -> Option<(&'s Template, Reference)> {
        let list = step.for_each.iter().map(|each| &each.list);
        let mut templates = step.when.iter().chain(list);
        templates.find_map(|t| Some((t, self.culprit(Some(step), t)?)))
    }

    /// Follows what `reference`, seen from `step`, reads.
    fn follow(&mut self, step: &Step, reference: &Reference) {
        match &reference.root {
            Root::Item | Root::Index => {
                let Some(each) = &step.for_each else { return };
                let name = reference.root.name();
                self.hop(each.list.span(), format!("`{name}` goes over this list"));
                // Why not through the item again: a list that reads its own item has no source.
                let read = self.culprit(None, &each.list);
                if let Some(read) = read.filter(|read| !is_of_item(read)) {
                    self.follow(step, &read);
                }
            }
            Root::Step(id) => self.follow_step(id, &reference.path),
            _ => {}
        }
    }

    fn follow_step(&mut self, id: &str, path: &[Segment]) {
        self.steps += 1;
        if self.steps >= HOPS_MAX {
            return;
        }
        let Some(source) = self.labels.plan.step(id) else {
            return;
        };
        let (own, what) = self.own_of(source, path);
        let span = source.tool().map_or(source.id.span, |tool| tool.span);
        if self.want.is_in(&own) {
            let words = self.want.words();
            self.hop(span, format!("the {what} of `{id}` is {words}"));
        } else if let Some((name, tree, read)) = self.secret_argument(source) {
            self.hop(tree.span(), format!("`{id}` is given it as `{name}`"));
            self.follow(source, &read);
        } else if let Some((template, read)) = self.deciding(source) {
            let words = "it decides whether";
            self.hop(template.span(), format!("{words} `{id}` runs"));
            self.follow(source, &read);
        } else {
            self.hop(
                source.id.span,
                format!("what led to `{id}` was not trusted"),
            );
        }
    }

    /// The argument with which a secret was passed to a step.
    fn secret_argument<'s>(&self, step: &'s Step) -> Option<(&'s str, &'s ArgTree, Reference)> {
        let Want::Secret = self.want else { return None };
        let StepKind::Tool { args, .. } = &step.kind else {
            return None;
        };
        args.entries().iter().find_map(|(name, tree)| {
            let mut templates = tree.templates().into_iter();
            let read = templates.find_map(|t| self.culprit(Some(step), t))?;
            Some((&**name, tree, read))
        })
    }
}

/// The names of sources in a note, or of the first of them.
pub(super) fn names(sources: &BTreeSet<String>) -> String {
    let names = sources.iter().take(HOPS_MAX).map(|id| format!("`{id}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    match sources.len().saturating_sub(HOPS_MAX) {
        0 => names,
        more => format!("{names} and {more} more"),
    }
}

fn is_of_item(reference: &Reference) -> bool {
    matches!(reference.root, Root::Item | Root::Index)
}

/// Where untrusted data comes from, in words.
pub(super) fn from(label: &Label) -> String {
    from_those(label, &label.sources)
}

/// The same where it is known from which of the sources of a label.
pub(super) fn from_those(label: &Label, sources: &BTreeSet<String>) -> String {
    if label.sources.is_empty() {
        return "it was written by an author who had seen untrusted text".to_owned();
    }
    // Why: of what a whole plan was chosen by, no template tells.
    let known = if sources.is_empty() {
        &label.sources
    } else {
        sources
    };
    format!("it comes from {}", names(known))
}
