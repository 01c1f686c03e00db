//! Cases of a policy: calls with the verdict somebody expects, in YAML.
//!
//! Owns the format of `policies/tests/*.yaml` and the comparison. The verdict is
//! [`Policy::decide`]'s, who may approve [`Policy::may_approve`]'s, what else somebody may say to a
//! run [`Policy::judge`]'s, as in a run. INVARIANT: a case
//! whose call could not be made (no such tool, arguments it refuses) is a finding, never a pass.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::amount::Totals;
use crate::catalog::{Catalog, Operation};
use crate::codes::Code;
use crate::diagnostic::Diagnostic;
use crate::label::{Integrity, Label};
use crate::node::{Fields, Node, parse_yaml};
use crate::policy::{
    ActionFacts, AskTerms, CallFacts, Decision, OperationFacts, People, Policy, Principal,
    PrincipalKind, RunAction,
};
use crate::source::{Source, Span, Spanned};

mod names;
mod sums;

use names::{CaseNames, own};

/// The version marker of a file of cases.
pub const CASES_SCHEMA: &str = "provost/policy-test/v1";

/// The cases of one file.
#[derive(Clone, Debug)]
pub struct Cases {
    list: Vec<Case>,
}

#[derive(Clone, Debug)]
struct Case {
    name: Spanned<String>,
    by: String,
    agent: bool,
    ask: CaseQuery,
    expect: Decision,
    because: Option<BTreeSet<String>>,
    quorum: Option<u32>,
    approvers: Option<BTreeSet<String>>,
}

/// What policy is asked.
#[derive(Clone, Debug)]
enum CaseQuery {
    /// Whether a call runs.
    Call {
        operation: String,
        role: String,
        args: Map<String, Value>,
        unknown: BTreeSet<String>,
        labels: BTreeMap<String, Label>,
        control: Integrity,
        inputs_validated: bool,
        values_from_goal: bool,
        repeats: u64,
        totals: Totals,
    },
    /// Whether `by` may say yes to a call that `requester` asked for.
    Approve {
        operation: String,
        requester: String,
    },
    /// Whether `by` may do this to a run that `requester` asked for, or `by` where that is nobody.
    May {
        action: RunAction,
        requester: Option<String>,
        operation: Option<String>,
        addressee: Option<String>,
        stopped_by: Option<String>,
    },
}

/// A case with what policy said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseResult {
    /// What the case is called.
    pub name: String,
    /// Where its name stands.
    pub span: Span,
    /// The operation it is about, or what is said to a run.
    pub operation: String,
    /// What was expected.
    pub expected: Decision,
    /// What policy said.
    pub given: Decision,
    /// The policies that decided.
    pub because: Vec<String>,
    /// What differs, in words; empty if the case passed.
    pub differs: Vec<String>,
}

impl CaseResult {
    /// Whether policy said what was expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.differs.is_empty()
    }
}

impl Cases {
    /// Reads cases about the operations of `catalog` and the listed `people`.
    ///
    /// # Errors
    /// Every finding, in the order of the text.
    pub fn read(
        source: &Source,
        catalog: &Catalog,
        people: &People,
    ) -> Result<Self, Vec<Diagnostic>> {
        let node = parse_yaml(&source.text).map_err(|finding| vec![*finding])?;
        let mut diagnostics = Vec::new();
        let mut list = Vec::new();
        if let Some(mut fields) = Fields::new("a file of cases", &node, &mut diagnostics) {
            if let Some(schema) = fields.required_text("schema")
                && schema.value != CASES_SCHEMA
            {
                let message = format!("this is `{}`, and `{CASES_SCHEMA}` is read", schema.value);
                let found = Diagnostic::new(Code::WrongSchema, schema.span, message);
                fields.diagnostics().push(found);
            }
            let strangers = fields.texts("strangers");
            let who = CaseNames::new(people, &strangers, fields.diagnostics());
            fields.required("cases");
            let cases = fields.list("cases").unwrap_or_default();
            for case in cases {
                who.check(case, fields.diagnostics());
                list.extend(read_case(case, catalog, fields.diagnostics()));
            }
            fields.finish();
        }
        diagnostics.sort_by_key(|finding| (finding.span, finding.code));
        if diagnostics.is_empty() {
            Ok(Self { list })
        } else {
            Err(diagnostics)
        }
    }

