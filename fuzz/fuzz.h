/* fuzz.h - what the fuzz targets share: a check that stops the fuzzer, and the rules for refusals.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FUZZ_H
#define FAB_FUZZ_H

#include "fabayes/status.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define must(truth)            \
    do {                       \
        if (!(truth)) abort(); \
    } while (0)

/* Read every byte, so that the address sanitizer sees it. */
static inline void touch(const void *p, size_t n)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < n; i++) sum = (unsigned char)(sum + ((const unsigned char *)p)[i]);
}

/* The library must live with a machine that has little memory: fab_set_allocator(small_alloc, free). */
static inline void *small_alloc(size_t bytes)
{
    return bytes > (size_t)1 << 24 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* A refusal blames what `name` says, in one line without control characters. */
static inline void check_sentence(const char *name)
{
    must(strncmp(fab_detail(), name, strlen(name)) == 0);
    for (const char *c = fab_detail(); *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static inline void check_refusal(fab_status s, const char *name)
{
    must(s == FAB_BAD_FILE);
    check_sentence(name);
}

#endif
