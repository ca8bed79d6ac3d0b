#!/bin/bash
# check_tidy.sh - clang-tidy with .clang-tidy over src/ and cli/: check_tidy.sh [FILE..].
#
# The flags come from the build; assertions are on, because an analyser learns from them.  Files named are
# compiled by themselves.
# SPDX-License-Identifier: MIT
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
if [ $# -gt 0 ]; then
    clang-tidy --quiet "$@" -- -std=c11 -Iinclude -Isrc -Icli
    exit
fi
folder=${BUILD:-$PWD/build}
cmake -S . -B "$folder" >/dev/null || exit 1
said=$(run-clang-tidy -quiet -p "$folder" -j "${JOBS:-2}" -extra-arg=-UNDEBUG "$PWD/(src|cli)/" 2>&1)
status=$?
# One line per finding: a header is read by many, and colours are for a terminal.
sed 's/\x1b\[[0-9;]*m//g' <<<"$said" | grep -E ': (warning|error): |^Error' | sed "s|^$PWD/||" | sort -u
exit $status
