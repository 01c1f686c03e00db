//! A playbook compiled for every goal of its form: its plan, and that plan with its rules applied.
//!
//! Owns which cases are compiled, with which values, and how their findings become those of one
//! file. Judges no plan itself: that is the function that the run machine uses. INVARIANT: a
//! finding stands at its place in the playbook's own file, and what is refused here is refused of
//! some goal: by its type for all values, or for the values that the finding names.

use std::collections::BTreeSet;

use provost_plan::check::{
    Checked, CheckedPlan, Draft, OpenPlan, Origin, RevisionBase, Terms, never_holds,
};
use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, Severity, has_errors};
use provost_plan::label::Label;
use provost_plan::plan::{Goal, Params};
use provost_plan::source::{Source, Span};
use provost_planner::Playbook;
use provost_planner::playbook::{NextCase, PlaybookCase};
use provost_run::event::PlannerChoice;
use provost_run::proposal::{compile, compile_open};
use serde_json::json;

use super::checked_file::{CheckedFile, terms};
use crate::workspace::Workspace;

/// Most cases of one playbook that are compiled.
const CASES_MAX: usize = 48;
/// Most values of the parameters that one case is compiled with.
const VALUES_MAX: usize = 40;
/// Most compiles with values of one playbook.
const COMPILES_MAX: usize = 400;

/// Judges a playbook for every goal of its form.
#[must_use]
pub fn of_playbook(workspace: &Workspace, source: Source) -> CheckedFile {
    match Playbook::read(&source) {
        Ok(playbook) => Compiler::new(workspace, &playbook).run(),
        Err(diagnostics) => CheckedFile::unread(source, diagnostics),
    }
}

/// A case with what was found in it.
struct Compiled {
    case: PlaybookCase,
    plan: Option<CheckedPlan>,
    /// The place of the case that it follows.
    from: Option<usize>,
    found: Vec<Diagnostic>,
}

struct Compiler<'w> {
    workspace: &'w Workspace,
    playbook: &'w Playbook,
    by: PlannerChoice,
    terms: Terms,
    cases: Vec<Compiled>,
    /// What is wrong with how rules change plans.
    of_rules: Vec<Diagnostic>,
    /// The rules that some case can come to.
    applied: BTreeSet<usize>,
    is_cut: bool,
}

impl<'w> Compiler<'w> {
    fn new(workspace: &'w Workspace, playbook: &'w Playbook) -> Self {
        let name = playbook.name().to_owned();
        let by = PlannerChoice::Playbook { name };
        Self {
            workspace,
            playbook,
            terms: terms(workspace, &goal_of(playbook, &Params::new()), &by),
            by,
            cases: Vec::new(),
            of_rules: Vec::new(),
            applied: BTreeSet::new(),
            is_cut: false,
        }
    }

    fn run(mut self) -> CheckedFile {
        let first = match self.playbook.first_case() {
            Ok(first) => first,
            Err(found) => return CheckedFile::unread(self.playbook.source().clone(), found),
        };
        let (open, draft) = (self.open(&first), self.draft(&first));
        let base = RevisionBase {
            revision: 1,
            ..RevisionBase::default()
        };
        let checked = compile_open(draft, &self.terms, &base, &self.by, &open);
        let (not_checked, worst) = (checked.not_checked.clone(), checked.worst.clone());
        self.keep(first, None, checked);
        let mut at = 0;
        while at < self.cases.len() {
            self.follow(at);
            at += 1;
        }
        let (values, tried) = self.with_values();
        let mut diagnostics = self.findings();
        let mut not_checked = not_checked;
        // Why: it is checked for the values that are known once there is a goal.
        let is_open =
            |one: &Diagnostic| one.code == Code::RunTimeCheck && !tried.contains(&one.span);
        let open: BTreeSet<usize> = diagnostics
            .iter()
            .filter(|one| is_open(one))
            .map(|one| self.playbook.source().position(one.span.start).0)
            .collect();
        if !open.is_empty() {
            diagnostics.retain(|one| !is_open(one));
            let lines: Vec<String> = open.iter().map(usize::to_string).collect();
            let line = format!(
                "values of parameters other than those tried: line {}",
                lines.join(", ")
            );
            not_checked.insert(0, line);
        }
        diagnostics.extend(values);
        diagnostics.extend(std::mem::take(&mut self.of_rules));
        if !has_errors(&diagnostics) {
            diagnostics.extend(self.never_applied());
        }
        if self.is_cut {
            diagnostics.push(too_many(self.playbook));
        }
        diagnostics.sort_by(|a, b| {
            let key = |d: &Diagnostic| (d.span, d.code);
            key(a).cmp(&key(b)).then_with(|| a.message.cmp(&b.message))
        });
        diagnostics.dedup();
        let plan = self.cases.into_iter().next().and_then(|first| first.plan);
        CheckedFile {
            source: self.playbook.source().clone(),
            goal: self.terms.goal.clone(),
            plan: plan.filter(|_| !has_errors(&diagnostics)),
            diagnostics,
            not_checked,
            worst: Some(worst),
        }
    }

