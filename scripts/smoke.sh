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
echo "2 passed, 0 failed"
