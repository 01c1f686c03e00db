//! The words of planning: who plans, what is requested, what the planner replies, and the check.

use std::collections::BTreeMap;

use provost_plan::check::PlanRecord;
use provost_plan::money::Money;
use provost_plan::plan::Goal;
use provost_plan::plan::request::{FindingView, PlanReply, PlannerUsage, RequestKind, Reserved};

use super::{Tone, Words, also, because, counted, listed};
use crate::event::{Candidates, Event, NextPlanner, PlannerChoice, RunCreated};

pub(super) fn created(created: &RunCreated) -> Words {
    Words::new(&format!("run {}", created.run), "")
        .detail(format!("for {}", created.principal.id))
        .detail(format!("planner: {}", planner(&created.planner)))
        .details(created.mode.map(|mode| format!("mode {}", mode.word())))
        .text(Some(&created.goal.text))
}

pub(super) fn interpreted(goal: &Goal, by: &str, choice: Option<&PlannerChoice>) -> Words {
    let criteria = listed(goal.success.iter().map(|criterion| criterion.id.as_str()));
    let params = goal
        .params
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    let params: Vec<String> = params.collect();
    let params = (!params.is_empty()).then(|| format!("params {}", params.join(" ")));
    Words::new("goal", "interpreted")
        .rest(format!(" by {by}"))
        .detail(format!("criteria {criteria}"))
        .details(params)
        .details(choice.map(|choice| format!("planner: {}", planner(choice))))
}

pub(super) fn requested(event: &Event) -> Words {
    let Event::PlanRequested {
        id,
        kind,
        request,
        why,
        reserved,
        candidates,
    } = event
    else {
        return Words::default();
    };
    let what = match kind {
        RequestKind::Propose => " for a plan",
        RequestKind::Revise => " for a revision",
        RequestKind::Refine => " for a refinement",
    };
    Words::new("planner", "asked")
        .rest(what)
        .detail(format!("request {id}"))
        .detail(request.short())
        .details(reserved.as_ref().map(reservation))
        .details(candidates.as_ref().map(ranked))
        .text(why.as_ref().map(because))
}

/// Who plans.
fn planner(choice: &PlannerChoice) -> String {
    match choice {
        PlannerChoice::Interpreter { playbooks } if playbooks.is_empty() => {
            "the playbook that matches".to_owned()
        }
        PlannerChoice::Interpreter { playbooks } => match playbooks.as_slice() {
            [only] => format!("playbook {only}"),
            many => format!("one of the playbooks {}", many.join(", ")),
        },
        PlannerChoice::Playbook { .. }
        | PlannerChoice::File { .. }
        | PlannerChoice::Client { .. }
        | PlannerChoice::Model { .. }
        | PlannerChoice::Process { .. } => choice.author(),
    }
}

pub(super) fn given_up(event: &Event) -> Words {
    let Event::PlanGivenUp {
        id,
        reason,
        goes_on,
        ..
    } = event
    else {
        return Words::default();
    };
    Words::new("planner", "proposed nothing")
        .rest(if *goes_on { ", the run continues" } else { "" })
        .detail(format!("request {id}"))
        .text(Some(reason))
}

/// Who is asked next where a planner failed.
pub(super) fn handed_on(id: u64, reason: &str, to: &NextPlanner) -> Words {
    let next = match to {
        NextPlanner::Person => "a person".to_owned(),
        NextPlanner::Planner { planner: next } => planner(next),
    };
    Words::new("planner", "failed")
        .tone(Tone::Bad)
        .rest(format!(", next is {next}"))
        .detail(format!("request {id}"))
        .text(Some(reason))
}

fn reservation(reserved: &Reserved) -> String {
    let money = reserved.money.map(|money| format!(" and {money}"));
    format!(
        "{} tokens{} reserved",
        reserved.tokens,
        money.unwrap_or_default()
    )
}

/// The tools that a planner may choose from, the likeliest first.
fn ranked(candidates: &Candidates) -> String {
    let tools = candidates.tools.iter().zip(1..);
    let tools: Vec<String> = tools.map(|(tool, rank)| format!("{rank} {tool}")).collect();
    let (shown, of) = (tools.len(), candidates.of);
    format!("{shown} of {of} tools by rank: {}", tools.join(", "))
}

