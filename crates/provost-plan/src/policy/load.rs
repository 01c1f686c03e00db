//! Loading policies: parsing, strict validation, our own lints, annotations.
//!
//! Owns every reason to refuse a policy file. Cedar's warnings refuse too, and so does what Cedar
//! accepts but could never mean: an unknown annotation, a word no effect has, `has` of what no
//! action in scope has. INVARIANT: whatever loads has been typed against the whole catalog.

use std::collections::BTreeSet;

use cedar_policy::{Effect, PolicyId, PolicySet, Schema, ValidationMode, Validator, pst};
use cedar_policy_core::parser::parse_policyset_to_ests_and_pset;

use super::mentions::{Mention, mentions};
use super::{AskTerms, OnExpiry, bounds, lint, names};
use crate::codes::Code;
use crate::diagnostic::{Diagnostic, nearest};
use crate::duration;
use crate::limits::SOURCE_BYTES_MAX;
use crate::source::{Source, Span};

/// What a policy may be annotated with.
const ANNOTATIONS: [&str; 7] = [
    "id",
    "quorum",
    "approver",
    "expires",
    "on_expiry",
    "valid",
    "doc",
];
/// Most people that may be asked for.
const QUORUM_MAX: u32 = 20;

/// One policy, ready to be decided by.
#[derive(Clone, Debug)]
pub(super) struct PolicyEntry {
    /// The id verdicts name it by.
    pub id: String,
    /// Which of the files it stands in.
    pub file: usize,
    /// Whether it forbids.
    pub forbids: bool,
    /// The policy.
    pub policy: cedar_policy::Policy,
    /// Its tree.
    pub tree: pst::Template,
    /// What it looks at.
    pub mentions: BTreeSet<Mention>,
    /// How it asks, if it looks at whether somebody attends.
    pub ask: Option<AskTerms>,
}

/// A finding, with the file it is in.
pub(super) type Finding = (Source, Diagnostic);

/// Everything Cedar says of an error: message, help and causes, on one line.
pub(super) fn words_of(error: &dyn miette::Diagnostic) -> String {
    let mut text = lower_first(&error.to_string().replace('\n', " "));
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        let next_text = next.to_string();
        if !text.contains(&next_text) {
            text = format!("{text}: {next_text}");
        }
        cause = next.source();
    }
    text
}

pub(super) fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.as_str().chars().next()) {
        // Why: an acronym or a quoted name at the start stays as it is.
        (Some(first), Some(second)) if second.is_lowercase() || second == ' ' => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

fn finding(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::new(Code::BadPolicy, span, message)
}

fn from_cedar(error: &dyn miette::Diagnostic, source: &Source, fallback: Span) -> Diagnostic {
    let label = error.labels().and_then(|mut labels| labels.next());
    let span = label.as_ref().map_or(fallback, |label| {
        let end = label.offset().saturating_add(label.len());
        Span::new(
            label.offset().min(source.text.len()),
            end.min(source.text.len()),
        )
    });
    let mut found = finding(span, words_of(error));
    if let Some(text) = label.as_ref().and_then(|label| label.label()) {
        found = found.label(lower_first(text));
    }
    match error.help() {
        Some(help) => found.hint(lower_first(&help.to_string().replace('\n', " "))),
        None => found,
    }
}

/// Parses every file and reads what stands around the conditions.
///
/// # Errors
/// Every finding, file by file.
pub(super) fn parse(sources: &[Source]) -> Result<Vec<PolicyEntry>, Vec<Finding>> {
    let mut entries: Vec<PolicyEntry> = Vec::new();
    let mut ids = BTreeSet::new();
    let mut findings = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        if source.text.len() > SOURCE_BYTES_MAX {
            let message = format!("a policy file may have {SOURCE_BYTES_MAX} bytes at most");
            findings.push((source.clone(), finding(Span::default(), message)));
            continue;
        }
        if let Some(deep) = bounds::too_deep(source) {
            findings.push(deep);
            continue;
        }
        // Why not by `cedar_policy`: it parses the text of each policy again for its tree.
        let (mut trees, set) = match parse_policyset_to_ests_and_pset(&source.text) {
            Ok((trees, set)) => (trees, PolicySet::from(set)),
            Err(errors) => {
                let all = errors
                    .iter()
                    .map(|e| from_cedar(e, source, Span::default()));
                findings.extend(all.map(|d| (source.clone(), d)));
                continue;
            }
        };
        if set.templates().next().is_some() {
            let message = "a policy with a slot is a template, and nothing fills templates in";
            findings.push((source.clone(), finding(Span::default(), message)));
        }
        let mut policies: Vec<&cedar_policy::Policy> = set.policies().collect();
        if let Some(many) = bounds::too_many(entries.len() + policies.len(), source) {
            findings.push(many);
            break;
        }
        policies.sort_by_key(|policy| place(policy.id().as_ref()));
        for policy in policies {
            let mut found = Vec::new();
            let tree = trees.remove(policy.id().as_ref());
            if let Some(entry) = read_entry(policy, tree, (index, source), &mut found) {
                if !ids.insert(entry.id.clone()) {
                    let message = format!("two policies have the id `{}`", entry.id);

                    let quoted = format!("\"{}\"", entry.id);
                    let last = source.text.rfind(&quoted).unwrap_or_default();
                    found.push(finding(Span::new(last, last + quoted.len()), message));
                }
                entries.push(entry);
            }
            findings.extend(found.into_iter().map(|d| (source.clone(), d)));
        }
    }
    if findings.is_empty() {
        Ok(entries)
    } else {
        Err(findings)
    }
}

