//! Four eyes: no call begins on the yes of somebody who wrote a value of it.
//!
//! Five people amend plans and goals, answer and approve at random, under ten policies. Each value
//! bears the name of whoever wrote it, so that the judge reads the authors off the very arguments
//! that were sent, and knows nothing of how the machine keeps count.

use std::collections::{BTreeMap, BTreeSet};

use crate::case::{Case, ok};
use provost_plan::digest::Digest;
use provost_plan::policy::DEFAULT_POLICY;
use provost_run::card::QuestionPurpose;
use provost_run::event::Event;
use serde_json::json;

const PEOPLE: [&str; 5] = ["ada", "bob", "eve", "cem", "dee"];
/// Who asks for the run.
const ASKER: &str = "ada";
const MOVES: usize = 24;

/// What each policy adds to the default one.
fn policies() -> Vec<String> {
    let asks = |id: &str, more: &str, when: &str| {
        format!(
            "@id(\"{id}\") {more} forbid (principal, action in Action::\"call\", resource)\n\
             when {{ !resource.attended && {when} }};\n"
        )
    };
    let (external, writes) = (
        "resource.effect == \"external\"",
        "resource.effect != \"read\"",
    );
    let not_dee = "@id(\"not-dee\") forbid (principal == User::\"dee\", \
                   action == Action::\"approve\", resource);\n";
    vec![
        String::new(),
        asks("two", "@quorum(\"2\")", external),
        asks("three", "@quorum(\"3\")", external),
        asks("writes", "", writes),
        asks("writes-two", "@quorum(\"2\")", writes),
        not_dee.to_owned(),
        asks("soon", "@expires(\"1h\")", external),
        asks(
            "writes-soon",
            "@expires(\"1h\") @on_expiry(\"replan\")",
            writes,
        ),
        asks("writes", "", writes) + not_dee,
        asks("writes-three", "@quorum(\"3\") @expires(\"1h\")", writes) + not_dee,
    ]
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % below as u64) as usize
    }

    fn person(&mut self) -> &'static str {
        PEOPLE[self.next(PEOPLE.len())]
    }
}

/// The steps with the values that people write into them.
const WRITTEN: [(&str, usize); 3] = [("mail", 2), ("put", 1), ("page", 1)];

fn plan(values: &[String; 4]) -> String {
    let [to, text, put, page] = values;
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ steps.mail.status == "succeeded" }}' }}
steps:
  - {{ id: which, question: {{ text: "which one?", answer: {{ type: string }} }} }}
  - {{ id: mail, tool: mail.send, args: {{ to: {to}, text: {text} }}, accept: ['${{ output.done }}'] }}
  - {{ id: put, tool: note.put, args: {{ to: '${{ steps.which.output }}', text: {put} }}, accept: ['${{ output.done }}'] }}
  - {{ id: page, tool: page.send, args: {{ to: '${{ steps.which.output }}', text: {page} }}, accept: ['${{ output.done }}'] }}
"#
    )
}

/// A run with what the test knows of it.
struct Sequence {
    case: Case,
    dice: Dice,
    values: [String; 4],
    count: usize,
    /// Who put a goal that the planner has planned for.
    behind: BTreeSet<&'static str>,
}

impl Sequence {
    fn begin(seed: u64, policy: &str) -> Self {
        let values = [0, 1, 2, 3].map(|at| format!("plan-{at}"));
        let text = format!("{DEFAULT_POLICY}\n{policy}");
        let mut dice = Dice(seed);
        let mut case = Case::under(&text, &plan(&values));
        if dice.next(3) == 0 {
            case = case.ask_for_plan();
        }
        let case = case.begin();
        assert!(
            case.state().in_force.plan.is_some(),
            "{}",
            case.transcript()
        );
        Self {
            case: case.quietly(),
            dice,
            values,
            count: 4,
            behind: BTreeSet::new(),
        }
    }

    fn value(&mut self, by: &str) -> String {
        self.count += 1;
        format!("{by}-{}", self.count)
    }

    /// The places of values of steps that have not begun.
    fn open_places(&self) -> Vec<usize> {
        let settled = self.case.state().settled();
        let mut places = Vec::new();
        let mut at = 0;
        for (step, many) in WRITTEN {
            if !settled.contains(step) {
                places.extend(at..at + many);
            }
            at += many;
        }
        places
    }

