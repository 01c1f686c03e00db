"""Reads payslips as JSON from stdin and says how many do not add up."""
import json, sys

slips = json.load(sys.stdin)
wrong = [s for s in slips if s["gross_cents"] - s["tax_cents"] < s["net_cents"]]
print(json.dumps({"checked": len(slips), "wrong": len(wrong), "net_total_cents": sum(s["net_cents"] for s in slips)}))
