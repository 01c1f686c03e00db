"""Sends notices and looks them up; a stand-in that remembers nothing."""
import json, sys
what, _, *rest = sys.argv[1:]
if what == "state":
    print(json.dumps({"batch": rest[0], "state": "sent", "reached": 1}))
else:
    sys.stdin.read()
    print(json.dumps({"batch": "n-1", "queued": True, "zone" if what == "households" else "to": rest[0]}))
