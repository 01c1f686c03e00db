#!/usr/bin/env python3
"""A planner as a process that writes the same plan every time, for the goals of operations.yaml.

With --careless it leaves out what the goals do not spell out: whether the ticket is open, and
whether the payment still holds as much. With --swapped it writes its steps in another order, which
changes nothing.
"""

import json
import re
import sys

SCHEMA = "provost/planner/v1"
CARELESS = "--careless" in sys.argv
SWAPPED = "--swapped" in sys.argv


def refund(goal, amount, payment, ticket):
    held = "%d <= steps.payment.output.amount - steps.payment.output.refunded" % amount
    due = 'steps.ticket.output.status == "open" && ' + held
    steps = [
        {"id": "ticket", "tool": "shop.get_ticket", "args": {"id": ticket}},
        {"id": "payment", "tool": "shop.get_payment", "args": {"id": payment}},
    ]
    if SWAPPED:
        steps.reverse()
    step = {
        "id": "refund",
        "tool": "shop.create_refund",
        "args": {"payment": payment, "amount": amount, "reason": "ticket " + ticket},
        "accept": ["${ output.amount == %d }" % amount],
    }
    made = 'steps.refund.status == "succeeded"'
    looked = 'steps.ticket.status == "succeeded" && steps.payment.status == "succeeded"'
    if CARELESS:
        step["needs"] = ["ticket", "payment"]
        proof = looked + " && " + made
    else:
        step["when"] = "${ %s }" % due
        proof = looked + " && (%s) == (%s)" % (due, made)
    answer = [
        {"when": "${ %s }" % made, "text": "Refunded ${ steps.refund.output.amount } cents."},
        {
            "when": '${ steps.refund.status == "skipped" }',
            "text": "Nothing was refunded.",
            "cites": ["ticket", "payment"],
        },
    ]
    return document(goal, steps + [step], proof, answer[:1] if CARELESS else answer)


def page(goal, project):
    exceeded = "steps.count.output.row.total > steps.sla.output.row.max"
    made = 'steps.page.status == "succeeded"'
    steps = [
        {"id": "count", "tool": "tickets.count", "args": {"project": project}},
        {"id": "sla", "tool": "config.sla_threshold", "args": {"project": project}},
    ]
    if SWAPPED:
        steps.reverse()
    total, most = "${ steps.count.output.row.total }", "${ steps.sla.output.row.max }"
    message = "%s open %s tickets exceed the SLA of %s" % (total, project, most)
    step = {
        "id": "page",
        "tool": "pager.notify",
        "when": "${ %s }" % exceeded,
        "args": {"message": message},
        "accept": ["${ output.delivered }"],
    }
    proof = 'steps.count.status == "succeeded" && (%s) == (%s)' % (exceeded, made)
    answer = [
        {"text": "%s open %s tickets, threshold %s." % (total, project, most)},
        {"when": "${ %s }" % made, "text": "On-call was paged.", "cites": ["page"]},
    ]
    return document(goal, steps + [step], proof, answer)


def investigate(goal, service):
    rose = 'steps.rise.status == "succeeded" && steps.rise.output.row != null'
    steps = [
        {"id": "service", "tool": "metrics.service", "args": {"name": service}},
        {
            "id": "rise",
            "tool": "metrics.rise",
            "when": "${ steps.service.output.row != null }",
            "args": {"service": "${ steps.service.output.row.id }", "ratio": 1.5},
        },
        {
            "id": "deployment",
            "tool": "metrics.deployment_before",
            "when": "${ %s }" % rose,
            "args": {
                "service": "${ steps.rise.output.row.service }",
                "at": "${ steps.rise.output.row.rose_at }",
                "within_minutes": 120,
            },
        },
    ]
    # Where nothing rose there is no deployment to look for.
    proof = " && ".join('steps.%s.status in ["succeeded", "skipped"]' % s["id"] for s in steps)
    found = 'steps.deployment.status == "succeeded" && steps.deployment.output.row != null'
    answer = [
        {
            "when": "${ %s }" % found,
            "text": "The nearest deployment before it: version "
            "${ steps.deployment.output.row.version }.",
        }
    ]
    return document(goal, steps, proof, answer)


def document(goal, steps, proof, answer):
    success = [{"for": one["id"], "check": "${ %s }" % proof} for one in goal["success"]]
    return {"steps": steps, "success": success, "answer": answer}


FORMS = [
    (r"Refund (\d+) cents of (pay-\d+) for ([A-Z]+-\d+)", lambda g, a, p, t: refund(g, int(a), p, t)),
    (r"Page the on-call engineer if open ([A-Z]+) tickets exceed the SLA threshold", page),
    (r"Investigate the (.+) latency spike", investigate),
]


def reply(request):
    goal = request["goal"]
    if request["kind"] != "propose":
        return {"decline": "there is no other plan"}
    if request.get("diagnostics"):
        first = request["diagnostics"][0]
        return {"decline": "no other plan than the refused one: " + first["message"]}
    for form, plan in FORMS:
        match = re.fullmatch(form, goal["text"])
        if match:
            return {"plan": plan(goal, *match.groups())}
    return {"decline": "this goal is none of those in the script"}


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