    fn open(&self, case: &PlaybookCase) -> OpenPlan {
        OpenPlan {
            params: Some(self.playbook.param_schemas()),
            conditions: case.conditions.clone(),
            observed: case.observed.clone(),
        }
    }

    fn draft(&self, case: &PlaybookCase) -> Draft {
        Draft {
            plan: case.plan.clone(),
            origin: Origin {
                author: self.playbook.author(),
                literals: Label::trusted(),
                control: Label::trusted(),
            },
        }
    }

    fn keep(&mut self, case: PlaybookCase, from: Option<usize>, checked: Checked) {
        let Checked {
            plan,
            mut diagnostics,
            ..
        } = checked;
        diagnostics.extend(self.playbook.withheld(&case, self.workspace.catalog()));
        self.applied.extend(case.fired());
        self.cases.push(Compiled {
            case,
            plan,
            from,
            found: diagnostics,
        });
    }

    /// What a case stands on: the one before it.
    fn base(&self, case: &PlaybookCase, from: Option<usize>) -> RevisionBase<'_> {
        let before = from.and_then(|from| self.cases.get(from));
        RevisionBase {
            revision: u32::try_from(case.fired().len()).unwrap_or(u32::MAX) + 1,
            previous: before.and_then(|before| before.plan.as_ref()),
            settled: case.settled.clone(),
            over: case.settled.clone(),
            undoes: false,
        }
    }

    /// Compiles what every rule that can apply next makes of a case without errors.
    fn follow(&mut self, at: usize) {
        let Some(before) = self.cases.get(at) else {
            return;
        };
        let Some(plan) = &before.plan else { return };
        let (open, draft) = (self.open(&before.case), self.draft(&before.case));
        let next = self.playbook.next_cases(&before.case, plan.record());
        for NextCase {
            case,
            together,
            rule,
        } in next
        {
            let never = |when| never_holds(&draft, &self.terms, &open, when);
            if together.as_ref().is_some_and(never) {
                continue;
            }
            self.applied.insert(rule);
            let case = match case {
                Ok(case) => case,
                Err(found) => {
                    self.of_rules.extend(found);
                    continue;
                }
            };
            if self.cases.iter().any(|known| known.case.is_as(&case)) {
                continue;
            }
            if self.cases.len() >= CASES_MAX {
                self.is_cut = true;
                return;
            }
            let (open, draft) = (self.open(&case), self.draft(&case));
            let base = self.base(&case, Some(at));
            let checked = compile_open(draft, &self.terms, &base, &self.by, &open);
            self.keep(case, Some(at), checked);
        }
    }

    /// What holds of the playbook: every error, and what else was found in all cases that it is
    /// about.
    fn findings(&self) -> Vec<Diagnostic> {
        let mut kept: Vec<Diagnostic> = Vec::new();
        let is_same = |a: &Diagnostic, b: &Diagnostic| {
            a.code == b.code && a.span == b.span && a.message == b.message
        };
        let all = self.cases.iter();
        for (one, finding) in all.flat_map(|one| one.found.iter().map(move |f| (one, f))) {
            if kept.iter().any(|known| is_same(known, finding)) {
                continue;
            }
            let is_error = finding.severity() == Severity::Error;
            let holds = |one: &Compiled| one.found.iter().any(|other| is_same(other, finding));
            // Why not those with errors: what they lack was not looked for.
            let is_clean = |one: &&Compiled| one.plan.is_some() || one.from.is_none();
            let about = self.cases.iter().filter(is_clean);
            let mut about = about
                .filter(|one| one.case.holds(self.playbook, finding.span))
                .peekable();
            if is_error || (about.peek().is_some() && about.all(holds)) {
                kept.push(self.named(one, finding));
            }
        }
        kept
    }

    /// An error with the rules that lead to it.
    fn named(&self, one: &Compiled, finding: &Diagnostic) -> Diagnostic {
        let rules = one
            .case
            .fired()
            .iter()
            .map(|rule| self.playbook.rule_name(*rule));
        let rules = rules.collect::<Vec<_>>().join(", then ");
        match finding.severity() == Severity::Error && !rules.is_empty() {
            true => finding
                .clone()
                .note(format!("it is so once {rules} was applied")),
            false => finding.clone(),
        }
    }

    /// The errors that only some values of the parameters bring, with these; and where values are
    /// checked at run time alone although those of the parameters are known.
    fn with_values(&self) -> (Vec<Diagnostic>, BTreeSet<Span>) {
        let mut found: Vec<Diagnostic> = Vec::new();
        let mut at_run_time = BTreeSet::from([Span::default()]);
        let values = self.playbook.edge_params(VALUES_MAX);
        let mut compiles = 0;
        for one in self.cases.iter().filter(|one| one.plan.is_some()) {
            for params in &values {
                compiles += 1;
                if compiles > COMPILES_MAX {
                    return (found, at_run_time);
                }
                let goal = goal_of(self.playbook, params);
                let terms = Terms {
                    goal,
                    ..self.terms.clone()
                };
                let base = self.base(&one.case, one.from);
                let checked = compile(self.draft(&one.case), &terms, &base, &self.by, None);
                let checks = checked.diagnostics.iter();
                let checks = checks.filter(|finding| finding.code == Code::RunTimeCheck);
                at_run_time.extend(checks.map(|finding| finding.span));
                let errors = checked.diagnostics.into_iter();
                let errors = errors.filter(|finding| finding.severity() == Severity::Error);
                for error in errors {
                    let is_known =
                        |known: &Diagnostic| known.code == error.code && known.span == error.span;
                    if !found.iter().any(is_known) {
                        found.push(for_values(error, params));
                    }
                }
            }
        }
        (found, at_run_time)
    }

    /// The rules that no case comes to.
    fn never_applied(&self) -> Vec<Diagnostic> {
        let rules = 0..self.playbook.rule_count();
        let is_idle = |rule: &usize| !self.applied.contains(rule) && !self.is_cut;
        let idle =
            rules.filter(is_idle).filter(|rule| {
                // Why not where its condition is known to be of no use: that says it.
                let span = self.playbook.rule_span(*rule);
                let own = self.playbook.condition_span(*rule);
                span != Span::default()
                    && !self.cases.iter().flat_map(|one| &one.found).any(|finding| {
                        finding.code == Code::ConstantGuard && own == Some(finding.span)
                    })
            });
        let finding = |rule| {
            let message = "the rule is never applied: no plan has the steps that it waits for when \
                           they can still end";
            Diagnostic::new(Code::BadPlaybook, self.playbook.rule_span(rule), message)
                .hint("wait for steps of one plan: its own, or one that another rule makes")
        };
        idle.map(finding).collect()
    }
}

