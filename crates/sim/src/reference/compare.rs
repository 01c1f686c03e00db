//! The comparison of the check with the second reading, plan by plan.
//!
//! Owns what is compared and how a finding of the check is brought to a place of the reading.
//! Never decides who is right. INVARIANT: an opponent that is altered on the way is noticed, which
//! `tests/reference.rs` shows for every family.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use provost_plan::catalog::{Catalog, Operation, Role, Tags};
use provost_plan::check::{Checked, Draft, Origin, RevisionBase, Terms, check};
use provost_plan::codes::Code;
use provost_plan::diagnostic::{Diagnostic, Severity};
use provost_plan::label::{Integrity, Label};
use provost_plan::plan::read::read_plan;
use provost_plan::plan::{CallRole, Criterion, Goal, Limits, Plan, StepKind};
use provost_plan::policy::{
    DEFAULT_POLICY, Decision, People, Policy, Principal, PrincipalKind, SOLO_POLICY, Verdict,
};
use provost_plan::source::{Source, Span};

use super::absent::{SURELY, is_sure_by_more};
use super::plans::{self, Drawn};
use super::verdicts::EXTRA;
use super::{Answers, Setting, Tag, Trust, Word, judge, labelled, place_of, refs};

/// The codes that are compared.
pub const CODES: [&str; 27] = [
    "R101", "R102", "R103", "R104", "R105", "R106", "R107", "R113", "R119", "E301", "E302", "E303",
    "E304", "E305", "E307", "E309", "E311", "F401", "F402", "F403", "T211", "T212", "B509", "B510",
    "V601", "V602", "V603",
];

/// What plans are checked under.
#[derive(Debug)]
pub struct Bench {
    operations: BTreeMap<String, Operation>,
    roles: BTreeMap<String, BTreeSet<String>>,
    terms: Terms,
}

/// What only one of both finds, and neither is wrong.
#[derive(Debug, Default)]
pub struct Excused {
    /// Reads that the check wants guarded though a guard, followed further, makes them sure.
    pub cautious: usize,
}

/// What came of one plan.
#[derive(Debug, Default)]
pub struct Judged {
    /// What differs, in words.
    pub differences: Vec<String>,
    /// What is not taken for a difference.
    pub excused: Excused,
    /// What the second reading says.
    pub reading: Answers,
    /// Whether the check found no error.
    pub is_checked: bool,
    /// The codes of the errors the check found.
    pub errors: BTreeSet<String>,
    /// Why the text is no plan at all.
    pub unreadable: Option<String>,
}

/// Something between the check and the comparison: for controls.
pub type Alter<'a> = dyn Fn(&mut Answers) + 'a;

