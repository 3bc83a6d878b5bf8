#!/usr/bin/env bash
# Runs real MCP servers through `apkit mcp` and puts `apkit mcp serve` before real
# clients: servers of npm and PyPI over stdio, the official SDKs over Streamable HTTP
# and HTTP+SSE, old and new versions of the protocol on both sides, and Claude Code.
#
# usage: tests/peers/mcp.sh [CACHE]
# CACHE (or $APKIT_PEERS_CACHE; default: apkit-peers below the user's cache
# directory) keeps what is installed between runs.
# shellcheck source=everos_common.bash
source "$(dirname "$0")/everos_common.bash"

servers=2026.8.31
fetch=2026.10.24
time=2026.10.19
python_new=2.3.0
python_old=1.13.1

# node NAME DEPENDENCIES: a directory with these packages, made anew when they change.
node() {
    local home=$cache/mcp-$1 wanted
    wanted="{\"private\": true, \"dependencies\": {$2}}"
    [ "$(cat "$home/installed.json" 2>/dev/null)" = "$wanted" ] && return
    rm -rf "$home"
    mkdir -p "$home"
    printf '%s\n' "$wanted" >"$home/package.json"
    (cd "$home" && npm install --silent --ignore-scripts --no-audit --no-fund) || fail "npm install of $1"
    printf '%s\n' "$wanted" >"$home/installed.json"
}
# What a package brings along, and the SDK of three versions of the protocol.
node bundle "\"@modelcontextprotocol/server-sequential-thinking\": \"$servers\""
node sdk '"sdk-2024-11-05": "npm:@modelcontextprotocol/sdk@1.4.1", "sdk-2025-03-26": "npm:@modelcontextprotocol/sdk@1.12.3", "sdk-2025-11-25": "npm:@modelcontextprotocol/sdk@1.32.2"'
node everything "\"@modelcontextprotocol/server-everything\": \"$servers\""

# What npx fetches on a first start; the checks run without a network.
for server in everything memory filesystem; do
    if [ ! -e "$cache/mcp-npx/$server-$servers" ]; then
        npm_config_cache=$cache/mcp-npx npx -y -p "@modelcontextprotocol/server-$server@$servers" -c true </dev/null >/dev/null ||
            fail "npx of server-$server"
        touch "$cache/mcp-npx/$server-$servers"
    fi
done

# python VENV PACKAGE...
python() {
    local home=$cache/mcp-$1
    [ "$(cat "$home/installed" 2>/dev/null)" = "$*" ] && return
    rm -rf "$home"
    python3 -m venv "$home" || fail "python3 -m venv"
    "$home/bin/pip" install --quiet --disable-pip-version-check "${@:2}" || fail "pip install ${*:2}"
    printf '%s\n' "$*" >"$home/installed"
}
python "python-$python_new" "mcp==$python_new" "mcp-server-fetch==$fetch" "mcp-server-time==$time"
# The old SDK does not know what pydantic has become.
python "python-$python_old" "mcp==$python_old" pydantic==2.11.7

[ ! -f "$shared/claude-code/run_claude.sh" ] || install_claude
build
started=$SECONDS
check mcp_check.py --servers "$servers" --new "$cache/mcp-python-$python_new" --old "$cache/mcp-python-$python_old"