/// What a reply used.
pub(super) fn spent(id: u64, usage: &PlannerUsage) -> Words {
    let asked = (usage.requests > 1).then(|| format!("{} requests", usage.requests));
    let used = if usage.unknown {
        " an unknown amount, the reservation stays spent".to_owned()
    } else {
        let (sent, received) = (usage.tokens_in, usage.tokens_out);
        let tokens = tokens(sent, usage.tokens_cached, received, usage.cost);
        format!(" {tokens}")
    };
    Words::new("planner", "used")
        .rest(used)
        .detail(format!("reply {id}"))
        .details(asked)
        .details(
            usage
                .prompt
                .as_ref()
                .map(|prompt| format!("prompt {prompt}")),
        )
        .details(usage.model.as_ref().map(|model| format!("model: {model}")))
}

pub(super) fn tokens(sent: u64, cached: u64, received: u64, cost: Option<Money>) -> String {
    let cost = cost.map(|cost| format!(", cost {cost}"));
    let cost = cost.unwrap_or_default();
    format!("{sent} tokens in ({cached} cached), {received} out{cost}")
}

pub(super) fn proposed(id: u64, reply: &PlanReply) -> Words {
    let reply_of = |verb: &str| Words::new("planner", verb).detail(format!("reply {id}"));
    match reply {
        PlanReply::Plan {
            name,
            author,
            text,
            because,
            consult,
            ..
        } => reply_of("proposed a plan")
            .detail(format!("by {author}"))
            .detail(listed([name]))
            .detail(counted(text.len(), "byte"))
            .details(also("to see the result of", consult))
            .text(because.as_ref()),
        PlanReply::Unreadable { author, text, .. } => reply_of("sent no plan document")
            .detail(format!("by {author}"))
            .detail(counted(text.len(), "byte")),
        PlanReply::Interpreted { playbook, .. } => {
            reply_of("chose").rest(format!(" playbook `{playbook}`"))
        }
        PlanReply::Questions(questions) => {
            reply_of("asked").rest(format!(" {}", counted(questions.len(), "question")))
        }
        PlanReply::Decline(reason) => reply_of("declined").text(Some(reason)),
        PlanReply::Failed { reason, .. } => reply_of("failed").text(Some(reason)),
    }
}

pub(super) fn fixed(id: u64, fixes: &[String]) -> Words {
    Words::new("plan", "fixed")
        .detail(format!("reply {id}"))
        .text(Some(fixes.join("; ")))
}

pub(super) fn checked(event: &Event) -> Words {
    let Event::PlanChecked {
        id,
        record,
        findings,
        ..
    } = event
    else {
        return Words::default();
    };
    let verb = match id {
        0 => "passed the check again",
        _ => "passed the check",
    };
    let codes: Vec<&str> = findings.iter().map(|f| f.code.as_str()).collect();
    let findings = (!codes.is_empty()).then(|| format!("findings {}", tallied(&codes).join(", ")));
    Words::new("plan", verb)
        .details((*id > 0).then(|| format!("reply {id}")))
        .detail(format!("revision {}", record.revision))
        .detail(record.digest.short())
        .detail(verdicts(record))
        .details(findings)
}

/// How many steps run by themselves, and the names of the others.
fn verdicts(record: &PlanRecord) -> String {
    let mut by_word: BTreeMap<&str, Vec<&String>> = BTreeMap::new();
    for (step, record) in &record.steps {
        let word = record
            .verdict
            .as_ref()
            .map_or("question", |v| v.decision.word());
        by_word.entry(word).or_default().push(step);
    }
    let mut all = Vec::new();
    for (word, steps) in by_word {
        all.push(match word {
            "permit" => format!("{} permit", steps.len()),
            other => format!("{other} {}", listed(steps)),
        });
    }
    let steps = counted(record.steps.len(), "step");
    format!("{steps}: {}", all.join("; "))
}

/// Equal words as one, with their number.
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

pub(super) fn refused(id: u64, findings: &[FindingView]) -> Words {
    let findings: Vec<String> = findings.iter().map(finding).collect();
    Words::new("plan", "failed the check")
        .tone(Tone::Bad)
        .detail(format!("reply {id}"))
        .text(Some(findings.join("; ")))
}

fn finding(finding: &FindingView) -> String {
    let step = finding.step.as_deref().map(|step| format!(" (`{step}`)"));
    format!(
        "{}{} {}",
        finding.code,
        step.unwrap_or_default(),
        finding.message
    )
}

pub(super) fn revised(event: &Event) -> Words {
    let Event::PlanRevised {
        revision,
        added,
        changed,
        removed,
        because,
    } = event
    else {
        return Words::default();
    };
    let changes = [
        also("added", added),
        also("changed", changed),
        also("removed", removed),
    ];
    Words::new(&format!("revision {revision}"), "")
        .details(changes.into_iter().flatten())
        .text(because.as_ref())
}
