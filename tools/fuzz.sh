#!/bin/sh
# fuzz.sh - run each fuzz target for a time; stops at the first input that breaks one.
#
#   tools/fuzz.sh [SECONDS]      for each target; without it $TIME, or 60
#
# Needs clang.  What was found interesting stays in BUILD-fuzz/corpus/ and is the start of the next run;
# an input that breaks a target is left in BUILD-fuzz/.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
folder=${BUILD:-build}-fuzz root=$PWD
cmake -S . -B "$folder" -DFAB_FUZZ=ON -DFAB_TESTS=OFF -DFAB_SANITIZE=address,undefined \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG="-O1 -g" \
    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ >/dev/null
cmake --build "$folder" -j "${JOBS:-2}"
python3 fuzz/make_corpus.py "$folder/corpus"
cd "$folder"
seconds=${1:-${TIME:-60}}
found=0
for target in fuzz_*; do
    [ -x "$target" ] && [ -f "$target" ] || continue
    found=1
    mkdir -p "corpus/$target"
    [ ! -d "$root/fuzz/seeds/$target" ] || cp -n "$root/fuzz/seeds/$target/"* "corpus/$target/"
    echo "$target: $seconds s"
    words=$root/fuzz/${target#fuzz_}.dict
    if [ -f "$words" ]; then words=-dict=$words; else words=; fi
    length=
    [ "$target" != fuzz_source ] || length=-max_len=2048 # one long seed made every case long: 27 ms for 0.03 ms
    "./$target" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
        $words $length "corpus/$target"
done
[ $found = 1 ] || { echo "fuzz.sh: no fuzz targets were built" >&2; exit 1; }
