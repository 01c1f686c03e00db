#!/usr/bin/env python3
"""A second verifier of provost journals: plain Python 3, and nothing of provost in it.

    python3 verify.py journal.db [heads.jsonl ed25519:PUBLIC…] [--people policies/entities.json]
        [--voucher ed25519:SERVER…]

Rebuilds both chains, all payload digests and all evidence, and holds the journal against signed
heads; with the people of a workspace that requires signatures, what they said against their keys;
with the servers of one that requires a login, against their vouchers for it.
Who may answer, settle, amend, stop and resume is for the policies to say that the journal keeps;
this looks that they are there and does not read them: `provost audit verify` does.
Exit 0 if it holds, 1 with the first place that does not fit, 2 if nobody could look. The form is
described in docs/reference/journal.md."""
import base64, datetime, hashlib, json, pathlib, sqlite3, sys

GENESIS = bytes(32)
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D, I = -121665 * pow(121666, -1, P) % P, pow(2, (P - 1) // 4, P)


# What an event keeps of the statement it follows from.
STATED = ("card", "steps", "question", "value", "slot", "settled", "attempt", "output", "goal",
          "plan", "reason", "undo")


class Fault(Exception):
    pass


class Unsigned(Fault):
    """What lacks a credential: 2 for a signature, 1 for a voucher."""
    def __init__(self, fault, level):
        super().__init__(fault)
        self.level = level


def need(holds, fault):
    if not holds:
        raise Fault(fault)


def digest(tag, data):
    return hashlib.sha256(f"provost/{tag}/v1".encode() + b"\0" + data).digest()


def named(link):
    return "sha256:" + link.hex()


def canonical(value):
    """RFC 8785, for what is linked and signed: texts, whole numbers, lists, maps of plain names."""
    form = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return form.encode()


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    g, h = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, h - g, h + g, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(n, point):
    sum = (0, 1, 1, 0)
    while n:
        sum, point, n = add(sum, point) if n & 1 else sum, add(point, point), n >> 1
    return sum


def point(data):
    y, sign = int.from_bytes(data, "little") & (2**255 - 1), data[31] >> 7
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    x = x if x * x % P == square else x * I % P
    if len(data) != 32 or y >= P or x * x % P != square or (x == 0 and sign):
        return None
    return (x, y, 1, x * y % P) if x & 1 == sign else (P - x, y, 1, (P - x) * y % P)


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def signed(key, message, signature):
    """Ed25519 (RFC 8032)."""
    if len(signature) != 64 or int.from_bytes(signature[32:], "little") >= L:
        return False
    r, a, s = point(signature[:32]), point(key), int.from_bytes(signature[32:], "little")
    if not r or not a:
        return False
    k = hashlib.sha512(signature[:32] + key + message).digest()
    left, right = times(s, BASE), add(r, times(int.from_bytes(k, "little") % L, a))
    return all((left[i] * right[2] - right[i] * left[2]) % P == 0 for i in (0, 1))


def guard(state, kind, payload):
    """Takes an event into the effects of its run that are open: begun, and nobody knows the end."""
    if kind not in ("AttemptStarted", "AttemptEnded", "StepSettled", "DoubtSettled"):
        return
    (opened, flights, landed), event = state, json.loads(payload)
    slot, item = event["slot"]["step"], event["slot"].get("item")
    slot = slot if item is None else f"{slot}[{item}]"
    if kind == "AttemptStarted":
        beside = any(event.get(word) for word in ("confirms", "retakes_for", "previews"))
        flights[slot] = "asks" if event.get("reconciles") else "beside" if beside else "own"
        if flights[slot] == "own" and not event["read"]:
            landed.setdefault(slot, ("unknown", False))
        if event.get("sinks"):
            standing = "keyed" if event["read"] or event.get("key") else "plain"
            opened[slot] = (event["operation"], event["sinks"], standing)
    elif kind == "AttemptEnded" and slot in flights:
        flight, landing = flights.pop(slot), event["landing"]
        if flight == "own" and slot in landed:
            doubt = landed[slot][1] or landing == "unknown"
            landed[slot] = ("unknown" if landing == "none" and doubt else landing, doubt)
        if flight != "asks" and landed.get(slot, ("",))[0] != "unknown":
            opened.pop(slot, None)
    elif kind == "StepSettled" and event["status"] == "in_doubt" and slot in opened:
        if landed.get(slot, ("",))[0] == "unknown":
            opened[slot] = (*opened[slot][:2], "doubtful")
    elif kind == "DoubtSettled":
        opened.pop(slot, None)
        if slot in landed:
            known = {"did_not_happen": "none", "abandoned": "unknown"}
            landed[slot] = (known.get(event["settled"], "happened"), False)


def spend(budgets, asked, run, at, kind, payload):
    """Takes an event into what all runs reserved and spent, by day, month and in all."""
    def amount(text):
        whole, _, part = (text or "0").partition(".")
        return int(whole) * 10**6 + int(part.ljust(6, "0"))
    if kind not in ("AttemptStarted", "PlanRequested", "BudgetSpent"):
        return
    back, taken, event = (0, 0), None, json.loads(payload)
    if kind == "AttemptStarted":
        taken = amount(event.get("money")), event.get("tokens") or 0
    elif kind == "PlanRequested":
        aside = event.get("reserved") or {}
        taken = amount(aside.get("money")), aside.get("tokens", 0)
        asked[run] = (at, taken)
    elif not event["usage"].get("unknown") and run in asked:
        usage, (at, back) = event["usage"], asked[run]
        asked[run] = (at, (0, 0))
        back = (back[0] if usage.get("cost") else 0, back[1])
        taken = (amount(usage.get("cost")),
                 usage.get("tokens_in", 0) + usage.get("tokens_out", 0))
    if taken:
        day = datetime.datetime.fromtimestamp(at // 1000, datetime.timezone.utc).date().isoformat()
        for period in (day, day[:7], ""):
            sums = budgets.get(period, (0, 0))
            budgets[period] = tuple(max(a - b, 0) + c for a, b, c in zip(sums, back, taken))


def call_of(kind, payload):
    """The number of the call that an event begins; none of a read."""
    event = json.loads(payload) if kind == "AttemptStarted" else {"read": True}
    return None if event["read"] else number_of(event["operation"], event["args_digest"])


def evidence_of(kind, payload):
    """The digests of the evidence that an event names."""
    names = kind in ("AttemptEnded", "ObservationMade", "PlanRequested", "RunCreated")
    if not names and '"said":' not in payload:
        return ()
    said = json.loads(payload)
    judged = (said.get("said") or {}).get("rights") if kind != "RunCreated" else None
    return filter(None, (said.get("evidence"), said.get("request"), said.get("rights"), judged))


def take_down(log, kind, event):
    """Takes an event of the workspace's log into what it says is stopped and was pruned."""
    stops, pruned, _ = log
    if kind == "StopPlaced":
        row = (event["by"], event["reason"], event["at_ms"])
        stops[event["scope"], event["name"]] = row
    elif kind == "StopLifted":
        stops.pop((event["scope"], event["name"]), None)
    elif kind == "EvidencePruned":
        for piece in event["pieces"]:
            row = (piece["media"], piece["size"], event["at_ms"])
            pruned[bytes.fromhex(piece["digest"][7:])] = row
    elif kind != "PayloadsPruned":
        need(kind == "TablesRestored", f"the log of the workspace has an event {kind}")


def follow(db, log, head):
    """Whether `stops` and `pruned` tell what the log of the workspace tells, and where it ends."""
    end = db.execute("SELECT value FROM meta WHERE key = 'log'").fetchone()
    told = f"{head[0]} {named(head[1])}" if head[0] else None
    need((end and end[0]) == told, "the log of the workspace does not end where `meta` says")
    for table, want, rows in (
            ("stops", log[0], "SELECT scope, name, by, reason, at_ms FROM stops"),
            ("pruned", log[1], "SELECT digest, media, size, at_ms FROM pruned")):
        keys = 2 if table == "stops" else 1
        there = {row[:keys] if keys > 1 else row[0]: row[keys:] for row in db.execute(rows)}
        for key, _ in set(want.items()) ^ set(there.items()):
            name = named(key) if keys == 1 else " ".join(key)
            raise Fault(f"{table} does not tell what the events tell: {name}")


def without_texts(db):
    """The runs whose payloads the log says were pruned: what it keeps of each, and the commit."""
    gone = {}
    for payload, commit in db.execute("SELECT payload, commit_n FROM events WHERE run = 0"
                                      " AND kind = 'PayloadsPruned' ORDER BY seq"):
        need(payload is not None, "a payload of the log of the workspace is gone")
        gone.update({run["run"]: (run, commit) for run in json.loads(payload)["runs"]})
    return gone


def number_of(operation, args):
    """The number of a call: the first 8 bytes of the arguments' digest, with the operation mixed in
    byte by byte (FNV-1a)."""
    number = int(args[7:23], 16)
    for byte in operation.encode():
        number = (number ^ byte) * 0x100000001b3 % 2**64
    return number - 2**64 if number >= 2**63 else number


def closed(gone, heads, over, statuses, budgets, numbered):
    """Whether each run whose texts were pruned is over, ends where the log says, and is found by
    the calls that are kept of it; adds what it spent."""
    for run, (kept, _) in gone.items():
        need(heads.get(run) == (kept["seq"], bytes.fromhex(kept["link"][7:])),
             f"run {run} was pruned at another event")
        need(run in over, f"run {run} was pruned, and is not over")
        need(statuses.get(run) == kept["status"], f"run {run} is listed with another status")
        calls = {number_of(call["operation"], call["args"]) for call in kept.get("calls", ())}
        need(numbered.get(run, set()) == calls,
             f"events.call does not tell what the events tell: a call of run {run}")
        for day, (money, tokens) in kept.get("spent", {}).items():
            for period in (day, day[:7], ""):
                sums = budgets.get(period, (0, 0))
                budgets[period] = (sums[0] + money, sums[1] + tokens)


def statement(kind, event):
    """The statement that an event records, and who made it; none where none has to be signed."""
    said = {k: v for k, v in event.items() if k in STATED}
    by, verbs = event.get("by"), {"ApprovalGiven": "approve", "ApprovalRejected": "reject",
                                  "QuestionAnswered": "answer", "DoubtSettled": "settle",
                                  "CancelRequested": "cancel", "UndoRequested": "undo"}
    if kind == "DoubtSettled" and by["kind"] == "person":
        by = by["id"]
    elif kind in ("GoalAmended", "PlanAmended"):
        if kind == "GoalAmended":
            said["goal"] = event["goal"]["text"]
        else:
            said["plan"] = {"name": event["name"], "text": event["text"]}
    elif kind not in verbs or kind == "DoubtSettled" or not event.get("undo", kind[0] != "C"):
        return None, None
    return by, {**said, "kind": verbs.get(kind, "amend")}


def credential(envelope, record, level, person, vouchers):
    """Whether a statement has the credential of a level: signed by its speaker, or where a login is
    enough vouched for by a server, over the statement and how it came."""
    by, signature = envelope["by"], record.get("signature")
    word = record.get("vouched") if signature is None and level == 1 else None
    if signature is None and word is None:
        lacks = "is not signed" if level == 2 else "has no voucher and is not signed"
        raise Unsigned(f"the statement of {by} {lacks}", level)
    if signature is None:
        key, signature = word["key"], word["signature"]
        need(key in vouchers, f"the voucher of {by} is of another server")
        need("via" in record, f"the voucher of {by} names no login")
        form, tag = canonical({**envelope, "via": record["via"]}), b"provost/vouch/v1\0"
    else:
        key, form, tag = record["key"], canonical(envelope), b"provost/statement/v1\0"
        need(key in [person.get("key"), *person.get("former_keys", ())], f"{by} has another key")
    raw = base64.b64decode(key.removeprefix("ed25519:"))
    need(signed(raw, tag + form, base64.b64decode(signature)),
         f"the signature of {by} does not match its content")


def stands(store, run, seen, last, kind, event, people, vouchers):
    """Whether the statement behind an event counts: with the credential that the run and the
    workspace require, of whom it names, who may, and once."""
    by, said = statement(kind, event)
    if not said:
        return
    record, person, least = event.get("said") or {}, people.get(by) or {}, 1 if vouchers else 2
    levels = [level for level in (seen["level"], max(seen["level"], least)) if level]
    if "nonce" not in record:
        raise Unsigned(f"the statement of {by} has no credential", min(levels))
    envelope = {**said, "by": by, "schema": "provost/statement/v1", "store": store, "run": run,
                "revision": record["revision"], "nonce": record["nonce"],
                "said_at": record["at"], "expires_at": record["expires_at"]}
    for level in levels:
        credential(envelope, record, level, person, vouchers)
    need(record["nonce"] not in seen["nonces"] or kind == "PlanAmended" and last == "GoalAmended",
         "it was recorded before")
    need(seen["at"] < record["expires_at"] + 300_000, "it had lapsed")
    need(kind != "UndoRequested" or seen["ended"], "the run had not ended")
    asked = seen["asked"].get(said.get("card") or said.get("question"))
    if kind in ("ApprovalGiven", "ApprovalRejected", "QuestionAnswered"):
        need(asked and asked["open"], "nothing waited for it")
        need(asked["fits"], "what is recorded is not what was asked")
        until = asked["what"].get("expires_at") or asked["what"].get("expires", {}).get("at")
        need(until is None or seen["at"] < until, "what it answers had expired")
        authors = {asked["what"].get("requester"), *asked["what"].get("amended_by", ())}
        need(seen["solo"] or by not in authors, f"{by} asked for it")
        need(by not in asked["by"], f"{by} said yes already")
        needed = set(asked["what"].get("terms", {}).get("approvers", ()))
        roles = person.get("groups", []) + person.get("roles", [])
        need(needed <= set(roles), f"{by} lacks a role")
        asked["by"].add(by)
        need(kind != "ApprovalGiven" or event["complete"] ==
             (len(asked["by"]) >= asked["what"]["terms"]["quorum"]), "the quorum is another")
        lasts = asked["what"].get("terms", {}).get("valid_ms", 86_400_000)
        need(event.get("valid_until", 0) <= seen["at"] + lasts, "it gives itself another life")
        asked["open"] = kind == "ApprovalGiven" and not event["complete"]


def take_in(seen, kind, event):
    """Keeps what later statements to the run are held to."""
    for asks, what, tag in (("ApprovalRequested", "card", "card"),
                            ("QuestionAsked", "question", "question")):
        if kind == asks:
            fits = named(digest(tag, canonical(event[what]))) == event["digest"]
            seen["asked"][event["digest"]] = {"what": event[what], "fits": fits, "open": True,
                                              "by": set()}
    if kind in ("ApprovalExpired", "QuestionExpired"):
        lapsed = seen["asked"].get(event.get("card") or event.get("question"), {})
        lapsed["open"] = False
    seen["nonces"].add((event.get("said") or {}).get("nonce"))
    seen["over"] = kind == "RunEnded"
    seen["ended"] = kind == "RunEnded" or seen["ended"] and kind != "UndoRequested"


def people_said(db, store, people, vouchers):
    """Judges every statement that needs a credential; those of runs that ended before need none."""
    runs, bare, reached, gone = {}, {}, 0, without_texts(db)
    for run, seq, at, kind, payload in db.execute(
            "SELECT r.id, seq, at_ms, kind, payload FROM events e JOIN runs r ON r.n = e.run"
            " ORDER BY e.n"):
        if run in gone:
            # What it says is gone: it is neither valid nor not. What it required still counts.
            kept = gone[run][0]
            reached = max(reached, 2 if kept.get("signed") else 1 if kept.get("vouched") else 0)
            continue
        event = json.loads(payload)
        if kind == "RunCreated":
            level = 2 if event.get("signed") else 1 if event.get("vouched") else 0
            reached = max(reached, level)
            runs[run] = {"nonces": set(), "asked": {}, "solo": event["solo"], "over": False,
                         "ended": False, "level": level, "reached": reached, "last": kind}
        if run not in runs:
            continue
        seen, runs[run]["at"] = runs[run], at
        try:
            stands(store, run, seen, seen["last"], kind, event, people, vouchers)
        except Fault as why:
            fault = Fault(f"event {seq} of run {run} is not valid: {why}")
            if not isinstance(why, Unsigned) or seen["reached"] >= why.level:
                raise fault from None
            bare.setdefault(run, fault)
        take_in(seen, kind, event)
        seen["last"] = kind
    for run, fault in bare.items():
        if not runs[run]["over"]:
            raise fault
    return f", statements of {len(people)} people (not by policy)" + (f", {len(bare)} runs before" if bare else "")


def began(first):
    """Whom a run acts for, and by which planner it began, as its first event tells."""
    planner, acts_for = first.get("planner", {}), first.get("principal", {}).get("id")
    kind = planner.get("kind")
    return [acts_for, kind, planner.get("name") if kind == "playbook" else None]


def journal(db):
    """Walks the commits and their events; the links of the commits, and what was counted."""
    tables = {name for name, in db.execute("SELECT name FROM sqlite_schema")}
    gone = {d for d, in db.execute("SELECT digest FROM pruned")} if "pruned" in tables else set()
    for key, data in db.execute("SELECT digest, bytes FROM evidence"):
        need(digest("evidence", data) == key, f"evidence {named(key)} has other bytes")
        gone.add(key)
    (store,) = db.execute("SELECT value FROM meta WHERE key = 'store'").fetchone()
    (format,) = db.execute("PRAGMA user_version").fetchone()
    # Run 0 is the log of the workspace, which `runs` does not list.
    events = db.execute("SELECT CASE e.run WHEN 0 THEN 'workspace' ELSE r.id END, seq, at_ms, kind,"
                        " version, payload, e.digest, e.link, commit_n, e.run,"
                        f" {'call' if format >= 10 else 'NULL'}"
                        " FROM events e LEFT JOIN runs r ON r.n = e.run ORDER BY e.n")
    budgets, asked, dropped, over, numbered = {}, {}, without_texts(db), set(), {}
    heads, links, total, event, guards, log = {}, [GENESIS], 0, events.fetchone(), {}, ({}, {}, {})
    ends, begun = {}, {}
    for n, count, link in db.execute("SELECT n, events, link FROM commits ORDER BY n").fetchall():
        need(n == len(links), f"commit {len(links)} is not there")
        entries = []
        while event and event[8] <= n:
            run, seq, at, kind, version, payload, body, stored, commit, number, call = event
            last, before = heads.get(run, (0, GENESIS))
            where = f"event {last + 1} of run {run}"
            need(commit == n and seq == last + 1, f"{where} is not there")
            if run in dropped:
                need(payload is None, f"the payload of {where} was pruned, and is there")
                need(call is None or kind == "AttemptStarted",
                     f"events.call does not tell what the events tell: {where}")
                numbered.setdefault(run, set()).update({call} - {None})
                over = over - {run} if kind == "UndoRequested" else over
                over = over | {run} if kind == "RunEnded" else over
            else:
                need(payload is not None, f"the payload of {where} is gone")
                need(digest("event", payload.encode()) == body, f"{where} has another payload")
                guard(guards.setdefault(run, ({}, {}, {})), kind, payload)
                need(format < 10 or call == call_of(kind, payload),
                     f"events.call does not tell what the events tell: {where}")
                spend(budgets, asked, run, at, kind, payload)
                if last == 0:
                    begun[run] = began(json.loads(payload))
                if number == 0:
                    take_down(log, kind, json.loads(payload))
                if kind == "QuestionAnswered":
                    # Older versions named the question as the evidence of what was answered.
                    gone.add(bytes.fromhex(json.loads(payload)["question"][7:]))
                for name in evidence_of(kind, payload):
                    need(bytes.fromhex(name[7:]) in gone, f"{where} names evidence that is gone")
            header = [named(before), run, seq, at, kind, version, named(body)]
            need(digest("link", canonical(header)) == stored, f"{where} does not follow")
            heads[run], ends[run] = (seq, stored), n
            entries.append([run, seq, named(stored)])
            event, total = events.fetchone(), total + 1
        need(len(entries) == count, f"commit {n} had {count} events and has {len(entries)}")
        form = canonical([named(links[-1]), store, n, entries])
        need(digest("commit", form) == link, f"commit {n} has other events")
        links.append(link)
    need(not event, f"an event belongs to commit {event and event[8]}, which is not there")
    statuses = dict(db.execute("SELECT id, status FROM runs"))
    closed(dropped, heads, over, statuses, budgets, numbered)
    if format >= 7:
        there = {period: (money, tokens) for period, money, tokens in db.execute(
            "SELECT period, money, tokens FROM budgets WHERE name = 'workspace'")}
        for period in budgets.keys() | there.keys():
            need(there.get(period, (0, 0)) == budgets.get(period, (0, 0)),
                 f"budgets does not tell what the events tell: {period or 'in all'}")
    logged = heads.pop("workspace", None)
    if format >= 6 or logged or db.execute("SELECT 1 FROM meta WHERE key = 'log'").fetchone():
        follow(db, log, logged or (0, GENESIS))
    for run, seq, link in db.execute("SELECT id, head_seq, head FROM runs"):
        need(heads.get(run) == (seq, link), f"run {run} does not end where its row says")
    if format >= 14:
        for run, *row in db.execute("SELECT id, requester, planner, playbook FROM runs"):
            need(row == begun.get(run, [None] * 3),
                 f"runs does not tell what the events tell: what run {run} began with")
    if "open_effects" in tables:
        told = {(run, slot): row for run, (opened, _, _) in guards.items()
                for slot, row in opened.items()}
        rows = {(run, slot): (operation, named(sinks), standing) for run, slot, operation, sinks,
                standing in db.execute("SELECT run, slot, operation, sinks, standing"
                                       " FROM open_effects")}
        for (run, slot), _ in set(told.items()) ^ set(rows.items()):
            raise Fault(f"open_effects does not tell what the events tell: {slot} of run {run}")
    pruned = {run: (ends[run], commit) for run, (_, commit) in dropped.items()}
    said = f", the texts of {len(pruned)} runs pruned and not judged" if pruned else ""
    return store, links, pruned, f"{total} events, {len(links) - 1} commits{said}"


def witnesses(path, known, store, links, pruned):
    """Holds the commits against signed heads; those before the last accepted one may differ. A run
    counts as pruned only if a head was signed over its end before: see design note 0066."""
    heads = []
    for line in open(path, encoding="utf-8").read().split("\n")[:-1]:
        try:
            heads.append(json.loads(line))
        except json.JSONDecodeError:
            continue  # cut off by a crash while it was written
    need(heads, "there is no signed head")
    accepted, latest = 0, ("", "")
    for i, head in enumerate(heads):
        whole, _, part = head["at"].rstrip("Z").partition(".")
        moment = (whole, part.ljust(9, "0"))
        # An old word appended once more sets nothing aside.
        accepted = i if "accepted" in head and moment > latest else accepted
        latest = max(latest, moment)
    for i, head in enumerate(heads):
        n, signature = head["commit"], base64.b64decode(head["signature"])
        need(head["key"] in known, f"the head of commit {n} is signed by an unknown key")
        form = canonical({k: v for k, v in head.items() if k != "signature"})
        key = base64.b64decode(head["key"].removeprefix("ed25519:"))
        need(signed(key, b"provost/head/v1\0" + form, signature), f"the head of {n} is forged")
        there = n < len(links) and named(links[n]) == head["link"] and head["store"] == store
        need(there or i < accepted, f"commit {n}, signed at {head['at']}, is not in this journal")
    first = min(head["commit"] for head in heads)
    for run, (ended, commit) in pruned.items():
        need(commit <= first or any(
            ended <= head["commit"] < commit or "accepted" in head and commit <= head["commit"]
            for head in heads), f"run {run} was pruned before a head was signed over its end")
    return f", {len(heads)} signed heads"


def main(path, *rest):
    rest, people, vouchers = list(rest), None, []
    while "--voucher" in rest:
        at = rest.index("--voucher")
        vouchers.append(rest[at + 1])
        del rest[at:at + 2]
    if "--people" in rest:
        at = rest.index("--people")
        people = json.load(open(rest[at + 1], encoding="utf-8"))["users"]
        del rest[at:at + 2]
    heads, *known = rest or [None]
    db = sqlite3.connect(pathlib.Path(path).absolute().as_uri() + "?mode=ro", uri=True)
    page = db.execute("SELECT page_size FROM pragma_page_size, sqlite_schema").fetchone()[0]
    need(pathlib.Path(path).stat().st_size % page == 0, "the file ends within a page: its end is missing")
    db.execute("BEGIN")
    store, links, pruned, said = journal(db)
    said += people_said(db, store, people, vouchers) if people is not None else ", no statements looked at"
    print(f"holds: store {store}, {said}{witnesses(heads, known, store, links, pruned) if heads else ''}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Fault as fault:
        sys.exit(f"does not hold: {fault}")
    except (TypeError, OSError, sqlite3.Error, ValueError, KeyError) as error:
        print(f"cannot look: {error}", file=sys.stderr)
        sys.exit(2)
