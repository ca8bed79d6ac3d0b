#!/bin/sh
# bench.sh - run every bench_* program of a build folder, from the root of the tree: bench.sh BUILD.
# SPDX-License-Identifier: MIT
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
found=0
for program in "$build"/bench_*; do
    if [ ! -x "$program" ] || [ -d "$program" ]; then continue; fi
    found=1
    echo "== $(basename "$program")"
    "$program"
done
if [ -e "$build/python/fabayes/_core.abi3.so" ]; then
    echo "== python"
    OMP_NUM_THREADS=1 PYTHONPATH="$build/python" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 bench/python.py "$build"
    if /usr/bin/python3 -c "import torch" 2>/dev/null; then
        echo "== python_torch"
        OMP_NUM_THREADS=1 PYTHONPATH="$build/python" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 bench/python_torch.py "$build/bench_ask"
    else
        echo "== python_torch: skipped, PyTorch is not installed"
    fi
fi
if [ $found = 0 ]; then
    echo "bench.sh: no benches were built" >&2
    exit 1
fi
