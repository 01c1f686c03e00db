//! Every plan that a playbook can come to: its own, and that with its rules applied.
//!
//! Owns which rule can follow which, and the places: a plan made here is of nodes of the playbook's
//! own file, so that what is found in it is found there. Checks nothing. INVARIANT: a plan here is
//! the document that the rule would propose, by the same edit.

use std::collections::BTreeSet;
use std::sync::Arc;

use provost_plan::catalog::Catalog;
use provost_plan::check::PlanRecord;
use provost_plan::codes::Code;
use provost_plan::diagnostic::Diagnostic;
use provost_plan::expr::Template;
use provost_plan::node::{Kind, Node};
use provost_plan::plan::Plan;
use provost_plan::source::{Span, Spanned};
use serde_json::Value;

use super::revise::list;
use super::{Playbook, withheld};

/// Where the parts of a rule stand.
#[derive(Clone, Debug)]
pub(super) struct RulePlaces {
    pub(super) after: Vec<Spanned<String>>,
    pub(super) drop: Vec<Spanned<String>>,
    pub(super) parts: Vec<(&'static str, Node)>,
}

/// A plan that a playbook can come to.
#[derive(Clone, Debug)]
pub struct PlaybookCase {
    /// The plan, with the places of the playbook's file.
    pub plan: Arc<Plan>,
    /// The steps that have ended when it is proposed.
    pub settled: BTreeSet<String>,
    /// The conditions of the rules that may be asked while it is in force.
    pub conditions: Vec<Template>,
    /// The steps whose end these rules wait for.
    pub observed: BTreeSet<String>,
    value: Value,
    /// The rules that were applied, in this order.
    fired: Vec<usize>,
    /// Where its parts stand.
    parts: Vec<Span>,
}

/// What one more rule makes of a case.
#[derive(Debug)]
pub struct NextCase {
    /// The case, or what is wrong with how the rule changes the plan.
    pub case: Result<PlaybookCase, Vec<Diagnostic>>,
    /// What holds if this rule applies after the others did.
    pub together: Option<Template>,
    /// The place of the rule among the rules.
    pub rule: usize,
}

impl PlaybookCase {
    /// Whether what stands at `span` is part of this case, or of every case.
    #[must_use]
    pub fn holds(&self, playbook: &Playbook, span: Span) -> bool {
        let within = |outer: &Span| {
            let outer = playbook.written.place(*outer);
            outer.start <= span.start && span.end <= outer.end
        };
        let in_conditions = |case: &Self| case.conditions.iter().any(|c| within(&c.span()));
        let is_condition = playbook
            .rules
            .iter()
            .filter_map(|rule| rule.when.as_ref())
            .any(|when| within(&when.span()));
        if is_condition {
            return in_conditions(self);
        }
        let is_part = playbook.pool().any(|(_, node)| within(&node.span));
        !is_part || self.parts.iter().any(within)
    }

    /// The rules that were applied, by their places.
    #[must_use]
    pub fn fired(&self) -> &[usize] {
        &self.fired
    }

    /// Whether two cases are one: the same plan after the same steps.
    #[must_use]
    pub fn is_as(&self, other: &Self) -> bool {
        self.value == other.value && self.settled == other.settled
    }
}

impl Playbook {
    /// The case in which no rule was applied.
    ///
    /// # Errors
    /// What cannot be read of its plan.
    pub fn first_case(&self) -> Result<PlaybookCase, Vec<Diagnostic>> {
        self.case(self.plan.clone(), Vec::new(), BTreeSet::new())
    }

    /// What each rule that can be applied next makes of a case, of which this was checked.
    #[must_use]
    pub fn next_cases(&self, case: &PlaybookCase, checked: &PlanRecord) -> Vec<NextCase> {
        let rules = 0..self.rules.len();
        let open = rules.filter(|rule| !case.fired.contains(rule));
        open.filter_map(|rule| self.next_case(case, rule, checked))
            .collect()
    }

    /// The place of what a rule waits for.
    #[must_use]
    pub fn rule_span(&self, rule: usize) -> Span {
        let after = self.places.get(rule).map(|places| places.after.as_slice());
        match after {
            Some([first, .., last]) => first.span.to(last.span),
            Some([only]) => only.span,
            _ => Span::default(),
        }
    }

