//! Reading a playbook: every field known, every finding reported at its place.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, has_errors};
use provost_plan::expr::{Root, Segment, Template};
use provost_plan::fix::Fix;
use provost_plan::node::{Fields, Kind, Node, parse_yaml};
use provost_plan::plan::read::WrittenPlan;
use provost_plan::plan::{Criterion, PLAN_SCHEMA, Plan};
use provost_plan::source::{Source, Span, Spanned};
use serde_json::Number;

use super::cases::RulePlaces;
use super::revise::{ReviseRule, list};
use super::{PLAYBOOK_SCHEMA, Playbook, document};
use crate::pattern::{ParamKind, ParamType, Pattern};

type PlaybookParams = BTreeMap<String, ParamType>;
type Found = Vec<Diagnostic>;

pub(super) fn read(source: &Source) -> Result<Playbook, Found> {
    let node = parse_yaml(&source.text).map_err(|diagnostic| vec![*diagnostic])?;
    let mut found = Vec::new();
    let playbook = fields(source, &node, &mut found);
    match playbook {
        Some(playbook) if !has_errors(&found) => Ok(playbook),
        _ => {
            found.sort_by_key(|diagnostic| diagnostic.span);
            Err(found)
        }
    }
}

fn bad(found: &mut Found, span: Span, message: impl Into<String>) {
    found.push(Diagnostic::new(Code::BadPlaybook, span, message));
}

fn name_of(source: &Source) -> String {
    let file = source.name.rsplit('/').next().unwrap_or(&source.name);
    let stem = [".yaml", ".yml", ".json"]
        .iter()
        .find_map(|end| file.strip_suffix(end));
    stem.unwrap_or(file).to_owned()
}

fn fields(source: &Source, node: &Node, found: &mut Found) -> Option<Playbook> {
    let mut fields = Fields::new("a playbook", node, found)?;
    if let Some(schema) = fields.required_text("schema")
        && schema.value != PLAYBOOK_SCHEMA
    {
        let message = format!("this is no playbook but `{}`", schema.value);
        let finding = Diagnostic::new(Code::WrongSchema, schema.span, message).hint(format!(
            "a playbook begins with `schema: {PLAYBOOK_SCHEMA}`"
        ));
        fields.diagnostics().push(finding);
    }
    fields.required("match");
    let sentences = fields.texts("match");
    let params = fields.map("params");
    let goal = fields.node("goal");
    let plan = fields.required("plan");
    let rules = fields.list("revise").unwrap_or_default();
    fields.finish();

    let params = read_params(params.unwrap_or_default(), found);
    // Why not after a finding: a parameter that could not be read would be reported missing.
    let patterns = if found.is_empty() {
        read_patterns(&sentences, &params, found)
    } else {
        Vec::new()
    };
    if let (Some(first), true) = (sentences.first(), found.is_empty()) {
        check_holes(&patterns, &params, first.span, found);
    }
    let is_sure = found.is_empty();
    let success = goal
        .and_then(|goal| read_goal(goal, found))
        .unwrap_or_default();
    let plan_node = plan?;
    let written = WrittenPlan::of(plan_node, rules, source);
    found.extend(written.findings.iter().cloned());
    let plan = read_plan(&written.plan, &params, &written, found);
    let rules: Vec<_> = written
        .parts
        .iter()
        .filter_map(|rule| read_rule(rule, &params, &written, found))
        .collect();
    // Why: of a parameter that its sentences do not know, the name may be what is misspelt.
    let unknown = found
        .iter_mut()
        .filter(|one| one.code == Code::UnknownParam);
    unknown.filter(|_| !is_sure).for_each(|one| one.fix = None);
    let plan = plan?;
    check_rules(&plan, &rules, found);
    let (rules, places) = rules.into_iter().unzip();
    Some(Playbook {
        name: name_of(source),
        source: source.clone(),
        patterns,
        params,
        success,
        plan: Arc::unwrap_or_clone(plan.value),
        text: text_of(plan_node, &written, source),
        places,
        written,
        rules,
    })
}

/// The plan as a reply carries it: with its names, if it uses all that the playbook uses.
fn text_of(plan: &Node, written: &WrittenPlan, source: &Source) -> String {
    let alone = WrittenPlan::of(plan, &[], source);
    match alone.unused() == written.unused() {
        true => document::own_text(plan, source),
        false => document::print(&document::with_schema(&written.plan)),
    }
}

