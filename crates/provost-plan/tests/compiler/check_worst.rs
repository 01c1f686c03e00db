//! The worst case of a plan in numbers, and the ways that findings draw.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::literate::{Case, Document};

const CATALOG: &str = r#"
llm.extract:
  effect: egress
  args: { text: { type: string, maxLength: 500 } }
  content: [text]
  gives: { total: integer }
  timeout_s: 20
  cost: { money: "0.001", tokens_in: { max: 8000, price: "3.00" }, tokens_out: { max: 1000, price: "15.00" } }
llm.open:
  effect: egress
  args: { text: { type: string, maxLength: 100 } }
  content: [text]
  gives: { total: integer }
  cost: { tokens_in: { price: "1.00" }, tokens_out: { price: "1.00" } }
web.look: { effect: read, args: { at: string }, gives: { found: boolean } }
"#;

fn case(plan: &str, blocks: &[(&str, &str)]) -> Case {
    let mut all = vec![("yaml plan", plan)];
    all.extend_from_slice(blocks);
    Case::of(&Document::of(&all))
}

/// A write that is read back makes two calls, each with the attempts of its step.
#[test]
fn reading_back_is_counted() {
    let plan = r#"
steps:
  - { id: put, tool: web.put, args: { at: home }, retry: { attempts: 2, backoff: 5s } CONFIRM }
answer: "${ steps.put.status }"
"#;
    let catalog = r#"
web.look: { effect: read, args: { at: string }, gives: { found: boolean }, timeout_s: 3, cost: { money: "0.10" } }
web.put: { effect: write, args: { at: string }, gives: { done: boolean }, timeout_s: 20, cost: { money: "1.00" } }
"#;
    let confirm = ", confirm: { tool: web.look, args: { at: home }, accept: ['${ read.found }'] }";
    for (more, expected) in [("", "1x2 2.00 45000ms"), (confirm, "2x4 2.20 56000ms")] {
        let plan = plan.replace(" CONFIRM", more);
        let case = case(&plan, &[("yaml catalog", catalog)]);
        let worst = case.worst();
        let row = &worst.rows[0];
        let shown = format!(
            "{}x{} {} {}ms",
            row.calls, row.attempts, row.money, row.call_ms
        );
        assert_eq!(shown, expected);
        assert_eq!((worst.calls, worst.attempts), (row.calls, row.attempts));
        assert_eq!(worst.wall_ms, row.call_ms);
    }
}

#[test]
fn rows_add_up_to_the_whole() {
    let plan = r#"
steps:
  - { id: read, tool: llm.extract, for_each: "${ params.letters }", max_items: 10, args: { text: "${ item }" }, retry: { attempts: 2, backoff: 5s } }
  - { id: open, tool: llm.open, args: { text: "${ json(steps.read.output) }" } }
  - { id: look, tool: web.look, args: { at: home } }
answer: "${ steps.open.output.total } ${ steps.look.output.found }"
"#;
    let terms = "params: { letters: [a, b] }";
    let case = case(plan, &[("yaml catalog", CATALOG), ("yaml terms", terms)]);
    let worst = case.worst();
    let mut text = String::new();
    for row in &worst.rows {
        let (unpriced, uncounted) = (row.unpriced.join(" "), row.uncounted.join(" "));
        let _ = writeln!(
            text,
            "{} {}x{} {} {} {}ms [{unpriced}] [{uncounted}]",
            row.step, row.calls, row.attempts, row.money, row.tokens, row.call_ms,
        );
    }
    // The arguments of `open` have no more than `{"text":` and 100 escaped characters: 612 bytes.
    assert_eq!(
        text,
        "read 10x20 0.80 180000 45000ms [] []\n\
         open 1x3 0.001836 1836 91500ms [cost.tokens_out.max] [cost.tokens_out.max]\n\
         look 1x3 0.00 0 91500ms [cost] [cost]\n"
    );
    assert_eq!((worst.calls, worst.attempts), (12, 26));
    assert_eq!(worst.money.to_string(), "0.801836");
    assert!(!worst.money_is_total && !worst.tokens_is_total);
    assert_eq!(
        worst.gaps(),
        [
            "worst case, money and tokens: no total: `cost` of `web.look` is not set",
            "worst case, money and tokens: no total: `cost.tokens_out.max` of `llm.open` is not \
             set",
        ]
    );
}

/// A plan of reads: for each its timeout in seconds and the earlier ones it needs.
fn plan_of(steps: &[(u64, Vec<usize>)]) -> String {
    let mut text = "steps:\n".to_owned();
    for (at, (seconds, needs)) in steps.iter().enumerate() {
        let needs: Vec<String> = needs.iter().map(|n| format!("s{n}")).collect();
        let _ = writeln!(
            text,
            "  - {{ id: s{at}, tool: config.sla_threshold, timeout: {seconds}s, retry: 1, \
             needs: [{}] }}",
            needs.join(", ")
        );
    }
    text
}

fn bound(steps: &[(u64, Vec<usize>)], places: u64) -> (u64, bool) {
    let terms = format!("limits: {{ concurrency: {places}, steps: 1000 }}");
    let case = case(&plan_of(steps), &[("yaml terms", &terms)]);
    (case.worst().wall_ms, case.worst().crowded)
}