    /// Asks policy about every case.
    #[must_use]
    pub fn judge(&self, policy: &Policy, catalog: &Catalog) -> Vec<CaseResult> {
        self.list
            .iter()
            .filter_map(|case| case.judge(policy, catalog))
            .collect()
    }
}

const VERDICTS: [(&str, Decision); 3] = [
    ("permit", Decision::Permit),
    ("ask", Decision::Ask),
    ("forbid", Decision::Forbid),
];

const INTEGRITIES: [(&str, Integrity); 3] = [
    ("trusted", Integrity::Trusted),
    ("data", Integrity::Data),
    ("text", Integrity::Text),
];

fn read_case(node: &Node, catalog: &Catalog, found: &mut Vec<Diagnostic>) -> Option<Case> {
    let mut fields = Fields::new("a case", node, found)?;
    let name = fields.required_text("name");
    let by = fields.text("by").map(|by| by.value);
    let agent = fields.boolean("agent").unwrap_or(false);
    fields.required("expect");
    let expect = fields.choice("expect", &VERDICTS);
    let set = |texts: Vec<Spanned<String>>| -> BTreeSet<String> {
        texts.into_iter().map(|text| text.value).collect()
    };
    let because = fields.node("because").is_some();
    let because = because.then(|| set(fields.texts("because")));
    let quorum = fields.count("quorum").map(|quorum| quorum.value);
    let approvers = fields.node("approvers").is_some();
    let approvers = approvers.then(|| set(fields.texts("approvers")));
    let approve = fields.text("approve");
    let ask = match approve {
        Some(operation) => {
            known(&operation, catalog, fields.diagnostics());
            let requester = fields.text("requester").map(|who| who.value);
            Some(CaseQuery::Approve {
                operation: operation.value,
                requester: requester.unwrap_or_else(|| SOMEBODY_ELSE.to_owned()),
            })
        }
        None if fields.node("may").is_some() => read_may(&mut fields, catalog),
        None => read_call(&mut fields, catalog),
    };
    fields.finish();
    Some(Case {
        name: name?,
        by: by.unwrap_or_else(|| "somebody".to_owned()),
        agent,
        ask: ask?,
        expect: expect?,
        because,
        quorum: quorum.and_then(|quorum| u32::try_from(quorum).ok()),
        approvers,
    })
}

/// Who asked for the run of a case that does not say so.
const SOMEBODY_ELSE: &str = "somebody else";

/// What somebody wants to do to a run.
fn read_may(fields: &mut Fields<'_, '_>, catalog: &Catalog) -> Option<CaseQuery> {
    let words = RunAction::ALL.map(|action| (action.word(), action));
    let action = fields.choice("may", &words);
    // Why by the action: a fact that the action does not have would say nothing.
    let own = match action {
        Some(RunAction::See | RunAction::Reveal) => own(fields),
        Some(RunAction::Begin | RunAction::Govern) => true,
        _ => false,
    };
    let other = (!own).then(|| fields.text("requester"));
    let requester = other.map(|who| who.map_or_else(|| SOMEBODY_ELSE.to_owned(), |who| who.value));
    let operation = match action {
        Some(RunAction::Settle) => fields.required_text("call"),
        _ => None,
    };
    let addressee = match action {
        Some(RunAction::Answer) => fields.text("of"),
        _ => None,
    };
    let stopped_by = match action {
        Some(RunAction::Resume) => fields.text("stopped_by"),
        _ => None,
    };
    if let Some(operation) = &operation {
        known(operation, catalog, fields.diagnostics());
    }
    Some(CaseQuery::May {
        action: action?,
        requester,
        operation: operation.map(|operation| operation.value),
        addressee: addressee.map(|of| of.value),
        stopped_by: stopped_by.map(|by| by.value),
    })
}

