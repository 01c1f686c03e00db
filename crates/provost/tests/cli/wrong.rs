//! Wrong input: one message, a hint, exit 1 or 2, no panic, no wait.

use std::time::{Duration, Instant};

use insta::assert_snapshot;

use super::workplace::{PLAN, Ran, Workplace};

/// Runs a command that is wrong, and holds its answer to the rules for wrong input.
#[track_caller]
fn wrong(place: &Workplace, args: &[&str]) -> Ran {
    let begun = Instant::now();
    let ran = place.run(args);
    // Why more than the second it may take: tests share the machine with builds.
    assert!(begun.elapsed() < Duration::from_secs(5), "{ran}");
    assert!(matches!(ran.code, Some(1 | 2)), "{ran}");
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        !all.contains("panicked") && !all.contains("provost itself is wrong"),
        "{ran}"
    );
    assert!(all.lines().count() < 60, "more than a screen: {ran}");
    assert!(!all.contains("::"), "the name of a type: {ran}");
    ran
}

#[track_caller]
fn hinted(place: &Workplace, args: &[&str]) -> Ran {
    let ran = wrong(place, args);
    assert!(
        ran.stderr.contains("error") && ran.stderr.contains("hint: "),
        "{ran}"
    );
    ran
}

fn plan(change: impl Fn(&str) -> String) -> Ran {
    let place = Workplace::new();
    place.write("plan.yaml", change(PLAN));
    let ran = wrong(&place, &["check", "plan.yaml"]);
    assert_eq!(ran.code, Some(1), "{ran}");
    ran
}

