#!/usr/bin/env bash
# The main job, its result checked: starved by a draining proxy, not by one that asks FIONREAD.
#
# Two trials of each must say so before three say otherwise. Shared hosts lose CPU to their
# neighbours: a trial that was robbed of it is inconclusive and is made again, eight in all at most.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

# expect LABEL VERDICTS ARGS...: one of VERDICTS (written a|b) in two trials.
expect() {
  local label=$1 verdicts=$2 summary said right=0 wrong=0 trials=0
  shift 2
  while [ "$right" -lt 2 ]; do
    summary=$(cargo run --quiet --locked -p harness -- --quiet --json --runs-dir "$runs" "$@")
    said=$(python3 -c 'import json, sys
s = json.load(sys.stdin)
m = s["measure"]
assert s["schema_version"] == 1, "another schema"
assert sum(m["outcomes"].values()) == m["attempts"], "outcomes do not add up"
print(s["verdict"], *s["verdict_reasons"], sep="\n  ")' <<<"$summary")
    printf '%s: %s\n' "$label" "$said"
    case "|$verdicts|" in
      *"|${said%%$'\n'*}|"*) right=$((right + 1)) ;;
      *) [ "${said%%$'\n'*}" = inconclusive ] || wrong=$((wrong + 1)) ;;
    esac
    trials=$((trials + 1))
    if [ "$right" -lt 2 ] && { [ "$wrong" -eq 3 ] || [ "$trials" -eq 8 ]; }; then
      echo "expected $verdicts from: turnstile $*" >&2
      return 1
    fi
  done
}

expect "drain" "starved" --reuseport
expect "fionread" "healthy|degraded" --reuseport --read-policy fionread

# gate STATUS OPTIONS: the gate of the GitHub Action ends with STATUS. A trial that proves nothing
# (11) is made again, four in all at most.
gate() {
  local wanted=$1 status
  for _ in 1 2 3 4; do
    status=0
    (cd "$runs" && TURNSTILE=$binary OPTIONS=$2 THRESHOLDS=$'failed_share<=0.01\np90<700ms' \
      "$action") || status=$?
    [ "$status" -eq 11 ] || break
  done
  if [ "$status" -ne "$wanted" ]; then
    echo "expected the gate to end with $wanted, not $status: $2" >&2
    return 1
  fi
}
binary=$PWD/target/debug/turnstile action=$PWD/scripts/action.sh
gate 0 "--reuseport --read-policy bytes:64KiB --trace off"
gate 10 "--reuseport --trace off"
echo "4 passed, 0 failed"