/// The operation that a case names; a finding if the catalog has none of this name.
fn known<'c>(
    name: &Spanned<String>,
    catalog: &'c Catalog,
    found: &mut Vec<Diagnostic>,
) -> Option<&'c Operation> {
    let operation = catalog.get(&name.value);
    if operation.is_none() {
        let message = format!("no tool is called `{}`", name.value);
        found.push(
            Diagnostic::new(Code::UnknownTool, name.span, message)
                .did_you_mean(&name.value, catalog.names()),
        );
    }
    operation.map(AsRef::as_ref)
}

/// The role of a case's step, empty for none; a finding if no step in it could make the call.
fn in_role(
    role: Option<Spanned<String>>,
    operation: &Operation,
    catalog: &Catalog,
    found: &mut Vec<Diagnostic>,
) -> String {
    let Some(Spanned { value: name, span }) = role else {
        return String::new();
    };
    let tool = &operation.name;
    if catalog.role(&name).is_none() {
        let names = catalog.roles().map(|role| role.name.as_str());
        let message = format!("no role is called `{name}`");
        let finding = Diagnostic::new(Code::UnknownRole, span, message);
        found.push(finding.did_you_mean(&name, names));
    } else if !catalog.admits(Some(&name), tool) {
        let message = format!("the role `{name}` does not admit `{tool}`");
        found.push(Diagnostic::new(Code::OutsideRole, span, message));
    }
    name
}

fn read_call(fields: &mut Fields<'_, '_>, catalog: &Catalog) -> Option<CaseQuery> {
    let name = fields.required_text("call");
    let args = fields.map("args").unwrap_or_default();
    let unknown = fields.texts("unknown");
    let labels = fields.map("labels").unwrap_or_default();
    let secret = fields.texts("secret");
    let control = fields.choice("control", &INTEGRITIES);
    let inputs_validated = fields.boolean("validated").unwrap_or(true);
    let from_goal = fields.boolean("from_goal");
    let role = fields.text("role");
    let name = name?;
    let operation = known(&name, catalog, fields.diagnostics())?;
    let role = in_role(role, operation, catalog, fields.diagnostics());
    let mut facts: BTreeMap<String, Label> = BTreeMap::new();
    for (arg, value) in args {
        takes(operation, arg, fields.diagnostics());
        argument(operation, &arg.value, value, fields.diagnostics());
        facts.insert(arg.value.clone(), Label::trusted());
    }
    for arg in &unknown {
        takes(operation, arg, fields.diagnostics());
        facts.insert(arg.value.clone(), Label::trusted());
    }
    let mut unknown: BTreeSet<String> = unknown.into_iter().map(|arg| arg.value).collect();
    // Why: a case gives what policy looks at; what the tool needs besides is there all the same.
    let needed = required(operation).filter(|name| !facts.contains_key(*name));
    unknown.extend(needed.map(str::to_owned));
    for name in &unknown {
        facts.entry(name.clone()).or_insert_with(Label::trusted);
    }
    for (arg, word) in labels {
        let mut one = Vec::new();
        let wrapped = Node {
            kind: crate::node::Kind::Map(vec![(
                Spanned::new("label".to_owned(), arg.span),
                word.clone(),
            )]),
            span: word.span,
        };
        let read = Fields::new("a label", &wrapped, &mut one)
            .and_then(|mut label| label.choice("label", &INTEGRITIES));
        fields.diagnostics().extend(one);
        match (read, facts.get_mut(&arg.value)) {
            (Some(integrity), Some(label)) => label.integrity = integrity,
            (Some(_), None) => fields.diagnostics().push(not_given(arg)),
            (None, _) => {}
        }
    }
    mark_secret(&secret, &mut facts, fields.diagnostics());
    let given = args.iter();
    let given = given.map(|(name, value)| (name.value.clone(), value.to_value()));
    let given: Map<String, Value> = given.collect();
    let totals = sums::of_case(fields, catalog, operation, (&given, &unknown));
    let trusted = |label: &Label| label.integrity == Integrity::Trusted;
    let values_from_goal = from_goal.unwrap_or_else(|| facts.values().all(trusted));
    Some(CaseQuery::Call {
        operation: name.value,
        role,
        args: given,
        unknown,
        labels: facts,
        control: control.unwrap_or_default(),
        inputs_validated,
        values_from_goal,
        repeats: fields.count("repeats").map_or(0, |count| count.value),
        totals,
    })
}