    /// What a case's conditions read that no planner is shown.
    #[must_use]
    pub fn withheld(&self, case: &PlaybookCase, catalog: &Catalog) -> Vec<Diagnostic> {
        let found = case.conditions.iter().filter_map(|when| {
            let reason = withheld::always(when, &case.plan, catalog)?;
            let message = format!("the rule can never be decided: {reason}");
            let place = self.written.place(when.span());
            Some(Diagnostic::new(Code::BadPlaybook, place, message))
        });
        found.collect()
    }

    /// The place of the condition of a rule, if it has one.
    #[must_use]
    pub fn condition_span(&self, rule: usize) -> Option<Span> {
        let when = self.rules.get(rule)?.when.as_ref()?;
        Some(self.written.place(when.span()))
    }

    /// A rule in words, by its place.
    #[must_use]
    pub fn rule_name(&self, rule: usize) -> String {
        let after = self.rules.get(rule).map(|rule| rule.after.join(", "));
        format!("the rule after `{}`", after.unwrap_or_default())
    }

    /// How many rules it has.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.rules.len()
    }

    fn next_case(
        &self,
        case: &PlaybookCase,
        rule: usize,
        checked: &PlanRecord,
    ) -> Option<NextCase> {
        let own = self.rules.get(rule)?;
        if !own.after.iter().all(|id| checked.steps.contains_key(id))
            || !self.follows(case, rule, checked)
        {
            return None;
        }
        let mut settled = case.settled.clone();
        for id in &own.after {
            settled.insert(id.clone());
            settled.extend(checked.before(id));
        }
        let together = self.together(case, rule);
        let made = self.changed_too_late(case, rule, (checked, &settled));
        let made = match made {
            Some(finding) => Err(vec![finding]),
            None => match own.applied(&case.value, &|id| settled.contains(id)) {
                // Why no finding: what it would change is as it would make it.
                Ok(None) => return None,
                Ok(Some(value)) => {
                    let fired = case.fired.iter().copied().chain([rule]).collect();
                    self.case(value, fired, settled)
                }
                Err(reason) => Err(vec![Diagnostic::new(
                    Code::BadPlaybook,
                    self.rule_span(rule),
                    format!("the rule cannot be applied: {reason}"),
                )]),
            },
        };
        Some(NextCase {
            case: made,
            together,
            rule,
        })
    }

    /// Whether a rule can still be asked after the last one was applied: some step that it waits
    /// for may end later than the one that led to that.
    fn follows(&self, case: &PlaybookCase, rule: usize, checked: &PlanRecord) -> bool {
        let (Some(last), Some(own)) = (
            case.fired.last().and_then(|last| self.rules.get(*last)),
            self.rules.get(rule),
        ) else {
            return true;
        };
        own.after.iter().any(|later| {
            let mut led = last.after.iter();
            led.any(|led| led != later && !checked.before(led).contains(later))
        })
    }

    /// A step that the rule would change although it has run, or may have.
    fn changed_too_late(
        &self,
        case: &PlaybookCase,
        rule: usize,
        (checked, settled): (&PlanRecord, &BTreeSet<String>),
    ) -> Option<Diagnostic> {
        let own = self.rules.get(rule)?;
        let steps = list(case.value.get("steps"));
        own.steps.iter().find_map(|(id, step)| {
            let there = steps.iter().find(|old| old.get("id") == step.get("id"))?;
            if there == step {
                return None;
            }
            let waits = checked.before(id);
            let message = if settled.contains(id) {
                format!("the rule changes the step `{id}`, which has run when it is applied")
            } else if own.after.iter().any(|after| waits.contains(after)) {
                return None;
            } else {
                format!("the rule changes the step `{id}`, which may have run when it is applied")
            };
            let hint = match own.after.as_slice() {
                [after, ..] if !settled.contains(id) => {
                    format!("let it wait in the plan too: `needs: [{after}]` in `{id}`")
                }
                _ => "add a step with another id".to_owned(),
            };
            let at = self.id_span(rule, id);
            Some(Diagnostic::new(Code::BadPlaybook, at, message).hint(hint))
        })
    }

    /// Where a rule writes the id of a step.
    fn id_span(&self, rule: usize, id: &str) -> Span {
        let parts = self.places.get(rule).map(|places| &places.parts);
        let steps = parts
            .into_iter()
            .flatten()
            .filter(|(key, _)| *key == "steps");
        let mut ids = steps.filter_map(|(_, node)| node.get("id"));
        let named = ids.find(|node| matches!(&node.kind, Kind::Text(text) if text == id));
        named.map_or_else(|| self.rule_span(rule), |node| node.span)
    }

