#!/usr/bin/env bash
# The step of action.yml: finds or builds apkit, validates, annotates. Inputs
# come as APKIT_* variables, never pasted into a command.
set -euo pipefail

program=${APKIT_PROGRAM:-}
if [ -z "$program" ]; then
  program=$(command -v apkit || true)
fi
if [ -z "$program" ]; then
  command -v cargo >/dev/null || {
    echo "::error title=apkit::neither apkit nor cargo is on PATH; install Rust before this step, or set the input apkit"
    exit 2
  }
  # Kept between steps of a job; a cache step may keep it between jobs.
  root=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/apkit
  program=$root/bin/apkit
  [ -x "$program" ] || cargo install --locked --quiet --path "$APKIT_ACTION_PATH" --root "$root"
fi

arguments=(--fail-on "${APKIT_FAIL_ON:-skipped}")
[ "${APKIT_RECURSIVE:-true}" = true ] && arguments+=(--recursive)
[ -n "${APKIT_SPEC_DRAFT:-}" ] && arguments+=(--spec-draft "$APKIT_SPEC_DRAFT")
paths=()
while IFS= read -r path; do
  [ -n "$path" ] && paths+=("$path")
done <<<"${APKIT_PATHS:-.}"

status=0
"$program" validate "${arguments[@]}" --format github -- "${paths[@]}" || status=$?
if [ -n "${APKIT_SARIF_FILE:-}" ] && [ "$status" -ne 2 ]; then
  # The same findings again; their status is known already.
  "$program" validate "${arguments[@]}" --format sarif --output "$APKIT_SARIF_FILE" -- "${paths[@]}" || [ $? -eq 1 ]
fi
[ -z "${GITHUB_OUTPUT:-}" ] || echo "status=$status" >>"$GITHUB_OUTPUT"
exit "$status"
