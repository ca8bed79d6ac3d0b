#!/bin/sh
# test_install.sh - an installed fabayes serves a program outside of the tree: test_install.sh BUILD.
#
# Installs BUILD into a temporary prefix, moves it, and compiles examples/install_check with pkg-config
# and with CMake, each against the shared and the static library; all four must run.  The programs in
# examples/ compile with pkg-config, and table, network and stream run.  So must the
# examples in README.md, the first of which has its output there.  Licence, pages and completion are
# there too, and an uninstall takes everything away again but what somebody else has put beside it.
# SPDX-License-Identifier: MIT
set -eu
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
cc=${CC:-cc}
tmp=$(mktemp -d)
manifest=$build/install_manifest.txt # of a real installation, for `make uninstall`
if [ -f "$manifest" ]; then cp "$manifest" "$tmp/manifest"; fi
restore() {
    if [ -f "$tmp/manifest" ]; then cp "$tmp/manifest" "$manifest"; else rm -f "$manifest"; fi
    rm -rf "$tmp"
}
trap restore EXIT

cmake --install "$build" --prefix "$tmp/gone" >/dev/null
for file in share/doc/fabayes/LICENSE share/doc/fabayes/docs/cli.md share/man/man1/fabayes-fit.1 \
    share/bash-completion/completions/fabayes share/zsh/site-functions/_fabayes include/fabayes.h; do
    [ -s "$tmp/gone/$file" ] || { echo "$file is not installed"; exit 1; }
done
touch "$tmp/gone/share/man/man1/other.1" "$tmp/gone/include/fabayes/.other"
cmake -DMANIFEST="$manifest" -P "$source/cmake/uninstall.cmake"
left=$(cd "$tmp/gone" && find . -type f -o -type l | sort | tr '\n' ' ')
[ "$left" = "./include/fabayes/.other ./share/man/man1/other.1 " ] || { echo "uninstall leaves: $left"; exit 1; }
[ ! -d "$tmp/gone/share/doc/fabayes" ] || { echo "uninstall leaves share/doc/fabayes"; exit 1; }

cmake --install "$build" --prefix "$tmp/first" >/dev/null
mv "$tmp/first" "$tmp/prefix" # a package that knows its old place fails here
cp -r "$source/examples/install_check" "$tmp/source"
cd "$tmp"
lib=$(dirname "$(find "$tmp/prefix" -name libfabayes.so)")
export PKG_CONFIG_PATH="$lib/pkgconfig"
ask() { pkg-config "$@" fabayes; }

$cc -std=c11 source/main.c $(ask --cflags --libs) -Wl,-rpath,"$lib" -o pc_shared
$cc -std=c11 source/main.c $(ask --cflags) "$lib/libfabayes.a" \
    $(ask --static --libs | sed 's/-lfabayes//') -o pc_static
cmake -S source -B cmake -DCMAKE_PREFIX_PATH="$tmp/prefix" -DCMAKE_C_COMPILER="$cc" >cmake.log 2>&1 ||
    { cat cmake.log; exit 1; }
cmake --build cmake >cmake.log 2>&1 || { cat cmake.log; exit 1; }

for program in pc_shared pc_static cmake/with_fabayes cmake/with_fabayes_static; do
    printf '%-28s' "$program"
    "./$program"
    if ldd "./$program" | grep -q libfabayes; then linked=shared; else linked=static; fi
    case $program in
    pc_shared | cmake/with_fabayes) [ $linked = shared ] ;;
    *) [ $linked = static ] ;;
    esac || { echo "$program is linked with the $linked library"; exit 1; }
done

for example in "$source"/examples/*.c; do
    $cc -std=c11 -Wall -Wextra -Werror "$example" $(ask --cflags --libs) -Wl,-rpath,"$lib" -o "$(basename "$example" .c)"
done
awk -v OFS=, 'BEGIN { print "a,b,c,y"; for (i = 0; i < 90; i++) print i % 7, i % 5, i * i % 11, i % 7 - 2 * (i % 5) + i % 3 / 4 }' >rows.csv
for call in "./table" "./network rows.csv y mlp:3" "./stream rows.csv 1"; do
    $call >said || { echo "examples: $call ends with status $?"; exit 1; }
    [ -s said ] || { echo "examples: $call says nothing"; exit 1; }
    printf '%-28s%s\n' "examples: ${call%% *}" "$(head -n 1 said)"
done

awk -v OFS=, 'BEGIN { print "area,price"; for (i = 0; i < 12; i++) print 50 + i * i % 11, 100 + 3 * (i * i % 11) + i % 3 }' >houses.csv
printf 'area\n52\n60\n' >new.csv
awk '/^```c$/ { n++; inside = 1; next } /^```$/ { inside = 0 } inside { print >"readme" n ".c" }' "$source/README.md"
for program in readme*.c; do
    $cc -std=c11 -Wall -Wextra -Werror "$program" $(ask --cflags --libs) -Wl,-rpath,"$lib" -o "${program%.c}"
    printf '%-28s\n' "README.md, ${program%.c}"
    "./${program%.c}"
done
./readme1 | while read -r line; do # what the page shows is what the program says
    grep -qF -- "$line" "$source/README.md" || { echo "README.md does not show: $line"; exit 1; }
done
