//! An approval card as lines of meaning: what terminal and page are both drawn from.
//!
//! Owns what a card says, in which order and words, and what on it wants a second look. Never
//! chooses a look, an indent or a colour. INVARIANT: every line follows from the bytes under the
//! digest alone; a card that does not fit its digest has none.

use std::collections::BTreeMap;
use std::time::Duration;

use provost_plan::digest::Digest;
use provost_plan::duration;
use provost_plan::label::{Integrity, Label};
use provost_plan::policy::AskTerms;
use provost_plan::reach::needs;
use serde_json::Value;

use super::words::{counted, moment};
use super::{scripts, sentences};
use crate::card::{Card, CardPreview, CardSubject, ConcreteCall, PreviewResult, StepAsk};
use crate::earlier::{EarlierCall, EarlierCalls};

/// What a card says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardView {
    /// The question: `approve step `page`?`.
    pub question: String,
    /// All else, in order.
    pub lines: Vec<CardLine>,
}

/// One thing that a card says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CardLine {
    /// A name and what it is.
    Field {
        /// What it is about.
        about: CardPart,
        /// The name.
        name: &'static str,
        /// What it is.
        text: String,
    },
    /// An argument of a call.
    Argument {
        /// Its name.
        name: String,
        /// Its value, as JSON.
        value: String,
        /// Where the value stands that is not just trusted, or what it is worth.
        from: Option<ArgumentOrigin>,
    },
    /// A value that the preview read; of a record, with the name of its field.
    Read {
        /// The name.
        name: Option<String>,
        /// The value, as JSON.
        value: String,
    },
    /// What is to be known of the preview.
    OfPreview {
        /// In a word.
        word: &'static str,
        /// Why.
        text: String,
    },
    /// What wants a second look.
    LookTwice {
        /// What is to be seen.
        text: String,
        /// Whether it is more than a value nobody vouches for.
        grave: bool,
    },
}

/// Where the value of an argument comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArgumentOrigin {
    /// It stands in the goal, an answer or a trusted output.
    Found(String),
    /// Nobody vouches for it, or it is secret.
    Untrusted(String),
}

/// What a field of a card is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CardPart {
    /// The run, its goal, and who made the plan.
    Run,
    /// The step, and what it does.
    Step,
    /// What follows is of one item, or says that there are no arguments.
    Call,
    /// The preview.
    Preview,
    /// Why it asks, and whom.
    Terms,
    /// That the requester may say yes too.
    Solo,
    /// The digest.
    Digest,
}

impl CardView {
    /// What a card says; none if its content is not what its digest says.
    #[must_use]
    pub fn of(digest: &Digest, card: &Card) -> Option<Self> {
        if card.digest() != *digest {
            return None;
        }
        let mut lines = Lines::default();
        lines.field(CardPart::Run, "goal", &card.goal);
        lines.field(
            CardPart::Run,
            "run",
            &format!("{}, revision {} of the plan", card.run, card.revision),
        );
        match &card.subject {
            CardSubject::Plan { steps } => {
                for (id, ask) in steps {
                    lines.field(CardPart::Step, "step", id);
                    lines.step(ask);
                    lines.earlier(&ask.earlier);
                }
            }
            CardSubject::Step { ask, calls, .. } => {
                lines.step(ask);
                for call in calls {
                    lines.call(call, &ask.labels);
                }
            }
        }
        if card.planned_by.is_some() {
            lines.foreign(card);
        }
        lines.terms(card);
        lines.look_alikes(card);
        lines.field(CardPart::Digest, "digest", &digest.to_string());
        Some(Self {
            question: question(card),
            lines: lines.0,
        })
    }
}

fn question(card: &Card) -> String {
    match &card.subject {
        CardSubject::Plan { steps } => {
            format!("approve {} of the plan?", counted(steps.len(), "step"))
        }
        CardSubject::Step { step, calls, .. } if calls.len() > 1 => {
            format!("approve step `{step}`, {}?", counted(calls.len(), "call"))
        }
        CardSubject::Step { step, .. } => format!("approve step `{step}`?"),
    }
}

#[derive(Default)]
struct Lines(Vec<CardLine>);

