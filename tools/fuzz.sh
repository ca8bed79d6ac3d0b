#!/bin/sh
# fuzz.sh - run each fuzz target for a time; stops at the first input that breaks one.
#
#   tools/fuzz.sh [SECONDS]      for each target; without it $TIME, or 60
#   tools/fuzz.sh smoke          each target takes its seeds, and no inputs made by chance: a check that ends alike every time
#   FUZZ="npy net" tools/fuzz.sh ..   these targets only
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
cd "$folder"
seconds=${1:-${TIME:-60}}
found=0
for target in ${FUZZ:-$(ls "$root/fuzz" | sed -n 's/^fuzz_\(.*\)\.c$/\1/p')}; do
    target=fuzz_$target
    cmake --build . -j "${JOBS:-2}" --target "$target" >build.log 2>&1 || { cat build.log; exit 1; }
    found=1
    words=$root/fuzz/${target#fuzz_}.dict
    if [ -f "$words" ]; then words=-dict=$words; else words=; fi
    length=
    [ "$target" != fuzz_source ] || length=-max_len=512 # as many edges as with 2048, in half of the time
    seeds=$root/fuzz/seeds/$target
    if [ "$seconds" = smoke ]; then
        rm -rf smoke
        python3 "$root/fuzz/make_corpus.py" smoke
        mkdir -p "smoke/$target" smoke/found
        [ ! -d "$seeds" ] || cp "$seeds/"* "smoke/$target/"
        if [ ! -d "$seeds" ] || FUZZ_GOOD=1 "./$target" "$seeds/"* >smoke.log 2>&1; then # where a target asks: all are taken
            "./$target" -runs=0 -rss_limit_mb=2048 -verbosity=0 $words $length smoke/found "smoke/$target" \
                >smoke.log 2>&1 && echo "$target: $(ls "smoke/$target" | wc -l) seeds" && continue
        fi
        grep -v '^INFO' smoke.log | tail -n 40
        echo "$target FAILED"
        exit 1
    fi
    python3 "$root/fuzz/make_corpus.py" corpus
    mkdir -p "corpus/$target"
    [ ! -d "$seeds" ] || cp -n "$seeds/"* "corpus/$target/"
    echo "$target: $seconds s"
    "./$target" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 -verbosity=0 \
        $words $length "corpus/$target"
done
[ $found = 1 ] || { echo "fuzz.sh: no fuzz targets were built" >&2; exit 1; }
