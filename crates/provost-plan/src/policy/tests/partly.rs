//! Decisions while some arguments are not known, and what stays open in words.

use super::*;

const PERMIT: &str = r#"@id("all") permit (principal, action in Action::"call", resource);"#;

/// A condition, an argument that is known, one that is not, and what is said.
type Row = (
    &'static str,
    Option<(&'static str, Value)>,
    &'static str,
    &'static str,
);

/// A rule about one call, what is known of it, and what is said before the rest is.
#[test]
fn the_condition_in_words() {
    use Integrity::Trusted;
    let rule = |when: &str| {
        format!(
            "{PERMIT}\n@id(\"rule\") @quorum(\"2\") forbid (principal, action in Action::\"call\", \
             resource) when {{ !resource.attended && {when} }};"
        )
    };
    let large = "context.args has amount && context.args.amount > 500";
    let table: [Row; 24] = [
        (large, None, "amount", "ask by rule; asks if `amount` > 500"),
        (large, Some(("amount", json!(500))), "to", "permit by all"),
        (large, Some(("amount", json!(501))), "to", "ask by rule"),
        (large, None, "to", "permit by all"),
        (
            "context.args has price && context.args.price.greaterThan(decimal(\"0.5\"))",
            None,
            "price",
            "ask by rule; asks if `price` > 0.5",
        ),
        (
            "context.args has price && !context.args.price.lessThan(decimal(\"12.0\"))",
            None,
            "price",
            "ask by rule; asks if `price` ≥ 12",
        ),
        (
            "context.args has order && context.args.order.id == \"x\"",
            None,
            "order",
            "ask by rule; asks if `order` is given and `order.id` is \"x\"",
        ),
        (
            "context.args has order && context.args.order.id == \"x\"",
            Some(("order", json!({"id": "y"}))),
            "amount",
            "permit by all",
        ),
        (
            "context.args has order.lines && context.args.order.lines > 3",
            Some(("order", json!({"id": "y"}))),
            "amount",
            "permit by all",
        ),
        (
            "context.args has order.lines && context.args.order.lines > 3",
            Some(("order", json!({"id": "y", "lines": 4}))),
            "amount",
            "ask by rule",
        ),
        (
            "!([\"a.test\", \"b.test\"].containsAll(context.hosts))",
            None,
            "to",
            "ask by rule; asks if `hosts` is not all among \"a.test\", \"b.test\"",
        ),
        (
            "!([\"a.test\"].containsAll(context.hosts))",
            Some(("to", json!("https://a.test/x"))),
            "message",
            "permit by all",
        ),
        (
            "!([\"a.test\"].containsAll(context.hosts))",
            Some(("to", json!("https://c.test/x"))),
            "message",
            "ask by rule",
        ),
        (
            "context.sinks.contains(\"root\")",
            Some(("to", json!("root"))),
            "copies",
            "ask by rule",
        ),
        (
            "context.sinks.contains(\"root\")",
            Some(("to", json!("ada"))),
            "copies",
            "ask by rule; asks if `sinks` holds \"root\"",
        ),
        (
            "context.args has copies && context.args.copies.contains(\"eve\")",
            Some(("copies", json!([]))),
            "to",
            "permit by all",
        ),
        (
            "context.args has copies && context.args.copies.containsAny([\"eve\", \"bo\"])",
            None,
            "copies",
            "ask by rule; asks if `copies` shares something with \"bo\", \"eve\"",
        ),
        (
            "context.args has to && context.args.to like \"*@evil.test\"",
            None,
            "to",
            "ask by rule; asks if `to` is like \"*@evil.test\"",
        ),
        (
            "context.args has urgent && (context.args.urgent || (context.args has amount && \
             context.args.amount >= 7))",
            None,
            "urgent",
            "ask by rule; asks if `urgent`",
        ),
        (
            "context.args has urgent && (context.args.urgent || (context.args has amount && \
             context.args.amount >= 7))",
            Some(("amount", json!(9))),
            "urgent",
            "ask by rule; asks if `urgent` is given",
        ),
        (
            "(context.args has amount && context.args.amount * 2 > 10) || \
             resource.risk == \"high\"",
            None,
            "amount",
            "ask by rule; asks if (`amount` × 2) > 10",
        ),
        (
            "!context.opaque.isEmpty()",
            None,
            "either",
            "ask by rule; asks if an argument cannot be shown to policy exactly",
        ),
        (
            "!context.opaque.isEmpty()",
            Some(("price", json!(0.123_456))),
            "either",
            "ask by rule",
        ),
        (
            "context.args has to && [\"ops\"].contains(context.args.to)",
            None,
            "to",
            "ask by rule; asks if `to` is one of \"ops\"",
        ),
    ];
    let mut wrong = Vec::new();
    for (when, known, unknown, expected) in table {
        let policy = policy(&[&rule(when)]);
        let mut case = Case::call("db.look").unknown(unknown, Trusted);
        // Why: sinks are those of a write; a read has none.
        case.operation = operation("db.put write");
        if let Some((name, value)) = known {
            case = case.arg(name, value, Trusted);
        }
        let found = line(&case.decide(&policy));
        if found != expected {
            wrong.push(format!("{when} | {unknown}\n  {found}\n  {expected}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Conditions over every part of the context, for the test below.
const CONDITIONS: [&str; 14] = [
    "context.args has amount && context.args.amount > 500",
    "context.args has amount && context.args.amount + 1 > 9007199254740992",
    "context.args has price && context.args.price.lessThan(decimal(\"1.5\"))",
    "context.args has to && context.args.to like \"*@a.test\"",
    "context.args has to && context.args.to == \"ada@a.test\"",
    "!(context.args has note)",
    "context.args has copies && context.args.copies.isEmpty()",
    "context.args has copies && context.args.copies.containsAll([\"a\", \"b\"])",
    "context.args has order.lines && context.args.order.lines == 2",
    "context.args has order && context.args.order.id == \"x\"",
    "!([\"a.test\"].containsAll(context.hosts))",
    "context.sinks.containsAny([\"a\", \"x\", \"true\"])",
    "!context.opaque.isEmpty()",
    "context.opaque.contains(\"price\")",
];

/// Values of each argument, fitting its schema.
fn values() -> Vec<(&'static str, Vec<Value>)> {
    vec![
        (
            "amount",
            vec![
                json!(0),
                json!(500),
                json!(501),
                json!(9_007_199_254_740_992_i64),
            ],
        ),
        (
            "price",
            vec![json!(1), json!(1.5), json!(1.499_99), json!(2e15)],
        ),
        (
            "to",
            vec![
                json!("ada@a.test"),
                json!("x"),
                json!("https://b.test/@a.test"),
            ],
        ),
        ("note", vec![json!(null), json!("n")]),
        (
            "copies",
            vec![
                json!([]),
                json!(["a"]),
                json!(["b", "a"]),
                json!(["eve@b.test"]),
            ],
        ),
        (
            "order",
            vec![json!({"id": "x"}), json!({"id": "y", "lines": 2})],
        ),
        ("either", vec![json!("a"), json!(1)]),
        ("free", vec![json!({}), json!({"k": "x"})]),
    ]
}

/// The verdict without the arguments `left_out`, of which those in `unknown` are said to come.
fn decided(
    policy: &Policy,
    case: &Case,
    left_out: &BTreeSet<String>,
    unknown: &BTreeSet<String>,
) -> Verdict {
    let mut args = case.args.clone();
    args.retain(|name, _| !left_out.contains(name));
    policy.decide(&CallFacts {
        principal: &case.principal,
        operation: &case.operation,
        role: &case.role,
        args: &args,
        unknown,
        labels: &case.labels,
        control: &case.control,
        inputs_validated: true,
        values_from_goal: true,
        repeats: Some(0),
        totals: case.totals.as_ref(),
    })
}

/// How many of the cases are promised something that the values then break.
fn broken_promises(early: impl Fn(&Policy, &Case, &BTreeSet<String>) -> Verdict) -> (usize, usize) {
    let (mut broken, mut settled) = (0, 0);
    let heads = ["!resource.attended && ", "", "resource.attended && "];
    let all = values();
    for (n, condition) in CONDITIONS.iter().enumerate() {
        for head in heads {
            let other = CONDITIONS.get((n + 5) % CONDITIONS.len()).unwrap();
            let text = format!(
                "{PERMIT}\n@id(\"rule\") forbid (principal, action in Action::\"call\", resource) \
                 when {{ {head}({condition}) }};\n@id(\"some\") @quorum(\"2\") permit (principal, \
                 action in Action::\"call\", resource) when {{ resource.attended && ({other}) }};"
            );
            let catalog = Catalog::new([operation("db.put write")]);
            let policy = Policy::load(&catalog, &[Source::new("p", text)], &people()).unwrap();
            // Why: an odd stride visits combinations in no pattern without a random number.
            for seed in 0..14_usize {
                let mut case = Case::call("db.put");
                let mut unknown = BTreeSet::new();
                for (place, (name, choices)) in all.iter().enumerate() {
                    let pick = (seed * 7 + place * 13 + seed * place) % (choices.len() + 2);
                    if let Some(value) = choices.get(pick) {
                        case = case.arg(name, value.clone(), Integrity::Trusted);
                        if (seed + place * 3) % 4 == 0 {
                            unknown.insert((*name).to_owned());
                        }
                    }
                }
                let late = case.decide(&policy);
                let early = early(&policy, &case, &unknown);
                if early.condition.is_none() {
                    settled += 1;
                    let same = early.decision == late.decision && early.ask == late.ask;
                    broken += usize::from(!same);
                } else {
                    broken += usize::from(early.decision != Decision::Ask);
                }
            }
        }
    }
    (broken, settled)
}

/// Whatever is said without a condition before the arguments are known holds for every value
/// they take; whatever has a condition is a gate.
#[test]
fn what_is_said_early_holds_late() {
    let (broken, settled) =
        broken_promises(|policy, case, unknown| decided(policy, case, unknown, unknown));
    assert_eq!(broken, 0);
    assert!(settled > 150, "only {settled} were settled early");
    // The control: to treat what is unknown as absent breaks promises.
    let (broken, _) =
        broken_promises(|policy, case, unknown| decided(policy, case, unknown, &BTreeSet::new()));
    assert!(broken > 30, "the test sees only {broken} broken promises");
}

/// Where the open policy is a permit, or forbids for good, the words say so.
#[test]
fn what_may_be_forbidden_and_what_may_be_permitted() {
    let small = r#"@id("small") permit (principal, action in Action::"call", resource)
        when { context.args has amount && context.args.amount <= 10 };"#;
    let attended = r#"@id("attended") @quorum("2")
        permit (principal, action in Action::"call", resource) when { resource.attended };"#;
    let huge = r#"@id("huge") forbid (principal, action in Action::"call", resource)
        when { context.args has amount && context.args.amount > 1000 };"#;
    let asks = r#"@id("asks") forbid (principal, action in Action::"call", resource)
        when { !resource.attended };"#;
    let large = r#"@id("large") forbid (principal, action in Action::"call", resource)
        when { !resource.attended && context.args has amount && context.args.amount > 500 };"#;
    let table: [(&[&str], &str); 7] = [
        (
            &[small, attended],
            "ask by attended small; asks unless `amount` ≤ 10",
        ),
        (&[small], "ask by small; forbidden unless `amount` ≤ 10"),
        (&[PERMIT, huge], "ask by huge; forbidden if `amount` > 1000"),
        (
            &[PERMIT, huge, asks],
            "ask by asks huge; forbidden if `amount` > 1000; asks otherwise",
        ),
        (
            &[PERMIT, huge, large],
            "ask by huge large; forbidden if `amount` > 1000; asks if `amount` > 500",
        ),
        (&[huge], "forbid"),
        (&[PERMIT, small], "permit by all"),
    ];
    for (texts, expected) in table {
        let case = Case::call("db.put").unknown("amount", Integrity::Trusted);
        assert_eq!(line(&case.decide(&policy(texts))), expected);
    }
}
