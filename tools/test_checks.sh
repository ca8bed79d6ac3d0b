#!/bin/bash
# test_checks.sh - every check can fail: plants one violation after the other and expects to be told.
#
#   tools/test_checks.sh          the cheap checks, some seconds
#   tools/test_checks.sh slow     the sanitizers as well, some minutes
#
# Works in a temporary copy of the tree, of a few files only where that is enough.  A planted file must
# be named by the check that it breaks, and its harmless twin must not be.
# SPDX-License-Identifier: MIT
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
copy=$tmp/machine/copy
mkdir -p "$copy"
if [ "${1:-}" = slow ]; then
    python3 tools/tree.py | tar -cf - -T - | tar -xf - -C "$copy"
else
    tar -cf - .clang-format .clang-tidy README.md tools include/fabayes/status.h src/base/*.h src/fit/methods.c |
        tar -xf - -C "$copy"
fi
cd "$copy" || exit 1
wrong=0 done=0

# ask CHECK FILE: what the check says about the copy, or about FILE where a whole tree takes minutes; its
# exit status.
ask() {
    case $1 in
    format | headers | spell) "tools/check_$1.sh" 2>&1 ;;
    cppcheck | tidy) "tools/check_$1.sh" "$2" 2>&1 ;;
    symbols) python3 tools/check_symbols.py "$tmp/lib.so" 2>&1 ;;
    settings) python3 tools/docs_settings.py check "$tmp/program" 2>&1 ;;
    reference) python3 tools/docs_reference.py check 2>&1 ;;
    *) python3 "tools/check_$1.py" 2>&1 ;;
    esac
}

# refuses CHECK FILE TEXT: with TEXT in FILE the check fails and names FILE.
refuses() {
    put "$2" "$3"
    if said=$(ask "$1" "$2"); then status=0; else status=1; fi
    if [ $status = 0 ] || ! grep -qF "$2" <<<"$said"; then
        echo "$1 does not notice in $2: ${3:0:70}"
        wrong=$((wrong + 1))
    fi
    back "$2"
}

# accepts CHECK FILE TEXT: with TEXT in FILE the check does not speak of FILE.
accepts() {
    put "$2" "$3"
    if grep -F "$2" <<<"$(ask "$1" "$2")"; then
        echo "$1 refuses in $2: ${3:0:70}"
        wrong=$((wrong + 1))
    fi
    back "$2"
}

put() {
    mkdir -p "$(dirname "$1")"
    if [ -e "$1" ]; then cp "$1" "$tmp/kept"; else rm -f "$tmp/kept"; fi
    printf '%s\n' "$2" >"$1"
    done=$((done + 1))
}

back() {
    if [ -e "$tmp/kept" ]; then cp "$tmp/kept" "$1"; else rm "$1"; fi
}

lines() { for _ in $(seq "$1"); do echo "    x++;"; done; }

if command -v clang-format >/dev/null; then
    accepts format src/base/planted.c $'int f(void)\n{\n    return 1;\n}'
    refuses format src/base/planted.c $'int f(void) {\n  return 1;\n}'
else
    echo "format: not tried, there is no clang-format"
fi

accepts layers src/la/planted.c $'#include "base/fail.h"\n#include <cblas.h>\n#include <math.h>'
accepts layers cli/planted.c $'#include "fabayes/status.h"\n#include <jansson.h>\n#include <stdio.h>'
accepts layers src/la/planted.h $'#ifndef P_H\n#define P_H\n#ifdef __AVX2__\n#endif\n#endif'
accepts layers src/la/planted_mpi.c $'#ifdef FAB_MPI\n#include <mpi.h>\n#endif'
accepts layers src/methods/fa/planted.c '#include "fabayes/methods.h"'
refuses layers src/base/planted.c '#include "la/ops.h"'
refuses layers src/data/planted.c '#include "model/net.h"'
refuses layers src/methods/fa/planted.c '#include "../base/fail.h"'
refuses layers src/la/planted.c '#include "posterior/gauss.h"'
refuses layers src/methods/exact/planted.c '#include "fabayes.h"'
refuses layers src/model/planted.c '#include <cblas.h>'
refuses layers src/model/planted.c '#include "lapacke.h"'
refuses layers src/methods/exact/planted.c '#include <omp.h>'
refuses layers src/methods/exact/planted.c '#include "methods/fa/start.h"'
refuses layers src/train/planted.c '#include "fabayes/fit.h"'
refuses layers cli/planted.c '#include <math.h>'
accepts layers cli/demo/planted.c '#include <math.h>'
refuses layers src/la/planted.c '#include <jansson.h>'
refuses layers src/base/planted.c '#include <glib.h>'
refuses layers src/base/planted.c '#include <cmocka.h>'
refuses layers cli/planted.c '#include "base/fail.h"'
refuses layers examples/planted.c '#include "la/small.h"'
refuses layers studies/planted/planted.c '#include "../../src/la/small.h"'
refuses layers include/fabayes/planted.h '#include <jansson.h>'
refuses layers src/methods/exact/planted.c $'#ifdef FAB_MPI\n#endif'
refuses layers src/data/planted.c $'#if defined(_OPENMP)\n#endif'
refuses layers include/fabayes/planted.h $'#ifdef FAB_EXTRA\n#endif'
printf '#ifdef FAB_PLANTED\n#endif\n' >src/base/planted_one.c
refuses layers src/base/planted_two.c $'#ifdef FAB_PLANTED\n#endif'
rm src/base/planted_one.c
mkdir -p src/posterior
refuses layers src/data/planted_user.c '#include "fabayes/gauss.h"'

accepts headers include/fabayes/planted.h '#include <stdint.h>
int64_t fab_planted(int64_t n);'
refuses headers include/fabayes/planted.h 'int64_t fab_planted(int64_t n);'
refuses headers include/fabayes/planted.h 'int fab_planted(int class);'
refuses headers include/fabayes/planted.h '#define FAB_PLANTED __builtin_inf()'
refuses headers include/fabayes/planted.h 'long long fab_planted(int n) { return ({ n; }); }'

accepts calls src/methods/exact/planted.c 'void f(s *m) { m->free(m); m.free(m); snprintf(b, 9, "free(p)"); } // malloc(1)'
refuses calls src/methods/exact/planted.c 'void f(void) { p = malloc (3); }'
refuses calls src/methods/exact/planted.c 'void f(void) { release = free; }'
refuses calls src/base/planted.c 'void f(void) { free(p); }'
for call in 'calloc(1, 2)' 'realloc(p, 2)' 'aligned_alloc(64, 2)' 'posix_memalign(&p, 64, 2)' 'strdup(s)' \
    'printf("x")' 'puts("x")' 'fprintf(f, "x")' 'exit(1)' 'abort()' 'getenv("X")' 'signal(2, f)' 'rand()' \
    'fputs("x", stderr)'; do
    refuses calls src/data/planted.c "void f(void) { $call; }"
done
accepts calls src/report/planted.c 'void f(FILE *o) { fprintf(o, "x"); }'
refuses calls src/report/planted.c 'void f(FILE *o) { fprintf(stdout, "x"); }'


accepts text docs/planted.md 'a template name.XXXXXX, and src/machine/x'
for mark in TO''DO FIX''ME X''XX; do
    refuses text docs/planted.md "$mark: later"
done
refuses text docs/planted.md "see $tmp/machine/notes"
accepts text src/base/planted.h $'    int64_t n; /* rows */\n    /* columns */\n    int64_t\n        D;'
refuses text src/base/planted.h $'    const double *\n        y; /* their targets */'
accepts text src/base/planted.c $'#define ADD(a, b) \\\n    ((a) + (b))'
refuses text src/base/planted.c $'#define LEAST \\\n    1e-9 /* of a share */'
refuses text src/base/planted.h $'    int64_t\n        rows, columns; /* of the table */'
refuses text README.md 'run `make demo`'
refuses text README.md 'run `make test`'

