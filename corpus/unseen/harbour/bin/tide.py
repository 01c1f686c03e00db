import json, sys
from datetime import datetime, timedelta
after, draught = datetime.fromisoformat(sys.argv[1].replace("Z", "+00:00")), float(sys.argv[2])
if draught > 12:
    sys.exit(1)
opens = after.replace(minute=0, second=0, microsecond=0) + timedelta(hours=6 - after.hour % 6)
iso = lambda t: t.strftime("%Y-%m-%dT%H:%M:%SZ")
print(json.dumps({"opens": iso(opens), "closes": iso(opens + timedelta(hours=2)), "depth": draught + 1.5}))
