#!/bin/bash
# check_abi.sh - programs linked with an earlier libfabayes.so still run with this one.
#
#   tools/check_abi.sh [LIBRARY]          compare with tools/abi, what was promised
#   tools/check_abi.sh renew [LIBRARY]    promise what the library has today
#
# LIBRARY has debug information; without it one is built in BUILD-abi/.
#
# abidw and abidiff of libabigail compare the exported functions and the types of include/.  New
# functions, new names at the end of an enum and new members at the end of a struct pass; what else
# changed is printed, and fails.  A function that returns such a struct by value is a note: programs that
# call it must be compiled again.  Settings go through a void * with their size, so that no exported
# function knows their structs: a probe that does is compiled, and compared likewise.
# SPDX-License-Identifier: MIT
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${BUILD:-$PWD/build}-abi
kept=tools/abi
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

# Every struct of settings, by functions that take it.
probe() {
    for header in include/fabayes/*.h; do echo "#include \"${header#include/}\""; done
    echo 'int settings;'
    grep -ho '} fab_[a-z_]*_settings;' include/fabayes/*.h |
        sed 's/} \(.*\);/void takes_\1(\1 *s);\nvoid takes_\1(\1 *s)\n{\n    (void)s;\n}/'
}
probe >"$tmp/probe.c"
"${CC:-cc}" -g -shared -fPIC -Iinclude "$tmp/probe.c" -o "$tmp/settings.so"

# Public types only, and nothing that tells where the tree lay.
describe() {
    abidw --headers-dir include --drop-private-types --drop-undefined-syms --exported-interfaces-only \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-parameter-names \
        --no-write-default-sizes --type-id-style hash --out-file "$2" "$1"
    sed -i "s| path='[^']*/src/| path='src/|; s| path='[^']*/probe.c'| path='probe.c'|" "$2"
}
mkdir "$tmp/new"
describe "$library" "$tmp/new/libfabayes.abi"
describe "$tmp/settings.so" "$tmp/new/settings.abi"
if [ $renew ]; then
    mkdir -p $kept
    cp "$tmp"/new/*.abi $kept
    wc -c $kept/*.abi
    exit 0
fi

# Every line that only says "grown at the end" passes; one line of another kind, and all is shown.
# abidiff: 0 the same, 4 and 8 a change, 1 and 2 that it could not compare.
compare() {
    local status=0
    abidiff --leaf-changes-only --harmless --no-added-syms "$1" "$2" >"$tmp/changes" || status=$?
    if [ $((status & 3)) != 0 ] || [ $status -gt 15 ]; then
        cat "$tmp/changes"
        echo "$1: abidiff cannot compare it with what there is"
        return 1
    fi
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
    END { exit bad }' "$tmp/changes" || {
        cat "$tmp/changes"
        echo "include: not what $1 promises; if that is meant: tools/check_abi.sh renew"
        return 1
    }
    grep -B 1 'return type changed:' "$tmp/changes" | sed -n "s/.*'function \(.*\)' has .*/note: \1 returns a struct that grew/p" || true
}
failed=0
for file in libfabayes settings; do
    compare "$kept/$file.abi" "$tmp/new/$file.abi" || failed=1
done
exit $failed