printf 'void fab_planted(void);\nvoid fab_planted(void) {}\nint planted;\n' |
    gcc -shared -fPIC -x c - -o "$tmp/lib.so"
accepts symbols include/fabayes/planted.h 'FAB_API void fab_planted(void);'
refuses symbols src/base/planted.c $'void fab_planted(void)\n{\n}'
refuses symbols include/fabayes/planted.h 'FAB_API const char *fab_planted_absent(void);'
refuses symbols include/fabayes/planted.h 'FAB_API extern int planted;'

accepts docs docs/planted.md 'see `tools/tree.py`, [the start](../README.md) and FAB_FAIL'
refuses docs docs/planted.md 'call `fab_planted_absent`'
refuses docs docs/planted.md 'it stands in `src/base/planted_absent.c`'
refuses docs docs/planted.md 'see [that page](planted_absent.md)'
accepts docs docs/planted.md '`planted_absent` of `planted_absent.c`'
accepts docs docs/life-of-a-planted.md 'it is `fab_failed` (`fail.h`), with `remembered` of `src/base/fail.h`, after `--flag` and `x.csv`'
refuses docs docs/life-of-a-planted.md 'it stands in `planted_absent.c`'
refuses docs docs/life-of-a-planted.md 'then `planted_absent` runs'
refuses docs docs/life-of-a-planted.md 'then `fab_failed` of `methods.c` runs'
refuses docs docs/life-of-a-planted.md $'then `remembered`\n(`src/fit/methods.c`) runs'

