//! What a policy comes to over the whole catalog: rules that do nothing, tools left out.
//!
//! Owns the findings of `policy check` beyond loading. Every judgment is the one that decides
//! calls ([`partial`], [`Policy::decide`]), asked with all arguments unknown. INVARIANT: a policy
//! is called impossible only if no effect, tags, labels or people could make it apply.

use std::collections::{BTreeMap, BTreeSet};

use cedar_policy::{Entities, Request};
use serde_json::Map;

use crate::catalog::Effect;
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::label::{Integrity, Label};
use crate::policy::load::{PolicyEntry, base_name, span_of};
use crate::policy::mentions::Mention;
use crate::policy::names::{PolicyNames, UnknownName};
use crate::policy::partial::{self, Partial, PolicyPart};
use crate::policy::ready::{PolicyKey, PolicyQuery};
use crate::policy::values::DecisionInput;
use crate::policy::{
    CallFacts, OperationTerms, Policy, Principal, PrincipalKind, RunAction, Verdict, entities, lint,
};
use crate::source::{Source, Span};

/// What a policy comes to.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Every operation, by name.
    pub operations: Vec<OperationVerdicts>,
    /// Policies that could apply, but to no operation as they are declared now.
    pub idle: Vec<String>,
    /// The policies that decide what people may do to a run beside saying yes and no; none in a
    /// solo workspace, where whoever is at the machine may do everything.
    pub statements: Vec<(RunAction, Vec<String>)>,
    /// What is probably a mistake, with the file it stands in.
    pub findings: Vec<(Source, Diagnostic)>,
}

/// What becomes of calls of one operation.
#[derive(Clone, Debug)]
pub struct OperationVerdicts {
    /// The operation's name.
    pub operation: String,
    /// What it does to the world.
    pub effect: Effect,
    /// The verdict while everything in the call is trusted.
    pub trusted: Verdict,
    /// The verdict when untrusted text stands in every argument.
    pub untrusted: Verdict,
}

impl Policy {
    /// Looks at every policy and every operation, for a run that `principal` asks for.
    #[must_use]
    pub fn survey(&self, principal: &Principal) -> Survey {
        let mut findings = Vec::new();
        let mut idle = Vec::new();
        for (place, entry) in self.inner.entries.iter().enumerate() {
            let named = PolicyNames::of(&entry.tree);
            findings.extend(self.names_nobody(entry));
            if lint::reaches_only_people(&entry.tree.action)
                || self.applies(place, entry, &named, false)
            {
                continue;
            }
            if self.applies(place, entry, &named, true) {
                idle.push(entry.id.clone());
            } else {
                let message = format!("policy `{}` can never apply", entry.id);
                let finding = Diagnostic::new(Code::PolicyNeverApplies, Span::default(), message)
                    .hint("no call meets all its conditions: one of them contradicts another");
                findings.push(self.at(entry, finding));
            }
        }
        let mut operations = Vec::new();
        for (name, terms) in &self.inner.operations {
            if !self.is_covered(terms) {
                findings.push(self.uncovered(name));
            }
            operations.push(self.outlook(terms, principal));
        }
        findings.sort_by(|(a, x), (b, y)| {
            (&a.name, x.span, &x.message).cmp(&(&b.name, y.span, &y.message))
        });
        let people = RunAction::ALL.into_iter().filter(|_| !self.is_solo());
        let deciding = |action| (action, self.rights().deciding(action));
        Survey {
            operations,
            statements: people.map(deciding).collect(),
            idle,
            findings,
        }
    }

    fn outlook(&self, terms: &OperationTerms, principal: &Principal) -> OperationVerdicts {
        let operation = &terms.operation;
        let names: BTreeSet<String> = terms.fields.known.keys().cloned().collect();
        let verdict = |integrity| {
            let label = Label {
                integrity,
                ..Label::trusted()
            };
            let labels: BTreeMap<String, Label> =
                names.iter().map(|n| (n.clone(), label.clone())).collect();
            self.decide(&CallFacts {
                principal,
                operation,
                role: "",
                args: &Map::new(),
                unknown: &names,
                labels: &labels,
                control: &Label::trusted(),
                inputs_validated: true,
                values_from_goal: label.integrity == Integrity::Trusted,
                repeats: CallFacts::repeats_before_the_run(operation),
                totals: None,
            })
        };
        OperationVerdicts {
            operation: operation.name.clone(),
            effect: operation.effect,
            trusted: verdict(Integrity::Trusted),
            untrusted: verdict(Integrity::Text),
        }
    }

