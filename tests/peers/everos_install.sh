#!/usr/bin/env bash
# The life of an installed everos package in the real Claude Code CLI: marketplace,
# install with options, disable, enable, update, uninstall.
#
# usage: tests/peers/everos_install.sh [CACHE]
source "$(dirname "$0")/everos_common.bash"
needs claude-code/run_claude.sh

build
install_claude
check everos_install.py
