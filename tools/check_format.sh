#!/bin/sh
# check_format.sh - clang-format has nothing to say about any C file; `check_format.sh fix` lets it act.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
fix) act="-i" ;;
*) act="--dry-run --Werror" ;;
esac
python3 tools/tree.py '*.c' '*.h' '*.inc' | xargs clang-format --style=file $act
