#!/usr/bin/env python3
"""A planner as a process: plans for examples/incident, in Python, standard library only.

One JSON object a line on stdin, one on stdout (`provost/planner/v1`). What it proposes is checked
like anybody's plan; what is wrong with it comes back as `diagnostics` with the next request.
"""

import json
import re
import sys

SCHEMA = "provost/planner/v1"
NEEDED = ["metrics.service", "metrics.rise", "metrics.deployment_before", "logs.search"]
# Steps that the plan can do without.
SPARE = {"deployment"}


def steps_for(service):
    """Find the service, the minute of the rise, the deployment before it, the new failures."""
    rose = 'steps.rise.status == "succeeded" && steps.rise.output.row != null'
    return [
        {
            "id": "service",
            "description": "Find the service that goes by this name",
            "tool": "metrics.service",
            "args": {"name": service},
        },
        {
            "id": "rise",
            "description": "Find the minute from which latency is up",
            "tool": "metrics.rise",
            "when": "${ steps.service.output.row != null }",
            "args": {"service": "${ steps.service.output.row.id }", "ratio": 1.5},
        },
        {
            "id": "deployment",
            "description": "Find the last deployment in the two hours before",
            "tool": "metrics.deployment_before",
            "when": "${ %s }" % rose,
            "args": {
                "service": "${ steps.rise.output.row.service }",
                "at": "${ steps.rise.output.row.rose_at }",
                "within_minutes": 120,
            },
        },
        search("errors", "Find failures the service did not log before", "status", ">=", 500),
    ]


def search(step, description, field, op, value):
    """What the service began to log when latency rose."""
    return {
        "id": step,
        "description": description,
        "tool": "logs.search",
        "when": '${ steps.rise.status == "succeeded" && steps.rise.output.row != null }',
        "args": {
            "glob": "*.jsonl",
            "where": [
                {"field": "service", "op": "==", "value": "${ steps.rise.output.row.service }"},
                {"field": field, "op": op, "value": value},
            ],
            "new_since": "${ steps.rise.output.row.rose_at }",
            "group_by": "msg",
            "limit": 3,
        },
    }


def claims_of(step, nothing):
    """What is said of a search."""
    group = "steps.%s.output.groups" % step
    done = 'steps.%s.status == "succeeded"' % step
    return [
        {
            "when": "${ %s && size(%s) > 0 }" % (done, group),
            "text": 'New since then: "${ %s[0].value }", ${ %s[0].count } times.' % (group, group),
        },
        {"when": "${ %s && size(%s) == 0 }" % (done, group), "text": nothing, "cites": [step]},
    ]


def plan(service, goal, waits, left_out):
    """The whole plan; with `waits`, the revision after nothing was found that failed."""
    steps = steps_for(service)
    answer = [
        {
            "when": "${ steps.service.output.row == null }",
            "text": "No service goes by that name.",
            "cites": ["service"],
        },
        {
            "when": '${ steps.rise.status == "succeeded" && steps.rise.output.row == null }',
            "text": "Nothing unusual: latency did not rise.",
            "cites": ["rise"],
        },
        {
            "when": '${ steps.rise.status == "succeeded" && steps.rise.output.row != null }',
            "text": "The p95 latency of ${ steps.rise.output.row.service } rose at "
            "${ steps.rise.output.row.rose_at } from ${ steps.rise.output.row.from_ms } ms to "
            "${ steps.rise.output.row.to_ms } ms.",
        },
        {
            "when": '${ steps.deployment.status == "succeeded"'
            " && steps.deployment.output.row != null }",
            "text": "The nearest deployment before it: version "
            "${ steps.deployment.output.row.version } at "
            "${ steps.deployment.output.row.deployed_at }.",
        },
    ]
    answer += claims_of("errors", "A failure that is new since then: none found.")
    proven = ["rise", "deployment", "errors"]
    if waits:
        steps.append(search("waits", "Find warnings it did not log before", "level", "==", "warn"))
        answer += claims_of("waits", "A warning that is new since then: none found.")
        proven.append("waits")
    steps = [step for step in steps if step["id"] not in left_out]
    reads = ["steps.%s." % step for step in left_out]
    answer = [claim for claim in answer if not any(read in claim["when"] for read in reads)]
    proven = [step for step in proven if step not in left_out]
    check = " && ".join('steps.%s.status in ["succeeded", "skipped"]' % step for step in proven)
    return {
        "steps": steps,
        "success": [
            {"for": criterion["id"], "check": "${ %s }" % check} for criterion in goal["success"]
        ],
        "answer": answer,
    }


def repaired(request):
    """The steps to leave out so that the refused plan is admissible, or why there are none."""
    errors = [one for one in request.get("diagnostics", []) if one["severity"] == "error"]
    if not errors:
        return set(), None
    # `plan` is an object, and `proposal` a text: it is what was sent, readable or not.
    there = {step["id"] for step in json.loads(request["proposal"])["steps"]}
    for error in errors:
        if error.get("step") not in SPARE & there:
            return set(), "no other plan than the refused one: " + error["message"]
    return {error["step"] for error in errors}, None


def reply(request):
    """A plan, a question, or why not."""
    goal = request["goal"]
    known = {tool["name"] for tool in request["tools"]}
    missing = [name for name in NEEDED if name not in known]
    if missing:
        return {"decline": "these tools are not here: " + ", ".join(missing)}
    match = re.search(r"[Ii]nvestigate the (.+?) latency", goal["text"])
    answers = request.get("answers", [])
    in_force = request.get("plan")
    if in_force:
        service = in_force["steps"][0]["args"]["name"]
    elif match:
        service = match.group(1)
    elif answers and isinstance(answers[-1].get("value"), str):
        service = answers[-1]["value"]
    else:
        return {"questions": [{"id": "service", "text": "The latency of which service?"}]}
    left_out, reason = repaired(request)
    if reason:
        return {"decline": reason}
    if request["kind"] == "propose":
        return {"plan": plan(service, goal, False, left_out), "consult": ["errors"]}
    left_out |= SPARE - {step["id"] for step in in_force["steps"]}
    seen = request.get("observations", {}).get("errors", {}).get("output", {})
    if seen.get("groups") == [] and "waits" not in request.get("observations", {}):
        return {"plan": plan(service, goal, True, left_out), "because": "nothing that is new failed"}
    return {"decline": "what was seen changes nothing"}


def main():
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("kind") == "hello":
            answer = {"kind": "hello", "schema": SCHEMA}
        else:
            answer = {"id": message["id"], **reply(message)}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
