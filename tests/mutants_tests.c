/* mutants_tests.c - loaded before a test program (LD_PRELOAD): runs each of its tests alone, or some of them, and notes what they execute.
 *
 *     MUTANTS_TESTS=a,b     these tests, in their own order, until one fails (exit status 1); otherwise all
 *     MUTANTS_TRACE=FILE    a line for each test: name, status, seconds, and where it was in objects compiled with
 *                           -fsanitize-coverage=trace-pc: return addresses in the library, less its base
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

typedef int group_fn(const char *, const struct CMUnitTest *, size_t, CMFixtureFunction,
                     CMFixtureFunction);

enum { MOST = 1 << 25 }; /* bytes of a library's code */
static char seen[MOST];
static uintptr_t base, top;

void __sanitizer_cov_trace_pc(void)
{
    const uintptr_t here = (uintptr_t)__builtin_return_address(0);
    if (!base) {
        Dl_info i;
        base = dladdr((void *)here, &i) ? (uintptr_t)i.dli_fbase : here;
    }
    const uintptr_t at = here - base;
    if (at >= MOST) return;
    seen[at] = 1;
    if (at > top) top = at;
}

static int is_one(const char *list, const char *name)
{
    const size_t n = strlen(name);
    for (const char *p = strstr(list, name); p; p = strstr(p + 1, name))
        if ((p == list || p[-1] == ',') && (p[n] == ',' || p[n] == 0)) return 1;
    return 0;
}

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t n,
                            CMFixtureFunction before, CMFixtureFunction after)
{
    group_fn *const run = (group_fn *)dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
    const char *only = getenv("MUTANTS_TESTS"), *trace = getenv("MUTANTS_TRACE");
    FILE *out = trace ? fopen(trace, "w") : NULL;
    int failed = 0;
    for (size_t i = 0; i < n; i++) {
        struct timespec a, b;
        if (only && !is_one(only, tests[i].name)) continue;
        memset(seen, 0, top + 1);
        clock_gettime(CLOCK_MONOTONIC, &a);
        const int bad = run(group, tests + i, 1, before, after);
        clock_gettime(CLOCK_MONOTONIC, &b);
        failed += bad != 0;
        if (out) {
            fprintf(out, "%s %d %.4f", tests[i].name, bad,
                    (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec));
            for (uintptr_t k = 0; k <= top; k++)
                if (seen[k]) fprintf(out, " %lx", (unsigned long)k);
            fprintf(out, "\n");
        } else if (bad)
            _Exit(1);
    }
    if (out) fclose(out);
    return failed;
}
