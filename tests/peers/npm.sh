#!/usr/bin/env bash
# Imports packages from a real npm registry server (verdaccio) that npm itself
# publishes to: scopes, a private package, tags, ranges, a new version, a version
# that is gone. Then fetches real packages of the registry that npm is configured
# for, and compares what is pinned with what npm says.
#
# usage: tests/peers/npm.sh [CACHE]
# CACHE (or $APKIT_PEERS_CACHE; default: apkit-peers below the user's cache
# directory) keeps the server between runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}

version=6.2.9
home=$cache/verdaccio-$version
work=$(mktemp -d)
server=
cleanup() {
    local rc=$?
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ "$rc" != 0 ] || rm -rf "$work"
}
trap cleanup EXIT
fail() {
    echo "npm.sh: $1" >&2
    echo "what was seen is kept in $work" >&2
    exit 1
}

if [ ! -x "$home/node_modules/.bin/verdaccio" ]; then
    rm -rf "$home"
    mkdir -p "$home"
    # It asks for node-fetch by a tag that not every mirror passes on.
    cat >"$home/package.json" <<JSON
{"private": true, "dependencies": {"verdaccio": "$version"}, "overrides": {"node-fetch": "2.6.7"}}
JSON
    (cd "$home" && npm install --silent --ignore-scripts --no-audit --no-fund)
fi

(cd "$top" && cargo build --locked --quiet)
apkit=${CARGO_TARGET_DIR:-$top/target}/debug/apkit

# The server: @private is for who has logged in, the rest for everybody.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
registry=http://127.0.0.1:$port
cat >"$work/verdaccio.yaml" <<YAML
storage: $work/storage
auth:
  htpasswd:
    file: $work/htpasswd
packages:
  '@private/*':
    access: \$authenticated
    publish: \$authenticated
    unpublish: \$authenticated
  '**':
    access: \$all
    publish: \$authenticated
    unpublish: \$authenticated
log: {type: stdout, format: json, level: http}
YAML
"$home/node_modules/.bin/verdaccio" --config "$work/verdaccio.yaml" --listen "127.0.0.1:$port" >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 150); do
    curl -sf --noproxy '*' -o "$work/ping" "$registry/-/ping" && break
    kill -0 "$server" 2>/dev/null || fail "the server ended"
    sleep 0.2
done
[ -e "$work/ping" ] || fail "the server does not answer"

# Two users of this machine: one has logged in, the other has not.
token=$(curl -sf --noproxy '*' -X PUT "$registry/-/user/org.couchdb.user:tide" \
    -H 'content-type: application/json' -d '{"name": "tide", "password": "high-and-low"}' |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["token"])')
mkdir -p "$work/member" "$work/guest"
printf 'registry=%s/\n//127.0.0.1:%s/:_authToken=${TIDE_TOKEN}\n' "$registry" "$port" >"$work/member/.npmrc"
printf 'registry=%s/\n' "$registry" >"$work/guest/.npmrc"
as() {
    local who=$1
    shift
    (cd "$work/$who" && env -i PATH="$PATH" HOME="$work/$who" TIDE_TOKEN="$token" "$@")
}

# publish NAME VERSION TAG WORD [DIRECTORY]: a package whose skill says WORD.
publish() {
    local directory=$work/publish/$RANDOM$RANDOM
    local inner=$directory/${5:-.}
    mkdir -p "$inner/skills/tides"
    printf '{"name": "%s", "version": "%s"}\n' "$1" "$2" >"$directory/package.json"
    printf '{"$schema": "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json", "name": "%s", "version": "%s"}\n' \
        "$(basename "$1")" "$2" >"$inner/plugin.json"
    printf -- '---\nname: tides\ndescription: Tells the tides. Use it for questions about them.\n---\n\n%s\n' "$4" \
        >"$inner/skills/tides/SKILL.md"
    as member npm publish --silent --tag "$3" "$directory" >"$work/publish.log" 2>&1 ||
        fail "npm publish $1@$2: $(cat "$work/publish.log")"
}
publish tide-table 1.0.0 latest one
publish tide-table 1.2.0 latest two
publish tide-table 2.0.0-rc.1 next three
publish @open/deep 1.0.0 latest deep plugin
publish @private/secret 1.0.0 latest secret

