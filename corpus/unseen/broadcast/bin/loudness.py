import json, sys
print(json.dumps({"asset": sys.argv[2], "lufs": -23.0}))