/// A goal of the playbook's form: where it has no criteria of its own, its first sentence is one.
fn goal_of(playbook: &Playbook, params: &Params) -> Goal {
    let sentence = playbook.sentences().next().unwrap_or_default();
    playbook.goal(sentence, params)
}

/// An error of a plan as one of its playbook: with the values that bring it.
fn for_values(error: Diagnostic, params: &Params) -> Diagnostic {
    let values = params
        .iter()
        .map(|(name, value)| format!("`{name}` = {value}"));
    let values = values.collect::<Vec<_>>().join(", ");
    let note = format!("so it is for a goal with {values}, which the types of its parameters take");
    let has_hint = error.hint.is_some();
    let error = Diagnostic { fix: None, ..error }.note(note);
    match has_hint {
        true => error,
        false => error.hint("make the types narrower: `pattern`, `enum`, `minimum`, `maximum`"),
    }
}

fn too_many(playbook: &Playbook) -> Diagnostic {
    let message = format!(
        "its rules can apply in more than {CASES_MAX} ways, of which the rest is not compiled"
    );
    let span = playbook.rule_span(0);
    let rules = json!(playbook.rule_count());
    Diagnostic::new(Code::ManyCases, span, message)
        .note(format!("it has {rules} rules"))
        .hint("make rules exclude each other, or write two playbooks")
}
