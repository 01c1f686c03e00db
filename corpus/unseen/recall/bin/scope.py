import json, sys
rows = json.load(sys.stdin)
road = [r for r in rows if r["state"] == "on_road"]
there = [r for r in rows if r["state"] == "arrived"]
print(json.dumps({
    "units_on_road": sum(r["units"] for r in road),
    "units_in_stores": sum(r["units"] for r in there),
    "stores": len({r["store"] for r in rows}),
}))
