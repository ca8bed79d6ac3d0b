#!/bin/sh
# check_headers.sh - every public header compiles alone, in C11 and in C++17, without a warning, and
# uses the language and its library only, no built-in of a compiler.
# SPDX-License-Identifier: MIT
set -u
cd "$(dirname "$0")/.." || exit 1
strict="-pedantic -Wall -Wextra -Werror -fsyntax-only -Iinclude"
failed=0
for header in $(find include -name '*.h' | sort); do
    program="#include \"${header#include/}\"
typedef int fab_not_empty;"
    echo "$program" | gcc -x c -std=c11 $strict - || { echo "$header: not alone in C11"; failed=1; }
    echo "$program" | g++ -x c++ -std=c++17 $strict - || { echo "$header: not alone in C++17"; failed=1; }
done
if grep -rn '__builtin' include; then
    echo "include: a built-in of one compiler"
    failed=1
fi
exit $failed
