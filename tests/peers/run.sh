#!/usr/bin/env bash
# Runs every test against a real peer; a peer that cannot be installed is a
# failure, never a skip. A test whose driver is no part of this project says
# SKIPPED if the driver is not there.
#
# usage: tests/peers/run.sh [CACHE]
# CACHE (or $APKIT_PEERS_CACHE) keeps what the peers install between runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export APKIT_PEERS_CACHE=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}
mkdir -p "$APKIT_PEERS_CACHE"

for peer in "$here"/*.sh; do
    [ "$(basename "$peer")" = run.sh ] && continue
    printf '\n--- %s\n' "$(basename "$peer")"
    bash "$peer"
done
