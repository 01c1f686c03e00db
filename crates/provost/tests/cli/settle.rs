use std::io::Read as _;
use std::net::TcpListener;

use insta::assert_snapshot;

use super::workplace::Workplace;

const PLAN: &str = r#"
schema: provost/plan/v1
goal: { text: Ring the bell }
steps:
  - { id: ring, tool: bell.ring, args: { tone: low }, accept: ['${ output.rung }'] }
success:
  - { for: goal, check: '${ steps.ring.status == "succeeded" }' }
answer: "It rang."
"#;

/// A workspace whose bell takes a request and hangs up.
fn bell() -> Workplace {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut bytes = [0; 512];
            let _ = stream.unwrap().read(&mut bytes).unwrap();
        }
    });
    let place = Workplace::new();
    let config = std::fs::read_to_string(place.path("provost.toml")).unwrap();
    place.write(
        "provost.toml",
        format!(
            r#"{config}
[tools.bell]
kind = "http"
base_url = "http://{address}"
[tools.bell.ops.ring]
request = {{ method = "POST", path = "/ring", body = {{ tone = "${{ args.tone }}" }} }}
input = {{ type = "object", properties = {{ tone = {{ type = "string" }} }}, required = ["tone"] }}
output = {{ type = "object", properties = {{ rung = {{ type = "boolean" }} }}, required = ["rung"] }}
effect = "write"
"#
        ),
    );
    place.write("ring.yaml", PLAN);
    place
}

/// The id of a run whose write is in doubt.
fn doubted(place: &Workplace) -> String {
    place.run(&["apply", "ring.yaml"]).exits(4);
    let runs = place.json(&["runs", "--json"]);
    runs["runs"][0]["id"].as_str().unwrap().to_owned()
}

