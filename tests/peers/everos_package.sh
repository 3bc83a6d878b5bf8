#!/usr/bin/env bash
# Installs the exported everos package into the real Claude Code CLI and checks
# that its hooks run and that its skills reach the program. The CLI talks to a
# scripted stand-in for its model, the hooks to a stand-in for EverOS.
#
# usage: tests/peers/everos_package.sh [CACHE]
# CACHE (or $APKIT_PEERS_CACHE; default: apkit-peers below the user's cache
# directory) keeps the CLI between runs. The driver of the CLI is no part of this
# project: it is looked for in ../shared beside the checkout.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}
driver=$top/../shared/claude-code

if [ ! -f "$driver/run_claude.sh" ]; then
    echo "SKIPPED: the everos package was not tried with Claude Code, since $driver/run_claude.sh is not there"
    exit 0
fi

fail() {
    echo "everos_package.sh: $1" >&2
    echo "what was seen is kept in $work" >&2
    exit 1
}

bash "$driver/run_claude.sh" --cache "$cache/claude" --install-only >/dev/null
work=$(mktemp -d)
out=$work/out
record=$work/everos.jsonl
touch "$record"

# The debug build, which the tests use, too: a release build may be an old one.
(cd "$top" && cargo build --locked --quiet)
apkit=${CARGO_TARGET_DIR:-$top/target}/debug/apkit
"$apkit" export builtin:everos --out "$work/the memory" --marketplace

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
claude() {
    local rc=0
    bash "$driver/run_claude.sh" --cache "$cache/claude" --out "$out" "$@" || rc=$?
    [ "$rc" = 0 ] || fail "claude ended with $rc: $(cat "$out/stdout" "$out/stderr")"
}
stand_in=(--also "exec python3 '$here/everos_stand_in.py' $port '$record'")

for path in "$work/the memory" "$work/the memory/everos"; do
    claude -- plugin validate --strict "$path"
done
claude -- plugin marketplace add "$work/the memory"
claude -- plugin install everos@everos --config "base_url=http://127.0.0.1:$port"
claude -- plugin list --json
cp "$out/stdout" "$work/list.json"

claude "${stand_in[@]}" --scenario "$driver/scenarios/simple.json" -- \
    -p "Which lint tool does this repository use?" --output-format stream-json --verbose
cp "$out/stdout" "$work/first.jsonl"

# The model does what the status skill says.
cat >"$work/status.json" <<JSON
{"name": "status", "turns": [
  {"blocks": [{"type": "tool_use", "name": "Bash", "input": {
    "command": "\"$work/the memory/everos/skills/status/../../bin/apkit\" everos status --json",
    "description": "Memory status"}}]},
  {"blocks": [{"type": "text", "text": "Memory works."}]}
]}
JSON
claude "${stand_in[@]}" --scenario "$work/status.json" -- \
    -p "/everos:status" --allowedTools Bash --output-format stream-json --verbose
cp "$out/stdout" "$work/second.jsonl"

python3 "$here/everos_package_check.py" "$work" "$port" "$("$apkit" --version | cut -d' ' -f2)" ||
    fail "a check failed"
rm -rf "$work"
