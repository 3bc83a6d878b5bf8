#!/bin/sh
# Turns fixtures into inputs: conformance cases for the targets `package` and
# `archive` (the latter with GNU tar and Python 3), recorded transcripts and
# payloads for `transcript` and `hook_input`.
set -eu
cd "$(dirname "$0")/.."
corpus=fuzz/corpus/package
mkdir -p "$corpus"
for package in conformance-fixtures/*/*/package; do
    case=${package%/package}
    input=$corpus/$(basename "$(dirname "$case")")-$(basename "$case")
    (
        cd "$package"
        find . \( -type f -size -16k -o -type l \) | sort | while IFS= read -r path; do
            if [ -L "$path" ]; then
                printf '%s -> %s\0' "${path#./}" "$(readlink "$path")"
            else
                printf '%s\n' "${path#./}"
                cat "$path"
                printf '\0'
            fi
        done
    ) >"$input"
done
for target in transcript hook_input; do
    mkdir -p "fuzz/corpus/$target"
done
cp tests/fixtures/claude-code/transcripts/*.jsonl fuzz/corpus/transcript/
cp tests/fixtures/claude-code/hooks/*.json fuzz/corpus/hook_input/

corpus=fuzz/corpus/archive
mkdir -p "$corpus"
for package in conformance-fixtures/*/*/package; do
    case=${package%/package}
    input=$corpus/$(basename "$(dirname "$case")")-$(basename "$case")
    for format in gnu pax ustar; do
        tar --format=$format -cf "$input-$format" -C "$case" package
    done
    tar -czf "$input-gzip" -C "$case" package
    python3 -m zipfile -c "$input-zip" "$package"
done
