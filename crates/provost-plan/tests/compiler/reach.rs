//! What a plan reaches, and what of it grew: every edit that reaches further is named, and no
//! other edit is.

use crate::literate::{Case, Document};
use provost_plan::reach::{Facet, Reach, ReachDiff, approvals};

const PLAN: &str = r#"goal: Tell ada about PAY
steps:
  - { id: list, tool: tickets.list, args: { project: PAY } }
  - { id: sla, tool: config.sla_threshold }
  - id: mail
    description: Tell ada
    tool: mail.send
    when: ${ steps.list.output.total > steps.sla.output.max }
    args: { to: ada@example.org, subject: Tickets, body: "${ steps.list.output.total } open" }
    accept: ["${ output.id != '' }"]
  - id: page
    tool: pager.notify
    needs: [mail]
    args: { message: done }
    accept: ["${ output.delivered }"]
success: [{ for: goal, check: '${ steps.mail.status == "succeeded" }' }]
answer: "${ steps.list.output.total } open"
"#;

const POLICY: &str = r#"
@id("all") permit (principal, action in Action::"call", resource);
@id("mail") @quorum("2") @approver("oncall") @expires("2h")
forbid (principal, action == Action::"mail.send", resource) when { !resource.attended };
"#;

fn document(plan: &str) -> Document {
    Document::parse(&format!(
        "# A plan\n\n```cedar\n{POLICY}```\n\n```yaml plan\n{plan}```\n"
    ))
}

fn case(plan: &str) -> Case {
    Case::of(&document(plan))
}

fn growth(from: &str, to: &str) -> ReachDiff {
    let after = PLAN.replace(from, to);
    assert_ne!(after, PLAN, "`{from}` is not in the plan");
    let (before, after) = (case(PLAN), case(&after));
    ReachDiff::between(&Reach::of(&before.checkup()), &Reach::of(&after.checkup()))
}

#[test]
fn what_reaches_further_is_named() {
    let added = "  - { id: close, tool: tickets.close, args: { id: PAY-1 }, \
                 accept: ['${ output.closed }'] }\nsuccess:";
    for (from, to, facet, fact) in [
        (
            "ada@example.org",
            "eve@evil.test",
            Facet::Targets,
            "mail.send to: \"eve@evil.test\"",
        ),
        (
            "ada@example.org",
            "eve@evil.test",
            Facet::Hosts,
            "evil.test",
        ),
        ("success:", added, Facet::Tools, "tickets.close (write)"),
        (
            "success:",
            added,
            Facet::Targets,
            "tickets.close id: \"PAY-1\"",
        ),
        (
            "message: done",
            "message: \"${ json(steps.list.output.items) }\"",
            Facet::Untrusted,
            "page.message ← text from list",
        ),
        (
            "message: done",
            "message: done, urgency: high",
            Facet::Targets,
            "pager.notify urgency: \"high\"",
        ),
        (
            "needs: [mail]",
            "approval: required\n    needs: [mail]",
            Facet::Asks,
            "page: approval by one person",
        ),
    ] {
        let growth = growth(from, to);
        let grew = growth.grew.get(&facet).cloned().unwrap_or_default();
        assert!(grew.iter().any(|f| f == fact), "{fact}: {:?}", growth.grew);
    }
    let retried = growth("    needs: [mail]", "    retry: 4\n    needs: [mail]");
    let moved: Vec<_> = retried
        .counts
        .iter()
        .map(|m| (m.of.as_str(), m.from, m.to))
        .collect();
    assert!(moved.contains(&("attempts", 12, 13)), "{moved:?}");
}

