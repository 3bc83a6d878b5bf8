#!/usr/bin/env bash
# Checks what `apkit validate --format sarif` writes against the official SARIF
# 2.1.0 schema, which the crate serde-sarif ships in its sources.
#
# usage: tests/peers/sarif.sh [CACHE]
# CACHE (or $APKIT_PEERS_CACHE; default: apkit-peers below the user's cache
# directory) keeps the schema between runs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${1:-${APKIT_PEERS_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/apkit-peers}}

version=0.8.0
home=$cache/sarif-$version
schema=$home/schema.json

if [ ! -s "$schema" ]; then
    rm -rf "$home"
    mkdir -p "$home/src"
    : >"$home/src/lib.rs"
    cat >"$home/Cargo.toml" <<EOF
[package]
name = "sarif-schema"
version = "0.0.0"
edition = "2021"

[dependencies]
serde-sarif = { version = "=$version", default-features = false }

[workspace]
EOF
    (cd "$home" && cargo vendor --quiet --versioned-dirs vendor >/dev/null)
    cp "$home/vendor/serde-sarif-$version/src/schema.json" "$schema"
    rm -rf "$home/vendor"
fi

cd "$here/../.."
export APKIT_SARIF_SCHEMA=$schema
output=$(cargo test --locked --test it -- --ignored --exact \
    sarif::sarif_is_valid_against_the_official_schema 2>&1) || {
    printf '%s\n' "$output" >&2
    exit 1
}
# A filter that matches nothing also succeeds.
case $output in
*"1 passed; 0 failed"*) echo "SARIF is valid against the official schema ($schema)" ;;
*)
    printf '%s\n' "$output" >&2
    echo "the check did not run" >&2
    exit 1
    ;;
esac
