#!/usr/bin/env bash
# Labels the tickets that nobody answered, and takes the labels back after the run has ended.
set -euo pipefail
cd "$(dirname "$0")"

# The built files and not `cargo run`, so that the process stopped in the end is the tracker itself.
cargo build --quiet --profile "${PROVOST_PROFILE:-dev}" --workspace --bin world --bin provost
target=$(cargo metadata --no-deps --format-version 1 |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
scratch=$(mktemp -d)
tracker_pid=
stop() {
  [[ -z "$tracker_pid" ]] || kill "$tracker_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop EXIT
say() { printf '\n== %s\n' "$*"; }
die() { echo "error: $*" >&2; exit 1; }

"$target/debug/world" --listen 127.0.0.1:0 --state "$scratch/world.json" >"$scratch/out" &
tracker_pid=$!
for _ in $(seq 100); do
  grep -q '^listening on ' "$scratch/out" && break
  kill -0 "$tracker_pid" 2>/dev/null || die "the tracker did not start"
  sleep 0.1
done
tracker=$(sed -n 's/^listening on //p' "$scratch/out")
mkdir "$scratch/desk"
cp -r provost.toml policies playbooks schemas bin "$scratch/desk/"
sed -i "s|http://127.0.0.1:4517|$tracker|" "$scratch/desk/provost.toml"
provost() { "$target/debug/provost" -C "$scratch/desk" "$@" </dev/null; }
labels() { # TICKET
  curl --silent --fail "$tracker/tickets/$1" | grep -o '"labels":\[[^]]*\]' || echo none
}

say "the playbook compiles"
provost check "$scratch/desk/playbooks/unanswered.yaml"

say "somebody answers PAY-1"
curl --silent --fail --json '{"text": "We look into it", "author": "bo"}' \
  "$tracker/tickets/PAY-1/comments" >/dev/null

say "the others get a label"
provost run "Label the unanswered tickets of PAY"
[[ $(labels PAY-1) == none ]] || die "PAY-1 was answered"
[[ $(labels PAY-2) == '"labels":["unanswered"]' ]] || die "PAY-2 has no label"
[[ $(labels PAY-3) == none ]] || die "PAY-3 is closed"

say "the label was a mistake: the run has ended, and is undone"
run=$(provost runs | head -n 1 | cut -d ' ' -f 1)
provost undo "$run" --reason "the label was wrong"
[[ $(labels PAY-2) == none ]] || die "PAY-2 still has its label"
[[ $(provost undo "$run" 2>&1) == *"nothing that run $run did is left"* ]] || die "it was undone twice"
