//! Part of the pass `policy`: approvals that too few people may give.
//!
//! Owns V606. Who may approve is the policy's word; this counts them. INVARIANT: nothing is said
//! where no people are listed, and what is found names an approval that nobody who is listed can
//! complete together with the others.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Pass;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::plan::CallRole;
use crate::policy::{AskTerms, Decision, Verdict};
use crate::reach::needs;
use crate::source::Span;

/// The verdicts of a plan, by step and call.
type Verdicts = BTreeMap<String, BTreeMap<CallRole, Verdict>>;

/// The approvals that cannot be given: one finding for all steps that miss the same people.
pub(super) fn too_few(pass: &Pass<'_>, verdicts: &Verdicts) -> Vec<Diagnostic> {
    let people = pass.terms.policy.people();
    if people.names().next().is_none() {
        return Vec::new();
    }
    let mut counted: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    let mut found: BTreeMap<String, (Diagnostic, Span)> = BTreeMap::new();
    for step in &pass.plan.steps {
        let of_step = verdicts.get(&step.id.value);
        for (role, tool, _) in step.calls() {
            let verdict = of_step.and_then(|of_step| of_step.get(&role));
            let Some(verdict) = verdict.filter(|v| v.decision == Decision::Ask) else {
                continue;
            };
            let terms = verdict.ask.clone().unwrap_or_default();
            let asked = needs(&AskTerms {
                expires_ms: None,
                valid_ms: None,
                ..terms.clone()
            });
            let enough = usize::try_from(terms.quorum).unwrap_or(usize::MAX).max(1);
            let key = (asked.clone(), tool.value.clone());
            let who = counted.entry(key);
            // Why no more: policy is asked for each, and where they are enough nothing is said.
            let who =
                who.or_insert_with(|| approvers(pass, &tool.value, &terms).take(enough).collect());
            if who.len() >= enough {
                continue;
            }
            let id = &step.id.value;
            let about = format!("{asked}: {}", words(who));
            let may = match &verdict.condition {
                Some(_) => "may need",
                None => "needs",
            };
            let first = || {
                let message = format!("`{id}` {may} {asked}, and {}", words(who));
                let finding = Diagnostic::new(Code::TooFewApprovers, tool.span, message);
                (finding.hint(hint(pass, &terms)).step(id), tool.span)
            };
            match found.remove(&about) {
                None => found.insert(about, first()),
                Some((finding, at)) => {
                    let more = finding.related(tool.span, format!("`{id}` {may} it as well"));
                    found.insert(about, (more, at))
                }
            };
        }
    }
    found.into_values().map(|(finding, _)| finding).collect()
}

/// Who of those who are listed may say yes to a call; policy is asked as they are taken.
fn approvers<'p>(
    pass: &'p Pass<'_>,
    tool: &str,
    terms: &'p AskTerms,
) -> impl Iterator<Item = String> + 'p {
    let (policy, requester) = (&pass.terms.policy, &pass.terms.principal);
    let operation = pass.terms.catalog.get(tool);
    let people = policy.people();
    let listed = people.names().map(str::to_owned);
    // Why: in a solo workspace whoever is at the machine counts, listed or not.
    let own = policy.is_solo().then(|| requester.id.clone());
    let all: BTreeSet<String> = listed.chain(own).collect();
    let may = move |id: &String| {
        let person = people.principal(id);
        let operation = operation.map(AsRef::as_ref);
        policy
            .may_approve(&person, requester, operation, terms)
            .is_ok()
    };
    all.into_iter().filter(may)
}

fn words(who: &BTreeSet<String>) -> String {
    let names: Vec<String> = who.iter().map(|id| format!("`{id}`")).collect();
    match names.as_slice() {
        [] => "nobody may give it".to_owned(),
        names => format!("only {} may give it", names.join(", ")),
    }
}

/// What to do, by what is missing.
fn hint(pass: &Pass<'_>, terms: &AskTerms) -> String {
    let (people, requester) = (pass.terms.policy.people(), &pass.terms.principal.id);
    let holds = |id: &&str| terms.approvers.is_subset(&people.principal(id).groups);
    let members: BTreeSet<&str> = people.names().filter(holds).collect();
    let groups: Vec<&str> = terms.approvers.iter().map(String::as_str).collect();
    let in_groups = match groups.is_empty() {
        true => String::new(),
        false => format!(" in {}", groups.join(" and in ")),
    };
    let place = "list more people in `policies/entities.json`";
    if members.contains(requester.as_str()) && !pass.terms.policy.is_solo() {
        return format!(
            "`{requester}` asks for the run and may not approve it; {place}{in_groups}"
        );
    }
    if members.len() >= usize::try_from(terms.quorum).unwrap_or(usize::MAX) {
        return "add a `permit` about `Action::\"approve\"` that lets them".to_owned();
    }
    format!("{place}{in_groups}, or ask for fewer")
}