/// Cedar numbers the policies of a text `policy0`, `policy1`, ….
fn place(id: &str) -> u64 {
    id.trim_start_matches("policy").parse().unwrap_or(u64::MAX)
}

fn read_entry(
    policy: &cedar_policy::Policy,
    tree: Option<cedar_policy_core::est::Policy>,
    (file, source): (usize, &Source),
    found: &mut Vec<Diagnostic>,
) -> Option<PolicyEntry> {
    // Why not asked for by name: Cedar would parse the name for each policy.
    let named = policy.annotations().find(|(key, _)| *key == "id");
    let id = match named {
        Some((_, id)) => id.to_owned(),
        None => format!("{}#{}", base_name(source), place(policy.id().as_ref()) + 1),
    };
    // Why found only where it is needed: it is looked for in the whole text.
    let span = || span_of(source, &id);
    if id.trim().is_empty() || id.starts_with("provost:") || id.starts_with("plan:") {
        found.push(finding(span(), format!("`{id}` is no id for a policy")));
        return None;
    }
    let tree = match pst::Template::try_from(tree?) {
        Ok(tree) => tree,
        Err(error) => {
            found.push(finding(span(), format!("policy `{id}`: {error}")));
            return None;
        }
    };
    let mentions = mentions(&tree);
    let asks = mentions.contains(&Mention::Attended);
    let ask = read_ask(policy, &id, source, asks, found);
    let policy = policy.new_id(PolicyId::new(&id));
    let forbids = policy.effect() == Effect::Forbid;
    Some(PolicyEntry {
        id,
        file,
        forbids,
        policy,
        tree,
        mentions,
        ask: asks.then_some(ask),
    })
}

/// Reads the annotations. Unknown ones are refused: a misspelt quorum must not vanish.
fn read_ask(
    policy: &cedar_policy::Policy,
    id: &str,
    source: &Source,
    asks: bool,
    found: &mut Vec<Diagnostic>,
) -> AskTerms {
    let mut ask = AskTerms::default();
    let mut annotations: Vec<(&str, &str)> = policy.annotations().collect();
    annotations.sort_unstable();
    for (key, value) in annotations {
        let span = || span_of_annotation(source, id, key);
        let problem = match key {
            "quorum" => match value.parse::<u32>() {
                Ok(quorum) if (1..=QUORUM_MAX).contains(&quorum) => {
                    ask.quorum = quorum;
                    None
                }
                _ => Some(format!("`@quorum` must be a number from 1 to {QUORUM_MAX}")),
            },
            "approver" => {
                let roles = value.split(',').map(str::trim);
                ask.approvers = roles.filter(|r| !r.is_empty()).map(str::to_owned).collect();
                ask.approvers
                    .is_empty()
                    .then(|| "`@approver` must name a group or role".to_owned())
            }
            "expires" => read_time(key, value, &mut ask.expires_ms),
            "valid" => read_time(key, value, &mut ask.valid_ms),
            "on_expiry" => match value {
                "fail" => None,
                "replan" => {
                    ask.on_expiry = OnExpiry::Replan;
                    None
                }
                _ => Some("`@on_expiry` must be `fail` or `replan`".to_owned()),
            },
            "id" | "doc" => continue,
            unknown => {
                let message = format!("policy `{id}` has the unknown annotation `@{unknown}`");
                let hint = nearest(unknown, ANNOTATIONS)
                    .map_or_else(known_annotations, |name| format!("did you mean `@{name}`?"));
                found.push(finding(span(), message).hint(hint));
                continue;
            }
        };
        if let Some(problem) = problem {
            found.push(finding(span(), format!("policy `{id}`: {problem}")));
        } else if !asks {
            let message = format!("policy `{id}` asks nobody, so `@{key}` says nothing");
            let hint = "an ask looks at `resource.attended`: \
                        `forbid (…) when { !resource.attended && … }`";
            found.push(finding(span(), message).hint(hint));
        }
    }
    ask
}

/// Reads the time that an annotation names; what is wrong with it, if something is.
fn read_time(key: &str, value: &str, into: &mut Option<u64>) -> Option<String> {
    match duration::parse(value) {
        Ok(time) if !time.is_zero() => {
            *into = u64::try_from(time.as_millis()).ok();
            None
        }
        Ok(_) => Some(format!("`@{key}` must be longer than nothing")),
        Err(error) => Some(format!("`@{key}`: {error}")),
    }
}

fn known_annotations() -> String {
    let names: Vec<String> = ANNOTATIONS
        .iter()
        .map(|name| format!("`@{name}`"))
        .collect();
    format!("the annotations are {}", names.join(", "))
}

