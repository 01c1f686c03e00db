//! The steps of a review: a read in a line, whatever changes something in a block.
//!
//! Owns which line of a block says what. INVARIANT: a block says when, to whom, with which values
//! and from where, what accepts, confirms and undoes it, who is asked, and what bounds it; what is
//! missing of these is said where it matters.

use std::time::Duration;

use provost_plan::catalog::Effect;
use provost_plan::digest::canonical;
use provost_plan::duration;
use provost_plan::expr::Key;
use provost_plan::label::Integrity;
use provost_plan::plan::OnFailure;
use provost_plan::policy::Decision;
use provost_plan::reach::{
    ArgumentReview, LeftOut, LimitsReview, LostReply, ReviewKind, SideCallReview, StepReview,
    ValueOrigin,
};
use serde_json::Value;

use crate::screen::page::{Page, TextStyle, cut_at_word};
use crate::screen::plan::{bare, effect_look};
use crate::screen::sentences::{asks, origin};
use crate::screen::words::count;

/// Most columns that the ids of steps take.
const ID_WIDTH_MAX: usize = 20;
/// Columns that a text beside the ids should have; with fewer it stands below.
const TEXT_WIDTH_MIN: usize = 44;
/// Where the lines of a block begin, and what they say.
const INDENT: usize = 5;
const NAMES: usize = 9;

/// The steps, each as short as its effect allows.
pub fn steps(page: &mut Page, reviews: &[StepReview], width: usize) {
    let ids = reviews.iter().map(|review| review.id.chars().count());
    let ids = ids.max().unwrap_or(0).min(ID_WIDTH_MAX);
    let kinds = reviews.iter().map(|review| word(review).len());
    let columns = Columns {
        ids,
        kinds: kinds.max().unwrap_or(0),
        width,
    };
    for review in reviews {
        match review.kind {
            ReviewKind::Write => columns.write(page, review),
            ReviewKind::Read
            | ReviewKind::Question
            | ReviewKind::Subgoal
            | ReviewKind::Assertion => columns.line(page, review),
        }
    }
}

/// What a step does, in a word.
fn word(review: &StepReview) -> &'static str {
    match review.kind {
        ReviewKind::Question => "asks",
        ReviewKind::Subgoal => "subgoal",
        ReviewKind::Assertion => "asserts",
        ReviewKind::Read | ReviewKind::Write => review.effect.map_or("", Effect::word),
    }
}

/// How wide the columns of the steps are.
struct Columns {
    ids: usize,
    kinds: usize,
    width: usize,
}

impl Columns {
    /// Puts the number, the id and the word of a step; gives the column at which the rest begins.
    fn head(&self, page: &mut Page, review: &StepReview) -> usize {
        let word = word(review);
        let look = match review.kind {
            ReviewKind::Question => TextStyle::Warn,
            _ => review.effect.map_or(TextStyle::Plain, effect_look),
        };
        page.faint(&format!("{:>3}  ", review.order));
        page.strong(&format!("{:<1$}  ", review.id, self.ids));
        let column = 9 + self.ids.max(review.id.chars().count()) + self.kinds;
        if self.width < column + TEXT_WIDTH_MIN {
            page.put(look, word).end().text(&" ".repeat(INDENT));
            return INDENT;
        }
        page.put(look, &format!("{word:<0$}  ", self.kinds));
        column
    }

    /// A step that changes nothing, in a line; what does not fit is left out at the end.
    fn line(&self, page: &mut Page, review: &StepReview) {
        let column = self.head(page, review);
        let text = match (&review.question, &review.subgoal) {
            (Some(question), _) => {
                let of = question.of.as_deref().unwrap_or("anyone who may approve");
                let lapse = question.lapse.iter().map(|lapse| format!(", {lapse}"));
                let lapse: String = lapse.collect();
                format!("{of}: \"{}\"{lapse}{}", question.text, condition(review))
            }
            (_, Some(subgoal)) => format!("{}{}", subgoal.text, condition(review)),
            _ => match &review.assertion {
                Some(asserted) => format!("{}{}", asserted.condition, condition(review)),
                None => format!("{}{}", called(review), condition(review)),
            },
        };
        let whole = review.kind != ReviewKind::Read;
        let text = match whole {
            true => text,
            false => cut_at_word(&text, self.width.saturating_sub(column)),
        };
        page.rest(column, &text, None, self.width);
        if let Some(subgoal) = &review.subgoal {
            let most = count(
                usize::try_from(subgoal.steps_max).unwrap_or(usize::MAX),
                "step",
            );
            let effect = subgoal.effect_max.word();
            let tools = subgoal.tools.join(", ");
            let within = format!("up to {most} of {tools}; no more than {effect}");
            self.row(page, "within", &within, None);
            if let Some(result) = &subgoal.result {
                self.row(page, "result", result, None);
            }
        }
    }

