#!/bin/sh
# check.sh - every rule of the project: one line per check, exit status 1 when one failed.
#
#   tools/check.sh [NAME..]      those checks only, in the order given
#
# What a failed check said follows its line; logs are in BUILD-check/.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build} JOBS=${JOBS:-2}
case $BUILD in
/*) ;;
*) BUILD=$PWD/$BUILD ;;
esac
export BUILD JOBS
logs=$BUILD-check
mkdir -p "$logs"

build() { cmake -S . -B "$BUILD" && cmake --build "$BUILD" -j "$JOBS"; }
processes() { (cd "$BUILD" && ctest --output-on-failure -L processes); }
symbols() { python3 tools/check_symbols.py "$BUILD/libfabayes.so"; }
docs() { python3 tools/check_docs.py && python3 tools/docs_reference.py check && python3 tools/docs_settings.py check "$BUILD/fabayes"; }

run() {
    case $1 in
    format | headers) "tools/check_$1.sh" ;;       # clang-format; C11 and C++17
    layers | calls) python3 "tools/check_$1.py" ;; # includes; heap and printing
    text | long) python3 "tools/check_$1.py" ;;    # marks; arrays of src/la
    spell | cppcheck) "tools/check_$1.sh" ;;       # codespell; cppcheck
    build) build ;;                                # warnings are errors
    processes) processes ;;                        # fa divided by mpirun
    symbols) symbols ;;                            # exported = declared
    abi | tidy) "tools/check_$1.sh" ;;             # abidiff; clang-tidy
    docs) docs ;;                                  # what the pages name; settings tables
    asan-gcc | asan-clang | tsan) tools/sanitize.sh "$1" ;;
    fuzz) tools/fuzz.sh smoke ;; # every reader of files takes its seeds
    *) echo "no check of that name" && false ;;
    esac
}

failed=0
for name in ${*:-format layers headers calls text long spell build processes symbols docs abi cppcheck tidy asan-gcc asan-clang tsan fuzz}; do
    start=$(date +%s)
    if run "$name" >"$logs/$name.log" 2>&1; then
        printf 'ok      %-12s %4d s\n' "$name" $(($(date +%s) - start))
    else
        printf 'FAILED  %-12s %4d s\n' "$name" $(($(date +%s) - start))
        tail -n 40 "$logs/$name.log" | sed 's/^/        /'
        failed=$((failed + 1))
    fi
done
if [ $failed -gt 0 ]; then
    echo "$failed checks FAILED"
    exit 1
fi
echo "all checks ok"