/// The file's name without its folders.
pub(super) fn base_name(source: &Source) -> &str {
    source
        .name
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or(&source.name)
}

/// Where a policy begins, found by its id.
pub(super) fn span_of(source: &Source, id: &str) -> Span {
    let quoted = format!("\"{id}\"");
    source
        .text
        .find(&quoted)
        .map_or_else(Span::default, |at| Span::new(at, at + quoted.len()))
}

fn span_of_annotation(source: &Source, id: &str, key: &str) -> Span {
    let from = span_of(source, id).start;
    let needle = format!("@{key}");
    let rest = source.text.get(from..).unwrap_or("");
    match rest
        .find(&needle)
        .map(|at| from + at)
        .or_else(|| source.text.find(&needle))
    {
        Some(at) => Span::new(at, at + needle.len()),
        None => span_of(source, id),
    }
}

/// Validates the policies against the catalog: strictly, warnings included, then our lints.
///
/// # Errors
/// Every finding, with the file it is in.
pub(super) fn validate(
    schema: &Schema,
    entries: &[PolicyEntry],
    sources: &[Source],
    actions: &lint::Actions,
    known: &names::KnownNames,
) -> Result<(), Vec<Finding>> {
    let Some(first) = sources.first() else {
        return Ok(());
    };
    let whole = |message: String| vec![(first.clone(), finding(Span::default(), message))];
    let policies = entries.iter().map(|entry| entry.policy.clone());
    let set = PolicySet::from_policies(policies).map_err(|error| whole(words_of(&error)))?;
    let result = Validator::new(schema.clone()).validate(&set, ValidationMode::Strict);
    let place = |id: &str| {
        let entry = entries.iter().find(|entry| entry.id == id);
        let source = entry
            .and_then(|entry| sources.get(entry.file))
            .unwrap_or(first);
        (source, span_of(source, id))
    };
    let mut findings: Vec<Finding> = Vec::new();
    for error in result.validation_errors() {
        let id: &str = error.policy_id().as_ref();
        let (source, span) = place(id);
        let found = about(id, from_cedar(error, source, span));
        findings.push((source.clone(), actions.did_you_mean(found)));
    }
    for entry in entries {
        let strays = known
            .strays(entry)
            .into_iter()
            .filter(|stray| stray.refuses);
        let strays = strays.map(|stray| (stray.written, stray.message, stray.hint));
        for (needle, message, hint) in lint::findings(entry, actions).into_iter().chain(strays) {
            let (source, span) = place(&entry.id);
            let rest = source.text.get(span.start..).unwrap_or_default();
            let span = rest
                .find(&needle)
                .map_or(span, |at| span.sub(at, needle.len()));
            findings.push((source.clone(), finding(span, message).hint(hint)));
        }
    }
    // Why: a policy with a finding is often also one that can never apply, which says less.
    let silent = findings.is_empty();
    for warning in result.validation_warnings().filter(|_| silent) {
        let id: &str = warning.policy_id().as_ref();
        let (source, span) = place(id);
        let found = about(id, from_cedar(warning, source, span));
        let found = found.note("a policy that Cedar warns about does not load");
        findings.push((source.clone(), found));
    }
    if !findings.is_empty() {
        return Err(one_a_place(findings));
    }
    if result.validation_passed_without_warnings() {
        return Ok(());
    }
    Err(whole("the policies do not pass validation".to_owned()))
}

/// Cedar's words about a policy, made to begin with its name.
fn about(id: &str, mut found: Diagnostic) -> Diagnostic {
    let rest = found
        .message
        .strip_prefix(&format!("for policy `{id}`, "))
        .unwrap_or_default();
    found.message = if rest.starts_with("policy is impossible") {
        format!("policy `{id}` can never apply")
    } else if rest.is_empty() {
        format!("policy `{id}`: {}", found.message)
    } else {
        format!("policy `{id}`: {rest}")
    };
    found
}

/// One finding a place: Cedar repeats itself for every operation in scope, in no order.
fn one_a_place(mut findings: Vec<Finding>) -> Vec<Finding> {
    let actionless = |found: &Diagnostic| found.message.contains("find an applicable action");
    let other = findings.iter().any(|(_, found)| !actionless(found));
    findings.retain(|(_, found)| !other || !actionless(found));
    findings.sort_by(|(a, x), (b, y)| {
        (&a.name, x.span, &x.message).cmp(&(&b.name, y.span, &y.message))
    });
    let mut kept: Vec<(Finding, usize)> = Vec::new();
    for (source, found) in findings {
        match kept.last_mut() {
            Some(((file, last), more))
                if file.name == source.name
                    && last.span == found.span
                    && last.hint == found.hint =>
            {
                *more += 1;
            }
            _ => kept.push(((source, found), 0)),
        }
    }
    kept.into_iter()
        .map(|((source, found), more)| match more {
            0 => (source, found),
            more => (
                source,
                found.note(format!("and the same for {more} other operations")),
            ),
        })
        .collect()
}