fn read_params(entries: &[(Spanned<String>, Node)], found: &mut Found) -> PlaybookParams {
    let mut params = PlaybookParams::new();
    for (name, node) in entries {
        let Some(mut fields) = Fields::new(format!("the parameter `{}`", name.value), node, found)
        else {
            continue;
        };
        let param = read_param(&mut fields);
        fields.finish();
        if let Some(param) = param {
            if param.kind == ParamKind::List && param.items.is_none() {
                let message = "a parameter of type `list` needs `items`, the type of its items";
                bad(found, node.span, message);
            }
            params.insert(name.value.clone(), param);
        }
    }
    params
}

/// The type of a parameter, or of the items of one.
fn read_param(fields: &mut Fields<'_, '_>) -> Option<ParamType> {
    fields.required("type");
    let kind = fields.choice("type", &ParamKind::WORDS);
    let pattern = fields.text("pattern");
    let words = fields.texts("enum");
    let description = fields.text("description");
    let bounds = ["minimum", "maximum"].map(|key| fields.node(key));
    let items = fields.node("items");
    let span = fields.span();
    let found = fields.diagnostics();
    let kind = kind?;
    if kind != ParamKind::Text && (pattern.is_some() || !words.is_empty()) {
        let message = "`pattern` and `enum` are for parameters of type `string`";
        bad(found, span, message);
    }
    let [minimum, maximum] = bounds.map(|node| read_bound(node?, kind, found));
    if let (Some(least), Some(most)) = (&minimum, &maximum)
        && least.as_f64() > most.as_f64()
    {
        bad(
            found,
            span,
            format!("`minimum` {least} is more than `maximum` {most}"),
        );
    }
    let pattern = pattern.and_then(|pattern| {
        ParamType::whole(&pattern.value)
            .map_err(|reason| bad(found, pattern.span, format!("a bad pattern: {reason}")))
            .ok()
    });
    let items = items.and_then(|node| {
        if kind != ParamKind::List {
            bad(found, node.span, "`items` is for parameters of type `list`");
            return None;
        }
        let mut fields = Fields::new("the items of a parameter", node, found)?;
        let items = read_param(&mut fields);
        fields.finish();
        if items
            .as_ref()
            .is_some_and(|items| items.kind == ParamKind::List)
        {
            bad(found, node.span, "the items of a list are no lists");
        }
        items
    });
    Some(ParamType {
        kind,
        words: words.into_iter().map(|word| word.value).collect(),
        pattern,
        minimum,
        maximum,
        description: description.map(|text| text.value),
        items: items.map(Box::new),
    })
}

/// A bound of a number, or of how many items there are.
fn read_bound(node: &Node, kind: ParamKind, found: &mut Found) -> Option<Number> {
    let Kind::Number(number) = &node.kind else {
        bad(found, node.span, "`minimum` and `maximum` are numbers");
        return None;
    };
    let (message, fits) = match kind {
        ParamKind::List => (
            "`minimum` and `maximum` of a list count its items, from 1 to 50",
            number.as_u64().is_some_and(|n| (1..=50).contains(&n)),
        ),
        ParamKind::Integer => ("a bound of an `integer` is a whole number", number.is_i64()),
        _ => (
            "`minimum` and `maximum` are for parameters of type `integer`, `number` and `list`",
            kind.has_bounds(),
        ),
    };
    if !fits {
        bad(found, node.span, message);
    }
    fits.then(|| number.clone())
}

fn read_patterns(
    sentences: &[Spanned<String>],
    params: &PlaybookParams,
    found: &mut Found,
) -> Vec<Pattern> {
    let read = |sentence: &Spanned<String>| {
        Pattern::new(&sentence.value, params)
            .map_err(|reason| {
                let finding = Diagnostic::new(
                    Code::BadPlaybook,
                    sentence.span,
                    format!("`match` cannot be used: {reason}"),
                )
                .hint("a sentence with holes: \"Investigate the {service} latency spike\"");
                found.push(finding);
            })
            .ok()
    };
    sentences.iter().filter_map(read).collect()
}

/// Every sentence must give every parameter.
fn check_holes(patterns: &[Pattern], params: &PlaybookParams, span: Span, found: &mut Found) {
    for pattern in patterns {
        for name in params.keys() {
            if !pattern.holes().contains(name) {
                let text = pattern.text();
                bad(
                    found,
                    span,
                    format!("`{text}` has no hole for the parameter `{name}`"),
                );
            }
        }
    }
}