# A program with one method, of two tables.
printf '%s\n' '#!/bin/sh' 'if [ $# = 1 ]; then echo "planted  batch  fit  a method"; exit; fi' \
    'printf "planted (fit)\n\nsetting  default\nalpha    1\n\nplanted (fit)\n\nsetting  default\nrate     2\n"' >"$tmp/program"
chmod +x "$tmp/program"
above=$'By `fabayes methods planted`.\n\n```\n'
one=$'setting  default\nalpha    1\n```' two=$'setting  default\nrate     2\n```'
accepts settings docs/methods/planted.md "$above$one"$'\n\n```\n'"$two"
refuses settings docs/methods/planted.md "$above$two"
refuses settings docs/methods/planted.md "$above${one/1/3}"
refuses settings docs/methods/planted.md $'```\n'"$one"
refuses settings docs/methods/planted.md "$above$one"$'\n```\n'"$two"$'\n```\n'"$two"
refuses settings docs/methods/planted_other.md "$above${one/1/3}"
put docs/methods/planted.md "$above${one/1/3}"
if python3 tools/docs_settings.py write "$tmp/program" && ask settings; then :; else
    echo "docs_settings.py write does not mend a table" && wrong=$((wrong + 1))
fi
rm docs/methods/planted.md
if ask settings >/dev/null; then echo "settings: a method without a page" && wrong=$((wrong + 1)); fi

# The reference of two headers: one that the page has, and one with another comment, another function, a function that hides.
printf '#include "fabayes/status.h"\n#include "fabayes/planted.h"\n' >include/fabayes.h
body=$'/* planted.h - planted. */\n#ifdef __cplusplus\nextern "C" {\n#endif\n'
put include/fabayes/planted.h "$body"$'/* It plants. */\nFAB_API void fab_plant(int a,\n                       int b);'
if ask reference >/dev/null; then echo "reference: there is no page" && wrong=$((wrong + 1)); fi
python3 tools/docs_reference.py write
if ask reference && grep -q '^It plants.$' docs/reference.md && grep -q '^               int b);$' docs/reference.md; then :; else
    echo "docs_reference.py write does not make the page" && wrong=$((wrong + 1))