#[test]
fn time_is_the_longest_path_or_what_the_places_allow() {
    let beside = |count: usize| vec![(30, Vec::new()); count];
    assert_eq!(bound(&beside(8), 8), (30_000, false));
    // Graham: the last of nine begins when eight have each worked no more than an eighth of the
    // others' time.
    assert_eq!(bound(&beside(9), 8), (60_000, true));
    assert_eq!(bound(&beside(20), 8), (101_250, true));
    assert_eq!(bound(&beside(20), 20), (30_000, false));
    let chain: Vec<(u64, Vec<usize>)> = (0..5)
        .map(|at: usize| (10, at.checked_sub(1).into_iter().collect()))
        .collect();
    assert_eq!(
        bound(&chain, 1),
        (50_000, false),
        "a chain is never crowded"
    );
}

/// How long a greedy run takes in which each step takes `took` and ties go by `rank`.
fn simulate(steps: &[(u64, Vec<usize>)], took: &[u64], rank: &[u64], places: usize) -> u64 {
    let mut ends: BTreeMap<usize, u64> = BTreeMap::new();
    let mut flying: BTreeMap<usize, u64> = BTreeMap::new();
    let mut now = 0;
    while ends.len() < steps.len() {
        let mut ready: Vec<usize> = (0..steps.len())
            .filter(|at| !ends.contains_key(at) && !flying.contains_key(at))
            .filter(|at| steps[*at].1.iter().all(|need| ends.contains_key(need)))
            .collect();
        ready.sort_by_key(|at| rank[*at]);
        for at in ready.into_iter().take(places - flying.len()) {
            flying.insert(at, now + took[at]);
        }
        now = *flying.values().min().expect("something is under way");
        let over: Vec<usize> = flying
            .iter()
            .filter(|(_, end)| **end == now)
            .map(|(at, _)| *at)
            .collect();
        for at in over {
            flying.remove(&at);
            ends.insert(at, now);
        }
    }
    now
}

#[test]
fn no_greedy_run_takes_longer_than_the_bound() {
    let mut seed = 7u64;
    let mut draw = |most: u64| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % most
    };
    let (mut crowded, mut longest_is_too_short) = (0, 0);
    for _ in 0..60 {
        let count = usize::try_from(draw(9)).unwrap() + 2;
        let steps: Vec<(u64, Vec<usize>)> = (0..count)
            .map(|at| {
                let needs = (0..at).filter(|_| draw(5) == 0).collect();
                (draw(30) + 1, needs)
            })
            .collect();
        let places = draw(3) + 1;
        let (most, is_crowded) = bound(&steps, places);
        crowded += u32::from(is_crowded);
        let (path_alone, _) = bound(&steps, 1_000);
        for _ in 0..20 {
            let took: Vec<u64> = steps
                .iter()
                .map(|(seconds, _)| {
                    let full = draw(2) == 0;
                    if full { *seconds } else { draw(*seconds) + 1 }
                })
                .collect();
            let rank: Vec<u64> = steps.iter().map(|_| draw(1_000)).collect();
            let places = usize::try_from(places).unwrap();
            let wall = 1_000 * simulate(&steps, &took, &rank, places);
            assert!(wall <= most, "{wall} > {most}: {}", plan_of(&steps));
            longest_is_too_short += u32::from(wall > path_alone);
        }
    }
    // The control: the longest path alone is no bound, and the runs show it.
    assert!(crowded > 10, "{crowded}");
    assert!(longest_is_too_short > 50, "{longest_is_too_short}");
}

fn drawn(plan: &str, code: &str) -> Vec<String> {
    let drawn = case(plan, &[]).drawn();
    let one = drawn
        .split("\n\n")
        .find(|finding| finding.contains(code))
        .unwrap_or_else(|| panic!("{code} is not in:\n{drawn}"));
    let is_way = |line: &&str| line.contains("--- ") || line.contains("^^^");
    one.lines()
        .filter(is_way)
        .map(|line| line.trim_start_matches([' ', '|', '-', '^']).to_owned())
        .collect()
}

#[test]
fn findings_draw_the_way_from_the_source() {
    let plan = r#"
steps:
  - { id: list, tool: tickets.list, args: { project: PAY } }
  - id: mail
    tool: mail.send
    for_each: "${ steps.list.output.items }"
    args: { to: "${ item.subject }", subject: x }
    accept: ["${ output.id != '' }"]
answer: "${ steps.mail.status }"
"#;
    let way = drawn(plan, "F401").join("\n");
    assert!(
        way.contains("the output of `list` is text that nobody vouches for"),
        "{way}"
    );
    assert!(way.contains("`item` goes over this list"), "{way}");
    let secret = r#"
steps:
  - { id: key, tool: vault.read, args: { name: api } }
  - { id: list, tool: tickets.list, args: { project: "${ steps.key.output.value }" } }
  - { id: page, tool: pager.notify, args: { message: "${ json(steps.list.output.total) }" }, accept: ["${ output.delivered }"] }
answer: "${ steps.page.status }"
"#;
    let way = drawn(secret, "a secret would leave in `message`").join("\n");
    let hops = [
        "the output of `key` is a secret",
        "`list` is given it as `project`",
    ];
    for hop in hops {
        assert!(way.contains(hop), "{way}");
    }
    let control = r#"
steps:
  - { id: list, tool: tickets.list, args: { project: PAY } }
  - { id: count, tool: tickets.count, when: "${ steps.list.output.items.exists(t, t.subject.contains('x')) }", args: { project: PAY } }
  - { id: page, tool: pager.notify, when: '${ steps.count.status != steps.list.status }', args: { message: x }, accept: ["${ output.delivered }"] }
answer: "${ steps.page.status }"
"#;
    let way = drawn(control, "whether `page` runs").join("\n");
    let hops = [
        "the output of `list` is text that nobody vouches for",
        "it decides whether `count` runs",
    ];
    for hop in hops {
        assert!(way.contains(hop), "{way}");
    }
}
