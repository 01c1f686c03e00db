import json, sys
points = json.load(sys.stdin)
n = len(points)
print(json.dumps({"n": n, "mean": round(sum(points) / n, 3) if n else 0, "fail_share": round(sum(p < 50 for p in points) / n, 3) if n else 0}))
