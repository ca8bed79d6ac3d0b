#!/bin/sh
# check_cppcheck.sh - cppcheck over src/ and cli/: check_cppcheck.sh [FILE..].
#
# tools/cppcheck.txt lists where it is wrong, and why.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
if [ $# = 0 ]; then set -- src cli; fi
exec cppcheck -j "${JOBS:-2}" --std=c11 --library=posix --enable=warning,portability,performance --quiet \
    --inline-suppr --suppressions-list=tools/cppcheck.txt --error-exitcode=1 -D__GNUC__=12 -D__x86_64__ \
    -Iinclude -Isrc -Icli --template='{file}:{line}: {message} [{id}]' "$@"
