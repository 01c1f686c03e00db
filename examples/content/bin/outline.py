"""An outline of what a search found: outline.py -- TOPIC AUDIENCE FOUND.

Prints {"text": …, "sources": …}: one heading a source, one point a line that was found.
"""

import json
import sys

topic, audience, found = sys.argv[2:]
points = {}
for match in json.loads(found):
    points.setdefault(match["file"], []).append(match["text"].strip())
lines = [f"About {topic}, for {audience}."]
for source in sorted(points):
    lines += ["", f"From {source}:", *(f"- {point}" for point in points[source])]
print(json.dumps({"text": "\n".join(lines), "sources": len(points)}))