    /// A step that changes something: everything about it, whole.
    fn write(&self, page: &mut Page, review: &StepReview) {
        let column = self.head(page, review);
        let mut text = format!("{}, {} risk", tool(review), review.risk.word());
        if !review.reversible && review.effect != Some(Effect::Egress) {
            text.push_str(", no undo");
        }
        if let Some(description) = &review.description {
            text.push_str(&format!(". {description}"));
        }
        page.rest(column, &text, None, self.width);
        let when = when(review);
        if !when.is_empty() {
            let from = untrusted(&review.control);
            let remark = from.as_deref().map(|from| (TextStyle::Warn, from));
            self.row(page, "when", &when, remark);
        }
        for (name, sink) in [("to", true), ("with", false)] {
            let mut name = name;
            for (values, from, look) in groups(&review.args, sink) {
                self.row(page, name, &values, Some((look, &format!("← {from}"))));
                name = "";
            }
        }
        match (review.accept.is_empty(), &review.confirm) {
            (true, None) => self.row(page, "accept", "whatever the tool answers", None),
            (true, Some(_)) => {}
            (false, _) => self.row(page, "accept", &review.accept.join(" and "), None),
        }
        if let Some(confirm) = &review.confirm {
            let text = format!("{} → {}", side_call(confirm), confirm.accept.join(" and "));
            self.row(page, "confirm", &text, None);
        }
        if let Some(undo) = &review.undo {
            let verdict = undo.verdict.as_ref();
            let asks_too = verdict.filter(|verdict| verdict.decision == Decision::Ask);
            let text = match asks_too {
                Some(_) if undo.verdict == review.verdict => {
                    format!("{}; asks as below", side_call(undo))
                }
                Some(verdict) => format!("{}; asks {}", side_call(undo), asks(verdict)),
                None => side_call(undo),
            };
            self.row(page, "undo", &text, None);
        }
        if let Some(verdict) = &review.verdict {
            self.row(page, "asks", &asks(verdict), None);
        }
        if let Some(limits) = &review.limits {
            self.row(page, "limits", &bounds(review, limits), None);
        }
    }

    fn row(&self, page: &mut Page, name: &str, text: &str, remark: Option<(TextStyle, &str)>) {
        page.faint(&format!("{:INDENT$}{name:<NAMES$}", ""));
        page.rest(INDENT + NAMES, text, remark, self.width);
    }
}

/// The tool and the role it is called in.
fn tool(review: &StepReview) -> String {
    let tool = review.tool.as_deref().unwrap_or_default();
    match &review.role {
        Some(role) => format!("{tool} as {role}"),
        None => tool.to_owned(),
    }
}

/// A call with its arguments.
fn called(review: &StepReview) -> String {
    let args: Vec<String> = review.args.iter().map(argument).collect();
    let poll = review.until.as_ref().map(|until| {
        let [every, most] = [until.every_ms, until.at_most_ms].map(time);
        format!("; until {}, every {every} for {most}", until.condition)
    });
    let accept = match review.accept.as_slice() {
        [] => String::new(),
        accept => format!("; accept {}", accept.join(" and ")),
    };
    let call = with(&tool(review), &args);
    format!("{call}{}{accept}", poll.unwrap_or_default())
}

/// Over what and under which condition a step runs, behind what it does.
fn condition(review: &StepReview) -> String {
    let when = review.when.iter().map(|when| format!("if {when}"));
    each(review)
        .into_iter()
        .chain(when)
        .map(|part| format!("; {part}"))
        .collect()
}

/// Over what a step runs.
fn each(review: &StepReview) -> Option<String> {
    let each = review.for_each.as_ref()?;
    let (most, list) = (each.max_items, &each.list);
    Some(format!("for each of up to {most} of {list}"))
}

fn when(review: &StepReview) -> String {
    let mut parts = Vec::new();
    if !review.needs.is_empty() {
        parts.push(format!("after {}", review.needs.join(", ")));
    }
    parts.extend(each(review));
    if let Some(fresh) = review.fresh_ms {
        parts.push(format!("on readings of the last {}", time(fresh)));
    }
    let asserted = review.asserted.iter();
    parts.extend(asserted.map(|held| format!("{} holds: {}", held.by, held.condition)));
    match (&review.when, parts.is_empty()) {
        (Some(when), true) => return when.clone(),
        (Some(when), false) => parts.push(format!("if {when}")),
        (None, _) => {}
    }
    parts.join("; ")
}

