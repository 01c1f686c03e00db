"""Sends a letter; a stand-in that remembers nothing."""
import json, sys
sys.stdin.read()
print(json.dumps({"id": "m-1", "queued": True, "to": sys.argv[2]}))
