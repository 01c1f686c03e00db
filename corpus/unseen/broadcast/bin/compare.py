import json, sys
m = json.load(sys.stdin)
aired = {e["spot"] for e in m["aired"] if e["clean"]}
print(json.dumps({"checked": len(m["planned"]), "missed": [s["spot"] for s in m["planned"] if s["spot"] not in aired]}))