    /// Whether a policy may apply to a call: of an operation as it is declared, or, if `freely`,
    /// as it could be declared.
    fn applies(
        &self,
        place: usize,
        entry: &PolicyEntry,
        named: &PolicyNames,
        freely: bool,
    ) -> bool {
        let people = self.candidates(named, freely);
        let roles = named.roles_in(&self.inner.known.roles, freely);
        self.inner.operations.values().any(|terms| {
            let Ok(action) = terms.action(self) else {
                return false;
            };
            if action.entries.binary_search(&place).is_err() {
                return false;
            }
            named.forms(terms, freely).iter().any(|(effect, tags)| {
                people.iter().any(|person| {
                    named
                        .standings(person, *effect, tags, &roles)
                        .iter()
                        .any(|standing| {
                            let scene = terms.scene(self, standing);
                            scene.is_ok_and(|scene| {
                                [&scene.unattended, &scene.attended].iter().any(|side| {
                                    self.part(entry, terms, &scene, side, freely)
                                        != Some(PolicyPart::Not)
                                })
                            })
                        })
                })
            })
        })
    }

    /// Whether some policy permits some call of an operation, if a person says yes.
    fn is_covered(&self, terms: &OperationTerms) -> bool {
        let permits = self.inner.entries.iter().filter(|entry| !entry.forbids);
        let group = crate::policy::vocabulary::server_group(terms.operation.server());
        let mut reaching = permits
            .filter(|entry| lint::reaches(&entry.tree.action, &terms.operation.name, &group));
        reaching.any(|entry| {
            let named = PolicyNames::of(&entry.tree);
            let roles = named.roles_in(&self.inner.known.roles, false);
            self.candidates(&named, false).iter().any(|person| {
                let own = &terms.operation;
                named
                    .standings(person, own.effect, &own.tags, &roles)
                    .iter()
                    .any(|standing| {
                        let scene = terms.scene(self, standing);
                        scene.is_ok_and(|scene| {
                            let side = &scene.attended;
                            self.part(entry, terms, &scene, side, false) != Some(PolicyPart::Not)
                        })
                    })
            })
        })
    }

    /// What one policy comes to with every argument unknown, and its type too if `freely`; none
    /// if that cannot be said.
    fn part(
        &self,
        entry: &PolicyEntry,
        terms: &OperationTerms,
        scene: &PolicyQuery,
        entities: &Entities,
        freely: bool,
    ) -> Option<PolicyPart> {
        let unknown: BTreeSet<String> = terms.fields.known.keys().cloned().collect();
        let none = std::iter::empty();
        let seen = DecisionInput::of(&terms.fields, &terms.operation, none, &unknown).ok()?;
        let mut open = terms.open(&unknown);
        open.extend(entry.mentions.get(&Mention::Repeats).cloned());
        if freely {
            open.extend([
                Mention::Sinks,
                Mention::Hosts,
                Mention::Opaque,
                Mention::Whole,
            ]);
        }
        let request = Request::new(
            scene.principal.clone(),
            scene.action.clone(),
            scene.call.clone(),
            entities::context(&seen).ok()?,
            None,
        )
        .ok()?;
        let asked = [entry];
        let parts = partial::evaluate(&Partial {
            schema: self.schema_for(&open),
            request: &request,
            entities,
            seen: &seen,
            open: &open,
            entries: &asked,
        });
        parts.into_iter().next().map(|(_, part)| part)
    }

    /// People and agents that a policy may be about.
    fn candidates(&self, named: &PolicyNames, freely: bool) -> Vec<Principal> {
        if !named.principal {
            return vec![self.people().principal("somebody")];
        }
        let groups = if freely {
            named.groups.clone()
        } else {
            BTreeSet::new()
        };
        let make = |kind, id: &str| Principal {
            kind,
            id: id.to_owned(),
            groups: groups.clone(),
        };
        let mut all = vec![
            make(PrincipalKind::User, "somebody"),
            make(PrincipalKind::Agent, "somebody"),
        ];
        for id in self.people().names() {
            let person = self.people().principal(id);
            let agent = Principal {
                kind: PrincipalKind::Agent,
                ..person.clone()
            };
            all.extend([person, agent]);
        }
        if freely {
            let named = named.users.iter();
            all.extend(named.map(|id| make(PrincipalKind::User, id)));
        }
        all
    }

