#!/usr/bin/env bash
# Drives the program's hooks, with recorded payloads and transcripts, against real
# EverOS servers with a stub model behind them, and looks at what EverOS then has:
# files on disk and answers to searches (the design's acceptance, 12.1 to 12.3).
#
# usage: tests/peers/everos_server.sh [CACHE]
# $APKIT_EVEROS_VERSIONS names the versions (default: 1.5.1 1.3.1).
source "$(dirname "$0")/everos_common.bash"
needs everos/start_everos.sh

build
for version in ${APKIT_EVEROS_VERSIONS:-1.5.1 1.3.1}; do
    install_everos "$version"
    check everos_server.py --version "$version"
done