#[test]
fn no_workspace() {
    assert_snapshot!(hinted(&Workplace::empty(), &["run", "x"]), @r"
    exit 2
    --- stderr
    error: there is no workspace at or above DIR

    hint: `provost init` makes a workspace here; `-C DIR` names one elsewhere
    ");
    assert_snapshot!(hinted(&Workplace::empty(), &["-C", "nowhere", "runs"]), @r"
    exit 2
    --- stderr
    error: DIR/nowhere is no workspace: it has no provost.toml

    hint: `provost -C nowhere init` makes a workspace here; `-C DIR` names one elsewhere
    ");
}

#[test]
fn an_unknown_key_in_the_configuration() {
    let place = Workplace::new();
    place.edit("provost.toml", "user = ", "usr = ");
    assert_snapshot!(hinted(&place, &["run", "Count the orders of ada"]), @r#"
    exit 2
    --- stderr
    error[P004]: `[workspace]` has no field `usr`
     --> provost.toml:3:1
      |
    3 | usr = "ada"
      | ^^^
      |
      = hint: did you mean `user`?

    error: the workspace cannot be used: one finding in provost.toml

    hint: `provost explain P004` tells more
    "#);
}

#[test]
fn a_plan_with_an_unknown_tool() {
    let ran = plan(|text| text.replace("shop.orders", "shop.ordres"));
    assert!(ran.stdout.contains("did you mean `shop.orders`?"), "{ran}");
}

#[test]
fn a_plan_with_a_cycle() {
    let ran = plan(|text| {
        text.replace("tool: shop", "needs: [other]\n    tool: shop").replace(
            "success:\n  - {",
            "  - { id: other, tool: shop.orders, args: { customer: x }, needs: [count] }\nsuccess:\n  - {",
        )
    });
    assert!(ran.stdout.contains("error[R104]"), "{ran}");
}

#[test]
fn a_plan_with_a_duplicate_id() {
    let ran = plan(|text| {
        text.replace(
            "success:\n  - {",
            "  - { id: count, tool: shop.orders, args: { customer: x } }\nsuccess:\n  - {",
        )
    });
    assert!(ran.stdout.contains("error[R103]"), "{ran}");
}

#[test]
fn a_plan_with_a_wrong_type() {
    let ran = plan(|text| text.replace("customer: \"\"", "customer: 5"));
    assert!(ran.stdout.contains("error[T201]"), "{ran}");
}

#[test]
fn a_plan_with_a_bad_expression() {
    let ran = plan(|text| text.replace("row.total }", "row.total + }"));
    assert!(ran.stdout.contains("error[P009]"), "{ran}");
}

#[test]
fn files_that_are_no_plan() {
    let place = Workplace::new();
    place.write("empty.yaml", "");
    place.write("binary.yaml", [0xff, 0xfe, 0, 1, 2]);
    place.write("large.yaml", "a".repeat(5_000_000));
    place.write("nul.yaml", "\0\0\0");
    for file in [
        "empty.yaml",
        "binary.yaml",
        "large.yaml",
        "missing.yaml",
        "notes",
    ] {
        for verb in ["check", "apply", "show"] {
            assert_eq!(hinted(&place, &[verb, file]).code, Some(2), "{verb} {file}");
        }
    }
    wrong(&place, &["check", "nul.yaml"]);
    place.write(
        "bundle.json",
        r#"{ "schema": "provost/bundle/v1", "goal": 7 }"#,
    );
    assert_snapshot!(hinted(&place, &["apply", "bundle.json"]), @r#"
    exit 2
    --- stderr
    error: the saved plan `bundle.json` cannot be read at line 1, column 42

    hint: save it again: `provost plan "GOAL" -o FILE`
    "#);
}

#[test]
fn bombs() {
    let place = Workplace::new();
    let aliases = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n".to_owned();
    let parentheses = format!("{}true{}", "(".repeat(400), ")".repeat(400));
    let parentheses = PLAN.replace(
        "tool: shop",
        &format!("when: ${{ {parentheses} }}\n    tool: shop"),
    );
    for (name, text) in [
        ("aliases.yaml", aliases),
        ("brackets.yaml", "[".repeat(200_000)),
        ("maps.json", "{\"a\":".repeat(100_000)),
        ("parentheses.yaml", parentheses),
    ] {
        place.write(name, text);
        assert_eq!(wrong(&place, &["check", name]).code, Some(1), "{name}");
        wrong(&place, &["apply", name]);
    }
}

#[test]
fn a_database_that_is_missing_or_corrupt() {
    let place = Workplace::new();
    std::fs::remove_file(place.path("data/shop.db")).unwrap();
    let ran = wrong(&place, &["run", "Count the orders of ada"]);
    assert!(ran.stderr.contains("shop"), "{ran}");
    place.write(
        "data/shop.db",
        "this is no database, but it is long enough to be looked at",
    );
    let ran = wrong(&place, &["run", "Count the orders of ada", "--again"]);
    assert!(ran.stderr.contains("shop"), "{ran}");
}

#[test]
fn a_journal_that_is_none() {
    let place = Workplace::new();
    place.write(
        ".provost/journal.db",
        "this is no database, but it is long enough to be one",
    );
    for args in [
        &["runs"][..],
        &["run", "Count the orders of ada"],
        &["inbox"],
    ] {
        assert_eq!(hinted(&place, args).code, Some(2));
    }
}

#[test]
fn a_store_that_cannot_be_written() {
    let place = Workplace::new();
    // Why a file and no permissions: the tests may run as root, for whom everything is allowed.
    place.write(".provost", "in the way");
    assert_eq!(
        hinted(&place, &["run", "Count the orders of ada"]).code,
        Some(2)
    );
}

#[test]
fn runs_that_are_not_there() {
    let place = Workplace::new();
    place.waiting();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    for verb in [
        "show", "resume", "cancel", "approve", "reject", "diff", "trace", "why",
    ] {
        assert_eq!(hinted(&place, &[verb, "9zzzz"]).code, Some(2), "{verb}");
        assert_eq!(hinted(&place, &[verb, ""]).code, Some(2), "{verb}");
    }
    hinted(&place, &["answer", "9zzzz", "x"]);
}

#[test]
fn an_ambiguous_prefix() {
    let place = Workplace::new();
    // Why so many: among 33 runs two begin with the same of 32 characters.
    let mut first: std::collections::BTreeMap<char, u32> = std::collections::BTreeMap::new();
    let twice = loop {
        place.run(&["run", "Count the orders of ada"]).exits(0);
        let runs = place.json(&["runs", "--json"]);
        let newest = runs.pointer("/runs/0/id").unwrap().as_str().unwrap();
        let c = newest.chars().next().unwrap();
        let count = first.entry(c).or_default();
        *count += 1;
        if *count > 1 {
            break c;
        }
    };
    let ran = hinted(&place, &["show", &twice.to_string()]);
    assert!(ran.stderr.contains("several runs begin with"), "{ran}");
}

#[test]
fn a_goal_without_quotes_is_shown_with_them() {
    let place = Workplace::new();
    let typed = ["run", "Note", "the", "orders", "of", "ada"];
    insta::assert_snapshot!(place.run(&typed), @r#"
    exit 2
    --- stderr
    error: unexpected argument 'the' found

    hint: a goal is one argument; put it in quotes: provost run "Note the orders of ada"
    "#);
    let ran = place.run(&["plan", "Note", "it", "--quickly"]).exits(2);
    assert!(
        ran.stderr
            .contains("put it in quotes: provost plan \"Note it\""),
        "{ran}"
    );
    // The control: another slip is told as it is.
    for typed in [["run", "Note it", "--quickly"], ["runs", "Note", "it"]] {
        let ran = place.run(&typed).exits(2);
        assert!(!ran.stderr.contains("quotes"), "{ran}");
    }
}
