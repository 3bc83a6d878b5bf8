#!/usr/bin/env bash
# The real Claude Code CLI with the exported everos package and a real EverOS: what
# one session decides, the next one is told, in a worktree, too, and nowhere else.
# Only the models of both are scripted stand-ins.
#
# usage: tests/peers/everos_sessions.sh [CACHE]
source "$(dirname "$0")/everos_common.bash"
needs claude-code/run_claude.sh everos/start_everos.sh

build
install_claude
install_everos 1.5.1
check everos_sessions.py
