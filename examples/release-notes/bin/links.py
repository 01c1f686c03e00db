"""Which links lead nowhere: links.py -- REPOSITORY TEXT. Prints {"checked": …, "broken": […]}."""

import json
import pathlib
import re
import sys

repository, text = pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
links = re.findall(r"\]\(([^)\s]+)\)", text)


def leads_somewhere(link):
    target = (repository / link).resolve()
    return target.is_relative_to(repository) and target.is_file()


print(json.dumps({"checked": len(links), "broken": [one for one in links if not leads_somewhere(one)]}))
