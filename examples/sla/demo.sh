#!/usr/bin/env bash
# The whole way once: start the pager, run until the page waits for a person, approve, look at
# what the pager saw, stop. Keeps nothing but the run in .provost/.
set -euo pipefail
cd "$(dirname "$0")"

goal="Page the on-call engineer if open PAY tickets exceed the SLA threshold"
scratch=$(mktemp -d)
pager_pid=
stop() {
  [[ -z "$pager_pid" ]] || kill "$pager_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop EXIT

say() { printf '\n== %s\n' "$*"; }

# The built file and not `cargo run`, so that the process stopped in the end is the pager itself.
cargo build --quiet --profile "${PROVOST_PROFILE:-dev}" --workspace --bin world --bin provost
target=$(cargo metadata --no-deps --format-version 1 |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
provost=("$target/debug/provost" -C .)

say "start the pager"
"$target/debug/world" --listen 127.0.0.1:4517 --state "$scratch/world.json" >"$scratch/pager.out" &
pager_pid=$!
for _ in $(seq 100); do
  grep -q '^listening on ' "$scratch/pager.out" && break
  kill -0 "$pager_pid" 2>/dev/null || { echo "error: the pager did not start" >&2; exit 1; }
  sleep 0.1
done
cat "$scratch/pager.out"

say "run: reads by itself, then waits for a person"
code=0
"${provost[@]}" run "$goal" --again </dev/null 2>&1 | tee "$scratch/run.out" || code=$?
if [[ $code != 3 ]]; then
  echo "error: expected exit 3, a run that waits, and got $code" >&2
  exit 1
fi

say "approve: the command that the run printed"
approve=$(grep -o 'approve [a-z2-7]\{12\}@[^ `]*' "$scratch/run.out" | head -n 1)
[[ -n "$approve" ]] || { echo "error: the run printed no approve command" >&2; exit 1; }
echo "provost $approve"
read -ra words <<<"$approve"
"${provost[@]}" "${words[@]}" </dev/null

say "what the pager saw"
exec 3<>/dev/tcp/127.0.0.1/4517
printf 'GET /ledger HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
sed '1,/^\r$/d' <&3
echo