fi
put include/fabayes/planted.h "$body"$'/* It weeds. */\nFAB_API void fab_plant(int a,\n                       int b);'
if ask reference >/dev/null; then echo "reference: a comment is not noticed" && wrong=$((wrong + 1)); fi
put include/fabayes/planted.h "$body"$'/* It plants. */\nFAB_API void fab_plant(int a,\n                       int b);\n/* FAB_API */ FAB_API int fab_weed(void);'
if ask reference >/dev/null; then echo "reference: a function is not noticed" && wrong=$((wrong + 1)); fi
rm include/fabayes/planted.h include/fabayes.h docs/reference.md

# Long arrays: a place more than listed, and a place less, which must leave the list.
: >tools/long_arrays.txt
accepts long src/la/planted.c 'double f(g *q) { return q->type == FAB_F32 ? ((float *)q->F)[1] : 0; }'
accepts long src/methods/exact/planted.c 'int f(const void *a) { return *(const double *)a > 0 && t == FAB_F64; } // (float *)x'
accepts long src/base/planted.c 'size_t f(fab_dtype t) { return t == FAB_F32 ? 4 : 8; }'
refuses long src/base/planted.c 'double f(g *q) { return ((const double *)q->F)[1]; }'
refuses long src/methods/exact/planted.c 'void f(g *q) { ((float *)q->F)[1] = 1; }'
refuses long src/methods/exact/planted.c 'double *f(g *q) { return (double *)q->F + 1; }'
refuses long src/methods/exact/planted.c 'void f(h *e) { const double *F = e->q->F; }'
refuses long cli/planted.c 'int f(g *q) { return FAB_F32 == q->type; }'
refuses long cli/planted.c 'int f(g *q) { switch (q->type) { case FAB_F32: return 1; } }'
printf '%s\n' 'cli/planted.c 2 # two' >tools/long_arrays.txt
accepts long cli/planted.c 'int f(g *q) { return q->type != FAB_F32 && q->type == FAB_F32; }'
refuses long cli/planted.c 'int f(g *q) { return q->type == FAB_F32; }'

# The ABI of a library made here: DECLARATIONS as a header, and what defines them.
abi() { # abi renew | accepts | refuses, DECLARATIONS, MORE in the source
    printf '%s\n' "$2" >include/fabayes/planted.h
    printf '%s\n' '#include "fabayes/planted.h"' 'void fab_use(fab_planted *p, int n) { p->last = n; }' \
        'struct fab_hidden { int z; };' 'int fab_ask(fab_hidden *h) { return h->z; }' "${3:-}" >"$tmp/abi.c"
    case $2 in *fab_ask*) ;; *) sed -i /fab_ask/d "$tmp/abi.c" ;; esac
    case $2 in *long\ n*) sed -i 's/int n/long n/' "$tmp/abi.c" ;; esac
    gcc -g -shared -fPIC -Iinclude "$tmp/abi.c" -o "$tmp/abi.so" || wrong=$((wrong + 1))
    if [ "$1" = renew ]; then
        tools/check_abi.sh renew "$tmp/abi.so" >/dev/null
    else
        if tools/check_abi.sh "$tmp/abi.so" >"$tmp/said" 2>&1; then said=accepts; else said=refuses; fi
        if [ $said != "$1" ] || { [ $said = refuses ] && ! grep -q fab_ "$tmp/said"; }; then
            echo "abi $said: ${2//$'\n'/ }" && cat "$tmp/said" && wrong=$((wrong + 1))
        fi
        done=$((done + 1))
    fi
}
if command -v abidw >/dev/null; then
    api='typedef enum fab_kind { FAB_ONE, FAB_TWO } fab_kind;
