#!/usr/bin/env bash
# Runs the real Claude Code CLI with the exported everos package through every kind
# of session: tools, errors, interruptions, compaction, forks, subagents. The CLI
# talks to a scripted stand-in for its model, the hooks to a stand-in for EverOS
# that records; compared is what each of them was sent.
#
# usage: tests/peers/everos_scenarios.sh [CACHE]
source "$(dirname "$0")/everos_common.bash"
needs claude-code/run_claude.sh
command -v tmux >/dev/null || fail "tmux is needed for sessions in a terminal"

build
install_claude
check everos_scenarios.py
