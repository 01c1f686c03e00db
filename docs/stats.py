#!/usr/bin/env python3
"""A second reader of provost's metrics: plain Python 3, and nothing of provost in it.

    python3 stats.py journal.db          the sums over all runs, as `provost stats --json` has them
    python3 stats.py --compare FILE      lines of {"events": [[at, kind, payload]…], "facts": {…}}

Counts what docs/reference/metrics.md says. Exit 0, 1 if a line differs (each difference is printed),
2 if nobody could look."""
import json, re, sqlite3, sys

SERVICES = {"unavailable", "rate_limited", "output_invalid", "permission_denied", "breaker_open",
            "timeout", "partial"}
DEPENDENCIES = {"R102", "R104", "R106", "R114", "E304"}
STEP = re.compile(r"\bsteps(?:\.([A-Za-z_]\w*)|\[\"([^\"]+)\"\])")
STATEMENTS = {"ApprovalGiven", "ApprovalRejected", "QuestionAnswered", "GoalAmended", "PlanAmended",
              "CancelRequested", "UndoRequested"}


def named(text):
    """The steps that the expressions of a text name; what stands in quotes inside one is text."""
    found = set()
    for part in re.findall(r"\$\{(.*?)\}(?![^{]*\})|\$\{(.*?)\}", text, re.S):
        code = "".join(part)
        code = re.sub(r'(?<!\[)"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'', "", code)
        found |= {a or b for a, b in STEP.findall(code)}
    return found


def slot(payload):
    return (payload["slot"]["step"], payload["slot"].get("item"))


def purpose(started):
    for field in ("reconciles", "confirms", "retakes_for", "previews"):
        if started.get(field):
            return field
    return "effect"


class Facts:
    def __init__(self):
        self.planning, self.execution, self.operations = {}, {}, {}
        self.failures, self.revisions_by, self.latency_us = {}, {}, {}

    def put(self, family, key, hits, of):
        if of:
            getattr(self, family)[key] = [hits, of]


def plans(events):
    found = []
    for _, kind, payload in events:
        if kind == "UndoPlanned":
            break
        if kind == "PlanChecked":
            found.append(payload)
    return found


def first_time(events, facts):
    proposed = False
    for _, kind, _ in events:
        if kind == "PlanProposed":
            proposed = True
        elif proposed and kind == "PlanChecked":
            return facts.put("planning", "first_time", 1, 1)
        elif proposed and kind in ("PlanRefused", "ProposalMended"):
            return facts.put("planning", "first_time", 0, 1)
    facts.put("planning", "first_time", 0, int(proposed))


def closure(seeds, reads):
    done, todo = set(), list(seeds)
    while todo:
        one = todo.pop()
        if one in reads and one not in done:
            done.add(one)
            todo.extend(reads[one])
    return done


def completeness(events, facts):
    for _, kind, payload in events:
        if kind == "RunEnded":
            criteria = payload.get("criteria", {}).values()
            facts.put("planning", "shown", sum(c == "held" for c in criteria), len(criteria))
    admitted = plans(events)
    if not admitted:
        return
    last, document = admitted[-1]["record"]["steps"], admitted[-1]["document"]
    reads = {name: set(step["reads"]) for name, step in last.items()}
    said = set()
    for proof in document.get("success", []):
        said |= named(proof["check"])
    answer = document.get("answer", [])
    for claim in [answer] if isinstance(answer, (str, dict)) else answer:
        claim = {"text": claim} if isinstance(claim, str) else claim
        said |= named(claim["text"]) | named(claim.get("when", "")) | set(claim.get("cites", []))
    effect = {}
    for _, kind, payload in events:
        if kind == "AttemptStarted":
            effect[payload["operation"]] = not payload["read"]
        elif kind == "ApprovalRequested":
            subject = payload["card"]["subject"]
            asks = subject["steps"].values() if "steps" in subject else [subject["ask"]]
            for ask in asks:
                effect[ask["operation"]] = ask["effect"] not in ("read", "egress")
    tool = {step["id"]: step["tool"] for step in document["steps"] if "tool" in step}
    asked = {step["id"] for step in document["steps"] if "question" in step}
    writes = {name for name in last if effect.get(tool.get(name))}
    needed = closure(said | writes | asked, reads)
    judged = {name for name in last if name in needed or tool.get(name) not in tool.values()
              or tool[name] in effect}
    unneeded = len(judged - needed)
    facts.put("planning", "unneeded", unneeded, len(judged))
    facts.put("planning", "over_planned", int(unneeded > 0), 1)
    justified = closure(said, reads)
    facts.put("planning", "unjustified", len(writes - justified), len(writes))
    own = [why for _, why in revisions(events)
           if not (why and why["kind"] == "step_failed" and why["class"] in SERVICES)]
    if own:
        first = admitted[0]["record"]["steps"]
        facts.put("planning", "foresight", len(needed & set(first)), len(needed))


def revisions(events):
    found, asked, why = [], False, None
    for at, (_, kind, payload) in enumerate(events):
        if kind == "PlanRequested":
            asked, why = payload["ask"] == "revise", payload.get("why")
        elif kind in ("PlanAmended", "UndoPlanned"):
            asked = False
        elif kind == "PlanRevised":
            if asked and (payload["added"] or payload["changed"] or payload["removed"]):
                found.append((at, why))
                asked = False
            elif asked:
                asked = False
    return found


def of_revisions(events, facts):
    found = revisions(events)
    facts.put("planning", "revisions", len(found), int(bool(plans(events))))
    helped = of = 0
    for at, why in found:
        word = why["kind"] if why and why["kind"] != "refine" else "other"
        facts.revisions_by[word] = facts.revisions_by.get(word, 0) + 1
        if word == "step_failed":
            next_one = [p.get("class") for _, k, p in events[at:]
                        if k == "StepSettled" and p["status"] == "failed" and p.get("class")]
            of += 1
            helped += not (next_one and next_one[0] == why["class"])
        elif word == "unmet":
            open_now = None
            for _, kind, payload in events[at:]:
                if kind == "RunEnded":
                    criteria = payload.get("criteria", {})
                    open_now = {name for name, held in criteria.items() if held != "held"}
                elif kind == "PlanRequested" and (payload.get("why") or {}).get("kind") == "unmet":
                    open_now = set(payload["why"]["criteria"])
                else:
                    continue
                break
            of += 1
            helped += open_now is None or not set(why["criteria"]) <= open_now
    facts.put("planning", "revisions_helped", helped, of)


def repeated_reads(events, facts):
    observed, begun, repeated, made = set(), {}, 0, 0
    for _, kind, payload in events:
        if kind == "AttemptStarted" and purpose(payload) == "effect":
            call = (payload["operation"], payload["args_digest"])
            begun[slot(payload)] = (call, payload["read"])
            if payload["read"] and payload["attempt"] == 1:
                made += 1
                repeated += call in observed
        elif kind == "ObservationMade" and slot(payload) in begun:
            call, read = begun[slot(payload)]
            observed = observed | {call} if read else set()
        elif kind == "AttemptEnded" and slot(payload) in begun and not begun[slot(payload)][1]:
            observed = set()
    facts.put("planning", "repeated_reads", repeated, made)


def dependencies(events, facts):
    faults, absent, blocked = 0, set(), []
    for _, kind, payload in events:
        if kind == "PlanRefused":
            faults += sum(finding["code"] in DEPENDENCIES for finding in payload["findings"])
        elif kind == "StepSettled" and payload.get("class") == "expression":
            faults += 1
            absent.add(payload["slot"]["step"])
        elif kind == "StepBlocked":
            blocked.append((payload["step"], payload["on"]))
    for step, on in blocked:
        if on in absent:
            faults += 1
            absent.add(step)
    edges = sum(len(step["after"]) for plan in plans(events)
                for step in plan["record"]["steps"].values())
    facts.put("planning", "dependencies", edges, edges + faults)


def holds(document, value):
    if isinstance(document, list):
        return any(holds(one, value) for one in document)
    if isinstance(document, dict):
        return any(holds(one, value) for one in document.values())
    if isinstance(document, str):
        if isinstance(value, str):
            return value != "" and value in document
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return json.dumps(value) in re.split(r"[^A-Za-z0-9.]", document)
        return False
    return type(document) is type(value) and document == value


def clarifications(events, facts):
    asked, goal, answers, used, answered, needless = set(), None, [], 0, 0, 0
    for at, (_, kind, payload) in enumerate(events):
        if kind in ("RunCreated", "GoalInterpreted"):
            goal = payload["goal"]
        elif kind == "QuestionAsked" and payload["question"]["purpose"]["kind"] == "planner":
            asked.add(payload["digest"])
        elif kind == "QuestionAnswered" and payload["question"] in asked:
            value = payload["value"]
            answered += 1
            for _, later, what in events[at:]:
                if later == "PlanChecked":
                    used += holds(what["document"], value)
                    break
                if later == "GoalInterpreted" and value in what["goal"].get("params", {}).values():
                    used += 1
                    break
            stood = goal and (holds(goal["text"], value) or value in goal.get("params", {}).values())
            needless += bool(stood or value in answers)
            answers.append(value)
    facts.put("planning", "clarifications", len(asked), int(bool(plans(events))))
    facts.put("planning", "clarifications_used", used, answered)
    facts.put("planning", "clarifications_needless", needless, len(asked))


def adherence(events, facts):
    cards, adhered, of = {}, 0, 0
    for _, kind, payload in events:
        if kind == "ApprovalRequested":
            cards[payload["digest"]] = payload["card"]["subject"]
        elif kind == "AttemptStarted" and purpose(payload) == "effect":
            of += 1
            subject = cards.get(payload.get("approval"))
            if subject is None:
                adhered += 1
            elif subject["kind"] == "plan":
                adhered += any(a["closure"] == payload["closure"] for a in subject["steps"].values())
            else:
                adhered += (subject["ask"]["closure"] == payload["closure"] and any(
                    call["args_digest"] == payload["args_digest"] for call in subject["calls"]))
    facts.put("planning", "adherence", adhered, of)


def execution(events, facts):
    slots, begun, confirmed = {}, {}, set()

    def story(one):
        return slots.setdefault(one, {"call": None, "read": False, "tries": 0, "landed": False,
                                      "unknown": False, "doubted": False, "last": None})

    for _, kind, payload in events:
        if kind == "AttemptStarted":
            begun[slot(payload), payload["attempt"]] = payload
            if purpose(payload) == "confirms":
                confirmed.add(slot(payload))
            if purpose(payload) == "effect":
                one = story(slot(payload))
                one["call"] = (payload["operation"], payload["args_digest"])
                one["read"] = payload["read"]
        elif kind == "AttemptEnded":
            started = begun.get((slot(payload), payload["attempt"]))
            if started is None or purpose(started) != "effect":
                continue
            one = story(slot(payload))
            if not started["read"]:
                one["landed"] |= payload["landing"] == "happened"
                one["unknown"] |= payload["landing"] == "unknown"
            if not payload.get("lost") and not payload.get("unsent"):
                one["tries"] += 1
                for rates in (facts.execution,
                              facts.operations.setdefault(started["operation"], {})):
                    for key, word in (("tool_success", "ok"), ("timeouts", "timeout")):
                        rate = rates.setdefault(key, [0, 0])
                        rate[0] += payload["class"] == word
                        rate[1] += 1
                if payload.get("took_us") is not None:
                    facts.latency_us.setdefault(started["operation"], []).append(payload["took_us"])
                if payload["class"] != "ok":
                    word = payload["class"]
                    facts.failures[word] = facts.failures.get(word, 0) + 1
        elif kind == "StepSettled":
            one = story(slot(payload))
            one["doubted"] |= payload["status"] == "in_doubt"
            one["last"] = (payload["status"], payload.get("class"))
        elif kind == "DoubtSettled":
            story(slot(payload))["landed"] |= payload["settled"] == "happened"
    of_slots(slots, confirmed, facts)
    of_effects(slots, events, facts)


def of_slots(slots, confirmed, facts):
    ended = [s for s in slots.values() if s["last"]
             and s["last"][0] in ("succeeded", "failed", "in_doubt")]
    good = [s for s in ended if s["last"][0] == "succeeded"]
    tried = [s for s in slots.values() if s["tries"]]
    again = [s for s in tried if s["tries"] > 1]
    settled = [(name, s["last"]) for name, s in slots.items() if s["last"]]
    invalid = [(name, last) for name, last in settled if last[0] == "failed"
               and last[1] in ("invalid_arguments", "output_invalid", "acceptance_failed")]
    by_confirm = [one for one in invalid if one[1][1] == "acceptance_failed" and one[0] in confirmed]
    put = lambda *rate: facts.put("execution", *rate)
    put("step_success", len(good), len(ended))
    put("retries", sum(s["tries"] - 1 for s in tried), len(tried))
    put("recovered", sum(s["last"] is not None and s["last"][0] == "succeeded" for s in again),
        len(again))
    put("validation", len(invalid), len(settled))
    put("validation_confirm", len(by_confirm), len(invalid))


def of_effects(slots, events, facts):
    cards, repeats, held = {}, {}, 0
    for _, kind, payload in events:
        if kind == "ApprovalRequested":
            subject = cards[payload["digest"]] = payload["card"]["subject"]
            held += sum("repeats" in call for call in subject.get("calls", []))
        elif kind == "ApprovalGiven" and payload["complete"]:
            subject = cards.get(payload["card"], {})
            for call in subject.get("calls", []):
                if "repeats" in call:
                    key = (subject["ask"]["operation"], call["args_digest"])
                    repeats[key] = repeats.get(key, 0) + 1
    held += sum(s["call"] is None and s["last"] is not None and s["last"][1] == "conflict"
                for s in slots.values())
    writes = [s for s in slots.values() if s["call"] and not s["read"]]
    landed = sum(s["landed"] for s in writes)
    groups = {}
    for one in writes:
        groups.setdefault(one["call"], []).append(one)
    extra = sum(max(0, sum(s["landed"] for s in group) - 1 - repeats.get(key, 0))
                for key, group in groups.items())
    possible = sum(any(s["unknown"] and not s["landed"] for s in group)
                   and any(s["landed"] for s in group) for group in groups.values())
    put = lambda *rate: facts.put("execution", *rate)
    put("duplicates", extra, landed)
    put("duplicates_held", held, landed)
    put("duplicates_possible", possible, len(groups))
    put("in_doubt", sum(s["doubted"] for s in writes), len(writes))


def completion(events, facts):
    status = None
    for _, kind, payload in events:
        if kind == "RunEnded":
            status = payload["status"]
        elif kind == "UndoRequested":
            status = None
    if status is None:
        return
    spoken = any(
        kind in STATEMENTS
        or kind == "DoubtSettled" and payload["by"]["kind"] == "person"
        or kind == "Paused" and "missing" not in payload
        or kind == "Resumed" and "by" in payload
        for _, kind, payload in events)
    facts.put("execution", "completed", int(status == "succeeded"), 1)
    facts.put("execution", "completed_alone", int(status == "succeeded" and not spoken), 1)


def read(events):
    facts = Facts()
    for count in (first_time, completeness, of_revisions, repeated_reads, dependencies,
                  clarifications, adherence, execution, completion):
        count(events, facts)
    return facts


FAMILIES = ("planning", "execution", "operations", "failures", "revisions_by", "latency_us")


def plain(value):
    """Rates as pairs, as this reader has them."""
    if isinstance(value, dict):
        if set(value) == {"hits", "of"}:
            return [value["hits"], value["of"]]
        return {key: plain(one) for key, one in value.items()}
    return value


def compare(path):
    lines = differ = 0
    for line in open(path):
        given = json.loads(line)
        facts = read(given["events"])
        lines += 1
        for family in FAMILIES:
            here, there = getattr(facts, family), plain(given["facts"].get(family, {}))
            for key in sorted(set(here) | set(there)):
                if here.get(key) != there.get(key):
                    differ += 1
                    print(f"line {lines}: {family} {key}: here {here.get(key)}, "
                          f"there {there.get(key)}")
    print(f"{lines} journals, {differ} differences")
    return 1 if differ else 0


def sums(path):
    journal = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    total = {"planning": {}, "execution": {}}
    runs = 0
    for (number,) in journal.execute("SELECT n FROM runs ORDER BY n").fetchall():
        rows = journal.execute(
            "SELECT at_ms, kind, payload FROM events WHERE run = ? ORDER BY seq", (number,))
        events = [(at, kind, json.loads(payload)) for at, kind, payload in rows]
        if not events or events[0][1] != "RunCreated":
            continue
        runs += 1
        facts = read(events)
        for family in total:
            for key, (hits, of) in getattr(facts, family).items():
                rate = total[family].setdefault(key, [0, 0])
                rate[0] += hits
                rate[1] += of
    named_rate = lambda rate: {"numerator": rate[0], "denominator": rate[1]}
    print(json.dumps({"runs": runs, **{
        family: {key: named_rate(rate) for key, rate in sorted(rates.items())}
        for family, rates in total.items()}}, indent=1))
    return 0


def main(words):
    try:
        if len(words) == 2 and words[0] == "--compare":
            return compare(words[1])
        if len(words) == 1 and not words[0].startswith("-"):
            return sums(words[0])
    except Exception as error:  # Whatever it is: nobody looked, which is no difference.
        print(f"error: {error!r} at line {error.__traceback__.tb_next.tb_lineno}", file=sys.stderr)
        raise SystemExit(2) from error
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