fn read_goal(node: &Node, found: &mut Found) -> Option<Vec<Criterion>> {
    let mut fields = Fields::new("the goal of a playbook", node, found)?;
    let success = fields.list("success").unwrap_or_default();
    fields.finish();
    let mut criteria: Vec<Criterion> = Vec::new();
    for node in success {
        let Some(mut fields) = Fields::new("a criterion", node, found) else {
            continue;
        };
        let (id, text) = (fields.required_text("id"), fields.required_text("text"));
        fields.finish();
        let (Some(id), Some(text)) = (id, text) else {
            continue;
        };
        if criteria.iter().any(|criterion| criterion.id == id.value) {
            bad(
                found,
                id.span,
                format!("two criteria with the id `{}`", id.value),
            );
        }
        criteria.push(Criterion {
            id: id.value,
            text: text.value,
        });
    }
    Some(criteria)
}

/// Reads a plan that stands inside the playbook, so that findings point into its file.
fn read_plan(
    node: &Node,
    params: &PlaybookParams,
    written: &WrittenPlan,
    found: &mut Found,
) -> Option<Plan> {
    let Kind::Map(entries) = &node.kind else {
        let word = node.kind_word();
        found.push(Diagnostic::new(
            Code::WrongShape,
            node.span,
            format!("the plan of a playbook must be a map, not {word}"),
        ));
        return None;
    };
    if let Some((key, _)) = entries.iter().find(|(key, _)| key.value == "goal") {
        bad(
            found,
            key.span,
            "the plan of a playbook has no goal of its own: the user's is used",
        );
        return None;
    }
    let mut entries = entries.clone();
    if !entries.iter().any(|(key, _)| key.value == "schema") {
        entries.insert(
            0,
            entry("schema", Kind::Text(PLAN_SCHEMA.to_owned()), node.span),
        );
    }
    let document = Node {
        kind: Kind::Map(entries),
        span: node.span,
    };
    match written.read(&document) {
        Ok(plan) => {
            let from = found.len();
            check_params(&plan, params, found);
            for finding in found.iter_mut().skip(from) {
                finding.span = written.place(finding.span);
            }
            Some(plan)
        }
        Err(diagnostics) => {
            found.extend(diagnostics);
            None
        }
    }
}

fn entry(key: &str, kind: Kind, span: Span) -> (Spanned<String>, Node) {
    (Spanned::new(key.to_owned(), span), Node { kind, span })
}

fn check_params(plan: &Plan, params: &PlaybookParams, found: &mut Found) {
    let in_steps = plan.steps.iter().flat_map(|step| step.templates());
    let in_answer = plan
        .answer
        .iter()
        .flat_map(|claim| claim.when.iter().chain([&claim.text]));
    let templates = in_steps
        .map(|(_, template)| template)
        .chain(plan.success.iter().map(|proof| &proof.check))
        .chain(in_answer);
    templates.for_each(|template| check_param_references(template, params, found));
}

fn check_param_references(template: &Template, params: &PlaybookParams, found: &mut Found) {
    for reference in template.references() {
        if let (Root::Params, Some(Segment::Field(name))) =
            (&reference.root, reference.path.first())
            && !params.contains_key(name)
        {
            let message = format!("the playbook has no parameter `{name}`");
            found.push(
                Diagnostic::new(Code::UnknownParam, reference.span, message)
                    .did_you_mean(name, params.keys().map(String::as_str))
                    .fix_only_if(Fix::is_of_own_name),
            );
        }
    }
}

/// What a rule brings, by the field it stands in.
type RuleParts<'n> = [(&'static str, Option<&'n Node>); 3];

/// A rule with the places of its parts.
type ReadRule = (ReviseRule, RulePlaces);

fn read_rule(
    node: &Node,
    params: &PlaybookParams,
    written: &WrittenPlan,
    found: &mut Found,
) -> Option<ReadRule> {
    let mut fields = Fields::new("a revise rule", node, found)?;
    fields.required("after");
    let after = fields.texts("after");
    let when = fields.text("when");
    let because = fields.required_text("because");
    let parts = ["steps", "answer", "success"].map(|key| (key, fields.node(key)));
    let drop = fields.texts("drop");
    fields.finish();

    let when = match when {
        Some(text) => Some(read_condition(&text, &after, params, written, found)?),
        None => None,
    };
    if drop.is_empty() && parts.iter().all(|(_, part)| part.is_none()) {
        bad(
            found,
            node.span,
            "a revise rule that changes nothing: it needs `steps`, `drop`, `answer` or `success`",
        );
    }
    let plan = read_plan(&document_of(parts, node.span), params, written, found)?;
    let steps = plan
        .steps
        .iter()
        .map(|step| (step.id.value.clone(), step.value.clone()));
    let value_of = |key: &str| list(plan.value.get(key));
    let criteria = plan
        .success
        .iter()
        .map(|proof| proof.criterion.value.clone());
    let rule = ReviseRule {
        after: after.iter().map(|step| step.value.clone()).collect(),
        when,
        because: because?.value,
        steps: steps.collect(),
        drop: drop.iter().map(|step| step.value.clone()).collect(),
        answer: value_of("answer"),
        success: criteria.zip(value_of("success")).collect(),
    };
    let parts = items_of(parts);
    Some((rule, RulePlaces { after, drop, parts }))
}