impl Bench {
    /// The catalog and the policies of the generated plans.
    ///
    /// # Errors
    /// Why the catalog, the people or a policy do not load.
    pub fn new() -> Result<Self, String> {
        let operations = plans::catalog::operations().map_err(|error| error.to_string())?;
        let roles = plans::catalog::roles();
        let declared = roles.iter().map(|(name, tools)| Role {
            name: name.clone(),
            description: String::new(),
            tools: tools.clone(),
        });
        let banned = Tags::declared([("banned".to_owned(), Span::default())]);
        let catalog = Catalog::new(operations.values().cloned());
        let catalog = catalog.with_roles(declared).with_tags(banned);
        let people = Source::new("entities.json", r#"{ "users": { "ada": {} } }"#);
        let people = People::read(&people).map_err(|found| format!("{found:?}"))?;
        let texts = [
            Source::new("default.cedar", DEFAULT_POLICY),
            Source::new("extra.cedar", EXTRA),
            Source::new("solo.cedar", SOLO_POLICY),
        ];
        let policy =
            Policy::load(&catalog, &texts, &people).map_err(|found| format!("{found:?}"))?;
        let terms = Terms {
            catalog: Arc::new(catalog),
            policy: Arc::new(policy),
            principal: Principal {
                kind: PrincipalKind::User,
                id: "ada".to_owned(),
                groups: BTreeSet::new(),
            },
            limits: Limits::default(),
            goal: Goal {
                text: plans::GOAL.to_owned(),
                success: vec![Criterion {
                    id: "goal".to_owned(),
                    text: plans::GOAL.to_owned(),
                }],
                params: plans::params(),
                untrusted: false,
            },
        };
        Ok(Self {
            operations,
            roles,
            terms,
        })
    }

    /// The plan of a seed.
    #[must_use]
    pub fn draw(&self, seed: u64) -> Drawn {
        plans::draw(seed, &self.operations)
    }

    /// Judges a plan twice and compares.
    #[must_use]
    pub fn compare(&self, drawn: &Drawn, alter: &Alter<'_>) -> Judged {
        let source = Source::new("plan.yaml", drawn.text.as_str());
        let plan = match read_plan(&source) {
            Ok(plan) => plan,
            Err(found) => {
                let words = found.iter().map(|d| format!("{} {}", d.code, d.message));
                return Judged {
                    unreadable: Some(words.collect::<Vec<_>>().join("; ")),
                    ..Judged::default()
                };
            }
        };
        let setting = Setting {
            plan: &plan,
            operations: &self.operations,
            roles: &self.roles,
            params: &self.terms.goal.params,
            goal: &self.terms.goal.text,
            literals: drawn.literals,
            control: drawn.control,
        };
        let mut reading = judge(&setting);
        for (place, word) in reading.verdicts.clone() {
            match word {
                Word::Permit => {}
                Word::Forbid => reading.find("V601", place),
                Word::Ask | Word::AskPerhaps => reading.find("V602", place),
            }
        }
        let checked = self.check(&plan, drawn);
        let mut answers = translated(&setting, &checked, &reading.dead);
        alter(&mut answers);
        let (differences, excused) = differences(&setting, &reading, &answers, &checked);
        Judged {
            differences,
            excused,
            reading,
            is_checked: checked.plan.is_some(),
            errors: errors(&checked),
            unreadable: None,
        }
    }

    pub(super) fn check(&self, plan: &Plan, drawn: &Drawn) -> Checked {
        let label = |trust| Label {
            integrity: match trust {
                Trust::Trusted => Integrity::Trusted,
                Trust::Data => Integrity::Data,
                Trust::Text => Integrity::Text,
            },
            ..Label::trusted()
        };
        let draft = Draft {
            plan: plan.clone().into(),
            origin: Origin {
                author: "generator".to_owned(),
                literals: label(drawn.literals),
                control: label(drawn.control),
            },
        };
        let base = RevisionBase {
            revision: 1,
            ..RevisionBase::default()
        };
        check(draft, &self.terms, &base)
    }
}

/// The smaller plan that still differs, and the rest of the steps left out.
#[must_use]
pub fn smaller(bench: &Bench, drawn: &Drawn, alter: &Alter<'_>) -> Drawn {
    // Why a kind: without its other steps a plan may differ in another way.
    let kinds = |drawn: &Drawn| -> BTreeSet<String> {
        let judged = bench.compare(drawn, alter);
        let dangling = judged
            .reading
            .findings
            .iter()
            .any(|(code, _)| code == "R102");
        let kinds = judged.differences.iter().map(|text| kind(text));
        kinds.map(|kind| format!("{dangling} {kind}")).collect()
    };
    let Some(kind) = kinds(drawn).pop_first() else {
        return drawn.clone();
    };
    let mut best = drawn.clone();
    loop {
        let parts: Vec<&str> = best.text.split_inclusive('\n').collect();
        let starts: Vec<usize> = (0..parts.len())
            .filter(|at| parts.get(*at).is_some_and(|line| line.starts_with("  - ")))
            .collect();
        let candidates = starts.iter().map(|start| {
            let is_inner = |line: &&str| line.starts_with("    ");
            let after = parts
                .iter()
                .skip(start + 1)
                .take_while(|line| is_inner(line))
                .count();
            let kept = parts.iter().enumerate();
            kept.filter(|(at, _)| *at < *start || *at > start + after)
                .map(|(_, line)| *line)
                .collect::<String>()
        });
        let next = candidates.map(|text| Drawn {
            text,
            ..best.clone()
        });
        let mut next = next.filter(|next| kinds(next).contains(&kind));
        match next.next() {
            Some(next) => best = next,
            None => return best,
        }
    }
}

/// The steps with an error of their own: policy is not asked about those.
fn faulty(setting: &Setting<'_>, checked: &Checked, but: &[Code]) -> BTreeSet<String> {
    let is_error =
        |found: &&Diagnostic| found.severity() == Severity::Error && !but.contains(&found.code);
    let errors = checked.diagnostics.iter().filter(is_error);
    let steps = errors.filter_map(|found| {
        let mut steps = setting.plan.steps.iter().enumerate();
        steps.find(|(_, step)| holds(step.span, found.span))
    });
    steps.map(|(number, step)| place_of(number, step)).collect()
}

fn errors(checked: &Checked) -> BTreeSet<String> {
    let errors = checked.diagnostics.iter();
    let errors = errors.filter(|found| found.severity() == Severity::Error);
    errors.map(|found| found.code.to_string()).collect()
}

/// A difference without its place.
#[must_use]
pub fn kind(difference: &str) -> String {
    let code = difference.split(' ').next().unwrap_or_default();
    let rest = difference.rsplit_once(": ").map(|(_, rest)| rest);
    format!("{code} {}", rest.unwrap_or_default())
}

/// What the check says, in the words of the second reading.
fn translated(setting: &Setting<'_>, checked: &Checked, dead: &BTreeSet<Span>) -> Answers {
    let mut answers = Answers::default();
    for diagnostic in &checked.diagnostics {
        let code = diagnostic.code.as_str();
        let is_dead = code == "R106" && dead.contains(&diagnostic.span);
        if !is_dead && (CODES.contains(&code)) {
            for span in spans(diagnostic) {
                answers.find(code, place(setting, code, span));
            }
        }
    }
    let record = checked.plan.as_ref().map(|plan| &plan.record().steps);
    for (id, record) in record.into_iter().flatten() {
        let Some((number, step)) = setting.step(id) else {
            continue;
        };
        let place = place_of(number, step);
        for (name, label) in &record.labels {
            answers
                .labels
                .insert((place.clone(), name.clone()), tag(label));
        }
        let beside = [
            (CallRole::Confirm, &record.confirm),
            (CallRole::Undo, &record.undo),
        ];
        for (role, call) in beside {
            for (name, label) in call.iter().flat_map(|call| &call.labels) {
                let named = (place.clone(), labelled(role, name));
                answers.labels.insert(named, tag(label));
            }
        }
        answers.controls.insert(place.clone(), tag(&record.control));
        if let Some(verdict) = &record.verdict {
            answers.verdicts.insert(place, word(verdict));
        }
    }
    answers
}

fn tag(label: &Label) -> Tag {
    Tag {
        trust: match label.integrity {
            Integrity::Trusted => Trust::Trusted,
            Integrity::Data => Trust::Data,
            Integrity::Text => Trust::Text,
        },
        secret: label.secret,
    }
}

fn word(verdict: &Verdict) -> Word {
    match (verdict.decision, &verdict.condition) {
        (Decision::Permit, _) => Word::Permit,
        (Decision::Forbid, _) => Word::Forbid,
        (Decision::Ask, None) => Word::Ask,
        (Decision::Ask, Some(_)) => Word::AskPerhaps,
    }
}

fn holds(outer: Span, inner: Span) -> bool {
    outer.start <= inner.start && inner.start < outer.end.max(outer.start + 1)
}

/// The place of a finding, and of those that were joined with it: the last of its related places,
/// as many as its message counts.
fn spans(diagnostic: &Diagnostic) -> Vec<Span> {
    let counted = diagnostic.message.strip_suffix(" more like it");
    let counted = counted.and_then(|text| text.rsplit(' ').next()?.parse().ok());
    let further = diagnostic.related.iter().rev().take(counted.unwrap_or(0));
    std::iter::once(diagnostic.span)
        .chain(further.map(|related| related.span))
        .collect()
}

/// Where a finding of the check stands, in the words of the second reading.
fn place(setting: &Setting<'_>, code: &str, span: Span) -> String {
    let steps = setting.plan.steps.iter().enumerate();
    let step = steps.into_iter().find(|(_, step)| holds(step.span, span));
    let Some((number, step)) = step else {
        let cited = setting
            .plan
            .answer
            .iter()
            .enumerate()
            .find(|(_, claim)| claim.cites.iter().any(|cited| holds(cited.span, span)));
        if let Some((number, _)) = cited {
            return format!("answer{number}.cites");
        }
        return spot(setting, span).unwrap_or_else(|| "nowhere".to_owned());
    };
    let place = place_of(number, step);
    match code {
        "R104" => refs::class_of(setting, number).unwrap_or(place),
        "F401" | "F403" => {
            let entries = match &step.kind {
                StepKind::Tool { args, .. } => args.entries(),
                StepKind::Question { .. } | StepKind::Subgoal(_) | StepKind::Assertion(_) => &[],
            };
            let found = entries.iter().find(|(_, value)| holds(value.span(), span));
            found.map_or(place.clone(), |(name, _)| format!("{place}.{}", &**name))
        }
        "R102" | "R105" | "R106" | "R107" | "T211" => {
            if step.needs.iter().any(|need| holds(need.span, span)) {
                return format!("{place}.needs");
            }
            // A term of `when` about an item is a part of the list.
            let list = step.for_each.as_ref().map(|_| format!("{place}.for_each"));
            spot(setting, span).or(list).unwrap_or(place)
        }
        _ => place,
    }
}

fn spot(setting: &Setting<'_>, span: Span) -> Option<String> {
    let spots = setting.spots();
    let found = spots
        .into_iter()
        .find(|spot| holds(spot.template.span(), span));
    found.map(|spot| spot.place)
}

/// Which findings of a plan are compared. Where an id names two steps, steps wait for each other or
/// a name is not there, there is no one meaning that the later passes could agree on.
fn compared(code: &str, has: impl Copy + Fn(&str) -> bool) -> bool {
    let is_name = code.starts_with("R1") && code != "R106";
    let is_own = matches!(code, "E301" | "E302" | "E303" | "E311");
    let is_late = code.starts_with('F') || code.starts_with('V');
    match code {
        "given up" => false,
        _ if has("R103") => is_name,
        _ if has("R104") => is_name || is_own,
        _ if ["R101", "R102", "R105", "R107"].into_iter().any(has) => !is_late,
        _ => true,
    }
}

fn differences(
    setting: &Setting<'_>,
    reading: &Answers,
    check: &Answers,
    checked: &Checked,
) -> (Vec<String>, Excused) {
    let beside = faulty(setting, checked, &[Code::Forbidden, Code::BadConfirm]);
    let faulty = faulty(setting, checked, &[Code::Forbidden]);
    let errors = errors(checked);
    let has = |code: &str| reading.findings.iter().any(|(found, _)| found == code);
    let given_up = |place: &str| {
        reading
            .findings
            .contains(&("given up".into(), place.into()))
    };
    let mut all = Vec::new();
    let mut excused = Excused::default();
    let mut only = |who: &str, a: &Answers, b: &Answers| {
        for (code, place) in a.findings.difference(&b.findings) {
            let unasked = match &**code {
                "V601" | "V602" => faulty.contains(place),
                // Its own fault is none beside it.
                "E307" => beside.contains(place),
                _ => false,
            };
            // What is never there has no label.
            let nothing = errors.contains("T204") && !code.starts_with(['R', 'E']);
            // A guard that names no step says nothing that both could follow.
            let follows = matches!(&**code, "R106" | "E304" | "B509");
            let vague = follows && who == "the check" && has("R102");
            if compared(code, has) && !given_up(place) && !unasked && !vague && !nothing {
                match (&**code, who) {
                    ("R106", "the check") if is_sure_by_more(setting, place) => {
                        excused.cautious += 1;
                    }
                    _ => all.push(format!("{code} at {place}: only {who} finds it")),
                }
            }
        }
    };
    only("the check", check, reading);
    let mut reading = reading.clone();
    reading.findings.retain(|(code, _)| code != "R106");
    for (code, place) in reading.findings.clone() {
        if code == SURELY {
            reading.findings.remove(&(code, place.clone()));
            reading.find("R106", place);
        }
    }
    only("the second reading", &reading, check);
    if checked.plan.is_none() {
        return (all, excused);
    }
    differ("label", &reading.labels, &check.labels, &mut all);
    differ("control", &reading.controls, &check.controls, &mut all);
    differ("verdict", &reading.verdicts, &check.verdicts, &mut all);
    (all, excused)
}

fn differ<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    what: &str,
    reading: &BTreeMap<K, V>,
    check: &BTreeMap<K, V>,
    all: &mut Vec<String>,
) {
    let keys: BTreeSet<&K> = reading.keys().chain(check.keys()).collect();
    for key in keys {
        let (a, b) = (reading.get(key), check.get(key));
        if a != b {
            all.push(format!("{what} {key:?}: second reading {a:?}, check {b:?}"));
        }
    }
}
