//! The check: a plan is compiled, one pass a file, before anything runs.
//!
//! Owns [`CheckedPlan`] and its one constructor. Never makes a call or asks a person. INVARIANT:
//! check and run share one predicate for every rule; only errors withhold the checked plan.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::amount::Totals;
use crate::catalog::{Catalog, Operation, Risk};
use crate::diagnostic::{Diagnostic, Severity, limited};
use crate::digest::Digest;
use crate::expr::{ArgTree, Key, Root, Scope, Template};
use crate::fix::{hold_back, keep_certain};
use crate::label::Label;
use crate::limits::{SUGGESTIONS_MAX, TURN_WORK_MAX, TYPE_WORK_MAX};
use crate::plan::assertion::before;
use crate::plan::undo::undone_by;
use crate::plan::{CallRole, Goal, Limits, Plan, Step};
use crate::policy::{Principal, Verdict};
use crate::work::WorkBudget;

pub mod budget;
mod closed;
mod effects;
pub mod entry;
pub mod flow;
mod graph;
mod guards;
pub mod open;
mod order;
pub mod policy;
mod record;
mod refs;
mod report;
mod scope;
mod shape;
mod types;
mod typing;
mod unit_names;
mod units;

pub use open::OpenPlan;

/// A plan as proposed, with what its author had seen.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The plan.
    pub plan: Arc<Plan>,
    /// Where it came from.
    pub origin: Origin,
}

/// Where a draft came from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// In words: `playbook latency`, `file plan.yaml`.
    pub author: String,
    /// The label of the literals its author wrote: the join of all that author was shown; trusted
    /// for a person and for a playbook.
    pub literals: Label,
    /// The label of the choice of this revision: what the observation that led to it carried.
    pub control: Label,
}

/// What a plan is checked under.
#[derive(Clone, Debug)]
pub struct Terms {
    /// The operations.
    pub catalog: Arc<Catalog>,
    /// The policy.
    pub policy: Arc<crate::policy::Policy>,
    /// Who it is for.
    pub principal: Principal,
    /// The operator's limits.
    pub limits: Limits,
    /// The goal.
    pub goal: Goal,
}

/// What a revision stands on. The first plan stands on nothing.
#[derive(Clone, Debug, Default)]
pub struct RevisionBase<'a> {
    /// The number of this revision, from 1.
    pub revision: u32,
    /// The plan before it.
    pub previous: Option<&'a CheckedPlan>,
    /// Steps that ran: facts, which keep their id and form for ever.
    pub settled: BTreeSet<String>,
    /// Those of them that have ended for good: nothing of theirs can still take place.
    pub over: BTreeSet<String>,
    /// Whether the run itself adds steps that undo others: nothing else of it begins any more.
    pub undoes: bool,
}

/// The result of a check.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The checked plan, if there is no error.
    pub plan: Option<CheckedPlan>,
    /// The findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// What was not looked at, in words.
    pub not_checked: Vec<String>,
    /// The most the plan can take, for each step and in all.
    pub worst: budget::WorstCase,
}

/// A plan without errors, with what the check computed.
#[derive(Clone, Debug)]
pub struct CheckedPlan {
    // Why shared: it never changes, and many runs may follow one plan.
    pub(crate) plan: Arc<Plan>,
    pub(crate) record: Arc<PlanRecord>,
}

/// What the check computed of a plan: the part that the journal keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The plan's digest.
    pub digest: Digest,
    /// Its revision, from 1.
    pub revision: u32,
    /// The digest of the terms it was checked under, over the part the plan uses.
    pub terms: TermsRecord,
    /// Each step.
    pub steps: BTreeMap<String, StepRecord>,
    /// What was not looked at.
    pub not_checked: Vec<String>,
    /// The most of each counted value in all its calls; none of one without a bound.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub totals: Totals,
}

impl PlanRecord {
    /// Every step that a step waits for, directly and through others.
    #[must_use]
    pub fn before(&self, id: &str) -> BTreeSet<String> {
        let direct = |id: &str| self.steps.get(id).into_iter().flat_map(|step| &step.after);
        let mut all = BTreeSet::new();
        let mut next: Vec<&String> = direct(id).collect();
        while let Some(id) = next.pop() {
            if all.insert(id.clone()) {
                next.extend(direct(id));
            }
        }
        all
    }
}

