"""The release notes of a version: render.py -- VERSION SINCE UNTIL HISTORY, as the git server says them.

Prints {"text": …, "commits": …}. Exits 1 where the history does not reach from one to the other.
"""

import json
import re
import sys

TITLES = {"feat": "New", "fix": "Mended", "docs": "Documentation"}

version, since, until, history = sys.argv[2:]


def commit_of(shown):
    return re.search(r"\b[0-9a-f]{40}\b", shown).group()


commits = [(m.start(), m.group(1)) for m in re.finditer(r"(?m)^Commit: '?([0-9a-f]{40})", history)]
hashes = [name for _, name in commits]
if commit_of(since) not in hashes or commit_of(until) not in hashes:
    sys.exit("the history does not reach from one release to the other")
first, last = hashes.index(commit_of(until)), hashes.index(commit_of(since))
ends = [start for start, _ in commits[1:]] + [len(history)]
groups = {}
for (start, _), end in list(zip(commits, ends))[first:last]:
    message = re.search(r"(?s)Message: '?(.*)", history[start:end]).group(1).strip().strip("'")
    kind, _, subject = message.partition(": ")
    groups.setdefault(TITLES.get(kind, "Other"), []).append(subject or message)

lines = [f"# {version}", ""]
for title in [*TITLES.values(), "Other"]:
    if title in groups:
        lines += [f"## {title}", "", *(f"- {subject}" for subject in groups[title]), ""]
print(json.dumps({"text": "\n".join(lines), "commits": last - first}))
