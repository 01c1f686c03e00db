//! The page of an approval card, and whether whoever looks may decide.
//!
//! Owns the order of its parts: what it reaches before who may say yes, and the buttons last. What
//! it says is the run machine's reading of the digested bytes, the same that the terminal prints.
//! INVARIANT: a card that does not fit its digest is withheld, with its buttons.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use provost_engine::people::Statement;
use provost_engine::run::call::Slot;
use provost_engine::run::card::CardSubject;
use provost_engine::run::read::card::{ArgumentOrigin, CardLine, CardPart, CardView};
use provost_engine::run::state::{CardState, WaitKind, Waiting};
use provost_plan::digest::Digest;
use serde_json::Value;

use super::run::{Back, found};
use super::waits::nonce;
use super::{Frame, Person, html, parts};
use crate::app::{App, Shared};
use crate::door::Viewer;
use crate::markup::{Markup, Seen, seen, shortened};
use crate::problem::{Problem, ProblemKind};
use crate::view::SeenRun;

#[derive(Template)]
#[template(path = "card.html")]
struct CardPage {
    frame: Frame,
    run: String,
    goal: Seen,
    title: Seen,
    question: Markup,
    effect: Option<Seen>,
    said: Option<&'static str>,
    /// Why what was said about it does not count.
    refused: Option<Seen>,
    became: Option<BecameView>,
    calls: Vec<CallView>,
    look_twice: Vec<(bool, Seen)>,
    terms: Vec<(&'static str, Seen)>,
    yes: Seen,
    why_not: Option<Seen>,
    /// Whether whoever looks said yes, and others have to as well.
    has_approved: bool,
    facts: Vec<(&'static str, Seen)>,
    plan: String,
    short: String,
    digest: String,
    open: bool,
    names: Vec<String>,
    yes_words: String,
    nonces: (String, String),
}

#[derive(Template)]
#[template(path = "withheld.html")]
struct WithheldPage {
    frame: Frame,
    run: String,
}

/// What became of a card that is closed, and where it goes on.
struct BecameView {
    words: Seen,
    when: Option<Markup>,
    /// The card that stands now.
    stands: Option<String>,
    /// The revision that took the place of its own.
    changed: Option<String>,
}

/// One call on a card.
#[derive(Default)]
struct CallView {
    item: Option<Seen>,
    args: Vec<ArgumentView>,
    no_args: Option<Seen>,
    about: Option<Seen>,
    read: Vec<(Option<Seen>, Seen)>,
    of_preview: Vec<(&'static str, Seen)>,
}

struct ArgumentView {
    name: Seen,
    value: Seen,
    from: Option<Seen>,
    untrusted: bool,
}

/// `GET /runs/{run}/cards/{digest}`.
pub(crate) async fn show(
    State(app): State<App>,
    Person(viewer): Person,
    Path((id, digest)): Path<(String, String)>,
    Query(back): Query<Back>,
) -> Result<Response, Problem> {
    drawn(&app, viewer, (id, digest), Told::Back(back)).await
}

/// The page of a card that closed before what somebody said about it came: they decided on what
/// they saw, and are shown what stands.
pub(super) async fn closed(
    app: &App,
    viewer: Viewer,
    card: (String, String),
    problem: Problem,
) -> Result<Response, Problem> {
    let status = problem.status();
    let mut page = drawn(app, viewer, card, Told::Refused(problem)).await?;
    *page.status_mut() = status;
    Ok(page)
}

/// What who said something is told on the page of a card.
enum Told {
    Back(Back),
    Refused(Problem),
}

async fn drawn(
    app: &App,
    viewer: Viewer,
    (id, digest): (String, String),
    told: Told,
) -> Result<Response, Problem> {
    let drawn = app.read(move |shared| {
        let run = match found(shared, &viewer, &id)? {
            Ok(run) => run,
            Err(other) => return Ok(other),
        };
        let card = run
            .card(&digest)
            .ok_or_else(|| Problem::not_found("card"))?;
        let looked = Looked {
            shared,
            viewer: &viewer,
            run: &run,
        };
        looked.page(card, &told)
    });
    drawn.await
}

/// Who looks at which run.
struct Looked<'a> {
    shared: &'a Shared,
    viewer: &'a Viewer,
    run: &'a SeenRun,
}

impl Looked<'_> {
    fn page(
        &self,
        (digest, known): (&Digest, &CardState),
        told: &Told,
    ) -> Result<Response, Problem> {
        let run = self.run.state().head.run.clone();
        let mut frame = Frame::of(self.viewer, "inbox").on(&run);
        if matches!(told, Told::Refused(_)) {
            frame.found_at = format!("/runs/{run}/cards/{digest}");
        }
        let Some(view) = CardView::of(digest, &known.card) else {
            return html(&WithheldPage { frame, run });
        };
        let said = Parts::of(&view);
        let names = names(&known.card.subject);
        let why_not = known.open.then(|| {
            let approve = Statement::Approve {
                card: *digest,
                steps: Vec::new(),
            };
            self.would_not(approve)
        });
        let yes: Vec<&str> = known.approved_by.iter().map(String::as_str).collect();
        let quorum = known.card.terms.quorum;
        let yes = match (yes.is_empty(), quorum) {
            (true, 0..=1) => String::new(),
            (true, quorum) => format!("0 of {quorum}"),
            (false, quorum) => format!("{} of {quorum}: {}", yes.len(), yes.join(", ")),
        };
        let short = digest.to_string();
        let digits = short.rsplit(':').next().unwrap_or_default();
        html(&CardPage {
            frame,
            goal: seen(shortened(&known.card.goal, 80)),
            title: seen(&view.question),
            question: parts::marked(&view.question),
            effect: said.effect,
            said: match told {
                Told::Back(back) => back.words(),
                Told::Refused(_) => None,
            },
            refused: match told {
                Told::Back(_) => None,
                Told::Refused(problem) => Some(seen(&problem.detail)),
            },
            became: (!known.open).then(|| self.became(digest, known)),
            calls: said.calls,
            look_twice: said.look_twice,
            terms: said.terms,
            yes: seen(yes),
            has_approved: known.approved_by.contains(&self.viewer.principal.id),
            why_not: why_not.flatten().map(seen),
            facts: said.facts,
            plan: known.card.plan.to_string(),
            short: spaced(&shortened_plain(digits, 16)),
            digest: digest.to_string(),
            open: known.open,
            yes_words: yes_words(&known.card.subject),
            names,
            nonces: (nonce(), nonce()),
            run,
        })
    }

    /// Why whoever looks may not say this; nothing if they may.
    fn would_not(&self, statement: Statement) -> Option<String> {
        let desk = &self.shared.desk;
        let would = desk.would_take(&self.shared.engine(), self.run, self.viewer, statement);
        would.err().map(|problem| problem.detail)
    }

    /// What became of a card that is not open any more.
    fn became(&self, digest: &Digest, known: &CardState) -> BecameView {
        use provost_engine::run::event::Event;
        let of = |event: &Event| match event {
            Event::ApprovalGiven {
                card, by, complete, ..
            } if card == digest && *complete => Some(format!("Approved, at last by {by}.")),
            Event::ApprovalRejected {
                card, by, reason, ..
            } if card == digest => Some(format!("Rejected by {by}: {reason}")),
            Event::ApprovalExpired { card } if card == digest => {
                Some("It lapsed: nobody answered in time.".to_owned())
            }
            _ => None,
        };
        let mut events = self.run.events.iter().rev();
        let said = events.find_map(|(event, at)| Some((of(event)?, *at)));
        let or = match known.agreed {
            Some(_) => "Approved.",
            None => "It was superseded: another plan, or other terms, took its place.",
        };
        let (words, when) = said.unzip();
        let run = &self.run.state().head.run;
        let revision = self.run.state().in_force.revision;
        let changed = known.agreed.is_none() && known.card.revision < revision;
        BecameView {
            words: seen(words.unwrap_or_else(|| or.to_owned())),
            when: when.map(parts::at),
            stands: self.stands(run),
            changed: changed.then(|| format!("/runs/{run}/revisions/{revision}")),
        }
    }

    /// Where what is open now of the run is looked at.
    fn stands(&self, run: &str) -> Option<String> {
        let mut open = self.run.state().open_cards();
        let (digest, _) = open.next()?;
        Some(format!("/runs/{run}/cards/{digest}"))
    }
}

/// Why whoever looks may not give what is waited for; nothing if they may.
pub(crate) fn why_not(
    shared: &Shared,
    viewer: &Viewer,
    run: &SeenRun,
    wait: &Waiting,
) -> Option<String> {
    let looked = Looked {
        shared,
        viewer,
        run,
    };
    match (wait.kind, wait.digest, &wait.slot) {
        (WaitKind::Approval, Some(card), _) => looked.would_not(Statement::Approve {
            card,
            steps: Vec::new(),
        }),
        (WaitKind::Answer, Some(question), _) => {
            let known = run.state().question(&question)?;
            let value = any_value(&known.question.answer);
            let answer = Statement::Answer { question, value };
            let desk = &shared.desk;
            let would = desk.would_take(&shared.engine(), run, viewer, answer);
            // Why only rights: the value is a guess, made to ask who may answer at all.
            let denied = would.err().filter(|problem| is_about_rights(problem.kind));
            denied.map(|problem| problem.detail)
        }
        _ => None,
    }
}

pub(crate) fn is_about_rights(kind: ProblemKind) -> bool {
    matches!(kind, ProblemKind::NotAllowed | ProblemKind::Unsigned)
}

/// Some value of a schema, where one is easily told.
fn any_value(schema: &Value) -> Value {
    let first = schema.get("enum").and_then(|words| words.get(0));
    match (first, schema.get("type").and_then(Value::as_str)) {
        (Some(first), _) => first.clone(),
        (None, Some("string")) => Value::from("x"),
        (None, Some("boolean")) => Value::from(false),
        (None, Some("integer" | "number")) => Value::from(0),
        _ => Value::Null,
    }
}

/// What of a card can be approved by itself.
pub(crate) fn names(subject: &CardSubject) -> Vec<String> {
    match subject {
        CardSubject::Plan { steps } => steps.keys().cloned().collect(),
        CardSubject::Step { step, calls, .. } => calls
            .iter()
            .map(|call| {
                let step = step.clone();
                Slot {
                    step,
                    item: call.item,
                }
                .to_string()
            })
            .collect(),
    }
}

fn yes_words(subject: &CardSubject) -> String {
    match subject {
        CardSubject::Plan { steps } => match steps.len() {
            1 => "Approve this step".to_owned(),
            n => format!("Approve all {n} steps"),
        },
        CardSubject::Step { calls, .. } => match calls.len() {
            1 => "Approve this call".to_owned(),
            n => format!("Approve all {n} calls"),
        },
    }
}

fn shortened_plain(digits: &str, most: usize) -> String {
    digits.chars().take(most).collect()
}

/// Digits in groups of four: people compare them so.
fn spaced(digits: &str) -> String {
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 4 == 0 {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// The lines of a card, by the part of the page that they stand in.
#[derive(Default)]
struct Parts {
    effect: Option<Seen>,
    calls: Vec<CallView>,
    look_twice: Vec<(bool, Seen)>,
    terms: Vec<(&'static str, Seen)>,
    facts: Vec<(&'static str, Seen)>,
}

impl Parts {
    fn of(view: &CardView) -> Self {
        let mut parts = Self::default();
        view.lines.iter().for_each(|line| parts.put(line));
        let named = |wanted: &str| {
            let mut of = view.lines.iter().filter_map(|line| match line {
                CardLine::Field { name, text, .. } if *name == wanted => Some(text.as_str()),
                _ => None,
            });
            of.next().filter(|_| of.next().is_none())
        };
        // Why only of one: several steps have no effect together.
        if let (Some(tool), Some(effect)) = (named("tool"), named("effect")) {
            parts.effect = Some(seen(format!("{tool}: {effect}")));
        }
        parts
    }

    /// Puts something on the call that is being read, or on the only one.
    fn on_call(&mut self, put: impl FnOnce(&mut CallView)) {
        match self.calls.last_mut() {
            Some(call) => put(call),
            None => {
                let mut call = CallView::default();
                put(&mut call);
                self.calls.push(call);
            }
        }
    }

    fn put(&mut self, line: &CardLine) {
        match line {
            CardLine::Field { about, name, text } => self.field(*about, name, text),
            CardLine::Argument { name, value, from } => {
                let (from, untrusted) = match from {
                    Some(ArgumentOrigin::Found(place)) => (Some(seen(place)), false),
                    Some(ArgumentOrigin::Untrusted(worth)) => (Some(seen(worth)), true),
                    None => (None, false),
                };
                let argument = ArgumentView {
                    name: seen(name),
                    value: seen(value),
                    from,
                    untrusted,
                };
                self.on_call(|call| call.args.push(argument));
            }
            CardLine::Read { name, value } => {
                let read = (name.as_ref().map(seen), seen(value));
                self.on_call(|call| call.read.push(read));
            }
            CardLine::OfPreview { word, text } => {
                self.on_call(|call| call.of_preview.push((word, seen(text))));
            }
            CardLine::LookTwice { text, grave } => self.look_twice.push((*grave, seen(text))),
        }
    }

    fn field(&mut self, about: CardPart, name: &'static str, text: &str) {
        let text = seen(text);
        match about {
            CardPart::Call if name == "item" => self.calls.push(CallView {
                item: Some(seen(format!("Item {text}"))),
                ..CallView::default()
            }),
            CardPart::Call => self.on_call(|call| call.no_args = Some(text)),
            CardPart::Preview => self.on_call(|call| call.about = Some(text)),
            CardPart::Terms | CardPart::Solo => self.terms.push((name, text)),
            CardPart::Step | CardPart::Run => self.facts.push((name, text)),
            CardPart::Digest => {}
        }
    }
}
