#!/bin/sh
# Turns the conformance fixtures into inputs of the target `package`.
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