    fn moves(mut self) -> Case {
        for _ in 0..MOVES {
            if self.case.state().ending.ended.is_some() {
                break;
            }
            let person = self.dice.person();
            self = match self.dice.next(10) {
                0 | 1 => self.amends(person),
                2 => self.puts_a_goal(person),
                3 => self.answers(person),
                4 => self.ends(),
                5 => self.with(Case::crash),
                _ => self.approves(person),
            };
        }
        self.case
    }

    fn with(mut self, change: impl FnOnce(Case) -> Case) -> Self {
        self.case = change(self.case).quietly();
        self
    }

    fn amends(mut self, by: &'static str) -> Self {
        let places = self.open_places();
        let mut values = self.values.clone();
        for place in places {
            if self.dice.next(2) == 0 {
                values[place] = self.value(by);
            }
        }
        let before = self.case.state().in_force.revision;
        let text = plan(&values);
        self = self.with(|case| case.amends(by, Some(&text), None));
        if self.case.state().in_force.revision > before {
            self.values = values;
        }
        self
    }

    fn puts_a_goal(mut self, by: &'static str) -> Self {
        if self.case.state().in_flight() > 0 || self.dice.next(3) > 0 {
            return self;
        }
        if self.dice.next(2) == 0 {
            return self.puts_a_goal_with_its_plan(by);
        }
        self.behind.insert(by);
        let people: Vec<&str> = self.behind.iter().copied().collect();
        let author = format!("plan+{}", people.join("+"));
        let before = self.values.clone();
        for place in self.open_places() {
            if self.dice.next(2) == 0 {
                self.values[place] = self.value(&author);
            }
        }
        let text = plan(&self.values);
        self = self.with(|case| case.replans(&text).amends(by, None, Some("another goal")));
        if self.case.drop_reply() {
            // Why: these are not the planner's values, whoever writes them into a plan later.
            self.values = before;
        }
        self
    }

    fn puts_a_goal_with_its_plan(mut self, by: &'static str) -> Self {
        let (before, told) = (self.values.clone(), self.goals());
        for place in self.open_places() {
            if self.dice.next(2) == 0 {
                self.values[place] = self.value(by);
            }
        }
        let text = plan(&self.values);
        self = self.with(|case| case.amends(by, Some(&text), Some("another, with its plan")));
        if self.goals() == told {
            self.values = before;
        }
        self
    }

    fn goals(&self) -> usize {
        let goals = self.case.journal.iter();
        goals
            .filter(|(event, _)| matches!(event, Event::GoalAmended { .. }))
            .count()
    }

    fn answers(mut self, by: &'static str) -> Self {
        let mut open = self.case.state().open_questions();
        let asked = open.next().map(|(_, question)| question.purpose.clone());
        drop(open);
        if !matches!(asked, Some(QuestionPurpose::Step { .. })) {
            return self;
        }
        let value = self.value(by);
        self.with(|case| case.answer(by, json!(value)))
    }

    fn ends(mut self) -> Self {
        let flying = self.case.state().items();
        let flying = flying.filter(|(_, item)| item.in_flight.is_some());
        let slots: Vec<String> = flying.map(|(slot, _)| slot.to_string()).collect();
        if slots.is_empty() {
            return self;
        }
        let slot = slots[self.dice.next(slots.len())].clone();
        self.with(|case| case.ends(&slot, ok(json!({ "done": true }))))
    }

    fn approves(mut self, by: &'static str) -> Self {
        let cards = self.case.state().open_cards();
        let cards: Vec<Digest> = cards.map(|(digest, _)| *digest).collect();
        if cards.is_empty() {
            return self;
        }
        let card = cards[self.dice.next(cards.len())];
        self.with(|case| case.approve_card(by, card))
    }
}

/// What the second reading found of a journal: calls on a yes, and what must not be.
#[derive(Default)]
struct Reading {
    begun: usize,
    amended: usize,
    goals: usize,
    broken: Vec<String>,
}

