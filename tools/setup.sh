#!/bin/sh
# setup.sh - install the Debian packages that a job needs and that are missing.
#
#   tools/setup.sh [build | check | bench | deb]   build: make, make test, make demo (the default)
#                                                  check, bench, deb: build, and what they need in addition
#
# Looks first: when nothing is missing it is instant and touches no network.
# Exit status: 0 all there; 1 the installation failed; 2 a person must run the command printed.
# SPDX-License-Identifier: MIT
set -eu

build="cmake pkg-config gcc g++ libc6-dev libopenblas-dev liblapacke-dev libjansson-dev zlib1g-dev
       liblzma-dev libbz2-dev libzstd-dev libnlopt-dev librandom123-dev libcmocka-dev gnuplot-nox python3 python3-numpy
       python3-dev python3-pip python3-setuptools python3-wheel python3-venv python3-sklearn python3-pytest mypy
       libopenmpi-dev openmpi-bin"
check="clang clang-format clang-tidy libclang-rt-14-dev cppcheck codespell abigail-tools gcovr
       chromium"
deb="debhelper dpkg-dev lintian mandoc zsh"

group=${1:-build}
case $group in
build) wanted=$build ;;
check) wanted="$build $check" ;;
bench) wanted=$build ;;
deb) wanted="$build $deb" ;;
*)
    echo "setup.sh: no group '$group': build, check, bench or deb" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    echo "setup.sh: not a Debian system; install the counterparts of:" $wanted >&2
    exit 0 # the build says what it does not find
fi

# A package that is installed, or for a program any other way that it got onto the PATH.
present() {
    case $(dpkg-query -W -f '${Status}' "$1" 2>/dev/null) in
    *' installed') return 0 ;;
    esac
    case $1 in
    cmake | gcc | g++ | pkg-config | python3 | mypy | clang | clang-format | cppcheck | codespell | gcovr | chromium) command -v "$1" >/dev/null ;;
    clang-tidy) command -v clang-tidy >/dev/null && command -v run-clang-tidy >/dev/null ;;
    abigail-tools) command -v abidw >/dev/null && command -v abidiff >/dev/null ;;
    gnuplot-nox) command -v gnuplot >/dev/null ;;
    *) return 1 ;;
    esac
}

missing=
for p in $wanted; do
    present "$p" || missing="$missing $p"
done
if [ -z "$missing" ]; then exit 0; fi

if [ "$(id -u)" = 0 ]; then
    root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root="sudo -n"
else
    echo "setup.sh: packages are missing and this user may not install them; please run:" >&2
    echo "    sudo apt-get install --no-install-recommends$missing" >&2
    exit 2
fi

echo "setup.sh: installing$missing"
install="$root env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends"
$install $missing >/dev/null 2>&1 || {
    $root apt-get update -qq
    $install $missing
} || exit 1