/// Marks the arguments that a case says are secret.
fn mark_secret(
    secret: &[Spanned<String>],
    facts: &mut BTreeMap<String, Label>,
    diagnostics: &mut Vec<Diagnostic>,
) {
    for arg in secret {
        match facts.get_mut(&arg.value) {
            Some(label) => label.secret = true,
            None => diagnostics.push(not_given(arg)),
        }
    }
}

fn not_given(arg: &Spanned<String>) -> Diagnostic {
    let message = format!("the case gives no argument `{}`", arg.value);
    Diagnostic::new(Code::UnknownArgument, arg.span, message)
        .hint("write it under `args`, or under `unknown` if its value is not known")
}

fn properties(operation: &Operation) -> Option<&Map<String, Value>> {
    operation.input.value().get("properties")?.as_object()
}

/// The arguments that an operation needs.
fn required(operation: &Operation) -> impl Iterator<Item = &str> {
    let listed = operation.input.value().get("required");
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    listed.filter_map(Value::as_str)
}

/// A finding if an operation has no such argument.
fn takes(operation: &Operation, arg: &Spanned<String>, found: &mut Vec<Diagnostic>) {
    let Some(known) = properties(operation) else {
        return;
    };
    if known.contains_key(&arg.value) {
        return;
    }
    let message = format!("`{}` takes no argument `{}`", operation.name, arg.value);
    found.push(
        Diagnostic::new(Code::UnknownArgument, arg.span, message)
            .did_you_mean(&arg.value, known.keys().map(String::as_str)),
    );
}

/// A finding if an operation refuses the value of an argument.
fn argument(operation: &Operation, name: &str, value: &Node, found: &mut Vec<Diagnostic>) {
    let one = Map::from_iter([(name.to_owned(), value.to_value())]);
    let violations = operation.input.violations(&Value::Object(one));
    // Why: a case gives the arguments that policy looks at, so that others are missing.
    let own = violations.into_iter().filter(|violation| {
        let mut path = violation.pointer.split('/').skip(1);
        path.next() == Some(name)
    });
    found.extend(own.map(|violation| {
        let message = format!("`{name}`: {}", violation.message);
        Diagnostic::new(Code::ArgumentType, value.span, message)
    }));
}

impl Case {
    fn principal(&self, policy: &Policy) -> Principal {
        let person = policy.people().principal(&self.by);
        let kind = if self.agent {
            PrincipalKind::Agent
        } else {
            PrincipalKind::User
        };
        Principal { kind, ..person }
    }

    fn judge(&self, policy: &Policy, catalog: &Catalog) -> Option<CaseResult> {
        let principal = self.principal(policy);
        let mut differs = Vec::new();
        let (operation, given, because) = match &self.ask {
            CaseQuery::Call {
                operation,
                role,
                args,
                unknown,
                labels,
                control,
                inputs_validated,
                values_from_goal,
                repeats,
                totals,
            } => {
                let control = Label {
                    integrity: *control,
                    ..Label::trusted()
                };
                let verdict = policy.decide(&CallFacts {
                    principal: &principal,
                    operation: catalog.get(operation)?,
                    role,
                    args,
                    unknown,
                    labels,
                    control: &control,
                    inputs_validated: *inputs_validated,
                    values_from_goal: *values_from_goal,
                    repeats: Some(*repeats),
                    totals: Some(totals),
                });
                self.compare_terms(verdict.ask.as_ref(), &mut differs);
                let reasons = verdict.policies.into_iter().chain(verdict.errors).collect();
                (operation.clone(), verdict.decision, reasons)
            }
            CaseQuery::Approve { .. } => self.judge_approval(policy, catalog)?,
            CaseQuery::May { .. } => self.judge_statement(policy, catalog)?,
        };
        self.compare(given, &because, &mut differs);
        Some(CaseResult {
            name: self.name.value.clone(),
            span: self.name.span,
            operation,
            expected: self.expect,
            given,
            because,
            differs,
        })
    }

