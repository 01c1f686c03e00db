#!/bin/sh
# The words of stdin, one a line, as JSON: how many are `open`, and how many there are.
exec awk '$0 != "" { all++ } $0 == "open" { open++ } END { printf "{\"open\": %d, \"all\": %d}\n", open, all }'
