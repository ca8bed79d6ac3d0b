#!/bin/sh
# sanitize.sh - build the tests with sanitizers and run them: sanitize.sh asan-gcc | asan-clang | tsan.
#
# asan-*: addresses, leaks and undefined behaviour, tests labelled `unit`.  tsan: data races, tests
# labelled `threads`.
# Needs BUILD (the start of the folder's name) and JOBS.
# SPDX-License-Identifier: MIT
set -eu
kind=$1
root=$(cd "$(dirname "$0")/.." && pwd)
folder=${BUILD:-$root/build}-$kind
werror=ON # but instrumented code misleads the warnings of gcc; they count in the plain build
case $kind in
asan-gcc) compiler="gcc g++" sanitizers=address,undefined label=unit werror=OFF ;;
asan-clang) compiler="clang clang++" sanitizers=address,undefined label=unit ;;
tsan) compiler="clang clang++" sanitizers=thread label=threads ;;
*)
    echo "sanitize.sh: asan-gcc, asan-clang or tsan, not '$kind'" >&2
    exit 2
    ;;
esac

cmake -S "$root" -B "$folder" -DFAB_SANITIZE=$sanitizers -DFAB_WERROR=$werror -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g" \
    -DCMAKE_C_COMPILER="${compiler% *}" -DCMAKE_CXX_COMPILER="${compiler#* }"
cmake --build "$folder" -j "${JOBS:-2}"

# Fixed addresses: the shadow memory of older sanitizers does not know the most random layouts.
fixed=
if setarch -R true 2>/dev/null; then fixed="setarch -R"; fi
if [ $kind = tsan ]; then
    # die_after_fork=0: a forked child may make threads
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0"
fi
export UBSAN_OPTIONS="print_stacktrace=1"
cd "$folder"
$fixed ctest -L "^$label\$" --output-on-failure --no-tests=error -j "${JOBS:-2}"
