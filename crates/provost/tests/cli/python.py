"""The module for Python, used as its page says; PROVOST_BIN is the binary under test."""

import sys

from provost import Error, Timeout, Workspace

what = sys.argv[1]
ws = Workspace(".")

if what == "all":
    run = ws.run("Count the orders of ada")
    assert run.status == "succeeded" and not run.waiting, run
    assert "2 orders" in str(run.answer), run.answer
    assert ws.get(run.id).status == "succeeded"

    run = ws.run("Note the orders of ada")
    assert run.status == "waiting_approval", run
    assert [one["step"] for one in run.waiting] == ["note"], run.waiting
    run = run.approve()
    assert run.status == "succeeded", run

    run = ws.run("Note the orders of grace").reject("not now")
    assert run.status == "rejected", run

    run = ws.run("Ask whose orders count").answer_with("grace")
    assert run.status == "succeeded", run
    assert len(ws.runs(status="succeeded")) == 3, ws.runs()
    assert [one["status"] for one in ws.runs(goal="NOTE", status="rejected")] == ["rejected"]

    for goal, part in [("Sing", "no playbook matches"), ("--help", "no playbook matches")]:
        try:
            ws.run(goal)
        except Error as error:
            assert part in error.message and error.exit == 2, error
        else:
            raise AssertionError(goal)
    try:
        Workspace(".", binary="./nowhere").runs()
    except Error as error:
        assert "cannot be started" in error.message, error
    else:
        raise AssertionError("a binary that is not there")
elif what == "slow":
    try:
        Workspace(".", timeout=2).run("Count the orders of ada")
    except Timeout as late:
        assert "within 2 s" in late.message, late
    else:
        raise AssertionError("it was in time")
    # The control: what was left goes on where it was.
    assert ws.runs()[0]["status"] == "running", ws.runs()
print("ok")