impl Lines {
    fn field(&mut self, about: CardPart, name: &'static str, text: &str) {
        let text = text.to_owned();
        self.0.push(CardLine::Field { about, name, text });
    }

    fn look_twice(&mut self, grave: bool, text: String) {
        self.0.push(CardLine::LookTwice { text, grave });
    }

    fn step(&mut self, ask: &StepAsk) {
        let about = CardPart::Step;
        if let Some(description) = &ask.description {
            self.field(about, "purpose", description);
        }
        self.field(about, "tool", &ask.operation);
        if let Some(role) = &ask.role {
            self.field(about, "role", role);
        }
        let effect = sentences::effect_and_risk(ask.effect, ask.risk);
        self.field(about, "effect", &effect);
        let policies = sentences::policies(&ask.verdict);
        self.field(
            CardPart::Terms,
            "policy",
            policies.trim_start_matches("by "),
        );
        let control = sentences::label(&ask.control);
        if !control.is_empty() {
            self.field(about, "depends on", &control);
        }
        for error in &ask.verdict.errors {
            self.field(CardPart::Terms, "error", error);
        }
    }

    fn call(&mut self, call: &ConcreteCall, labels: &BTreeMap<String, Label>) {
        if let Some(item) = call.item {
            self.field(CardPart::Call, "item", &item.to_string());
        }
        match &call.args {
            Value::Object(args) if !args.is_empty() => {
                // Why first: what nobody trusted wrote anywhere is what there is to look at.
                let is_foreign = |name: &str| {
                    let untrusted = |label: &Label| label.integrity != Integrity::Trusted;
                    labels.get(name).is_some_and(untrusted) && !call.origins.contains_key(name)
                };
                let (foreign, others): (Vec<_>, Vec<_>) =
                    args.iter().partition(|(name, _)| is_foreign(name));
                for (name, value) in foreign.into_iter().chain(others) {
                    self.argument(name, value, labels.get(name), call.origins.get(name));
                }
            }
            Value::Object(_) => self.field(CardPart::Call, "arguments", "none"),
            other => self.field(CardPart::Call, "arguments", &other.to_string()),
        }
        if let Some(preview) = &call.preview {
            self.preview(preview);
        }
        if let Some(repeats) = &call.repeats {
            let text = format!("it repeats the call that step `{repeats}` made");
            self.look_twice(true, text);
        }
        self.earlier(&call.earlier);
    }

    /// One argument, with where its value stands, or what it is worth.
    fn argument(
        &mut self,
        name: &str,
        value: &Value,
        label: Option<&Label>,
        origin: Option<&String>,
    ) {
        let worth = label.map(sentences::label).unwrap_or_default();
        let from = match origin {
            Some(origin) => Some(ArgumentOrigin::Found(origin.clone())),
            None => (!worth.is_empty()).then_some(ArgumentOrigin::Untrusted(worth)),
        };
        self.0.push(CardLine::Argument {
            name: name.to_owned(),
            value: value.to_string(),
            from,
        });
    }

    /// The equal calls that other runs made before.
    fn earlier(&mut self, calls: &EarlierCalls) {
        for call in &calls.latest {
            let EarlierCall { run, slot, at, .. } = call;
            let (at, outcome) = (moment(*at), call.outcome());
            let text = format!("made before: run {run}, step `{slot}`, {at}, {outcome}");
            self.look_twice(true, text);
        }
        let named = u64::try_from(calls.latest.len()).unwrap_or(u64::MAX);
        if calls.count > named {
            let more = calls.count - named;
            self.look_twice(true, format!("made before: {more} times more"));
        }
    }