/// A remark on what a step rests on, if that is not trusted.
fn untrusted(from: &ValueOrigin) -> Option<String> {
    let trusted = from.label.integrity == Integrity::Trusted && !from.label.secret;
    (!trusted).then(|| format!("← {}", origin(from)))
}

/// The arguments of one kind, those of one origin together, what is least trusted first.
fn groups(args: &[ArgumentReview], sink: bool) -> Vec<(String, String, TextStyle)> {
    let mut groups: Vec<(bool, Integrity, String, Vec<String>)> = Vec::new();
    for arg in args.iter().filter(|arg| arg.sink == sink) {
        let mut from = origin(&arg.from);
        if let Some(reason) = &arg.checked_at_run_time {
            from.push_str(&format!("; checked when it runs: {reason}"));
        }
        let same = groups.iter_mut().find(|(.., other, _)| *other == from);
        match same {
            Some((.., values)) => values.push(argument(arg)),
            None => {
                let label = &arg.from.label;
                let values = vec![argument(arg)];
                groups.push((label.secret, label.integrity, from, values));
            }
        }
    }
    groups.sort_by_key(|(secret, integrity, ..)| std::cmp::Reverse((*secret, *integrity)));
    let row = |(secret, integrity, from, values): (bool, Integrity, String, Vec<String>)| {
        let look = match integrity == Integrity::Trusted && !secret {
            true => TextStyle::Faint,
            false => TextStyle::Warn,
        };
        (values.join(", "), from, look)
    };
    groups.into_iter().map(row).collect()
}

/// A name and its value: as JSON if it is known, as written if not; and when it is not sent.
fn argument(arg: &ArgumentReview) -> String {
    let value = value(&arg.value, arg.known);
    match arg.left_out {
        None => format!("{}: {value}", arg.name),
        Some(LeftOut::IfNull) => format!("{} (if not null): {value}", arg.name),
        Some(LeftOut::Always) => format!("{}: left out ({value} is null)", arg.name),
    }
}

fn value(value: &Value, known: bool) -> String {
    match value {
        Value::String(text) if !known => match text.matches("${").count() {
            1 if text.starts_with("${") && text.ends_with('}') => bare(text),
            _ => canonical(value),
        },
        _ => canonical(value),
    }
}

fn side_call(call: &SideCallReview) -> String {
    let args = call.args.as_object().into_iter().flatten();
    let args: Vec<String> = args
        .map(|(written, one)| match Key::parts(written) {
            (name, true) => format!("{name} (if not null): {}", value(one, false)),
            (name, false) => format!("{name}: {}", value(one, false)),
        })
        .collect();
    with(&call.tool, &args)
}

fn with(tool: &str, args: &[String]) -> String {
    match args.is_empty() {
        true => tool.to_owned(),
        false => format!("{tool} with {}", args.join(", ")),
    }
}

/// What bounds the calls of a step, and what a failure leads to.
fn bounds(review: &StepReview, limits: &LimitsReview) -> String {
    let n = |n: u64, one: &str| count(usize::try_from(n).unwrap_or(usize::MAX), one);
    let each = if limits.calls > 1 { "each " } else { "" };
    let beside = match (&review.confirm, &review.undo) {
        (Some(_), Some(_)) => " with confirm and undo",
        (Some(_), None) => " with confirm",
        (None, Some(_)) => " with undo",
        (None, None) => "",
    };
    let then = match review.on_failure {
        OnFailure::Replan => "another plan",
        OnFailure::Stop => "the run fails",
        OnFailure::Continue => "the plan goes on",
        OnFailure::Escalate => "a person is asked",
    };
    // Why nothing without a price: the head says that not all of them are set.
    let cost = limits.money.as_ref();
    let cost = cost.map(|money| format!("; costs at most {money}"));
    let lost = match limits.lost_reply {
        LostReply::Person => "; a lost reply needs a person",
        LostReply::Repeated | LostReply::LookedUp => "",
    };
    format!(
        "{}{beside}, {each}{} of {}, then {then}{}{lost}",
        n(limits.calls, "call"),
        n(limits.attempts, "attempt"),
        time(limits.timeout_ms),
        cost.unwrap_or_default()
    )
}

fn time(ms: u64) -> String {
    duration::words(Duration::from_millis(ms))
}
