//! Who wrote the proof of a criterion: a person, a playbook, or the planner that is to be proven.

use crate::case::{Case, ok, plan_reply};
use provost_run::event::Prover;
use serde_json::json;

fn plan(check: &str) -> String {
    format!(
        r#"
schema: provost/plan/v1
success:
  - {{ for: goal, check: '${{ {check} }}' }}
steps:
  - {{ id: look, tool: look.up, args: {{ to: x }} }}
  - {{ id: last, tool: look.up, needs: [look], args: {{ to: y }} }}
"#
    )
}

const OWN: &str = "steps.last.status == \"succeeded\"";

fn ended(case: Case) -> Case {
    case.ends("last", ok(json!({ "total": 1 })))
}

fn prover(case: &Case) -> Prover {
    let ended = case.state().ending.ended.as_ref().expect("it ended");
    ended.proven_by.get("goal").cloned().expect("a proof")
}

#[test]
fn what_only_the_planner_proved_is_told_from_the_rest() {
    let looked = |case: Case| case.ends("look", ok(json!({ "total": 1 })));
    let by_playbook = ended(looked(Case::new(&plan(OWN)).started()));
    let playbook = Prover::Playbook {
        name: "test".to_owned(),
    };
    assert_eq!(prover(&by_playbook), playbook);
    let program = || Case::new(&plan(OWN)).by_a_program().started();
    let by_program = ended(looked(program()));
    let planner = Prover::Planner {
        author: "process test".to_owned(),
    };
    assert_eq!(prover(&by_program), planner);
    let state = by_program.state().ending.ended.clone().unwrap();
    assert_eq!(state.proven_by_planner("goal"), Some("process test"));
    // A proof that a person wrote stays theirs when a planner keeps it; one that they let stand
    // does not become theirs.
    let other = plan(&format!("{OWN} && steps.look.status == \"succeeded\""));
    let by_person = ended(looked(program().amends("ada", Some(&other), None)));
    let person = Prover::Person {
        id: "ada".to_owned(),
    };
    assert_eq!(prover(&by_person), person);
    let same = plan(OWN).replace("to: y", "to: z");
    let let_stand = ended(looked(program().amends("ada", Some(&same), None)));
    assert_eq!(prover(&let_stand), planner);
    let kept = program()
        .amends("ada", Some(&other), None)
        .replies(plan_reply(&other.replace("to: y", "to: z"), &[]))
        .amends("ada", None, Some("another goal"));
    assert_eq!(prover(&ended(looked(kept))), person);
}
