#!/usr/bin/env bash
# Exports plugins for the real clients and compares what those load with what
# `apkit inspect` announces.
#
# usage: tests/peers/export.sh [CACHE]
# CACHE (or $APKIT_PEERS_CACHE; default: apkit-peers below the user's cache
# directory) keeps the clients between runs. The drivers of the clients are no
# part of this project: they are looked for in ../shared beside the checkout.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}
claude=$top/../shared/claude-code
clients=$top/../shared/clients

if [ ! -f "$claude/run_claude.sh" ] || [ ! -f "$clients/codex_load.sh" ]; then
    echo "SKIPPED: exports were not tried with Claude Code, Codex and Copilot, since $claude or $clients is not there"
    exit 0
fi

fail() {
    echo "export.sh: $1" >&2
    echo "what was seen is kept in $work" >&2
    exit 1
}

work=$(mktemp -d)
# The debug build, which the tests use, too: a release build may be an old one.
(cd "$top" && cargo build --locked --quiet)
apkit=${CARGO_TARGET_DIR:-$top/target}/debug/apkit
bash "$claude/run_claude.sh" --cache "$cache/claude" --install-only >/dev/null

python3 "$here/export_inputs.py" "$work/in"

# One home for each input, so that no plugin sees another.
run_claude() {
    local rc=0
    bash "$claude/run_claude.sh" --cache "$cache/claude" --out "$work/claude/$name" "$@" || rc=$?
    [ "$rc" = 0 ] || fail "claude ended with $rc: $(cat "$work/claude/$name/stdout" "$work/claude/$name/stderr")"
}

# Every input, for all clients at once, alone and in a marketplace.
for input in "$work"/in/*; do
    name=$(basename "$input")
    for form in package market; do
        more=()
        [ "$form" = market ] && more=(--marketplace)
        "$apkit" export "$input" --out "$work/$form/$name" --target all "${more[@]}" >"$work/$name.$form.txt" ||
            [ $? = 1 ] || fail "$name was not exported: $(cat "$work/$name.$form.txt")"
    done
    "$apkit" inspect "$work/package/$name" --format json >"$work/$name.inspect.json"

    run_claude -- plugin validate --strict "$work/package/$name"
    run_claude -- plugin validate --strict "$work/market/$name"
    run_claude -- plugin marketplace add "$work/market/$name"
    run_claude -- plugin install "$name@$name"
    run_claude -- plugin details "$name@$name"
    cp "$work/claude/$name/stdout" "$work/$name.claude.txt"
    run_claude -- -p "Hello" --output-format stream-json --verbose --include-hook-events
    cp "$work/claude/$name/stdout" "$work/$name.claude.jsonl"

    # 77 is how the drivers say that a client cannot run here.
    for client in codex copilot; do
        rc=0
        CLIENTS_CACHE=$cache/clients bash "$clients/${client}_load.sh" "$work/package/$name" \
            >"$work/$name.$client.jsonl" 2>"$work/$name.$client.err" || rc=$?
        if [ "$rc" = 77 ]; then
            echo "SKIPPED: $name was not tried with $client: $(tail -n 1 "$work/$name.$client.err")"
            rm "$work/$name.$client.jsonl"
        elif [ "$rc" != 0 ]; then
            fail "$client ended with $rc on $name: $(cat "$work/$name.$client.jsonl" "$work/$name.$client.err")"
        fi
    done
    # The hooks of a plugin for Codex are a second plugin.
    if [ -d "$work/package/$name/com.openai.codex/.codex-plugin" ]; then
        rc=0
        CLIENTS_CACHE=$cache/clients bash "$clients/codex_load.sh" "$work/package/$name/com.openai.codex" \
            >"$work/$name.hooks.jsonl" 2>"$work/$name.hooks.err" || rc=$?
        [ "$rc" = 77 ] && rm "$work/$name.hooks.jsonl"
    fi
done

python3 "$here/export_check.py" "$work" || fail "a check failed"
rm -rf "$work"