    /// The call that is approved, what policy says of that, and why.
    fn judge_approval(
        &self,
        policy: &Policy,
        catalog: &Catalog,
    ) -> Option<(String, Decision, Vec<String>)> {
        let CaseQuery::Approve {
            operation,
            requester,
        } = &self.ask
        else {
            return None;
        };
        let ask = AskTerms {
            quorum: self.quorum.unwrap_or(1),
            approvers: self.approvers.clone().unwrap_or_default(),
            ..AskTerms::default()
        };
        let (by, rights) = (self.principal(policy), policy.rights());
        let requester = policy.people().principal(requester);
        let called = OperationFacts::of(catalog.get(operation)?);
        let judged = rights.judge_approval(&by, &requester, Some(&called), &ask);
        let (given, because) = match judged {
            Ok(policies) => (Decision::Permit, policies),
            Err(denied) if denied.policies().is_empty() => {
                (Decision::Forbid, vec![denied.to_string()])
            }
            Err(denied) => (Decision::Forbid, denied.policies().to_vec()),
        };
        Some((operation.clone(), given, because))
    }

    /// What is done to a run, what policy says of it, and why.
    fn judge_statement(
        &self,
        policy: &Policy,
        catalog: &Catalog,
    ) -> Option<(String, Decision, Vec<String>)> {
        let CaseQuery::May {
            action,
            requester,
            operation,
            addressee,
            stopped_by,
        } = &self.ask
        else {
            return None;
        };
        let called = match operation {
            Some(operation) => Some(OperationFacts::of(catalog.get(operation)?)),
            None => None,
        };
        let words: Vec<&str> = [action.word()]
            .into_iter()
            .chain(operation.as_deref())
            .collect();
        let by = self.principal(policy);
        let requester = requester.as_deref();
        let requester = requester.map(|name| policy.people().principal(name));
        let requester = requester.as_ref().unwrap_or(&by);
        let judged = policy.judge(&ActionFacts {
            operation: called.as_ref(),
            addressee: addressee.as_deref(),
            stopped_by: stopped_by.as_deref(),
            ..ActionFacts::of(*action, &by, requester)
        });
        let (given, because) = match judged {
            Ok(policies) => (Decision::Permit, policies),
            Err(denied) if denied.policies().is_empty() => {
                (Decision::Forbid, vec![denied.to_string()])
            }
            Err(denied) => (Decision::Forbid, denied.policies().to_vec()),
        };
        Some((words.join(" "), given, because))
    }

    fn compare(&self, given: Decision, because: &[String], differs: &mut Vec<String>) {
        if given != self.expect {
            let message = format!("expected {}, got {}", self.expect.word(), given.word());
            differs.insert(0, message);
        }
        let expected = self.because.iter().flatten();
        let missing: Vec<&str> = expected
            .filter(|id| !because.contains(id))
            .map(String::as_str)
            .collect();
        if !missing.is_empty() {
            differs.push(format!("not because of {}", missing.join(", ")));
        }
    }

    /// Compares how a person is asked with what the case says of that.
    fn compare_terms(&self, ask: Option<&AskTerms>, differs: &mut Vec<String>) {
        let terms = ask.cloned().unwrap_or_default();
        if let Some(quorum) = self.quorum
            && quorum != terms.quorum
        {
            differs.push(format!("{} must say yes, not {quorum}", terms.quorum));
        }
        if let Some(approvers) = &self.approvers
            && *approvers != terms.approvers
        {
            let names: Vec<&str> = terms.approvers.iter().map(String::as_str).collect();
            let who = if names.is_empty() {
                "anybody who may approve".to_owned()
            } else {
                names.join(", ")
            };
            differs.push(format!("{who} approves"));
        }
    }
}