/// Reads a journal by the rule alone: nobody approves a value he wrote, who asked approves nothing
/// that is only the planner's, and what was approved under one goal begins nothing under the next.
fn read(journal: &[(Event, i64)]) -> Reading {
    let mut reading = Reading::default();
    let mut yes: BTreeMap<Digest, BTreeSet<&str>> = BTreeMap::new();
    for (event, _) in journal {
        match event {
            Event::ApprovalGiven { card, by, .. } => {
                yes.entry(*card).or_default().insert(by);
            }
            Event::GoalAmended { .. } => {
                yes.clear();
                reading.goals += 1;
            }
            Event::AttemptStarted(started) => {
                let Some(card) = started.approval else {
                    continue;
                };
                let Some(people) = yes.get(&card) else {
                    reading.broken.push(format!(
                        "nobody approved {} under this goal: {}",
                        started.slot, started.args
                    ));
                    continue;
                };
                let values = started.args.as_object().into_iter().flatten();
                let values = values.filter_map(|(_, value)| value.as_str());
                let authors: BTreeSet<&str> = values
                    .filter_map(|value| value.split('-').next())
                    .flat_map(|names| names.split('+'))
                    .collect();
                reading.begun += 1;
                reading.amended += usize::from(authors.len() > 1);
                for person in people {
                    let only_planned = authors == BTreeSet::from(["plan"]);
                    if authors.contains(person) || *person == ASKER && only_planned {
                        reading.broken.push(format!(
                            "{person} approved {}: {}",
                            started.slot, started.args
                        ));
                    }
                }
            }
            _ => {}
        }
    }
    reading
}

fn rounds() -> u64 {
    let count = std::env::var("PROVOST_COUNT").ok();
    count.and_then(|count| count.parse().ok()).unwrap_or(60)
}

#[test]
fn nobody_approves_a_value_he_wrote() {
    let policies = policies();
    let (mut begun, mut amended, mut goals) = (0, 0, 0);
    for seed in 0..rounds() {
        let policy = &policies[seed as usize % policies.len()];
        let case = Sequence::begin(seed, policy).moves();
        let reading = read(&case.journal);
        assert!(
            reading.broken.is_empty(),
            "seed {seed}: {:#?}",
            reading.broken
        );
        begun += reading.begun;
        amended += reading.amended;
        goals += reading.goals;
    }
    println!(
        "{} sequences, {begun} approved calls, {amended} of them with values of people, \
         {goals} goals amended",
        rounds()
    );
    assert!(begun as u64 > rounds() / 4 && amended as u64 > rounds() / 20);
    assert!(goals as u64 > rounds() / 4, "{goals}");
}

/// The judge can see: the same journals with other names under the yeses are found broken.
#[test]
fn a_yes_to_ones_own_value_is_found() {
    let policies = policies();
    let mut found = 0;
    for seed in 0..30 {
        let policy = &policies[seed as usize % policies.len()];
        let case = Sequence::begin(seed, policy).moves();
        for forged in PEOPLE {
            let mut journal = case.journal.clone();
            for (event, _) in &mut journal {
                if let Event::ApprovalGiven { by, .. } = event {
                    forged.clone_into(by);
                }
            }
            found += usize::from(!read(&journal).broken.is_empty());
        }
    }
    assert!(found > 20, "{found}");
}

/// Nor does it miss a yes under an earlier goal: with the goal amended between yes and call, every
/// such call is found.
#[test]
fn a_yes_under_an_earlier_goal_is_found() {
    let policies = policies();
    let (mut tried, mut found) = (0, 0);
    for seed in 0..30 {
        let policy = &policies[seed as usize % policies.len()];
        let mut journal = Sequence::begin(seed, policy).moves().journal;
        let goal = |(event, _): &&(Event, i64)| matches!(event, Event::GoalAmended { .. });
        let approved = |(event, _): &(Event, i64)| matches!(event, Event::AttemptStarted(started) if started.approval.is_some());
        let amended = journal.iter().find(goal).cloned();
        let (Some(amended), Some(at)) = (amended, journal.iter().position(approved)) else {
            continue;
        };
        journal.insert(at, amended);
        tried += 1;
        found += usize::from(!read(&journal).broken.is_empty());
    }
    assert!(tried > 5 && found == tried, "{found} of {tried}");
}