typedef struct fab_inner { double x; fab_kind kind; } fab_inner;
typedef struct fab_planted { fab_inner inner; double last; } fab_planted;
typedef struct fab_hidden fab_hidden;
typedef struct fab_planted_settings { int a; } fab_planted_settings;
void fab_use(fab_planted *p, int n);
int fab_ask(fab_hidden *h);'
    abi renew "$api"
    abi accepts "$api"
    abi accepts "${api/double last;/double last; double more;}"
    abi accepts "${api/FAB_TWO/FAB_TWO, FAB_THREE}"
    abi accepts "$api"$'\nint fab_new(int n);' 'int fab_new(int n) { return n; }'
    abi refuses "${api/double last;/double more; double last;}"
    abi refuses "${api/double last;/float last; double more;}"
    abi refuses "${api/double x;/double y;}"
    abi refuses "${api/fab_kind kind;/fab_kind kind; double more;}" # moves what follows it outside
    abi refuses "${api/double x;/}"
    abi refuses "${api/FAB_ONE, /}"
    abi refuses "${api/int n/long n}"
    abi refuses "${api/int a;/int b, a;}" # settings, which no function names
    abi accepts "${api/int a;/int a, b;}"
    abi refuses "${api/int fab_ask*/}"
    rm include/fabayes/planted.h
else
    echo "abi: not tried, there is no abidw"
fi

if command -v clang-tidy >/dev/null; then
    accepts tidy src/base/planted.c $'int f(const int *p);\nint f(const int *p)\n{\n    return p ? *p : 0;\n}'
    refuses tidy src/base/planted.c $'int f(const int *p);\nint f(const int *p)\n{\n    return p ? 0 : *p;\n}'
    refuses tidy cli/planted.c $'#include <string.h>\nint f(const char *a);\nint f(const char *a)\n{\n    return !strcmp(a, "x") || strcmp(a, "y") == -1;\n}'
    refuses tidy cli/planted.c $'int f(int n);\nint f(int n)\n{\n    if (n == n) return 1;\n    return 0;\n}'
else
    echo "tidy: not tried, there is no clang-tidy"
fi
if command -v cppcheck >/dev/null; then
    accepts cppcheck src/base/planted.c $'int f(int n)\n{\n    int a[3] = {1, 2, 3};\n    return n < 3 ? a[n] : 0;\n}'
    refuses cppcheck src/base/planted.c $'int f(void)\n{\n    int a[3] = {1, 2, 3};\n    return a[3];\n}'
    refuses cppcheck cli/planted.c $'#include <stdlib.h>\nvoid f(void)\n{\n    char *p = malloc(3);\n    p[0] = 1;\n}'
else
    echo "cppcheck: not tried, there is no cppcheck"
fi
if command -v codespell >/dev/null; then
    accepts spell docs/planted.md 'the gradient dout of the output'
    refuses spell docs/planted.md 'a word spelled w''hcih is wrong'
else
    echo "spell: not tried, there is no codespell"
fi

