#!/bin/sh
# check_python.sh BUILD - the Python package under the newest scikit-learn: its own checks of every estimator, frames of pandas and
# polars, types, doctests, shards on Dask.  The packages go into a virtual environment in BUILD/python-newest; without a network the check is
# skipped, and says so.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build}")
newest=$build/python-newest
packages="numpy scipy scikit-learn pandas polars pyarrow matplotlib pytest mypy"

if [ ! -e "$build/python/fabayes/_core.abi3.so" ]; then
    echo "skipped: the Python package is not built in $build; its tests on Debian's scikit-learn (make test) hold the same code"
    exit 0
fi
[ -x "$newest/bin/python" ] || /usr/bin/python3 -m venv "$newest"
if ! "$newest/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 --upgrade $packages >"$newest/pip.log" 2>&1; then
    echo "skipped: pip reaches no index, so that there is no newest scikit-learn; python_check_estimator (make test) runs the checks of Debian's"
    exit 0
fi
"$newest/bin/python" -c "import sklearn; print('scikit-learn', sklearn.__version__)"
export PYTHONPATH="$build/python" FABAYES="$build/fabayes" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1
"$newest/bin/python" -m pytest -p no:cacheprovider python/tests/test_check_estimator.py python/tests/test_frames.py \
    python/tests/test_arrow.py python/tests/test_plots.py
if "$newest/bin/python" -m pip install -q --disable-pip-version-check --timeout 20 --retries 1 "dask[distributed,dataframe]" >>"$newest/pip.log" 2>&1; then
    "$newest/bin/python" examples/python/dask_shards.py
else
    echo "skipped: pip finds no Dask for examples/python/dask_shards.py; python_merge (make test) merges the same shards without it"
fi
(cd python && MYPYPATH=src "$newest/bin/python" -m mypy --cache-dir "$newest/mypy" src/fabayes tests/typed.py)