/// What a rule brings, as a plan of its own.
fn document_of(parts: RuleParts<'_>, span: Span) -> Node {
    let mut entries = vec![entry("schema", Kind::Text(PLAN_SCHEMA.to_owned()), span)];
    for (key, part) in parts {
        match part {
            Some(part) => entries.push((Spanned::new(key.to_owned(), part.span), part.clone())),
            None if key == "steps" => entries.push(entry(key, Kind::List(Vec::new()), span)),
            None => {}
        }
    }
    let kind = Kind::Map(entries);
    Node { kind, span }
}

/// The items of the lists of a rule, each with the field it stands in.
fn items_of(parts: RuleParts<'_>) -> Vec<(&'static str, Node)> {
    let given = parts
        .into_iter()
        .filter_map(|(key, part)| Some((key, part?)));
    let items = given.flat_map(|(key, part)| match &part.kind {
        Kind::List(items) => items.iter().map(|item| (key, item.clone())).collect(),
        _ => vec![(key, part.clone())],
    });
    items.collect()
}

fn read_condition(
    text: &Spanned<String>,
    after: &[Spanned<String>],
    params: &PlaybookParams,
    written: &WrittenPlan,
    found: &mut Found,
) -> Option<Template> {
    let template = written
        .template(text)
        .map_err(|diagnostic| found.push(*diagnostic))
        .ok()?;
    let mut own = Found::new();
    check_param_references(&template, params, &mut own);
    for reference in template.references() {
        let message = match &reference.root {
            Root::Params => continue,
            Root::Step(step) if after.iter().any(|known| known.value == *step) => continue,
            Root::Step(step) => {
                format!("`when` reads the step `{step}`, which the rule does not wait for")
            }
            Root::Unknown(name) if name.starts_with("let.") => {
                let finding = Diagnostic::new(
                    Code::UnknownRoot,
                    reference.span,
                    format!("there is no `{name}`"),
                );
                let known = written.names().map(|known| format!("let.{known}"));
                let known: Vec<String> = known.collect();
                let finding = finding.did_you_mean(name, known.iter().map(String::as_str));
                // Why nothing is put there: the name in the `let` may be what is misspelt.
                own.push(finding.fix_only_if(|_| false));
                continue;
            }
            _ => "`when` of a revise rule sees `steps`, `params` and `let` only".to_owned(),
        };
        let finding = Diagnostic::new(Code::BadPlaybook, reference.span, message);
        own.push(match &reference.root {
            Root::Step(step) => finding.hint(format!("name it: `after: [{}]`", {
                let known = after.iter().map(|known| known.value.as_str());
                known.chain([step.as_str()]).collect::<Vec<_>>().join(", ")
            })),
            _ => finding,
        });
    }
    for finding in &mut own {
        finding.span = written.place(finding.span);
    }
    found.append(&mut own);
    Some(template)
}

/// Every step that a rule names must be in the plan, or come with a rule.
fn check_rules(plan: &Plan, rules: &[ReadRule], found: &mut Found) {
    let of_rules = rules.iter().flat_map(|(rule, _)| &rule.steps);
    let known: BTreeSet<&str> = plan
        .steps
        .iter()
        .map(|step| step.id.value.as_str())
        .chain(of_rules.map(|(id, _)| id.as_str()))
        .collect();
    let named = rules.iter();
    for step in named.clone().flat_map(|(_, places)| &places.after) {
        if !known.contains(step.value.as_str()) {
            let message = format!(
                "a rule waits for the step `{}`, which no plan has",
                step.value
            );
            found.push(
                Diagnostic::new(Code::UnknownStep, step.span, message)
                    .did_you_mean(&step.value, known.iter().copied())
                    .fix_only_if(Fix::is_of_own_name),
            );
        }
    }
    for step in named.flat_map(|(_, places)| &places.drop) {
        if !known.contains(step.value.as_str()) {
            let message = format!("a rule drops the step `{}`, which no plan has", step.value);
            // Why nothing is put there: which steps a rule takes out is its author's to say.
            found.push(
                Diagnostic::new(Code::UnknownStep, step.span, message)
                    .did_you_mean(&step.value, known.iter().copied())
                    .fix_only_if(|_| false),
            );
        }
    }
}
