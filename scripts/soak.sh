#!/usr/bin/env bash
# Soak: minutes of downloads and fetches, cut off in every way, against one proxy. At the end its
# descriptors and memory must be back where they were.
#
#   scripts/soak.sh [MINUTES, default 3] [PROXY OPTIONS...]
set -euo pipefail
cd "$(dirname "$0")/.."
minutes=${1:-3}
shift || true
cargo build --quiet -p harness
turnstile=target/debug/turnstile
work=$(mktemp -d)
pids=()
cleanup() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$work"
}
trap cleanup EXIT

# start NAME ARGS...: a role in the background; its address in $addr once it is ready.
start() {
  local out=$work/$1.out
  mkfifo "$work/$1.fifo"
  "$turnstile" "$@" >"$work/$1.fifo" &
  pids+=($!)
  pid=$!
  exec {fd}<"$work/$1.fifo"
  read -r ready <&"$fd"
  addr=$(sed -E 's/.*"listen":"([^"]+)".*/\1/' <<<"$ready")
  cat <&"$fd" >"$out" &
  pids+=($!)
}
start origin
start proxy --upstream "$addr" --workers 2 --reuseport --read-policy fionread "$@"
proxy=$pid

descriptors() { ls "/proc/$proxy/fd" | wc -l; }
memory_kib() { awk '/^VmRSS/ { print $2 }' "/proc/$proxy/status"; }
settled() {
  # Sessions end when the worker next turns; wait until the count stands still.
  local last=-1 now
  for _ in $(seq 50); do
    now=$(descriptors)
    [ "$now" = "$last" ] && break
    last=$now
    sleep 0.2
  done
}
round() {
  "$turnstile" slow "$addr" --slow 50 --slow-size 64MiB --duration 4s >/dev/null
  "$turnstile" fast "$addr" --arrivals 200/s --fetch-size 64KiB --cap 20ms --duration 3s >/dev/null
  "$turnstile" slow "$addr" --slow 200 --slow-size 1MiB --read-rate 100KiB/s --duration 2s >/dev/null &
  local victim=$!
  sleep 1
  kill -KILL "$victim"
  wait "$victim" 2>/dev/null || true
  printf 'GET / HTTP/1.1\r\nbroken' >"/dev/tcp/${addr%:*}/${addr#*:}"
}
round # warm up: what is allocated once is allocated now
settled
fds=$(descriptors) kib=$(memory_kib)
echo "after the first round: $fds descriptors, $kib KiB"
end=$((SECONDS + minutes * 60)) rounds=0
while [ "$SECONDS" -lt "$end" ]; do
  round
  rounds=$((rounds + 1))
done
settled
fds_after=$(descriptors) kib_after=$(memory_kib)
echo "after $rounds more: $fds_after descriptors, $kib_after KiB"
sessions=$(grep -c '"record":"session"' "$work/proxy.out" || true)
echo "$sessions sessions served"
if [ "$fds_after" -ne "$fds" ] || [ "$kib_after" -gt $((kib + kib / 4 + 2048)) ]; then
  echo "FAILED: they did not come back" >&2
  exit 1
fi
echo "1 passed, 0 failed"