    fn uncovered(&self, name: &str) -> (Source, Diagnostic) {
        let message = format!("no policy permits `{name}`: every call of it is forbidden");
        let finding = Diagnostic::new(Code::Uncovered, Span::default(), message).hint(
            "add a `permit` that reaches it, or take the tool out of provost.toml: what can never \
             be called need not be there",
        );
        let first = self.inner.sources.first().cloned();
        (
            first.unwrap_or_else(|| Source::new("policies", "")),
            finding,
        )
    }

    /// A finding about a policy, where the policy stands.
    fn at(&self, entry: &PolicyEntry, mut finding: Diagnostic) -> (Source, Diagnostic) {
        let sources = &self.inner.sources;
        let holds = |source: &&Source| span_of(source, &entry.id) != Span::default();
        let file = entry.id.split('#').next().unwrap_or_default();
        let source = sources
            .iter()
            .find(holds)
            .or_else(|| sources.iter().find(|source| base_name(source) == file))
            .cloned()
            .unwrap_or_else(|| Source::new("policies", ""));
        finding.span = span_of(&source, &entry.id);
        (source, finding)
    }

    fn names_nobody(&self, entry: &PolicyEntry) -> Vec<(Source, Diagnostic)> {
        let find = |stray: UnknownName| {
            let finding = Diagnostic::new(Code::NamesNobody, Span::default(), stray.message);
            let (source, mut finding) = self.at(entry, finding.hint(stray.hint));
            let rest = source.text.get(finding.span.start..).unwrap_or_default();
            if let Some(at) = rest.find(&stray.written) {
                finding.span = finding.span.sub(at, stray.written.len());
            }
            (source, finding)
        };
        // Why not all: with another the policy did not load.
        let strays = self.inner.known.strays(entry).into_iter();
        strays.filter(|stray| !stray.refuses).map(find).collect()
    }
}

impl PolicyNames {
    fn standings(
        &self,
        person: &Principal,
        effect: Effect,
        tags: &BTreeSet<String>,
        roles: &BTreeSet<String>,
    ) -> Vec<PolicyKey> {
        PolicyKey::every(person, effect, tags, roles, |names| self.looks_at(names))
    }

    /// The roles to ask with: none and those declared, and with them, if `freely`, all that it
    /// compares with; none alone if it does not look.
    fn roles_in(&self, declared: &BTreeSet<String>, freely: bool) -> BTreeSet<String> {
        let mut roles = BTreeSet::from([String::new()]);
        if self.looks_at(&["role"]) {
            roles.extend(declared.iter().cloned());
            roles.extend(self.roles.iter().filter(|_| freely).cloned());
            roles.extend(self.like.iter().filter(|_| freely).cloned());
        }
        roles
    }

    /// The effects and tags to ask with: those declared, or all that could make a difference.
    fn forms(&self, terms: &OperationTerms, freely: bool) -> Vec<(Effect, BTreeSet<String>)> {
        let own = &terms.operation;
        if !freely {
            return vec![(own.effect, own.tags.clone())];
        }
        let mut tags = vec![BTreeSet::new()];
        if self.looks_at(&["tags", "risk"]) {
            tags.push(self.tags.clone());
            tags.extend(self.tags.iter().map(|tag| BTreeSet::from([tag.clone()])));
            // Why these: they raise the computed risk, which a policy may look at.
            let known = ["production", "money"].map(str::to_owned);
            tags.push(self.tags.iter().cloned().chain(known).collect());
        }
        let effects = Effect::WORDS.map(|(_, effect)| effect);
        let differ = self.looks_at(&["effect", "risk"]);
        effects
            .into_iter()
            .take(if differ { effects.len() } else { 1 })
            .flat_map(|effect| tags.iter().map(move |tags| (effect, tags.clone())))
            .collect()
    }
}
