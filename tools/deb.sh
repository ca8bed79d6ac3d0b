#!/bin/sh
# deb.sh - Debian packages of this tree: deb.sh FOLDER [JOBS].
#
# Copies the tree into FOLDER, builds fabayes, libfabayes0 and libfabayes-dev there (packaging/debian says how), asks
# lintian, and runs the program and the library as the packages hold them.  Whatever lintian says is a failure.
# SPDX-License-Identifier: MIT
set -eu
cd "$(dirname "$0")/.."
folder=$1 jobs=${2:-2}
version=$(sed -n 's/^project(fabayes VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
if [ "$(dpkg-parsechangelog -l packaging/debian/changelog -S Version)" != "$version" ]; then
    echo "deb.sh: packaging/debian/changelog is not of version $version" >&2
    exit 1
fi

rm -rf "$folder"
tree=$folder/fabayes-$version
mkdir -p "$tree"
python3 -B tools/tree.py | tar -cf - --exclude='packaging/*' -T - | tar -xf - -C "$tree"
cp -r packaging/debian "$tree/debian"

cd "$tree"
DEB_BUILD_OPTIONS="parallel=$jobs nocheck" dpkg-buildpackage -b -us -uc >../build.log 2>&1 || {
    tail -n 40 ../build.log
    exit 1
}
cd ..
said=$(lintian --allow-root --tag-display-limit 0 --display-info ./*.changes 2>&1) || true
if [ -n "$said" ]; then
    printf '%s\n' "$said"
    exit 1
fi

# Without an installation: unpacked, the program predicts, and a program finds the library.
mkdir root
for package in ./*.deb; do
    case $package in
    *-dbgsym_*) ;;
    *) dpkg -x "$package" root ;;
    esac
done
printf 'a,b\n' >table.csv
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "$i,$((3 * i + i % 3))"; done >>table.csv
root/usr/bin/fabayes fit table.csv -y b -o m.safetensors --quiet >/dev/null
[ "$(root/usr/bin/fabayes predict m.safetensors table.csv | wc -l)" = 13 ] || { echo "the program of the package does not predict" >&2; exit 1; }
lib=$(dirname "$(find "$PWD/root" -name libfabayes.so)")
cc -std=c11 "fabayes-$version/examples/install_check/main.c" -Iroot/usr/include -L"$lib" -lfabayes -Wl,-rpath,"$lib" -o with_library
./with_library >/dev/null
[ -n "$(find root/usr/share/man -name 'fabayes-fit.1.gz')" ] || { echo "there is no fabayes-fit.1.gz" >&2; exit 1; }
rm -rf "fabayes-$version" root table.csv m.safetensors with_library
echo "in $folder:" ./*.deb
