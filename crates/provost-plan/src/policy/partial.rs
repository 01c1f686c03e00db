//! Decisions while some arguments are not known.
//!
//! Owns type-aware partial evaluation: known arguments are written into the policies, Cedar
//! evaluates what that settles, and the rest is said in words. Where Cedar cannot, the policy is
//! only said to hang on the arguments it looks at. INVARIANT: a policy is settled only if no value
//! of the unknown arguments could change what it says.

use std::collections::BTreeSet;

use cedar_policy::pst::{self, ActionConstraint, Clause, Expr, Literal};
use cedar_policy::{
    Entities, PartialEntities, PartialEntityUid, PartialRequest, PolicySet, Request, Schema,
};

use super::authoring::words::in_words;
use super::combine::{Open, Side};
use super::load::PolicyEntry;
use super::mentions::{Mention, expression, mentions_of};
use super::substitute::KnownArguments;
use super::values::DecisionInput;

/// Said where an argument may turn out to have no exact type.
pub(super) const OPAQUE_WORDS: &str = "an argument cannot be shown to policy exactly";

/// What is known when a policy is evaluated in part.
pub(super) struct Partial<'a> {
    /// The words.
    pub schema: &'a Schema,
    /// The request, with the known part of its context.
    pub request: &'a Request,
    /// The entities.
    pub entities: &'a Entities,
    /// The known arguments.
    pub seen: &'a DecisionInput,
    /// What is unknown.
    pub open: &'a BTreeSet<Mention>,
    /// The policies that look at something unknown.
    pub entries: &'a [&'a PolicyEntry],
}

/// What a policy comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PolicyPart {
    /// It applies, whatever the unknown arguments are.
    Applies,
    /// It does not, whatever they are.
    Not,
    /// It errs, whatever they are.
    Errs,
    /// That hangs on them, in these words.
    Open(String),
}

/// Evaluates every policy as far as it goes.
pub(super) fn evaluate<'a>(partial: &Partial<'a>) -> Vec<(&'a PolicyEntry, PolicyPart)> {
    if partial.entries.is_empty() {
        return Vec::new();
    }
    let world = partial.world();
    let part = |entry: &PolicyEntry| {
        let evaluated = world.as_ref().and_then(|(request, entities)| {
            let set = partial.substituted(entry)?;
            let response = set.tpe(request, entities, partial.schema).ok()?;
            let id = cedar_policy::PolicyId::new(&entry.id);
            part_of(&response.get_policy(&id)?)
        });
        evaluated.unwrap_or_else(|| partial.unevaluated(entry))
    };
    partial
        .entries
        .iter()
        .map(|entry| (*entry, part(entry)))
        .collect()
}

impl Partial<'_> {
    /// Request and entities for Cedar's partial evaluation: everything but the context.
    fn world(&self) -> Option<(PartialRequest, PartialEntities)> {
        let of = |uid: Option<&cedar_policy::EntityUid>| {
            uid.cloned().map(PartialEntityUid::from_concrete)
        };
        let request = PartialRequest::new(
            of(self.request.principal())?,
            self.request.action()?.clone(),
            of(self.request.resource())?,
            None,
            self.schema,
        );
        let entities = PartialEntities::from_concrete(self.entities.clone(), self.schema);
        Some((request.ok()?, entities.ok()?))
    }

    /// The policy with what is known written into it. Its scope holds: it was looked at before.
    fn substituted(&self, entry: &PolicyEntry) -> Option<PolicySet> {
        let known = KnownArguments {
            seen: self.seen,
            open: self.open,
        };
        let clauses: Vec<Clause> = entry
            .tree
            .clauses()
            .iter()
            .map(|c| known.clause(c))
            .collect();
        let open = self.open.contains(&Mention::Repeats);
        let counts = |clause| mentions_of(expression(clause)).contains(&Mention::Repeats);
        // Why: written in another way than `resource.repeats`, it would pass for none.
        if open && clauses.iter().any(counts) {
            return None;
        }
        let mut tree = entry.tree.clone().with_id(entry.id.as_str().into());
        tree.action = ActionConstraint::Any;
        let tree = tree.try_with_clauses(clauses).ok()?;
        let policy = pst::Policy::Static(pst::StaticPolicy::try_from(tree).ok()?);
        PolicySet::from_policies([cedar_policy::Policy::from_pst(policy).ok()?]).ok()
    }

    /// Says of a policy only what it hangs on.
    fn unevaluated(&self, entry: &PolicyEntry) -> PolicyPart {
        let named = |mention: &Mention| match mention {
            Mention::Arg(name) => format!("`{name}`"),
            Mention::Sinks | Mention::Hosts => "who or what is reached".to_owned(),
            Mention::Repeats => "how often it was made before".to_owned(),
            Mention::Totals => "what the plan comes to".to_owned(),
            Mention::Opaque | Mention::Whole | Mention::Attended => "the arguments".to_owned(),
        };
        let names: BTreeSet<String> = entry.mentions.intersection(self.open).map(named).collect();
        let names: Vec<String> = names.into_iter().collect();
        PolicyPart::Open(format!(
            "policy `{}` applies, which hangs on {}",
            entry.id,
            names.join(" and ")
        ))
    }
}

/// What Cedar made of a policy; none if its answer has an unknown form.
fn part_of(policy: &cedar_policy::Policy) -> Option<PolicyPart> {
    let pst::Policy::Static(policy) = policy.to_pst().ok()? else {
        return None;
    };
    let [clause] = policy.body().clauses().as_slice() else {
        return policy
            .body()
            .clauses()
            .is_empty()
            .then_some(PolicyPart::Applies);
    };
    let expr = expression(clause);
    let when = matches!(clause, Clause::When(_));
    Some(match &**expr {
        Expr::Literal(Literal::Bool(value)) if *value == when => PolicyPart::Applies,
        Expr::Literal(Literal::Bool(_)) => PolicyPart::Not,
        Expr::ResidualError => PolicyPart::Errs,
        rest => PolicyPart::Open(in_words(rest, when)),
    })
}

/// Adds what open policies come to.
///
/// # Errors
/// The policies that err whatever the unknown arguments are.
pub(super) fn add(
    side: &mut Side,
    parts: Vec<(&PolicyEntry, PolicyPart)>,
) -> Result<(), Vec<String>> {
    let mut errors = Vec::new();
    for (entry, part) in parts {
        let id = entry.id.clone();
        match part {
            PolicyPart::Not => {}
            PolicyPart::Errs => {
                errors.push(format!("policy `{id}` fails on every call of this form"))
            }
            PolicyPart::Applies if entry.forbids => side.forbids.push(id),
            PolicyPart::Applies => side.permits.push(id),
            PolicyPart::Open(when) if entry.forbids => side.open_forbids.push(Open { id, when }),
            PolicyPart::Open(when) => side.open_permits.push(Open { id, when }),
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors)
    }
}
