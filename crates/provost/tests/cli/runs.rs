use insta::assert_snapshot;

use super::workplace::Workplace;

#[test]
fn nothing_has_run_and_nothing_is_made() {
    let place = Workplace::new();
    assert_snapshot!(place.run(&["runs"]), @r"
    exit 0
    --- stderr
    nothing has run in this workspace yet
    ");
    assert_snapshot!(place.run(&["runs", "--json"]), @r#"
    exit 0
    --- stdout
    {
      "schema": "provost/runs/v1",
      "runs": []
    }
    "#);
    assert!(!place.path(".provost").exists());
}

#[test]
fn runs_are_listed_with_what_they_wait_for() {
    let place = Workplace::new();
    place.run(&["run", "Count the orders of ada"]).exits(0);
    place.waiting();
    assert_snapshot!(place.run(&["runs"]), @r"
    exit 0
    --- stdout
    RUN  MOMENT  waits for approval  Note the orders of ada   step note
    RUN  MOMENT  succeeded           Count the orders of ada
    ");
    assert_snapshot!(place.run(&["runs", "--json"]), @r#"
    exit 0
    --- stdout
    {
      "schema": "provost/runs/v1",
      "runs": [
        {
          "id": "RUN",
          "goal": "Note the orders of ada",
          "status": "waiting_approval",
          "created_at": "MOMENT",
          "updated_at": "MOMENT",
          "undriven": false,
          "ended_at": null,
          "requester": "ada",
          "planner": "playbook note",
          "tools": [
            "notes.write",
            "shop.orders"
          ],
          "message": null,
          "waiting_for": {
            "kind": "approval",
            "step": "note",
            "digest": "sha256:DIGEST",
            "command": "provost approve RUN@CARD"
          },
          "waits": [
            {
              "kind": "approval",
              "digest": "sha256:DIGEST",
              "step": "note",
              "item": null,
              "operation": "notes.write",
              "effect": "write",
              "risk": "high",
              "requester": "ada",
              "planned_by": null,
              "asked": "MOMENT",
              "expires": null,
              "quorum": 1,
              "approved_by": [],
              "made_before": 0,
              "command": "provost approve RUN@CARD"
            }
          ]
        },
        {
          "id": "RUN",
          "goal": "Count the orders of ada",
          "status": "succeeded",
          "created_at": "MOMENT",
          "updated_at": "MOMENT",
          "undriven": false,
          "ended_at": "MOMENT",
          "requester": "ada",
          "planner": "playbook count",
          "tools": [
            "shop.orders"
          ],
          "message": null,
          "waiting_for": null,
          "waits": []
        }
      ]
    }
    "#);
}
