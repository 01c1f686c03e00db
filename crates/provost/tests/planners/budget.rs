//! What planning costs counts, and is set aside before anybody is asked.

use std::process::Stdio;

use sim::model::Scripted;

use crate::place::Place;
use crate::plans::right;
use crate::stage::Ran;

fn limited(limits: &str, planner: &str) -> Place {
    let place = Place::new(right());
    place.configure(planner);
    place.configure(&format!("\n[limits]\n{limits}\n"));
    place
}

#[test]
fn nobody_is_asked_where_the_worst_case_passes_a_limit() {
    for (limits, planner, said) in [
        (
            "money = \"0.05\"",
            "",
            "run's limit of 0.05 in money leaves no room",
        ),
        (
            "tokens = 9000",
            "",
            "run's limit of 9000 tokens leaves no room",
        ),
        (
            "",
            "money = \"0.05\"",
            "limit of 0.05 for planning leaves no room",
        ),
    ] {
        let place = limited(limits, planner);
        let ran = place.run(&["run", place.goal()]);
        assert_eq!(place.asked().len(), 0, "{limits}{planner}");
        place.stopped(&ran);
        let flat = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains(said), "{said}\n{}", ran.all());
    }
}

/// What a reply took takes the place of what was set aside, so the next request fits.
#[test]
fn what_was_not_used_is_there_again() {
    let place = limited("money = \"0.20\"", "");
    place.run(&["run", place.goal()]).exits(0);
    assert_eq!(place.asked().len(), 2);
    let set_aside = &place.stage.payloads("PlanRequested")[0]["reserved"]["money"];
    assert!(
        set_aside.as_str().unwrap().parse::<f64>().unwrap() > 0.1,
        "{set_aside}"
    );
}

/// A server that does not count leaves the reservation in force.
#[test]
fn what_nobody_counts_stays_set_aside() {
    let mut place = limited("money = \"0.20\"", "");
    let uncounted = |reply: Scripted| Scripted {
        tokens: None,
        ..reply
    };
    place.model = sim::model::Local::start(right().map(uncounted)).unwrap();
    let url = place.model.url();
    place.stage.edit("provost.toml", |text| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let line = lines
            .iter_mut()
            .find(|line| line.starts_with("base_url = \"http"));
        *line.unwrap() = format!("base_url = \"{url}\"");
        lines.join("\n")
    });
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert_eq!(place.asked().len(), 1, "{}", ran.all());
}

#[test]
fn without_a_price_a_limit_in_money_is_not_believed() {
    let place = limited("money = \"5.00\"", "");
    place.stage.edit("provost.toml", |text| {
        let kept = text.lines().filter(|line| !line.starts_with("price"));
        kept.collect::<Vec<_>>().join("\n")
    });
    let ran = place.run(&["run", place.goal()]).exits(3);
    assert_eq!(place.asked().len(), 0);
    assert!(
        ran.all().contains("what the planner costs is not known"),
        "{}",
        ran.all()
    );
}

/// A workspace whose runs share so much money.
fn sharing(money: &str, replies: impl IntoIterator<Item = Scripted>) -> Place {
    let place = Place::new(replies);
    place.configure(&format!(
        "\n[budget]\nmoney = \"{money}\"\nper = \"ever\"\n"
    ));
    place
}

fn spent(place: &Place) -> f64 {
    let query = "select coalesce(sum(money), 0) from budgets where period = ''";
    let spent: i64 = place
        .stage
        .journal()
        .query_row(query, [], |row| row.get(0))
        .unwrap();
    spent as f64 / 1e6
}

/// What planning takes counts against the budget of all runs, and doctor says how much it was.
#[test]
fn planning_counts_against_the_budget_of_all_runs() {
    let place = sharing("0.30", right());
    place.run(&["run", place.goal()]).exits(0);
    let taken: f64 = place
        .stage
        .payloads("BudgetSpent")
        .iter()
        .map(|spent| {
            spent["usage"]["cost"]
                .as_str()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        })
        .sum();
    assert!(
        taken > 0.0 && (spent(&place) - taken).abs() < 1e-6,
        "{taken}"
    );
    let said = place.run(&["doctor"]).all();
    assert!(
        said.contains("of 0.30 in money reserved or spent"),
        "{said}"
    );
    // A run whose worst case does not fit asks nobody; the budget stays what it was.
    let place = sharing("0.05", right());
    let ran = place.run(&["run", place.goal()]);
    assert_eq!(place.asked().len(), 0);
    let flat = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("the workspace's budget of 0.05 is reached"),
        "{flat}"
    );
    assert!(spent(&place).abs() < 1e-9);
    place.stopped(&ran);
}

/// Two processes at once: what one has set aside is not there for the other.
#[test]
fn runs_beside_each_other_never_pass_it() {
    let slow = |reply: Scripted| Scripted {
        delay_ms: 3_000,
        ..reply
    };
    let place = sharing("0.20", right().map(slow));
    let first = place
        .command(&["run", place.goal()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    place.until_asked(1);
    let second = place.run(&["run", place.goal(), "--again"]);
    assert_eq!(second.code, Some(3), "{}", second.all());
    let flat = second
        .all()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        flat.contains("the workspace's budget of 0.20 is reached"),
        "{flat}"
    );
    let first = Ran::from(first.wait_with_output().unwrap());
    assert_eq!(first.code, Some(0), "{}", first.all());
    assert_eq!(place.asked().len(), 2);
}

/// A request whose process was killed stays spent.
#[test]
fn what_was_lost_stays_set_aside_of_it() {
    let slow = Scripted {
        delay_ms: 60_000,
        ..Scripted::text("late")
    };
    let place = sharing("0.20", [slow]);
    let mut first = place.command(&["run", place.goal()]).spawn().unwrap();
    place.until_asked(1);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(spent(&place) > 0.1);
    let run = place.stage.only_run().unwrap();
    let ran = place.run(&["resume", &run]).exits(3);
    let flat = ran.all().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("the workspace's budget of 0.20 is reached"),
        "{flat}"
    );
    assert_eq!(place.asked().len(), 1);
}