/// The digests of what a plan was checked under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TermsRecord {
    /// Of the goal.
    pub goal: Digest,
    /// Of the policy text and the people.
    pub policy: Digest,
    /// Of the principal with groups.
    pub principal: Digest,
    /// Of the limits.
    pub limits: Digest,
    /// Of each catalog entry the plan uses.
    pub tools: BTreeMap<String, Digest>,
    /// Of each role the plan names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<String, Digest>,
}

/// What the check computed of a step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRecord {
    /// Its closure digest: canonical form, what it rests on, tool, role, principal, control.
    pub closure: Digest,
    /// Steps it waits for: `needs` and every step it reads.
    pub after: BTreeSet<String>,
    /// Steps whose output, status or error it reads.
    pub reads: BTreeSet<String>,
    /// The digest of its catalog entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<Digest>,
    /// The digest of the role it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Digest>,
    /// The label of each top-level argument.
    pub labels: BTreeMap<String, Label>,
    /// The label of what decides that it runs.
    pub control: Label,
    /// The label of its output: of each value in it, by schema, see [`crate::label`].
    pub risk: Risk,
    /// Policy's word, as far as it is known before the arguments are; none for a question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// What is known of the read that proves it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirm: Option<CallRecord>,
    /// What is known of the call that undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo: Option<CallRecord>,
    /// Places where a value is checked at run time, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub run_checks: Vec<RunCheck>,
}

/// What the check computed of a call beside a step's own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The digest of its catalog entry.
    pub tool: Digest,
    /// The label of each top-level argument.
    pub labels: BTreeMap<String, Label>,
    /// Policy's word, as far as it is known before the arguments are; a permit of `confirm`.
    pub verdict: Verdict,
}

impl StepRecord {
    /// The label of each argument of the call in a role, if the step has it.
    #[must_use]
    pub fn labels_of(&self, role: CallRole) -> Option<&BTreeMap<String, Label>> {
        let call = match role {
            CallRole::Own => return Some(&self.labels),
            CallRole::Confirm => self.confirm.as_ref(),
            CallRole::Undo => self.undo.as_ref(),
        };
        call.map(|call| &call.labels)
    }
}

/// A place where a value is checked only at run time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCheck {
    /// The argument, as a JSON pointer.
    pub argument: String,
    /// Why it is not proven, with a counterexample where there is one.
    pub reason: String,
}

impl RunCheck {
    /// The same of the call in a role.
    fn within(self, role: CallRole) -> Self {
        match role.field() {
            None => self,
            Some(field) => Self {
                argument: format!("/{field}{}", self.argument),
                ..self
            },
        }
    }
}

