#!/usr/bin/env bash
# An article in a content system that behaves, one whose answer is dropped after it was saved, and
# one that the system only says it saved.
set -euo pipefail
cd "$(dirname "$0")"

# The built files and not `cargo run`, so that the process stopped in the end is the system itself.
cargo build --quiet --profile "${PROVOST_PROFILE:-dev}" --workspace --bin world --bin provost
target=$(cargo metadata --no-deps --format-version 1 |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
scratch=$(mktemp -d)
system_pid=
stop() {
  [[ -z "$system_pid" ]] || kill "$system_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop EXIT
say() { printf '\n== %s\n' "$*"; }
die() { echo "error: $*" >&2; exit 1; }

"$target/debug/world" --listen 127.0.0.1:0 --state "$scratch/world.json" >"$scratch/out" &
system_pid=$!
for _ in $(seq 100); do
  grep -q '^listening on ' "$scratch/out" && break
  kill -0 "$system_pid" 2>/dev/null || die "the content system did not start"
  sleep 0.1
done
system=$(sed -n 's/^listening on //p' "$scratch/out")
mkdir "$scratch/desk"
cp -r provost.toml policies playbooks schemas bin research "$scratch/desk/"
sed -i "s|http://127.0.0.1:4517|$system|" "$scratch/desk/provost.toml"
provost() { "$target/debug/provost" -C "$scratch/desk" "$@" </dev/null; }

article() { # TOPIC AUDIENCE: the run asks, a person answers
  local question
  provost run "Prepare an article about $1" >"$scratch/run" 2>&1 && die "it did not ask"
  question=$(grep -o 'answer [a-z2-7]\{12\}@[^ ]*' "$scratch/run" | head -n 1 | cut -d ' ' -f 2)
  provost answer "$question" "$2"
}
fault() { # KIND: once, when the next draft is saved
  curl --silent --fail --json "{\"route\": \"POST /drafts\", \"kind\": \"$1\"}" "$system/faults" >/dev/null
}
drafts() { curl --silent "$system/ledger" | grep -o '"route":"POST /drafts"' | wc -l; }
saved() { # NUMBER
  curl --silent --fail "$system/drafts/draft-$1" >/dev/null
}

say "a system that behaves"
article queue engineers
saved 1 || die "there is no draft"

say "it saves, and drops the answer"
fault drop
article retry customers
saved 2 && ! saved 3 || die "there is not one draft more"
echo "asked to save $(drafts) times in all, drafts: 2"

say "it says that it saved, and did not"
fault lie
article clock everybody && die "the lie was believed"
! saved 3 || die "there is a draft"
