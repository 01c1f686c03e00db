"""A program that drives runs with the client that was generated from `/openapi.json`.

It names no route and no field by itself: what the document does not describe, it cannot do.
"""

import sys
import time

from generated import AuthenticatedClient, Client
from generated.api.default import (
    alive, begin, card, check, diff, evidence, inbox, inbox_count, me, plan, playbooks, ready, run,
    run_events, runs, say, sessions, step, step_item, stops, tokens, tools,
    trace, why, workspace,
)
from generated.models.check_body import CheckBody
from generated.models.new_run import NewRun
from generated.models.problem import Problem
from generated.models.run import Run
from generated.models.statement import Statement
from generated.models.statement_kind import StatementKind
from generated.models.wait_kind import WaitKind

url, ada_token, bo_token = sys.argv[1:]


def client(token):
    return AuthenticatedClient(base_url=url, token=token, raise_on_unexpected_status=True)


ada, bo = client(ada_token), client(bo_token)


def statement(kind, **parts):
    return Statement(kind=kind, **parts)


def until(id_, status):
    end = time.monotonic() + 60
    while True:
        now = run.sync(id_, client=ada)
        assert isinstance(now, Run), now
        if now.status == status:
            return now
        assert time.monotonic() < end, now
        time.sleep(0.02)


def values(result, kind):
    assert result is not None and not isinstance(result, Problem), result
    assert type(result).__name__ == kind, result
    return result


assert values(me.sync(client=bo), "Me").person == "bo"
goal = "File the orders of ada under note-python"
begun = values(begin.sync(client=ada, body=NewRun(goal=goal)), "Begun")
id_ = begun.run
waiting = until(id_, "waiting_approval")
[wait] = waiting.waits
assert wait.kind == WaitKind.APPROVAL and not wait.may and wait.why_not, wait
[same] = values(inbox.sync(client=bo), "Inbox").waits
assert same.run == id_ and same.may and same.digest == wait.digest, same
assert values(inbox_count.sync(client=bo), "InboxCount").all_ == 1
asked = values(card.sync(id_, wait.digest, client=bo), "Card")

# Who asked may not approve, and is told why in a problem that the client reads.
yes = statement(StatementKind.APPROVE, card=wait.digest)
refused = say.sync(id_, client=ada, body=yes)
assert isinstance(refused, Problem) and refused.status == 403, refused
assert refused.type_ == "urn:provost:problem:not-allowed", refused
said = values(say.sync(id_, client=bo, body=yes), "Said")
assert said.taken and said.seq > waiting.seq, said
done = until(id_, "succeeded")
assert done.contradiction is None and done.waits == [], done

# Every resource of a run, and of the workspace, is read by the client as the document has it.
for read, kind in [
    (lambda: plan.sync(id_, client=ada), "Plan"),
    (lambda: plan.sync(id_, client=ada, revision=1), "Plan"),
    (lambda: diff.sync(id_, client=ada, from_=1, to=1), "Diff"),
    (lambda: step.sync(id_, "note", client=ada), "Step"),
    (lambda: step_item.sync(id_, "note", 0, client=ada), "Step"),
    (lambda: trace.sync(id_, client=ada), "Trace"),
    (lambda: why.sync(id_, client=ada), "Why"),
    (lambda: run_events.sync(id_, client=ada, limit=200), "Events"),
    (lambda: runs.sync(client=ada, status="succeeded", playbook="filed"), "Runs"),
    (lambda: check.sync(client=ada, body=CheckBody(plan="{}")), "Check"),
    (lambda: playbooks.sync(client=ada), "Playbooks"),
    (lambda: tools.sync(client=ada), "Tools"),
    (lambda: stops.sync(client=ada), "Stops"),
    (lambda: sessions.sync(client=ada), "Sessions"),
    (lambda: tokens.sync(client=ada), "Tokens"),
    (lambda: workspace.sync(client=ada), "Workspace"),
    (lambda: alive.sync(client=Client(base_url=url)), "Health"),
    (lambda: ready.sync(client=Client(base_url=url)), "Health"),
]:
    values(read(), kind)
noted = step.sync(id_, "note", client=ada)
[attempt] = noted.attempts
assert attempt.operation == "notes.write" and attempt.landing == "happened", attempt
assert [one.approved_by for one in noted.cards] == [["bo"]], noted
[listed] = runs.sync(client=ada, status="succeeded", playbook="filed").runs
assert listed.to_dict()["id"] == id_, listed
events = run_events.sync(id_, client=ada, limit=200).to_dict()["events"]
given = next(one for one in events if one["kind"] == "ApprovalGiven")
assert given["payload"]["said"]["via"]["login"] == "token bo", given
ended = next(one for one in events if one["kind"] == "AttemptEnded")
cited = evidence.sync_detailed(ended["payload"]["evidence"], client=ada, run=id_)
assert cited.status_code == 200 and b"total" in cited.content, cited

# The control: what is wrong is a problem, and never an empty answer.
for wrong in [
    run.sync("nosuchrun", client=ada),
    me.sync(client=client("provost_of-nobody")),
    begin.sync(client=ada, body=NewRun(goal="nobody plans for this")),
]:
    assert isinstance(wrong, Problem) and wrong.title and wrong.detail, wrong
print("ok")
