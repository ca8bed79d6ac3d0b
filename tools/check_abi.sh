#!/bin/bash
# check_abi.sh - programs linked with an earlier libfabayes.so still run with this one.
#
#   tools/check_abi.sh [LIBRARY]          compare with tools/abi/libfabayes.abi, what was promised
#   tools/check_abi.sh renew [LIBRARY]    promise what the library has today
#
# LIBRARY has debug information; without it one is built in BUILD-abi/.
#
# abidw and abidiff of libabigail compare the exported functions and the types of include/.  New
# functions, new names at the end of an enum and new members at the end of a struct pass; what else
# changed is printed, and fails.  A function that returns such a struct by value is a note: programs that
# call it must be compiled again.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${BUILD:-$PWD/build}-abi
kept=tools/abi/libfabayes.abi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

renew=
if [ "${1:-}" = renew ]; then renew=yes && shift; fi
library=${1:-}
if [ -z "$library" ]; then
    cmake -S . -B "$folder" -DFAB_TESTS=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O0 -g" >/dev/null
    cmake --build "$folder" -j "${JOBS:-2}" --target fabayes_shared
    library=$folder/libfabayes.so
fi

# Public types only, and nothing that tells where the tree lay.
abidw --headers-dir include --drop-private-types --drop-undefined-syms --exported-interfaces-only \
    --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names \
    --no-write-default-sizes --type-id-style hash --out-file "$tmp/new" "$library"
sed -i "s| path='[^']*/src/| path='src/|" "$tmp/new"
if [ $renew ]; then
    mkdir -p tools/abi
    cp "$tmp/new" $kept
    wc -c $kept
    exit 0
fi

# abidiff: 0 the same, 4 and 8 a change, 1 and 2 that it could not compare.
status=0
abidiff --leaf-changes-only --harmless --no-added-syms $kept "$tmp/new" >"$tmp/changes" || status=$?
if [ $((status & 3)) != 0 ] || [ $status -gt 15 ]; then
    cat "$tmp/changes"
    echo "$kept: abidiff cannot compare it with $library"
    exit 1
fi

# Every line that only says "grown at the end" passes; one line of another kind, and all is shown.
awk '
/^ *$/ || /^Leaf changes summary|^Changed leaf types summary|^Removed\/Changed\/Added/ { next }
/^[0-9]+ functions? with some sub-type changes?:$/ || /has some sub-type changes:$/ { next }
/ (return type|parameter [0-9]+ of type .*) changed:$/ || / type .* of .* changed:$/ { next }
/(struct|enum) [^ ]* changed:$/ || /there are data member changes:$/ { next }
/ reported earlier$/ || / being reported$/ { next }
/ type size changed from [0-9]+ to [0-9]+ / { match($0, /from .* to /); split(substr($0, RSTART), word, " ")
    size = word[2]; if (word[4] + 0 < size + 0) bad = 1
    next }
/ type size hasn.t changed$/ { size = "inf"; next }
/ data member insertions?:$/ { next }
/, at offset [0-9]+ \(in bits\)$/ { match($0, /at offset [0-9]+/)
    if (size == "inf" || substr($0, RSTART + 10) + 0 < size + 0) bad = 1
    next }
/ enumerator insertions?:$/ || /::[A-Z0-9_a-z]+. value .[-0-9]+.$/ { next }
{ bad = 1 }
END { exit bad }' "$tmp/changes" && {
    grep -B 1 'return type changed:' "$tmp/changes" | sed -n "s/.*'function \(.*\)' has .*/note: \1 returns a struct that grew/p" || true
    exit 0
}
cat "$tmp/changes"
echo "include: not what $kept promises; if that is meant: tools/check_abi.sh renew"
exit 1