# The set-up: instant when all is there, otherwise it installs or says what to run.
mkdir -p "$tmp/bin"
tell() { printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1" && chmod +x "$tmp/bin/$1"; }
setup() { PATH="$tmp/bin:$PATH" tools/setup.sh "$@" >"$tmp/said" 2>&1; }
expect() { # expect STATUS WORDS ARGUMENTS..
    setup "${@:3}"
    if [ $? != "$1" ] || ! grep -q -- "$2" <<<"$(cat "$tmp/said")"; then
        echo "setup.sh ${*:3}: not status $1 with '$2'"
        wrong=$((wrong + 1))
    fi
    done=$((done + 1))
}
tell apt-get 'echo "apt-get was called: $*"; echo "$*" >>'"$tmp/apt"
tell sudo 'exit 1'
tell id 'echo 1000'
tell dpkg-query 'echo install ok installed'
expect 0 '' bench
tell dpkg-query 'case "$*" in *jansson*) exit 1 ;; esac; echo install ok installed'
expect 2 'sudo apt-get install --no-install-recommends libjansson-dev$' build
expect 2 "no group 'paint'" paint
if [ -e "$tmp/apt" ]; then echo "setup.sh called apt-get without need" && wrong=$((wrong + 1)); fi
tell id 'echo 0'
expect 0 'installing libjansson-dev' check
if ! grep -q 'install .*libjansson-dev' "$tmp/apt"; then echo "setup.sh did not install" && wrong=$((wrong + 1)); fi

# check.sh: a failed check is one line and the exit status.
printf 'void f(void) { p = malloc(3); }\n' >src/base/planted.c
if tools/check.sh text calls >"$tmp/said" || ! grep -q '^FAILED  calls' "$tmp/said"; then
    echo "check.sh does not report a failed check" && wrong=$((wrong + 1))
fi
rm src/base/planted.c

# sanitizer KIND BODY WORDS [BEFORE]: the sanitized run of a unit test that does BODY, with BEFORE above it, says WORDS.
sanitizer() {
    printf '%s\n' '#define _XOPEN_SOURCE 700' '#include <stdlib.h>' "${4:-}" 'int work(int n);' 'int work(int n)' '{' \
        "$2" '}' 'int main(void)' '{' '    return work(7) == 12345;' '}' >tests/test_planted.c
    if BUILD=$tmp/build tools/sanitize.sh "$1" >"$tmp/said" 2>&1; then status=0; else status=1; fi
    if { [ $status = 0 ] && [ "$3" != "$passed" ]; } || ! grep -q "$3" "$tmp/said"; then
        tail -n 20 "$tmp/said"
        echo "$1 does not say '$3': $2" && wrong=$((wrong + 1))
    fi
    done=$((done + 1))
}
if [ "${1:-}" = slow ]; then
    passed='100% tests passed'
    sed -i '/foreach(unit ${FAB_UNITS})/i set(FAB_UNITS planted)\nset(FAB_THREADED planted)' CMakeLists.txt
    for kind in asan-gcc asan-clang; do
        sanitizer $kind '    volatile char *p = calloc(1, (size_t)n); return p[n];' heap-buffer-overflow
        sanitizer $kind '    char *volatile p = malloc((size_t)n); p = NULL; return p != NULL;' LeakSanitizer
        sanitizer $kind '    volatile int big = 2147483600; return big + 100 * n;' 'signed integer overflow'
        sanitizer $kind '    return n;' "$passed"
    done
    # Tasks that sleep, so that both threads have some at the same time; the one adds to one sum, the other to one
    # for each thread.
    threads='#include "la/threads.h"
#include <time.h>
static int sum[2];
static void add(void *ctx, int64_t i, int thread)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    nanosleep(&moment, NULL);
    sum[PLACE] += (int)i * *(const int *)ctx;
    (void)thread;
}'
    body='    fab_parallel(2, 200, add, &n);
    return sum[0] + sum[1];'
    sanitizer tsan "$body" 'data race' "${threads/PLACE/0}"
    sanitizer tsan "$body" "$passed" "${threads/PLACE/thread}"
    # fuzz TARGET: the smoke of one target fails and names it.
    fuzz() {
        if FUZZ=$1 BUILD=$tmp/build tools/fuzz.sh smoke >"$tmp/said" 2>&1 || ! grep -q "fuzz_$1 FAILED" "$tmp/said"; then
            tail -n 20 "$tmp/said"
            echo "fuzz.sh smoke does not notice: fuzz_$1" && wrong=$((wrong + 1))
        fi
        done=$((done + 1))
    }
    cp fuzz/fuzz_npy.c "$tmp/kept"
    sed -i 's/^{$/{\n    must(size < 20);/' fuzz/fuzz_npy.c # every seed is longer
    fuzz npy
    cp "$tmp/kept" fuzz/fuzz_npy.c
    printf 'no table' >fuzz/seeds/fuzz_trials/planted
    fuzz trials
    rm fuzz/seeds/fuzz_trials/planted
fi

echo "$done plantings, $wrong wrong"
[ $wrong = 0 ]