# says WORD STORE NAME: the skill of the installed package says WORD.
says() {
    grep -qx "$1" "$2/plugins/$3/skills/tides/SKILL.md" || fail "$3 in $2 does not say $1"
}
# pinned WHO NAME@VERSION STORE: the lock has the integrity that npm states.
pinned() {
    local integrity
    integrity=$(as "$1" npm view --silent "$2" dist.integrity)
    case $integrity in sha512-*) ;; *) fail "npm view $2: $integrity" ;; esac
    grep -qF "$integrity" "$3/apkit.lock" || fail "the lock of $3 has not $integrity, as npm has for $2"
}
for case in "tide-table two 1.2.0" "tide-table@~1.0.0 one 1.0.0" "tide-table@next three 2.0.0-rc.1" "tide-table@^1 two 1.2.0"; do
    read -r wanted word exactly <<<"$case"
    as guest "$apkit" import "npm:$wanted" --root "$work/store-$word" >"$work/out" 2>&1 || fail "$wanted: $(cat "$work/out")"
    says "$word" "$work/store-$word" tide-table
    pinned guest "tide-table@$exactly" "$work/store-$word"
done
as guest "$apkit" import "npm:@open/deep?path=plugin" --root "$work/store" >"$work/out" 2>&1 || fail "deep: $(cat "$work/out")"
says deep "$work/store" deep

# The private one: only for who may, and only with the variable set.
as member "$apkit" import npm:@private/secret --root "$work/store" >"$work/out" 2>&1 || fail "secret: $(cat "$work/out")"
says secret "$work/store" secret
pinned member @private/secret@1.0.0 "$work/store"
if as guest "$apkit" import npm:@private/secret --root "$work/store-none" >"$work/out" 2>&1; then
    fail "a guest got the private package"
fi
grep -q "npm login" "$work/out" || fail "no way out is named: $(cat "$work/out")"
if as member env -u TIDE_TOKEN "$apkit" import npm:@private/secret --root "$work/store-none" >"$work/out" 2>&1; then
    fail "the private package came without a token"
fi
grep -q "TIDE_TOKEN" "$work/out" || fail "the variable is not named: $(cat "$work/out")"
! grep -rqF "$token" "$work/out" "$work"/store*/apkit.lock || fail "the token was written somewhere"

# A range follows what is published; the pin stays until then.
publish tide-table 1.3.0 latest four
as guest "$apkit" import --frozen --root "$work/store-two" >"$work/out" 2>&1 || fail "frozen: $(cat "$work/out")"
says two "$work/store-two" tide-table
as guest "$apkit" update --root "$work/store-two" >"$work/out" 2>&1 || fail "update: $(cat "$work/out")"
says four "$work/store-two" tide-table
pinned guest tide-table@1.3.0 "$work/store-two"
as member npm unpublish --silent --force tide-table@1.0.0 >"$work/publish.log" 2>&1 || fail "$(cat "$work/publish.log")"
if as guest "$apkit" import npm:tide-table@1.0.0 --root "$work/store-none" >"$work/out" 2>&1; then
    fail "a version came that is gone"
fi
grep -q '1\.3\.0' "$work/out" || fail "the versions that are there are not named: $(cat "$work/out")"
[ ! -e "$work/store-none/plugins" ] || [ -z "$(ls -A "$work/store-none/plugins")" ] || fail "something was installed"
echo "npm packages are imported from verdaccio $version as npm has them"

# Real packages, through the npm configuration of whoever runs this: skills at the
# top, skills below another directory, a single directory of them.
cat >"$work/expected" <<EOT
@ant-design/x-skill@2.9.0 skills/x-card/SKILL.md
@ckelsoe/claude-skill-prompt-architect@2.1.4 prompt-architect/SKILL.md
@wednesday-solutions-eng/ai-agent-skills@1.1.0 skills/wednesday-dev/SKILL.md
chrome-devtools-mcp@1.11.0 skills/a11y-debugging/SKILL.md
agent-reviews@0.7.0 .claude-plugin/plugin.json
EOT
export APKIT_REAL_PACKAGES=$work/real
while read -r name file; do
    printf '%s %s %s\n' "$name" "$file" "$(npm view --silent "$name" dist.integrity)"
done <"$work/expected" >"$APKIT_REAL_PACKAGES"
cd "$top"
output=$(cargo test --locked --test it -- --ignored --exact source_npm::real_packages_are_fetched_as_npm_has_them 2>&1) || {
    printf '%s\n' "$output" >&2
    exit 1
}
# A filter that matches nothing also succeeds.
case $output in
*"1 passed; 0 failed"*) echo "real packages are fetched as npm has them: $(wc -l <"$APKIT_REAL_PACKAGES")" ;;
*)
    printf '%s\n' "$output" >&2
    fail "the check did not run"
    ;;
esac
