/* fuzz_kernel.c - any bytes as the text of a kernel: refused with a sentence, or a kernel that computes, that is its own copy and
 * that reads back from its own description.
 *
 * The first byte says how many columns there are, and whether they have names.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/exec.h"
#include "fabayes/kernel.h"
#include "fabayes/settings.h"
#include "fuzz.h"

enum { MAX_TEXT = 4096, MAX_D = 4, N = 3, MAX_SIZE = 4096 };

static const char *const names[MAX_D] = {"a", "a b", "1", "x*y:l=2"};

/* The same parameters, one for one, unless brackets had made terms share leaves, or there are too many of them now. */
static void read_back(const fab_kernel *k, int64_t D, const char *const *column)
{
    char *text;
    fab_kernel *again;
    if (fab_kernel_describe(k, &text) != FAB_OK) return; /* memory */
    const fab_status s = fab_kernel_create(&again, text, D, column);
    must(s == FAB_OK || s == FAB_NO_MEMORY || strstr(fab_detail(), "more than"));
    if (s == FAB_OK) must(fab_kernel_size(again) >= fab_kernel_size(k));
    fab_kernel_free(again);
    fab_text_free(text);
}

static void compute(fab_kernel *k, int64_t D)
{
    static const double X[N * MAX_D] = {0, 1, -2, 3, 0.5, 1, 4, -1, 2, 2, 0.1, 7};
    const fab_exec one = {.threads = 1};
    double K[N * N], g[MAX_SIZE], G[N * MAX_D], theta[MAX_SIZE];
    if (fab_kernel_size(k) > MAX_SIZE) return;
    fab_kernel_get(k, theta);
    must(fab_kernel_set(k, theta) == FAB_OK ||
         strstr(fab_detail(), "1e-150"));                          /* e^log x may round out */
    if (fab_kernel_gram(k, N, X, D, K, N, &one) != FAB_OK) return; /* memory */
    touch(K, sizeof K);
    if (fab_kernel_grad_dot(k, N, X, D, 0, NULL, 0, K, N, g, &one) != FAB_OK) return;
    touch(g, (size_t)fab_kernel_size(k) * sizeof *g);
    if (fab_kernel_grad_rows(k, N, X, D, N, X, D, K, N, G, &one) != FAB_OK) return;
    touch(G, (size_t)(N * D) * sizeof *G);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[MAX_TEXT];
    fab_kernel *k, *copy;
    if (size < 1 || size > MAX_TEXT) return 0;
    fab_set_allocator(small_alloc, free);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = 0;
    const int64_t D = 1 + (bytes[0] & 3);
    const char *const *column = bytes[0] & 4 ? names : NULL;
    const fab_status s = fab_kernel_create(&k, text, D, column);
    if (s != FAB_OK) {
        must(!k);
        must(s == FAB_NO_MEMORY || s == FAB_BAD_ARGUMENT);
        check_sentence("");
        return 0;
    }
    must(strcmp(fab_kernel_text(k), text) == 0);
    if (fab_kernel_copy(&copy, k) == FAB_OK) {
        read_back(copy, D, column);
        fab_kernel_free(k);
        compute(copy, D);
        k = copy;
    }
    fab_kernel_free(k);
    return 0;
}
