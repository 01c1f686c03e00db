#!/usr/bin/env bash
# Kills whoever is making refunds at random moments, starts it again until it says it is done, and
# counts what the shop paid: provost beside a loop that does what most agents do. COUNT refunds each,
# small ones: all of them come out of one payment, and the shop gives back no more than was paid.
source "$(dirname "${BASH_SOURCE[0]}")/stage.sh"
count=${COUNT:-20}
RANDOM=${SEED:-7}
((count <= 200)) || die "COUNT is at most 200"

# The shop takes a while, so that kills fall into calls as well as before and after them.
curl --silent --fail --json '{"route": "POST /refunds", "kind": "slow", "times": 1000000, "ms": 150}' \
  "$shop/faults" >/dev/null

moment() { printf '0.%03d' $((RANDOM % 600 + 20)); }

# A loop that thinks and acts in one: it reads, it pays, it notes that it is done.
naive() { # AMOUNT NOTE
  curl --silent --fail "$shop/tickets/PAY-1" >/dev/null
  curl --silent --fail "$shop/payments/pay-3" >/dev/null
  curl --silent --fail --json "{\"payment\": \"pay-3\", \"amount\": $1}" "$shop/refunds" >/dev/null
  sleep 0.1
  touch "$2"
}

killed=0
say "a naive loop, $count refunds"
for n in $(seq "$count"); do
  note="$scratch/naive-$n"
  (naive $((100 + n)) "$note") &
  pid=$!
  sleep "$(moment)"
  kill -9 "$pid" 2>/dev/null && killed=$((killed + 1))
  wait "$pid" 2>/dev/null || true
  [[ -e "$note" ]] || naive $((100 + n)) "$note"
done

say "provost, $count refunds"
for n in $(seq "$count"); do
  "$target/debug/provost" -C "$scratch/shop" run "Refund $((500 + n)) cents of pay-3 for PAY-1" \
    </dev/null >/dev/null 2>&1 &
  pid=$!
  sleep "$(moment)"
  kill -9 "$pid" 2>/dev/null && killed=$((killed + 1))
  wait "$pid" 2>/dev/null || true
done
for run in $(provost runs | cut -d ' ' -f 1); do
  provost resume "$run" >/dev/null 2>&1 || true
done
# What was killed before it had a run was never begun.
for n in $(seq "$count"); do
  goal="Refund $((500 + n)) cents of pay-3 for PAY-1"
  provost runs --json | grep -qF "\"$goal\"" || provost run "$goal" >/dev/null 2>&1 || true
done
in_doubt=$(provost runs --json | grep -c '"status": *"in_doubt"' || true)

amounts() { # LOWEST: the amount of each refund that was paid
  sed 's/.*"refunds":\[//; s/\].*//' "$scratch/world.json" | grep -o '"amount":[0-9]*' | cut -d : -f 2 |
    awk -v from="$1" -v to="$(($1 + count))" '$1 > from && $1 <= to'
}
line() { printf '%-12s %10s %10s %12s %10s\n' "$@"; }
row() { # NAME LOWEST IN_DOUBT
  line "$1" "$count" "$(amounts "$2" | sort -u | wc -l)" "$(amounts "$2" | sort | uniq -d | wc -l)" "$3"
}
say "$killed of $((2 * count)) were killed in time"
line "" requested paid "paid twice" "in doubt"
row "naive loop" 100 "nobody knows"
row provost 500 "$in_doubt"
[[ "$(amounts 500 | sort -u | wc -l)" == "$count" ]] || die "provost lost a refund"
[[ -z "$(amounts 500 | sort | uniq -d)" ]] || die "provost paid twice"
