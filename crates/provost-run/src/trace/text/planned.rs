//! The lines of planning: who plans, what was asked, what came and what the check made of it.
//!
//! Owns words, never a judgment.

use std::collections::BTreeMap;

use provost_plan::check::PlanRecord;
use provost_plan::plan::Goal;
use provost_plan::plan::request::{
    FindingView, PlanReply, PlannerUsage, RequestKind, Reserved, Why,
};

use super::{also, counted, listed, tokens, why_text};
use crate::event::{Candidates, Event, NextPlanner, PlannerChoice};

pub(super) fn interpreted(goal: &Goal, by: &str, planner: Option<&PlannerChoice>) -> String {
    let criteria = listed(goal.success.iter().map(|criterion| criterion.id.as_str()));
    let params = goal
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let params: Vec<String> = params.collect();
    let params = also("params", &params.join(" "));
    let planner = also("planned by", &planner.map(planner_of).unwrap_or_default());
    format!("by {by}; criteria {criteria}{params}{planner}")
}

pub(super) fn requested(event: &Event) -> String {
    let Event::PlanRequested {
        id,
        kind,
        request,
        why,
        reserved,
        candidates,
    } = event
    else {
        return String::new();
    };
    let what = match kind {
        RequestKind::Propose => "a plan",
        RequestKind::Revise => "a revision",
        RequestKind::Refine => "a refinement",
    };
    let why = why.as_ref().map_or_else(String::new, because);
    let set_aside = reserved.as_ref().map_or_else(String::new, set_aside);
    let ranked = candidates.as_ref().map_or_else(String::new, ranked);
    let digest = request.short();
    format!("request {id} for {what}, {digest}{set_aside}{why}{ranked}")
}

/// Who plans.
pub(super) fn planner_of(choice: &PlannerChoice) -> String {
    match choice {
        PlannerChoice::Playbook { name } => format!("playbook `{name}`"),
        PlannerChoice::Interpreter { playbooks } if playbooks.is_empty() => {
            "the playbook that matches".to_owned()
        }
        PlannerChoice::Interpreter { playbooks } => {
            format!("a playbook to be chosen of {}", listed(playbooks))
        }
        PlannerChoice::File { name, .. } => format!("plan file `{name}`"),
        PlannerChoice::Client { client, .. } => format!("client `{client}`"),
        PlannerChoice::Model { name, .. } => format!("model `{name}`"),
        PlannerChoice::Process { program, .. } => format!("process `{program}`"),
    }
}

/// Who is asked where a planner came to nothing.
pub(super) fn handed_on(id: u64, reason: &str, to: &NextPlanner) -> String {
    let next = to.words();
    format!("request {id} came to nothing, and {next} is asked next: {reason}")
}

fn because(why: &Why) -> String {
    format!(", because {}", why_text(why))
}

/// What is set aside for a request.
fn set_aside(reserved: &Reserved) -> String {
    let money = reserved.money.map(|money| format!(" and {money}"));
    format!(
        ", {} tokens{} set aside",
        reserved.tokens,
        money.unwrap_or_default()
    )
}

/// The tools that a planner may choose from, the likeliest first.
fn ranked(candidates: &Candidates) -> String {
    let tools = candidates.tools.iter().zip(1..);
    let tools = tools.map(|(tool, rank)| format!("{rank} {tool}"));
    let tools: Vec<String> = tools.collect();
    format!(
        ", {} of {} tools by rank: {}",
        tools.len(),
        candidates.of,
        tools.join(", ")
    )
}

/// What a reply took.
pub(super) fn spent(id: u64, usage: &PlannerUsage) -> String {
    let asked = match usage.requests {
        0 | 1 => String::new(),
        many => format!(", asked {many} times"),
    };
    let prompt = usage.prompt.as_deref().map(|p| format!(", prompt {p}"));
    let model = usage.model.as_deref().map(|m| format!(", model: {m}"));
    let took = if usage.unknown {
        "what is not known: what was set aside stays spent".to_owned()
    } else {
        let (sent, received) = (usage.tokens_in, usage.tokens_out);
        tokens(sent, usage.tokens_cached, received, usage.cost)
    };
    format!(
        "reply {id} took {took}{asked}{}{}",
        prompt.unwrap_or_default(),
        model.unwrap_or_default()
    )
}

pub(super) fn proposed(id: u64, reply: &PlanReply) -> String {
    match reply {
        PlanReply::Plan {
            name,
            author,
            text,
            because,
            consult,
            ..
        } => {
            let because = because.as_deref().map(|text| format!(": {text}"));
            let consult = also("wants to see", &listed(consult));
            format!(
                "reply {id} by {author}, `{name}`, {}{consult}{}",
                counted(text.len(), "byte"),
                because.unwrap_or_default()
            )
        }
        PlanReply::Unreadable { author, text, .. } => format!(
            "reply {id} by {author}, no plan document, {}",
            counted(text.len(), "byte")
        ),
        PlanReply::Interpreted { playbook, .. } => {
            format!("reply {id} leaves the goal to playbook `{playbook}`")
        }
        PlanReply::Questions(questions) => {
            format!("reply {id} asks {}", counted(questions.len(), "question"))
        }
        PlanReply::Decline(reason) => format!("reply {id} declines: {reason}"),
        PlanReply::Failed(reason) => format!("reply {id} did not come: {reason}"),
    }
}

pub(super) fn checked(event: &Event) -> String {
    let Event::PlanChecked {
        id,
        record,
        findings,
        ..
    } = event
    else {
        return String::new();
    };
    let reply = if *id == 0 {
        "checked again under new terms".to_owned()
    } else {
        format!("reply {id}")
    };
    let codes: Vec<&str> = findings.iter().map(|f| f.code.as_str()).collect();
    let codes = also("findings", &tallied(&codes).join(", "));
    let (revision, digest) = (record.revision, record.digest.short());
    let verdicts = verdicts(record).join("; ");
    format!("{reply}, revision {revision}, {digest}; {verdicts}{codes}")
}

/// How many steps run by themselves, and the names of the others.
fn verdicts(record: &PlanRecord) -> Vec<String> {
    let mut by_word: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for (step, record) in &record.steps {
        let word = record
            .verdict
            .as_ref()
            .map_or("question", |v| v.decision.word());
        by_word.entry(word).or_default().push(step);
    }
    let mut all = vec![counted(record.steps.len(), "step")];
    for (word, steps) in by_word {
        all.push(match word {
            "permit" => format!("{} permit", steps.len()),
            other => format!("{other} {}", listed(steps)),
        });
    }
    all
}

/// Equal words as one, with how often they stand there.
fn tallied(words: &[&str]) -> Vec<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    let shown = counts.into_iter().map(|(word, n)| match n {
        1 => word.to_owned(),
        n => format!("{word} × {n}"),
    });
    shown.collect()
}

pub(super) fn finding(finding: &FindingView) -> String {
    let step = finding.step.as_deref().map(|step| format!(" (`{step}`)"));
    format!(
        "{}{} {}",
        finding.code,
        step.unwrap_or_default(),
        finding.message
    )
}
