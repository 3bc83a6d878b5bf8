#!/usr/bin/env bash
# The step of action.yml: finds or builds apkit, validates, annotates. Inputs
# come as APKIT_* variables, never pasted into a command.
set -euo pipefail

fail() {
  echo "::error title=apkit::$1"
  [ -z "${GITHUB_OUTPUT:-}" ] || echo "status=2" >>"$GITHUB_OUTPUT"
  exit 2
}

program=${APKIT_PROGRAM:-}
if [ -n "$program" ] && [ ! -x "$program" ]; then
  fail "the input apkit names no program: $program"
fi
if [ -z "$program" ]; then
  program=$(command -v apkit || true)
fi
if [ -z "$program" ]; then
  command -v cargo >/dev/null ||
    fail "neither apkit nor cargo is on PATH; install Rust 1.88 or newer before this step, or set the input apkit"
  # Kept between steps of a job; a cache step may keep it between jobs.
  root=${RUNNER_TOOL_CACHE:-${RUNNER_TEMP:-/tmp}}/apkit
  program=$root/bin/apkit
  [ -x "$program" ] || cargo install --locked --quiet --path "$APKIT_ACTION_PATH" --root "$root"
fi

arguments=(--fail-on "${APKIT_FAIL_ON:-skipped}")
case ${APKIT_RECURSIVE:-true} in
true) arguments+=(--recursive) ;;
false) ;;
*) fail "the input recursive is neither true nor false: $APKIT_RECURSIVE" ;;
esac
[ -n "${APKIT_SPEC_DRAFT:-}" ] && arguments+=(--spec-draft "$APKIT_SPEC_DRAFT")
paths=()
while read -r path; do
  path=${path%$'\r'}
  [ -n "$path" ] && paths+=("$path")
done <<<"${APKIT_PATHS:-.}"

status=0
"$program" validate "${arguments[@]}" --format github -- "${paths[@]}" || status=$?
if [ -n "${APKIT_SARIF_FILE:-}" ] && [ "$status" -ne 2 ]; then
  # The same findings again; their status is known already.
  "$program" validate "${arguments[@]}" --format sarif --output "$APKIT_SARIF_FILE" -- "${paths[@]}" || [ $? -eq 1 ] ||
    fail "the SARIF report could not be written to $APKIT_SARIF_FILE"
fi
[ -z "${GITHUB_OUTPUT:-}" ] || echo "status=$status" >>"$GITHUB_OUTPUT"
exit "$status"
