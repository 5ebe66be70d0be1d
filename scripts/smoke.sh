#!/usr/bin/env bash
# The main job, its result checked: starved by a draining proxy, not by one that asks FIONREAD.
# Three trials of each at most: a host that is busy with other work answers `inconclusive`.
set -euo pipefail
cd "$(dirname "$0")/.."
runs=$(mktemp -d)
trap 'rm -rf "$runs"' EXIT

# expect LABEL VERDICTS ARGS...: one of VERDICTS (as a|b) within three trials.
expect() {
  local label=$1 verdicts=$2 summary verdict attempt
  shift 2
  for attempt in 1 2 3; do
    summary=$(cargo run --quiet --locked -p harness -- --quiet --json --runs-dir "$runs" "$@")
    verdict=$(python3 -c 'import json, sys
s = json.load(sys.stdin)
m = s["measure"]
assert sum(m["outcomes"].values()) == m["attempts"], "outcomes do not add up"
print(s["verdict"], *s["verdict_reasons"], sep="\n  ")' <<<"$summary")
    printf '%s, trial %s: %s\n' "$label" "$attempt" "$verdict"
    case "|$verdicts|" in *"|${verdict%%$'\n'*}|"*) return 0 ;; esac
    [ "${verdict%%$'\n'*}" = inconclusive ] || break
  done
  echo "expected $verdicts from: turnstile $*" >&2
  return 1
}

expect "drain" "starved" --reuseport
expect "fionread" "healthy|degraded" --reuseport --read-policy fionread
echo "2 passed, 0 failed"