    /// The conditions of the rules that were applied and of this one, as one.
    fn together(&self, case: &PlaybookCase, rule: usize) -> Option<Template> {
        let rules = case.fired.iter().chain([&rule]);
        let whens = rules.filter_map(|rule| self.rules.get(*rule)?.when.as_ref()?.whole());
        let parts: Vec<String> = whens.map(|when| format!("({})", when.source())).collect();
        let text = format!("${{ {} }}", parts.join(" && "));
        let whole = Span::new(0, text.len());
        (!parts.is_empty())
            .then(|| Template::parse(&text, whole, &text).ok())
            .flatten()
    }

    fn case(
        &self,
        value: Value,
        fired: Vec<usize>,
        settled: BTreeSet<String>,
    ) -> Result<PlaybookCase, Vec<Diagnostic>> {
        let (node, parts) = self.placed(&value);
        let plan = self.written.read(&node)?;
        let has = |id: &String| plan.step(id).is_some();
        let rules = self.rules.iter().enumerate();
        let open = rules.filter(|(at, rule)| !fired.contains(at) && rule.after.iter().all(has));
        let open: Vec<_> = open.map(|(_, rule)| rule).collect();
        let conditions = open.iter().filter_map(|rule| rule.when.clone());
        let observed = open.iter().flat_map(|rule| rule.after.clone());
        // Why of those that were applied too: what a rule looked at was not read in vain.
        let looked = fired.iter().filter_map(|at| self.rules.get(*at));
        let looked = looked.flat_map(|rule| rule.after.clone());
        Ok(PlaybookCase {
            conditions: conditions.collect(),
            observed: observed.chain(looked).collect(),
            plan: plan.into(),
            settled,
            value,
            fired,
            parts,
        })
    }

    /// The nodes of its steps, claims and proofs: of the plan and of the rules.
    pub(super) fn pool(&self) -> impl Iterator<Item = (&'static str, &Node)> {
        let of_plan = ["steps", "answer", "success"].into_iter().flat_map(|key| {
            let items = self.written.plan.get(key).map(|node| match &node.kind {
                Kind::List(items) => items.as_slice(),
                _ => std::slice::from_ref(node),
            });
            items.into_iter().flatten().map(move |node| (key, node))
        });
        let rules = self.places.iter().flat_map(|rule| &rule.parts);
        of_plan.chain(rules.map(|(key, node)| (*key, node)))
    }

    /// The document `value` as nodes of the playbook's file, and where its parts stand.
    fn placed(&self, value: &Value) -> (Node, Vec<Span>) {
        let mut parts = Vec::new();
        let mut item = |key: &str, value: &Value| {
            let mut known = self.pool().filter(|(of, _)| *of == key);
            let found = known.find_map(|(_, node)| {
                let own = node.to_value();
                let says = value.get("text").filter(|_| own.is_string());
                match (own == *value, says) {
                    (true, _) => Some(node.clone()),
                    (false, Some(text)) if *text == own => Some(Node {
                        span: node.span,
                        kind: Kind::Map(vec![(
                            Spanned::new("text".to_owned(), node.span),
                            node.clone(),
                        )]),
                    }),
                    _ => None,
                }
            });
            // Why by the id: a step in its canonical form has values that nobody wrote, such as the
            // most items of a list, and names of `let` written out.
            let id = value.get("id").filter(|_| key == "steps");
            let named = || {
                let mut known = self.pool().filter(|(of, _)| *of == key);
                let id = id?;
                known.find_map(|(_, node)| {
                    let own = node.get("id")?;
                    (own.to_value() == *id).then(|| node.with_places_for(value))
                })
            };
            let node = found.or_else(named);
            let node = node.unwrap_or_else(|| Node::from_value(value, self.written.plan.span));
            parts.push(node.span);
            node
        };
        let fields = value.as_object().into_iter().flatten();
        let entries = fields.map(|(key, value)| {
            let span = self
                .written
                .plan
                .get(key)
                .map_or(self.written.plan.span, |node| node.span);
            let node = match value {
                Value::Array(items) if ["steps", "answer", "success"].contains(&key.as_str()) => {
                    let items = items.iter().map(|one| item(key, one)).collect();
                    let kind = Kind::List(items);
                    Node { kind, span }
                }
                _ => match self.written.plan.get(key) {
                    Some(node) if node.to_value() == *value => node.clone(),
                    _ => Node::from_value(value, span),
                },
            };
            (Spanned::new(key.clone(), span), node)
        });
        let kind = Kind::Map(entries.collect());
        let span = self.written.plan.span;
        (Node { kind, span }, parts)
    }
}
