# What the everos peers share; sourced, not run. Sets here, top, cache, apkit,
# work (a temporary directory, removed when all went well) and EVEROS_PEER_*.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}
# The drivers of the peers are no part of this project: they are looked for in
# ../shared beside the checkout.
shared=$top/../shared
name=$(basename "$0")
started=$SECONDS

# needs FILE...: ends this script, visibly, if a driver is not there.
needs() {
    local file
    for file in "$@"; do
        if [ ! -f "$shared/$file" ]; then
            echo "SKIPPED: $name was not run, since $shared/$file is not there"
            exit 0
        fi
    done
}

fail() {
    echo "$name: $1" >&2
    [ -z "${work:-}" ] || echo "what was seen is kept in $work" >&2
    exit 1
}

# The debug build, which the tests use, too: a release build may be an old one.
build() {
    (cd "$top" && ${CARGO:-cargo} build --locked --quiet)
    apkit=${CARGO_TARGET_DIR:-$top/target}/debug/apkit
}

install_claude() {
    bash "$shared/claude-code/run_claude.sh" --cache "$cache/claude" --install-only >/dev/null ||
        fail "Claude Code could not be installed"
}

# install_everos VERSION: the driver installs on a first start.
install_everos() {
    local venv=$cache/everos-$1 warm
    "$venv/bin/python" -c "
import importlib.metadata as m, sys
sys.exit(m.version('everos') != '$1')" 2>/dev/null && return
    mkdir -p "$cache"
    warm=$(mktemp -d)
    APKIT_EVEROS_VERSION=$1 bash "$shared/everos/start_everos.sh" --venv "$venv" --dir "$warm" >/dev/null ||
        fail "EverOS $1 could not be installed"
    bash "$shared/everos/stop_everos.sh" --dir "$warm" >/dev/null
    rm -rf "$warm"
}

# check SCRIPT ARGUMENT...: runs a Python script of this directory where nothing
# but the loopback interface exists, if the kernel allows that.
check() {
    local inside=()
    if unshare -n true 2>/dev/null; then
        export APKIT_CC_INSIDE=1
        # shellcheck disable=SC2016
        inside=(unshare -n bash -c 'ip link set lo up 2>/dev/null || true; exec "$@"' _)
    fi
    work=$(mktemp -d)
    "${inside[@]}" env PYTHONDONTWRITEBYTECODE=1 python3 "$here/$1" \
        --work "$work" --apkit "$apkit" --shared "$shared" --cache "$cache" "${@:2}" ||
        fail "a check failed"
    rm -rf "$work"
    echo "$name: $((SECONDS - started)) s"
}
