#!/bin/sh
# sanitize.sh - build the tests with sanitizers and run them: sanitize.sh asan-gcc | asan-clang | tsan | python-asan | python-tsan.
#
# asan-*: addresses, leaks and undefined behaviour, tests labelled `unit`.  tsan: data races, tests
# labelled `threads`.  python-*: the extension of the Python package under Debian's Python, which is built without: the runtime of the
# sanitizer is loaded before it, leaks are its own (test_hard.py counts ours), and what is not of the extension is not watched for races.
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
python-asan) compiler="gcc g++" sanitizers=address,undefined werror=OFF folder=${BUILD:-$root/build}-asan-gcc ;;
python-tsan) compiler="gcc g++" sanitizers=thread werror=OFF ;;
*)
    echo "sanitize.sh: asan-gcc, asan-clang, tsan, python-asan or python-tsan, not '$kind'" >&2
    exit 2
    ;;
esac

cmake -S "$root" -B "$folder" -DFAB_SANITIZE=$sanitizers -DFAB_WERROR=$werror -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_C_FLAGS_DEBUG="-O1 -g" -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g" \
    -DCMAKE_C_COMPILER="${compiler% *}" -DCMAKE_CXX_COMPILER="${compiler#* }"
targets=
case $kind in python-*) targets="--target fabayes_package fabayes" ;; esac
cmake --build "$folder" -j "${JOBS:-2}" $targets

# Fixed addresses: the shadow memory of older sanitizers does not know the most random layouts.
fixed=
if setarch -R true 2>/dev/null; then fixed="setarch -R"; fi
if [ $kind = tsan ]; then
    # die_after_fork=0: a forked child may make threads
    export TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0"
fi
export UBSAN_OPTIONS="print_stacktrace=1"
cd "$folder"
case $kind in
python-*) # pip, mypy, joblib's processes and the examples are watched as little as anything else that is not the extension
    library=libasan.so
    if [ $kind = python-tsan ]; then library=libtsan.so; fi
    export ASAN_OPTIONS=detect_leaks=0 TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0"
    export PYTHONPATH=$folder/python FABAYES=$folder/fabayes PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=2 OPENBLAS_NUM_THREADS=1
    export PYTHONMALLOC=malloc # its small blocks are then seen one by one
    LD_PRELOAD=$(gcc -print-file-name=$library) exec $fixed /usr/bin/python3 -m pytest -p no:cacheprovider -q \
        "$root/python/tests/test_package.py" "$root/python/tests/test_estimators.py" -k "${TESTS:-not pip and not types and not stubs \
        and not scikit_learn and not one_symbol and not joblib and not example and not compared and not memory and not bits_of}"
    ;;
esac
slow=
if [ $kind = asan-clang ]; then slow="-LE ^slow\$"; fi # asan-gcc runs them
$fixed ctest -L "^$label\$" $slow --output-on-failure --no-tests=error -j "${JOBS:-2}"
