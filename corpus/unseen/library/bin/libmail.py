"""Sends a letter to a patron (`send -- PATRON SUBJECT`, body on stdin), or says what became of one (`state -- ID`)."""
import json, os, sys

what, args = sys.argv[1], sys.argv[3:]
if what == "send":
    key = os.environ.get("MAIL_KEY", "")
    sys.stdin.read()
    print(json.dumps({"id": "m-%d" % (abs(hash(key)) % 10**9), "queued": True, "patron": args[0]}))
else:
    print(json.dumps({"id": args[0], "state": "sent"}))
