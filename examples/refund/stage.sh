# Sourced by demo.sh and crash.sh: builds, copies the workspace into a scratch folder, makes keys
# for the people, starts the shop. Leaves nothing behind.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# The built files and not `cargo run`, so that the process stopped in the end is the shop itself.
cargo build --quiet --profile "${PROVOST_PROFILE:-dev}" --workspace --bin world --bin provost
target=$(cargo metadata --no-deps --format-version 1 |
  sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
scratch=$(mktemp -d)
shop_pid=
stop() {
  [[ -z "$shop_pid" ]] || kill "$shop_pid" 2>/dev/null || true
  rm -rf "$scratch"
}
trap stop EXIT

say() { printf '\n== %s\n' "$*"; }
die() { echo "error: $*" >&2; exit 1; }

"$target/debug/world" --listen 127.0.0.1:0 --state "$scratch/world.json" >"$scratch/shop.out" &
shop_pid=$!
for _ in $(seq 100); do
  grep -q '^listening on ' "$scratch/shop.out" && break
  kill -0 "$shop_pid" 2>/dev/null || die "the shop did not start"
  sleep 0.1
done
shop=$(sed -n 's/^listening on //p' "$scratch/shop.out")

mkdir "$scratch/shop"
cp -r provost.toml openapi.json policies playbooks plans schemas "$scratch/shop/"
sed -i "s|http://127.0.0.1:4517|$shop|" "$scratch/shop/provost.toml"
provost() { "$target/debug/provost" -C "$scratch/shop" "$@" </dev/null; }

# The people of finance sign what they say.
printf 'a passphrase for the example\n' >"$scratch/passphrase"
for person in bo chi; do
  made=$(provost key new --name "$person" -o "$scratch/$person.json" \
    --passphrase "file:$scratch/passphrase" 2>&1)
  key=$(grep -o 'ed25519:[A-Za-z0-9+/=_-]*' <<<"$made" | head -n 1)
  sed -i "s|\"$person\": {|\"$person\": { \"key\": \"$key\",|" \
    "$scratch/shop/policies/entities.json"
done
printf '\n[approvals]\nrequire = "signature"\n' >>"$scratch/shop/provost.toml"

# RUN@DIGEST of the approval that a run printed.
card_of() { grep -o 'approve [a-z2-7]\{12\}@[^ `]*' "$1" | head -n 1 | cut -d ' ' -f 2; }
approve() { # PERSON CARD
  provost approve "$2" --key "$scratch/$1.json" --passphrase "file:$scratch/passphrase"
}