    /// What a read showed of what a call is about, or why it showed nothing.
    fn preview(&mut self, preview: &CardPreview) {
        let asked = match &preview.args {
            Value::Object(args) if args.is_empty() => String::new(),
            Value::Null => String::new(),
            args => format!(" {args}"),
        };
        let at = preview.at.map(|at| format!(", read at {}", moment(at)));
        let about = format!("{}{asked}{}", preview.tool, at.unwrap_or_default());
        self.field(CardPart::Preview, "about it", &about);
        let mut remark = |word, text: String| self.0.push(CardLine::OfPreview { word, text });
        let shown = match &preview.came {
            PreviewResult::Failed(reason) => {
                return remark("could not be read", reason.clone());
            }
            PreviewResult::Shown(shown) => shown,
        };
        match &shown.value {
            Value::Object(fields) if !fields.is_empty() => {
                self.0.extend(fields.iter().map(|(name, value)| {
                    let (name, value) = (Some(name.clone()), value.to_string());
                    CardLine::Read { name, value }
                }));
            }
            other => {
                let value = other.to_string();
                self.0.push(CardLine::Read { name: None, value });
            }
        }
        let mut remark = |word, text: String| self.0.push(CardLine::OfPreview { word, text });
        if shown.untrusted {
            let text = "this is what the tool says, and the tool is not believed";
            remark("untrusted", text.to_owned());
        }
        if shown.cut {
            let whole = preview.evidence.map(|digest| digest.short());
            let text = format!("the whole is evidence {}", whole.unwrap_or_default());
            remark("cut", text);
        }
    }

    /// The values that stand nowhere that somebody vouches for.
    fn foreign(&mut self, card: &Card) {
        let foreign: Vec<String> = card.foreign_values().into_iter().collect();
        if foreign.is_empty() {
            let text = "all from the goal, answers and trusted outputs";
            return self.field(CardPart::Run, "values", text);
        }
        let text = format!(
            "not in the goal, an answer or a trusted output: {}",
            foreign.join(", ")
        );
        self.look_twice(false, text);
    }

    fn terms(&mut self, card: &Card) {
        // Why without the expiry: the card says when it lapses, to the second.
        let needs = needs(&AskTerms {
            expires_ms: None,
            valid_ms: None,
            ..card.terms.clone()
        });
        self.field(CardPart::Terms, "needs", &needs);
        let requested = format!("by {} at {}", card.requester, moment(card.asked_at));
        self.field(CardPart::Run, "requested", &requested);
        if let Some(planner) = &card.planned_by {
            let planned = format!("{planner}, for {}", card.requester);
            self.field(CardPart::Run, "planned by", &planned);
        }
        for (step, fields) in &card.authors {
            for (field, people) in fields {
                let people: Vec<&str> = people.iter().map(String::as_str).collect();
                let written = format!("{step}.{field}: by {}", people.join(", "));
                self.field(CardPart::Run, "written", &written);
            }
        }
        if !card.amended_by.is_empty() {
            let people: Vec<&str> = card.amended_by.iter().map(String::as_str).collect();
            let people = people.join(", ");
            let built = format!("what {people} wrote, who may not approve it");
            self.field(CardPart::Run, "built on", &built);
        }
        if let Some(at) = card.expires_at {
            let then = sentences::lapse(card.terms.on_expiry);
            let lapses = format!("at {}, then {then}", moment(at));
            self.field(CardPart::Terms, "expires", &lapses);
        }
        if card.terms.valid_ms.is_some() {
            let time = Duration::from_millis(card.terms.valid().unsigned_abs());
            let counts = format!("for {} after the yes", duration::words(time));
            self.field(CardPart::Terms, "counts", &counts);
        }
        if card.solo {
            let text = "this workspace is solo: the requester may also approve";
            self.field(CardPart::Solo, "solo", text);
        }
    }

    /// Words and hosts that may not be what they look like.
    fn look_alikes(&mut self, card: &Card) {
        let texts = texts_of(card);
        for (word, scripts) in scripts::mixed(&texts) {
            self.look_twice(true, format!("`{word}` mixes {scripts} letters"));
        }
        for (host, latin) in scripts::imitating(&texts) {
            let text = format!("`{host}` is not `{latin}`: its letters are of another script");
            self.look_twice(true, text);
        }
    }
}

/// Every text on the card, a line each.
fn texts_of(card: &Card) -> String {
    fn texts(value: &Value, out: &mut String) {
        match value {
            Value::String(text) => {
                out.push_str(text);
                out.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| texts(item, out)),
            Value::Object(map) => map.iter().for_each(|(key, item)| {
                out.push_str(key);
                out.push('\n');
                texts(item, out);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    let mut all = String::new();
    texts(&serde_json::to_value(card).unwrap_or_default(), &mut all);
    all
}
