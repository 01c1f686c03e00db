import json, sys
people = json.load(sys.stdin)
print(json.dumps({"printed": len(people), "printer": sys.argv[2]}))
