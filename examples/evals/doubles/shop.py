#!/usr/bin/env python3
"""A shop and a pager for evals: tickets, payments, refunds and pages, in memory, one process.

Started for one repeat with the port to listen on. `GET /ledger` tells what was done, which decides
a case: what a run says of itself does not. Options change the world before it begins.
"""

import argparse
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

lock = threading.Lock()
tickets = {
    "PAY-1": {"id": "PAY-1", "project": "PAY", "title": "Refund is shown twice", "status": "open"},
    "PAY-2": {"id": "PAY-2", "project": "PAY", "title": "Card is declined", "status": "open"},
    "PAY-3": {"id": "PAY-3", "project": "PAY", "title": "Invoice lacks the VAT", "status": "closed"},
}
payments = {
    "pay-1": {"id": "pay-1", "customer": "ana@example.com", "amount": 12900},
    "pay-2": {"id": "pay-2", "customer": "ben@example.com", "amount": 4500},
    "pay-3": {"id": "pay-3", "customer": "chi@example.com", "amount": 250000},
}
refunds, pages, keys = [], [], {}
forgetful = False


def refund(body, key):
    payment = payments.get(body.get("payment"))
    amount = body.get("amount")
    if payment is None:
        return 404, {"error": "no such payment"}
    if not isinstance(amount, int) or amount <= 0:
        return 422, {"error": "a positive `amount` is missing"}
    if amount > payment["amount"] - payment["refunded"]:
        return 409, {"error": "the refund exceeds what is left of the payment"}
    payment["refunded"] += amount
    made = {"id": "refund-%d" % (len(refunds) + 1), "payment": payment["id"], "amount": amount}
    made.update({"at": "2026-01-01T00:00:00Z", "status": "done", "account": body.get("account"), "reason": body.get("reason")})
    refunds.append(dict(made, key=key))
    return 201, made


def page(body, key):
    if not body.get("message"):
        return 422, {"error": "`message` is missing"}
    made = {"id": "page-%d" % (len(pages) + 1), "delivered": True, "at": "2026-01-01T00:00:00Z"}
    pages.append({"id": made["id"], "message": body["message"], "key": key})
    return 201, made


def by_key(things, key):
    found = [thing["id"] for thing in things if thing["key"] == key]
    return 200, {"found": True, "id": found[0]} if found else {"found": False}


def answer(method, parts, body, key):
    if method == "GET" and parts == ["ledger"]:
        return 200, {"refunds": refunds, "pages": pages}
    if method == "GET" and len(parts) == 2 and parts[0] == "tickets" and parts[1] in tickets:
        return 200, dict(tickets[parts[1]])
    if method == "GET" and len(parts) == 2 and parts[0] == "payments" and parts[1] in payments:
        return 200, payments[parts[1]]
    if method == "GET" and len(parts) == 3 and parts[1] == "by-key":
        return by_key(refunds if parts[0] == "refunds" else pages, parts[2])
    if method == "POST" and parts in (["refunds"], ["pages"]):
        # The same key is the same request: it is answered again, and not done again.
        if key in keys and not forgetful:
            return keys[key]
        done = (refund if parts == ["refunds"] else page)(body, key)
        if key is not None:
            keys[key] = done
        return done
    return 404, {"error": "there is nothing"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        parts = [part for part in self.path.split("?")[0].split("/") if part]
        with lock:
            status, made = answer(self.command, parts, body, self.headers.get("Idempotency-Key"))
            text = json.dumps(made).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = reply

    def log_message(self, *_):
        pass


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--closed", action="append", default=[], help="a ticket that is closed")
    options.add_argument("--refunded", action="append", default=[], help="PAYMENT=CENTS already")
    options.add_argument("--forgetful", action="store_true", help="does not know a key again")
    given = options.parse_args()
    global forgetful
    forgetful = given.forgetful
    for ticket in tickets.values():
        ticket.setdefault("comments", [])
        if ticket["id"] in given.closed:
            ticket["status"] = "closed"
    for payment in payments.values():
        payment.update({"currency": "EUR", "refunded": 0})
    for one in given.refunded:
        name, cents = one.split("=")
        payments[name]["refunded"] = int(cents)
    server = ThreadingHTTPServer(("127.0.0.1", given.port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Whoever started it holds the other end: once nobody does, it is done.
    sys.stdin.read()


if __name__ == "__main__":
    main()