impl CheckedPlan {
    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan, as its holders share it.
    #[must_use]
    pub fn shared(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// What the check computed.
    #[must_use]
    pub fn record(&self) -> &PlanRecord {
        &self.record
    }

    /// What the check computed, as its holders share it.
    #[must_use]
    pub fn shared_record(&self) -> &Arc<PlanRecord> {
        &self.record
    }

    /// The assertions that hold a step back.
    #[must_use]
    pub fn assertions(&self, id: &str) -> Vec<&Step> {
        let after = |id: &str| self.record.steps.get(id).map(|record| &record.after);
        before(&self.plan, &after, id)
    }

    /// A step with its record.
    #[must_use]
    pub fn step(&self, id: &str) -> Option<(&Step, &StepRecord)> {
        Some((self.plan.step(id)?, self.record.steps.get(id)?))
    }
}

/// A journal whose plan and record do not belong together.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[error("the recorded plan has the digest {found}, and {recorded} was recorded")]
pub struct JournalError {
    found: Digest,
    recorded: Digest,
}

impl CheckedPlan {
    /// A plan that was checked before, from stored events only.
    ///
    /// # Errors
    /// [`JournalError`] if the plan is not the one that was recorded.
    pub fn from_journal(
        plan: impl Into<Arc<Plan>>,
        record: impl Into<Arc<PlanRecord>>,
    ) -> Result<Self, JournalError> {
        let (plan, record) = (plan.into(), record.into());
        let found = plan.digest();
        if found == record.digest {
            Ok(Self { plan, record })
        } else {
            Err(JournalError {
                found,
                recorded: record.digest,
            })
        }
    }
}

/// Compiles a plan: every stage runs, whatever the others find.
#[must_use]
pub fn check(draft: Draft, terms: &Terms, base: &RevisionBase<'_>) -> Checked {
    check_open(draft, terms, base, &OpenPlan::default())
}

/// Compiles a plan of which something is open: what it finds holds for all values.
#[must_use]
pub fn check_open(
    draft: Draft,
    terms: &Terms,
    base: &RevisionBase<'_>,
    open: &OpenPlan,
) -> Checked {
    let Draft { plan, origin } = draft;
    let mut pass = Pass::new(&plan, &origin, (terms, open), base);
    scope::assign_types(&mut pass);
    flow::assign_labels(&mut pass);
    refs::run(&mut pass);
    guards::run(&mut pass);
    types::run(&mut pass);
    units::run(&mut pass);
    unit_names::run(&mut pass);
    effects::run(&mut pass);
    flow::run(&mut pass);
    let worst = budget::run(&mut pass);
    policy::run(&mut pass);
    shape::run(&mut pass);
    budget::types(&mut pass);
    let not_checked = record::not_checked(&pass, &worst);
    let mut diagnostics = report::run(&mut pass);
    hold_back(&mut diagnostics);
    let withheld = diagnostics.iter().any(|found| withholds(base, found));
    let record = (!withheld).then(|| record::of(&pass, &not_checked));
    let mut diagnostics = limited(diagnostics, pass.uncounted);
    keep_certain(&plan.source.text, &mut diagnostics);
    Checked {
        plan: record.map(|record| CheckedPlan {
            plan,
            record: Arc::new(record),
        }),
        diagnostics,
        not_checked,
        worst,
    }
}

/// Whether a finding withholds the checked plan. Why not any error of a plan that undoes: nothing
/// of it begins but what undoes, and the rules may have moved since the rest was called.
fn withholds(base: &RevisionBase<'_>, found: &Diagnostic) -> bool {
    let step = found.step.as_deref();
    let is_past = base.undoes && step.is_some_and(|id| undone_by(id).is_none());
    found.severity() == Severity::Error && !is_past
}

/// Whether a condition over the ended steps of a plan never holds, by what is known of them.
#[must_use]
pub fn never_holds(draft: &Draft, terms: &Terms, open: &OpenPlan, condition: &Template) -> bool {
    let base = RevisionBase::default();
    let mut pass = Pass::new(&draft.plan, &draft.origin, (terms, open), &base);
    scope::assign_types(&mut pass);
    shape::never_holds(&pass, condition)
}

/// What the passes read, and what each leaves for the next.
pub(crate) struct Pass<'a> {
    plan: &'a Plan,
    origin: &'a Origin,
    terms: &'a Terms,
    open: &'a OpenPlan,
    base: &'a RevisionBase<'a>,
    graph: graph::Graph,
    order: order::Order<'a>,
    guards: guards::Guards<'a>,
    /// The parameters of the goal.
    params: Value,
    outputs: scope::Outputs,
    labels: BTreeMap<String, flow::StepLabels>,
    run_checks: BTreeMap<String, Vec<RunCheck>>,
    /// What policy says of the calls of each step.
    verdicts: BTreeMap<String, BTreeMap<CallRole, Verdict>>,
    /// The most of each counted value, once the budget was looked at; none while it is open.
    totals: Option<Totals>,
    diagnostics: Vec<Diagnostic>,
    /// Findings of a kind of which there are so many that the rest is only counted.
    uncounted: usize,
    /// How often the name that was meant may still be looked for.
    suggestions: Cell<usize>,
    /// How many values of schemas were looked through.
    type_work: Cell<usize>,
    /// What expressions over the goal's parameters are paid from.
    purse: WorkBudget,
}

/// What is sent of an entry of arguments, where that is known before the run.
enum FixedEntry {
    /// Its value.
    Sent(Value),
    /// Nothing: its value is null.
    LeftOut,
}