#[test]
fn an_argument_that_may_be_left_out_is_named() {
    let urgency = |entry: &str| PLAN.replace("message: done", &format!("message: done, {entry}"));
    let always = urgency(r#"urgency: "${ steps.list.output.total > 9 ? 'high' : 'low' }""#);
    let marked = urgency(r#""?urgency": "${ steps.list.output.total > 9 ? 'high' : null }""#);
    let between = |before: &str, after: &str| {
        let (before, after) = (case(before), case(after));
        ReachDiff::between(&Reach::of(&before.checkup()), &Reach::of(&after.checkup()))
    };
    let growth = between(&always, &marked);
    assert_eq!(growth.weaker, ["page: urgency is always sent"]);
    let targets = &growth.grew[&Facet::Targets];
    assert!(targets[0].ends_with("null }\", if not null"), "{targets:?}");
    let back = between(&marked, &always);
    assert_eq!(back.weaker, [""; 0]);
    let review = case(&marked).checkup().reviews();
    let page = review.iter().find(|step| step.id == "page").unwrap();
    let shown = serde_json::to_value(&page.args[1]).unwrap();
    assert_eq!(
        (&shown["name"], &shown["known"], &shown["left_out"]),
        (&"urgency".into(), &false.into(), &"if_null".into())
    );
}

/// A plan of grants, each a step and an amount, or `${ … }` of which nobody knows how much it is.
fn grants(amounts: &[&str]) -> Reach {
    let step = |(n, amount): (usize, &&str)| {
        format!(
            "  - {{ id: g{n}, tool: fund.grant, needs: [want], args: {{ to: t{n}, euros: {amount} }}, \
             accept: ['${{ output.paid }}'] }}\n"
        )
    };
    let steps: String = amounts.iter().enumerate().map(step).collect();
    let text = format!(
        "# Grants\n\n```yaml catalog\n\
         fund.want:\n  effect: read\n  trusted: true\n  gives: {{ euros: integer }}\n\
         fund.grant:\n  effect: external\n  args: {{ to: string, euros: integer }}\n  \
         gives: {{ paid: boolean }}\n  idempotency: key\n  values: {{ granted: euros }}\n```\n\n\
         ```yaml plan\nsteps:\n  - {{ id: want, tool: fund.want }}\n{steps}answer: done\n```\n"
    );
    Reach::of(&Case::of(&Document::parse(&text)).checkup())
}

#[test]
fn a_larger_sum_reaches_further() {
    let free = "'${ steps.want.output.euros }'";
    let sums = |before: &[&str], after: &[&str]| {
        let diff = ReachDiff::between(&grants(before), &grants(after));
        let line = |sum: &provost_plan::reach::SumChange| {
            let side = |most: Option<_>| most.map_or("none".to_owned(), |m| format!("{m}"));
            let word = if sum.is_more() { "more" } else { "less" };
            format!("{} {} {} {word}", sum.of, side(sum.from), side(sum.to))
        };
        diff.sums.iter().map(line).collect::<Vec<String>>()
    };
    assert_eq!(sums(&["400"], &["400", "300"]), ["granted 400 700 more"]);
    assert_eq!(sums(&["400", "300"], &["400"]), ["granted 700 400 less"]);
    assert_eq!(sums(&["400"], &[free]), ["granted 400 none more"]);
    assert_eq!(sums(&[free], &["400"]), ["granted none 400 less"]);
    assert_eq!(sums(&["400"], &["100", "300"]), [""; 0]);
    assert_eq!(sums(&[free], &[free, "300"]), [""; 0]);
}

#[test]
fn what_is_gone_is_named() {
    let growth = growth(
        "    needs: [mail]\n    args: { message: done }",
        "    args: { message: done }\n    needs: [mail]",
    );
    assert!(growth.is_empty(), "{growth:?}");
    let less = self::growth(
        "to: ada@example.org",
        "to: \"${ steps.list.output.total }@x.test\"",
    );
    assert_eq!(less.shrank[&Facet::Hosts], ["example.org"]);
}

#[test]
fn what_holds_a_plan_back_and_is_gone_is_named() {
    let when = "    when: ${ steps.list.output.total > steps.sla.output.max }\n";
    let gone = "mail: when: steps.list.output.total > steps.sla.output.max";
    for (from, to, lost) in [
        (when, "    needs: [sla]\n", gone),
        (
            "total > steps.sla.output.max",
            "total > 0 * steps.sla.output.max",
            gone,
        ),
        (
            "    accept: [\"${ output.id != '' }\"]\n",
            "",
            "mail: accept: output.id != ''",
        ),
        (
            "    accept: [\"${ output.delivered }\"]\n",
            "",
            "page: accept: output.delivered",
        ),
        ("    needs: [mail]\n", "", "page: runs after mail"),
        (
            "    needs: [mail]\n",
            "    needs: [list]\n",
            "page: runs after sla",
        ),
        (
            "    needs: [mail]\n",
            "    needs: [mail]\n    on_failure: continue\n",
            "page: a failure of it stops what follows",
        ),
        (
            "steps.mail.status == \"succeeded\"",
            "steps.sla.status == \"succeeded\"",
            "proof of goal: steps.mail.status == \"succeeded\"",
        ),
    ] {
        let growth = growth(from, to);
        assert!(
            growth.weaker.iter().any(|one| one == lost),
            "{lost}: {:?}",
            growth.weaker
        );
        assert!(!growth.is_empty());
    }
    let asked = PLAN.replace(
        "    needs: [mail]\n",
        "    needs: [mail]\n    approval: required\n",
    );
    let (limited, wider) = (
        "limits: { calls: 10 }\ngoal:",
        "limits: { calls: 20 }\ngoal:",
    );
    for (before, after, lost) in [
        (asked, PLAN.to_owned(), "page: approval: required"),
        (
            PLAN.replace("goal:", limited),
            PLAN.to_owned(),
            "limit calls: 10",
        ),
        (
            PLAN.replace("goal:", limited),
            PLAN.replace("goal:", wider),
            "limit calls: 10 → 20",
        ),
    ] {
        let (before, after) = (case(&before), case(&after));
        let (before, after) = (Reach::of(&before.checkup()), Reach::of(&after.checkup()));
        assert_eq!(ReachDiff::between(&before, &after).weaker, [lost]);
        // The control: what is added holds it back more.
        let back = ReachDiff::between(&after, &before).weaker;
        assert!(back.is_empty() || lost.contains('→'), "{back:?}");
    }
    let more = growth(
        "> steps.sla.output.max }",
        "> steps.sla.output.max && steps.sla.output.max > 1 }",
    );
    assert!(more.weaker.is_empty(), "{:?}", more.weaker);
}

/// A guard written in another way is the same guard, and a text with other spaces another text.
/// The plan whose page waits for what is asserted.
fn asserting(condition: &str, more: &str) -> String {
    let assertion = format!("  - id: open\n    assert: ${{ {condition} }}\n{more}  - id: page\n");
    let plan = PLAN.replace("  - id: page\n", &assertion);
    plan.replace("needs: [mail]", "needs: [mail, open]")
}

#[test]
fn a_weaker_assertion_is_named() {
    let plan = asserting(
        "steps.list.output.total > 5 && size(steps.list.output.items) > 0",
        "",
    );
    let lost = |after: &str| {
        let (before, after) = (case(&plan), case(after));
        ReachDiff::between(&Reach::of(&before.checkup()), &Reach::of(&after.checkup())).weaker
    };
    let gone = "page: asserted: size(steps.list.output.items) > 0";
    let all = ["page: asserted: steps.list.output.total > 5", gone];
    assert_eq!(lost(&asserting("steps.list.output.total > 5", "")), [gone]);
    for after in [
        PLAN.to_owned(),
        plan.replace("needs: [mail, open]", "needs: [mail]"),
        plan.replace("    assert: $", "    on_failure: continue\n    assert: $"),
    ] {
        let lost = lost(&after);
        assert!(
            all.iter().all(|one| lost.iter().any(|l| l == one)),
            "{lost:?}"
        );
    }
    // Control: what is said if it does not hold, and another name, hold nothing back.
    assert_eq!(
        lost(&plan.replace("    assert: $", "    message: too few\n    assert: $")),
        [""; 0]
    );
}

#[test]
fn conditions_are_compared_as_trees() {
    let guard = "${ steps.list.output.total > steps.sla.output.max }";
    for same in [
        "${ steps.list.output.total>steps.sla.output.max }",
        "${ (steps.list.output.total) > (steps.sla.output.max) }",
        "'${ steps[\"list\"].output.total > steps.sla.output[\"max\"] }'",
        "${ (steps.sla.output.max > 1 && steps.list.output.total > steps.sla.output.max) }",
    ] {
        let weaker = growth(guard, same).weaker;
        assert!(weaker.is_empty(), "{same}: {weaker:?}");
    }
    let accept = "${ output.id != '' }";
    assert!(
        growth(accept, "${ output.id != \\\"\\\" }")
            .weaker
            .is_empty()
    );
    let spaced = PLAN.replace(accept, "${ output.id != 'a b' }");
    let other = PLAN.replace(accept, "${ output.id != 'a  b' }");
    let (spaced, other) = (case(&spaced), case(&other));
    let (spaced, other) = (Reach::of(&spaced.checkup()), Reach::of(&other.checkup()));
    let weaker = ReachDiff::between(&spaced, &other).weaker;
    assert_eq!(weaker, ["mail: accept: output.id != 'a b'"]);
}

#[test]
fn a_weaker_until_is_named() {
    let with = |until: &str| {
        let polls = format!("project: PAY }}, {until} }}");
        let plan = PLAN.replacen("project: PAY } }", &polls, 1);
        assert_ne!(plan, PLAN);
        plan
    };
    let reach = |plan: &str| Reach::of(&case(plan).checkup());
    let until = "until: '${ output.total > 2 && output.total < 9 }', every: 30s, at_most: 10m";
    let weaker = |to: &str| ReachDiff::between(&reach(&with(until)), &reach(to)).weaker;
    for (from, to, lost) in [
        (" && output.total < 9", "", "list: until: output.total < 9"),
        ("at_most: 10m", "at_most: 20m", "list: at_most: 10m → 20m"),
        ("every: 30s", "every: 5m", "list: every: 30s → 5m"),
    ] {
        assert_eq!(weaker(&with(&until.replace(from, to))), [lost]);
    }
    let gone = [
        "list: until: output.total > 2",
        "list: until: output.total < 9",
    ];
    let mut lost = weaker(PLAN);
    lost.sort();
    assert_eq!(lost, [gone[1], gone[0]]);
    // The control: a stricter one shows nothing.
    for (from, to) in [
        ("at_most: 10m", "at_most: 5m"),
        ("every: 30s", "every: 10s"),
    ] {
        assert_eq!(
            weaker(&with(&until.replace(from, to))),
            Vec::<String>::new()
        );
    }
}

/// The control: edits that reach no further show nothing.
#[test]
fn neutral_edits_show_nothing() {
    for (from, to) in [
        ("description: Tell ada", "description: Tell her"),
        ("subject: Tickets", "subject: Open tickets"),
        ("message: done", "message: 'done' "),
        ("answer: \"${", "answer: \"now ${"),
    ] {
        assert!(growth(from, to).is_empty(), "{to}: {:?}", growth(from, to));
    }
}

#[test]
fn sources_and_destinations_are_one_line() {
    let line = |plan: &str| Reach::of(&case(plan).checkup()).line();
    assert_eq!(
        line(PLAN),
        "tickets.list, config.sla_threshold → mail.send (external), pager.notify (external)"
    );
    let at = PLAN.find("  - id: mail").unwrap();
    let reads = format!(
        "{}success: [{{ for: goal, check: '${{ steps.sla.output.max > 0 }}' }}]\n\
         answer: \"${{ steps.list.output.total }}\"\n",
        &PLAN[..at]
    );
    assert_eq!(
        line(&reads),
        "tickets.list, config.sla_threshold → the answer only"
    );
}

#[test]
fn whose_yes_is_needed_is_said() {
    let case = case(PLAN);
    let reach = Reach::of(&case.checkup());
    let asks: Vec<&String> = reach.facts[&Facet::Asks].iter().collect();
    assert_eq!(asks, ["mail: approval by 2 people of oncall within 2h"]);
}

#[test]
fn an_approval_stands_only_for_the_same_step() {
    let before = case(PLAN);
    let delta = |from: &str, to: &str| {
        let after = case(&PLAN.replace(from, to));
        approvals(before.checkup().plan, after.checkup().plan)
    };
    let same = delta("message: done", "message: over");
    assert_eq!(
        (same.retain, same.replace),
        (vec!["mail".to_owned()], vec![])
    );
    let other = delta("subject: Tickets", "subject: Others");
    assert_eq!(
        (other.retain, other.replace),
        (vec![], vec!["mail".to_owned()])
    );
    let at = PLAN.find("  - id: mail").unwrap();
    let end = PLAN.find("success:").unwrap();
    let gone =
        format!("{}{}", &PLAN[..at], &PLAN[end..]).replace("steps.mail.status", "steps.sla.status");
    let after = case(&gone);
    let gone = approvals(before.checkup().plan, after.checkup().plan);
    assert_eq!(gone.clear, ["mail"]);
}

const ASKS: &str = r#"
goal: Ask
steps:
  - id: go
    question: { text: "Page them?", answer: { enum: [yes, no] }, expires: 4h, default: no }
  - id: page
    tool: pager.notify
    args: { message: done }
    when: "${ steps.go.output == 'yes' }"
    accept: ["${ output.delivered }"]
success: [{ for: goal, check: '${ steps.go.status == "succeeded" }' }]
answer: "${ steps.go.output }"
"#;

/// A default is judged, and a deadline by what follows from it.
#[test]
fn a_question_that_waits_otherwise_is_named() {
    let reach = |plan: &str| Reach::of(&case(plan).checkup());
    let without = ASKS.replace(", default: no", "");
    let ever = without.replace(", expires: 4h", "");
    let with = |plan: &str, to: &str| plan.replace("4h", to);
    let other = ASKS.replace("default: no", "default: yes");
    let weaker = |from: &str, to: &str| ReachDiff::between(&reach(from), &reach(to)).weaker;
    for (from, to, lost) in [
        (ASKS, with(ASKS, "1h"), "go: expires: 4h → 1h"),
        (ASKS, with(ASKS, "8h"), "go: expires: 4h → 8h"),
        (ASKS, other, "go: without an answer: \"no\""),
        (
            &without,
            ASKS.to_owned(),
            "go: goes on with a person's answer only",
        ),
        (&without, with(&without, "8h"), "go: expires: 4h → 8h"),
        (&without, ever.clone(), "go: expires: 4h → never"),
    ] {
        assert_eq!(weaker(from, &to), [lost]);
    }
    // The control: without a default, less time holds it back no less.
    assert_eq!(weaker(&without, &with(&without, "1h")), [""; 0]);
    assert_eq!(weaker(&ever, &without), [""; 0]);
    assert_eq!(weaker(ASKS, ASKS), [""; 0]);
}
