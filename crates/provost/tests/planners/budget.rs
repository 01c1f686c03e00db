//! What planning costs counts, and is set aside before anybody is asked.

use sim::model::Scripted;

use crate::place::Place;
use crate::plans::right;

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
