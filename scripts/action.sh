#!/usr/bin/env bash
# What action.yml runs: a check with the inputs of the action. Annotations and the summary of the job
# are written by `turnstile check` itself, which knows its place by GITHUB_ACTIONS.
#
#   TURNSTILE=turnstile OPTIONS='--reuseport' THRESHOLDS='p90<500ms' ROUNDS=1 scripts/action.sh
set -euo pipefail

: "${TURNSTILE:=turnstile}" "${ROUNDS:=1}" "${OPTIONS:?name the options of a trial}"
: "${THRESHOLDS:?name at least one threshold}"

arguments=(check --rounds "$ROUNDS" --junit turnstile.xml)
while read -r threshold; do
  [ -z "$threshold" ] || arguments+=(--threshold "$threshold")
done <<<"$THRESHOLDS"
# The options are words of a shell, with its quotes; nothing in them is expanded or run.
mapfile -d '' -t options < <(xargs printf '%s\0' <<<"$OPTIONS")
exec "$TURNSTILE" "${arguments[@]}" -- "${options[@]}"