/// Two people together wrote every value but one, and each said yes once: the finding itself.
#[test]
fn a_later_amendment_of_another_value_frees_nobody() {
    let values = |to: &str, text: &str| plan(&[to, text, "plan-2", "plan-3"].map(str::to_owned));
    let case = Case::under(DEFAULT_POLICY, &values("plan-0", "plan-1"))
        .started()
        .amends("bob", Some(&values("bob-1", "plan-1")), None)
        .amends("ada", Some(&values("bob-1", "ada-2")), None);
    let card = |case: &Case| {
        let mut open = case.state().open_cards();
        open.find(|(_, card)| card.step() == Some("mail"))
            .map(|(digest, card)| (*digest, card.clone()))
            .unwrap_or_else(|| panic!("no card of the mail: {}", case.transcript()))
    };
    let (digest, shown) = card(&case);
    let case = case.quietly();
    assert_eq!(
        json!(shown.authors["mail"]),
        json!({ "args.text": ["ada"], "args.to": ["bob"] })
    );
    let case = case
        .approve_card("bob", digest)
        .approve_card("ada", digest)
        .approve_card("eve", digest);
    insta::assert_snapshot!(case.transcript(), @r#"
    < bob says yes to that card
    ! `bob` may not approve: `bob` wrote a part of it, and another person must approve it
    < ada says yes to that card
    ! `ada` may not approve: `ada` requested this run, and another person must approve it
    < eve says yes to that card
    + ApprovalGiven by eve
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"ada-2","to":"bob-1"}
    "#);
}

/// How often the step `page` began.
fn pages(case: &Case) -> usize {
    let calls = case.journal.iter().filter(
        |(event, _)| matches!(event, Event::AttemptStarted(started) if started.slot.step == "page"),
    );
    calls.count()
}

/// A yes to a plan does not cover an answer that its giver gave later.
#[test]
fn a_yes_to_a_plan_covers_no_later_answer_of_its_giver() {
    let values = ["plan-0", "plan-1", "plan-2", "plan-3"].map(str::to_owned);
    let asked = |who: &str| {
        let policy = format!("{DEFAULT_POLICY}\n{}", policies()[3]);
        let case = Case::under(&policy, &plan(&values))
            .ask_for_plan()
            .begin()
            .approve("bob")
            .quietly()
            .answer(who, json!("x"));
        pages(&case)
    };
    assert_eq!((asked("bob"), asked("eve")), (0, 1));
}

/// Nor does a yes to the same step of a plan for an earlier goal stand in for one that does not count.
#[test]
fn a_yes_under_an_earlier_goal_covers_no_call_of_a_later_one() {
    let values = ["plan-0", "plan-1", "plan-2", "plan-3"].map(str::to_owned);
    let asked = |who: &str| {
        let policy = format!("{DEFAULT_POLICY}\n{}", policies()[3]);
        let case = Case::under(&policy, &plan(&values))
            .ask_for_plan()
            .begin()
            .approve("eve")
            .quietly()
            .amends("ada", Some(&plan(&values)), Some("tell somebody else"))
            .approve("bob")
            .answer(who, json!("x"));
        pages(&case)
    };
    assert_eq!((asked("bob"), asked("eve")), (0, 1));
}

/// Who asked for the run put another goal, and the planner wrote the plan for it: what it wrote is
/// theirs, and another person's hand on another value does not free them.
#[test]
fn who_asked_and_put_another_goal_may_not_approve_what_is_planned_for_it() {
    let values = |to: &str, text: &str| plan(&[to, text, "plan-2", "plan-3"].map(str::to_owned));
    let case = Case::under(DEFAULT_POLICY, &values("plan-0", "plan-1"))
        .started()
        .replans(&values("plan+ada-4", "plan-1"))
        .amends("ada", None, Some("tell somebody else"))
        .amends("bob", Some(&values("plan+ada-4", "bob-5")), None);
    let mut open = case.state().open_cards();
    let of_mail = open.find(|(_, card)| card.step() == Some("mail"));
    let digest = of_mail.map(|(digest, _)| *digest);
    let digest = digest.unwrap_or_else(|| panic!("no card of the mail: {}", case.transcript()));
    drop(open);
    let case = case
        .quietly()
        .approve_card("ada", digest)
        .approve_card("bob", digest)
        .approve_card("eve", digest);
    insta::assert_snapshot!(case.transcript(), @r#"
    < ada says yes to that card
    ! `ada` may not approve: `ada` requested this run, and another person must approve it
    < bob says yes to that card
    ! `bob` may not approve: `bob` wrote a part of it, and another person must approve it
    < eve says yes to that card
    + ApprovalGiven by eve
    + AttemptStarted mail#1 ask approved
    > call mail#1 mail.send {"text":"bob-5","to":"plan+ada-4"}
    "#);
}