impl<'a> Pass<'a> {
    fn new(
        plan: &'a Plan,
        origin: &'a Origin,
        (terms, open): (&'a Terms, &'a OpenPlan),
        base: &'a RevisionBase<'a>,
    ) -> Self {
        let graph = graph::Graph::of(plan);
        let order = order::Order::of(plan, &terms.catalog, &graph);
        Self {
            plan,
            origin,
            terms,
            open,
            base,
            graph,
            guards: guards::Guards::of(plan, &order),
            order,
            params: Value::Object(terms.goal.params.clone()),
            outputs: scope::Outputs::default(),
            labels: BTreeMap::new(),
            run_checks: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            totals: None,
            diagnostics: Vec::new(),
            uncounted: 0,
            suggestions: Cell::new(SUGGESTIONS_MAX),
            type_work: Cell::default(),
            purse: WorkBudget::of(TURN_WORK_MAX),
        }
    }

    /// Whether to look for the name that was meant: not for the thousandth wrong one.
    fn suggests(&self) -> bool {
        let left = self.suggestions.get();
        self.suggestions.set(left.saturating_sub(1));
        left > 0
    }

    /// Whether there is work left to look through so many values of a schema.
    fn spends(&self, values: usize) -> bool {
        let spent = self.type_work.get().saturating_add(values);
        self.type_work.set(spent);
        spent <= TYPE_WORK_MAX
    }

    /// The value of a template that reads only parameters of the goal: known before the run.
    fn fixed(&self, template: &Template) -> Option<Value> {
        let reads_only_params = template.references().all(|r| r.root == Root::Params);
        if !reads_only_params || self.open.leaves_open(template) {
            return None;
        }
        template
            .eval(
                &Scope::new()
                    .with("params", &self.params)
                    .paid_from(&self.purse),
            )
            .ok()
    }

    /// The value of a tree that reads only parameters of the goal.
    fn fixed_tree(&self, tree: &ArgTree) -> Option<Value> {
        match tree {
            ArgTree::Value(value, _) => Some(value.clone()),
            ArgTree::Template(template) => self.fixed(template),
            ArgTree::List(items, _) => items.iter().map(|item| self.fixed_tree(item)).collect(),
            ArgTree::Map(entries, _) => {
                let mut map = Map::new();
                for entry in entries {
                    match self.fixed_entry(entry)? {
                        FixedEntry::Sent(value) => map.insert(entry.0.to_string(), value),
                        FixedEntry::LeftOut => None,
                    };
                }
                Some(Value::Object(map))
            }
        }
    }

    /// What is sent of an entry that reads only parameters of the goal.
    fn fixed_entry(&self, (key, value): &(Key, ArgTree)) -> Option<FixedEntry> {
        let value = self.fixed_tree(value)?;
        Some(match key.may_be_left_out() && value.is_null() {
            true => FixedEntry::LeftOut,
            false => FixedEntry::Sent(value),
        })
    }

    /// The operation of a call of a step, if the catalog has it.
    fn called(&self, step: &Step, role: CallRole) -> Option<&'a Arc<Operation>> {
        self.terms.catalog.get(&step.call(role)?.0.value)
    }

    /// What policy says of a call of a step, once it was asked.
    fn verdict(&self, step: &Step, role: CallRole) -> Option<&Verdict> {
        self.verdicts.get(&step.id.value)?.get(&role)
    }

    /// The operation that shows people what the calls of a step are about.
    fn previewing(&self, step: &Step) -> Option<&'a Arc<Operation>> {
        let preview = self.operation(step)?.preview.as_ref()?;
        self.terms.catalog.get(&preview.tool)
    }

    /// The operations that the steps may call into which a step is still to be refined.
    fn may_call(&self, step: &'a Step) -> impl Iterator<Item = &'a Operation> {
        let open = step.subgoal().filter(|subgoal| subgoal.is_open());
        let catalog: &'a Catalog = &self.terms.catalog;
        open.into_iter()
            .flat_map(move |subgoal| subgoal.admitted(catalog))
    }

    /// How many steps a step may still be refined into.
    fn still_to_come(&self, step: &Step) -> u64 {
        let open = step.subgoal().filter(|subgoal| subgoal.is_open());
        open.map_or(0, |subgoal| {
            let there = self.plan.children(&step.id.value).count();
            let there = u64::try_from(there).unwrap_or(u64::MAX);
            subgoal.steps_max.value.saturating_sub(there)
        })
    }

    /// The operation a step calls, if the catalog has it.
    fn operation(&self, step: &Step) -> Option<&'a Arc<Operation>> {
        self.called(step, CallRole::Own)
    }
}