#[test]
fn a_doubt_is_shown_and_settled_by_what_a_person_saw() {
    let place = bell();
    let run = doubted(&place);
    assert_snapshot!(place.run(&["show", &run]), @r#"
    exit 0
    --- stdout
    run RUN: in doubt
      goal       Ring the bell
      asked      by ada at MOMENT
      plan       revision 1
      solo       the requester may also approve

    in doubt: no answer shows whether the write of step `ring` happened: the connection was lost before the answer was whole: connection closed before message completed
    happened: no write
    may have happened:
      ring  bell.ring  tone="low"
    did not start: no write
    next: provost settle RUN ring@CARD --happened --output JSON|--did-not-happen|--abandon --reason WHY
      any person of this workspace, after a check of the system it writes to

      ring  bell.ring  write  in doubt  unavailable: the connection was lost before the answer was whole: connection closed before message completed
    "#);
    let said = [
        "settle",
        &run,
        "ring",
        "--happened",
        "--reason",
        "I heard it",
    ];
    let seen = [&said[..], &["--output", "{\"rung\": true}"]].concat();
    assert_snapshot!(place.run(&seen), @r"
    exit 0
    --- stdout
    succeeded: Ring the bell

    It rang. (unsupported)

    proven: Ring the bell
    --- stderr
    run RUN: resumed
    ring: settled as `happened` by ada: I heard it
    ring: succeeded
    ");
    assert_eq!(place.status(), "succeeded");
    assert_snapshot!(place.run(&seen), @"
    exit 2
    --- stderr
    error: `ring` is not in doubt

    hint: `provost show RUN` lists what may have happened
    ");
}

#[test]
fn no_other_run_repeats_it_until_somebody_gives_up_on_it() {
    let place = bell();
    let run = doubted(&place);
    assert_snapshot!(place.run(&["apply", "ring.yaml", "--again"]), @r"
    exit 1
    --- stdout
    failed: Ring the bell
    step `ring` failed: step `ring` of run RUN may already have done this, its outcome is unknown

    not met: Ring the bell

    why: provost why RUN
    --- stderr
    run RUN: Ring the bell
    solo workspace: the requester may also approve

    plan, revision 1: 1 step, 1 write; no approval needed
      1  ring  bell.ring  write  permit  by calls

    ring: failed, conflict: step `ring` of run RUN may already have done this, its outcome is unknown
    replanning: step `ring` failed (conflict)
    planner: proposed nothing: a plan file has no revision: edit it and apply it again
    ");
    place
        .run(&[
            "settle",
            &run,
            "ring",
            "--abandon",
            "--reason",
            "nobody was there",
        ])
        .exits(0);
    assert_snapshot!(place.run(&["show", &run]), @r#"
    exit 0
    --- stdout
    run RUN: failed
      goal       Ring the bell
      asked      by ada at MOMENT
      ended      at MOMENT
      plan       revision 1
      solo       the requester may also approve

    failed: step `ring` failed: whether it took place will not be known
    happened: no write
    may have happened:
      ring  bell.ring  tone="low"    abandoned
    did not start: no write
    next: provost why RUN
      says whether the plan was wrong or execution failed

      ring  bell.ring  write  failed  unavailable: whether it took place will not be known

    said by people
      MOMENT  ada  ring: settled as `abandoned` by ada: nobody was there

    failed: Ring the bell
    step `ring` failed: whether it took place will not be known

    not met: Ring the bell

    why: provost why RUN
    "#);
    place.run(&["apply", "ring.yaml", "--again"]).exits(4);
}

#[test]
fn what_cannot_be_settled_is_refused() {
    let place = bell();
    let run = doubted(&place);
    assert_snapshot!(place.run(&["settle", &run, "rang", "--happened", "--reason", "x"]), @"
    exit 2
    --- stderr
    error: `rang` is not in doubt

    hint: `provost show RUN` lists what may have happened
    ");
    let bad = [
        "settle",
        &run,
        "ring",
        "--happened",
        "--reason",
        "x",
        "--output",
        "{rung}",
    ];
    assert_snapshot!(place.run(&bad), @r#"
    exit 2
    --- stderr
    error: `--output` is no JSON: key must be a string at line 1 column 2

    hint: quote it for the shell: --output '{"delivered": true}'
    "#);
    assert_snapshot!(place.run(&["settle", &run, "ring", "--reason", "x"]), @"
    exit 2
    --- stderr
    error: the following required arguments were not provided:
      <--happened|--did-not-happen|--abandon>

    Usage: provost settle --reason <WHY> <--happened|--did-not-happen|--abandon> <RUN> <STEP[@DIGEST]>

    For more information, try '--help'.
    ");
}

#[test]
fn whoever_is_told_of_doubts_is_told_once_and_reminded_until_it_is_settled() {
    let place = bell();
    super::notify::tell(&place, "on = [\"in_doubt\"]\nremind = \"1h\"");
    let run = doubted(&place);
    place.run(&["work", "--until-idle"]).exits(0);
    let told = super::notify::told(&place);
    assert_eq!(told.len(), 1, "{told:?}");
    let data = &told[0]["data"];
    assert_eq!(
        (&data["step"], &data["status"]),
        (&"ring".into(), &"in_doubt".into())
    );
    assert_eq!(data["command"], format!("provost show {run}"));
    super::notify::time_passes(&place);
    place.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(super::notify::told(&place).len(), 2);
    let said = ["settle", &run, "ring", "--abandon", "--reason", "who knows"];
    place.run(&said).exits(0);
    super::notify::time_passes(&place);
    place.run(&["work", "--until-idle"]).exits(0);
    assert_eq!(
        super::notify::told(&place).len(),
        2,
        "nothing is in doubt any more"
    );
}

#[test]
fn where_signatures_are_required_a_doubt_is_settled_by_a_key_alone() {
    let place = bell();
    super::record::sign(&place);
    let run = doubted(&place);
    let said = [
        "settle",
        &run,
        "ring",
        "--happened",
        "--reason",
        "I heard it",
    ];
    let bare = place.run(&said).exits(2);
    assert!(bare.stderr.contains("sign"), "{bare}");
    assert_eq!(place.status(), "in_doubt");
    let seen = ["--output", "{\"rung\": true}"];
    let signed = super::record::with(&super::record::with(&said, &seen), &super::record::BO);
    let ran = place.run(&signed).exits(0);
    assert!(ran.stderr.contains("by bo, signed"), "{ran}");
    assert_eq!(place.status(), "succeeded");
}
