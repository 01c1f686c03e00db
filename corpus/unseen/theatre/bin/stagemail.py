"""Sends and looks up mails; a stand-in that remembers nothing."""
import json, os, sys
what, _, *rest = sys.argv[1:]
if what == "send":
    sys.stdin.read()
    print(json.dumps({"id": "m-1", "queued": True, "to": rest[0]}))
else:
    print(json.dumps({"id": rest[0], "state": "sent"}))
